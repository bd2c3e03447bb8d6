"""Lists are built: each variant is drawn, counted, written with its manifest, and checked."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.errors import ConfigError, DataError
from parivox.options.trials import KINDS, BuildOptions
from parivox.read.table import Table
from parivox.shown import Shown
from parivox.trials.checks import check
from parivox.trials.design import Tally, whole_number
from parivox.trials.manifest import AS_WRITTEN, SCHEMA, inputs_of, read_manifest
from parivox.trials.pairs import Draws
from parivox.trials.pool import Pool
from parivox.trials.writing import ListWriter, check_format, label_words
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.trials.design import Block, Design

_MOST_VARIANTS = 10_000
_MANY = 50_000_000
"""Trials of which there is word before they are drawn."""
_PARQUET = 4
"""Bytes that a trial takes in Parquet, at least."""
_UNITS = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6))
_ENDINGS = {"voxceleb": "txt", "kaldi": "txt", "nist": "tsv"}


@dataclass(frozen=True, eq=False)
class Built(Shown):
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
        found = [f"{lists}{trials} of {n} ({self.manifest['by']})."]
        found += [f"  {one}" for one in self.lists if isinstance(one, Path)]
        if self.path is not None:
            found.append(f"  {self.path}")
        for row in self.left_out.rows():
            named = f": {row['ids']}" if row.get("ids") else ""
            group = "no group" if row["group"] is None else row["group"]
            found.append(f"Left out: {row['speakers']:,} of {group}, {row['reason']}{named}.")
        found += [f"{one[0].upper()}{one[1:]}." for one in self.manifest["notes"]]
        failed = [
            f"{one['id']} ({one['what']})"
            for one in self.manifest.get("check", ())
            if one["verdict"] == "fail"
        ]
        if "check" in self.manifest:
            found.append(f"Checks that fail: {', '.join(failed) or 'none'}.")
        return tuple(found)


def build_lists(
    design: Design, asked: BuildOptions, *, former: Mapping[str, Any] | None = None
) -> Built:
    """Draw every variant of a design and write them with their manifest.

    Parameters
    ----------
    design
        What to draw.
    asked
        The tables as they were given; the folder for new files, all of which appear at once, or
        None for tables in memory; variants, seed, format and whether to name who is left out.
    former
        The manifest whose lists these must be.
    """
    out, format_ = asked.out, asked.format
    check_format(format_, "--format")
    variants = whole_number(asked.variants, "variants", 1, _MOST_VARIANTS)
    seed = whole_number(asked.seed, "seed", 0)
    draws = [Draws(seed).child(variant) for variant in range(variants)]
    left_out = design.left_out(speaker_ids=asked.speaker_ids)
    told: dict[str, Any] = {
        "schema": SCHEMA,
        "parivox": __version__,
        "kind": design.kind,
        "by": design.pool.by,
        "id": asked.id,
        "grade_by": list(design.pool.graded_by),
        "parameters": dict(design.parameters),
        "seed": seed,
        "variants": variants,
        "format": format_,
        "inputs": {},
        "rows": design.rows,
        "speakers": dict(design.speakers),
        "left_out": left_out.rows(),
        "notes": list(design.notes),
    }
    tally = Tally(design.pool)
    if out is None:
        tables = []
        told["lists"] = []
        for one in draws:
            blocks = [_named(design, block) for block in tally.of(design.draw(one))]
            tables.append(Table(pl.concat(blocks)))
            told["lists"].append(tally.last)
        told["notes"] += tally.notes
        told["inputs"] = inputs_of(design.pool, asked, None)
        return Built(tuple(tables), left_out, told)
    if not isinstance(out, (str, os.PathLike)) or not os.fspath(out):
        msg = f"--out {out!r}: names no folder; name one"
        raise ConfigError(msg)
    folder = Path(out)
    _check_room(design, folder, variants, format_, asked.progress or (lambda _: None))
    ending = _ENDINGS.get(format_, format_)
    numbers = [f"-{k}" for k in range(1, variants + 1)] if variants > 1 else [""]
    names = [f"{design.kind}{number}.{ending}" for number in numbers]
    last = f"{design.kind}.manifest.json"
    told["inputs"] = inputs_of(design.pool, asked, folder)
    with _aside(folder, [*names, last]) as aside:
        told["lists"] = []
        for name, one in zip(names, draws, strict=True):
            told["lists"].append(_written(design, tally, one, aside / name, format_))
        told["notes"] += tally.notes
        if former is not None:
            _check_same(folder, told["lists"], former)
        told["check"] = _checked(design, [aside / name for name in names])
        built = Built(tuple(folder / name for name in names), left_out, told, folder / last)
        (aside / last).write_bytes(built.to_json().encode())
    return built


def rebuild(
    manifest: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    utterances: Any = None,
    speakers: Any = None,
    progress: Callable[[str], None] | None = None,
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
        Called with what is being done, where that takes long.

    Raises
    ------
    DataError
        If the manifest is not as it was written, the tables hold something else than they
        did, or the lists come out different.
    """
    path = Path(manifest)
    told = read_manifest(path)
    given = {"utterances": utterances, "speakers": speakers}
    was = told["inputs"]
    for role, one in was.items():
        if given[role] is None and "path" in one:
            if one["path"] is None:
                msg = f"{path}: --{role} was no file; give it again"
                raise ConfigError(msg)
            given[role] = path.parent / one["path"]
    pool = Pool.read(
        given["utterances"],
        given["speakers"],
        by=told["by"],
        grade_by=told["grade_by"],
        id=told["id"],
    )
    now = pool.sha256()
    for role, digest in now.items():
        if digest != was[role]["content"]:
            name = pool.table.name if role == "utterances" else pool.people.name
            msg = (
                f"{name}: does not hold the {role} that {path.name} was made of (found "
                f"{digest[:12]}, expected {was[role]['content'][:12]}); give the same table with "
                f"--{role}, or build anew"
            )
            raise DataError(msg)
    asked = KINDS[told["kind"]](
        **given,
        **{name: told[name] for name in ("by", "format", "variants", "seed", "id")},
        **told["parameters"],
        out=out,
        progress=progress,
    )
    design = import_module(f"parivox.trials.{told['kind']}").design(pool, asked)
    return build_lists(design, asked, former=told)


