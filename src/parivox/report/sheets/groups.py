"""Tables of groups: rates at one threshold and at their own, two attributes crossed, levels."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from parivox.core import verdict
from parivox.core.measures import MEASURES
from parivox.report.findings import (
    differing_in_words,
    gates_in_words,
    grouped,
    reference_in_words,
    why_unsure,
)
from parivox.report.scopes import (
    INTERVAL_IS_SHORT,
    IS_REFERENCE,
    POOLED,
    RATES,
    VERDICTS,
    has_rate,
    lacks,
    name_of,
    rates_of,
    verdicts_of,
)
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import chance, number, percent, short, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates, Verdicts
    from parivox.report.words import Row


def operating_points(audit: Audit, deployed: Mapping[tuple[str, str], str]) -> Sheet:
    """Each operating point: its threshold, and what it does to all trials.

    `deployed` has the thresholds, in words, that the trials of a system and list were decided at.
    """
    made = Sheet(
        "Operating points: one threshold for everyone",
        (
            Column("System", key="system", is_words=True),
            Column("Operating point", key="point", is_words=True),
            Column("Threshold", key="threshold"),
            Column("FPR", unit="%", key="fpr"),
            Column("FNR", unit="%", key="fnr"),
            Column("Cost", key="cost"),
            Column("Found on", key="source", is_words=True),
        ),
    )
    for row in audit.operating_points.where(within="").rows():
        name = (row["system"], row["list"])
        told = UNDEFINED if row["threshold"] is None else f"{row['threshold']:.6g}"
        if row["threshold"] is None and not row["reason"]:
            told = deployed.get(name, UNDEFINED)
        missing = {"fpr": "no impostor trials", "fnr": "no own trials"}
        lack = {} if row["reason"] else {k: w for k, w in missing.items() if row[k] is None}
        cost = UNDEFINED if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}"
        made.add(
            name_of(*name),
            row["operating_point"],
            told,
            *(Cell(_share(row[metric]), why=lack.get(metric, "")) for metric in missing),
            Cell(cost, why="; ".join(lack.values())),
            row["reason"] or row["source"],
        )
    return made


def group_rates(audit: Audit, where: Row, metric: str, at: str) -> Sheet:
    """A rate of every group at an operating point, and each group against the first reference.

    The highest rate comes first, that of all groups last. Where nothing was judged, ratios are
    those that were measured.
    """
    rates, others = rates_of(audit, where), reference_in_words(audit)
    of = verdicts_of(audit, {**where, "operating_point": at})
    against = (of or _measured(audit, where, at)).get(metric, {})
    columns = (
        Column("Group", is_words=True, key="group"),
        Column("Verdict", is_words=True, key="verdict"),
        Column("Speakers", key="speakers"),
        Column(metric.upper(), unit="%", key="rate"),
        Column("Interval", key="interval"),
        Column("Errors / trials", key="counts"),
        Column("Design effect", key="deff"),
        Column("Effective trials", key="worth"),
        Column(f"Times {others}", key="ratio"),
        Column("Interval", key="ratio_interval"),
        Column("p, adjusted", key="p"),
    )
    made = Sheet("", columns, sums=int(POOLED in rates), is_sortable=True)
    order = sorted(rates, key=lambda g: (g == POOLED, -(rates[g][metric, at]["value"] or -1)))
    for group in order:
        row, verdict_ = rates[group][metric, at], of.get(metric, {}).get(group)
        compared = against.get(group)
        made.add(
            Cell(group, "*" if verdict_ and verdict_["gates"] else ""),
            _verdict(verdict_),
            number(row["speakers"]),
            Cell(_share(row["value"]), why=row["reason"] if row["value"] is None else ""),
            _interval(row),
            Cell(_counts(row), why=row["reason"] if row["value"] is None else ""),
            *_worth(row),
            *(_against(compared, others) if compared else (Cell(""),) * 3),
        )
    return made


def _share(value: float | None) -> str:
    """A fraction in percent, without the sign."""
    return percent(value).removesuffix(" %")


def _counts(row: Row) -> str:
    return UNDEFINED if row["trials"] is None else f"{number(row['errors'])}/{row['trials']:,}"


def _interval(row: Row) -> Cell:
    """A rate's interval in percent, marked where it may be too short, or why there is none."""
    if row["value"] is None:
        return Cell(UNDEFINED)
    tilde = "~" if INTERVAL_IS_SHORT in row["note"] and row["high"] is not None else ""
    return Cell(span(row["low"], row["high"], times=100), tilde, row["note"])


