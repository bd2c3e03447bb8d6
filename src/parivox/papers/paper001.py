"""Hutiri and Ding (2022), "Bias in Automated Speaker Recognition": its items on VoxCeleb1-H.

Tables 4 and 5 by the paper's own steps: `parivox.papers.paper001_tables`.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.core.costs import COST_MODELS, cdet, equalised_min_cdet, min_cdet
from parivox.core.rates import fnr_at_fpr
from parivox.core.separation import r_precision
from parivox.core.verdict import holm
from parivox.papers.items import (
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
    clear_of,
    in_percent,
    is_above,
    is_below,
    is_shown,
    named,
    of_groups,
    recounted,
    spanned,
)
from parivox.papers.paper001_tables import COST, REFERENCE_5, TABLE_4, paper_name, table4, table5
from parivox.papers.voxceleb import AT_LEAST_COST, BY, ON_H, TEST, V2, H, L

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from parivox.auditing import Audit
    from parivox.core.counts import Counts
    from parivox.data.table import Table
    from parivox.papers.voxceleb import Voxceleb1H

# share of the speakers and of the trials of VoxCeleb1-H, in per cent with one decimal
_SHARES = {
    "nationality=USA": (67.1, 64.7),
    "nationality=UK": (18.1, 19.3),
    "nationality=Canada": (4.5, 3.9),
}
_GENDERS = {"gender=f": (44.0, 41.1), "gender=m": (56.0, 58.9)}
_TEST = {
    "gender=f": (38.0, 29.5),
    "gender=m": (62.0, 70.5),
    "nationality=USA": (62.5, 59.6),
    "nationality=UK": (12.5, 13.9),
    "nationality=Ireland": (7.5, 6.7),
}
"""The same of VoxCeleb1's test list."""
_COSTS = {
    "VoxCeleb SRC": "voxsrc",
    "NIST SRE 2019, telephone": "sre19_cts",
    "Speakers in the Wild 2016": "sitw16",
    "Far-Field SVC 2020": "ffsvc20",
    "Short Duration SVC (SRE08)": "sre08",
}
"""Of the challenges of table 1 that minimise a detection cost, which."""
_GAPS = {
    "wider": ("UK", "USA", "Ireland"),
    "unchanged": ("Australia", "India", "Canada"),
    "closer": ("Norway",),
}
"""What section 5.2 says of women's and men's curves as ResNetSE34L takes ResNetSE34V2's place."""
_SAME_GAP = 0.15
"""Of the logarithm of women's EER over men's: a change below it counts as none."""
_FIGURE_10 = tuple(f"{nationality}_{sex}" for nationality in ("india", "uk", "usa") for sex in "fm")
_GRID = np.geomspace(0.001, 0.1, 41)
"""FPRs at which whole curves are compared."""


def _audit(data: Voxceleb1H) -> Audit:
    return data.audit(V2, L, **AT_LEAST_COST)


def _groups(data: Voxceleb1H, system: str = V2) -> tuple[Counts, dict[str, Counts]]:
    """All trials, and those of each group by the paper's names."""
    counts = data.counts(system)
    groups = {name: one for name, one in counts.items() if name not in {"all", "pooled"}}
    return counts["all"], {paper_name(name): one for name, one in groups.items()}


def _rows(table: Table, system: str = V2, **where: str) -> dict[str, Mapping[str, Any]]:
    """Rows of one metric or measure by the paper's names of groups."""
    rows = table.where(system=system, grouping=BY, **where).rows()
    return {paper_name(row["group"]): row for row in rows if row["group"] != "pooled"}


