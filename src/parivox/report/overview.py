"""What is seen first of an audit: the finding, of how many groups, and what weakens it.

The terminal, the report, notebooks and Markdown begin with it, in the same words and order.
`overview` makes it from an audit's tables alone: `group_results` is every group with its rates and
verdicts, from which come the finding and the counts of verdicts; limitations are in
`parivox.report.caveats`.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import chain, groupby, repeat
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from parivox.auditing import (
    ATTACK_DEPENDENT,
    DEVELOPMENT_TRIALS,
    IS_REFERENCE,
    NO_TRIALS,
    SAME_TRIALS,
    is_far_from_target,
)
from parivox.core.verdict import holm
from parivox.data.trial_set import COMMON_TRIALS
from parivox.report import findings
from parivox.report.audit_queries import (
    ERROR_TYPES,
    PAIR_SIZE,
    POOLED,
    VERDICTS,
    at_first_point,
    attacks_text,
    error_types,
    first_point_name,
    located_points,
    point_as_given,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.catalogue import (
    full_sentence,
    group_of_limit,
    inconclusive_text,
    reason_text,
    sentence_text,
)
from parivox.report.caveats import caveats, missing_scores
from parivox.report.identification import (
    gallery_text,
    is_identification,
    rate_details,
    rates_only_sentences,
    search_sizes,
)
from parivox.report.identification import threshold_text as identification_threshold
from parivox.report.sheets.groups import errors_over_trials
from parivox.report.verdict_sentences import INCONCLUSIVE_REASONS
from parivox.report.words import (
    capitalised,
    count_of,
    count_text,
    interval_text,
    p_value,
    percent,
    short_number,
    shortened_names,
    uncapitalised,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Scope
    from parivox.report.limitation_sentences import Caveat
    from parivox.report.words import Row

_MAX_NAMED = 3
"""Groups named in a sentence, with their ratios."""
_MAX_LIMITED_GROUPS = 8
"""Groups named in the sentence on a limit."""
_DIFFERENT_VERDICTS = ("worse", "better")
_RATE_NAMES = {
    "fnr": "false reject rates",
    "fpr": "false accept rates",
    "sfar": "spoof accept rates",
    "fnir": "rates of missed identifications",
    "fpir": "rates of false positive identifications",
}
_SYSTEM_CLAIMS = {
    "fnr": (sentence_text("fewer_false_rejects"), sentence_text("fewest_false_rejects")),
    "fpr": (
        sentence_text("fewer_false_accepts"),
        sentence_text("fewest_false_accepts"),
    ),
    "sfar": (sentence_text("fewer_spoof_accepts"), sentence_text("fewest_spoof_accepts")),
    "fnir": (
        sentence_text("fewer_missed_identifications"),
        sentence_text("fewest_missed_identifications"),
    ),
    "fpir": (
        sentence_text("fewer_false_identifications"),
        sentence_text("fewest_false_identifications"),
    ),
}
"""What is said of the better of two systems, and of the best."""
SET_BY_THRESHOLD = "chosen"
REFERENCE_GROUP = "other"
_LOST_TO_HOLM = "not_after_holm"
_MAX_NEAR_P = 0.5
"""Adjusted p below which a comparison that Holm's adjustment made inconclusive counts as near."""
_REASON_TEXTS = {
    **INCONCLUSIVE_REASONS,
    "too_wide": "interval too wide, usually because of too few speakers or errors",
    "no_errors": "no errors, but too few trials or speakers",
    "because_of": "better, but not confirmed without the worst group",
}
"""Why comparisons are inconclusive, by the code of the reason."""
_OTHER_REASONS = "too few speakers, errors or pairs"


class Phrase(NamedTuple):
    """Words of a sentence; `verdict` is that on the group that they name, else empty.

    The group that another is compared with has :data:`REFERENCE_GROUP`: it is a name too, and set
    apart like any name.
    """

    text: str
    verdict: str = ""


Sentence = list[Phrase]


def plain_text(sentence: Sentence) -> str:
    """Return the words of a sentence."""
    return "".join(phrase.text for phrase in sentence)


class GroupComparison(NamedTuple):
    """One error rate of one group in one system, against the reference."""

    system: str
    rate: float | None
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str
    """A code of verdicts, empty where nothing was judged."""
    p: float | None = None
    reason: str = ""
    """Why it is inconclusive, or why there is no rate, in words."""
    reason_code: str = ""
    best_guess: str = ""
    """The likely ratio, where power is low, as ratios that are found then look too large."""
    error_counts: str = ""
    """Errors and trials."""
    worse_group: str = ""
    """The other one of two groups, where it is worse and this comparison only repeats that."""
    speakers: int | None = None
    """Speakers of the searches behind the rate; None for trials, whose group has as many."""
    details: str = ""
    """How many errors name another person, where searches have rates only."""
    equal_weight: str = ""
    """What becomes of the ratio with equal weight for each attack, where shares of these differ."""
    is_under_represented: bool = False
    """Whether the group has too little data for this error type."""

    @property
    def is_shown_to_differ(self) -> bool:
        """Whether the group is shown to fare worse or better."""
        return self.verdict in _DIFFERENT_VERDICTS

    @property
    def log_distance(self) -> float:
        """How far it is from the reference, on a logarithmic scale; 0 where there is no ratio."""
        return abs(math.log(self.ratio)) if self.ratio else 0.0

    @property
    def fails_only_after_holm(self) -> bool:
        """Whether its p is low, yet not for the number of groups that were looked at."""
        return self.reason_code == _LOST_TO_HOLM and self.p is not None and self.p < _MAX_NEAR_P


class GroupResult(NamedTuple):
    """One group, in both errors and every system, at the first operating point."""

    grouping: str
    group: str
    speakers: int | None
    comparisons: dict[str, list[GroupComparison]]
    """By metric, one for each system."""
    allocation: str = ""
    """How nontarget trials were allocated, where that is not the first allocation asked for."""

    @property
    def name(self) -> str:
        """The name of the group, with its allocation if that is not the first."""
        return f"{self.group} (by {self.allocation})" if self.allocation else self.group

    @property
    def n_systems(self) -> int:
        """How many systems it has rates in."""
        return len(next(iter(self.comparisons.values())))

    def all_comparisons(self) -> Iterator[GroupComparison]:
        """Yield the comparisons of both error rates."""
        for comparisons in self.comparisons.values():
            yield from comparisons

    @property
    def is_shown_to_differ(self) -> bool:
        """Whether it is shown to differ, in either error and any system."""
        return any(comparison.is_shown_to_differ for comparison in self.all_comparisons())


GroupComparisons = tuple[GroupResult, list[GroupComparison]]
"""A group with those of its comparisons that came to one verdict."""


class PooledRates(NamedTuple):
    """One error of all trials together in every system."""

    metric: str
    rates: list[tuple[str, str]]
    """Each system with its rate, or with why there is none."""
    details: list[str]
    """What the rate of each system consists of; empty where this is not shown."""
    has_trials: bool
    """Whether any system has trials that may have this error."""
    is_set_by_threshold: bool = False
    """Whether the threshold is set so that the rate is what it is."""

    @property
    def detailed_rates(self) -> list[tuple[str, str]]:
        """Each system with its rate and what this consists of."""
        return [
            (system, f"{rate} ({details})" if details else rate)
            for (system, rate), details in zip(self.rates, self.details, strict=True)
        ]

    @property
    def sentence(self) -> str:
        """The error in every system."""
        if len(self.rates) > 1:
            rates = ", ".join(f"{system} {rate}" for system, rate in self.detailed_rates)
        else:
            rates = ", ".join(rate for _, rate in self.detailed_rates)
        note = f" ({SET_BY_THRESHOLD})" if self.is_set_by_threshold else ""
        return f"{capitalised(ERROR_TYPES[self.metric])} ({self.metric.upper()}): {rates}{note}"


