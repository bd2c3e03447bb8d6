"""Spoof accepts by attack: tables, and what they show about other attacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing import MAX_SHARE_DIFFERENCE
from parivox.facts import Fact
from parivox.report.attack_sentences import reference_name
from parivox.report.audit_queries import PAIR_SIZE, system_label
from parivox.report.catalogue import fact_text, note_text, reason_text
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import count_text, percent_figure, short_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.words import Row

_MAX_GROUPS_ABREAST, _MAX_COMPARED = 4, 3
"""Groups that stand beside each other, of more, each attack and group has a row; groups that are
compared in sentences."""


def attack_rows(audit: Audit, filters: Row, point: str) -> dict[str, dict[str, Row]]:
    """Return the rows of spoof accepts of a grouping, by group and attack; of all attacks last."""
    table_filters = {name: filters[name] for name in ("system", "list", "grouping")}
    rows_by_group: dict[str, dict[str, Row]] = {}
    for row in audit.attacks.subset(**table_filters, operating_point=point).rows():
        rows_by_group.setdefault(row["group"], {})[row["attack"]] = row
    return rows_by_group


def attack_table(audit: Audit, filters: Row, point: str) -> Sheet | None:
    """Return the spoof accepts of each attack, over all trials and by group; None for none."""
    rows_by_group = attack_rows(audit, filters, point)
    all_rows = attack_rows(audit, {**filters, "grouping": "all"}, point).get("all")
    if not rows_by_group or not all_rows:
        return None
    label = system_label(filters["system"], filters["list"])
    title = f"Spoof accepts by attack and {filters['grouping']}, {label} at {point}"
    if len(rows_by_group) > _MAX_GROUPS_ABREAST:
        return _long_table(title, all_rows, rows_by_group)
    groups = sorted(rows_by_group, key=lambda group: -(rows_by_group[group][""]["value"] or 0))
    comparisons = list(_compared_groups(rows_by_group)) if len(groups) == PAIR_SIZE else []
    columns = [
        Column("Attack", is_words=True),
        Column("Spoof trials"),
        Column("All trials", unit="%"),
    ]
    for group in groups:
        columns += [Column(f"{group}: accepts / trials"), Column(group, unit="%")]
    for group, reference in comparisons:
        columns.append(Column(f"{group} to {reference_name(reference)}"))
        columns.append(Column("Ratio without this attack"))
    sheet = Sheet(title, columns, sums=1)
    for attack, all_row in all_rows.items():
        cells = [Cell(attack or "all attacks"), Cell(count_text(all_row["trials"])), _rate(all_row)]
        for group in groups:
            row = rows_by_group[group][attack]
            cells += [Cell(_counts(row)), _rate(row)]
        for group, _ in comparisons:
            row = rows_by_group[group][attack]
            cells += [Cell(short_number(row[name])) for name in ("ratio", "ratio_without")]
        sheet.add(*cells)
    return sheet


def _long_table(
    title: str, all_rows: Mapping[str, Row], rows_by_group: Mapping[str, Mapping[str, Row]]
) -> Sheet:
    """Return a row for each attack and group."""
    columns = (
        Column("Attack", is_words=True),
        Column("Group", is_words=True),
        Column("Accepts / trials"),
        Column("SFAR", unit="%"),
        Column("Ratio"),
        Column("Ratio without this attack"),
    )
    sheet = Sheet(title, columns, is_sortable=True)
    for attack in all_rows:
        for group, rows in (("all", all_rows), *rows_by_group.items()):
            row = rows[attack]
            ratios = (Cell(short_number(row[name])) for name in ("ratio", "ratio_without"))
            sheet.add(attack or "all attacks", group, _counts(row), _rate(row), *ratios)
    return sheet


def _counts(row: Row) -> str:
    errors = UNDEFINED if row["errors"] is None else count_text(row["errors"])
    return f"{errors}/{row['trials']:,}"


def _rate(row: Row) -> Cell:
    return Cell(percent_figure(row["value"]), reason=reason_text(row))


# ---- sentences


def attack_sentences(audit: Audit, filters: Row, point: str) -> Iterator[str]:
    """Yield how spoof accepts of a grouping differ between attacks, and what that shows."""
    rows_by_group = attack_rows(audit, filters, point)
    all_rows = attack_rows(audit, {**filters, "grouping": "all"}, point).get("all", {})
    by_rate = _attacks_by(all_rows, "value")
    if not by_rate or not rows_by_group:
        return
    yield _sentence("extremes_of_attacks", extremes=_extremes(by_rate, "value", "rate"))
    yield from _highest_attacks(rows_by_group)
    has_comparison = False
    for group, reference in _compared_groups(rows_by_group):
        sentences = list(_comparison_sentences(group, reference, rows_by_group[group]))
        has_comparison |= bool(sentences)
        yield from sentences
    if has_comparison:
        yield _sentence("agreement_of_attacks")
    yield from _standardised_sentences(rows_by_group)
    yield _sentence("spoof_trials_made_for_test")
    yield _sentence("system_or_quality_of_recordings")


def _sentence(code: str, **values: Any) -> str:
    return fact_text(Fact(code, values))


def _attacks_by(rows: Mapping[str, Row], column: str) -> list[Row]:
    """Return the rows of attacks that have a value in a column, in rising order of it."""
    rows_with_value = [row for row in rows.values() if row["attack"] and row[column] is not None]
    return sorted(rows_with_value, key=lambda row: (row[column], row["attack"]))


def _extremes(rows: Sequence[Row], column: str, name: str) -> list[dict[str, Any]]:
    """Return the lowest and the highest value under a name, each with its attack."""
    ends = rows if len(rows) == 1 else (rows[0], rows[-1])
    return [{"attack": row["attack"], name: row[column]} for row in ends]


def _highest_attacks(rows_by_group: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Yield the attack that is accepted most often in each group, of few groups."""
    if len(rows_by_group) > _MAX_GROUPS_ABREAST:
        return
    highest = {group: _attacks_by(rows, "value")[-1:] for group, rows in rows_by_group.items()}
    attacks_of_groups = [
        {"group": group, "attack": row["attack"], "rate": row["value"]}
        for group, rows in highest.items()
        for row in rows
    ]
    yield _sentence("highest_attack_of_groups", groups=attacks_of_groups)


