"""Compare audits with each other, as of one release and the next: which is better, for whom.

See docs/methods/gates.md#paired-releases.
"""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import (
    BELOW_MINIMUM,
    DEPLOYED,
    Audit,
    TableBuilder,
    are_comparable,
    correlation,
    loaded_audit,
    parse_minimums,
    system_name,
)
from parivox.core.measures import ALL_RATES, RATES
from parivox.core.verdict import holm, verdicts
from parivox.errors import ConfigError, DataError
from parivox.facts import VALUES_COLUMN, cell_of_row, fact
from parivox.shown import NotebookView

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from parivox.data.table import Table

    Row = dict[str, Any]

PAIRED, UNPAIRED, NEW, GONE = "paired", "unpaired", "new", "gone"
_SAME_IN_ALL_DRAWS = "same_in_all_draws"
"""Reason code: two rates do not differ in any draw."""
_NO_ERRORS = "no_errors"
"""Reason code: a rate of 0 has no logarithm."""
_KEY_COLUMNS = ("system", "list", "grouping", "group", "allocation", "metric", "operating_point")
_CELL_COLUMNS = _KEY_COLUMNS[2:]
_SIZE_COLUMNS = ("speakers", "target_trials", "nontarget_trials")
_VERDICT_COLUMNS = {"p": "float", "p_holm": "float", "verdict": "str"}
TABLES: dict[str, dict[str, str]] = {
    "changes": {
        "release": "str",
        "before": "str",
        **dict.fromkeys(_KEY_COLUMNS, "str"),
        **dict.fromkeys(("value", "other", "difference", "low", "high"), "float"),
        **dict.fromkeys(("log_ratio", "log_low", "log_high", "df"), "float"),
        **_VERDICT_COLUMNS,
        "pairing": "str",
        "reason": "str",
        VALUES_COLUMN: "str",
    },
    "trends": {
        **dict.fromkeys(_KEY_COLUMNS, "str"),
        "releases": "int",
        **dict.fromkeys(("per_release", "low", "high"), "float"),
        **_VERDICT_COLUMNS,
        "pairing": "str",
        "reason": "str",
        VALUES_COLUMN: "str",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(NotebookView):
    """How releases compare.

    Attributes
    ----------
    changes : Table
        Of each release and the one before, and of the last and the first, the error rates of every
        group: ``value`` of the ``release``, ``other`` of the one ``before``, their difference and
        the logarithm of their ratio with intervals, and whether it got worse.
    trends : Table
        Of three releases or more, by how many times a rate grows with each.
    record : dict
        The releases, by name.
    """

    changes: Table
    trends: Table
    record: dict[str, Any]

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.record['releases'])}>"

    def to_json(self) -> str:
        """All of it as JSON."""
        tables = {name: getattr(self, name).rows() for name in TABLES}
        return json.dumps({**self.record, **tables}, indent=1, ensure_ascii=False) + "\n"