def _shown(rows: Mapping[str, Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """Groups that are above 1, and below it, with p adjusted for all of them."""
    sure = {group: row for group, row in rows.items() if is_shown(row["p_holm"])}
    above = [group for group, row in sure.items() if row["value"] > 1]
    return above, [group for group in sure if group not in above]


def _spread(audit: Audit, grouping: str) -> tuple[Figures, Claim]:
    """How unequal FPR and FNR are at the overall threshold, and whether that is beyond chance."""
    figures, shown, ranges = Figures(), [], []
    for metric in ("fpr", "fnr"):
        at = {"system": V2, "grouping": grouping, "metric": metric, "operating_point": "min-cdet"}
        rates = [r for r in audit.groups.where(**at).rows() if r["group"] != "pooled"]
        for row in rates:
            name = paper_name(row["group"]) if grouping == BY else row["group"]
            of = in_percent(row)
            figures.add(name, f"{metric.upper()}, %", None, of["value"], 2, of=of)
        for gated, whose in ((False, "all"), (True, "those of enough people")):
            (row,) = audit.meta.where(**at, measure="gini", gated=gated).rows()
            name = f"Gini of {metric.upper()}"
            figures.add(whose, name, None, row["value"], 4, of=row, p_holm=row["p"])
            if gated:
                shown.append(is_shown(row["p"]))
                ginis = f"Gini {spanned(row)}, 95 % of fair systems below {row['floor_95']:.2f}"
        least, most = (f"{100 * end(r['value'] for r in rates):.2f}" for end in (min, max))
        ranges.append(
            f"{metric.upper()} from {least} to {most} %, over those of enough people {ginis}"
        )
    return figures, Claim(
        "At the overall threshold error rates differ much between subgroups",
        of_groups(one or None for one in shown),
        "; ".join(ranges),
    )


def _table1(data: Voxceleb1H) -> Reproduced:
    figures = Figures()
    sides: dict[str, list[bool]] = {}
    for challenge, name in _COSTS.items():
        model = COST_MODELS[name]
        for system in (V2, L):
            overall, groups = _groups(data, system)
            least = min_cdet(overall, cost=model)
            figures.add(challenge, f"minimum cost ({system})", None, float(least.value), 4)
            if system == V2 and len(model.p_target) == 1:
                for group, one in groups.items():
                    cost = cdet(one.at([least.threshold]), model)[0]
                    sides.setdefault(group, []).append(bool(cost > least.value))
    for system in (V2, L):
        overall, groups = _groups(data, system)
        name, model = "NIST SRE 2019, telephone", COST_MODELS["sre19_cts"]
        equalised = float(equalised_min_cdet(groups.values(), cost=model))
        figures.add(name, f"minimum cost, groups equalised ({system})", None, equalised, 4)
        precision = 100 * float(r_precision(overall))
        figures.add("Speakers in the Wild 2016", f"R-precision, % ({system})", None, precision, 3)
        (row,) = _audit(data).groups.where(system=system, grouping="all", metric="eer").rows()
        of = in_percent(row)
        figures.add("SUPERB, VoxCeleb SRC", f"EER, % ({system})", None, of["value"], 3, of=of)
    turned = [group for group, of_group in sides.items() if len({*of_group}) > 1]
    biases = _rows(_audit(data).bias, measure="subgroup_bias")
    sure = [group for group in turned if clear_of(biases[group], 1.0) is not None]
    values = {
        row["row"]: row["exact"]
        for row in figures.rows
        if row["quantity"] == f"minimum cost ({V2})"
    }
    (low, least), *_, (high, most) = sorted(values.items(), key=lambda one: one[1])
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Different versions of the detection cost are in use, which is impractical for "
                "consistent evaluation (5.3)",
                recounted(most > least),
                f"the same scores of {V2} have a minimum of {least:.3f} as in {low} and of "
                f"{most:.3f} as in {high}. {len(turned)} of {len(sides)} groups change sides with "
                f"the version ({named(turned)}); of these shown to be on one, at the cost of table "
                f"4: {named(sure)}",
            ),
        ),
        (
            "Costs over that of the better blind decision, weights as in the challenges' plans.",
            "Equalised: one threshold, and each of 18 groups counts the same, as NIST averages.",
            "R-precision is 1 - EER where half of the trials are target trials, as nearly here.",
            "Cllr is left out, as these scores are no likelihood ratios.",
        ),
    )


def _trials(row: Mapping[str, Any]) -> int:
    return int(row["target_trials"] + row["nontarget_trials"])


