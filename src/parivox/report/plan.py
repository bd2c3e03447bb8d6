"""A plan in words: what today's data can detect, what it would take, what FPR is supported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import group
from rich.padding import Padding

from parivox.report.audit_queries import system_label
from parivox.report.words import add_row, count_text, grid, print_text, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from parivox.decide.sample_size_plan import Plan

    Row = dict[str, Any]

REASONS = {
    "one_group": "there is no other group",
    "shared_trials": "groups share trials",
    "unknown_speakers": "its speakers are not known",
    "no_trials": "it has no trials",
    "no_errors_of_others": "the others have no errors",
    "unknown_icc": "too few errors to tell how its speakers vary",
    "few_speakers": "fewer than 5 speakers tell nothing",
    "rate_above_one": "the wished ratio makes a rate above 1",
    "none_detectable": "no ratio could be detected",
}
_FROM = {"given": "given", "pooled": "from the pilot"}
_FAR = 100
_LITTLE, _ADVICE = 1 / 3, "more speakers, not more trials"
_SCOPE = ("system", "list", "within", "operating_point")
_SUPPORT = "FPR that the nontarget trials support: from 30 independent errors on"
_FAMILY = (*_SCOPE, "grouping", "allocation")


def print_plan(plan: Plan, *, details: bool = False) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    print_text(plan_in_words(plan, details=details))


@group()
def plan_in_words(plan: Plan, *, details: bool = False) -> Iterator[RenderableType]:
    """What was asked and, of each system and list, what its first operating point tells.

    With `details` that of every grouping, else of the first.
    """
    asked = plan.asked
    designs, lists = plan.designs.rows(), plan.lists.rows()
    yield from _conditions(plan)
    yield from _needed(designs)
    yield text(
        f"To be detected: a group whose rate is {asked['detect_ratio']:g} times that of all others "
        f"together, with probability {asked['power']:g}, by a two-sided test at "
        f"{100 * asked['confidence']:g} %."
    )
    if not len(plan.groups):
        for (metric,), rows in _by(designs, ("metric",)).items():
            yield from _designs(rows)
            yield from _supported(lists if metric == "fpr" else [])
        return
    first: dict[tuple[str, str], str] = {}
    left_out: dict[str, None] = {}
    for scope, rows in _by(plan.groups.rows(), _SCOPE).items():
        system, list_, within, point = scope
        if within or first.setdefault((system, list_), point) != point:
            left_out.setdefault(f"within {within}" if within else point)
            continue
        title = f"{system} on {list_}, at {point}" if list_ else f"{system}, at {point}"
        if asked["target_fpr"] is not None:
            title += f", of those in the pilot nearest to FPR {_percent(asked['target_fpr'])}"
        yield text(title, style="bold", apart=True)
        every = [*dict.fromkeys(row["grouping"] for row in rows)]
        told = every if details else every[:1]
        left_out |= dict.fromkeys(f"{grouping} (-v)" for grouping in every[len(told) :])
        for family, own in _by(rows, _FAMILY).items():
            if own[0]["grouping"] in told:
                yield from _groups(own)
                yield from _designs(_by(designs, _FAMILY).get(family, []))
        yield text(_SUPPORT, style="bold", apart=True)
        of_lists = _by(lists, _SCOPE).get(scope, [])
        yield from _supported([row for row in of_lists if row["grouping"] in {"all", *told}])
    caution = (
        "Needed is for each group, if all are as large; every number is for one group tested by "
        "itself, if speakers vary as in the pilot."
    )
    most = max((row["groups"] for row in designs), default=0)
    if most > 2:
        level = 1 - (1 - asked["confidence"]) / (2 * most)  # both rates, as verdicts have it
        caution += (
            f" To have both rates of {most} groups tested at once (Holm), give --confidence "
            f"{level:.4f}."
        )
    yield text(caution, apart=True)
    if left_out:
        yield text(f"Not shown, but in --json: {', '.join(left_out)}.")


def _conditions(plan: Plan) -> Iterator[RenderableType]:
    """How many speakers each group needs for each condition of a policy."""
    rows, asked = plan.conditions.rows(), plan.asked
    if not rows:
        return
    yield text(
        f"Speakers that each group needs, with probability {asked['power']:g}, for a condition to "
        f"fail a group at {asked['detect_ratio']:g} times what is allowed, and to pass one that "
        "fares like all others:",
        style="bold",
    )
    yield text("")
    several = len({(row["system"], row["list"]) for row in rows if row["groups"]}) > 1
    made = grid("condition", "by", "to fail", "to pass", left=(0, 1))
    for row in rows:
        name = f", {system_label(row['system'], row['list'])}" if several and row["groups"] else ""
        needed = (count_text(row[f"speakers_to_{one}"]) for one in ("fail", "pass"))
        add_row(made, f"{row['condition']}{name}", row["grouping"] or "–", *needed)
    yield Padding(made, (0, 0, 1, 2))
    if any(row["groups"] and row["reason"] for row in rows):
        yield text("–: no number of speakers would do.")
        yield text("")
    why = [f"{row['condition']}: {row['reason']}" for row in rows if not row["groups"]]
    if why:
        yield text(f"Not planned: {'; '.join(why)}.")


def _needed(designs: Sequence[Row]) -> Iterator[RenderableType]:
    """The answer: how many speakers a group needs at the first operating point."""
    shown: dict[tuple[str, str], str] = {}
    for (system, list_, within, point, grouping, allocation), rows in _by(designs, _FAMILY).items():
        if within or shown.setdefault((system, list_), point) != point:
            continue
        needed = {
            metric.upper(): own[2]["speakers_needed"]
            for (metric,), own in _by(rows, ("metric",)).items()
        }
        first, *others = sorted(filter(needed.get, needed), key=lambda one: -needed[one]) or [""]
        how = "" if allocation in {"", "both"} else f" ({allocation})"
        of = [system_label(system, list_)] * bool(system) + [f"by {grouping}{how}"] * bool(grouping)
        whom = f"{', '.join(of)}: " if of else ""
        if first:
            also = "".join(f", {count_text(needed[one])} for {one}" for one in others)
            most = f"{count_text(needed[first])} speakers a group for {first}"
            yield text(f"{whom}{most}{also}", style="bold")


def _by(rows: Sequence[Row], columns: Sequence[str]) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by their values of some columns."""
    parts: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        parts.setdefault(tuple(row[name] for name in columns), []).append(row)
    return parts


