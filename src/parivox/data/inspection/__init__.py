"""What files hold and how they fit together, before any audit.

Each file is recognised for what it is, whatever is odd about it. What an audit would refuse is
told in the words of the audit, since its own readers are asked.
"""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.data.columns import ALIASES, SPEAKER, RequestedColumns, plain
from parivox.data.counts_file import holds_counts
from parivox.data.formats import may_be_trials, scan, table_format
from parivox.data.inspection.findings import FileFindings, Inspection
from parivox.data.inspection.joins import add_labels, find_joins, settle_kinds
from parivox.data.inspection.parivox_files import recognise_parivox_file
from parivox.data.inspection.proposed_audit import ProposedAudit, Source
from parivox.data.inspection.tables import (
    InspectedTable,
    inspect_groups,
    inspect_table,
    roles_of_trials,
)
from parivox.data.inspection.trials import (
    InspectedTrials,
    add_score_warnings,
    columns_option,
    first_rows,
    inspect_trials,
)
from parivox.data.recordings import MODEL
from parivox.data.source_bytes import read_content
from parivox.data.value_warnings import DataWarning
from parivox.errors import DataError, StrayQuote, printable
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.progress import stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.data.formats.format import Scan
    from parivox.data.inspection.proposed_audit import CountsReader, Inspected

__all__ = ["Inspection", "inspect_files"]


def inspect_files(
    given: Sequence[Any],
    columns: Mapping[str, str],
    scores_format: str | None,
    counts: CountsReader,
    stem: Callable[[Any], str],
) -> Inspection:
    """Tell what files hold, how they fit together, and what is odd.

    See `parivox.inspect`; `stem` names the system that an audit takes a file to be of.
    """
    asked = RequestedColumns(dict(columns), may_be_elsewhere=True)
    once, repeated = _without_repeats(given)
    sources = [_readable_again(one, number) for number, one in enumerate(once, 1)]
    inspected = []
    for source in sources:
        with stage(f"looking at {source.name}"):
            inspected.append(_identify(source, asked, scores_format, counts))
    trials = [one for one in inspected if isinstance(one, InspectedTrials)]
    tables = settle_kinds(trials, [one for one in inspected if isinstance(one, InspectedTable)])
    trials = [add_score_warnings(one) for one in add_labels(trials, tables)]
    settled: dict[type, Iterator[Inspected]] = {
        InspectedTrials: iter(trials),
        InspectedTable: iter(tables),
    }
    for source, one in zip(sources, inspected, strict=True):
        source.inspected = next(settled.get(type(one), iter([one])))
    plan = ProposedAudit(sources, dict(columns), scores_format, stem)
    known = {problem for source in sources for problem in source.found.problems}
    with stage("looking how they fit together"):
        joins = tuple(find_joins(trials, tables))
        plan.whose = next((one.template for one in joins if one.template), "")
        problems = [*repeated, *(one for one in plan.problems(counts) if one not in known)]
        command, because = plan.next()
    files = tuple(
        replace(source.found, odd=(*source.found.odd, *plan.odd.get(id(source), ())))
        for source in sources
    )
    return Inspection(files, joins, tuple(plan.shared), tuple(problems), command, tuple(because))


