"""Build lists: draw, count, write and check each variant, with a manifest of them all.

The manifest is JSON that builds the lists again, byte for byte. It names the inputs, relative to
itself, with the hashes of their bytes and of what was drawn from; parameters and seed; the version
of Parivox; each list with its hash; who was left out; the order of rows; what the check of the list
says. It is read as it was written, or refused with what is wrong.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.lists.manifest import ENDING, KEEP_AS_WRITTEN, SCHEMA, read_manifest
from parivox.data.source_bytes import reading_files_as
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.facts import Fact, fact, facts_of_cell
from parivox.options.trials import BUILD_OPTIONS, BuildOptions
from parivox.runtime.disk import (
    atomic_folder,
    current_path,
    explain_write_errors,
    finish_move,
    sha256_of,
)
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import TRIALS_MODULE, NotebookView
from parivox.trials.checks import check
from parivox.trials.pairs import RandomStreams
from parivox.trials.pool import Pool
from parivox.trials.writing import ListWriter, label_words
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parivox.runtime.progress import Progress
    from parivox.sources import SpeakerSource, UtteranceSource
    from parivox.trials.pairs import Ints
    from parivox.trials.pool import ListDesign, TrialChunk

_MIN_PARQUET_BYTES = 4
"""Bytes that a trial takes in Parquet, at least."""
_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6))
_EXTENSIONS = {"voxceleb": "txt", "kaldi": "txt", "nist": "tsv"}


@dataclass(frozen=True, eq=False)
class Built(NotebookView):
    """Lists that were built, with their manifest.

    Attributes
    ----------
    lists : tuple of Path, or of Table
        Each variant: its file, or a table with the columns enrol, test and label.
    left_out : Table
        Speakers who take no part: group, reason as a code, speakers; ids where asked for; last the
        values of the code.
    manifest : dict
        As the file has it.
    path : Path or None
        The manifest's file.
    """

    lists: tuple[Path | Table, ...]
    left_out: Table
    manifest: dict[str, Any]
    path: Path | None = None

    def to_json(self) -> str:
        """The manifest as its file has it."""
        return json.dumps(self.manifest, ensure_ascii=False, indent=2) + "\n"

    @property
    def summary(self) -> Fact:
        """How many trials were drawn, and of whom: a code with values."""
        first_list, groups = self.manifest["lists"][0], self.manifest["speakers"]
        values = {
            "lists": len(self.lists),
            "target": first_list["target"],
            "nontarget": first_list["nontarget"],
            "speakers": sum(groups.values()),
            "groups": len(groups),
            "grouping": self.manifest["by"],
        }
        return Fact("lists_drawn", values)

    @property
    def notes(self) -> tuple[Fact, ...]:
        """What else the user should know, and which checks the first list fails."""
        notes = [Fact(**note) for note in self.manifest["notes"]]
        if "check" in self.manifest:
            findings = self.manifest["check"]
            failed = [finding["id"] for finding in findings if finding["verdict"] == "fail"]
            notes.append(Fact("failed_checks", {"checks": failed}))
        return tuple(notes)

    @property
    def told(self) -> tuple[str, ...]:
        """A summary in words, line by line, with the files and who is left out."""
        return tuple(import_module(TRIALS_MODULE).built_lines(self))


def build_lists(
    design: ListDesign, options: BuildOptions, *, former: Mapping[str, Any] | None = None
) -> Built:
    """Draw every variant of a design and write them with their manifest.

    All files appear in the folder `options.out` at once; without one, lists are tables in memory.
    With the manifest of a `former` build, its lists must come out again.
    """
    # a stream for each variant, which does not depend on how many there are
    draws = [RandomStreams(options.seed).child(variant) for variant in range(options.variants)]
    left_out = design.excluded_speakers(speaker_ids=options.speaker_ids)
    manifest = _manifest(design, options, left_out)
    counts = _DrawnCounts(design.pool)
    if options.out is None:
        tables = []
        for variant_draws in draws:
            frames = [
                _id_columns(design, chunk).with_columns(label_words(chunk.target).alias("label"))
                for chunk in counts.count_chunks(design.draw(variant_draws))
            ]
            tables.append(Table(pl.concat(frames)))
            manifest["lists"].append(counts.list_counts)
        manifest["notes"] += _as_json(counts.notes)
        manifest["inputs"] = _inputs(design.pool, options, None)
        return Built(tuple(tables), left_out, manifest)
    if not isinstance(options.out, (str, os.PathLike)) or not os.fspath(options.out):
        msg = f"--out {options.out!r}: does not name a folder"
        hint = "name a folder"
        raise ConfigError(msg, hint)
    folder = Path(options.out)
    size = _check_free_space(design, folder, options.variants, options.format)
    extension = _EXTENSIONS.get(options.format, options.format)
    numbers = [""]
    if options.variants > 1:
        numbers = [f"-{number}" for number in range(1, options.variants + 1)]
    names = [f"{design.kind}{number}.{extension}" for number in numbers]
    manifest_name = f"{design.kind}{ENDING}"
    manifest["inputs"] = _inputs(design.pool, options, folder)
    _check_is_new(folder, [*names, manifest_name])
    with (
        explain_write_errors(f"--out {folder}", "folder"),
        atomic_folder(folder) as unfinished,
        stage(f"writing {size}", design.n_trials * options.variants, "trials") as progress,
    ):
        for name, variant_draws in zip(names, draws, strict=True):
            with ListWriter(unfinished / name, options.format) as writer:
                for chunk in counts.count_chunks(design.draw(variant_draws)):
                    ids = _id_columns(design, chunk)
                    writer.write(ids["enrol"], ids["test"], chunk.target)
                    progress.add(chunk.target.size)
            digest = sha256_of(unfinished / name)
            manifest["lists"].append({"file": name, "sha256": digest, **counts.list_counts})
        manifest["notes"] += _as_json(counts.notes)
        if former is not None:
            _check_same_lists(folder, manifest["lists"], former)
        lists = tuple(folder / name for name in names)
        built_lists = Built(lists, left_out, manifest, folder / manifest_name)
        # the check finds the manifest next to the list, as it does for whoever checks it later
        (unfinished / manifest_name).write_bytes(built_lists.to_json().encode())
        manifest["check"] = _check_rows(design, unfinished / names[0])
        (unfinished / manifest_name).write_bytes(built_lists.to_json().encode())
    return built_lists


def _manifest(design: ListDesign, options: BuildOptions, left_out: Table) -> dict[str, Any]:
    """Return the manifest as it is before lists are drawn; inputs and lists follow."""
    manifest: dict[str, Any] = {
        "schema": SCHEMA,
        "parivox": __version__,
        "kind": design.kind,
        "by": design.pool.grouping,
        "id": options.id,
    }
    if options.encoding is not None:
        manifest["encoding"] = options.encoding
    if options.quotes is not None:
        manifest["quotes"] = options.quotes
    return {
        **manifest,
        "grade_by": list(design.pool.graded_by),
        "parameters": dict(design.parameters),
        "seed": options.seed,
        "variants": options.variants,
        "format": options.format,
        "inputs": {},
        "rows": design.row_order,
        "speakers": dict(design.n_speakers_by_group),
        "left_out": left_out.rows(),
        "notes": _as_json([*design.notes, *filter(None, [design.pool.warning])]),
        "lists": [],
    }


@reports_progress
def rebuild(
    manifest: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    utterances: UtteranceSource | None = None,
    speakers: SpeakerSource | None = None,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - for all stages
) -> Built:
    """Build the lists of a manifest again: the same bytes on any machine and Python.

    The new manifest names nobody who is left out, even if the former did.

    Parameters
    ----------
    manifest
        The file.
    out
        Folder for new files; None for tables in memory.
    utterances, speakers
        The tables, where they are no longer in the places that the manifest names.
    progress
        Called with the `parivox.runtime.progress.Progress` of each stage.

    Raises
    ------
    DataError
        If the manifest is not as it was written, the tables hold something else than they
        did, or the lists come out different.
    """
    path = Path(manifest)
    former = read_manifest(path)
    tables: dict[str, Any] = {"utterances": utterances, "speakers": speakers}
    inputs = former["inputs"]
    for role, source in inputs.items():
        if tables[role] is None and "path" in source:
            if source["path"] is None:
                msg = f"{path}: --{role} was not a file"
                hint = "give the same data again"
                raise ConfigError(msg, hint)
            tables[role] = path.parent / source["path"]
    encoding, quotes = former.get("encoding"), former.get("quotes")
    with reading_files_as(encoding, quotes):
        pool = Pool.read(
            tables["utterances"],
            tables["speakers"],
            by=former["by"],
            grade_by=former["grade_by"],
            id=former["id"],
        )
    for role, digest in pool.ids_sha256().items():
        expected = inputs[role].get("ids_sha256", digest)  # manifests of 0.2.0 have another hash
        if digest != expected:
            name = pool.utterances.name if role == "utterances" else pool.speakers.name
            msg = (
                f"{name}: does not contain the {role} that {path.name} was made of (found "
                f"{digest[:12]}, expected {expected[:12]})"
            )
            hint = f"give the same table with --{role}, or build a new list"
            raise DataError(msg, hint)
    options = BUILD_OPTIONS[former["kind"]](
        **tables,
        **{name: former[name] for name in ("by", "format", "variants", "seed", "id")},
        **former["parameters"],
        encoding=encoding,
        quotes=quotes,
        out=out,
    )
    design = import_module(f"parivox.trials.{former['kind']}").design(pool, options)
    return build_lists(design, options, former=former)


class _DrawnCounts:
    """Counts of what lists hold, made while they are drawn."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.list_counts: dict[str, int] = {}  # trials of either class in the last list
        # nontarget trials that a speaker is tested in, over all lists
        self.min_tested, self.max_tested = math.inf, 0

    def count_chunks(self, chunks: Iterable[TrialChunk]) -> Iterator[TrialChunk]:
        """Pass the chunks of a list on; then, `list_counts` has its trials of either class."""
        n_enrolled, n_tested = np.zeros((2, self.pool.n_utterances.size), dtype=np.int64)
        n_target = n_trials = 0
        for chunk in chunks:
            n_target += int(chunk.target.sum())
            n_trials += chunk.target.size
            n_enrolled += self._trials_by_speaker(chunk.enrol[~chunk.target])
            n_tested += self._trials_by_speaker(chunk.test[~chunk.target])
            yield chunk
        self.list_counts = {"target": n_target, "nontarget": n_trials - n_target}
        tested_numbers = n_tested[n_enrolled + n_tested > 0].tolist()
        self.min_tested = min([self.min_tested, *tested_numbers])
        self.max_tested = max([self.max_tested, *tested_numbers])

    def _trials_by_speaker(self, utterances: Ints) -> Ints:
        speaker = self.pool.speaker_of_utterance[utterances]
        return np.bincount(speaker, minlength=self.pool.n_utterances.size)

    @property
    def notes(self) -> list[str]:
        """What is not the same for everybody, as facts."""
        if self.min_tested >= self.max_tested:
            return []
        return [fact("tested_unequally", trials=[int(self.min_tested), int(self.max_tested)])]


