"""Lists are built: each variant is drawn, counted, written with its manifest, and checked.

The manifest is JSON that builds them again, byte for byte. It names the inputs, relative to itself,
with the hashes of their bytes and of what was drawn from; parameters and seed; the version of
Parivox; each list with its hash; who was left out; the order of rows; what the check of the list
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

from parivox.data.source_bytes import read_as
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.options.trials import BUILD_OPTIONS, BuildOptions
from parivox.runtime.disk import (
    atomic_folder,
    current_path,
    explain_write_errors,
    finish_move,
    sha256_of,
)
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import NotebookView
from parivox.trials.checks import check
from parivox.trials.guidelines import failed_checks_sentence
from parivox.trials.manifest import AS_WRITTEN, ENDING, SCHEMA, read_manifest
from parivox.trials.pairs import Draws
from parivox.trials.pool import Pool
from parivox.trials.writing import ListWriter, label_words
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from parivox.runtime.progress import Progress
    from parivox.trials.pairs import Ints
    from parivox.trials.pool import Design, TrialChunk

"""Trials of which there is word before they are drawn."""
_PARQUET = 4
"""Bytes that a trial takes in Parquet, at least."""
_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6))
_ENDINGS = {"voxceleb": "txt", "kaldi": "txt", "nist": "tsv"}


@dataclass(frozen=True, eq=False)
class Built(NotebookView):
    """Lists that were built, with their manifest.

    Attributes
    ----------
    lists : tuple of Path, or of Table
        Each variant: its file, or a table with the columns enrol, test and label.
    left_out : Table
        Speakers who take no part: group, reason, speakers; ids where asked for.
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
    def told(self) -> tuple[str, ...]:
        """A summary, line by line."""
        first, groups = self.manifest["lists"][0], self.manifest["speakers"]
        lists = f"{len(self.lists)} lists, each of " if len(self.lists) > 1 else ""
        word = "group" if len(groups) == 1 else "groups"
        n = f"{sum(groups.values()):,} speakers in {len(groups):,} {word}"
        trials = f"{first['target']:,} target + {first['nontarget']:,} nontarget trials"
        lines = [f"{lists}{trials} of {n} ({self.manifest['by']})."]
        lines += [f"  {one}" for one in self.lists if isinstance(one, Path)]
        if self.path is not None:
            lines.append(f"  {self.path}")
        for row in self.left_out.rows():
            named = f": {row['ids']}" if row.get("ids") else ""
            group = "no group" if row["group"] is None else row["group"]
            lines.append(f"Left out: {row['speakers']:,} of {group}, {row['reason']}{named}.")
        lines += [f"{one[0].upper()}{one[1:]}." for one in self.manifest["notes"]]
        if "check" in self.manifest:
            failed = [one["id"] for one in self.manifest["check"] if one["verdict"] == "fail"]
            lines.append(failed_checks_sentence(failed))
        return tuple(lines)


