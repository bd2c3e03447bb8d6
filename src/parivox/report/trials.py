"""A trial list in words: what was checked, and what it holds."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding
from rich.table import Table as Grid

from parivox.report.words import Row, add, grid, number, text
from parivox.trials.findings import number_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from parivox.read.table import Table
    from parivox.trials.description import Description
    from parivox.trials.findings import Checked, Finding
    from parivox.trials.grades import Graded

_VERDICTS = {
    "pass": ("pass", "green"),
    "fail": ("FAIL", "bold red"),
    "not checked": ("–", "dim"),
}
_AT_LEAST = {"G2", "G6", "G7"}
_SHARES = {"G4", "G5", "G8", "G9"}
_PARTS = ("speaker", "utterance", "recording")
_MOST_GROUPS = 8
"""A matrix of more groups is too wide for a terminal."""
_EACH = 3
"""Speakers at either end who are named, if asked for."""


def check_in_words(found: Checked) -> Group:
    """Each check in a line, then what is told beside them."""
    return Group(*_check(found))


def _check(found: Checked) -> Iterator[RenderableType]:
    yield from _head(found.name, found.groupings, found.graded_by, found.tables)
    checks = [one for one in found.findings if one.verdict != "told"]
    made = _lines("check", "", "figure", "asked for", "", right=(2, 3))
    for one in checks:
        word, style = _VERDICTS[one.verdict]
        made.add_row(
            text(one.id),
            text(word, style=style),
            text(_figure(one)),
            text(_asked(one)),
            _words(one),
        )
    yield Padding(made, (1, 0, 0, 0))
    yield text(_outcome(checks), style="bold", apart=True)
    told = _lines("", "")
    for one in found.findings:
        if one.verdict == "told":
            told.add_row(text(one.what), _words(one, named=False))
    yield text("Worth knowing", style="bold", apart=True)
    yield told
    if "speaker" in found.tables["speakers"].columns:
        yield from _ends(found.tables["speakers"])


def _words(one: Finding, *, named: bool = True) -> RenderableType:
    """What was asked, what was found, what to do."""
    end = "" if one.sentence.endswith(".") else "."
    made = text(f"{one.what}: {one.sentence}{end}" if named else f"{one.sentence}{end}")
    if one.mend:
        made.append_text(text(f" To do: {one.mend}.", style="yellow"))
    return made


def _figure(one: Finding) -> str:
    if one.statistic is None:
        return "–"
    if one.id in _SHARES:
        return f"{100 * one.statistic:.1f} %"
    if not math.isfinite(one.statistic):
        return "no bound"
    return f"{one.statistic:,.2f}" if one.id == "G3" else f"{one.statistic:,.0f}"


def _asked(one: Finding) -> str:
    level = one.threshold or 0.0
    bound = f"{100 * level:g} %" if one.id in _SHARES else f"{level:,g}"
    return f">= {bound}" if one.id in _AT_LEAST else f"<= {bound}"


def _outcome(checks: Sequence[Finding]) -> str:
    counts = {word: [one.id for one in checks if one.verdict == word] for word in _VERDICTS}
    told = [
        f"{len(ids)} {words} ({', '.join(ids)})"
        for words, ids in (
            ("fail", counts["fail"]),
            ("pass", counts["pass"]),
            ("not checked", counts["not checked"]),
        )
        if ids
    ]
    return ", ".join(told) + "."


def _ends(speakers: Table) -> Iterator[RenderableType]:
    """Who enrols least and most."""
    rows = sorted(speakers.rows(), key=lambda row: row["enrol_target"] + row["enrol_nontarget"])
    made = grid("speaker", "target", "nontarget as enrolment", "as test side", "recordings")
    for row in rows if len(rows) <= 2 * _EACH else [*rows[:_EACH], *rows[-_EACH:]]:
        keys = ("enrol_target", "enrol_nontarget", "test_nontarget", "recordings")
        add(made, row["speaker"], *(number(row[key]) for key in keys))
    yield text("Speakers who enrol least and most", style="bold", apart=True)
    yield Padding(made, (0, 0, 0, 2))


def description_in_words(found: Description) -> Group:
    """What a list holds."""
    return Group(*_description(found))


def _description(found: Description) -> Iterator[RenderableType]:
    yield from _head(found.name, found.groupings, found.graded_by, found.tables)
    counts = _counts(found.tables)
    odd = {
        item: n
        for item, n in counts.items()
        if n and ("duplicates" in item or "reversed" in item or "itself" in item or "aside" in item)
    }
    if odd:
        yield text("Noted: " + "; ".join(f"{n:,} {item}" for item, n in odd.items()) + ".")
    rows = found.tables["groups"].rows()
    for name in found.groupings:
        yield text(name, style="bold", apart=True)
        mine = [row for row in rows if row["grouping"] == name]
        yield Padding(_groups(mine), (0, 0, 0, 2))
        matrix = found.tables["matrix"].where(grouping=name).rows()
        groups = [row["group"] for row in mine]
        if 1 < len(groups) <= _MOST_GROUPS:
            yield text("  Nontarget trials: enrolment in rows, test side in columns", apart=True)
            yield Padding(_matrix(groups, matrix), (0, 0, 0, 2))
    yield text("Grades of all trials", style="bold", apart=True)
    made = grid("", "grade", "trials", "share")
    for row in found.tables["grades"].where(grouping="all").rows():
        grade = "n.k." if row["grade"] is None else str(row["grade"])
        add(made, row["label"], grade, number(row["trials"]), _percent(row["share"]))
    yield Padding(made, (0, 0, 0, 2))
    within = found.tables["within"].where(grouping="all").rows()
    if within:
        yield text("Nontarget trials whose speakers share a value", style="bold", apart=True)
        made = grid("", "within", "across", "n.k.")
        for row in within:
            share = row["same_share"]
            across = None if share is None else 1 - share
            add(made, row["attribute"], _percent(share), _percent(across), number(row["unknown"]))
        yield Padding(made, (0, 0, 0, 2))
    yield text("How often things are used", style="bold", apart=True)
    made = grid("", "number", "least", "median", "most")
    for row in found.tables["reuse"].rows():
        add(made, row["of"], number(row["number"]), *(f"{row[k]:,g}" for k in _SPREAD))
    yield Padding(made, (0, 0, 0, 2))


_SPREAD = ("least", "median", "most")


def _groups(rows: Sequence[Row]) -> Grid:
    made = grid(
        *("group", "speakers", "target", "nontarget", "% of speakers", "% of utterances"),
        *("% of trials", "trivial", "effective speakers"),
    )
    for row in rows:
        shares = ("speaker_share", "utterance_share", "trial_share", "trivial_share")
        counts = (number(row[key]) for key in ("speakers", "target", "nontarget"))
        effective = f"{row['effective_speakers']:,.1f}"
        add(made, row["group"], *counts, *(_percent(row[key]) for key in shares), effective)
    return made


def _matrix(groups: Sequence[str], rows: Sequence[Row]) -> Grid:
    trials = {(row["enrol_group"], row["test_group"]): row["nontarget"] for row in rows}
    made = grid("", *groups)
    for one in groups:
        add(made, one, *(number(trials.get((one, other), 0)) for other in groups))
    return made


def grades_in_words(found: Graded) -> Group:
    """How many trials there are of each grade, and where they were written."""
    made = grid("", "grade", "trials")
    for row in found.counts.rows():
        grade = "n.k." if row["grade"] is None else str(row["grade"])
        add(made, row["label"], grade, number(row["trials"]))
    where = [] if found.path is None else [text(f"Every trial is in {found.path}.", apart=True)]
    return Group(made, *where)


def _head(
    name: str, groupings: Sequence[str], graded_by: Sequence[str], tables: Mapping[str, Table]
) -> Iterator[RenderableType]:
    counts = _counts(tables)
    yield text(name, style="bold")
    yield text(
        f"{number_of(counts['trials'], 'trial')} ({counts['target trials']:,} target, "
        f"{counts['nontarget trials']:,} nontarget) of "
        + ", ".join(number_of(counts[f"{what}s"], what) for what in _PARTS)
        + "."
    )
    sizes = [len(tables["groups"].where(grouping=one)) for one in groupings]
    by = ", ".join(
        f"{one} ({number_of(n, 'group')})" for one, n in zip(groupings, sizes, strict=True)
    )
    graded = " and ".join(graded_by)
    yield text(f"Groups: {by or 'none'}. Difficulty: {graded or 'no attribute is known'}.")


def _counts(tables: Mapping[str, Table]) -> dict[str, int]:
    return {row["item"]: row["count"] for row in tables["list"].rows()}


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def _lines(*columns: str, right: tuple[int, ...] = ()) -> Grid:
    """Rows of which the last column wraps."""
    made = Grid(box=None, show_header=any(columns), pad_edge=False, padding=(0, 2, 0, 0))
    for i, name in enumerate(columns):
        is_last = i == len(columns) - 1
        made.add_column(
            name,
            justify="right" if i in right else "left",
            no_wrap=not is_last and len(columns) > 2,
            ratio=1 if is_last else None,
            max_width=None if is_last or len(columns) > 2 else 30,
        )
    return made
