"""What files hold and how they fit together, before any audit.

Each file is recognised for what it is, whatever is odd about it. What an audit would refuse is
told in the words of the audit, since its own readers are asked.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import DataError, ParivoxError, shown
from parivox.tables.content import read_content
from parivox.tables.folder import Folder
from parivox.tables.formats import scan
from parivox.tables.formats.kinds import readings
from parivox.tables.formats.scan import ALIASES, ENGINE_ERRORS, Columns, plain
from parivox.tables.inspection.findings import Found, Inspection
from parivox.tables.inspection.joins import settled, tell_joins
from parivox.tables.inspection.tables import TableSeen, roles_of_trials, see_table
from parivox.tables.inspection.trials import TrialsSeen, see_trials
from parivox.tables.speakers import read_speakers
from parivox.tables.trials import read_trials
from parivox.tables.utterances import SPEAKER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.tables.formats.scan import Scan

__all__ = ["COUNTS_KEY", "Inspection", "inspect"]

COUNTS_KEY = "parivox_counts"
"""Under this key the metadata of a Parquet file say that it holds counts."""
_CHANCE = 0.5
_GROUPINGS = 2


@dataclass(frozen=True, eq=False)
class _Source:
    """A source under the name that the user gave it, in a form that can be read again."""

    name: str
    given: Any
    folder: Folder | None = None  # of standard input, for as long as it is needed


def inspect(
    *sources: Any,
    columns: Mapping[str, str] | None = None,
    scores_format: str | None = None,
) -> Inspection:
    """Tell what files hold, how they fit together, and what is odd.

    Parameters
    ----------
    *sources
        Score files, trial lists, tables of speakers, utterances, models and failures, in any
        order: paths, ``-`` for standard input, dataframes or mappings of arrays. Of trials beyond
        5,000,000, the first are looked at.
    columns
        Names of columns of trials by role, where they are not known.
    scores_format
        Format of trials whose rows fit several.

    Returns
    -------
    Inspection
        Of each file and of the files together; nothing is raised for what a file holds.

    Examples
    --------
    >>> trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [0.9, 0.1]}
    >>> found = inspect(trials, {"speaker": ["a", "b"], "gender": ["f", "m"]})
    >>> [one.kind for one in found.files], found.joins[0].met
    (['scores', 'speakers'], 2)
    """
    asked = Columns(dict(columns or {}), elsewhere=True)
    kept = [_kept(source, number) for number, source in enumerate(sources, 1)]
    seen = [_seen(one, asked, scores_format) for one in kept]
    trials = [one for one in seen if isinstance(one, TrialsSeen)]
    tables = iter(settled(trials, [one for one in seen if isinstance(one, TableSeen)]))
    seen = [next(tables) if isinstance(one, TableSeen) else one for one in seen]
    files = [one if isinstance(one, Found) else one.found for one in seen]
    plan = _Plan(kept, seen, dict(columns or {}), scores_format)
    told = {problem for one in files for problem in one.problems}
    problems = tuple(one for one in plan.problems() if one not in told)
    joins = tell_joins(trials, [one for one in seen if isinstance(one, TableSeen)])
    return Inspection(tuple(files), tuple(joins), problems, plan.next())


def _kept(source: Any, number: int) -> _Source:
    """The source so that it can be read more than once."""
    if not isinstance(source, (str, os.PathLike)):
        return _Source(f"table {number}", source)
    if os.fspath(source) != "-":
        return _Source(shown(os.fspath(source)), source)
    folder = Folder()
    path = folder / "standard input"  # as messages call it
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return _Source("-", path, folder)


def _seen(source: _Source, asked: Columns, format_: str | None) -> TrialsSeen | TableSeen | Found:
    """What one source is; what is neither trials nor a table nor counts is unknown."""
    if _holds_counts(source.given):
        return Found(source.name, "counts", "parquet")
    problems: list[str] = []
    try:
        scanned = _scanned(source.given, asked, format_)
    except DataError as error:
        problems.append(str(error))
        if _may_be_trials(source.given):
            return Found(source.name, "trials", problems=tuple(problems))
    else:
        if {"enrol", "test"} <= set(scanned.columns) and not _is_of_models(scanned):
            return see_trials(scanned, source.name, asked)
    try:
        seen = see_table(source.given, source.name)
    except DataError as error:
        problems.append(str(error))
        return Found(source.name, "unknown", problems=tuple(dict.fromkeys(problems)))
    if problems and _names_trials(seen):
        return Found(source.name, "trials", seen.found.format, problems=tuple(problems))
    roles = {} if asked.by_role else roles_of_trials(seen)
    return _as_trials(source, roles, problems) if roles else seen


def _as_trials(source: _Source, roles: dict[str, str], problems: Sequence[str]) -> TrialsSeen:
    """The trials of a file whose columns have no known names, by what they hold."""
    asked = Columns(roles)
    seen = see_trials(
        scan(source.given, columns=asked, format=None, name="scores"), source.name, asked
    )
    found = replace(seen.found, problems=(*problems, *seen.found.problems))
    return replace(seen, found=found, named=tuple(roles))


def _names_trials(seen: TableSeen) -> bool:
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
    """Whether the rows fit several formats of trials, so that the user must say which."""
    try:
        return isinstance(given, (str, os.PathLike)) and bool(readings(read_content(given).head))
    except DataError:
        return False


def _is_of_models(scanned: Scan) -> bool:
    """Whether the pairs are models and their recordings, with the speaker of each."""
    told = {"score", "label", "decision"} & set(scanned.columns)
    return not told and any(plain(name) in SPEAKER for name in scanned.ignored)


def _holds_counts(given: Any) -> bool:
    """Whether this is what ``parivox count`` wrote."""
    if not isinstance(given, (str, os.PathLike)):
        return False
    try:
        with open(given, "rb") as file:  # noqa: PTH123 - any text, even what no path can be
            return file.read(4) == b"PAR1" and COUNTS_KEY in pl.read_parquet_metadata(file)
    except ENGINE_ERRORS:
        return False


class _Plan:
    """What to do with the files: an audit of all scores with the first file of every other kind."""

    def __init__(
        self,
        sources: Sequence[_Source],
        seen: Sequence[TrialsSeen | TableSeen | Found],
        columns: dict[str, str],
        format_: str | None,
    ) -> None:
        self.columns = columns or _guessed(seen)
        is_used = any(isinstance(one, TrialsSeen) and one.found.format == format_ for one in seen)
        self.format = format_ if is_used else None
        self.of: dict[str, list[tuple[_Source, TrialsSeen | TableSeen | Found]]] = {}
        for source, one in zip(sources, seen, strict=True):
            found = one if isinstance(one, Found) else one.found
            if found.rows or found.kind == "counts":
                self.of.setdefault(found.kind, []).append((source, one))

    def first(self, kind: str) -> Any:
        """The first source of a kind, if there is one."""
        return self.of[kind][0][0].given if kind in self.of else None

    def problems(self) -> Iterator[str]:
        """What the audit's readers say against the files together."""
        for source, one in self.of.get("scores", []):
            if not isinstance(one, TrialsSeen) or not one.found.whole or one.found.problems:
                continue
            try:
                people = self.first("speakers")
                read_trials(
                    source.given,
                    system="",
                    list_="",
                    speakers=None if people is None else read_speakers(people),
                    trials=self.first("trials"),
                    utterances=self.first("utterances"),
                    models=self.first("models"),
                    failures=self.first("failures"),
                    columns=self.columns or None,
                    format=self.format if one.found.format == self.format else None,
                )
            except ParivoxError as error:
                yield str(error)

    def next(self) -> str:
        """The command to type next; empty where there is nothing to audit."""
        if "counts" in self.of and "scores" not in self.of:
            return shlex.join(["parivox", "audit", *self._names("counts")])
        if "scores" not in self.of:
            return ""
        words = ["parivox", "audit", *self._names("scores")]
        groupings = self._groupings()
        for kind in ("trials", "speakers", "utterances", "models", "failures"):
            if kind in self.of:
                words += [f"--{kind}", self._names(kind)[0]]
            elif kind == "speakers" and not groupings:
                words += ["--speakers", "PEOPLE"]
        for name in groupings:
            words += ["--by", name]
        if self.format is not None:
            words += ["--scores-format", self.format]
        if self.columns:
            told = ",".join(f"{role}={column}" for role, column in self.columns.items())
            words += ["--columns", told]
        if any(_is_distance(one) for _, one in self.of["scores"]):
            words.append("--distance")
        return shlex.join(words)

    def _names(self, kind: str) -> list[str]:
        return [source.name for source, _ in self.of.get(kind, [])]

    def _groupings(self) -> list[str]:
        """Some attributes to group by: of speakers, then of recordings, then of trials."""
        names = [
            column.by
            for kind in ("speakers", "utterances", "scores")
            for _, one in self.of.get(kind, [])
            if not isinstance(one, Found)
            for column in one.found.columns
            if column.groups
        ]
        return list(dict.fromkeys(names))[:_GROUPINGS]


def _guessed(seen: Sequence[TrialsSeen | TableSeen | Found]) -> dict[str, str]:
    """Columns of trials that audits know by the user's names only."""
    for one in seen:
        if isinstance(one, TrialsSeen) and one.named:
            return {role: one.scan.columns[role] for role in one.named}
    return {}


def _is_distance(one: TrialsSeen | TableSeen | Found) -> bool:
    """Whether targets score lower than nontargets."""
    scores = None if isinstance(one, Found) else one.found.scores
    return scores is not None and scores.auc is not None and scores.auc < _CHANCE
