"""Choose thresholds and judge them: one for all, and by several rules for each group."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.arguments import check_arguments
from parivox.auditing import TableBuilder, check_polarity, missing_class_reason
from parivox.core.costs import parse_detection_cost
from parivox.core.crossfit import Limits, held_out
from parivox.data.rule_file import RuleFile
from parivox.data.source_bytes import with_reading_options
from parivox.decide.fitting_trials import (
    EVERYONE,
    NORMALISED,
    RATES,
    check_groups,
    consistent_trials,
    read_inputs,
    trials_with_folds,
)
from parivox.decide.rule_judgement import CrossFitThresholds, judge_rules
from parivox.decide.threshold_aims import parse_aim
from parivox.decide.threshold_fitting import (
    BETWEEN,
    COMMON,
    PER_GROUP,
    RULES,
    fit_thresholds,
    reasons_too_small,
    threshold_differences,
)
from parivox.errors import DataError
from parivox.facts import VALUES_COLUMN
from parivox.options.decide import ThresholdOptions
from parivox.renamed import renamed_attribute
from parivox.runtime.disk import atomic_file, explain_write_errors, writable_file
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import CATALOGUE_MODULE, NotebookView

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.table import Table
    from parivox.data.trial_set import TrialSet
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.decide.rule_judgement import RuleJudgements
    from parivox.decide.threshold_aims import ThresholdAim
    from parivox.decide.threshold_fitting import FittedThresholds, ThresholdDifferences
    from parivox.runtime.progress import Progress
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )

_LIMIT_SUFFIXES = ("", "_low", "_high")
_RULE_COLUMNS = ("speakers", "threshold_low", "threshold_high", "p")
TABLES: dict[str, dict[str, str]] = {
    "rules": {
        "rule": "str",
        "own": "int",
        "cost": "float",
        "cost_low": "float",
        "cost_high": "float",
        "gain": "float",
        "gain_low": "float",
        "gain_high": "float",
    },
    "groups": {
        "rule": "str",
        "group": "str",
        "speakers": "int",
        "nontarget": "int",
        "target": "int",
        "threshold": "float",
        "threshold_low": "float",
        "threshold_high": "float",
        "p": "float",
        "kept": "float",
        **dict.fromkeys(
            (
                f"{rate}{kind}{suffix}"
                for rate, kind in product(RATES, ("", "_change"))
                for suffix in _LIMIT_SUFFIXES
            ),
            "float",
        ),
        **{f"{name}{suffix}": "float" for name in ("cost", "gain") for suffix in _LIMIT_SUFFIXES},
        "reason": "str",
        VALUES_COLUMN: "str",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Thresholds(NotebookView):
    """Thresholds by several rules, and what each comes to on held-out speakers.

    Attributes
    ----------
    rules : Table
        Each rule: how many groups have another threshold than the common one (``own``), the mean
        over groups of the detection cost, and its gain over the common threshold.
    groups : Table
        Each rule and group, and everyone: the threshold to be used, what it comes to, the change
        against the common threshold, the gain in cost; ``reason`` says why a group keeps the
        common one. Rates are fractions in [0, 1].
    record : dict
        What was asked and read, and the inputs' hashes.
    """

    rules: Table
    groups: Table
    record: dict[str, Any]
    is_distance: bool = False  # whether scores are negated before they are compared

    def __repr__(self) -> str:
        return f"<Thresholds by {self.record['by']} for {self.record['aim']}>"

    @property
    def apart(self) -> dict[str, float]:
        """Groups that can be told to need another threshold than the one for all, with theirs.

        Their p is at most 1 - confidence, adjusted for all groups.
        """
        alpha = 1 - self.record["confidence"]
        return {
            row["group"]: row["threshold"]
            for row in self.groups.subset(rule=PER_GROUP).rows()
            if row["p"] is not None and row["p"] <= alpha
        }

    @property
    def rule(self) -> RuleFile:
        """The rule that is written: thresholds of these groups, the common one for all others."""
        group_thresholds = self.apart
        # rates are those of the rule that is written: a group's own, or the common one
        judged_rows = {
            row["group"]: row
            for row in self.groups.rows()
            if row["rule"] == (PER_GROUP if row["group"] in group_thresholds else COMMON)
        }
        rate_columns = [f"{rate}{suffix}" for rate in RATES for suffix in _LIMIT_SUFFIXES]
        group_records = {}
        for row in self.groups.subset(rule=PER_GROUP).rows():
            if row["group"] != EVERYONE:
                record = {name: row[name] for name in _RULE_COLUMNS}
                judged_row = judged_rows[row["group"]]
                record |= {name: judged_row[name] for name in rate_columns}
                group_records[row["group"]] = record
        common = self.record["common"]
        return RuleFile(
            self.record["by"],
            self.record["side"],
            common,
            common,
            group_thresholds,
            {**self.record, "groups": group_records},
        )

    @check_arguments
    def predict(self, scores: ArrayLike, groups: ArrayLike | None = None) -> NDArray[np.int64]:
        """Return 1 for scores that the rule accepts, 0 for those that it rejects.

        The rule is the one that `save` writes: the thresholds of groups that need their own, and
        the common one for all others.

        Parameters
        ----------
        scores : array_like of shape (trial,)
            Scores of the same system, without NaN.
        groups : array_like of shape (trial,), optional
            Group of each trial, None where unknown; needed if groups have thresholds of their own.

        Raises
        ------
        DataError
            If a score is NaN, or groups are needed and not given, or one is not known.
        """
        similarities = np.asarray(scores, dtype=np.float64) * (-1 if self.is_distance else 1)
        if np.isnan(similarities).any():
            msg = "scores: contain NaN, which can be neither accepted nor rejected"
            hint = "leave out trials without a score"
            raise DataError(msg, hint)
        group_thresholds = self.apart
        thresholds = np.full(similarities.shape, self.record["common"], dtype=np.float64)
        if groups is not None:
            check_groups(groups, similarities.size, self.groups["group"].unique().to_list())
            for name, threshold in group_thresholds.items():
                thresholds[np.asarray(groups, dtype=object) == name] = threshold
        elif group_thresholds:
            msg = f"groups by {self.record['by']} have group-specific thresholds"
            hint = "give the group of each score with groups="
            raise DataError(msg, hint)
        return (similarities >= thresholds).astype(np.int64)

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the rule file: YAML, or JSON where its name ends with .json.

        Raises
        ------
        ConfigError
            If it cannot be written, or a file of another kind is there.
        """
        file = writable_file(path, "rules.yaml")
        with explain_write_errors(str(path)), atomic_file(file) as aside:
            aside.write_text(
                self.rule.text(as_json=file.suffix == ".json"), encoding="utf-8", newline="\n"
            )

    write = renamed_attribute("Thresholds.write", "save")

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: getattr(self, name).to_dict() for name in TABLES}
        return {"record": self.record, "tables": tables}

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@reports_progress
@with_reading_options
def thresholds(
    scores: ScoreSource,
    speakers: SpeakerSource | None = None,
    *,
    by: Sequence[str] | str | None = None,
    aim: str = "fpr=0.01",
    side: str = "enrol",
    cost: str = "voxsrc",
    normalised: TableSource | None = None,
    folds: int = 10,
    seed: int = 0,
    confidence: float = 0.95,
    groups: DocumentSource | None = None,
    trials: TableSource | None = None,
    utterances: UtteranceSource | None = None,
    models: TableSource | None = None,
    failures: TableSource | None = None,
    only: Sequence[str] | str = (),
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - as the option is called
    encoding: str | None = None,
    quotes: str | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - taken by `reports_progress`
) -> Thresholds:
    """Choose thresholds, one for all and one for each group, and judge them on other speakers.

    Parameters
    ----------
    scores
        Scores of one system: a path, ``-``, a dataframe, a mapping of arrays.
    speakers, groups, trials, utterances, models, failures, only
        As of `audit`.
    by
        One grouping, as in ``gender`` or ``gender+nationality``.
    aim
        What a threshold is to reach: ``fpr=X``, ``fnr=X``, ``min-cdet``, ``min-cdet:COST``;
        ``max-fpr=X`` and ``least-worst`` make one for all of those of the groups.
    side
        Whose group a threshold is for: ``enrol`` or ``test``.
    cost
        Detection cost that gains are told in.
    normalised
        The same trials with scores that were normalised without any label.
    folds, seed
        Folds of speakers, and by what they are dealt.
    confidence
        Level of intervals.
    scores_format, columns, id, encoding, quotes, orientation, conflicts, progress
        As of `audit`.

    Returns
    -------
    Thresholds
        Tables ``rules`` and ``groups``.

    Raises
    ------
    ConfigError
        If an option is wrong, or the trials cannot carry the aim.
    DataError
        If a file does not hold what it must.
    """
    options = ThresholdOptions.from_keywords(
        speakers=speakers,
        by=by,
        aim=aim,
        side=side,
        cost=cost,
        normalised=normalised,
        folds=folds,
        seed=seed,
        confidence=confidence,
        groups=groups,
        trials=trials,
        utterances=utterances,
        models=models,
        failures=failures,
        only=only,
        scores_format=scores_format,
        columns=columns,
        id=id,
        encoding=encoding,
        quotes=quotes,
        orientation=orientation,
        conflicts=conflicts,
    )
    threshold_aim = parse_aim(options.aim, parse_detection_cost(options.cost))
    trial_set, normalised_sets, grouping = read_inputs(scores, options)
    fitting_trials = trials_with_folds(trial_set, grouping, options)
    fits, reasons, differences = _fit(trial_set, fitting_trials, threshold_aim, options)
    cross_fits = [
        CrossFitThresholds(
            fitting_trials.score,
            {excluded_folds: fit.thresholds for excluded_folds, fit in fits.items()},
        )
    ]
    for normalised_set in normalised_sets:
        normalised_trials = replace(fitting_trials, score=consistent_trials(normalised_set).score)
        no_group = np.zeros(len(reasons), dtype=bool)
        normalised_fits = fit_thresholds(normalised_trials, threshold_aim, no_group, 3)
        common = {
            excluded_folds: fit.thresholds[:1] for excluded_folds, fit in normalised_fits.items()
        }
        cross_fits.append(CrossFitThresholds(normalised_trials.score, common))
    with stage("judging"):
        judgements = judge_rules(fitting_trials, cross_fits, threshold_aim, options.confidence)
    # those of all speakers, which are to be used
    final_thresholds = np.concatenate([cross_fit.thresholds[0] for cross_fit in cross_fits])
    rules = (*RULES, NORMALISED)[: len(final_thresholds)]
    common_threshold = float(final_thresholds[0, -1])
    return Thresholds(
        rules=_rules_table(rules, judgements, final_thresholds),
        groups=_groups_table(
            rules,
            judgements,
            final_thresholds,
            fits[0].kept_shares,
            differences,
            grouping.groups,
            reasons,
        ),
        record=_record(
            trial_set, grouping, options, threshold_aim, fitting_trials, common_threshold
        ),
        is_distance=options.orientation == "distance",
    )