def compare(
    *audits: Audit | str | os.PathLike[str], names: Sequence[str] | None = None
) -> Comparison:
    """Compare audits of one system, release by release.

    Parameters
    ----------
    *audits
        Two or more, the oldest first: audits with intervals, or their folders.
    names
        What they are called; without it, by their folders.

    Returns
    -------
    Comparison
        Where the trials of two are the same, speakers are taken to be the same, too, and their
        rates are paired; else they are taken as independent, which makes intervals wider. Verdicts
        allow for all groups of a grouping and all error types (Holm). Spoof accepts are compared
        where all audits have spoof trials.

    Raises
    ------
    ConfigError
        If there is one audit only, or nothing that all of them have.
    DataError
        If one is no audit with intervals.
    """
    if len(audits) < 2:
        msg = "only one audit is given"
        hint = "give two or more, the oldest first"
        raise ConfigError(msg, hint)
    release_names = _release_names(audits) if names is None else names
    releases = [
        _Release.from_audit(audit, name) for audit, name in zip(audits, release_names, strict=True)
    ]
    builders = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    # each release with the one before, and the last with the first
    pairs = [(i, i + 1) for i in range(len(releases) - 1)]
    if len(releases) > 2:
        pairs.append((0, len(releases) - 1))
    options = releases[-1].audit.record["options"]
    changed_groups: list[Row] = []
    unchanged: list[Row] = []
    shared = set(ALL_RATES).intersection(*(release.error_types for release in releases))
    for systems in _matching_systems(releases):
        rates = [
            release.rates(system, shared) for release, system in zip(releases, systems, strict=True)
        ]
        for old, new in pairs:
            key = {"release": releases[new].name, "before": releases[old].name, **systems[new]}
            changed_groups += [
                {**key, **change} for change in _group_changes(rates[old], rates[new])
            ]
            rows = list(_changes(rates[old], rates[new], options["confidence"]))
            if releases[old].has_same_scores(systems[old], releases[new], systems[new]):
                unchanged.append(key)
                rows = [_unchanged(row) for row in rows]
            if not any(row["pairing"] in {PAIRED, UNPAIRED} for row in rows):
                msg = (
                    f"{releases[old].name} and {releases[new].name} have no group in common at "
                    "the same grouping and operating point"
                )
                hint = "audit both releases with the same --by and --operating-point"
                raise ConfigError(msg, hint)
            _add_verdicts(rows, options)
            for row in rows:
                builders["changes"].add(**key, **row)
        if len(releases) > 2:
            for row in _trend_rows(rates, options):
                builders["trends"].add(**systems[-1], releases=len(releases), **row)
    record: Row = {
        "releases": [release.name for release in releases],
        "margin": options["margin"],
        "changed_groups": changed_groups,
        "unchanged": unchanged,
        **_spoof_conditions(releases, shared),
    }
    return Comparison(
        **{name: builder.table() for name, builder in builders.items()}, record=record
    )


def _spoof_conditions(releases: Sequence[_Release], shared: Container[str]) -> Row:
    """Return which error types only some releases have, and attacks where they differ."""
    conditions: Row = {}
    rates = {rate for release in releases for rate in release.error_types}
    if not_shared := [rate for rate in ALL_RATES if rate in rates and rate not in shared]:
        conditions["not_compared"] = not_shared
    attacks = {release.name: release.attacks for release in releases}
    if "sfar" in shared and len({tuple(names) for names in attacks.values()}) > 1:
        conditions["attacks"] = attacks
    return conditions


class ReleaseRate(NamedTuple):
    """One rate of one group, as one release has it."""

    value: float
    se: float
    log_se: float
    df: float
    list_sha256: str
    encoded_draws: str
    draws_fit: float
    reason: str
    sizes: tuple[int | None, ...] = ()
    """Speakers, target and nontarget trials of the group: others, if it has other people."""
    members_hash: str = ""
    """Who they are, as a hash by the key of the folder; empty in audits of before."""

    def has_same_members(self, other: ReleaseRate) -> bool:
        """Return whether the group has the same people in another release, as far as is known."""
        has_hashes = are_comparable(self.members_hash, other.members_hash)
        if has_hashes and self.members_hash != other.members_hash:
            return False
        return self.sizes == other.sizes

    def correlation(self, other: ReleaseRate) -> float | None:
        """Return that with the rate of another release; None where they are not paired."""
        if not self.list_sha256 or self.list_sha256 != other.list_sha256:
            return None
        if not self.has_same_members(other):  # people changed group, so the draws are of others
            return None
        # what the draws do not fit is taken to be each system's own
        fit = self.draws_fit * other.draws_fit
        return fit * correlation(self.encoded_draws, other.encoded_draws)


