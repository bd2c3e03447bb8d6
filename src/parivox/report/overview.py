"""What is seen first of an audit: the finding, of how many groups, what weakens it.

Terminal, page, notebook and Markdown begin with it, in the same words and the same order.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from parivox.auditing import (
    MISSING_SCORES,
    MISSING_TARGETS,
    NO_TRIALS,
    SAME_TRIALS,
    is_far_from_target,
)
from parivox.core import verdict
from parivox.report import findings
from parivox.report.audit_queries import (
    ERROR_TYPES,
    IS_REFERENCE,
    POOLED,
    VERDICTS,
    first_point_name,
    located_points,
    point_as_given,
    rates_by_group,
    scopes,
    scopes_by_grouping,
    small_groups,
    system_label,
    systems,
    verdicts_by_metric,
)
from parivox.report.sheets.comparison import pairs
from parivox.report.sheets.groups import errors_over_trials
from parivox.report.words import (
    capitalised,
    count_of,
    count_text,
    interval_text,
    p_value,
    percent,
    short_number,
    shortened_names,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.audit_queries import Scope
    from parivox.report.words import Row

_MOST_NAMED = 3
"""Groups named in a sentence, with what is said of each."""
_MOST_SMALL = 10
"""Groups named with what they have too little of."""
_DIFFERS = ("worse", "better")
_PAIR = 2
"""Groups that are compared with each other, and so once."""
_RESTRICTED = "which are compared"
"""How the words end on systems that have but some of their trials in common."""
_RATES_OF = {"fnr": "false reject rates", "fpr": "false accept rates"}
_DOES = {
    "fnr": ("falsely rejects fewer target trials", "falsely rejects the fewest target trials"),
    "fpr": (
        "falsely accepts fewer nontarget trials",
        "falsely accepts the fewest nontarget trials",
    ),
}
"""What is said of the better of two systems, and of the best."""
_OTHER = "other"
_NOT_AMONG_SO_MANY = verdict.INCONCLUSIVE_REASONS["not_after_holm"]
_LIKELY = 0.5
_REASONS = {
    **{words: words for words in verdict.INCONCLUSIVE_REASONS.values()},
    verdict.INCONCLUSIVE_REASONS[
        "too_wide"
    ]: "interval too wide, usually from too few speakers or errors",
    verdict.INCONCLUSIVE_REASONS["no_errors"]: "no errors, but too few trials or speakers",
}
"""Why comparisons are inconclusive."""
_TOO_FEW = "too few speakers, errors or pairs, or not confirmed without the worst group"


class Phrase(NamedTuple):
    """Words of a sentence; `verdict` is that on the group that they name, empty of other words.

    The group that another is compared with has :data:`_OTHER`: a name, which stands apart as any.
    """

    text: str
    verdict: str = ""


Sentence = list[Phrase]


def plain_text(sentence: Sentence) -> str:
    """A sentence without what its words are of."""
    return "".join(part.text for part in sentence)


class GroupComparison(NamedTuple):
    """One error of one group in one system, against the reference."""

    system: str
    rate: float | None
    ratio: float | None
    low: float | None
    high: float | None
    verdict: str
    """A code of verdicts, empty where nothing was judged."""
    p: float | None = None
    reason: str = ""
    """Why it can't be told, or why there is no rate."""
    best_guess: str = ""
    """The likely ratio, where power is low, as ratios that are found then look too large."""
    error_counts: str = ""
    """Errors and trials."""
    repeats_other_group: bool = False
    """Whether it says again, of one of two groups, that the other one is worse."""

    @property
    def is_shown_to_differ(self) -> bool:
        """Whether the group is shown to fare worse or better."""
        return self.verdict in _DIFFERS

    @property
    def log_distance(self) -> float:
        """How far it is from the reference, on a logarithmic scale; 0 where there is no ratio."""
        return abs(math.log(self.ratio)) if self.ratio else 0.0

    @property
    def fails_only_after_holm(self) -> bool:
        """Whether its p is low, yet not for the number of groups that were looked at."""
        return self.reason == _NOT_AMONG_SO_MANY and self.p is not None and self.p < _LIKELY


class GroupResult(NamedTuple):
    """One group, in both errors and every system, at the first operating point."""

    grouping: str
    group: str
    speakers: int | None
    comparisons: dict[str, list[GroupComparison]]
    allocation: str = ""
    """How nontarget trials were allotted, where that is not the first way asked for."""

    @property
    def name(self) -> str:
        """The group, apart from itself under the first allocation."""
        return f"{self.group} (by {self.allocation})" if self.allocation else self.group

    def all_comparisons(self) -> Iterator[GroupComparison]:
        """All that was judged of it."""
        for judged in self.comparisons.values():
            yield from judged

    @property
    def is_shown_to_differ(self) -> bool:
        """Whether it is shown to differ, in either error and any system."""
        return any(one.is_shown_to_differ for one in self.all_comparisons())


class PooledRates(NamedTuple):
    """One error of all trials together in every system."""

    metric: str
    rates: list[tuple[str, str]]
    """Of each system, or why there is none."""

    @property
    def sentence(self) -> str:
        """The error in every system."""
        several = len(self.rates) > 1
        told = ", ".join(f"{name} {rate}" if several else rate for name, rate in self.rates)
        return f"{capitalised(ERROR_TYPES[self.metric])} ({self.metric.upper()}): {told}"


class Caveat(NamedTuple):
    """What weakens a finding: in a few words, in a sentence, and the section that tells more."""

    short: str
    sentence: str
    anchor: str


