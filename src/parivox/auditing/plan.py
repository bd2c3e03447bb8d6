"""How many speakers and trials an audit needs, and what the data at hand can detect.

Each group stands against all others together, as in a verdict. How alike the trials of a speaker
are is taken from a pilot, an audit with intervals, or given; see :mod:`parivox.core.planning`.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from parivox.auditing.planned import SIDES, Asked, Seen, designs, of_groups, of_lists
from parivox.auditing.result import Audit, load
from parivox.auditing.rows import Rows
from parivox.errors import ConfigError, DataError
from parivox.shown import Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from parivox.read.table import Table

    Row = dict[str, Any]

__all__ = ["TABLES", "Plan", "plan"]

_POOLED = "pooled"
_KEY = {
    "system": "str",
    "list": "str",
    "within": "str",
    "grouping": "str",
    "allocation": "str",
    "operating_point": "str",
    "metric": "str",
}
_DESIGN = {
    "rate": "float",
    "icc": "float",
    "icc_from": "str",
    "trials_per_speaker": "float",
    "deff": "float",
}

TABLES: dict[str, dict[str, str]] = {
    "groups": {
        **_KEY,
        "group": "str",
        "speakers": "int",
        "trials": "int",
        "errors": "int",
        **_DESIGN,
        "worse": "float",
        "better": "float",
        "speakers_needed": "int",
        "trials_needed": "int",
        "reason": "str",
    },
    "designs": {
        **_KEY,
        "groups": "int",
        **_DESIGN,
        "speakers_needed": "int",
        "trials_needed": "int",
        "saved": "float",
        "reason": "str",
    },
    "curves": {
        **_KEY,
        "trials_per_speaker": "float",
        "speakers": "int",
        "power": "float",
        "worse": "float",
        "better": "float",
    },
    "lists": {
        **_KEY,
        "group": "str",
        "speakers": "int",
        "trials": "int",
        "deff": "float",
        "supported_fpr": "float",
        "target_fpr": "float",
        "expected_errors": "float",
        "half_width": "float",
        "trials_needed": "int",
        "is_supported": "bool",
        "reason": "str",
    },
}
"""Columns of each table, in order, with their kinds."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan(Shown):
    """A plan's tables and what was asked for.

    Attributes
    ----------
    groups : Table
        Groups of the pilot: nearest ratios to 1 that today's data can detect, ``worse`` and
        ``better``, and the speakers and trials that the wished ratio takes. Empty without a
        pilot.
    designs : Table
        Speakers per group, for several numbers of trials per speaker; ``saved`` is the share of
        speakers saved against the pilot's number of trials.
    curves : Table
        Power for the wished ratio, and nearest ratios, over both numbers.
    lists : Table
        FPR that a list supports, which is that of 30 independent errors, and what the target
        takes.
    asked : dict
        Options.
    """

    groups: Table
    designs: Table
    curves: Table
    lists: Table
    asked: dict[str, Any]

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {len(getattr(self, name))}" for name in TABLES)
        return f"<Plan for a ratio of {self.asked['detect_ratio']:g}; rows: {told}>"

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: getattr(self, name).to_dict() for name in TABLES}
        return {"asked": self.asked, "tables": tables}

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plan(
    pilot: Audit | str | os.PathLike[str] | None = None,
    *,
    detect_ratio: float = 2.0,
    power: float = 0.8,
    confidence: float = 0.95,
    target_fpr: float | None = None,
    rate: Mapping[str, float] | None = None,
    icc: Mapping[str, float] | None = None,
    trials_per_speaker: Mapping[str, float] | None = None,
) -> Plan:
    """Tell how many speakers and trials an audit needs, and what the data at hand can detect.

    Parameters
    ----------
    pilot
        An audit with intervals, or its folder.
    detect_ratio
        Ratio of a group's rate to that of the others that is to be detected; below 1 for groups
        that fare better.
    power
        Probability with which it is to be detected.
    confidence
        Of the two-sided test of one group.
    target_fpr
        False positive rate to plan for: FPR in every group is taken to be this, and thresholds
        are those of the pilot's operating point that is nearest.
    rate, icc, trials_per_speaker
        By metric, ``fnr`` or ``fpr``, in place of what the pilot tells: rate of the other
        groups, correlation of two trials that share a speaker, trials that a speaker takes part
        in. Without a pilot all three are needed, for two groups.

    Raises
    ------
    ConfigError
        If an option is wrong or missing.
    DataError
        If the pilot is no audit with intervals.

    Examples
    --------
    >>> found = plan(rate={"fnr": 0.1}, icc={"fnr": 0.12}, trials_per_speaker={"fnr": 24})
    >>> [(row["trials_per_speaker"], row["speakers_needed"]) for row in found.designs]
    [(6.0, 63), (12.0, 48), (24.0, 40), (48.0, 36), (96.0, 34)]
    """
    asked = Asked.of(
        detect_ratio=detect_ratio,
        power=power,
        confidence=confidence,
        target_fpr=target_fpr,
        rate=rate,
        icc=icc,
        trials_per_speaker=trials_per_speaker,
    )
    making = {name: Rows(columns) for name, columns in TABLES.items()}
    if pilot is None:
        for key, seen in _given(asked):
            _add(making, key, seen, asked)
    else:
        audit = pilot if isinstance(pilot, Audit) else load(_folder(pilot))
        for key, rows in _families(audit.groups, asked):
            _add(making, key, Seen.of(rows, key, asked), asked)
    return Plan(**{name: rows.table() for name, rows in making.items()}, asked=asdict(asked))


