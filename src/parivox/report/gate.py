"""What a gate says: in the terminal, as a Markdown summary, as JUnit XML."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from rich.console import group
from rich.padding import Padding

from parivox.decide.release_gate import (
    ABSENT,
    CANNOT_TELL,
    FAIL,
    MIXED,
    NOT_APPLICABLE,
    OUTCOMES,
    PASS,
)
from parivox.decide.releases import PAIRED
from parivox.errors import printable
from parivox.report.audit_queries import system_label
from parivox.report.releases import changed_groups_in_words
from parivox.report.sheets.paper import markdown_escaped
from parivox.report.words import (
    STYLES,
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

_MOST = 5
_WORDS = {FAIL: "fail", CANNOT_TELL: "inconclusive", PASS: "pass", NOT_APPLICABLE: "not applicable"}
_INKS = {FAIL: "worse", PASS: "better"}
_OF_GROUPS = {FAIL: "not met:", CANNOT_TELL: "inconclusive:", PASS: "met:"}
_HINT = (
    "Inconclusive conditions do not pass. To resolve them, audit more speakers (parivox plan "
    "--pilot AUDIT --policy FILE calculates how many), or accept them in the policy with a reason "
    "and a date."
)
_HINT_ABSENT = (
    "Groups that only one of the two audits has do not pass. Audit both releases with these "
    "groups, or accept the groups in the policy with a reason and a date."
)


def print_gate(found: Gate) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    print_text(gate_in_words(found))


@group()
def gate_in_words(found: Gate) -> Iterator[RenderableType]:
    """The answer, then each condition, what is broken first."""
    yield text(answer(found), style="bold")
    for outcome, name, words in _conditions(found):
        yield text(
            f"{_WORDS[outcome].upper()}: {name}",
            style=STYLES.get(_INKS.get(outcome, ""), "bold"),
            apart=True,
        )
        yield Padding(text(f"{words}."), (0, 0, 0, 2))
    for i, words in enumerate(_remarks(found)):
        yield text(words, apart=i == 0)


def answer(found: Gate) -> str:
    """The outcome, and how many conditions came to which.

    Examples
    --------
    >>> from parivox.decide.release_gate import TABLES, Gate
    >>> from parivox.data.table import Table
    >>> cells = {name: [1] for name in TABLES["conditions"]} | {"outcome": ["pass"]}
    >>> cells["condition"] = ["FNR"]
    >>> one = Table.of(cells, TABLES["conditions"])
    >>> answer(Gate(conditions=one, groups=Table.empty(TABLES["groups"]), record={}))
    'Gate: pass. Of 1 condition: 1 pass.'
    """
    outcomes = [row["outcome"] for row in found.conditions.rows()]
    n = [f"{outcomes.count(one)} {_WORDS[one]}" for one in OUTCOMES if one in outcomes]
    many = count_of(len(outcomes), "condition")
    return f"Gate: {_WORDS[found.outcome]}. Of {many}: {', '.join(n)}."


def _conditions(found: Gate) -> Iterator[tuple[str, str, str]]:
    """Outcome and name of each condition, and what it asks of whom, what is broken first."""
    order = {one: i for i, one in enumerate(OUTCOMES)}
    for row in sorted(found.conditions.rows(), key=lambda one: order[one["outcome"]]):
        rows = found.groups.where(condition=row["condition"]).rows()
        words = _asked(rows[0], found) if rows else "no group is looked at"
        judged = [
            group
            for group in rows
            if not group["accepted"] and group["reason"] not in ABSENT.values()
        ]
        parts = [
            f"{_OF_GROUPS[code]} {', '.join(_named(of, found))}"
            for code in _OF_GROUPS
            if (of := [group for group in judged if group["outcome"] == code])
        ]
        parts += _not_judged(rows, found)
        accepted: dict[str, list[str]] = {}
        for one in rows:
            if one["accepted"]:
                accepted.setdefault(one["accepted"], []).append(one["group"])
        parts += [
            f"accepted of {', '.join(shortened_names(of, most=_MOST))}: {why}"
            for why, of in accepted.items()
        ]
        yield row["outcome"], row["condition"], f"{words}: {'; '.join(parts)}" if parts else words


def _not_judged(rows: Sequence[Row], gate: Gate) -> Iterator[str]:
    """Yield which groups only one of the two audits has, which therefore are not judged."""
    for reason in ABSENT.values():
        names = [
            _group_name(row, gate)
            for row in rows
            if row["reason"] == reason and not row["accepted"]
        ]
        if names:
            yield f"not judged, {reason}: {', '.join(shortened_names(names, most=_MOST))}"


def _asked(row: Row, found: Gate) -> str:
    """What a condition asks of a group."""
    at = f" at {row['operating_point']}" if row["operating_point"] else ""
    rate = f"{row['rate'].upper()}{at}"
    if row["asked"] == "rate":
        return f"{rate} at most {100 * row['most']:g} %"
    if row["asked"] == "not worse":
        return f"{rate} not worse than {found.record['reference']}"
    if row["asked"] == "ratio":
        return f"{rate} at most {row['most']:g} times that of {found.record['reference']}"
    how = "paired, the same trials" if found.record["pairing"] == PAIRED else "unpaired"
    if found.record["pairing"] == MIXED:
        how = "paired, the same trials; unpaired where speakers changed group"
    return f"{rate} at most {row['most']:g} times that of the baseline ({how})"


def _named(rows: Sequence[Row], found: Gate) -> list[str]:
    """Groups with what is held against the limit, the worst first; of those that keep it none."""
    if all(row["outcome"] == PASS for row in rows):
        return [f"{len(rows)} group{'s' * (len(rows) > 1)}"]
    worst_first = sorted(rows, key=lambda row: -(row["high"] or 0))
    names = [f"{_group_name(row, found)} {_held(row)}" for row in worst_first]
    return shortened_names(names, most=_MOST)


def _group_name(row: Row, gate: Gate) -> str:
    """Return a group's name, with its system where the gate is of several."""
    systems = {(group["system"], group["list"]) for group in gate.groups.rows()}
    return (
        f"{row['group']} with {system_label(row['system'], row['list'])}"
        if len(systems) > 1
        else row["group"]
    )