def _without_repeats(given: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """The sources without files that are given again, and what to say of these."""
    found: dict[object, Any] = {}
    again: dict[str, None] = {}
    for source in given:
        is_path = isinstance(source, (str, os.PathLike))
        is_file = is_path and os.fspath(source) != "-"
        try:
            key = os.path.realpath(source) if is_file else source if is_path else id(source)
        except ValueError:  # no path can be called so
            key = source
        if is_path and key in found:
            name = printable(os.fspath(source)) if is_file else "standard input"
            again[f"{name}: is given more than once; name it once"] = None
        found.setdefault(key, source)
    return list(found.values()), list(again)


def _readable_again(given: Any, number: int) -> Source:
    """The source so that it can be read more than once."""
    if not isinstance(given, (str, os.PathLike)):
        return Source(f"table {number}", given, f"table {number}")
    if os.fspath(given) != "-":
        name = printable(os.fspath(given))
        return Source(name, given, name)
    folder = ScratchFolder()
    # "standard input" is what messages call it
    with folder.file_to_write("standard input") as path, path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Source(path.name, path, "-", folder)


def _identify(
    source: Source, asked: RequestedColumns, format_: str | None, counts: CountsReader
) -> Inspected:
    """What one source is; what is neither trials nor a table nor counts is unknown."""
    if holds_counts(source.data):
        return counts.see(source.name, source.data)
    own = recognise_parivox_file(source.data, source.name) or inspect_groups(
        source.data, source.name
    )
    if own is not None:
        return _own_table(source, own) if own.kind == "utterances" else own
    trials, problem = _trials(source, asked, format_)
    if trials is not None:
        return trials
    try:
        inspected = inspect_table(source.data, source.name)
    except DataError as error:
        # whether a file with stray quotes is of trials shows once they are right
        first = "" if isinstance(error, StrayQuote) else problem
        problems = dict.fromkeys(one for one in (first, str(error)) if one)
        return FileFindings(source.name, "unknown", problems=tuple(problems))
    names = {plain(column) for column in inspected.columns}
    if problem and all(names & ALIASES[side] for side in ("enrol", "test")):
        return FileFindings(source.name, "trials", inspected.found.format, problems=(problem,))
    return inspected


def _own_table(source: Source, own: FileFindings) -> Inspected:
    """A table that Parivox wrote, and that an audit takes as any other."""
    try:
        table = inspect_table(source.data, source.name)
    except DataError as error:
        return replace(own, kind="own", problems=(str(error),))
    return replace(table, found=replace(table.found, own=own.own, use=own.use))


def _trials(
    source: Source, asked: RequestedColumns, format_: str | None
) -> tuple[InspectedTrials | FileFindings | None, str]:
    """The trials of a source, if it is of trials; and what an audit says that it cannot read."""
    problem = ""
    try:
        scanned = _scanned(source.data, asked, format_)
    except DataError as error:
        problem = str(error)
        if _may_be_trials(source.data):
            return FileFindings(source.name, "trials", problems=(problem,)), problem
    else:
        if {"enrol", "test"} <= set(scanned.columns):
            of_trials = {"score", "label", "decision"} & set(scanned.columns)
            if not of_trials and any(plain(name) in SPEAKER for name in scanned.ignored):
                return None, ""  # models and their recordings, with the speaker of each
            found = inspect_trials(scanned, source.data, source.name, asked)
            return (None if _are_models(found) else found), ""
    with suppress(DataError):
        return _trials_by_content(source, asked), problem
    return None, problem


def _are_models(trials: InspectedTrials) -> bool:
    """Whether models stand with the recordings of each, as NIST has them, not with trials."""
    columns, test = trials.scan.columns, trials.rows.test
    is_nist = set(columns) <= {"enrol", "test", "side"} and plain(columns["enrol"]) in MODEL
    return is_nist and not trials.scan.ignored and np.unique(test).size == test.size


def _scanned(data: Any, asked: RequestedColumns, format_: str | None) -> Scan:
    try:
        return scan(data, columns=asked, format=None, name="scores")
    except DataError:
        if format_ is None or not _may_be_trials(data):
            raise
        return scan(data, columns=asked, format=format_, name="scores")


def _may_be_trials(data: Any) -> bool:
    """Whether the rows are of trials, in a format that the user must name or a header must."""
    with suppress(DataError):
        return isinstance(data, (str, os.PathLike)) and may_be_trials(read_content(data).head)
    return False


def _trials_by_content(source: Source, asked: RequestedColumns) -> InspectedTrials | None:
    """The trials of a source whose columns have no known names, by what they hold."""
    if isinstance(source.data, (str, os.PathLike)):
        content = read_content(source.data)
        raw = table_format(content).scan(content, asked)
    else:
        raw = scan(source.data, columns=asked, format=None, name="scores")
    roles = roles_of_trials(first_rows(raw, source.data, asked), asked)
    if not roles:
        return None
    named = RequestedColumns(roles, words=asked.words)
    scanned = scan(source.data, columns=named, format=None, name="scores")
    inspected = inspect_trials(scanned, source.data, source.name, named)
    odd = inspected.found.odd
    taken = {role: column for role, column in roles.items() if role not in asked.by_role}
    if taken:  # which is a guess: an audit wants to be told
        names = ", ".join(map(repr, taken.values()))
        are = f"columns {names} are" if len(taken) > 1 else f"column {names} is"
        what = f"{are} taken for {', '.join(taken)}; audit needs {columns_option(taken)}"
        odd = (DataWarning(what, 0), *odd)
    recipe = {**roles, **inspected.recipe}
    return replace(inspected, found=replace(inspected.found, odd=odd), recipe=recipe)
