"""Files of a report: the HTML report and tables in several formats.

Files of an earlier report are replaced; any other file is kept, and refused in a sentence. The
checks are functions of their own, so that a command can refuse before an audit takes its time.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.auditing import check_verification
from parivox.errors import ConfigError, name_hint
from parivox.options.audit import checked_workers
from parivox.options.kinds import as_tuple
from parivox.renamed import renamed_function
from parivox.report.audit_queries import check_speaker_ids
from parivox.runtime.disk import atomic_file, explain_write_errors, writable_file
from parivox.runtime.progress import stage
from parivox.runtime.task_sharing import workers_shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.context import Context

TABLES = {
    "markdown": ".md",
    "latex": ".tex",
    "xlsx": ".xlsx",
    "metrics": ".json",
    "model-index": ".yaml",
}
"""What tables are written as, and how names of such files end."""
_REPORT_SUFFIXES = (".html", ".htm")


def write_report(
    audit: Audit,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    context: str | os.PathLike[str] | Mapping[str, Any] | Context | None = None,
    speaker_ids: str = "never",
    workers: int = 1,
) -> None:
    """Write an audit as one self-contained HTML page.

    Parameters
    ----------
    audit
        From `pv.audit` or `pv.load`.
    path
        File to write; an earlier report there is replaced, any other file is not.
    title
        Of the page.
    context
        What only its owner knows of the audit, and labels: a YAML file, or a mapping that holds the
        same.
    speaker_ids : {"never", "offenders"}
        Whether the speakers behind most errors are named, if the audit has them.
    workers
        Number of processes that draw the figures.

    Raises
    ------
    ConfigError
        If the file cannot be written there, an option is wrong, or vl_convert or jinja2 is
        missing.
    """
    file = check_report(path)
    check_speaker_ids(audit, speaker_ids)
    from parivox.report.html import html_report  # noqa: PLC0415 - what takes time to load

    number = checked_workers(workers)
    with workers_shared(number), stage(f"writing {os.fsdecode(path)}"):
        text = html_report(audit, title=title, context=context, speaker_ids=speaker_ids)
    _replace_file(file, text.encode())


write_page = renamed_function("pv.write_page", "audit.report", write_report)


def write_tables(
    audit: Audit,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the option's word
    table: str | Sequence[str] = (),
) -> None:
    """Write an audit's tables for a paper, a model card, an annex, or what keeps metrics.

    Parameters
    ----------
    audit
        From `pv.audit` or `pv.load`.
    path
        File to write; an earlier report there is replaced, any other file is not.
    format : {"markdown", "latex", "xlsx", "metrics", "model-index"}, optional
        By default as the name ends: .md, .tex, .xlsx, .json, .yaml.
    table : {"thresholds", "rates", "groups", "crosstabs", "measures"}, or several of them
        Tables of Markdown or LaTeX to write; all by default.

    Raises
    ------
    ConfigError
        If the file cannot be written there, the format or a table is not known, or openpyxl is
        missing.
    """
    file, kind = check_tables(path, format)
    _replace_file(file, encoded_tables(audit, kind, check_table_names(table, kind)))


def encoded_tables(audit: Audit, kind: str, tables: Sequence[str] = ()) -> bytes:
    """Return an audit's tables in a format; in Markdown or LaTeX those of some names alone."""
    if kind != "metrics":
        check_verification(audit, f"--format {kind}", "use --format metrics")
    if kind == "xlsx":
        from parivox.report.sheets.workbook import workbook  # noqa: PLC0415 - openpyxl is optional

        return workbook(audit)
    if kind in {"metrics", "model-index"}:
        from parivox.report import exports  # noqa: PLC0415 - what takes time to load

        encode = exports.metrics_json if kind == "metrics" else exports.model_index
        return encode(audit).encode()
    from parivox.report.sheets import paper  # noqa: PLC0415 - what takes time to load

    encode_tables = paper.latex if kind == "latex" else paper.markdown
    return encode_tables(audit, tables).encode()


def check_report(path: str | os.PathLike[str]) -> Path:
    """Return the file of a report; refuse it if it may not be written, or packages are missing."""
    check_installed("pages", "vl_convert", "jinja2")
    return writable_file(path, f"report{_REPORT_SUFFIXES[0]}")


def load_chart_engine() -> None:
    """Load what draws charts, in a worker that will draw some."""
    from parivox.report.charts import draw  # noqa: PLC0415 - what takes time to load

    draw.load_engine()


def check_tables(path: str | os.PathLike[str], format: str | None = None) -> tuple[Path, str]:  # noqa: A002
    """Return the file of tables and their format; refuse it if it may not be written."""
    kind = format or format_of(path)
    check_format(kind)
    return writable_file(path, f"report{TABLES[kind]}"), kind


def check_table_names(table: str | Sequence[str], kind: str) -> tuple[str, ...]:
    """Return the names of tables in use; refuse unknown ones, and those that a format has not."""
    names = as_tuple(table)
    if not names:
        return ()
    from parivox.report.sheets.paper import PAPER_TABLES  # noqa: PLC0415 - takes time to load

    for name in names:
        if name not in PAPER_TABLES:
            msg = f"--table {name!r} is not known"
            hint = name_hint(name, PAPER_TABLES)
            raise ConfigError(msg, hint)
    if kind not in {"markdown", "latex"}:
        msg = f"--table applies only to markdown and latex, not to {kind}"
        hint = "leave it out"
        raise ConfigError(msg, hint)
    return names


def check_format(format: str) -> None:  # noqa: A002 - the option's word
    """Refuse a format of tables that is not known, or whose package is missing."""
    if format not in TABLES:
        msg = f"--format {format!r} is not known"
        hint = f"choose from {', '.join(TABLES)}"
        raise ConfigError(msg, hint)
    if format == "xlsx":
        check_installed("workbooks", "openpyxl", extra="xlsx")


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format of tables that the name of a file shows; empty for an HTML report."""
    suffix = Path(os.fsdecode(path)).suffix.lower()
    if suffix in _REPORT_SUFFIXES:
        return ""
    for name, ending in TABLES.items():
        if suffix == ending:
            return name
    msg = f"{os.fsdecode(path)}: the ending of the name is not a known format"
    hint = f"end the name with .html for a page, or {', '.join(TABLES.values())} for tables"
    raise ConfigError(msg, hint)


def check_installed(purpose: str, *packages: str, extra: str = "report") -> None:
    """Refuse to go on without the packages of an extra; nothing is imported."""
    if any(importlib.util.find_spec(package) is None for package in packages):
        msg = f"{purpose} need {' and '.join(packages)}: pip install 'parivox[{extra}]'"
        raise ConfigError(msg)


def _replace_file(file: Path, content: bytes) -> None:
    """Write a file at once, so that no reader sees half of it."""
    with explain_write_errors(str(file)), atomic_file(file) as temporary_file:
        temporary_file.write_bytes(content)
