"""Thresholds, chosen and judged: one for all, and by several rules for each group."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import TableBuilder, check_polarity, missing_class_reason
from parivox.core.costs import parse_cost
from parivox.core.crossfit import Limits, held_out
from parivox.data.rule_file import RuleFile
from parivox.data.source_bytes import in_encoding_given
from parivox.decide.fitting_trials import (
    EVERYONE,
    NORMALISED,
    RATES,
    consistent_trials,
    fitting_trials_of,
    read_inputs,
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
from parivox.options.decide import ThresholdOptions
from parivox.runtime.disk import atomic_file, explain_write_errors, writable_file
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import NotebookView

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from parivox.core.counts import FloatArray
    from parivox.data.grouping import Grouping
    from parivox.data.table import Table
    from parivox.data.trial_set import TrialSet
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.decide.rule_judgement import RuleJudgements
    from parivox.decide.threshold_aims import ThresholdAim
    from parivox.decide.threshold_fitting import FittedThresholds, ThresholdDifferences
    from parivox.runtime.progress import Progress

_LIMITS = ("", "_low", "_high")
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
        **{
            f"{metric}{what}{end}": "float"
            for metric in RATES
            for what in ("", "_change")
            for end in _LIMITS
        },
        **{f"{name}{end}": "float" for name in ("cost", "gain") for end in _LIMITS},
        "reason": "str",
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

    def __repr__(self) -> str:
        return f"<Thresholds by {self.record['by']} for {self.record['aim']}>"

    @property
    def apart(self) -> dict[str, float]:
        """Groups that can be told to need another threshold than the one for all, with theirs.

        Their p is at most 1 - confidence, adjusted for all groups.
        """
        level = 1 - self.record["confidence"]
        return {
            row["group"]: row["threshold"]
            for row in self.groups.where(rule=PER_GROUP).rows()
            if row["p"] is not None and row["p"] <= level
        }

    @property
    def rule(self) -> RuleFile:
        """The rule that is written: thresholds of these groups, the common one for all others."""
        rows = self.groups.where(rule=PER_GROUP).rows()
        told = ("speakers", "threshold_low", "threshold_high", "p")
        rates = [f"{rate}{end}" for rate in RATES for end in _LIMITS]
        own = self.apart
        judged = {
            row["group"]: row
            for row in self.groups.rows()
            if row["rule"] == (PER_GROUP if row["group"] in own else COMMON)
        }
        common = self.record["common"]
        groups = {
            row["group"]: {name: row[name] for name in told}
            | {name: judged[row["group"]][name] for name in rates}
            for row in rows
            if row["group"] != EVERYONE
        }
        found = {**self.record, "groups": groups}
        return RuleFile(self.record["by"], self.record["side"], common, common, own, found)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the rule file: YAML, or JSON where its name ends with .json.

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

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: getattr(self, name).to_dict() for name in TABLES}
        return {"record": self.record, "tables": tables}

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@reports_progress
@in_encoding_given
def thresholds(
    scores: Any,
    *,
    speakers: Any = None,
    by: Sequence[str] | str | None = None,
    aim: str = "fpr=0.01",
    side: str = "enrol",
    cost: str = "voxsrc",
    normalised: Any = None,
    folds: int = 10,
    seed: int = 0,
    confidence: float = 0.95,
    groups: Any = None,
    trials: Any = None,
    utterances: Any = None,
    models: Any = None,
    failures: Any = None,
    only: Sequence[str] | str = (),
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - as the option is called
    encoding: str | None = None,
    quotes: str | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - taken by `telling`
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
    asked = ThresholdOptions.from_keywords(
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
    goal = parse_aim(asked.aim, parse_cost(asked.cost))
    chosen, others, grouping = read_inputs(scores, asked)
    material = fitting_trials_of(chosen, grouping, asked)
    fits, reasons, apart = _fitted(chosen, material, goal, asked)
    scored = [
        CrossFitThresholds(material.score, {held: one.thresholds for held, one in fits.items()})
    ]
    for one in others:
        normalised_too = replace(material, score=consistent_trials(one).score)
        found = fit_thresholds(normalised_too, goal, np.zeros(len(reasons), dtype=bool), 3)
        common = {held: of.thresholds[:1] for held, of in found.items()}
        scored.append(CrossFitThresholds(normalised_too.score, common))
    with stage("judging"):
        judged = judge_rules(material, scored, goal, asked.confidence)
    whole = np.concatenate([one.thresholds[0] for one in scored])
    rules = (*RULES, NORMALISED)[: len(whole)]
    return Thresholds(
        _rules(rules, judged, whole),
        _groups(rules, judged, whole, fits[0].kept, apart, grouping.groups, reasons),
        _record(chosen, grouping, asked, goal, material, float(whole[0, -1])),
    )


def _fitted(
    chosen: TrialSet, material: FittingTrials, goal: ThresholdAim, asked: ThresholdOptions
) -> tuple[dict[int, FittedThresholds], list[str], ThresholdDifferences]:
    """The fits, why groups have no threshold of their own, and which are told apart."""
    together, _ = material.in_order(RATES)
    check_polarity(chosen, together.without(0), asked.orientation)
    for held in held_out(material.folds, 3).tolist():
        counts = together.without(held)
        why = missing_class_reason(int(counts.n_target), int(counts.n_nontarget))
        why = why or goal.point.threshold_or_reason(counts)[1]
        if why:
            n = held.bit_count()
            left = f" without the speakers of {n} of {material.folds} folds" if n else ""
            msg = (
                f"{chosen.name}: no threshold for {goal.text} can be found{left} ({why}); give "
                "trials of more speakers, or another --aim"
            )
            raise DataError(msg)
    if not (material.enrolled.sum(axis=-1) > 0).all(axis=0).any():
        msg = f"{chosen.name}: no group has trials of both classes; choose another --by or --side"
        raise DataError(msg)
    reasons = reasons_too_small(material, goal)
    may = np.array([not why for why in reasons])
    with stage("fitting thresholds"):
        fits = fit_thresholds(material, goal, may, 3)
        return fits, reasons, threshold_differences(material, goal, may, fits[0], asked.confidence)


def _rules(rules: Sequence[str], judged: RuleJudgements, whole: FloatArray) -> Table:
    rows = TableBuilder(TABLES["rules"])
    mean = judged.mean_cost
    rows.add(
        rule=list(rules),
        own=(whole[:, :-1] != whole[:, -1:]).sum(axis=-1),
        **_with_limits("cost", mean.value, mean.limits),
        **_gain("gain", mean.change, mean.change_limits),
    )
    return rows.table()


def _groups(
    rules: Sequence[str],
    judged: RuleJudgements,
    whole: FloatArray,
    kept: FloatArray,
    apart: ThresholdDifferences,
    groups: Sequence[str],
    reasons: Sequence[str],
) -> Table:
    rows = TableBuilder(TABLES["groups"])
    for r, rule in enumerate(rules):
        cells: dict[str, Any] = {}
        for rate in RATES:
            found, changed = judged.rates[rate], judged.changes[rate]
            rates = Limits(found.low[r], found.high[r])
            cells |= _with_limits(rate, found.rate[r], rates)
            cells |= _with_limits(
                f"{rate}_change", changed.change[r], changed.change_limits.select(r)
            )
        cost = judged.cost
        cells |= _with_limits("cost", cost.value[r], cost.limits.select(r))
        cells |= _gain("gain", cost.change[r], cost.change_limits.select(r))
        is_own = rule in {PER_GROUP, BETWEEN}
        everyones = np.nan if is_own else whole[r, -1]
        rows.add(
            rule=rule,
            group=[*groups, EVERYONE],
            speakers=judged.speakers["fnr"],
            nontarget=judged.trials["fpr"],
            target=judged.trials["fnr"],
            threshold=np.append(whole[r, :-1], everyones),
            threshold_low=_of_groups(apart.low, is_told=rule == PER_GROUP),
            threshold_high=_of_groups(apart.high, is_told=rule == PER_GROUP),
            p=_of_groups(apart.p, is_told=rule == PER_GROUP),
            kept=_of_groups(kept, is_told=rule == BETWEEN),
            **cells,
            reason=[*(why if is_own else "" for why in reasons), ""],
        )
    return rows.table()


def _of_groups(values: FloatArray, *, is_told: bool) -> FloatArray:
    """Values of groups, and none of everyone; none at all of other rules."""
    return np.append(np.where(is_told, values, np.nan), np.nan)


def _with_limits(name: str, value: FloatArray, limits: Limits) -> dict[str, FloatArray]:
    return {name: value, f"{name}_low": limits.low, f"{name}_high": limits.high}


def _gain(name: str, change: FloatArray, ends: Limits) -> dict[str, FloatArray]:
    """By how much the cost falls against the common threshold."""
    return _with_limits(name, 0 - change, Limits(0 - ends.high, 0 - ends.low))


def _record(
    chosen: TrialSet,
    grouping: Grouping,
    asked: ThresholdOptions,
    goal: ThresholdAim,
    material: FittingTrials,
    common: float,
) -> dict[str, Any]:
    return {
        "system": chosen.system,
        "by": grouping.name,
        "side": asked.side,
        "aim": goal.text,
        "cost": goal.cost.name,
        "folds": asked.folds,
        "seed": asked.seed,
        "confidence": asked.confidence,
        "speakers": int(chosen.in_use.size),
        "common": common,
        "trials": material.score.size,
        "unknown": int((material.group == len(material.groups)).sum()),
        "trials_sha256": chosen.content_sha256,
    }
