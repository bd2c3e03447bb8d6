"""Audits of open-set identification: searches as trials, and what searches have besides.

Once the threshold is set, a mated search is a trial with an error (FNIR) of the probe's speaker,
and a non-mated one a trial with an error of the other class (FPIR). So everything from thresholds
to verdicts is that of verification, with probe speakers as the sampling unit and the gallery given;
gallery persons are never resampled. This module adds: who was named, ranks, and what a
smaller gallery would have given.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing.inputs import GroupedTrials, requested_attributes
from parivox.auditing.operating_points import DEPLOYED, MIN_EXPECTED_ERRORS
from parivox.auditing.options import interval_flags, parse_minimums
from parivox.auditing.result import system_name
from parivox.auditing.schema import (
    CROSSED_GALLERIES,
    FEW_PROBE_SPEAKERS,
    TABLES,
    TableBuilder,
)
from parivox.core.measures import BOTH, IDENTIFICATION_RATES
from parivox.data.candidate_lists import SCORES, SearchList, read_searches
from parivox.data.gallery import read_gallery
from parivox.data.recordings import SpeakerPattern, read_failures, read_utterances
from parivox.data.requested_groupings import DEFAULT_GROUPINGS, make_groupings
from parivox.data.search_columns import DECISIONS, check_bona_fide
from parivox.data.search_trials import (
    are_in_one_gallery,
    failed_searches,
    search_positions,
    search_trials,
    speaker_positions,
    with_probe_speakers,
    with_unknown_speaker,
    without_failed,
)
from parivox.data.speakers import read_speakers
from parivox.data.table import Table
from parivox.data.trial_set import with_common_speakers
from parivox.errors import ConfigError
from parivox.facts import facts_of_row
from parivox.options.audit import NEVER, REFERENCES, AuditOptions
from parivox.options.kinds import option_fields
from parivox.options.limits import parse_limits
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.result import Audit
    from parivox.data.gallery import Gallery
    from parivox.data.grouping import Grouping
    from parivox.data.groups_file import GroupsFile
    from parivox.data.recordings import Utterances
    from parivox.data.trial_set import TrialSet

_SEARCH_RATES = {trial_rate: rate for rate, trial_rate in IDENTIFICATION_RATES.items()}
_UNUSABLE_OPTIONS = (
    "trials", "models", "only", "allocate", "thresholds", "threshold_from", "cost",
    "eer", "rule", "alpha", "sweep", "llr", "llr_base", "attempts", "standardise", "compare",
    "compat", "trial_table", "metrics", "within", "cm", "cm_threshold",
)  # fmt: skip
"""Options that mean nothing, or nothing yet, for searches."""
_DEFAULT_POINT = "fpir=0.01"
MAX_NAMED = 10
"""Number of persons, named most often, whose counts are in the table."""
_MAX_RANK = 20
"""Ranks of the cumulative match characteristic, at most."""
_TRIAL_CODES = {
    "no_nontarget_trials": "no_nonmated_searches",
    "no_target_trials": "no_mated_searches",
    "no_trials": "no_searches",
}
"""Reasons of rates of trials, and what they are for searches."""
_MAX_SIZE_RATIO = 1.25
"""Ratio of the largest to the smallest gallery up to which the FPIR of groups can be compared."""
_SIZES_DIFFER = "gallery_sizes_differ"
_NO_RATIO_REASONS = (*_TRIAL_CODES.values(), "is_reference")
"""Reasons of rows without a comparison, which stay."""
_JOINT_MEASURES = ("fdr", "ir", "garbe")
"""Measures of both error rates that searches have too."""
_ITEMS_OF_SEARCHES = {
    "trials_of_unknown_group": "searches_of_unknown_group",
}
"""Items of the data of trials that hold for searches, and what they are called there."""
_CELL_NAMES = ("system", "list", "grouping", "group")


FailureCounts = dict[tuple[str, str], tuple[int, int]]
"""Failed searches, and all, by grouping and group."""


class GroupedSearches(NamedTuple):
    """Searches as trials, with what they are grouped by and what else is known of them."""

    inputs: GroupedTrials
    trial_sets: Sequence[TrialSet]  # those of the inputs
    options: AuditOptions
    gallery: Gallery
    lists: Mapping[tuple[str, str], SearchList]
    unlisted_speakers: Mapping[tuple[str, str], int]
    """Searches of each list whose speakers the table of speakers does not have."""
    failures: Mapping[tuple[str, str], FailureCounts]
    """Searches of each list that failed and so are left out, where failures were given."""
    are_galleries_units: bool
    """Whether intervals are over galleries, each of which stands for its speakers."""
    rates_only_reason: str = ""
    """Why nothing is said of chance although it was asked for; empty if it is."""

    def with_possible_options(self) -> GroupedSearches:
        """Return the searches with the options that they allow, and why there are rates only."""
        # distances have been negated, and where scores of trials lie says nothing about searches
        options = replace(self.options, orientation="similarity")
        reason = self._missing_units_reason() if options.intervals else ""
        if reason:
            _check_rates_suffice(options, reason)
            options = replace(options, intervals=False)
        if options.operating_points is None and not any(
            searches.form == DECISIONS for searches in self.lists.values()
        ):
            options = replace(options, operating_points=(_DEFAULT_POINT,))
        return self._replace(options=options, rates_only_reason=reason)

    def _missing_units_reason(self) -> str:
        """Return why there are no intervals; empty if two groups have speakers enough."""
        if len(self.gallery.names) > 1 and not self.are_galleries_units:
            return CROSSED_GALLERIES
        minimum = parse_minimums(self.options.gate).inference
        for trials in self.trial_sets:
            searches = self.lists[trials.key]
            unit = trials.utterance_speaker[search_positions(trials, searches)]
            is_mated = searches.searches.is_mated
            for grouping in self.inputs.groupings:
                group_of_search = _groups_of_searches(trials, searches, grouping)
                for is_of_class in (is_mated, ~is_mated):
                    n_units = [
                        np.unique(unit[is_of_class & (group_of_search == i)]).size
                        for i in range(len(grouping.groups))
                    ]
                    if sum(n >= minimum for n in n_units) > 1:
                        return ""
        return FEW_PROBE_SPEAKERS


def trial_options(options: AuditOptions) -> AuditOptions:
    """Return the options by which searches are audited as trials; refuse what they cannot have."""
    fields = option_fields(AuditOptions)
    for name in _UNUSABLE_OPTIONS:
        if fields[name].is_given(getattr(options, name)):
            msg = f"{fields[name].flag}: cannot be used with --gallery"
            hint = "leave it out"
            raise ConfigError(msg, hint)
    points = []
    for text in options.operating_points or ():
        head, separator, number = text.partition("=")
        rule = head.strip().lower()
        if rule not in {"threshold", DEPLOYED, *_SEARCH_RATES.values()}:
            msg = f"--operating-point {text!r}: does not apply to identification"
            hint = "use fpir=X, fnir=X, threshold=X or deployed"
            raise ConfigError(msg, hint)
        points.append(f"{rule}{separator}{number}")
    limits = []
    for text in options.limit:
        metric, separator, condition = _limit_parts(text)
        hint = "use fpir=5% or fnir=10%"
        if metric not in IDENTIFICATION_RATES:
            msg = f"--limit: {text!r} does not apply to identification"
            raise ConfigError(msg, hint)
        limits.append(f"{IDENTIFICATION_RATES[metric]}{separator}{condition}")
        try:
            parse_limits(limits[-1:])
        except ConfigError:
            msg = f"--limit: {text!r} is not RATE=MAX"
            raise ConfigError(msg, hint) from None
    parse_limits(options.limit)  # refuses repeated ones
    gate = options.gate
    if not any(text.partition("=")[0].strip() == "pairs" for text in gate):
        gate = (*gate, "pairs=0")  # a search has one speaker
    return replace(
        options,
        operating_points=options.operating_points and tuple(points),
        limit=tuple(limits),
        gate=gate,
        allocate=("both",),
    )


def _limit_parts(text: str) -> tuple[str, str, str]:
    """Return the rate of a limit, the sign behind it, and the rest."""
    separator = ":" if ":" in text.partition("=")[0] else "="
    metric, separator, condition = text.partition(separator)
    return metric.strip(), separator, condition


# --- reading -------------------------------------------------------------------------------------


def read_grouped_searches(
    sources: Mapping[tuple[str, str], Any], options: AuditOptions, groups_file: GroupsFile | None
) -> GroupedSearches:
    """Read the gallery and the searches of every system, and group them by their probes."""
    with stage("reading the gallery"):
        gallery = read_gallery(options.gallery)
    lists = _read_lists(sources, gallery, options)
    are_galleries_units = len(gallery.names) > 1 and are_in_one_gallery(lists.values())
    speakers, unlisted = None, set[str]()
    if options.speakers is not None:
        with stage("reading the speakers"):
            speakers = read_speakers(options.speakers, id=options.id, conflicts=options.conflicts)
        speakers, unlisted = with_probe_speakers(speakers, lists.values(), gallery)
    utterances = None if options.utterances is None else read_utterances(options.utterances)
    if utterances is not None:
        _check_utterances(utterances, lists)
    trial_sets = []
    for (system, list_), searches in lists.items():
        with stage("checking the searches"):
            trials = search_trials(
                searches,
                gallery,
                options.rank,
                system=system,
                list_=list_,
                speakers=speakers,
                utterances=utterances,
                attributes=requested_attributes(options),
                are_galleries_units=are_galleries_units,
            )
        trial_sets.append(trials)
    if are_galleries_units:
        speakers = trial_sets[0].speaker_table if len(trial_sets) == 1 else None
    speakers, trial_sets = with_common_speakers(speakers, trial_sets)
    trial_sets = [with_unknown_speaker(trials) for trials in trial_sets]
    groupings = make_groupings(
        speakers,
        options.by,
        speakers_in_use=_enrolled_in_place_of_guests(trial_sets[0], lists, gallery),
        sets=trial_sets,
        file=groups_file,
    )
    failures: dict[tuple[str, str], FailureCounts] = {}
    if options.failures is not None:
        failures = _leave_failed_out(trial_sets, lists, groupings, options)
    chosen_by = "user" if options.by else DEFAULT_GROUPINGS
    n_unlisted = {
        key: sum(speaker in unlisted for speaker in searches.speakers)
        for key, searches in lists.items()
    }
    searches_of_systems = GroupedSearches(
        GroupedTrials(trial_sets, groupings, (), chosen_by, speakers),
        trial_sets,
        options,
        gallery,
        lists,
        n_unlisted,
        failures,
        are_galleries_units,
    )
    return searches_of_systems.with_possible_options()


def _enrolled_in_place_of_guests(
    trials: TrialSet, lists: Mapping[tuple[str, str], SearchList], gallery: Gallery
) -> NDArray[np.int32] | None:
    """Return the enrolled persons, whose groups are shown where all probes are unknown guests."""
    if any(name for searches in lists.values() for name in searches.speakers):
        return None
    positions = speaker_positions(trials, gallery.persons)
    return None if positions is None or (positions < 0).all() else positions[positions >= 0]


def _read_lists(
    sources: Mapping[tuple[str, str], Any], gallery: Gallery, options: AuditOptions
) -> dict[tuple[str, str], SearchList]:
    """Read the searches of every system."""
    lists: dict[tuple[str, str], SearchList] = {}
    for (system, list_), source in sources.items():
        with stage(f"reading {system or 'the searches'}"):
            lists[system, list_] = read_searches(
                source,
                gallery,
                utterances=options.utterances,
                columns=options.columns,
                format=options.scores_format,
                conflicts=options.conflicts,
                are_distances=options.orientation == "distance",
            )
        _check_rank(lists[system, list_], options.rank)
    return lists


def _check_utterances(utterances: Utterances, lists: Mapping[tuple[str, str], SearchList]) -> None:
    """Refuse a table that adds nothing to the searches, or has attacks on probes."""
    has_attributes = (
        utterances.names_attributes
        if isinstance(utterances, SpeakerPattern)
        else utterances.attributes.width > 0
    )
    if not has_attributes and all(each.form != SCORES for each in lists.values()):
        msg = "--utterances: the table names only speakers, whom the searches name already"
        hint = "leave out --utterances, or add attributes of the recordings"
        raise ConfigError(msg, hint)
    if isinstance(utterances, SpeakerPattern) or not has_attributes:
        return
    probes = {probe for searches in lists.values() for probe in searches.ids}
    is_probe = utterances.table["utterance"].is_in([*probes])
    check_bona_fide(utterances.attributes.filter(is_probe), utterances.name)


def _leave_failed_out(
    trial_sets: list[TrialSet],
    lists: dict[tuple[str, str], SearchList],
    groupings: Sequence[Grouping],
    options: AuditOptions,
) -> dict[tuple[str, str], FailureCounts]:
    """Leave searches that failed out of trials and lists, and return their numbers."""
    table, failures = read_failures(options.failures), {}
    for i, trials in enumerate(trial_sets):
        searches = lists[trials.key]
        is_failed = failed_searches(searches, table)
        failures[trials.key] = _failure_counts(trials, searches, groupings, is_failed)
        trial_sets[i] = without_failed(trials, is_failed)
        lists[trials.key] = searches.subset(~is_failed)
    return failures


def _failure_counts(
    trials: TrialSet,
    searches: SearchList,
    groupings: Sequence[Grouping],
    is_failed: NDArray[np.bool_],
) -> FailureCounts:
    """Return how many searches failed, and of how many, in all and in each group."""
    counts = {("all", "all"): (int(is_failed.sum()), is_failed.size)}
    for grouping in groupings:
        group_of_search = _groups_of_searches(trials, searches, grouping)
        for i, group in enumerate(grouping.groups):
            is_in = group_of_search == i
            counts[grouping.name, group] = int(is_failed[is_in].sum()), int(is_in.sum())
    return counts


def _check_rates_suffice(options: AuditOptions, reason: str) -> None:
    """Refuse options that need intervals where there are rates only."""
    flags = interval_flags(options)
    if flags:
        words = "each group has too few speakers"
        if reason == CROSSED_GALLERIES:
            words = "some speakers are searched in several galleries"
        msg = f"{flags[0]} needs intervals, but these searches have only rates: {words}"
        hint = f"leave out {flags[0]}"
        raise ConfigError(msg, hint)


def _check_rank(searches: SearchList, rank: int) -> None:
    """Refuse a rank beyond the candidates that lists hold."""
    length = searches.searches.list_length
    if searches.form == DECISIONS and rank > 1:
        msg = f"--rank {rank}: {searches.name} names at most one person per search"
        hint = "leave out --rank"
        raise ConfigError(msg, hint)
    if length is not None and rank > length:
        msg = f"--rank {rank}: the candidate lists in {searches.name} have {length} candidates"
        hint = f"give a rank of at most {length}"
        raise ConfigError(msg, hint)


def _groups_of_searches(
    trials: TrialSet, searches: SearchList, grouping: Grouping
) -> NDArray[np.int32]:
    """Return the group of each search, -1 for none."""
    codes = grouping.utterance_codes(trials)
    return codes[search_positions(trials, searches)]


# --- what searches have besides ------------------------------------------------------------------


def identification_audit(audit: Audit, searches: GroupedSearches, options: AuditOptions) -> Audit:
    """Return an audit of searches as trials under the names of identification, with all else."""
    located_points = _located_points(audit, searches)
    measures = TableBuilder(TABLES["searches"])
    for trials in searches.trial_sets:
        key = trials.key
        for point, threshold in located_points[key].items():
            _SearchMeasures(measures, trials, searches, options, point, threshold).add()
    thresholds = {
        (*key, point): threshold
        for key, points in located_points.items()
        for point, threshold in points.items()
        if point.startswith("fpir=")
    }
    tables: dict[str, Any] = {
        "groups": _search_rates(audit.groups, thresholds, _probe_speakers(searches)),
        "bias": _search_rates(audit.bias) if searches.options.intervals else _empty("bias"),
        "verdicts": _search_verdicts(audit.verdicts, searches.gallery),
        "limits": _search_rates(audit.limits),
        "offenders": _search_rates(audit.offenders),
        "meta": _joint_measures(audit.meta),
        "operating_points": _points_of_searches(audit.operating_points, thresholds),
        "data": _search_data(audit.data, searches, located_points),
        "searches": measures.table(),
    }
    tables |= {name: _empty(name) for name in ("matrix", "det", "bands", "sweep", "pairing")}
    record = {name: recorded for name, recorded in audit.record.items() if name != "list_checks"}
    record["options"] = {**record["options"], "limit": options.limit, "gate": options.gate}
    if searches.rates_only_reason:  # as it was asked for
        reference = options.reference or REFERENCES
        record["options"] |= {"intervals": True, "reference": reference}
    record["error_types"] = [*IDENTIFICATION_RATES]
    record["identification"] = _identification_record(searches, options)
    return replace(audit, **tables, record=record)


def _search_verdicts(table: Table, gallery: Gallery) -> Table:
    """Return verdicts on searches: inconclusive on FPIR where galleries differ much in size."""
    rates = _search_rates(table)
    if gallery.sizes.max() <= _MAX_SIZE_RATIO * gallery.sizes.min():
        return rates
    rows = [
        row for row in rates.rows() if row["metric"] != "fpir" or row["group"]
    ]  # without the test of all groups together
    for row in rows:
        if row["metric"] == "fpir":
            reason = row["reason"] if row["reason"] in _NO_RATIO_REASONS else _SIZES_DIFFER
            values = {"metric": "fpir", "reason": reason}
            values |= {
                name: row[name]
                for name in ("ratio", "low", "high")
                if row[name] is not None and math.isfinite(row[name])  # JSON has no infinity
            }
            values_of_gates = {
                gate.code: gate.values for gate in facts_of_row(row, "gates") if gate.values
            }
            row |= {
                "verdict": "inconclusive",
                "reason": reason,
                "sentence": "inconclusive",
                "values": json.dumps({**values_of_gates, "inconclusive": values}),
                "because_of": "",
            }
    columns = TABLES["verdicts"]
    return Table.of({name: [row[name] for row in rows] for name in columns}, columns)


def _probe_speakers(searches: GroupedSearches) -> dict[tuple[str, ...], int]:
    """Return how many known speakers are behind each rate of each cell."""
    speakers: dict[tuple[str, ...], int] = {}
    for trials in searches.trial_sets:
        search_list = searches.lists[trials.key]
        names = np.array(search_list.speakers, dtype=object)
        is_mated = search_list.searches.is_mated
        cells = [("all", "all", np.ones(names.size, dtype=np.bool_))]
        for grouping in searches.inputs.groupings:
            groups = _groups_of_searches(trials, search_list, grouping)
            cells += [(grouping.name, name, groups == i) for i, name in enumerate(grouping.groups)]
            cells.append((grouping.name, "pooled", groups >= 0))
        for grouping_name, group, is_in in cells:
            for rate, is_of_class in (("fnir", is_mated), ("fpir", ~is_mated)):
                n_speakers = len({*names[is_in & is_of_class].tolist()} - {""})
                speakers[*trials.key, grouping_name, group, rate] = n_speakers
    return speakers


def _empty(name: str) -> Table:
    return Table.empty(TABLES[name])


def _located_points(
    audit: Audit, searches: GroupedSearches
) -> dict[tuple[str, str], dict[str, float]]:
    """Return the threshold of each operating point of each system; those without are left out.

    Candidates for a threshold are all scores on lists, not only those that decide a search.
    """
    points: dict[tuple[str, str], dict[str, float]] = {key: {} for key in searches.lists}
    for row in audit.operating_points.rows():
        key, text = (row["system"], row["list"]), row["operating_point"]
        if row["reason"] or row["within"] or key not in points:
            continue
        array = searches.lists[key].searches
        rule, _, target = text.partition("=")
        if text == DEPLOYED:
            points[key][text] = 1.0
        elif rule == "fpir":
            points[key][text] = array.threshold_at_fpir(float(target))
        else:
            points[key][text] = row["threshold"]
    return points


def _search_rates(
    table: Table,
    thresholds: Mapping[tuple[str, str, str], float] | None = None,
    speakers: Mapping[tuple[str, ...], int] | None = None,
) -> Table:
    """Return the rows of the two error rates, under their names for searches."""
    cells = table.to_dict()
    definitions = cells.get("definition", [""] * len(table))
    rate_rows = [
        i
        for i, (metric, definition) in enumerate(zip(cells["metric"], definitions, strict=True))
        if metric in _SEARCH_RATES and (not definition or cells.get("measure"))
    ]
    cells = {name: [column[i] for i in rate_rows] for name, column in cells.items()}
    cells["metric"] = [_SEARCH_RATES[metric] for metric in cells["metric"]]
    columns = dict(zip(table.columns, _kinds(table), strict=True))
    for name in ("reason", "note"):
        if name in cells:
            cells[name] = [_TRIAL_CODES.get(code, code) for code in cells[name]]
    if "values" in cells:
        # few cells are distinct, of which each occurs often
        values_of_searches = {cell: _search_values(cell) for cell in set(cells["values"])}
        cells["values"] = [values_of_searches[cell] for cell in cells["values"]]
    if speakers is not None:
        names = zip(*(cells[name] for name in (*_CELL_NAMES, "metric")), strict=True)
        cells["speakers"] = [speakers.get(name) for name in names]
    if thresholds and "threshold" in cells:
        cells["threshold"] = _thresholds_of_lists(cells, thresholds)
    return Table.of(cells, columns)


def _search_values(cell: str) -> str:
    """Return the values of facts with the names of rates of searches."""

    def named_for_searches(values: dict[str, Any]) -> dict[str, Any]:
        metric = values.get("metric")
        return {**values, "metric": _SEARCH_RATES[metric]} if metric in _SEARCH_RATES else values

    if not cell:
        return cell
    return json.dumps(json.loads(cell, object_hook=named_for_searches), ensure_ascii=False)


def _thresholds_of_lists(
    cells: Mapping[str, Sequence[Any]], thresholds: Mapping[tuple[str, str, str], float]
) -> list[float | None]:
    """Return the threshold of each row; at points by FPIR, one among all scores on lists."""
    names = zip(cells["system"], cells["list"], cells["operating_point"], strict=True)
    return [
        thresholds.get(name, threshold)
        for name, threshold in zip(names, cells["threshold"], strict=True)
    ]


def _kinds(table: Table) -> list[str]:
    """Return the kind of each column, by the name of the table that has these columns."""
    return next([*kinds.values()] for kinds in TABLES.values() if tuple(kinds) == table.columns)


def _joint_measures(table: Table) -> Table:
    """Return FDR, IR and GARBE of both rates, named so that nobody takes them for verification."""
    rows = [
        {
            **row,
            "metric": "fpir+fnir",
            "measure": f"{row['measure']}_identification",
        }
        for row in table.rows()
        if row["metric"] == BOTH and row["measure"] in _JOINT_MEASURES
    ]
    columns = TABLES["meta"]
    return Table.of({name: [row[name] for row in rows] for name in columns}, columns)


def _points_of_searches(table: Table, thresholds: Mapping[tuple[str, str, str], float]) -> Table:
    """Return operating points without rates and costs of verification trials."""
    cells = table.to_dict()
    cells["threshold"] = _thresholds_of_lists(cells, thresholds)
    n_rows = len(table)
    cells |= {name: [None] * n_rows for name in ("fpr", "fnr", "cdet_norm")}
    cells["reason"] = [_TRIAL_CODES.get(code, code) for code in cells["reason"]]
    return Table.of(cells, TABLES["operating_points"])


def _search_data(
    table: Table,
    searches: GroupedSearches,
    points: Mapping[tuple[str, str], Mapping[str, float]],
) -> Table:
    """Return what was read: searches and persons, who has no group, and what is too few."""
    builder = TableBuilder(TABLES["data"])
    for (system, list_), search_list in searches.lists.items():
        array = search_list.searches
        ties = (array.mate_rank() != array.mate_rank("optimistic")).sum()
        search_counts = {
            "searches": len(search_list.ids),
            "mated_searches": array.n_mated,
            "nonmated_searches": array.n_nonmated,
            "enrolled_persons": len(searches.gallery.persons),
        }
        warning_counts = {
            "searches_of_unknown_speakers": search_list.speakers.count(""),
            "searches_of_unlisted_speakers": searches.unlisted_speakers[system, list_],
            "searches_without_candidates": search_list.n_empty,
            "lower_scores_of_models": search_list.n_models,
            "searches_with_missing_pairs": search_list.n_excluded,
            "mates_in_ties": int(ties),
        }
        for item, count in (
            *search_counts.items(),
            *filter(lambda warning: warning[1], warning_counts.items()),
        ):
            builder.add(system=system, list=list_, source="scores", item=item, count=count)
        for point in points[system, list_]:
            rule, _, target = point.partition("=")
            expected = float(target) * array.n_nonmated if rule == "fpir" else math.inf
            if expected < MIN_EXPECTED_ERRORS:
                builder.add(
                    system=system,
                    list=list_,
                    source="scores",
                    item="few_false_positives_expected",
                    count=array.n_nonmated,
                    value=expected,
                )
    for row in filter(lambda row: row["item"] in _ITEMS_OF_SEARCHES, table.rows()):
        builder.add(
            **{
                name: row[name]
                for name in ("system", "list", "source", "grouping", "group", "count")
            },
            item=_ITEMS_OF_SEARCHES[row["item"]],
        )
    return builder.table()


def _identification_record(searches: GroupedSearches, options: AuditOptions) -> dict[str, Any]:
    """Return the conditions that every result of an identification audit holds under."""
    systems = {}
    for (system, list_), search_list in searches.lists.items():
        array = search_list.searches
        systems[system_name(system, list_)] = {
            "form": search_list.form,
            "searches": len(search_list.ids),
            "mated": array.n_mated,
            "nonmated": array.n_nonmated,
            "speakers": len({*search_list.speakers} - {""}),
            "unknown": search_list.speakers.count(""),
            "list_length": array.list_length,
        }
    return {
        "rank": options.rank,
        "persons": len(searches.gallery.persons),
        "gallery_sizes": searches.gallery.sizes.tolist(),
        "unit": "gallery" if searches.are_galleries_units else "speaker",
        "rates_only": searches.rates_only_reason,
        "systems": systems,
    }


class _SearchMeasures:
    """What searches of one system have besides their two error rates, at one operating point."""

    def __init__(
        self,
        builder: TableBuilder,
        trials: TrialSet,
        searches: GroupedSearches,
        options: AuditOptions,
        point: str,
        threshold: float,
    ) -> None:
        self.builder, self.trials, self.options = builder, trials, options
        self.point, self.threshold = point, threshold
        self.grouped, self.list = searches, searches.lists[trials.key]
        self.searches = self.list.searches
        gallery = searches.gallery
        self.is_enrolled = gallery.is_enrolled[self.list.gallery]  # [search, person]
        self.persons = gallery.persons
        self.is_false = self._false_candidates()  # [entry]

    def add(self) -> None:
        """Add every measure, of all searches and of each group."""
        is_any = np.ones(len(self.list.ids), dtype=np.bool_)
        self._add_rates("all", "all", is_any)
        self._add_ranks("all", "all", is_any)
        self._add_unknown_speakers()
        self._add_gallery_sizes()
        self._add_persons_named()
        failures = self.grouped.failures.get(self.trials.key, {})
        for (grouping_name, group), (n_failed, n_searches) in failures.items():
            names = {"grouping": grouping_name, "group": group}
            self._row("fta", **names, errors=n_failed, trials=n_searches)
        for grouping in self.grouped.inputs.groupings:
            group_of_search = _groups_of_searches(self.trials, self.list, grouping)
            for i, group in enumerate(grouping.groups):
                self._add_rates(grouping.name, group, group_of_search == i)
                self._add_common_size(grouping.name, group, group_of_search == i)
                self._add_ranks(grouping.name, group, group_of_search == i)
            self._add_groups_named(grouping, group_of_search)
        if self.grouped.rates_only_reason == FEW_PROBE_SPEAKERS:
            self._add_persons()

    def _row(self, measure: str, **columns: Any) -> None:
        """Add a row; a value follows from errors and trials unless it is given."""
        errors, n_trials = columns.get("errors"), columns.get("trials")
        if "value" not in columns and errors is not None and n_trials:
            columns["value"] = errors / n_trials
        if columns.get("value") is not None and np.isnan(columns["value"]):
            columns["value"] = None
        self.builder.add(
            system=self.trials.system,
            list=self.trials.list,
            operating_point=self.point,
            measure=measure,
            **columns,
        )

    def _false_candidates(self) -> NDArray[np.bool_]:
        """Return which entries non-mated searches return, [entry]."""
        is_nonmated = ~self.searches.is_mated[self.searches.candidate_search]
        return is_nonmated & (self.searches.candidate_score >= self.threshold)

    @property
    def _lists_are_cut(self) -> bool:
        """Whether more candidates may have been returned than lists hold."""
        return self.list.form == DECISIONS or bool(
            np.isnan(self.searches.selectivity([self.threshold])[0]) and self.searches.n_nonmated
        )

    def _add_rates(self, grouping: str, group: str, is_in: NDArray[np.bool_]) -> None:
        """Add the parts of FNIR, and how many candidates non-mated searches return."""
        array, limits = self.searches.subset(is_in), [self.threshold]
        names = {"grouping": grouping, "group": group}
        for measure, values in (
            ("wrong_person", array.wrong_person(limits)),
            ("top_s_miss", array.top_s_miss(limits)),
        ):
            if array.n_mated:
                n_errors = round(float(values[0]) * array.n_mated)
                self._row(measure, **names, errors=n_errors, trials=array.n_mated)
            else:
                self._row(measure, **names, trials=0, reason="no_mated_searches")
        n_pairs = int(self.is_enrolled[is_in & ~self.searches.is_mated].sum())
        n_false = int((self.is_false & is_in[self.searches.candidate_search]).sum())
        for measure, n_trials in (
            ("selectivity", array.n_nonmated),
            ("false_candidate_rate", n_pairs),
        ):
            if not n_trials:
                self._row(measure, **names, trials=0, reason="no_nonmated_searches")
            elif self._lists_are_cut:
                self._row(measure, **names, trials=n_trials, reason="lists_end_above_threshold")
            else:
                self._row(measure, **names, errors=n_false, trials=n_trials)

    def _add_unknown_speakers(self) -> None:
        """Add the FPIR of speakers without an id, whose searches are in no group."""
        array = self.searches.subset(np.array(self.list.speakers, dtype=object) == "")
        if array.n_nonmated:
            n_false = round(float(array.fpir([self.threshold])[0]) * array.n_nonmated)
            names = {"grouping": "all", "group": "all"}
            self._row("fpir_of_unknown", **names, errors=n_false, trials=array.n_nonmated)

    def _add_ranks(self, grouping: str, group: str, is_in: NDArray[np.bool_]) -> None:
        """Add the CMC, and EERs at thresholds of their own."""
        if self.list.form == DECISIONS:
            return
        array = self.searches.subset(is_in)
        names = {"grouping": grouping, "group": group}
        longest = self.searches.list_length or int(self.searches.gallery_size.max())
        n_ranks = min(longest, _MAX_RANK)
        if array.n_mated:
            for rank, share in enumerate(array.cmc(n_ranks).tolist(), 1):
                n_within = round(share * array.n_mated)
                self._row("cmc", **names, rank=rank, errors=n_within, trials=array.n_mated)
        for measure, value in (("top_1_eer", array.top_1_eer()), ("top_s_eer", array.top_s_eer())):
            reason = ""
            if np.isnan(value):
                reason = "no_searches"
                if array.n_mated or array.n_nonmated:
                    reason = "no_nonmated_searches" if array.n_mated else "no_mated_searches"
                if array.n_mated and array.n_nonmated:
                    reason = "fnir_above_fpir"
            self._row(measure, **names, value=value, reason=reason)

    def _add_gallery_sizes(self) -> None:
        """Add the expected rates with smaller galleries, unless lists end too early for that."""
        smallest = int(self.searches.gallery_size.min())
        if self._lists_are_cut:
            return
        for size in sorted({smallest // 4, smallest // 2} - {0}):
            fpir = float(self.searches.expected_fpir(self.threshold, [size])[0])
            self._row("expected_fpir", grouping="all", group="all", persons=size, value=fpir)
            if self.searches.n_mated and self.options.rank == 1:
                fnir = float(self.searches.expected_fnir(self.threshold, [size])[0])
                self._row("expected_fnir", grouping="all", group="all", persons=size, value=fnir)

    def _add_common_size(self, grouping: str, group: str, is_in: NDArray[np.bool_]) -> None:
        """Add the expected FPIR of a group with the smallest gallery, where galleries differ."""
        smallest, largest = self.grouped.gallery.sizes.min(), self.grouped.gallery.sizes.max()
        array = self.searches.subset(is_in)
        if smallest == largest or self._lists_are_cut or not array.n_nonmated:
            return
        fpir = float(array.expected_fpir(self.threshold, [smallest])[0])
        names = {"grouping": grouping, "group": group}
        self._row("expected_fpir", **names, persons=int(smallest), value=fpir)

    def _add_persons_named(self) -> None:
        """Add the persons whom non-mated searches return most often, by number."""
        if self._lists_are_cut and self.list.form != DECISIONS:  # decisions name one at most
            return
        n_named = np.bincount(self.searches.candidate[self.is_false], minlength=len(self.persons))
        order = np.argsort(-n_named, kind="stable")[:MAX_NAMED]
        for number, person in enumerate(order[n_named[order] > 0].tolist(), 1):
            self._row(
                "named_most",
                grouping="all",
                group="all",
                rank=number,
                person=self.persons[person] if self.options.speaker_ids != NEVER else "",
                errors=int(n_named[person]),
                trials=int(n_named.sum()),
            )
        if len(self.grouped.gallery.names) == 1 and self.searches.n_nonmated:
            n_stopped = round(
                float(self.searches.fpir([self.threshold])[0]) * self.searches.n_nonmated
            )
            fpir_by_person = self.searches.fpir_without_person(self.threshold, len(self.persons))
            if n_stopped and not self._lists_are_cut:
                self._row(
                    "fpir_without_person",
                    grouping="all",
                    group="all",
                    errors=round(float(fpir_by_person.min()) * self.searches.n_nonmated),
                    trials=self.searches.n_nonmated,
                )

    def _add_groups_named(self, grouping: Grouping, group_of_search: NDArray[np.int32]) -> None:
        """Add who is named: by the group of the person, and by both groups; and gallery shares."""
        group_of_person = self._groups_of_persons(grouping)
        if group_of_person is None:
            return
        is_nonmated = ~self.searches.is_mated
        entry_group = group_of_person[self.searches.candidate]
        entry_probe_group = group_of_search[self.searches.candidate_search]
        n_probes = int((is_nonmated & (group_of_search >= 0)).sum())
        n_persons = int((group_of_person >= 0).sum())
        for i, group in enumerate(grouping.groups):
            names = {"grouping": grouping.name, "group": group}
            is_of_group = group_of_person == i
            in_group = int(is_of_group.sum())
            self._row("gallery_share", **names, errors=in_group, trials=n_persons)
            n_of_group = int((is_nonmated & (group_of_search == i)).sum())
            self._row("nonmated_share", **names, errors=n_of_group, trials=n_probes)
            if self._lists_are_cut:
                continue
            n_pairs = int(self.is_enrolled[np.ix_(is_nonmated, is_of_group)].sum())
            n_false = int((self.is_false & (entry_group == i)).sum())
            self._row("named_rate", **names, persons=in_group, errors=n_false, trials=n_pairs)
            for j, probe_group in enumerate(grouping.groups):
                is_probe = is_nonmated & (group_of_search == j)
                n_pairs = int(self.is_enrolled[np.ix_(is_probe, is_of_group)].sum())
                n_false = int((self.is_false & (entry_group == i) & (entry_probe_group == j)).sum())
                self._row(
                    "named_rate_by_groups",
                    grouping=grouping.name,
                    group=probe_group,
                    other_group=group,
                    errors=n_false,
                    trials=n_pairs,
                )

    def _groups_of_persons(self, grouping: Grouping) -> NDArray[np.int32] | None:
        """Return the group of each enrolled person, -1 for none; None for groups of recordings."""
        table = self.trials.speaker_table
        if grouping.speaker_codes is None or table is None:
            return None
        positions = speaker_positions(self.trials, self.persons)
        if positions is None:
            return None
        codes = np.append(grouping.speaker_codes[: len(table.ids)], np.int32(-1))
        return np.where(positions >= 0, codes[positions], np.int32(-1)).astype(np.int32)

    def _add_persons(self) -> None:
        """Add the rates of each enrolled person, and of all others together."""
        array, limits = self.searches, [self.threshold]
        persons = []
        for person in range(len(self.persons)):
            of_person = array.subset(array.mate == person)
            if of_person.n_mated:
                n_missed = round(
                    float(of_person.fnir(limits, self.options.rank)[0]) * of_person.n_mated
                )
                n_wrong = round(float(of_person.wrong_person(limits)[0]) * of_person.n_mated)
                persons.append((n_missed, n_wrong, of_person.n_mated, self.persons[person]))
        names_persons = self.options.speaker_ids != NEVER
        persons.sort(
            key=lambda counts: counts[3] if names_persons else (-counts[0] / counts[2], -counts[1])
        )
        for number, (n_missed, n_wrong, n_mated, name) in enumerate(persons, 1):
            errors = {"fnir_of_person": n_missed, "wrong_of_person": n_wrong}
            if self.options.rank > 1:  # another person first is no miss then
                del errors["wrong_of_person"]
            for measure, n_errors in errors.items():
                self._row(
                    measure,
                    grouping="all",
                    group="all",
                    rank=number,
                    person=name if names_persons else "",
                    errors=n_errors,
                    trials=n_mated,
                )
