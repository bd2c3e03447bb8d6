"""Options of `audit`, `count`, `inspect` and `report`: what is read, how it is measured and shown.

Classes named for a command hold what the command line alone takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parivox.options.kinds import (
    Direction,
    Flag,
    LogBase,
    Names,
    Number,
    Options,
    Text,
    Texts,
    Value,
    Weights,
    option,
    same_as,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.core.rates import RateRule
    from parivox.core.registry import ZeroPolicy
    from parivox.progress import Progress

TRIALS = "trials and groups"
MEASURED = "how it is measured"
COUNTED = "how it is counted"
UNCERTAINTY = "how sure it is"
READ = "how files are read"
WRITTEN = "what comes out"
SHOWN = "what is shown"

REFERENCES = ("others", "pooled", "macro", "geomean", "best")
INTERVALS = ("speakers", "bootstrap", "wilson", "clopper-pearson", "jeffreys")
NEVER, OFFENDERS = "never", "offenders"
FAIL_ON = ("not-met", "cannot-tell", "worse")
_LLR = "scores are natural-log likelihood ratios"
_LLR_BASE = (
    "scores are log-likelihood ratios [to this base](metrics/calibration.md#logarithms): 10 or 2; "
    "thresholds stay in their units"
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReadOptions(Options):
    """What `audit` and `count` read alike."""

    speakers: Any = option(
        TRIALS,
        "table of speakers, a row each, with any attributes; not needed to group by attributes of "
        "recordings or trials",
        is_common=True,
    )
    by: tuple[str, ...] | None = option(
        TRIALS,
        "groups: `gender`; `gender+nationality` combines, `age:18,30,60` cuts into <18, 18-29, "
        "30-59, 60+; `enrol.language`, `same:device`, `grade` and [the rest](groups.md)",
        Texts,
        metavar="ATTRIBUTES",
        without="every attribute of speakers and recordings with 2 to 50 values",
        is_common=True,
    )
    within: tuple[str, ...] | None = option(
        TRIALS,
        "repeat the audit [within each level](groups.md#within) of these: `channel`",
        Texts,
        metavar="ATTRIBUTES",
        example="channel",
    )
    trials: Any = option(
        TRIALS,
        "separate trial list (labels), joined on the pair of ids, never on line order",
        is_common=True,
    )
    utterances: Any = option(
        TRIALS,
        "table of recordings: the speaker, where the id does not begin with it, and any "
        "attributes; a folder of Kaldi's; or "
        "[where in ids the speaker stands](bring-your-data.md#ids): `{speaker}-**`",
        is_common=True,
    )
    models: Any = option(
        TRIALS,
        "table of model, speaker, recording, one row a recording: enrolments made of several",
    )
    failures: Any = option(
        TRIALS,
        "table of recording, stage (`enrol`, `acquire`) and reason: what "
        "[could not be used](metrics/failures.md)",
    )
    groups: Any = option(
        TRIALS,
        "which groups to make of which values, and what to compare: a "
        "[YAML file](groups.md#the-groups-file)",
    )
    only: tuple[str, ...] = option(
        TRIALS,
        "trials of which both sides have this value alone: `grade=4`, `same:recording=different`, "
        "`enrol.channel=phone`; further values of one attribute are taken, too",
        Texts,
        (),
        metavar="ATTRIBUTE=VALUE",
        may_be_empty=True,
        example="grade=4",
    )
    scores_format: str | None = option(
        READ, "format of the scores", Text, without="by content", is_recorded=False
    )
    columns: Mapping[str, str] | None = option(
        READ,
        "[columns of the roles](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,score=sc,label=lab`; and words of the cells: "
        "`accept=ja,reject=nein,failed=too short`, `nobody=anonymous|guest` for ids that stand for "
        "no speaker",
        Names,
        metavar="ROLES",
        of="str",
        is_right=lambda column: isinstance(column, str),
        form="from role to column; give one, as in {'enrol': 'ref_file'}",
        is_recorded=False,
    )
    id: str | None = option(
        READ,
        "id column of the speaker table",
        Text,
        metavar="COLUMN",
        without="the one that covers the ids: one called speaker or id goes before all others, one "
        "without a name behind them, and of others that cover alike none is taken",
        is_recorded=False,
    )
    encoding: str | None = option(
        READ,
        "[encoding](bring-your-data.md#encodings) of texts that are neither UTF-8 nor UTF-16: "
        "`cp1250`, `gbk` or any other that Python knows",
        Text,
        without="guessed where their words can be read in one way only, with a warning, else "
        "refused",
        is_recorded=False,
    )
    quotes: str | None = option(
        READ,
        '`none` where quotes (") in tables of text are signs as others are, not around cells',
        Text,
        metavar="WAY",
        choices=("none",),
        is_recorded=False,
    )
    orientation: str | None = option(
        READ,
        "`distance` where scores are distances, to be negated; `similarity` where they are "
        "similarities, whatever their AUC",
        Direction,
        each={
            "distance": "scores are distances: negate them",
            "similarity": "scores are similarities, whatever their AUC",
        },
        is_recorded=False,
    )
    conflicts: str = option(
        READ,
        "rows that contradict each other: `error` refuses them, `set-aside` leaves them out",
        Text,
        "error",
        metavar="WAY",
    )
    progress: Callable[[Progress], None] | None = option(
        WRITTEN,
        "called with the [progress](api/index.md#parivox.Progress) of each stage, as it "
        "begins and ends and at most four times a second in between; `print` shows it",
        command=None,
        annotated="Callable[[Progress], None] | None",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AuditOptions(ReadOptions):
    """Options of an audit."""

    allocate: tuple[str, ...] = option(
        MEASURED,
        "which [group](metrics/allocation.md) a nontarget trial counts for: `both`, `enrol`, "
        "`test`, `either`",
        Texts,
        metavar="RULE",
        choices=("both", "enrol", "test", "either"),
        without="`both`; `enrol` where nontarget trials have no test speaker",
        example="both",
    )
    operating_points: tuple[str, ...] | None = option(
        MEASURED,
        "[thresholds](metrics/error-rates.md#operating-points), common to all groups: "
        "`threshold=X`, `fpr=X`, `fnr=X`, `eer`, `min-cdet`, `min-cdet:COST`, `bayes`, `deployed` "
        "(decisions or thresholds that the trials tell)",
        Texts,
        metavar="POINT",
        command="operating-point",
        without="`deployed` if there is any, `fpr=0.01` and, with 30,000 nontarget trials, "
        "`fpr=0.001`",
        example="eer",
        is_common=True,
    )
    thresholds: Any = option(
        MEASURED,
        "a [rule file](thresholds.md#the-rule-file) of `parivox thresholds`: decides each trial by "
        "the threshold of its group, as the point `deployed`",
        is_recorded=False,
    )
    threshold_from: Any = option(
        MEASURED,
        "development scores to find the thresholds on",
        is_repeatable=True,
        without="all trials of the system",
    )
    cost: tuple[str, ...] = option(
        MEASURED,
        "detection cost: a [name](metrics/costs.md#cost-models), as in `sre08`, or "
        "`P_TARGET,C_MISS,C_FA`; `min-cdet` takes the first",
        Texts,
        ("voxsrc",),
        metavar="COST",
        example="sre08",
    )
    eer: tuple[str, ...] = option(
        MEASURED,
        "[definition of the EER](metrics/eer.md): `linear`, `nearest_max`, `nearest_mean`, "
        "`clova`, `speechbrain`, `kaldi`, `nist_sre16`, `rocch`, `pyeer`",
        Texts,
        ("linear",),
        metavar="RULE",
        choices=(
            *("linear", "nearest_max", "nearest_mean", "clova", "speechbrain", "kaldi"),
            *("nist_sre16", "rocch", "pyeer"),
        ),
        example="linear",
    )
    rule: tuple[RateRule, ...] = option(
        MEASURED,
        "FNR at an FPR and the reverse: `conservative`, `nearest`, `interp`",
        Texts,
        ("conservative",),
        metavar="RULE",
        choices=("conservative", "nearest", "interp"),
        example="nearest",
    )
    reference: tuple[str, ...] = option(
        MEASURED,
        "what groups are compared with: `others`, `pooled`, `macro`, `geomean`, `best`, or a "
        "group; verdicts take the first",
        Texts,
        metavar="NAME",
        without="these five; without intervals not `others`",
        example="pooled",
        may_be_empty=True,
    )
    zero: tuple[ZeroPolicy, ...] = option(
        MEASURED,
        "[rates without errors](metrics/bias-measures.md#zeros): `none`, `jeffreys`, `nist`",
        Texts,
        ("none", "jeffreys"),
        metavar="POLICY",
        choices=("none", "jeffreys", "nist"),
        example="jeffreys",
    )
    alpha: tuple[float, ...] = option(
        MEASURED,
        "weights of FPR in measures that join both rates (FDR, IR, GARBE): `0.5`, `0,0.5,1` or "
        "`0:1:0.05`",
        Weights,
        (0.5,),
        metavar="WEIGHT",
        is_repeatable=True,
    )
    sweep: str | None = option(
        MEASURED,
        "meta-measures over a grid of operating points: `fpr=0.001:0.1:log100`",
        Text,
        metavar="GRID",
    )
    llr: bool = option(MEASURED, _LLR, Flag, False)
    llr_base: int | None = option(MEASURED, _LLR_BASE, LogBase, without="natural logarithms")
    intervals: bool = option(
        UNCERTAINTY,
        "intervals, noise floors, verdicts and limits",
        Flag,
        True,
        command="no-intervals",
        negated="no intervals, noise floors, verdicts or limits",
    )
    interval: str = option(
        UNCERTAINTY,
        "of rates: `speakers`, `bootstrap`; for comparison only `wilson`, `clopper-pearson` and "
        "`jeffreys`, which take trials as independent",
        Text,
        INTERVALS[0],
        metavar="WAY",
        choices=INTERVALS,
    )
    pooled_floor: bool = option(
        UNCERTAINTY,
        "widen intervals of FNR where other groups show that speakers vary more; for groups of "
        "few speakers",
        Flag,
        False,
    )
    confidence: float = option(
        UNCERTAINTY,
        "level of intervals and verdicts, 0.5 to 0.999",
        Number,
        0.95,
        metavar="LEVEL",
        low=0.5,
        high=0.999,
        wanted="a fraction from 0.5 to 0.999, as in 0.95",
    )
    replicates: int = option(
        UNCERTAINTY,
        "of the bootstrap over speakers and of noise floors, 50 to 100,000",
        Number,
        1000,
        is_whole=True,
        low=50,
        high=100_000,
    )
    seed: int = option(
        UNCERTAINTY,
        "of both: the same seed, the same numbers",
        Number,
        0,
        is_whole=True,
        low=0,
        high=2**63 - 1,
    )
    fixed_threshold: bool = option(
        UNCERTAINTY,
        "keep thresholds that were found on the trials in every replicate, which else finds its "
        "own",
        Flag,
        False,
    )
    bins: int = option(
        UNCERTAINTY,
        "of the scores in replicates: a number, or `exact`",
        Number,
        1024,
        is_whole=True,
        low=64,
        high=1 << 20,
        zero="exact",
    )
    primary: str | None = option(
        UNCERTAINTY,
        "the question of the audit: the grouping, as in `gender` or `gender@fpr=0.01`, whose "
        "verdicts are [confirmatory](uncertainty.md#one-question-or-many); it comes first",
        Text,
        metavar="GROUPING",
        without="the first grouping at the first operating point",
    )
    margin: float = option(
        UNCERTAINTY,
        "largest ratio, and its reciprocal, that is "
        "[no difference that matters](uncertainty.md#verdicts)",
        Number,
        1.25,
        metavar="RATIO",
        low=1,
        outside=(1,),
        high=1e6,
        wanted="a ratio above 1, as in 1.25",
    )
    limit: tuple[str, ...] = option(
        UNCERTAINTY,
        "what a rate [may be at most](uncertainty.md#limits-and-people): `fnr=5%`, `fpr=0.001`, "
        "`fta=2%`; times the others, `fpr=1.5x`; of one group, `fnr:f=5%`",
        Texts,
        (),
        metavar="RATE=MOST",
        python="limits",
        may_be_empty=True,
        is_common=True,
    )
    attempts: int | None = option(
        UNCERTAINTY,
        "tries of a person or an impostor: who is locked out, or gets in",
        Number,
        is_whole=True,
        low=1,
        high=10**9,
    )
    gate: tuple[str, ...] = option(
        UNCERTAINTY,
        "what [a group needs](uncertainty.md#gates): `inference=5` (speakers, to be judged at "
        "all); `speakers=10`, `errors=5` (effective ones), `pairs=45` (of speakers), to count in "
        "headline numbers",
        Texts,
        (),
        metavar="NAME=N",
        python="gates",
        without="these numbers",
        may_be_empty=True,
    )
    standardise: tuple[str, ...] = option(
        UNCERTAINTY,
        "rates with [equal weight for each level](uncertainty.md#standardised-rates) of this, "
        "beside the crude ones: `same:gender`",
        Texts,
        (),
        metavar="ATTRIBUTE",
        may_be_empty=True,
    )
    compare: bool = option(
        UNCERTAINTY,
        "compare the systems and lists [with each other](uncertainty.md#two-systems-two-lists)",
        Flag,
        False,
        is_common=True,
    )
    speaker_ids: str = option(
        WRITTEN,
        "whose ids the audit notes and the page names: `never`, or `offenders`, the speakers who "
        "have most of the errors of each group, in a table of their own; `never` writes no id "
        "anywhere",
        Text,
        NEVER,
        metavar="WHOM",
        choices=(NEVER, OFFENDERS),
    )
    compat: str | None = option(
        MEASURED,
        "`bt4vt`: the rules of bt4vt 1.0.1 beside the exact ones: curve cut at its ends, nearest "
        "threshold, `nearest_max` EER",
        Text,
        metavar="TOOL",
        choices=("bt4vt",),
    )
    trial_table: Any = option(
        WRITTEN,
        "CSV or Parquet of [every trial](output.md#the-table-of-trials) with its errors, groups "
        "and numbered speakers, for models of your own",
        annotated="str | os.PathLike[str] | None",
    )
    metrics: Mapping[str, Callable[..., Any]] | None = option(
        MEASURED,
        "metrics of your own: functions from error counts `[..., group, threshold]` to values "
        "`[..., group]` (of the whole curve) or `[..., group, threshold]` (at each operating "
        "point); lower is better. Those of the entry point group `parivox.metrics` are added",
        Names,
        command=None,
        of="Callable[..., Any]",
        is_right=callable,
        form="from name to function; give one, as in {'weighted_error': weighted_error}",
        is_recorded=False,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CountOptions(ReadOptions):
    """Options of counts for others to audit."""

    step: Any = option(
        COUNTED,
        "width of the bins that scores are counted in; needed for several groupings with "
        "withholding, as rows with scores of their own could be [joined](counts.md)",
        metavar="WIDTH",
        without="each score",
        annotated="float | str | None",
        is_common=True,
    )
    thresholds: Any = option(
        COUNTED,
        "a score to count at: with `--step` as well, else at these only",
        Value,
        (),
        metavar="X",
        command="threshold",
        is_repeatable=True,
        annotated="Sequence[float | str] | float | str",
    )
    withhold: int = option(
        COUNTED,
        "withhold groups of fewer than so many speakers; 0 for none",
        Number,
        5,
        is_whole=True,
        low=0,
        high=2**63 - 1,
        wanted="the fewest speakers of a group, as in 5, or 0 for none",
        is_common=True,
    )
    key: Any = option(
        COUNTED,
        "secret of the [site](counts.md#sites-that-may-not-share-rows), by which speakers get "
        "other names: a tally is made as well, which tells how sure rates are",
        without="counts alone",
        is_common=True,
        annotated="str | os.PathLike[str] | None",
    )
    blocks: int | None = option(
        COUNTED,
        "with `--key`, a tally of blocks of at least so many speakers, not of each",
        Number,
        is_whole=True,
        low=2,
        high=2**31 - 1,
        is_common=True,
    )
    llr: bool = option(COUNTED, _LLR, Flag, False)
    llr_base: int | None = same_as(AuditOptions, "llr_base", section=COUNTED)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ProgressCommand(Options):
    """What commands that take long have."""

    quiet: bool = option(WRITTEN, "no progress on standard error", Flag, False)
    progress: str | None = option(
        WRITTEN,
        "`json`: [progress for programs](#progress), a line of JSON each, on standard error",
        Text,
        metavar="FORM",
        without="a line that is redrawn; in a log, one every ten seconds",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class PageCommand(Options):
    """What is told of a page, and of whatever else shows an audit."""

    title: str | None = option(
        WRITTEN, "title of the page", Text, metavar="TEXT", without="the systems and groupings"
    )
    context: Any = option(
        WRITTEN,
        "[what only you know](report.md#what-only-you-know) (YAML): [labels](report.md#labels) of "
        "groups, systems and operating points; for the page purpose, population, who chose the "
        "threshold, the groups and the margin",
        without='"not supplied" stands in its place',
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AuditCommand(Options):
    """The command line of `audit`."""

    order = (TRIALS, MEASURED, UNCERTAINTY, READ, WRITTEN)

    scores: Any = option(
        TRIALS,
        "score file, or - for standard input; several as NAME=FILE or NAME@LIST=FILE; files of "
        "counts, which are added up",
        metavar="SCORES",
        position="+",
    )
    out: Any = option(
        WRITTEN, "folder for the [tables](output.md) and audit.json", metavar="DIR", is_common=True
    )
    format: str = option(WRITTEN, "of the tables: `csv` or `parquet`", Text, "csv", metavar="KIND")
    report: Any = option(WRITTEN, "[page](report.md) that opens anywhere (HTML)", is_common=True)
    json: bool = option(WRITTEN, "print audit.json, not the summary", Flag, False)
    fail_on: tuple[str, ...] = option(
        WRITTEN,
        "end with exit code 1 if a limit is `not-met`, if of any it can't be told "
        "(`cannot-tell`), or if any group is shown `worse`: `not-met,cannot-tell`; a "
        "[gate](gate.md) asks for more",
        Texts,
        (),
        metavar="FINDINGS",
        choices=FAIL_ON,
        may_be_empty=True,
        reads=lambda texts: [part.strip() for part in ",".join(texts).split(",")],
    )
    verbose: bool = option(
        WRITTEN, "print every table before the summary", Flag, False, letter="v", is_common=True
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CountCommand(Options):
    """The command line of `count`."""

    order = (TRIALS, COUNTED, READ, WRITTEN)

    scores: Any = option(
        TRIALS, "score file, or - for standard input; or NAME=FILE", metavar="SCORES", position="1"
    )
    out: Any = option(WRITTEN, "file of counts", is_needed=True, is_common=True)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InspectOptions(Options):
    """Options of `inspect`."""

    columns: Mapping[str, str] | None = same_as(ReadOptions, "columns")
    scores_format: str | None = same_as(ReadOptions, "scores_format")
    encoding: str | None = same_as(ReadOptions, "encoding")
    quotes: str | None = same_as(ReadOptions, "quotes")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class InspectCommand(Options):
    """The command line of `inspect`."""

    order = (TRIALS, READ, WRITTEN)

    files: Any = option(
        TRIALS,
        "scores, trial list, table of speakers, utterances, models or failures, counts, groups "
        "file, in any order; - for standard input",
        position="+",
    )
    json: bool = option(WRITTEN, "print the findings as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ReportCommand(Options):
    """The command line of `report`."""

    audit: Any = option(WRITTEN, "folder of an audit (its --out)", metavar="AUDIT", position="1")
    out: Any = option(
        WRITTEN,
        "page (`.html`), tables (`.md`, `.tex`, `.xlsx`) or numbers (`.json`, `.yaml`); an earlier "
        "report there is replaced",
    )
    format: str | None = option(
        WRITTEN,
        "tables as `markdown`, `latex` or `xlsx`, numbers as flat `metrics` (JSON) or as the "
        "`model-index` of a model card (YAML) (default: as FILE ends); all but `xlsx` go to "
        "standard output without `--out`",
        Text,
        metavar="KIND",
    )
    figures: Any = option(
        WRITTEN,
        "every figure as files of their own, column width, on white, and `index.md`, which says "
        "how to read each",
        metavar="FOLDER",
    )
    formats: str | None = option(
        WRITTEN, "of the figures: `svg` (default), `png`, `pdf`; `svg,pdf`", Text, metavar="KINDS"
    )
    speaker_ids: str = same_as(AuditOptions, "speaker_ids")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ShowCommand(Options):
    """The command line of `show`."""

    audit: Any = same_as(ReportCommand, "audit", section=SHOWN)
    group: Any = option(
        SHOWN,
        "groups of which to tell both errors at every operating point, as in `f` or `m+Norway`; "
        "without any, the summary",
        metavar="GROUP",
        position="*",
    )
    by: str | None = option(
        SHOWN, "of this grouping alone: `gender+nationality`", Text, metavar="GROUPING"
    )
    system: str | None = option(SHOWN, "of this system alone: `V2`, or `V2@H`", Text)
    operating_point: str | None = option(
        SHOWN, "at this operating point alone: `fpr=0.001`", Text, metavar="POINT"
    )
    context: Any = same_as(PageCommand, "context", section=SHOWN)
    verbose: bool = same_as(AuditCommand, "verbose", section=SHOWN)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CriteriaCommand(Options):
    """The command line of `criteria`."""

    audit: Any = same_as(ReportCommand, "audit", section=SHOWN)
    out: Any = option(SHOWN, "folder for the tables as CSV", metavar="DIR")
    json: bool = option(SHOWN, "print as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DemoCommand(Options):
    """The command line of `demo`."""

    out: Any = option(
        SHOWN, "folder for the audit and its page", Text, "parivox-demo", metavar="DIR"
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class CompletionCommand(Options):
    """The command line of `completion`."""

    shell: Any = option(
        SHOWN,
        "bash, zsh or fish",
        Text,
        metavar="SHELL",
        position="1",
        choices=("bash", "zsh", "fish"),
    )
