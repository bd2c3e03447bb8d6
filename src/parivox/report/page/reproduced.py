"""Section 9: the command that makes the audit again, from its options."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from parivox.auditing.options import Options
from parivox.options.audit import AuditOptions
from parivox.options.kinds import options_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit

__all__ = ["command"]


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
    roles = {entry.get("role") for entry in audit.provenance}
    for name, one in options_of(AuditOptions).items():
        if name in roles:
            yield from (one.flag, name.upper())
    for i, _ in enumerate(audit.record.get("development", []), 1):
        yield from ("--threshold-from", f"DEVELOPMENT_SCORES_{i}")


def _options(audit: Audit) -> Iterator[str]:
    described, chosen = options_of(AuditOptions), audit.record["options"]
    for name, default in Options().recorded().items():
        value = chosen.get(name, default)
        value = tuple(value) if isinstance(value, list) else value  # as a loaded audit has it
        is_found = name == "by" and audit.record["groupings_chosen_by"] != "user"
        if value not in (default, None) and not is_found:
            yield from described[name].on_command_line(value)
