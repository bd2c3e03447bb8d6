"""``parivox audit``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parivox.cli.options import (
    TABLES,
    add_command,
    check_out_is_named,
    check_standard_input,
    given_options,
)
from parivox.cli.process import print_json, printing, say
from parivox.cli.report import context_of, labelled_by, page_options
from parivox.errors import ConfigError
from parivox.options.audit import AuditCommand, AuditOptions, ProgressCommand, ReportDetailsCommand
from parivox.options.kinds import option_fields

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from parivox.auditing import Audit

EXAMPLES = """\
examples:
  # one system, one attribute
  parivox audit scores.csv --speakers speakers.csv --by gender
  # two systems, intersectional groups
  parivox audit V2=v2.csv L=l.csv --speakers s.csv --by gender+nationality --out audit/
  # exit with code 1 if a limit is not met
  parivox audit scores.csv --speakers s.csv --by gender --limit fnr=5% --fail-on not-met
  # compare two systems and write a report
  parivox audit A=a.csv B=b.csv --speakers s.csv --by gender --compare --report report.html
  # read scores from a pipe; age bands; threshold at the EER
  zcat scores.gz | parivox audit - --speakers s.csv --by age:18,30,60 --operating-point eer
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "audit",
        _run,
        *(AuditOptions, AuditCommand, ReportDetailsCommand, ProgressCommand),
        help=words,
        usage="parivox audit SCORES... [--speakers FILE] [options]",
        description="Measure the error rates of each group of speakers and test whether they "
        "differ.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.auditing import (  # noqa: PLC0415
        audit,
        check_folder,
        check_format,
        failing_findings,
    )

    options = given_options(given, AuditOptions)
    kind = given.format or AuditCommand.format
    check_format(kind)
    check_out_is_named(given.out, "folder")
    if given.out is not None:
        check_folder(given.out)
    fail_on = _fail_on(given, options)
    for name in ("trial_table", "report"):
        _check_apart(given.out, name, getattr(given, name))
    page, context = _page(given), context_of(given)
    sources = [*given.scores, *(given.threshold_from or ())]
    tables = [getattr(given, name) for name in (*TABLES, "groups")]
    check_standard_input([*(text.rpartition("=")[2] for text in sources), *tables])
    if given.threshold_from:
        options["threshold_from"] = _named(given.threshold_from)
    result = audit(_named(given.scores), **options)
    if given.out is not None:
        given.outcome = f"{given.out} may not hold this audit"
        result = result.write(given.out, format=kind)
        given.outcome = f"the audit is in {given.out}"
    if given.report is not None:
        from parivox.report.report_files import write_page  # noqa: PLC0415 - on request

        write_page(result, given.report, context=context, **page)
    _print(result, given, context)
    found = failing_findings(result, fail_on)
    if found:
        say(f"{'; '.join(found)}: exit code 1, as --fail-on asks")
        sys.exit(1)


def _print(result: Audit, given: argparse.Namespace, context: Any) -> None:
    if given.json:
        with printing():
            print_json(result.to_json())
        return
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    with printing():
        written = {"out": given.out, "page": given.report}
        where = {name: Path(path) for name, path in written.items() if path is not None}
        print_summary(labelled_by(result, context), **where, details=given.verbose)


def _fail_on(given: argparse.Namespace, options: Mapping[str, Any]) -> Sequence[str]:
    """Findings that end with exit code 1, if the audit looks for them."""
    one = option_fields(AuditCommand)["fail_on"]
    asked: Sequence[str] = one.check(one.parse(given.fail_on)) if given.fail_on else ()
    if {*asked} - {"worse"} and not options.get("limits"):
        msg = f"--fail-on {','.join(asked)}: there is no limit; give one, as in --limit fnr=5%"
        raise ConfigError(msg)
    if "worse" in asked and not options.get("intervals", True):
        msg = "--fail-on worse needs intervals; leave out --no-intervals"
        raise ConfigError(msg)
    return asked


def _check_apart(out: str | None, name: str, file: str | None) -> None:
    """Refuse a file in the folder of the audit, which holds nothing else."""
    if out is None or file is None:
        return
    if Path(os.path.realpath(out)) in Path(os.path.realpath(file)).parents:
        option = f"--{name.replace('_', '-')}"
        msg = f"{option} {file}: lies in --out; name a file elsewhere"
        raise ConfigError(msg)


def _page(given: argparse.Namespace) -> dict[str, Any]:
    """Options of the page, if there is to be one and it can be written."""
    if given.report is None:
        if given.title is not None:
            msg = "--title is of a page; give --report FILE, or leave --title out"
            raise ConfigError(msg)
        return {}
    from parivox.report.report_files import check_report  # noqa: PLC0415 - on request

    check_out_is_named(given.report, "file")
    check_report(given.report)
    return page_options(given)


def audit_of(words: Sequence[str], given: argparse.Namespace) -> Audit:
    """Return the audit of a command line, `given` to hold what it asks for."""
    from parivox.auditing import audit  # noqa: PLC0415
    from parivox.cli import parser  # noqa: PLC0415 - which imports this file

    asked = parser("audit").parse_args([*words], given)
    return audit(_named(asked.scores), **given_options(asked, AuditOptions))


def _named(sources: list[str]) -> Any:
    """One path, or several by system and list, which only NAME= or NAME@LIST= tells apart.

    Files of counts need no names, and those of one name are added up.
    """
    from parivox.auditing import split_name  # noqa: PLC0415
    from parivox.data.counts_file import holds_counts, holds_tally  # noqa: PLC0415
    from parivox.data.source_bytes import stem_of  # noqa: PLC0415

    if len(sources) == 1 and "=" not in sources[0]:
        return sources[0]
    pairs = []
    for text in sources:
        before, equals, path = text.partition("=")
        # any text, even what no path can be
        is_plain = not equals or os.path.exists(text)  # noqa: PTH110
        pairs.append((None, text) if is_plain else (split_name(before), path))
    if any(holds_counts(path) or holds_tally(path) for _, path in pairs):
        counts: dict[object, list[str]] = {}
        for name, path in pairs:
            counts.setdefault(name or "", []).append(path)
        return counts
    named: dict[tuple[str, str], str] = {}
    for (given, path), text in zip(pairs, sources, strict=True):
        name = given or (stem_of(path), "")
        if name in named:
            which = "@".join(filter(None, name))
            msg = (
                f"{text}: {which!r} is named twice; name each file, as in V2=v2.csv or V2@H=v2.csv"
            )
            raise ConfigError(msg)
        named[name] = path
    return named