def _verdict(row: Row | None) -> Cell:
    if row is None:
        return Cell("")
    if row["reason"] == IS_REFERENCE:
        return Cell("reference")
    return Cell(VERDICTS[row["verdict"]], verdict=row["verdict"])


def _worth(row: Row) -> tuple[Cell, Cell]:
    """How much less the trials tell than so many independent ones would."""
    if row["value"] is None:
        return Cell(""), Cell("")
    why = re.split("[:;]", row["note"])[0]
    why = why and f"no design effect: {why}"
    worth = number(None if row["n_eff"] is None else round(row["n_eff"]))
    return Cell(short(row["deff"]), why=why), Cell(worth, why=why)


def _against(row: Row, others: str) -> tuple[Cell, Cell, Cell]:
    """A group's ratio to the others, its interval and p."""
    if row["reason"] == IS_REFERENCE:
        return Cell("1"), Cell(""), Cell("")
    why = {
        "undefined_ratio": f"no ratio: {others} has no errors, or no trials",
        "no_interval": f"no interval: the group or {others} has too few speakers or errors",
    }.get(row["reason"]) or str(verdict.WHY.get(row["reason"] or "no_p", row["reason"]))
    ratio = None if row["ratio"] in {None, math.inf} else row["ratio"]
    limits = span(row["low"], row["high"])
    return Cell(short(ratio), why=why), Cell(limits, why=why), Cell(chance(row["p_holm"]), why=why)


def _measured(audit: Audit, where: Row, at: str) -> dict[str, dict[str, Row]]:
    """Ratios to the first reference, where nothing was judged."""
    reference = audit.record["options"]["reference"][0]
    asked = {**where, "operating_point": at, "measure": "ratio", "reference": reference}
    found: dict[str, dict[str, Row]] = {}
    for row in audit.bias.where(**asked, zero="none", definition="").rows():
        found.setdefault(row["metric"], {})[row["group"]] = {**row, "ratio": row["value"]}
    return found


# ---- on paper: both rates beside each other


def rates_on_paper(audit: Audit, where: Row, at: str) -> Sheet:
    """Both rates of every group by name, each with its interval behind it."""
    rates = rates_of(audit, where)
    lacking = lacks(verdicts_of(audit, {**where, "operating_point": at}), rates, at)
    columns = [Column("group", is_words=True), Column("speakers")]
    of_group: dict[str, list[Cell]] = {
        group: [Cell(group, "*" * (group in lacking))]
        for group in sorted(rates, key=lambda group: (group == POOLED, group))
    }
    for place, (metric, words) in enumerate(RATES.items()):
        over = f"{words} ({metric.upper()})"
        columns += [Column(head, over) for head in ("errors/trials", "%", "times", "p")]
        sheet = group_rates(audit, where, metric, at)
        keys = ("group", "speakers", "counts", "rate", "interval", "ratio", "ratio_interval", "p")
        for row in sheet.select(dict(zip(keys, keys, strict=True))).rows:
            group, speakers, counts, rate, interval, ratio, limits, p = row
            cells = [counts, _with(rate, interval), _with(ratio, limits), p]
            if ratio.text == "1" and not limits.text:
                cells[2] = Cell("reference")
            of_group[group.text] += cells if place else [speakers, *cells]
    name = name_of(where["system"], where["list"])
    how = "" if where["allocation"] == "both" else f", allocated by {where['allocation']}"
    return Sheet(
        f"{name}: {where['grouping']}{how} at {at}",
        columns,
        [*of_group.values()],
        _reading(audit, where),
        list(_notes(audit, rates, lacking, at)),
        sums=int(POOLED in rates),
    ).filled()


def _with(figure: Cell, interval: Cell) -> Cell:
    """A figure with its interval behind it, if it has one."""
    if interval.text in {"", UNDEFINED}:
        return figure
    return Cell(f"{figure.text} {interval.text}", interval.mark)


def _reading(audit: Audit, where: Row) -> str:
    unsure = why_unsure(audit, {name: where[name] for name in ("system", "list")})
    level = 100 * audit.record["options"]["confidence"]
    how = (
        f"Nothing is said of chance: {unsure}."
        if unsure
        else f"In brackets: {level:g} % intervals over speakers; p: adjusted by Holm for both "
        "rates of all groups."
    )
    return (
        "FNR: target trials rejected; FPR: nontarget trials accepted; times: the rate over that "
        f"of {reference_in_words(audit)}. {how}"
    )