def _table2(data: Voxceleb1H) -> Reproduced:
    listed = data.test_list()
    audit = data.audit(V2, by=("gender", "nationality"), intervals=False)
    rows = {f"{r['grouping']}={r['group']}": r for r in audit.groups.where(metric="eer").rows()}
    whole = rows["all=all"]
    trials = _trials(whole)
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
        share = 100 * _trials(row) / trials
        figures.add(name, "trials, %", of_trials, share, 1)
    each: dict[str, dict[str, int]] = {"speakers": {}, "trials": {}}
    for name in _GENDERS:
        each["speakers"][name] = rows[name]["speakers"]
        each["trials"][name] = _trials(rows[name])
    for what, of_women in (("speakers", 79.0), ("trials", 70.0)):
        women, men = each[what].values()
        figures.add("VoxCeleb1-H", f"women to men, {what}, %", of_women, 100 * women / men, 0)
    if listed is not None:
        _of_test(figures, listed.tables["groups"])
    about = {one["id"]: one for one in data.people()}
    owners = [about[name.split("/")[0]] for name in data.utterances()]
    of = {kind: Counter(one[kind] for one in owners) for kind in ("gender", "nationality")}
    women, men = each["speakers"].values()
    per = [of["gender"]["f"] / women, of["gender"]["m"] / men]
    apart = 0.0
    for name in _GENDERS | _SHARES:
        kind, _, group = name.partition("=")
        share = 100 * of[kind][group] / len(owners)
        apart = max(apart, abs(share - 100 * _trials(rows[name]) / trials))
        figures.add(name, "utterances, %", None, share, 2)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Women are fewer, and each of them has fewer utterances (5.3)",
                recounted(women < men and per[0] < per[1]),
                f"{women} women and {men} men, with {per[0]:.0f} and {per[1]:.0f} utterances each "
                "on average; the paper says it of three lists",
                H,
            ),
        ),
        (
            (
                "Printed shares of utterances are beside shares of trials; those of the utterances "
                f"in the list differ from them by {apart:.2f} points at most."
            ),
            (
                f"The column of VoxCeleb1's test list is counted where --data has {TEST}; that of "
                "VoxCeleb1-E takes its list."
            ),
        ),
        (partial(audit.charts.speakers, by="nationality"),),
    )


def _of_test(figures: Figures, groups: Table) -> None:
    """What a list of trials holds, beside the column of VoxCeleb1's test list."""
    rows = {f"{r['grouping']}={r['group']}": r for r in groups.rows()}
    whole = rows["all=all"]
    nations = sum(row["grouping"] == "nationality" for row in rows.values())
    for quantity, printed, exact in (
        ("speakers", 40, whole["speakers"]),
        ("trials", 37_720, whole["trials"]),
        ("nationalities", 9, nations),
    ):
        figures.add("VoxCeleb1 test", quantity, printed, exact, 0)
    for name, (people, trials) in _TEST.items():
        row, decimals = rows.get(name), 0 if name in _GENDERS else 1
        if row is not None:
            share = 100 * row["speakers"] / whole["speakers"]
            figures.add(f"test, {name}", "speakers, %", people, share, decimals)
            share = 100 * row["trials"] / whole["trials"]
            figures.add(f"test, {name}", "trials, %", trials, share, 1)


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
                note=f"{costs[row.group]['speakers']} speakers",
            )
    above, below = _shown(biases)
    sides = [
        (is_above if bias > 1 else is_below)(biases[group])
        for group, (_, _, bias, *_) in TABLE_4.items()
    ]
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
                of_groups(sides),
                "adjusted for all 18 groups, shown to be worse: "
                f"{named(above)}; better: {named(below)}; of the others it cannot be told",
            ),
            Claim(
                "Thresholds of their own would help women more (1.37 on average) than men "
                "(1.09; 5.4)",
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
                "Women from India face 13 times the average FPR (5.3)",
                recounted(round(india["fpr"]["value"]) == 13),
                "13 is the ratio to men from the USA, by whose rates the table divides; to "
                f"everyone it is {_interval(india['fpr'])}, which has room for 13",
            ),
            Claim(
                "They face 1.3 times the average FNR, a higher risk of exclusion (5.3)",
                of_groups([is_above(india["fnr"])]),
                f"to everyone it is {_interval(india['fnr'])}",
            ),
            Claim(
                "Men from the USA have error rates in line with the average (5.3)",
                of_groups(False if is_shown(row["p_holm"]) else None for row in usa.values()),
                f"they are 1 as they are divided by themselves; to everyone the FPR is "
                f"{_interval(usa['fpr'])} and the FNR {_interval(usa['fnr'])}",
            ),
        ),
        (f"Authors: divided by the rates of {REFERENCE_5}, not by the overall rates.",),
    )


def _interval(row: Mapping[str, Any]) -> str:
    """A ratio as words have it."""
    return spanned(row, " times")


