"""The first screen of the HTML report, and all groups at the primary point: ratios as strips."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from parivox.auditing import IS_REFERENCE, system_name
from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.report import findings
from parivox.report.audit_queries import (
    PAIR_SIZE,
    SPOOF_TRIALS_OF_GROUP,
    VERDICTS,
    WITHOUT_SPOOF,
    all_error_types,
    attacks_text,
    error_types,
    first_point_name,
    system_label,
    systems,
)
from parivox.report.catalogue import full_sentence, sentence_text
from parivox.report.identification import gallery_text, is_identification, unit_text
from parivox.report.overview import REFERENCE_GROUP, SET_BY_THRESHOLD, Phrase
from parivox.report.ratio_strips import HIGHEST, LOWEST, SHAPES, SIGNS, TICKS, axis_position
from parivox.report.sheets.supplementary import limits
from parivox.report.words import (
    capitalised,
    count_of,
    count_text,
    interval_text,
    p_value,
    percent,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing import Audit
    from parivox.report.limitation_sentences import Caveat
    from parivox.report.overview import GroupComparison, GroupResult, Overview, Sentence

_HEADS = {
    "fnr": "False rejects (FNR): genuine speakers rejected",
    "fpr": "False accepts (FPR): impostors accepted",
    "sfar": "Spoof accepts (SFAR): spoofed recordings accepted",
    "fnir": "Missed identifications (FNIR): enrolled speakers not returned",
    "fpir": "False positive identifications (FPIR): anyone returned for others",
}
"""Error types as the heads of columns."""
_MAX_NAMED_SYSTEMS = 3
"""Systems that are named below the headline; more are only counted there."""
_MAX_NAMES_LENGTH = 60
"""Letters of the names of systems there; longer names speak for themselves."""
_MAX_SMALLEST_GROUPS = 2
"""Smallest groups that are named with their sizes."""
_STATED_AS_UNKNOWN = "groups_without_trials"
"""The limitation that is stated among what is not known."""
_MAX_STRONG_P = 0.01
"""Adjusted p below which evidence is called strong."""
_MAX_WEAKNESSES = 2
"""Limitations that are stated below the headline; all of them are below the figure."""
_FALSE_ACCEPTS = {
    "both": "impostors of the same group accepted",
    "enrol": "impostors accepted as a speaker of the group",
    "test": "impostors of the group accepted",
}
"""What a false accept of a group is, by the allocation of nontarget trials."""
_MAX_SHOWN_GROUPS = 12
"""Groups in the first figure; fewer if there are many systems."""
_MAX_SHOWN_ROWS = 24
"""Rows of the first figure, one for each group and system."""
_MAX_OPEN_ROWS = 60
"""Rows of all groups that are open; further groupings are folded."""


def first_screen(
    audit: Audit, audit_overview: Overview, extra_caveats: Sequence[Caveat] = ()
) -> dict[str, Any]:
    """Return the first screen for ``first.html.j2``; `extra_caveats` are only in this report."""
    shown_groups = _shown_groups(audit_overview)
    n_other = len(audit_overview.groups) - len(shown_groups)
    reference = findings.reference_text(audit)
    caption = f"Groups worse or better than {reference}"
    if not audit_overview.differing_groups:
        selection = (
            "The groups with most speakers" if n_other and shown_groups[0].speakers else "Groups"
        )
        caption = sentence_text(
            "no_verdict_of_worse_or_better", selection=selection, reference=reference
        )
    if n_other:
        caption += f" ({count_text(n_other)} more under “All groups”)"
    all_caveats = [*audit_overview.caveats, *extra_caveats]
    return {
        **audit_overview._asdict(),
        "keys": list(_keys(audit, audit_overview)),
        "certainty": list(_certainty(audit, audit_overview, all_caveats)),
        "size": _size(audit, audit_overview),
        "further_findings": [
            finding
            for finding in audit_overview.further_findings
            if finding not in audit_overview.secondary_findings
        ],
        "notes": audit_overview.notes,
        "set_by_threshold": SET_BY_THRESHOLD,
        "number_of_comparisons": count_of(
            sum(audit_overview.verdict_counts.values()), "comparison"
        ),
        "bar": _verdict_bar(audit_overview),
        "shown": [_group_row(audit, group) for group in shown_groups],
        "caption": [caption, *_figure_key(audit, audit_overview, shown_groups)],
        "caveats": all_caveats,
        "legend": _legend(audit, audit_overview, shown_groups),
        "limits": list(limits(audit)),
    }


# ---- what is directly below the headline


def _keys(audit: Audit, audit_overview: Overview) -> Iterator[str]:
    """Yield what a reader of the headline must know: abbreviations, systems, who is at risk."""
    if "fpr" in _events(audit, audit_overview):
        yield sentence_text("false_accepts_put_others_at_risk")
    names = list(dict.fromkeys(system["system"] for system in systems(audit)))
    names_text = ", ".join(names)
    if 1 < len(names) <= _MAX_NAMED_SYSTEMS and len(names_text) <= _MAX_NAMES_LENGTH:
        yield f"{names_text}: systems"
    if audit_overview.verdict_counts:
        yield sentence_text(
            "range_in_brackets",
            confidence=100 * audit.record["options"]["confidence"],
        )


def _size(audit: Audit, audit_overview: Overview) -> list[str]:
    """Return how much was audited and at which threshold, with what a trial is."""
    size = [*audit_overview.size, audit_overview.threshold]
    if not is_identification(audit) and "fpr" in _events(audit, audit_overview):
        size.append(sentence_text("classes_of_trials"))
    return size


def _certainty(
    audit: Audit, audit_overview: Overview, all_caveats: Sequence[Caveat]
) -> Iterator[tuple[str, Sentence]]:
    """Yield how sure the finding is, what is not known and what weakens it, each with a label."""
    if not audit_overview.verdict_counts:
        yield "How sure", [Phrase(capitalised(sentence_text("nothing_judged")))]
    else:
        words = _how_sure(audit, audit_overview)
        yield "How sure", [Phrase(". ".join(map(capitalised, words)))]
    if unknown := _unknown(audit_overview, all_caveats):
        yield "Not known", unknown
    if weaknesses := _weaknesses(all_caveats):
        yield "Weakened by", [Phrase("; ".join(weaknesses[:_MAX_WEAKNESSES]))]


def _how_sure(audit: Audit, audit_overview: Overview) -> Iterator[str]:
    """Yield how strong the evidence for the headline is, then what all comparisons show."""
    counts = audit_overview.verdict_counts
    n_different = counts["worse"] + counts["better"]
    n_comparisons = count_of(sum(counts.values()), "comparison")
    # old audits do not record what is confirmatory
    is_recorded = bool(findings.confidence_statement(audit))
    primary = _main_comparison(audit) if is_recorded else ""
    if audit_overview.headline_comparisons:
        yield _headline_evidence(audit, audit_overview, primary)
    elif n_different:
        yield sentence_text("differences_shown", different=n_different, comparisons=n_comparisons)
    elif counts["equivalent"]:
        yield sentence_text("no_difference_shown", comparisons=n_comparisons)
    else:
        yield sentence_text("nothing_shown", comparisons=n_comparisons)
    if primary and not audit_overview.headline_comparisons and _is_main_judged(audit_overview):
        yield _confirmation_condition(audit, primary)
    if counts["equivalent"]:
        yield sentence_text(
            "equivalent_comparisons",
            equivalent=counts["equivalent"],
            comparisons=n_comparisons,
            verb="shows" if counts["equivalent"] == 1 else "show",
            margin=audit.record["options"]["margin"],
            equivalence_confidence=100 * EQUIVALENCE_CONFIDENCE,
        )
    if is_recorded and not primary:
        yield sentence_text("nothing_confirmed")
        return
    if systems_text := _systems_without_primary(audit, audit_overview):
        yield sentence_text("headline_exploratory_for", systems=systems_text)
    groupings = list(dict.fromkeys(group.grouping for group in audit_overview.groups))
    if is_recorded and len(groupings) > 1:
        yield _chance_of_other_findings(audit, groupings)


def _chance_of_other_findings(audit: Audit, groupings: Sequence[str]) -> str:
    """Return that findings of all but the first grouping may be due to chance."""
    # under a further allocation the first grouping is exploratory, too: then no name fits them all
    has_one_allocation = len(audit.record["options"]["allocate"]) == 1
    if has_one_allocation and len(groupings) == PAIR_SIZE:
        return sentence_text("findings_of_grouping_exploratory", grouping=groupings[1])
    return sentence_text("other_findings_exploratory")


def _confirmation_condition(audit: Audit, primary: str) -> str:
    """Return when differences by the main comparison count as confirmed."""
    if audit.record["options"]["primary"]:
        return sentence_text("named_comparison_confirmed", primary=primary)
    return sentence_text("unnamed_comparison_confirmed", primary=primary)


def _largest_p(audit_overview: Overview) -> float | None:
    """Return the largest p behind the headline; None if one of them is undefined."""
    p_values = [comparison.p for comparison in audit_overview.headline_comparisons]
    known_p = [p for p in p_values if p is not None]
    return max(known_p) if known_p and len(known_p) == len(p_values) else None


def _headline_p(audit_overview: Overview) -> str:
    """Return the largest p behind the headline; that of the only comparison is not adjusted."""
    is_largest = len(audit_overview.headline_comparisons) > 1
    p_text = p_value(_largest_p(audit_overview), is_largest=is_largest)
    if sum(audit_overview.verdict_counts.values()) > 1:
        return sentence_text("adjusted_p_of_headline", p=p_text)
    return sentence_text("p_of_headline", p=p_text)


def _headline_evidence(audit: Audit, audit_overview: Overview, primary: str) -> str:
    """Return how strong the evidence for the headline is, and whether it counts as confirmed."""
    largest_p, evidence = _largest_p(audit_overview), sentence_text("some_evidence")
    if largest_p is not None and largest_p < _MAX_STRONG_P:
        evidence = sentence_text("strong_evidence")
    if not primary:
        return evidence
    if audit.record["options"]["primary"]:
        return sentence_text("named_headline", evidence=evidence, primary=primary)
    return sentence_text("unnamed_headline", evidence=evidence, primary=primary)


def _main_comparison(audit: Audit) -> str:
    """Return the main comparison; a point that all systems have on this screen needs no name."""
    points = {first_point_name(audit, system) for system in systems(audit)}
    return findings.primary_question_text(audit, points.pop() if len(points) == 1 else None)


def _is_main_judged(audit_overview: Overview) -> bool:
    """Return whether a group of the first grouping is compared with others."""
    first_grouping = audit_overview.groups[0].grouping
    return any(
        comparison.verdict and comparison.reason_code != IS_REFERENCE
        for group in audit_overview.groups
        if group.grouping == first_grouping
        for comparison in group.all_comparisons()
    )


def _systems_without_primary(audit: Audit, audit_overview: Overview) -> str:
    """Return the systems of the headline that have no threshold for the main comparison."""
    primary = audit.record.get("primary", {})
    in_headline = {comparison.system for comparison in audit_overview.headline_comparisons}
    labels = [
        system_label(*system.values())
        for system in systems(audit)
        if system_name(system["system"], system["list"]) not in primary
    ]
    return ", ".join(label for label in labels if label in in_headline) if primary else ""


def _unknown(audit_overview: Overview, all_caveats: Sequence[Caveat]) -> Sentence:
    """Return how many comparisons have no clear result, and how small the smallest groups are."""
    counts = audit_overview.verdict_counts
    n_unjudged = sum(
        not comparison.verdict
        for group in audit_overview.groups
        if not group.allocation
        for comparison in group.all_comparisons()
    )
    sentence = []
    if counts.get("inconclusive"):
        words = sentence_text(
            "inconclusive_comparisons",
            inconclusive=counts["inconclusive"],
            comparisons=sum(counts.values()),
        )
        sentence = [Phrase(capitalised(words)), *_smallest_groups(audit_overview)]
    elif counts and not n_unjudged:
        sentence = [Phrase(capitalised(sentence_text("no_comparison_inconclusive")))]
    further_words = []
    if counts and n_unjudged:
        rates = count_of(n_unjudged, "error rate")
        further_words.append(sentence_text("rates_without_verdict", rates=rates))
    unknown_groups = [caveat for caveat in all_caveats if caveat.code == _STATED_AS_UNKNOWN]
    for caveat in unknown_groups:
        n_groups = caveat.values["groups"]
        words = sentence_text(
            "groups_without_comparison",
            groups="groups" if n_groups is None else count_of(n_groups, "more group"),
            speakers=count_of(caveat.values["speakers"], "speaker"),
            verb="was" if n_groups == 1 else "were",
            by_grouping=f" by {caveat.values['grouping']}" if len(unknown_groups) > 1 else "",
        )
        further_words.append(words)
    for words in further_words:
        sentence.append(Phrase(f"{'. ' if sentence else ''}{capitalised(words)}"))
    return sentence


def _smallest_groups(audit_overview: Overview) -> Iterator[Phrase]:
    """Yield the smallest groups with an inconclusive comparison, with their sizes."""
    groups = sorted(
        (
            group
            for group in audit_overview.groups
            # with several allocations, a group occurs for each
            if group.speakers is not None and not group.allocation
            if any(comparison.verdict == "inconclusive" for comparison in group.all_comparisons())
        ),
        key=lambda group: group.speakers or 0,
    )
    if not groups:
        return
    # of two groups, the smaller one alone: both would say nothing
    n_named = _MAX_SMALLEST_GROUPS if len(groups) > PAIR_SIZE else 1
    further_groups = groups[n_named:] if len(groups) > PAIR_SIZE else []
    n_more = sum(group.speakers == groups[n_named - 1].speakers for group in further_groups)
    # to name one group is as short as to count it
    if n_more == 1:
        n_named, n_more = n_named + 1, 0
    smallest_groups = groups[:n_named]
    sizes = [count_of(group.speakers, "speaker") for group in smallest_groups]
    is_one_size = len(sizes) > 1 and len(set(sizes)) == 1
    more_text = f" and {n_more} more" if n_more else ""
    for i, group in enumerate(smallest_groups):
        start = ". Smallest of these groups: " if len(groups) > 1 else ". Group: "
        is_last = i == n_named - 1 and not n_more
        joint = " and " if is_last else ", "
        yield Phrase(joint if i else start)
        yield Phrase(group.name, REFERENCE_GROUP)
        if not is_one_size:
            yield Phrase(f" ({sizes[i]})")
    if is_one_size:
        yield Phrase(f"{more_text} ({sizes[0]} each)")
    elif n_more:
        yield Phrase(f"{more_text} of this size")


def _weaknesses(all_caveats: Sequence[Caveat]) -> list[str]:
    """Return all limitations in a few words, what concerns every group first.

    Trials that differ between groups are one limitation, and come second at the latest, as they
    may be the reason of a difference.
    """
    unlike_trials = [
        caveat for caveat in all_caveats if caveat.code == "trials_differ_between_groups"
    ]
    differences = {caveat.values["difference"]: None for caveat in unlike_trials}
    words_of_code = {
        "trials_differ_between_groups": sentence_text(
            "trials_of_groups_unlike", differences=" or ".join(differences)
        ),
        "thresholds_set_on_audited_trials": sentence_text("thresholds_of_these_trials"),
    }
    ordered = [*all_caveats[:1], *unlike_trials, *all_caveats[1:]]
    return list(
        dict.fromkeys(
            words_of_code.get(caveat.code) or _plain_words(caveat)
            for caveat in ordered
            if caveat.code != _STATED_AS_UNKNOWN
        )
    )


def _plain_words(caveat: Caveat) -> str:
    """Return a limitation in words for readers who are new to the field, if it has any."""
    if caveat.code != "impostors_of_same_group":
        return caveat.short
    groupings = " and ".join(caveat.values["groupings"])
    words = sentence_text("impostors_of_speakers_group", by_grouping=groupings)
    return f"{caveat.named_systems}: {words}" if caveat.named_systems else words


# ---- the figure


def _figure_key(
    audit: Audit, audit_overview: Overview, shown_groups: Sequence[GroupResult]
) -> Iterator[str]:
    """Yield short explanations of the figure: of its band, and of p-values next to ratios."""
    if audit_overview.verdict_counts:
        yield sentence_text("band_in_short", margin=audit.record["options"]["margin"])
    if any(
        comparison.fails_only_after_holm
        for group in shown_groups
        for comparison in group.all_comparisons()
    ):
        yield sentence_text("adjusted_in_short")


def _legend(
    audit: Audit, audit_overview: Overview, shown_groups: Sequence[GroupResult]
) -> list[str]:
    """Return what the signs, lines and columns of the first figure stand for."""
    if not audit_overview.verdict_counts:
        return [sentence_text("observed_rates_only")]
    options = audit.record["options"]
    margin, level = options["margin"], 100 * options["confidence"]
    legend = [
        audit_overview.comparisons_text,
        sentence_text("worse_and_better_signs", error_types=all_error_types(audit)),
        sentence_text("inconclusive_sign"),
        sentence_text("adjusted_p"),
    ]
    if audit_overview.has_p_between_systems:
        gap_text = ""
        if len(systems(audit)) == PAIR_SIZE:
            gap_text = sentence_text("p_of_gap", error_types=all_error_types(audit))
        legend.append(sentence_text("p_between_systems", of_gap=gap_text))
    if audit_overview.headline_comparisons:
        legend.append(_headline_p(audit_overview))
    if any(
        comparison.worse_group for group in shown_groups for comparison in group.all_comparisons()
    ):
        legend.append(sentence_text("comparison_seen_elsewhere"))
    legend.append(sentence_text("ratio_of_rates", reference=findings.reference_text(audit)))
    if "fpr" in _events(audit, audit_overview):
        legend.append(f"false accepts: {findings.ALLOCATIONS[options['allocate'][0]]}")
    if is_identification(audit):
        legend.append(sentence_text("rates_hold_for_gallery", gallery=gallery_text(audit)))
    if "sfar" in error_types(audit):
        legend.append(f"spoof accepts: {SPOOF_TRIALS_OF_GROUP}, {attacks_text(audit)}")
    return [
        *legend,
        sentence_text("lines_are_intervals", confidence=level, unit=unit_text(audit)),
        sentence_text(
            "equivalence_band", margin=margin, equivalence_confidence=100 * EQUIVALENCE_CONFIDENCE
        ),
        "for help with this screen, see “Read a report” in the documentation",
    ]


def _shown_groups(audit_overview: Overview) -> list[GroupResult]:
    """Return the groups of the first figure."""
    # a group has a row for each system
    n_systems = max((group.n_systems for group in audit_overview.groups), default=1)
    return audit_overview.leading_groups(
        min(_MAX_SHOWN_GROUPS, max(1, _MAX_SHOWN_ROWS // n_systems))
    )


def _events(audit: Audit, audit_overview: Overview) -> dict[str, str]:
    """Return the error types with a rate, as heads of columns; both if no group has a rate."""
    allocation = audit.record["options"]["allocate"][0]
    heads = {metric: _HEADS[metric] for metric in error_types(audit)}
    if allocation in _FALSE_ACCEPTS and "fpr" in heads:
        heads["fpr"] = f"False accepts (FPR): {_FALSE_ACCEPTS[allocation]}"
    events = {}
    for metric, head in heads.items():
        comparisons = [
            comparison
            for group in audit_overview.groups
            for comparison in group.comparisons[metric]
        ]
        if any(comparison.rate is not None for comparison in comparisons):
            events[metric] = head
    return events or heads


def template_names(audit: Audit, audit_overview: Overview) -> dict[str, Any]:
    """Return texts and functions that templates of ratios use."""
    return {
        "rates": error_types(audit),
        "all_types": all_error_types(audit),
        "without_spoof": WITHOUT_SPOOF,
        "verdicts": VERDICTS,
        "events": _events(audit, audit_overview),
        "signs": SIGNS,
        "ticks": [
            (round(100 * axis_position(ratio), 1), words)
            for ratio, words in TICKS.items()
            if audit_overview.verdict_counts
        ],
        "several": len(systems(audit)) > 1,
        "capital": capitalised,
        "number": count_text,
    }


def all_groups(audit: Audit, audit_overview: Overview) -> list[dict[str, Any]]:
    """Return all groups of each grouping for ``all.html.j2``."""
    sections, n_rows = [], 0
    # if the first screen has all groups, the sections below are folded
    is_seen_above = len(_shown_groups(audit_overview)) == len(audit_overview.groups)
    for grouping, grouping_results in groupby(
        audit_overview.groups, key=lambda line: line.grouping
    ):
        lines = [_group_row(audit, group) for group in grouping_results]
        n_rows += sum(line["n"] for line in lines)
        title = f"By {grouping}, at the primary operating point"
        size_text = f": {count_text(len(lines))} groups" if len(lines) > 1 else ""
        reference = ", as above"
        if audit_overview.verdict_counts:
            reference += ", with the intervals in figures"
        folded_title = f"{title}{reference if is_seen_above else size_text}"
        is_folded = is_seen_above or n_rows > _MAX_OPEN_ROWS
        note = ""
        if any(_has_mark(line) for line in lines):
            note = full_sentence("asterisk_in_ratios", minimums=findings.minimums_text(audit))
        sections.append(
            {
                "title": title,
                "lines": lines,
                "folded": folded_title if is_folded else "",
                "note": note,
            }
        )
    return sections


def _has_mark(line: Mapping[str, Any]) -> bool:
    """Return whether a rate of a group is marked as of too little data."""
    return any(drawn["mark"] for of_metric in line["of"].values() for drawn in of_metric)


def _group_row(audit: Audit, group: GroupResult) -> dict[str, Any]:
    """Return a group with its comparisons for the templates."""
    drawn_comparisons = {
        metric: [_drawn_comparison(audit, comparison) for comparison in comparisons]
        for metric, comparisons in group.comparisons.items()
    }
    return {
        "group": group.name,
        "speakers": None if group.speakers is None else count_text(group.speakers),
        "systems": [comparison.system for comparison in next(iter(group.comparisons.values()))],
        "n": group.n_systems,
        "of": drawn_comparisons,
    }


def _drawn_comparison(audit: Audit, comparison: GroupComparison) -> dict[str, Any]:
    """Return a ratio and its interval in percent of the axis, and as text."""
    margin = audit.record["options"]["margin"]
    margin_ends = [round(100 * axis_position(end), 1) for end in (1 / margin, margin)]
    interval_ends = [
        None if end is None else round(100 * axis_position(end), 1)
        for end in (comparison.low, comparison.high)
    ]
    has_interval = None not in interval_ends
    arrows = _axis_arrows(comparison) if has_interval else []
    ratio_position = (
        None if comparison.ratio is None else round(100 * axis_position(comparison.ratio), 1)
    )
    code = comparison.verdict or "none"
    sign, shape = SIGNS.get(code, ""), SHAPES.get(code, SHAPES["inconclusive"])
    if comparison.worse_group:
        sign, shape = "", ""
    ratio_text = "–" if comparison.ratio is None else f"{short_number(comparison.ratio)}×"
    return {
        "code": "none" if comparison.worse_group else code,
        "margin": (margin_ends[0], round(margin_ends[1] - margin_ends[0], 1)),
        "low": interval_ends[0] if has_interval else None,
        "cut": arrows,
        "high": interval_ends[1],
        "at": None
        if ratio_position in {x for x, _ in arrows}
        else ratio_position,  # the arrow is drawn at this position
        "shape": shape,
        "times": f"{sign} {ratio_text}".strip(),
        "span": "" if comparison.high is None else interval_text(comparison.low, comparison.high),
        "guess": comparison.best_guess,
        "note": _note_text(comparison),
        "rate": percent(comparison.rate),
        "mark": "\N{NO-BREAK SPACE}*" if comparison.is_under_represented else "",
        "counts": "" if comparison.verdict else comparison.details or comparison.error_counts,
    }


def _note_text(comparison: GroupComparison) -> str:
    """Return what stands before a ratio: the group that is worse instead, or a p-value."""
    if comparison.worse_group:
        return f"see {comparison.worse_group}"
    return p_value(comparison.p) if comparison.fails_only_after_holm else ""


def _axis_arrows(comparison: GroupComparison) -> list[tuple[int, str]]:
    """Return arrows where an interval extends beyond the axis."""
    is_below = comparison.low is not None and comparison.low < LOWEST
    is_above = comparison.high is not None and comparison.high > HIGHEST
    arrows = []
    if is_below:
        arrows.append((0, "M6 -4L0 0L6 4Z"))
    if is_above:
        arrows.append((100, "M-6 -4L0 0L-6 4Z"))
    return arrows


def _verdict_bar(audit_overview: Overview) -> list[tuple[float, float, str]]:
    """Return start, width and code of each verdict's part of the bar, in percent."""
    total, start, segments = sum(audit_overview.verdict_counts.values()), 0.0, []
    for code, n_groups in audit_overview.verdict_counts.items():
        width = 100 * n_groups / total if total else 0
        if n_groups:
            segments.append((round(start, 2), round(width, 2), code))
        start += width
    return segments
