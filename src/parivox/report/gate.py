"""The outcome of a release gate: in the terminal, as a Markdown summary, as JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from rich.console import group
from rich.padding import Padding

from parivox.decide.release_gate import (
    ABSENT,
    FAIL,
    INCONCLUSIVE,
    MIXED,
    NOT_APPLICABLE,
    OUTCOMES,
    PASS,
)
from parivox.decide.releases import PAIRED
from parivox.errors import printable
from parivox.facts import Fact
from parivox.options.audit import AuditOptions
from parivox.options.kinds import option_fields
from parivox.report.audit_queries import system_label, these_attacks_text
from parivox.report.catalogue import fact_text, full_sentence, inconclusive_text, sentence_text
from parivox.report.releases import changed_group_sentences, differing_attacks_text
from parivox.report.sheets.paper import markdown_escaped
from parivox.report.words import (
    STYLES,
    capitalised,
    count_of,
    interval_text,
    percent,
    print_text,
    short_number,
    shortened_names,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.release_gate import Gate

    Row = dict[str, Any]

_MAX_NAMED_GROUPS = 5
_OUTCOME_NAMES = {
    FAIL: "fail",
    INCONCLUSIVE: "inconclusive",
    PASS: "pass",
    NOT_APPLICABLE: "not applicable",
}
_OUTCOME_STYLES = {FAIL: "worse", PASS: "better"}
_OUTCOME_HEADS = {FAIL: "not met:", INCONCLUSIVE: "inconclusive:", PASS: "met:"}
_HINT = full_sentence("inconclusive_does_not_pass")
_HINT_WITHOUT_TRIALS = full_sentence("groups_without_trials_do_not_pass")
_HINT_ABSENT = full_sentence("groups_of_one_audit_do_not_pass")


def print_gate(gate: Gate) -> None:
    """Print the outcome: with colours in a terminal, plain lines elsewhere."""
    print_text(gate_summary(gate))


@group()
def gate_summary(gate: Gate) -> Iterator[RenderableType]:
    """Yield the outcome, then each condition, those that fail first."""
    yield text(outcome_sentence(gate), style="bold")
    for outcome, name, words in _condition_parts(gate):
        yield text(
            f"{_OUTCOME_NAMES[outcome].upper()}: {name}",
            style=STYLES.get(_OUTCOME_STYLES.get(outcome, ""), "bold"),
            apart=True,
        )
        yield Padding(text(f"{words}."), (0, 0, 0, 2))
    for i, words in enumerate(_remarks(gate)):
        yield text(words, apart=i == 0)


def outcome_sentence(gate: Gate) -> str:
    """Return the outcome, and how many conditions came to which.

    Examples
    --------
    >>> from parivox.decide.release_gate import TABLES, Gate
    >>> from parivox.data.table import Table
    >>> cells = {name: [1] for name in TABLES["conditions"]} | {"outcome": ["pass"]}
    >>> cells["condition"] = ["FNR"]
    >>> conditions = Table.of(cells, TABLES["conditions"])
    >>> gate = Gate(conditions=conditions, groups=Table.empty(TABLES["groups"]), record={})
    >>> outcome_sentence(gate)
    'Gate: pass. Of 1 condition: 1 pass.'
    """
    outcomes = [row["outcome"] for row in gate.conditions.rows()]
    outcome_counts = [
        f"{outcomes.count(outcome)} {_OUTCOME_NAMES[outcome]}"
        for outcome in OUTCOMES
        if outcome in outcomes
    ]
    n_conditions = count_of(len(outcomes), "condition")
    return f"Gate: {_OUTCOME_NAMES[gate.outcome]}. Of {n_conditions}: {', '.join(outcome_counts)}."


def _condition_parts(gate: Gate) -> Iterator[tuple[str, str, str]]:
    """Yield outcome and name of each condition, and what it requires of whom, failures first."""
    # outcomes are listed from the worst to the best
    severity = [*OUTCOMES]
    conditions = sorted(gate.conditions.rows(), key=lambda row: severity.index(row["outcome"]))
    for condition in conditions:
        group_rows = gate.groups.subset(condition=condition["condition"]).rows()
        words = sentence_text("no_group_examined")
        if group_rows:
            words = _condition_text(group_rows[0], gate)
        outcome_parts = [
            *_judged_parts(group_rows, gate),
            *_not_judged_parts(group_rows, gate),
            *_accepted_parts(group_rows),
        ]
        if outcome_parts:
            words = f"{words}. {capitalised('; '.join(outcome_parts))}"
        yield condition["outcome"], condition["condition"], words


def _judged_parts(group_rows: Sequence[Row], gate: Gate) -> Iterator[str]:
    """Yield which groups came to each outcome."""
    judged_rows = [
        row for row in group_rows if not row["accepted"] and row["reason"] not in ABSENT.values()
    ]
    for outcome, head in _OUTCOME_HEADS.items():
        outcome_rows = [row for row in judged_rows if row["outcome"] == outcome]
        if outcome_rows:
            yield f"{head} {', '.join(_judged_group_names(outcome_rows, gate))}"


def _accepted_parts(group_rows: Sequence[Row]) -> Iterator[str]:
    """Yield which groups the policy accepts, by the reason that it gives."""
    groups_of_reason: dict[str, list[str]] = {}
    for row in group_rows:
        if row["accepted"]:
            groups_of_reason.setdefault(row["accepted"], []).append(row["group"])
    for reason, groups in groups_of_reason.items():
        names = ", ".join(shortened_names(groups, most=_MAX_NAMED_GROUPS))
        yield f"accepted of {names}: {reason}"


def _not_judged_parts(rows: Sequence[Row], gate: Gate) -> Iterator[str]:
    """Yield which groups only one of the two audits has, which therefore are not judged."""
    for reason in ABSENT.values():
        names = [
            _group_name(row, gate)
            for row in rows
            if row["reason"] == reason and not row["accepted"]
        ]
        if names:
            words = ", ".join(shortened_names(names, most=_MAX_NAMED_GROUPS))
            yield f"not judged, {fact_text(Fact(reason, {}))}: {words}"


def _condition_text(row: Row, gate: Gate) -> str:
    """Return what a condition requires of a group."""
    at_point = f" at {row['operating_point']}" if row["operating_point"] else ""
    rate = f"{row['rate'].upper()}{at_point}"
    if row["rate"] == "sfar":
        rate += f", {these_attacks_text(len(gate.record['attacks']))},"
    if row["asked"] == "rate":
        return sentence_text("rate_at_most", rate=rate, limit=100 * row["most"])
    if row["asked"] == "not worse":
        return sentence_text("rate_not_worse_than", rate=rate, reference=gate.record["reference"])
    if row["asked"] == "ratio":
        return sentence_text(
            "rate_at_most_times", rate=rate, limit=row["most"], reference=gate.record["reference"]
        )
    pairing_text = "paired, the same trials" if gate.record["pairing"] == PAIRED else "unpaired"
    if gate.record["pairing"] == MIXED:
        pairing_text = "paired, the same trials; unpaired where speakers changed group"
    return sentence_text(
        "rate_at_most_times_baseline", rate=rate, limit=row["most"], pairing=pairing_text
    )


def _judged_group_names(rows: Sequence[Row], gate: Gate) -> list[str]:
    """Return groups with what is held against the limit, the worst first; if all pass, how many."""
    if all(row["outcome"] == PASS for row in rows):
        return [f"{len(rows)} {'groups' if len(rows) > 1 else 'group'}"]
    worst_first = sorted(rows, key=lambda row: -(row["high"] or 0))
    names = [f"{_group_name(row, gate)} ({_judged_value_text(row)})" for row in worst_first]
    return shortened_names(names, most=_MAX_NAMED_GROUPS)


def _group_name(row: Row, gate: Gate) -> str:
    """Return a group's name, with its system where the gate is of several."""
    systems = {(group["system"], group["list"]) for group in gate.groups.rows()}
    name = str(row["group"])
    if len(systems) > 1:
        name += f" with {system_label(row['system'], row['list'])}"
    return name


