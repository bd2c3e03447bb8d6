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
    is_file_pattern,
    matching_files,
    requested_workers,
)
from parivox.cli.process import print_json, print_status, printing
from parivox.cli.report import given_context, report_options, with_labels
from parivox.errors import ConfigError
from parivox.options.audit import (
    OLD_FAIL_CONDITION,
    AuditCommand,
    AuditOptions,
    ProgressCommand,
    ReportDetailsCommand,
    WorkersCommand,
)
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
        AuditOptions,
        AuditCommand,
        WorkersCommand,
        ReportDetailsCommand,
        ProgressCommand,
        help=words,
        usage="parivox audit SCORES... [--speakers FILE] [options]",
        description="Measure the error rates of each group of speakers and test for differences "
        "between groups.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.auditing import audit, check_folder, check_format  # noqa: PLC0415
    from parivox.runtime.task_sharing import workers_shared  # noqa: PLC0415

    # whatever can be refused is refused before the audit takes its time
    options = given_options(arguments, AuditOptions)
    workers = requested_workers(arguments)
    if not options.get("intervals", True) and arguments.report is None:
        workers = 1  # nothing takes long enough to be shared
    table_format = arguments.format or AuditCommand.format
    check_format(table_format)
    check_out_is_named(arguments.out, "folder")
    if arguments.out is not None:
        check_folder(arguments.out)
    fail_on = _failing_findings(arguments, options)
    for name in ("trial_table", "report"):
        _check_outside_folder(arguments.out, name, getattr(arguments, name))
    report_settings, context = _report_settings(arguments), given_context(arguments)
    prepare = []
    if arguments.report is not None:
        from parivox.report.report_files import load_chart_engine  # noqa: PLC0415 - on request

        prepare.append(load_chart_engine)
    sources = [*arguments.scores, *(arguments.threshold_from or ())]
    tables = [getattr(arguments, name) for name in (*TABLES, "groups")]
    check_standard_input([*(text.rpartition("=")[2] for text in sources), *tables])
    if arguments.threshold_from:
        options["threshold_from"] = _named_sources(arguments.threshold_from)
    with workers_shared(workers, prepare):
        finished_audit = audit(_named_sources(arguments.scores), **options)
        if arguments.out is not None:
            arguments.outcome = f"{arguments.out} may not contain this audit"
            finished_audit = finished_audit.save(arguments.out, format=table_format)
            arguments.outcome = f"the audit is in {arguments.out}"
        if arguments.report is not None:
            from parivox.report.report_files import write_report  # noqa: PLC0415 - on request

            write_report(finished_audit, arguments.report, context=context, **report_settings)
    _print_audit(finished_audit, arguments, context)
    if fail_on:
        _exit_on_findings(finished_audit, fail_on)


def _exit_on_findings(finished_audit: Audit, fail_on: Sequence[str]) -> None:
    """End with exit code 1 if an audit has what ``--fail-on`` names."""
    from parivox.auditing import failing_findings  # noqa: PLC0415 - on request

    if "worse" in fail_on and not len(finished_audit.verdicts):
        msg = "--fail-on worse: the audit has rates only, so no group can be shown worse"
        hint = "leave out worse"
        raise ConfigError(msg, hint)
    failures = failing_findings(finished_audit, fail_on)
    if failures:
        from parivox.report.catalogue import facts_text  # noqa: PLC0415

        print_status(f"{facts_text(failures)}: exit code 1, as --fail-on asks")
        sys.exit(1)


def _print_audit(finished_audit: Audit, arguments: argparse.Namespace, context: Any) -> None:
    """Print the summary with labels, or JSON with the names of the data."""
    # JSON is for programs, so labels are only for what people read
    if arguments.json:
        with printing():
            print_json(finished_audit.to_json())
        return
    from parivox.report.terminal import print_summary  # noqa: PLC0415

    with printing():
        written = {"out": arguments.out, "page": arguments.report}
        written_paths = {name: Path(path) for name, path in written.items() if path is not None}
        print_summary(
            with_labels(finished_audit, context), **written_paths, details=arguments.verbose
        )


