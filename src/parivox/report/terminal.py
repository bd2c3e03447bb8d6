"""The summary that a person reads in a terminal, made from an audit's tables alone."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from parivox.errors import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType

    from parivox.auditing.result import Audit

    Row = dict[str, Any]

__all__ = ["print_summary", "summary"]

FEW_SPEAKERS, FEW_ERRORS = 10, 30
_REASONS = {
    "zero_cell": "a group has no errors",
    "one_group": "there is one group",
    "no_groups": "no group has the rate",
    "no_errors": "no group has errors",
}
_SHARES, _ATTEMPTS = ("fte", "fta"), ("frr", "far")
_RULES = {
    "attempts": "each of their trials is an attempt",
    "shares": "by the share of recordings that failed, as the list holds none of their trials",
}
FEW_THRESHOLDS = 5
_COUNTED_AT = "counted at thresholds "
_READ = {"rows", "trials", "target trials", "nontarget trials", "files of counts"}
PLAIN_WIDTH = 100
CAUTION = (
    "Intervals and noise floors are still to come. Until then read every ratio as a point value: "
    "trials of one speaker are not independent, and groups of few speakers or few errors differ "
    "by chance alone, often by a factor of two or more."
)


def print_summary(audit: Audit, *, out: Path | None = None) -> None:
    """Print the summary: with colours in a terminal, plain lines elsewhere."""
    terminal = sys.stdout.isatty()
    console = Console(
        highlight=False,
        soft_wrap=False,
        width=None if terminal else PLAIN_WIDTH,
        no_color=None if terminal else True,
    )
    if terminal:
        console.print(summary(audit, out=out))
        return
    with console.capture() as captured:
        console.print(summary(audit, out=out))
    told = captured.get()
    if console.options.ascii_only:
        told = told.replace("–", "-").replace("\u00a0", " ")
    for line in told.split("\n")[:-1]:
        sys.stdout.write(line.rstrip() + "\n")


def summary(audit: Audit, *, out: Path | None = None) -> Group:
    """Everything worth saying at once, as rich shows it.

    Parameters
    ----------
    audit
        The result; only its tables and record are read.
    out
        Where the files were written, to be named at the end.
    """
    parts: list[RenderableType] = []
    if audit.record["groupings_chosen_by"] != "user":
        names = ", ".join(audit.record["groupings"])
        parts.append(
            _text(f"No --by given: grouped by {names} ({audit.record['groupings_chosen_by']}).")
        )
    for entry in audit.record["inputs"]:
        parts += _system(audit, {"system": entry["system"], "list": entry["list"]})
    parts.append(_text(CAUTION, style="yellow", apart=True))
    if not audit.record["resolution"]["exact"]:
        bounds = audit.record["resolution"]["bounds"].values()
        rate, score = (max(bound[kind] for bound in bounds) for kind in ("rate", "score"))
        parts.append(
            _text(
                "Scores were counted in bins: error counts at the thresholds shown are exact. EER, "
                f"minimum cost, AUC and the like are within {rate:.2g} of the exact ones in every "
                f"group, score shifts within {score:.2g} of a score."
            )
        )
    if out is not None:
        names = ", ".join(sorted(audit.tables()))
        parts.append(
            _text(
                f"Every number behind this, and the rest, is in {out}: audit.json, {names}.",
                apart=True,
            )
        )
    return Group(*parts)


def _system(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """One system on one list."""
    label = f"{name['system']} on {name['list']}" if name["list"] else name["system"]
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    yield _text(label, style="bold", apart=True)
    of_whom = "" if first["speakers"] is None else f" of {first['speakers']:,} speakers"
    yield _text(
        f"{first['target_trials']:,} target and {first['nontarget_trials']:,} nontarget trials"
        f"{of_whom}. {_headline(whole)}"
    )
    counted = audit.data.where(**name, source="counts").rows()
    if counted:
        yield _counted(counted)
    aside = [_aside(row) for row in audit.data.where(**name).rows() if _is_noteworthy(row)]
    if aside:
        yield _text("Noted: " + "; ".join(aside) + ".")
    if audit.record["options"].get("conflicts") == "set-aside":
        yield from _contradictions(audit, name)
    points = audit.operating_points.where(**name, within="").rows()
    yield _text(
        "Thresholds, each one for all groups, found on all trials:"
        if all(p["source"] == "these trials" for p in points)
        else "Thresholds, each one for all groups:"
    )
    deployed = _deployed(audit, name)
    yield Padding(_points(points, deployed), (0, 0, 0, 2))
    first_found = next((p for p in points if not p["reason"]), None)
    if first_found is None:
        yield _no_threshold(points, first, counted)
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            where = {**name, "grouping": grouping, "allocation": allocation}
            rows = _group_rows(audit, {**where, "within": ""})
            if not rows:
                continue
            if first_found is None:
                yield from _sizes(grouping, allocation, rows)
            else:
                yield from _grouping(audit, name, grouping, allocation, rows, points, first_found)
                yield from _failures(audit, where, rows, first_found["operating_point"])
                yield from _within(audit, where, first_found)
    if "compat" in audit.record:
        yield from _compat(audit, name)


def _counted(rows: list[Row]) -> Text:
    """Of how many files of counts an audit is, and what they cannot tell."""
    files = next(row["count"] for row in rows if row["item"] == "files of counts")
    unknown = [row["item"].partition(": ")[2] for row in rows if row["item"].startswith("not ")]
    withheld = [row for row in rows if "withheld" in row["item"]]
    lost = f" {len(withheld)} groups or levels are withheld." if withheld else ""
    return _text(
        f"From {files} file{'s' * (files > 1)} of counts, which cannot tell: "
        f"{'; '.join(unknown)}.{lost}"
    )


def _no_threshold(points: list[Row], whole: Row, counted: list[Row]) -> Text:
    """Why there are no rates, and the mend."""
    reasons = list(dict.fromkeys(point["reason"] for point in points))
    both = whole["target_trials"] and whole["nontarget_trials"]
    at = [row["item"] for row in counted if row["item"].startswith(_COUNTED_AT)]
    mend = f", X one of {at[0].removeprefix(_COUNTED_AT)}" if at else ", or eer" if both else ""
    return _text(
        f"No operating point has a threshold ({'; '.join(reasons)}), so no group has rates; give "
        f"one with --operating-point threshold=X{mend}."
    )


def _sizes(
    grouping: str, allocation: str, rows: dict[str, dict[tuple[str, str], Row]]
) -> Iterator[RenderableType]:
    """The groups of a grouping without rates: how many speakers and trials each has."""
    yield _heading(grouping, allocation, len(rows) - ("pooled" in rows))
    grid = _grid("group", "speakers", "target trials", "nontarget trials")
    for group, found in rows.items():
        row = next(iter(found.values()))
        counts = (row["speakers"], row["target_trials"], row["nontarget_trials"])
        _add(grid, group, *map(_number, counts), dim=group == "pooled")
    yield Padding(grid, (0, 0, 0, 2))


def _heading(grouping: str, allocation: str, n: int) -> Text:
    how = "" if allocation == "both" else f", nontarget trials allocated by {allocation}"
    return _text(f"{grouping}: {n} groups{how}", style="bold", apart=True)


def _contradictions(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """What the rows that were set aside would have changed, of all trials."""
    rows = audit.data.where(**name, source="conflicts", grouping="all").rows()
    count = sum(row["count"] for row in rows if row["count"] is not None)
    if not count:
        yield _text("No rows contradict each other: none were set aside.")
        return
    values = {row["item"]: row["value"] for row in rows if row["count"] is None}
    told = []
    for item, value in values.items():
        found = re.fullmatch("(.*) without contradicting rows", item)
        if found:
            other = values.get(f"{found[1]} with contradicting rows")
            is_rate = found[1].split()[0] in {"fpr", "fnr", "eer"}
            without, with_ = (
                "–" if one is None else _percent(one) if is_rate else f"{one:.4f}"
                for one in (value, other)
            )
            told.append(f"{found[1]} {without} / {with_}")
    yield _text(
        f"{count:,} contradicting rows set aside; without / with them: {', '.join(told)}."
        if told
        else f"{count:,} contradicting rows set aside."
    )


def _compat(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """Where another tool's rules give another number, and by how much."""
    rows = [
        row
        for row in audit.groups.where(**name).rows()
        if row["definition"].endswith("bt4vt") and row["value"] is not None
    ]
    other = [row for row in rows if row["reason"]]
    yield _text(f"{audit.record['compat']}.", apart=True)
    yield _text(f"{len(other)} of its {len(rows)} values differ from the exact ones; most:")
    grid = _grid("group", "metric", "bt4vt", "exact")
    for row in sorted(other, key=_gap, reverse=True)[:5]:
        exact = row["reason"].removeprefix("exact: ")
        _add(grid, row["group"], row["metric"], f"{row['value']:.6g}", f"{float(exact):.6g}")
    yield Padding(grid, (0, 0, 0, 2))


