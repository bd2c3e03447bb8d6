"""The summary that a person reads in a terminal, made from an audit's tables alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

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
_READ = {"rows", "trials", "target trials", "nontarget trials"}
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
    for line in captured.get().splitlines():
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
            Text(f"No --by given: grouped by {names} ({audit.record['groupings_chosen_by']}).")
        )
    for entry in audit.record["inputs"]:
        parts += _system(audit, {"system": entry["system"], "list": entry["list"]})
    parts.append(Text(f"\n{CAUTION}", style="yellow"))
    if not audit.record["resolution"]["exact"]:
        bounds = audit.record["resolution"]["bounds"].values()
        rate, score = (max(bound[kind] for bound in bounds) for kind in ("rate", "score"))
        parts.append(
            Text(
                "Scores were counted in bins: error counts at the thresholds shown are exact. EER, "
                f"minimum cost, AUC and the like are within {rate:.2g} of the exact ones in every "
                f"group, score shifts within {score:.2g} of a score."
            )
        )
    if out is not None:
        names = ", ".join(sorted(audit.tables()))
        parts.append(
            Text(f"\nEvery number behind this, and the rest, is in {out}: audit.json, {names}.")
        )
    return Group(*parts)


def _system(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """One system on one list."""
    label = f"{name['system']} on {name['list']}" if name["list"] else name["system"]
    whole = audit.groups.where(**name, grouping="all").rows()
    first = whole[0]
    yield Text(f"\n{label}", style="bold")
    yield Text(
        f"{first['target_trials']:,} target and {first['nontarget_trials']:,} nontarget trials of "
        f"{first['speakers']:,} speakers. {_headline(whole)}"
    )
    aside = [_aside(row) for row in audit.data.where(**name).rows() if _is_noteworthy(row)]
    if aside:
        yield Text("Noted: " + "; ".join(aside) + ".")
    points = audit.operating_points.where(**name).rows()
    yield Text(
        "Thresholds, each one for all groups, found on all trials:"
        if all(p["source"] == "these trials" for p in points)
        else "Thresholds, each one for all groups:"
    )
    yield Padding(_points(points), (0, 0, 0, 2))
    shown = next((p for p in points if not p["reason"]), None)
    if shown is None:
        return
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            rows = _group_rows(audit, {**name, "grouping": grouping, "allocation": allocation})
            if rows:
                yield from _grouping(audit, name, grouping, allocation, rows, points, shown)
    if "compat" in audit.record:
        yield from _compat(audit, name)


def _compat(audit: Audit, name: Row) -> Iterator[RenderableType]:
    """Where another tool's rules give another number, and by how much."""
    rows = [
        row
        for row in audit.groups.where(**name).rows()
        if row["definition"].endswith("bt4vt") and row["value"] is not None
    ]
    other = [row for row in rows if row["reason"]]
    yield Text(f"\n{audit.record['compat']}.")
    yield Text(f"{len(other)} of its {len(rows)} values differ from the exact ones; most:")
    grid = _grid("group", "metric", "bt4vt", "exact")
    for row in sorted(other, key=_gap, reverse=True)[:5]:
        exact = row["reason"].removeprefix("exact: ")
        grid.add_row(row["group"], row["metric"], f"{row['value']:.6g}", f"{float(exact):.6g}")
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
    return bool(row["count"]) and row["source"] != "conflicts" and row["item"] not in _READ


def _aside(row: Row) -> str:
    where = f" [{row['grouping']}]" if row["grouping"] else ""
    note = f" ({row['note']})" if row["note"] else ""
    return f"{row['count']:,} {row['item']}{where}{note}"


def _points(points: list[Row]) -> Grid:
    grid = _grid("operating point", "threshold", "FPR", "FNR", "cost", "found on")
    for row in points:
        if row["reason"]:
            grid.add_row(row["operating_point"], "–", "–", "–", "–", row["reason"])
            continue
        grid.add_row(
            row["operating_point"],
            f"{row['threshold']:.6g}",
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
    shown: Row,
) -> Iterator[RenderableType]:
    """One grouping: who fares worst in a sentence a point, then every group at the first point."""
    groups = [group for group in rows if group != "pooled"]
    how = "" if allocation == "both" else f", nontarget trials allocated by {allocation}"
    yield Text(f"\n{grouping}: {len(groups)} groups{how}", style="bold")
    yield Padding(_extremes(rows, groups, points), (0, 0, 1, 2))
    text = shown["operating_point"]
    yield Text(
        f"Every group at {text}, threshold {shown['threshold']:.6g}. FNR: target trials rejected "
        "(locked out); FPR: nontarget trials accepted (impostors let in); x: times pooled"
    )
    grid = _grid(
        "group", "speakers", "FNR", "errors / trials", "x  ", "FPR", "errors / trials", "x  "
    )
    order = sorted(groups, key=lambda g: -(rows[g]["fnr", text]["value"] or 0))
    for group in [*order, "pooled"]:
        fnr, fpr = rows[group]["fnr", text], rows[group]["fpr", text]
        grid.add_row(
            Text(group, style="dim" if group == "pooled" else ""),
            f"{fnr['speakers']:,}",
            *_rate(fnr, rows["pooled"]["fnr", text]),
            *_rate(fpr, rows["pooled"]["fpr", text]),
        )
    yield Padding(grid, (0, 0, 0, 2))
    if any(_is_small(row) for group in groups for row in rows[group].values()):
        yield Text(
            f"* fewer than {FEW_SPEAKERS} speakers or {FEW_ERRORS} errors: chance weighs most."
        )
    where = {**name, "grouping": grouping, "allocation": allocation, "operating_point": text}
    yield from _spread(audit, where)


def _extremes(
    rows: dict[str, dict[tuple[str, str], Row]], groups: list[str], points: list[Row]
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
                grid.add_row(
                    text,
                    f"{words} {word}" if word else "  of groups without *",
                    f"{row['group']}{mark}",
                    _percent(row["value"]),
                    f"{row['value'] / pooled:.2f}",
                    f"{row['errors']:,} / {row['trials']:,}, {row['speakers']:,} speakers",
                )
    return grid


def _value(row: Row) -> float:
    return float(row["value"])


def _is_small(row: Row) -> bool:
    return row["speakers"] < FEW_SPEAKERS or (row["errors"] or 0) < FEW_ERRORS


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
        yield Text("Spread over groups: " + ", ".join(told[:6]) + ".")


def _grid(*columns: str) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, name in enumerate(columns):
        grid.add_column(name, justify="left" if i == 0 or name == "found on" else "right")
    return grid


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    if value == 0:
        return "0 %"
    return f"{100 * value:#.3g}".rstrip(".") + " %"
