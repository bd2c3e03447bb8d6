"""Metrics of scores with labels and perhaps groups, where no ids tell the speakers.

Without speakers there is no sample of people, so that nothing has an interval and no group is said
to differ from another.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.arguments import check_arguments
from parivox.core.costs import min_cdet, parse_detection_cost
from parivox.core.counts import Counts
from parivox.core.eer import DEFINITIONS, eer
from parivox.core.llr import calibration_loss, cllr, min_cllr
from parivox.core.rates import fnr_at_fpr, unreached_reason
from parivox.core.separation import auc, dprime
from parivox.data.plain_scores import plain_scores, scores_by_class
from parivox.data.source_bytes import with_reading_options
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import VALUES_COLUMN, Fact, with_values
from parivox.shown import SCORE_DET_MODULE, NotebookView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray
    from parivox.data.plain_scores import PlainScores
    from parivox.sources import FilePath, TableSource

ALL = "all trials"
"""The row of all trials."""
FPR_TARGETS = (0.01, 0.001, 0.1)
"""False positive rates at which FNR is read off by default; groups are compared at the first."""
_COLUMNS = {
    "group": "str",
    "metric": "str",
    "definition": "str",
    "value": "float",
    "errors": "int",
    "trials": "int",
    "threshold": "float",
    "reason": "str",
    VALUES_COLUMN: "str",
}


@dataclass(frozen=True, eq=False, repr=False)
class ScoreMetrics(NotebookView):
    """Metrics of scores.

    Attributes
    ----------
    table : Table
        Of all trials, then of each group: the metric, its definition (of the EER, the target of a
        rate, the cost model), its value (rates are fractions), errors and trials of rates, the
        threshold, and why a value is missing. ``fpr`` and ``fnr`` are at the common threshold that
        all trials set; every other threshold is the group's own.
    counts : Mapping of str to Counts
        Trials by score, of all trials and of each group.
    name : str
        What was read.
    notes : tuple of Fact
        What a reader must know of the figures, such as why nothing has an interval: codes with
        values.
    """

    table: Table
    counts: Mapping[str, Counts]
    name: str
    notes: tuple[Fact, ...]

    def __repr__(self) -> str:
        return f"<metrics of {self.name}, {len(self.counts) - 1} groups>"

    @check_arguments
    def value(self, metric: str, definition: str = "", group: str = ALL) -> float | None:
        """Return one value; None where it is undefined.

        Without a definition it is the first one: the linear EER, the first target or cost.

        Raises
        ------
        ConfigError
            If there is no such metric, definition or group.
        """
        rows = self.table.filter(metric=metric, group=group).rows()
        by_definition = {row["definition"]: row for row in rows}
        if not definition and by_definition:
            definition = next(iter(by_definition))
        if definition not in by_definition:
            hint = name_hint(definition, by_definition)
            msg = f"definition={definition!r} of {metric!r} in {group!r} is not known"
            raise ConfigError(msg, hint)
        number: float | None = by_definition[definition]["value"]
        return number

    def chart(self) -> Any:
        """Return DET curves of all trials and of each group, as an Altair chart.

        Raises
        ------
        ConfigError
            If Altair is missing, or no group has both classes of trials.
        """
        return import_module(SCORE_DET_MODULE).altair(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the name, the notes and the rows of the table."""
        rows = [
            {
                name: str(cell) if isinstance(cell, float) and math.isinf(cell) else cell
                for name, cell in row.items()
            }
            for row in self.table.rows()
        ]
        return {
            "name": self.name,
            "notes": [note._asdict() for note in self.notes],
            "metrics": rows,
        }

    def to_json(self) -> str:
        """Return all of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@with_reading_options
def metrics(
    scores: ArrayLike | TableSource | None = None,
    labels: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    *,
    target: ArrayLike | FilePath | None = None,
    nontarget: ArrayLike | FilePath | None = None,
    fpr: Sequence[float] | None = None,
    cost: Sequence[str] | str = ("voxsrc",),
    llr: bool = False,
    distance: bool = False,
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,  # noqa: ARG001 - of the reading
    quotes: str | None = None,  # noqa: ARG001 - of the reading
) -> ScoreMetrics:
    """Compute metrics of scores that have labels but no ids of speakers.

    Parameters
    ----------
    scores
        An array of scores, with `labels` (1 for target trials) and perhaps `groups`; or a table or
        file of columns score and label, in which `groups` is the name of a column.
    labels : array_like of shape (trial,), optional
    groups : array_like of shape (trial,), or str, optional
    target, nontarget
        Instead of `scores`: scores of target trials and of nontarget trials, each an array or a
        file of one number a line.
    fpr
        False positive rates at which FNR is given; by default `FPR_TARGETS`. At the first that all
        trials can tell, groups have the rates of a common threshold.
    cost
        Cost models, by name or as ``P_TARGET,C_MISS,C_FA``.
    llr
        Whether scores are natural-log likelihood ratios: adds Cllr and the calibration loss.
    distance
        Whether scores are lower for more alike.
    columns
        Names of the columns and words of labels, as ``--columns`` of an audit.
    encoding, quotes
        As in `parivox.audit`.

    Returns
    -------
    ScoreMetrics

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> found = metrics([0.9, 0.8, 0.4, 0.7, 0.3, 0.1], [1, 1, 1, 0, 0, 0])
    >>> round(found.value("eer", "linear"), 3), found.value("auc")
    (0.333, 0.8888888888888888)
    """
    if (target is None) != (nontarget is None):
        lacking = "nontarget" if nontarget is None else "target"
        msg = f"missing option --{lacking}"
        hint = "give the scores of both classes, one per line"
        raise ConfigError(msg, hint)
    if (scores is None) == (target is None):
        msg = "give scores with labels, or the scores of target and of nontarget trials, not both"
        raise ConfigError(msg)
    if target is not None and (labels is not None or groups is not None or columns):
        msg = "--target and --nontarget contain one score per line only"
        hint = "give one table of scores, labels and groups instead"
        raise ConfigError(msg, hint)
    read = (
        plain_scores(scores, labels, groups, columns=columns)
        if target is None
        else scores_by_class(target, nontarget)
    )
    costs = [parse_detection_cost(text) for text in ([cost] if isinstance(cost, str) else cost)]
    fpr_targets = FPR_TARGETS if fpr is None else tuple(fpr)
    for rate in fpr_targets:
        if not 0 < rate < 1:
            msg = f"--fpr {rate!r} is not a rate"
            hint = "give a number between 0 and 1, for example 0.01"
            raise ConfigError(msg, hint)
    counts = _counts_by_group(read, is_distance=distance)
    rows: list[dict[str, Any]] = []
    common = _common_threshold(counts[ALL], fpr_targets)
    for group, group_counts in counts.items():
        for row in _rows_of_group(group_counts, fpr_targets, costs, llr=llr, common=common):
            undefined = {name: None for name in _COLUMNS if name not in row}
            complete_row = {**undefined, "reason": "", "definition": "", "group": group, **row}
            value = complete_row["value"]
            if value is not None and not np.isfinite(value):
                reason = "infinite_ratio" if np.isinf(value) else "undefined_on_scores"
                complete_row |= {"value": None, "reason": complete_row["reason"] or reason}
            rows.append(complete_row)
    cells = {name: [row[name] for row in rows] for name in _COLUMNS if name != VALUES_COLUMN}
    table = Table.of(with_values(cells, _COLUMNS), _COLUMNS)
    return ScoreMetrics(table, counts, read.name, tuple(_notes(read, counts)))


def _counts_by_group(read: PlainScores, *, is_distance: bool) -> dict[str, Counts]:
    """Return trials by score, of all trials and of each group."""
    score = -read.score if is_distance else read.score
    counts = {ALL: Counts.from_scores(score, read.is_target)}
    names = [] if read.group is None else sorted(set(read.group.tolist()) - {""})
    if ALL in names:
        msg = f"{read.name}: a group is named {ALL!r}, a name that is reserved for all groups"
        hint = "rename the group"
        raise DataError(msg, hint)
    for name in names:
        is_member = read.group == name
        counts[name] = Counts.from_scores(score[is_member], read.is_target[is_member])
    if read.group is not None and not names:
        msg = f"{read.name}: no trial has a group"
        hint = "name another column with --by"
        raise DataError(msg, hint)
    return counts


def _common_threshold(counts: Counts, fpr: Sequence[float]) -> tuple[float, float] | None:
    """Return a false positive rate that all trials can tell, and its threshold."""
    for rate in fpr:
        located = fnr_at_fpr(counts, target=rate)
        if np.isfinite(located.value):
            return rate, float(located.threshold)
    return None


def _rows_of_group(
    counts: Counts,
    fpr: Sequence[float],
    costs: Sequence[Any],
    *,
    llr: bool,
    common: tuple[float, float] | None,
) -> Iterator[dict[str, Any]]:
    """Yield the metrics of one group."""
    n_target, n_nontarget = int(counts.n_target), int(counts.n_nontarget)
    reason = ""
    if not n_target or not n_nontarget:
        reason = "no_target_trials" if not n_target else "no_nontarget_trials"
    n_trials = n_target + n_nontarget
    if common is not None:
        rate, threshold = common
        curve = counts.at([threshold])
        for metric, errors, trials, missing in (
            ("fpr", int(curve.fp[0]), n_nontarget, "no_nontarget_trials"),
            ("fnr", int(curve.fn[0]), n_target, "no_target_trials"),
        ):
            yield {
                "metric": metric,
                "definition": f"fpr={rate:g}",
                "value": errors / trials if trials else None,
                "errors": errors,
                "trials": trials,
                "threshold": threshold,
                "reason": "" if trials else missing,
            }
    for definition in DEFINITIONS:
        value = float(eer(counts, definition=definition))
        yield {
            "metric": "eer", "definition": definition, "value": value, "trials": n_trials,
            "reason": reason,
        }  # fmt: skip
    for rate in fpr:
        located = fnr_at_fpr(counts, target=rate)
        missing = reason or unreached_reason(counts, "nontarget", rate)
        yield {
            "metric": "fnr_at_fpr", "definition": f"{rate:g}", "value": float(located.value),
            "trials": n_target, "threshold": float(located.threshold), "reason": missing,
        }  # fmt: skip
    for cost in costs:
        smallest = min_cdet(counts, cost=cost)
        yield {
            "metric": "min_cdet", "definition": cost.name, "value": float(smallest.value),
            "trials": n_trials, "threshold": float(np.ravel(smallest.threshold)[0]),
            "reason": reason,
        }  # fmt: skip
    figures: dict[str, Callable[[Counts], FloatArray]]
    figures = {"auc": auc, "dprime": dprime, "min_cllr": min_cllr}
    if llr:
        figures |= {"cllr": cllr, "cal_loss": calibration_loss}
    for metric, function in figures.items():
        yield {
            "metric": metric, "value": float(function(counts)), "trials": n_trials,
            "reason": reason,
        }  # fmt: skip


def _notes(read: PlainScores, counts: Mapping[str, Counts]) -> Iterator[Fact]:
    """Yield what a reader must know of the figures."""
    if read.n_without_score:
        yield Fact("trials_without_score_left_out", {"trials": read.n_without_score})
    if read.group is not None:
        n_unknown = int((read.group == "").sum())
        if n_unknown:
            yield Fact("trials_in_no_group", {"trials": n_unknown})
    for name, group_counts in counts.items():
        n_target, n_nontarget = int(group_counts.n_target), int(group_counts.n_nontarget)
        if not n_target or not n_nontarget:
            trials = "nontarget" if n_target else "target"
            yield Fact("group_without_trials", {"group": name, "trials": trials})
    yield Fact("speakers_not_given", {"groups": len(counts) > 1})
