"""Inspection: what files contain and how they fit together, before any audit.

Each file is recognised for what it is, however unusual it is. What an audit would refuse is
reported in the words of the audit, because its own readers are called.

Entry function: `inspect_files`. ``trials`` and ``tables`` inspect one file, ``parivox_files``
recognises files that Parivox wrote, ``joins`` compares files, ``proposed_audit`` reads them as an
audit would and proposes the next command. ``findings`` has the results, which `parivox.report`
puts into words.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.columns import (
    ALIASES,
    MODEL_NAMES,
    SPEAKER_NAMES,
    RequestedColumns,
    plain_name,
)
from parivox.data.counts_file import holds_counts
from parivox.data.formats import may_be_trials, scan
from parivox.data.inspection.findings import FileFindings, Inspection
from parivox.data.inspection.joins import add_labels, find_joins, settle_kinds
from parivox.data.inspection.named_source import NamedSource
from parivox.data.inspection.parivox_files import recognise_parivox_file
from parivox.data.inspection.proposed_audit import ProposedAudit
from parivox.data.inspection.searches import (
    FullScoreList,
    full_list_warnings,
    inspect_searches,
    search_command,
    with_search_findings,
)
from parivox.data.inspection.tables import (
    PLAIN_SCORES,
    InspectedTable,
    inspect_groups,
    inspect_table,
)
from parivox.data.inspection.trials import (
    InspectedTrials,
    add_score_warnings,
    inspect_trials,
)
from parivox.data.source_bytes import read_content
from parivox.data.trial_rows import trial_chunks
from parivox.errors import DataError, StrayQuote, printable
from parivox.runtime.disk import ScratchFolder
from parivox.runtime.progress import stage

_NONTARGET_FILE = re.compile(r"impost|non|neg|diff|fals|fake|spoof")
"""What is in the names of files of nontarget scores."""

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.data.formats.format import Scan
    from parivox.data.inspection.named_source import Inspected
    from parivox.data.inspection.proposed_audit import AuditChecks

__all__ = ["Inspection", "inspect_files"]


def inspect_files(
    sources: Sequence[Any],
    columns: Mapping[str, str],
    scores_format: str | None,
    audit_checks: AuditChecks,
    system_name: Callable[[Any], str],
) -> Inspection:
    """Return what files contain, how they fit together, and warnings about them.

    See `parivox.inspect`; `system_name` returns the name that an audit gives the system of a file.
    """
    requested_columns = RequestedColumns(dict(columns), may_be_elsewhere=True)
    unique_sources, repetition_problems = _unique_sources(sources)
    readable_sources = [
        _rereadable_source(source, number) for number, source in enumerate(unique_sources, 1)
    ]
    inspected = []
    for source in readable_sources:
        with stage(f"looking at {source.name}"):
            inspected.append(_identify(source, requested_columns, scores_format, audit_checks))
    trials = [file for file in inspected if isinstance(file, InspectedTrials)]
    tables = [file for file in inspected if isinstance(file, InspectedTable)]
    # ids of trials show what tables are; then tables show the labels of trials
    tables = settle_kinds(trials, tables)
    trials = add_labels(trials)
    settled_by_type: dict[type, Iterator[Inspected]] = {
        InspectedTrials: iter(trials),
        InspectedTable: iter(tables),
    }
    for source, file in zip(readable_sources, inspected, strict=True):
        settled = settled_by_type.get(type(file))
        source.inspected = file if settled is None else next(settled)
    full_list = FullScoreList.from_sources(readable_sources)
    audited_sources = readable_sources
    if full_list is not None:  # its persons are no table of all speakers
        audited_sources = [each for each in readable_sources if each is not full_list.gallery]
        tables = [table for table in tables if table is not full_list.gallery.inspected]
    plan = ProposedAudit(audited_sources, dict(columns), scores_format, system_name, full_list)
    known_problems: set[str] = set()
    for source in readable_sources:
        known_problems.update(source.findings.problems)
    with stage("looking how they fit together"):
        joins = tuple(find_joins(trials, tables))
        plan.speaker_patterns = next(
            ([join.template, *join.further_templates] for join in joins if join.template), []
        )
        joint_problems = [
            problem for problem in plan.problems(audit_checks) if problem not in known_problems
        ]
        for source in readable_sources:
            if isinstance(source.inspected, InspectedTrials):
                source.inspected = add_score_warnings(source.inspected)
        command, differing = plan.next_command()
        command = (_two_class_command(tables) if not trials else "") or command
        command = search_command(readable_sources) or command
    files = tuple(
        replace(
            findings,
            warnings=(
                *findings.warnings,
                *plan.warnings_by_source.get(id(source), ()),
                *full_list_warnings(source, full_list),
            ),
        )
        for source, findings in zip(
            readable_sources, with_search_findings(readable_sources), strict=True
        )
    )
    return Inspection(
        files=files,
        joins=joins,
        shared=tuple(plan.shared),
        problems=(*repetition_problems, *joint_problems),
        next=command,
        differing=tuple(differing),
    )


def _two_class_command(tables: Sequence[InspectedTable]) -> str:
    """Return the command for two files of scores alone, one of each class; else nothing.

    Their names give the classes; where these do not, the higher scores are those of targets.
    """
    are_scores = [
        table.findings.kind == PLAIN_SCORES
        and not table.roles
        and len(table.columns) == 1
        and isinstance(table.source, (str, os.PathLike))
        for table in tables
    ]
    if are_scores != [True, True]:
        return ""
    target, nontarget = (os.fspath(table.source) for table in sorted(tables, key=_class_order))
    return shlex.join(["parivox", "metrics", "--target", target, "--nontarget", nontarget])


def _class_order(table: InspectedTable) -> tuple[bool, float]:
    """Return what sorts a file of target scores before one of nontarget scores."""
    name = os.path.basename(os.fspath(table.source)).lower()  # noqa: PTH119 - any text
    is_nontarget = bool(_NONTARGET_FILE.search(name))
    mean = table.table[table.columns[0]].cast(pl.Float64, strict=False).mean()
    return is_nontarget, -float(mean or 0.0)  # type: ignore[arg-type]


def _unique_sources(sources: Sequence[Any]) -> tuple[list[Any], list[str]]:
    """Return the sources without repeated files, and a problem for each repeated file."""
    source_by_key: dict[object, Any] = {}
    problems: dict[str, None] = {}
    for source in sources:
        is_path = isinstance(source, (str, os.PathLike))
        is_file = is_path and os.fspath(source) != "-"
        key: object = source if is_path else id(source)
        if is_file:
            with suppress(ValueError):  # a text that cannot be a path: refused when it is read
                key = os.path.realpath(source)
        if is_path and key in source_by_key:
            name = printable(os.fspath(source)) if is_file else "standard input"
            problems[f"{name}: is given more than once; name it once"] = None
        source_by_key.setdefault(key, source)
    return list(source_by_key.values()), list(problems)


def _rereadable_source(source: Any, number: int) -> NamedSource:
    """Return the source in a form that can be read several times."""
    if not isinstance(source, (str, os.PathLike)):
        return NamedSource(f"table {number}", source, f"table {number}")
    if os.fspath(source) != "-":
        name = printable(os.fspath(source))
        return NamedSource(name, source, name)
    folder = ScratchFolder()
    # the name of the file, as messages use it
    with folder.file_to_write("standard input") as path, path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return NamedSource(path.name, path, "-", folder)


def _identify(
    source: NamedSource,
    requested_columns: RequestedColumns,
    format_: str | None,
    audit_checks: AuditChecks,
) -> Inspected:
    """Return what one source is; unknown if it is neither trials nor a table nor counts."""
    if holds_counts(source.data):
        return audit_checks.inspect(source.name, source.data)
    parivox_file = (
        recognise_parivox_file(source.data, source.name)
        or inspect_groups(source.data, source.name)
        or inspect_searches(source.data, source.name)
    )
    if parivox_file is not None:
        is_table = parivox_file.kind == "utterances"
        return _inspect_parivox_table(source, parivox_file) if is_table else parivox_file
    trials, problem = _inspect_as_trials(source, requested_columns, format_)
    if trials is not None:
        return trials
    try:
        inspected = inspect_table(source.data, source.name)
    except DataError as error:
        # with stray quotes nothing shows whether the file holds trials, so do not call it that
        trials_problem = "" if isinstance(error, StrayQuote) else problem
        problems = dict.fromkeys(message for message in (trials_problem, str(error)) if message)
        return FileFindings(source.name, "unknown", problems=tuple(problems))
    plain_names = {plain_name(column) for column in inspected.columns}
    if problem and all(plain_names & ALIASES[side] for side in ("enrol", "test")):
        return FileFindings(source.name, "trials", inspected.findings.format, problems=(problem,))
    return inspected


def _inspect_parivox_table(source: NamedSource, findings: FileFindings) -> Inspected:
    """Return a table that Parivox wrote, and that an audit reads as any other."""
    try:
        table = inspect_table(source.data, source.name)
    except DataError as error:
        return replace(findings, kind="parivox", problems=(str(error),))
    return replace(
        table,
        findings=replace(
            table.findings, description=findings.description, command=findings.command
        ),
    )


def _inspect_as_trials(
    source: NamedSource, requested_columns: RequestedColumns, format_: str | None
) -> tuple[InspectedTrials | FileFindings | None, str]:
    """Return the trials of a source, if it contains trials; and why an audit cannot read it."""
    try:
        scanned = _scan_with_format(source.data, requested_columns, format_)
    except DataError as error:
        problem = str(error)
        if _may_be_trials(source.data):
            return FileFindings(source.name, "trials", problems=(problem,)), problem
        return None, problem
    if not {"enrol", "test"} <= set(scanned.columns):
        if {"score", "enrol_speaker", "test_speaker"} <= set(scanned.columns):
            return _inspect_without_ids(source, scanned)
        return None, ""
    has_outcome = {"score", "label", "decision"} & set(scanned.columns)
    if not has_outcome and any(plain_name(name) in SPEAKER_NAMES for name in scanned.ignored):
        return None, ""  # models and their recordings, with the speaker of each
    trials = inspect_trials(scanned, source.data, source.name, requested_columns)
    return (None if _is_model_table(trials) else trials), ""


def _inspect_without_ids(source: NamedSource, scanned: Scan) -> tuple[FileFindings | None, str]:
    """Return scores of pairs of speakers, and why an audit refuses them: they have no ids."""
    try:
        next(trial_chunks(scanned))
    except DataError as error:
        problem = str(error)
        findings = FileFindings(source.name, "trials", scanned.format, problems=(problem,))
        return findings, problem
    return None, ""


def _is_model_table(trials: InspectedTrials) -> bool:
    """Whether rows are models with their recordings, in the form of NIST, instead of trials."""
    columns, test = trials.scan.columns, trials.rows.test
    is_nist = (
        set(columns) <= {"enrol", "test", "side"} and plain_name(columns["enrol"]) in MODEL_NAMES
    )
    return is_nist and not trials.scan.ignored and np.unique(test).size == test.size


def _scan_with_format(data: Any, requested_columns: RequestedColumns, format_: str | None) -> Scan:
    """Open a source in its own format, or if that is not clear, in the format of the user."""
    try:
        return scan(data, columns=requested_columns, format=None, name="scores")
    except DataError:
        if format_ is None or not _may_be_trials(data):
            raise
        return scan(data, columns=requested_columns, format=format_, name="scores")


def _may_be_trials(data: Any) -> bool:
    """Whether rows are trials in a format that the user, or a header, must name."""
    with suppress(DataError):
        return isinstance(data, (str, os.PathLike)) and may_be_trials(read_content(data).head)
    return False
