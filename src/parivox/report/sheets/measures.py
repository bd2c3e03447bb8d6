"""The table of meta-measures beside what a fair system would show: page, papers, terminal."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from parivox.core.measures import BOTH, MEASURES, MetaMeasure, meta_measures
from parivox.report.audit_queries import (
    ERROR_TYPES,
    NOT_UNDER_REPRESENTED,
    covers_same_groups,
    groups_left_out,
    has_several_systems,
    measured_groups_text,
    omission_reasons,
    system_label,
    without_groups_text,
)
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import GAP, count_text, p_value_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

_REASONS = {
    "zero_cell": "a group has no errors",
    "one_group": "there is one group",
    "no_groups": "no group has the rate",
    "no_errors": "no group has errors",
}
_OF = {"fnr": "FNR", "fpr": "FPR", BOTH: "both"}
_UNMARKED, _IN_ALL, _OF_ALL = "without *", "judged in all", "of all"
"""Whose measures stand in a block of the terminal: of groups here, in all systems, and all."""
_PLAIN = "Without intervals nothing tells how much of it is chance."
_FLOORS = (
    "Equal: what a system with equal rates in all groups would show with these speakers and "
    "trials, on average and at most in 95 %; p: how often as much. A value within it does not show "
    "fairness."
)


def measure_of(row: Row) -> MetaMeasure:
    """The meta-measure that a row is of; one that is no longer registered keeps its id."""
    found = MEASURES.get(row["measure"])
    if isinstance(found, MetaMeasure):
        return found
    return MetaMeasure(id=row["measure"], label=row["measure"], says="a measure of your own")


def undefined_reason(reason: str) -> str:
    """Why a meta-measure is undefined, in words."""
    return _REASONS.get(reason, reason)


def _why_undefined(row: Row) -> str:
    """Why a meta-measure has no value; empty where it has one."""
    return "" if row["value"] is not None else undefined_reason(row["reason"])


def _no_p(row: Row) -> str:
    """Why a meta-measure that has a value has no p; empty where it has one."""
    if row["value"] is None or row["p"] is not None:
        return ""
    if row["floor_95"] is None:
        return "no noise floor is known for it"
    return "a group has no errors, and so no logarithm"


def _place(row: Row) -> tuple[bool, int, int]:
    """Spread beyond noise first, as it is the one to quote; then as measures are registered."""
    one, known = measure_of(row), list(meta_measures())
    is_quoted = one.shown == "first" and not one.is_joint
    at = known.index(one.id) if one.id in known else len(known)
    return not is_quoted, at, [*_OF].index(row["metric"])


def _of_one_alpha(audit: Audit, where: Row) -> list[Row]:
    """Measures of both rates, those that weigh them by the first alpha, in their order."""
    alpha = audit.record["options"]["alpha"][0]
    rows = audit.meta.where(**{**where, "zero": "none"}).rows()
    of = [row for row in rows if row["metric"] in _OF and row["alpha"] in {None, alpha}]
    return sorted(of, key=_place)


def _weighted(name: str, row: Row) -> str:
    """A name with the weight of the rates, if they are weighed."""
    return name if row["alpha"] is None else f"{name}, alpha {row['alpha']:g}"


def _fairer(row: Row) -> str:
    return "higher" if row["higher_is_fairer"] else "lower"


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
    chosen = [row for row in at_point if not row["gated"] or _differs(row, at_point)]
    chosen.sort(key=lambda r: (*_place(r), -1 if r["alpha"] is None else r["alpha"], r["gated"]))
    names = groups_left_out(row for row in chosen if measure_of(row).takes != "grid")
    left_out = omission_reasons(audit, {**where, "operating_point": at}, names)
    made = []
    for words, shown in (("Measures", ("first", "quoted")), ("Further measures", ("further",))):
        sheet = Sheet.with_heads(
            f"{words} of how much groups differ",
            (
                *("Measure", "Groups", "Value", "Varies within", "Equal rates: mean"),
                *("95 % within", "p", "Fairer", "Least", "Most"),
            ),
            (_cells(row) for row in chosen if measure_of(row).shown in shown),
            words=(1, 8, 9, 10),
        )
        if left_out and sheet.rows:
            sheet = replace(sheet, notes=[*sheet.notes, f"Left out: {', '.join(left_out)}."])
        made += [sheet.without_empty_columns()] if sheet.rows else []
    return made


def _differs(row: Row, rows: Sequence[Row]) -> bool:
    """Whether a gated row is of other groups than its counterpart of all groups."""
    same = ("metric", "measure", "alpha", "operating_point")
    return any(
        not one["gated"] and all(one[k] == row[k] for k in same) and one["groups"] != row["groups"]
        for one in rows
    )


def _cells(row: Row) -> Iterator[str | Cell]:
    """A measure with its interval, beside what a fair system would show, or why it lacks them."""
    one, value = measure_of(row), row["value"]
    label = f"{one.label} of {row['metric'].upper()}" if row["metric"] in ERROR_TYPES else one.label
    if one.takes == "grid":
        label = f"{label} over {row['operating_point']}"
    if row["definition"]:
        label = f"{label} ({row['definition']})"
    yield _weighted(label, row)
    yield f"{count_text(row['groups'])} ({_whose(row)})"
    yield Cell(_figure(value), reason=undefined_reason(row["reason"]))
    if row["high"] is not None:
        yield f"[{_figure(row['low'])}, {_figure(row['high'])}]"
    elif value is None:
        yield ""
    else:
        yield Cell(UNDEFINED, reason=row["note"] or "no interval: none is known to be right for it")
    if value is None:
        yield from ("", "", "")
    else:
        why = "no noise floor is known for it"
        floor, is_fairer_above = row["floor_95"], row["higher_is_fairer"]
        is_beyond = floor is not None and (value < floor if is_fairer_above else value > floor)
        yield Cell(_figure(row["floor_mean"] if floor is not None else None), reason=why)
        yield Cell(f"{_figure(floor)}{' ▲ exceeded' * is_beyond}", reason=why)
        why = _no_p(row)
        yield Cell(UNDEFINED, reason=f"no p: {why}") if why else p_value_cell(row["p"])
    yield _fairer(row)
    yield row["low_group"] or ""
    yield row["high_group"] or ""


def _whose(row: Row) -> str:
    """Of which groups a measure is, to stand behind their number."""
    if not row["gated"]:
        return "all"
    names = groups_left_out([row])
    return without_groups_text(names) if names else "without *"


# ---- on paper


def measures_on_paper(audit: Audit, where: Row, at: str) -> Sheet:
    """Every meta-measure of both rates at an operating point, of the groups that count."""
    here = {**where, "operating_point": at}
    every = _of_one_alpha(audit, here)
    is_gated = any(row["gated"] and row["value"] is not None for row in every)
    whose = f"groups that {NOT_UNDER_REPRESENTED}" if is_gated else "all groups"
    if is_gated and not covers_same_groups(audit, here):
        # an audit of before, whose systems were measured on different groups
        is_gated = False
        whose = "all groups, as other groups are under-represented in other systems"
    rows = [row for row in every if row["gated"] == is_gated]
    names = groups_left_out(rows)
    of_all = {_same_measure(row): row for row in every if not row["gated"]} if names else {}
    if names:
        whose = measured_groups_text(audit, names)
    has_floors = any(row["floor_95"] is not None for row in rows)
    lacks = [
        (f"Undefined, as {undefined_reason(row['reason'] or row['note'])}", row)
        for row in rows
        if row["value"] is None
    ]
    if has_floors:
        lacks += [(f"No p, as {reason}", row) for row in rows if (reason := _no_p(row))]
    missing: dict[str, list[str]] = {}
    for what, row in lacks:
        missing.setdefault(what, []).append(f"{measure_of(row).short} of {_OF[row['metric']]}")
    return Sheet(
        f"{system_label(where['system'], where['list'])}: spread over {where['grouping']} at {at}, "
        f"{whose}",
        (
            Column("measure", is_words=True),
            Column("of", is_words=True),
            *map(Column, ("groups", "value", "equal, mean", "equal, 95 %", "p")),
            *map(Column, ("all groups", "value of all") if names else ()),
            Column("fairer", is_words=True),
        ),
        [
            [
                Cell(_weighted(measure_of(row).label, row)),
                Cell(_OF[row["metric"]]),
                Cell(count_text(row["groups"])),
                *(Cell(_figure(row[name])) for name in ("value", "floor_mean", "floor_95")),
                Cell(p_value_cell(row["p"])),
                *(_beside(of_all.get(_same_measure(row))) if names else ()),
                Cell(_fairer(row)),
            ]
            for row in rows
            if row["value"] is not None
        ],
        _FLOORS if any(row["floor_mean"] is not None for row in rows) else _PLAIN,
        [
            *([f"Left out: {', '.join(omission_reasons(audit, here, names))}."] if names else ()),
            *(f"{what}: {', '.join(labels)}." for what, labels in missing.items()),
        ],
    ).without_empty_columns()


def _same_measure(row: Row) -> tuple[str, str, str, float | None]:
    """What rows of the same measure have in common, of whichever groups they are."""
    return row["metric"], row["definition"], row["measure"], row["alpha"]


def _beside(row: Row | None) -> Iterator[Cell]:
    """The same measure of all groups: their number and its value."""
    yield Cell(UNDEFINED if row is None else count_text(row["groups"]))
    yield Cell(UNDEFINED if row is None else _figure(row["value"]))


# ---- in the terminal


def spread_table(audit: Audit, where: Row) -> tuple[Sheet | None, list[str]]:
    """The measures that are told first, of the groups that count and of all; and what they lack.

    `where` holds an operating point. The sheet is None where no measure has a value.
    """
    every: dict[str, dict[bool, Row]] = {}
    for row in _of_one_alpha(audit, where):
        if measure_of(row).shown == "first":
            name = measure_of(row).short
            label = name if row["metric"] == BOTH else f"{name} of {_OF[row['metric']]}"
            every.setdefault(label, {})[row["gated"]] = row
    if not every:
        return None, []
    blocks = {_OF_ALL: False}
    title = ""
    left_out = groups_left_out(by_gate[True] for by_gate in every.values())
    is_shared = bool(left_out) and has_several_systems(audit)
    if any(by_gate[True]["groups"] != by_gate[False]["groups"] for by_gate in every.values()):
        if any(by_gate[True]["value"] is not None for by_gate in every.values()):
            blocks = {_IN_ALL if is_shared else _UNMARKED: True, _OF_ALL: False}
        else:
            whose = "judged in all systems" if is_shared else _UNMARKED
            title = f"Groups {whose} are too few for a spread; of all groups:"
    heads = [GAP + head for name in blocks for head in ("n", name, "floor, 95 %", "p")]
    made = Sheet.with_heads(title, ("spread", *heads, f"{GAP}fairer"))
    over = ["", *(name for name in blocks for _ in range(len(heads) // len(blocks))), ""]
    columns = [one._replace(span_head=name) for one, name in zip(made.columns, over, strict=True)]
    made = replace(made, columns=columns)
    for label, by_gate in every.items():
        rows = [by_gate[is_gated] for is_gated in blocks.values()]
        if any(row["value"] is not None for row in rows):
            cells = [cell for row in rows for cell in _against_floor(row)]
            made.add(_weighted(label, by_gate[False]), *cells, _fairer(by_gate[False]))
    notes = [*_lacking(every, blocks, _why_undefined, "Undefined")]
    notes += _lacking(every, blocks, _no_p, "No p")
    if is_shared:
        notes.append(f"Not judged in all: {', '.join(omission_reasons(audit, where, left_out))}.")
    return (made if made.rows else None), notes


def _against_floor(row: Row) -> tuple[str, str, str, str]:
    """Of how many groups, a meta-measure, its floor and its p value."""
    n = count_text(row["groups"])
    if row["value"] is None:
        return n, UNDEFINED, UNDEFINED, UNDEFINED
    floor = UNDEFINED
    if row["floor_mean"] is not None:
        floor = f"{_decimals(row['floor_mean'])}, {_decimals(row['floor_95'])}"
    return n, _decimals(row["value"]), floor, p_value_cell(row["p"])


def _decimals(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 1 else f"{value:.3g}"


def _lacking(
    every: Mapping[str, Mapping[bool, Row]],
    blocks: Mapping[str, bool],
    reason_of: Callable[[Row], str],
    what: str,
) -> Iterator[str]:
    """Which measures lack something, by the reason."""
    missing: dict[str, dict[str, list[str]]] = {}
    for label, by_gate in every.items():
        for name, is_gated in blocks.items():
            reason = reason_of(by_gate[is_gated])
            if reason:
                missing.setdefault(reason, {}).setdefault(name, []).append(label)
    for reason, by_block in missing.items():
        is_same = len(by_block) == len(blocks) and len(set(map(tuple, by_block.values()))) == 1
        whose = {_UNMARKED: " without *", _IN_ALL: " judged in all", _OF_ALL: " of all groups"}
        labels = (", ".join(of) + ("" if is_same else whose[name]) for name, of in by_block.items())
        yield f"{what}, as {reason}: {'; '.join(dict.fromkeys(labels))}."