def _compared_groups(
    rows_by_group: Mapping[str, Mapping[str, Row]],
) -> Iterator[tuple[str, str]]:
    """Yield each group with what it is compared with: of two groups, the one with the higher SFAR.

    Of more groups, those with the highest ratios come, as the table has all of them.
    """
    compared = [
        group
        for group, rows in rows_by_group.items()
        if rows[""]["ratio"] is not None and group != rows[""]["reference"]
    ]
    compared.sort(key=lambda group: -rows_by_group[group][""]["ratio"])
    for group in compared[: 1 if len(rows_by_group) == PAIR_SIZE else _MAX_COMPARED]:
        reference = rows_by_group[group][""]["reference"]
        if reference == "others" and len(rows_by_group) == PAIR_SIZE:
            reference = next(iter(rows_by_group.keys() - {group}))
        yield group, reference


def _comparison_sentences(group: str, reference: str, rows: Mapping[str, Row]) -> Iterator[str]:
    """Yield for how many attacks a group is above its reference, and for what the ratio holds."""
    compared = [row for row in _attacks_by(rows, "value") if row["reference_value"] is not None]
    if not compared:  # the group and its reference faced other attacks
        return
    names = {"group": group, "reference": reference}
    yield _sentence(
        "attacks_above_reference",
        **names,
        higher=sum(row["value"] > row["reference_value"] for row in compared),
        attacks=len(compared),
    )
    total, ratio_rows = rows[""], _attacks_by(rows, "ratio_without")
    if len(ratio_rows) > 1:
        extremes = _extremes(ratio_rows, "ratio_without", "ratio")
        yield _sentence("ratio_without_one_attack", **names, extremes=extremes)
    if total["high"] is not None:
        limits = {name: total[name] for name in ("ratio", "low", "high")}
        yield _sentence("ratio_for_new_attacks", **names, **limits)
    elif total["note"]:
        yield note_text(total)


def _standardised_sentences(rows_by_group: Mapping[str, Mapping[str, Row]]) -> Iterator[str]:
    """Yield the SFAR with equal weight for each attack, where shares of attacks differ."""
    shares_of_attacks: dict[str, list[float]] = {}
    for rows in rows_by_group.values():
        for attack, row in rows.items():
            if row["share"] is not None:
                shares_of_attacks.setdefault(attack, []).append(row["share"])
    difference = max(max(shares) - min(shares) for shares in shares_of_attacks.values())
    if difference <= MAX_SHARE_DIFFERENCE:
        return
    rates = [
        {"group": group, "rate": rows[""]["standardised"]}
        for group, rows in rows_by_group.items()
        if rows[""]["standardised"] is not None
    ]
    ratios = [
        {
            "group": group,
            "reference": reference,
            "ratio": rows_by_group[group][""]["standardised_ratio"],
        }
        for group, reference in _compared_groups(rows_by_group)
        if rows_by_group[group][""]["standardised_ratio"] is not None
    ]
    yield _sentence(
        "attack_shares_differ_between_groups", difference=difference, groups=rates, ratios=ratios
    )
