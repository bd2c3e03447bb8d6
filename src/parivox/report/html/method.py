"""How the figures were made, of what, what they cannot show, where each item is found.

Sources of harm are those of Suresh and Guttag, in the order in which data and systems are made;
see docs/references.md#paper-001. Items are in the words of what is publicly known of ISO/IEC
19795-10 and of Annex IV of the European AI Act; nothing here says that either applies or is met.
"""

from __future__ import annotations

import hashlib
import shlex
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.auditing import CHOICE_ROLES, PRIVATE, SAME_TRIALS, Options, system_name
from parivox.options.audit import AuditOptions
from parivox.options.kinds import option_fields
from parivox.report import findings
from parivox.report.audit_queries import (
    first_point_name,
    scopes,
    small_groups,
    system_label,
    verdicts_by_metric,
)
from parivox.report.context import Choice, Context
from parivox.report.html.layout import NOT_SUPPLIED
from parivox.report.labels import audit_with_ids
from parivox.report.sheets.sheet import Sheet
from parivox.report.words import (
    capitalised,
    count_of,
    count_text,
    interval_text,
    short_number,
    shortened_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing import Audit

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
_EVERY = "every figure of every group"


def method(audit: Audit, context: Context | None) -> dict[str, Any]:
    """What an audit rests on, as ``method.html.j2`` takes it."""
    definitions = audit.record["definitions"]
    return {
        "definitions": [(_words(name), list(_flat(value))) for name, value in definitions.items()],
        "options": _options(audit_with_ids(audit)),
        "hashes": _hashes(audit, context),
        "versions": [
            *((_words(name), str(one)) for name, one in audit.record["versions"].items()),
            *audit.record.get("other_version", {}).items(),
        ],
        "references": REFERENCES,
        "command": command(audit_with_ids(audit)),
        "standard": places(audit, context),
        "harms": harms(audit, context),
        "sha256": _sha256(audit),
    }


def _sha256(audit: Audit) -> str:
    """Of ``audit.json``."""
    digest = hashlib.sha256()
    for piece in audit_with_ids(audit).json_pieces():
        digest.update(piece.encode())
    return digest.hexdigest()


def _flat(value: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """What is nested, as pairs of a name and a text; of a measure all in one."""
    if isinstance(value, dict) and "says" in value:
        fairer = f"{'higher' if value['higher_is_fairer'] else 'lower'} is fairer"
        told = (value["says"], fairer, value["joins_both_rates"] and "joins both rates")
        yield above, "; ".join(filter(None, (*told, value["source"])))
    elif isinstance(value, dict):
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
    made = Sheet.with_heads("Options of the audit", ("Option", "Value"), words=(1, 2))
    for name, value in audit.record["options"].items():
        for key, text in _flat(value, _words(name)):
            made.add(key, text or _NONE)
    return made


def _hashes(audit: Audit, context: Context | None) -> Sheet:
    """Hashes of the contents; files are named by what they hold, not by their names."""
    made = Sheet.with_heads(
        "What was read: SHA-256 of contents, whatever the order of rows, and of the bytes of files",
        ("What", "SHA-256"),
        words=(1, 2),
    )
    for one in audit.record["inputs"]:
        label = system_label(one["system"], one["list"])
        made.add(f"{label}: contents of {one['trials']:,} trials", one["content_sha256"])
    for i, entry in enumerate(audit.provenance, 1):
        kind = ", ".join(
            str(entry[key]) for key in ("role", "format", "compression") if entry.get(key)
        )
        if entry.get("role") in CHOICE_ROLES and entry.get("sha256"):
            made.add(f"File {i} ({kind}): bytes", entry["sha256"])
        for key, covered in (("ids_hmac", "speaker ids"), ("bytes_hmac", "bytes")):
            if entry.get(key):
                made.add(f"File {i} ({kind}): {covered}, HMAC by {PRIVATE}", entry[key])
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
    described, chosen = option_fields(AuditOptions), record["options"]
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
            words += described[name].command_line_words(value)
    return shlex.join(words)


# ---- what the audit cannot show


STANDARD = "ISO/IEC 19795-10"
ACT = "AI Act, Annex IV"
_HARMS = {
    "Historical": "what is unequal in the world is repeated by the data",
    "Representation": "some people are too few in the data to be served, or judged, as well",
    "Measurement": "what is recorded or labelled stands in for what is meant, and not alike for "
    "all",
    "Aggregation": "one model or threshold is used for people who differ",
    "Learning": "choices in the making of the system widen differences",
    "Evaluation": "the list of trials, or the measure, does not show what use would show",
    "Deployment": "the system is used otherwise than it was audited",
}


class Harm(NamedTuple):
    """A source of harm, what it is, and what this audit can and cannot say of it."""

    name: str
    meaning: str
    sentences: list[str]


def harms(audit: Audit, context: Context | None) -> list[Harm]:
    """The seven sources, filled from the data."""
    context = context or Context()
    sentences = (
        _historical(context),
        _representation(audit),
        _measurement(audit),
        _aggregation(audit),
        _learning(audit),
        _evaluation(audit),
        _deployment(audit, context),
    )
    return [Harm(*of, list(said)) for of, said in zip(_HARMS.items(), sentences, strict=True)]


def _historical(context: Context) -> Iterator[str]:
    yield "An audit of scores cannot see how its speakers came to be recorded, nor who never was."
    yield f"How the speakers came to take part: {context.recruitment or NOT_SUPPLIED}."


def _representation(audit: Audit) -> Iterator[str]:
    """The smallest and the largest group of each grouping."""
    done = set()
    for scope in scopes(audit):
        if (scope.list, scope.grouping) in done or scope.allocation != "both":
            continue
        done.add((scope.list, scope.grouping))
        rows = audit.groups.where(**scope.filters, metric="fnr", definition="").rows()
        sizes = {row["group"]: row["speakers"] for row in rows if row["speakers"] is not None}
        sizes.pop("pooled", None)
        if sizes:
            least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
            on = f" on {scope.list}" if scope.list else ""
            yield (
                f"By {scope.grouping}{on}: {count_of(len(sizes), 'group')}, from {least} with "
                f"{count_of(sizes[least], 'speaker')} to {most} with {count_text(sizes[most])}."
            )
        at = first_point_name(audit, scope.filters)
        lacking = sorted(small_groups(audit, {**scope.filters, "operating_point": at}))
        if lacking:
            gates = findings.minimums_text(audit)
            yield (
                f"Too small to count by {scope.grouping} at {at} ({gates}): "
                f"{', '.join(shortened_names(lacking, most=12))}. No interval can see who is "
                "not there."
            )
    for words in findings.groups_without_trials(audit):
        yield f"{capitalised(words)}."
    unknown = [row for row in audit.data.rows() if "group is unknown" in row["item"]]
    lost = max((row["count"] or 0 for row in unknown if row["source"] == "speakers"), default=0)
    if lost:
        yield (
            f"Of {count_text(lost)} speakers the group is unknown or left out; they are in no "
            "group."
        )


def _measurement(audit: Audit) -> Iterator[str]:
    yield (
        "Groups are as the speakers' table and the options name them. How an attribute was found "
        "(said by the person, guessed from a name, a face or a voice) is not in the data."
    )
    if not len(audit.groups.where(metric="fta")):
        yield (
            "Failures to enrol and to acquire were not supplied (--failures): people whose "
            "recordings the system refuses are not among the errors."
        )
    within = audit.record["options"]["within"]
    yield (
        f"Conditions of recording were looked at: within {', '.join(within)}."
        if within
        else "Conditions of recording (device, channel, noise) were not looked at (--within)."
    )


def _aggregation(audit: Audit) -> Iterator[str]:
    """What one threshold for all costs the group that it suits least."""
    names = ", ".join(audit.record["groupings"])
    yield f"One threshold serves everyone. Groups by {names} were looked at; others may differ."
    for scope in scopes(audit):
        small = small_groups(audit, scope.filters)
        for measure in ("threshold_bias_cv", "threshold_bias"):
            rows = audit.bias.where(**scope.filters, measure=measure).rows()
            own = [r for r in rows if r["value"] is not None and r["group"] not in small]
            if own:
                most = max(own, key=lambda row: float(row["value"]))
                interval = alone = ""
                if most["high"] is not None:
                    interval = f" {interval_text(most['low'], most['high'])}"
                    if len(own) > 1:
                        alone = (
                            ", an interval of that group alone, not adjusted for its being the "
                            "largest"
                        )
                yield (
                    f"{scope.label}: the common threshold costs {most['group']} "
                    f"{short_number(most['value'])} times what its own would{interval}, the "
                    "most of "
                    f"{count_of(len(own), 'group')}{alone}."
                )
                break
    sentences = (
        words
        for scope in scopes(audit)
        for words in findings.confounding_sentences(audit, scope.filters)
    )
    yield from dict.fromkeys(sentences)


def _learning(audit: Audit) -> Iterator[str]:
    n = len({one["system"] for one in audit.record["inputs"]})
    if n == 1:
        yield "One system was audited, so nothing is known of what another design would do."
    else:
        yield f"{n} systems were audited: tables by system show how they differ."
    yield "What a system was trained on, and how, is not in its scores."


def _evaluation(audit: Audit) -> Iterator[str]:
    for names, failed in findings.failed_checks(audit):
        if failed:
            apart = [
                one["sentence"] for one in failed if one["id"] in findings.CHECKS_BETWEEN_GROUPS
            ]
            ids = ", ".join(one["id"] for one in failed)
            unlike = f" The trials of groups are unlike: {'; '.join(apart)}." if apart else ""
            yield f"The list of {', '.join(names)} fails the checks {ids}.{unlike}"
    if found := findings.thresholds_set_here_text(audit):
        yield f"{found} found on the audited trials: other trials would give other ones."
    for one in audit.record["inputs"]:
        name = {"system": one["system"], "list": one["list"]}
        why = findings.missing_interval_reason(audit, name)
        if why:
            yield f"Nothing is said of chance for {system_label(*name.values())}: {why}."
    for scope in scopes(audit):
        of = verdicts_by_metric(audit, scope.filters)
        rows = [row for by_group in of.values() for row in by_group.values()]
        unknown = {row["group"] for row in rows if row["verdict"] == "cannot_tell"}
        every = {row["group"] for row in rows}
        if unknown:
            yield (
                f"{scope.label}: of {len(unknown)} of {len(every)} groups it can't be told, for "
                "one error or operating point at least, whether they fare worse or better than "
                "the rest; that is no finding that they fare alike."
            )


def _deployment(audit: Audit, context: Context) -> Iterator[str]:
    yield f"What the system is for: {context.purpose or NOT_SUPPLIED}."
    yield f"On whom it will be used: {context.population or NOT_SUPPLIED}."
    points = ", ".join(dict.fromkeys(row["operating_point"] for row in audit.operating_points))
    who = context.threshold.chosen_by or NOT_SUPPLIED
    yield f"Audited at {points}; who chose that for use: {who}. Another threshold, another answer."
    yield "Rates are of single trials. Nothing is said of spoofed or replayed speech."


# ---- where things are found


class Place(NamedTuple):
    """An item, who asks about it, and where it is found: the anchor is empty if nowhere."""

    item: str
    asked_in: str
    where: str
    anchor: str


def places(audit: Audit, context: Context | None) -> dict[str, list[Place]]:
    """Every item, by who asks about it."""
    context = context or Context()
    found = {}
    for asked_in, rows in (
        (STANDARD, _of_standard(audit, context)),
        (ACT, _of_act(audit, context)),
    ):
        found[asked_in] = [
            Place(item, asked_in, where, anchor)
            if is_there
            else Place(item, asked_in, NOT_SUPPLIED, "")
            for item, where, anchor, is_there in rows
        ]
    return found


Item = tuple[str, str, str, bool]
"""What is asked about, section and anchor of where it would be, and whether it is there."""


def _of_standard(audit: Audit, context: Context) -> list[Item]:
    is_of_known_people = bool(context.recruitment and context.population)
    has_shifts = _has(audit, "shift_target", "shift_nontarget")
    # thresholds found on these trials are in nobody's use yet
    is_in_use = context.threshold != Choice() or bool(
        findings.threshold_sources(audit) - {SAME_TRIALS}
    )
    has_intervals = any(audit.groups.to_dict()["interval"])
    shifts = "definitions; the figures: groups.csv of the audit"
    return [
        ("Who was tested: speakers, groups, trials", "the data", "data", True),
        (
            "How the speakers were recruited, and of which population",
            *("the context", "context", is_of_known_people),
        ),
        ("Failures to enrol, by group", "recordings that failed", "failures", _has(audit, "fte")),
        ("Failures to acquire, by group", "recordings that failed", "failures", _has(audit, "fta")),
        (
            "Error rates by group",
            _EVERY,
            "groups",
            _has(audit, "fnr", "fpr"),
        ),
        (
            "Differences of comparison scores by group (score shifts)",
            *(shifts, "definitions", has_shifts),
        ),
        ("Time per trial, by group", "recordings that failed", "failures", _has(audit, "seconds")),
        ("Threshold in operation", "the operating point", "points", is_in_use),
        ("Uncertainty of what is reported", _EVERY, "groups", has_intervals),
        ("Differential measures", _EVERY, "groups", len(audit.bias) > 0),
        ("Aggregate measures", "measures of fairness", "measures", len(audit.meta) > 0),
    ]


def _of_act(audit: Audit, context: Context) -> list[Item]:
    has_rates = _has(audit, "fnr") or _has(audit, "fpr")
    has_reasons = bool(context.threshold.why or context.margin.why)
    file, outside = ("the context file", "context"), ("", "", False)
    tested = "2 Validation and testing: "
    return [
        ("1 General description: intended purpose", *file, bool(context.purpose)),
        ("1 General description: system and its version", *file, bool(context.system)),
        ("2 Development: methods, design, training data, human oversight", *outside),
        (
            f"{tested}data used and their characteristics",
            "the data; the list",
            "data",
            has_rates,
        ),
        (
            f"{tested}measures of accuracy",
            f"{_EVERY}; measures",
            "groups",
            has_rates,
        ),
        (
            f"{tested}potentially discriminatory impacts",
            "the finding",
            "answer",
            has_rates,
        ),
        (
            "2 Test reports, dated and signed",
            *("the end, to be signed by hand", "signature", has_rates),
        ),
        ("2 Robustness and cybersecurity", *outside),
        (
            "3 Accuracy for specific groups of persons, and overall",
            *(_EVERY, "groups", has_rates),
        ),
        ("3 Persons on whom the system is meant to be used", *file, bool(context.population)),
        (
            "3 Limitations, and sources of risk of discrimination",
            *("limits of this audit", "harms", has_rates),
        ),
        (
            "4 Why the measures suit the system",
            *("definitions; the reasons: context file", "context", has_reasons),
        ),
        ("5 Risk management", *outside),
        ("6 Changes over the life cycle", *outside),
        ("7 Standards applied", *outside),
        ("8 Declaration of conformity", *outside),
        ("9 Monitoring after it is on the market", *outside),
    ]


def _has(audit: Audit, *metrics: str) -> bool:
    """Whether any group has a value of each of these."""
    return all(
        any(value is not None for value in audit.groups.where(metric=metric).to_dict()["value"])
        for metric in metrics
    )