class _Release(NamedTuple):
    """An audit and its name."""

    name: str
    audit: Audit

    @classmethod
    def from_audit(cls, source: Audit | str | os.PathLike[str], name: str) -> _Release:
        """Raises DataError if it has no intervals."""
        audit = loaded_audit(source, "parivox compare", "show each release with parivox show")
        if not audit.record["options"]["intervals"] or not len(audit.verdicts):
            msg = f"{name}: has no intervals, as in audits with --no-intervals or from counts"
            hint = "audit the scores again with intervals"
            raise DataError(msg, hint)
        return cls(name, audit)

    @property
    def error_types(self) -> Sequence[str]:
        """The error types of its trials: with spoof trials, three."""
        return tuple(self.audit.record.get("error_types", RATES))

    @property
    def attacks(self) -> list[str]:
        """The known attacks of its spoof trials."""
        return sorted(self.audit.record.get("attacks", ()))

    def has_same_scores(self, system: Row, other: _Release, other_system: Row) -> bool:
        """Return whether two releases gave the trials of a list the same scores or decisions.

        As far as audits show: the same trials, the same score counts of every group, and the same
        errors of every speaker at each operating point.
        """
        # scores of decisions are unknown: those of every speaker show in the draws
        has_scores = any(
            row["operating_point"] != DEPLOYED
            for row in self.audit.operating_points.subset(**system).rows()
        )
        is_shown = len(self.audit.bins.subset(**system)) or not has_scores
        if not (len(self.audit.pairing.subset(**system)) and is_shown):
            return False
        for name in ("pairing", "bins", "spoof_bins"):
            columns, other_columns = (
                getattr(release.audit, name).subset(**of_release).to_dict()
                for release, of_release in ((self, system), (other, other_system))
            )
            # each folder has a key of its own for the hashes of members
            compared_columns = columns.keys() - {*system, "members"}
            if any(columns[column] != other_columns[column] for column in compared_columns):
                return False
        return True

    def rates(self, system: Row, metrics: Container[str]) -> dict[tuple[str, ...], ReleaseRate]:
        """Return the error rates of every group of a system at each operating point."""
        min_speakers = parse_minimums(self.audit.record["options"]["gate"]).inference
        pairing_rows = self.audit.pairing.subset(**system).rows()
        pairing = {tuple(row[name] for name in _CELL_COLUMNS): row for row in pairing_rows}
        list_sha256 = pairing_rows[0]["list_sha256"] if pairing_rows else ""
        rates = {}
        for row in self.audit.groups.subset(**system, definition="", within="").rows():
            if row["metric"] not in metrics:
                continue
            cell = tuple(row[name] for name in _CELL_COLUMNS)
            rate, se, n_speakers = (
                _nan_for_none(row[name]) for name in ("value", "se", "speakers")
            )
            # written so that an unknown number of speakers, NaN, is too few
            has_few_speakers = not n_speakers >= min_speakers
            few_reason = fact(BELOW_MINIMUM, speakers=min_speakers) if has_few_speakers else ""
            # rates without draws are not paired with others
            no_draws = {
                "se": se,
                "log_se": se / rate if rate else math.nan,
                "draws": "",
                "fit": 0.0,
            }
            draws = pairing.get(cell, no_draws)
            rates[cell] = ReleaseRate(
                rate,
                _nan_for_none(draws["se"]),
                _nan_for_none(draws["log_se"]),
                df=math.nan if has_few_speakers else n_speakers - 1,
                list_sha256=list_sha256,
                encoded_draws=draws["draws"],
                draws_fit=draws["fit"],
                reason=cell_of_row(row, "reason") or few_reason,
                sizes=tuple(row[name] for name in _SIZE_COLUMNS),
                members_hash=str(draws.get("members") or ""),
            )
        return rates


def _release_names(audits: Sequence[Any]) -> list[str]:
    """Return what releases are called: by their folders, apart from each other."""
    names = []
    for number, audit in enumerate(audits, 1):
        if isinstance(audit, (str, os.PathLike)):
            path = os.path.normpath(os.fsdecode(audit))
            names.append(os.path.basename(path))  # noqa: PTH119 - any path
        else:
            names.append(f"release {number}")
    counts = Counter(names)
    return [
        os.fsdecode(audit) if counts[name] > 1 and not isinstance(audit, Audit) else name
        for audit, name in zip(audits, names, strict=True)
    ]


def _matching_systems(releases: Sequence[_Release]) -> list[list[Row]]:
    """Return which system of each release is the same: the only ones, or those of one name."""
    systems_by_name = [
        {
            system_name(source["system"], source["list"]): {
                "system": source["system"],
                "list": source["list"],
            }
            for source in release.audit.record["inputs"]
        }
        for release in releases
    ]
    if all(len(systems) == 1 for systems in systems_by_name):
        return [[system for systems in systems_by_name for system in systems.values()]]
    shared_names = [
        name for name in systems_by_name[-1] if all(name in systems for systems in systems_by_name)
    ]
    if not shared_names:
        system_lists = "; ".join(", ".join(systems) for systems in systems_by_name)
        msg = f"no system is in all audits ({system_lists})"
        hint = "use the same system name in all audits, for example NAME=FILE"
        raise ConfigError(msg, hint)
    return [[systems[name] for systems in systems_by_name] for name in shared_names]


