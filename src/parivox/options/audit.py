"""Options of `audit`, `count`, `inspect` and `report`: input, measurement and display.

Classes named for a command hold the options of the command line alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.frozen import frozen
from parivox.options.kinds import (
    CommandOptions,
    Direction,
    Flag,
    LogBase,
    NameMapping,
    Number,
    Text,
    Texts,
    Unchecked,
    Weights,
    one_or_several,
    option,
    option_fields,
    option_like,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from parivox.core.rates import RateRule
    from parivox.core.registry import ZeroPolicy
    from parivox.runtime.progress import Progress

# headings of the options in help texts and docs/cli.md
INPUT_SECTION = "input and groups"
MEASUREMENT_SECTION = "measurement"
COUNTING_SECTION = "counting"
UNCERTAINTY_SECTION = "uncertainty and comparison"
READING_SECTION = "reading files"
OUTPUT_SECTION = "output"
DISPLAY_SECTION = "display"

REFERENCES = ("others", "pooled", "macro", "geomean", "best")
SPEAKER_INTERVAL_METHODS = ("speakers", "bootstrap")
INTERVAL_METHODS = (*SPEAKER_INTERVAL_METHODS, "wilson", "clopper-pearson", "jeffreys")
NEVER, OFFENDERS = "never", "offenders"
FAIL_CONDITIONS = ("not-met", "inconclusive", "worse")
OLD_FAIL_CONDITION = "cannot-tell"
"""Name of a condition before release 0.3; goes with 0.5."""
EER_DEFINITIONS = (
    "linear",
    "nearest_max",
    "nearest_mean",
    "clova",
    "speechbrain",
    "kaldi",
    "nist_sre16",
    "rocch",
    "pyeer",
)
_LLR = "scores are natural-log likelihood ratios"
_LLR_BASE = (
    "scores are log-likelihood ratios [to this base](methods/costs.md#logarithms): 10 or 2; "
    "thresholds keep the units of the scores"
)


@frozen(kw_only=True)
class ReadOptions(CommandOptions):
    """Options of reading, the same for `audit` and `count`."""

    speakers: Any = option(
        INPUT_SECTION,
        "speaker table: one row per speaker, with any attributes. The table is not needed if all "
        "groups are formed from attributes of recordings or trials",
        is_common=True,
        value_type="SpeakerSource | None",
    )
    by: tuple[str, ...] | None = option(
        INPUT_SECTION,
        "attributes that define the groups: `gender`; `gender+nationality` for combinations; "
        "`age:18,30,60` for the bands <18, 18-29, 30-59 and 60+; `enrol.language`, `same:device`, "
        "`grade` and [others](groups.md). The first is the main comparison, unless `--primary` "
        "names another",
        Texts,
        metavar="ATTRIBUTES",
        default_text="every speaker or recording attribute that has 2 to 50 values",
        is_common=True,
    )
    within: tuple[str, ...] | None = option(
        INPUT_SECTION,
        "attributes that define strata, such as `channel`; the audit is repeated [within each "
        "stratum](groups.md#within-strata)",
        Texts,
        metavar="ATTRIBUTES",
        example="channel",
    )
    trials: Any = option(
        INPUT_SECTION,
        "separate trial list with labels, joined to the scores by both ids (never by line order)",
        is_common=True,
        value_type="TableSource | None",
    )
    utterances: Any = option(
        INPUT_SECTION,
        "utterance table with any attributes; the table must name the speakers if the utterance "
        "ids do not begin with the speaker id. The option also accepts a Kaldi data folder, or a "
        "pattern that [locates the speaker in the ids](bring-your-data.md#ids), such as "
        "`{speaker}-**` (or one per side: `enrol={speaker}-**` and `test=**/{speaker}_*`)",
        is_common=True,
        is_repeatable=True,
        parser=one_or_several,
        value_type="UtteranceSource | None",
    )
    models: Any = option(
        INPUT_SECTION,
        "model table, for enrolments made of several recordings: each row names a model, its "
        "speaker and one of its recordings",
        value_type="TableSource | None",
    )
    failures: Any = option(
        INPUT_SECTION,
        "table of [failures to enrol and to acquire](methods/rates.md#failures-and-decisions), "
        "with columns for the recording, stage (`enrol` or `acquire`) and reason",
        value_type="TableSource | None",
    )
    groups: Any = option(
        INPUT_SECTION,
        "[groups file](groups.md#the-groups-file) (YAML), which defines the values of each group "
        "and what to compare",
        value_type="DocumentSource | None",
    )
    only: tuple[str, ...] = option(
        INPUT_SECTION,
        "keep only trials in which both sides (or the named side) have this value: `grade=4`, "
        "`same:recording=different`, `enrol.channel=phone`. Several values of one attribute are "
        "alternatives",
        Texts,
        (),
        metavar="ATTRIBUTE=VALUE",
        may_be_empty=True,
        example="grade=4",
    )
    # how files are read is recorded with the files themselves, in the provenance of the audit
    scores_format: str | None = option(
        READING_SECTION,
        "format of the scores",
        Text,
        default_text="detected from the content",
        is_recorded=False,
    )
    columns: Mapping[str, str] | None = option(
        READING_SECTION,
        "[column for each role](bring-your-data.md#columns-with-names): "
        "`enrol=ref_file,test=com_file,score=sc,label=lab`; also the meaning of words in cells: "
        "`accept=ja,reject=nein,failed=too short`, and `nobody=guest` for ids that identify no "
        "speaker",
        NameMapping,
        metavar="ROLES",
        value_type="str",
        is_valid=lambda column: isinstance(column, str),
        mapping_form="from role to column; give one, for example {'enrol': 'ref_file'}",
        is_recorded=False,
    )
    id: str | None = option(
        READING_SECTION,
        "id column of the speaker table",
        Text,
        metavar="COLUMN",
        default_text="the column that contains the ids. Columns called speaker or id take "
        "precedence; unnamed columns come last. The option is required if several "
        "columns fit equally well",
        is_recorded=False,
    )
    encoding: str | None = option(
        READING_SECTION,
        "[encoding](bring-your-data.md#encodings) of text files that are neither UTF-8 nor UTF-16: "
        "`cp1250`, `gbk` or any other that Python supports",
        Text,
        default_text="guessed, with a warning, if only one reading is possible; otherwise, the "
        "file is refused",
        is_recorded=False,
    )
    quotes: str | None = option(
        READING_SECTION,
        "`none`: [quotes](bring-your-data.md#quotes) in text tables are ordinary characters and do "
        "not enclose cells",
        Text,
        metavar="WAY",
        choices=("none",),
        is_recorded=False,
    )
    orientation: str | None = option(
        READING_SECTION,
        "`distance`: scores are distances and are negated; `similarity`: scores are similarities, "
        "even if the AUC is below 0.5",
        Direction,
        descriptions={
            "distance": "scores are distances: negate them",
            "similarity": "scores are similarities, even if the AUC is below 0.5",
        },
        is_recorded=False,
    )
    conflicts: str = option(
        READING_SECTION,
        "treatment of contradictory rows: `error` refuses them, `exclude` leaves them out",
        Text,
        "error",
        metavar="WAY",
    )
    progress: Callable[[Progress], None] | None = option(
        OUTPUT_SECTION,
        "function called with the [progress](api/index.md#parivox.Progress) of each stage, when "
        "the stage begins and ends and at most four times a second in between; `print` shows it",
        command_name=None,
        value_type="Callable[[Progress], None] | None",
    )


@frozen(kw_only=True)
class AuditOptions(ReadOptions):
    """Options of an audit."""

    # how it was read is recorded with the searches
    gallery: Any = option(
        INPUT_SECTION,
        "persons enrolled for [identification](methods/identification.md), as a list such as "
        "`anna,ben`, or as a table with a column `person` and, optionally, the columns `gallery` "
        "and `model`",
        value_type="TableSource | Sequence[str] | None",
    )
    # docs/methods/rates.md#groups-of-trials
    allocate: tuple[str, ...] = option(
        MEASUREMENT_SECTION,
        "[allocation](groups.md#allocation-of-nontarget-trials), the rule that assigns nontarget "
        "trials to groups: `both`, `enrol`, `test`, `either`",
        Texts,
        metavar="RULE",
        choices=("both", "enrol", "test", "either"),
        default_text="`both`; `enrol` if nontarget trials have no test speaker",
        example="both",
    )
    # below 30 / 0.001 = 30,000 nontarget trials, fewer than 30 false accepts set the threshold
    # (docs/methods/rates.md#operating-points)
    operating_points: tuple[str, ...] | None = option(
        MEASUREMENT_SECTION,
        "[rule that sets one threshold](methods/rates.md#operating-points) for all groups: "
        "`threshold=X`, `fpr=X`, `fnr=X`, `sfar=X`, `eer`, `min-cdet`, `min-cdet:COST`, "
        "`min-adcf`, `bayes`, or `deployed` (decisions or thresholds given with the trials)",
        Texts,
        metavar="POINT",
        command_name="operating-point",
        default_text="`deployed` (if available), `fpr=0.01`, and `fpr=0.001` (with at least "
        "30,000 nontarget trials)",
        example="eer",
        is_common=True,
    )
    rank: int = option(
        MEASUREMENT_SECTION,
        "number of top candidates that must include the speaker of a mated search (with "
        "`--gallery`)",
        Number,
        1,
        is_whole=True,
        low=1,
        high=10**6,
        is_recorded=False,
    )
    thresholds: Any = option(
        MEASUREMENT_SECTION,
        "[rule file](thresholds.md#the-rule-file) from `parivox thresholds`; each trial is "
        "decided by its group's threshold, at the operating point `deployed`",
        is_recorded=False,
        value_type="DocumentSource | None",
    )
    cm: Any = option(
        MEASUREMENT_SECTION,
        "scores of a [countermeasure](methods/costs.md#a-countermeasure-before-the-system), one "
        "per recording; trials that the countermeasure rejects count as rejected, whatever their "
        "score",
        is_recorded=False,
        value_type="TableSource | None",
    )
    cm_threshold: str | None = option(
        MEASUREMENT_SECTION,
        "threshold of the countermeasure: a number, or a rule that sets the threshold on all "
        "recordings (`bpcer=X`, `apcer=X` or `eer`)",
        Text,
        metavar="POINT",
        is_recorded=False,
    )
    # docs/methods/uncertainty.md#thresholds-set-on-the-audited-trials
    threshold_from: Any = option(
        MEASUREMENT_SECTION,
        "development scores used to set the thresholds",
        is_repeatable=True,
        default_text="all trials of the system",
        value_type="ScoreSource | None",
    )
    # docs/methods/costs.md#cost-models-in-use
    cost: tuple[str, ...] = option(
        MEASUREMENT_SECTION,
        "detection cost: a [name](methods/costs.md#cost-models-in-use) such as `sre08`, or "
        "`P_TARGET,C_MISS,C_FA`; `min-cdet` uses the first cost",
        Texts,
        ("voxsrc",),
        metavar="COST",
        example="sre08",
    )
    # docs/methods/rates.md#nine-definitions
    eer: tuple[str, ...] = option(
        MEASUREMENT_SECTION,
        "[definition of the EER](methods/rates.md#equal-error-rate): `linear`, "
        "`nearest_max`, `nearest_mean`, "
        "`clova`, `speechbrain`, `kaldi`, `nist_sre16`, `rocch`, `pyeer`",
        Texts,
        ("linear",),
        metavar="RULE",
        choices=EER_DEFINITIONS,
        example="linear",
    )
    # docs/methods/rates.md#one-rate-at-a-fixed-value-of-the-other
    rule: tuple[RateRule, ...] = option(
        MEASUREMENT_SECTION,
        "rule for reading the FNR at a given FPR, or vice versa, from the error curve: "
        "`conservative`, `nearest`, `interp`",
        Texts,
        ("conservative",),
        metavar="RULE",
        choices=("conservative", "nearest", "interp"),
        example="nearest",
    )
    # docs/methods/bias-measures.md#references
    reference: tuple[str, ...] = option(
        MEASUREMENT_SECTION,
        "reference that groups are compared with: `others` (all other groups combined), `pooled`, "
        "`macro`, `geomean`, `best`, or a group name; verdicts use the first reference",
        Texts,
        metavar="NAME",
        default_text="all five names; without intervals, all but `others`",
        example="pooled",
        may_be_empty=True,
    )
    # docs/methods/bias-measures.md#zeros
    zero: tuple[ZeroPolicy, ...] = option(
        MEASUREMENT_SECTION,
        "treatment of [groups without errors](methods/bias-measures.md#zeros) in bias measures and "
        "meta-measures: `none`, `jeffreys`, `nist`",
        Texts,
        ("none", "jeffreys"),
        metavar="POLICY",
        choices=("none", "jeffreys", "nist"),
        example="jeffreys",
    )
    # docs/methods/bias-measures.md#meta-measures
    alpha: tuple[float, ...] = option(
        MEASUREMENT_SECTION,
        "weights of the FPR in measures that combine both error types (FDR, IR, GARBE): `0.5`, "
        "`0,0.5,1` or `0:1:0.05`",
        Weights,
        (0.5,),
        metavar="WEIGHT",
        is_repeatable=True,
    )
    # docs/methods/bias-measures.md#area-under-fdr
    sweep: str | None = option(
        MEASUREMENT_SECTION,
        "compute meta-measures over a grid of operating points: `fpr=0.001:0.1:log100`",
        Text,
        metavar="GRID",
    )
    llr: bool = option(MEASUREMENT_SECTION, _LLR, Flag, False)
    llr_base: int | None = option(
        MEASUREMENT_SECTION, _LLR_BASE, LogBase, default_text="natural logarithms"
    )
    intervals: bool = option(
        UNCERTAINTY_SECTION,
        "intervals, noise floors, verdicts and limits",
        Flag,
        True,
        command_name="no-intervals",
        negated_description="compute no intervals, noise floors, verdicts or limits",
    )
    # docs/methods/uncertainty.md#why-speakers
    interval: str = option(
        UNCERTAINTY_SECTION,
        "method for intervals of rates: `speakers` or `bootstrap`; for comparison only, `wilson`, "
        "`clopper-pearson` or `jeffreys`, which treat trials as independent",
        Text,
        INTERVAL_METHODS[0],
        metavar="WAY",
        choices=INTERVAL_METHODS,
    )
    # docs/methods/uncertainty.md#pooled-floor
    pooled_floor: bool = option(
        UNCERTAINTY_SECTION,
        "widen FNR intervals of groups with few speakers if speakers vary more in other groups",
        Flag,
        False,
    )
    confidence: float = option(
        UNCERTAINTY_SECTION,
        "confidence level of intervals and verdicts, 0.5 to 0.999",
        Number,
        0.95,
        metavar="LEVEL",
        low=0.5,
        high=0.999,
        expected="a fraction from 0.5 to 0.999, for example 0.95",
    )
    # docs/methods/uncertainty.md#intervals-from-replicates
    replicates: int = option(
        UNCERTAINTY_SECTION,
        "number of replicates for the bootstrap over speakers and for noise floors, 50 to 100,000",
        Number,
        1000,
        is_whole=True,
        low=50,
        high=100_000,
    )
    seed: int = option(
        UNCERTAINTY_SECTION,
        "random seed of the replicates; the same seed gives the same numbers",
        Number,
        0,
        is_whole=True,
        low=0,
        high=2**63 - 1,
    )
    # docs/methods/uncertainty.md#thresholds-set-on-the-audited-trials
    fixed_threshold: bool = option(
        UNCERTAINTY_SECTION,
        "keep the thresholds that were set on the audited trials, instead of re-estimating them "
        "in every replicate",
        Flag,
        False,
    )
    bins: int = option(
        UNCERTAINTY_SECTION,
        "number of score bins in replicates; `exact` for no bins",
        Number,
        1024,
        is_whole=True,
        low=64,
        high=1 << 20,
        zero_word="exact",
    )
    # docs/methods/verdicts.md#many-groups
    primary: str | None = option(
        UNCERTAINTY_SECTION,
        "grouping whose verdicts are [confirmatory](uncertainty.md#one-question-or-many), such as "
        "`gender` or `gender@fpr=0.01`; the report shows this grouping first",
        Text,
        metavar="GROUPING",
        default_text="the first grouping at the first operating point",
    )
    # docs/methods/verdicts.md#rules-of-a-verdict
    margin: float = option(
        UNCERTAINTY_SECTION,
        "[equivalence margin](read-a-report.md#verdicts): the largest ratio that counts as "
        "equivalent; the smallest is its reciprocal",
        Number,
        1.25,
        metavar="RATIO",
        low=1,
        excluded=(1,),
        high=1e6,
        expected="a ratio above 1, for example 1.25",
    )
    # docs/uncertainty.md#limits-and-people
    limit: tuple[str, ...] = option(
        UNCERTAINTY_SECTION,
        "[maximum allowed rate](uncertainty.md#limits-and-people), such as `fnr=5%`, `fpr=0.001` "
        "or `fta=2%`, or maximum ratio to the first reference, such as `fpr=1.5x`; `fnr:f=5%` "
        "limits one group only",
        Texts,
        (),
        metavar="RATE=MAX",
        python_name="limits",
        may_be_empty=True,
        is_common=True,
    )
    # docs/methods/verdicts.md#attempts
    attempts: int | None = option(
        UNCERTAINTY_SECTION,
        "number of attempts per person; the audit then reports the share of speakers rejected "
        "every time and the share of impostors accepted at least once",
        Number,
        is_whole=True,
        low=1,
        high=10**9,
    )
    # docs/uncertainty.md#sample-size-minimums
    gate: tuple[str, ...] = option(
        UNCERTAINTY_SECTION,
        "[minimum sample size of a group](uncertainty.md#sample-size-minimums): for a verdict, "
        "`inference=5` (speakers); for summary measures, `speakers=10`, `errors=5` (effective "
        "errors) and `pairs=45` (pairs of speakers)",
        Texts,
        (),
        metavar="NAME=N",
        python_name="gates",
        default_text="these values",
        may_be_empty=True,
    )
    # docs/methods/verdicts.md#standardised-rates
    standardise: tuple[str, ...] = option(
        UNCERTAINTY_SECTION,
        "add rates [standardised](uncertainty.md#standardised-rates) over this attribute, such as "
        "`same:gender`, with equal weight per stratum",
        Texts,
        (),
        metavar="ATTRIBUTE",
        may_be_empty=True,
    )
    compare: bool = option(
        UNCERTAINTY_SECTION,
        "compare the systems and trial lists [with each "
        "other](uncertainty.md#two-systems-two-lists)",
        Flag,
        False,
        is_common=True,
    )
    speaker_ids: str = option(
        OUTPUT_SECTION,
        "whether the audit and the report contain speaker ids: `never`, or `offenders` (lists "
        "each group's speakers with the most errors)",
        Text,
        NEVER,
        metavar="WHOM",
        choices=(NEVER, OFFENDERS),
    )
    compat: str | None = option(
        MEASUREMENT_SECTION,
        "`bt4vt`: add results computed by the rules of bt4vt 1.0.1 (curve cut at its ends, nearest "
        "threshold, `nearest_max` EER)",
        Text,
        metavar="TOOL",
        choices=("bt4vt",),
    )
    trial_table: Any = option(
        OUTPUT_SECTION,
        "write [every trial](output.md#the-table-of-trials) with its errors, groups and speaker "
        "numbers to CSV or Parquet, for your own statistical models",
        value_type="str | os.PathLike[str] | None",
    )
    metrics: Mapping[str, Callable[..., Any]] | None = option(
        MEASUREMENT_SECTION,
        "your own metrics: functions from error counts `[..., group, threshold]` to values `[..., "
        "group]` (of the whole curve) or `[..., group, threshold]` (at each operating point); "
        "lower is better. Metrics of the entry point group `parivox.metrics` are added",
        NameMapping,
        command_name=None,
        value_type="Callable[..., Any]",
        is_valid=callable,
        mapping_form=(
            "from name to function; give one, for example {'weighted_error': weighted_error}"
        ),
        is_recorded=False,
    )


@frozen(kw_only=True)
class CountOptions(ReadOptions):
    """Options of counts that others audit."""

    step: Any = option(
        COUNTING_SECTION,
        "width of the score bins; may be required to count several groupings with suppression, "
        "because rows with rare scores could be [joined](counts.md#what-suppression-protects)",
        metavar="WIDTH",
        default_text="exact scores, without bins",
        value_type="float | str | None",
        is_common=True,
    )
    thresholds: Any = option(
        COUNTING_SECTION,
        "score at which to count trials, in addition to the bins of `--step`. Without `--step`, "
        "trials are counted only at these scores",
        Unchecked,
        (),
        metavar="X",
        command_name="threshold",
        is_repeatable=True,
        value_type="Sequence[float | str] | float | str",
    )
    withhold: int = option(
        COUNTING_SECTION,
        "suppress groups with fewer speakers than this number; 0 suppresses none",
        Number,
        5,
        is_whole=True,
        low=0,
        high=2**63 - 1,
        expected="the fewest speakers of a group, for example 5, or 0 for none",
        is_common=True,
    )
    key: Any = option(
        COUNTING_SECTION,
        "file with the secret of the [site](counts.md#sites-that-may-not-share-rows), used to "
        "pseudonymise speakers. If a key is given, speaker counts are also written; audits need "
        "them to compute uncertainty",
        default_text="score counts only",
        is_common=True,
        value_type="str | os.PathLike[str] | None",
    )
    new_key: Any = option(
        COUNTING_SECTION,
        "create a new random secret, write it to this file and use it like `--key`",
        metavar="FILE",
        is_common=True,
        value_type="str | os.PathLike[str] | None",
    )
    regroup: bool = option(
        COUNTING_SECTION,
        "with `--key`, count trials again by other groups, even if groups were suppressed before",
        Flag,
        False,
    )
    blocks: int | None = option(
        COUNTING_SECTION,
        "with `--key`, count by blocks of at least this many speakers, not by single speakers",
        Number,
        is_whole=True,
        low=2,
        high=2**31 - 1,
        is_common=True,
    )
    llr: bool = option(COUNTING_SECTION, _LLR, Flag, False)
    llr_base: int | None = option_like(AuditOptions, "llr_base", section=COUNTING_SECTION)


@frozen(kw_only=True)
class ProgressCommand(CommandOptions):
    """Options of commands that take long."""

    quiet: bool = option(OUTPUT_SECTION, "show no progress on standard error", Flag, False)
    progress: str | None = option(
        OUTPUT_SECTION,
        "`json`: write [machine-readable progress](#progress) to standard error, one JSON object "
        "per line",
        Text,
        metavar="FORM",
        default_text="a progress line, updated in place; in a log, one line every ten seconds",
    )


@frozen(kw_only=True)
class WorkersCommand(CommandOptions):
    """The number of processes of commands that share their work among several."""

    workers: int | None = option(
        OUTPUT_SECTION,
        "number of processes, which does not affect results; small tasks run in one process",
        Number,
        default_text="one per processor, fewer if memory is short; 1 in Python",
        is_whole=True,
        low=1,
        high=1024,
    )


def checked_workers(workers: Any) -> int:
    """Return a number of processes; refuse anything else."""
    number = option_fields(WorkersCommand)["workers"].check(workers)
    return 1 if number is None else int(number)


@frozen(kw_only=True)
class ReportDetailsCommand(CommandOptions):
    """Title and context of a report, and of whatever else displays an audit."""

    title: str | None = option(
        OUTPUT_SECTION,
        "title of the report",
        Text,
        metavar="TEXT",
        default_text="the systems and groupings",
    )
    context: Any = option(
        OUTPUT_SECTION,
        "[audit context](report.md#audit-context) (YAML): [labels](report.md#labels) of groups, "
        "systems and operating points, and facts for the report, such as the purpose, the "
        "population, and who chose the threshold, groups and margin",
        default_text='"not supplied" is shown',
    )


@frozen(kw_only=True)
class AuditCommand(CommandOptions):
    """The command line of `audit`."""

    section_order = (
        INPUT_SECTION,
        MEASUREMENT_SECTION,
        UNCERTAINTY_SECTION,
        READING_SECTION,
        OUTPUT_SECTION,
    )

    scores: Any = option(
        INPUT_SECTION,
        "score file, or - for standard input. For several systems or trial lists, use NAME=FILE "
        "or NAME@LIST=FILE. Score-count files are accepted, too; counts of the same system and "
        "list are added up",
        metavar="SCORES",
        positional_count="+",
    )
    out: Any = option(
        OUTPUT_SECTION,
        "write the [result tables](output.md) and audit.json to this folder",
        metavar="DIR",
        is_common=True,
    )
    format: str = option(
        OUTPUT_SECTION, "format of the tables: `csv` or `parquet`", Text, "csv", metavar="KIND"
    )
    report: Any = option(
        OUTPUT_SECTION,
        "write the [report](report.md) as a single self-contained HTML file",
        is_common=True,
    )
    json: bool = option(OUTPUT_SECTION, "print audit.json instead of the summary", Flag, False)
    fail_on: tuple[str, ...] = option(
        OUTPUT_SECTION,
        "findings that set exit code 1: `not-met` or `inconclusive` for limits, `worse` for "
        "groups; separate several with commas. For more conditions, use a [gate](gate.md)",
        Texts,
        (),
        metavar="FINDINGS",
        choices=FAIL_CONDITIONS,
        may_be_empty=True,
        parser=lambda texts: [part.strip() for part in ",".join(texts).split(",")],
    )
    verbose: bool = option(
        OUTPUT_SECTION,
        "print all tables before the summary",
        Flag,
        False,
        letter="v",
        is_common=True,
    )


@frozen(kw_only=True)
class CountCommand(CommandOptions):
    """The command line of `count`."""

    section_order = (INPUT_SECTION, COUNTING_SECTION, READING_SECTION, OUTPUT_SECTION)

    scores: Any = option(
        INPUT_SECTION,
        "score file, NAME=FILE, or - for standard input",
        metavar="SCORES",
        positional_count="1",
    )
    out: Any = option(
        OUTPUT_SECTION, "write the counts to this file", is_required=True, is_common=True
    )


@frozen(kw_only=True)
class InspectOptions(CommandOptions):
    """Options of `inspect`."""

    columns: Mapping[str, str] | None = option_like(ReadOptions, "columns")
    scores_format: str | None = option_like(ReadOptions, "scores_format")
    encoding: str | None = option_like(ReadOptions, "encoding")
    quotes: str | None = option_like(ReadOptions, "quotes")


@frozen(kw_only=True)
class InspectCommand(CommandOptions):
    """The command line of `inspect`."""

    section_order = (INPUT_SECTION, READING_SECTION, OUTPUT_SECTION)

    files: Any = option(
        INPUT_SECTION,
        "score files, trial lists, speaker, utterance, model or failure tables, counts or a groups "
        "file, in any order; - for standard input",
        positional_count="+",
    )
    json: bool = option(OUTPUT_SECTION, "print the findings as JSON", Flag, False)


@frozen(kw_only=True)
class ReportCommand(CommandOptions):
    """The command line of `report`."""

    audit: Any = option(
        OUTPUT_SECTION,
        "folder of a saved audit (written with `--out`)",
        metavar="AUDIT",
        positional_count="1",
    )
    out: Any = option(
        OUTPUT_SECTION,
        "write the report (`.html`), tables (`.md`, `.tex`, `.xlsx`) or numbers (`.json`, "
        "`.yaml`) to this file; an existing file is replaced only if Parivox wrote it",
    )
    format: str | None = option(
        OUTPUT_SECTION,
        "format of tables (`markdown`, `latex` or `xlsx`) or of numbers (flat `metrics` in JSON, "
        "or the `model-index` of a model card in YAML). Without `--out`, all formats but `xlsx` "
        "go to "
        "standard output. Default: by the extension of `--out`",
        Text,
        metavar="KIND",
    )
    table: str | None = option(
        OUTPUT_SECTION,
        "write only the named tables, as Markdown or LaTeX: `rates` (both error rates of each "
        "group, systems side by side), `groups` (each group of one system with counts, ratio and "
        "adjusted p), `measures`, `crosstabs` or `thresholds`; separate several with commas",
        Text,
        metavar="NAMES",
    )
    figures: Any = option(
        OUTPUT_SECTION,
        "write the figures to this folder, one file each, at column width on a white background; "
        "`index.md` explains the figures",
        metavar="FOLDER",
    )
    formats: str | None = option(
        OUTPUT_SECTION,
        "formats of the figures: `svg` (default), `png` or `pdf`; separate several with commas",
        Text,
        metavar="KINDS",
    )
    speaker_ids: str = option_like(AuditOptions, "speaker_ids")


@frozen(kw_only=True)
class ShowCommand(CommandOptions):
    """The command line of `show`."""

    audit: Any = option_like(ReportCommand, "audit", section=DISPLAY_SECTION)
    group: Any = option(
        DISPLAY_SECTION,
        "groups to show at every operating point, with both error types, for example `f`; if "
        "omitted, the summary is shown",
        metavar="GROUP",
        positional_count="*",
    )
    by: str | None = option(
        DISPLAY_SECTION,
        "show only this grouping: `gender+nationality`",
        Text,
        metavar="GROUPING",
    )
    system: str | None = option(
        DISPLAY_SECTION, "show only this system, such as `V2` or `V2@H`", Text
    )
    operating_point: str | None = option(
        DISPLAY_SECTION,
        "show only this operating point, such as `fpr=0.001`",
        Text,
        metavar="POINT",
    )
    context: Any = option_like(ReportDetailsCommand, "context", section=DISPLAY_SECTION)
    notes: bool = option(
        DISPLAY_SECTION,
        "instead of the summary, show the reasons and notes of all tables in words",
        Flag,
        False,
    )
    verbose: bool = option_like(AuditCommand, "verbose", section=DISPLAY_SECTION)


@frozen(kw_only=True)
class CriteriaCommand(CommandOptions):
    """The command line of `criteria`."""

    audit: Any = option_like(ReportCommand, "audit", section=DISPLAY_SECTION)
    out: Any = option(DISPLAY_SECTION, "write the tables to this folder as CSV", metavar="DIR")
    json: bool = option(DISPLAY_SECTION, "print the results as JSON", Flag, False)


@frozen(kw_only=True)
class DemoCommand(CommandOptions):
    """The command line of `demo`."""

    out: Any = option(
        DISPLAY_SECTION,
        "write the audit and its report to this folder",
        Text,
        "parivox-demo",
        metavar="DIR",
    )


@frozen(kw_only=True)
class CompletionCommand(CommandOptions):
    """The command line of `completion`."""

    shell: Any = option(
        DISPLAY_SECTION,
        "bash, zsh or fish",
        Text,
        metavar="SHELL",
        positional_count="1",
        choices=("bash", "zsh", "fish"),
    )
