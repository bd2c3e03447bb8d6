"""The rows of one system that only an audit with intervals has.

Verdicts, limits, trends and interactions of one grouping; intervals along the threshold; the ids
of speakers with most errors; standardised rates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.auditing.attacks import attack_limits
from parivox.auditing.confounding import add_standardised_rows
from parivox.auditing.curves import add_band_rows, band_columns, point_index_by_threshold
from parivox.auditing.limits import (
    add_attack_limit_rows,
    add_error_burden_rows,
    add_limit_rows,
)
from parivox.auditing.options import OFFENDERS
from parivox.auditing.shrinkage import add_interaction_rows
from parivox.auditing.verdicts import add_offender_rows, add_trend_rows, add_verdict_rows
from parivox.core.measures import ALL_RATES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.auditing.attacks import GroupAttacks, OtherAttacks
    from parivox.auditing.bias import ReferenceRatios
    from parivox.auditing.schema import Key, TableBuilder
    from parivox.auditing.system import GroupingMetrics, System


def add_verdicts_and_limits(
    tables: Mapping[str, TableBuilder],
    system: System,
    metrics: GroupingMetrics,
    key_columns: Mapping[str, str],
    ratios: Mapping[tuple[str, str], ReferenceRatios],
    heterogeneity_p: Mapping[Key, float],
    group_attacks: GroupAttacks | None,
    other_attacks: Mapping[str, OtherAttacks],
    *,
    has_attack_limits: bool,
) -> None:
    """Add interactions, trends, verdicts and limits of one grouping.

    `ratios` and `heterogeneity_p` are those of `parivox.auditing.verdicts.add_verdict_rows`.
    """
    assert metrics.group_counts is not None
    assert metrics.uncertainty is not None
    assert system.system_uncertainty is not None
    options, located_points = system.design.options, system.points.located
    grouping, uncertainty = metrics.group_counts.grouping, metrics.uncertainty
    rates = metrics.error_estimates.with_metrics(*ALL_RATES)
    add_interaction_rows(
        tables["meta"], key_columns, grouping, rates, uncertainty.equal_rates_draws
    )
    if uncertainty.errors_of_speakers is not None:
        # Trends are over all trials of the stratum, those between bands too.
        stratum_index = system.counts.strata.index(metrics.stratum)
        stratum_uncertainty = system.system_uncertainty.strata_uncertainty[stratum_index]
        add_trend_rows(
            tables["bias"], key_columns, grouping, located_points, stratum_uncertainty, options
        )
    add_verdict_rows(
        tables["verdicts"],
        key_columns,
        metrics.cell_names[:-1],
        located_points,
        ratios,
        heterogeneity_p,
        uncertainty,
        options,
        primary_point=system.primary,
        other_attacks=other_attacks,
    )
    limits = (tables["limits"], key_columns, metrics.cell_names, located_points)
    add_limit_rows(*limits, ratios, metrics.estimates, uncertainty, options)
    add_error_burden_rows(*limits, uncertainty, options)
    if has_attack_limits:
        add_attack_limit_rows(
            tables["limits"],
            key_columns,
            metrics.cell_names,
            group_attacks,
            attack_limits(options.limits, system.design.groupings),
            located_points,
            options,
        )


def add_bands_and_offenders(
    tables: Mapping[str, TableBuilder],
    system: System,
    metrics: GroupingMetrics,
    key_columns: Mapping[str, str],
) -> None:
    """Add intervals along the threshold and, where they are asked for, the ids of speakers."""
    sample, uncertainty = system.system_uncertainty, metrics.uncertainty
    if sample is None or uncertainty is None:
        return
    located_points = system.points.located
    if system.shared_thresholds.size:
        bands = [band_columns(uncertainty.rate_intervals, point_index_by_threshold(located_points))]
        grouping_and_allocation = key_columns["grouping"], key_columns["allocation"]
        if grouping_and_allocation in sample.bands_between_points:
            bands.append(sample.bands_between_points[grouping_and_allocation])
        add_band_rows(tables["bands"], key_columns, metrics.cell_names, bands)
    ids = system.speaker_ids
    if system.design.options.speaker_ids == OFFENDERS and ids is not None:
        for cell_names, errors in (
            (metrics.cell_names[:-1], uncertainty.group_errors),
            (metrics.cell_names[-1:], uncertainty.pooled_errors),
        ):
            if cell_names:
                add_offender_rows(
                    tables["offenders"], key_columns, cell_names, errors, located_points, ids
                )


def add_standardised_rates(groups_table: TableBuilder, system: System) -> None:
    """Add the standardised rates of each grouping."""
    assert system.system_uncertainty is not None
    for layout, errors in system.system_uncertainty.standardised:
        assert layout.grouping is not None
        assert layout.within is not None
        key_columns = {
            **system.name_columns,
            "grouping": layout.grouping.name,
            "allocation": layout.allocation,
            "within": "",
        }
        add_standardised_rows(
            groups_table,
            key_columns,
            layout.grouping,
            layout.within,
            errors,
            system.points.located,
            system.design.options,
        )
