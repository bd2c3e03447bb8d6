"""Trial lists in the terminal: what was checked, what a list contains, the grades of its trials."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, group
from rich.padding import Padding

from parivox.data.lists.guidelines import CHECKS
from parivox.report.catalogue import full_sentence, full_sentences, reason_text, sentence_text
from parivox.report.terminal_grid import Grid
from parivox.report.words import (
    STYLES,
    Row,
    add_row,
    capitalised,
    count_of,
    count_text,
    grid,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType
    from rich.text import Text

    from parivox.data.lists.findings import Finding
    from parivox.data.table import Table
    from parivox.trials.building import Built
    from parivox.trials.checks import Checked
    from parivox.trials.description import Description
    from parivox.trials.grading import Graded

_VERDICTS = {
    "fail": ("FAIL", STYLES["worse"]),
    "pass": ("pass", STYLES["better"]),
    "not checked": ("–", ""),
}
_UNUSUAL_ITEMS = {
    "exact_duplicates": ("exact duplicate", "exact duplicates"),
    "reversed_target_trials": ("reversed target trial", "reversed target trials"),
    "reversed_nontarget_trials": ("reversed nontarget trial", "reversed nontarget trials"),
    "trials_of_one_utterance": (
        "trial of an utterance with itself",
        "trials of an utterance with itself",
    ),
    "excluded_rows": ("excluded row", "rows set aside"),
}
"""Items of the table of a list that its reader should know of, in the singular and plural."""
_REUSE_LABELS = {
    "trials_as_enrolment": "trials of a speaker as enrolment",
    "trials_as_test": "trials of a speaker as test side",
    "nontarget_trials_as_enrolment": "nontarget trials of a speaker as enrolment",
    "nontarget_trials_as_test": "nontarget trials of a speaker as test side",
    "partners_of_speaker": "speakers compared with a speaker",
    "utterances_of_speaker": "utterances of a speaker",
    "recordings_of_speaker": "recordings of a speaker",
    "uses_of_recording": "uses of a recording",
    "trials_of_utterance": "trials of an utterance",
}
"""Labels of the table of reuse, by item."""
_COUNTED_PARTS = ("speaker", "utterance", "recording")
_INDENTED = (0, 0, 0, 2)
_MAX_MATRIX_GROUPS = 8
"""A matrix of more groups is too wide for a terminal."""
_MAX_NAMED_SPEAKERS = 3
"""Speakers at either end who are named, if asked for."""


@group()
def check_summary(checked: Checked) -> Iterator[RenderableType]:
    """Yield how many checks fail; each in a line, failures first, and what to do about these."""
    checks = _sorted_checks(checked)
    yield _outcome_line(checked.name, checks)
    yield from _head_lines(checked)
    table = _wrapping_table("", "", "", "", "", right_aligned=(2, 3))
    for check in checks:
        table.add_row(*_check_cells(check), text(check.what))
    yield Padding(table, (1, 0, 0, 0))
    remedies = _wrapping_table("", "")
    for check in checks:
        if check.verdict == "fail" and check.mend:
            remedies.add_row(text(check.id), text(f"{capitalised(check.mend)}."))
    if remedies.row_count:
        yield text("To do", style="bold", apart=True)
        yield remedies
    yield from _speaker_table(checked)
    yield text(full_sentence("use_details"), apart=True)


@group()
def check_details(checked: Checked) -> Iterator[RenderableType]:
    """Yield the same with what each check found, then what else is worth knowing."""
    checks = _sorted_checks(checked)
    yield _outcome_line(checked.name, checks)
    yield from _head_lines(checked)
    table = _wrapping_table("check", "", "value", "required", "", right_aligned=(2, 3))
    for finding in checks:
        table.add_row(*_check_cells(finding), _finding_text(finding, before=f"{finding.what}: "))
    yield Padding(table, (1, 0, 0, 0))
    remarks = _wrapping_table("", "")
    for finding in checked.findings:
        if finding.verdict == "told":
            remarks.add_row(text(finding.what), _finding_text(finding))
    yield text("Remarks", style="bold", apart=True)
    yield remarks
    yield from _speaker_table(checked)


def _sorted_checks(checked: Checked) -> list[Finding]:
    """Return the checks: those that fail, those that pass, those that were not made."""
    order = list(_VERDICTS)
    checks = [finding for finding in checked.findings if finding.verdict in order]
    return sorted(checks, key=lambda finding: order.index(finding.verdict))


def _outcome_line(list_name: str, checks: Sequence[Finding]) -> Text:
    """Return how many checks the list fails, and which were not made."""
    ids = {word: [check.id for check in checks if check.verdict == word] for word in _VERDICTS}
    failed, missing = ids["fail"], ids["not checked"]
    n_made = len(failed) + len(ids["pass"])
    words = sentence_text(
        "checks_failed", failed=len(failed), checks=n_made, names=", ".join(failed)
    )
    if not failed:
        words = (
            sentence_text("checks_passed", checks=n_made)
            if n_made
            else sentence_text("list_could_not_be_checked")
        )
    not_checked = f"; not checked: {', '.join(missing)}" if missing else ""
    return text(f"{list_name} {words}{not_checked}.", style="bold")


def _check_cells(check: Finding) -> Iterator[RenderableType]:
    """Yield which check it is, whether it passes, its figure, and the required figure."""
    word, style = _VERDICTS[check.verdict]
    yield from (
        text(check.id),
        text(word, style=style),
        text(_figure_text(check)),
        text(_requirement_text(check)),
    )


def _speaker_table(checked: Checked) -> Iterator[RenderableType]:
    """Yield the speakers with the fewest and most trials, if their ids were asked for."""
    speakers = checked.tables["speakers"]
    if "speaker" not in speakers.columns:
        return
    rows = sorted(speakers.rows(), key=lambda row: row["enrol_target"] + row["enrol_nontarget"])
    table = grid("speaker", "target", "nontarget as enrolment", "nontarget as test", "recordings")
    if len(rows) > 2 * _MAX_NAMED_SPEAKERS:
        rows = [*rows[:_MAX_NAMED_SPEAKERS], *rows[-_MAX_NAMED_SPEAKERS:]]
    for row in rows:
        keys = ("enrol_target", "enrol_nontarget", "test_nontarget", "recordings")
        add_row(table, row["speaker"], *(count_text(row[key]) for key in keys))
    yield text("Enrolment speakers with the fewest and most trials", style="bold", apart=True)
    yield Padding(table, _INDENTED)


def _finding_text(finding: Finding, before: str = "") -> RenderableType:
    """Return what was found, and what to do."""
    words = text(f"{before}{finding.sentence}.")
    if finding.mend:
        words.append_text(text(f" To do: {finding.mend}."))
    return words


def _figure_text(finding: Finding) -> str:
    """Return what a check measured: a share in percent, or a number."""
    if finding.statistic is None:
        return "–"
    if CHECKS[finding.id].is_share:
        return f"{100 * finding.statistic:.1f} %"
    if not math.isfinite(finding.statistic):
        return "no limit"
    return f"{finding.statistic:,.2f}" if finding.id == "G3" else f"{finding.statistic:,.0f}"


def _requirement_text(check: Finding) -> str:
    """Return what a check requires at least or at most."""
    limit = check.threshold or 0.0
    bound = f"{100 * limit:g} %" if CHECKS[check.id].is_share else f"{limit:,g}"
    return f">= {bound}" if CHECKS[check.id].is_least else f"<= {bound}"


@group()
def description_summary(description: Description) -> Iterator[RenderableType]:
    """Yield what a list contains: groups, pairs of groups, grades, and how often parts are used."""
    yield text(description.name, style="bold")
    yield from _head_lines(description)
    unusual = [
        f"{row['count']:,} {_UNUSUAL_ITEMS[row['item']][row['count'] > 1]}"
        for row in description.tables["list"].rows()
        if row["count"] and row["item"] in _UNUSUAL_ITEMS
    ]
    if unusual:
        yield text("Noted: " + "; ".join(unusual) + ".")
    for name in description.groupings:
        rows = description.tables["groups"].subset(grouping=name).rows()
        yield text(name, style="bold", apart=True)
        yield Padding(_groups_table(rows), _INDENTED)
        groups = [row["group"] for row in rows]
        if 1 < len(groups) <= _MAX_MATRIX_GROUPS:
            matrix = description.tables["matrix"].subset(grouping=name).rows()
            yield text("  Nontarget trials (rows: enrolment side, columns: test side)", apart=True)
            yield Padding(_group_matrix(groups, matrix), _INDENTED)
    yield text("Grades of all trials", style="bold", apart=True)
    yield Padding(
        _grades_table(description.tables["grades"].subset(grouping="all"), "share"), _INDENTED
    )
    within = description.tables["within"].subset(grouping="all").rows()
    if within:
        yield text("Nontarget trials by whether speakers share a value", style="bold", apart=True)
        table = grid("", "same value", "different values", "unknown")
        for row in within:
            share = row["same_share"]
            shares = _percent_text(share), _percent_text(None if share is None else 1 - share)
            add_row(table, row["attribute"], *shares, count_text(row["unknown"]))
        yield Padding(table, _INDENTED)
    yield text("Uses of speakers, recordings and utterances", style="bold", apart=True)
    spread = ("least", "median", "most")
    table = grid("", "number", *spread)
    for row in description.tables["reuse"].rows():
        label = _REUSE_LABELS[row["item"]]
        add_row(table, label, count_text(row["number"]), *(f"{row[key]:,g}" for key in spread))
    yield Padding(table, _INDENTED)


def grades_summary(graded: Graded) -> Group:
    """Return how many trials there are of each grade, and where they were written."""
    blocks: list[RenderableType] = [_recordings_line(graded), _grades_table(graded.counts)]
    if graded.path is not None:
        blocks.append(text(full_sentence("every_trial_written", path=graded.path), apart=True))
    return Group(*blocks)


def _groups_table(rows: Sequence[Row]) -> Grid:
    """Return the size of each group, and its share of speakers, utterances and trials."""
    table = grid(
        "group",
        "speakers",
        "target",
        "nontarget",
        "% of speakers",
        "% of utterances",
        "% of trials",
        "trivial",
        "effective speakers",
    )
    for row in rows:
        shares = ("speaker_share", "utterance_share", "trial_share", "trivial_share")
        counts = (count_text(row[key]) for key in ("speakers", "target", "nontarget"))
        effective = f"{row['effective_speakers']:,.1f}"
        add_row(
            table, row["group"], *counts, *(_percent_text(row[key]) for key in shares), effective
        )
    return table


def _group_matrix(groups: Sequence[str], rows: Sequence[Row]) -> Grid:
    """Return the nontarget trials of each enrolment group with each test group."""
    n_trials = {(row["enrol_group"], row["test_group"]): row["nontarget"] for row in rows}
    table = grid("", *groups)
    for enrol_group in groups:
        counts = [count_text(n_trials.get((enrol_group, test_group), 0)) for test_group in groups]
        add_row(table, enrol_group, *counts)
    return table


def _grades_table(counts: Table, *shares: str) -> Grid:
    """Return trials by label and grade, with their share where there is a column of it."""
    table = grid("", "grade", "trials", *shares)
    for row in counts.rows():
        grade = "unknown" if row["grade"] is None else str(row["grade"])
        percents = (_percent_text(row[name]) for name in shares)
        add_row(table, row["label"], grade, count_text(row["trials"]), *percents)
    return table


def _head_lines(trial_list: Checked | Description) -> Iterator[RenderableType]:
    """Yield the sizes, groupings and difficulty attributes of a list."""
    counts = {row["item"]: row["count"] for row in trial_list.tables["list"].rows()}
    present_parts = [part for part in _COUNTED_PARTS if counts[f"{part}s"]]
    part_counts = ", ".join(count_of(counts[f"{part}s"], part) for part in present_parts)
    yield text(
        full_sentence(
            "list_size",
            trials=count_of(counts["trials"], "trial"),
            target=counts["target_trials"],
            nontarget=counts["nontarget_trials"],
            parts=part_counts,
        )
    )
    groups = trial_list.tables["groups"]
    groupings = ", ".join(
        f"{grouping} ({count_of(len(groups.subset(grouping=grouping)), 'group')})"
        for grouping in trial_list.groupings
    )
    graded = " and ".join(trial_list.graded_by) or sentence_text("no_attribute_known")
    yield text(f"Groups: {groupings or 'none'}. Difficulty: {graded}.")
    yield _recordings_line(trial_list)


def _recordings_line(trial_list: Checked | Description | Graded) -> Text:
    """Return how utterances of one recording are recognised."""
    return text(f"Recordings: {trial_list.recordings}.")


def built_lines(built: Built) -> Iterator[str]:
    """Yield how many trials were drawn, the files, who is left out, and notes."""
    yield from full_sentences([built.summary])
    paths = [path for path in (*built.lists, built.path) if isinstance(path, Path)]
    yield from (f"  {path}" for path in paths)
    for row in built.left_out.rows():
        ids = f": {row['ids']}" if row.get("ids") else ""
        group = "no group" if row["group"] is None else row["group"]
        speakers = f"{row['speakers']:,} of {group}"
        yield f"Left out: {speakers}, {reason_text(row)}{ids}."
    yield from full_sentences(built.notes)


def _percent_text(share: float | None) -> str:
    """Return a share in percent, or a dash."""
    return "–" if share is None else f"{100 * share:.1f} %"


def _wrapping_table(*columns: str, right_aligned: tuple[int, ...] = ()) -> Grid:
    """Return a table whose last column wraps."""
    table = Grid(box=None, show_header=any(columns), pad_edge=False, padding=(0, 2, 0, 0))
    for i, name in enumerate(columns):
        is_last = i == len(columns) - 1
        table.add_column(
            name,
            justify="right" if i in right_aligned else "left",
            no_wrap=not is_last and len(columns) > 2,
            ratio=1 if is_last else None,
            max_width=None if is_last or len(columns) > 2 else 30,
        )
    return table
