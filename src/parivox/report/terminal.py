"""The summary that a person reads in a terminal, made from an audit's tables alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table as Grid

from parivox.report.findings import (
    SET_APART,
    confounded,
    contradictions,
    deployed_at,
    figures,
    gates_in_words,
    grouped,
    limits,
    of_data,
    own_thresholds,
    reference_in_words,
    set_aside,
    trends,
    why_unsure,
    worst_tenth,
)
from parivox.report.scopes import (
    BOTH,
    RATES,
    differing,
    has_rate,
    lacks,
    name_of,
    rates_of,
    verdicts_of,
)
from parivox.report.sheets.as_counted import both_rates, extremes, sizes, worst_of_levels
from parivox.report.sheets.comparison import pairs
from parivox.report.sheets.groups import group_rates, levels, operating_points
from parivox.report.sheets.measures import measure_of, spread, undefined
from parivox.report.sheets.people import attempts, failures, people, standardised
from parivox.report.sheets.sheet import Cell, Sheet, in_terminal
from parivox.report.words import GAP, add, percent, show, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType
    from rich.text import Text

    from parivox.auditing.result import Audit
    from parivox.report.scopes import Rates
    from parivox.report.words import Row

_COUNTED_AT = "counted at thresholds "
_MOST_TOLD = 10
"""Groups that differ whose figures stand under the answer, at each operating point."""
_IN_CLOSED_FORM = {"", "speakers", "zero-errors"}


def print_summary(audit: Audit, *, out: Path | None = None) -> None:
    """Print the summary: with colours in a terminal, plain lines elsewhere."""
    show(summary(audit, out=out))


def summary(audit: Audit, *, out: Path | None = None) -> Group:
    """Everything worth saying at once, as rich shows it.

    Parameters
    ----------
    audit
        The result; only its tables and record are read.
    out
        Where the files were written, to be named at the end.
    """
    return Group(*_parts(audit, out))


def _parts(audit: Audit, out: Path | None) -> Iterator[RenderableType]:
    if audit.record["groupings_chosen_by"] != "user":
        names = ", ".join(audit.record["groupings"])
        yield text(f"No --by given: grouped by {names} ({audit.record['groupings_chosen_by']}).")
    yield from _id_column(audit)
    reasons: dict[str, None] = {}
    for entry in audit.record["inputs"]:
        name = {"system": entry["system"], "list": entry["list"]}
        reasons[why_unsure(audit, name)] = None
        yield from _system(audit, name)
    yield from _comparison(audit)
    for why in filter(None, reasons):
        yield text(
            f"Nothing is said of chance: {why}. Read every ratio as a point value: groups of few "
            "speakers or few errors differ by chance alone, often by a factor of two or more.",
            style="yellow",
            apart=True,
        )
    if "" in reasons:
        yield text(_legend(audit), style="dim", apart=True)
    if not audit.record["resolution"]["exact"]:
        bounds = audit.record["resolution"]["bounds"].values()
        rate, score = (max(bound[kind] for bound in bounds) for kind in ("rate", "score"))
        yield text(
            "Scores were counted in bins: error counts at the thresholds shown are exact. EER, "
            f"minimum cost, AUC and the like are within {rate:.2g} of the exact ones in every "
            f"group, score shifts within {score:.2g} of a score."
        )
    if out is not None:
        names = ", ".join(sorted(audit.tables()))
        yield text(
            f"Every number behind this, and the rest, is in {out}: audit.json, {names}.",
            apart=True,
        )


def _id_column(audit: Audit) -> Iterator[RenderableType]:
    """By which column of their table the speakers are known."""
    for entry in audit.provenance:
        if entry.get("role") == "speakers":
            column = entry["columns"]["id"]
            told = f"column {column!r}" if column else "a column without a name"
            yield text(f"Speakers are known by {told} of their table.")


def _system(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """One system on one list."""
    label = name_of(name["system"], name["list"])
    whole = audit.groups.where(**name, grouping="all", within="").rows()[0]
    yield text(label, style="bold", apart=True)
    yield text(of_data(audit, name))
    counted = audit.data.where(**name, source="counts").rows()
    if counted:
        yield _counted(counted)
    aside = set_aside(audit, name)
    if aside:
        yield text("Noted: " + "; ".join(aside) + ".")
    if audit.record["options"].get("conflicts") == "set-aside":
        yield text(contradictions(audit, name))
    yield from _list_checks(audit, "@".join(filter(None, name.values())))
    points = audit.operating_points.where(**name, within="").rows()
    yield text(
        "Thresholds, each one for all groups, found on all trials:"
        if all(p["source"] == "these trials" for p in points)
        else "Thresholds, each one for all groups:"
    )
    yield from in_terminal(_points(audit, name))
    first_found = next((p for p in points if not p["reason"]), None)
    if first_found is None:
        yield _no_threshold(points, whole, counted)
    is_sure = not why_unsure(audit, name)
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            where = {**name, "grouping": grouping, "allocation": allocation}
            rates = rates_of(audit, {**where, "within": ""})
            if rates:
                n = len(rates) - ("pooled" in rates)
                yield _heading(grouping, allocation, n)
                if first_found is None:
                    yield from in_terminal(sizes(rates))
                    continue
                yield from _grouping(audit, where, rates, points, first_found, is_sure=is_sure)
    if "compat" in audit.record:
        yield from _compat(audit, name)


def _grouping(
    audit: Audit, where: Row, rates: Rates, points: list[Row], point: Row, *, is_sure: bool
) -> Iterator[RenderableType]:
    """One grouping under one allocation, where there are rates."""
    at, options = point["operating_point"], audit.record["options"]
    if is_sure:
        yield from _answer(audit, where, rates, points)
        yield from _own_thresholds(audit, where)
        for words, is_warning in confounded(audit, where):
            yield text(words, style="yellow" if is_warning else "")
        yield from _every_group(audit, where, rates, point)
        yield from map(text, limits(audit, where, points))
        yield from _shown(people(audit, where, at))
        yield from map(text, worst_tenth(audit, where, at))
        yield from _shown(attempts(audit, where, at))
        yield from map(text, trends(audit, where, at))
        yield from _shown(standardised(audit, where, rates, at, options["standardise"]))
    else:
        yield from _as_counted(audit, where, rates, points, point)
    yield from _shown(failures(audit, where, rates, at))
    names = dict.fromkeys(row["within"] for row in audit.operating_points.rows())
    known = [level for level in names if level and rates_of(audit, {**where, "within": level})]
    if known:
        versus = "" if is_sure else ", x the level's own pooled row"
        yield text(f"Within each level at {at}, same thresholds{versus}:")
        by_level = {level: rates_of(audit, {**where, "within": level}) for level in known}
        found = levels(audit, where, known, at) if is_sure else worst_of_levels(by_level, at)
        if found:
            yield from in_terminal(found)


def _shown(sheets: Iterable[Sheet]) -> Iterator[RenderableType]:
    for one in sheets:
        yield from in_terminal(one)


def _counted(rows: list[Row]) -> Text:
    """Of how many files of counts an audit is, and what they cannot tell."""
    files = next(row["count"] for row in rows if row["item"] == "files of counts")
    unknown = [row["item"].partition(": ")[2] for row in rows if row["item"].startswith("not ")]
    withheld = [row for row in rows if "withheld" in row["item"]]
    lost = f" {len(withheld)} groups or levels are withheld." if withheld else ""
    return text(
        f"From {files} file{'s' * (files > 1)} of counts, which cannot tell: "
        f"{'; '.join(unknown)}.{lost}"
    )


def _no_threshold(points: list[Row], whole: Row, counted: list[Row]) -> Text:
    """Why there are no rates, and the mend."""
    reasons = list(dict.fromkeys(point["reason"] for point in points))
    both = whole["target_trials"] and whole["nontarget_trials"]
    at = [row["item"] for row in counted if row["item"].startswith(_COUNTED_AT)]
    mend = f", X one of {at[0].removeprefix(_COUNTED_AT)}" if at else ", or eer" if both else ""
    return text(
        f"No operating point has a threshold ({'; '.join(reasons)}), so no group has rates; give "
        f"one with --operating-point threshold=X{mend}."
    )


def _heading(grouping: str, allocation: str, n: int) -> Text:
    how = "" if allocation == "both" else f", nontarget trials allocated by {allocation}"
    return text(f"{grouping}: {n} groups{how}", style="bold", apart=True)


def _list_checks(audit: Audit, name: str) -> Iterator[Text]:
    """Checks that the list fails: those that set groups apart in words, the others by id."""
    lists = audit.record.get("list_checks", {})
    failed = lists.get(name)
    if not failed:
        return
    first = next(one for one, checks in lists.items() if checks == failed)
    if first != name:
        yield text(f"The list fails what that of {first} fails.")
        return
    apart = [row for row in failed if row["id"] in SET_APART]
    told = "".join(f"Groups are not alike ({row['id']}): {row['sentence']}. " for row in apart)
    others = ", ".join(row["id"] for row in failed if row not in apart)
    rest = f"The list {'also ' * bool(apart)}fails {others}. " if others else ""
    yield text(f"{told}{rest}parivox trials check tells more.")


def _points(audit: Audit, name: Row) -> Sheet:
    """The operating points of a system; those without a threshold say why."""
    heads = ("point", "threshold", "fpr", "fnr", "cost", "source")
    names = ("operating point", "threshold", "FPR", "FNR", "cost", "found on")
    key = (name["system"], name["list"])
    every = operating_points(audit, {key: deployed_at(audit, name)})
    own = [row for row in every.rows if row[0].text == name_of(*key)]
    return replace(every, rows=own, title="").select(dict(zip(heads, names, strict=True)))


# ---- where intervals are known


def _answer(
    audit: Audit, where: Row, rates: Rates, points: Sequence[Row]
) -> Iterator[RenderableType]:
    """The verdict on the system at each point, and on the groups that differ."""
    for point in points:
        if point["reason"]:
            continue
        at = point["operating_point"]
        asked = {**where, "within": "", "operating_point": at}
        system = {row["metric"]: row for row in audit.verdicts.where(**asked, group="").rows()}
        if not system:
            reference = audit.record["options"]["reference"][0]
            yield text(f"At {at}: no verdicts, as {reference} is no group of this grouping.")
            continue
        yield text(f"At {at}:", style="bold")
        made = _pairs(is_close=True)
        by_sentence: dict[str, list[str]] = {}
        for metric, words in RATES.items():
            if has_rate(metric, at, rates):
                label = f"{words} ({metric.upper()})"
                by_sentence.setdefault(system[metric]["sentence"], []).append(label)
        for sentence, labels in by_sentence.items():
            add(made, labels[0] if len(labels) == 1 else "FNR and FPR", sentence)
        of = verdicts_of(audit, asked)
        differ = differing(of)
        for group in differ[:_MOST_TOLD]:
            add(made, group, figures(of, group, rates, at))
        if len(differ) > _MOST_TOLD:
            add(made, "", f"and {len(differ) - _MOST_TOLD} more that differ")
        yield Padding(made, (0, 0, 0, 2))


def _own_thresholds(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """Each group's own EER."""
    made = _pairs()
    for words, sentence in own_thresholds(audit, where):
        add(made, words, sentence)
    if made.row_count:
        yield text(
            "At a threshold of each group's own (EER), to see whom the system finds harder:",
            style="bold",
        )
        yield Padding(made, (0, 0, 0, 2))