class Overview(NamedTuple):
    """What is seen first."""

    size: list[str]
    threshold: str
    headline: Sentence
    further_findings: list[Sentence]
    pooled_rates: list[PooledRates]
    verdict_counts: dict[str, int]
    """How many comparisons came to each verdict; none where nothing was judged."""
    comparisons_text: str
    """How many comparisons there are, and of what."""
    confidence_note: str
    """What is confirmatory, and what comes of all the rest; empty where there are no verdicts."""
    inconclusive_note: str
    """Of how many comparisons it can't be told, and why; empty where of none."""
    groups: list[GroupResult]
    """Every group: those shown to differ first, the worst of all first."""
    caveats: list[Caveat]

    @property
    def finding_sentences(self) -> list[str]:
        """The finding, and what else is shown, in plain sentences."""
        return [f"{plain_text(one)}." for one in (self.headline, *self.further_findings)]

    @property
    def count_sentences(self) -> list[str]:
        """Both errors of everyone, and how many comparisons came to which verdict."""
        made = [one.sentence for one in self.pooled_rates]
        if self.verdict_counts:
            verdicts = ", ".join(
                f"{count_text(n)} {VERDICTS[code]}" for code, n in self.verdict_counts.items()
            )
            made.append(f"{capitalised(verdicts)}, of {self.comparisons_text}")
        return [f"{one}." for one in made]

    @property
    def notes(self) -> dict[str, str]:
        """How sure the finding is, and what is not known, each under its heading."""
        found = {"Confidence": self.confidence_note, "Inconclusive": self.inconclusive_note}
        return {heading: words for heading, words in found.items() if words}

    @property
    def data_sentence(self) -> str:
        """How much was audited, and at which threshold."""
        return f"{' · '.join((*self.size, self.threshold))}."

    @property
    def differing_groups(self) -> list[GroupResult]:
        """The groups that are shown to differ."""
        return [line for line in self.groups if line.is_shown_to_differ]

    def leading_groups(self, most: int) -> list[GroupResult]:
        """The groups to be seen first: those shown to differ, or else those of most speakers."""
        by_size = sorted(self.groups, key=lambda line: -(line.speakers or 0))[:most]
        return self.differing_groups[:most] or [line for line in self.groups if line in by_size]

    def groups_differing_in(self, metric: str) -> list[GroupResult]:
        """The groups shown to differ in one error, of each grouping the worse first."""
        made: list[GroupResult] = []
        for _, same in groupby(self.groups, key=lambda line: line.grouping):
            of = list(same)
            for code in _DIFFERS:
                made += [line for line, _ in _with(of, metric, code) if line not in made]
        return made


def overview(audit: Audit) -> Overview:
    """What is seen first of an audit, from its tables alone."""
    every = group_results(audit)
    sure, whole = findings.confidence_statement(audit), list(_whole(audit))
    missing = list(_missing_scores(audit))
    found = [[Phrase(words)] for words in (*missing, *_limits(audit))]
    found += _findings(audit, every, "exploratory, " if sure else "")
    judged = _comparisons(every, audit.record["options"]["reference"][0])
    counts = Counter(one.verdict for one in judged)
    tally = {code: counts[code] for code in VERDICTS}
    return Overview(
        size=list(_size(audit)),
        threshold=_threshold(audit),
        headline=found[0],
        further_findings=[*found[1:], *([Phrase(words)] for words in _never_tried(whole))],
        pooled_rates=whole,
        verdict_counts=tally if judged else {},
        comparisons_text=_compared(audit, every, len(judged)),
        confidence_note=sure if judged else "",
        inconclusive_note=_not_known(judged),
        groups=every,
        caveats=list({one.short: one for one in _caveats(audit)}.values()),
    )


# ---- groups


def group_results(audit: Audit) -> list[GroupResult]:
    """Every group of every grouping at the first operating point, in the one order of a report.

    What another allocation of nontarget trials leaves as it is, as it does all of FNR, is judged
    once.
    """
    made: list[GroupResult] = []
    first: dict[str, dict[str, GroupResult]] = {}
    for same in scopes_by_grouping(list(scopes(audit))):
        of_grouping: dict[str, GroupResult] = {}
        before = first.get(same[0].grouping, {})
        how = same[0].allocation if before else ""
        for scope in same:
            at = first_point_name(audit, scope.filters)
            rates = rates_by_group(audit, scope.filters)
            of = verdicts_by_metric(audit, {**scope.filters, "operating_point": at})
            for group in rates:
                if group == POOLED or at is None:
                    continue
                new = GroupResult(
                    scope.grouping_label, group, rates[group]["fnr", at]["speakers"], {}, how
                )
                line = of_grouping.setdefault(group, new)
                for metric in ERROR_TYPES:
                    row, judged = rates[group][metric, at], of.get(metric, {}).get(group)
                    line.comparisons.setdefault(metric, []).append(_judged(scope, row, judged))
        of_these = sorted((_anew(line, before) for line in of_grouping.values()), key=_order)
        if _are_a_pair(of_these, audit.record["options"]["reference"][0]):
            of_these = _mirrored(*of_these)
        made += of_these
        first.setdefault(same[0].grouping, of_grouping)
    return made


def _mirrored(*pair: GroupResult) -> list[GroupResult]:
    """Two groups, of which the one is better where, and as, the other is worse."""
    of: list[dict[str, list[GroupComparison]]] = [{}, {}]
    for metric in ERROR_TYPES:
        for place, (own, other) in enumerate(zip(pair, reversed(pair), strict=True)):
            of[place][metric] = [
                one._replace(repeats_other_group=(one.verdict, seen.verdict) == ("better", "worse"))
                for one, seen in zip(
                    own.comparisons[metric], other.comparisons[metric], strict=True
                )
            ]
    return [line._replace(comparisons=judged) for line, judged in zip(pair, of, strict=True)]


def _anew(line: GroupResult, before: Mapping[str, GroupResult]) -> GroupResult:
    """A group without verdicts on what was judged under the first allocation already."""
    if line.group not in before:
        return line
    told = before[line.group]
    of = {
        metric: [
            GroupComparison(
                one.system, one.rate, None, None, None, "", reason=f"as by {told.grouping}"
            )
            if metric == "fnr" or one in told.comparisons[metric]
            else one
            for one in judged
        ]
        for metric, judged in line.comparisons.items()
    }
    return line._replace(comparisons=of)