def _figure2(data: Voxceleb1H) -> Reproduced:
    audit, overall = _audit(data), data.counts(V2)["all"]
    figures = Figures()
    (eer,) = audit.groups.where(system=V2, grouping="all", metric="eer").rows()
    of = in_percent(eer)
    figures.add(V2, "errors at the threshold of the EER, %", None, of["value"], 3, of=of)
    least = min_cdet(overall, cost=COST)
    figures.add(V2, "threshold of the least cost", None, float(least.threshold), 3)
    return Reproduced(
        figures.table(),
        notes=(
            "Two of many such distributions: the paper does not say of which scores its own are.",
        ),
        charts=(partial(audit.charts.distributions, by="gender", system=V2),),
    )


def _figure4(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    figures, spread = _spread(audit, BY)
    curves = _rows(audit.bias, measure="ratio", metric="fnr_at_fpr", reference="pooled")
    for group, row in curves.items():
        figures.add(
            group, "FNR at its own FPR of 1 %, over that of everyone", None, row["value"], 4, of=row
        )
    of = {"system": V2, "grouping": "nationality", "measure": "subgroup_bias"}
    nations = {row["group"]: row for row in audit.bias.where(**of).rows()}
    _, better = _shown(nations)
    eers = audit.groups.where(system=V2, metric="eer").rows()
    sizes = {(row["grouping"], row["group"]): _trials(row) for row in eers}
    own = sizes["nationality", "USA"] / sizes["all", "all"]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The model is fit to the dominant population in the training data, US speakers "
                "(5.1)",
                of_groups([is_below(nations["USA"])]),
                f"their subgroup bias is {spanned(nations['USA'])}, p "
                f"{nations['USA']['p_holm']:.3f} adjusted for {len(nations)} nationalities, though "
                f"{100 * own:.0f} % of all trials are their own; shown to be below 1: "
                f"{named(better)}",
            ),
            spread,
        ),
        ("Whether women's curves lie above that of everyone, and men's below it: claim 5.1.",),
        (partial(audit.charts.det, by=BY, systems=V2, panel="gender"),),
    )


def _figure5(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    rows = _rows(audit.comparison, measure="subgroup_bias")
    figures = Figures()
    for group, row in rows.items():
        figures.add(group, f"subgroup bias, {V2}", None, row["value"], 4)
        figures.add(group, f"subgroup bias, {L}", None, row["other"], 4)
        figures.add(group, f"{V2} - {L}", None, row["difference"], 4, of=row, p_holm=row["p"])
    lower = [group for group, row in rows.items() if row["difference"] < 0]
    apart_by = [
        g for g, row in rows.items() if row["p"] is not None and row["p"] < SIDE / len(rows)
    ]
    men = {group: row for group, row in rows.items() if group.endswith("_m")}
    above = {
        system: [group for group, row in men.items() if row[column] > 1]
        for system, column in ((V2, "value"), (L, "other"))
    }
    biases = _rows(audit.bias, measure="subgroup_bias")
    sure = [group for group in men if is_above(biases[group])]
    where = {"grouping": BY, "metric": "cdet_norm", "measure": "nrb"}
    (nrb,) = audit.comparison.where(**where).rows()
    apart = nrb["low"] is not None and not nrb["low"] <= 0 <= nrb["high"]
    usa = (f"{g} by {_signed(rows[g])}" for g in ("usa_m", "usa_f"))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The subgroup bias of men is close to 1 or below it for both systems",
                recounted(max(TABLE_4[group][2] for group in men) < 2),
                f"table 4 prints {TABLE_4['norway_m'][2]:.2f} for norway_m. Counted it is above 1 "
                f"for {len(above[V2])} and {len(above[L])} of {len(men)} groups of men, adjusted "
                f"shown to be: {named(sure)}",
            ),
            Claim(
                "The bias of men and of women from the USA is the same for both systems",
                of_groups([None if g not in apart_by else False for g in ("usa_m", "usa_f")]),
                f"it differs for {' and for '.join(usa)}: alike is more than not shown to differ",
            ),
            Claim(
                f"Neither system definitively has the smaller differences: {V2} has the lower bias "
                f"for 7 groups, {L} for 10",
                recounted(not apart and not apart_by),
                f"counted {len(lower)} and {len(rows) - len(lower)}, usa_m among these (0.836 and "
                f"0.832); adjusted shown to differ: {named(apart_by)}; nor does NRB of the cost: "
                f"{_signed(nrb)}",
            ),
        ),
        ("p is of each group by itself.",),
        (partial(audit.charts.against, by=BY, measure="subgroup_bias", systems=(V2, L)),),
    )


