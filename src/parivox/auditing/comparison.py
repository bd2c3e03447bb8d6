"""Systems and lists against each other: the rows of ``comparison.csv``.

One draw of speakers serves all sets (`parivox.auditing.draws.draw_speakers`), so that
the same replicate of two of them is resampled jointly where they share speakers, and
independently where they do not. What is told of a pair is told from these differences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.bias import (
    bias_values,
    does_not_vary,
    groups_by_attribute_value,
    left_out,
    means_over_groups,
)
from parivox.auditing.estimates import key_columns
from parivox.auditing.intervals import needs_test_speakers
from parivox.auditing.meta import area_values, meta_values
from parivox.auditing.result import system_name
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import MEASURES, RATES, base_metric
from parivox.core.resampling import MAX_DROPPED_SHARE, from_replicates
from parivox.errors import ConfigError
from parivox.runtime.progress import with_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.meta import MetaValues
    from parivox.auditing.operating_points import OperatingPoints
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key, Rows
    from parivox.auditing.system import Measured, System
    from parivox.core.counts import FloatArray
    from parivox.data.trial_set import TrialSet

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


def check_comparable(sets: Sequence[TrialSet | TrialCounts]) -> None:
    """Refuse one system on one list only, and counts."""
    if len(sets) < 2:
        msg = (
            "--compare needs at least two systems or trial lists (found 1); give two or more "
            "score files, for example a.csv b.csv"
        )
        raise ConfigError(msg)
    if any(not one.has_speakers for one in sets):
        msg = (
            "--compare: counts do not tell who the speakers are, so that nothing can be said of "
            "differences; give the scores"
        )
        raise ConfigError(msg)


class ComparedSet(NamedTuple):
    """One system on one list, and what is compared of it: the cells of each grouping and level."""

    system: System
    measured_cells: Sequence[Measured]


def add_comparisons(
    rows: Rows, pairs: Iterable[tuple[ComparedSet, ComparedSet, str]], options: Options
) -> None:
    """Add the rows of every pair of systems and lists, in the order that they were given in.

    With each pair comes what both have in common, in words. Operating points are compared by name:
    at ``fpr=0.01`` each is at its own threshold. Raises ConfigError if they have none in common.

    Notes
    -----
    All of it are differences of the same replicate of both, on the linear scale and, where a
    value is a ratio to nothing or to par, on the logarithmic one. Intervals have as many degrees
    of freedom as the fewer of both's speakers of the group, less one. A value that is the same
    in every replicate of either has none: replicates of a group without errors have none
    either.
    """
    for one, other, in_common in pairs:
        both = one.system.points, other.system.points
        texts = [[point.point.text for point in of.located] for of in both]
        names = one.system.name, other.system.name
        if not set(texts[0]) & set(texts[1]):
            called = " and ".join(system_name(*name.values()) for name in names)
            listed = " and ".join(", ".join(of) or "none" for of in texts)
            msg = (
                f"--compare: {called} have no operating point in common ({listed}); name one for "
                "both with --operating-point"
            )
            raise ConfigError(msg)
        where = {**names[0], "speakers": in_common}
        where |= {f"other_{key}": value for key, value in names[1].items()}
        pairs_of_parts = [
            (mine, theirs)
            for mine in one.measured_cells
            for theirs in other.measured_cells
            if mine.where == theirs.where
        ]
        called = " with ".join(system_name(*name.values()) for name in names)
        for pair in with_progress(
            pairs_of_parts, called, "groups", size=lambda one: len(one[0].names)
        ):
            _compare_parts(rows, {**where, **pair[0].where}, pair, both, options)


def _compare_parts(
    rows: Rows,
    where: Mapping[str, str],
    pair: tuple[Measured, Measured],
    points: tuple[OperatingPoints, OperatingPoints],
    options: Options,
) -> None:
    """Every measure of the same cells of two sets."""
    keys = _common(*(part.data for part in pair))
    _add_pair(rows, where, pair, [_base_side(part, keys) for part in pair], options)
    areas = [part.area for part in pair if part.area is not None]
    if len(areas) < 2:
        return
    all_errors = [_with_costs(part) for part in pair]
    keys = _common(*all_errors)
    errors = [of.with_keys(keys) for of in all_errors]
    known = ~np.isnan(errors[0].groups) & ~np.isnan(errors[1].groups)
    known_errors = [of.mask_groups(known) for of in errors]
    in_both = np.ones(len(pair[0].names) - 1, dtype=bool)
    for area in areas:
        in_both &= ~np.isnan(area.groups[: len(area.keys) // 2]).all(axis=0)
    sides = [
        [
            *_bias_sides(part, of, at, options),
            *_area_sides(part, area.mask_groups(np.tile(in_both, (len(area.keys), 1))), options),
            *_meta_sides(part, of_known, options),
        ]
        for part, of, at, area, of_known in zip(
            pair, errors, points, areas, known_errors, strict=True
        )
    ]
    for two in zip(*sides, strict=True):
        _add_pair(rows, where, pair, two, options)
    _add_ranks(rows, where, pair, known_errors, options)


def _with_costs(part: Measured) -> Estimates:
    """Metrics that are errors, with each cost at its own smallest cost over all trials."""
    errors = part.errors
    for both, _ in part.cheapest:
        if both.keys[0] not in errors.keys:
            errors = errors.append_keys(both.select_keys([0]))
    return errors


def _common(one: Estimates, other: Estimates) -> list[Key]:
    """The keys that both have."""
    known = set(other.keys)
    return [key for key in one.keys if key in known]


# --- what of one set is compared: every measure, with its draws ----------------------------------


class MeasureValues(NamedTuple):
    """Rows of one measure in one of two sets."""

    columns: dict[str, Any]  # what they are of
    row_values: FloatArray  # [row]
    draw_values: FloatArray | None  # [draw, row]
    reasons: Sequence[str]  # why a value is undefined
    to_log: Callable[[FloatArray], FloatArray]
    """What of values ``[..., row]`` is compared on the logarithmic scale."""
    n_units: NDArray[np.int64]  # [row], who tell how certain it is
    grows_with_noise: bool = False  # noise makes it larger (further from fair) even on average
    not_resampled_reason: str = ""  # why it is not resampled, if that is its own nature
    max_difference: float | FloatArray = np.inf  # no difference is larger
    is_constant: NDArray[np.bool_] | bool = False  # part of it does not vary in the draws


def _base_side(part: Measured, keys: Sequence[Key]) -> MeasureValues:
    """Base metrics of every cell."""
    n, data, draws = len(part.names), part.data.with_keys(keys), part.draws
    metrics = [base_metric(key[0]) for key in keys]
    scale = np.repeat([one.scale for one in metrics], n)

    def to_log(values: FloatArray) -> FloatArray:
        far = np.where(scale == "one", 1 - values, values)
        return np.where(scale == "linear", np.nan, far)

    return MeasureValues(
        {**key_columns(keys, n), "group": list(part.names) * len(keys), "measure": "value"},
        data.values.ravel(),
        None if draws is None else _flat(draws.with_keys(keys).values),
        [why for of in data.reasons for why in of],
        to_log,
        _speakers_behind(part, keys).ravel(),
        max_difference=np.repeat([one.widest for one in metrics], n),
    )


def _speakers_behind(part: Measured, keys: Sequence[Key]) -> NDArray[np.int64]:
    """Speakers behind the metrics of some keys, ``[key, cell]``."""
    n = len(part.names)
    if part.uncertainty is None:
        return np.zeros((len(keys), n), dtype=np.int64)
    return part.uncertainty.n_units_behind([key[0] for key in keys])[:, -n:]


def _flat(drawn: FloatArray) -> FloatArray:
    return drawn.reshape(len(drawn), -1)


def _bias_sides(
    part: Measured, errors: Estimates, points: OperatingPoints, options: Options
) -> Iterator[MeasureValues]:
    """Each bias measure of every group, and its means by attribute.

    ``neg_log_ratio`` is left out: it is the logarithm of ``ratio``, which is compared on that
    scale.
    """
    assert part.cells is not None
    groups = part.names[:-1]
    n = len(groups)
    shared = {
        k: v for one in groups_by_attribute_value(part.cells.grouping) for k, v in one.items()
    }
    masks = list(shared.values())
    for block in bias_values(errors, part.draws, part.cheapest, groups, points, options):
        measure, value = MEASURES[block.measure], block.biases
        if measure.id == "neg_log_ratio":
            continue
        speakers = _speakers_behind(part, block.keys)[:, :-1]
        to_log = np.asarray if measure.scale == "ratio" else _no_log
        where = {"reference": block.reference, "zero": block.zero}
        grows = measure.bounds[0] == 1.0  # a minimum over noise
        of_groups = {"group": list(groups) * len(block.keys), "measure": measure.id}
        yield MeasureValues(
            {**key_columns(block.keys, n), **of_groups, **where},
            value.ravel(),
            None if block.draw_biases is None else _flat(block.draw_biases),
            block.reasons.ravel().tolist(),
            to_log,
            speakers.ravel(),
            grows,
            is_constant=block.is_constant.ravel(),
        )
        if not masks:
            continue
        drawn = (
            None
            if block.draw_biases is None
            else means_over_groups(block.draw_biases, masks, like=value)
        )
        odd = [left_out(value.reshape(-1, n)[:, mask]) for mask in masks]
        fewest = np.stack([speakers[:, mask].min(axis=-1) for mask in masks], axis=-1)
        of_means = {"group": list(shared) * len(block.keys), "measure": f"mean_{measure.id}"}
        yield MeasureValues(
            {**key_columns(block.keys, len(masks)), **of_means, **where},
            means_over_groups(value, masks).ravel(),
            None if drawn is None else _flat(drawn),
            [reason for of_key in zip(*odd, strict=True) for reason in of_key],
            to_log,
            fewest.ravel(),
            grows,
        )


def _meta_sides(part: Measured, errors: Estimates, options: Options) -> Iterator[MeasureValues]:
    """Each meta-measure of the groups that both sets have."""
    for block in meta_values(errors, part.draws, options, defined=True):
        to_log = np.asarray if block.measure.scale == "ratio" else _no_log
        yield _meta_side(part, block, "of the {} groups that both have", to_log)


def _area_sides(part: Measured, area: Estimates, options: Options) -> Iterator[MeasureValues]:
    """Area under FDR of some groups, on either scale of FPR."""
    grid = () if part.uncertainty is None else part.uncertainty.grid_draws
    for block in area_values(area, grid, options):
        yield _meta_side(part, block, "of {} groups", _no_log)


def _meta_side(
    part: Measured, block: MetaValues, some: str, to_log: Callable[[FloatArray], FloatArray]
) -> MeasureValues:
    """A meta-measure, which says so where it is of some groups only."""
    found = block.summary
    notes = ["" if n == len(part.names) - 1 else some.format(n) for n in np.ravel(found.groups)]
    columns: dict[str, Any] = {**key_columns(block.keys), "group": "", "measure": block.measure.id}
    return MeasureValues(
        {**columns, "alpha": block.alphas, "zero": block.zero},
        np.ravel(found.value),
        block.draw_values,
        [why or note for why, note in zip(np.ravel(found.reason).tolist(), notes, strict=True)],
        to_log,
        _speakers_behind(part, block.keys)[:, -1],
        grows_with_noise=True,
        max_difference=block.measure.widest,
    )


def _no_log(values: FloatArray) -> FloatArray:
    """Of what has no ratio: a fair system has 0."""
    return np.full(values.shape, np.nan)


# --- the two against each other ------------------------------------------------------------------


def _add_pair(
    rows: Rows,
    where: Mapping[str, str],
    pair: tuple[Measured, Measured],
    two: Sequence[MeasureValues],
    options: Options,
) -> None:
    """The rows of one measure; what is undefined in both sets is left out."""
    mine, theirs = two
    values = mine.row_values, theirs.row_values
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
    if mine.draw_values is None or theirs.draw_values is None:
        why = mine.not_resampled_reason or next(
            (part.why_none for part in pair if part.why_none), "not resampled"
        )
        notes = np.full(difference.shape, f"no interval: {why}")
    else:
        cells, notes = _intervals(
            mine, theirs, mine.draw_values, theirs.draw_values, difference, logs, options
        )
        table |= cells
    if any(
        part.uncertainty is not None and part.uncertainty.lacks_test_speakers.any() for part in pair
    ):
        lacking = np.array(list(map(needs_test_speakers, mine.columns["metric"])), dtype=bool)
        notes = np.where(lacking & (notes != ""), NOTE_NO_TEST_SPEAKER, notes)
    notes = np.where(np.isnan(difference), "", notes)
    table["reason"] = [
        "; ".join(dict.fromkeys(filter(None, several)))
        for several in zip(mine.reasons, theirs.reasons, notes.tolist(), strict=True)
    ]
    kept = np.flatnonzero(~(np.isnan(values[0]) & np.isnan(values[1]))).tolist()
    chosen = {
        name: [cells[i] for i in kept] if isinstance(cells, (list, tuple, np.ndarray)) else cells
        for name, cells in table.items()
    }
    rows.add(**where, **chosen)


def _intervals(
    mine: MeasureValues,
    theirs: MeasureValues,
    a: FloatArray,
    b: FloatArray,
    difference: FloatArray,
    logs: FloatArray,
    options: Options,
) -> tuple[dict[str, FloatArray], NDArray[np.str_]]:
    """What the replicates `a` and `b` tell of differences and log ratios, or why nothing."""
    speakers = np.minimum(mine.n_units, theirs.n_units)
    few = speakers < options.minimums.inference
    df = np.where(few, np.nan, speakers - 1.0)
    still = does_not_vary(a) | does_not_vary(b) | mine.is_constant | theirs.is_constant
    with np.errstate(all="ignore"):
        drawn = a - b, np.log(mine.to_log(a)) - np.log(theirs.to_log(b))
    found, ends = [], []
    for centre, again in zip((difference, logs), drawn, strict=True):
        moving = np.where(still, np.nan, again)
        one = from_replicates(centre, moving, df, scale="linear", confidence=options.confidence)
        both = one.low, one.high
        ends.append(_widened(both, centre, moving) if mine.grows_with_noise else both)
        found.append(one)
    plain, log = found
    cells = {
        "low": np.maximum(ends[0][0], -mine.max_difference),
        "high": np.minimum(ends[0][1], mine.max_difference),
        "log_low": ends[1][0],
        "log_high": ends[1][1],
        "p": np.where(np.isnan(log.p), plain.p, log.p),
    }
    if mine.grows_with_noise:
        cells["p"] = np.full(difference.shape, np.nan)
    has_log = ~np.isnan(mine.to_log(mine.row_values)) & ~np.isnan(theirs.to_log(theirs.row_values))
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
            options.minimums.no_interval_reason,
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


# --- accuracy against spread ---------------------------------------------------------------------


def _add_ranks(
    rows: Rows,
    where: Mapping[str, str],
    pair: tuple[Measured, Measured],
    stacks: Sequence[Estimates],
    options: Options,
) -> None:
    """Accuracy against spread: which set has less of which error, and which the fairer groups."""
    both = [
        (part, draws, of)
        for part in pair
        if (draws := part.draws) is not None and (of := part.uncertainty) is not None
    ]
    if len(both) < 2:
        return
    keys = stacks[0].keys
    passed = np.logical_and(*(of.meets_minimums(keys) for _, _, of in both))
    passed &= ~np.isnan(stacks[0].groups)
    enough = passed.sum(axis=-1) >= _FEWEST_GROUPS
    some = ~np.isnan(stacks[0].groups).all(axis=-1)
    few = key_columns([keys[i] for i in np.flatnonzero(some & ~enough).tolist()])
    reason = "fewer than three groups pass the gates in both"
    rows.add(**where, **few, measure="spread", reason=reason)
    chosen = np.flatnonzero(enough)
    if not chosen.size:
        return
    keys, passed = [keys[i] for i in chosen.tolist()], passed[chosen]
    columns = key_columns(keys)
    sizes = np.minimum(*(_speakers_behind(part, keys)[:, :-1] for part in pair))
    speakers = np.where(passed, sizes, np.iinfo(np.int64).max).min(axis=-1)
    reasons = [f"of the {n} groups that pass the gates" for n in passed.sum(axis=-1).tolist()]
    at = [i for i, key in enumerate(keys) if key[0] in RATES]
    of_rates = [reasons[i] for i in at], _no_log, speakers[at]
    of_logs, variances, taus, pooled, spreads = [], [], [], [], []
    for (_, draws, of), whole in zip(both, stacks, strict=True):
        stack = whole.select_keys(chosen.tolist()).mask_groups(passed)
        drawn = draws.with_keys(stack.keys)
        spread, again = _spread(stack.groups, drawn.groups, passed, np.log)
        named = {**columns, "measure": "spread"}
        of_logs.append(MeasureValues(named, spread, again, reasons, _no_log, speakers))
        pooled.append(drawn.pooled)
        spreads.append(again)
        if not at:  # groups pass the gates of other metrics only
            continue
        # corrected variance of the rates, and tau_log, as the table of meta-measures has them
        rates = stack.select_keys(at)
        _, again = _spread(rates.groups, drawn.groups[:, at], passed[at], np.asarray)
        of_rate_rows, found = key_columns(rates.keys), of.spread_beyond_noise(rates)
        variance, tau = found["var_corrected"]["value"], found["tau_log"]["value"]
        variances.append(
            MeasureValues({**of_rate_rows, "measure": "var_corrected"}, variance, again, *of_rates)
        )
        taus.append(
            MeasureValues(
                {**of_rate_rows, "measure": "tau_log"},
                tau,
                None,
                *of_rates,
                not_resampled_reason=_CUT_OFF,
            )
        )
    for two in filter(None, (taus, of_logs, variances)):
        _add_pair(rows, where, pair, two, options)
    better = np.stack([pooled[0] < pooled[1], spreads[0] < spreads[1]])
    worse = np.stack([pooled[0] > pooled[1], spreads[0] > spreads[1]])
    is_set = np.array([point.startswith(f"{metric}=") for metric, _, point in keys])
    known = [~np.isnan(of).any(axis=0) for of in (pooled, spreads)]
    for measure, one, other, is_known in (
        ("p_more_accurate", better[0], worse[0], known[0]),
        ("p_less_spread", better[1], worse[1], known[1]),
        ("p_both", better.all(axis=0), worse.all(axis=0), known[0] & known[1]),
    ):
        enough = is_known.mean(axis=0) >= 1 - MAX_DROPPED_SHARE
        is_no_rank = is_set & (measure != "p_less_spread")
        n = np.maximum(is_known.sum(axis=0), 1)
        shares = [
            np.where(enough & ~is_no_rank, (way & is_known).sum(axis=0) / n, np.nan)
            for way in (one, other)
        ]
        undefined = "undefined in more than 5 % of the replicates"
        words = ["held by the operating point", undefined]
        cells = {"measure": measure, "value": shares[0], "other": shares[1]}
        cells["reason"] = np.select([is_no_rank, ~enough], words, "")
        rows.add(**where, **columns, **cells)


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
