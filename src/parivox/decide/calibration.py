"""Fit calibrators and judge them: one for all, and one for each group.

A line makes log likelihood ratios of scores; the methods are those of `parivox.core.calibration`.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.arguments import check_arguments
from parivox.auditing import TableBuilder, check_polarity
from parivox.core.calibration import (
    Isotonic,
    Logistic,
    isotonic,
    logistic,
    optimism,
    unfit,
)
from parivox.core.calibration_gradient import GradientTests
from parivox.core.counts import Counts
from parivox.core.crossfit import held_out, jackknife, level_apart
from parivox.core.llr import cllr, min_cllr
from parivox.core.resampled_curves import ResampledCurves, curve_edges
from parivox.core.verdict import holm
from parivox.data.source_bytes import with_reading_options
from parivox.decide.calibrator_file import Calibrator
from parivox.decide.fitting_trials import (
    EVERYONE,
    NORMALISED,
    RATES,
    check_groups,
    consistent_trials,
    read_inputs,
    trials_with_folds,
)
from parivox.decide.rule_judgement import RuleEstimates
from parivox.decide.threshold_fitting import COMMON, PER_GROUP
from parivox.errors import DataError
from parivox.facts import VALUES_COLUMN, fact, joined_facts
from parivox.options.decide import CalibrateOptions
from parivox.renamed import renamed_attribute
from parivox.runtime.disk import atomic_file, explain_write_errors, writable_file
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import CATALOGUE_MODULE, RELIABILITY_CHART_MODULE, NotebookView

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from parivox.core.calibration import Line
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.grouping import Grouping
    from parivox.data.table import Table
    from parivox.data.trial_set import TrialSet
    from parivox.decide.fitting_trials import FittingTrials
    from parivox.runtime.progress import Progress

    Lines = dict[int, list[Line]]  # of each group and of unknown ones, without each set of folds
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )

AS_SCORED = "as scored"
MIN_SPEAKERS_PER_FOLD = 5
"""Enrolled speakers with trials of either class, for each fold, from which on a group's line is
compared with the one for all."""
_METHODS: dict[str, Any] = {"logistic": (logistic, Logistic), "isotonic": (isotonic, Isotonic)}
_BIN_EDGES = np.arange(-9.0, 10.0, 2.0)
"""Edges of the bins of the reliability table, in nats."""

_LIMIT_SUFFIXES = ("", "_low", "_high")
_COSTS = ("cllr", "min_cllr", "cal_loss", "gain")
_COST_COLUMNS = {f"{name}{suffix}": "float" for name in _COSTS for suffix in _LIMIT_SUFFIXES}
TABLES: dict[str, dict[str, str]] = {
    "rules": {"rule": "str", "own": "int", **_COST_COLUMNS},
    "groups": {
        "rule": "str",
        "group": "str",
        "speakers": "int",
        "nontarget": "int",
        "target": "int",
        "slope": "float",
        "offset": "float",
        "p": "float",
        **_COST_COLUMNS,
        "reason": "str",
        VALUES_COLUMN: "str",
    },
    "reliability": {
        "rule": "str",
        "group": "str",
        "said": "float",
        **{f"so{suffix}": "float" for suffix in _LIMIT_SUFFIXES},
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
        Each rule (``common``, ``per group``, ``normalised``, ``as scored``): how many groups have a
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
        alpha = 1 - self.record["confidence"]
        return [
            row["group"]
            for row in self.groups.subset(rule=PER_GROUP).rows()
            if row["p"] is not None and row["p"] <= alpha
        ]

    @cached_property
    def calibrator(self) -> Calibrator:
        """The common calibrator, and those of groups that can be told from it."""
        groups = self.apart
        columns = ("speakers", "p", *_COST_COLUMNS)
        group_records = {
            row["group"]: {name: row[name] for name in columns}
            for row in self.groups.rows()
            if row["rule"] == (PER_GROUP if row["group"] in groups else COMMON)
        }
        record = self.record
        return Calibrator(
            record["method"],
            record["by"],
            record["side"],
            record["orientation"],
            self.lines[EVERYONE],
            {group: self.lines[group] for group in groups},
            {**record, "groups": group_records},
        )

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the calibrator.

        Raises
        ------
        ConfigError
            If it cannot be written, or a file of another kind is there.
        """
        file = writable_file(path, "calibrator.json")
        with explain_write_errors(str(path)), atomic_file(file) as unfinished:
            unfinished.write_text(self.calibrator.text(), encoding="utf-8", newline="\n")

    write = renamed_attribute("Calibration.write", "save")

    @check_arguments
    def transform(self, scores: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
        """Return natural-log likelihood ratios of scores, by the calibrator that `save` writes.

        Parameters
        ----------
        scores : array_like of shape (trial,)
            Scores as they were calibrated; NaN stays NaN.
        groups : array_like of shape (trial,), optional
            Group of each trial, None where unknown; needed if groups have calibrators of their own.

        Raises
        ------
        DataError
            If groups are needed and not given, or one is not known.
        """
        if groups is not None:
            check_groups(groups, np.asarray(scores).size, [*self.lines])
        return self.calibrator.llr(scores, groups)

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
@with_reading_options
def calibrate(
    scores: ScoreSource,
    speakers: SpeakerSource | None = None,
    *,
    by: Sequence[str] | str | None = None,
    method: str = "logistic",
    side: str = "enrol",
    llr: bool = False,
    llr_base: int | None = None,
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
) -> Calibration:
    """Find calibrators, one for all and one for each group, and judge them on other speakers.

    See docs/methods/costs.md#calibrators.

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
    options = CalibrateOptions.from_keywords(
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
    trial_set, normalised_sets, grouping = read_inputs(scores, options)
    fitting_trials = trials_with_folds(trial_set, grouping, options)
    all_trials, _ = fitting_trials.sorted_trials(RATES)
    check_polarity(trial_set, all_trials.counts_without(0), options.orientation)
    reasons = fitting_trials.too_few_speakers_reasons()
    with stage("fitting calibrators"):
        group_lines, p_values = fit_lines(trial_set.name, fitting_trials, options.method, reasons)
        common_lines = {
            excluded_folds: [lines[-1]] * len(lines)
            for excluded_folds, lines in group_lines.items()
        }
        rules = {
            COMMON: CrossFitRatios(fitting_trials, common_lines),
            PER_GROUP: CrossFitRatios(fitting_trials, group_lines),
        }
        for normalised_set in normalised_sets:
            normalised_trials = replace(
                fitting_trials, score=consistent_trials(normalised_set).score
            )
            # a reason keeps groups from lines of their own
            no_groups = ["not_requested"] * len(reasons)
            lines = _fit(normalised_set.name, normalised_trials, options.method, no_groups)
            rules[NORMALISED] = CrossFitRatios(normalised_trials, lines)
        if options.llr or options.llr_base is not None:
            # scores that are log likelihood ratios are judged as they are, in nats
            slope = math.log(options.llr_base or math.e)
            unchanged: list[Line] = [Logistic(slope, 0.0)] * len(group_lines[0])
            rules[AS_SCORED] = CrossFitRatios(fitting_trials, dict.fromkeys(group_lines, unchanged))
    with stage("judging"):
        judgements = judge_lines(fitting_trials, [*rules.values()], options.confidence)
    return Calibration(
        rules=_rules_table(rules, judgements),
        groups=_groups_table(fitting_trials, rules, judgements, p_values, reasons),
        reliability=_reliability_table(fitting_trials, rules, judgements, options.confidence),
        lines=dict(zip((*fitting_trials.groups, EVERYONE), group_lines[0], strict=True)),
        record=_record(trial_set, grouping, options, fitting_trials),
    )


def fit_lines(
    name: str, trials: FittingTrials, method: str, reasons: list[str]
) -> tuple[Lines, FloatArray]:
    """Fit calibrators; return them, and the level at which each group's differs from the common.

    Those are of each group, and of unknown ones, without each set of three folds at most. A group
    with a reason takes the common one; those whose own cannot be found are given one.
    """
    group_lines = _fit(name, trials, method, reasons)
    return group_lines, _difference_levels(trials, group_lines, reasons)


def _fit(name: str, trials: FittingTrials, method: str, reasons: list[str]) -> Lines:
    """Fit the lines of each group; groups without one are given a reason, and the common line."""
    all_trials, group_trials = trials.sorted_trials(RATES)
    lines_by_folds: dict[int, list[Line]] = {}
    for excluded_folds in held_out(trials.n_folds, 3).tolist():
        n_excluded = excluded_folds.bit_count()
        condition = ""
        if n_excluded:
            condition = fact("without_folds", left_out=n_excluded, folds=trials.n_folds)
        # no folds come first: their lines are near, so that the others take fewer steps
        start_lines = lines_by_folds.get(0, [None] * (len(group_trials) + 1))
        counts = all_trials.counts_without(excluded_folds)
        common_line, reason = _line_or_reason(counts, method, start_lines[-1])
        if reason:
            words = import_module(CATALOGUE_MODULE).cell_text(joined_facts(reason, condition))
            msg = f"{name}: no calibration can be fitted ({words})"
            hint = "give trials of more speakers"
            raise DataError(msg, hint)
        lines = [common_line] * (len(group_trials) + 1)
        for group, sorted_trials in enumerate(group_trials):
            if reasons[group]:
                continue
            counts = sorted_trials.counts_without(excluded_folds)
            lines[group], reason = _line_or_reason(counts, method, start_lines[group])
            reasons[group] = joined_facts(reason, condition) if reason else ""
        lines_by_folds[excluded_folds] = lines
    # a group without a line in one fit has none in any
    for lines in lines_by_folds.values():
        for group, reason in enumerate(reasons):
            if reason:
                lines[group] = lines[-1]
    return lines_by_folds


def _line_or_reason(counts: Counts, method: str, start: Line | None) -> tuple[Any, str]:
    """Return the line of some trials, and why it may not be used; empty where it may."""
    fit_line, line_type = _METHODS[method]
    reason = unfit(counts, line_type)
    if reason:
        return None, reason
    line = fit_line(counts, start)
    return line, _falling_reason(line)


def _difference_levels(
    trials: FittingTrials, group_lines: Lines, reasons: Sequence[str]
) -> FloatArray:
    """Return at which level each group's line differs from the common one; NaN where unknown.

    See docs/methods/costs.md#test-of-own-calibrators.
    """
    all_trials, group_trials = trials.sorted_trials(RATES)
    min_speakers = MIN_SPEAKERS_PER_FOLD * trials.n_folds
    has_enough = (trials.n_enrolled.sum(axis=-1) >= min_speakers).all(axis=0)
    tested_groups = [
        group for group, reason in enumerate(reasons) if not reason and has_enough[group]
    ]
    differences = np.full((trials.n_folds + 1, len(group_trials), 2), np.nan)
    for row, excluded_folds in enumerate(held_out(trials.n_folds, 1).tolist()):
        # slopes and offsets are compared, so that other methods are fitted again as lines
        lines: dict[int, Any] = {
            group: group_lines[excluded_folds][group] for group in (*tested_groups, -1)
        }
        for group, line in lines.items():
            if not isinstance(line, Logistic):
                sorted_trials = all_trials if group < 0 else group_trials[group]
                lines[group] = logistic(sorted_trials.counts_without(excluded_folds))
        for group in tested_groups:
            differences[row, group] = np.subtract(lines[group], lines[-1])
    return holm(level_apart(differences[0], differences[1:]))


def _falling_reason(line: Line) -> str:
    is_falling = isinstance(line, Logistic) and line.slope <= 0
    return "falling_line" if is_falling else ""


class CrossFitRatios:
    """Log likelihood ratios of trials by calibrators that were fitted on other speakers."""

    def __init__(self, trials: FittingTrials, lines: Lines) -> None:
        self.trials, self.lines = trials, lines
        # trials of one set of folds and one group have one line, and are taken together
        self._n_groups = len(trials.groups) + 1
        codes = trials.fold_bits * self._n_groups + trials.group
        self._order = np.argsort(codes, kind="stable")
        self._codes = codes[self._order]
        self._score = trials.score[self._order]

    def llrs_without(self, left_out_folds: int = 0) -> tuple[NDArray[np.intp], FloatArray]:
        """Return the trials of speakers outside some folds, and the ratio of each."""
        rows, llrs = [], []
        starts = np.flatnonzero(np.diff(self._codes, prepend=-1))
        for start, end in zip(starts, [*starts[1:], self._codes.size], strict=True):
            fold_bits, group = divmod(int(self._codes[start]), self._n_groups)
            if fold_bits & left_out_folds:
                continue
            rows.append(self._order[start:end])
            line = self.lines[fold_bits | left_out_folds][group]
            llrs.append(line.llr(self._score[start:end]))
        return np.concatenate(rows), np.concatenate(llrs)


class _LineJudgements(NamedTuple):
    """What every rule comes to; groups, then everyone, are the last axis but in `mean_costs`."""

    costs: dict[str, RuleEstimates]  # [rule, cell]
    mean_costs: dict[str, RuleEstimates]  # over the groups that have both classes, [rule]
    stated: FloatArray  # mean log likelihood ratio in each bin, [1 + fold, rule, cell, bin]
    observed: FloatArray  # and what it is by the shares of both classes there
    n_trials: IntArray  # in each bin, [class, rule, cell, bin]


def judge_lines(
    trials: FittingTrials, rules: Sequence[CrossFitRatios], confidence: float
) -> _LineJudgements:
    """Judge the rules on all trials, and on those without the speakers of each fold."""
    costs, stated, observed, n_by_bin = [], [], [], []
    optimisms = []  # of minimum Cllr on all trials, [rule, cell]
    gradient_tests = []  # of each rule on all trials
    for left_out_folds in (0, *(1 << fold for fold in range(trials.n_folds))):
        for ratios in rules:
            rows, llrs = ratios.llrs_without(left_out_folds)
            if not left_out_folds:
                gradient_tests.append(_gradient_tests(trials, rows, llrs))
            order = np.argsort(llrs)
            rows, llrs = rows[order], llrs[order]
            for mask in _cell_masks(trials, trials.group[rows]):
                llr, target = llrs[mask], trials.target[rows[mask]]
                counts = Counts.from_sorted(llr, target)
                costs.append((cllr(counts), min_cllr(counts)))
                if not left_out_folds:
                    optimisms.append(optimism(llr, target, trials.fold_bits[rows[mask]]))
                reliability = _reliability_bins(llr, target)
                stated.append(reliability.stated)
                observed.append(reliability.observed)
                n_by_bin.append(reliability.n_trials)
    shape = (trials.n_folds + 1, len(rules), len(trials.groups) + 1)
    actual, minimum = np.reshape(costs, (*shape, 2)).transpose(3, 0, 1, 2)
    figures = {
        "cllr": actual,
        "min_cllr": minimum,
        "cal_loss": actual - minimum - np.reshape(optimisms, shape[1:]),
    }
    has_both_classes = ~np.isnan(actual[0, 0, :-1])
    cell_costs = {
        name: RuleEstimates.from_leave_out(figure, confidence) for name, figure in figures.items()
    }
    losses = cell_costs["cal_loss"]
    lower_limits = [
        tests.lower_limit(loss, low, confidence)
        for tests, loss, low in zip(
            gradient_tests, np.maximum(losses.estimate, 0), losses.limits.low, strict=True
        )
    ]
    limits = losses.limits._replace(low=np.array(lower_limits))
    cell_costs["cal_loss"] = replace(losses, limits=limits)
    return _LineJudgements(
        costs=cell_costs,
        mean_costs={
            name: RuleEstimates.from_leave_out(
                figure[:, :, :-1][:, :, has_both_classes].mean(axis=-1), confidence
            )
            for name, figure in figures.items()
        },
        stated=np.reshape(stated, (*shape, -1)),
        observed=np.reshape(observed, (*shape, -1)),
        n_trials=np.reshape(n_by_bin, (*shape, 2, -1))[0].transpose(2, 0, 1, 3),
    )


def _gradient_tests(
    trials: FittingTrials, rows: NDArray[np.intp], llrs: FloatArray
) -> GradientTests:
    """Return the tests of whether ratios are calibrated, of each group and of everyone."""
    target, n_groups = trials.target[rows], len(trials.groups)
    enrol_speaker, test_speaker = (speakers[rows] for speakers in trials.speakers)
    group = np.where(trials.group[rows] < n_groups, trials.group[rows], -1)
    curves = ResampledCurves(
        llrs,
        target,
        enrol_speaker,
        test_speaker,
        [([group], n_groups), ([np.zeros_like(group)], 1)],
        curve_edges(Counts.from_scores(llrs, target)),
    )
    of_groups, of_everyone = GradientTests.from_curves(curves, curves.original())
    return of_groups.append_cells(of_everyone)


class _ReliabilityBins(NamedTuple):
    """Log likelihood ratios of some trials in bins."""

    stated: FloatArray  # [bin]
    observed: FloatArray  # [bin]
    n_trials: IntArray  # [class, bin]


def _reliability_bins(llr: FloatArray, target: NDArray[np.bool_]) -> _ReliabilityBins:
    """Return what ratio is stated in each bin, and what it is by the shares of both classes."""
    bin_and_class = 2 * np.searchsorted(_BIN_EDGES, llr) + target
    size = 2 * (_BIN_EDGES.size + 1)
    n_trials = np.bincount(bin_and_class, minlength=size).reshape(-1, 2).T
    sums = np.bincount(bin_and_class, llr, minlength=size).reshape(-1, 2).T
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = n_trials / n_trials.sum(axis=1, keepdims=True)
        # both classes weigh by their shares, so that the mean does not depend on their numbers
        stated = (sums / n_trials * shares).sum(axis=0) / shares.sum(axis=0)
        observed = np.log(shares[1]) - np.log(shares[0])
    return _ReliabilityBins(stated, observed, n_trials)


def _cell_masks(
    trials: FittingTrials, group: NDArray[np.int32]
) -> Iterator[NDArray[np.bool_] | slice]:
    """Yield the trials of each group, then all."""
    yield from (group == code for code in range(len(trials.groups)))
    yield slice(None)


def _rules_table(rules: Mapping[str, CrossFitRatios], judgements: _LineJudgements) -> Table:
    n_own_lines = []
    for ratios in rules.values():
        *group_lines, common_line = ratios.lines[0]
        n_own_lines.append(len([line for line in group_lines if line is not common_line]))
    rows = TableBuilder(TABLES["rules"])
    rows.add(rule=[*rules], own=n_own_lines, **_cost_columns(judgements.mean_costs, slice(None)))
    return rows.table()


def _cost_columns(
    estimates: Mapping[str, RuleEstimates], index: int | slice
) -> dict[str, FloatArray]:
    """Return costs with their limits, and the gain against the common calibrator."""
    columns: dict[str, FloatArray] = {}
    for name, cost in estimates.items():
        for suffix, figures in zip(
            _LIMIT_SUFFIXES, (cost.estimate, cost.limits.low, cost.limits.high), strict=True
        ):
            columns[f"{name}{suffix}"] = np.maximum(figures[index], 0)  # none can be below 0
    cllr_cost = estimates["cllr"]
    change_limits = cllr_cost.change_limits
    # a gain is a fall, so that the upper limit of the change is the lower one of the gain
    for suffix, figures in zip(
        _LIMIT_SUFFIXES, (cllr_cost.change, change_limits.high, change_limits.low), strict=True
    ):
        columns[f"gain{suffix}"] = 0 - figures[index]
    return columns


def _groups_table(
    trials: FittingTrials,
    rules: Mapping[str, CrossFitRatios],
    judgements: _LineJudgements,
    p_values: FloatArray,
    reasons: Sequence[str],
) -> Table:
    rows = TableBuilder(TABLES["groups"])
    n_groups = len(trials.groups)
    n_nontarget, n_target = (
        np.append(np.bincount(trials.group[mask], minlength=n_groups + 1)[:n_groups], mask.sum())
        for mask in (~trials.target, trials.target)
    )
    n_speakers = np.append(
        trials.n_enrolled[1].sum(axis=-1), np.max(trials.pooled["fnr"].clusters.n_speakers)
    )
    no_line = Logistic(np.nan, np.nan)
    for index, (rule, ratios) in enumerate(rules.items()):
        is_per_group = rule == PER_GROUP
        *group_lines, common_line = ratios.lines[0]
        # with a line for each group, none is that of everyone
        lines = [*group_lines, no_line if is_per_group else common_line]
        logistic_lines = [
            line if isinstance(line, Logistic) and rule != AS_SCORED else no_line for line in lines
        ]
        rows.add(
            rule=rule,
            group=[*trials.groups, EVERYONE],
            speakers=n_speakers,
            nontarget=n_nontarget,
            target=n_target,
            slope=np.array([line.slope for line in logistic_lines]),
            offset=np.array([line.offset for line in logistic_lines]),
            p=np.append(np.where(is_per_group, p_values, np.nan), np.nan),
            **_cost_columns(judgements.costs, index),
            reason=[*reasons, ""] if is_per_group else [""] * (n_groups + 1),
        )
    return rows.table()


def _reliability_table(
    trials: FittingTrials,
    rules: Mapping[str, CrossFitRatios],
    judgements: _LineJudgements,
    confidence: float,
) -> Table:
    rows = TableBuilder(TABLES["reliability"])
    with np.errstate(invalid="ignore"):  # without a class in some fold
        limits = jackknife(judgements.observed[0], judgements.observed[1:], confidence)
    for rule_index, rule in enumerate(rules):
        for cell, group in enumerate((*trials.groups, EVERYONE)):
            n_trials = judgements.n_trials[:, rule_index, cell]
            bins = np.flatnonzero(n_trials.sum(axis=0))
            observed = judgements.observed[0, rule_index, cell, bins]
            rows.add(
                rule=rule,
                group=group,
                said=judgements.stated[0, rule_index, cell, bins],
                so=np.where(np.isfinite(observed), observed, np.nan),
                so_low=limits.low[rule_index, cell, bins],
                so_high=limits.high[rule_index, cell, bins],
                nontarget=n_trials[0, bins],
                target=n_trials[1, bins],
            )
    return rows.table()


def _record(
    trial_set: TrialSet, grouping: Grouping, options: CalibrateOptions, trials: FittingTrials
) -> dict[str, Any]:
    return {
        "system": trial_set.system,
        "by": grouping.name,
        "side": options.side,
        "method": options.method,
        "orientation": options.orientation or "similarity",
        "folds": options.folds,
        "seed": options.seed,
        "confidence": options.confidence,
        "speakers": int(trial_set.speakers_in_use.size),
        "trials": trials.score.size,
        "unknown": int((trials.group == len(trials.groups)).sum()),
        "trials_sha256": trial_set.content_sha256,
    }
