"""Plans of audits in shards: inputs with their hashes, options, and the rows of each shard.

A plan is a folder: ``plan.json``, one folder for each shard (``00007-of-00032``) with its score
counts, its speaker counts and ``shard.json``, which lists both with their hashes, and, once the
score counts of all shards are made, their sum and ``thresholds.json``. It is private: it holds the
names of files, and speaker counts are personal data.
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
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from parivox.auditing import (
    MAX_EXACT_TRIALS,
    Options,
    apply_groups_file,
    read_grouped_trials,
    requested_attributes,
    split_name,
)
from parivox.data.counts_file import holds_counts, holds_speaker_counts
from parivox.data.formats import check_same_columns
from parivox.data.id_patterns import is_pattern
from parivox.data.kaldi import kaldi_table
from parivox.data.score_extent import score_file_extent
from parivox.data.source_bytes import (
    FileRows,
    distinct_names,
    file_stem,
    read_content,
    reading_files_as,
)
from parivox.errors import ConfigError, DataError
from parivox.options.audit import (
    INPUT_SECTION,
    NEVER,
    READING_SECTION,
    AuditOptions,
    CountOptions,
    ReadOptions,
)
from parivox.options.kinds import names_options, option_fields
from parivox.options.shards import ShardsPlanCommand
from parivox.runtime.disk import atomic_file, explain_write_errors
from parivox.runtime.progress import reports_progress
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing import GroupedTrials
    from parivox.core.counts import FloatArray
    from parivox.options.types import PlannedAuditOptions
    from parivox.sources import ScoreSource

PLAN_VERSION = "2"
PLAN_FILE, THRESHOLDS_FILE = "plan.json", "thresholds.json"
N_SCORE_BINS = 1 << 16
"""Bins that the scores of long lists are counted in, at least a tenth of it."""
_TABLES = ("speakers", "utterances", "models", "failures", "groups", "threshold_from")
MAX_TRIED_ROWS = 1_000
"""Rows that options are tried on before shards are run."""
_MAX_SHARDS = 100_000
"""The most that a plan can have."""
_MAX_DESCRIBED_FILES = 3
"""Files of one shard that its description names."""
_WHOLE_LIST_OPTIONS = (
    "trials",
    "compare",
    "standardise",
    "trial_table",
    "metrics",
    "thresholds",
    "cm",
    "cm_threshold",
)
"""Options that take all trials at once."""


class SpeakerCountInputs(NamedTuple):
    """What the speaker counts of all shards need from the score counts of all."""

    thresholds: FloatArray
    speakers: NDArray[np.intp]  # speakers with trials, by their numbers in the table


@dataclass(frozen=True)
class Plan:
    """An audit in shards.

    Attributes
    ----------
    folder : Path
    id : str
        Hash of all below.
    name : tuple of str
        System and list.
    inputs : tuple of dict
        Files: their role, path, hash, and rows where they are scores.
    shards : tuple of tuple of FileRows
        What each shard reads: rows of one file, or of several.
    step : str
        Width of the bins that scores are counted in; empty where each score is counted.
    options : dict
        Of the audit, as the library takes them.
    """

    folder: Path
    id: str
    name: tuple[str, str]
    inputs: tuple[dict[str, Any], ...]
    shards: tuple[tuple[FileRows, ...], ...]
    step: str
    options: dict[str, Any]

    def __len__(self) -> int:
        return len(self.shards)

    def __repr__(self) -> str:
        return f"<plan of {self.n_rows:,} rows in {len(self)} shards, {self.folder}>"

    @property
    def scores(self) -> list[str]:
        """Files of scores, in their order."""
        return [input_file["path"] for input_file in self.inputs if input_file["role"] == "scores"]

    @property
    def n_rows(self) -> int:
        """Rows of all files of scores."""
        return sum(
            input_file["rows"] for input_file in self.inputs if input_file["role"] == "scores"
        )

    def home(self, number: int) -> Path:
        """The folder of one shard, counted from 1."""
        self._check(number)
        return self.folder / f"{number:05d}-of-{len(self):05d}"

    def shard_description(self, number: int) -> str:
        """One shard in words."""
        self._check(number)
        shard = self.shards[number - 1]
        texts = [_rows_text(rows) for rows in shard[:_MAX_DESCRIBED_FILES]]
        if len(shard) > _MAX_DESCRIBED_FILES:
            texts.append(f"and of {len(shard) - _MAX_DESCRIBED_FILES:,} more files")
        return f"shard {number} of {len(self)} ({', '.join(texts)})"

    def _check(self, number: int) -> None:
        if not 1 <= number <= len(self):
            msg = f"--shard {number}: the plan has {len(self)} shards"
            hint = f"give 1 to {len(self)}"
            raise ConfigError(msg, hint)

    @property
    def audit_options(self) -> AuditOptions:
        """Options of the audit."""
        return AuditOptions.from_keywords(**self.options)

    def count_options(self) -> CountOptions:
        """Options of the counts of a shard."""
        audit_options = self.audit_options
        read_options = {
            option.name: getattr(audit_options, option.name) for option in fields(ReadOptions)
        }
        operating_points = Options(**vars(audit_options)).points() or ()
        given_thresholds = tuple(
            point.given_threshold for point in operating_points if point.given_threshold is not None
        )
        return CountOptions(
            **read_options,
            step=self.step or None,
            thresholds=given_thresholds if self.step else (),
            withhold=0,
            llr=audit_options.llr,
            llr_base=audit_options.llr_base,
        )

    def options_of_counts_audit(self) -> dict[str, Any]:
        """Options of the audit of the counts, which hold what was read."""
        sections = {
            option.keyword: option.section for option in option_fields(AuditOptions).values()
        }
        return {
            name: option_value
            for name, option_value in self.options.items()
            if sections[name] not in {INPUT_SECTION, READING_SECTION}
        }

    def speaker_count_inputs(self) -> SpeakerCountInputs | None:
        """What was found on the counts of all shards; None until these are there.

        Raises
        ------
        DataError
            If it is of another plan, or damaged.
        """
        path = self.folder / THRESHOLDS_FILE
        if not path.exists():
            return None
        document = read_json(path)
        try:
            if document["plan"] == self.id:
                thresholds = [float.fromhex(text) for text in document["thresholds"]]
                return SpeakerCountInputs(
                    np.array(thresholds), decoded_speakers(document["speakers"])
                )
        except (KeyError, TypeError, ValueError) as error:
            raise damaged_file_error(path) from error
        msg = f"{path}: belongs to another plan"
        hint = "remove this file, and merge again"
        raise DataError(msg, hint)

    def is_unchanged(self, number: int) -> bool:
        """Whether all that a shard reads is what it was when the plan was made."""
        try:
            self.check_inputs()
            for rows in self.shards[number - 1]:
                self.check_scores(rows.path, read_content(rows.path).sha256)
        except DataError:
            return False
        return True

    def check_inputs(self) -> None:
        """Refuse files that are not what they were when the plan was made.

        Files of scores are checked as they are read.
        """
        for input_file in self.inputs:
            if input_file["role"] != "scores":
                _check_same(input_file, _sha256(input_file["path"], input_file["role"]))

    def check_scores(self, path: str, sha256: str) -> None:
        """Refuse a file of scores that is not what it was when the plan was made."""
        input_file = next(input_file for input_file in self.inputs if input_file["path"] == path)
        _check_same(input_file, sha256)


def _check_same(input_file: Mapping[str, Any], sha256: str) -> None:
    if input_file["sha256"] != sha256:
        msg = f"{input_file['path']}: has changed since the shards were planned"
        hint = "plan again in a new folder, or restore the file"
        raise DataError(msg, hint)


@names_options(AuditOptions)
@reports_progress
def plan(
    scores: ScoreSource,
    *,
    out: str | os.PathLike[str],
    shards: int = 32,
    **options: Unpack[PlannedAuditOptions],
) -> Plan:
    """Plan an audit in shards, and write the plan.

    Parameters
    ----------
    scores
        One or several paths of scores of one system, each of other trials, or a mapping from
        ``system`` or ``system@list`` to these.
    out
        A new folder, or one that holds the very same plan.
    shards
        Parts of about as many rows: a long file is cut, and short ones are put together.
    **options
        Of the audit: see `parivox.audit`. Tables are paths.

    Raises
    ------
    DataError
        If a file cannot be read.
    ConfigError
        If an option is wrong, or cannot be had of shards.
    """
    folder = Path(os.path.realpath(out))
    ShardsPlanCommand(scores=scores, out=out, shards=shards)  # which checks them
    name, paths = _name_and_paths(scores)
    audit_options = AuditOptions.from_keywords(**options)
    _check_shardable(audit_options)
    stored = {
        option.keyword: _stored_option(option.keyword, getattr(audit_options, option.name))
        for option in option_fields(AuditOptions).values()
        if option.is_given(getattr(audit_options, option.name)) and option.name != "progress"
    }
    if len({*paths}) < len(paths):
        repeated = next(path for path in paths if paths.count(path) > 1)
        msg = f"{repeated}: is given twice, so its trials would count twice"
        hint = "give it once"
        raise ConfigError(msg, hint)
    attributes = requested_attributes(apply_groups_file(audit_options)[0])
    called_by_path = dict(zip(paths, distinct_names(paths), strict=True))
    inputs: list[dict[str, Any]] = []
    score_ranges: list[tuple[float, float]] = []
    columns_by_file: list[tuple[str, Iterable[str]]] = []
    for path in paths:
        extent = score_file_extent(
            FileRows(path, called=called_by_path[path]),
            columns=audit_options.columns,
            attributes=attributes,
            format=audit_options.scores_format,
            orientation=audit_options.orientation,
        )
        same_files = [file["path"] for file in inputs if file["sha256"] == extent.sha256]
        if same_files:
            msg = f"{path}: contains the same bytes as {same_files[0]}, which would count twice"
            hint = "leave out one of the two"
            raise ConfigError(msg, hint)
        inputs.append(
            {"role": "scores", "path": path, "sha256": extent.sha256, "rows": extent.n_rows}
        )
        score_ranges.append((extent.lowest_score, extent.highest_score))
        columns_by_file.append((path, extent.columns))
    sizes = [file["rows"] for file in inputs]
    step = _bin_width(sum(sizes), score_ranges)
    if step and audit_options.threshold_from is not None:
        msg = (
            f"--threshold-from: above {MAX_EXACT_TRIALS:,} rows, shards count scores in bins, "
            "whose edges must include its thresholds"
        )
        hint = "give the thresholds with --operating-point threshold=NUMBER"
        raise ConfigError(msg, hint)
    check_same_columns(columns_by_file)
    inputs += [
        {"role": role, "path": stored[role], "sha256": _sha256(stored[role], role)}
        for role in _TABLES
        if role in stored
    ]
    document: dict[str, Any] = {
        "parivox_shards": PLAN_VERSION,
        "parivox": __version__,
        "system": name[0],
        "list": name[1],
        "inputs": inputs,
        "shards": [
            [[paths[file_index], first_row, end_row] for file_index, first_row, end_row in shard]
            for shard in _shard_rows(sizes, shards)
        ],
        "step": step,
        "options": stored,
    }
    document["id"] = _plan_id(document)
    # refuses options that do not fit the files
    gather_first_rows(_plan_from_document(folder, document))
    plan_file = folder / PLAN_FILE
    if plan_file.exists() and read_json(plan_file).get("id") != document["id"]:
        msg = f"--out {out}: contains another plan"
        hint = "name a new folder"
        raise ConfigError(msg, hint)
    if folder.is_dir() and not plan_file.exists() and any(folder.iterdir()):
        msg = f"--out {out}: contains files that belong to no plan"
        hint = "name a new folder"
        raise ConfigError(msg, hint)
    with explain_write_errors(f"--out {out}", "folder"):
        folder.mkdir(parents=True, exist_ok=True)
        if not plan_file.exists():
            write_json(plan_file, document)
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
        msg = f"{folder}: contains no plan"
        hint = "create a plan with parivox shards plan"
        raise DataError(msg, hint)
    document = read_json(path)
    is_readable = document.get("parivox_shards") == PLAN_VERSION
    if not is_readable or document.get("parivox") != __version__:
        msg = f"{path}: was made by Parivox {document.get('parivox')}, but this is {__version__}"
        hint = "run all shards with the same version, or plan again"
        raise DataError(msg, hint)
    if document.get("id") != _plan_id(document):
        raise damaged_file_error(path)
    try:
        plan_read = _plan_from_document(home, document)
        file_rows = [rows for shard in plan_read.shards for rows in shard]
        row_numbers = [number for rows in file_rows for number in (rows.first, rows.last)]
        has_rows = all(isinstance(number, int) and number >= 0 for number in row_numbers)
        is_sound = 0 < len(plan_read.shards) <= _MAX_SHARDS and has_rows and all(plan_read.shards)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise damaged_file_error(path) from error
    if not is_sound:
        raise damaged_file_error(path)
    return plan_read


def _plan_from_document(home: Path, document: Mapping[str, Any]) -> Plan:
    """Return the plan that a document of ``plan.json`` describes."""
    # planning decodes every row, so shards of the same bytes do not try that again
    sha256_by_path = {
        input_file["path"]: input_file["sha256"]
        for input_file in document["inputs"]
        if input_file["role"] == "scores"
    }
    paths = [*sha256_by_path]
    called_by_path = dict(zip(paths, distinct_names(paths), strict=True))
    return Plan(
        folder=home,
        id=document["id"],
        name=(document["system"], document["list"]),
        inputs=tuple(document["inputs"]),
        shards=tuple(
            tuple(
                FileRows(path, first_row, end_row, called_by_path[path], sha256_by_path[path])
                for path, first_row, end_row in shard
            )
            for shard in document["shards"]
        ),
        step=document["step"],
        options=document["options"],
    )


def gather_trials(
    plan: Plan, rows: Sequence[FileRows] | Sequence[str]
) -> tuple[GroupedTrials, CountOptions]:
    """Return trials of a plan, of some rows or all files, and how they are counted."""
    count_options, groups_file = apply_groups_file(plan.count_options())
    with reading_files_as(count_options.encoding, count_options.quotes, count_options.columns):
        # some rows may lack a group or a class that the whole list has
        trials = read_grouped_trials(
            {plan.name: rows}, count_options, groups_file, may_lack=True, takes_spoof=True
        )
        return trials, count_options


def gather_first_rows(plan: Plan) -> GroupedTrials:
    """Return the trials of the first rows of the shortest file, with the speakers of all."""
    shortest = min(
        (input_file for input_file in plan.inputs if input_file["role"] == "scores"),
        key=lambda input_file: input_file["rows"],
    )
    file_rows = next(
        rows for shard in plan.shards for rows in shard if rows.path == shortest["path"]
    )
    last_row = min(shortest["rows"], MAX_TRIED_ROWS)
    return gather_trials(plan, [replace(file_rows, first=0, last=last_row)])[0]


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises
    ------
    DataError
        If the file cannot be read or holds something else.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise damaged_file_error(path) from error
    if not isinstance(document, dict):
        raise damaged_file_error(path)
    return document


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Write an object, all of it or nothing."""
    with explain_write_errors(str(path)), atomic_file(path) as temporary:
        temporary.write_text(
            json.dumps(document, ensure_ascii=False, indent=1), encoding="utf-8", newline="\n"
        )