def _gap(row: Row) -> float:
    exact = float(row["reason"].removeprefix("exact: "))
    return float(abs(row["value"] - exact) / max(row["value"], exact))


def _headline(whole: list[Row]) -> str:
    told = []
    for row in whole:
        if row["metric"] == "eer" and row["value"] is not None:
            told.append(f"EER {_percent(row['value'])} ({row['definition']})")
        if row["metric"] == "min_cdet_norm" and row["value"] is not None:
            told.append(f"min cost {row['value']:.4f} ({row['definition']})")
    reasons = {row["reason"] for row in whole if row["metric"] == "eer"}
    return ", ".join(told) + "." if told else f"No EER: {', '.join(sorted(reasons))}."


def _is_noteworthy(row: Row) -> bool:
    """Whether a count says more than how much was read."""
    return (
        bool(row["count"])
        and not row["group"]
        and row["source"] != "conflicts"
        and row["item"] not in _READ
    )


def _aside(row: Row) -> str:
    where = f" [{row['grouping']}]" if row["grouping"] else ""
    note = f" ({row['note']})" if row["note"] else ""
    return f"{row['count']:,} {row['item']}{where}{note}"


def _deployed(audit: Audit, name: Row) -> str:
    """The thresholds that trials were decided at."""
    rows = audit.data.where(**name, grouping="all", group="all", within="").rows()
    levels = [row["value"] for row in rows if row["item"].startswith("trials at the deployed")]
    if not levels:
        return "decisions"
    told = [f"{level:.6g}" for level in sorted(levels)]
    return ", ".join(told) if len(told) <= FEW_THRESHOLDS else f"{told[0]} to {told[-1]}"


