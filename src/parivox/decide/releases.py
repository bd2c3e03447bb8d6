"""Audits against each other, as of one release and the next: which is better, for whom.

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
    Audit,
    TableBuilder,
    are_comparable,
    correlation,
    loaded_audit,
    parse_minimums,
    system_name,
)
from parivox.core.measures import RATES
from parivox.core.verdict import holm, verdicts
from parivox.errors import ConfigError, DataError
from parivox.shown import NotebookView

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.table import Table

    Row = dict[str, Any]

PAIRED, UNPAIRED, NEW, GONE = "paired", "unpaired", "new", "gone"
_KEY = ("system", "list", "grouping", "group", "allocation", "metric", "operating_point")
_CELL = _KEY[2:]
_SIZES = ("speakers", "target_trials", "nontarget_trials")
_ENDS = {"p": "float", "p_holm": "float", "verdict": "str"}
TABLES: dict[str, dict[str, str]] = {
    "changes": {
        "release": "str",
        "before": "str",
        **dict.fromkeys(_KEY, "str"),
        **dict.fromkeys(("value", "other", "difference", "low", "high"), "float"),
        **dict.fromkeys(("log_ratio", "log_low", "log_high", "df"), "float"),
        **_ENDS,
        "pairing": "str",
        "reason": "str",
    },
    "trends": {
        **dict.fromkeys(_KEY, "str"),
        "releases": "int",
        **dict.fromkeys(("per_release", "low", "high"), "float"),
        **_ENDS,
        "pairing": "str",
        "reason": "str",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(NotebookView):
    """How releases compare.

    Attributes
    ----------
    changes : Table
        Of each release and the one before, and of the last and the first, both rates of every
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
        allow for all groups of a grouping and both rates (Holm).

    Raises
    ------
    ConfigError
        If there is one audit only, or nothing that all of them have.
    DataError
        If one is no audit with intervals.
    """
    if len(audits) < 2:
        msg = "there is one audit only; give two or more, the oldest first"
        raise ConfigError(msg)
    called = _names(audits) if names is None else names
    releases = [_Release.of(one, name) for one, name in zip(audits, called, strict=True)]
    rows = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    systems = _systems(releases)
    pairs = [(i, i + 1) for i in range(len(releases) - 1)]
    pairs += [(0, len(releases) - 1)] * (len(releases) > 2)
    options = releases[-1].audit.record["options"]
    moved: list[Row] = []
    for same in systems:
        held = [one.rates(name) for one, name in zip(releases, same, strict=True)]
        for i, j in pairs:
            moved += [
                {"release": releases[j].name, "before": releases[i].name, **same[j], **change}
                for change in _group_changes(held[i], held[j])
            ]
            found = list(_changes(held[i], held[j], options["confidence"]))
            if not any(row["pairing"] in {PAIRED, UNPAIRED} for row in found):
                msg = (
                    f"{releases[i].name} and {releases[j].name} have no group of one grouping and "
                    "operating point in common; audit both with the same --by and "
                    "--operating-point"
                )
                raise ConfigError(msg)
            where = {"release": releases[j].name, "before": releases[i].name, **same[j]}
            _judge(found, options)
            for row in found:
                rows["changes"].add(**where, **row)
        if len(releases) > 2:
            found = list(_trends(held, options["confidence"]))
            _judge(found, options)
            for row in found:
                ends = [_exp(row[f"log_{name}"]) for name in ("ratio", "low", "high")]
                kept = {name: row[name] for name in row if name in TABLES["trends"]}
                kept |= dict(zip(("per_release", "low", "high"), ends, strict=True))
                rows["trends"].add(**same[-1], releases=len(releases), **kept)
    return Comparison(
        **{name: of.table() for name, of in rows.items()},
        record={
            "releases": [one.name for one in releases],
            "margin": options["margin"],
            "changed_groups": moved,
        },
    )


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

    def has_members_of(self, other: ReleaseRate) -> bool:
        """Whether the group has the same people in another release, as far as that is known."""
        if (
            are_comparable(self.members_hash, other.members_hash)
            and self.members_hash != other.members_hash
        ):
            return False
        return self.sizes == other.sizes

    def correlation(self, other: ReleaseRate) -> float | None:
        """With the rate of another release; None where they are not paired."""
        if not self.list_sha256 or self.list_sha256 != other.list_sha256:
            return None
        if not self.has_members_of(other):  # people changed group, so the draws are of others
            return None
        # what the draws do not fit is taken to be each system's own
        return (
            self.draws_fit * other.draws_fit * correlation(self.encoded_draws, other.encoded_draws)
        )


class _Release(NamedTuple):
    """An audit and its name."""

    name: str
    audit: Audit

    @classmethod
    def of(cls, source: Audit | str | os.PathLike[str], name: str) -> _Release:
        """Raises DataError if it has no intervals."""
        audit = loaded_audit(source)
        if not audit.record["options"]["intervals"] or not len(audit.verdicts):
            msg = f"{name}: has no intervals, as of --no-intervals or counts; audit scores again"
            raise DataError(msg)
        return cls(name, audit)

    def rates(self, where: Row) -> dict[tuple[str, ...], ReleaseRate]:
        """Both rates of every group of a system at each operating point."""
        fewest = parse_minimums(self.audit.record["options"]["gate"]).inference
        paired = {
            tuple(row[name] for name in _CELL): row
            for row in self.audit.pairing.where(**where).rows()
        }
        list_sha256 = next((row["list_sha256"] for row in paired.values()), "")
        found = {}
        for row in self.audit.groups.where(**where, definition="", within="").rows():
            if row["metric"] not in RATES:
                continue
            key = tuple(row[name] for name in _CELL)
            value, se, speakers = (_number(row[name]) for name in ("value", "se", "speakers"))
            log_se = se / value if value else math.nan
            few = not speakers >= fewest
            reason = row["reason"] or (f"fewer than {fewest} speakers" if few else "")
            of = paired.get(key, {"se": se, "log_se": log_se, "draws": "", "fit": 0.0})
            found[key] = ReleaseRate(
                value,
                _number(of["se"]),
                _number(of["log_se"]),
                df=math.nan if few else speakers - 1,
                list_sha256=list_sha256,
                encoded_draws=of["draws"],
                draws_fit=of["fit"],
                reason=reason,
                sizes=tuple(row[name] for name in _SIZES),
                members_hash=str(of.get("members") or ""),
            )
        return found


def _names(audits: Sequence[Any]) -> list[str]:
    """What releases are called: by their folders, apart from each other."""
    names = [
        os.path.basename(os.path.normpath(os.fsdecode(one)))  # noqa: PTH119 - any path
        if isinstance(one, (str, os.PathLike))
        else f"release {i + 1}"
        for i, one in enumerate(audits)
    ]
    twice = Counter(names)
    return [
        os.fsdecode(one) if twice[name] > 1 and not isinstance(one, Audit) else name
        for one, name in zip(audits, names, strict=True)
    ]


def _systems(releases: Sequence[_Release]) -> list[list[Row]]:
    """Which system of each release is the same: the only ones, or those of one name."""
    each = [
        {
            system_name(one["system"], one["list"]): {"system": one["system"], "list": one["list"]}
            for one in release.audit.record["inputs"]
        }
        for release in releases
    ]
    if all(len(of) == 1 for of in each):
        return [[next(iter(of.values())) for of in each]]
    shared = [name for name in each[-1] if all(name in of for of in each)]
    if not shared:
        listed = "; ".join(", ".join(of) for of in each)
        msg = f"no system is in all of the audits ({listed}); call it by one name, as in NAME=FILE"
        raise ConfigError(msg)
    return [[of[name] for of in each] for name in shared]


def _changes(
    old: Mapping[tuple[str, ...], ReleaseRate],
    new: Mapping[tuple[str, ...], ReleaseRate],
    confidence: float,
) -> Iterator[Row]:
    """Every rate of a release against that of the one before."""
    groupings = {key[0] for key in old} & {key[0] for key in new}
    points = {key[-1] for key in old} & {key[-1] for key in new}
    for key in dict.fromkeys((*new, *old)):
        if key[0] not in groupings or key[-1] not in points:
            continue
        row: Row = dict(zip(_CELL, key, strict=True))
        mine, theirs = new.get(key), old.get(key)
        row["value"], row["other"] = (_known(one and one.value) for one in (mine, theirs))
        if mine is not None and theirs is not None:
            row |= contrast([theirs, mine], [-1, 1], confidence)
        elif mine is None:
            row |= {**_NONE, "pairing": GONE, "reason": "not in this release"}
        else:
            row |= {**_NONE, "pairing": NEW, "reason": "not in the release before"}
        yield row


def _group_changes(
    old: Mapping[tuple[str, ...], ReleaseRate], new: Mapping[tuple[str, ...], ReleaseRate]
) -> Iterator[Row]:
    """Yield the groupings in which people of the same trials changed group, with how many.

    An audit holds a hash of who is in a group, so numbers of speakers give the fewest who moved.
    """
    lists = {rate.list_sha256 for rates in (old, new) for rate in rates.values()}
    if len(lists) != 1 or lists == {""}:
        return
    # of what both have: other allocations place other trials, and a new grouping moves nobody
    measured_twice = {_without_group(key) for key in old} & {_without_group(key) for key in new}
    growth: dict[str, dict[str, int]] = {}
    for key in dict.fromkeys((*old, *new)):
        grouping, group, *_ = key
        if group == "pooled" or _without_group(key) not in measured_twice:
            continue
        before, after = old.get(key), new.get(key)
        if before is None or after is None or not before.has_members_of(after):
            n_speakers = _n_speakers(after) - _n_speakers(before)
            growth.setdefault(grouping, {})[group] = n_speakers
    for grouping, groups in growth.items():
        came = sum(n for n in groups.values() if n > 0)
        left = -sum(n for n in groups.values() if n < 0)
        yield {"grouping": grouping, "groups": [*groups], "at_least": max(came, left, 1)}


def _without_group(key: tuple[str, ...]) -> tuple[str, ...]:
    grouping, _, *measured = key
    return (grouping, *measured)


def _n_speakers(rate: ReleaseRate | None) -> int:
    return 0 if rate is None else rate.sizes[0] or 0


def _trends(
    held: Sequence[Mapping[tuple[str, ...], ReleaseRate]], confidence: float
) -> Iterator[Row]:
    """By how much the logarithm of each rate grows with a release, where all have it."""
    at = np.arange(len(held)) - (len(held) - 1) / 2
    weights = (at / np.square(at).sum()).tolist()
    for key in held[-1]:
        if all(key in of for of in held):
            found = contrast([of[key] for of in held], weights, confidence)
            yield {**dict(zip(_CELL, key, strict=True)), **found}


_NONE = dict.fromkeys(("difference", "low", "high", "log_ratio", "log_low", "log_high", "df", "p"))


def contrast(rates: Sequence[ReleaseRate], weights: Sequence[float], confidence: float) -> Row:
    """A weighted sum of rates, and of their logarithms, with intervals by t."""
    from scipy.special import stdtr, stdtrit  # noqa: PLC0415 - takes time to load

    together, pairing = np.eye(len(rates)), PAIRED
    for i, j in combinations(range(len(rates)), 2):
        found = rates[i].correlation(rates[j])
        pairing = UNPAIRED if found is None else pairing
        together[i, j] = together[j, i] = found or 0.0
    df = min(one.df for one in rates)
    reach, p = float(stdtrit(df, 0.5 + confidence / 2)), math.nan
    row: Row = {"df": _known(df), "pairing": pairing}
    for name, start, values, ses in (
        ("difference", "", [one.value for one in rates], [one.se for one in rates]),
        ("log_ratio", "log_", [_log(one.value) for one in rates], [one.log_se for one in rates]),
    ):
        middle = float(np.dot(weights, values))
        parts = np.multiply(weights, ses)
        sd = math.sqrt(max(float(parts @ together @ parts), 0.0))
        own = 2 * float(stdtr(df, -abs(middle) / sd)) if sd > 0 else math.nan
        p = p if math.isnan(own) else own  # that of the logarithm, if there is one
        ends = (middle - reach * sd, middle + reach * sd) if sd > 0 else (math.nan, math.nan)
        told = zip((name, f"{start}low", f"{start}high"), (middle, *ends), strict=True)
        row |= {one: _known(value) for one, value in told}
    none = "no errors" if row["log_ratio"] is None else "the same in all draws"
    reason = next((one.reason for one in rates if one.reason), "")
    return {**row, "p": _known(p), "reason": reason or (none if row["log_low"] is None else "")}


def _judge(rows: list[Row], options: Row) -> None:
    """Whether each rate got worse, with Holm's allowance for its grouping and operating point."""
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        key = tuple(row[name] for name in ("grouping", "allocation", "operating_point"))
        families.setdefault(key, []).append(row)
    for of in families.values():
        p_holm = holm([_number(row["p"]) for row in of])
        ratio, low, high = (
            [_exp(row[f"log_{name}"]) for row in of] for name in ("ratio", "low", "high")
        )
        judged = verdicts(
            *(ratio, low, high, p_holm),
            gate=[row["reason"] for row in of],
            pooled=0.0,
            confidence=options["confidence"],
            margin=options["margin"],
        )
        for row, p, code in zip(of, p_holm.tolist(), judged.code.tolist(), strict=True):
            row |= {"p_holm": _known(p), "verdict": code}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _known(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def _log(value: float) -> float:
    return math.log(value) if value > 0 else math.nan


def _exp(value: float | None) -> float:
    return math.exp(_number(value))