def _signed(row: Mapping[str, Any]) -> str:
    """A difference of two systems with its interval."""
    return f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"


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
        of = in_percent(row)
        figures.add(V2, f"{metric.upper()}, %", printed, of["value"], 2, of=of)
    same = all(row["agrees"] for row in figures.rows)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At the score -1.024 FPR is 0.27 % and FNR 10.36 %",
                recounted(same),
                "; ".join(
                    f"{metric.upper()} {spanned(in_percent(row), ' %')}"
                    for metric, row in rates.items()
                ),
            ),
        ),
        charts=(partial(audit.charts.together, systems=V2),),
    )


def _figure8(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    figures, claim = _spread(audit, "nationality")
    of = {"system": V2, "grouping": "nationality", "metric": "eer", "measure": "ratio"}
    eers = {r["group"]: r for r in audit.bias.where(**of, reference="pooled").rows()}
    for group, row in eers.items():
        figures.add(group, "EER over that of everyone", None, row["value"], 4, of=row)
    worse, better = _shown(eers)
    told = f"by EER shown to be worse than everyone: {named(worse)}; better: {named(better)}"
    return Reproduced(
        figures.table(),
        (
            claim._replace(
                sentence="Performance is disparate across nationalities (5.1)",
                why=f"at the overall threshold {claim.why}; {told}",
            ),
        ),
        ("Curves of women and of men of a nationality share a panel, as in the paper.",),
        (partial(audit.charts.det, by=BY, systems=V2, panel="nationality"),),
    )


def _figure9(data: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(data), Figures()
    rows = _rows(audit.comparison, measure="value", metric="eer")
    claims = []
    for way, nationalities in _GAPS.items():
        found, sides = [], list[bool | None]()
        for nationality in nationalities:
            women, men = (rows[f"{nationality.lower()}_{sex}"] for sex in "fm")
            ratios = [women[of] / men[of] for of in ("value", "other")]
            change = math.log(ratios[1] / ratios[0])
            half = None
            if women["log_low"] is not None and men["log_low"] is not None:
                half = math.hypot(*(one["log_high"] - one["log_low"] for one in (women, men))) / 2
            for system, ratio in zip((V2, L), ratios, strict=True):
                figures.add(nationality, f"EER of women over men, {system}", None, ratio, 3)
            # above 0 the curves move apart, whichever of the two is the upper
            wider = abs(math.log(ratios[1])) - abs(math.log(ratios[0]))
            span = {"low": half and wider - half, "high": half and wider + half}
            figures.add(nationality, f"wider from {V2} to {L}, ln", None, wider, 3, of=span)
            if half is None:
                sides.append(None)
            elif way == "unchanged":
                is_small, is_great = abs(change) + half < _SAME_GAP, abs(change) - half > _SAME_GAP
                sides.append(True if is_small else False if is_great else None)
            else:
                is_wider = clear_of(span)
                sides.append(None if is_wider is None else is_wider == (way == "wider"))
            told = spanned({"value": wider, **span}) if half else f"{wider:.2f}, of too few people"
            found.append(f"{nationality} {ratios[0]:.2f} and {ratios[1]:.2f}, wider by {told}")
        claims.append(
            Claim(
                f"From {V2} to {L} curves of women and men are {way} for {named(nationalities)}",
                of_groups(sides),
                f"EER of women over men, and change in logarithm: {'; '.join(found)}",
            )
        )
    return Reproduced(
        figures.table(),
        tuple(claims),
        (
            "Distance between curves is taken at the EER; no interval where people are too few.",
            "Women and men share no trials here, so that half-widths add up as squares.",
        ),
        (partial(audit.charts.det, by=BY, systems=(V2, L), panel="nationality"),),
    )


def _figure10(data: Voxceleb1H) -> Reproduced:
    audit, (overall, groups) = _audit(data), _groups(data)
    names = {paper_name(name): name for name in data.counts(V2) if "+" in name}
    figures = Figures()
    common = min_cdet(overall, cost=COST)
    whole = overall.at([common.threshold])
    at: dict[str, tuple[float, float]] = {}
    own: dict[str, tuple[float, float]] = {}
    for group in _FIGURE_10:
        counts = groups[group]
        for made, of, threshold in (
            (at, "at the overall threshold", common.threshold),
            (own, "at its own", min_cdet(counts, cost=COST).threshold),
        ):
            rates = counts.at([threshold])
            made[group] = 100 * float(rates.fpr[0]), 100 * float(rates.fnr[0])
            for name, value in zip(("FPR", "FNR"), made[group], strict=True):
                figures.add(group, f"{name} {of}, %", None, value, 3)
    middle = 100 * float(whole.fpr[0]), 100 * float(whole.fnr[0])

    def above(group: str, fprs: Iterable[float]) -> list[bool]:
        pairs = (
            (fnr_at_fpr(one, target=fpr).value for one in (groups[group], overall)) for fpr in fprs
        )
        return [bool(mine > all_) for mine, all_ in pairs]

    eers = _rows(audit.bias, measure="ratio", metric="eer", reference="pooled")
    india = above("india_f", _GRID)
    fpr = float(whole.fpr[0])
    region = {group: above(group, (fpr / 3, fpr, fpr * 3)) for group in ("uk_f", "usa_f")}
    is_closer = {
        group: [abs(own[group][i] - middle[i]) <= abs(at[group][i] - middle[i]) for i in range(2)]
        for group in _FIGURE_10
    }
    not_closer = [group for group, both in is_closer.items() if not all(both)]
    usa = [
        f"{group}: FPR {at[group][0]:.2f} against {own[group][0]:.2f} %, "
        f"FNR {at[group][1]:.1f} against {own[group][1]:.1f} %"
        for group in ("usa_f", "usa_m")
    ]
    moved = max(abs(at[g][1] / own[g][1] - 1) for g in ("usa_f", "usa_m"))
    improved = all(at[g][0] < own[g][0] for g in ("usa_f", "usa_m"))
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Whatever the threshold, women from India fare worse than everyone",
                of_groups([is_above(eers["india_f"])]),
                f"their curve lies above that of everyone at {sum(india)} of {len(india)} FPRs "
                f"from 0.1 to 10 %, but they are 11 people: by EER {_interval(eers['india_f'])}, "
                f"p {eers['india_f']['p_holm']:.2f} after adjusting for all groups",
            ),
            Claim(
                "Near the tuned thresholds women from the UK and the USA fare worse, too",
                recounted(all(TABLE_4[group][2] > 1 for group in region)),
                f"table 4 prints {TABLE_4['usa_f'][2]:.2f} for usa_f, better than average. Around "
                "the overall FPR (a third, once, three times) the curve lies above that of "
                "everyone at "
                + "; ".join(f"{sum(found)} of 3 for {group}" for group, found in region.items()),
            ),
            Claim(
                "The overall threshold does not move the FNR of people from the USA, and improves "
                "their FPR",
                recounted(improved and moved < 0.02),
                "it improves the FPR; but along a curve a lower FPR costs FNR. At the overall "
                f"against their own threshold {'; '.join(usa)}",
            ),
            Claim(
                "At its own threshold each group's FPR and FNR are closer to those of everyone",
                OPEN,
                f"of {len(_FIGURE_10)} groups it is not so for {named(not_closer)}, by rates "
                "without intervals, on the trials that thresholds were found on",
            ),
        ),
        ("Rates at own thresholds are those of the trials that the thresholds were found on.",),
        (
            partial(
                audit.charts.det,
                by=BY,
                systems=V2,
                groups=[names[group] for group in _FIGURE_10],
                panel="nationality",
            ),
        ),
    )