def _notes(audit: Audit, rates: Rates, lacking: Mapping[str, str], at: str) -> Iterator[str]:
    """What the marks stand for, and which rates are missing."""
    if lacking:
        yield f"* {gates_in_words(audit)}: {grouped(lacking)}."
    cells = [rows[metric, at] for rows in rates.values() for metric in RATES]
    if any(INTERVAL_IS_SHORT in row["note"] and row["high"] is not None for row in cells):
        yield "~ The interval is perhaps too short, as speakers differ much or are few."
    missing: dict[str, list[str]] = {}
    for row in cells:
        if row["value"] is None:
            reason = f"No {row['metric'].upper()}, as there are {row['reason']}"
            missing.setdefault(reason, []).append(row["group"])
    yield from (f"{reason}: {', '.join(groups)}." for reason, groups in missing.items())


# ---- two attributes, or systems, against each other


class _Rates(NamedTuple):
    """A grouping at an operating point: its rates, and its verdicts."""

    rates: Rates
    judged: Verdicts
    at: str

    @classmethod
    def of(cls, audit: Audit, where: Row, at: str) -> _Rates:
        return cls(rates_of(audit, where), verdicts_of(audit, {**where, "operating_point": at}), at)

    def cell(self, group: str, metric: str) -> Cell:
        """A rate with its interval, else with its counts; a star if there is too little."""
        row = self.rates.get(group, {}).get((metric, self.at))
        if row is None:
            return Cell(UNDEFINED, why="no one: there is no such group")
        if row["value"] is None:
            return Cell(UNDEFINED, why=row["reason"])
        verdict_ = self.judged.get(metric, {}).get(group)
        star = "*" * bool(verdict_ and verdict_["gates"])
        speakers = "" if row["speakers"] is None else f"{row['speakers']:,}\u00a0sp."
        if row["high"] is None:
            return Cell(f"{_share(row['value'])} ({_counts(row)})", star, below=speakers)
        interval = _interval(row)
        below = f"{_counts(row)}, {speakers}" if speakers else _counts(row)
        told = f"{_share(row['value'])} {interval.text}{interval.mark}"
        return Cell(told, star, below=below)


def audited_points(audit: Audit, where: Row, points: Sequence[str]) -> Sheet:
    """Both rates of every group at each of several operating points."""
    each = [_Rates.of(audit, where, at) for at in points]
    groups = sorted(rates_of(audit, where), key=lambda group: (group == POOLED, group))
    return Sheet(
        "",
        [
            Column("group", is_words=True),
            *(Column(f"{metric.upper()}, %, at {at}") for at in points for metric in RATES),
        ],
        [
            [Cell(group), *(one.cell(group, metric) for one in each for metric in RATES)]
            for group in groups
        ],
        sums=int(POOLED in groups),
    )


_IN_CELLS = (
    "In each cell the rate in percent, with its interval, else with errors/trials. "
    f"* under-represented; {UNDEFINED} no such group, or no trials."
)


def crosstabs(audit: Audit, where: Row, at: str) -> list[Sheet]:
    """Both rates of an intersection of two attributes; its margins, where they were audited.

    The attribute of more values runs down.
    """
    values = _values(audit, where)
    if len(values) != 2 or not all(values.values()):
        return []
    down, across = sorted(values, key=lambda name: -len(values[name]))
    is_turned = next(iter(values)) != down
    own = _Rates.of(audit, where, at)
    margin = {name: _Rates.of(audit, {**where, "grouping": name}, at) for name in values}
    lacking = [name for name in (down, across) if not margin[name].rates]
    heads = (*values[across], *(() if down in lacking else ("all",)))
    name = name_of(where["system"], where["list"])
    made = []
    for metric in RATES:
        rows = []
        for value in values[down]:
            pairs = [(value, other) for other in values[across]]
            groups = ["+".join(pair[::-1] if is_turned else pair) for pair in pairs]
            cells = [own.cell(group, metric) for group in groups]
            rows.append([Cell(value), *[*cells, margin[down].cell(value, metric)][: len(heads)]])
        if across not in lacking:
            total = [margin[across].cell(other, metric) for other in values[across]]
            rows.append([Cell("all"), *[*total, own.cell(POOLED, metric)][: len(heads)]])
        made.append(
            Sheet(
                f"{name}: {RATES[metric]} ({metric.upper()}), %, {down} by {across} at {at}",
                [Column(down, is_words=True), *(Column(head, across) for head in heads)],
                rows,
                _IN_CELLS,
                [
                    f"No margin of {one}, which was not audited by itself: add --by {one}."
                    for one in lacking
                ],
                sums=int(across not in lacking),
                is_sortable=True,
            )
        )
    return made