class Overview(NamedTuple):
    """What is seen first."""

    size: list[str]
    threshold: str
    headline: Sentence
    further_findings: list[Sentence]
    secondary_findings: list[Sentence]
    """Those further findings that follow the figure: of systems, and by other groupings."""
    has_p_between_systems: bool
    """Whether a finding on systems has a p-value."""
    headline_comparisons: list[GroupComparison]
    """Comparisons that the headline states as different; none if it states something else."""
    pooled_rates: list[PooledRates]
    verdict_counts: dict[str, int]
    """How many comparisons came to each verdict; none where nothing was judged."""
    comparisons_text: str
    """How many comparisons there are, and of what."""
    confidence_note: str
    """What is confirmatory, and what comes of all the rest; empty where there are no verdicts."""
    inconclusive_note: str
    """How many comparisons are inconclusive, and why; empty where none is."""
    groups: list[GroupResult]
    """Every group: those shown to differ first, the worst of all first."""
    caveats: list[Caveat]

    @property
    def finding_sentences(self) -> list[str]:
        """The finding, and what else is shown, in plain sentences."""
        return [f"{plain_text(sentence)}." for sentence in (self.headline, *self.further_findings)]

    @property
    def count_sentences(self) -> list[str]:
        """Both pooled errors, and how many comparisons came to which verdict."""
        sentences = [pooled.sentence for pooled in self.pooled_rates]
        if self.verdict_counts:
            verdicts = ", ".join(
                f"{count_text(n)} {VERDICTS[code]}" for code, n in self.verdict_counts.items()
            )
            sentences.append(f"{capitalised(verdicts)}, of {self.comparisons_text}")
        return [f"{sentence}." for sentence in sentences]

    @property
    def notes(self) -> dict[str, str]:
        """How sure the finding is, and what is inconclusive, each under its heading."""
        notes = {"Confidence": self.confidence_note, "Inconclusive": self.inconclusive_note}
        return {heading: words for heading, words in notes.items() if words}

    @property
    def data_sentence(self) -> str:
        """How much was audited, and at which threshold."""
        return f"{' · '.join((*self.size, self.threshold))}."

    @property
    def differing_groups(self) -> list[GroupResult]:
        """The groups that are shown to differ."""
        return [group for group in self.groups if group.is_shown_to_differ]

    def leading_groups(self, max_groups: int) -> list[GroupResult]:
        """Return the groups to be seen first: those shown to differ, or the largest."""
        if self.differing_groups:
            return self.differing_groups[:max_groups]
        largest = sorted(self.groups, key=lambda group: -(group.speakers or 0))[:max_groups]
        return [group for group in self.groups if group in largest]

    def groups_differing_in(self, metric: str) -> list[GroupResult]:
        """Return the groups shown to differ in one error, of each grouping the worse first."""
        differing: list[GroupResult] = []
        for _, same_grouping in groupby(self.groups, key=lambda group: group.grouping):
            groups = list(same_grouping)
            for code in _DIFFERENT_VERDICTS:
                for group, _ in _groups_with_verdict(groups, metric, code):
                    if group not in differing:
                        differing.append(group)
        return differing


# the report and the terminal show the same one, which takes a tenth of the report's time
_OVERVIEWS: WeakKeyDictionary[Audit, Overview] = WeakKeyDictionary()


def overview(audit: Audit) -> Overview:
    """Return what is seen first of an audit, from its tables alone.

    It is made once, as audits do not change.
    """
    if audit not in _OVERVIEWS:
        _OVERVIEWS[audit] = _overview(audit)
    return _OVERVIEWS[audit]


def _overview(audit: Audit) -> Overview:
    groups = group_results(audit)
    reference = audit.record["options"]["reference"][0]
    confidence_note = findings.confidence_statement(audit)
    pooled_rates = list(_pooled_rates(audit))
    sentences = [
        [Phrase(words)]
        for words in chain(
            (caveat.sentence for caveat in missing_scores(audit)), _limit_findings(audit)
        )
    ]
    headline_comparisons = [] if sentences else _headline_comparisons(audit, groups)
    sentences += _findings(audit, groups)
    system_findings = list(_system_findings(audit, groups))
    secondary_findings = list(
        _secondary_findings(
            audit, groups, system_findings, "exploratory, " if confidence_note else ""
        )
    )
    sentences += secondary_findings
    headline, *further_findings = sentences
    # what the audit cannot say about an error comes after what it does say
    further_findings += ([Phrase(words)] for words in _errors_without_trials(pooled_rates))
    comparisons = _counted_comparisons(groups, reference)
    n_of_verdict = Counter(comparison.verdict for comparison in comparisons)
    return Overview(
        size=list(_size(audit)),
        threshold=_threshold_text(audit),
        headline=headline,
        further_findings=further_findings,
        secondary_findings=secondary_findings,
        has_p_between_systems=any(finding.has_p for finding in system_findings),
        headline_comparisons=headline_comparisons,
        pooled_rates=pooled_rates,
        verdict_counts={code: n_of_verdict[code] for code in VERDICTS} if comparisons else {},
        comparisons_text=_comparisons_text(audit, groups, len(comparisons)),
        confidence_note=confidence_note if comparisons else "",
        inconclusive_note=_inconclusive_note(comparisons),
        groups=groups,
        caveats=caveats(audit),
    )


# ---- groups


def group_results(audit: Audit) -> list[GroupResult]:
    """Return every group of every grouping at the first operating point, in a report's order.

    Another allocation of nontarget trials leaves some rates unchanged, as it does all FNRs: these
    are judged once, under the first allocation.
    """
    groups: list[GroupResult] = []
    first_allocation: dict[str, dict[str, GroupResult]] = {}
    for same_grouping in scopes_by_grouping(list(scopes(audit))):
        grouping = same_grouping[0].grouping
        judged_before = first_allocation.get(grouping, {})
        allocation = same_grouping[0].allocation if judged_before else ""
        by_group = _groups_of_scopes(audit, same_grouping, allocation)
        of_grouping = [_without_repeated(group, judged_before) for group in by_group.values()]
        of_grouping.sort(key=_report_order)
        if _is_pair(of_grouping, audit.record["options"]["reference"][0]):
            first_group, second_group = of_grouping
            of_grouping = [
                _with_marked_repeats(first_group, second_group),
                _with_marked_repeats(second_group, first_group),
            ]
        groups += of_grouping
        first_allocation.setdefault(grouping, by_group)
    return groups


def _groups_of_scopes(
    audit: Audit, same_grouping: Sequence[Scope], allocation: str
) -> dict[str, GroupResult]:
    """Return each group of a grouping, with its comparisons in all systems."""
    by_group: dict[str, GroupResult] = {}
    for scope in same_grouping:
        point = first_point_name(audit, scope.filters)
        if point is None:
            continue
        rates = rates_by_group(audit, scope.filters)
        verdicts = verdicts_by_metric(audit, {**scope.filters, "operating_point": point})
        for name in rates:
            if name == POOLED:
                continue
            n_speakers = _speakers_of_group(audit, rates[name], point)
            new_group = GroupResult(scope.grouping_label, name, n_speakers, {}, allocation)
            group = by_group.setdefault(name, new_group)
            for metric in error_types(audit):
                verdict_row = verdicts.get(metric, {}).get(name)
                comparison = _group_comparison(scope, rates[name][metric, point], verdict_row)
                if is_identification(audit):
                    n_probes = rates[name][metric, point]["speakers"]
                    cell = {**scope.filters, "group": name, "operating_point": point}
                    details = rate_details(audit, metric, cell, comparison.error_counts)
                    comparison = comparison._replace(speakers=n_probes, details=details)
                group.comparisons.setdefault(metric, []).append(comparison)
    return by_group


def _speakers_of_group(
    audit: Audit, rates_of_group: Mapping[tuple[str, str], Row], point: str
) -> int | None:
    """Return the speakers of a group; of searches, those of mated and of non-mated ones."""
    speakers: list[int | None] = [
        rates_of_group[metric, point]["speakers"] for metric in error_types(audit)
    ]
    if is_identification(audit):
        return sum(filter(None, speakers))
    return speakers[0]