def damaged_file_error(path: Path) -> DataError:
    """Return the error of a damaged file of a plan, with a hint."""
    hint_by_file = {
        PLAN_FILE: "plan again in a new folder",
        THRESHOLDS_FILE: "remove this file, and merge again",
    }
    hint = hint_by_file.get(path.name, "remove this file, and run the shard again")
    msg = f"{path}: is damaged"
    return DataError(msg, hint)


def encoded_speakers(numbers: NDArray[np.intp], n_speakers: int) -> str:
    """Return which of `n_speakers` speakers have trials, as text.

    Examples
    --------
    >>> decoded_speakers(encoded_speakers(np.array([1, 8]), 9)).tolist()
    [1, 8]
    """
    # a bit for each speaker: short, and without ids
    is_in_trials = np.zeros(n_speakers, dtype=np.bool_)
    is_in_trials[numbers] = True
    return base64.b64encode(np.packbits(is_in_trials).tobytes()).decode()


def decoded_speakers(text: str) -> NDArray[np.intp]:
    """Return the numbers of these speakers, rising."""
    return np.flatnonzero(np.unpackbits(np.frombuffer(base64.b64decode(text), dtype=np.uint8)))


def _name_and_paths(scores: Any) -> tuple[tuple[str, str], list[str]]:
    """Return system and list, and the files."""
    name: Any = None
    if isinstance(scores, dict):
        if not scores:
            msg = "scores: an empty mapping names no system"
            hint = "name at least one file"
            raise ConfigError(msg, hint)
        if len(scores) != 1:
            named_system = next(filter(None, scores), "")
            hint = "plan each system separately"
            if "" in scores:
                hint = (
                    f"write {named_system}= before each file of {named_system}, and plan each "
                    "system separately"
                )
            msg = f"scores are from {len(scores)} systems, judging by their names"
            raise ConfigError(msg, hint)
        ((name, scores),) = scores.items()
    paths = list(scores) if isinstance(scores, (list, tuple)) else [scores]
    if not paths:
        msg = "scores: the list is empty"
        hint = "name at least one file"
        raise ConfigError(msg, hint)
    for path in paths:
        if not isinstance(path, (str, os.PathLike)) or os.fspath(path) == "-":
            msg = "scores: every shard reads the scores from files"
            hint = "name the files"
            raise ConfigError(msg, hint)
        if holds_counts(path) or holds_speaker_counts(path):
            content = "score counts" if holds_counts(path) else "speaker counts"
            msg = f"{os.fspath(path)}: contains {content}, but shards need scores"
            hint = "give the counts to parivox audit"
            raise ConfigError(msg, hint)
    system_and_list = split_name(name) if name else ("", "")
    if not system_and_list[0]:
        system_and_list = (file_stem(paths), system_and_list[1])
    return system_and_list, [os.path.realpath(path) for path in paths]


