"""What an audit in parts is of: inputs with their hashes, options, and the rows of each part.

A plan is a folder: ``plan.json``, one folder for each part (``00007-of-00032``) with its counts,
its tally and ``shard.json``, which names both by their hashes, and, once the counts of all parts
are there, their sum and ``thresholds.json``. It is private: it holds the names of files, and
tallies are personal data.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from math import ceil, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import (
    MAX_EXACT_TRIALS,
    Options,
    apply_groups_file,
    read_grouped_trials,
    requested_attributes,
    split_name,
)
from parivox.data.counts_file import holds_counts, holds_tally
from parivox.data.formats import check_same_columns
from parivox.data.kaldi import kaldi_table
from parivox.data.recordings import is_pattern
from parivox.data.score_extent import extent_of
from parivox.data.source_bytes import FileRows, called_apart, read_as, read_content, stem_of
from parivox.errors import ConfigError, DataError
from parivox.options.audit import (
    INPUT_SECTION,
    NEVER,
    READING_SECTION,
    AuditOptions,
    CountOptions,
    ReadOptions,
)
from parivox.options.kinds import option_fields
from parivox.options.shards import ShardsPlanCommand
from parivox.runtime.disk import atomic_file, explain_write_errors
from parivox.runtime.progress import reports_progress
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing import GroupedTrials
    from parivox.core.counts import FloatArray

PLAN_VERSION = "1"
PLAN_FILE, THRESHOLDS_FILE = "plan.json", "thresholds.json"
N_SCORE_BINS = 1 << 16
"""Bins that the scores of long lists are counted in, at least a tenth of it."""
_TABLES = ("speakers", "utterances", "models", "failures", "groups", "threshold_from")
MAX_TRIED_ROWS = 1_000
"""Rows that options are tried on before all parts are."""
_MOST_SHARDS = 100_000
"""As many as can be asked for."""
_OF_ONE_PIECE = ("trials", "compare", "standardise", "trial_table", "metrics", "thresholds")
"""Options that take all trials at once."""


class TallyInputs(NamedTuple):
    """What the tallies of all parts take from the counts of all."""

    thresholds: FloatArray
    speakers: NDArray[np.intp]  # who is in any trial, by their numbers in the table


@dataclass(frozen=True)
class Plan:
    """An audit in parts.

    Attributes
    ----------
    folder : Path
    id : str
        Hash of all below.
    name : tuple of str
        System and list.
    inputs : tuple of dict
        Files: their role, path, hash, and rows where they are scores.
    shards : tuple of FileRows
        What each part reads.
    step : str
        Width of the bins that scores are counted in; empty where each score is counted.
    options : dict
        Of the audit, as the library takes them.
    """

    folder: Path
    id: str
    name: tuple[str, str]
    inputs: tuple[dict[str, Any], ...]
    shards: tuple[FileRows, ...]
    step: str
    options: dict[str, Any]

    def __len__(self) -> int:
        return len(self.shards)

    def __repr__(self) -> str:
        rows = sum(one["rows"] for one in self.inputs if one["role"] == "scores")
        return f"<plan of {rows:,} rows in {len(self)} parts, {self.folder}>"

    @property
    def scores(self) -> list[str]:
        """Files of scores, in their order."""
        return [one["path"] for one in self.inputs if one["role"] == "scores"]

    def home(self, number: int) -> Path:
        """The folder of one part, counted from 1."""
        self._check(number)
        return self.folder / f"{number:05d}-of-{len(self):05d}"

    def said(self, number: int) -> str:
        """One part in words."""
        self._check(number)
        rows = self.shards[number - 1]
        name = rows.called or Path(rows.path).name
        return f"part {number} of {len(self)} (rows {rows.first + 1:,} to {rows.last:,} of {name})"

    def _check(self, number: int) -> None:
        if not 1 <= number <= len(self):
            msg = f"--shard {number}: the plan has {len(self)} parts; give 1 to {len(self)}"
            raise ConfigError(msg)

    @property
    def asked(self) -> AuditOptions:
        """Options of the audit."""
        return AuditOptions.from_keywords(**self.options)

    def counted(self) -> CountOptions:
        """Options of the counts of a part."""
        asked = self.asked
        own = {one.name: getattr(asked, one.name) for one in fields(ReadOptions)}
        points = Options(**vars(asked)).points() or ()
        fixed = tuple(one.rule_value for one in points if one.rule == "threshold")
        return CountOptions(
            **own,
            step=self.step or None,
            thresholds=fixed if self.step else (),
            withhold=0,
            llr=asked.llr,
            llr_base=asked.llr_base,
        )

    def audited(self) -> dict[str, Any]:
        """Options of the audit of the counts, which hold what was read."""
        sections = {one.keyword: one.section for one in option_fields(AuditOptions).values()}
        return {
            name: value
            for name, value in self.options.items()
            if sections[name] not in {INPUT_SECTION, READING_SECTION}
        }

    def found(self) -> TallyInputs | None:
        """What was found on the counts of all parts; None until these are there.

        Raises
        ------
        DataError
            If it is of another plan, or damaged.
        """
        path = self.folder / THRESHOLDS_FILE
        if not path.exists():
            return None
        found = read_json(path)
        try:
            if found["plan"] == self.id:
                thresholds = [float.fromhex(one) for one in found["thresholds"]]
                return TallyInputs(np.array(thresholds), decoded_speakers(found["speakers"]))
        except (KeyError, TypeError, ValueError) as error:
            raise damaged_file_error(path) from error
        msg = f"{path}: is of another plan; remove it, and merge again"
        raise DataError(msg)

    def is_unchanged(self, number: int) -> bool:
        """Whether all that a part reads is what it was when the plan was made."""
        path = self.shards[number - 1].path
        try:
            self.check_inputs()
            self.check_scores(path, read_content(path).sha256)
        except DataError:
            return False
        return True

    def check_inputs(self) -> None:
        """Refuse files that are not what they were when the plan was made.

        Files of scores are checked as they are read.
        """
        for one in self.inputs:
            if one["role"] != "scores":
                _check_same(one, _sha256(one["path"], one["role"]))

    def check_scores(self, path: str, sha256: str) -> None:
        """Refuse a file of scores that is not what it was when the plan was made."""
        one = next(one for one in self.inputs if one["path"] == path)
        _check_same(one, sha256)


def _check_same(one: Mapping[str, Any], sha256: str) -> None:
    if one["sha256"] != sha256:
        msg = (
            f"{one['path']}: is not what it was when the parts were planned; plan again in a new "
            "folder, or put the file back"
        )
        raise DataError(msg)


@reports_progress
def plan(scores: Any, *, out: str | os.PathLike[str], shards: int = 32, **options: Any) -> Plan:
    """Plan an audit in parts, and write the plan.

    Parameters
    ----------
    scores
        One or several paths of scores of one system, each of other trials, or a mapping from
        ``system`` or ``system@list`` to these.
    out
        A new folder, or one that holds the very same plan.
    shards
        Parts of about as many rows. Files are cut, never joined.
    **options
        Of the audit: see `parivox.audit`. Tables are paths.

    Raises
    ------
    DataError
        If a file cannot be read.
    ConfigError
        If an option is wrong, or cannot be had of parts.
    """
    folder = Path(os.path.realpath(out))
    ShardsPlanCommand(scores=scores, out=out, shards=shards)  # which checks them
    name, paths = _named(scores)
    asked = AuditOptions.from_keywords(**options)
    _check_options(asked)
    stored = {
        one.keyword: _storable(one.keyword, getattr(asked, one.name))
        for one in option_fields(AuditOptions).values()
        if one.is_given(getattr(asked, one.name)) and one.name != "progress"
    }
    if len({*paths}) < len(paths):
        twice = next(one for one in paths if paths.count(one) > 1)
        msg = f"{twice}: is named twice, so that its trials would count twice; name it once"
        raise ConfigError(msg)
    attributes = requested_attributes(apply_groups_file(asked)[0])
    called = dict(zip(paths, called_apart(paths), strict=True))
    inputs: list[dict[str, Any]] = []
    reach: list[tuple[float, float]] = []
    columns: list[tuple[str, Iterable[str]]] = []
    for path in paths:
        extent = extent_of(
            FileRows(path, called=called[path]),
            columns=asked.columns,
            attributes=attributes,
            format=asked.scores_format,
            orientation=asked.orientation,
        )
        same = next((one["path"] for one in inputs if one["sha256"] == extent.sha256), None)
        if same is not None:
            msg = f"{path}: holds the same bytes as {same}, which would count twice; leave one out"
            raise ConfigError(msg)
        inputs.append(
            {"role": "scores", "path": path, "sha256": extent.sha256, "rows": extent.n_rows}
        )
        reach.append((extent.lowest_score, extent.highest_score))
        columns.append((path, extent.columns))
    sizes = [one["rows"] for one in inputs]
    step = _step(sum(sizes), reach)
    check_same_columns(columns)
    inputs += [
        {"role": role, "path": stored[role], "sha256": _sha256(stored[role], role)}
        for role in _TABLES
        if role in stored
    ]
    made: dict[str, Any] = {
        "parivox_shards": PLAN_VERSION,
        "parivox": __version__,
        "system": name[0],
        "list": name[1],
        "inputs": inputs,
        "shards": [[paths[i], first, last] for i, first, last in _cut(sizes, shards)],
        "step": step,
        "options": stored,
    }
    made["id"] = _id_of(made)
    _try(_plan_of(folder, made), inputs)
    file = folder / PLAN_FILE
    if file.exists() and read_json(file).get("id") != made["id"]:
        msg = f"--out {out}: holds another plan; name a new folder"
        raise ConfigError(msg)
    if folder.is_dir() and not file.exists() and any(folder.iterdir()):
        msg = f"--out {out}: holds files that are of no plan; name a new folder"
        raise ConfigError(msg)
    with explain_write_errors(f"--out {out}", "folder"):
        folder.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            write_json(file, made)
    return read_plan(folder)


def read_plan(folder: str | os.PathLike[str]) -> Plan:
    """Read a plan.

    Raises
    ------
    DataError
        If there is none, or it is damaged or of another version.
    """
    home = Path(os.path.realpath(folder))
    path = home / PLAN_FILE
    if not path.exists():
        msg = f"{folder}: holds no plan; make one with parivox shards plan"
        raise DataError(msg)
    found = read_json(path)
    if (found.get("parivox_shards"), found.get("parivox")) != (PLAN_VERSION, __version__):
        msg = (
            f"{path}: was made by Parivox {found.get('parivox')}, this is {__version__}; run all "
            "parts with one version, or plan again"
        )
        raise DataError(msg)
    if found.get("id") != _id_of(found):
        raise damaged_file_error(path)
    try:
        made = _plan_of(home, found)
        is_sound = 0 < len(made.shards) <= _MOST_SHARDS and all(
            isinstance(end, int) and end >= 0
            for one in made.shards
            for end in (one.first, one.last)
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise damaged_file_error(path) from error
    if not is_sound:
        raise damaged_file_error(path)
    return made


def _plan_of(home: Path, found: Mapping[str, Any]) -> Plan:
    paths = [one["path"] for one in found["inputs"] if one["role"] == "scores"]
    called = dict(zip(paths, called_apart(paths), strict=True))
    return Plan(
        home,
        found["id"],
        (found["system"], found["list"]),
        tuple(found["inputs"]),
        tuple(FileRows(one, first, last, called[one]) for one, first, last in found["shards"]),
        found["step"],
        found["options"],
    )


def gather_trials(plan: Plan, rows: FileRows | list[str]) -> tuple[GroupedTrials, CountOptions]:
    """Trials of a plan, some rows or all files, and how they are counted."""
    asked, file = apply_groups_file(plan.counted())
    with read_as(asked.encoding, asked.quotes, asked.columns):
        return read_grouped_trials({plan.name: rows}, asked, file, may_lack=True), asked


def _try(plan: Plan, inputs: Sequence[Mapping[str, Any]]) -> None:
    """Refuse options that do not fit the files, by the first rows of the shortest one."""
    shortest = min((one for one in inputs if one["role"] == "scores"), key=lambda one: one["rows"])
    first = next(one for one in plan.shards if one.path == shortest["path"])
    gather_trials(plan, replace(first, first=0, last=min(shortest["rows"], MAX_TRIED_ROWS)))


def read_json(path: Path) -> dict[str, Any]:
    """An object of a file.

    Raises
    ------
    DataError
        If it is none.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged_file_error(path) from error
    if not isinstance(found, dict):
        raise damaged_file_error(path)
    return found