def build_lists(
    design: Design, asked: BuildOptions, *, former: Mapping[str, Any] | None = None
) -> Built:
    """Draw every variant of a design and write them with their manifest.

    All files appear in the folder `asked.out` at once; without one, lists are tables in memory.
    With the manifest of a `former` build, its lists must come out again.
    """
    out, format_ = asked.out, asked.format
    variants, seed = asked.variants, asked.seed
    draws = [Draws(seed).child(variant) for variant in range(variants)]
    left_out = design.left_out(speaker_ids=asked.speaker_ids)
    manifest: dict[str, Any] = {
        "schema": SCHEMA,
        "parivox": __version__,
        "kind": design.kind,
        "by": design.pool.by,
        "id": asked.id,
        **({} if asked.encoding is None else {"encoding": asked.encoding}),
        **({} if asked.quotes is None else {"quotes": asked.quotes}),
        "grade_by": list(design.pool.graded_by),
        "parameters": dict(design.parameters),
        "seed": seed,
        "variants": variants,
        "format": format_,
        "inputs": {},
        "rows": design.rows,
        "speakers": dict(design.speakers),
        "left_out": left_out.rows(),
        "notes": [*design.notes, *filter(None, [design.pool.warning])],
        "lists": [],
    }
    counts = _DrawnCounts(design.pool)
    if out is None:
        tables = []
        for one in draws:
            frames = [
                _ids(design, block).with_columns(label_words(block.target).alias("label"))
                for block in counts.counted(design.draw(one))
            ]
            tables.append(Table(pl.concat(frames)))
            manifest["lists"].append(counts.last)
        manifest["notes"] += counts.notes
        manifest["inputs"] = _inputs(design.pool, asked, None)
        return Built(tuple(tables), left_out, manifest)
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out):
        msg = f"--out {out!r}: names no folder; name one"
        raise ConfigError(msg)
    folder = Path(out)
    size = _check_room(design, folder, variants, format_)
    ending = _ENDINGS.get(format_, format_)
    numbers = [f"-{k}" for k in range(1, variants + 1)] if variants > 1 else [""]
    names = [f"{design.kind}{number}.{ending}" for number in numbers]
    manifest_name = f"{design.kind}{ENDING}"
    manifest["inputs"] = _inputs(design.pool, asked, folder)
    _check_new(folder, [*names, manifest_name])
    with (
        explain_write_errors(f"--out {folder}", "folder"),
        atomic_folder(folder) as aside,
        stage(f"writing {size}", design.trials * variants, "trials") as drawing,
    ):
        for name, one in zip(names, draws, strict=True):
            with ListWriter(aside / name, format_) as writer:
                for block in counts.counted(design.draw(one)):
                    ids = _ids(design, block)
                    writer.write(ids["enrol"], ids["test"], block.target)
                    drawing.add(block.target.size)
            digest = sha256_of(aside / name)
            manifest["lists"].append({"file": name, "sha256": digest, **counts.last})
        manifest["notes"] += counts.notes
        if former is not None:
            _check_same(folder, manifest["lists"], former)
        lists = tuple(folder / name for name in names)
        built = Built(lists, left_out, manifest, folder / manifest_name)
        # beside the list, as whoever checks it has it
        (aside / manifest_name).write_bytes(built.to_json().encode())
        manifest["check"] = _checked(design, aside / names[0])
        (aside / manifest_name).write_bytes(built.to_json().encode())
    return built