def _comparisons(every: Sequence[GroupResult], reference: str) -> list[GroupComparison]:
    """Each comparison; two groups that are compared with each other are one, told by the worse."""
    order, found = [*VERDICTS], list[GroupComparison]()
    for _, of_grouping in groupby(every, key=lambda line: line.grouping):
        of = list(of_grouping)
        for metric in ERROR_TYPES if len(of) > 1 else ():
            for same in zip(*(line.comparisons[metric] for line in of), strict=True):
                own = [one for one in same if one.verdict and one.reason != IS_REFERENCE]
                is_one = _are_a_pair(of, reference) and len(own) > 1
                found += [min(own, key=lambda one: order.index(one.verdict))] if is_one else own
    return found


def _not_known(judged: Sequence[GroupComparison]) -> str:
    """Of how many comparisons it can't be told, for each reason."""
    unknown = [one for one in judged if one.verdict == "cannot_tell"]
    if not unknown:
        return ""
    known = Counter(_REASONS.get(one.reason, _TOO_FEW) for one in unknown)
    why = "; ".join(f"{words} ({count_text(n)})" for words, n in known.most_common())
    of_all = f"{count_text(len(unknown))} of {count_text(len(judged))} comparisons"
    how_many = of_all if len(judged) > 1 else "1 comparison"
    return f"{how_many} (not the same as equivalent). Reasons: {why}."


def _are_a_pair(of: Sequence[GroupResult], reference: str) -> bool:
    """Whether the groups are two, each compared with the other: of the best nothing is asked."""
    return len(of) == _PAIR and reference != "best"


def _judged(scope: Scope, rate: Row, row: Row | None) -> GroupComparison:
    name, counts = system_label(scope.system, scope.list), errors_over_trials(rate)
    if row is None or rate["value"] is None:
        why = "" if rate["value"] is not None else str(rate["reason"])
        why = verdict.INCONCLUSIVE_REASONS.get(why, why)
        return GroupComparison(
            name, rate["value"], None, None, None, "", reason=why, error_counts=counts
        )
    code, why = row["verdict"], verdict.INCONCLUSIVE_REASONS.get(row["reason"], row["reason"] or "")
    if row.get("because_of"):
        code, why = "cannot_tell", f"better, but not confirmed without {row['because_of']}"
    ratio = None if row["ratio"] == math.inf else row["ratio"]
    limits, guess = (
        (row["low"], row["high"]),
        findings.shrinkage_estimate_text(row).partition(" ")[0],
    )
    return GroupComparison(
        name, rate["value"], ratio, *limits, code, row["p_holm"], why, guess, counts
    )


def _order(line: GroupResult) -> tuple[int, float, str]:
    """The worse before the better before the rest; the further off, the sooner; then by name."""
    for place, code in enumerate(_DIFFERS):
        ratios = [one.ratio for one in line.all_comparisons() if one.verdict == code]
        if ratios:
            far = max(abs(math.log(r)) if r else math.inf for r in ratios if r is not None)
            return place, -far, line.group
    return len(_DIFFERS), 0.0, line.group


# ---- the finding


def _findings(audit: Audit, every: Sequence[GroupResult], standing: str) -> Iterator[Sentence]:
    """The finding, and in further sentences what else is shown, with its `standing`."""
    if not every:
        reasons = dict.fromkeys(
            findings.no_threshold_sentence(audit, one) for one in systems(audit)
        )
        yield from ([Phrase(words.removesuffix("."))] for words in reasons)
        return
    if not any(one.verdict for line in every for one in line.all_comparisons()):
        yield [Phrase("The audit does not show whether groups differ beyond chance")]
        unsure = dict.fromkeys(
            findings.missing_interval_reason(audit, one) for one in systems(audit)
        )
        reference = audit.record["options"]["reference"][0]
        yield [Phrase(capitalised("; ".join(filter(None, unsure)) or f"No group is {reference}"))]
        yield from _counted_highest(every)
        return
    (grouping, of), *others = (
        (name, list(same)) for name, same in groupby(every, key=lambda line: line.grouping)
    )
    yield from _of_grouping(audit, of, f" by {grouping}" * bool(others), figures=True)
    yield from ([Phrase(words)] for words in (*_better(audit), *_fairer(audit, of)))
    for grouping, of in others:
        joined = [Phrase(capitalised(f"{standing}by {grouping}: "))]
        for place, (first, *rest) in enumerate(_of_grouping(audit, of, "", figures=False)):
            start = (
                f". {capitalised(first.text)}"
                if place
                else f"{first.text[:1].lower()}{first.text[1:]}"
            )
            joined += [first._replace(text=start), *rest]
        yield joined


def _counted_highest(every: Sequence[GroupResult]) -> Iterator[Sentence]:
    """The group with the highest rate of each error as counted, of the first grouping."""
    for metric, words in ERROR_TYPES.items():
        of = [line for line in every if line.grouping == every[0].grouping]
        rates = [(one, line.group) for line in of for one in line.comparisons[metric] if one.rate]
        if rates:
            most, group = max(rates, key=lambda found: found[0].rate or 0)
            with_ = f" with {most.system}" if len(of[0].comparisons[metric]) > 1 else ""
            rate = f"{percent(most.rate)} ({most.error_counts})"
            said = f"Highest observed rate of {words}: {group}, {rate}{with_}"
            yield [Phrase(said)]


def _of_grouping(
    audit: Audit, of: Sequence[GroupResult], by: str, *, figures: bool
) -> Iterator[Sentence]:
    """Return one sentence for each error type, the largest ratio first; with figures if asked.

    The grouping is named `by` what its groups are where there are others.
    """
    if len(of) == 1:
        yield [Phrase(f"There is one group{by}, {of[0].group}, and no other to compare it with")]
        return
    worse, better = (
        {metric: _with(of, metric, code) for metric in ERROR_TYPES} for code in _DIFFERS
    )
    differ = [metric for metric in ERROR_TYPES if worse[metric] or better[metric]]
    differ.sort(key=lambda metric: (-_furthest(worse[metric]), -_furthest(better[metric])))
    said = [_how_often(metric, worse[metric], better[metric], figures=figures) for metric in differ]
    if len(of) == _PAIR:
        said = [_than_the_other(sentence, of) for sentence in said]
    said += ([Phrase(words)] for words in _shown_together(audit, of, by))
    yield from said or [[Phrase(_nothing_shown(audit, of, by))]]