def _points(points: list[Row], deployed: str) -> Grid:
    grid = _grid("operating point", "threshold", "FPR", "FNR", "cost", "found on")
    for row in points:
        if row["reason"]:
            _add(grid, row["operating_point"], "–", "–", "–", "–", row["reason"])
            continue
        _add(
            grid,
            row["operating_point"],
            deployed if row["threshold"] is None else f"{row['threshold']:.6g}",
            _percent(row["fpr"]),
            _percent(row["fnr"]),
            "–" if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}",
            row["source"],
        )
    return grid


def _group_rows(audit: Audit, where: Row) -> dict[str, dict[tuple[str, str], Row]]:
    """Rates of each group by metric and operating point."""
    found: dict[str, dict[tuple[str, str], Row]] = {}
    for metric in ("fpr", "fnr"):
        for row in audit.groups.where(**where, metric=metric, definition="").rows():
            found.setdefault(row["group"], {})[metric, row["operating_point"]] = row
    return found


def _grouping(
    audit: Audit,
    name: Row,
    grouping: str,
    allocation: str,
    rows: dict[str, dict[tuple[str, str], Row]],
    points: list[Row],
    point: Row,
) -> Iterator[RenderableType]:
    """One grouping: who fares worst in a sentence a point, then every group at the first point."""
    groups = [group for group in rows if group != "pooled"]
    yield _heading(grouping, allocation, len(groups))
    extremes = _extremes(rows, groups, points)
    if extremes.row_count:
        yield Padding(extremes, (0, 0, 1, 2))
    text = point["operating_point"]
    at = "as decided" if point["threshold"] is None else f"threshold {point['threshold']:.6g}"
    yield _text(
        f"Every group at {text}, {at}. FNR: target trials rejected "
        "(locked out); FPR: nontarget trials accepted (impostors let in); x: times pooled"
    )
    grid = _grid(
        "group", "speakers", "FNR", "errors / trials", "x  ", "FPR", "errors / trials", "x  "
    )
    order = sorted(groups, key=lambda g: -(rows[g]["fnr", text]["value"] or 0))
    for group in [*order, "pooled"]:
        fnr, fpr = rows[group]["fnr", text], rows[group]["fpr", text]
        _add(
            grid,
            group,
            _number(fnr["speakers"]),
            *_rate(fnr, rows["pooled"]["fnr", text]),
            *_rate(fpr, rows["pooled"]["fpr", text]),
            dim=group == "pooled",
        )
    yield Padding(grid, (0, 0, 0, 2))
    every = [row for group in groups for row in rows[group].values()]
    if any(map(_is_small, every)):
        are_known = any(row["speakers"] is not None for row in every)
        speakers = f"{FEW_SPEAKERS} speakers or " if are_known else ""
        yield _text(f"* fewer than {speakers}{FEW_ERRORS} errors: chance weighs most.")
    where = {**name, "grouping": grouping, "allocation": allocation, "operating_point": text}
    yield from _spread(audit, {**where, "within": ""})