def _judged_value_text(row: Row) -> str:
    """Return what is held against the limit, with its interval, or why there is none."""
    if row["value"] is None or row["high"] is None:
        return inconclusive_text(row) or "no interval"
    if row["asked"] == "rate":
        return f"{percent(row['value'])} {interval_text(row['low'], row['high'], times=100)}"
    return f"{short_number(row['value'])} times {interval_text(row['low'], row['high'])}"


def _remarks(gate: Gate) -> Iterator[str]:
    """Yield what else a reader should know, and how to resolve what is inconclusive."""
    yield full_sentence("gate_audit_options", options=_audit_options_text(gate))
    yield from changed_group_sentences(gate.record["changed_groups"])
    if attacks := gate.record.get("attacks_of_releases"):
        yield differing_attacks_text(attacks)
    if gate.record["baseline"] is not None and not gate.record["baseline_is_asked"]:
        yield full_sentence("baseline_not_used")
    if gate.record["ended"]:
        yield full_sentence("no_longer_accepted", groups="; ".join(gate.record["ended"]))
    reasons = [
        row["reason"]
        for row in gate.groups.rows()
        if row["outcome"] == INCONCLUSIVE and not row["accepted"]
    ]
    are_absent = [reason in ABSENT.values() for reason in reasons]
    if not all(are_absent):
        yield _HINT
    if any(reason == "no_trials" for reason in reasons):
        yield _HINT_WITHOUT_TRIALS
    if any(are_absent):
        yield _HINT_ABSENT


