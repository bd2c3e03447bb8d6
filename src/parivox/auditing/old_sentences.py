"""The sentences that audits of 0.1 and 0.2 hold in the place of codes, and files of counts still.

A table of these releases says in words why a value is missing; `facts_of_sentences` finds the fact
that a sentence states. A sentence that is not listed is taken as written: it is its own code, and
shown as such.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from parivox.auditing.old_data_sentences import CONTENTS, DATA_SENTENCES
from parivox.facts import CODE_JOINT, FACT_JOINT, caused, fact, is_fact_cell

if TYPE_CHECKING:
    from collections.abc import Callable

    Value = Callable[[str], Any]


def _listed(words: str) -> list[str]:
    """Return the names of a list in words."""
    return words.split(", ")


def _share(percent: str) -> float:
    """Return a share that was written in percent."""
    return float(percent) / 100


def _edges(words: str) -> dict[str, Any]:
    """Return bins that were written in words; of more than eight edges, the first eight."""
    step = re.match(r"bins of (\S+)", words)
    edges = re.search(r"(?:edges at|thresholds) ([^\s,]+(?:, [^\s,]+)*)", words)
    thresholds = [float(edge) for edge in _listed(edges[1])] if edges else []
    return {"step": step[1] if step else "", "thresholds": thresholds}


def _count(number: str) -> int:
    """Return a count that may have commas."""
    return int(number.replace(",", ""))


def _counted_item(sentence: str) -> str:
    """Return the code of what was counted; what is not listed is taken as written."""
    return DATA_SENTENCES.get(sentence, sentence)


def _content(sentence: str) -> str:
    """Return the code of what cannot be had from counts; what is not listed is as written."""
    return CONTENTS.get(sentence, sentence)


_COUNT = r"(?P<{}>\d[\d,]*)"
_NUMBER = r"(?P<{}>-?[\d.]+(?:e[-+]?\d+)?)"
_WORDS = r"(?P<{}>.+)"
_WORD = r"(?P<{}>\w+)"
_NEW_NAMES = {"item": "counted", "class": "trials"}
"""Names of values that have another name now."""
_VALUES: dict[str, tuple[str, Value]] = {
    "speakers": (_COUNT, _count),
    "trials": (_COUNT, _count),
    "groups": (_COUNT, _count),
    "pairs": (_COUNT, _count),
    "errors": (_NUMBER, float),
    "all_groups": (_COUNT, _count),
    "undefined": (_COUNT, _count),
    "share": (_NUMBER, _share),
    "exact": (_NUMBER, float),
    "target_rate": (_NUMBER, float),
    "operating_point": (r"(?P<{}>\S+)", str),
    "strata": (_WORDS, _listed),
    # of the table of data
    "item": (_WORDS, _counted_item),
    "content": (_WORDS, _content),
    "attribute": (_WORDS, str),
    "value": (_WORDS, str),
    "column": (_WORDS, str),
    "stratum": (_WORDS, str),
    "definition": (_WORDS, str),
    "unit": (_WORD, str),
    "class": (_WORD, str),
    "metric": (_WORD, str),
    "allocation": (_WORD, str),
    "or_withheld": ("(?P<{}> or withheld)", bool),
    "threshold": (_NUMBER, str),
    "extremes_of": (_COUNT, _count),
    **dict.fromkeys(("common", "first", "second", "systems"), (_COUNT, _count)),
    "difference": (_NUMBER, float),
}
"""How a value is written in a sentence, and how it is read."""
_SENTENCES = {
    # groups: why a metric is undefined
    "decisions without scores": "decisions_without_scores",
    "no nontarget trials": "no_nontarget_trials",
    "no target trials": "no_target_trials",
    "no trials": "no_trials",
    "counted at given thresholds only": "counted_at_thresholds",
    "{operating_point} is below one error in {trials} trials": "target_rate_too_low",
    "{operating_point} is below one error in {trials} trial": "target_rate_too_low",
    "scores are not declared to be log-likelihood ratios (--llr)": "not_declared_llr",
    "undefined on these scores": "undefined_on_scores",
    "unresolvable: {target_rate} is below one error in {trials} trials": "unresolvable",
    "no trial of a failed recording is in the list": "no_trials_of_failed_recordings",
    "a group of trials, not of recordings": "group_of_trials",
    "none was attempted": "none_attempted",
    "no trial tells its seconds": "no_seconds",
    "not known from counts alone": "unknown_from_counts",
    "no stratum in which every group has trials of several speakers": "no_common_stratum",
    "exact: {exact}": "exact_value",
    "bt4vt needs trials of both classes": "bt4vt_needs_both_classes",
    "withheld: fewer than {speakers} speakers": "withheld",
    "withheld: else a group of fewer than {speakers} speakers could be told": (
        "withheld_to_protect"
    ),
    # notes of intervals
    "fewer than {speakers} speakers: no interval": "no_interval_below_minimum",
    "one speaker takes part in all trials": "common_speaker",
    "no errors": "no_errors",
    "nothing but errors": "only_errors",
    "design effect of the other groups": "deff_of_other_groups",
    "each speaker counted as one trial": "speakers_as_trials",
    "variance raised to that of the other groups": "variance_raised",
    "interval may be short": "interval_may_be_short",
    "upper limit only": "upper_limit_only",
    "{speakers} speakers cannot exclude a rare badly served kind of speaker": (
        "few_speakers_for_rare_kinds"
    ),
    "the threshold, found on these trials, varies with them": "threshold_varies",
    "the threshold, found on these trials, is taken as it is": "threshold_stays",
    "corrected for the optimism of minimum Cllr": "optimism_corrected",
    "undefined in {share} % of the replicates": "undefined_in_replicates",
    "the reference itself": "reference_itself",
    "as of FPR": "as_of_fpr",
    "equal weights: {strata}": "equal_weights",
    "{share}% of the trials left out": "trials_left_out",
    # why there is no interval
    "no interval": "no_interval",
    "not resampled": "not_resampled",
    "no estimate": "no_estimate",
    "no logarithm of the estimate": "no_log_estimate",
    "undefined in more than 5 % of the replicates": "often_undefined",
    "undefined or 0 in more than 5 % of the replicates": "often_undefined_or_zero",
    "fewer than two speakers": "fewer_than_two_speakers",
    "the same in all replicates": "same_in_all_replicates",
    "every replicate is alike": "all_replicates_alike",
    "beyond what numbers can hold": "beyond_number_range",
    "the group or its reference is the same in all replicates": "same_group_or_reference",
    "no errors, nor in any replicate": "no_errors_in_any_replicate",
    "nontarget trials without a test speaker (unknown_test_speakers)": "unknown_test_speakers",
    "counts do not tell who the speakers are": "speakers_unknown_from_counts",
    "too many trials to hold in memory": "too_many_trials_for_memory",
    "too many speakers to draw from": "too_many_speakers_to_draw",
    "tau_log is cut off at 0, so that its replicates mislead; spread is its square, uncut": (
        "tau_log_is_cut_off"
    ),
    "the slope hangs on one or two speakers": "few_speakers_decide_slope",
    # bias and meta-measures
    "undefined in every group": "undefined_in_every_group",
    "mean over {groups} of {all_groups} groups; undefined in {undefined}": "mean_over_some_groups",
    "fewer than {speakers} speakers to split, or no replicates": "too_few_to_split",
    "no group has errors": "no_group_has_errors",
    "no group has the rate": "no_group_has_rate",
    "too few errors to draw a fair system": "too_few_errors_to_draw",
    "too few groups with speakers enough to draw a fair system": "too_few_groups_to_draw",
    "no speakers to exchange between groups": "no_speakers_to_exchange",
    "no valid draws of a fair system: speakers are in several groups": "shared_speakers",
    "fewer than two groups": "fewer_than_two_groups",
    "fewer than three groups": "fewer_than_three_groups",
    "fewer than two groups in which two errors are expected": "fewer_than_two_groups_with_errors",
    "the variance of too few groups is known": "variance_of_too_few_groups",
    "too few groups, or too few errors, to tell what attributes add up to": (
        "too_few_for_interaction"
    ),
    # verdicts and limits
    "is the reference": "is_reference",
    "fewer than {speakers} speakers": "below_minimum",
    "if speakers vary alike in all groups": "if_equal_variation",
    "too few speakers": "few_speakers",
    "too few trials a speaker": "few_trials_a_speaker",
    "all speakers have one number": "one_value",
    "errors lie all above, or all below, some number": "separated",
    "nothing is told of failures": "failures_not_given",
    "{speakers} speakers": "speakers_below_minimum",
    "{speakers} speaker": "speakers_below_minimum",
    "{errors} effective errors": "errors_below_minimum",
    "{pairs} pairs of speakers": "pairs_below_minimum",
    # comparisons
    "of the {groups} groups that both have": "groups_that_both_have",
    "of {groups} groups": "some_groups",
    "of the {groups} groups that pass the gates": "groups_that_pass_gates",
    "fewer than three groups pass the gates in both": "fewer_than_three_groups_judged_in_both",
    "held by the operating point": "held_by_operating_point",
    **DATA_SENTENCES,
}
"""The code of each sentence, with the names of its values."""
_CAUSED = {
    "no interval: ": "no_interval",
    "no interval of the log ratio: ": "no_interval_of_log_ratio",
}
"""How sentences begin that go on with the sentence of another fact, their cause."""
_WITH_EDGES = {
    "its threshold is no edge of ": "threshold_between_edges",
    "counted at ": "counted_at",
}
"""How sentences begin that go on with bins or thresholds."""
_FIXED_VALUES = {"counted_by_speaker": {"side": "enrolment"}}
"""Values that are the same in all sentences of a code."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def _pattern(sentence: str) -> re.Pattern[str]:
    """Return what a sentence matches, with its values as groups."""
    pattern, position = "", 0
    for placeholder in _PLACEHOLDER.finditer(sentence):
        pattern += re.escape(sentence[position : placeholder.start()])
        pattern += _VALUES[placeholder[1]][0].format(placeholder[1])
        position = placeholder.end()
    return re.compile(pattern + re.escape(sentence[position:]))


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Return what sentences with values match, with their codes; few audits are old enough."""
    return [(_pattern(text), code) for text, code in _SENTENCES.items() if "{" in text]


_PLAIN = {sentence: code for sentence, code in _SENTENCES.items() if "{" not in sentence}


@lru_cache(maxsize=4096)
def facts_of_sentences(words: str) -> str:
    """Return the facts that a cell of an old table states, as a cell of facts.

    Examples
    --------
    >>> facts_of_sentences("no errors; fewer than 5 speakers: no interval").split(FACT_JOINT)
    ['no_errors', 'no_interval_below_minimum{"speakers": 5}']
    >>> facts_of_sentences("zero_cell"), facts_of_sentences("what nobody has written")
    ('zero_cell', 'what nobody has written')
    """
    if is_fact_cell(words) and words not in _PLAIN:
        return words
    facts, parts = [], words.split(CODE_JOINT) if words else []
    while parts:
        # a sentence may hold the joint itself: the longest that is known is taken
        for n_parts in range(len(parts), 0, -1):
            stated = _fact_of_sentence(CODE_JOINT.join(parts[:n_parts]))
            if stated or n_parts == 1:
                facts.append(stated or parts[0])
                parts = parts[n_parts:]
                break
    return FACT_JOINT.join(facts)


def _fact_of_sentence(sentence: str) -> str:
    """Return the fact that one sentence states; empty if it is not known."""
    if sentence in _PLAIN:
        return fact(_PLAIN[sentence])
    for beginning, code in _CAUSED.items():
        if sentence.startswith(beginning):
            cause = _fact_of_sentence(sentence.removeprefix(beginning))
            return caused(code, cause) if cause else ""
    for beginning, code in _WITH_EDGES.items():
        if sentence.startswith(beginning):
            return fact(code, **_edges(sentence.removeprefix(beginning)))
    for pattern, code in _patterns():
        match = pattern.fullmatch(sentence)
        if match:
            values = {
                _NEW_NAMES.get(name, name): _VALUES[name][1](text)
                for name, text in match.groupdict().items()
            }
            values.pop("undefined", None)  # follows from the other two
            return fact(code, **values, **_FIXED_VALUES.get(code, {}))
    return ""


_SHARE = (
    r"(?:fewer than (?P<{0}_fewer_than>\d+)|all but fewer than (?P<{0}_all_but_fewer_than>\d+)"
    r"|(?P<{0}_share>\d+) %)"
)
_HIGHEST, _LOWEST = "highest", "lowest"


def shares_of_sentence(
    sentence: str, attribute: str, other_attribute: str
) -> dict[str, Any] | None:
    """Return the shares that a sentence on associated attributes states; None for none.

    Examples
    --------
    >>> shares_of_sentence(
    ...     "sex and age are confounded: 71 % of the speakers with sex f have age old, fewer than "
    ...     "10 of those with m (Cramer's V 0.43 of 1, p <0.001, 84 speakers), so ...",
    ...     "sex",
    ...     "age",
    ... )
    {'value': 'old', 'groups': [{'group': 'f', 'share': 0.71}, {'group': 'm', 'fewer_than': 10}]}
    """
    match = re.search(
        rf": {_SHARE.format(_HIGHEST)} of the speakers with {re.escape(attribute)} "
        rf"(?P<{_HIGHEST}>.+) have {re.escape(other_attribute)} (?P<value>.+), "
        rf"{_SHARE.format(_LOWEST)} of those with (?P<{_LOWEST}>.+) \(Cram",
        sentence,
    )
    if not match:
        return None
    groups: list[dict[str, Any]] = []
    for extreme in (_HIGHEST, _LOWEST):
        group: dict[str, Any] = {"group": match[extreme]}
        if match[f"{extreme}_share"]:
            group["share"] = _share(match[f"{extreme}_share"])
        for name in ("fewer_than", "all_but_fewer_than"):
            if match[f"{extreme}_{name}"]:
                group[name] = int(match[f"{extreme}_{name}"])
        groups.append(group)
    return {"value": match["value"], "groups": groups}