def _with_marked_repeats(group: GroupResult, other_group: GroupResult) -> GroupResult:
    """Return one of two groups; where it is better as the other is worse, that is marked."""
    comparisons = {
        metric: [
            comparison._replace(worse_group=other_group.name)
            if comparison.verdict == "better" and of_other.verdict == "worse"
            else comparison
            for comparison, of_other in zip(
                group.comparisons[metric], other_group.comparisons[metric], strict=True
            )
        ]
        for metric in group.comparisons
    }
    return group._replace(comparisons=comparisons)


def _without_repeated(group: GroupResult, judged_before: Mapping[str, GroupResult]) -> GroupResult:
    """Return a group without verdicts on what was judged under the first allocation already."""
    if group.group not in judged_before:
        return group
    before = judged_before[group.group]
    comparisons = {
        metric: [
            _unjudged(comparison, f"as by {before.grouping}")
            if metric == "fnr" or comparison in before.comparisons[metric]
            else comparison
            for comparison in of_metric
        ]
        for metric, of_metric in group.comparisons.items()
    }
    return group._replace(comparisons=comparisons)


def _unjudged(comparison: GroupComparison, reason: str) -> GroupComparison:
    """Return the rate of a comparison alone, with why it is not compared here."""
    return GroupComparison(
        comparison.system,
        comparison.rate,
        ratio=None,
        low=None,
        high=None,
        verdict="",
        reason=reason,
    )


def _counted_comparisons(groups: Sequence[GroupResult], reference: str) -> list[GroupComparison]:
    """Return each comparison; of two groups compared with each other, the worse one's alone."""
    severity = [*VERDICTS]
    counted = list[GroupComparison]()
    for _, same_grouping in groupby(groups, key=lambda group: group.grouping):
        of_grouping = list(same_grouping)
        # a group alone has no other group to be compared with
        if len(of_grouping) == 1:
            continue
        is_pair = _is_pair(of_grouping, reference)
        for metric in of_grouping[0].comparisons:
            for of_system in zip(
                *(group.comparisons[metric] for group in of_grouping), strict=True
            ):
                compared = [
                    comparison
                    for comparison in of_system
                    if comparison.verdict and comparison.reason_code != IS_REFERENCE
                ]
                if is_pair and len(compared) > 1:
                    worse = min(compared, key=lambda each: severity.index(each.verdict))
                    counted.append(worse)
                else:
                    counted += compared
    return counted


def _inconclusive_note(comparisons: Sequence[GroupComparison]) -> str:
    """Return how many comparisons are inconclusive, by reason; empty if none is."""
    inconclusive = [each for each in comparisons if each.verdict == "inconclusive"]
    if not inconclusive:
        return ""
    n_of_reason = Counter(
        _REASON_TEXTS.get(comparison.reason_code, _OTHER_REASONS) for comparison in inconclusive
    )
    reasons = "; ".join(f"{reason} ({count_text(n)})" for reason, n in n_of_reason.most_common())
    share = "the only comparison"
    if len(comparisons) > 1:
        share = f"{count_text(len(inconclusive))} of {count_text(len(comparisons))} comparisons"
    return full_sentence("inconclusive_share_and_reasons", share=share, reasons=reasons)


def _is_pair(groups: Sequence[GroupResult], reference: str) -> bool:
    """Return whether the groups are two that are compared with each other.

    The group that is the `best` reference is not compared with the other one.
    """
    return len(groups) == PAIR_SIZE and reference != "best"


def _group_comparison(scope: Scope, rate_row: Row, verdict_row: Row | None) -> GroupComparison:
    """Return the rate of a group in one system with its verdict, if there is one."""
    system = system_label(scope.system, scope.list)
    rate, error_counts = rate_row["value"], errors_over_trials(rate_row)
    if verdict_row is None or rate is None:
        reason = "" if rate is not None else inconclusive_text(rate_row)
        return GroupComparison(
            system,
            rate,
            ratio=None,
            low=None,
            high=None,
            verdict="",
            reason=reason,
            error_counts=error_counts,
        )
    code, reason_code = verdict_row["verdict"], verdict_row["reason"]
    reason = inconclusive_text(verdict_row)
    estimate = findings.shrinkage_estimate(verdict_row)
    if verdict_row.get("because_of"):
        code, reason_code = "inconclusive", "because_of"
        reason = sentence_text("better_but_not_confirmed", group=verdict_row["because_of"])
    return GroupComparison(
        system,
        rate,
        ratio=None if verdict_row["ratio"] == math.inf else verdict_row["ratio"],
        low=verdict_row["low"],
        high=verdict_row["high"],
        verdict=code,
        p=verdict_row["p_holm"],
        reason=reason,
        reason_code=reason_code,
        best_guess="" if estimate is None else short_number(estimate),
        error_counts=error_counts,
        equal_weight=findings.equal_weight(verdict_row),
        is_under_represented=bool(verdict_row["gates"]),
    )


def _report_order(group: GroupResult) -> tuple[int, float, str]:
    """Return a sort key: the worse, the better, the rest; the furthest off first, then by name."""
    for rank, code in enumerate(_DIFFERENT_VERDICTS):
        ratios = [each.ratio for each in group.all_comparisons() if each.verdict == code]
        if ratios:
            distances = [
                abs(math.log(ratio)) if ratio else math.inf for ratio in ratios if ratio is not None
            ]
            return rank, -max(distances), group.group
    return len(_DIFFERENT_VERDICTS), 0.0, group.group


# ---- the finding


def _are_judged(audit: Audit, groups: Sequence[GroupResult]) -> bool:
    """Return whether any group has a verdict that findings rest on."""
    if is_identification(audit) and rates_only_sentences(audit):
        return False
    return any(comparison.verdict for group in groups for comparison in group.all_comparisons())


def _findings(audit: Audit, groups: Sequence[GroupResult]) -> Iterator[Sentence]:
    """Yield the finding, and in further sentences what else is shown by the first grouping."""
    if not groups:
        reasons = dict.fromkeys(
            findings.no_threshold_sentence(audit, system) for system in systems(audit)
        )
        yield from ([Phrase(words)] for words in reasons)
        return
    if is_identification(audit) and (why_rates_only := rates_only_sentences(audit)):
        yield from ([Phrase(words)] for words in why_rates_only)
        return
    if not _are_judged(audit, groups):
        yield [Phrase(sentence_text("difference_beyond_chance_unknown"))]
        reasons = dict.fromkeys(
            findings.missing_interval_reason(audit, system) for system in systems(audit)
        )
        reference = audit.record["options"]["reference"][0]
        words = "; ".join(filter(None, reasons)) or sentence_text(
            "no_group_is_reference", reference=reference
        )
        yield [Phrase(capitalised(words))]
        yield from _highest_observed_rates(groups)
        return
    (first_grouping, first_groups), *other_groupings = _groups_by_grouping(groups)
    by_grouping = f" by {first_grouping}" if other_groupings else ""
    differs = any(group.is_shown_to_differ for group in first_groups)
    yield from _grouping_sentences(
        audit, first_groups, by_grouping, has_figures=True, has_joint_tests=not differs
    )


def _groups_by_grouping(groups: Sequence[GroupResult]) -> list[tuple[str, list[GroupResult]]]:
    """Return each grouping with its groups."""
    return [
        (grouping, list(same_grouping))
        for grouping, same_grouping in groupby(groups, key=lambda group: group.grouping)
    ]


