"""How an audit was made: its record for ``audit.json``, and the files that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing.result import system_name
from parivox.auditing.schema import SCHEMA_VERSION
from parivox.core.measures import ALL_RATES, RATES
from parivox.data.lists.guidelines import failed_checks
from parivox.data.lists.trial_list import new_trial_list
from parivox.facts import facts_of_cell
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.inputs import GroupedTrials
    from parivox.auditing.options import Options
    from parivox.auditing.system import System
    from parivox.core.costs import CostModel
    from parivox.data.groups_file import GroupsFile
    from parivox.data.rule_file import RuleFile
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet


def audit_record(
    options: Options,
    inputs: GroupedTrials,
    systems: Sequence[System],
    groups_file: GroupsFile | None,
    threshold_rules: RuleFile | None,
) -> dict[str, Any]:
    """Return how the audit was made, independent of files' names, order and format."""
    speakers = inputs.speakers
    systems_by_name = {
        system_name(system.trials.system, system.trials.list): system for system in systems
    }
    record: dict[str, Any] = {
        "versions": {"parivox": __version__, "schema": SCHEMA_VERSION},
        "options": options.recorded(),
        "groupings": [grouping.name for grouping in inputs.groupings],
        "groupings_chosen_by": inputs.chosen_by,
        "inputs": [trials.content() for trials in inputs.trial_sets],
        "development": [
            system.development.content() for system in systems if system.development is not None
        ],
        "resolution": {
            "exact": all(trials.is_exact for trials in inputs.trial_sets),
            "bounds": {name: _bounds(system) for name, system in systems_by_name.items()},
        },
        "cost_models": {cost.name: _cost_record(cost) for cost in _cost_models(options)},
        "speaker_blocks": any(map(_has_speaker_blocks, systems)),
    }
    primary = {
        name: "{grouping}@{operating_point}".format(**system.primary)
        for name, system in systems_by_name.items()
        if system.system_uncertainty is not None and system.primary["operating_point"]
    }
    if primary:
        record["primary"] = primary
    if any(trials.n_classes > len(RATES) for trials in inputs.trial_sets):
        record["error_types"] = [*ALL_RATES]
        record["attacks"] = sorted(
            {name for trials in inputs.trial_sets for name in trials.attacks}
        )
    first_stages = {
        system_name(trials.system, trials.list): trials.identified.first_stage_threshold
        for trials in inputs.trial_sets
        if trials.identified is not None and trials.identified.first_stage_threshold is not None
    }
    if first_stages:
        record["countermeasure_thresholds"] = first_stages
        (record["countermeasure_rule"],) = {
            trials.identified.first_stage_rule
            for trials in inputs.trial_sets
            if trials.identified is not None
        }
    if groups_file is not None:
        record["groups_file"] = groups_file.record()
    if threshold_rules is not None:
        record["thresholds"] = threshold_rules.record()
    failed_list_checks = {
        name: _failed_list_checks(system.trials.whole_list.bona_fide, speakers, inputs, options)
        for name, system in systems_by_name.items()
        if speakers is not None and system.trials.whole_list is not None
    }
    if any(failed_list_checks.values()):
        record["list_checks"] = failed_list_checks
    if options.intervals:
        from parivox.auditing.confounding import (  # noqa: PLC0415 - with intervals only
            confounding_relations,
        )

        confounded = {
            name: confounding_relations(system.trials.people, inputs.groupings, options)
            for name, system in systems_by_name.items()
            if system.trials.people is not None
        }
        if any(confounded.values()):
            record["confounding"] = confounded
    return record


def _cost_models(options: Options) -> list[CostModel]:
    """Return the cost models of the options, and those that operating points name."""
    point_costs = [point.cost for point in options.points() or []]
    return [*options.costs, *filter(None, point_costs)]


def _cost_record(cost: CostModel) -> dict[str, Any]:
    """Return the priors and costs of a model."""
    spoof = {"p_spoof": cost.p_spoof, "c_spoof": cost.c_spoof} if cost.has_spoof else {}
    return {"p_target": list(cost.p_target), "c_miss": cost.c_miss, "c_fa": cost.c_fa, **spoof}


def _has_speaker_blocks(system: System) -> bool:
    """Return whether its speakers are taken in blocks."""
    return system.system_uncertainty is not None and any(
        uncertainty.errors_of_speakers is None
        for uncertainty in system.system_uncertainty.strata_uncertainty
    )


def _bounds(system: System) -> dict[str, float]:
    """Return how far rates and scores may be from exact ones, where trials are counted in bins."""
    bounds = {"rate": system.counts.rate_bound, "score": system.counts.bin_width}
    if system.system_uncertainty is not None:
        bounds["replicates"] = system.system_uncertainty.rate_bound
    return bounds


def provenance_entries(
    inputs: GroupedTrials, systems: Sequence[System], *files: GroupsFile | RuleFile | None
) -> list[dict[str, Any]]:
    """Return every file that was read, once."""
    development_sets = [system.development for system in systems if system.development is not None]
    entries = [] if inputs.speakers is None else list(inputs.speakers.provenance)
    for trials in (*inputs.trial_sets, *development_sets):
        entries += trials.provenance
    entries += [dict(file.provenance) for file in files if file is not None]
    # These files are read once, but every system has them among its own.
    shared_roles = {"utterances", "models", "failures"}
    return [
        entry
        for i, entry in enumerate(entries)
        if entry["role"] not in shared_roles or entry not in entries[:i]
    ]


def _failed_list_checks(
    trials: TrialSet, speakers: Speakers, inputs: GroupedTrials, options: Options
) -> list[dict[str, Any]]:
    """Return the checks that the trial list fails.

    If false accepts are counted within groups only, so are nontarget trials of the same value.
    An infinite statistic is "inf".
    """
    if not trials.n_trials:
        return []
    names = ("id", "statistic", "threshold", "offenders")
    rows = []
    trial_list = new_trial_list(trials, speakers, groupings=inputs.groupings)
    if inputs.list_design is not None:
        trial_list = inputs.list_design.regrade(trial_list)
    is_within_groups = {*options.allocate} == {"both"}
    for check in failed_checks(trial_list, inputs.list_design, is_within_groups=is_within_groups):
        row = {name: getattr(check, name) for name in names}
        if row["statistic"] == float("inf"):
            row["statistic"] = "inf"
        row["facts"] = [each._asdict() for each in facts_of_cell(check.facts)]
        rows.append(row)
    return rows
