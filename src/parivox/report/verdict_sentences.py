"""Sentences of the catalogue on verdicts: of a group in one rate or both, and of a system.

Those on a group follow its name and a colon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.auditing import EQUAL_WEIGHT
from parivox.core.intervals import UNKNOWN_SPEAKERS
from parivox.report.error_names import SEARCH_ERRORS
from parivox.report.sentence_template import SentenceTemplate
from parivox.report.words import interval_text, p_value, short_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    Values = Mapping[str, Any]

INCONCLUSIVE_REASONS = {
    "no_target_trials": "no target trials",
    "no_nontarget_trials": "no nontarget trials",
    "no_spoof_trials": "no spoof trials",
    "no_mated_searches": "no mated searches",
    "no_nonmated_searches": "no non-mated searches",
    "no_searches": "no searches",
    "gallery_sizes_differ": "gallery sizes differ",
    "no_common_attack": "no attack in common with the reference",
    "undefined_ratio": "ratio undefined",
    "no_interval": "no interval",
    "no_p": "no p-value",
    UNKNOWN_SPEAKERS: "nontarget trials of this group or of its reference have no test speaker",
    "too_wide": "interval too wide",
    "not_surely_alike": "within the margin, but not at 98 % confidence",
    "not_after_holm": "not significant after adjustment",
    "no_errors": "no errors, but too few trials",
    "too_common": "error rate too high to compare",
}
"""Why a comparison is inconclusive, in a few words, where another table says it in others."""
ERROR_NAMES = {
    "fpr": "false accepts",
    "fnr": "false rejects",
    "sfar": "spoof accepts",
    **SEARCH_ERRORS,
}
REFERENCE_NAMES = {
    "others": "all other groups combined",
    "pooled": "all groups pooled",
    "macro": "the mean of the groups",
    "geomean": "the geometric mean of the groups",
    "best": "the best group",
}
_RATIO = {"ratio": 4.3, "low": 1.4, "high": 13.1}
_OTHERS = {"metric": "fpr", "reference": "others"}


def _compared(values: Values) -> tuple[str, str]:
    """Return the errors that a verdict is on, and the reference."""
    reference: str = values["reference"]
    return ERROR_NAMES[values["metric"]], REFERENCE_NAMES.get(reference, reference)


def _frequency(values: Values) -> str:
    """Return a ratio with its interval in words; empty if there is none."""
    if "ratio" not in values:
        return ""
    interval = interval_text(values["low"], values["high"])
    return f"{short_number(values['ratio'])} times as frequent {interval}"


def _condition(values: Values) -> str:
    """Return what a verdict depends on: the worst of the other groups, or the attacks."""
    attacks = "; may not hold for other attacks" if values.get("attack_dependent") else ""
    if EQUAL_WEIGHT in values:
        attacks += f"; {equal_weight_text(values[EQUAL_WEIGHT])}"
    return f"{_worst_group_condition(values)}{attacks}"


def equal_weight_text(ratio: float | None) -> str:
    """Return what becomes of a ratio of SFAR if each attack has equal weight."""
    words = "shares of attacks differ between groups"
    if ratio is None:
        return f"{words}, and no ratio with equal weight for each attack is known"
    return f"{words}: with equal weight for each attack, {short_number(ratio)} times"


def _worst_group_condition(values: Values) -> str:
    """Return what follows where it is not shown without the worst of the other groups, if so."""
    if values.get("unchecked"):
        return " (not checked without the worst group, as some trials count for two groups)"
    if "without" not in values:
        return ""
    worst_groups = " and ".join(values["without"]["groups"])
    frequency = _frequency(values["without"])
    return f" (not confirmed without {worst_groups}{frequency and f': {frequency}'})"


def _ratio_to_reference(values: Values) -> str:
    errors, reference = _compared(values)
    return f"{errors} are {_frequency(values)} as among {reference}{_condition(values)}"


def _error_free(values: Values) -> str:
    errors, reference = _compared(values)
    limit = f"{short_number(values['high'])} times as frequent as among {reference}"
    return f"no {errors}; upper limit: {limit}{_condition(values)}"


def _equivalent(values: Values) -> str:
    errors, reference = _compared(values)
    return f"{errors} are equivalent to those of {reference}: {_frequency(values)}"


def _reason(values: Values) -> str:
    """Return why something is inconclusive; a reason of another release as written."""
    code = values["reason"]
    if code in INCONCLUSIVE_REASONS:
        return INCONCLUSIVE_REASONS[code]
    return VERDICT_SENTENCES[code].with_values(values) if code in VERDICT_SENTENCES else str(code)


def _inconclusive(values: Values) -> str:
    details = filter(None, (_frequency(values), _reason(values)))
    errors = ERROR_NAMES[values["metric"]]
    return f"the comparison of {errors} is inconclusive: {'; '.join(details)}"


_JOINT_VERDICTS = {
    "worse": "more {}",
    "better": "fewer {}",
    "equivalent": "{} equivalent",
    "inconclusive": "{} inconclusive",
}


def _figures(values: Values) -> str:
    """Return the figures of an error type in parentheses; empty if there are none."""
    return f" ({values['figures']})" if "figures" in values else ""


def _both_error_types(values: Values) -> str:
    if "sfar" in values:
        return _all_error_types(values)
    accepts, rejects = (values[metric]["verdict"] for metric in ("fpr", "fnr"))
    if accepts == rejects and accepts in {"equivalent", "inconclusive"}:
        return f"false accepts and false rejects {accepts}"
    accepts_words, rejects_words = (
        _JOINT_VERDICTS[values[metric]["verdict"]].format(ERROR_NAMES[metric])
        + _figures(values[metric])
        + _condition(values[metric])
        for metric in ("fpr", "fnr")
    )
    if accepts == "inconclusive":
        return f"{rejects_words}; {accepts_words}"
    if rejects == "inconclusive":
        return f"{accepts_words}; {rejects_words}"
    joint = " and" if accepts == rejects else ";"
    return f"{accepts_words}{joint} {rejects_words}"


def _all_error_types(values: Values) -> str:
    """Return the verdicts on three error types, each with the errors that share it."""
    errors_by_words: dict[str, list[str]] = {}
    for metric, errors in ERROR_NAMES.items():
        words = _JOINT_VERDICTS[values[metric]["verdict"]] + _condition(values[metric])
        errors_by_words.setdefault(words, []).append(errors)
    return "; ".join(
        words.format(" and ".join(errors)) for words, errors in errors_by_words.items()
    )


def _rates_differ(values: Values) -> str:
    words = "rates differ between groups"
    if "assumption" in values:
        words += f", {VERDICT_SENTENCES[values['assumption']].with_values(values)}"
    return f"{words} (adjusted {p_value(values['p'])})" if "p" in values else words


def _heterogeneity_test(values: Values) -> str:
    return f"heterogeneity test: adjusted {p_value(values['p'])}"


def _groups(values: Values) -> str:
    return ", ".join(values["groups"])


def _different_groups(values: Values) -> str:
    n_groups = len(values["groups"])
    differ = "differs" if n_groups == 1 else "differ"
    return f"{n_groups} of {values['all_groups']} groups {differ}: {_groups(values)}"


def _worse_groups(values: Values) -> str:
    return f"worse: {_groups(values)}"


def _better_groups(values: Values) -> str:
    return f"better{_condition(values)}: {_groups(values)}"


def _all_groups(values: Values) -> str:
    """Return the subject and verb of a statement on every group."""
    subject = {1: "the one group is", 2: "both groups are"}
    return subject.get(values["groups"], f"all {values['groups']} groups are")


def _all_groups_equivalent(values: Values) -> str:
    words = f"{_all_groups(values)} equivalent"
    if "reference" not in values:  # audits of development versions
        return words
    compared_rate = f"the rate of {REFERENCE_NAMES.get(values['reference'], values['reference'])}"
    if values["groups"] == 2 and values["reference"] == "others":
        compared_rate = "each other"
    return f"{words} (rates within a factor of {values['margin']:g} of {compared_rate})"


def _all_groups_inconclusive(values: Values) -> str:
    words = f"{_all_groups(values)} inconclusive"
    return f"{words}: {_reason(values)}" if "reason" in values else words


def _number_inconclusive(values: Values) -> str:
    groups = "1 group is" if values["inconclusive"] == 1 else f"{values['inconclusive']} groups are"
    return f"{groups} inconclusive"


def _some_groups_inconclusive(values: Values) -> str:
    verb = "is" if values["inconclusive"] == 1 else "are"
    return f"{values['inconclusive']} of {values['groups']} groups {verb} inconclusive"


def _groups_without_trials(values: Values) -> str:
    groups = "1 group has" if values["groups"] == 1 else f"{values['groups']} groups have"
    return f"{groups} {_reason(values)}"


VERDICT_SENTENCES: dict[str, SentenceTemplate] = {
    # of a group, in one rate and in both
    "ratio_to_reference": SentenceTemplate(_ratio_to_reference, {**_OTHERS, **_RATIO}),
    "error_free": SentenceTemplate(_error_free, {**_OTHERS, "high": 0.21}),
    "equivalent": SentenceTemplate(
        _equivalent, {**_OTHERS, "ratio": 1.03, "low": 0.92, "high": 1.2}
    ),
    "inconclusive": SentenceTemplate(
        _inconclusive,
        {"metric": "fnr", "reason": "too_wide", "ratio": 2.6, "low": 0.77, "high": 8.7},
    ),
    "both_error_types": SentenceTemplate(
        _both_error_types,
        {
            "fpr": {"verdict": "inconclusive"},
            "fnr": {"verdict": "better", "without": {"groups": ["f+India"]}},
        },
    ),
    "is_reference": SentenceTemplate("is the reference"),
    "below_minimum": SentenceTemplate("fewer than {speakers} speakers", {"speakers": 5}),
    "no_trials": SentenceTemplate("no trials"),
    # of a system
    "rates_differ": SentenceTemplate(
        _rates_differ, {"p": 0.002, "assumption": "if_equal_variation"}
    ),
    "heterogeneity_test": SentenceTemplate(_heterogeneity_test, {"p": 0.24}),
    "different_groups": SentenceTemplate(
        _different_groups, {"groups": ["f+India", "m+USA"], "all_groups": 18}
    ),
    "worse_groups": SentenceTemplate(_worse_groups, {"groups": ["f+India", "f+UK"]}),
    "better_groups": SentenceTemplate(
        _better_groups, {"groups": ["m+USA"], "without": {"groups": ["f+India"]}}
    ),
    "number_inconclusive": SentenceTemplate(_number_inconclusive, {"inconclusive": 3}),
    "some_groups_inconclusive": SentenceTemplate(
        _some_groups_inconclusive, {"inconclusive": 2, "groups": 3}
    ),
    "all_groups_inconclusive": SentenceTemplate(
        _all_groups_inconclusive, {"groups": 2, "reason": "infinite_threshold"}
    ),
    "all_groups_equivalent": SentenceTemplate(
        _all_groups_equivalent, {"groups": 4, "margin": 1.25, "reference": "others"}
    ),
    "no_significant_difference": SentenceTemplate("no significant difference"),
    "groups_without_trials": SentenceTemplate(
        _groups_without_trials, {"groups": 2, "reason": "no_target_trials"}
    ),
    "infinite_threshold": SentenceTemplate("the threshold is infinite"),
    "attack_dependent": SentenceTemplate("the verdict may not hold for other attacks"),
    "if_equal_variation": SentenceTemplate(
        "assuming that variation between speakers is similar in all groups"
    ),
}
"""Every sentence on verdicts by its code."""