def _add(making: dict[str, Rows], key: Row, seen: Seen, asked: Asked) -> None:
    """Every row of one grouping, metric and operating point."""
    if key["metric"] == "fpr":
        making["lists"].add(**key, **of_lists(seen, asked))
    if key["grouping"] != "all":
        if key["grouping"]:
            making["groups"].add(**key, **of_groups(seen, asked))
        for name, block in designs(seen, asked).items():
            making[name].add(**key, **block)


def _given(asked: Asked) -> Iterator[tuple[Row, Seen]]:
    """A group of which nothing is known but what is given, for each metric with a rate."""
    metrics = [metric for metric in SIDES if asked.planned(metric) is not None]
    if not metrics:
        msg = (
            "nothing to plan from; give --pilot DIR, the folder of an audit, or --rate, --icc and "
            "--trials-per-speaker, as in --rate fnr=0.05"
        )
        raise ConfigError(msg)
    for metric in metrics:
        for option in ("icc", "trials_per_speaker"):
            if metric not in getattr(asked, option):
                name = option.replace("_", "-")
                msg = f"--{name} of {metric} is missing; without --pilot, give --{name} {metric}=X"
                raise ConfigError(msg)
        yield {**dict.fromkeys(_KEY, ""), "metric": metric}, Seen.given(metric, asked)


def _families(table: Table, asked: Asked) -> Iterator[tuple[Row, list[Row]]]:
    """Rows of all groups of one grouping, for each metric, operating point and the rest."""
    if "deff" not in table.columns:
        msg = "the pilot has no design effects; audit again with this version of Parivox"
        raise DataError(msg)
    rows = [
        row
        for row in table.where(definition="")
        if row["metric"] in SIDES and (row["group"] != _POOLED or row["grouping"] == "all")
    ]
    if not any(row["deff"] is not None or row["metric"] in asked.icc for row in rows):
        msg = (
            "the pilot has no design effects, as of an audit with --no-intervals or without "
            "errors; audit again with intervals, or give --icc, as in --icc fnr=0.1"
        )
        raise DataError(msg)
    chosen = _nearest(rows, asked.target_fpr)
    families: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        point = chosen.get((row["system"], row["list"], row["within"]), row["operating_point"])
        if row["operating_point"] == point:
            families.setdefault(tuple(row[name] for name in _KEY), []).append(row)
    for key, found in families.items():
        yield dict(zip(_KEY, key, strict=True)), found


def _nearest(rows: list[Row], target: float | None) -> dict[tuple[str, ...], str]:
    """The operating point whose FPR is nearest to the target, for each system, list and level."""
    if target is None:
        return {}
    nearest: dict[tuple[str, ...], tuple[float, str]] = {}
    for row in rows:
        if row["metric"] == "fpr" and row["grouping"] == "all":
            far = abs(math.log(row["value"] / target)) if row["value"] else math.inf
            key = (row["system"], row["list"], row["within"])
            if key not in nearest or far < nearest[key][0]:
                nearest[key] = far, row["operating_point"]
    return {key: point for key, (_, point) in nearest.items()}


def _folder(pilot: str | os.PathLike[str]) -> str:
    """The folder of a pilot."""
    try:
        return os.fsdecode(pilot)
    except TypeError:
        msg = f"pilot={pilot!r} is neither an audit nor a folder; give one of them"
        raise ConfigError(msg) from None