def _pairs(*, is_close: bool = False) -> Grid:
    """Two columns without heads, of which the second wraps."""
    gap = {"collapse_padding": True} if is_close else {"padding": (0, 2, 0, 0)}
    made = Grid(box=None, show_header=False, pad_edge=False, **gap)
    made.add_column(no_wrap=True, max_width=30)
    made.add_column()
    return made


_HEADS = {
    "group": "group",
    "speakers": "speakers",
    "rate": "",
    "interval": f"[ ]{GAP}",
    "counts": f"{GAP}errors/trials",
    "ratio": f"{GAP}x",
    "ratio_interval": "[ ]",
    "p": f"{GAP}p",
    "verdict": "verdict",
}


def _every_group(audit: Audit, where: Row, rates: Rates, point: Row) -> Iterator[RenderableType]:
    """Every group's figures at one point, and how much groups differ."""
    at, here = point["operating_point"], {**where, "within": ""}
    of = verdicts_of(audit, {**here, "operating_point": at})
    yield text(f"Every group at {at}, {_threshold(point)}:", apart=True)
    for metric in RATES:
        if has_rate(metric, at, rates):
            sheet = group_rates(audit, here, metric, at)
            told = sheet.select({**_HEADS, "rate": metric.upper()})
            for row in told.rows:
                if row[4].why:
                    row[4] = Cell(row[4].why)
            yield from in_terminal(told, is_close=True)
        else:
            reasons = dict.fromkeys(one[metric, at]["reason"] for one in rates.values())
            yield text(f"No {metric.upper()}: {', '.join(reasons)}.")
    lacking = lacks(of, rates, at)
    if lacking:
        yield text(f"* under-represented: {grouped(lacking)}.")
    found, notes = spread(audit, {**here, "operating_point": at, "zero": "none"})
    if found:
        yield from in_terminal(found, is_close=True, above=1)
    yield from map(text, notes)


