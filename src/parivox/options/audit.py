"""Options of `audit` and `count`: what is read, what is measured, how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parivox.options.kinds import (
    Direction,
    Flag,
    Names,
    Number,
    Options,
    Text,
    Texts,
    Value,
    Weights,
    option,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.core.rates import RateRule
    from parivox.core.registry import ZeroPolicy

TRIALS = "trials and groups"
MEASURED = "how it is measured"
COUNTED = "how it is counted"
UNCERTAINTY = "how sure it is"
READ = "how files are read"
WRITTEN = "what comes out"

REFERENCES = ("others", "pooled", "macro", "geomean", "best")
INTERVALS = ("speakers", "bootstrap", "wilson", "clopper-pearson", "jeffreys")
NEVER, OFFENDERS = "never", "offenders"
_LLR = "scores are natural-log likelihood ratios"


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Options):
    """What `audit` and `count` read alike."""

    speakers: Any = option(
        Value,
        None,
        TRIALS,
        "table of speakers, a row each, with any attributes; not needed to group by attributes of "
        "recordings or trials",
        metavar="FILE",
    )
    by: tuple[str, ...] | None = option(
        Texts,
        None,
        TRIALS,
        "groups: `gender`; `gender+nationality` combines, `age:18,30,60` cuts into <18, 18-29, "
        "30-59, 60+; `enrol.language`, `same:device`, `grade` and [the rest](groups.md)",
        metavar="ATTRIBUTES",
        without="every attribute of speakers and recordings with 2 to 50 values",
    )
    within: tuple[str, ...] | None = option(
        Texts,
        None,
        TRIALS,
        "repeat the audit [within each level](groups.md#within) of these: `channel`",
        metavar="ATTRIBUTES",
        example="channel",
    )
    trials: Any = option(
        Value,
        None,
        TRIALS,
        "separate trial list (labels), joined on the pair of ids, never on line order",
        metavar="FILE",
    )
    utterances: Any = option(
        Value,
        None,
        TRIALS,
        "table of recordings: the speaker, where the id does not begin with it, and any attributes",
        metavar="FILE",
    )
    models: Any = option(
        Value,
        None,
        TRIALS,
        "table of model, speaker, recording, one row a recording: enrolments made of several",
        metavar="FILE",
    )
    failures: Any = option(
        Value,
        None,
        TRIALS,
        "table of recording, stage (`enrol`, `acquire`) and reason: what "
        "[could not be used](metrics/failures.md)",
        metavar="FILE",
    )
    groups: Any = option(
        Value,
        None,
        TRIALS,
        "which groups to make of which values, and what to compare: a "
        "[YAML file](groups.md#the-groups-file)",
        metavar="FILE",
    )
    scores_format: str | None = option(
        Text,
        None,
        READ,
        "format of the scores",
        metavar="NAME",
        without="by content",
        is_recorded=False,
    )
    columns: Mapping[str, str] | None = option(
        Names,
        None,
        READ,
        "[columns of the roles](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,score=sc,label=lab`",
        metavar="ROLES",
        of="str",
        is_right=lambda column: isinstance(column, str),
        form="from role to column; give one, as in {'enrol': 'ref_file'}",
        is_recorded=False,
    )
    id: str | None = option(
        Text,
        None,
        READ,
        "id column of the speaker table",
        metavar="COLUMN",
        without="the one that covers the ids: one called speaker or id goes before all others, one "
        "without a name behind them, and of others that cover alike none is taken",
        is_recorded=False,
    )
    orientation: str | None = option(
        Direction,
        None,
        READ,
        "`distance` where scores are distances, to be negated; `similarity` where they are "
        "similarities, whatever their AUC",
        each={
            "distance": "scores are distances: negate them",
            "similarity": "scores are similarities, whatever their AUC",
        },
        is_recorded=False,
    )
    conflicts: str = option(
        Text,
        "error",
        READ,
        "rows that contradict each other: `error` refuses them, `set-aside` leaves them out",
        metavar="WAY",
    )
    progress: Callable[[str], None] | None = option(
        Value,
        None,
        WRITTEN,
        "called with what is being done, as it starts",
        command=None,
        annotated="Callable[[str], None] | None",
    )


@dataclass(frozen=True, kw_only=True)
class AuditOptions(ReadOptions):
    """Options of an audit."""

    allocate: tuple[str, ...] = option(
        Texts,
        ("both",),
        MEASURED,
        "which [group](metrics/allocation.md) a nontarget trial counts for: `both`, `enrol`, "
        "`test`, `either`",
        metavar="RULE",
        choices=("both", "enrol", "test", "either"),
        example="both",
    )
    operating_points: tuple[str, ...] | None = option(
        Texts,
        None,
        MEASURED,
        "[thresholds](metrics/error-rates.md#operating-points), common to all groups: "
        "`threshold=X`, `fpr=X`, `fnr=X`, `eer`, `min-cdet`, `min-cdet:COST`, `bayes`, `deployed` "
        "(decisions or thresholds that the trials tell)",
        metavar="POINT",
        command="operating-point",
        without="`deployed` if there is any, `fpr=0.01` and, with 30,000 nontarget trials, "
        "`fpr=0.001`",
        example="eer",
    )
    threshold_from: Any = option(
        Value,
        None,
        MEASURED,
        "development scores to find the thresholds on",
        metavar="FILE",
        is_repeatable=True,
        without="all trials of the system",
    )
    cost: tuple[str, ...] = option(
        Texts,
        ("voxsrc",),
        MEASURED,
        "detection cost: a [name](metrics/costs.md#cost-models), as in `sre08`, or "
        "`P_TARGET,C_MISS,C_FA`; `min-cdet` takes the first",
        metavar="COST",
        example="sre08",
    )
    eer: tuple[str, ...] = option(
        Texts,
        ("linear",),
        MEASURED,
        "[definition of the EER](metrics/eer.md): `linear`, `nearest_max`, `nearest_mean`, "
        "`clova`, `speechbrain`, `kaldi`, `nist_sre16`, `rocch`, `pyeer`",
        metavar="RULE",
        choices=(
            *("linear", "nearest_max", "nearest_mean", "clova", "speechbrain", "kaldi"),
            *("nist_sre16", "rocch", "pyeer"),
        ),
        example="linear",
    )
    rule: tuple[RateRule, ...] = option(
        Texts,
        ("conservative",),
        MEASURED,
        "FNR at an FPR and the reverse: `conservative`, `nearest`, `interp`",
        metavar="RULE",
        choices=("conservative", "nearest", "interp"),
        example="nearest",
    )
    reference: tuple[str, ...] = option(
        Texts,
        None,
        MEASURED,
        "what groups are compared with: `others`, `pooled`, `macro`, `geomean`, `best`, or a "
        "group; verdicts take the first",
        metavar="NAME",
        without="these five; without intervals not `others`",
        example="pooled",
        may_be_empty=True,
    )
    zero: tuple[ZeroPolicy, ...] = option(
        Texts,
        ("none", "jeffreys"),
        MEASURED,
        "[rates without errors](metrics/bias-measures.md#zeros): `none`, `jeffreys`, `nist`",
        metavar="POLICY",
        choices=("none", "jeffreys", "nist"),
        example="jeffreys",
    )
    alpha: tuple[float, ...] = option(
        Weights,
        (0.5,),
        MEASURED,
        "weights of FPR in measures that join both rates (FDR, IR, GARBE): `0.5`, `0,0.5,1` or "
        "`0:1:0.05`",
        metavar="WEIGHT",
        is_repeatable=True,
    )
    sweep: str | None = option(
        Text,
        None,
        MEASURED,
        "meta-measures over a grid of operating points: `fpr=0.001:0.1:log100`",
        metavar="GRID",
    )
    llr: bool = option(Flag, False, MEASURED, _LLR)
    intervals: bool = option(
        Flag,
        True,
        UNCERTAINTY,
        "intervals, noise floors, verdicts and limits",
        command="no-intervals",
        negated="no intervals, noise floors, verdicts or limits",
    )
    interval: str = option(
        Text,
        INTERVALS[0],
        UNCERTAINTY,
        "of rates: `speakers`, `bootstrap`; for comparison only `wilson`, `clopper-pearson` and "
        "`jeffreys`, which take trials as independent",
        metavar="WAY",
        choices=INTERVALS,
    )
    pooled_floor: bool = option(
        Flag,
        False,
        UNCERTAINTY,
        "widen intervals of FNR where other groups show that speakers vary more; for groups of "
        "few speakers",
    )
    confidence: float = option(
        Number,
        0.95,
        UNCERTAINTY,
        "level of intervals and verdicts, 0.5 to 0.999",
        metavar="LEVEL",
        low=0.5,
        high=0.999,
        wanted="a fraction from 0.5 to 0.999, as in 0.95",
    )
    replicates: int = option(
        Number,
        1000,
        UNCERTAINTY,
        "of the bootstrap over speakers and of noise floors, 50 to 100,000",
        metavar="N",
        is_whole=True,
        low=50,
        high=100_000,
    )
    seed: int = option(
        Number,
        0,
        UNCERTAINTY,
        "of both: the same seed, the same numbers",
        metavar="N",
        is_whole=True,
        low=0,
        high=2**63 - 1,
    )
    fixed_threshold: bool = option(
        Flag,
        False,
        UNCERTAINTY,
        "keep thresholds that were found on the trials in every replicate, which else finds its "
        "own",
    )
    bins: int = option(
        Number,
        1024,
        UNCERTAINTY,
        "of the scores in replicates: a number, or `exact`",
        metavar="N",
        is_whole=True,
        low=64,
        high=1 << 20,
        zero="exact",
    )
    margin: float = option(
        Number,
        1.25,
        UNCERTAINTY,
        "largest ratio, and its reciprocal, that is "
        "[no difference that matters](uncertainty.md#verdicts)",
        metavar="RATIO",
        low=1,
        outside=(1,),
        high=1e6,
        wanted="a ratio above 1, as in 1.25",
    )
    limit: tuple[str, ...] = option(
        Texts,
        (),
        UNCERTAINTY,
        "what a rate [may be at most](uncertainty.md#limits-and-people): `fnr=0.05`, `fpr=0.001`",
        metavar="RATE",
        python="limits",
        may_be_empty=True,
    )
    attempts: int | None = option(
        Number,
        None,
        UNCERTAINTY,
        "tries of a person or an impostor: who is locked out, or gets in",
        metavar="N",
        is_whole=True,
        low=1,
        high=10**9,
    )
    gate: tuple[str, ...] = option(
        Texts,
        (),
        UNCERTAINTY,
        "what [a group needs](uncertainty.md#gates): `inference=5` (speakers, to be judged at "
        "all); `speakers=10`, `errors=5` (effective ones), `pairs=45` (of speakers), to count in "
        "headline numbers",
        metavar="NAME=N",
        python="gates",
        without="these numbers",
        may_be_empty=True,
    )
    standardise: tuple[str, ...] = option(
        Texts,
        (),
        UNCERTAINTY,
        "rates with [equal weight for each level](uncertainty.md#standardised-rates) of this, "
        "beside the crude ones: `same:gender`",
        metavar="ATTRIBUTE",
        may_be_empty=True,
    )
    compare: bool = option(
        Flag,
        False,
        UNCERTAINTY,
        "compare the systems and lists [with each other](uncertainty.md#two-systems-two-lists)",
    )
    speaker_ids: str = option(
        Text,
        NEVER,
        WRITTEN,
        "whose ids the audit notes and the page names: `never`, or `offenders`, the speakers who "
        "have most of the errors of each group, in a table of their own; `never` writes no id "
        "anywhere",
        metavar="WHOM",
        choices=(NEVER, OFFENDERS),
    )
    compat: str | None = option(
        Text,
        None,
        MEASURED,
        "`bt4vt`: the rules of bt4vt 1.0.1 beside the exact ones: curve cut at its ends, nearest "
        "threshold, `nearest_max` EER",
        metavar="TOOL",
        choices=("bt4vt",),
    )
    trial_table: Any = option(
        Value,
        None,
        WRITTEN,
        "CSV or Parquet of [every trial](output.md#the-table-of-trials) with its errors, groups "
        "and numbered speakers, for models of your own",
        metavar="FILE",
        annotated="str | os.PathLike[str] | None",
    )
    metrics: Mapping[str, Callable[..., Any]] | None = option(
        Names,
        None,
        MEASURED,
        "metrics of your own: functions from error counts `[..., group, threshold]` to values "
        "`[..., group]` (of the whole curve) or `[..., group, threshold]` (at each operating "
        "point); lower is better. Those of the entry point group `parivox.metrics` are added",
        command=None,
        of="Callable[..., Any]",
        is_right=callable,
        form="from name to function; give one, as in {'weighted_error': weighted_error}",
        is_recorded=False,
    )


@dataclass(frozen=True, kw_only=True)
class CountOptions(ReadOptions):
    """Options of counts for others to audit."""

    step: Any = option(
        Value,
        None,
        COUNTED,
        "width of the bins that scores are counted in; needed for several groupings with "
        "withholding, as rows with scores of their own could be [joined](counts.md)",
        metavar="WIDTH",
        without="each score",
        annotated="float | str | None",
    )
    thresholds: Any = option(
        Value,
        (),
        COUNTED,
        "a score to count at: with `--step` as well, else at these only",
        metavar="X",
        command="threshold",
        is_repeatable=True,
        annotated="Sequence[float | str] | float | str",
    )
    withhold: int = option(
        Number,
        5,
        COUNTED,
        "withhold groups of fewer than so many speakers; 0 for none",
        metavar="N",
        is_whole=True,
        low=0,
        high=2**63 - 1,
        wanted="the fewest speakers of a group, as in 5, or 0 for none",
    )
    llr: bool = option(Flag, False, COUNTED, _LLR)