def _as_json(notes: Iterable[str]) -> list[dict[str, Any]]:
    """Return facts as a manifest holds them: each a code with its values."""
    return [note._asdict() for cell in notes for note in facts_of_cell(cell)]


def _id_columns(design: ListDesign, chunk: TrialChunk) -> pl.DataFrame:
    ids = design.pool.utterance_ids
    return pl.DataFrame({"enrol": ids.gather(chunk.enrol), "test": ids.gather(chunk.test)})


def _check_rows(design: ListDesign, path: Path) -> list[dict[str, Any]]:
    """Return what the check says of the first list, as anybody's would."""
    pool = design.pool
    tables: dict[str, Any] = {"speakers": pool.speakers, "utterances": pool.utterances}
    checked = check(path, **tables, by=pool.grouping)
    return [
        {name: "inf" if cell == math.inf else cell for name, cell in row.items() if name != "mend"}
        for row in checked.tables["checks"].rows()
    ]


def _check_same_lists(
    folder: Path, lists: Sequence[Mapping[str, Any]], former: Mapping[str, Any]
) -> None:
    """Refuse lists that are not those of a manifest."""
    hashes = [built_list["sha256"] for built_list in lists]
    if hashes == [former_list["sha256"] for former_list in former["lists"]]:
        return
    if former["parivox"] != __version__:
        hint = f"install Parivox {former['parivox']}, which made the lists"
    else:
        hint = f"give the same tables with unchanged attributes, and {KEEP_AS_WRITTEN}"
    if former["format"] == "parquet":
        hint += " (or install the version of Polars that wrote the Parquet files)"
    msg = f"{folder}: the lists differ from those of the manifest"
    raise DataError(msg, hint)


