"""What a page shows first, and every group at the first operating point: ratios as strips."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from parivox.core.verdict import EQUIVALENCE_CONFIDENCE
from parivox.report import findings
from parivox.report.audit_queries import ERROR_TYPES, VERDICTS, systems
from parivox.report.ratio_strips import HIGHEST, LOWEST, SHAPES, SIGNS, TICKS, axis_position
from parivox.report.words import (
    capitalised,
    count_text,
    interval_text,
    p_value,
    percent,
    short_number,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.auditing import Audit
    from parivox.report.caveats import Caveat
    from parivox.report.overview import GroupComparison, GroupResult, Overview

EVENTS = {
    "fnr": "False rejects (FNR): genuine speakers rejected",
    "fpr": "False accepts (FPR): impostors accepted",
}
"""Both error types as the heads of columns."""
_MOST_SHOWN = 12
"""Groups in the first figure, of which there are fewer where systems are many."""
_MOST_ROWS = 24
"""Rows of the first figure, one for each group and system."""
_MOST_SEEN = 60
"""Rows of all groups that are seen at once; further groupings are folded."""


def first(audit: Audit, of: Overview, more: Sequence[Caveat] = ()) -> dict[str, Any]:
    """What is seen first, as ``first.html.j2`` takes it; `more` caveats are of the page alone."""
    shown = _shown(of)
    n_other = len(of.groups) - len(shown)
    what = "Groups with a verdict of worse or better"
    if not of.differing_groups:
        most = "The groups with most speakers" if n_other and shown[0].speakers else "Groups"
        what = f"{most}; none has a verdict of worse or better"
    others = f". The other {count_text(n_other)} are listed under All groups" if n_other else ""
    return {
        **of._asdict(),
        "notes": of.notes,
        "bar": _bar(of),
        "shown": [_line(audit, one) for one in shown],
        "caption": f"{what}, compared with {findings.reference_text(audit)}{others}",
        "caveats": [*of.caveats, *more],
        "legend": _legend(audit, of, shown),
    }


def _legend(audit: Audit, of: Overview, shown: Sequence[GroupResult]) -> list[str]:
    """Return what the signs, lines and columns of the first figure stand for."""
    if not of.verdict_counts:
        return ["observed rates, errors/trials below; without intervals there are no verdicts"]
    options = audit.record["options"]
    margin, level = options["margin"], 100 * options["confidence"]
    legend = [
        (
            "▲ worse, ▼ better: significant after adjustment for all groups and both error types, "
            "and not equivalent"
        ),
        (
            "○ ? inconclusive; with a p: the interval excludes 1, but the difference is not "
            "significant after adjustment"
        ),
    ]
    if any(judged.repeats_other_group for line in shown for judged in line.all_comparisons()):
        legend.append("grey ▼: the same comparison as the other group’s ▲, not counted again")
    legend.append(f"ratio: error rate divided by that of {findings.reference_text(audit)}")
    if "fpr" in _events(of):
        legend.append(f"false accepts: {findings.ALLOCATIONS[options['allocate'][0]]}")
    return [
        *legend,
        (
            f"lines and [ ]: {level:g} % confidence intervals over speakers, not adjusted for "
            "multiple comparisons; arrows: the interval extends beyond the axis"
        ),
        (
            f"grey band: equivalence margin, ratios from 1/{margin:g} to {margin:g}; equivalent: "
            f"a stricter interval ({100 * EQUIVALENCE_CONFIDENCE:g} %) lies inside it"
        ),
        "for help with this screen, see “Read a report” in the documentation",
    ]


def _shown(of: Overview) -> list[GroupResult]:
    """The groups of the first figure."""
    n_systems = max((len(line.comparisons["fnr"]) for line in of.groups), default=1)
    return of.leading_groups(min(_MOST_SHOWN, max(1, _MOST_ROWS // n_systems)))


def _events(of: Overview) -> dict[str, str]:
    """The errors that any group has a rate of, as the heads of columns; both if none has."""
    rates = {m: [one.rate for line in of.groups for one in line.comparisons[m]] for m in EVENTS}
    return {
        m: words for m, words in EVENTS.items() if any(r is not None for r in rates[m])
    } or EVENTS


def words_of_page(audit: Audit, of: Overview) -> dict[str, Any]:
    """Words and functions that templates of ratios use."""
    return {
        "rates": ERROR_TYPES,
        "verdicts": VERDICTS,
        "events": _events(of),
        "signs": SIGNS,
        "ticks": [
            (round(100 * axis_position(at), 1), words)
            for at, words in TICKS.items()
            if of.verdict_counts
        ],
        "several": len(systems(audit)) > 1,
        "capital": capitalised,
        "number": count_text,
    }


def every_group(audit: Audit, of: Overview) -> list[dict[str, Any]]:
    """All groups of each grouping, as ``all.html.j2`` takes them."""
    made, n_rows = [], 0
    is_seen_above = len(_shown(of)) == len(of.groups)
    for grouping, same in groupby(of.groups, key=lambda line: line.grouping):
        lines = [_line(audit, one) for one in same]
        n_rows += sum(line["n"] for line in lines)
        title = f"By {grouping}, at the primary operating point"
        n = f": {count_text(len(lines))} groups" if len(lines) > 1 else ""
        above = f", as above{', with the intervals in figures' * bool(of.verdict_counts)}"
        folded = f"{title}{above if is_seen_above else n}"
        is_folded = is_seen_above or n_rows > _MOST_SEEN
        made.append({"title": title, "lines": lines, "folded": folded if is_folded else ""})
    return made


def _line(audit: Audit, line: GroupResult) -> dict[str, Any]:
    of = {
        metric: [_drawn(audit, one) for one in judged]
        for metric, judged in line.comparisons.items()
    }
    return {
        "group": line.name,
        "speakers": None if line.speakers is None else count_text(line.speakers),
        "systems": [one.system for one in line.comparisons["fnr"]],
        "n": len(line.comparisons["fnr"]),
        "of": of,
    }


def _drawn(audit: Audit, one: GroupComparison) -> dict[str, Any]:
    """A ratio and its interval in percent of the axis, and in words."""
    margin = audit.record["options"]["margin"]
    strip = [round(100 * axis_position(end), 1) for end in (1 / margin, margin)]
    ends = [
        None if end is None else round(100 * axis_position(end), 1) for end in (one.low, one.high)
    ]
    is_known = None not in ends
    cut = _cut(one) if is_known else []
    at = None if one.ratio is None else round(100 * axis_position(one.ratio), 1)
    code = one.verdict or "none"
    times = "–" if one.ratio is None else f"{short_number(one.ratio)}×"
    return {
        "code": "none" if one.repeats_other_group else code,
        "margin": (strip[0], round(strip[1] - strip[0], 1)),
        "low": ends[0] if is_known else None,
        "cut": cut,
        "high": ends[1],
        "at": None if at in {x for x, _ in cut} else at,  # there the arrow stands
        "shape": SHAPES.get(code, SHAPES["cannot_tell"]),
        "times": f"{SIGNS.get(code, '')} {times}".strip(),
        "span": "" if one.high is None else interval_text(one.low, one.high),
        "guess": one.best_guess,
        "p": p_value(one.p) if one.fails_only_after_holm else "",
        "rate": percent(one.rate),
        "counts": "" if one.verdict else one.error_counts,
    }


def _cut(one: GroupComparison) -> list[tuple[int, str]]:
    """Arrows where an interval goes on beyond the axis."""
    is_below = one.low is not None and one.low < LOWEST
    is_above = one.high is not None and one.high > HIGHEST
    return [(0, "M6 -4L0 0L6 4Z")] * is_below + [(100, "M-6 -4L0 0L-6 4Z")] * is_above


def _bar(of: Overview) -> list[tuple[float, float, str]]:
    """The share of each verdict, one after the other, in percent."""
    total, x, made = sum(of.verdict_counts.values()), 0.0, []
    for code, n in of.verdict_counts.items():
        width = 100 * n / total if total else 0
        made += [(round(x, 2), round(width, 2), code)] * bool(n)
        x += width
    return made