def _secondary_findings(
    audit: Audit,
    groups: Sequence[GroupResult],
    system_findings: Sequence[SystemFinding],
    status: str,
) -> Iterator[Sentence]:
    """Yield tests of all groups together, how systems differ, and what other groupings show.

    What other groupings show begins with its `status`.
    """
    if not _are_judged(audit, groups):
        return
    (first_grouping, first_groups), *other_groupings = _groups_by_grouping(groups)
    reference = audit.record["options"]["reference"][0]
    if any(group.is_shown_to_differ for group in first_groups):
        by_grouping = f" by {first_grouping}" if other_groupings else ""
        joint_differences = _joint_differences(audit, first_groups, by_grouping)
        yield from ([Phrase(words)] for words in joint_differences)
    yield from ([Phrase(finding.words)] for finding in system_findings)
    for grouping, of_grouping in other_groupings:
        sentences = _grouping_sentences(audit, of_grouping, "", has_figures=False)
        compared = ""
        differs = any(group.is_shown_to_differ for group in of_grouping)
        if differs and not _is_pair(of_grouping, reference):
            compared = f", compared with {findings.reference_text(audit)}"
        yield _joined_sentences(f"{status}by {grouping}{compared}: ", sentences)


def _joined_sentences(start: str, sentences: Iterator[Sentence]) -> Sentence:
    """Return sentences as one that begins with `start`, with full stops between them."""
    joined = [Phrase(capitalised(start))]
    for i, (first_phrase, *phrases) in enumerate(sentences):
        if i == 0:
            words = uncapitalised(first_phrase.text)
        else:
            words = f". {capitalised(first_phrase.text)}"
        joined += [first_phrase._replace(text=words), *phrases]
    return joined


def _highest_observed_rates(groups: Sequence[GroupResult]) -> Iterator[Sentence]:
    """Yield the group with the highest observed rate of each error, of the first grouping."""
    first_groups = [group for group in groups if group.grouping == groups[0].grouping]
    for metric in groups[0].comparisons:
        rates = [
            (comparison, group.group)
            for group in first_groups
            for comparison in group.comparisons[metric]
            if comparison.rate
        ]
        if not rates:
            continue
        highest, name = max(rates, key=lambda rate: rate[0].rate or 0)
        has_several_systems = len(first_groups[0].comparisons[metric]) > 1
        with_system = f" with {highest.system}" if has_several_systems else ""
        rate = f"{percent(highest.rate)} ({highest.error_counts})"
        yield [
            Phrase(
                sentence_text(
                    "highest_observed_rate",
                    error_type=ERROR_TYPES[metric],
                    group=name,
                    rate=rate,
                    with_system=with_system,
                )
            )
        ]


def _grouping_sentences(
    audit: Audit,
    groups: Sequence[GroupResult],
    by_grouping: str,
    *,
    has_figures: bool,
    has_joint_tests: bool = True,
) -> Iterator[Sentence]:
    """Yield one sentence for each error type, the largest ratio first; with figures if asked.

    `by_grouping` names the grouping in sentences, where there are several. Tests of all groups
    together follow if asked.
    """
    if len(groups) == 1:
        yield [
            Phrase(sentence_text("only_one_group", by_grouping=by_grouping, group=groups[0].group))
        ]
        return
    sentences = [
        _frequency_sentence(
            metric, worse, better, _sentence_condition(audit, metric), has_figures=has_figures
        )
        for metric, (worse, better) in _differing_groups(audit, groups).items()
    ]
    if len(groups) == PAIR_SIZE:
        sentences = [_with_other_group(sentence, groups) for sentence in sentences]
    if has_joint_tests:
        sentences += ([Phrase(words)] for words in _joint_differences(audit, groups, by_grouping))
    yield from sentences or [[Phrase(_equivalent_sentence(audit, groups, by_grouping))]]


def _differing_groups(
    audit: Audit, groups: Sequence[GroupResult]
) -> dict[str, tuple[list[GroupComparisons], list[GroupComparisons]]]:
    """Return the worse and the better groups by error type, the largest ratio first."""
    worse, better = (
        {metric: _groups_with_verdict(groups, metric, code) for metric in error_types(audit)}
        for code in _DIFFERENT_VERDICTS
    )
    differing = [metric for metric in error_types(audit) if worse[metric] or better[metric]]
    differing.sort(
        key=lambda metric: (-_largest_distance(worse[metric]), -_largest_distance(better[metric]))
    )
    return {metric: (worse[metric], better[metric]) for metric in differing}


def _headline_comparisons(audit: Audit, groups: Sequence[GroupResult]) -> list[GroupComparison]:
    """Return what `_findings` first states as different; empty if nothing is."""
    if not groups or not _are_judged(audit, groups):
        return []
    _, first_groups = _groups_by_grouping(groups)[0]
    for worse, better in _differing_groups(audit, first_groups).values():
        return [comparison for _, comparisons in [*worse, *better] for comparison in comparisons]
    return []


def _sentence_condition(audit: Audit, metric: str) -> str:
    """Return what an error holds for, as the beginning of a sentence on it; may be empty."""
    if metric == "sfar":
        return f"{attacks_text(audit)}, "
    return f"with {gallery_text(audit)} enrolled, " if is_identification(audit) else ""


def _with_other_group(sentence: Sentence, pair: Sequence[GroupResult]) -> Sentence:
    """Return a sentence on one of two groups with the other one named behind it."""
    positions = [i for i, phrase in enumerate(sentence) if phrase.verdict in _DIFFERENT_VERDICTS]
    if len(positions) != 1:
        return sentence
    (position,) = positions
    other_group = next(group.group for group in pair if group.group != sentence[position].text)
    than = [Phrase(" than among "), Phrase(other_group, REFERENCE_GROUP)]
    return [*sentence[: position + 1], *than, *sentence[position + 1 :]]


def _equivalent_sentence(audit: Audit, groups: Sequence[GroupResult], by_grouping: str) -> str:
    """Return that groups are equivalent, or how many comparisons are inconclusive."""
    reference, margin = audit.record["options"]["reference"][0], audit.record["options"]["margin"]
    comparisons = _counted_comparisons(groups, reference)
    codes = [comparison.verdict for comparison in comparisons]
    if not codes:
        return "The same"
    if all(code == "equivalent" for code in codes):
        return sentence_text(
            "groups_equivalent_within_margin",
            by_grouping=by_grouping,
            reference=findings.reference_text(audit),
            margin=margin,
        )
    n_conditional = sum(comparison.reason_code == "because_of" for comparison in comparisons)
    better = " (" + sentence_text("better_but_for_worst_group", groups=n_conditional) + ")"
    return sentence_text(
        "no_group_worse_or_better",
        by_grouping=by_grouping,
        inconclusive_share=_inconclusive_share(codes),
        better=better if n_conditional else "",
    )


def _inconclusive_share(codes: Sequence[str]) -> str:
    """Return how many of some verdicts are inconclusive, in words."""
    n_inconclusive = codes.count("inconclusive")
    if len(codes) == 1:
        return sentence_text("only_comparison_inconclusive")
    if n_inconclusive < len(codes):
        share = f"{count_text(n_inconclusive)} of {count_text(len(codes))}"
    elif len(codes) == PAIR_SIZE:
        share = "both"
    else:
        share = f"all {count_text(len(codes))}"
    return sentence_text("comparisons_inconclusive", share=share)


def _groups_with_verdict(
    groups: Sequence[GroupResult], metric: str, code: str
) -> list[GroupComparisons]:
    """Return groups with that verdict on an error, each with the systems, the furthest first."""
    with_comparisons = [
        (
            group,
            [
                comparison
                for comparison in group.comparisons[metric]
                if comparison.verdict == code and not comparison.worse_group
            ],
        )
        for group in groups
    ]
    with_verdict = [(group, comparisons) for group, comparisons in with_comparisons if comparisons]
    return sorted(with_verdict, key=lambda group: -_largest_distance([group]))


def _largest_distance(groups: Sequence[GroupComparisons]) -> float:
    """Return how far the furthest of some groups is from the reference, on a log scale."""
    return max(
        (comparison.log_distance for _, comparisons in groups for comparison in comparisons),
        default=0.0,
    )