def _figure11(data: Voxceleb1H) -> Reproduced:
    people, figures = data.people(), Figures()
    genders = Counter(one["gender"] for one in people)
    nations = Counter(one["nationality"] for one in people)
    women = Counter(one["nationality"] for one in people if one["gender"] == "f")
    for nation, n in nations.most_common():
        figures.add(nation, "speakers", None, n, 0)
        figures.add(nation, "women", None, women[nation], 0)
    usa = nations["USA"] / len(people)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "VoxCeleb1 is skewed towards men and people from the USA (6.2)",
                recounted(genders["m"] > genders["f"] and usa > 1 / 2),
                f"of {len(people):,} speakers {100 * genders['m'] / len(people):.1f} % are men and "
                f"{100 * usa:.1f} % from the USA; {sum(n < 5 for n in nations.values())} of "
                f"{len(nations)} nationalities have fewer than five speakers",
            ),
        ),
        ("The chart is of the 1,190 of them who are in VoxCeleb1-H.",),
        (partial(_audit(data).charts.speakers, by=BY),),
    )


def _claim51(data: Voxceleb1H) -> Reproduced:
    audit = _audit(data)
    eers = _rows(audit.bias, measure="ratio", metric="eer", reference="pooled")
    figures = Figures()
    for group, row in eers.items():
        figures.add(group, "EER over that of everyone", None, row["value"], 4, of=row)
    women = {group: row for group, row in eers.items() if group.endswith("_f")}
    men = {group: row for group, row in eers.items() if group.endswith("_m")}
    above = [group for group, row in women.items() if row["value"] > 1]
    below = [group for group, row in men.items() if row["value"] < 1]
    worse, better = _shown(eers)
    printed = [g for g, (_, _, bias, *_) in TABLE_4.items() if g.endswith("_f") and bias < 1]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The curves of women lie mostly above that of everyone",
                of_groups(is_above(row) for row in women.values()),
                f"by EER they are for {len(above)} of {len(women)} nationalities; adjusted for all "
                f"groups, shown to be worse: {named([g for g in worse if g in women])}",
            ),
            Claim(
                "The curves of men lie below it",
                of_groups(is_below(row) for row in men.values()),
                f"by EER they are for {len(below)} of {len(men)} nationalities; shown to be "
                f"better: {named([g for g in better if g in men])}",
            ),
            Claim(
                "All women but those from the USA have a subgroup bias above 1",
                recounted(printed == ["usa_f"]),
                f"table 4 prints values below 1 for {named(printed)}",
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
    none = [group for group, row in known.items() if row["value"] <= 1]
    ways = {group: clear_of(row, 1.0) for group, row in known.items()}
    up, down = ([g for g, way in ways.items() if way is one] for one in (True, False))
    p = dict(zip(known, holm([_chance(row) for row in known.values()]), strict=True))
    sides = [ways[g] if g in known and is_shown(p[g]) else None for g in others]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "All groups would perform better if tuned to their own threshold (5.4, 7.1)",
                of_groups(sides),
                "on the trials that it is found on a threshold of one's own cannot harm, by "
                f"definition; found on other speakers, in the {len(known)} of {len(others)} groups "
                f"of ten people or more, {len(none)} do not gain. By itself an interval is above 1 "
                f"for {named(up)} and below 1 for {named(down)}, adjusted for {len(known)} groups "
                f"for {named(g for g in known if is_shown(p[g]))}",
            ),
        ),
        ("On other speakers: cross-fitted over speakers; missing where a group has too few.",),
    )


