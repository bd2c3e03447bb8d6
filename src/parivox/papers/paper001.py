"""Hutiri and Ding (2022), "Bias in Automated Speaker Recognition": tables 4 and 5.

Both describe ResNetSE34V2 on VoxCeleb1-H, 18 groups of gender and nationality, at the
threshold with the least normalised cost (``voxsrc``) over all trials. Every printed figure
follows from the rules of bt4vt (`parivox.core.bt4vt`) and three further steps:

* costs are rounded to 4 decimals before they are divided by 0.05 (so 0.0077476 prints as
  0.154 and not as 0.155);
* threshold bias is the ratio of two such rounded costs;
* table 5 divides by the rates of the alphabetically last group, usa_m, and not by the overall
  rates that its caption names.

Each function takes counts and returns rows that set the printed figure beside the one by the
paper's steps, the one by bt4vt's rules alone, and the exact one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core.bias import ratio, threshold_bias
from parivox.core.bt4vt import bt4vt_cdet_at, bt4vt_min_cdet, bt4vt_rates_at
from parivox.core.costs import COST_MODELS, cdet, min_cdet
from parivox.errors import DataError
from parivox.papers.items import (
    FAILS,
    HOLDS,
    LATER,
    MISSING,
    NOTHING,
    OPEN,
    RUNS,
    SIDE,
    Claim,
    Figures,
    Item,
    Paper,
    Reproduced,
)
from parivox.papers.voxceleb import BY, ON_H, V2, L

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.auditing.result import Audit
    from parivox.core.counts import Counts, FloatArray
    from parivox.papers.voxceleb import Voxceleb1H
    from parivox.read.table import Table

COST = COST_MODELS["voxsrc"]
REFERENCE_5 = "usa_m"
"""The group whose rates table 5 divides by."""

# group: speakers, cost at the overall minimum, subgroup bias, own minimum, threshold bias
TABLE_4 = {
    "mexico_m": (5, 0.090, 0.5768, 0.090, 1.0000),
    "newzealand_m": (6, 0.104, 0.6668, 0.086, 1.2093),
    "ireland_f": (5, 0.110, 0.7109, 0.070, 1.5714),
    "canada_m": (29, 0.114, 0.7304, 0.104, 1.0962),
    "usa_m": (431, 0.130, 0.8357, 0.122, 1.0656),
    "australia_m": (25, 0.140, 0.9020, 0.136, 1.0294),
    "usa_f": (368, 0.142, 0.9224, 0.140, 1.0143),
    "uk_m": (127, 0.148, 0.9523, 0.140, 1.0571),
    "ireland_m": (13, 0.162, 1.0432, 0.160, 1.0125),
    "australia_f": (12, 0.178, 1.1523, 0.154, 1.1558),
    "india_m": (15, 0.190, 1.2200, 0.144, 1.3194),
    "germany_f": (5, 0.208, 1.3359, 0.184, 1.1304),
    "canada_f": (25, 0.224, 1.4501, 0.202, 1.1089),
    "uk_f": (88, 0.226, 1.4558, 0.172, 1.3140),
    "norway_f": (7, 0.228, 1.4711, 0.210, 1.0857),
    "italy_f": (5, 0.276, 1.7827, 0.104, 2.6538),
    "norway_m": (13, 0.398, 2.5720, 0.396, 1.0051),
    "india_f": (11, 0.400, 2.5766, 0.318, 1.2579),
}
"""Printed table 4: 3 decimals for costs, 4 for both biases."""

# group: speakers, FPR ratio, FNR ratio
TABLE_5 = {
    "mexico_m": (5, 0.0000, 0.8173),
    "canada_m": (29, 0.5171, 0.9396),
    "newzealand_m": (6, 0.5218, 0.8487),
    "norway_f": (7, 0.6306, 1.9682),
    "ireland_f": (5, 0.9037, 0.8408),
    "usa_m": (431, 1.0000, 1.0000),
    "australia_m": (25, 1.1055, 1.0745),
    "germany_f": (5, 1.5023, 1.6162),
    "ireland_m": (13, 1.6864, 1.1675),
    "usa_f": (368, 2.0542, 0.9287),
    "canada_f": (25, 3.1483, 1.4749),
    "uk_m": (127, 3.5339, 0.6986),
    "australia_f": (12, 5.6031, 0.6008),
    "norway_m": (13, 6.0866, 2.5233),
    "india_m": (15, 6.6852, 0.4975),
    "uk_f": (88, 7.8514, 0.6168),
    "italy_f": (5, 10.3484, 0.6202),
    "india_f": (11, 13.0387, 1.2497),
}
"""Printed table 5: 4 decimals."""


class Figure(NamedTuple):
    """One figure of a table, found in four ways."""

    printed: float | None
    """None for a group that the paper does not list."""
    paper: float
    """By the paper's steps."""
    compat: float
    """By bt4vt's rules alone, nothing rounded, divided by the overall figure."""
    exact: float
    """By counting at the threshold (docs/methods/published-tables.md#table-4-of-paper-001)."""