def _frequency_sentence(
    metric: str,
    worse: list[GroupComparisons],
    better: list[GroupComparisons],
    condition: str,
    *,
    has_figures: bool,
) -> Sentence:
    """Return among whom an error is more and less frequent, and how many times in which system.

    `condition` stands before the error.
    """
    system = _only_system(metric, [*worse, *better]) if has_figures else ""
    error_type = f"{condition}{ERROR_TYPES[metric]}"
    start = f"With {system}, {error_type} are" if system else f"{capitalised(error_type)} are"
    phrases, units = [Phrase(start)], chain((" times as frequent",), repeat(" times"))
    for frequency, code, groups in (("more", "worse", worse), ("less", "better", better)):
        if groups:
            joint = ", and" if len(phrases) > 1 else ""
            phrases.append(Phrase(f"{joint} {frequency} frequent among "))
            phrases += _group_phrases(
                metric, code, groups, units, has_figures=has_figures, is_one_system=bool(system)
            )
    phrases += _attack_phrases([*worse, *better])
    return phrases


def _attack_phrases(groups: Sequence[GroupComparisons]) -> Iterator[Phrase]:
    """Yield what differences in spoof accepts depend on: the attacks, and their shares."""
    pairs = [(group, comparison) for group, comparisons in groups for comparison in comparisons]
    if any(comparison.reason_code == ATTACK_DEPENDENT for _, comparison in pairs):
        yield Phrase(". " + sentence_text("may_not_hold_for_other_attacks"))
    standardised_pairs = [
        (group, comparison) for group, comparison in pairs if comparison.equal_weight
    ]
    if standardised_pairs:
        group, comparison = standardised_pairs[0]
        group_text = ""
        if len(pairs) > 1:
            system = f" with {comparison.system}" if group.n_systems > 1 else ""
            group_text = f" ({group.name}{system})"
        yield Phrase(f". {capitalised(comparison.equal_weight)}{group_text}")


def _only_system(metric: str, groups: Sequence[GroupComparisons]) -> str:
    """Return the one of several systems in which all of these groups differ; empty for none."""
    differing = {comparison.system for _, comparisons in groups for comparison in comparisons}
    first_group, _ = groups[0]
    n_systems = len(first_group.comparisons[metric])
    if n_systems == 1 or len(differing) != 1:
        return ""
    (system,) = differing
    return system


def _group_phrases(
    metric: str,
    code: str,
    groups: list[GroupComparisons],
    units: Iterator[str],
    *,
    has_figures: bool,
    is_one_system: bool,
) -> Iterator[Phrase]:
    """Yield the names of groups, with ratios or with the systems in which they differ.

    `units` are the words behind each next ratio.
    """
    named, n_more = groups[:_MAX_NAMED], len(groups) - _MAX_NAMED
    for i, (group, comparisons) in enumerate(named):
        n_systems = len(group.comparisons[metric])
        if i:
            yield Phrase(" and " if i == len(named) - 1 and n_more <= 0 else ", ")
        yield Phrase(group.group, code)
        if has_figures:
            ratios = _ratios_text(comparisons, 1 if is_one_system else n_systems, units)
            yield Phrase(f" ({ratios})" if len(groups) > 1 else f": {ratios}")
        elif len(comparisons) > _MAX_NAMED:
            yield Phrase(f" ({len(comparisons)} of {n_systems} systems)")
        elif n_systems > 1:
            yield Phrase(f" (with {_systems_text(comparisons, n_systems)})")
    if n_more > 0:
        yield Phrase(f" {_more_groups(n_more)}")


def _systems_text(comparisons: Sequence[GroupComparison], n_systems: int) -> str:
    """Return in which of several systems a group differs."""
    if len(comparisons) < n_systems:
        return ", ".join(comparison.system for comparison in comparisons)
    return "both systems" if n_systems == PAIR_SIZE else f"all {n_systems} systems"


def _ratios_text(
    comparisons: Sequence[GroupComparison], n_systems: int, units: Iterator[str]
) -> str:
    """Return how many times as frequent, with each of several systems; of many, the range."""
    if n_systems == 1:
        return _ratio_text(comparisons[0], next(units))
    if len(comparisons) > _MAX_NAMED:
        ratios = [comparison.ratio for comparison in comparisons if comparison.ratio is not None]
        times = short_number(min(ratios))
        if max(ratios) > min(ratios):
            times += f" to {short_number(max(ratios))}"
        return f"{times}{next(units)} with {len(comparisons)} of {n_systems} systems"
    return ", ".join(
        f"{_ratio_text(comparison, unit)} with {comparison.system}"
        for comparison, unit in zip(comparisons, units, strict=False)
    )


def _ratio_text(comparison: GroupComparison, unit: str) -> str:
    """Return how many times as frequent, with its interval and the shrinkage estimate."""
    estimate = ""
    if comparison.best_guess:
        estimate = f" (shrinkage estimate {comparison.best_guess})"
    interval = interval_text(comparison.low, comparison.high)
    return f"{short_number(comparison.ratio)}{unit} {interval}{estimate}"


def _joint_differences(
    audit: Audit, groups: Sequence[GroupResult], by_grouping: str
) -> Iterator[str]:
    """Yield in which error groups are shown to differ all at once, where no single group is."""
    level = 1 - audit.record["options"]["confidence"]
    p_of_system: dict[tuple[str, str], dict[str, float]] = {}
    for scope in scopes(audit):
        point = first_point_name(audit, scope.filters)
        if scope.grouping_label != groups[0].grouping or point is None:
            continue
        system = system_label(scope.system, scope.list)
        # a row without a group is the test of all groups together
        rows = audit.verdicts.subset(**scope.filters, operating_point=point, group="").rows()
        for row in rows:
            metric, p = row["metric"], row["p_holm"]
            if metric not in ERROR_TYPES or p is None or p >= level:
                continue
            codes = {
                comparison.verdict
                for group in groups
                for comparison in group.comparisons[metric]
                if comparison.system == system
            } - {""}
            if codes and not codes & {*_DIFFERENT_VERDICTS, "equivalent"}:
                assumption = f", {reason_text(row)}" if row["reason"] else ""
                p_of_system.setdefault((metric, assumption), {})[system] = p
    for (metric, assumption), p_values in p_of_system.items():
        names = ""
        if len(systems(audit)) > 1:
            names = f"with {', '.join(shortened_names([*p_values], most=_MAX_NAMED))}, "
        p_text = _largest_p_text(list(p_values.values()))
        each = "each " if len(p_values) > 1 else ""
        yield capitalised(
            sentence_text(
                "rates_not_equal",
                systems=names,
                rates=_RATE_NAMES[metric],
                by_grouping=by_grouping,
                each=each,
                p=p_text,
                assumption=assumption,
            )
        )


def _largest_p_text(p_values: Sequence[float]) -> str:
    """Return a p value, or the largest of several."""
    return p_value(max(p_values), is_largest=len(p_values) > 1)


def _limit_findings(audit: Audit) -> Iterator[str]:
    """Yield which groups do not meet each limit at each point, and which are inconclusive."""
    rows_of_limit: dict[str, list[Row]] = {}
    for row in findings.limit_rows(audit, {}):
        rows_of_limit.setdefault(findings.limit_text(audit, row), []).append(row)
    for limit, rows in rows_of_limit.items():
        names_of_verdict = _names_by_verdict(audit, rows)
        not_met = names_of_verdict.get("not_met", [])
        inconclusive = names_of_verdict.get("inconclusive", [])
        outcomes = []
        if not_met:
            names = ", ".join(shortened_names(not_met, most=_MAX_LIMITED_GROUPS))
            outcomes.append(f"not met by {names}")
        if inconclusive:
            names = ", ".join(shortened_names(inconclusive, most=_MAX_LIMITED_GROUPS))
            outcomes.append(f"inconclusive for {names}")
        if not outcomes:
            met = names_of_verdict.get("met", [])
            outcomes.append(f"met by {met[0] if len(met) == 1 else 'all'}")
        groups = {(row["grouping"], row["group"]) for row in rows if row["group"] != POOLED}
        separately = " (each group judged separately)" if len(groups) > 1 else ""
        yield f"{limit}{separately}: {'; '.join(outcomes)}"