def _audit_options_text(gate: Gate) -> str:
    """Return options of the audit as they are written on the command line."""
    fields = option_fields(AuditOptions)
    return " ".join(
        word
        for name, setting in gate.record["audit_options"].items()
        for word in fields[name].command_line_words(setting)
    )


def markdown(gate: Gate) -> str:
    """Return a summary for the page of a CI job, with headings from ``##``."""
    markdown_lines = [
        f"<!-- Parivox {gate.record['version']}: parivox gate -->",
        f"## {outcome_sentence(gate)}",
        "",
        "| outcome | condition | result |",
        "|---|---|---|",
    ]
    for outcome, name, words in _condition_parts(gate):
        mark = f"**{_OUTCOME_NAMES[outcome]}**"
        markdown_lines.append(f"| {mark} | {markdown_escaped(name)} | {markdown_escaped(words)} |")
    markdown_lines += ["", *(markdown_escaped(words) for words in _remarks(gate))]
    return "\n".join(markdown_lines).rstrip() + "\n"


def junit(gate: Gate) -> str:
    """Return a test case for each condition and group; what is inconclusive is an error."""
    suites = ET.Element("testsuites", name="parivox gate")
    for row in gate.conditions.rows():
        rows = gate.groups.subset(condition=row["condition"]).rows()
        skipped = sum(
            bool(group_row["accepted"]) or group_row["outcome"] == NOT_APPLICABLE
            for group_row in rows
        )
        errors = row[INCONCLUSIVE] - row["accepted"]
        counts = {"tests": len(rows), "failures": row[FAIL], "errors": errors, "skipped": skipped}
        suite = ET.SubElement(suites, "testsuite", name=printable(row["condition"]))
        for name, count in counts.items():
            suite.set(name, str(count))
        properties = ET.SubElement(suite, "properties")
        ET.SubElement(properties, "property", name="audit options", value=_audit_options_text(gate))
        for group_row in rows:
            system = system_label(group_row["system"], group_row["list"])
            name = printable(f"{system}, {group_row['grouping']}: {group_row['group']}")
            case = ET.SubElement(
                suite, "testcase", classname=printable(row["condition"]), name=name
            )
            words = printable(
                f"{_condition_text(group_row, gate)}: {_judged_value_text(group_row)}"
            )
            if group_row["accepted"] or group_row["outcome"] == NOT_APPLICABLE:
                reason = group_row["accepted"] or inconclusive_text(group_row)
                ET.SubElement(case, "skipped", message=printable(f"{words}; {reason}"))
            elif group_row["outcome"] != PASS:
                kind = "failure" if group_row["outcome"] == FAIL else "error"
                ET.SubElement(case, kind, message=words, type=group_row["outcome"])
    ET.indent(suites)
    body = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