def _fit(
    trial_set: TrialSet, trials: FittingTrials, aim: ThresholdAim, options: ThresholdOptions
) -> tuple[dict[int, FittedThresholds], list[str], ThresholdDifferences]:
    """Return the fits, why groups have no threshold of their own, and which groups differ."""
    all_trials, _ = trials.sorted_trials(RATES)
    check_polarity(trial_set, all_trials.counts_without(0), options.orientation)
    for excluded_folds in held_out(trials.n_folds, 3).tolist():
        counts = all_trials.counts_without(excluded_folds)
        reason = missing_class_reason(int(counts.n_target), int(counts.n_nontarget))
        reason = reason or aim.operating_point.threshold_or_reason(counts)[1]
        if reason:
            n_excluded = excluded_folds.bit_count()
            condition = ""
            if n_excluded:
                condition = f" without the speakers of {n_excluded} of {trials.n_folds} folds"
            words = import_module(CATALOGUE_MODULE).cell_text(reason)
            msg = f"{trial_set.name}: no threshold for {aim.text} can be set{condition} ({words})"
            hint = "give trials of more speakers, or another --aim"
            raise DataError(msg, hint)
    if not (trials.n_enrolled.sum(axis=-1) > 0).all(axis=0).any():
        msg = f"{trial_set.name}: no group has trials of both classes"
        hint = "choose another --by or --side"
        raise DataError(msg, hint)
    reasons = reasons_too_small(trials, aim)
    is_fitted = np.array([not reason for reason in reasons])
    with stage("fitting thresholds"):
        # judging leaves out the folds of both speakers and, for intervals, one more
        fits = fit_thresholds(trials, aim, is_fitted, 3)
        differences = threshold_differences(trials, aim, is_fitted, fits[0], options.confidence)
        return fits, reasons, differences