def _names_by_verdict(audit: Audit, limit_rows: Sequence[Row]) -> dict[str, list[str]]:
    """Return the groups that came to each verdict on a limit, those with the largest rate first."""
    has_several_systems = len(systems(audit)) > 1
    names_of_verdict: dict[str, dict[str, None]] = {}
    for row in sorted(limit_rows, key=lambda row: -(row["value"] or 0)):
        name = group_of_limit(row["group"])
        if has_several_systems:
            name += f" with {system_label(row['system'], row['list'])}"
        # the pooled rate is in the table under each grouping, and named once
        names_of_verdict.setdefault(row["verdict"], {})[name] = None
    return {code: list(names) for code, names in names_of_verdict.items()}


def _more_groups(n: int) -> str:
    """Return how many groups are not named, as the end of a list."""
    return f"and {n} more {'group' if n == 1 else 'groups'}"


# ---- what was audited


def _size(audit: Audit) -> Iterator[str]:
    """Yield how many trials, speakers and systems were audited; of several lists, the range."""
    if is_identification(audit):
        yield from search_sizes(audit)
        return
    pooled_rows = [
        audit.groups.subset(**system, grouping="all", within="").rows() for system in systems(audit)
    ]
    first_rows = [rows[0] for rows in pooled_rows if rows]
    n_trials = {row["target_trials"] + row["nontarget_trials"] for row in first_rows}
    n_speakers = {row["speakers"] for row in first_rows} - {None}
    if "sfar" in error_types(audit):
        yield _class_sizes(audit, pooled_rows)
        n_trials = set()
    for counts, noun in ((n_trials, "trial"), (n_speakers, "speaker")):
        if counts:
            yield f"{_lower_end(counts)}{count_of(max(counts), noun)}"
    if only := audit.record["options"].get("only"):
        yield f"only {', '.join(only)}"
    n_files = len([entry for entry in audit.provenance if entry.get("role") == "scores"])
    # development scores are among the files, too
    has_parts = not audit.record.get("development") and n_files > len(systems(audit))
    if len(systems(audit)) == 1:
        (system,) = systems(audit)
        in_files = f", {n_files} files" if has_parts else ""
        yield f"1 system ({system_label(system['system'], system['list'])}{in_files})"
        return
    n_systems = len({system["system"] for system in systems(audit)})
    n_lists = len({system["list"] for system in systems(audit)})
    on_lists = f" on {n_lists} lists" if n_lists > 1 else ""
    in_files = f" in {n_files} files" if has_parts else ""
    yield f"{n_systems} systems{on_lists}{in_files}"


def _class_sizes(audit: Audit, pooled_rows: Sequence[Sequence[Row]]) -> str:
    """Return how many trials of each class there are, given the rows of all trials by system."""
    sizes = [
        (
            rows[0]["target_trials"],
            rows[0]["nontarget_trials"],
            next((row["trials"] for row in rows if row["metric"] == "sfar"), 0),
        )
        for rows in pooled_rows
        if rows
    ]
    n_attacks = len(audit.record.get("attacks", ()))
    attacks = f" by {count_of(n_attacks, 'attack')}" if n_attacks else ", attack unknown"
    n_trials = {sum(counts) for counts in sizes}
    classes = (
        f"{_lower_end(counts)}{count_text(max(counts))} {noun}"
        for counts, noun in zip(
            map(set, zip(*sizes, strict=True)), ("target", "nontarget", "spoof"), strict=True
        )
    )
    return (
        f"{_lower_end(n_trials)}{count_of(max(n_trials), 'trial')} ({', '.join(classes)}{attacks})"
    )


def _lower_end(counts: Collection[int]) -> str:
    """Return the start of a range of counts; empty if all are equal."""
    return f"{count_text(min(counts))} to " if len(counts) > 1 else ""


def _threshold_text(audit: Audit) -> str:
    """Return where the threshold of the first operating point stands, in words."""
    points_of_systems = [located_points(audit, system) for system in systems(audit)]
    first_points = [points[0] for points in points_of_systems if points]
    if is_identification(audit):
        return identification_threshold(audit, first_points)
    says_limit = "sfar" in error_types(audit)
    descriptions = list(
        dict.fromkeys(
            f"{point_in_short(row, says_limit=says_limit)} ({_point_label(audit, row)})"
            for row in first_points
        )
    )
    if not descriptions:
        return "no threshold"
    # decisions are made at the threshold of each trial
    are_decisions = all(point_as_given(row) == "deployed" for row in first_points)
    if are_decisions and (rules := audit.record.get("thresholds")):
        return sentence_text("thresholds_of_rule_file", attribute=rules["by"])
    words = "; ".join(descriptions)
    if are_decisions:
        return words
    if first_stages := audit.record.get("countermeasure_thresholds"):
        return _cascade_text(first_points, first_stages.values(), words)
    threshold = "one common threshold"
    if len(systems(audit)) > 1:
        threshold = "one threshold per system, common to all groups"
    kinds = {point_as_given(row).partition("=")[0] for row in first_points}
    is_target_reached = not any(map(_misses_target, first_points))
    link = ", at which" if is_target_reached and kinds <= {*_TARGET_RATES, "eer"} else ":"
    if all(map(_is_set_on_development, first_points)):
        link, words = ",", _development_thresholds_text(audit, first_points)
    return f"{threshold}{link} {words}"


def _cascade_text(
    first_points: Sequence[Row], first_stage_thresholds: Iterable[float], words: str
) -> str:
    """Return what both stages of a cascade accept; `words` are on the second one's threshold."""
    numbers = dict.fromkeys(f"{threshold:.4g}" for threshold in first_stage_thresholds)
    first = sentence_text("countermeasure_accepts", thresholds=" or ".join(numbers))
    points = [point_as_given(row).partition("=") for row in first_points]
    if all(kind == "threshold" for kind, _, _ in points):
        settings = dict.fromkeys(setting for _, _, setting in points)
        return sentence_text(
            "countermeasure_and_asv_score", countermeasure=first, thresholds=" or ".join(settings)
        )
    return sentence_text(
        "countermeasure_and_common_threshold", countermeasure=first, operating_points=words
    )


def _point_label(audit: Audit, row: Row) -> str:
    """Return the name of an operating point; of the smallest a-DCF, the cost model and the cost."""
    if not point_as_given(row).startswith("min-adcf"):
        return str(row["operating_point"])
    if row["cdet_norm"] is None or audit.record["options"]["cost"][0] != row["definition"]:
        return str(row["definition"])
    return f"{row['definition']}: {row['cdet_norm']:.4f}"


_TARGET_RATES = ("fpr", "fnr", "sfar", "fnir", "fpir")
"""Rates that an operating point can hold."""
_POINT_DESCRIPTIONS = {
    "eer": sentence_text("error_types_equally_frequent"),
    "bayes": sentence_text("likelihood_ratio_threshold"),
    "deployed": sentence_text("decisions_as_made"),
}


def _event_text(rate: str, share: str) -> str:
    """Return which share of trials or searches is an error of this rate."""
    return {
        "fpr": sentence_text("nontarget_trials_accepted", share=share),
        "fnr": sentence_text("target_trials_rejected", share=share),
        "sfar": sentence_text("spoof_trials_accepted", share=share),
        "fnir": sentence_text("mated_searches_missed", share=share),
        "fpir": sentence_text("nonmated_searches_answered", share=share),
    }[rate]


def _is_set_on_development(row: Row) -> bool:
    """Return whether a threshold was searched on development trials."""
    point = point_as_given(row)
    is_searched = point.startswith((*_TARGET_RATES, "eer", "min-cdet"))
    return is_searched and row.get("source") == DEVELOPMENT_TRIALS


def _development_aim(row: Row) -> str:
    """Return what a threshold was set for on development trials, which may have missed it."""
    kind, _, setting = point_as_given(row).partition("=")
    aim = sentence_text("equal_fpr_and_fnr")
    if kind in _TARGET_RATES:
        aim = sentence_text("rate_in_short", rate=kind.upper(), percent=100 * float(setting))
    elif kind.startswith("min-cdet"):
        aim = sentence_text("lowest_cost")
    return sentence_text("threshold_set_on_development", aim=aim)