def _than_the_other(sentence: Sentence, pair: Sequence[GroupResult]) -> Sentence:
    """Name the other one of two groups in a sentence on one of them."""
    named = [place for place, part in enumerate(sentence) if part.verdict in _DIFFERS]
    if len(named) != 1:
        return sentence
    (place,) = named
    other = next(line.group for line in pair if line.group != sentence[place].text)
    than = [Phrase(" than among "), Phrase(other, _OTHER)]
    return [*sentence[: place + 1], *than, *sentence[place + 1 :]]


def _nothing_shown(audit: Audit, of: Sequence[GroupResult], by: str) -> str:
    """That groups are alike, or of how many comparisons it can't be told."""
    reference, margin = audit.record["options"]["reference"][0], audit.record["options"]["margin"]
    codes = [one.verdict for one in _comparisons(of, reference)]
    if not codes:
        return "The same"
    if all(code == "no_difference" for code in codes):
        return f"All groups{by} are equivalent: none differs by more than {margin:g} times"
    n_inconclusive = codes.count("cannot_tell")
    whole = "both" if len(codes) == _PAIR else f"all {count_text(len(codes))}"
    some = f"{count_text(n_inconclusive)} of {count_text(len(codes))}"
    unknown = f"{whole if n_inconclusive == len(codes) else some} comparisons are inconclusive"
    return (
        f"No group{by} is shown to be worse or better; "
        f"{unknown if len(codes) > 1 else 'the only comparison is inconclusive'}"
    )


def _with(
    of: Sequence[GroupResult], metric: str, code: str
) -> list[tuple[GroupResult, list[GroupComparison]]]:
    """Groups with that verdict on an error, each with the systems it is of, the furthest first."""
    found = [
        (
            line,
            [
                one
                for one in line.comparisons[metric]
                if one.verdict == code and not one.repeats_other_group
            ],
        )
        for line in of
    ]
    found = [(line, judged) for line, judged in found if judged]
    return sorted(found, key=lambda one: -_furthest([one]))


def _furthest(of: Sequence[tuple[GroupResult, list[GroupComparison]]]) -> float:
    return max((one.log_distance for _, judged in of for one in judged), default=0.0)


def _how_often(
    metric: str,
    worse: list[tuple[GroupResult, list[GroupComparison]]],
    better: list[tuple[GroupResult, list[GroupComparison]]],
    *,
    figures: bool,
) -> Sentence:
    """Return among whom an error is more and less frequent, and how many times in which system."""
    system = _only_system(metric, [*worse, *better]) if figures else ""
    start = (
        f"With {system}, {ERROR_TYPES[metric]} are"
        if system
        else f"{capitalised(ERROR_TYPES[metric])} are"
    )
    words = [Phrase(start)]
    for how, code, who in (("more", "worse", worse), ("less", "better", better)):
        if who:
            words.append(Phrase(f"{', and' if len(words) > 1 else ''} {how} frequent among "))
            words += _among(metric, code, who, figures=figures, is_one_system=bool(system))
    return _said_once(words, " times as frequent", " times")


def _said_once(sentence: Sentence, full: str, short_form: str) -> Sentence:
    """Replace a phrase in a sentence by a short form after it has been used once."""
    is_used = False
    parts = []
    for part in sentence:
        head, phrase, tail = part.text.partition(full)
        if is_used:
            text = part.text.replace(full, short_form)
        else:
            text = head + phrase + tail.replace(full, short_form)
        is_used = is_used or bool(phrase)
        parts.append(part._replace(text=text))
    return parts


def _only_system(metric: str, groups: Sequence[tuple[GroupResult, list[GroupComparison]]]) -> str:
    """Return the one of several systems in which all of these groups differ; empty for none."""
    differing = {one.system for _, judged in groups for one in judged}
    n_systems = len(groups[0][0].comparisons[metric])
    return next(iter(differing)) if len(differing) == 1 and n_systems > 1 else ""


def _among(
    metric: str,
    code: str,
    who: list[tuple[GroupResult, list[GroupComparison]]],
    *,
    figures: bool,
    is_one_system: bool,
) -> Iterator[Phrase]:
    named, left = who[:_MOST_NAMED], len(who) - _MOST_NAMED
    for place, (line, judged) in enumerate(named):
        if place:
            yield Phrase(" and " if place == len(named) - 1 and left <= 0 else ", ")
        yield Phrase(line.group, code)
        if figures:
            times = _in_times(judged, 1 if is_one_system else len(line.comparisons[metric]))
            yield Phrase(f" ({times})" if len(who) > 1 else f": {times}")
        elif len(judged) > _MOST_NAMED:
            yield Phrase(f" ({len(judged)} of {len(line.comparisons[metric])} systems)")
        elif len(judged) < len(line.comparisons[metric]):
            yield Phrase(f" (with {', '.join(one.system for one in judged)})")
    if left > 0:
        yield Phrase(f" and {left} more group{'s' * (left > 1)}")


def _in_times(judged: Sequence[GroupComparison], n_systems: int) -> str:
    """How many times as often, with each system where there are several; of many, the range."""
    if n_systems == 1:
        return _likely(judged[0])
    if len(judged) > _MOST_NAMED:
        ratios = [one.ratio for one in judged if one.ratio is not None]
        most = f" to {short_number(max(ratios))}" if max(ratios) > min(ratios) else ""
        times = f"{short_number(min(ratios))}{most} times as frequent"
        return f"{times} with {len(judged)} of {n_systems} systems"
    return ", ".join(f"{_likely(one)} with {one.system}" for one in judged)


def _likely(one: GroupComparison) -> str:
    """How many times as often, with its interval and the best guess."""
    guess = f" (shrinkage estimate {one.best_guess})" if one.best_guess else ""
    return f"{short_number(one.ratio)} times as frequent {interval_text(one.low, one.high)}{guess}"