def _check_shardable(audit_options: AuditOptions) -> None:
    """Refuse options that an audit in shards cannot have."""
    described = option_fields(AuditOptions)
    for name in _WHOLE_LIST_OPTIONS:
        if described[name].is_given(getattr(audit_options, name)):
            msg = (
                f"{described[name].flag}: cannot be used with shards, as it needs all trials at "
                "once"
            )
            hint = "leave it out, or use parivox audit"
            raise ConfigError(msg, hint)
    if not audit_options.bins:
        msg = "--bins exact: cannot be used with shards, which count speakers in bins of scores"
        hint = "leave it out, or give the number of bins, for example --bins 20000"
        raise ConfigError(msg, hint)
    if audit_options.speaker_ids != NEVER:
        msg = "--speaker-ids: counts contain no speaker ids"
        hint = "leave it out"
        raise ConfigError(msg, hint)
    if not audit_options.by and audit_options.groups is None:
        msg = "--by: shards have no default grouping"
        hint = "name one, for example --by gender"
        raise ConfigError(msg, hint)
    if audit_options.speakers is None and audit_options.utterances is None:
        msg = "missing option --speakers: shards need a speaker table"
        hint = "give a speaker table"
        raise ConfigError(msg, hint)
    for name in _TABLES:
        option_value = getattr(audit_options, name)
        is_path = isinstance(option_value, (str, os.PathLike)) or is_pattern(option_value)
        if option_value is not None and not is_path:
            msg = f"{described[name].flag}: is not a path, but every shard must read this file"
            hint = "give the path of a file"
            raise ConfigError(msg, hint)
    Options(**vars(audit_options))  # which checks them all


