"""Systems and lists against each other: the rows of ``comparison.csv``.

One draw of speakers serves all sets (`parivox.auditing.draws.draw_speakers`), so that
the same replicate of two of them is resampled jointly where they share speakers, and
independently where they do not. Pairs are compared by the differences within replicates.
"""

from __future__ import annotations

from itertools import chain, groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.bias import (
    each_bias_measure,
    groups_by_attribute_value,
    mean_reasons,
    means_over_groups,
)
from parivox.auditing.estimates import key_columns
from parivox.auditing.intervals import needs_test_speakers
from parivox.auditing.measure_rows import does_not_vary
from parivox.auditing.meta import each_area_measure, each_meta_measure
from parivox.auditing.result import system_name
from parivox.auditing.schema import TABLES, TableBuilder
from parivox.core.intervals import NOTE_NO_TEST_SPEAKER
from parivox.core.measures import ALL_RATES, base_metric
from parivox.core.resampling import (
    MAX_DROPPED_SHARE,
    OFTEN_UNDEFINED,
    SAME_IN_ALL_REPLICATES,
    from_replicates,
)
from parivox.errors import ConfigError
from parivox.facts import caused, caused_cells, fact, joined_facts
from parivox.runtime.progress import stage
from parivox.runtime.task_sharing import begin_tasks, is_picklable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias import BiasRows
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.estimates import Estimates
    from parivox.auditing.meta import MetaRows
    from parivox.auditing.operating_points import OperatingPoints
    from parivox.auditing.options import Options
    from parivox.auditing.schema import Key
    from parivox.auditing.system import GroupingMetrics, MeasuredSystem
    from parivox.core.counts import FloatArray
    from parivox.data.trial_set import TrialSet

_MIN_SPREAD_GROUPS = 3  # as for tau_log, of which the spread is the square
_NO_TAU_INTERVAL = "tau_log_is_cut_off"


def check_comparable(sets: Sequence[TrialSet | TrialCounts]) -> None:
    """Refuse one system on one list only, and counts."""
    if len(sets) < 2:
        msg = "--compare needs at least two systems or trial lists (found 1)"
        hint = "give two or more score files, for example a.csv b.csv"
        raise ConfigError(msg, hint)
    if any(trials.identified is None for trials in sets):
        msg = "--compare: score counts contain no speakers, so differences cannot be tested"
        hint = "give the scores instead of counts"
        raise ConfigError(msg, hint)


def add_comparisons(
    rows: TableBuilder,
    pairs: Iterable[tuple[MeasuredSystem, MeasuredSystem, str]],
    options: Options,
) -> None:
    """Add the rows of every pair of systems and lists, in the order that they were given in.

    Each pair comes with a sentence on the speakers that both have in common. Operating points are
    compared by name: at ``fpr=0.01`` each is at its own threshold. Raises ConfigError if they have
    none in common.

    Notes
    -----
    All rows are differences within the same replicate of both, on the linear scale and, where a
    value is a ratio to nothing or to par, on the logarithmic one. Intervals have as many degrees
    of freedom as the group has speakers in the set where it has fewer, less one. There is no
    interval for a value that is the same in every replicate of either set: replicates of a group
    without errors have no errors either.
    """
    for first, second, in_common in pairs:
        points_of_both = first.system.points, second.system.points
        point_texts = [
            [located.point.text for located in points.located] for points in points_of_both
        ]
        names_of_both = first.system.name_columns, second.system.name_columns
        if not set(point_texts[0]) & set(point_texts[1]):
            names_in_words = " and ".join(system_name(*name.values()) for name in names_of_both)
            points_in_words = " and ".join(", ".join(texts) or "none" for texts in point_texts)
            msg = (
                f"--compare: {names_in_words} have no operating point in common ({points_in_words})"
            )
            hint = "give both the same one with --operating-point"
            raise ConfigError(msg, hint)
        audit_keys = {**names_of_both[0], "speakers": in_common}
        audit_keys |= {f"other_{key}": value for key, value in names_of_both[1].items()}
        second_cells_by_key = {
            tuple(cells.key_columns.items()): cells for cells in second.grouping_metrics
        }
        cell_pairs = [
            (first_cells, second_cells_by_key[key])
            for first_cells in first.grouping_metrics
            if (key := tuple(first_cells.key_columns.items())) in second_cells_by_key
        ]
        names_in_words = " with ".join(system_name(*name.values()) for name in names_of_both)
        compared_tables = begin_tasks(
            _compared_rows,
            [
                ({**audit_keys, **cell_pair[0].key_columns}, cell_pair, points_of_both, options)
                for cell_pair in cell_pairs
            ],
            work=first.system.trials.n_trials if is_picklable(options) else 0,
            unit="trials",
        ).outputs()
        n_cells = [len(cells.cell_names) for cells, _ in cell_pairs]
        with stage(names_in_words, sum(n_cells), "groups") as comparing:
            for n_compared, table in zip(n_cells, compared_tables, strict=True):
                rows.append(table)
                comparing.add(n_compared)


