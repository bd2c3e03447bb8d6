"""What of one system on one list is compared with another: every measure, and its replicates."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.bias_intervals import mean_over, replicates
from parivox.auditing.compare import (
    against,
    as_plain,
    left_out,
    measured,
    subgroup_bias,
    threshold_bias,
    times_plain,
)
from parivox.auditing.crossfit import LEAST
from parivox.auditing.meta_intervals import in_replicates
from parivox.auditing.metas import AXES, areas_drawn, calls, heights
from parivox.auditing.options import REFERENCES
from parivox.auditing.stack import RATES
from parivox.core.measures import base_metric
from parivox.core.measures import meta_measures as registered

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.compared import Part
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key
    from parivox.auditing.stack import Stack
    from parivox.core import bias
    from parivox.core.counts import FloatArray

__all__ = ["Block", "areas", "base_metrics", "bias_measures", "columns", "meta_measures", "none"]


class Block(NamedTuple):
    """Rows of one measure in one set.

    Attributes
    ----------
    columns : dict
        What they are of.
    values : float64 ndarray of shape (row,)
    drawn : float64 ndarray of shape (replicate, row), or None
    reasons : object ndarray of shape (row,)
        Why a value is undefined.
    to_log : callable or None
        What of a value is compared on the logarithmic scale, of arrays ``[..., row]``.
    speakers : int64 ndarray of shape (row,)
        Speakers who tell how sure it is.
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


def base_metrics(part: Part, keys: Sequence[Key]) -> Block:
    """Base metrics of every cell."""
    n = len(part.cells)
    at = [part.keys.index(key) for key in keys]
    drawn = None
    if part.replicated is not None:
        place, values = part.replicated.place, part.replicated.values
        cells = np.full((len(values), len(keys), n), np.nan)
        told = [i for i, key in enumerate(keys) if key in place]
        cells[:, told] = values[:, [place[keys[i]] for i in told]]
        drawn = cells.reshape(len(values), -1)
    metrics = [base_metric(key[0]) for key in keys]
    scale = np.repeat([one.scale for one in metrics], n)
    is_one, is_linear = scale == "one", scale == "linear"

    def to_log(values: FloatArray) -> FloatArray:
        return np.where(is_linear, np.nan, np.where(is_one, 1 - values, values))

    return Block(
        {**columns(keys, n), "group": list(part.cells) * len(keys), "measure": "value"},
        part.values[at].ravel(),
        drawn,
        [why for i in at for why in part.reasons[i]],
        to_log,
        np.tile(part.speakers, len(keys)),
        most=np.repeat([one.widest for one in metrics], n),
    )


def columns(keys: Sequence[Key], n: int) -> dict[str, list[str]]:
    """The columns of `n` rows of each key."""
    names = ("metric", "definition", "operating_point")
    return {name: [key[i] for key in keys for _ in range(n)] for i, name in enumerate(names)}


def bias_measures(part: Part, stack: Stack, options: Options) -> Iterator[Block]:
    """Each group against each reference, and at its own smallest cost; then means of these.

    ``neg_log_ratio`` is left out: it is the logarithm of ``ratio``, which is compared on that
    scale.
    """
    groups, rates = part.cells[:-1], stack.where(*RATES)
    for zero in options.zero:
        for reference in options.reference:
            if reference not in REFERENCES and reference not in groups:
                continue
            for measure in (one.id for one in against()):
                if measure == "neg_log_ratio" or (zero == "nist" and measure == "difference"):
                    continue
                way = partial(measured, measure, reference, zero, groups, options)
                of = stack if zero == "none" else rates
                told = {"measure": measure, "reference": reference, "zero": zero}
                yield from _bias(part, of, of.keys, way, told)
    for i, (at, least) in enumerate(part.cheapest):
        both = stack.having([at, least])
        told = {"measure": "subgroup_bias", "reference": "pooled", "zero": "none"}
        yield from _bias(part, both, [at], subgroup_bias, told)
        told = {"measure": "threshold_bias", "reference": "", "zero": "none"}
        yield from _bias(part, both, [at], threshold_bias, told)
        yield from _crossed(part, both, at, i)


def _crossed(part: Part, both: Stack, at: Key, cost: int) -> Iterator[Block]:
    """Threshold bias cross-fitted over speakers, which varies as the plain one does."""
    plain, drawn = threshold_bias(both).value, None
    crossed = np.full(plain.shape, np.nan)
    if part.sure is not None and part.replicated is not None:
        crossed[:] = np.where(part.speakers[:-1] < LEAST, np.nan, part.sure.crossed(cost))
        drawn = as_plain(times_plain(crossed, plain), part.replicated.stack(both.keys))
    told = {"measure": "threshold_bias_cv", "reference": "", "zero": "none"}
    yield from _with_means(part, [at], crossed, drawn, [""] * crossed.size, told)