def _rate_reached_here(row: Row) -> str:
    """Return the rate on the audited trials of a threshold for this rate; empty if unknown."""
    kind, _, _ = point_as_given(row).partition("=")
    reached_rate = row.get(kind) if kind in _TARGET_RATES else None
    return "" if reached_rate is None else percent(reached_rate)


def _development_thresholds_text(audit: Audit, first_points: Sequence[Row]) -> str:
    """Return what the threshold of each system was set for, and which rate it has here."""
    aims = dict.fromkeys(
        f"{_development_aim(row)} ({_point_label(audit, row)})" for row in first_points
    )
    reached_rates = []
    for row in first_points:
        if reached := _rate_reached_here(row):
            label = system_label(row["system"], row["list"])
            reached_rates.append(f"{reached} ({label})" if len(first_points) > 1 else reached)
    here = f"; here {', '.join(reached_rates)}" if reached_rates else ""
    return f"{'; '.join(aims)}{here}"


def _misses_target(row: Row) -> bool:
    """Return whether the rate that an operating point holds is far from its target."""
    kind, _, setting = point_as_given(row).partition("=")
    reached_rate = row.get(kind) if kind in _TARGET_RATES else None
    return reached_rate is not None and is_far_from_target(float(setting), reached_rate)


def point_in_short(row: Row, *, says_limit: bool = False) -> str:
    """Return an operating point in a few words.

    With `says_limit`, a rate that stays below what was asked for is called at most this.

    Examples
    --------
    >>> point_in_short({"operating_point": "fpr=0.01"}), point_in_short({"operating_point": "eer"})
    ('1 % of nontarget trials are accepted', 'both error types are equally frequent')
    >>> row = {"operating_point": "fpr=0.01", "source": "these trials", "fpr": 0.00938}
    >>> point_in_short(row, says_limit=True)
    'at most 1 % of nontarget trials are accepted'
    """
    point = point_as_given(row)
    kind, _, setting = point.partition("=")
    if _is_set_on_development(row):
        reached = _rate_reached_here(row)
        return _development_aim(row) + (f"; here {reached}" if reached else "")
    if kind in _TARGET_RATES:
        return _target_rate_text(row, says_limit=says_limit)
    if kind == "threshold":
        return f"a score of {setting}"
    if point.startswith("min-adcf") and row.get("threshold") is not None:
        source = "the audited trials" if row["source"] == SAME_TRIALS else row["source"]
        return f"{row['threshold']:.4g}, set on {source} to minimise a-DCF"
    if point.startswith(("min-cdet", "min-adcf")):
        return "the threshold with the minimum cost"
    return _POINT_DESCRIPTIONS.get(point, point)


def _target_rate_text(row: Row, *, says_limit: bool) -> str:
    """Return the rate that a threshold was set for on the audited trials, or what it is instead."""
    kind, _, setting = point_as_given(row).partition("=")
    target_rate = float(setting)
    if _misses_target(row):
        return f"set for {100 * target_rate:g} %, but {_event_text(kind, percent(row[kind]))}"
    reached_rate = row.get(kind)
    is_below = says_limit and reached_rate is not None and reached_rate < target_rate
    at_most = "at most " if is_below and row["source"] == SAME_TRIALS else ""
    return _event_text(kind, f"{at_most}{100 * target_rate:g} %")


def _pooled_rates(audit: Audit) -> Iterator[PooledRates]:
    """Yield both errors of all trials together, in every system."""
    points_of_systems = [located_points(audit, system) for system in systems(audit)]
    kinds = {point_as_given(points[0]).partition("=")[0] for points in points_of_systems if points}
    is_set_here = not audit.record.get("development")
    for metric in error_types(audit):
        rates, details, has_trials = [], [], False
        for system in systems(audit):
            row = _pooled_row(audit, system, metric)
            label = system_label(system["system"], system["list"])
            rates.append((label, _pooled_rate_text(audit, system, metric, row)))
            details.append(_pooled_rate_details(audit, metric, row))
            has_trials |= row is None or row["reason"] != NO_TRIALS[metric]
        yield PooledRates(
            metric,
            rates,
            details,
            has_trials,
            is_set_by_threshold=is_set_here and kinds == {metric},
        )


def _pooled_row(audit: Audit, system: Row, metric: str) -> Row | None:
    """Return the rate of all trials of a system at the first operating point, if there is one."""
    point = first_point_name(audit, system)
    filters = {**system, "grouping": "all", "within": "", "metric": metric}
    rows = audit.groups.subset(**filters, operating_point=point, definition="").rows()
    return rows[0] if rows and point else None


def _pooled_rate_details(audit: Audit, metric: str, row: Row | None) -> str:
    """Return what the rate of all searches consists of; empty for verification."""
    if row is None or row["value"] is None or not is_identification(audit):
        return ""
    return rate_details(audit, metric, row, errors_over_trials(row))


def _pooled_rate_text(audit: Audit, system: Row, metric: str, row: Row | None) -> str:
    """Return the rate of all trials of a system, or why there is none."""
    if row is None:
        return "no threshold"
    if row["value"] is not None:
        return percent(row["value"])
    reason = inconclusive_text(row)
    if row["reason"] == NO_TRIALS[metric]:
        reason += _exclusions_text(audit, system, metric)
    return reason


def _errors_without_trials(pooled_rates: Sequence[PooledRates]) -> Iterator[str]:
    """Yield of which error nothing is known in any system, as it has no trials."""
    for pooled in pooled_rates:
        if not pooled.has_trials:
            reasons = "; ".join(dict.fromkeys(rate for _, rate in pooled.rates))
            yield sentence_text(
                "error_without_trials", error_type=ERROR_TYPES[pooled.metric], reasons=reasons
            )


def _exclusions_text(audit: Audit, system: Row, metric: str) -> str:
    """Return which trials were excluded, where none of a class is left; empty for none."""
    exclusions = [caveat.short for caveat in findings.excluded_trials(audit, system, metric)]
    exclusions.append(findings.unscored_trials_text(audit, system))
    exclusions += [caveat.short for caveat in findings.placeholder_speakers(audit, system)]
    words = "; ".join(filter(None, exclusions))
    return f" left ({words})" if words else ""


# ---- systems against each other


class SystemFinding(NamedTuple):
    """How systems compare, in a sentence."""

    words: str
    has_p: bool


def _system_findings(audit: Audit, groups: Sequence[GroupResult]) -> Iterator[SystemFinding]:
    """Yield which system has fewest errors, and which of two is fairer, where groups are judged."""
    if not _are_judged(audit, groups):
        return
    (_, first_groups), *_ = _groups_by_grouping(groups)
    yield from _better_systems(audit)
    yield from _fairer_systems(audit, first_groups)


def _adjusted_p_values(rows: Sequence[Row]) -> list[float]:
    """Return the p values of rows, adjusted for their number (Holm); NaN where there is none."""
    adjusted: list[float] = holm(
        [math.nan if row["p"] is None else row["p"] for row in rows]
    ).tolist()
    return adjusted