def _held(row: Row) -> str:
    """What is held against the limit, with its interval, or why there is none."""
    if row["value"] is None or row["high"] is None:
        return f"({row['reason'] or 'no interval'})"
    if row["asked"] == "rate":
        return f"{percent(row['value'])} {interval_text(row['low'], row['high'], times=100)}"
    return f"{short_number(row['value'])} times {interval_text(row['low'], row['high'])}"


def _remarks(found: Gate) -> Iterator[str]:
    yield from changed_groups_in_words(found.record["changed_groups"])
    if found.record["baseline"] is not None and not found.record["baseline_is_asked"]:
        yield "The baseline is not looked at: no condition of the policy says than: baseline."
    if found.record["ended"]:
        yield f"No longer accepted: {'; '.join(found.record['ended'])}."
    rows = [row for row in found.groups.rows() if row["outcome"] == CANNOT_TELL]
    are_absent = [row["reason"] in ABSENT.values() for row in rows if not row["accepted"]]
    if not all(are_absent):
        yield _HINT
    if any(are_absent):
        yield _HINT_ABSENT


def markdown(found: Gate) -> str:
    """A summary for the page of a job, headings from ``##``."""
    lines = [
        f"<!-- Parivox {found.record['version']}: parivox gate -->",
        f"## {answer(found)}",
        "",
        "| outcome | condition | what was found |",
        "|---|---|---|",
    ]
    for outcome, name, words in _conditions(found):
        mark = f"**{_WORDS[outcome]}**"
        lines.append(f"| {mark} | {markdown_escaped(name)} | {markdown_escaped(words)} |")
    lines += ["", *(markdown_escaped(words) for words in _remarks(found))]
    return "\n".join(lines).rstrip() + "\n"


def junit(found: Gate) -> str:
    """A test case for each condition and group: what can't be told is an error, not a pass."""
    suites = ET.Element("testsuites", name="parivox gate")
    for row in found.conditions.rows():
        rows = found.groups.where(condition=row["condition"]).rows()
        skipped = sum(bool(one["accepted"]) or one["outcome"] == NOT_APPLICABLE for one in rows)
        errors = row[CANNOT_TELL] - row["accepted"]
        counts = {"tests": len(rows), "failures": row[FAIL], "errors": errors, "skipped": skipped}
        suite = ET.SubElement(suites, "testsuite", name=printable(row["condition"]))
        for name, n in counts.items():
            suite.set(name, str(n))
        for one in rows:
            system = system_label(one["system"], one["list"])
            name = printable(f"{system}, {one['grouping']}: {one['group']}")
            case = ET.SubElement(
                suite, "testcase", classname=printable(row["condition"]), name=name
            )
            words = printable(f"{_asked(one, found)}: {_held(one).strip('()')}")
            if one["accepted"] or one["outcome"] == NOT_APPLICABLE:
                why = one["accepted"] or one["reason"]
                ET.SubElement(case, "skipped", message=printable(f"{words}; {why}"))
            elif one["outcome"] != PASS:
                kind = "failure" if one["outcome"] == FAIL else "error"
                ET.SubElement(case, kind, message=words, type=one["outcome"])
    ET.indent(suites)
    body = ET.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'