def _chance(row: Mapping[str, Any]) -> float:
    """P that a ratio is 1, by its interval, taken for a normal one of the logarithm."""
    if row["low"] is None:
        return math.nan
    se = math.log(row["high"] / row["low"]) / (2 * 1.96)
    return math.erfc(abs(math.log(row["value"])) / se / math.sqrt(2))


def _claim72(data: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(data), Figures()
    above, ratios = {}, {}
    for metric, name in (("eer", "EER"), ("cdet_norm", "cost")):
        rows = _rows(audit.groups, metric=metric)
        both = [g[:-2] for g in rows if g.endswith("_f") and f"{g[:-2]}_m" in rows]
        found = {}
        for nation in both:
            women, men = (rows[f"{nation}_{sex}"] for sex in "fm")
            ends = [math.log(one["high"] / one["low"]) / 2 for one in (women, men)]
            value, half = women["value"] / men["value"], math.exp(math.hypot(*ends))
            found[nation] = {"value": value, "low": value / half, "high": value * half}
        p = holm([_chance(row) for row in found.values()])
        for (nation, row), one in zip(found.items(), p, strict=True):
            row["p_holm"] = float(one)
            figures.add(nation, f"{name} of women over men", None, row["value"], 3, of=row)
        above[name], ratios[name] = [g for g in found if found[g]["value"] > 1], found
    sure = {g for found in ratios.values() for g, row in found.items() if is_above(row) is not None}
    printed = [g for g in both if TABLE_4[f"{g}_f"][2] < TABLE_4[f"{g}_m"][2]]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "The difference between women and men persists across minority and dominant "
                "subgroups",
                of_groups(is_above(row) for row in ratios["cost"].values()),
                f"of {len(both)} nationalities with both, women have the greater EER in "
                f"{len(above['EER'])} ({named(above['EER'])}) and cost in {len(above['cost'])}; "
                f"adjusted, shown to differ from men: {named(sure)}; in print women of "
                f"{named(printed)} have the lower subgroup bias",
            ),
        ),
        ("Women and men share no trials here, so that half-widths add up as squares.",),
        (partial(audit.charts.forest, by=BY, system=V2),),
    )