def _changes(
    old: Mapping[tuple[str, ...], ReleaseRate],
    new: Mapping[tuple[str, ...], ReleaseRate],
    confidence: float,
) -> Iterator[Row]:
    """Yield every rate of a release against that of the one before."""
    groupings = {cell[0] for cell in old} & {cell[0] for cell in new}
    operating_points = {cell[-1] for cell in old} & {cell[-1] for cell in new}
    for cell in dict.fromkeys((*new, *old)):
        if cell[0] not in groupings or cell[-1] not in operating_points:
            continue
        row: Row = dict(zip(_CELL_COLUMNS, cell, strict=True))
        new_rate, old_rate = new.get(cell), old.get(cell)
        row["value"] = _none_for_nan(new_rate and new_rate.value)
        row["other"] = _none_for_nan(old_rate and old_rate.value)
        if new_rate is not None and old_rate is not None:
            row |= contrast([old_rate, new_rate], [-1, 1], confidence)
        elif new_rate is None:
            row |= {**_NO_CONTRAST, "pairing": GONE, "reason": "not_in_this_release"}
        else:
            row |= {**_NO_CONTRAST, "pairing": NEW, "reason": "not_in_release_before"}
        yield row


def _unchanged(row: Row) -> Row:
    """Return a change between releases with the same scores: none, whatever the sample.

    Rates of 0, which do not vary and are therefore not paired, are unchanged, too.
    """
    are_both_known = row["pairing"] in {PAIRED, UNPAIRED} and row["df"] is not None
    if not are_both_known or row["reason"] not in {"", _SAME_IN_ALL_DRAWS, _NO_ERRORS}:
        return row
    limits = dict.fromkeys(("low", "high", "log_low", "log_high"), 0.0)
    return {**row, **limits, "difference": 0.0, "log_ratio": 0.0, "p": 1.0, "reason": ""}


def _group_changes(
    old: Mapping[tuple[str, ...], ReleaseRate], new: Mapping[tuple[str, ...], ReleaseRate]
) -> Iterator[Row]:
    """Yield the groupings in which people of the same trials changed group, with how many.

    An audit holds a hash of who is in a group, so numbers of speakers give the fewest who moved.
    """
    list_hashes = {rate.list_sha256 for rates in (old, new) for rate in rates.values()}
    if len(list_hashes) != 1 or list_hashes == {""}:
        return
    # only of what both have: other allocations place other trials, and a new grouping moves nobody
    measured_twice = {_without_group(cell) for cell in old} & {_without_group(cell) for cell in new}
    growth: dict[str, dict[str, int]] = {}
    for cell in dict.fromkeys((*old, *new)):
        grouping, group, *_ = cell
        if group == "pooled" or _without_group(cell) not in measured_twice:
            continue
        old_rate, new_rate = old.get(cell), new.get(cell)
        if old_rate is None or new_rate is None or not old_rate.has_same_members(new_rate):
            n_more = _n_speakers(new_rate) - _n_speakers(old_rate)
            growth.setdefault(grouping, {})[group] = n_more
    for grouping, groups in growth.items():
        n_joined = sum(n for n in groups.values() if n > 0)
        n_left = -sum(n for n in groups.values() if n < 0)
        yield {"grouping": grouping, "groups": [*groups], "at_least": max(n_joined, n_left, 1)}


def _without_group(cell: tuple[str, ...]) -> tuple[str, ...]:
    grouping, _, *measured = cell
    return (grouping, *measured)


def _n_speakers(rate: ReleaseRate | None) -> int:
    return 0 if rate is None else rate.sizes[0] or 0


