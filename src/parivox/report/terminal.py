"""The summary that a person reads in a terminal, made from an audit's tables alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding

from parivox.report.beside import compat, contradictions, failures, standardised, trends
from parivox.report.comparison import comparison
from parivox.report.confounding import confounding
from parivox.report.facts import deployed_at, headline, noted, why_unsure
from parivox.report.judged import rates_of
from parivox.report.own_thresholds import own_thresholds
from parivox.report.people import attempts, limits, people, tenth
from parivox.report.plain import plain_groups, plain_levels, sizes
from parivox.report.scopes import name_of
from parivox.report.sheet import in_terminal
from parivox.report.verdicts import answer, legend, levels, verdicts
from parivox.report.words import Row, add, grid, percent, text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rich.console import RenderableType
    from rich.table import Table as Grid
    from rich.text import Text

    from parivox.auditing.result import Audit

    Rates = dict[str, dict[tuple[str, str], Row]]

__all__ = ["print_summary", "summary"]

PLAIN_WIDTH = 100
_COUNTED_AT = "counted at thresholds "
_SET_APART = ("G8", "G9")
"""Checks of a list without which a difference between groups may be one between their trials."""


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
    told = captured.get().replace("\u00a0", " ")  # so that it can be searched, and split at blanks
    if console.options.ascii_only:
        told = told.replace("–", "-")
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
    yield from comparison(audit)
    for why in filter(None, reasons):
        yield text(
            f"Nothing is said of chance: {why}. Read every ratio as a point value: groups of few "
            "speakers or few errors differ by chance alone, often by a factor of two or more.",
            style="yellow",
            apart=True,
        )
    if "" in reasons:
        yield text(legend(audit), style="dim", apart=True)
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
    whole = audit.groups.where(**name, grouping="all", within="").rows()
    first = whole[0]
    yield text(label, style="bold", apart=True)
    of_whom = "" if first["speakers"] is None else f" of {first['speakers']:,} speakers"
    yield text(
        f"{first['target_trials']:,} target and {first['nontarget_trials']:,} nontarget trials"
        f"{of_whom}. {headline(whole)}"
    )
    counted = audit.data.where(**name, source="counts").rows()
    if counted:
        yield _counted(counted)
    aside = noted(audit, name)
    if aside:
        yield text("Noted: " + "; ".join(aside) + ".")
    if audit.record["options"].get("conflicts") == "set-aside":
        yield from contradictions(audit, name)
    yield from _list_checks(audit, "@".join(filter(None, name.values())))
    points = audit.operating_points.where(**name, within="").rows()
    yield text(
        "Thresholds, each one for all groups, found on all trials:"
        if all(p["source"] == "these trials" for p in points)
        else "Thresholds, each one for all groups:"
    )
    deployed = deployed_at(audit, name)
    yield Padding(_points(points, deployed), (0, 0, 0, 2))
    first_found = next((p for p in points if not p["reason"]), None)
    if first_found is None:
        yield _no_threshold(points, first, counted)
    is_sure = not why_unsure(audit, name)
    for grouping in audit.record["groupings"]:
        for allocation in audit.record["options"]["allocate"]:
            where = {**name, "grouping": grouping, "allocation": allocation}
            rates = rates_of(audit, {**where, "within": ""})
            if rates:
                n = len(rates) - ("pooled" in rates)
                yield _heading(grouping, allocation, n)
                if first_found is None:
                    yield Padding(sizes(rates), (0, 0, 0, 2))
                    continue
                yield from _grouping(audit, where, rates, points, first_found, is_sure=is_sure)
    if "compat" in audit.record:
        yield from compat(audit, name)


def _grouping(
    audit: Audit, where: Row, rates: Rates, points: list[Row], point: Row, *, is_sure: bool
) -> Iterator[RenderableType]:
    """One grouping under one allocation, where there are rates."""
    at, options = point["operating_point"], audit.record["options"]
    if is_sure:
        yield from answer(audit, where, rates, points)
        yield from own_thresholds(audit, where)
        yield from confounding(audit, where)
        yield from verdicts(audit, where, rates, point)
        yield from map(text, limits(audit, where, points))
        yield from in_terminal(people(audit, where, at))
        yield from map(text, tenth(audit, where, at))
        yield from in_terminal(attempts(audit, where, at))
        yield from map(text, trends(audit, where, at))
        asked = options["standardise"]
        yield from in_terminal(standardised(audit, where, rates, at, asked))
    else:
        yield from plain_groups(audit, where, rates, points, point)
    yield from in_terminal(failures(audit, where, rates, at))
    names = list(dict.fromkeys(row["within"] for row in audit.operating_points.rows()))
    by_level = {
        level: found
        for level in names
        if level and (found := rates_of(audit, {**where, "within": level}))
    }
    if by_level:
        versus = "" if is_sure else ", x the level's own pooled row"
        yield text(f"Within each level at {at}, same thresholds{versus}:")
        yield Padding(
            levels(audit, where, by_level, at) if is_sure else plain_levels(by_level, at),
            (0, 0, 0, 2),
        )


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
    apart = [row for row in failed if row["id"] in _SET_APART]
    told = "".join(f"Groups are not alike ({row['id']}): {row['sentence']}. " for row in apart)
    others = ", ".join(row["id"] for row in failed if row not in apart)
    rest = f"The list {'also ' * bool(apart)}fails {others}. " if others else ""
    yield text(f"{told}{rest}parivox trials check tells more.")


def _points(points: list[Row], deployed: str) -> Grid:
    made = grid("operating point", "threshold", "FPR", "FNR", "cost", "found on", left=(0, 5))
    for row in points:
        if row["reason"]:
            add(made, row["operating_point"], "–", "–", "–", "–", row["reason"])
            continue
        add(
            made,
            row["operating_point"],
            deployed if row["threshold"] is None else f"{row['threshold']:.6g}",
            percent(row["fpr"]),
            percent(row["fnr"]),
            "–" if row["cdet_norm"] is None else f"{row['cdet_norm']:.4f}",
            row["source"],
        )
    return made
