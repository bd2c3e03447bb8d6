"""What files hold and how they fit together, before any audit.

Each file is recognised for what it is, whatever is odd about it. What an audit would refuse is
told in the words of the audit, since its own readers are asked.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from parivox.errors import DataError, shown
from parivox.read.columns import ALIASES, Columns, plain
from parivox.read.content import Folder, read_content
from parivox.read.counts_file import holds_counts
from parivox.read.formats import may_be_trials, scan, table_format
from parivox.read.inspection.findings import Found, Inspection, Odd
from parivox.read.inspection.joins import find_joins, settle_kinds, with_labels
from parivox.read.inspection.plan import Plan
from parivox.read.inspection.tables import (
    InspectedTable,
    inspect_groups,
    inspect_table,
    roles_of_trials,
)
from parivox.read.inspection.trials import InspectedTrials, first_rows, inspect_trials
from parivox.read.metadata import SPEAKER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parivox.read.formats.format import Scan
    from parivox.read.inspection.plan import CountsReader, Inspected

__all__ = ["Inspection", "inspect_files"]


@dataclass(frozen=True, eq=False)
class _Source:
    """A source under the name that the user gave it, in a form that can be read again."""

    name: str
    given: Any
    word: str  # as the command takes it
    folder: Folder | None = None  # of standard input, for as long as it is needed


def inspect_files(
    sources: Sequence[Any],
    columns: Mapping[str, str],
    scores_format: str | None,
    counts: CountsReader,
    stem: Callable[[Any], str],
) -> Inspection:
    """Tell what files hold, how they fit together, and what is odd.

    See :func:`parivox.inspect`; `stem` names the system that an audit takes a file to be of.
    """
    asked = Columns(dict(columns), elsewhere=True)
    once, twice = _without_repeats(sources)
    kept = [_readable_again(source, number) for number, source in enumerate(once, 1)]
    seen = [_identify(one, asked, scores_format, counts) for one in kept]
    trials, tables = _settle_kinds(seen)
    files = [one if isinstance(one, Found) else one.found for one in seen]
    of = [(source.word, source.given, one) for source, one in zip(kept, seen, strict=True)]
    plan = Plan(of, dict(columns), scores_format, stem)
    known = {problem for one in files for problem in one.problems}
    problems = [*twice, *(one for one in plan.problems(counts) if one not in known)]
    command, because = plan.next()
    joins = find_joins(trials, tables)
    return Inspection(
        tuple(files), tuple(joins), tuple(plan.shared), tuple(problems), command, tuple(because)
    )


def _settle_kinds(seen: list[Inspected]) -> tuple[list[InspectedTrials], list[InspectedTable]]:
    """Settle in place what each source shows the others to be; give trials and tables apart."""
    trials = [one for one in seen if isinstance(one, InspectedTrials)]
    tables = settle_kinds(trials, [one for one in seen if isinstance(one, InspectedTable)])
    trials = with_labels(trials, tables)
    of_trials, of_tables = iter(trials), iter(tables)
    for place, one in enumerate(seen):
        if isinstance(one, InspectedTrials):
            seen[place] = next(of_trials)
        elif isinstance(one, InspectedTable):
            seen[place] = next(of_tables)
    return trials, tables


def _without_repeats(sources: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """The sources without files that are given again, and what to say of these."""
    found: dict[object, Any] = {}
    again: dict[str, None] = {}
    for source in sources:
        is_path = isinstance(source, (str, os.PathLike))
        is_file = is_path and os.fspath(source) != "-"
        try:
            key = os.path.realpath(source) if is_file else source if is_path else id(source)
        except ValueError:  # no path can be called so
            key = source
        if is_path and key in found:
            name = shown(os.fspath(source)) if is_file else "standard input"
            again[f"{name}: is given more than once; name it once"] = None
        found.setdefault(key, source)
    return list(found.values()), list(again)


def _readable_again(source: Any, number: int) -> _Source:
    """The source so that it can be read more than once."""
    if not isinstance(source, (str, os.PathLike)):
        return _Source(f"table {number}", source, f"table {number}")
    if os.fspath(source) != "-":
        name = shown(os.fspath(source))
        return _Source(name, source, name)
    folder = Folder()
    path = folder / "standard input"  # as messages call it
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return _Source(path.name, path, "-", folder)


def _identify(
    source: _Source, asked: Columns, format_: str | None, counts: CountsReader
) -> Inspected:
    """What one source is; what is neither trials nor a table nor counts is unknown."""
    if holds_counts(source.given):
        return counts.see(source.name, source.given)
    if (groups := inspect_groups(source.given, source.name)) is not None:
        return groups
    trials, problem = _trials(source, asked, format_)
    if trials is not None:
        return trials
    try:
        seen = inspect_table(source.given, source.name)
    except DataError as error:
        problems = dict.fromkeys(one for one in (problem, str(error)) if one)
        return Found(source.name, "unknown", problems=tuple(problems))
    if problem and _names_trials(seen):
        return Found(source.name, "trials", seen.found.format, problems=(problem,))
    return seen


def _trials(
    source: _Source, asked: Columns, format_: str | None
) -> tuple[InspectedTrials | Found | None, str]:
    """The trials of a source, if it is of trials; and what an audit says that it cannot read."""
    problem = ""
    try:
        scanned = _scanned(source.given, asked, format_)
    except DataError as error:
        problem = str(error)
        if _may_be_trials(source.given):
            return Found(source.name, "trials", problems=(problem,)), problem
    else:
        if {"enrol", "test"} <= set(scanned.columns):
            is_else = _is_of_models(scanned)
            seen = None if is_else else inspect_trials(scanned, source.given, source.name, asked)
            return seen, ""
    return _by_content(source, asked), problem


def _by_content(source: _Source, asked: Columns) -> InspectedTrials | None:
    """The trials of a source whose columns have no known names, by what they hold."""
    with suppress(DataError):
        raw = _as_table(source.given, asked)
        roles = roles_of_trials(first_rows(raw, source.given, asked), asked)
        if roles:
            named = Columns(roles)
            scanned = scan(source.given, columns=named, format=None, name="scores")
            seen = inspect_trials(scanned, source.given, source.name, named)
            taken = {role: column for role, column in roles.items() if role not in asked.by_role}
            odd = (*([_odd_guesses(taken)] if taken else []), *seen.found.odd)
            return replace(seen, found=replace(seen.found, odd=odd), named=tuple(roles))
    return None


def _as_table(given: Any, asked: Columns) -> Scan:
    """A source as a table, whatever its columns."""
    if not isinstance(given, (str, os.PathLike)):
        return scan(given, columns=asked, format=None, name="scores")
    content = read_content(given)
    return table_format(content).scan(content, asked)


def _odd_guesses(roles: Mapping[str, str]) -> Odd:
    """Columns that are trusted to be what they look like; an audit wants to be told."""
    columns, words = ", ".join(map(repr, roles.values())), ", ".join(roles)
    option = ",".join(f"{role}={column}" for role, column in roles.items())
    are = f"columns {columns} are" if len(roles) > 1 else f"column {columns} is"
    return Odd(f"{are} taken for {words}; audit needs --columns {option}", 0)


def _names_trials(seen: InspectedTable) -> bool:
    """Whether there are columns of enrolments and of tests, if more than one of them."""
    names = {plain(column) for column in seen.columns}
    return all(names & ALIASES[side] for side in ("enrol", "test"))


def _scanned(given: Any, asked: Columns, format_: str | None) -> Scan:
    try:
        return scan(given, columns=asked, format=None, name="scores")
    except DataError:
        if format_ is None or not _may_be_trials(given):
            raise
        return scan(given, columns=asked, format=format_, name="scores")


def _may_be_trials(given: Any) -> bool:
    """Whether the rows are of trials, in a format that the user must name or a header must."""
    if not isinstance(given, (str, os.PathLike)):
        return False
    try:
        head = read_content(given).head
    except DataError:
        return False
    return may_be_trials(head)


def _is_of_models(scanned: Scan) -> bool:
    """Whether the pairs are models and their recordings, with the speaker of each."""
    of_trials = {"score", "label", "decision"} & set(scanned.columns)
    return not of_trials and any(plain(name) in SPEAKER for name in scanned.ignored)
