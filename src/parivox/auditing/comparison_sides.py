"""What of one system on one list is compared with another: every measure, with its draws."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.bias import bias_blocks, left_out, mean_over
from parivox.auditing.meta import area_blocks, drawn_blocks, in_draws
from parivox.auditing.result import system_name
from parivox.auditing.uncertainty import groups_passed
from parivox.core.measures import MEASURES, base_metric

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.estimates import Estimates
    from parivox.auditing.operating_points import Points
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.counts import FloatArray
    from parivox.read.trialset import TrialSet


@dataclass(frozen=True, eq=False)
class Part:
    """What is compared: the cells of one grouping, or all trials, within one level.

    Attributes
    ----------
    where : dict
        Its grouping, allocation and level.
    cells : sequence of str
        Names of the groups, then of the pooled row; of all trials, that row only.
    data, draws : Estimates
        Every base metric, and the same in each draw; None, and `why` tells why, if there are none.
    errors : Estimates
        Those of them that are errors.
    cheapest : sequence of (Estimates, ndarray or None)
        Of each cost, that at its own smallest cost and each group's own minimum; its threshold
        bias cross-fitted over speakers.
    area : Estimates or None
        FPR and FNR at the points that the area under FDR is taken over; None of all trials.
    shared : dict of str to bool ndarray of shape (group,)
        Groups of an intersection that share a value of one attribute, as in ``gender=f``.
    uncertainty : Uncertainty or None
    why : str
        Why there are no draws.
    """

    where: Mapping[str, str]
    cells: Sequence[str]
    data: Estimates
    draws: Estimates | None
    errors: Estimates
    cheapest: Sequence[tuple[Estimates, FloatArray | None]]
    area: Estimates | None
    shared: Mapping[str, NDArray[np.bool_]]
    uncertainty: Uncertainty | None
    why: str

    @property
    def fewest(self) -> NDArray[np.int64]:
        """Speakers behind the smaller class of trials, ``[cell]``."""
        n = len(self.cells)
        return np.zeros(n, np.int64) if self.uncertainty is None else self.uncertainty.speakers[-n:]

    def speakers_behind(self, metrics: Sequence[str]) -> NDArray[np.int64]:
        """Speakers behind each of some metrics, ``[metric, cell]``."""
        n = len(self.cells)
        if self.uncertainty is None:
            return np.zeros((len(metrics), n), dtype=np.int64)
        return self.uncertainty.speakers_behind(metrics)[:, -n:]

    def passed(self, keys: Sequence[Key]) -> NDArray[np.bool_]:
        """Which groups pass the gates, ``[key, group]``."""
        if self.uncertainty is None:
            return np.zeros((len(keys), len(self.cells) - 1), dtype=bool)
        return groups_passed(self.uncertainty, keys)


@dataclass(frozen=True, eq=False)
class Compared:
    """One system on one list, as far as it is compared with others."""

    trials: TrialSet
    points: Points
    parts: list[Part] = field(default_factory=list)

    @property
    def name(self) -> str:
        """As the user names it."""
        return system_name(self.trials.system, self.trials.list)

    @property
    def texts(self) -> list[str]:
        """Its operating points as written."""
        return [one.point.text for one in self.points.found]


class Side(NamedTuple):
    """Rows of one measure in one of two sets.

    Attributes
    ----------
    columns : dict
        What they are of.
    values : float64 ndarray of shape (row,)
    drawn : float64 ndarray of shape (draw, row), or None
    reasons : sequence of str, one a row
        Why a value is undefined.
    to_log : callable or None
        What of a value is compared on the logarithmic scale, of arrays ``[..., row]``.
    speakers : int64 ndarray of shape (row,)
        Speakers who tell how certain it is.
    grows : bool
        Whether noise makes it larger (further from fair) even on average.
    why : str
        Why it is not resampled, if that is its own nature.
    most : float or float64 ndarray of shape (row,)
        No difference is larger.
    """

    columns: dict[str, Any]
    values: FloatArray
    drawn: FloatArray | None
    reasons: Sequence[str]
    to_log: Callable[[FloatArray], FloatArray]
    speakers: NDArray[np.int64]
    grows: bool = False
    why: str = ""
    most: float | FloatArray = np.inf


def base_side(part: Part, keys: Sequence[Key]) -> Side:
    """Base metrics of every cell."""
    n, data = len(part.cells), part.data.having(keys)
    metrics = [base_metric(key[0]) for key in keys]
    scale = np.repeat([one.scale for one in metrics], n)

    def to_log(values: FloatArray) -> FloatArray:
        far = np.where(scale == "one", 1 - values, values)
        return np.where(scale == "linear", np.nan, far)

    return Side(
        {**columns_of(keys, n), "group": list(part.cells) * len(keys), "measure": "value"},
        data.values.ravel(),
        None if part.draws is None else _flat(part.draws.having(keys).values),
        [why for of in data.reasons for why in of],
        to_log,
        part.speakers_behind([key[0] for key in keys]).ravel(),
        most=np.repeat([one.widest for one in metrics], n),
    )


def columns_of(keys: Sequence[Key], n: int) -> dict[str, list[str]]:
    """The columns of `n` rows of each key."""
    names = ("metric", "definition", "operating_point")
    return {name: [key[i] for key in keys for _ in range(n)] for i, name in enumerate(names)}


def _flat(drawn: FloatArray) -> FloatArray:
    return drawn.reshape(len(drawn), -1)


def bias_sides(part: Part, errors: Estimates, points: Points, options: Options) -> Iterator[Side]:
    """Each bias measure of every group, and its means by attribute.

    ``neg_log_ratio`` is left out: it is the logarithm of ``ratio``, which is compared on that
    scale.
    """
    groups, speakers = part.cells[:-1], part.fewest[:-1]
    masks = list(part.shared.values())
    for block in bias_blocks(errors, part.draws, part.cheapest, groups, points, options):
        measure = MEASURES[block.measure]
        if measure.id == "neg_log_ratio":
            continue
        to_log = np.asarray if measure.scale == "ratio" else no_log
        where = {"reference": block.reference, "zero": block.zero}
        grows = measure.bounds[0] == 1.0  # a minimum over noise
        n, value = len(groups), block.value
        yield Side(
            {
                **columns_of(block.keys, n),
                "group": list(groups) * len(block.keys),
                "measure": measure.id,
                **where,
            },
            value.ravel(),
            None if block.drawn is None else _flat(block.drawn),
            block.reason.ravel().tolist(),
            to_log,
            np.tile(speakers, len(block.keys)),
            grows,
        )
        if not masks:
            continue
        drawn = None if block.drawn is None else mean_over(block.drawn, masks, like=value)
        odd = [left_out(value.reshape(-1, n)[:, mask]) for mask in masks]
        fewest = np.array([speakers[mask].min() for mask in masks])
        yield Side(
            {
                **columns_of(block.keys, len(masks)),
                "group": list(part.shared) * len(block.keys),
                "measure": f"mean_{measure.id}",
                **where,
            },
            mean_over(value, masks).ravel(),
            None if drawn is None else _flat(drawn),
            [reason for of_key in zip(*odd, strict=True) for reason in of_key],
            to_log,
            np.tile(fewest, len(block.keys)),
            grows,
        )


def meta_sides(part: Part, errors: Estimates, options: Options) -> Iterator[Side]:
    """Each meta-measure of the groups that both sets have."""
    for block, draws in drawn_blocks(errors, part.draws, options, defined=True):
        found = block.found
        drawn = None if draws is None else in_draws(block, draws)
        n = np.ravel(found.groups)
        has_all = n == len(part.cells) - 1
        of = np.where(has_all, "", [f"of the {k} groups that both have" for k in n.tolist()])
        yield Side(
            {
                "metric": block.metrics,
                "definition": block.definitions,
                "operating_point": block.points,
                "group": "",
                "measure": block.measure.id,
                "alpha": block.alphas,
                "zero": block.zero,
            },
            np.ravel(found.value),
            drawn,
            [
                why or note
                for why, note in zip(np.ravel(found.reason).tolist(), of.tolist(), strict=True)
            ],
            np.asarray if block.measure.scale == "ratio" else no_log,
            part.speakers_behind(block.metrics)[:, -1],
            grows=True,
            most=block.measure.widest,
        )


def area_sides(part: Part, known: NDArray[np.bool_], options: Options) -> Iterator[Side]:
    """Area under FDR of some groups, on either scale of FPR."""
    assert part.area is not None
    area = part.area.only(np.broadcast_to(known, part.area.groups.shape))
    for block, drawn, groups in area_blocks(area, part.draws, options):
        note = "" if groups == len(part.cells) - 1 else f"of {groups} groups"
        value = np.ravel(block.found.value)
        yield Side(
            {
                "metric": block.metrics,
                "definition": block.definitions,
                "operating_point": block.points,
                "group": "",
                "measure": block.measure.id,
                "alpha": block.alphas,
                "zero": block.zero,
            },
            value,
            drawn,
            [why or note for why in np.ravel(block.found.reason).tolist()],
            no_log,
            part.speakers_behind(block.metrics)[:, -1],
            grows=True,
            most=block.measure.widest,
        )


def no_log(values: FloatArray) -> FloatArray:
    """Of what has no ratio: a fair system has 0."""
    return np.full(values.shape, np.nan)
