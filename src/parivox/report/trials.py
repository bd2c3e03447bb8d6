"""A trial list in words: what was checked, what it holds, and the grades of its trials."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group, group
from rich.padding import Padding

from parivox.report.terminal_grid import Grid
from parivox.report.words import (
    STYLES,
    Row,
    add_row,
    capitalised,
    count_of,
    count_text,
    counted_item,
    grid,
    text,
)
from parivox.trials.guidelines import CHECKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType
    from rich.text import Text

    from parivox.data.table import Table
    from parivox.trials.checks import Checked
    from parivox.trials.description import Description
    from parivox.trials.grades import Graded
    from parivox.trials.guidelines import Finding

_VERDICTS = {
    "fail": ("FAIL", STYLES["worse"]),
    "pass": ("pass", STYLES["better"]),
    "not checked": ("–", ""),
}
_ODD = ("duplicates", "reversed", "itself", "aside")
_PARTS = ("speaker", "utterance", "recording")
_INDENTED = (0, 0, 0, 2)
_MOST_GROUPS = 8
"""A matrix of more groups is too wide for a terminal."""
_EACH = 3
"""Speakers at either end who are named, if asked for."""


@group()
def check_summary(found: Checked) -> Iterator[RenderableType]:
    """How many checks fail; each in a line, failures first, and what mends these."""
    checks = _checks(found)
    yield _outcome(found.name, checks)
    yield from _head(found)
    table = _lines("", "", "", "", "", right=(2, 3))
    for one in checks:
        table.add_row(*_cells(one), text(one.what))
    yield Padding(table, (1, 0, 0, 0))
    mends = _lines("", "")
    for one in checks:
        if one.verdict == "fail" and one.mend:
            mends.add_row(text(one.id), text(f"{capitalised(one.mend)}."))
    if mends.row_count:
        yield text("To do", style="bold", apart=True)
        yield mends
    yield from _speakers(found)
    yield text("What each check found, and what else is worth knowing: -v.", apart=True)


@group()
def check_details(found: Checked) -> Iterator[RenderableType]:
    """The same with what each check found, then what else is worth knowing."""
    checks = _checks(found)
    yield _outcome(found.name, checks)
    yield from _head(found)
    table = _lines("check", "", "figure", "asked for", "", right=(2, 3))
    for one in checks:
        table.add_row(*_cells(one), _words(one, before=f"{one.what}: "))
    yield Padding(table, (1, 0, 0, 0))
    remarks = _lines("", "")
    for one in found.findings:
        if one.verdict == "told":
            remarks.add_row(text(one.what), _words(one))
    yield text("Worth knowing", style="bold", apart=True)
    yield remarks
    yield from _speakers(found)


def _checks(found: Checked) -> list[Finding]:
    """The checks: those that fail, those that pass, those that were not made."""
    order = list(_VERDICTS)
    checks = [one for one in found.findings if one.verdict in order]
    return sorted(checks, key=lambda one: order.index(one.verdict))


def _outcome(name: str, checks: Sequence[Finding]) -> Text:
    """How many checks the list fails, and which were not made."""
    ids = {word: [one.id for one in checks if one.verdict == word] for word in _VERDICTS}
    failed, missing = ids["fail"], ids["not checked"]
    n_made = len(failed) + len(ids["pass"])
    words = f"fails {len(failed)} of {n_made} checks ({', '.join(failed)})"
    if not failed:
        words = f"passes all {n_made} checks" if n_made else "could not be checked"
    left = f"; not checked: {', '.join(missing)}" if missing else ""
    return text(f"{name} {words}{left}.", style="bold")


def _cells(one: Finding) -> Iterator[RenderableType]:
    """Which check it is, whether it passes, and the figure beside what is asked for."""
    word, style = _VERDICTS[one.verdict]
    yield from (text(one.id), text(word, style=style), text(_figure(one)), text(_asked(one)))


def _speakers(found: Checked) -> Iterator[RenderableType]:
    """Speakers at either end, if their ids were asked for."""
    speakers = found.tables["speakers"]
    if "speaker" not in speakers.columns:
        return
    rows = sorted(speakers.rows(), key=lambda row: row["enrol_target"] + row["enrol_nontarget"])
    table = grid("speaker", "target", "nontarget as enrolment", "as test side", "recordings")
    for row in rows if len(rows) <= 2 * _EACH else [*rows[:_EACH], *rows[-_EACH:]]:
        keys = ("enrol_target", "enrol_nontarget", "test_nontarget", "recordings")
        add_row(table, row["speaker"], *(count_text(row[key]) for key in keys))
    yield text("Speakers who enrol least and most", style="bold", apart=True)
    yield Padding(table, _INDENTED)


def _words(one: Finding, before: str = "") -> RenderableType:
    """What was found, and what to do."""
    end = "" if one.sentence.endswith(".") else "."
    words = text(f"{before}{one.sentence}{end}")
    if one.mend:
        words.append_text(text(f" To do: {one.mend}."))
    return words


def _figure(one: Finding) -> str:
    if one.statistic is None:
        return "–"
    if CHECKS[one.id].is_share:
        return f"{100 * one.statistic:.1f} %"
    if not math.isfinite(one.statistic):
        return "no bound"
    return f"{one.statistic:,.2f}" if one.id == "G3" else f"{one.statistic:,.0f}"


def _asked(one: Finding) -> str:
    level = one.threshold or 0.0
    bound = f"{100 * level:g} %" if CHECKS[one.id].is_share else f"{level:,g}"
    return f">= {bound}" if CHECKS[one.id].is_least else f"<= {bound}"


@group()
def description_summary(found: Description) -> Iterator[RenderableType]:
    """What a list holds."""
    yield text(found.name, style="bold")
    yield from _head(found)
    odd = [
        counted_item(row["count"], row["item"])
        for row in found.tables["list"].rows()
        if row["count"] and any(word in row["item"] for word in _ODD)
    ]
    if odd:
        yield text("Noted: " + "; ".join(odd) + ".")
    for name in found.groupings:
        rows = found.tables["groups"].where(grouping=name).rows()
        yield text(name, style="bold", apart=True)
        yield Padding(_groups(rows), _INDENTED)
        groups = [row["group"] for row in rows]
        if 1 < len(groups) <= _MOST_GROUPS:
            matrix = found.tables["matrix"].where(grouping=name).rows()
            yield text("  Nontarget trials: enrolment in rows, test side in columns", apart=True)
            yield Padding(_matrix(groups, matrix), _INDENTED)
    yield text("Grades of all trials", style="bold", apart=True)
    yield Padding(_grades(found.tables["grades"].where(grouping="all"), "share"), _INDENTED)
    within = found.tables["within"].where(grouping="all").rows()
    if within:
        yield text("Nontarget trials whose speakers share a value", style="bold", apart=True)
        table = grid("", "within", "across", "n.k.")
        for row in within:
            share = row["same_share"]
            shares = _percent(share), _percent(None if share is None else 1 - share)
            add_row(table, row["attribute"], *shares, count_text(row["unknown"]))
        yield Padding(table, _INDENTED)
    yield text("How often things are used", style="bold", apart=True)
    spread = ("least", "median", "most")
    table = grid("", "number", *spread)
    for row in found.tables["reuse"].rows():
        add_row(table, row["of"], count_text(row["number"]), *(f"{row[key]:,g}" for key in spread))
    yield Padding(table, _INDENTED)


def grades_summary(found: Graded) -> Group:
    """How many trials there are of each grade, and where they were written."""
    where = [] if found.path is None else [text(f"Every trial is in {found.path}.", apart=True)]
    return Group(_recordings(found), _grades(found.counts), *where)


def _groups(rows: Sequence[Row]) -> Grid:
    table = grid(
        *("group", "speakers", "target", "nontarget", "% of speakers", "% of utterances"),
        *("% of trials", "trivial", "effective speakers"),
    )
    for row in rows:
        shares = ("speaker_share", "utterance_share", "trial_share", "trivial_share")
        counts = (count_text(row[key]) for key in ("speakers", "target", "nontarget"))
        effective = f"{row['effective_speakers']:,.1f}"
        add_row(table, row["group"], *counts, *(_percent(row[key]) for key in shares), effective)
    return table


def _matrix(groups: Sequence[str], rows: Sequence[Row]) -> Grid:
    trials = {(row["enrol_group"], row["test_group"]): row["nontarget"] for row in rows}
    table = grid("", *groups)
    for one in groups:
        add_row(table, one, *(count_text(trials.get((one, other), 0)) for other in groups))
    return table


def _grades(counts: Table, *shares: str) -> Grid:
    """Trials by label and grade, with their share where there is a column of it."""
    table = grid("", "grade", "trials", *shares)
    for row in counts.rows():
        grade = "n.k." if row["grade"] is None else str(row["grade"])
        percents = (_percent(row[name]) for name in shares)
        add_row(table, row["label"], grade, count_text(row["trials"]), *percents)
    return table


def _head(found: Checked | Description) -> Iterator[RenderableType]:
    """The sizes, groupings and attributes of difficulty of a list."""
    counts = {row["item"]: row["count"] for row in found.tables["list"].rows()}
    known = [what for what in _PARTS if counts[f"{what}s"]]
    of = ", ".join(count_of(counts[f"{what}s"], what) for what in known)
    yield text(
        f"{count_of(counts['trials'], 'trial')} ({counts['target trials']:,} target, "
        f"{counts['nontarget trials']:,} nontarget) of {of}."
    )
    groups = found.tables["groups"]
    by = ", ".join(
        f"{one} ({count_of(len(groups.where(grouping=one)), 'group')})" for one in found.groupings
    )
    graded = " and ".join(found.graded_by)
    yield text(f"Groups: {by or 'none'}. Difficulty: {graded or 'no attribute is known'}.")
    yield _recordings(found)


def _recordings(found: Checked | Description | Graded) -> Text:
    """What tells which utterances are of one recording."""
    return text(f"Recordings: {found.recordings}.")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _lines(*columns: str, right: tuple[int, ...] = ()) -> Grid:
    """Rows of which the last column wraps."""
    table = Grid(box=None, show_header=any(columns), pad_edge=False, padding=(0, 2, 0, 0))
    for i, name in enumerate(columns):
        is_last = i == len(columns) - 1
        table.add_column(
            name,
            justify="right" if i in right else "left",
            no_wrap=not is_last and len(columns) > 2,
            ratio=1 if is_last else None,
            max_width=None if is_last or len(columns) > 2 else 30,
        )
    return table
