"""The manifest of lists that were built: JSON beside them, which builds them again, byte for byte.

It names the inputs, relative to itself, with the hashes of their bytes and of what was drawn from;
parameters and seed; the version of Parivox; each list with its hash; who was left out; the order of
rows; what the check of the list says. It is read as it was written, or refused with what is wrong.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.errors import DataError
from parivox.options.kinds import options_of
from parivox.options.trials import KINDS, BuildOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.trials.pool import Pool

SCHEMA = "parivox.trials/1"
_FIELDS = {
    "parivox": "str",
    "by": "str",
    "id": "str | None",
    "grade_by": "Sequence[str]",
    "parameters": "Mapping",
    "seed": "int",
    "variants": "int",
    "format": "str",
    "inputs": "Mapping",
    "lists": "Sequence",
}
"""What a manifest has to hold, as annotations have it."""
_IN_WORDS = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "text"),
    "None": (type(None), "null"),
    "Sequence": (list, "a list"),
    "Mapping": (dict, "a mapping"),
}
_ROLES = ("utterances", "speakers")
AS_WRITTEN = "give the manifest as it was written"
"""What to do about most that is wrong."""


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest that holds all that is needed."""
    try:
        told = json.loads(path.read_bytes())
        schema, kind = told["schema"], told["kind"]
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror}); check the name"
        raise DataError(msg) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        msg = f"{path}: is no manifest of a trial list; give the NAME.manifest.json of one"
        raise DataError(msg) from error
    if schema != SCHEMA:
        msg = f"{path}: is a manifest of {schema!r}, not {SCHEMA!r}; install its version of Parivox"
        raise DataError(msg)
    if kind not in tuple(KINDS):
        msg = f"{path}: kind is {kind!r}, expected {' or '.join(KINDS)}; {AS_WRITTEN}"
        raise DataError(msg)
    _check_fields(path, "", told, _FIELDS)
    of_all, own = options_of(BuildOptions), options_of(KINDS[kind])
    takes = {name: one.annotation for name, one in own.items() if name not in of_all}
    _check_fields(path, "parameters.", told["parameters"], takes)
    _check_fields(path, "inputs.", told["inputs"], dict.fromkeys(_ROLES, "Mapping"))
    extra = sorted({*told["parameters"]} - {*takes}) + sorted({*told["inputs"]} - {*_ROLES})
    if extra:
        msg = f"{path}: {extra[0]!r} is not known of a list that is {kind}; {AS_WRITTEN}"
        raise DataError(msg)
    for role, one in told["inputs"].items():
        has_path = role == "utterances" or "path" in one
        needs = {"content": "str"} | ({"path": "str | None"} if has_path else {})
        _check_fields(path, f"inputs.{role}.", one, needs)
    if len(told["lists"]) != told["variants"]:
        msg = (
            f"{path}: variants is {told['variants']}, of lists there are {len(told['lists'])}; "
            f"{AS_WRITTEN}"
        )
        raise DataError(msg)
    for at, one in enumerate(told["lists"]):
        _check_fields(path, f"lists[{at}].", one, {"sha256": "str"})
    return dict(told)


def _check_fields(path: Path, where: str, told: Any, needs: Mapping[str, str]) -> None:
    """Refuse a part of a manifest that lacks something, or has it of another type."""
    if not isinstance(told, dict):
        msg = f"{path}: {where.rstrip('.')} is {told!r}, expected a mapping; {AS_WRITTEN}"
        raise DataError(msg)
    for name, annotation in needs.items():
        if name not in told:
            msg = f"{path}: lacks {where}{name}; {AS_WRITTEN}"
            raise DataError(msg)
        if not _is_of_type(told[name], annotation):
            words = (_IN_WORDS[one.partition("[")[0]][1] for one in annotation.split(" | "))
            msg = (
                f"{path}: {where}{name} is {told[name]!r}, expected {' or '.join(words)}; "
                f"{AS_WRITTEN}"
            )
            raise DataError(msg)


def _is_of_type(value: Any, annotation: str) -> bool:
    """Whether a value of JSON is of an annotated type.

    Examples
    --------
    >>> (
    ...     _is_of_type([1, 3], "Sequence[int] | None"),
    ...     _is_of_type(None, "int | str"),
    ...     _is_of_type(True, "int"),
    ... )
    (True, False, False)
    """
    kind: type = type(value)  # True is no number here
    for one in annotation.split(" | "):
        outer, _, inner = one.rstrip("]").partition("[")
        if outer == "float" and kind is int:
            return True
        if kind is _IN_WORDS[outer][0]:
            held = value.values() if outer == "Mapping" else value
            return not inner or all(_is_of_type(x, inner.split(", ")[-1]) for x in held)
    return False


def inputs_of(pool: Pool, asked: BuildOptions, folder: Path | None) -> dict[str, Any]:
    """Where the tables were, with the hash of their bytes and of what was drawn from."""
    content = pool.sha256()
    files = {"utterances": pool.table.provenance}
    if asked.speakers is not None:
        files["speakers"] = next(iter(pool.people.provenance), {})
    found: dict[str, Any] = {}
    for role, file in files.items():
        source = getattr(asked, role)
        is_path = isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-"
        path = None
        if is_path and folder is not None:
            path = Path(os.path.relpath(Path(source).resolve(), folder.resolve())).as_posix()
        found[role] = {"path": path, "sha256": file.get("sha256"), "content": content[role]}
    found.setdefault("speakers", {"content": content["speakers"]})  # as the utterances tell
    return found