def _stored_option(name: str, option_value: Any) -> Any:
    """Return an option as JSON stores it."""
    if name in _TABLES:
        return option_value if is_pattern(option_value) else os.path.realpath(option_value)
    return dict(option_value) if hasattr(option_value, "items") else option_value


def _shard_rows(sizes: Sequence[int], n_shards: int) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the rows of each shard, about as many each: file, first row, row after the last.

    Examples
    --------
    >>> list(_shard_rows([5, 5, 5, 5], 2))
    [[(0, 0, 5), (1, 0, 5)], [(2, 0, 5), (3, 0, 5)]]
    >>> list(_shard_rows([8, 1], 2))
    [[(0, 0, 4)], [(0, 4, 8), (1, 0, 1)]]
    """
    file_ends = np.cumsum(sizes)
    n_rows = int(file_ends[-1])
    # a cut is moved to the end of a file that is less than half a shard away, so that few files are
    # read by two shards
    shard_ends = {0: 0, n_shards: n_rows}
    distance_by_shard: dict[int, float] = {}
    for file_end in file_ends.tolist():
        exact_shard = file_end * n_shards / n_rows
        shard = round(exact_shard)
        distance = abs(exact_shard - shard)
        if 0 < shard < n_shards and distance < distance_by_shard.get(shard, np.inf):
            shard_ends[shard], distance_by_shard[shard] = file_end, distance
    known_shards = sorted(shard_ends)
    all_shards = np.arange(n_shards + 1)
    cuts = np.interp(all_shards, known_shards, [shard_ends[shard] for shard in known_shards])
    # there are fewer shards where there are fewer rows
    for start, end in pairwise(np.unique(np.floor(cuts).astype(int)).tolist()):
        yield list(_rows_between(sizes, start, end))


def _rows_between(sizes: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield file, first row and row after the last of some rows of all files, one after another."""
    file_start = 0
    for file_index, n_rows in enumerate(sizes):
        first_row, end_row = max(start - file_start, 0), min(end - file_start, n_rows)
        if first_row < end_row:
            yield file_index, first_row, end_row
        file_start += n_rows


