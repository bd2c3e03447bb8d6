"""The findings of verdicts that audits of 0.1 and 0.2 hold as sentences, as facts.

All that these sentences say is in other columns, of which the facts are made, as they are today.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.schema import IS_REFERENCE
from parivox.auditing.verdict_facts import (
    ComparedGroups,
    RateVerdict,
    SystemVerdict,
    joint_fact,
)
from parivox.core.measures import RATES
from parivox.facts import CODE_JOINT, FACT_JOINT, is_fact_cell

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

_KEY = ("system", "list", "grouping", "within", "allocation", "operating_point", "reference")
"""Columns of which rows have the same values if their groups are compared with each other."""
_WITHOUT = re.compile(
    r" without .*: (?P<ratio>[\d.]+) times (?:as frequent )?"
    r"\[(?P<low>[\d.]+), (?P<high>[\d.]+)\]\)"
)
"""The ratio without the worst group, which no column holds."""
_UNCHECKED = re.compile(r"\(not (?:checked|looked at) without")

Row = dict[str, Any]


def holds_sentences(column: Sequence[str]) -> bool:
    """Return whether a column holds sentences, not codes."""
    return not all(is_fact_cell(cell.replace(CODE_JOINT, FACT_JOINT)) for cell in {*column})


def verdict_facts(
    cells: Mapping[str, Sequence[Any]],
    infinite_points: Collection[tuple[str, str, str]],
    confidence: float,
) -> list[str]:
    """Return what each row of a table of verdicts says, as a cell of facts.

    `infinite_points` are the system, list and operating point of thresholds that are infinite.
    """
    rows: list[Row] = [
        dict(zip(cells, values, strict=True)) for values in zip(*cells.values(), strict=True)
    ]
    groups_of_key: dict[tuple[Any, ...], dict[str, dict[str, Row]]] = {}
    for row in rows:
        groups = groups_of_key.setdefault(_key(row), {})
        if row["group"]:
            groups.setdefault(row["group"], {})[row["metric"]] = row
    facts = []
    for row in rows:
        groups = groups_of_key[_key(row)]
        is_infinite = (row["system"], row["list"], row["operating_point"]) in infinite_points
        if not row["group"]:
            threshold = np.inf if is_infinite else 0.0
            facts.append(_system_facts(row, groups, threshold, confidence))
        elif row["metric"] in RATES:
            facts.append(_rate_fact(row))
        elif row["group"] == row["reference"]:
            facts.append(IS_REFERENCE)
        else:
            of_rates = {metric: groups[row["group"]][metric] for metric in RATES}
            facts.append(
                joint_fact(
                    {metric: rate["verdict"] for metric, rate in of_rates.items()},
                    {metric: rate.get("because_of", "") for metric, rate in of_rates.items()},
                )
            )
    return facts


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in _KEY)


def _number(cell: float | str | None) -> float:
    """Return a number as JSON holds it: infinite ones are texts, undefined ones missing."""
    return np.nan if cell is None else float(cell)


def _rate_fact(row: Row) -> str:
    ratio, low, high = (_number(row[name]) for name in ("ratio", "low", "high"))
    condition: dict[str, Any] = {}
    if row.get("because_of"):
        match = _WITHOUT.search(row["sentence"])
        numbers_without = (
            {name: float(text) for name, text in match.groupdict().items()} if match else {}
        )
        condition = {"without": {"groups": [row["because_of"]], **numbers_without}}
    elif _UNCHECKED.search(row["sentence"]):
        condition = {"unchecked": True}
    return RateVerdict(
        row["metric"],
        row["verdict"],
        row["reason"],
        ratio,
        low,
        high,
        row["reference"],
        condition,
    ).fact()


def _system_facts(
    row: Row, groups: Mapping[str, Mapping[str, Row]], threshold: float, confidence: float
) -> str:
    metrics = [row["metric"]] if row["metric"] in RATES else list(RATES)
    compared = [group for group in groups if group != row["reference"]]
    rate_rows = [[groups[group][metric] for group in compared] for metric in metrics]
    codes, worst_groups, reasons = (
        np.array([[rate_row.get(name, "") for rate_row in of_rate] for of_rate in rate_rows], "U")
        for name in ("verdict", "because_of", "reason")
    )
    p = _number(row.get("p_holm"))
    return SystemVerdict(
        row["verdict"],
        ComparedGroups(compared, codes, worst_groups.astype(object), reasons),
        threshold,
        row["margin"],
        len(groups),
        p,
        bool(p < 1 - confidence),
        row["reason"],
        row["reference"],
    ).facts()