@dataclass(frozen=True)
class Row4:
    """A group in table 4; costs are normalised, lower is better, a bias of 1 is fair."""

    group: str
    cost: Figure
    subgroup_bias: Figure
    own_cost: Figure
    threshold_bias: Figure


@dataclass(frozen=True)
class Row5:
    """A group in table 5: its rates over the reference's; 1 is fair, above 1 is worse."""

    group: str
    fpr_ratio: Figure
    fnr_ratio: Figure


def paper_name(group: str) -> str:
    """Name that the paper gives to a group of gender and nationality.

    Examples
    --------
    >>> paper_name("m+New Zealand")
    'newzealand_m'
    """
    gender, _, nationality = group.partition("+")
    return f"{nationality.replace(' ', '').lower()}_{gender}"


def table4(overall: Counts, groups: Mapping[str, Counts]) -> list[Row4]:
    """Detection costs, subgroup bias and threshold bias of each group.

    The threshold is found on all trials; those of a group, by the paper's name for it, are of its
    enrolment speakers.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> group = Counts.from_scores([0.9, 0.7, 0.8, 0.1], [1, 1, 0, 0])
    >>> overall = group + Counts.from_scores([0.9, 0.85, 0.3, 0.2], [1, 1, 0, 0])
    >>> (row,) = table4(overall, {"usa_m": group})
    >>> round(row.subgroup_bias.exact, 6), row.subgroup_bias.printed
    (2.0, 0.8357)
    """
    least, exact_least = bt4vt_min_cdet(overall, cost=COST), min_cdet(overall, cost=COST)
    at = np.array(
        [bt4vt_cdet_at(cell, least.threshold, cost=COST).value for cell in groups.values()]
    )
    own = np.array([bt4vt_min_cdet(cell, cost=COST).value for cell in groups.values()])
    exact_at = np.array(
        [cdet(cell.at([exact_least.threshold]), COST)[0] for cell in groups.values()]
    )
    exact_own = np.array([min_cdet(cell, cost=COST).value for cell in groups.values()])
    bias = ratio(at, least.value).value
    paper_at, paper_own = (np.round(cost, 4) / COST.c_default for cost in (at, own))
    columns = (
        (paper_at, at / COST.c_default, exact_at),
        (bias, bias, ratio(exact_at, exact_least.value).value),
        (paper_own, own / COST.c_default, exact_own),
        tuple(
            threshold_bias(cost, minimum).value
            for cost, minimum in ((paper_at, paper_own), (at, own), (exact_at, exact_own))
        ),
    )
    return [Row4(group, *figures) for group, figures in _figures(TABLE_4, groups, columns)]