def _check_free_space(design: ListDesign, folder: Path, n_variants: int, format_: str) -> str:
    """Return how much will be written, in words; refuse what the disk has no room for."""
    n_trials = design.n_trials * n_variants
    if format_ == "parquet":
        bytes_per_trial = float(_MIN_PARQUET_BYTES)
    else:
        bytes_per_id = float(design.pool.utterance_ids.str.len_bytes().to_numpy().mean())
        # two ids, a separator and a line end; then the label with its separator
        label = " 1" if format_ == "voxceleb" else " target"
        bytes_per_trial = 2 * bytes_per_id + 2 + len(label)
    n_bytes = n_trials * bytes_per_trial
    size = f"{n_trials:,} trials, {_in_units(n_bytes)} or so"
    existing = folder.absolute()
    while not existing.is_dir():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    if n_bytes > free:
        msg = f"--out {folder}: {size}, do not fit into the {_in_units(free)} that are free"
        hint = "ask for fewer trials, or name a folder on another disk"
        raise ConfigError(msg, hint)
    return size


def _in_units(n_bytes: float) -> str:
    """Return a number of bytes with its unit.

    >>> _in_units(6.5e11)
    '650.0 GB'
    """
    fitting_units = [(unit, size) for unit, size in _UNITS if n_bytes >= size]
    unit, bytes_per_unit = fitting_units[0] if fitting_units else _UNITS[-1]
    return f"{n_bytes / bytes_per_unit:,.1f} {unit}"