def _rows_text(rows: FileRows) -> str:
    """Return rows of a file in words."""
    return f"rows {rows.first + 1:,} to {rows.last:,} of {rows.called or Path(rows.path).name}"


def _bin_width(n_rows: int, score_ranges: Sequence[tuple[float, float]]) -> str:
    """Return the width of bins, a power of ten; empty where each score is counted."""
    if n_rows <= MAX_EXACT_TRIALS:
        return ""
    width = max(high for _, high in score_ranges) - min(low for low, _ in score_ranges)
    return f"{10.0 ** ceil(log10(max(width, 1e-9) / N_SCORE_BINS)):.15f}".rstrip("0").rstrip(".")


def _sha256(path: str, role: str) -> str:
    """Return the hash of an input; empty for a pattern, which names no file."""
    if is_pattern(path):
        return ""
    kaldi_files = kaldi_table(Path(path), role) if os.path.isdir(path) else None  # noqa: PTH112
    if kaldi_files is not None:
        return str(kaldi_files[1]["sha256"])
    return read_content(path).sha256


def _plan_id(document: Mapping[str, Any]) -> str:
    """Return the hash of a document, without its own id."""
    content = {name: field for name, field in document.items() if name != "id"}
    # sorted, so that the order of keys does not change the hash
    text = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
