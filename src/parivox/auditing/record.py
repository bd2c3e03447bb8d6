"""How an audit was made: its record for ``audit.json``, and the files that were read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing.bt4vt_rows import DIFFERENCES
from parivox.auditing.confounding import confounding_relations
from parivox.auditing.definitions import all_definitions
from parivox.auditing.result import system_name
from parivox.auditing.schema import SCHEMA_VERSION
from parivox.trials.checks import failed_checks
from parivox.trials.lists import new_trial_list
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.inputs import GroupedTrials
    from parivox.auditing.options import Options
    from parivox.auditing.system import System
    from parivox.data.groups_file import GroupsFile
    from parivox.data.rule_file import RuleFile
    from parivox.data.speakers import Speakers
    from parivox.data.trial_set import TrialSet


def audit_record(
    options: Options,
    read: GroupedTrials,
    systems: Sequence[System],
    file: GroupsFile | None,
    rules: RuleFile | None,
) -> dict[str, Any]:
    """How the audit was made, independent of files' names, order and format."""
    people = read.speakers
    named = {system_name(one.trials.system, one.trials.list): one for one in systems}
    with_ids = {name: one.trials for name, one in named.items() if one.trials.has_speakers}
    record: dict[str, Any] = {
        "versions": {"parivox": __version__, "schema": SCHEMA_VERSION},
        "options": options.recorded(),
        "groupings": [grouping.name for grouping in read.groupings],
        "groupings_chosen_by": read.chosen_by,
        "inputs": [_input(one) for one in read.trial_sets],
        "development": [_input(one.development) for one in systems if one.development is not None],
        "resolution": {
            "exact": all(one.is_exact for one in read.trial_sets),
            "bounds": {name: _bounds(one) for name, one in named.items()},
        },
        "definitions": all_definitions(options, in_blocks=any(map(_in_blocks, systems))),
    }
    primary = {
        name: "{grouping}@{operating_point}".format(**one.primary)
        for name, one in named.items()
        if one.speaker_sample is not None and one.primary["operating_point"]
    }
    if primary:
        record["primary"] = primary
    if options.compat:
        record["compat"] = DIFFERENCES
    if file is not None:
        record["groups_file"] = file.record()
    if rules is not None:
        record["thresholds"] = rules.record()
    unmet = {
        name: _list_checks(trials, people, read)
        for name, trials in with_ids.items()
        if people is not None
    }
    if any(unmet.values()):
        record["list_checks"] = unmet
    confounded = {
        name: confounding_relations(one.trials.trials_by_speaker, read.groupings, options)
        for name, one in named.items()
        if options.intervals
        and one.trials.trials_by_speaker is not None
        and not one.trials.has_speaker_blocks
    }
    if any(confounded.values()):
        record["confounding"] = confounded
    return record


def _in_blocks(system: System) -> bool:
    """Whether its speakers are taken in blocks."""
    return system.speaker_sample is not None and any(
        one.has_speaker_blocks for one in system.speaker_sample.strata_uncertainty
    )


def _bounds(system: System) -> dict[str, float]:
    """How far rates and scores may be from exact ones, where trials are counted in bins."""
    bounds = {"rate": system.counts.rate_bound, "score": system.counts.bin_width}
    if system.speaker_sample is not None:
        bounds["replicates"] = system.speaker_sample.rate_bound
    return bounds


def _input(trials: TrialSet | TrialCounts) -> dict[str, Any]:
    """The content of one system's trials: ids, labels and scores by their hash, no attributes."""
    found: dict[str, Any] = {
        "system": trials.system,
        "list": trials.list,
        "trials": trials.n_trials,
        "content_sha256": trials.content_sha256,
    }
    if not trials.has_speakers:
        return found | {"counts_files": len(trials.sources)}
    return found


def provenance_entries(
    read: GroupedTrials, systems: Sequence[System], *files: GroupsFile | RuleFile | None
) -> list[dict[str, Any]]:
    """Every file that was read, once."""
    development = [one.development for one in systems if one.development is not None]
    every = [] if read.speakers is None else list(read.speakers.provenance)
    every += [entry for one in (*read.trial_sets, *development) for entry in one.provenance]
    every += [dict(one.provenance) for one in files if one is not None]
    shared = {"utterances", "models", "failures"}  # read once, told by every system
    return [e for i, e in enumerate(every) if e["role"] not in shared or e not in every[:i]]


def _list_checks(trials: TrialSet, people: Speakers, read: GroupedTrials) -> list[dict[str, Any]]:
    """Checks that the trial list fails, as the check of that list has it; "inf" for infinite.

    Lists too large for memory are not checked.
    """
    if not trials.is_exact or not trials.n_trials:
        return []
    names = ("id", "what", "statistic", "threshold", "offenders", "sentence")
    found = []
    trial_list = new_trial_list(trials, people, groupings=read.groupings)
    if read.list_design is not None:
        trial_list = read.list_design.regrade(trial_list)
    for one in failed_checks(trial_list, read.list_design):
        row = {name: getattr(one, name) for name in names}
        if row["statistic"] == float("inf"):
            row["statistic"] = "inf"
        found.append(row)
    return found
