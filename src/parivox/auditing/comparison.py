"""Systems and lists against each other: the rows of ``comparison.csv``.

One draw of speakers serves all sets (:func:`~parivox.auditing.draws.draw_speakers`), so that
the same replicate of two of them is resampled jointly where they share speakers, and
independently where they do not. What is told of a pair is told from these differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.comparison_sides import (
    Compared,
    Part,
    Side,
    area_sides,
    base_side,
    bias_sides,
    columns_of,
    meta_sides,
    no_log,
)
from parivox.auditing.uncertainty import beyond_noise
from parivox.core.measures import RATES
from parivox.core.resampling import MOST_DROPPED, from_replicates
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.operating_points import Points
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Key, Rows
    from parivox.core.counts import FloatArray
    from parivox.read.trialset import TrialSet

COMPARISON_MEASURES = {
    "value": "the base metric itself",
    "spread": (
        "variance over groups of the metric's logarithm, less what the speakers drawn make of it; "
        "of the groups that pass the gates in both; may be below 0: tau_log squared, but not cut "
        "off"
    ),
    "p_more_accurate": "share of replicates in which the pooled value is smaller than the other's",
    "p_less_spread": "share of replicates in which the spread is smaller than the other's",
    "p_both": "share of replicates in which both are",
}
"""Measures of ``comparison.csv`` besides those of ``bias.csv`` and ``meta.csv``."""

_FEWEST_GROUPS = 3
_CUT_OFF = "tau_log is cut off at 0, so that its replicates mislead; spread is its square, uncut"
_BLANK: dict[str, Any] = {
    **dict.fromkeys(("group", "reference", "zero", "reason"), ""),
    **dict.fromkeys(("alpha", "difference", "log_ratio", "log_low", "log_high")),
}
_UNKNOWN = {"measure": "spread", "value": None, "other": None}


def check_comparable(sets: Sequence[TrialSet | TrialCounts]) -> None:
    """Refuse what cannot be compared.

    Raises
    ------
    ConfigError
        If there is one system on one list only, or counts are given.
    """
    if len(sets) < 2:
        msg = (
            "--compare: there is one system on one list only; give two or more score files, as in "
            "a.csv b.csv"
        )
        raise ConfigError(msg)
    if any(not one.has_speakers for one in sets):
        msg = (
            "--compare: counts do not tell who the speakers are, so that nothing can be said of "
            "differences; give the scores"
        )
        raise ConfigError(msg)


def add_comparisons(
    rows: Rows, pairs: Iterable[tuple[Compared, Compared, str]], options: Options
) -> None:
    """Add the rows of every pair of systems and lists, in the order that they were given in.

    Operating points are compared by name: at ``fpr=0.01`` each is at its own threshold.

    Parameters
    ----------
    rows
        Of ``comparison``.
    pairs
        Each two, and what they have in common.
    options
        What was asked for.

    Raises
    ------
    ConfigError
        If two of them have no operating point in common.

    Notes
    -----
    All of it are differences of the same replicate of both, on the linear scale and, where a
    value is a ratio to nothing or to par, on the logarithmic one. Intervals have as many degrees
    of freedom as the fewer of both's speakers of the group, less one. A value that is the same
    in every replicate of either has none: replicates of a group without errors have none
    either.
    """
    for one, other, in_common in pairs:
        points = [point for point in one.texts if point in other.texts]
        if not points:
            msg = (
                f"--compare: {one.name} and {other.name} have no operating point in common "
                f"({', '.join(one.texts) or 'none'} and {', '.join(other.texts) or 'none'}); "
                "name one for both with --operating-point"
            )
            raise ConfigError(msg)
        where = {
            "system": one.trials.system,
            "list": one.trials.list,
            "other_system": other.trials.system,
            "other_list": other.trials.list,
            "speakers": in_common,
        }
        for mine in one.parts:
            for theirs in other.parts:
                if mine.where == theirs.where:
                    pair, both = (mine, theirs), (one.points, other.points)
                    _compare_parts(rows, {**where, **mine.where}, pair, both, options)


def _compare_parts(
    rows: Rows,
    where: Mapping[str, str],
    pair: tuple[Part, Part],
    points: tuple[Points, Points],
    options: Options,
) -> None:
    """Every measure of the same cells of two sets."""
    mine, theirs = pair
    keys = _common(mine.data, theirs.data)
    _add_pair(rows, where, pair, (base_side(mine, keys), base_side(theirs, keys)), options)
    if mine.area is None or theirs.area is None:
        return
    errors = (
        mine.errors.having(common := _common(mine.errors, theirs.errors)),
        theirs.errors.having(common),
    )
    known = ~np.isnan(errors[0].groups) & ~np.isnan(errors[1].groups)
    in_both = np.ones(len(mine.cells) - 1, dtype=bool)
    for area in (mine.area, theirs.area):
        in_both &= ~np.isnan(area.groups[: len(area.keys) // 2]).all(axis=0)
    both_known = errors[0].only(known), errors[1].only(known)
    sides = [
        [
            *bias_sides(part, of, at, options),
            *area_sides(part, in_both, options),
            *meta_sides(part, of_known, options),
        ]
        for part, of, at, of_known in zip(pair, errors, points, both_known, strict=True)
    ]
    for one, other in zip(*sides, strict=True):
        _add_pair(rows, where, pair, (one, other), options)
    _add_ranks(rows, where, pair, both_known, options)


def _common(one: Estimates, other: Estimates) -> list[Key]:
    """The keys that both have."""
    known = set(other.keys)
    return [key for key in one.keys if key in known]


def _add_pair(
    rows: Rows,
    where: Mapping[str, str],
    pair: tuple[Part, Part],
    two: tuple[Side, Side],
    options: Options,
) -> None:
    """The rows of one measure; what is undefined in both sets is left out."""
    mine, theirs = two
    values = mine.values, theirs.values
    with np.errstate(all="ignore"):
        difference = values[0] - values[1]
        logs = np.log(mine.to_log(values[0])) - np.log(theirs.to_log(values[1]))
    table: dict[str, Any] = {
        **mine.columns,
        "value": values[0],
        "other": values[1],
        "difference": difference,
        "log_ratio": np.where(np.isfinite(logs), logs, np.nan),
    }
    told = np.isnan(difference)
    if mine.drawn is None or theirs.drawn is None:
        why = mine.why or next(filter(None, (part.why for part in pair)), "not resampled")
        notes = np.full(difference.shape, f"no interval: {why}")
    else:
        cells, notes = _told(two, difference, logs, options)
        table |= cells
    notes = np.where(told, "", notes)
    table["reason"] = [
        "; ".join(dict.fromkeys(filter(None, several)))
        for several in zip(mine.reasons, theirs.reasons, notes.tolist(), strict=True)
    ]
    kept = np.flatnonzero(~(np.isnan(values[0]) & np.isnan(values[1]))).tolist()
    chosen = {
        name: [cells[i] for i in kept] if isinstance(cells, (list, np.ndarray)) else cells
        for name, cells in (_BLANK | table).items()
    }
    rows.add(**where, **chosen)


def _told(
    two: tuple[Side, Side], difference: FloatArray, logs: FloatArray, options: Options
) -> tuple[dict[str, FloatArray], NDArray[np.str_]]:
    """What replicates tell of differences and log ratios, and why they tell nothing."""
    mine, theirs = two
    a, b = mine.drawn, theirs.drawn
    assert a is not None
    assert b is not None
    speakers = np.minimum(mine.speakers, theirs.speakers)
    few = speakers < options.gates.inference
    df = np.where(few, np.nan, speakers - 1.0)
    still = _is_still(a) | _is_still(b)
    with np.errstate(all="ignore"):
        drawn = a - b, np.log(mine.to_log(a)) - np.log(theirs.to_log(b))
    cells: dict[str, FloatArray] = {}
    found = []
    for names, centre, again in zip(
        (("low", "high"), ("log_low", "log_high")), (difference, logs), drawn, strict=True
    ):
        one = np.where(still, np.nan, again)
        told = from_replicates(centre, one, df, scale="linear", confidence=options.confidence)
        ends = _widened((told.low, told.high), centre, one) if mine.grows else (told.low, told.high)
        if names[0] == "low":
            ends = np.maximum(ends[0], -mine.most), np.minimum(ends[1], mine.most)
        cells |= dict(zip(names, ends, strict=True))
        found.append(told)
    plain, log = found
    cells["p"] = np.where(np.isnan(log.p), plain.p, log.p)
    if mine.grows:
        cells["p"] = np.full(difference.shape, np.nan)
    has_log = ~np.isnan(mine.to_log(mine.values)) & ~np.isnan(theirs.to_log(theirs.values))
    notes = np.select(
        [
            np.isnan(a).all(axis=0) | np.isnan(b).all(axis=0),
            few,
            still,
            plain.reason != "",
            has_log & (log.reason != ""),
        ],
        [
            "no interval: not resampled",
            options.gates.too_few,
            "no interval: the same in all replicates",
            np.strings.add("no interval: ", plain.reason),
            np.strings.add("no interval of the log ratio: ", log.reason),
        ],
        "",
    )
    return cells, notes


def _widened(
    ends: tuple[FloatArray, FloatArray], centre: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """An interval that reaches as far as it would without what noise adds to either system.

    Noise makes fair systems look unfair, and the less accurate one less so. Replicates are
    noisy twice; a fair system's measure, which is as large as the noise, therefore grows
    sqrt(2) fold in them, by which it is told what the noise of the trials themselves has added.
    Where groups do differ, that is less: so the interval is stretched, not moved.
    """
    known = np.isfinite(drawn)
    with np.errstate(all="ignore"):
        mean = np.where(known, drawn, 0).sum(axis=0) / known.sum(axis=0)
        added = (mean - centre) / (np.sqrt(2) - 1)
        return ends[0] - np.maximum(added, 0), ends[1] - np.minimum(added, 0)


def _is_still(drawn: FloatArray) -> NDArray[np.bool_]:
    """Whether a value is the same in all replicates, so that they tell nothing about it."""
    known = ~np.isnan(drawn)
    low, high = (
        np.where(known, drawn, np.inf).min(axis=0),
        np.where(known, drawn, -np.inf).max(axis=0),
    )
    return np.asarray(low >= high)


def _add_ranks(
    rows: Rows,
    where: Mapping[str, str],
    pair: tuple[Part, Part],
    stacks: tuple[Estimates, Estimates],
    options: Options,
) -> None:
    """Accuracy against spread: which set has less of which error, and which the fairer groups."""
    keys = stacks[0].keys
    passed = np.logical_and(*(part.passed(keys) for part in pair))
    passed &= ~np.isnan(stacks[0].groups)
    enough = passed.sum(axis=-1) >= _FEWEST_GROUPS
    chosen = np.flatnonzero(enough)
    both = [part.draws for part in pair if part.draws is not None]
    if len(both) < 2:
        return
    some = ~np.isnan(stacks[0].groups).all(axis=-1)
    few = [keys[i] for i in np.flatnonzero(some & ~enough).tolist()]
    reason = "fewer than three groups pass the gates in both"
    rows.add(**where, **_BLANK | columns_of(few, 1) | _UNKNOWN | {"reason": reason})
    if not chosen.size:
        return
    passed = passed[chosen]
    metrics = [keys[i][0] for i in chosen.tolist()]
    sizes = np.minimum(*(part.speakers_behind(metrics)[:, :-1] for part in pair))
    speakers = np.where(passed, sizes, np.iinfo(np.int64).max).min(axis=-1)
    of_log: list[Side] = []
    of_rate: list[Side] = []
    tau: list[Side] = []
    pooled, spreads = [], []
    for part, draws, whole in zip(pair, both, stacks, strict=True):
        stack = whole.select(chosen.tolist()).only(passed)
        drawn = draws.having(stack.keys)
        reasons = [f"of the {n} groups that pass the gates" for n in passed.sum(axis=-1).tolist()]
        told: dict[str, Any] = {**columns_of(stack.keys, 1), "measure": "spread"}
        spread, again = _spread(stack.groups, drawn.groups, passed, np.log)
        of_log.append(Side(told, spread, again, reasons, no_log, speakers))
        pooled.append(drawn.pooled)
        spreads.append(again)
        one, other = _corrected(part, stack, drawn.groups, passed, speakers, reasons)
        of_rate.append(one)
        tau.append(other)
    for two in (tau, of_log, of_rate):
        _add_pair(rows, where, pair, (two[0], two[1]), options)
    better = np.stack([pooled[0] < pooled[1], spreads[0] < spreads[1]])
    worse = np.stack([pooled[0] > pooled[1], spreads[0] > spreads[1]])
    some_keys = stacks[0].select(chosen.tolist()).keys
    held = np.array([point.startswith(f"{metric}=") for metric, _, point in some_keys])
    of_each = [~np.isnan(both).any(axis=0) for both in (pooled, spreads)]
    for measure, one, other, known in zip(
        ("p_more_accurate", "p_less_spread", "p_both"),
        (*better, better.all(axis=0)),
        (*worse, worse.all(axis=0)),
        (*of_each, of_each[0] & of_each[1]),
        strict=True,
    ):
        enough = known.mean(axis=0) >= 1 - MOST_DROPPED
        is_held = held & (measure != "p_less_spread")
        shares = [
            np.where(
                enough & ~is_held,
                (way & known).sum(axis=0) / np.maximum(known.sum(axis=0), 1),
                np.nan,
            )
            for way in (one, other)
        ]
        rows.add(
            **where,
            **_BLANK
            | columns_of(some_keys, 1)
            | {"measure": measure, "value": shares[0], "other": shares[1]}
            | {
                "reason": np.select(
                    [is_held, ~enough],
                    [
                        "held by the operating point",
                        "undefined in more than 5 % of the replicates",
                    ],
                    "",
                )
            },
        )


def _corrected(
    part: Part,
    stack: Estimates,
    drawn: FloatArray,
    passed: NDArray[np.bool_],
    speakers: NDArray[np.int64],
    reasons: Sequence[str],
) -> tuple[Side, Side]:
    """Corrected variance of the rates, and tau_log, as the table of meta-measures has them."""
    assert part.uncertainty is not None
    at = [i for i, key in enumerate(stack.keys) if key[0] in RATES]
    rates = stack.select(at)
    found = beyond_noise(part.uncertainty, rates)
    _, again = _spread(rates.groups, drawn[:, at], passed[at], np.asarray)
    shared = [reasons[i] for i in at], no_log, speakers[at]
    told = columns_of(rates.keys, 1)
    return (
        Side({**told, "measure": "var_corrected"}, found["var_corrected"]["value"], again, *shared),
        Side(
            {**told, "measure": "tau_log"}, found["tau_log"]["value"], None, *shared, why=_CUT_OFF
        ),
    )


def _spread(
    values: FloatArray,
    drawn: FloatArray,
    chosen: NDArray[np.bool_],
    scale: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Variance of the groups, on a scale, less that of speakers, ``[key]`` and of each replicate.

    A replicate holds the latter twice, as the trials have it and drawn once more (Lum, Zhang and
    Bower 2022).
    """
    with np.errstate(all="ignore"):
        at, again = scale(values), scale(drawn)
        known = np.isfinite(again)
        n = known.sum(axis=0)
        mean = np.where(known, again, 0).sum(axis=0) / n
        noise = np.where(known, np.square(again - mean), 0).sum(axis=0) / (n - 1)
        own = np.where(chosen, noise, 0).sum(axis=-1) / chosen.sum(axis=-1)
        return _variance(at, chosen) - own, _variance(again, chosen) - 2 * own


def _variance(values: FloatArray, chosen: NDArray[np.bool_]) -> FloatArray:
    """Over the chosen groups; NaN where one of them has no finite value."""
    at = np.where(chosen, np.where(np.isfinite(values), values, np.nan), 0)
    n = chosen.sum(axis=-1)
    mean = at.sum(axis=-1, keepdims=True) / n[:, None]
    variance: FloatArray = np.where(chosen, np.square(at - mean), 0).sum(axis=-1) / (n - 1)
    return variance
