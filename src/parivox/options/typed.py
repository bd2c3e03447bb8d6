"""Types of the options that functions take besides those in their signatures.

Written by tests/test_options.py from the descriptions; editors and type checkers read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence


class OtherAuditOptions(TypedDict, total=False):
    """Options of `audit` that its signature does not name.

    Attributes
    ----------
    models
        table of model, speaker, recording, one row a recording: enrolments made of several
    failures
        table of recording, stage (enrol, acquire) and reason: what could not be used
    scores_format
        format of the scores (default: by content)
    columns
        columns of the roles: enrol=ref_file,test=com_file,score=sc,label=lab
    id
        id column of the speaker table (default: the one that covers the ids: one called speaker
        or id goes before all others, one without a name behind them, and of others that cover
        alike none is taken)
    orientation
        distance where scores are distances, to be negated; similarity where they are
        similarities, whatever their AUC
    conflicts
        rows that contradict each other: error refuses them, set-aside leaves them out (default:
        error)
    progress
        called with what is being done, as it starts
    allocate
        which group a nontarget trial counts for: both, enrol, test, either (default: both)
    threshold_from
        development scores to find the thresholds on (default: all trials of the system)
    cost
        detection cost: a name, as in sre08, or P_TARGET,C_MISS,C_FA; min-cdet takes the first
        (default: voxsrc)
    eer
        definition of the EER: linear, nearest_max, nearest_mean, clova, speechbrain, kaldi,
        nist_sre16, rocch, pyeer (default: linear)
    rule
        FNR at an FPR and the reverse: conservative, nearest, interp (default: conservative)
    reference
        what groups are compared with: others, pooled, macro, geomean, best, or a group; verdicts
        take the first (default: these five; without intervals not others)
    zero
        rates without errors: none, jeffreys, nist (default: none, jeffreys)
    alpha
        weights of FPR in measures that join both rates (FDR, IR, GARBE): 0.5, 0,0.5,1 or 0:1:0.05
        (default: 0.5)
    sweep
        meta-measures over a grid of operating points: fpr=0.001:0.1:log100
    llr
        scores are natural-log likelihood ratios
    interval
        of rates: speakers, bootstrap; for comparison only wilson, clopper-pearson and jeffreys,
        which take trials as independent (default: speakers)
    pooled_floor
        widen intervals of FNR where other groups show that speakers vary more; for groups of few
        speakers
    confidence
        level of intervals and verdicts, 0.5 to 0.999 (default: 0.95)
    replicates
        of the bootstrap over speakers and of noise floors, 50 to 100,000 (default: 1000)
    seed
        of both: the same seed, the same numbers (default: 0)
    fixed_threshold
        keep thresholds that were found on the trials in every replicate, which else finds its own
    bins
        of the scores in replicates: a number, or exact (default: 1024)
    margin
        largest ratio, and its reciprocal, that is no difference that matters (default: 1.25)
    attempts
        tries of a person or an impostor: who is locked out, or gets in
    gates
        what a group needs: inference=5 (speakers, to be judged at all); speakers=10, errors=5
        (effective ones), pairs=45 (of speakers), to count in headline numbers (default: these
        numbers)
    standardise
        rates with equal weight for each level of this, beside the crude ones: same:gender
    speaker_ids
        whose ids the audit notes and the page names: never, or offenders, the speakers who have
        most of the errors of each group, in a table of their own; never writes no id anywhere
        (default: never)
    compat
        bt4vt: the rules of bt4vt 1.0.1 beside the exact ones: curve cut at its ends, nearest
        threshold, nearest_max EER
    trial_table
        CSV or Parquet of every trial with its errors, groups and numbered speakers, for models of
        your own
    metrics
        metrics of your own: functions from error counts [..., group, threshold] to values [...,
        group] (of the whole curve) or [..., group, threshold] (at each operating point); lower is
        better. Those of the entry point group parivox.metrics are added
    """

    models: Any
    failures: Any
    scores_format: str | None
    columns: Mapping[str, str] | None
    id: str | None
    orientation: str | None
    conflicts: str
    progress: Callable[[str], None] | None
    allocate: Sequence[str] | str
    threshold_from: Any
    cost: Sequence[str] | str
    eer: Sequence[str] | str
    rule: Sequence[str] | str
    reference: Sequence[str] | str | None
    zero: Sequence[str] | str
    alpha: Sequence[float | str] | float | str
    sweep: str | None
    llr: bool
    interval: str
    pooled_floor: bool
    confidence: float
    replicates: int
    seed: int
    fixed_threshold: bool
    bins: int | str
    margin: float
    attempts: int | None
    gates: Sequence[str] | str
    standardise: Sequence[str] | str
    speaker_ids: str
    compat: str | None
    trial_table: str | os.PathLike[str] | None
    metrics: Mapping[str, Callable[..., Any]] | None


class OtherCountOptions(TypedDict, total=False):
    """Options of `count` that its signature does not name.

    Attributes
    ----------
    trials
        separate trial list (labels), joined on the pair of ids, never on line order
    utterances
        table of recordings: the speaker, where the id does not begin with it, and any attributes
    models
        table of model, speaker, recording, one row a recording: enrolments made of several
    failures
        table of recording, stage (enrol, acquire) and reason: what could not be used
    scores_format
        format of the scores (default: by content)
    columns
        columns of the roles: enrol=ref_file,test=com_file,score=sc,label=lab
    id
        id column of the speaker table (default: the one that covers the ids: one called speaker
        or id goes before all others, one without a name behind them, and of others that cover
        alike none is taken)
    orientation
        distance where scores are distances, to be negated; similarity where they are
        similarities, whatever their AUC
    conflicts
        rows that contradict each other: error refuses them, set-aside leaves them out (default:
        error)
    progress
        called with what is being done, as it starts
    llr
        scores are natural-log likelihood ratios
    """

    trials: Any
    utterances: Any
    models: Any
    failures: Any
    scores_format: str | None
    columns: Mapping[str, str] | None
    id: str | None
    orientation: str | None
    conflicts: str
    progress: Callable[[str], None] | None
    llr: bool


class OtherBuildOptions(TypedDict, total=False):
    """Options of `trials build inclusive` that its signature does not name.

    Attributes
    ----------
    format
        of the lists: voxceleb, kaldi, nist, csv or parquet (default: voxceleb)
    variants
        how many lists, with seeds spawned from one (default: 1)
    seed
        that seed (default: 0)
    id
        id column of the speaker table
    speaker_ids
        name who is left out, also in the manifest
    progress
        called with what is being done, as it starts
    """

    format: str
    variants: int
    seed: int
    id: str | None
    speaker_ids: bool
    progress: Callable[[str], None] | None
