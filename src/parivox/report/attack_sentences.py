"""Sentences of the catalogue on spoof accepts by attack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report.sentence_template import SentenceTemplate
from parivox.report.verdict_sentences import REFERENCE_NAMES
from parivox.report.words import count_of, interval_text, percent, short_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, Any]


def reference_name(reference: str) -> str:
    """Return what a group is compared with, in words; a group by its name."""
    return REFERENCE_NAMES.get(reference, reference)


def _extremes(values: Values) -> str:
    """Return the lowest and the highest rate, each with its attack."""
    ends = (f"{percent(end['rate'])} ({end['attack']})" for end in values["extremes"])
    return f"SFAR of all trials: {' to '.join(ends)}"


def _highest_attacks(values: Values) -> str:
    groups = (
        f"{group['group']} {percent(group['rate'])} ({group['attack']})"
        for group in values["groups"]
    )
    return f"Highest SFAR of an attack: {', '.join(groups)}"


def _count_of_higher_attacks(values: Values) -> str:
    attacks = count_of(values["attacks"], "attack")
    return (
        f"SFAR is higher for {values['group']} than for {reference_name(values['reference'])} in "
        f"{values['higher']} of {attacks}"
    )


def _ratio_without_attack(values: Values) -> str:
    ends = (f"{short_number(end['ratio'])} (without {end['attack']})" for end in values["extremes"])
    return f"Ratio of {_compared_groups(values)} without one attack: {' to '.join(ends)}"


def _ratio_for_new_attacks(values: Values) -> str:
    interval = interval_text(values["low"], values["high"])
    ratio = short_number(values["ratio"])
    return f"Ratio of {_compared_groups(values)}: {ratio}, interval for new attacks {interval}"


def _compared_groups(values: Values) -> str:
    return f"{values['group']} to {reference_name(values['reference'])}"


def _share_difference(values: Values) -> str:
    difference = (
        "Shares of attacks differ between groups by up to "
        f"{100 * values['difference']:.1f} percentage points"
    )
    if not values["groups"]:
        return f"{difference}, and no attack has trials of all groups"
    rates = ", ".join(f"{group['group']} {percent(group['rate'])}" for group in values["groups"])
    ratios = "".join(
        f"; ratio of {_compared_groups(row)}: {short_number(row['ratio'])}"
        for row in values["ratios"]
    )
    return f"{difference}. SFAR with equal weight for each attack: {rates}{ratios}"


_COMPARED_GROUPS = {"group": "f", "reference": "others"}
ATTACK_SENTENCES: dict[str, SentenceTemplate] = {
    "extremes_of_attacks": SentenceTemplate(
        _extremes,
        {"extremes": [{"attack": "A07", "rate": 0.01}, {"attack": "A19", "rate": 0.2}]},
    ),
    "highest_attack_of_groups": SentenceTemplate(
        _highest_attacks, {"groups": [{"group": "f", "attack": "A19", "rate": 0.25}]}
    ),
    "attacks_above_reference": SentenceTemplate(
        _count_of_higher_attacks, {**_COMPARED_GROUPS, "higher": 9, "attacks": 13}
    ),
    "ratio_without_one_attack": SentenceTemplate(
        _ratio_without_attack,
        {
            **_COMPARED_GROUPS,
            "extremes": [{"attack": "A19", "ratio": 1.2}, {"attack": "A07", "ratio": 1.6}],
        },
    ),
    "ratio_for_new_attacks": SentenceTemplate(
        _ratio_for_new_attacks, {**_COMPARED_GROUPS, "ratio": 1.5, "low": 0.9, "high": 2.6}
    ),
    "agreement_of_attacks": SentenceTemplate(
        "Agreement between attacks is not evidence about other speakers"
    ),
    "attack_shares_differ_between_groups": SentenceTemplate(
        _share_difference,
        {
            "difference": 0.12,
            "groups": [{"group": "f", "rate": 0.08}, {"group": "m", "rate": 0.05}],
            "ratios": [{**_COMPARED_GROUPS, "reference": "m", "ratio": 1.6}],
        },
    ),
    "spoof_trials_made_for_test": SentenceTemplate(
        "Spoof trials are made for a test. Their share of the trials says nothing about how often "
        "such attacks happen"
    ),
    "system_or_quality_of_recordings": SentenceTemplate(
        "A difference between groups can come from the system or from the quality of the spoofed "
        "recordings; the audit cannot separate the two"
    ),
}
"""Every sentence on attacks by its code."""