@reports_progress
def rebuild(
    manifest: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    utterances: Any = None,
    speakers: Any = None,
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
    tables = {"utterances": utterances, "speakers": speakers}
    inputs = former["inputs"]
    for role, one in inputs.items():
        if tables[role] is None and "path" in one:
            if one["path"] is None:
                msg = f"{path}: --{role} was no file; give it again"
                raise ConfigError(msg)
            tables[role] = path.parent / one["path"]
    by, grade_by, id_ = former["by"], former["grade_by"], former["id"]
    encoding, quotes = former.get("encoding"), former.get("quotes")
    with read_as(encoding, quotes):
        pool = Pool.read(
            *(tables["utterances"], tables["speakers"]), by=by, grade_by=grade_by, id=id_
        )
    for role, digest in pool.ids_sha256().items():
        was = inputs[role].get("ids_sha256", digest)  # manifests of 0.2.0 have another hash
        if digest != was:
            name = pool.table.name if role == "utterances" else pool.people.name
            msg = (
                f"{name}: does not hold the {role} that {path.name} was made of (found "
                f"{digest[:12]}, expected {was[:12]}); give the same table with "
                f"--{role}, or build anew"
            )
            raise DataError(msg)
    asked = BUILD_OPTIONS[former["kind"]](
        **tables,
        **{name: former[name] for name in ("by", "format", "variants", "seed", "id")},
        **former["parameters"],
        encoding=encoding,
        quotes=quotes,
        out=out,
    )
    design = import_module(f"parivox.trials.{former['kind']}").design(pool, asked)
    return build_lists(design, asked, former=former)


class _DrawnCounts:
    """Counts of what lists hold, made while they are drawn."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.last: dict[str, int] = {}  # trials of either class in the last list
        # nontarget trials that a speaker is tested in, over all lists
        self.least, self.most = math.inf, 0

    def counted(self, blocks: Iterable[TrialChunk]) -> Iterator[TrialChunk]:
        """Pass a list on; then, `last` has its trials of either class."""
        enrols, tests = np.zeros((2, self.pool.sizes.size), dtype=np.int64)
        target = total = 0
        for block in blocks:
            target, total = target + int(block.target.sum()), total + block.target.size
            enrols += self._speakers(block.enrol[~block.target])
            tests += self._speakers(block.test[~block.target])
            yield block
        self.last = {"target": target, "nontarget": total - target}
        times = tests[enrols + tests > 0]
        self.least = min([self.least, *times.tolist()])
        self.most = max([self.most, *times.tolist()])

    def _speakers(self, utterances: Ints) -> Ints:
        return np.bincount(self.pool.owner[utterances], minlength=self.pool.sizes.size)

    @property
    def notes(self) -> list[str]:
        """What is not the same for everybody."""
        if self.least >= self.most:
            return []
        return [f"speakers are tested in {self.least:,} to {self.most:,} nontarget trials each"]


def _ids(design: Design, block: TrialChunk) -> pl.DataFrame:
    ids = design.pool.ids
    return pl.DataFrame({"enrol": ids.gather(block.enrol), "test": ids.gather(block.test)})


def _checked(design: Design, path: Path) -> list[dict[str, Any]]:
    """What the check says of the first list, as anybody's would."""
    pool = design.pool
    checked = check(path, speakers=pool.people, utterances=pool.table, by=pool.by)
    return [
        {name: "inf" if cell == math.inf else cell for name, cell in row.items() if name != "mend"}
        for row in checked.tables["checks"].rows()
    ]


def _check_same(
    folder: Path, lists: Sequence[Mapping[str, Any]], former: Mapping[str, Any]
) -> None:
    """Refuse lists that are not those of a manifest."""
    if [one["sha256"] for one in lists] == [one["sha256"] for one in former["lists"]]:
        return
    if former["parivox"] != __version__:
        why = f"install Parivox {former['parivox']}, which made them"
    else:
        why = (
            "the attributes in the tables, or the manifest, may have been changed: give the same "
            f"tables, and {AS_WRITTEN}"
        )
    if former["format"] == "parquet":
        why += " (or Polars, which writes Parquet, was another version then)"
    msg = f"{folder}: the lists came out different from what the manifest tells; {why}"
    raise DataError(msg)


def _check_room(
    design: Design,
    folder: Path,
    variants: int,
    format_: str,
) -> str:
    """How much will be written, in words; refuse what the disk has no room for."""
    trials = design.trials * variants
    if format_ == "parquet":
        each = float(_PARQUET)
    else:
        ids = float(design.pool.ids.str.len_bytes().to_numpy().mean())
        each = 2 * ids + 2 + len(" 1" if format_ == "voxceleb" else " target")
    size = trials * each
    about = f"{trials:,} trials, {_in_words(size)} or so"
    there = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.is_dir())
    free = shutil.disk_usage(there).free
    if size > free:
        msg = (
            f"--out {folder}: {about}, do not fit into the {_in_words(free)} that are free there; "
            "ask for fewer trials, or name a folder on another disk"
        )
        raise ConfigError(msg)
    return about


def _in_words(size: float) -> str:
    """A number of bytes in words.

    >>> _in_words(6.5e11)
    '650.0 GB'
    """
    unit, of = next(((unit, of) for unit, of in _UNITS if size >= of), _UNITS[-1])
    return f"{size / of:,.1f} {unit}"


def _check_new(folder: Path, names: Sequence[str]) -> None:
    """Refuse to replace lists, but for those of a run that was killed while they appeared."""
    with explain_write_errors(f"--out {folder}", "folder"):
        is_unfinished = current_path(folder, names[-1]).parent != folder
        finish_move(folder)
        there = next((name for name in names if (folder / name).exists()), None)
    if there is not None and not is_unfinished:
        msg = f"--out {folder}: {there} is there already; name another folder"
        raise ConfigError(msg)


def _inputs(pool: Pool, asked: BuildOptions, folder: Path | None) -> dict[str, Any]:
    """Where the tables were, with the hash of the ids that were drawn from."""
    ids_sha256 = pool.ids_sha256()
    inputs: dict[str, Any] = {}
    for role in ("utterances",) if asked.speakers is None else ("utterances", "speakers"):
        source = getattr(asked, role)
        is_path = isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-"
        path = None
        if is_path and folder is not None:
            path = Path(os.path.relpath(Path(source).resolve(), folder.resolve())).as_posix()
        inputs[role] = {"path": path, "ids_sha256": ids_sha256[role]}
    # where there is no table of speakers, they are columns of the utterances
    inputs.setdefault("speakers", {"ids_sha256": ids_sha256["speakers"]})
    return inputs