def _groups(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """What each group can show today, what the wished ratio takes, and why cells are empty."""
    allocation = rows[0]["allocation"]
    how = "" if allocation == "both" else f", nontarget trials allocated by {allocation}"
    yield text(f"{rows[0]['grouping']}{how}", style="bold", apart=True)
    for (metric,), own in _by(rows, ("metric",)).items():
        title = metric.upper()
        table = grid(
            *(title, "speakers", "errors", "design effect", "detects worse", "better"),
            *("speakers needed", "trials needed"),
            fixed=(0,),
        )
        for row in own:
            mark = " *" if row["icc_from"] == "pooled" else "  "
            add_row(
                table,
                row["group"],
                count_text(row["speakers"]),
                count_text(row["errors"]),
                "–" if row["deff"] is None else f"{row['deff']:.1f}",
                _times(row["worse"]),
                _times(row["better"]),
                count_text(row["speakers_needed"]) + mark,
                count_text(row["trials_needed"]),
            )
        yield Padding(table, (0, 0, 0, 2))
        if any(row["icc_from"] == "pooled" for row in own):
            yield text(
                "  * as speakers of all groups vary: its own do not tell, being fewer than 10 or "
                "with fewer than 30 errors"
            )
        for (reason,), some in _by(own, ("reason",)).items():
            if reason:
                names = ", ".join(row["group"] for row in some)
                yield text(f"  {title} of {names}: {REASONS[reason]}")


def _designs(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """What groups of one size need, and whether more trials would help."""
    for (metric,), own in _by(rows, ("metric",)).items():
        now, twice = own[2:4]  # of a quarter, half, once, twice, four times the trials
        title = metric.upper()
        if now["speakers_needed"] is None:
            yield text(f"{title}: {REASONS[now['reason']]}.")
            continue
        each = _amount(now["trials_per_speaker"])
        yield text(
            f"{title}, {now['groups']} groups of one size: {now['speakers_needed']:,} speakers "
            f"each with {each} trials per speaker, so {now['trials_needed']:,} trials each (rate "
            f"{_percent(now['rate'])}, correlation within speakers {now['icc']:.2g}, "
            f"{_FROM[now['icc_from']]})."
        )
        advice = "more trials help too" if twice["saved"] > _LITTLE else _ADVICE
        yield text(
            f"{_amount(twice['trials_per_speaker'])} trials per speaker in place of {each} would "
            f"save {100 * twice['saved']:.0f} % of the speakers: {advice}."
        )


def _supported(rows: Sequence[Row]) -> Iterator[RenderableType]:
    """What FPR the lists of the groups support."""
    if not rows:
        return
    target = rows[0]["target_fpr"]
    wished = [] if target is None else [f"FPR {_percent(target)} takes", "known to"]
    heads = "", "nontarget trials", "design effect", "supports FPR from", *wished
    table = grid(*heads, fixed=(0,))
    for row in rows:
        supported, width = row["supported_fpr"], row["half_width"]
        cells = [
            "all" if row["grouping"] == "all" else row["group"],
            count_text(row["trials"]),
            "–" if row["deff"] is None else f"{row['deff']:.1f}",
            "–" if supported is None else _percent(supported),
            *([count_text(row["trials_needed"])] * bool(wished)),
            *([_precision(width)] * bool(wished)),
        ]
        add_row(table, *cells)
    yield Padding(table, (1, 0, 0, 2))


def _times(ratio: float | None) -> str:
    if ratio is None:
        return "–"
    return "> × 100" if ratio > _FAR else f"× {ratio:.2f}"


def _percent(rate: float) -> str:
    return f"{100 * rate:.3g} %"


def _precision(width: float | None) -> str:
    if width is None:
        return "–"
    return f"± {100 * width:.0f} %" if width <= 1 else "> ± 100 %"


def _amount(mean: float) -> str:
    return f"{mean:,.0f}" if mean >= 10 else f"{mean:.2g}"