def _check_is_new(folder: Path, names: Sequence[str]) -> None:
    """Refuse to replace lists, but for those of a run that was killed while they appeared."""
    with explain_write_errors(f"--out {folder}", "folder"):
        is_unfinished = current_path(folder, names[-1]).parent != folder
        finish_move(folder)
        present = [name for name in names if (folder / name).exists()]
    if present and not is_unfinished:
        msg = f"--out {folder}: {present[0]} already exists"
        hint = "name another folder"
        raise ConfigError(msg, hint)


def _inputs(pool: Pool, options: BuildOptions, folder: Path | None) -> dict[str, Any]:
    """Return where the tables were, with the hash of the ids that were drawn from."""
    ids_sha256 = pool.ids_sha256()
    inputs: dict[str, Any] = {}
    roles = ["utterances"] if options.speakers is None else ["utterances", "speakers"]
    for role in roles:
        source = getattr(options, role)
        is_path = isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-"
        path = None
        if is_path and folder is not None:
            path = Path(os.path.relpath(Path(source).resolve(), folder.resolve())).as_posix()
        inputs[role] = {"path": path, "ids_sha256": ids_sha256[role]}
    # where there is no table of speakers, they are columns of the utterances
    inputs.setdefault("speakers", {"ids_sha256": ids_sha256["speakers"]})
    return inputs