def _shown_together(audit: Audit, of: Sequence[GroupResult], by: str) -> Iterator[str]:
    """In which error groups are shown to differ all at once, where none is by itself."""
    level = 1 - audit.record["options"]["confidence"]
    several = len(systems(audit)) > 1
    found: dict[tuple[str, str], dict[str, float]] = {}
    for scope in scopes(audit):
        at, name = first_point_name(audit, scope.filters), system_label(scope.system, scope.list)
        if scope.grouping_label != of[0].grouping or at is None:
            continue
        rows = audit.verdicts.where(**scope.filters, operating_point=at, group="").rows()
        for row in rows:
            metric, p = row["metric"], row["p_holm"]
            if metric not in ERROR_TYPES or p is None or p >= level:
                continue
            judged = [one for line in of for one in line.comparisons[metric] if one.system == name]
            codes = {one.verdict for one in judged} - {""}
            if codes and not codes & {*_DIFFERS, "no_difference"}:
                if_alike = f", {row['reason']}" if row["reason"] else ""
                found.setdefault((metric, if_alike), {})[name] = p
    for (metric, if_alike), with_ in found.items():
        names = f"with {', '.join(shortened_names([*with_], most=_MOST_NAMED))}, " * several
        largest = f"{'each ' * (len(with_) > 1)}adjusted {_at_most(list(with_.values()))}"
        yield capitalised(
            f"{names}{_RATES_OF[metric]} differ between groups{by} (test of all groups "
            f"together, {largest}{if_alike}), but the data do not show which groups differ"
        )


def _at_most(p_values: Sequence[float]) -> str:
    """Return a p value, or the largest of several."""
    words = p_value(max(p_values))
    return words if len(p_values) == 1 else words.replace("p = ", "p ≤ ")


def _limits(audit: Audit) -> Iterator[str]:
    """By whom each limit is not met at each point, and of how many it can't be told."""
    several = len(systems(audit)) > 1
    by_limit: dict[str, list[Row]] = {}
    for row in findings.limit_rows(audit, {}):
        by_limit.setdefault(findings.limit_text(audit, row), []).append(row)
    for limit, rows in by_limit.items():
        of: dict[str, list[str]] = {}
        for row in sorted(rows, key=lambda row: -(row["value"] or 0)):
            whom = "all groups pooled" if row["group"] == POOLED else row["group"]
            with_ = f" with {system_label(row['system'], row['list'])}" if several else ""
            of.setdefault(row["verdict"], []).append(f"{whom}{with_}")
        # everyone together stands under each grouping
        known = {code: list(dict.fromkeys(names)) for code, names in of.items()}
        not_met = known.get("not_met", [])
        n_left = len(not_met) - _MOST_NAMED
        missed = ", ".join(not_met[:_MOST_NAMED])
        missed += f" and {n_left} more group{'s' * (n_left > 1)}" * (n_left > 0)
        unknown = known.get("cannot_tell", [])
        words = [f"not met by {missed}"] if missed else []
        if unknown:
            whose = unknown[0] if len(unknown) == 1 else f"{len(unknown)} groups"
            words.append(f"inconclusive for {whose}")
        met = known.get("met", [])
        words = words or [f"met by {met[0] if len(met) == 1 else 'all'}"]
        groups = {(row["grouping"], row["group"]) for row in rows if row["group"] != POOLED}
        alone = " (each group judged separately)" if len(groups) > 1 else ""
        yield f"{limit}{alone}: {'; '.join(words)}"


def _missing_scores(audit: Audit) -> Iterator[str]:
    """Where the share of trials without score differs by group, with FNR if all were rejected."""
    for name in systems(audit):
        rows = audit.data.where(**name, source=MISSING_SCORES).rows()
        for (grouping, item), found in groupby(
            rows, key=lambda row: (row["grouping"], row["item"])
        ):
            words = _missing_by_group(audit, name, grouping, item, list(found))
            system = system_label(name["system"], name["list"])
            yield f"{system}: {words}" if len(systems(audit)) > 1 else words


def _missing_by_group(
    audit: Audit, name: Row, grouping: str, item: str, found: Sequence[Row]
) -> str:
    """Return the largest and smallest share of trials without score, and what may follow."""
    most, *_, least = sorted(found, key=lambda row: -row["value"])
    which = "target" if item == MISSING_TARGETS else "nontarget"
    words = (
        f"Missing scores differ by {grouping}: {percent(most['value'])} of the {which} "
        f"trials of {most['group']} have no score, "
        f"{percent(least['value'])} of {least['group']}"
    )
    if item != MISSING_TARGETS:
        return f"{words}; FPRs count only trials with a score, so they may be too low"
    if_rejected = [_if_rejected(audit, name, row) for row in (most, least) if row["count"]]
    if not all(if_rejected):
        return words
    consequence = f"if all were rejected, {' and '.join(if_rejected)}"
    return f"{words}; {consequence} (operating point {first_point_name(audit, name)})"


def _if_rejected(audit: Audit, name: Row, missing: Row) -> str:
    """FNR of a group if its target trials without score were rejected."""
    where = {"grouping": missing["grouping"], "group": missing["group"], "within": ""}
    at = first_point_name(audit, name)
    rates = audit.groups.where(**name, **where, metric="fnr", operating_point=at).rows()
    if not rates or not rates[0]["trials"] or rates[0]["errors"] is None:
        return ""
    rate, lost = rates[0], missing["count"]
    all_rejected = (rate["errors"] + lost) / (rate["trials"] + lost)
    return (
        f"the FNR of {missing['group']} would be {percent(all_rejected)} "
        f"instead of {percent(rate['value'])}"
    )


# ---- what was audited