def _threshold(point: Row) -> str:
    threshold = point["threshold"]
    return "as decided" if threshold is None else f"threshold {threshold:.6g}"


def _legend(audit: Audit) -> str:
    """What stands in the tables of groups and of meta-measures, once for all of them."""
    options = audit.record["options"]
    names = {row["interval"] for metric in RATES for row in audit.groups.where(metric=metric)}
    how = ", ".join(sorted(names - _IN_CLOSED_FORM)) or "over speakers"
    at = "" if options["interval"] == "bootstrap" else ", at this threshold"
    return (
        "FNR: target trials rejected (locked out); FPR: nontarget trials accepted (impostors let "
        f"in); in %. In brackets: {100 * options['confidence']:g} % interval, {how}{at}; ~ perhaps "
        f"too short, as speakers differ much or are few. x: times {reference_in_words(audit)}. p: "
        "adjusted by Holm for both rates of all groups. Cannot tell: perhaps alike, perhaps not; "
        "no difference: "
        f"shown to be below {options['margin']:g} times. * {gates_in_words(audit)}: kept out of "
        "the spread without *. Floor: what a fair system would show on these speakers, on average "
        "and at most in 95 %; p: how often as much. tau_log, the spread beyond that of speakers, "
        "is the one to quote. A floor not exceeded is no proof of fairness, as few speakers hide "
        "much; floors take speakers to vary alike in all groups."
    )