def _trend_rows(
    rates: Sequence[Mapping[tuple[str, ...], ReleaseRate]], options: Row
) -> Iterator[Row]:
    """Yield by how much each rate grows with a release, where all have it."""
    # the slope of the logarithms over the releases, by least squares
    positions = np.arange(len(rates)) - (len(rates) - 1) / 2
    weights = (positions / np.square(positions).sum()).tolist()
    rows = [
        {
            **dict(zip(_CELL_COLUMNS, cell, strict=True)),
            **contrast([release[cell] for release in rates], weights, options["confidence"]),
        }
        for cell in rates[-1]
        if all(cell in release for release in rates)
    ]
    _add_verdicts(rows, options)
    for row in rows:
        trend = {name: row[name] for name in row if name in TABLES["trends"]}
        trend["per_release"] = _exp(row["log_ratio"])
        trend["low"] = _exp(row["log_low"])
        trend["high"] = _exp(row["log_high"])
        yield trend


_NO_CONTRAST = dict.fromkeys(
    ("difference", "low", "high", "log_ratio", "log_low", "log_high", "df", "p")
)


def contrast(rates: Sequence[ReleaseRate], weights: Sequence[float], confidence: float) -> Row:
    """Return a weighted sum of rates, and of their logarithms, with intervals by t."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - takes time to load

    correlations, pairing = np.eye(len(rates)), PAIRED
    for i, j in combinations(range(len(rates)), 2):
        pair_correlation = rates[i].correlation(rates[j])
        pairing = UNPAIRED if pair_correlation is None else pairing
        correlations[i, j] = correlations[j, i] = pair_correlation or 0.0
    df = min(rate.df for rate in rates)
    t_quantile, p = float(stdtrit(df, 0.5 + confidence / 2)), math.nan
    row: Row = {"df": _none_for_nan(df), "pairing": pairing}
    figures = [rate.value for rate in rates]
    logarithms = [_log(rate.value) for rate in rates]
    for name, prefix, terms, standard_errors in (
        ("difference", "", figures, [rate.se for rate in rates]),
        ("log_ratio", "log_", logarithms, [rate.log_se for rate in rates]),
    ):
        middle = float(np.dot(weights, terms))
        scaled = np.multiply(weights, standard_errors)
        sd = math.sqrt(max(float(scaled @ correlations @ scaled), 0.0))
        low = high = math.nan
        if sd > 0:
            low, high = middle - t_quantile * sd, middle + t_quantile * sd
            own_p = 2 * float(stdtr(df, -abs(middle) / sd))
            p = p if math.isnan(own_p) else own_p  # that of the logarithm, if there is one
        row[name] = _none_for_nan(middle)
        row[f"{prefix}low"], row[f"{prefix}high"] = _none_for_nan(low), _none_for_nan(high)
    reasons = [rate.reason for rate in rates if rate.reason]
    if row["log_low"] is None:
        reasons.append(_NO_ERRORS if row["log_ratio"] is None else _SAME_IN_ALL_DRAWS)
    return {**row, "p": _none_for_nan(p), "reason": reasons[0] if reasons else ""}


def _add_verdicts(rows: list[Row], options: Row) -> None:
    """Add whether each rate got worse, with Holm's allowance within a family.

    A family is a grouping at an operating point, with all error types.
    """
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        family = tuple(row[name] for name in ("grouping", "allocation", "operating_point"))
        families.setdefault(family, []).append(row)
    for family_rows in families.values():
        p_holm = holm([_nan_for_none(row["p"]) for row in family_rows])
        judgements = verdicts(
            [_exp(row["log_ratio"]) for row in family_rows],
            [_exp(row["log_low"]) for row in family_rows],
            [_exp(row["log_high"]) for row in family_rows],
            p_holm,
            unmet_minimum=[row["reason"] for row in family_rows],
            pooled=0.0,
            confidence=options["confidence"],
            margin=options["margin"],
        )
        for row, p, code in zip(
            family_rows, p_holm.tolist(), judgements.code.tolist(), strict=True
        ):
            row |= {"p_holm": _none_for_nan(p), "verdict": code}


def _nan_for_none(number: float | None) -> float:
    return math.nan if number is None else number


def _none_for_nan(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else number


def _log(rate: float) -> float:
    return math.log(rate) if rate > 0 else math.nan


def _exp(logarithm: float | None) -> float:
    return math.exp(_nan_for_none(logarithm))
