"""Section 9: where each item that a standard or a law asks about is found, or that it is missing.

The words follow what is publicly known of ISO/IEC 19795-10 and of Annex IV of the European AI Act.
Nothing here says that either applies or is met.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from parivox.report.page.context import Choice, Context

if TYPE_CHECKING:
    from parivox.auditing.result import Audit

__all__ = ["Place", "places"]

STANDARD = "ISO/IEC 19795-10"
ACT = "AI Act, Annex IV"
_BY_CONTEXT = "context file"


class Place(NamedTuple):
    """An item, who asks about it, and where it is found: the anchor is empty if nowhere."""

    item: str
    asked_in: str
    where: str
    anchor: str


def places(audit: Audit, context: Context | None) -> dict[str, list[Place]]:
    """Every item, by who asks about it."""
    told = context or Context()
    return {STANDARD: _of_standard(audit, told), ACT: _of_act(audit, told)}


def _of_standard(audit: Audit, told: Context) -> list[Place]:
    def place(item: str, section: str, anchor: str, *, is_there: bool) -> Place:
        return _place(item, STANDARD, section, anchor, is_there=is_there)

    return [
        place("Who was tested: speakers, groups, trials", "1, the data", "data", is_there=True),
        place(
            "How the speakers were recruited, and of which population",
            "1, the context",
            "context",
            is_there=bool(told.recruitment and told.population),
        ),
        place("Failures to enrol, by group", "1", "failures", is_there=_has(audit, "fte")),
        place("Failures to acquire, by group", "1", "failures", is_there=_has(audit, "fta")),
        place("Error rates by group", "2", "groups", is_there=_has(audit, "fnr", "fpr")),
        place(
            "Differences of comparison scores by group (score shifts)",
            "9, definitions; the figures: groups.csv of the audit",
            "definitions",
            is_there=_has(audit, "shift_target", "shift_nontarget"),
        ),
        place("Time per trial, by group", "1", "failures", is_there=_has(audit, "seconds")),
        place(
            "Threshold in operation",
            "1, the operating point",
            "points",
            is_there=told.threshold != Choice() or "these trials" not in _sources(audit),
        ),
        place(
            "Uncertainty of what is reported",
            "2, intervals",
            "groups",
            is_there=any(audit.groups.to_dict()["interval"]),
        ),
        place("Differential measures", "2, ratios", "groups", is_there=len(audit.bias) > 0),
        place("Aggregate measures", "6", "measures", is_there=len(audit.meta) > 0),
    ]


def _of_act(audit: Audit, told: Context) -> list[Place]:
    def supplied(item: str, value: str | Choice) -> Place:
        is_there = value != (Choice() if isinstance(value, Choice) else "")
        return _place(item, ACT, f"1, {_BY_CONTEXT}", "context", is_there=is_there)

    def outside(item: str) -> Place:
        return _place(item, ACT, "", "", is_there=False)

    has_rates = _has(audit, "fnr") or _has(audit, "fpr")

    def inside(item: str, section: str, anchor: str) -> Place:
        return _place(item, ACT, section, anchor, is_there=has_rates)

    return [
        supplied("1 General description: intended purpose", told.purpose),
        supplied("1 General description: system and its version", told.system),
        outside("2 Development: methods, design, training data, human oversight"),
        inside("2 Validation and testing: data used and their characteristics", "1 and 8", "data"),
        inside("2 Validation and testing: measures of accuracy", "2, 6 and 9", "groups"),
        inside(
            "2 Validation and testing: potentially discriminatory impacts", "1, 2 and 5", "answer"
        ),
        inside("2 Test reports, dated and signed", "the end, to be signed by hand", "signature"),
        outside("2 Robustness and cybersecurity"),
        inside("3 Accuracy for specific groups of persons, and overall", "1 and 2", "groups"),
        supplied("3 Persons on whom the system is meant to be used", told.population),
        inside("3 Limitations, and sources of risk of discrimination", "9, limits", "harms"),
        _place(
            "4 Why the measures suit the system",
            ACT,
            f"9, definitions; the reasons: {_BY_CONTEXT}",
            "context",
            is_there=bool(told.threshold.why or told.margin.why),
        ),
        outside("5 Risk management"),
        outside("6 Changes over the life cycle"),
        outside("7 Standards applied"),
        outside("8 Declaration of conformity"),
        outside("9 Monitoring after it is on the market"),
    ]


def _place(item: str, asked_in: str, section: str, anchor: str, *, is_there: bool) -> Place:
    if not is_there:
        return Place(item, asked_in, "not supplied", "")
    where = f"section {section}" if section[:1].isdigit() else section
    return Place(item, asked_in, where, anchor)


def _sources(audit: Audit) -> set[str]:
    """Where thresholds come from; those found on these trials are in nobody's use yet."""
    return {row["source"] for row in audit.operating_points.rows()} or {"these trials"}


def _has(audit: Audit, *metrics: str) -> bool:
    """Whether any group has a value of each of these."""
    return all(
        any(value is not None for value in audit.groups.where(metric=metric).to_dict()["value"])
        for metric in metrics
    )