# ---- where nothing is known of chance


def _as_counted(
    audit: Audit, where: Row, rates: Rates, points: Sequence[Row], point: Row
) -> Iterator[RenderableType]:
    """Who fares worst and best at each point, then every group at the first point."""
    found = extremes(rates, points)
    if found.rows:
        yield from in_terminal(found, below=1)
    at = point["operating_point"]
    title = (
        f"Every group at {at}, {_threshold(point)}. FNR: target trials rejected "
        "(locked out); FPR: nontarget trials accepted (impostors let in); x: times pooled"
    )
    yield from in_terminal(both_rates(rates, at, title))
    yield from _spread(audit, {**where, "operating_point": at, "within": ""})


def _spread(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """The meta-measures in a line, each with its direction."""
    told = []
    alpha = audit.record["options"]["alpha"][0]
    for row in audit.meta.where(**where, metric=BOTH, zero="none", alpha=alpha).rows():
        one = measure_of(row)
        if one.shown == "first":
            value = f"undefined ({undefined(row['reason'])})"
            value = value if row["value"] is None else f"{row['value']:.4g}"
            told.append(f"{one.short} (alpha {alpha:g}) {value} ({one.fairer} is fairer)")
    if told:
        yield text("Spread over groups: " + ", ".join(told) + ".")


# ---- two systems, or lists


def _comparison(audit: Audit) -> Iterator[RenderableType]:
    """Every pair of systems and lists that was compared."""
    for pair in pairs(audit):
        yield text(f"{pair.label}: {pair.speakers}", style="bold", apart=True)
        yield from in_terminal(pair.whole)
        for split in pair.splits:
            if split.spreads.rows:
                yield from in_terminal(split.spreads)
            for metric in RATES:
                told = [
                    f"{what} {percent(one)} / {percent(other)}"
                    for of, what, one, other in split.ranks
                    if of == metric.upper()
                ]
                if told:
                    names = " / ".join(pair.names)
                    yield text(
                        f"  {metric.upper()}, share of replicates in which {names} is "
                        f"better: {', '.join(told)}."
                    )


# ---- another tool's rules


def _compat(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """Where another tool's rules give another number, and by how much."""
    rows = [
        row
        for row in audit.groups.where(**name).rows()
        if row["definition"].endswith("bt4vt") and row["value"] is not None
    ]
    other = [row for row in rows if row["reason"]]
    yield text(f"{audit.record['compat']}.", apart=True)
    most = [
        (row["group"], row["metric"], f"{row['value']:.6g}", f"{_exact(row):.6g}")
        for row in sorted(other, key=_gap, reverse=True)[:5]
    ]
    title = f"{len(other)} of its {len(rows)} values differ from the exact ones; most:"
    yield from in_terminal(Sheet.headed(title, ("group", "metric", "bt4vt", "exact"), most))


def _exact(row: Row) -> float:
    return float(row["reason"].removeprefix("exact: "))


def _gap(row: Row) -> float:
    value, exact = float(row["value"]), _exact(row)
    return abs(value - exact) / max(value, exact)