def _compared_rows(
    audit_keys: Mapping[str, str],
    pair: tuple[GroupingMetrics, GroupingMetrics],
    points: tuple[OperatingPoints, OperatingPoints],
    options: Options,
) -> TableBuilder:
    """Return the rows of every measure of the same cells of two sets."""
    rows = TableBuilder(TABLES["comparison"])
    _compare_cells(rows, audit_keys, pair, points, options)
    return rows


def _compare_cells(
    rows: TableBuilder,
    audit_keys: Mapping[str, str],
    pair: tuple[GroupingMetrics, GroupingMetrics],
    points: tuple[OperatingPoints, OperatingPoints],
    options: Options,
) -> None:
    """Add every measure of the same cells of two sets."""
    keys = _common_keys(*(measured.estimates for measured in pair))
    _add_differences(
        rows, audit_keys, pair, [_base_metrics(measured, keys) for measured in pair], options
    )
    area_estimates = [
        measured.area_estimates for measured in pair if measured.area_estimates is not None
    ]
    if len(area_estimates) < 2:
        return
    all_error_metrics = [_with_min_costs(measured) for measured in pair]
    keys = _common_keys(*all_error_metrics)
    error_metrics = [estimates.with_keys(keys) for estimates in all_error_metrics]
    is_defined = ~np.isnan(error_metrics[0].groups) & ~np.isnan(error_metrics[1].groups)
    defined_errors = [estimates.mask_groups(is_defined) for estimates in error_metrics]
    has_value_in_both = np.ones(len(pair[0].cell_names) - 1, dtype=bool)
    for area_of_set in area_estimates:
        has_value_in_both &= ~np.isnan(area_of_set.groups[: len(area_of_set.keys) // 2]).all(axis=0)
    measures_of_sets = []
    for i, measured in enumerate(pair):
        area_of_set = area_estimates[i]
        area_groups = np.tile(has_value_in_both, (len(area_of_set.keys), 1))
        # one measure of both at a time, as the draws of many groups are large
        measures_of_sets.append(
            chain(
                _bias_measures(measured, error_metrics[i], points[i], options),
                _area_measures(measured, area_of_set.mask_groups(area_groups), options),
                _meta_measures(measured, defined_errors[i], options),
            )
        )
    for measure_pair in zip(*measures_of_sets, strict=True):
        _add_differences(rows, audit_keys, pair, measure_pair, options)
    _add_accuracy_and_spread(rows, audit_keys, pair, defined_errors, options)


def _with_min_costs(measured: GroupingMetrics) -> Estimates:
    """Return metrics that are errors, with each cost where it is smallest over all trials."""
    error_metrics = measured.error_estimates
    for cost_estimates, _ in measured.cost_estimates:
        if cost_estimates.keys[0] not in error_metrics.keys:
            error_metrics = error_metrics.append_keys(cost_estimates.select_keys([0]))
    return error_metrics


def _common_keys(first: Estimates, second: Estimates) -> list[Key]:
    """Return the keys that both have, in the order of the first."""
    second_keys = set(second.keys)
    return [key for key in first.keys if key in second_keys]


# --- the measures of one set, with their draws ---------------------------------------------------


class ComparedRows(NamedTuple):
    """Rows of one measure in one of two sets."""

    columns: dict[str, Any]  # the names of the rows
    row_values: FloatArray  # [row]
    draw_values: FloatArray | None  # [draw, row]
    reasons: Sequence[str]  # why a value is undefined
    ratio_terms: Callable[[FloatArray], FloatArray]
    """Returns what values ``[..., row]`` are compared by as ratios; NaN for no ratio."""
    n_units: NDArray[np.int64]  # [row], over which the uncertainty is measured
    grows_with_noise: bool = False  # noise makes it larger (further from fair) even on average
    not_resampled_reason: str = ""  # why this measure is never resampled
    max_difference: float | FloatArray = np.inf  # no difference is larger
    is_constant: NDArray[np.bool_] | bool = False  # the group or its reference never varies


def _base_metrics(measured: GroupingMetrics, keys: Sequence[Key]) -> ComparedRows:
    """Return the base metrics of every cell."""
    n_cells, estimates = len(measured.cell_names), measured.estimates.with_keys(keys)
    draw_values = None
    if measured.draws is not None:
        draw_values = _one_row_per_draw(measured.draws.with_keys(keys).values)
    metrics = [base_metric(key[0]) for key in keys]

    def ratio_terms(row_values: FloatArray) -> FloatArray:
        by_key = row_values.reshape(*row_values.shape[:-1], len(keys), n_cells)
        terms = [metric.ratio_terms(by_key[..., i, :]) for i, metric in enumerate(metrics)]
        return np.stack(terms, axis=-2).reshape(row_values.shape)

    return ComparedRows(
        columns={
            **key_columns(keys, n_cells),
            "group": list(measured.cell_names) * len(keys),
            "measure": "value",
        },
        row_values=estimates.values.ravel(),
        draw_values=draw_values,
        reasons=[reason for key_reasons in estimates.reasons for reason in key_reasons],
        ratio_terms=ratio_terms,
        n_units=_n_units_behind(measured, keys).ravel(),
        max_difference=np.repeat([metric.widest for metric in metrics], n_cells),
    )


def _n_units_behind(measured: GroupingMetrics, keys: Sequence[Key]) -> NDArray[np.int64]:
    """Return the number of speakers behind the metrics of some keys, ``[key, cell]``."""
    n_cells = len(measured.cell_names)
    if measured.uncertainty is None:
        return np.zeros((len(keys), n_cells), dtype=np.int64)
    return measured.uncertainty.n_units_behind([key[0] for key in keys])[:, -n_cells:]


def _one_row_per_draw(draw_values: FloatArray) -> FloatArray:
    return draw_values.reshape(len(draw_values), -1)


def _bias_measures(
    measured: GroupingMetrics, error_metrics: Estimates, points: OperatingPoints, options: Options
) -> Iterator[ComparedRows]:
    """Yield each bias measure of every group, and its means by attribute.

    ``neg_log_ratio`` is left out: it is the logarithm of ``ratio``, which is compared on that
    scale.
    """
    assert measured.group_counts is not None
    groups = measured.cell_names[:-1]
    mask_by_name: dict[str, NDArray[np.bool_]] = {}
    for attribute_masks in groups_by_attribute_value(measured.group_counts.grouping):
        mask_by_name |= attribute_masks
    all_bias_rows = each_bias_measure(
        error_metrics, measured.draws, measured.cost_estimates, groups, points, options
    )
    for _, chunks_of_measure in groupby(
        all_bias_rows, key=lambda rows: (rows.measure.id, rows.reference, rows.zero)
    ):
        means = []
        for bias_rows in chunks_of_measure:
            if bias_rows.measure.id == "neg_log_ratio":
                continue
            n_units = _n_units_behind(measured, bias_rows.keys)[:, :-1]
            yield _compared_biases(
                bias_rows, bias_rows.values, bias_rows.draw_values, n_units, groups
            )
            if mask_by_name:
                means.append(_compared_means(bias_rows, n_units, mask_by_name))
        yield from means


def _compared_biases(
    bias_rows: BiasRows,
    biases: FloatArray,
    draw_biases: FloatArray | None,
    n_units: NDArray[np.int64],
    groups: Sequence[str],
) -> ComparedRows:
    """Return the rows of a bias measure, ``[key, group]``."""
    return ComparedRows(
        columns={
            **key_columns(bias_rows.keys, len(groups)),
            "group": list(groups) * len(bias_rows.keys),
            "measure": bias_rows.measure.id,
            "reference": bias_rows.reference,
            "zero": bias_rows.zero,
        },
        row_values=biases.ravel(),
        draw_values=None if draw_biases is None else _one_row_per_draw(draw_biases),
        reasons=bias_rows.reasons.ravel().tolist(),
        ratio_terms=bias_rows.measure.ratio_terms,
        n_units=n_units.ravel(),
        # the reference of such a measure is a minimum over noise
        grows_with_noise=bias_rows.measure.bounds[0] == 1.0,
        is_constant=np.ravel(bias_rows.is_constant),
    )


def _compared_means(
    bias_rows: BiasRows, n_units: NDArray[np.int64], mask_by_name: Mapping[str, NDArray[np.bool_]]
) -> ComparedRows:
    """Return the rows of means of a bias measure over groups that share a value."""
    biases, masks = bias_rows.values, list(mask_by_name.values())
    draw_means = None
    if bias_rows.draw_values is not None:
        draw_means = means_over_groups(bias_rows.draw_values, masks, defined_like=biases)
    min_n_units = np.stack([n_units[:, mask].min(axis=-1) for mask in masks], axis=-1)
    means = _compared_biases(
        bias_rows, means_over_groups(biases, masks), draw_means, min_n_units, list(mask_by_name)
    )
    reasons_by_mask = [mean_reasons(biases[:, mask]) for mask in masks]
    # by key, then by mask, as the rows are
    reasons = [reason for by_mask in zip(*reasons_by_mask, strict=True) for reason in by_mask]
    columns = {**means.columns, "measure": f"mean_{bias_rows.measure.id}"}
    return means._replace(columns=columns, reasons=reasons, is_constant=False)


def _meta_measures(
    measured: GroupingMetrics, error_metrics: Estimates, options: Options
) -> Iterator[ComparedRows]:
    """Yield each meta-measure of the groups that both sets have."""
    for meta_rows in each_meta_measure(
        error_metrics, measured.draws, options, only_defined_groups=True
    ):
        yield _meta_measure(measured, meta_rows, "groups_that_both_have")


def _area_measures(
    measured: GroupingMetrics, area_estimates: Estimates, options: Options
) -> Iterator[ComparedRows]:
    """Yield the area under FDR of some groups, on either scale of FPR."""
    grid_draws = () if measured.uncertainty is None else measured.uncertainty.grid_draws
    for area_rows in each_area_measure(area_estimates, grid_draws, options):
        yield _meta_measure(measured, area_rows, "some_groups")


def _meta_measure(measured: GroupingMetrics, meta_rows: MetaRows, note_code: str) -> ComparedRows:
    """Return a meta-measure with a note where it is taken over some groups only."""
    notes = [
        "" if n_groups == len(measured.cell_names) - 1 else fact(note_code, groups=int(n_groups))
        for n_groups in meta_rows.groups
    ]
    reasons = zip(meta_rows.reasons.tolist(), notes, strict=True)
    return ComparedRows(
        columns={
            **key_columns(meta_rows.keys),
            "group": "",
            "measure": meta_rows.measure.id,
            "alpha": meta_rows.alphas,
            "zero": meta_rows.zero,
        },
        row_values=meta_rows.values,
        draw_values=meta_rows.draw_values,
        reasons=[reason or note for reason, note in reasons],
        ratio_terms=meta_rows.measure.ratio_terms,
        n_units=_n_units_behind(measured, meta_rows.keys)[:, -1],
        grows_with_noise=True,
        max_difference=meta_rows.measure.widest,
    )


def _no_ratio_terms(row_values: FloatArray) -> FloatArray:
    """Return NaN for a spread, which has no ratio, as it is 0 for a fair system."""
    return np.full(row_values.shape, np.nan)


# --- differences of two sets ---------------------------------------------------------------------


def _add_differences(
    rows: TableBuilder,
    audit_keys: Mapping[str, str],
    pair: tuple[GroupingMetrics, GroupingMetrics],
    measures: Sequence[ComparedRows],
    options: Options,
) -> None:
    """Add the rows of one measure, except those that are undefined in both sets."""
    first, second = measures
    with np.errstate(all="ignore"):
        difference = first.row_values - second.row_values
        first_log = np.log(first.ratio_terms(first.row_values))
        log_ratio = first_log - np.log(second.ratio_terms(second.row_values))
    columns: dict[str, Any] = {
        **first.columns,
        "value": first.row_values,
        "other": second.row_values,
        "difference": difference,
        "log_ratio": np.where(np.isfinite(log_ratio), log_ratio, np.nan),
    }
    if first.draw_values is None or second.draw_values is None:
        reasons = [first.not_resampled_reason, *(measured.no_draws_reason for measured in pair)]
        reason = next(filter(None, reasons), "not_resampled")
        notes = np.full(difference.shape, caused("no_interval", reason))
    else:
        interval_cells, notes = _interval_columns(
            first, second, first.draw_values, second.draw_values, difference, log_ratio, options
        )
        columns |= interval_cells
    uncertainties = [measured.uncertainty for measured in pair if measured.uncertainty is not None]
    if any(uncertainty.lacks_test_speakers.any() for uncertainty in uncertainties):
        needs_them = np.array([needs_test_speakers(m) for m in first.columns["metric"]], dtype=bool)
        notes = np.where(needs_them & (notes != ""), NOTE_NO_TEST_SPEAKER, notes)
    notes = np.where(np.isnan(difference), "", notes)
    columns["reason"] = [
        joined_facts(*row_reasons)
        for row_reasons in zip(first.reasons, second.reasons, notes.tolist(), strict=True)
    ]
    is_undefined = np.isnan(first.row_values) & np.isnan(second.row_values)
    kept_rows = np.flatnonzero(~is_undefined).tolist()
    kept_columns = {}
    for name, cells in columns.items():
        has_cell_per_row = isinstance(cells, (list, tuple, np.ndarray))
        kept_columns[name] = [cells[i] for i in kept_rows] if has_cell_per_row else cells
    rows.add(**audit_keys, **kept_columns)


def _interval_columns(
    first: ComparedRows,
    second: ComparedRows,
    first_draws: FloatArray,
    second_draws: FloatArray,
    difference: FloatArray,
    log_ratio: FloatArray,
    options: Options,
) -> tuple[dict[str, FloatArray], NDArray[np.str_]]:
    """Return intervals of differences and log ratios from the draws of both, or why none."""
    n_units = np.minimum(first.n_units, second.n_units)
    has_few_units = n_units < options.minimums.inference
    df = np.where(has_few_units, np.nan, n_units - 1.0)
    is_constant = does_not_vary(first_draws) | does_not_vary(second_draws)
    is_constant |= first.is_constant | second.is_constant
    with np.errstate(all="ignore"):
        draws_of_scales = (
            first_draws - second_draws,
            np.log(first.ratio_terms(first_draws)) - np.log(second.ratio_terms(second_draws)),
        )
    intervals, limits = [], []
    for centre, draw_values in zip((difference, log_ratio), draws_of_scales, strict=True):
        varying_draws = np.where(is_constant, np.nan, draw_values)
        interval = from_replicates(
            centre, varying_draws, df, scale="linear", confidence=options.confidence
        )
        interval_limits = interval.low, interval.high
        if first.grows_with_noise:
            interval_limits = _stretched_by_noise(interval_limits, centre, varying_draws)
        limits.append(interval_limits)
        intervals.append(interval)
    linear, logarithmic = intervals
    columns = {
        "low": np.maximum(limits[0][0], -first.max_difference),
        "high": np.minimum(limits[0][1], first.max_difference),
        "log_low": limits[1][0],
        "log_high": limits[1][1],
        "p": np.where(np.isnan(logarithmic.p), linear.p, logarithmic.p),
    }
    if first.grows_with_noise:
        columns["p"] = np.full(difference.shape, np.nan)
    # the interval of the log ratio alone may be missing, where a draw is 0
    has_log = ~np.isnan(first.ratio_terms(first.row_values)) & ~np.isnan(
        second.ratio_terms(second.row_values)
    )
    notes = np.select(
        [
            np.isnan(first_draws).all(axis=0) | np.isnan(second_draws).all(axis=0),
            has_few_units,
            is_constant,
            linear.reason != "",
            has_log & (logarithmic.reason != ""),
        ],
        [
            fact("no_interval", because="not_resampled"),
            options.minimums.no_interval_reason,
            fact("no_interval", because=SAME_IN_ALL_REPLICATES),
            caused_cells("no_interval", linear.reason),
            caused_cells("no_interval_of_log_ratio", logarithmic.reason),
        ],
        "",
    )
    return columns, notes


def _stretched_by_noise(
    limits: tuple[FloatArray, FloatArray], centre: FloatArray, draw_values: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the interval, stretched as far as it reaches without the noise of either system.

    Noise makes fair systems look unfair, and the less accurate one less so. Replicates have the
    noise twice; a fair system's measure, which is as large as the noise, therefore grows by
    sqrt(2) in them, which shows how much the noise of the trials themselves has added. Where
    groups do differ, it has added less: so the interval is stretched, not moved.
    """
    is_finite = np.isfinite(draw_values)
    with np.errstate(all="ignore"):
        mean = np.where(is_finite, draw_values, 0).sum(axis=0) / is_finite.sum(axis=0)
        noise = (mean - centre) / (np.sqrt(2) - 1)
        return limits[0] - np.maximum(noise, 0), limits[1] - np.minimum(noise, 0)


# --- accuracy against spread ---------------------------------------------------------------------


def _add_accuracy_and_spread(
    rows: TableBuilder,
    audit_keys: Mapping[str, str],
    pair: tuple[GroupingMetrics, GroupingMetrics],
    stacks: Sequence[Estimates],
    options: Options,
) -> None:
    """Add how often one set has fewer errors than the other, and how often it is the fairer one."""
    resampled = [
        (measured.draws, measured.uncertainty)
        for measured in pair
        if measured.draws is not None and measured.uncertainty is not None
    ]
    if len(resampled) < 2:
        return
    keys = stacks[0].keys
    meets_minimums = ~np.isnan(stacks[0].groups)
    for _, uncertainty in resampled:
        meets_minimums &= uncertainty.meets_minimums(keys)
    has_enough_groups = meets_minimums.sum(axis=-1) >= _MIN_SPREAD_GROUPS
    has_any_group = ~np.isnan(stacks[0].groups).all(axis=-1)
    few_group_keys = np.flatnonzero(has_any_group & ~has_enough_groups).tolist()
    few_group_columns = key_columns([keys[i] for i in few_group_keys])
    reason = "fewer_than_three_groups_judged_in_both"
    rows.add(**audit_keys, **few_group_columns, measure="spread", reason=reason)
    key_indices = np.flatnonzero(has_enough_groups)
    if not key_indices.size:
        return
    keys, meets_minimums = [keys[i] for i in key_indices.tolist()], meets_minimums[key_indices]
    columns = key_columns(keys)
    group_n_units = np.minimum(*(_n_units_behind(measured, keys)[:, :-1] for measured in pair))
    n_units = np.where(meets_minimums, group_n_units, np.iinfo(np.int64).max).min(axis=-1)
    reasons = [
        fact("groups_that_pass_gates", groups=n_groups)
        for n_groups in meets_minimums.sum(axis=-1).tolist()
    ]
    rate_indices = [i for i, key in enumerate(keys) if key[0] in ALL_RATES]
    rate_arguments = [reasons[i] for i in rate_indices], _no_ratio_terms, n_units[rate_indices]
    log_spreads, variances, taus, pooled_draws, spread_draws = [], [], [], [], []
    for (draws, uncertainty), all_estimates in zip(resampled, stacks, strict=True):
        estimates = all_estimates.select_keys(key_indices.tolist()).mask_groups(meets_minimums)
        draws_of_keys = draws.with_keys(estimates.keys)
        spread, spread_of_draws = _noise_free_variance(
            estimates.groups, draws_of_keys.groups, meets_minimums, np.log
        )
        spread_columns = {**columns, "measure": "spread"}
        log_spreads.append(
            ComparedRows(spread_columns, spread, spread_of_draws, reasons, _no_ratio_terms, n_units)
        )
        pooled_draws.append(draws_of_keys.pooled)
        spread_draws.append(spread_of_draws)
        if not rate_indices:  # groups pass the gates of other metrics only
            continue
        # corrected variance of the rates, and tau_log, as the table of meta-measures has them
        rates = estimates.select_keys(rate_indices)
        _, spread_of_draws = _noise_free_variance(
            rates.groups,
            draws_of_keys.groups[:, rate_indices],
            meets_minimums[rate_indices],
            np.asarray,
        )
        rate_columns, beyond_noise = key_columns(rates.keys), uncertainty.spread_beyond_noise(rates)
        variance, tau = beyond_noise["var_corrected"]["value"], beyond_noise["tau_log"]["value"]
        variances.append(
            ComparedRows(
                {**rate_columns, "measure": "var_corrected"},
                variance,
                spread_of_draws,
                *rate_arguments,
            )
        )
        taus.append(
            ComparedRows(
                {**rate_columns, "measure": "tau_log"},
                tau,
                None,
                *rate_arguments,
                not_resampled_reason=_NO_TAU_INTERVAL,
            )
        )
    for measure_pair in filter(None, (taus, log_spreads, variances)):
        _add_differences(rows, audit_keys, pair, measure_pair, options)
    _add_win_shares(rows, audit_keys, keys, pooled_draws, spread_draws)


def _add_win_shares(
    rows: TableBuilder,
    audit_keys: Mapping[str, str],
    keys: Sequence[Key],
    pooled_draws: Sequence[FloatArray],
    spread_draws: Sequence[FloatArray],
) -> None:
    """Add the shares of replicates in which either set is more accurate, fairer, or both.

    Draws of both sets are ``[draw, key]``.
    """
    first_is_better = [
        pooled_draws[0] < pooled_draws[1],
        spread_draws[0] < spread_draws[1],
    ]
    second_is_better = [
        pooled_draws[0] > pooled_draws[1],
        spread_draws[0] > spread_draws[1],
    ]
    has_pooled, has_spread = (
        ~np.isnan(draws).any(axis=0) for draws in (pooled_draws, spread_draws)
    )
    # fpr at fpr=0.01 is about the same in both sets, as their thresholds are set by it
    is_target_rate = np.array([point.startswith(f"{metric}=") for metric, _, point in keys])
    for measure, first_wins, second_wins, is_known in (
        ("p_more_accurate", first_is_better[0], second_is_better[0], has_pooled),
        ("p_less_spread", first_is_better[1], second_is_better[1], has_spread),
        (
            "p_both",
            first_is_better[0] & first_is_better[1],
            second_is_better[0] & second_is_better[1],
            has_pooled & has_spread,
        ),
    ):
        has_enough_draws = is_known.mean(axis=0) >= 1 - MAX_DROPPED_SHARE
        is_not_ranked = is_target_rate & (measure != "p_less_spread")
        n_known = np.maximum(is_known.sum(axis=0), 1)
        shares = [
            np.where(
                has_enough_draws & ~is_not_ranked,
                (is_win & is_known).sum(axis=0) / n_known,
                np.nan,
            )
            for is_win in (first_wins, second_wins)
        ]
        rows.add(
            **audit_keys,
            **key_columns(keys),
            measure=measure,
            value=shares[0],
            other=shares[1],
            reason=np.select(
                [is_not_ranked, ~has_enough_draws],
                ["held_by_operating_point", OFTEN_UNDEFINED],
                "",
            ),
        )


def _noise_free_variance(
    group_values: FloatArray,
    draw_values: FloatArray,
    is_used: NDArray[np.bool_],
    scale: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Return the variance of groups, on a scale, less that of speakers, ``[key]`` and by replicate.

    A replicate has the variance of speakers twice: that of the trials, and that of drawing them
    once more (Lum, Zhang and Bower 2022).
    """
    with np.errstate(all="ignore"):
        scaled_values, scaled_draws = scale(group_values), scale(draw_values)
        is_finite = np.isfinite(scaled_draws)
        n_finite = is_finite.sum(axis=0)
        mean = np.where(is_finite, scaled_draws, 0).sum(axis=0) / n_finite
        noise = np.where(is_finite, np.square(scaled_draws - mean), 0).sum(axis=0) / (n_finite - 1)
        mean_noise = np.where(is_used, noise, 0).sum(axis=-1) / is_used.sum(axis=-1)
        return _group_variance(scaled_values, is_used) - mean_noise, _group_variance(
            scaled_draws, is_used
        ) - 2 * mean_noise


def _group_variance(group_values: FloatArray, is_used: NDArray[np.bool_]) -> FloatArray:
    """Return the variance over the groups in use; NaN where one of them has no finite value."""
    finite_values = np.where(is_used, np.where(np.isfinite(group_values), group_values, np.nan), 0)
    n_used = is_used.sum(axis=-1)
    mean = finite_values.sum(axis=-1, keepdims=True) / n_used[:, None]
    variance: FloatArray = np.where(is_used, np.square(finite_values - mean), 0).sum(axis=-1) / (
        n_used - 1
    )
    return variance