def _better_systems(audit: Audit) -> Iterator[SystemFinding]:
    """Yield which system has fewest errors of each type at the first operating point, if compared.

    Of several, each is held against each, so p allows for all pairs (Holm).
    """
    points = located_points(audit, systems(audit)[0])
    level = 1 - audit.record["options"]["confidence"]
    for metric in error_types(audit):
        if not points or point_as_given(points[0]).startswith(f"{metric}="):
            continue  # there is no point, or each system is set to have as many
        rows = audit.comparison.subset(
            grouping="all",
            metric=metric,
            measure="value",
            within="",
            operating_point=points[0]["operating_point"],
            definition="",
        ).rows()
        rows = [row for row in rows if row["difference"] is not None]
        if not rows:
            continue
        rates: dict[str, float] = {}
        outcomes: dict[str, dict[str, tuple[float, bool]]] = {}
        for row, p in zip(rows, _adjusted_p_values(rows), strict=True):
            first_system = system_label(row["system"], row["list"])
            second_system = system_label(row["other_system"], row["other_list"])
            rates |= {first_system: row["value"], second_system: row["other"]}
            excludes_zero = not (row["low"] or 0) <= 0 <= (row["high"] or 0)
            is_sure = p < level and excludes_zero
            outcomes.setdefault(first_system, {})[second_system] = p, is_sure
            outcomes.setdefault(second_system, {})[first_system] = p, is_sure
        best = min(outcomes, key=lambda system: rates[system])
        sentence = _best_system_sentence(metric, best, rates, outcomes[best])
        # of two systems, any p is shown; of several, only that of a difference
        has_p = any(
            is_shown or (len(outcomes[best]) == 1 and not math.isnan(p))
            for p, is_shown in outcomes[best].values()
        )
        yield SystemFinding(sentence + _common_trials_text(rows), has_p)


def _fairer_systems(audit: Audit, groups: Sequence[GroupResult]) -> Iterator[SystemFinding]:
    """Yield which of two systems is fairer, by error, to each group that is worse off in either.

    The group's ratio must differ between them for the number of groups and errors (Holm), and the
    smaller one surely not be as far below 1 as the larger one is above.
    """
    worse = [
        (group, metric)
        for group in groups
        for metric in error_types(audit)
        if any(comparison.verdict == "worse" for comparison in group.comparisons[metric])
    ]
    rows = _ratio_comparison_rows(audit, groups[0].grouping)
    if len(systems(audit)) != PAIR_SIZE or not rows or not worse:
        return
    row_of = {
        (row["group"], row["metric"]): (row, p)
        for row, p in zip(rows, _adjusted_p_values(rows), strict=True)
    }
    reference = audit.record["options"]["reference"][0]
    level = 1 - audit.record["options"]["confidence"]
    sentences = []
    for group, metric in worse:
        row, p = row_of.get((group.group, metric), ({}, math.nan))
        if not p < level:
            continue
        ratios = zip((row["value"], row["other"]), group.comparisons[metric], strict=True)
        (lower_ratio, fairer), (higher_ratio, less_fair) = sorted(
            ratios, key=lambda ratio: float(ratio[0])
        )
        # a ratio below 1 may be as unfair as one above it: the product of both lower limits must
        # exceed 1 for the smaller ratio to be surely nearer to 1
        is_surely_nearer = (fairer.low or 0) * (less_fair.low or 0) > 1
        if less_fair.verdict == "worse" and is_surely_nearer:
            compared_with = findings.reference_text(audit)
            if _is_pair(groups, reference):
                (compared_with,) = (other.group for other in groups if other.group != group.group)
            sentences.append(
                sentence_text(
                    "fairer_system",
                    error_type=ERROR_TYPES[metric],
                    group=group.group,
                    reference=compared_with,
                    fairer=fairer.system,
                    less_fair=less_fair.system,
                    lower_ratio=short_number(lower_ratio),
                    higher_ratio=short_number(higher_ratio),
                    p=p_value(p),
                    on_trials=_common_trials_text(rows),
                )
            )
    if sentences:
        yield from (SystemFinding(words, has_p=True) for words in sentences[:_MAX_NAMED])
        return
    first_group, first_metric = worse[0]
    names = " or ".join(each.system for each in first_group.comparisons[first_metric])
    words = sentence_text(
        "fairer_system_unknown", systems=names, on_trials=_common_trials_text(rows)
    )
    yield SystemFinding(words, has_p=False)


def _ratio_comparison_rows(audit: Audit, grouping_label: str) -> list[Row]:
    """Return the comparisons of both errors' ratios between systems at the first point."""
    points = located_points(audit, systems(audit)[0])
    scope = next(scope for scope in scopes(audit) if scope.grouping_label == grouping_label)
    rows = audit.comparison.subset(
        grouping=scope.grouping,
        allocation=scope.allocation,
        within="",
        measure="ratio",
        reference=audit.record["options"]["reference"][0],
        zero="none",
        operating_point=points[0]["operating_point"] if points else "",
    ).rows()
    return [row for row in rows if row["metric"] in ERROR_TYPES]


def _common_trials_text(rows: Sequence[Row]) -> str:
    """Return that systems are compared on only some of their trials, if so; else empty."""
    if all(row["speakers"] == COMMON_TRIALS for row in rows):
        return ", on the trials in common"
    return ""


def _best_system_sentence(
    metric: str, best: str, rates: Mapping[str, float], outcomes: Mapping[str, tuple[float, bool]]
) -> str:
    """Return how sure it is that a system has fewer errors than each of the others.

    `outcomes` has, of each other system, the adjusted p and whether the difference is shown.
    """
    than_one, than_all = _SYSTEM_CLAIMS[metric]
    rate_of = {system: percent(rate) for system, rate in rates.items()}
    beaten_p_values = [p for p, is_shown in outcomes.values() if is_shown]
    inconclusive = [system for system, (_, is_shown) in outcomes.items() if not is_shown]
    if len(outcomes) == 1:
        ((second, (p, _)),) = outcomes.items()
        words = sentence_text(
            "better_system_unknown", system=best, other_system=second, claim=than_one
        )
        if beaten_p_values:
            words = f"{best} {than_one} than {second}"
        p_text = "" if math.isnan(p) else f", {p_value(p)}"
        return f"{words}: {rate_of[best]} against {rate_of[second]}{p_text}"
    if not beaten_p_values:
        return sentence_text("best_system_unknown", claim=than_all, system=best, rate=rate_of[best])
    each = "each " if len(beaten_p_values) > 1 else ""
    p_text = f"{each}adjusted {_largest_p_text(beaten_p_values)}"
    if not inconclusive:
        return sentence_text(
            "best_of_all_systems",
            system=best,
            claim=than_all,
            rate=rate_of[best],
            other_systems=len(outcomes),
            p=p_text,
        )
    inconclusive_names = ", ".join(shortened_names(inconclusive, most=_MAX_NAMED))
    return sentence_text(
        "best_of_some_systems",
        system=best,
        rate=rate_of[best],
        claim=than_one,
        beaten=len(beaten_p_values),
        other_systems=len(outcomes),
        p=p_text,
        inconclusive=inconclusive_names,
    )


def _comparisons_text(audit: Audit, groups: Sequence[GroupResult], n_comparisons: int) -> str:
    """Return how many comparisons there are, and of what."""
    n_systems, reference = len(systems(audit)), audit.record["options"]["reference"][0]
    n_groups = n_pairs = 0
    for _, same_grouping in groupby(groups, key=lambda group: group.grouping):
        compared = [
            group
            for group in same_grouping
            if any(comparison.verdict for comparison in group.all_comparisons())
        ]
        if _is_pair(compared, reference):
            n_pairs += 1
        else:
            n_groups += sum(
                any(each.reason_code != IS_REFERENCE for each in group.all_comparisons())
                for group in compared
            )
    n_error_types = len(error_types(audit))
    words = count_of(n_comparisons, "comparison")
    if any(len(located_points(audit, system)) > 1 for system in systems(audit)):
        words += at_first_point(audit)
    # not where some groups lack one of the error types
    if n_systems * (n_groups + n_pairs) * n_error_types == n_comparisons:
        parts = [count_of(n_groups, "group")] if n_groups else []
        if n_pairs:
            parts.append(f"{count_of(n_pairs, 'pair')} of groups")
        of_groups = f"({' + '.join(parts)})" if len(parts) > 1 else "".join(parts)
        factors = [of_groups, count_of(n_error_types, "error type")]
        if n_systems > 1:
            factors.insert(0, f"{n_systems} systems")
        words += f": {' × '.join(factors)}"
    if n_groups:
        words += "; " + sentence_text(
            "each_group_compared_with", reference=findings.reference_text(audit)
        )
    return words