def _failing_findings(arguments: argparse.Namespace, options: Mapping[str, Any]) -> Sequence[str]:
    """Return the findings that end with exit code 1; refuse those that the audit cannot make."""
    option = option_fields(AuditCommand)["fail_on"]
    findings: Sequence[str] = ()
    if arguments.fail_on:
        given = option.parse(arguments.fail_on)
        if OLD_FAIL_CONDITION in given:
            print_status(
                f"--fail-on {OLD_FAIL_CONDITION} is inconclusive since release 0.3 and will be "
                "removed in 0.5"
            )
        findings = option.check(
            ["inconclusive" if name == OLD_FAIL_CONDITION else name for name in given]
        )
    if {*findings} - {"worse"} and not options.get("limits"):
        msg = f"--fail-on {','.join(findings)}: no limit is given"
        hint = "give one, for example --limit fnr=5%"
        raise ConfigError(msg, hint)
    if "worse" in findings and not options.get("intervals", True):
        msg = "--fail-on worse needs intervals"
        hint = "leave out --no-intervals"
        raise ConfigError(msg, hint)
    return findings


def _check_outside_folder(out: str | None, name: str, file: str | None) -> None:
    """Refuse a file in the folder of the audit, which holds nothing else."""
    if out is None or file is None:
        return
    if Path(os.path.realpath(out)) in Path(os.path.realpath(file)).parents:
        option = f"--{name.replace('_', '-')}"
        msg = f"{option} {file}: is in the folder of --out"
        hint = "name a file elsewhere"
        raise ConfigError(msg, hint)


def _report_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of the report, if one is asked for and can be written."""
    if arguments.report is None:
        if arguments.title is not None:
            msg = "--title applies only to a page"
            hint = "give --report FILE, or leave --title out"
            raise ConfigError(msg, hint)
        return {}
    from parivox.report.report_files import check_report  # noqa: PLC0415 - on request

    check_out_is_named(arguments.report, "file", "--report")
    check_report(arguments.report)
    return report_options(arguments)


def audit_command_line(words: Sequence[str], arguments: argparse.Namespace) -> Audit:
    """Return the audit of a command line, whose options are set in `arguments`."""
    from parivox.auditing import audit  # noqa: PLC0415
    from parivox.cli import parser  # noqa: PLC0415 - which imports this file

    parsed = parser("audit").parse_args([*words], arguments)
    return audit(_named_sources(parsed.scores), **given_options(parsed, AuditOptions))


def _named_sources(sources: list[str]) -> Any:
    """Return one path, or several by system and list, as NAME= or NAME@LIST= say.

    Files of one name are parts of one list; those of counts need no names, and are added up.
    """
    from parivox.auditing import FilesByStem, split_name  # noqa: PLC0415
    from parivox.data.counts_file import holds_counts, holds_speaker_counts  # noqa: PLC0415
    from parivox.data.source_bytes import file_stem  # noqa: PLC0415

    if len(sources) == 1 and "=" not in sources[0] and not is_file_pattern(sources[0]):
        return sources[0]
    pairs: list[tuple[tuple[str, str] | None, str]] = []
    for text in sources:
        label, equals, path = text.partition("=")
        # any text, even what no path can be
        is_plain = not equals or os.path.exists(text)  # noqa: PTH110
        name = None if is_plain else split_name(label)
        pairs += [(name, file) for file in matching_files(text if is_plain else path)]
    if any(holds_counts(path) or holds_speaker_counts(path) for _, path in pairs):
        counts: dict[object, list[str]] = {}
        for name, path in pairs:
            counts.setdefault(name or "", []).append(path)
        return counts
    paths_by_name: dict[tuple[str, str], list[str]] = {}
    for given_name, path in pairs:
        name = given_name or (file_stem(path), "")
        known_files = map(os.path.realpath, paths_by_name.get(name, []))
        if given_name is not None and os.path.realpath(path) in known_files:
            msg = f"{path}: is given twice for {'@'.join(filter(None, name))!r}"
            hint = "give it once"
            raise ConfigError(msg, hint)
        if given_name is None and name in paths_by_name:
            msg = f"{path}: the name {name[0]!r} is used twice"
            hint = "name each file, for example V2=v2.csv or V2@H=v2.csv"
            raise ConfigError(msg, hint)
        paths_by_name.setdefault(name, []).append(path)
    named = {name: paths[0] if len(paths) == 1 else paths for name, paths in paths_by_name.items()}
    are_unnamed = all(given_name is None for given_name, _ in pairs)
    return FilesByStem(named) if are_unnamed else named