def _rules_table(rules: Sequence[str], judgements: RuleJudgements, thresholds: FloatArray) -> Table:
    """Return the table of rules; `thresholds`, [rule, group + 1], are those of all speakers."""
    rows = TableBuilder(TABLES["rules"])
    mean_cost = judgements.mean_cost
    rows.add(
        rule=list(rules),
        own=(thresholds[:, :-1] != thresholds[:, -1:]).sum(axis=-1),
        **_with_limits("cost", mean_cost.estimate, mean_cost.limits),
        **_gain("gain", mean_cost.change, mean_cost.change_limits),
    )
    return rows.table()


def _groups_table(
    rules: Sequence[str],
    judgements: RuleJudgements,
    thresholds: FloatArray,
    kept_shares: FloatArray,
    differences: ThresholdDifferences,
    groups: Sequence[str],
    reasons: Sequence[str],
) -> Table:
    """Return the table of groups; `thresholds`, [rule, group + 1], are those of all speakers."""
    rows = TableBuilder(TABLES["groups"])
    cost = judgements.cost
    for index, rule in enumerate(rules):
        figures: dict[str, Any] = {}
        for rate in RATES:
            interval, changes = judgements.rates[rate], judgements.changes[rate]
            limits = Limits(interval.low[index], interval.high[index])
            change_limits = changes.change_limits.select(index)
            figures |= _with_limits(rate, interval.rate[index], limits)
            figures |= _with_limits(f"{rate}_change", changes.change[index], change_limits)
        figures |= _with_limits("cost", cost.estimate[index], cost.limits.select(index))
        figures |= _gain("gain", cost.change[index], cost.change_limits.select(index))
        differs_by_group = rule in {PER_GROUP, BETWEEN}
        # rules with thresholds of groups have none of everyone
        pooled_threshold = np.nan if differs_by_group else thresholds[index, -1]
        group_reasons = reasons if differs_by_group else [""] * len(reasons)
        rows.add(
            rule=rule,
            group=[*groups, EVERYONE],
            speakers=judgements.n_speakers["fnr"],
            nontarget=judgements.n_trials["fpr"],
            target=judgements.n_trials["fnr"],
            threshold=np.append(thresholds[index, :-1], pooled_threshold),
            threshold_low=_group_column(differences.low, is_shown=rule == PER_GROUP),
            threshold_high=_group_column(differences.high, is_shown=rule == PER_GROUP),
            p=_group_column(differences.p_values, is_shown=rule == PER_GROUP),
            kept=_group_column(kept_shares, is_shown=rule == BETWEEN),
            **figures,
            reason=[*group_reasons, ""],
        )
    return rows.table()


