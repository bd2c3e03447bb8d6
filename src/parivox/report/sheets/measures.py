"""The table of meta-measures beside what a fair system would show: page, papers, terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.core.measures import BOTH, MEASURES, MetaMeasure, meta_measures
from parivox.report.scopes import RATES, name_of
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import GAP, chance, number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

_REASONS = {
    "zero_cell": "a group has no errors",
    "one_group": "there is one group",
    "no_groups": "no group has the rate",
    "no_errors": "no group has errors",
}
_OF = {"fnr": "FNR", "fpr": "FPR", BOTH: "both"}
_PLAIN = "Without intervals nothing tells how much of it is chance."
_FLOORS = (
    "Fair: what a fair system would show with these speakers and trials, on average and at most "
    "in 95 %; p: how often it would show as much. Not exceeding it is no proof of fairness."
)


def measure_of(row: Row) -> MetaMeasure:
    """The meta-measure that a row is of; one that is no longer registered keeps its id."""
    found = MEASURES.get(row["measure"])
    if isinstance(found, MetaMeasure):
        return found
    return MetaMeasure(id=row["measure"], label=row["measure"], says="a measure of your own")


def undefined(reason: str) -> str:
    """Why a meta-measure is undefined, in words."""
    return _REASONS.get(reason, reason)


def _no_p(row: Row) -> str:
    """Why a meta-measure that has a value has no p; empty where it has one."""
    if row["value"] is None or row["p"] is not None:
        return ""
    if row["floor_95"] is None:
        return "no fair system is drawn"
    if row["metric"] == "fpr" and not measure_of(row).has_p_of_fpr:
        return (
            "up to 9 in 100 fair systems, not 5, exceeded its floor in simulation: that says less"
        )
    return "a group has no errors, and so no logarithm"


def _place(row: Row) -> tuple[bool, int, int]:
    """Spread beyond noise first, as it is the one to quote; then as measures are registered."""
    one, known = measure_of(row), list(meta_measures())
    is_quoted = one.shown == "first" and not one.is_joint
    at = known.index(one.id) if one.id in known else len(known)
    return not is_quoted, at, [*_OF].index(row["metric"])


def _figure(value: float | None) -> str:
    """A measure, which has no unit, to three digits."""
    if value is None:
        return UNDEFINED
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:#.3g}".rstrip(".")


# ---- on a page


def measures_on_page(audit: Audit, where: Row, at: str) -> list[Sheet]:
    """Those to quote, and the others, of all groups and of those that count."""
    rows = [row for row in audit.meta.where(**where, zero="none").rows() if row["metric"] in _OF]
    at_point = [
        row for row in rows if row["operating_point"] == at or measure_of(row).takes == "grid"
    ]
    sizes = {row["gated"]: row["groups"] for row in at_point if row["metric"] == BOTH}
    has_gated = sizes.get(True) != sizes.get(False)
    told = [row for row in at_point if not row["gated"] or has_gated or _differs(row, at_point)]
    told.sort(key=lambda r: (*_place(r), -1 if r["alpha"] is None else r["alpha"], r["gated"]))
    made = []
    for words, shown in (("Measures", ("first", "quoted")), ("Further measures", ("further",))):
        sheet = Sheet.headed(
            f"{words} of how much groups differ",
            (
                *("Measure", "Groups", "Value", "Varies within", "Fair system: mean"),
                *("95 % within", "p", "Fairer", "Least", "Most"),
            ),
            (_cells(row) for row in told if measure_of(row).shown in shown),
            words=(1, 8, 9, 10),
        )
        made += [sheet.filled()] if sheet.rows else []
    return made


def _differs(row: Row, rows: Sequence[Row]) -> bool:
    """Whether a gated row is of other groups than its counterpart of all groups."""
    same = ("metric", "measure", "alpha", "operating_point")
    return any(
        not one["gated"] and all(one[k] == row[k] for k in same) and one["groups"] != row["groups"]
        for one in rows
    )


def _cells(row: Row) -> Iterator[str | Cell]:
    one = measure_of(row)
    label = f"{one.label} of {row['metric'].upper()}" if row["metric"] in RATES else one.label
    if one.takes == "grid":
        label = f"{label} over {row['operating_point']}"
    if row["definition"]:
        label = f"{label} ({row['definition']})"
    yield label if row["alpha"] is None else f"{label}, alpha {row['alpha']:g}"
    yield f"{number(row['groups'])} ({'without *' if row['gated'] else 'all'})"
    is_there = row["value"] is not None
    yield Cell(_figure(row["value"]), why=undefined(row["reason"]))
    if row["high"] is not None:
        yield f"[{_figure(row['low'])}, {_figure(row['high'])}]"
    else:
        why = row["note"] or "no interval: none is known to be right for it"
        yield Cell(UNDEFINED, why=why) if is_there else ""
    if not is_there:
        yield from ("", "")
    elif row["floor_95"] is None:
        none = Cell(UNDEFINED, why="no floor: no fair system was drawn for it")
        yield from (none, none)
    else:
        is_beyond = (row["value"] < row["floor_95"]) == row["higher_is_fairer"] and (
            row["value"] != row["floor_95"]
        )
        yield _figure(row["floor_mean"])
        yield f"{_figure(row['floor_95'])}{' ▲ exceeded' * is_beyond}"
    why = _no_p(row)
    yield Cell(UNDEFINED, why=f"no p: {why}") if why else chance(row["p"]) if is_there else ""
    yield "higher" if row["higher_is_fairer"] else "lower"
    yield row["low_group"] or ""
    yield row["high_group"] or ""


# ---- on paper


def measures_on_paper(audit: Audit, where: Row, at: str) -> Sheet:
    """Every meta-measure of both rates at an operating point, of the groups that count."""
    alpha = audit.record["options"]["alpha"][0]
    asked = {**where, "operating_point": at, "zero": "none"}
    rows = [
        row
        for row in audit.meta.where(**asked).rows()
        if row["metric"] in _OF and row["alpha"] in {None, alpha}
    ]
    counted = [row for row in rows if row["gated"]]
    is_gated = any(row["value"] is not None for row in counted)
    rows = counted if is_gated else [row for row in rows if not row["gated"]]
    rows.sort(key=_place)
    whose = "groups that are not under-represented" if is_gated else "all groups"
    missing = _by_reason((undefined(r["reason"] or r["note"]), r) for r in rows if not _is_there(r))
    no_p = _by_reason((reason, row) for row in rows if (reason := _no_p(row)))
    if all(row["floor_95"] is None for row in rows):
        no_p = {}
    return Sheet(
        f"{name_of(where['system'], where['list'])}: spread over {where['grouping']} at {at}, "
        f"{whose}",
        (
            Column("measure", is_words=True),
            Column("of", is_words=True),
            *map(Column, ("groups", "value", "fair, mean", "fair, 95 %", "p")),
            Column("fairer", is_words=True),
        ),
        [[*map(Cell, _on_paper(row))] for row in rows if _is_there(row)],
        _FLOORS if any(row["floor_mean"] is not None for row in rows) else _PLAIN,
        [
            *(f"Undefined, as {reason}: {', '.join(of)}." for reason, of in missing.items()),
            *(f"No p, as {reason}: {', '.join(of)}." for reason, of in no_p.items()),
        ],
    ).filled()


def _is_there(row: Row) -> bool:
    return row["value"] is not None


def _on_paper(row: Row) -> tuple[str, ...]:
    name = measure_of(row).label
    return (
        name if row["alpha"] is None else f"{name}, alpha {row['alpha']:g}",
        _OF[row["metric"]],
        number(row["groups"]),
        *(_figure(row[column]) for column in ("value", "floor_mean", "floor_95")),
        chance(row["p"]),
        "higher" if row["higher_is_fairer"] else "lower",
    )


def _by_reason(rows: Iterable[tuple[str, Row]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for reason, row in rows:
        found.setdefault(reason, []).append(f"{measure_of(row).short} of {_OF[row['metric']]}")
    return found


# ---- in the terminal


_WHOSE = {"without *": " without *", "all groups": " of all groups"}


def spread(audit: Audit, where: Row) -> tuple[Sheet | None, list[str]]:
    """The measures that are told first, of the groups that count and of all; and what they lack.

    `where` holds an operating point. The sheet is None where no measure has a value.
    """
    alpha = audit.record["options"]["alpha"][0]
    rows = [
        row
        for row in audit.meta.where(**where).rows()
        if measure_of(row).shown == "first"
        and row["metric"] in _OF
        and row["alpha"] in {None, alpha}
    ]
    rows.sort(key=_place)
    every: dict[str, dict[bool, Row]] = {}
    for row in rows:
        name = measure_of(row).short
        label = name if row["metric"] == BOTH else f"{name} of {_OF[row['metric']]}"
        every.setdefault(label, {})[row["gated"]] = row
    if not every:
        return None, []
    blocks = [("all groups", False)]
    title = ""
    if any(found[True]["groups"] != found[False]["groups"] for found in every.values()):
        if any(_is_there(found[True]) for found in every.values()):
            blocks.insert(0, ("without *", True))
        else:
            title = "Groups without * are too few for a spread; of all groups:"
    heads = [GAP + head for name, _ in blocks for head in ("n", name, "floor, 95 %", "p")]
    made = Sheet.headed(title, ("spread", *heads, f"{GAP}fairer"))
    for label, found in every.items():
        weighted = label if found[False]["alpha"] is None else f"{label}, alpha {alpha:g}"
        cells = [cell for _, is_gated in blocks for cell in _against_floor(found[is_gated])]
        cells.append("higher" if found[False]["higher_is_fairer"] else "lower")
        if any(_is_there(found[is_gated]) for _, is_gated in blocks):
            made.add(weighted, *cells)
    missing = _lacking(
        every, blocks, lambda row: "" if _is_there(row) else undefined(row["reason"])
    )
    return (made if made.rows else None), [*missing, *_lacking(every, blocks, _no_p, "No p")]


def _against_floor(row: Row) -> tuple[str, str, str, str]:
    """Of how many groups, a meta-measure, its floor and its p value."""
    n = number(row["groups"])
    if row["value"] is None:
        return n, UNDEFINED, UNDEFINED, UNDEFINED
    floor = UNDEFINED
    if row["floor_mean"] is not None:
        floor = f"{_decimals(row['floor_mean'])}, {_decimals(row['floor_95'])}"
    return n, _decimals(row["value"]), floor, chance(row["p"])


def _decimals(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.3g}"


def _lacking(
    every: Mapping[str, Mapping[bool, Row]],
    blocks: Sequence[tuple[str, bool]],
    reason_of: Callable[[Row], str],
    what: str = "Undefined",
) -> Iterator[str]:
    """Which measures lack something, by the reason."""
    missing: dict[str, dict[str, list[str]]] = {}
    for label, found in every.items():
        for name, is_gated in blocks:
            reason = reason_of(found[is_gated])
            if reason:
                missing.setdefault(reason, {}).setdefault(name, []).append(label)
    for reason, by_block in missing.items():
        is_same = len(by_block) == len(blocks) and len(set(map(tuple, by_block.values()))) == 1
        told = (
            ", ".join(labels) + ("" if is_same else _WHOSE[name])
            for name, labels in by_block.items()
        )
        yield f"{what}, as {reason}: {'; '.join(dict.fromkeys(told))}."