def _size(audit: Audit) -> Iterator[str]:
    """How many trials, speakers and systems."""
    whole = [audit.groups.where(**one, grouping="all", within="").rows() for one in systems(audit)]
    trials = {row[0]["target_trials"] + row[0]["nontarget_trials"] for row in whole if row}
    speakers = {row[0]["speakers"] for row in whole if row} - {None}
    for found, what in ((trials, "trial"), (speakers, "speaker")):
        if found:
            least = f"{count_text(min(found))} to " if len(found) > 1 else ""
            yield f"{least}{count_of(max(found), what)}"
    if only := audit.record["options"].get("only"):
        yield f"only {', '.join(only)}"
    names = [system_label(*one.values()) for one in systems(audit)]
    n_lists = len({one["list"] for one in systems(audit)})
    lists = f" on {n_lists} lists" if n_lists > 1 else ""
    yield (
        f"1 system ({names[0]})"
        if len(names) == 1
        else f"{len({one['system'] for one in systems(audit)})} systems{lists}"
    )


def _threshold(audit: Audit) -> str:
    """Where the threshold of the first operating point stands, in words."""
    found = [rows[0] for one in systems(audit) if (rows := located_points(audit, one))]
    said = list(dict.fromkeys(f"{point_in_short(row)} ({row['operating_point']})" for row in found))
    if not said:
        return "no threshold"
    decided = all(
        point_as_given(row) == "deployed" for row in found
    )  # at the threshold of each trial
    if decided and (rules := audit.record.get("thresholds")):
        return f"thresholds by {rules['by']} of a rule file (deployed)"
    words = "; ".join(said)
    if decided:
        return words
    several = len(systems(audit)) > 1
    whose = "one threshold per system, common to all groups" if several else "one common threshold"
    kinds = {point_as_given(row).partition("=")[0] for row in found}
    is_reached = not any(text.startswith("set for") for text in said)
    link = ", at which" if is_reached and kinds <= {"fpr", "fnr", "eer"} else ":"
    return f"{whose}{link} {words}"


_AIMS = {"fpr": "of nontarget trials are accepted", "fnr": "of target trials are rejected"}
_POINTS = {
    "eer": "both error types are equally frequent",
    "bayes": "the threshold that minimises the cost of scores that are likelihood ratios",
    "deployed": "decisions as they were made",
}


def point_in_short(row: Row) -> str:
    """An operating point in a few words.

    Examples
    --------
    >>> point_in_short({"operating_point": "fpr=0.01"}), point_in_short({"operating_point": "eer"})
    ('1 % of nontarget trials are accepted', 'both error types are equally frequent')
    """
    point = point_as_given(row)
    kind, _, rest = point.partition("=")
    if kind in {"fpr", "fnr"}:
        what = _AIMS[kind]
        aim, reached = float(rest), row.get(kind)
        if reached is not None and is_far_from_target(aim, reached):
            return f"set for {100 * aim:g} %, but {percent(reached)} {what}"
        return f"{100 * aim:g} % {what}"
    if kind == "threshold":
        return f"a score of {rest}"
    if point.startswith("min-cdet"):
        return "the threshold with the minimum cost"
    return _POINTS.get(point, point)


def _whole(audit: Audit) -> Iterator[PooledRates]:
    """Both errors of all trials together, in every system."""
    for metric in ERROR_TYPES:
        rates = []
        for one in systems(audit):
            at = first_point_name(audit, one)
            asked = {**one, "grouping": "all", "within": "", "metric": metric}
            rows = audit.groups.where(**asked, operating_point=at, definition="").rows()
            name, row = system_label(*one.values()), rows[0] if rows and at else None
            why = (
                "no threshold"
                if row is None
                else verdict.INCONCLUSIVE_REASONS.get(row["reason"], row["reason"])
            )
            if row is not None and row["reason"] == NO_TRIALS[metric]:
                why += _left_after(audit, one, metric)
            rate = None if row is None else row["value"]
            rates.append((name, why if rate is None else percent(rate)))
        yield PooledRates(metric, rates)


def _never_tried(whole: Sequence[PooledRates]) -> Iterator[str]:
    """Of which error nothing is known, in no system, for want of trials."""
    for one in whole:
        why = verdict.INCONCLUSIVE_REASONS[NO_TRIALS[one.metric]]
        if all(rate.startswith(why) for _, rate in one.rates):
            told = "; ".join(dict.fromkeys(rate for _, rate in one.rates))
            yield f"The audit says nothing about {ERROR_TYPES[one.metric]}: {told}"


def _left_after(audit: Audit, name: Row, metric: str) -> str:
    """Which trials were excluded, where none of a class is left; empty for none."""
    excluded = (
        findings.excluded_trials_text(audit, name, metric),
        findings.unscored_trials_text(audit, name),
        findings.placeholder_speakers_text(audit, name),
    )
    told = "; ".join(filter(None, excluded))
    return f" left ({told})" if told else ""


def _better(audit: Audit) -> Iterator[str]:
    """Which system has fewest errors of either kind at the first operating point, if compared.

    Of several, each is held against each, so p allows for all pairs (Holm).
    """
    at = located_points(audit, systems(audit)[0])[:1]
    level = 1 - audit.record["options"]["confidence"]
    for metric in ERROR_TYPES:
        if not at or point_as_given(at[0]).startswith(f"{metric}="):
            continue  # there is no point, or each system is set to have as many
        asked = {"grouping": "all", "metric": metric, "measure": "value", "within": ""}
        asked |= {"operating_point": at[0]["operating_point"], "definition": ""}
        rows = [
            row for row in audit.comparison.where(**asked).rows() if row["difference"] is not None
        ]
        if not rows:
            continue
        p_holm = verdict.holm([math.nan if row["p"] is None else row["p"] for row in rows]).tolist()
        rates: dict[str, float] = {}
        against: dict[str, dict[str, tuple[float, bool]]] = {}
        for row, p in zip(rows, p_holm, strict=True):
            one = system_label(row["system"], row["list"])
            other = system_label(row["other_system"], row["other_list"])
            rates |= {one: row["value"], other: row["other"]}
            is_sure = p < level and not (row["low"] or 0) <= 0 <= (row["high"] or 0)
            against.setdefault(one, {})[other] = p, is_sure
            against.setdefault(other, {})[one] = p, is_sure
        best = min(against, key=lambda name: rates[name])
        yield _held_against(metric, best, rates, against[best]) + _shared(rows)