def _check_same(
    folder: Path, lists: Sequence[Mapping[str, Any]], former: Mapping[str, Any]
) -> None:
    """Refuse lists that are not those of a manifest."""
    if [one["sha256"] for one in lists] == [one["sha256"] for one in former["lists"]]:
        return
    if former["parivox"] != __version__:
        why = f"install Parivox {former['parivox']}, which made them"
    else:
        why = f"the manifest may have been changed: {AS_WRITTEN}"
    if former["format"] == "parquet":
        why += " (or Polars, which writes Parquet, was another version then)"
    msg = f"{folder}: the lists came out different from what the manifest tells; {why}"
    raise DataError(msg)


def _check_room(
    design: Design, folder: Path, variants: int, form: str, tell: Callable[[str], None]
) -> None:
    """Tell how much will be written, if that is much; refuse what the disk has no room for."""
    trials = design.trials * variants
    if form == "parquet":
        each = float(_PARQUET)
    else:
        ids = float(design.pool.ids.str.len_bytes().to_numpy().mean())
        each = 2 * ids + 2 + len(" 1" if form == "voxceleb" else " target")
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
    if trials >= _MANY:
        tell(f"writing {about}")


def _in_words(size: float) -> str:
    """A number of bytes in words.

    Examples
    --------
    >>> _in_words(6.5e11)
    '650.0 GB'
    """
    unit, of = next(((unit, of) for unit, of in _UNITS if size >= of), _UNITS[-1])
    return f"{size / of:,.1f} {unit}"


@contextmanager
def _aside(folder: Path, names: Sequence[str]) -> Iterator[Path]:
    """A folder for files that move to their places when all of them are there."""
    there = next((name for name in names if (folder / name).exists()), None)
    if there is not None:
        msg = f"--out {folder}: {there} is there already; name another folder"
        raise ConfigError(msg)
    made: list[Path] = []
    aside = None
    try:
        made = [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".parivox-", dir=folder))
        yield aside
        for name in names:
            (aside / name).replace(folder / name)
        made = []
    except OSError as error:
        msg = f"--out {folder}: cannot be written ({error.strerror or error}); name another folder"
        raise ConfigError(msg) from error
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
        for one in made:
            if one.is_dir() and not any(one.iterdir()):
                one.rmdir()


def _written(design: Design, tally: Tally, draws: Draws, path: Path, form: str) -> dict[str, Any]:
    """Write one list; what the manifest says of it."""
    with ListWriter(path, form) as writer:
        for block in tally.of(design.draw(draws)):
            frame = _sides(design, block)
            writer.write(frame["enrol"], frame["test"], block.target)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": path.name, "sha256": digest, **tally.last}


def _sides(design: Design, block: Block) -> pl.DataFrame:
    ids = design.pool.ids
    return pl.DataFrame({"enrol": ids.gather(block.enrol), "test": ids.gather(block.test)})


def _named(design: Design, block: Block) -> pl.DataFrame:
    return _sides(design, block).with_columns(label_words(block.target).alias("label"))


def _checked(design: Design, lists: Sequence[Path]) -> list[dict[str, Any]]:
    """What the check says of the first list, beside its variants, held to what was asked for."""
    found = check(
        lists[0],
        speakers=design.pool.people,
        utterances=design.pool.table,
        by=design.pool.by,
        variants=lists[1:],
        **design.held_to,
    )
    return [
        {name: "inf" if cell == math.inf else cell for name, cell in row.items() if name != "mend"}
        for row in found.tables["checks"].rows()
    ]