def _claim8(data: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(data), Figures()
    at = {"system": V2, "measure": "ratio", "reference": "others"}
    cost = {"metric": "cdet_norm", "operating_point": "min-cdet"}
    (women,) = audit.bias.where(**at, **cost, grouping="gender", group="f").rows()
    nations = {r["group"]: r for r in audit.bias.where(**at, **cost, grouping="nationality").rows()}
    figures.add("women", "cost over that of men", None, women["value"], 4, of=women)
    usa = nations["USA"]
    ends = {"value": usa["value"], "low": usa["high"], "high": usa["low"]}
    others = {name: 1 / end for name, end in ends.items()} | {"p_holm": usa["p_holm"]}
    name = "cost over that of people from the USA"
    figures.add("all but the USA", name, None, others["value"], 4, of=others)
    rates = [
        audit.bias.where(**at, grouping="gender", group="f", metric=m, operating_point="min-cdet")
        for m in ("fpr", "fnr")
    ]
    for metric, one in zip(("FPR", "FNR"), rates, strict=True):
        row = one.rows()[0]
        figures.add("women", f"{metric} over that of men", None, row["value"], 4, of=row)
    (eer,) = audit.bias.where(
        system=V2, measure="ratio", reference="pooled", metric="eer", grouping="gender", group="f"
    ).rows()
    figures.add("women", "EER over that of everyone", None, eer["value"], 4, of=eer)
    worse = _shown({g: row for g, row in nations.items() if g != "USA"})[0]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Most affected are female speakers and non-US nationalities, who experience "
                "significant performance degradation (abstract, 8)",
                of_groups([is_above(women), is_above(others)]),
                f"taken together, at the overall threshold: women's cost is {_interval(women)} "
                f"that of men, by FPR {_interval(rates[0].rows()[0])} and by FNR "
                f"{_interval(rates[1].rows()[0])}; that of people from elsewhere "
                f"{_interval(others)} that of people from the USA. By EER women are at "
                f"{_interval(eer)}; of single nationalities shown to be worse by cost: "
                f"{named(worse)}",
            ),
        ),
        (),
        (partial(audit.charts.forest, by="nationality", system=V2),),
    )


_item = partial(Item, "001")


_ONE_LIST = "VoxCeleb1-H; the test list where --data has it"
PAPER = Paper(
    "001",
    "W. Hutiri and A. Y. Ding",
    2022,
    "Bias in Automated Speaker Recognition",
    (
        _item("table", "1", "metrics of challenges", RUNS, ON_H, _table1),
        _item("table", "2", "who is in three lists", RUNS, ON_H, _table2, _ONE_LIST),
        _item("table", "3", "attributes of two systems", NOTHING, "from their publications"),
        _item("table", "4", "costs, subgroup bias, threshold bias", RUNS, ON_H, _table4),
        _item("table", "5", "ratios of error rates to the average", RUNS, ON_H, _table5),
        _item("figure", "1", "parts of a system", NOTHING, "a drawing"),
        _item(
            "figure", "2", "two typical score distributions", RUNS, ON_H, _figure2, f"those of {H}"
        ),
        _item("figure", "3", "steps of the evaluation", NOTHING, "a drawing"),
        _item("figure", "4", "DET curves of women and men", RUNS, ON_H, _figure4),
        _item("figure", "5", "subgroup bias of two systems", RUNS, ON_H, _figure5),
        _item("figure", "6", "DET of three lists", MISSING, "scores of VoxCeleb1 test and E"),
        _item("figure", "7", "DET curve with one point", RUNS, ON_H, _figure7),
        _item("figure", "8", "DET curves by nationality", RUNS, ON_H, _figure8),
        _item("figure", "9", "DET curves of two systems", RUNS, ON_H, _figure9),
        _item("figure", "10", "own thresholds on DET curves", RUNS, ON_H, _figure10),
        _item("figure", "11", "speakers by nationality", RUNS, ON_H, _figure11),
        _item("claim", "5.1", "women fare worse, the USA better", RUNS, ON_H, _claim51),
        _item("claim", "5.4", "own thresholds help everybody", RUNS, ON_H, _claim54),
        _item("claim", "7.2", "women fare worse in every subgroup", RUNS, ON_H, _claim72),
        _item("claim", "8", "who is most affected", RUNS, ON_H, _claim8),
    ),
)
