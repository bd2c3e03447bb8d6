"""Types of the options that functions take besides those in their signatures.

Written by tests/test_options.py from the descriptions; editors and type checkers read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from parivox.runtime.progress import Progress
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )


class OtherAuditOptions(TypedDict, total=False):
    """Options of `audit` that its signature does not name."""

    models: TableSource | None
    """model table, for enrolments made of several recordings: each row names a model, its speaker
    and one of its recordings"""
    failures: TableSource | None
    """table of failures to enrol and to acquire, with columns for the recording, stage (enrol or
    acquire) and reason"""
    only: Sequence[str] | str
    """keep only trials in which both sides (or the named side) have this value: grade=4,
    same:recording=different, enrol.channel=phone. Several values of one attribute are
    alternatives"""
    scores_format: str | None
    """format of the scores (default: detected from the content)"""
    columns: Mapping[str, str] | None
    """column for each role: enrol=ref_file,test=com_file,score=sc,label=lab; also the meaning of
    words in cells: accept=ja,reject=nein,failed=too short, and nobody=guest for ids that identify
    no speaker"""
    id: str | None
    """id column of the speaker table (default: the column that contains the ids. Columns called
    speaker or id take precedence; unnamed columns come last. The option is required if several
    columns fit equally well)"""
    encoding: str | None
    """encoding of text files that are neither UTF-8 nor UTF-16: cp1250, gbk or any other that
    Python supports (default: guessed, with a warning, if only one reading is possible; otherwise,
    the file is refused)"""
    quotes: str | None
    """none: quotes in text tables are ordinary characters and do not enclose cells"""
    orientation: str | None
    """distance: scores are distances and are negated; similarity: scores are similarities, even if
    the AUC is below 0.5"""
    conflicts: str
    """treatment of contradictory rows: error refuses them, exclude leaves them out (default:
    error)"""
    progress: Callable[[Progress], None] | None
    """function called with the progress of each stage, when the stage begins and ends and at most
    four times a second in between; print shows it"""
    gallery: TableSource | Sequence[str] | None
    """persons enrolled for identification, as a list such as anna,ben, or as a table with a column
    person and, optionally, the columns gallery and model"""
    allocate: Sequence[str] | str | None
    """allocation, the rule that assigns nontarget trials to groups: both, enrol, test, either
    (default: both; enrol if nontarget trials have no test speaker)"""
    rank: int
    """number of top candidates that must include the speaker of a mated search (with --gallery)
    (default: 1)"""
    thresholds: DocumentSource | None
    """rule file from parivox thresholds; each trial is decided by its group's threshold, at the
    operating point deployed"""
    cm: TableSource | None
    """scores of a countermeasure, one per recording; trials that the countermeasure rejects count
    as rejected, whatever their score"""
    cm_threshold: str | None
    """threshold of the countermeasure: a number, or a rule that sets the threshold on all
    recordings (bpcer=X, apcer=X or eer)"""
    threshold_from: ScoreSource | None
    """development scores used to set the thresholds (default: all trials of the system)"""
    cost: Sequence[str] | str
    """detection cost: a name such as sre08, or P_TARGET,C_MISS,C_FA; min-cdet uses the first cost
    (default: voxsrc)"""
    eer: Sequence[str] | str
    """definition of the EER: linear, nearest_max, nearest_mean, clova, speechbrain, kaldi,
    nist_sre16, rocch, pyeer (default: linear)"""
    rule: Sequence[str] | str
    """rule for reading the FNR at a given FPR, or vice versa, from the error curve: conservative,
    nearest, interp (default: conservative)"""
    reference: Sequence[str] | str | None
    """reference that groups are compared with: others (all other groups combined), pooled, macro,
    geomean, best, or a group name; verdicts use the first reference (default: all five names;
    without intervals, all but others)"""
    zero: Sequence[str] | str
    """treatment of groups without errors in bias measures and meta-measures: none, jeffreys, nist
    (default: none, jeffreys)"""
    alpha: Sequence[float | str] | float | str
    """weights of the FPR in measures that combine both error types (FDR, IR, GARBE): 0.5, 0,0.5,1
    or 0:1:0.05 (default: 0.5)"""
    sweep: str | None
    """compute meta-measures over a grid of operating points: fpr=0.001:0.1:log100"""
    llr: bool
    """scores are natural-log likelihood ratios"""
    llr_base: int | None
    """scores are log-likelihood ratios to this base: 10 or 2; thresholds keep the units of the
    scores (default: natural logarithms)"""
    interval: str
    """method for intervals of rates: speakers or bootstrap; for comparison only, wilson,
    clopper-pearson or jeffreys, which treat trials as independent (default: speakers)"""
    pooled_floor: bool
    """widen FNR intervals of groups with few speakers if speakers vary more in other groups"""
    confidence: float
    """confidence level of intervals and verdicts, 0.5 to 0.999 (default: 0.95)"""
    replicates: int
    """number of replicates for the bootstrap over speakers and for noise floors, 50 to 100,000
    (default: 1000)"""
    seed: int
    """random seed of the replicates; the same seed gives the same numbers (default: 0)"""
    fixed_threshold: bool
    """keep the thresholds that were set on the audited trials, instead of re-estimating them in
    every replicate"""
    bins: int | str
    """number of score bins in replicates; exact for no bins (default: 1024)"""
    primary: str | None
    """grouping whose verdicts are confirmatory, such as gender or gender@fpr=0.01; the report shows
    this grouping first (default: the first grouping at the first operating point)"""
    margin: float
    """equivalence margin: the largest ratio that counts as equivalent; the smallest is its
    reciprocal (default: 1.25)"""
    attempts: int | None
    """number of attempts per person; the audit then reports the share of speakers rejected every
    time and the share of impostors accepted at least once"""
    gates: Sequence[str] | str
    """minimum sample size of a group: for a verdict, inference=5 (speakers); for summary measures,
    speakers=10, errors=5 (effective errors) and pairs=45 (pairs of speakers) (default: these
    values)"""
    standardise: Sequence[str] | str
    """add rates standardised over this attribute, such as same:gender, with equal weight per
    stratum"""
    speaker_ids: str
    """whether the audit and the report contain speaker ids: never, or offenders (lists each group's
    speakers with the most errors) (default: never)"""
    compat: str | None
    """bt4vt: add results computed by the rules of bt4vt 1.0.1 (curve cut at its ends, nearest
    threshold, nearest_max EER)"""
    trial_table: str | os.PathLike[str] | None
    """write every trial with its errors, groups and speaker numbers to CSV or Parquet, for your own
    statistical models"""
    metrics: Mapping[str, Callable[..., Any]] | None
    """your own metrics: functions from error counts [..., group, threshold] to values [..., group]
    (of the whole curve) or [..., group, threshold] (at each operating point); lower is better.
    Metrics of the entry point group parivox.metrics are added"""


class PlannedAuditOptions(OtherAuditOptions, total=False):
    """Options of `shards plan` that its signature does not name."""

    speakers: SpeakerSource | None
    """speaker table: one row per speaker, with any attributes. The table is not needed if all
    groups are formed from attributes of recordings or trials"""
    by: Sequence[str] | str | None
    """attributes that define the groups: gender; gender+nationality for combinations; age:18,30,60
    for the bands <18, 18-29, 30-59 and 60+; enrol.language, same:device, grade and others. The
    first is the main comparison, unless --primary names another (default: every speaker or
    recording attribute that has 2 to 50 values)"""
    within: Sequence[str] | str | None
    """attributes that define strata, such as channel; the audit is repeated within each stratum"""
    trials: TableSource | None
    """separate trial list with labels, joined to the scores by both ids (never by line order)"""
    utterances: UtteranceSource | None
    """utterance table with any attributes; the table must name the speakers if the utterance ids do
    not begin with the speaker id. The option also accepts a Kaldi data folder, or a pattern that
    locates the speaker in the ids, such as {speaker}-** (or one per side: enrol={speaker}-** and
    test=**/{speaker}_*)"""
    groups: DocumentSource | None
    """groups file (YAML), which defines the values of each group and what to compare"""
    operating_points: Sequence[str] | str | None
    """rule that sets one threshold for all groups: threshold=X, fpr=X, fnr=X, sfar=X, eer,
    min-cdet, min-cdet:COST, min-adcf, bayes, or deployed (decisions or thresholds given with the
    trials) (default: deployed (if available), fpr=0.01, and fpr=0.001 (with at least 30,000
    nontarget trials))"""
    intervals: bool
    """intervals, noise floors, verdicts and limits"""
    limits: Sequence[str] | str
    """maximum allowed rate, such as fnr=5%, fpr=0.001 or fta=2%, or maximum ratio to the first
    reference, such as fpr=1.5x; fnr:f=5% limits one group only"""
    compare: bool
    """compare the systems and trial lists with each other"""


class OtherCountOptions(TypedDict, total=False):
    """Options of `count` that its signature does not name."""

    trials: TableSource | None
    """separate trial list with labels, joined to the scores by both ids (never by line order)"""
    utterances: UtteranceSource | None
    """utterance table with any attributes; the table must name the speakers if the utterance ids do
    not begin with the speaker id. The option also accepts a Kaldi data folder, or a pattern that
    locates the speaker in the ids, such as {speaker}-** (or one per side: enrol={speaker}-** and
    test=**/{speaker}_*)"""
    models: TableSource | None
    """model table, for enrolments made of several recordings: each row names a model, its speaker
    and one of its recordings"""
    failures: TableSource | None
    """table of failures to enrol and to acquire, with columns for the recording, stage (enrol or
    acquire) and reason"""
    only: Sequence[str] | str
    """keep only trials in which both sides (or the named side) have this value: grade=4,
    same:recording=different, enrol.channel=phone. Several values of one attribute are
    alternatives"""
    scores_format: str | None
    """format of the scores (default: detected from the content)"""
    columns: Mapping[str, str] | None
    """column for each role: enrol=ref_file,test=com_file,score=sc,label=lab; also the meaning of
    words in cells: accept=ja,reject=nein,failed=too short, and nobody=guest for ids that identify
    no speaker"""
    id: str | None
    """id column of the speaker table (default: the column that contains the ids. Columns called
    speaker or id take precedence; unnamed columns come last. The option is required if several
    columns fit equally well)"""
    encoding: str | None
    """encoding of text files that are neither UTF-8 nor UTF-16: cp1250, gbk or any other that
    Python supports (default: guessed, with a warning, if only one reading is possible; otherwise,
    the file is refused)"""
    quotes: str | None
    """none: quotes in text tables are ordinary characters and do not enclose cells"""
    orientation: str | None
    """distance: scores are distances and are negated; similarity: scores are similarities, even if
    the AUC is below 0.5"""
    conflicts: str
    """treatment of contradictory rows: error refuses them, exclude leaves them out (default:
    error)"""
    progress: Callable[[Progress], None] | None
    """function called with the progress of each stage, when the stage begins and ends and at most
    four times a second in between; print shows it"""
    regroup: bool
    """with --key, count trials again by other groups, even if groups were suppressed before"""
    llr: bool
    """scores are natural-log likelihood ratios"""
    llr_base: int | None
    """scores are log-likelihood ratios to this base: 10 or 2; thresholds keep the units of the
    scores (default: natural logarithms)"""


class OtherBuildOptions(TypedDict, total=False):
    """Options of `trials build inclusive` that its signature does not name."""

    format: str
    """format of the lists: voxceleb, kaldi, nist, csv or parquet (default: voxceleb)"""
    variants: int
    """number of lists, with seeds derived from --seed (default: 1)"""
    seed: int
    """random seed (default: 0)"""
    id: str | None
    """id column of the speaker table"""
    encoding: str | None
    """encoding of text files that are neither UTF-8 nor UTF-16: cp1250, gbk or any other that
    Python supports (default: guessed, with a warning, if only one reading is possible; otherwise,
    the file is refused)"""
    quotes: str | None
    """none: quotes in text tables are ordinary characters and do not enclose cells"""
    speaker_ids: bool
    """name excluded speakers in the output and the manifest"""
    progress: Callable[[Progress], None] | None
    """function called with the progress of each stage, when the stage begins and ends and at most
    four times a second in between; print shows it"""
