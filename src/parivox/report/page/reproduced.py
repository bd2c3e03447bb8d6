"""Section 9: the command that makes the audit again, from its options."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from parivox.auditing.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit

__all__ = ["command"]

_FILES = {
    "speakers": "--speakers",
    "trials": "--trials",
    "utterances": "--utterances",
    "models": "--models",
    "failures": "--failures",
    "groups": "--groups",
}
_NAMES = {"operating_points": "operating-point"}
_CONFLICTS = "error"


def command(audit: Audit) -> str:
    """One command, with placeholders in the place of files.

    Only options that are not the default are named. The names of columns, and the format of a
    file, are left out, as they follow from the files.
    """
    words = ["parivox", "audit", *_inputs(audit), *_files(audit), *_options(audit)]
    return shlex.join(words)


def _inputs(audit: Audit) -> Iterator[str]:
    for i, one in enumerate(audit.record["inputs"], 1):
        name = f"{one['system']}@{one['list']}" if one["list"] else one["system"]
        yield f"{name}=SCORES_{i}"


def _files(audit: Audit) -> Iterator[str]:
    roles = [entry.get("role") for entry in audit.provenance]
    for role, option in _FILES.items():
        if role in roles:
            yield option
            yield role.upper()
    for i, _ in enumerate(audit.record.get("development", []), 1):
        yield "--threshold-from"
        yield f"DEVELOPMENT_SCORES_{i}"


def _options(audit: Audit) -> Iterator[str]:
    plain = Options().told()
    chosen = audit.record["options"]
    for name, default in plain.items():
        value = _listed(chosen.get(name, default))
        is_found = name == "by" and audit.record["groupings_chosen_by"] != "user"
        if value == _listed(default) or is_found:
            continue
        option = f"--{_NAMES.get(name, name.replace('_', '-'))}"
        if name == "intervals":
            yield "--no-intervals"
        elif value is True:
            yield option
        elif isinstance(value, list):
            for one in value:
                yield from (option, _text(one))
        elif value is not False and value is not None:
            yield from (option, "exact" if (name, value) == ("bins", 0) else _text(value))
    if chosen.get("conflicts", _CONFLICTS) != _CONFLICTS:
        yield from ("--conflicts", str(chosen["conflicts"]))


def _listed(value: Any) -> Any:
    """Choices as a list, as they are after the audit was written and loaded."""
    return list(value) if isinstance(value, tuple) else value


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