def _bias(
    part: Part,
    stack: Stack,
    keys: Sequence[Key],
    function: Callable[[Stack], bias.Measured],
    told: dict[str, str],
) -> Iterator[Block]:
    found = function(stack)
    drawn = replicates(part.replicated, stack, lambda one: function(one).value, told["reference"])
    yield from _with_means(part, keys, found.value, drawn, found.reason.ravel().tolist(), told)


def _with_means(
    part: Part,
    keys: Sequence[Key],
    value: FloatArray,
    drawn: FloatArray | None,
    reasons: Sequence[str],
    told: dict[str, str],
) -> Iterator[Block]:
    """A measure of each group, ``[..., key, group]``, and its means by attribute."""
    groups, is_ratio = part.cells[:-1], told["measure"] != "difference"
    speakers, to_log = part.speakers[:-1], np.asarray if is_ratio else none
    grows = told["measure"] == "threshold_bias"
    n = len(groups)

    def flat(values: FloatArray | None) -> FloatArray | None:
        return None if values is None else values.reshape(len(values), -1)

    yield Block(
        {**columns(keys, n), "group": list(groups) * len(keys), **told},
        value.ravel(),
        flat(drawn),
        reasons,
        to_log,
        np.tile(speakers, len(keys)),
        grows,
    )
    if not part.shared:
        return
    masks = list(part.shared.values())
    means = mean_over(value, masks)
    odd = [left_out(value.reshape(-1, n)[:, mask]) for mask in masks]
    fewest = np.array([speakers[mask].min() for mask in masks])
    n = len(masks)
    yield Block(
        {
            **columns(keys, n),
            "group": list(part.shared) * len(keys),
            **told,
            "measure": f"mean_{told['measure']}",
        },
        means.ravel(),
        flat(None if drawn is None else mean_over(drawn, masks, like=value)),
        [reason for of_key in zip(*odd, strict=True) for reason in of_key],
        to_log,
        np.tile(fewest, len(keys)),
        grows,
    )


def meta_measures(part: Part, stack: Stack, options: Options) -> Iterator[Block]:
    """Each meta-measure of the groups that both sets have."""
    for call in calls(stack, options):
        found = call.of(call.stack)
        again, drawn = part.drawn(call.stack), None
        if again is not None:
            drawn = in_replicates(call, again)
        n = np.ravel(found.groups)
        has_all = n == len(part.cells) - 1
        told = np.where(has_all, "", [f"of the {k} groups that both have" for k in n.tolist()])
        reasons = np.ravel(found.reason)
        yield Block(
            {
                "metric": call.metrics,
                "definition": call.definitions,
                "operating_point": call.points,
                "group": "",
                "measure": call.spec.id,
                "alpha": call.alphas,
                "zero": call.zero,
            },
            np.ravel(found.value),
            drawn,
            [why or note for why, note in zip(reasons.tolist(), told.tolist(), strict=True)],
            np.asarray if call.spec.scale == "ratio" else none,
            np.repeat(part.speakers[-1:], n.size),
            grows=True,
            most=call.spec.widest,
        )


def areas(part: Part, known: NDArray[np.bool_], options: Options) -> Iterator[Block]:
    """Area under FDR of some groups, on either scale of FPR."""
    spec, n = registered()["au_fdr"], len(options.alpha)
    stacks = [one.only(known) for one in part.area]
    drawn = None if part.replicated is None else areas_drawn(stacks, part.replicated, options)
    points, groups = heights(stacks, options)
    told = "" if groups == len(part.cells) - 1 else f"of {groups} groups"
    for axis in AXES:
        area = spec.of(*points, axis=axis)
        yield Block(
            {
                **columns([(spec.metric, axis, options.area_text)], n),
                "group": "",
                "measure": spec.id,
                "alpha": list(options.alpha),
                "zero": "none",
            },
            np.ravel(area.value),
            None if drawn is None else drawn[axis],
            [why or told for why in np.ravel(area.reason).tolist()],
            none,
            np.repeat(part.speakers[-1:], n),
            grows=True,
            most=1.0,
        )


def none(values: FloatArray) -> FloatArray:
    """Of what has no ratio: a fair system has 0."""
    return np.full(values.shape, np.nan)