def _group_column(figures: FloatArray, *, is_shown: bool) -> FloatArray:
    """Return figures of groups, and none of everyone; none at all where they are not shown."""
    return np.append(np.where(is_shown, figures, np.nan), np.nan)


def _with_limits(name: str, estimate: FloatArray, limits: Limits) -> dict[str, FloatArray]:
    return {name: estimate, f"{name}_low": limits.low, f"{name}_high": limits.high}


def _gain(name: str, change: FloatArray, limits: Limits) -> dict[str, FloatArray]:
    """Return by how much the cost falls against the common threshold."""
    return _with_limits(name, 0 - change, Limits(0 - limits.high, 0 - limits.low))


def _record(
    trial_set: TrialSet,
    grouping: Grouping,
    options: ThresholdOptions,
    aim: ThresholdAim,
    trials: FittingTrials,
    common_threshold: float,
) -> dict[str, Any]:
    return {
        "system": trial_set.system,
        "by": grouping.name,
        "side": options.side,
        "aim": aim.text,
        "cost": aim.cost_model.name,
        "folds": options.folds,
        "seed": options.seed,
        "confidence": options.confidence,
        "speakers": int(trial_set.speakers_in_use.size),
        "common": common_threshold,
        "trials": trials.score.size,
        "unknown": int((trials.group == len(trials.groups)).sum()),
        "trials_sha256": trial_set.content_sha256,
    }
