"""Calibrations, found and judged: one for all, and one for each group."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import TableBuilder, check_polarity
from parivox.core.calibration import Isotonic, Logistic, isotonic, logistic, optimism, unfit
from parivox.core.counts import Counts
from parivox.core.crossfit import held_out, jackknife, level_apart
from parivox.core.llr import cllr, min_cllr
from parivox.core.verdict import holm
from parivox.data.source_bytes import in_encoding_given
from parivox.decide.calibrator_file import Calibrator
from parivox.decide.fitting_trials import (
    EVERYONE,
    NORMALISED,
    RATES,
    consistent_trials,
    fitting_trials_of,
    read_inputs,
)
from parivox.decide.rule_judgement import RuleEstimates
from parivox.decide.threshold_fitting import COMMON, PER_GROUP
from parivox.errors import DataError
from parivox.options.decide import CalibrateOptions
from parivox.runtime.disk import atomic_file, explain_write_errors, writable_file
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import RELIABILITY_CHART_MODULE, NotebookView

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.calibration import Line
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.table import Table
    from parivox.data.trial_set import TrialSet
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.runtime.progress import Progress

    Lines = dict[int, list[Line]]  # of each group and of unknown ones, without each set of folds

AS_SCORED = "as scored"
MIN_SPEAKERS_PER_FOLD = 5
"""Enrolled speakers with trials of either class, for each fold, from which a group's line is told
from the one for all."""
_FINDS: dict[str, Any] = {"logistic": (logistic, Logistic), "isotonic": (isotonic, Isotonic)}
_EDGES = np.arange(-9.0, 10.0, 2.0)
"""Between what is said together in a figure, in nats."""

_LIMITS = ("", "_low", "_high")
_COSTS = ("cllr", "min_cllr", "cal_loss", "gain")
_MEASURED = {f"{name}{end}": "float" for name in _COSTS for end in _LIMITS}
TABLES: dict[str, dict[str, str]] = {
    "rules": {"rule": "str", "own": "int", **_MEASURED},
    "groups": {
        "rule": "str",
        "group": "str",
        "speakers": "int",
        "nontarget": "int",
        "target": "int",
        "slope": "float",
        "offset": "float",
        "p": "float",
        **_MEASURED,
        "reason": "str",
    },
    "reliability": {
        "rule": "str",
        "group": "str",
        "said": "float",
        **{f"so{end}": "float" for end in _LIMITS},
        "nontarget": "int",
        "target": "int",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Calibration(NotebookView):
    """Calibrators for all and for each group, and what each comes to on held-out speakers.

    Attributes
    ----------
    rules : Table
        Each rule (`common`, `per group`, `normalised`, `as scored`): how many groups have a
        calibrator of their own (``own``); the mean over groups of Cllr, minimum Cllr and
        calibration loss in bits (their difference, less the optimism of the minimum); and
        the gain, the fall of Cllr against the common calibrator.
    groups : Table
        Each rule and group, and everyone: the same; ``reason`` says why a group keeps the common
        calibrator, ``p`` is that of no difference between both, adjusted for all groups.
    reliability : Table
        What log likelihood ratio is said (mean of trials within 2 nats), and what it is by the
        shares of both classes there.
    calibrator : Calibrator
        What is written: the common one, and those of groups that can be told from it.
    record : dict
        What was asked and read, and the inputs' hashes.
    """

    rules: Table
    groups: Table
    reliability: Table
    lines: Mapping[str, Line]
    record: dict[str, Any]

    def __repr__(self) -> str:
        return f"<Calibration by {self.record['by']}, {self.record['method']}>"

    @property
    def apart(self) -> list[str]:
        """Groups whose calibrator can be told from the one for all.

        Their p is at most 1 - confidence, adjusted for all groups.
        """
        level = 1 - self.record["confidence"]
        return [
            row["group"]
            for row in self.groups.where(rule=PER_GROUP).rows()
            if row["p"] is not None and row["p"] <= level
        ]

    @cached_property
    def calibrator(self) -> Calibrator:
        """The common calibrator, and those of groups that can be told from it."""
        apart = self.apart
        told = ("speakers", "p", *_MEASURED)
        found = {
            row["group"]: {name: row[name] for name in told}
            for row in self.groups.rows()
            if row["rule"] == (PER_GROUP if row["group"] in apart else COMMON)
        }
        record = self.record
        return Calibrator(
            *(record["method"], record["by"], record["side"], record["orientation"]),
            self.lines[EVERYONE],
            {group: self.lines[group] for group in apart},
            {**record, "groups": found},
        )

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the calibrator.

        Raises
        ------
        ConfigError
            If it cannot be written, or a file of another kind is there.
        """
        file = writable_file(path, "calibrator.json")
        with explain_write_errors(str(path)), atomic_file(file) as aside:
            aside.write_text(self.calibrator.text(), encoding="utf-8", newline="\n")

    def chart(self) -> Any:
        """What is said against what is so, a panel for each group, as an Altair chart."""
        return import_module(RELIABILITY_CHART_MODULE).altair(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: getattr(self, name).to_dict() for name in TABLES}
        return {"record": self.record, "tables": tables}

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@reports_progress
@in_encoding_given
def calibrate(
    scores: Any,
    *,
    speakers: Any = None,
    by: Sequence[str] | str | None = None,
    method: str = "logistic",
    side: str = "enrol",
    llr: bool = False,
    llr_base: int | None = None,
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
) -> Calibration:
    """Find calibrators, one for all and one for each group, and judge them on other speakers.

    See docs/methods/calibration.md#calibrators.

    Parameters
    ----------
    scores
        Scores of one system: a path, ``-``, a dataframe, a mapping of arrays.
    speakers, groups, trials, utterances, models, failures, only
        As of `audit`.
    by
        One grouping, as in ``gender`` or ``gender+nationality``.
    method
        ``logistic`` or ``isotonic``.
    side
        Whose group a calibrator is for: ``enrol`` or ``test``.
    llr
        Scores are natural-log likelihood ratios, and are judged as they are, too.
    llr_base
        The same for log-likelihood ratios to the base 10 or 2.
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
    Calibration
        Tables ``rules``, ``groups`` and ``reliability``, and the ``calibrator``.

    Raises
    ------
    ConfigError
        If an option is wrong.
    DataError
        If a file does not hold what it must, or the trials carry no calibration.
    """
    asked = CalibrateOptions.from_keywords(
        speakers=speakers,
        by=by,
        method=method,
        side=side,
        llr=llr,
        llr_base=llr_base,
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
    chosen, others, grouping = read_inputs(scores, asked)
    material = fitting_trials_of(chosen, grouping, asked)
    check_polarity(chosen, material.sorted_trials(RATES)[0].counts_without(0), asked.orientation)
    reasons = material.too_few_speakers_reasons()
    with stage("fitting calibrators"):
        own, p = fit_lines(chosen.name, material, asked.method, reasons)
        common = {held: [lines[-1]] * len(lines) for held, lines in own.items()}
        said = {COMMON: CrossFitRatios(material, common), PER_GROUP: CrossFitRatios(material, own)}
        for one in others:
            same = replace(material, score=consistent_trials(one).score)
            none = ["not asked for"] * len(reasons)
            said[NORMALISED] = CrossFitRatios(same, _fits(one.name, same, asked.method, none))
        if asked.llr or asked.llr_base is not None:
            slope = math.log(asked.llr_base or math.e)
            as_is: list[Line] = [Logistic(slope, 0.0)] * len(own[0])
            said[AS_SCORED] = CrossFitRatios(material, dict.fromkeys(own, as_is))
    with stage("judging"):
        judged = judge_lines(material, [*said.values()], asked.confidence)
    return Calibration(
        _rules(said, judged),
        _groups(material, said, judged, p, reasons),
        _reliability(material, said, judged, asked.confidence),
        dict(zip((*material.groups, EVERYONE), own[0], strict=True)),
        _record(chosen, grouping, asked, material),
    )


def fit_lines(
    name: str, material: FittingTrials, method: str, reasons: list[str]
) -> tuple[Lines, FloatArray]:
    """The calibrators, and at which level that of each group is told from the one for all.

    Those are of each group, and of unknown ones, without each set of three folds at most. A group
    with a reason takes the common one; those whose own cannot be found are given one.
    """
    own = _fits(name, material, method, reasons)
    return own, _levels_apart(material, own, reasons)


def _fits(name: str, material: FittingTrials, method: str, reasons: list[str]) -> Lines:
    find, kind = _FINDS[method]
    everything, groups = material.sorted_trials(RATES)
    found: dict[int, list[Line]] = {}
    for held in held_out(material.n_folds, 3).tolist():
        n = held.bit_count()
        left = f" without the speakers of {n} of {material.n_folds} folds" if n else ""
        counts = everything.counts_without(held)
        start = found[0] if found else [None] * (len(groups) + 1)
        if not (why := unfit(counts, kind)):
            common = find(counts, start[-1])
            why = _falls(common)
        if why:
            msg = f"{name}: no calibration can be found{left} ({why}); give trials of more speakers"
            raise DataError(msg)
        found[held] = [common] * (len(groups) + 1)
        for g, one in enumerate(groups):
            if reasons[g]:
                continue
            counts = one.counts_without(held)
            if not (why := unfit(counts, kind)):
                found[held][g] = find(counts, start[g])
                why = _falls(found[held][g])
            reasons[g] = f"{why}{left}" if why else ""
    for lines in found.values():
        lines[:-1] = [lines[-1] if why else own for own, why in zip(lines, reasons, strict=False)]
    return found


def _levels_apart(material: FittingTrials, own: Lines, reasons: Sequence[str]) -> FloatArray:
    """At which level each group's line is told from the one for all; NaN where it cannot be.

    See docs/methods/calibration.md#told-apart.
    """
    everything, groups = material.sorted_trials(RATES)
    enough = (material.n_enrolled.sum(axis=-1) >= MIN_SPEAKERS_PER_FOLD * material.n_folds).all(
        axis=0
    )
    may = [g for g, why in enumerate(reasons) if not why and enough[g]]
    apart = np.full((material.n_folds + 1, len(groups), 2), np.nan)
    for i, held in enumerate(held_out(material.n_folds, 1).tolist()):
        lines: dict[int, Any] = {g: own[held][g] for g in (*may, -1)}
        for g, line in lines.items():
            if not isinstance(line, Logistic):
                lines[g] = logistic((everything if g < 0 else groups[g]).counts_without(held))
        for g in may:
            apart[i, g] = np.subtract(lines[g], lines[-1])
    return holm(level_apart(apart[0], apart[1:]))


def _falls(line: Line) -> str:
    is_falling = isinstance(line, Logistic) and line.slope <= 0
    return "higher scores are not more often of target trials" if is_falling else ""


class CrossFitRatios:
    """Log likelihood ratios that are said of trials by calibrators of other speakers."""

    def __init__(self, material: FittingTrials, lines: Lines) -> None:
        self.material, self.lines = material, lines
        n = len(material.groups) + 1
        self.order = np.argsort(material.fold_bits * n + material.group, kind="stable")
        self.code = material.fold_bits[self.order] * n + material.group[self.order]
        self.score = material.score[self.order]

    def llrs_without(self, left_out: int = 0) -> tuple[NDArray[np.intp], FloatArray]:
        """Trials of speakers outside some folds, and what is said of each."""
        rows, llrs = [], []
        starts = np.flatnonzero(np.diff(self.code, prepend=-1))
        for start, end in zip(starts, [*starts[1:], self.code.size], strict=True):
            bits, g = divmod(int(self.code[start]), len(self.material.groups) + 1)
            if bits & left_out:
                continue
            score = self.score[start:end]
            rows.append(self.order[start:end])
            llrs.append(self.lines[bits | left_out][g].llr(score))
        return np.concatenate(rows), np.concatenate(llrs)


class _Judged(NamedTuple):
    """What every rule comes to, groups then everyone being the last axis but in `mean`."""

    costs: dict[str, RuleEstimates]  # [rule, cell]
    mean_costs: dict[str, RuleEstimates]  # over the groups that have both classes, [rule]
    stated: FloatArray  # means of what is said in each step, [1 + fold, rule, cell, step]
    observed: FloatArray  # and what it is
    n_trials: IntArray  # trials there, [class, rule, cell, step]


def judge_lines(
    material: FittingTrials, said: Sequence[CrossFitRatios], confidence: float
) -> _Judged:
    """Judge the rules on all trials, and on those without the speakers of each fold."""
    costs, means, weights, counted = [], [], [], []
    optimisms = []  # of minimum Cllr on all trials, [rule, cell]
    for left_out in (0, *(1 << fold for fold in range(material.n_folds))):
        for one in said:
            rows, llrs = one.llrs_without(left_out)
            order = np.argsort(llrs)
            rows, llrs = rows[order], llrs[order]
            for chosen in _cells(material, material.group[rows]):
                llr, target = llrs[chosen], material.target[rows[chosen]]
                counts = Counts.from_sorted(llr, target)
                costs.append((cllr(counts), min_cllr(counts)))
                if not left_out:
                    sets = material.fold_bits[rows[chosen]]
                    optimisms.append(optimism(llr, target, sets))
                step = 2 * np.searchsorted(_EDGES, llr) + target
                size = 2 * (_EDGES.size + 1)
                n = np.bincount(step, minlength=size).reshape(-1, 2).T
                total = np.bincount(step, llr, minlength=size).reshape(-1, 2).T
                with np.errstate(invalid="ignore", divide="ignore"):
                    share = n / n.sum(axis=1, keepdims=True)
                    means.append((total / n * share).sum(axis=0) / share.sum(axis=0))
                    weights.append(np.log(share[1]) - np.log(share[0]))
                counted.append(n)
    shape = (material.n_folds + 1, len(said), len(material.groups) + 1)
    actual, least = np.reshape(costs, (*shape, 2)).transpose(3, 0, 1, 2)
    every = {
        "cllr": actual,
        "min_cllr": least,
        "cal_loss": actual - least - np.reshape(optimisms, shape[1:]),
    }
    whole = ~np.isnan(actual[0, 0, :-1])
    return _Judged(
        {name: RuleEstimates.from_leave_out(one, confidence) for name, one in every.items()},
        {
            name: RuleEstimates.from_leave_out(
                one[:, :, :-1][:, :, whole].mean(axis=-1), confidence
            )
            for name, one in every.items()
        },
        np.reshape(means, (*shape, -1)),
        np.reshape(weights, (*shape, -1)),
        np.reshape(counted, (*shape, 2, -1))[0].transpose(2, 0, 1, 3),
    )


def _cells(
    material: FittingTrials, group: NDArray[np.int32]
) -> Iterator[NDArray[np.bool_] | slice]:
    """Trials of each group, then all."""
    yield from (group == g for g in range(len(material.groups)))
    yield slice(None)


def _rules(said: Mapping[str, CrossFitRatios], judged: _Judged) -> Table:
    rows = TableBuilder(TABLES["rules"])
    own = [sum(line is not one.lines[0][-1] for line in one.lines[0][:-1]) for one in said.values()]
    rows.add(rule=[*said], own=own, **_told(judged.mean_costs, slice(None)))
    return rows.table()


def _told(measured: Mapping[str, RuleEstimates], at: Any) -> dict[str, FloatArray]:
    """Costs with their limits, and the gain against the common calibrator."""
    cells: dict[str, FloatArray] = {}
    for name, one in measured.items():
        ends = (one.estimate, one.limits.low, one.limits.high)  # none can be below 0
        cells |= {
            f"{name}{end}": np.maximum(of[at], 0) for end, of in zip(_LIMITS, ends, strict=True)
        }
    by = measured["cllr"]
    ends = (by.change, by.change_limits.high, by.change_limits.low)
    return cells | {f"gain{end}": 0 - of[at] for end, of in zip(_LIMITS, ends, strict=True)}


def _groups(
    material: FittingTrials,
    said: Mapping[str, CrossFitRatios],
    judged: _Judged,
    p: FloatArray,
    reasons: Sequence[str],
) -> Table:
    rows = TableBuilder(TABLES["groups"])
    n = len(material.groups)
    trials = [
        np.append(np.bincount(material.group[rows], minlength=n + 1)[:n], rows.sum())
        for rows in (~material.target, material.target)
    ]
    speakers = np.append(
        material.n_enrolled[1].sum(axis=-1), np.max(material.pooled["fnr"].clusters.n_speakers)
    )
    for r, (rule, one) in enumerate(said.items()):
        is_own = rule == PER_GROUP
        lines = [*one.lines[0][:-1], *([] if is_own else one.lines[0][-1:])]
        known = [
            line if isinstance(line, Logistic) and rule != AS_SCORED else Logistic(np.nan, np.nan)
            for line in lines
        ] + [Logistic(np.nan, np.nan)] * is_own
        rows.add(
            rule=rule,
            group=[*material.groups, EVERYONE],
            speakers=speakers,
            nontarget=trials[0],
            target=trials[1],
            slope=np.array([line.slope for line in known]),
            offset=np.array([line.offset for line in known]),
            p=np.append(np.where(is_own, p, np.nan), np.nan),
            **_told(judged.costs, r),
            reason=[*reasons, ""] if is_own else [""] * (n + 1),
        )
    return rows.table()


def _reliability(
    material: FittingTrials, said: Mapping[str, CrossFitRatios], judged: _Judged, confidence: float
) -> Table:
    rows = TableBuilder(TABLES["reliability"])
    with np.errstate(invalid="ignore"):  # without a class in some fold
        limits = jackknife(judged.observed[0], judged.observed[1:], confidence)
    for r, rule in enumerate(said):
        for c, group in enumerate((*material.groups, EVERYONE)):
            at = np.flatnonzero(judged.n_trials[:, r, c].sum(axis=0))
            so = judged.observed[0, r, c, at]
            rows.add(
                rule=rule,
                group=group,
                said=judged.stated[0, r, c, at],
                so=np.where(np.isfinite(so), so, np.nan),
                so_low=limits.low[r, c, at],
                so_high=limits.high[r, c, at],
                nontarget=judged.n_trials[0, r, c, at],
                target=judged.n_trials[1, r, c, at],
            )
    return rows.table()


def _record(
    chosen: TrialSet, grouping: Grouping, asked: CalibrateOptions, material: FittingTrials
) -> dict[str, Any]:
    return {
        "system": chosen.system,
        "by": grouping.name,
        "side": asked.side,
        "method": asked.method,
        "orientation": asked.orientation or "similarity",
        "folds": asked.folds,
        "seed": asked.seed,
        "confidence": asked.confidence,
        "speakers": int(chosen.speakers_in_use.size),
        "trials": material.score.size,
        "unknown": int((material.group == len(material.groups)).sum()),
        "trials_sha256": chosen.content_sha256,
    }
