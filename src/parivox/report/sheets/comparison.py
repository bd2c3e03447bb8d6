"""Tables with several of a kind side by side: systems, lists, operating points, attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.core.measures import meta_measures
from parivox.report.audit_queries import (
    ERROR_TYPES,
    POOLED,
    rates_by_group,
    system_label,
    verdicts_by_metric,
)
from parivox.report.sheets.groups import errors_over_trials, interval_cell, percent_figure
from parivox.report.sheets.sheet import UNDEFINED, Cell, Column, Sheet
from parivox.report.words import interval_text, p_value_cell, percent

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.auditing import Audit
    from parivox.data.table import Table
    from parivox.report.audit_queries import Rates, Verdicts
    from parivox.report.words import Row

_KEYS = ("system", "list", "other_system", "other_list")
_OF_ALL = {"eer": "EER", "min_cdet_norm": "min cost", "fnr": "FNR", "fpr": "FPR"}
_RANKS = {"p_more_accurate": "more accurate", "p_less_spread": "less spread", "p_both": "both"}


class GroupingComparison(NamedTuple):
    """A grouping of two systems at the first operating point of both."""

    label: str
    spreads: Sheet
    """How much groups differ in one and the other."""
    groups: list[Sheet]
    """Each group's rate in one and the other, on the same draws of speakers."""
    ranks: list[tuple[str, str, float, float]]
    """Metric, what, and the share of the draws of speakers in which one and the other is better."""


class ComparedPair(NamedTuple):
    """Two systems, or one on two lists: all trials, and each grouping."""

    names: tuple[str, str]
    speakers: str
    all_trials: Sheet
    groupings: list[GroupingComparison]

    @property
    def label(self) -> str:
        """Both names."""
        return " against ".join(self.names)


def pairs(audit: Audit) -> Iterator[ComparedPair]:
    """Every pair of systems and lists that was compared."""
    speakers = {
        tuple(row[key] for key in _KEYS): row["speakers"] for row in audit.comparison.rows()
    }
    for pair, of_whom in speakers.items():
        rows = audit.comparison.where(**dict(zip(_KEYS, pair, strict=True)), within="")
        names = (system_label(*pair[:2]), system_label(*pair[2:]))
        splits = [
            split
            for grouping in audit.record["groupings"]
            for allocation in audit.record["options"]["allocate"]
            if (split := _split(audit, rows, grouping, allocation, names))
        ]
        yield ComparedPair(names, of_whom, _against("", "all trials", names, _whole(rows)), splits)


def _against(title: str, first: str, names: tuple[str, str], rows: Iterator[list[Cell]]) -> Sheet:
    return Sheet.with_heads(title, (first, *names, "difference", "[interval]", "p"), rows)


def _whole(table: Table) -> Iterator[list[Cell]]:
    """All trials in one and the other; of several definitions of a metric, each with its own."""
    rows = table.where(grouping="all", measure="value").rows()
    rows = [row for row in rows if row["metric"] in _OF_ALL]
    every = [(row["metric"], row["operating_point"]) for row in rows]
    for row in rows:
        metric, point = row["metric"], row["operating_point"]
        at = f" at {point}" if point else ""
        how = "" if every.count((metric, point)) == 1 else f" ({row['definition']})"
        yield _cells(row, f"{_OF_ALL[metric]}{at}{how}", is_share=metric != "min_cdet_norm")


def _split(
    audit: Audit, every: Table, grouping: str, allocation: str, names: tuple[str, str]
) -> GroupingComparison | None:
    rows = every.where(grouping=grouping, allocation=allocation)
    points = [row["operating_point"] for row in rows.where(metric="fnr", definition="").rows()]
    if not points:
        return None
    how = "" if allocation == "both" else f", nontarget trials by {allocation}"
    label = f"{grouping}{how} at {points[0]}"
    at = rows.where(operating_point=points[0])
    spreads = _against("", label, names, _spreads(audit, at))
    groups = [
        _against(f"{metric.upper()} ({words}) of each group", "group", names, _groups(at, metric))
        for metric, words in ERROR_TYPES.items()
    ]
    ranks = [
        (metric.upper(), words, row["value"], row["other"])
        for metric in ERROR_TYPES
        for measure, words in _RANKS.items()
        for row in at.where(metric=metric, measure=measure).rows()
        if row["value"] is not None
    ]
    return GroupingComparison(label, spreads, [one for one in groups if one.rows], ranks)


