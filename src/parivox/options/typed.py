"""Types of the options that functions take besides those in their signatures.

Written by tests/test_options.py from the descriptions; editors and type checkers read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from parivox.progress import Progress


class OtherAuditOptions(TypedDict, total=False):
    """Options of `audit` that its signature does not name."""

    models: Any
    """table of model, speaker, recording, one row a recording: enrolments made of several"""
    failures: Any
    """table of recording, stage (enrol, acquire) and reason: what could not be used"""
    only: Sequence[str] | str
    """trials of which both sides have this value alone: grade=4, same:recording=different,
    enrol.channel=phone; further values of one attribute are taken, too"""
    scores_format: str | None
    """format of the scores (default: by content)"""
    columns: Mapping[str, str] | None
    """columns of the roles: enrol=ref_file,test=com_file,score=sc,label=lab; and words of the
    cells: accept=ja,reject=nein,failed=too short, nobody=anonymous|guest for ids that stand for no
    speaker"""
    id: str | None
    """id column of the speaker table (default: the one that covers the ids: one called speaker or
    id goes before all others, one without a name behind them, and of others that cover alike none
    is taken)"""
    encoding: str | None
    """encoding of texts that are neither UTF-8 nor UTF-16: cp1250, gbk or any other that Python
    knows (default: guessed where their words can be read in one way only, with a warning, else
    refused)"""
    quotes: str | None
    """none where quotes (") in tables of text are signs as others are, not around cells"""
    orientation: str | None
    """distance where scores are distances, to be negated; similarity where they are similarities,
    whatever their AUC"""
    conflicts: str
    """rows that contradict each other: error refuses them, set-aside leaves them out (default:
    error)"""
    progress: Callable[[Progress], None] | None
    """called with the progress of each stage, as it begins and ends and at most four times a second
    in between; print shows it"""
    allocate: Sequence[str] | str | None
    """which group a nontarget trial counts for: both, enrol, test, either (default: both; enrol
    where nontarget trials have no test speaker)"""
    thresholds: Any
    """a rule file of parivox thresholds: decides each trial by the threshold of its group, as the
    point deployed"""
    threshold_from: Any
    """development scores to find the thresholds on (default: all trials of the system)"""
    cost: Sequence[str] | str
    """detection cost: a name, as in sre08, or P_TARGET,C_MISS,C_FA; min-cdet takes the first
    (default: voxsrc)"""
    eer: Sequence[str] | str
    """definition of the EER: linear, nearest_max, nearest_mean, clova, speechbrain, kaldi,
    nist_sre16, rocch, pyeer (default: linear)"""
    rule: Sequence[str] | str
    """FNR at an FPR and the reverse: conservative, nearest, interp (default: conservative)"""
    reference: Sequence[str] | str | None
    """what groups are compared with: others, pooled, macro, geomean, best, or a group; verdicts
    take the first (default: these five; without intervals not others)"""
    zero: Sequence[str] | str
    """rates without errors: none, jeffreys, nist (default: none, jeffreys)"""
    alpha: Sequence[float | str] | float | str
    """weights of FPR in measures that join both rates (FDR, IR, GARBE): 0.5, 0,0.5,1 or 0:1:0.05
    (default: 0.5)"""
    sweep: str | None
    """meta-measures over a grid of operating points: fpr=0.001:0.1:log100"""
    llr: bool
    """scores are natural-log likelihood ratios"""
    llr_base: int | None
    """scores are log-likelihood ratios to this base: 10 or 2; thresholds stay in their units
    (default: natural logarithms)"""
    interval: str
    """of rates: speakers, bootstrap; for comparison only wilson, clopper-pearson and jeffreys,
    which take trials as independent (default: speakers)"""
    pooled_floor: bool
    """widen intervals of FNR where other groups show that speakers vary more; for groups of few
    speakers"""
    confidence: float
    """level of intervals and verdicts, 0.5 to 0.999 (default: 0.95)"""
    replicates: int
    """of the bootstrap over speakers and of noise floors, 50 to 100,000 (default: 1000)"""
    seed: int
    """of both: the same seed, the same numbers (default: 0)"""
    fixed_threshold: bool
    """keep thresholds that were found on the trials in every replicate, which else finds its own"""
    bins: int | str
    """of the scores in replicates: a number, or exact (default: 1024)"""
    primary: str | None
    """the question of the audit: the grouping, as in gender or gender@fpr=0.01, whose verdicts are
    confirmatory; it comes first (default: the first grouping at the first operating point)"""
    margin: float
    """largest ratio, and its reciprocal, that is no difference that matters (default: 1.25)"""
    attempts: int | None
    """tries of a person or an impostor: who is locked out, or gets in"""
    gates: Sequence[str] | str
    """what a group needs: inference=5 (speakers, to be judged at all); speakers=10, errors=5
    (effective ones), pairs=45 (of speakers), to count in headline numbers (default: these
    numbers)"""
    standardise: Sequence[str] | str
    """rates with equal weight for each level of this, beside the crude ones: same:gender"""
    speaker_ids: str
    """whose ids the audit notes and the page names: never, or offenders, the speakers who have most
    of the errors of each group, in a table of their own; never writes no id anywhere (default:
    never)"""
    compat: str | None
    """bt4vt: the rules of bt4vt 1.0.1 beside the exact ones: curve cut at its ends, nearest
    threshold, nearest_max EER"""
    trial_table: str | os.PathLike[str] | None
    """CSV or Parquet of every trial with its errors, groups and numbered speakers, for models of
    your own"""
    metrics: Mapping[str, Callable[..., Any]] | None
    """metrics of your own: functions from error counts [..., group, threshold] to values [...,
    group] (of the whole curve) or [..., group, threshold] (at each operating point); lower is
    better. Those of the entry point group parivox.metrics are added"""


class OtherCountOptions(TypedDict, total=False):
    """Options of `count` that its signature does not name."""

    trials: Any
    """separate trial list (labels), joined on the pair of ids, never on line order"""
    utterances: Any
    """table of recordings: the speaker, where the id does not begin with it, and any attributes; a
    folder of Kaldi's; or where in ids the speaker stands: {speaker}-**"""
    models: Any
    """table of model, speaker, recording, one row a recording: enrolments made of several"""
    failures: Any
    """table of recording, stage (enrol, acquire) and reason: what could not be used"""
    only: Sequence[str] | str
    """trials of which both sides have this value alone: grade=4, same:recording=different,
    enrol.channel=phone; further values of one attribute are taken, too"""
    scores_format: str | None
    """format of the scores (default: by content)"""
    columns: Mapping[str, str] | None
    """columns of the roles: enrol=ref_file,test=com_file,score=sc,label=lab; and words of the
    cells: accept=ja,reject=nein,failed=too short, nobody=anonymous|guest for ids that stand for no
    speaker"""
    id: str | None
    """id column of the speaker table (default: the one that covers the ids: one called speaker or
    id goes before all others, one without a name behind them, and of others that cover alike none
    is taken)"""
    encoding: str | None
    """encoding of texts that are neither UTF-8 nor UTF-16: cp1250, gbk or any other that Python
    knows (default: guessed where their words can be read in one way only, with a warning, else
    refused)"""
    quotes: str | None
    """none where quotes (") in tables of text are signs as others are, not around cells"""
    orientation: str | None
    """distance where scores are distances, to be negated; similarity where they are similarities,
    whatever their AUC"""
    conflicts: str
    """rows that contradict each other: error refuses them, set-aside leaves them out (default:
    error)"""
    progress: Callable[[Progress], None] | None
    """called with the progress of each stage, as it begins and ends and at most four times a second
    in between; print shows it"""
    llr: bool
    """scores are natural-log likelihood ratios"""
    llr_base: int | None
    """scores are log-likelihood ratios to this base: 10 or 2; thresholds stay in their units
    (default: natural logarithms)"""


class OtherBuildOptions(TypedDict, total=False):
    """Options of `trials build inclusive` that its signature does not name."""

    format: str
    """of the lists: voxceleb, kaldi, nist, csv or parquet (default: voxceleb)"""
    variants: int
    """how many lists, with seeds spawned from one (default: 1)"""
    seed: int
    """that seed (default: 0)"""
    id: str | None
    """id column of the speaker table"""
    encoding: str | None
    """encoding of texts that are neither UTF-8 nor UTF-16: cp1250, gbk or any other that Python
    knows (default: guessed where their words can be read in one way only, with a warning, else
    refused)"""
    quotes: str | None
    """none where quotes (") in tables of text are signs as others are, not around cells"""
    speaker_ids: bool
    """name who is left out, also in the manifest"""
    progress: Callable[[Progress], None] | None
    """called with the progress of each stage, as it begins and ends and at most four times a second
    in between; print shows it"""
