"""A countermeasure before the verification system: both must accept a trial.

The two scores of a trial become one: the score of the verification system, or -inf where the
countermeasure rejects. Everything else follows as for any other scores, without assuming that the
two systems err independently.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.operating_points import parse_point
from parivox.auditing.schema import (
    CASCADE_SOURCE,
    REJECTED_FIRST,
    REJECTED_SECOND,
    WITHOUT_FIRST_SCORE,
)
from parivox.core.counts import NONTARGET, TARGET, TRIAL_CLASSES, Counts
from parivox.data.cell_words import is_number
from parivox.data.countermeasure import CountermeasureScores, read_countermeasure_scores
from parivox.data.trial_checks import LEFT_OUT, UNSCORED_OF_CLASS, UNSCORED_TESTS, DataNote
from parivox.errors import ConfigError, DataError
from parivox.facts import fact
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from parivox.auditing.operating_points import LocatedPoint, OperatingPoint
    from parivox.auditing.schema import TableBuilder
    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.trial_checks import Trials
    from parivox.data.trial_set import TrialSet

REJECTED = "countermeasure_rejects"
"""Column of trials: whether the countermeasure rejects them."""
VERIFICATION_SCORE, COUNTERMEASURE_SCORE = "verification_score", "countermeasure_score"
"""Columns of trials: the scores of the two systems."""
_RULES = {"bpcer": "fnr", "apcer": "fpr"}
"""Rates of a countermeasure, as those of a verification system with bona fide speech as target."""


@frozen
class Countermeasure:
    """Scores of a countermeasure by recording, and the rule of its threshold."""

    scores: CountermeasureScores
    rule: str  # as the user writes it

    point: OperatingPoint
    """The rule, with bona fide recordings as target and spoofed ones as nontarget trials."""

    def threshold(self, trials: TrialSet, scores: FloatArray) -> float:
        """Return the threshold on all recordings of the trials, each once."""
        bona_fide, spoofed = np.zeros((2, scores.size), dtype=np.bool_)
        for partition in trials.partitions():
            valid_trials = partition.without_conflicts()
            bona_fide[valid_trials.test[~valid_trials.spoof]] = True
            spoofed[valid_trials.test[valid_trials.spoof]] = True
        is_scored = (bona_fide | spoofed) & ~np.isnan(scores)
        counts = Counts.from_scores(scores[is_scored], bona_fide[is_scored])
        threshold, reason = self.point.threshold_or_reason(counts)
        if reason:
            msg = (
                f"--cm-threshold {self.rule}: there are too few bona fide or spoofed recordings "
                "to set the threshold"
            )
            hint = "give the threshold as a number"
            raise ConfigError(msg, hint)
        return threshold

    def decide(self, trials: TrialSet) -> TrialSet:
        """Return the trials with -inf for the score of those that the countermeasure rejects.

        Trials without a score of the countermeasure are left out.

        Raises
        ------
        ConfigError
            If the trials have no scores, or decisions too, or the threshold cannot be set on them.
        DataError
            If no trial has a score of the countermeasure.
        """
        if not trials.is_scored:
            msg = f"--cm: {trials.name} contains decisions without scores"
            hint = "leave out --cm"
            raise ConfigError(msg, hint)
        if "accepted" in trials.extra_columns:
            msg = f"--cm: {trials.name} contains decisions, which a countermeasure does not change"
            hint = "leave out --cm or the decision column"
            raise ConfigError(msg, hint)
        scores = self.scores.of_recordings(trials.utterance_ids.series())
        threshold = self.threshold(trials, scores)
        decided = trials.with_scores(partial(_decided, scores=scores, threshold=threshold))
        if not decided.n_trials:
            msg = f"{self.scores.name}: contains no scores of the test recordings in {trials.name}"
            hint = "check that the files belong together"
            raise DataError(msg, hint)
        notes = []
        if n_unscored := trials.n_trials - decided.n_trials:
            item = fact(WITHOUT_FIRST_SCORE, **_unscored_of_class(trials, np.isnan(scores)))
            notes = [DataNote(CASCADE_SOURCE, item, n_unscored, LEFT_OUT)]
        digest = hashlib.sha256(trials.content_sha256.encode())
        digest.update(np.where(np.isnan(scores), -1, scores >= threshold).tobytes())
        return replace(
            decided,
            data_notes=[*decided.data_notes, *notes],
            counts_by_speaker=_with_unscored(trials, np.isnan(scores)),
            content_sha256=digest.hexdigest(),
            provenance=[*decided.provenance, dict(self.scores.provenance)],
            first_stage_threshold=threshold,
            first_stage_rule=self.rule,
        )


def _unscored_of_class(trials: TrialSet, is_unscored: NDArray[np.bool_]) -> dict[str, int]:
    """Return how many trials of each class the countermeasure has no score of."""
    counts = np.zeros(len(TRIAL_CLASSES), dtype=np.int64)
    for partition in trials.partitions():
        rows = partition.without_conflicts()
        trial_class = rows.trial_class[is_unscored.take(rows.test)]
        counts += np.bincount(trial_class, minlength=counts.size)
    return dict(zip(TRIAL_CLASSES, counts.tolist(), strict=True))


def _with_unscored(
    trials: TrialSet, is_unscored: NDArray[np.bool_]
) -> dict[str, NDArray[np.int64]]:
    """Return what is counted by speaker, with trials that the countermeasure has no score of."""
    n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
    n_speakers = max([n_speakers, *(counts.size for counts in trials.counts_by_speaker.values())])
    counts_by_speaker = dict(trials.counts_by_speaker)
    for partition in trials.partitions():
        rows = partition.without_conflicts()
        is_counted = is_unscored.take(rows.test)
        is_nontarget = is_counted & ~rows.target & ~rows.spoof
        for item, utterances in (
            (UNSCORED_OF_CLASS[TARGET], rows.enrol[is_counted & rows.target]),
            (UNSCORED_OF_CLASS[NONTARGET], rows.enrol[is_nontarget]),
            (UNSCORED_TESTS, rows.test[is_nontarget]),
        ):
            speaker = trials.utterance_speaker.take(utterances)
            if speaker.size:
                counts = counts_by_speaker.get(item, np.zeros(n_speakers, dtype=np.int64)).copy()
                np.add.at(counts, speaker[speaker >= 0], 1)
                counts_by_speaker[item] = counts
    return counts_by_speaker


def _decided(partition: Trials, scores: FloatArray, threshold: float) -> Trials:
    """Return the trials that the countermeasure has scored, with one score of both systems."""
    failed = partition.failed
    trials = partition.take(~np.isnan(scores.take(partition.test)))
    first_score = scores.take(trials.test)
    is_rejected = first_score < threshold
    stages = {
        REJECTED: is_rejected,
        COUNTERMEASURE_SCORE: first_score,
        VERIFICATION_SCORE: trials.score,
    }
    return replace(
        trials,
        score=np.where(is_rejected, -np.inf, trials.score),
        extra_columns={**trials.extra_columns, **stages},
        failed=failed,
    )


def read_countermeasure(source: Any, rule: str | None) -> Countermeasure:
    """Read the scores of a countermeasure, with the rule of its threshold.

    Raises
    ------
    ConfigError
        Without a rule of the threshold, or with an unknown one.
    DataError
        If the file has no scores by recording.
    """
    if not rule:
        msg = "--cm needs --cm-threshold, for example --cm-threshold 0 or --cm-threshold bpcer=0.01"
        raise ConfigError(msg)
    point = _point(rule)
    return Countermeasure(read_countermeasure_scores(source), rule, point)


def _point(rule: str) -> OperatingPoint:
    """Return the rule of a threshold of a countermeasure as that of a verification system."""
    text = rule.strip().lower()
    head, equals, number = text.partition("=")
    if is_number(text):
        text = f"threshold={text}"
    elif equals and head in _RULES:
        text = f"{_RULES[head]}={number}"
    elif text != "eer" and head != "threshold":
        msg = f"--cm-threshold {rule!r} is not known"
        hint = "give a number, bpcer=X, apcer=X or eer"
        raise ConfigError(msg, hint)
    return parse_point(text, [])


def add_stage_rows(
    table: TableBuilder,
    trials: TrialSet,
    groupings: Sequence[Grouping],
    points: Sequence[LocatedPoint],
) -> None:
    """Add how many target trials each of the two stages rejects, over all trials and by group.

    The second stage rejects at the first operating point that has a threshold; without any, only
    the first stage has rows.
    """
    thresholds = [point.threshold for point in points if not np.isnan(point.threshold)]
    items = (REJECTED_FIRST, REJECTED_SECOND) if thresholds else (REJECTED_FIRST,)
    threshold = thresholds[0] if thresholds else -np.inf
    n_groups = [1, *(len(grouping.groups) for grouping in groupings)]
    counts = [np.zeros((3, n), dtype=np.int64) for n in n_groups]
    coders = [trials.side_coder(grouping) for grouping in groupings]
    for partition in trials.partitions():
        valid_trials = partition.without_conflicts()
        target_trials = valid_trials.take(valid_trials.target)
        is_rejected = target_trials.extra_columns[REJECTED]
        is_rejected_later = ~is_rejected & (target_trials.score < threshold)
        codes: list[NDArray[np.int32]] = [np.zeros(len(target_trials), dtype=np.int32)]
        codes += [coder(target_trials)[0] for coder in coders]
        for group_counts, code in zip(counts, codes, strict=True):
            for row, is_counted in enumerate((code >= 0, is_rejected, is_rejected_later)):
                group_codes = code[is_counted & (code >= 0)]
                group_counts[row] += np.bincount(group_codes, minlength=group_counts.shape[1])
    names = [("all", ["all"]), *((grouping.name, grouping.groups) for grouping in groupings)]
    for (grouping_name, groups), (n_trials, *rejected) in zip(names, counts, strict=True):
        for item, n_rejected in zip(items, rejected, strict=False):
            table.add(
                system=trials.system,
                list=trials.list,
                source=CASCADE_SOURCE,
                grouping=grouping_name,
                group=list(groups),
                item=item,
                count=n_rejected,
                value=n_rejected / np.maximum(n_trials, 1),
            )