def table5(overall: Counts, groups: Mapping[str, Counts]) -> list[Row5]:
    """Ratios of each group's error rates at the overall threshold.

    Groups, by the paper's names for them, need usa_m, which the paper's steps divide by.

    Examples
    --------
    >>> from parivox.core.counts import Counts
    >>> usa = Counts.from_scores([0.9, 0.7, 0.8, 0.1], [1, 1, 0, 0])
    >>> overall = usa + Counts.from_scores([0.9, 0.85, 0.3, 0.2], [1, 1, 0, 0])
    >>> (row,) = table5(overall, {"usa_m": usa})
    >>> row.fnr_ratio.paper, row.fnr_ratio.exact
    (1.0, 2.0)
    """
    if REFERENCE_5 not in groups:
        msg = f"table 5 divides by {REFERENCE_5}, which is not among the groups {sorted(groups)}"
        raise DataError(msg)
    threshold = bt4vt_min_cdet(overall, cost=COST).threshold
    exact_threshold = min_cdet(overall, cost=COST).threshold
    reference = bt4vt_rates_at(groups[REFERENCE_5], threshold)
    pooled = bt4vt_rates_at(overall, threshold)
    rates = [bt4vt_rates_at(cell, threshold) for cell in groups.values()]
    exact_pooled = overall.at([exact_threshold])
    exact = [cell.at([exact_threshold]) for cell in groups.values()]
    columns = tuple(
        (
            ratio([getattr(rate, name) for rate in rates], getattr(reference, name)).value,
            ratio([getattr(rate, name) for rate in rates], getattr(pooled, name)).value,
            ratio(
                [getattr(curve, name)[0] for curve in exact], getattr(exact_pooled, name)[0]
            ).value,
        )
        for name in ("fpr", "fnr")
    )
    return [Row5(group, *figures) for group, figures in _figures(TABLE_5, groups, columns)]


def _figures(
    table: Mapping[str, tuple[float, ...]],
    groups: Mapping[str, Counts],
    columns: tuple[tuple[FloatArray, ...], ...],
) -> Iterator[tuple[str, list[Figure]]]:
    """Each group with its figures, one per column, the printed one first."""
    for i, group in enumerate(groups):
        _, *printed = table.get(group, (None,) * (len(columns) + 1))
        yield (
            group,
            [
                Figure(figure, *(float(found[i]) for found in column))
                for figure, column in zip(printed, columns, strict=True)
            ],
        )


# --- items ----------------------------------------------------------------------------------------

_AUDIT: dict[str, Any] = {
    "compare": True,
    "operating_points": "min-cdet",
    "zero": "none",
    "fixed_threshold": True,
}
"""How both systems are audited for the tables: at the least cost over all trials, as it is."""

# share of the speakers and of the trials of VoxCeleb1-H, in per cent with one decimal
_SHARES = {
    "nationality=USA": (67.1, 64.7),
    "nationality=UK": (18.1, 19.3),
    "nationality=Canada": (4.5, 3.9),
}
_GENDERS = {"gender=f": (44.0, 41.1), "gender=m": (56.0, 58.9)}


def _audit(data: Voxceleb1H) -> Audit:
    return data.audit(V2, L, **_AUDIT)


def _groups(data: Voxceleb1H, system: str = V2) -> tuple[Counts, dict[str, Counts]]:
    """All trials, and those of each group by the paper's names."""
    counts = data.counts(system)
    groups = {name: one for name, one in counts.items() if name not in {"all", "pooled"}}
    return counts["all"], {paper_name(name): one for name, one in groups.items()}


def _rows(table: Table, system: str = V2, **where: str) -> dict[str, Mapping[str, Any]]:
    """Rows of one metric or measure by the paper's names of groups."""
    rows = table.where(system=system, grouping=BY, **where).rows()
    return {paper_name(row["group"]): row for row in rows}