def by_system(audit: Audit, grouping: str, found: Sequence[tuple[Row, str]]) -> Iterator[Sheet]:
    """Both rates of each group in every system and list, each at an operating point."""
    each = [_Rates.of(audit, where, at) for where, at in found]
    groups = {group for one in each for group in one.rates}
    order = sorted(groups, key=lambda group: (group == POOLED, group))
    points = ", ".join(dict.fromkeys(at for _, at in found))
    for metric, words in RATES.items():
        yield Sheet(
            f"{grouping}: {words} ({metric.upper()}), %, by system at {points}",
            [
                Column("group", is_words=True),
                *(Column(name_of(where["system"], where["list"])) for where, _ in found),
            ],
            [[Cell(group), *(one.cell(group, metric) for one in each)] for group in order],
            _IN_CELLS,
            sums=int(POOLED in groups),
            is_sortable=True,
        )


def _values(audit: Audit, where: Row) -> dict[str, list[str]]:
    """Values of each attribute of an intersection, whatever signs stand in them.

    The means over one attribute are told by attribute and value, so that names of groups, which
    may hold a plus sign of their own, need not be taken apart.
    """
    found: dict[str, dict[str, None]] = {name: {} for name in where["grouping"].split("+")}
    for row in audit.bias.where(**where, measure="mean_difference").rows():
        name, _, value = row["group"].partition("=")
        found.setdefault(name, {})[value] = None
    return {name: sorted(values) for name, values in found.items()}


# ---- at thresholds of their own, and within levels


def own_thresholds(audit: Audit, where: Row) -> Sheet | None:
    """EER and minimum cost of each group: how hard it is for the system."""
    columns: list[Column] = []
    cells: dict[tuple[str, int], list[Cell]] = {}
    speakers: dict[str, str] = {}
    for metric in ("eer", "min_cdet_norm"):
        rows = audit.groups.where(**where, metric=metric).rows()
        times, unit = (100, ", %") if metric == "eer" else (1, "")
        for definition in dict.fromkeys(row["definition"] for row in rows):
            head = f"{MEASURES[metric].label}{unit} ({definition})"
            columns += [Column(head), Column("Interval")]
            for row in (one for one in rows if one["definition"] == definition):
                speakers.setdefault(row["group"], number(row["speakers"]))
                value = row["value"]
                told = UNDEFINED if value is None else f"{times * value:#.3g}".rstrip(".")
                limits = "" if value is None else span(row["low"], row["high"], times=times)
                cells[row["group"], len(columns)] = [
                    Cell(told, why=row["reason"]),
                    Cell(limits, why=row["note"]),
                ]
    if not columns:
        return None
    places = range(2, len(columns) + 1, 2)
    none = [Cell(""), Cell("")]
    return Sheet(
        "Each group at the threshold that suits it best",
        [Column("Group", is_words=True), Column("Speakers"), *columns],
        [
            [Cell(group), Cell(n), *(one for at in places for one in cells.get((group, at), none))]
            for group, n in speakers.items()
        ],
        sums=int(POOLED in speakers),
        is_sortable=True,
    ).filled(keeps_reasons=True)


def levels(audit: Audit, where: Row, names: Iterable[str], at: str) -> Sheet | None:
    """Which groups differ within each level of ``--within``."""
    found = {level: rates_of(audit, {**where, "within": level}) for level in names}
    found = {level: rates for level, rates in found.items() if rates}
    known = [m for m in RATES if any(has_rate(m, at, rates) for rates in found.values())]
    if not found:
        return None
    columns = [Column("within", is_words=True, is_whole=True)]
    for metric in known:
        columns.append(Column(metric.upper()))
        columns.append(Column("groups that differ (x)", is_words=True, is_wide=True))
    made = Sheet("", columns)
    for level, rates in found.items():
        of = verdicts_of(audit, {**where, "within": level, "operating_point": at})
        cells = []
        for metric in known:
            pooled = rates[POOLED][metric, at]
            interval = span(pooled["low"], pooled["high"], times=100)
            cells += [
                f"{percent(pooled['value'])} {interval}",
                differing_in_words(of.get(metric, {})),
            ]
        made.add(level, *cells)
    return made