def _failures(
    audit: Audit, where: Row, rows: dict[str, dict[tuple[str, str], Row]], point: str
) -> Iterator[RenderableType]:
    """Failures to enrol and to acquire, the rates that count them, and how long trials took."""
    found: dict[str, dict[str, Row]] = {group: {} for group in rows}
    for metric in (*_SHARES, "seconds", *_ATTEMPTS):
        at = point if metric in _ATTEMPTS else ""
        if metric in _ATTEMPTS and not any(found.values()):
            break
        asked = {**where, "within": "", "metric": metric, "operating_point": at}
        for row in audit.groups.where(**asked).rows():
            found[row["group"]][f"{metric} {row['definition']}".strip()] = row
    told = found[next(iter(rows))]
    if "fte" in told:
        rule = "attempts"
        if all(one.get("frr attempts", {}).get("value") is None for one in found.values()):
            rule = "shares"
        grid = _grid("group", "FTE", "failed / tried", "FTA", "failed / tried", "FRR", "FAR")
        for group, one in found.items():
            cells = [text for metric in _SHARES for text in _share(one[metric])]
            cells += [_percent(one[f"{metric} {rule}"]["value"]) for metric in ("frr", "far")]
            _add(grid, group, *cells, dim=group == "pooled")
        yield _text(
            "Failures to enrol (FTE) and to acquire (FTA); FRR and FAR count recordings that could "
            f"not be acquired as rejected ({_RULES[rule]}):"
        )
        yield Padding(grid, (0, 0, 0, 2))
    if "seconds mean" in told:
        grid = _grid("group", "trials timed", "mean s", "median s", "95 % within s")
        for group, one in found.items():
            values = [one[f"seconds {name}"]["value"] for name in ("mean", "q50", "q95")]
            seconds = ["–" if value is None else f"{value:.3g}" for value in values]
            timed = f"{one['seconds mean']['trials']:,}"
            _add(grid, group, timed, *seconds, dim=group == "pooled")
        yield Padding(grid, (0, 0, 0, 2))


def _share(row: Row) -> tuple[str, str]:
    """A share of failures, with its counts."""
    if row["value"] is None:
        return "–", row["reason"]
    return _percent(row["value"]), f"{row['errors']:,} / {row['trials']:,}"


def _within(audit: Audit, where: Row, point: Row) -> Iterator[RenderableType]:
    """Who fares worst within each level, against the level's own pooled row."""
    levels = list(dict.fromkeys(row["within"] for row in audit.operating_points.rows()))
    grid = _grid(
        "within",
        "FNR",
        "locked out most",
        "x",
        "errors",
        "FPR",
        "let impostors in most",
        "x",
        "errors",
    )
    grid.columns[0].no_wrap = True
    for column in (2, 6):
        grid.columns[column].justify = "left"
    for level in levels[1:]:
        rows = _group_rows(audit, {**where, "within": level})
        cells = []
        for metric in ("fnr", "fpr"):
            pooled = rows["pooled"][metric, point["operating_point"]]["value"]
            found = [
                one[metric, point["operating_point"]] for g, one in rows.items() if g != "pooled"
            ]
            found = sorted((row for row in found if row["value"] is not None), key=_value)
            if not found or not pooled:
                cells += [_percent(pooled), "–", "–", "–"]
                continue
            worst = found[-1]
            name = worst["group"] + (" *" if _is_small(worst) else "")
            cells += [
                _percent(pooled),
                name,
                f"{worst['value'] / pooled:.2f}",
                f"{worst['errors']:,}",
            ]
        _add(grid, level, *cells)
    if grid.row_count:
        text = point["operating_point"]
        yield _text(f"Within each level at {text}, same thresholds, x the level's own pooled row:")
        yield Padding(grid, (0, 0, 0, 2))


