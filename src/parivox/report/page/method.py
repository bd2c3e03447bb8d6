"""Section 9: how the figures were made, of what, and what they cannot show."""

from __future__ import annotations

import hashlib
import shlex
from typing import TYPE_CHECKING, Any

from parivox.auditing.options import Options
from parivox.auditing.result import system_name
from parivox.options.audit import AuditOptions
from parivox.options.kinds import options_of
from parivox.report.page.limits import harms, places
from parivox.report.scopes import name_of
from parivox.report.sheets.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.report.page.context import Context

REFERENCES = {
    "Hutiri and Ding 2022, Bias in Automated Speaker Recognition": (
        "subgroup and threshold bias; sources of harm in speaker recognition"
    ),
    "Hutiri, Gorce and Ding 2022, Design Guidelines for Inclusive Speaker Verification Evaluation "
    "Datasets": "what a list of trials must hold",
    "Hutiri, Patel, Ding and Scharenborg, As Biased as You Measure": (
        "base metrics, bias measures and meta-measures, and where they disagree"
    ),
    "Chouchane, Busch, Galdi, Evans and Todisco, A Comparison of Differential Performance Metrics "
    "for the Evaluation of Automatic Speaker Verification Fairness": (
        "FDR, IR and GARBE side by side"
    ),
    "de Freitas Pereira and Marcel 2022; Grother (NIST); Howard et al. 2022": "FDR; IR; GARBE",
    "Suresh and Guttag": "seven sources of harm in the life cycle of machine learning",
    "ISO/IEC 19795-1; the public scope of ISO/IEC 19795-10": "error rates; what to report",
}
"""Works, and what is taken from each."""


_NONE = "none given"


def method(audit: Audit, context: Context | None) -> dict[str, Any]:
    """What an audit rests on, as ``method.html.j2`` takes it."""
    definitions = audit.record["definitions"]
    return {
        "definitions": [(_words(name), list(_flat(value))) for name, value in definitions.items()],
        "options": _options(audit),
        "hashes": _hashes(audit, context),
        "versions": [
            *((_words(name), str(one)) for name, one in audit.record["versions"].items()),
            *audit.record.get("other_version", {}).items(),
        ],
        "references": REFERENCES,
        "command": command(audit),
        "standard": places(audit, context),
        "harms": harms(audit, context),
        "sha256": hashlib.sha256(audit.to_json().encode()).hexdigest(),
    }


def _flat(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """What is nested, as pairs of a name and a text."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, f"{above}, {key}" if above else str(key))
    elif isinstance(value, (list, tuple)):
        yield above, ", ".join(map(_cell, value))
    else:
        yield above, _cell(value)


def _cell(value: Any) -> str:
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _options(audit: Audit) -> Sheet:
    made = Sheet.headed("Options of the audit", ("Option", "Value"), words=(1, 2))
    for name, value in audit.record["options"].items():
        for key, text in _flat(value, _words(name)):
            made.add(key, text or _NONE)
    return made


def _hashes(audit: Audit, context: Context | None) -> Sheet:
    """Hashes of the contents; files are named by what they hold, not by their names."""
    made = Sheet.headed(
        "What was read: SHA-256 of contents, whatever the order of rows, and of the bytes of files",
        ("What", "SHA-256"),
        words=(1, 2),
    )
    for one in audit.record["inputs"]:
        label = name_of(one["system"], one["list"])
        made.add(f"{label}: contents of {one['trials']:,} trials", one["content_sha256"])
        for key in ("columns_sha256", "recordings_sha256"):
            if one.get(key):
                made.add(f"{label}: {_words(key.removesuffix('_sha256'))}", one[key])
    if audit.record["speakers_content_sha256"]:
        made.add("Contents of the speakers' table", audit.record["speakers_content_sha256"])
    for i, entry in enumerate(audit.provenance, 1):
        if entry.get("sha256"):
            keys = ("role", "format", "compression")
            kind = ", ".join(str(entry[key]) for key in keys if entry.get(key))
            made.add(f"File {i} ({kind}): bytes", entry["sha256"])
    if context is not None:
        made.add("Context file: bytes", context.sha256)
    return made


# ---- the command that makes the audit again


def command(audit: Audit) -> str:
    """One command, with placeholders in the place of files.

    Only options that are not the default are named. The names of columns, and the format of a
    file, are left out, as they follow from the files.
    """
    record = audit.record
    described, chosen = options_of(AuditOptions), record["options"]
    words = ["parivox", "audit"]
    for i, one in enumerate(record["inputs"], 1):
        words.append(f"{system_name(one['system'], one['list'])}=SCORES_{i}")
    roles = {entry.get("role") for entry in audit.provenance}
    for name, option in described.items():
        if name in roles:
            words += [option.flag, name.upper()]
    for i, _ in enumerate(record.get("development", []), 1):
        words += ["--threshold-from", f"DEVELOPMENT_SCORES_{i}"]
    for name, default in Options().recorded().items():
        value = chosen.get(name, default)
        value = tuple(value) if isinstance(value, list) else value  # as a loaded audit has it
        is_by_default = name == "by" and record["groupings_chosen_by"] != "user"
        if value not in (default, None) and not is_by_default:
            words += described[name].on_command_line(value)
    return shlex.join(words)
