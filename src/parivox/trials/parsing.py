"""A manifest read again: as it was written, or refused with what is wrong in it."""

from __future__ import annotations

import json
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from parivox.trials.design import Design

__all__ = ["AS_WRITTEN", "SCHEMA", "designer", "parsed"]

SCHEMA = "parivox.trials/1"
KINDS = ("inclusive", "balanced", "cross")
"""Modules that design lists."""
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


def parsed(path: Path) -> dict[str, Any]:
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
    if kind not in KINDS:
        msg = f"{path}: kind is {kind!r}, expected {' or '.join(KINDS)}; {AS_WRITTEN}"
        raise DataError(msg)
    _hold(path, "", told, _FIELDS)
    takes = list(signature(designer(kind)).parameters.values())[1:]
    told_of = told["parameters"]
    _hold(path, "parameters.", told_of, {one.name: str(one.annotation) for one in takes})
    _hold(path, "inputs.", told["inputs"], dict.fromkeys(_ROLES, "Mapping"))
    extra = sorted({*told_of} - {one.name for one in takes}) + sorted({*told["inputs"]} - {*_ROLES})
    if extra:
        msg = f"{path}: {extra[0]!r} is not known of a list that is {kind}; {AS_WRITTEN}"
        raise DataError(msg)
    for role, one in told["inputs"].items():
        has_path = role == "utterances" or "path" in one
        needs = {"content": "str"} | ({"path": "str | None"} if has_path else {})
        _hold(path, f"inputs.{role}.", one, needs)
    if len(told["lists"]) != told["variants"]:
        msg = (
            f"{path}: variants is {told['variants']}, of lists there are {len(told['lists'])}; "
            f"{AS_WRITTEN}"
        )
        raise DataError(msg)
    for at, one in enumerate(told["lists"]):
        _hold(path, f"lists[{at}].", one, {"sha256": "str"})
    return dict(told)


def _hold(path: Path, where: str, told: Any, needs: Mapping[str, str]) -> None:
    """Refuse a part of a manifest that lacks something, or has it of another type."""
    if not isinstance(told, dict):
        msg = f"{path}: {where.rstrip('.')} is {told!r}, expected a mapping; {AS_WRITTEN}"
        raise DataError(msg)
    for name, annotation in needs.items():
        if name not in told:
            msg = f"{path}: lacks {where}{name}; {AS_WRITTEN}"
            raise DataError(msg)
        if not _is(told[name], annotation):
            words = (_IN_WORDS[one.partition("[")[0]][1] for one in annotation.split(" | "))
            msg = (
                f"{path}: {where}{name} is {told[name]!r}, expected {' or '.join(words)}; "
                f"{AS_WRITTEN}"
            )
            raise DataError(msg)


def _is(value: Any, annotation: str) -> bool:
    """Whether a value of JSON is of an annotated type.

    Examples
    --------
    >>> _is([1, 3], "Sequence[int] | None"), _is(None, "int | str"), _is(True, "int")
    (True, False, False)
    """
    kind: type = type(value)  # True is no number here
    for one in annotation.split(" | "):
        outer, _, inner = one.rstrip("]").partition("[")
        if outer == "float" and kind is int:
            return True
        if kind is _IN_WORDS[outer][0]:
            held = value.values() if outer == "Mapping" else value
            return not inner or all(_is(x, inner.split(", ")[-1]) for x in held)
    return False


def designer(kind: str) -> Callable[..., Design]:
    """What designs lists of a kind."""
    found: Callable[..., Design] = import_module(f"parivox.trials.{kind}").design
    return found