def _fairer(audit: Audit, of: Sequence[GroupResult]) -> Iterator[str]:
    """Which of two systems is fairer, by each error and to each group that is worse off in either.

    The group's ratio must differ between them for the number of groups and errors (Holm), and the
    smaller one surely not be as far below 1 as the larger one is above.
    """
    worse = [
        (line, metric, line.comparisons[metric])
        for line in of
        for metric in ERROR_TYPES
        if any(one.verdict == "worse" for one in line.comparisons[metric])
    ]
    reference, at = (
        audit.record["options"]["reference"][0],
        located_points(audit, systems(audit)[0])[:1],
    )
    scope = next(one for one in scopes(audit) if one.grouping_label == of[0].grouping)
    asked = {"grouping": scope.grouping, "allocation": scope.allocation, "within": ""}
    asked |= {"measure": "ratio", "reference": reference, "zero": "none"}
    asked |= {"operating_point": at[0]["operating_point"] if at else ""}
    rows = [row for row in audit.comparison.where(**asked).rows() if row["metric"] in ERROR_TYPES]
    if len(systems(audit)) != _PAIR or not rows or not worse:
        return
    p_holm = verdict.holm([math.nan if row["p"] is None else row["p"] for row in rows]).tolist()
    known = {(row["group"], row["metric"]): (row, p) for row, p in zip(rows, p_holm, strict=True)}
    said = []
    for line, metric, judged in worse:
        row, p = known.get((line.group, metric), ({}, math.nan))
        if not p < 1 - audit.record["options"]["confidence"]:
            continue
        ratios = zip((row["value"], row["other"]), judged, strict=True)
        (low, less), (high, more) = sorted(ratios, key=lambda one: float(one[0]))
        if more.verdict == "worse" and (less.low or 0) * (more.low or 0) > 1:
            others = findings.reference_text(audit)
            if _are_a_pair(of, reference):
                (others,) = (other.group for other in of if other.group != line.group)
            said.append(
                f"In {ERROR_TYPES[metric]}, the gap between {line.group} and {others} is "
                "smaller with "
                f"{less.system} than with "
                f"{more.system}: ratio {short_number(low)} against {short_number(high)}, "
                f"adjusted {p_value(p)}"
                f"{_shared(rows)}"
            )
    either = " or ".join(one.system for one in worse[0][2])
    yield from said[:_MOST_NAMED] or [
        f"The data do not show whether {either} is fairer{_shared(rows)}"
    ]


def _shared(rows: Sequence[Row]) -> str:
    """That systems are compared on some of their trials, if so."""
    is_shared = all(str(row["speakers"]).endswith(_RESTRICTED) for row in rows)
    return ", on the trials in common" * is_shared


def _held_against(
    metric: str, best: str, rates: Mapping[str, float], others: Mapping[str, tuple[float, bool]]
) -> str:
    """How sure it is that a system has fewer errors than each of the others."""
    than_other, than_all = _DOES[metric]
    told = {name: percent(rate) for name, rate in rates.items()}
    beaten = [p for p, is_sure in others.values() if is_sure]
    unknown = [name for name, (_, is_sure) in others.items() if not is_sure]
    if len(others) == 1:
        ((other, (p, _)),) = others.items()
        words = f"The data do not show whether {best} or {other} {than_other}"
        if beaten:
            words = f"{best} {than_other} than {other}"
        how_sure = "" if math.isnan(p) else f", {p_value(p)}"
        return f"{words}: {told[best]} against {told[other]}{how_sure}"
    if not beaten:
        return (
            f"The data do not show which system {than_all}; the lowest observed rate is that of "
            f"{best}, {told[best]}"
        )
    largest = f"{'each ' * (len(beaten) > 1)}{_at_most(beaten)}"
    if not unknown:
        return (
            f"{best} {than_all}, {told[best]}: fewer than each of {len(others)} others, {largest}"
        )
    rest = ", ".join(shortened_names(unknown, most=_MOST_NAMED))
    return (
        f"{best} has the lowest observed rate, {told[best]}: it {than_other} than {len(beaten)} of "
        f"{len(others)} others ({largest}); inconclusive against {rest}"
    )


def _compared(audit: Audit, every: Sequence[GroupResult], n: int) -> str:
    """How many comparisons there are, and of what."""
    reference = audit.record["options"]["reference"][0]
    has_groups = has_pairs = False
    for _, of_grouping in groupby(every, key=lambda line: line.grouping):
        compared_groups = [
            line for line in of_grouping if any(one.verdict for one in line.all_comparisons())
        ]
        if _are_a_pair(compared_groups, reference):
            has_pairs = True
        elif any(
            one.reason != IS_REFERENCE for line in compared_groups for one in line.all_comparisons()
        ):
            has_groups = True
    words = count_of(n, "comparison")
    if has_groups:
        words += f", each of a group with {findings.reference_text(audit)}"
    if has_pairs:
        joint = "; " if has_groups else ": "
        words += f"{joint}two groups compared with each other count once"
    return words


# ---- what weakens it


def _caveats(audit: Audit) -> Iterator[Caveat]:
    """What a reader must know before relying on the finding."""
    for words in _missing_scores(audit):
        yield Caveat("missing scores differ by group", words, "data")
    for pair in pairs(audit):
        if pair.speakers.endswith(_RESTRICTED):
            yield Caveat(f"{pair.label}: {pair.speakers}", f"{pair.label}: {pair.speakers}", "data")
    for words in findings.unusual_points(audit):
        yield Caveat(words.partition(":")[2].strip(), words, "points")
    if SAME_TRIALS in findings.threshold_sources(audit):
        words = (
            "The thresholds were set on the audited trials. On other trials the same thresholds "
            "would give somewhat different error rates"
        )
        short_words = "thresholds set on the audited trials (error rates on others may differ)"
        yield Caveat(short_words, words, "points")
    rules = audit.record.get("thresholds", {})
    if rules.get("trials_sha256") in {one["content_sha256"] for one in audit.record["inputs"]}:
        words = (
            "The threshold rules were fitted on the audited trials. Expect worse results for "
            "other speakers"
        )
        yield Caveat("threshold rules set on the audited trials", words, "points")
    yield from _of_trials(audit)
    yield from _of_groups(audit)
    if not len(audit.groups.where(metric="fta")):
        words = (
            "Failures to enrol and to acquire were not supplied (--failures). If there were any, "
            "speakers are rejected more often than the FNR shows"
        )
        yield Caveat(
            "acquisition failures (unusable recordings) not supplied and so not counted",
            words,
            "failures",
        )


