"""``parivox report``: the HTML report of an audit, its figures and its tables."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named, requested_workers
from parivox.cli.process import print_lines, print_status, printing
from parivox.errors import ConfigError
from parivox.options.audit import (
    NEVER,
    ProgressCommand,
    ReportCommand,
    ReportDetailsCommand,
    WorkersCommand,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from parivox.auditing import Audit
    from parivox.report.context import Context

EXAMPLES = """\
examples:
  parivox report audit/ --out report.html --title "Door locks, 2026" --context context.yaml
  parivox report audit/ --figures figures/ --formats svg,pdf
  parivox report audit/ --format markdown > model-card-section.md
  parivox report audit/ --format latex --table rates > rates.tex
  parivox report audit/ --out annex.xlsx
"""
_REPORT_OPTIONS = ("title", "speaker_ids")
_KIND_WORDS = {"page": "the report", "": "figures"}
_MAX_NAMED_LABELS = 6


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "report",
        _run,
        ReportCommand,
        WorkersCommand,
        ReportDetailsCommand,
        ProgressCommand,
        help=words,
        usage="parivox report AUDIT [--out FILE] [--figures FOLDER] [options]",
        description="From a saved audit, export a self-contained HTML report, or figures and "
        "tables for a paper, a model card or an annex.",
        examples=EXAMPLES,
    )


def report_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the options of an HTML report that were given."""
    settings = {name: getattr(arguments, name) for name in _REPORT_OPTIONS}
    return {name: setting for name, setting in settings.items() if setting is not None}


def given_context(arguments: argparse.Namespace) -> Context | None:
    """Return the context, so that a wrong file is refused before anything is done."""
    from parivox.report.context import read_context  # noqa: PLC0415 - on request

    return read_context(arguments.context)


def with_labels(audit: Audit, context: Context | None) -> Audit:
    """Return the audit with the labels of a context; print those that name nothing in it."""
    if context is None or not context.labels:
        return audit
    from parivox.report.labels import labelled  # noqa: PLC0415 - on request

    labelled_audit = labelled(audit, context)
    unused = [repr(name) for name in context.labels if name not in labelled_audit.record["labels"]]
    if unused:
        more_names = (
            f" and {len(unused) - _MAX_NAMED_LABELS} more"
            if len(unused) > _MAX_NAMED_LABELS
            else ""
        )
        print_status(
            "labels that name nothing in this audit: "
            f"{', '.join(unused[:_MAX_NAMED_LABELS])}{more_names}"
        )
    return labelled_audit


def load_audit(folder: str) -> Audit:
    """Return the audit of a folder; print what another version of Parivox wrote in it."""
    from parivox.auditing import load  # noqa: PLC0415 - what takes time to load

    audit = load(folder)
    if audit.record.get("other_version"):
        from parivox.report.catalogue import recorded_text  # noqa: PLC0415

        names_by_reason: dict[str, list[str]] = {}
        for name, reason in audit.record["other_version"].items():
            names_by_reason.setdefault(recorded_text(reason), []).append(name)
        differences = "; ".join(
            f"{', '.join(names)}: {reason}" for reason, names in names_by_reason.items()
        )
        print_status(f"written by another version of Parivox: {differences}")
    return audit


def _run(arguments: argparse.Namespace) -> None:
    from parivox.report.audit_queries import check_speaker_ids  # noqa: PLC0415
    from parivox.report.report_files import (  # noqa: PLC0415 - what takes time to load
        check_report,
        check_table_names,
        check_tables,
        encoded_tables,
    )
    from parivox.runtime.task_sharing import workers_shared  # noqa: PLC0415

    workers, kind = requested_workers(arguments), _output_kind(arguments)
    tables = check_table_names(_table_names(arguments), _KIND_WORDS.get(kind, kind))
    # files are checked before the audit is loaded, and what is printed comes last
    if kind == "page":
        check_report(arguments.out)
    elif arguments.out is not None:
        check_tables(arguments.out, kind)
    report_settings, context, formats = (
        report_options(arguments),
        given_context(arguments),
        _figure_formats(arguments),
    )
    audit = with_labels(load_audit(arguments.audit), context)
    check_speaker_ids(audit, arguments.speaker_ids or NEVER)
    report_settings |= {"context": context}
    with workers_shared(workers):
        messages = _write_files(audit, arguments, kind, tables, report_settings, formats)
    print_lines(messages)
    if arguments.out is None and kind:
        with printing():
            sys.stdout.buffer.write(encoded_tables(audit, kind, tables))


def _table_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of the tables that are asked for."""
    return [] if arguments.table is None else [name.strip() for name in arguments.table.split(",")]


def _output_kind(arguments: argparse.Namespace) -> str:
    """Return what is written or printed: "page", a format of tables, or empty for figures only."""
    from parivox.report.report_files import TABLES, check_format, format_of  # noqa: PLC0415

    check_out_is_named(arguments.out, "file")
    check_out_is_named(arguments.figures, "folder", "--figures")
    if arguments.format is not None:
        check_format(arguments.format)
        if arguments.format == "xlsx" and arguments.out is None:
            msg = "--format xlsx: a workbook cannot be printed"
            hint = "name a file with --out"
            raise ConfigError(msg, hint)
        kind = str(arguments.format)
    elif arguments.out is not None:
        kind = format_of(arguments.out) or "page"
    elif arguments.figures is not None:
        kind = ""
    else:
        msg = "no output is requested"
        hint = (
            f"give --out report.html for a page, --figures FOLDER, or --format {', '.join(TABLES)}"
        )
        raise ConfigError(msg, hint)
    for name in _REPORT_OPTIONS:
        if kind != "page" and getattr(arguments, name) is not None:
            option = f"--{name.replace('_', '-')}"
            msg = f"{option} applies only to a page"
            hint = f"give --out report.html, or leave {option} out"
            raise ConfigError(msg, hint)
    return kind


def _figure_formats(arguments: argparse.Namespace) -> list[str]:
    """Return the formats of figures; empty if none are asked for."""
    if arguments.figures is None:
        if arguments.formats is not None:
            msg = "--formats applies only to figures"
            hint = "give --figures FOLDER, or leave --formats out"
            raise ConfigError(msg, hint)
        return []
    from parivox.report.figures import check_figures  # noqa: PLC0415 - on request

    text = "svg" if arguments.formats is None else arguments.formats
    formats = list(dict.fromkeys(name.strip() for name in text.split(",")))
    check_figures(arguments.figures, formats)
    return formats


def _write_files(
    audit: Audit,
    arguments: argparse.Namespace,
    kind: str,
    tables: Sequence[str],
    report_settings: dict[str, Any],
    formats: list[str],
) -> list[str]:
    """Write what is asked for; return one line on each file or folder."""
    from parivox.report.figures import write_figures  # noqa: PLC0415
    from parivox.report.report_files import write_report, write_tables  # noqa: PLC0415

    messages = []
    if arguments.figures is not None:
        write_figures(audit, arguments.figures, formats=formats)
        messages.append(
            f"{arguments.figures}: every figure as {', '.join(formats)}; index.md says more"
        )
    if arguments.out is not None:
        if kind == "page":
            write_report(audit, arguments.out, **report_settings)
            messages.append(
                f"{arguments.out}: the page; it opens in any browser, and needs no network"
            )
        else:
            write_tables(audit, arguments.out, format=kind, table=tables)
            messages.append(f"{arguments.out}: the tables")
        arguments.outcome = "everything was written"
    return messages
