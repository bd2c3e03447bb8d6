"""``parivox report``: the page of an audit, its figures and its tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named
from parivox.cli.process import print_lines, printing, say
from parivox.errors import ConfigError
from parivox.options.audit import NEVER, ProgressCommand, ReportCommand, ReportDetailsCommand

if TYPE_CHECKING:
    import argparse

    from parivox.auditing import Audit
    from parivox.report.context import Context

EXAMPLES = """\
examples:
  parivox report audit/ --out report.html --title "Door locks, 2026" --context context.yaml
  parivox report audit/ --figures figures/ --formats svg,pdf
  parivox report audit/ --format markdown > model-card-section.md
  parivox report audit/ --out annex.xlsx
"""
_OF_PAGE = ("title", "speaker_ids")
_MOST_NAMED = 6


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "report",
        _run,
        *(ReportCommand, ReportDetailsCommand, ProgressCommand),
        help=words,
        usage="parivox report AUDIT [--out FILE] [--figures FOLDER] [options]",
        description="Export a self-contained HTML report, or figures and tables for a paper, a "
        "model card or an annex, from a saved audit.",
        examples=EXAMPLES,
    )


def page_options(given: argparse.Namespace) -> dict[str, Any]:
    """Options of a page that were given."""
    found = {name: getattr(given, name) for name in _OF_PAGE}
    return {name: value for name, value in found.items() if value is not None}


def context_of(given: argparse.Namespace) -> Context | None:
    """What the context file says, so that it is refused before anything is done."""
    from parivox.report.context import read_context  # noqa: PLC0415 - on request

    return read_context(given.context)


def labelled_by(audit: Audit, context: Context | None) -> Audit:
    """The audit with the labels of a context; those that name nothing in it are told."""
    if context is None or not context.labels:
        return audit
    from parivox.report.labels import labelled  # noqa: PLC0415 - on request

    made = labelled(audit, context)
    unused = [repr(name) for name in context.labels if name not in made.record["labels"]]
    if unused:
        left = f" and {len(unused) - _MOST_NAMED} more" if len(unused) > _MOST_NAMED else ""
        say(f"labels that name nothing in this audit: {', '.join(unused[:_MOST_NAMED])}{left}")
    return made


def loaded(folder: str) -> Audit:
    """The audit of a folder; what another version of Parivox wrote is told."""
    from parivox.auditing import load  # noqa: PLC0415 - what takes time to load

    audit = load(folder)
    if other := audit.record.get("other_version"):
        names = {why: [name for name in other if other[name] == why] for why in other.values()}
        parts = "; ".join(f"{', '.join(found)}: {why}" for why, found in names.items())
        say(f"written by another version of Parivox: {parts}")
    return audit


def _run(given: argparse.Namespace) -> None:
    from parivox.report.audit_queries import check_speaker_ids  # noqa: PLC0415
    from parivox.report.report_files import (  # noqa: PLC0415 - what takes time to load
        check_report,
        check_tables,
        encoded_tables,
    )

    kind = _kind(given)
    if kind == "page":
        check_report(given.out)
    elif given.out is not None:
        check_tables(given.out, kind)
    page, context, formats = page_options(given), context_of(given), _formats(given)
    audit = labelled_by(loaded(given.audit), context)
    check_speaker_ids(audit, given.speaker_ids or NEVER)
    lines = _write(audit, given, kind, page | {"context": context}, formats)
    print_lines(lines)
    if given.out is None and kind:
        with printing():
            sys.stdout.buffer.write(encoded_tables(audit, kind))


def _kind(given: argparse.Namespace) -> str:
    """What is written to the file, or printed: the page, or tables in a format; perhaps nothing."""
    from parivox.report.report_files import TABLES, check_format, format_of  # noqa: PLC0415

    check_out_is_named(given.out, "file")
    if given.format is not None:
        check_format(given.format)
        if given.format == "xlsx" and given.out is None:
            msg = "--format xlsx: a workbook is not text to print; name a file with --out"
            raise ConfigError(msg)
        kind = str(given.format)
    elif given.out is not None:
        kind = format_of(given.out) or "page"
    elif given.figures is not None:
        kind = ""
    else:
        msg = (
            "nothing is asked for; give --out report.html for the page, --figures FOLDER, or "
            f"--format {', '.join(TABLES)}"
        )
        raise ConfigError(msg)
    for name in _OF_PAGE:
        if kind != "page" and getattr(given, name) is not None:
            option = f"--{name.replace('_', '-')}"
            msg = f"{option} is of a page; give --out report.html, or leave {option} out"
            raise ConfigError(msg)
    return kind


def _formats(given: argparse.Namespace) -> list[str]:
    """Formats of the figures, if there are to be any."""
    if given.figures is None:
        if given.formats is not None:
            msg = "--formats is of figures; give --figures FOLDER, or leave --formats out"
            raise ConfigError(msg)
        return []
    from parivox.report.figures import check_figures  # noqa: PLC0415 - on request

    asked = "svg" if given.formats is None else given.formats
    formats = list(dict.fromkeys(one.strip() for one in asked.split(",")))
    check_figures(given.figures, formats)
    return formats


def _write(
    audit: Audit,
    given: argparse.Namespace,
    kind: str,
    page: dict[str, Any],
    formats: list[str],
) -> list[str]:
    """Write what is asked for, and tell of each in a line."""
    from parivox.report.figures import write_figures  # noqa: PLC0415
    from parivox.report.report_files import write_page, write_tables  # noqa: PLC0415

    lines = []
    if given.figures is not None:
        write_figures(audit, given.figures, formats=formats)
        lines.append(f"{given.figures}: every figure as {', '.join(formats)}; index.md says more")
    if given.out is not None:
        if kind == "page":
            write_page(audit, given.out, **page)
            lines.append(f"{given.out}: the page; it opens in any browser, and needs no network")
        else:
            write_tables(audit, given.out, format=kind)
            lines.append(f"{given.out}: the tables")
        given.outcome = "everything was written"
    return lines