def _of_trials(audit: Audit) -> Iterator[Caveat]:
    """What of the trials and their speakers weakens what they show."""
    for name in systems(audit):
        few, sentences = findings.unknown_test_speakers_text(audit, name)
        if few:
            yield Caveat(few, sentences, "data")
        if words := findings.placeholder_speakers_text(audit, name):
            why = "the speaker of a side is a placeholder, such as nan or unknown"
            yield Caveat(words, f"{words}: {why}", "data")
        excluded = [findings.excluded_trials_text(audit, name, metric) for metric in ERROR_TYPES]
        for words in (*filter(None, excluded), *findings.unknown_group_sentences(audit, name)):
            yield Caveat(words, words, "data")
        for words in findings.counts_file_sentences(audit, name):
            said = words.removesuffix(".")
            yield Caveat(f"{said[:1].lower()}{said[1:]}", said, "data")
    partly_known = {
        "@".join(filter(None, name.values()))
        for name in systems(audit)
        if findings.unknown_test_speakers_text(audit, name)[0]
    }
    for names, failed in findings.failed_checks(audit):
        for one in failed:
            if one["id"] in findings.CHECKS_BETWEEN_GROUPS:
                touched = findings.CHECKS_BETWEEN_GROUPS[one["id"]]
                found = one["sentence"]
                if one["id"] == "G8" and partly_known.intersection(names):
                    found += " whose speakers are known"
                words = (
                    f"The trials differ between groups ({', '.join(names)}): {found}. Part of a "
                    f"difference in {touched} may be due to this"
                )
                rates = "FPRs" if one["id"] == "G8" else "FNRs"
                short_words = f"{rates} of groups may not be comparable: {found}"
                yield Caveat(short_words, words, "list")


def _of_groups(audit: Audit) -> Iterator[Caveat]:
    """What of groups weakens what is found of them."""
    every = list(scopes(audit))
    sentences = (
        words for scope in every for words in findings.confounding_sentences(audit, scope.filters)
    )
    for words in dict.fromkeys(sentences):
        association, colon, _ = words.partition(":")
        what_it_means = " (so a difference by one may be due to the other)" if colon else ""
        yield Caveat(
            f"{association}{what_it_means}", capitalised(words.removesuffix(".")), "groups"
        )
    for sentence, words in findings.groups_without_trials(audit).items():
        yield Caveat(words, capitalised(sentence), "data")
    for words in findings.data_warnings(audit):
        yield Caveat(f"data warning: {words.partition(': ')[2]}", words, "data")
    yield from _small_groups(audit, scopes_by_grouping(every))


def _small_groups(audit: Audit, groupings: Sequence[Sequence[Scope]]) -> Iterator[Caveat]:
    """Yield which groups of each grouping miss a minimum, and of which error, with the number."""
    stated: list[tuple[str, dict[str, dict[str, str]]]] = []
    for same in groupings:
        at = first_point_name(audit, same[0].filters)
        lacking: dict[str, dict[str, str]] = {}
        for metric in ERROR_TYPES:
            for scope in same:
                of_metric = small_groups(audit, {**scope.filters, "operating_point": at}, metric)
                for group, words in of_metric.items():
                    known = lacking.setdefault(metric, {})
                    known[group] = min(words, known.get(group, words), key=_leading_number)
        if not lacking or (same[0].grouping, lacking) in stated:
            continue
        stated.append((same[0].grouping, lacking))
        n_groups = len(rates_by_group(audit, same[0].filters).keys() - {POOLED})
        by = f"{same[0].grouping_label} " if len(groupings) > 1 else ""
        counts = {metric: len(of_metric) for metric, of_metric in lacking.items()}
        (first, n_first), *rest = counts.items()
        share = _share_of_groups(n_first, n_groups, by)
        words = f"{share} under-represented (too few speakers, errors or pairs)"
        if lacking.get("fnr", {}).keys() != lacking.get("fpr", {}).keys():
            words += f" for {first.upper()}"
            words += "".join(f" and {n} for {metric.upper()}" for metric, n in rest)
        details = "; ".join(
            f"for {metric.upper()} {_numbers_too_small(of_metric)}"
            for metric, of_metric in lacking.items()
        )
        yield Caveat(words, f"{capitalised(words)} at {at}: {details}", "groups")


def _leading_number(words: str) -> float:
    """Return the number that words such as ``1.2 effective errors`` begin with."""
    found = re.match(r"[\d.,]+", words)
    return float(found[0].replace(",", "")) if found else 0.0


def _share_of_groups(n_small: int, n_groups: int, kind: str) -> str:
    if n_small < n_groups:
        verb = "is" if n_small == 1 else "are"
        return f"{n_small} of {n_groups} {kind}groups {verb}"
    if n_groups == 1:
        return f"the one {kind}group is"
    return f"both {kind}groups are" if n_groups == _PAIR else f"all {n_groups} {kind}groups are"


def _numbers_too_small(lacking: Mapping[str, str]) -> str:
    """Return what each group has too little of, in one number; of many groups, the first."""
    first = {group: words.split("; ")[0] for group, words in lacking.items()}
    named = findings.groups_by_shortfall_text(dict([*first.items()][:_MOST_SMALL]))
    n_more = len(first) - _MOST_SMALL
    return f"{named}; and {n_more} more" if n_more > 0 else named