def _shown(rows: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Groups that are above 1, and below it, with p adjusted for all of them."""
    sure = {group: row for group, row in rows.items() if (row["p_holm"] or 1) < SIDE}
    above = [group for group, row in sure.items() if row["value"] > 1]
    return above, [group for group in sure if group not in above]


def _named(groups: Sequence[str]) -> str:
    return ", ".join(groups) or "none"


def _table2(data: Voxceleb1H) -> Reproduced:
    audit = data.audit(V2, by=("gender", "nationality"), intervals=False)
    rows = {f"{r['grouping']}={r['group']}": r for r in audit.groups.where(metric="eer").rows()}
    whole = rows["all=all"]
    trials = whole["target_trials"] + whole["nontarget_trials"]
    nationalities = [name for name in rows if name.startswith("nationality=")]
    figures = Figures()
    for quantity, printed, exact in (
        ("speakers", 1_190, whole["speakers"]),
        ("trials", 550_894, trials),
        ("nationalities", 11, len(nationalities) - 1),  # and the row of all of them
    ):
        figures.add("VoxCeleb1-H", quantity, printed, exact, 0)
    for name, (of_speakers, of_trials) in (_GENDERS | _SHARES).items():
        row, decimals = rows[name], 0 if name in _GENDERS else 1
        share = 100 * row["speakers"] / whole["speakers"]
        figures.add(name, "speakers, %", of_speakers, share, decimals)
        share = 100 * (row["target_trials"] + row["nontarget_trials"]) / trials
        figures.add(name, "trials, %", of_trials, share, 1)
    return Reproduced(
        figures.table(),
        notes=(
            "What the table calls shares of utterances are shares of trials.",
            "Columns of VoxCeleb1 test and VoxCeleb1-E take their lists.",
        ),
    )


def _table4(data: Voxceleb1H) -> Reproduced:
    audit, (overall, groups) = _audit(data), _groups(data)
    costs = _rows(audit.groups, metric="cdet_norm", operating_point="min-cdet")
    own = _rows(audit.groups, metric="min_cdet_norm")
    biases = _rows(audit.bias, measure="subgroup_bias")
    gains = _rows(audit.bias, measure="threshold_bias")
    figures = Figures()
    for row in table4(overall, groups):
        for quantity, one, decimals, of in (
            ("cost at the overall threshold", row.cost, 3, costs),
            ("subgroup bias", row.subgroup_bias, 4, biases),
            ("cost at its own threshold", row.own_cost, 3, own),
            ("threshold bias", row.threshold_bias, 4, gains),
        ):
            figures.add(
                *(row.group, quantity, one.printed, one.exact, decimals),
                of=of[row.group],
                neutral=1.0 if of is biases else None,
                authors=one.paper,
            )
    above, below = _shown(biases)
    means = [
        np.mean([row["value"] for group, row in gains.items() if group.endswith(sex)])
        for sex in "fm"
    ]
    over = [group for group, (_, _, bias, *_) in TABLE_4.items() if bias > 1]
    return Reproduced(
        figures.table(),
        (
            Claim(
                f"{len(over)} groups fare worse than average, {len(TABLE_4) - len(over)} better",
                _of_rows(figures.rows, "subgroup bias"),
                "with chance between speakers counted, and for all 18 groups at once, shown to be "
                f"worse: {_named(above)}; better: {_named(below)}; of the others it cannot be told",
            ),
            Claim(
                "Thresholds of their own would help women more (1.37 on average) than men (1.09)",
                OPEN,
                f"counted exactly the means are {means[0]:.2f} and {means[1]:.2f}, over groups of "
                "as few as five people, on the trials that thresholds were found on (claim 5.4)",
            ),
        ),
        (
            (
                "Authors: a cost is that of the nearest point of a curve that is cut at its ends, "
                "rounded to 4 decimals before it is divided; threshold bias is a ratio of two such."
            ),
            "mexico_m is in print the best of all groups as its curve ends below the threshold.",
        ),
    )


def _table5(data: Voxceleb1H) -> Reproduced:
    audit, (overall, groups) = _audit(data), _groups(data)
    of = {
        metric: _rows(
            *(audit.bias,),
            measure="ratio",
            metric=metric,
            reference="pooled",
            operating_point="min-cdet",
        )
        for metric in ("fpr", "fnr")
    }
    figures = Figures()
    for row in table5(overall, groups):
        for metric, one in (("fpr", row.fpr_ratio), ("fnr", row.fnr_ratio)):
            figures.add(
                *(row.group, f"{metric.upper()} ratio", one.printed, one.exact, 4),
                of=of[metric][row.group],
                neutral=1.0,
                authors=one.paper,
            )
    india, usa = ({m: rows[group] for m, rows in of.items()} for group in ("india_f", REFERENCE_5))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Women from India face 13 times the FPR and 1.3 times the FNR of everyone",
                HOLDS if round(india["fpr"]["value"]) == 13 else FAILS,
                "13 is the ratio to men from the USA; to everyone the FPR is "
                f"{_interval(india['fpr'])} and the FNR {_interval(india['fnr'])}",
            ),
            Claim(
                "Men from the USA have the error rates of everyone",
                FAILS if _differs(usa["fpr"]) or _differs(usa["fnr"]) else OPEN,
                f"they are 1 as they are divided by themselves; to everyone the FPR is "
                f"{_interval(usa['fpr'])} and the FNR {_interval(usa['fnr'])}",
            ),
        ),
        (f"Authors: divided by the rates of {REFERENCE_5}, not by the overall rates.",),
    )


def _of_rows(rows: Sequence[Mapping[str, Any]], quantity: str) -> str:
    """What becomes of a claim about all groups: it holds where it holds for each."""
    verdicts = {row["verdict"] for row in rows if row["quantity"] == quantity}
    return FAILS if FAILS in verdicts else OPEN if OPEN in verdicts else HOLDS


def _differs(row: Mapping[str, Any]) -> bool:
    """Whether a group is shown to differ from everyone."""
    return row["p_holm"] is not None and bool(row["p_holm"] < SIDE)


def _interval(row: Mapping[str, Any]) -> str:
    """A ratio as words have it."""
    if row["low"] is None:
        return f"{row['value']:.2f} times"
    return f"{row['value']:.2f} times [{row['low']:.2f}, {row['high']:.2f}]"


def _figure5(data: Voxceleb1H) -> Reproduced:
    rows = _rows(_audit(data).comparison, measure="subgroup_bias")
    figures = Figures()
    for group, row in rows.items():
        figures.add(group, f"subgroup bias, {V2}", None, row["value"], 4)
        figures.add(group, f"subgroup bias, {L}", None, row["other"], 4)
        figures.add(group, f"{V2} - {L}", None, row["difference"], 4, of=row, p_holm=row["p"])
    lower = [group for group, row in rows.items() if row["difference"] < 0]
    sure = [group for group, row in rows.items() if (row["p"] or 1) < SIDE / len(rows)]
    usa = rows["usa_f"]
    return Reproduced(
        figures.table(),
        (
            Claim(
                f"{V2} has the lower bias for 7 groups, {L} for 10",
                HOLDS if len(lower) == 7 else FAILS,
                f"it is lower for {len(lower)} and {len(rows) - len(lower)}, usa_m (0.836 and "
                f"0.832) taken as equal; adjusted for {len(rows)} groups, shown to differ: "
                f"{_named(sure)}",
            ),
            Claim(
                "The bias of men and of women from the USA is the same for both systems",
                FAILS if {"usa_f", "usa_m"} & {*sure} else OPEN,
                f"usa_m differs by {rows['usa_m']['difference']:+.3f} and usa_f by "
                f"{usa['difference']:+.3f} [{usa['low']:+.3f}, {usa['high']:+.3f}]",
            ),
        ),
        ("p is of each group by itself.",),
    )


def _figure7(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    point = audit.operating_points.where(system=V2, operating_point="min-cdet").rows()[0]
    rates = {
        metric: audit.groups.where(
            system=V2, grouping="all", metric=metric, operating_point="min-cdet"
        ).rows()[0]
        for metric in ("fpr", "fnr")
    }
    figures = Figures()
    figures.add(V2, "threshold", -1.024, point["threshold"], 3)
    for (metric, row), printed in zip(rates.items(), (0.27, 10.36), strict=True):
        of = {name: 100 * row[name] for name in ("low", "high")}
        figures.add(V2, f"{metric.upper()}, %", printed, 100 * row["value"], 2, of=of)
    return Reproduced(figures.table())


def _claim51(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    eers = _rows(audit.bias, measure="ratio", metric="eer", reference="pooled")
    biases = _rows(audit.bias, measure="subgroup_bias")
    figures = Figures()
    for group, row in eers.items():
        figures.add(group, "EER over that of everyone", None, row["value"], 4, of=row)
    women = {group: row for group, row in eers.items() if group.endswith("_f")}
    men = {group: row for group, row in eers.items() if group.endswith("_m")}
    above = [group for group, row in women.items() if row["value"] > 1]
    below = [group for group, row in men.items() if row["value"] < 1]
    worse, better = _shown(eers)
    not_worse = [g for g, r in biases.items() if g.endswith("_f") and r["value"] < 1]
    most = biases["usa_m"]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The curves of women lie mostly above that of everyone",
                HOLDS if len(above) > len(women) / 2 else FAILS,
                f"by EER for {len(above)} of {len(women)} nationalities; adjusted for all groups, "
                f"shown to be worse: {_named([g for g in worse if g in women])}",
            ),
            Claim(
                "The curves of men lie below it",
                HOLDS if len(below) == len(men) else FAILS,
                f"by EER for {len(below)} of {len(men)} nationalities; shown to be better: "
                f"{_named([g for g in better if g in men])}",
            ),
            Claim(
                "All women but those from the USA have a subgroup bias above 1",
                HOLDS if not_worse == ["usa_f"] else FAILS,
                f"in the paper's own table it is below 1 for {_named(not_worse)}",
            ),
            Claim(
                "The system is fit to the largest group of its training data, the USA",
                HOLDS if (most["p_holm"] or 1) < SIDE and most["value"] < 1 else OPEN,
                f"subgroup bias of usa_m is {_interval(most)}, p {most['p_holm']:.3f} after "
                "adjusting for 18 groups",
            ),
        ),
    )


def _claim54(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    seen = _rows(audit.bias, measure="threshold_bias")
    others = _rows(audit.bias, measure="threshold_bias_cv")
    figures = Figures()
    for group, row in others.items():
        figures.add(group, "on the same trials", None, seen[group]["value"], 4, of=seen[group])
        if row["value"] is not None:
            figures.add(group, "on other speakers", None, row["value"], 4, of=row)
    known = {group: row for group, row in others.items() if row["value"] is not None}
    gain = [group for group, row in known.items() if row["value"] > 1]
    lose = [group for group, row in known.items() if row["high"] is not None and row["high"] < 1]
    sure = [group for group, row in known.items() if (row["low"] or 0) > 1]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "All groups would do better with a threshold of their own",
                FAILS if lose else OPEN,
                "a minimum over the very trials cannot be above the cost at any other threshold, "
                "so that on these all groups gain; with thresholds found on other speakers of the "
                f"group {len(known) - len(gain)} of {len(known)} do not gain, and the interval is "
                f"above 1 for {_named(sure)}, below 1 for {_named(lose)}",
            ),
        ),
        ("On other speakers: cross-fitted over speakers; missing where a group has too few.",),
    )


_item = partial(Item, "001")


PAPER = Paper(
    "001",
    "W. Hutiri and A. Y. Ding",
    2022,
    "Bias in Automated Speaker Recognition",
    (
        _item("table", "1", "metrics and costs of challenges", NOTHING, "literature"),
        _item("table", "2", "who is in three lists; VoxCeleb1-H", RUNS, ON_H, _table2),
        _item("table", "3", "attributes of two systems", NOTHING, "from their publications"),
        _item("table", "4", "costs, subgroup bias, threshold bias", RUNS, ON_H, _table4),
        _item("table", "5", "ratios of error rates to the average", RUNS, ON_H, _table5),
        *(_item("figure", n, "a drawing", NOTHING, "no data") for n in "123"),
        _item("figure", "4", "DET curves of women and men", LATER, ON_H),
        _item("figure", "5", "subgroup bias of two systems", RUNS, ON_H, _figure5),
        _item("figure", "6", "DET of three lists", MISSING, "scores of VoxCeleb1 test and E"),
        _item("figure", "7", "the point of least cost", RUNS, ON_H, _figure7),
        _item("figure", "8", "DET curves by nationality", LATER, ON_H),
        _item("figure", "9", "subgroup bias of two systems", LATER, ON_H),
        _item("figure", "10", "own thresholds on DET curves", LATER, ON_H),
        _item("figure", "11", "speakers by nationality", LATER, "speakers of VoxCeleb1"),
        _item("claim", "5.1", "women fare worse, the USA better", RUNS, ON_H, _claim51),
        _item("claim", "5.4", "own thresholds help everybody", RUNS, ON_H, _claim54),
    ),
)