def _spreads(audit: Audit, rows: Table) -> Iterator[list[Cell]]:
    alpha = audit.record["options"]["alpha"][0]
    for measure in meta_measures().values():
        if measure.is_joint and measure.shown == "first":
            for row in rows.where(measure=measure.id, alpha=alpha, zero="none").rows():
                yield _cells(row, measure.short, is_share=False)
    for metric in ERROR_TYPES:
        for row in rows.where(measure="spread", metric=metric).rows():
            if row["value"] is not None:
                yield _cells(row, f"spread of log {metric.upper()}", is_share=False)


def _groups(rows: Table, metric: str) -> Iterator[list[Cell]]:
    """A rate of each group in one and the other, that of all together last."""
    of_groups = rows.where(measure="value", metric=metric, definition="").rows()
    for row in sorted(of_groups, key=lambda row: row["group"] == POOLED):
        yield _cells(row, row["group"], is_share=True)


def _cells(row: Row, label: str, *, is_share: bool) -> list[Cell]:
    """A value of both, their difference, its interval and p; shares in percent."""
    times, gap, why = 100 if is_share else 1, row["difference"], row["reason"]

    def shown(value: float | None) -> str:
        return percent(value) if is_share or value is None else f"{value:.4g}"

    no_p = "no p: none is known to be right for it" if row["high"] is not None else why
    return [
        Cell(label),
        Cell(shown(row["value"]), reason=why),
        Cell(shown(row["other"]), reason=why),
        Cell(UNDEFINED if gap is None else f"{times * gap:+.3g}", reason=why),
        Cell(interval_text(row["low"], row["high"], times=times), reason=why),
        Cell(p_value_cell(row["p"]), reason=no_p),
    ]


# ---- groups in systems, at operating points, and of two attributes


class _Rates(NamedTuple):
    """A grouping at an operating point: its rates, and its verdicts."""

    rates: Rates
    judged: Verdicts
    at: str

    @classmethod
    def of(cls, audit: Audit, where: Row, at: str) -> _Rates:
        return cls(
            rates_by_group(audit, where),
            verdicts_by_metric(audit, {**where, "operating_point": at}),
            at,
        )

    def cell(self, group: str, metric: str) -> Cell:
        """A rate with its interval, else with its counts; a star if there is too little."""
        row = self.rates.get(group, {}).get((metric, self.at))
        if row is None:
            return Cell(UNDEFINED, reason="no one: there is no such group")
        if row["value"] is None:
            return Cell(UNDEFINED, reason=row["reason"])
        verdict_ = self.judged.get(metric, {}).get(group)
        star = "*" * bool(verdict_ and verdict_["gates"])
        speakers = "" if row["speakers"] is None else f"{row['speakers']:,}\u00a0sp."
        if row["high"] is None:
            return Cell(
                f"{percent_figure(row['value'])} ({errors_over_trials(row)})", star, below=speakers
            )
        interval = interval_cell(row)
        below = f"{errors_over_trials(row)}, {speakers}" if speakers else errors_over_trials(row)
        rate = f"{percent_figure(row['value'])} {interval.text}{interval.mark}"
        return Cell(rate, star, below=below)


def audited_points(audit: Audit, where: Row, points: Sequence[str]) -> Sheet:
    """Both rates of every group at each of several operating points."""
    each = [_Rates.of(audit, where, at) for at in points]
    groups = sorted(rates_by_group(audit, where), key=lambda group: (group == POOLED, group))
    return Sheet(
        "",
        [
            Column("group", is_words=True),
            *(Column(f"{metric.upper()}, %, at {at}") for at in points for metric in ERROR_TYPES),
        ],
        [
            [Cell(group), *(one.cell(group, metric) for one in each for metric in ERROR_TYPES)]
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
    name = system_label(where["system"], where["list"])
    made = []
    for metric in ERROR_TYPES:
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
                f"{name}: {ERROR_TYPES[metric]} ({metric.upper()}), %, {down} by {across} at {at}",
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
    for metric, words in ERROR_TYPES.items():
        yield Sheet(
            f"{grouping}: {words} ({metric.upper()}), %, by system at {points}",
            [
                Column("group", is_words=True),
                *(Column(system_label(where["system"], where["list"])) for where, _ in found),
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