def _extremes(
    rows: dict[str, dict[tuple[str, str], Row]],
    groups: list[str],
    points: list[Row],
) -> Grid:
    """Who fares worst and best at each point; the worst of the larger groups beside a small one."""
    grid = _grid("at", "who", "group", "rate", "x pooled", "errors / trials, speakers")
    for column in (1, 2, 5):
        grid.columns[column].justify = "left"
    for point in points:
        text = point["operating_point"]
        for metric, words in (("fnr", "locked out"), ("fpr", "let impostors in")):
            found = [rows[g][metric, text] for g in groups]
            found = sorted((row for row in found if row["value"] is not None), key=_value)
            pooled = rows["pooled"][metric, text]["value"]
            if len(found) < 2 or not pooled or found[0]["value"] == found[-1]["value"]:
                continue
            large = [row for row in found if not _is_small(row)]
            chosen = [("most", found[-1]), ("least", found[0])]
            if large and found[-1] not in large:
                chosen.insert(1, ("", large[-1]))
            for word, row in chosen:
                mark = "" if row in large else " *"
                _add(
                    grid,
                    text,
                    f"{words} {word}" if word else "  of groups without *",
                    f"{row['group']}{mark}",
                    _percent(row["value"]),
                    f"{row['value'] / pooled:.2f}",
                    f"{row['errors']:,} / {row['trials']:,}{_of_whom(row)}",
                )
    return grid


def _of_whom(row: Row) -> str:
    return "" if row["speakers"] is None else f", {row['speakers']:,} speakers"


def _value(row: Row) -> float:
    return float(row["value"])


def _is_small(row: Row) -> bool:
    """Whether a rate rests on few speakers or errors; one that is not defined rests on none."""
    few = row["speakers"] is not None and row["speakers"] < FEW_SPEAKERS
    return row["value"] is not None and (few or (row["errors"] or 0) < FEW_ERRORS)


def _rate(row: Row, pooled: Row) -> tuple[str, str, str]:
    if row["value"] is None:
        return "–", row["reason"], "–"
    ratio = f"{row['value'] / pooled['value']:.2f}" if pooled["value"] else "–"
    mark = " *" if row["group"] != "pooled" and _is_small(row) else "\u00a0\u00a0"
    return _percent(row["value"]), f"{row['errors']:,} / {row['trials']:,}", ratio + mark


def _spread(audit: Audit, where: Row) -> Iterator[RenderableType]:
    """The meta-measures in a line, each with its direction."""
    told = []
    for measure in ("fdr", "ir", "garbe"):
        for row in audit.meta.where(**where, measure=measure, zero="none").rows():
            alpha = f"(alpha {row['alpha']:g})"
            value = (
                f"undefined ({_REASONS.get(row['reason'], row['reason'])})"
                if row["value"] is None
                else f"{row['value']:.4g}"
            )
            word = "higher" if row["higher_is_fairer"] else "lower"
            told.append(f"{measure.upper()} {alpha} {value} ({word} is fairer)")
    if told:
        yield _text("Spread over groups: " + ", ".join(told[:6]) + ".")


def _text(words: str, *, style: str = "", apart: bool = False) -> Text:
    """Words that may hold any name, shown as they are; perhaps after an empty line."""
    return Text(("\n" if apart else "") + shown(words), style=style)


def _add(grid: Grid, first: str, *cells: str, dim: bool = False) -> None:
    """Add a row of cells that may hold any name."""
    grid.add_row(_text(first, style="dim" if dim else ""), *map(_text, cells))


def _grid(*columns: str) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, name in enumerate(columns):
        grid.add_column(name, justify="left" if i == 0 or name == "found on" else "right")
    return grid


def _number(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if value == 0:
        return "0 %"
    return f"{100 * value:#.3g}".rstrip(".") + " %"