def write_json(path: Path, found: Mapping[str, Any]) -> None:
    """Write an object, all of it or nothing."""
    with explain_write_errors(str(path)), atomic_file(path) as aside:
        aside.write_text(
            json.dumps(found, ensure_ascii=False, indent=1), encoding="utf-8", newline="\n"
        )


def damaged_file_error(path: Path) -> DataError:
    """What is said of a file of a plan that does not hold what it must."""
    mend = {PLAN_FILE: "plan again in a new folder", THRESHOLDS_FILE: "remove it, and merge again"}
    what = mend.get(path.name, "remove it, and run that part again")
    return DataError(f"{path}: is damaged; {what}")


def encoded_speakers(numbers: NDArray[np.intp], n: int) -> str:
    """Which of `n` speakers there are, as text.

    Examples
    --------
    >>> numbers_of(text_of(np.array([1, 8]), 9)).tolist()
    [1, 8]
    """
    is_there = np.zeros(n, dtype=np.bool_)
    is_there[numbers] = True
    return base64.b64encode(np.packbits(is_there).tobytes()).decode()


def decoded_speakers(text: str) -> NDArray[np.intp]:
    """The numbers of these speakers, rising."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8)))


def _named(scores: Any) -> tuple[tuple[str, str], list[str]]:
    """System and list, and the files."""
    name: Any = None
    if isinstance(scores, dict):
        if not scores:
            msg = "scores: are of no system; name at least one file"
            raise ConfigError(msg)
        if len(scores) != 1:
            of = next((one for one in scores if one), "")
            mend = "plan each by itself"
            if "" in scores:
                mend = f"write {of}= before each file of {of}, and plan each system by itself"
            msg = f"scores are of {len(scores)} systems, by their names; {mend}"
            raise ConfigError(msg)
        ((name, scores),) = scores.items()
    paths = list(scores) if isinstance(scores, (list, tuple)) else [scores]
    if not paths:
        msg = "scores: are an empty list; name at least one file"
        raise ConfigError(msg)
    for one in paths:
        if not isinstance(one, (str, os.PathLike)) or os.fspath(one) == "-":
            msg = "scores of an audit in parts are files, which every part reads; name them"
            raise ConfigError(msg)
        if holds_counts(one) or holds_tally(one):
            what = "counts" if holds_counts(one) else "a tally"
            msg = f"{os.fspath(one)}: holds {what}, which parivox audit takes; parts are of scores"
            raise ConfigError(msg)
    named = split_name(name) if name else ("", "")
    if not named[0]:
        named = (stem_of(paths), named[1])
    return named, [os.path.realpath(one) for one in paths]


def _check_options(asked: AuditOptions) -> None:
    """Refuse what cannot be had of parts."""
    described = option_fields(AuditOptions)
    for name in _OF_ONE_PIECE:
        if described[name].is_given(getattr(asked, name)):
            msg = f"{described[name].flag}: takes all trials at once; leave it out, or audit them"
            raise ConfigError(msg)
    if not asked.bins:
        msg = (
            "--bins exact: parts are tallied at bins of scores; leave it out, or give how many, "
            "as in --bins 20000"
        )
        raise ConfigError(msg)
    if asked.speaker_ids != NEVER:
        msg = "--speaker-ids: counts hold no ids of speakers; leave it out"
        raise ConfigError(msg)
    if not asked.by and asked.groups is None:
        msg = "--by: parts cannot choose what to group by; name it, as in --by gender"
        raise ConfigError(msg)
    if asked.speakers is None and asked.utterances is None:
        msg = "--speakers: parts know the speakers of one table; give it"
        raise ConfigError(msg)
    for name in _TABLES:
        value = getattr(asked, name)
        if value is not None and not isinstance(value, (str, os.PathLike)):
            msg = f"{described[name].flag}: every part reads it; give a path"
            raise ConfigError(msg)
    Options(**vars(asked))  # which checks them all


def _storable(name: str, value: Any) -> Any:
    """An option as JSON has it."""
    if name in _TABLES:
        return value if is_pattern(value) else os.path.realpath(value)
    return dict(value) if hasattr(value, "items") else value


def _cut(sizes: Sequence[int], shards: int) -> Iterator[tuple[int, int, int]]:
    """Which file, first row and row after the last of each part: about as many rows each."""
    ends = np.rint(np.cumsum([0, *sizes]) * shards / sum(sizes)).astype(int).tolist()
    for i, (rows, (start, end)) in enumerate(zip(sizes, pairwise(ends), strict=True)):
        n = min(max(end - start, 1), rows)
        for first, last in pairwise(rows * k // n for k in range(n + 1)):
            yield i, first, last


def _step(rows: int, reach: Sequence[tuple[float, float]]) -> str:
    """Width of bins: a power of ten; none for lists of which each score can be counted."""
    if rows <= MAX_EXACT_TRIALS:
        return ""
    width = max(high for _, high in reach) - min(low for low, _ in reach)
    return f"{10.0 ** ceil(log10(max(width, 1e-9) / N_SCORE_BINS)):.15f}".rstrip("0").rstrip(".")


def _sha256(path: str, role: str) -> str:
    if is_pattern(path):
        return ""
    if os.path.isdir(path) and (kaldi := kaldi_table(Path(path), role)) is not None:  # noqa: PTH112
        return str(kaldi[1]["sha256"])
    return read_content(path).sha256


def _id_of(made: Mapping[str, Any]) -> str:
    content = {name: value for name, value in made.items() if name != "id"}
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
