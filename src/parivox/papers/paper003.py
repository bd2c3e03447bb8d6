"""Chouchane et al., "A Comparison of Differential Performance Metrics": its items.

Table 1 from its printed percentages: `parivox.papers.paper003_tables`. The figures are of two of
its five systems, on the nine nationalities of VoxCeleb1-H, and on those of the paper's 72 speakers
that VoxCeleb1-H holds.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.auditing import criteria
from parivox.papers.items import (
    OPEN,
    RUNS,
    Claim,
    Figures,
    Item,
    Paper,
    Reproduced,
    clear_of,
    elsewhere,
    in_percent,
    is_shown,
    named,
    of_groups,
    recounted,
    spanned,
)
from parivox.papers.paper003_tables import GROUPS, MORE, TABLE_1, TRIALS, fair, table1
from parivox.papers.voxceleb import ON_H, V2, L

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parivox.auditing import Audit, Criteria
    from parivox.core.counts import FloatArray
    from parivox.papers.voxceleb import Voxceleb1H

_NUMBERS = (
    *(10338, 10343, 10350, 10357, 10363, 10367, 10375, 10386),  # USA
    *(10053, 10271, 11023, 11086, 11096, 11122, 11144, 11169),  # UK
    *(10211, 10241, 10361, 10370, 10587, 10845, 10883, 11237),  # Germany
    *(10006, 10155, 10168, 10177, 10381, 10394, 10493, 10495),  # Australia
    *(10024, 10134, 10340, 10737, 10911, 10939, 10958, 11215),  # Italy
    *(10519, 10852, 10941, 10956, 11090, 11100, 11136, 11209),  # India
    *(10016, 10055, 10118, 10246, 10317, 10554, 10994, 11043),  # Ireland
    *(10170, 10467, 10703, 10760, 10935, 10969, 11005, 11025),  # New Zealand
    *(10243, 10249, 10378, 10409, 10454, 10496, 10500, 10603),  # Canada
)
SPEAKERS = frozenset(f"id{number}" for number in _NUMBERS)
"""The speakers of the paper's published protocol; VoxCeleb1-H holds 63 of them."""

POINT = "fpr=0.001"
SWEEP, SWEPT = "fpr=0.001:0.1:log100", np.geomspace(0.1, 10, 100)
"""FPRs at which the measures are swept, as asked and in per cent."""
NINE, SOME = "nine nationalities", "63 speakers"
"""On whom the figures are made: all of VoxCeleb1-H, and those of the paper's list."""
DRAWS = 2_000
_SYSTEMS = (V2, L)
TWO = "two of five systems"
"""Those whose scores are to be had."""
_TWO = (
    "Of the paper's five systems two have public scores. VoxCeleb1-H has 22,063 trials between 63 "
    "of its 72 speakers, 648 of them on its list."
)


def _table1(_: object) -> Reproduced:
    figures, rows = Figures(), table1()
    for row in rows:
        for metric, percent, counts in zip(
            ("FPR", "FNR"), TABLE_1[row.system], (row.fp, row.fn), strict=True
        ):
            for group, printed, errors in zip(GROUPS, percent, counts.tolist(), strict=True):
                figures.add(
                    *(f"{row.system}, {group}", f"{metric}, %"),
                    *(printed, 100 * errors / TRIALS, 2),
                    note=f"{errors} of {TRIALS:,} trials",
                )
    return Reproduced(
        figures.table(),
        notes=(
            "Every printed percentage is a whole number of 2,208 trials, so that counts come back.",
        ),
    )


def _claim5(_: object) -> Reproduced:
    figures, rows = Figures(), table1()
    beyond, usual = {"plausibly": list[str](), "more": list[str]()}, dict[str, float]()
    for row in rows:
        figures.add(row.system, "FDR", None, row.fdr, 4)
        figures.add(row.system, "IR", None, row.ir, 4)
        rates = row.fp.mean() / TRIALS, row.fn.mean() / TRIALS
        of_fpr, of_fnr = fair(*rates)
        both = (of_fpr + of_fnr) / 2
        usual[row.system] = float(both.mean())
        for name, value, of in (
            ("Gini of FPR", row.garbe_fpd, of_fpr),
            ("Gini of FNR", row.garbe_fnd, of_fnr),
            ("GARBE", row.garbe, both),
        ):
            floor = {"floor_95": float(np.quantile(of, 0.95)), "p_holm": _chance(of, value)}
            note = f"fair systems show {of.mean():.2f} on average"
            figures.add(row.system, name, None, value, 4, of=floor, note=note)
        further = np.mean(fair(*rates, of_speaker=MORE), axis=0)
        for how, of in (("plausibly", both), ("more", further)):
            if is_shown(_chance(of, row.garbe)):
                beyond[how].append(row.system)
    excess = ", ".join(f"{row.garbe - usual[row.system]:.2f} ({row.system})" for row in rows)
    fairest = min(rows, key=lambda row: row.garbe).system
    least_by_fdr = min(rows, key=lambda row: row.fdr).system
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Fairness comes at the cost of accuracy: the fairest system, by GARBE, has the "
                "worst verification performance (5, 6)",
                OPEN,
                f"by printed rates, with alpha 0.5, GARBE is least for {fairest}, and its EER the "
                f"greatest; by FDR {least_by_fdr} is the least fair. A fair system of eight people "
                f"a nationality shows a GARBE of {min(usual.values()):.2f} to "
                f"{max(usual.values()):.2f} on average, and less the more errors it makes; beyond "
                f"that are {excess}. Above 95 % of fair systems are {len(beyond['plausibly'])} of "
                f"{len(rows)} if speakers differ as they plausibly do, and "
                f"{named(beyond['more'])} if they differ more. No interval tells two apart",
            ),
        ),
        (
            (
                "The measures, with alpha 0.5, are not printed at this threshold. IR of "
                "ResNetSE34V2 is undefined, as one nationality has no false negative."
            ),
            (
                "Fair systems are simulated in this design: of the variance of the scores 25 % is "
                "the speaker's for target trials (45 % if they differ more), 6 % each speaker's "
                "and 10 % the pair's for nontarget trials. p is of each figure by itself."
            ),
        ),
    )


def _chance(fair: FloatArray, at: float) -> float:
    """Share of fair systems that show as much, this one among them."""
    return float((1 + (fair >= at).sum()) / (1 + fair.size))


def _audit(data: Voxceleb1H, whom: str = NINE) -> Audit:
    among = SPEAKERS
    if whom == NINE:
        among = frozenset(one["id"] for one in data.people() if one["nationality"] in GROUPS)
    return data.audit(
        *_SYSTEMS,
        among=among,
        by="nationality",
        operating_points=(POINT, "eer"),
        alpha="0:1:0.1",
        sweep=SWEEP,
        zero="none",
        compare=True,
        gates=("speakers=2", "errors=0", "pairs=1"),  # the paper's charts are of all nine
    )


def _criteria(data: Voxceleb1H, whom: str = NINE) -> Criteria:
    if ("criteria", whom) not in data.made:
        data.made["criteria", whom] = criteria(_audit(data, whom))
    found: Criteria = data.made["criteria", whom]
    return found


def _values(audit: Audit, metric: str, measure: str, system: str, **where: Any) -> list[float]:
    """What is defined of a measure over thresholds, or at one of them."""
    rows = audit.sweep.where(metric=metric, measure=measure, system=system, **where).to_dict()
    return [value for value in rows["value"] if value is not None]


def _ranges(
    data: Voxceleb1H, measure: str, printed: Sequence[float | None], **where: str
) -> tuple[Figures, dict[str, tuple[float, float]], dict[str, tuple[float, float]]]:
    """A measure over alpha and thresholds, and its terms: figures, ranges, medians of terms."""
    figures = Figures()
    ranges: dict[str, tuple[float, float]] = {}
    medians: dict[str, tuple[float, float]] = {}
    for whom in (NINE, SOME):
        rows = _criteria(data, whom).thresholds.where(measure=measure, **where).to_dict()
        known = {name: [v for v in cells if v is not None] for name, cells in rows.items()}
        terms = known["fpr_term"], known["fnr_term"]
        nothing = float("nan")
        ranges[whom] = (
            min(known["least"], default=nothing),
            max(known["most"], default=nothing),
        )
        fpd, fnd = (float(np.median(one)) if one else nothing for one in terms)
        medians[whom] = fpd, fnd
        found = (*ranges[whom], fpd, fnd)
        names = ("least", "most", "median of FPD", "median of FND")
        for name, value, one in zip(names, found, printed, strict=True):
            # the paper's are of five systems on another list
            figures.add(whom, f"{measure.upper()}, {name}", one, value, 2, agrees=None, verdict="")
    return figures, ranges, medians


def _in_words(ranges: dict[str, tuple[float, float]], link: str = "to") -> str:
    return "; ".join(f"{one:.2f} {link} {two:.2f} on {whom}" for whom, (one, two) in ranges.items())


def _swap(data: Voxceleb1H, measure: str, figures: Figures, at: float, *, fpd_first: bool) -> Claim:
    """What becomes of where the paper says that the terms change places."""
    told, agree, near = [], [], []
    for whom in (NINE, SOME):
        found = _criteria(data, whom)
        for row in found.measures.where(measure=measure).rows():
            of = {"system": row["system"], "measure": measure}
            lowest = next(one for one in found.thresholds.where(**of).rows() if one["fnr_term"])
            points = row["change_places"].split(", ") if row["change_places"] else []
            turns = [100 * float(point.removeprefix("fpr=")) for point in points]
            name = f"{row['system']}, {whom}"
            for turn in turns:
                figures.add(name, "terms change places at an FPR of, %", None, turn, 2)
            told.append(f"{named(f'{turn:.1f} %' for turn in turns)} ({name})")
            agree.append((lowest["fpr_term"] > lowest["fnr_term"]) == fpd_first)
            near.append(turns and all(at / 2 <= one <= 2 * at for one in turns))
    first, second = ("FPD", "FND") if fpd_first else ("FND", "FPD")
    return Claim(
        f"Below an FPR of {at} % {first} is above {second}, beyond it below",
        elsewhere(all(agree) and all(near)),
        f"so for {sum(agree)} of {len(agree)}, but they change places at {'; '.join(told)}",
        TWO,
    )


def _table2(data: Voxceleb1H) -> Reproduced:
    figures, apart, silent = Figures(), dict[str, list[float]](), dict[str, list[float]]()
    for whom in (NINE, SOME):
        for row in _criteria(data, whom).measures.rows():
            name, measure = f"{row['system']}, {whom}", row["measure"].upper()
            unfair = row["least"] if measure == "FDR" else row["most"]
            times = 10 ** row["log10_apart"]
            apart.setdefault(measure, []).append(times)
            silent.setdefault(measure, []).append(100 * row["defined_silent"])
            figures.add(name, f"{measure}, larger term over smaller, median", None, times, 2)
            figures.add(name, f"{measure}, least fair", None, unfair, 2)
            figures.add(
                *(name, f"{measure}, values defined where a group has no errors, %", None),
                *(silent[measure][-1], 1),
                note=f"{row['silent']} of {row['thresholds']} thresholds",
            )
        for row in _criteria(data, whom).floors.where(operating_point=POINT, alpha=None).rows():
            if row["value"] is not None:
                quantity = f"{row['measure'].upper()}, term of {row['term'].upper()}"
                name = f"{row['system']}, {whom}"
                figures.add(name, quantity, None, row["value"], 4, of=row, p_holm=row["p"])
    spans = "; ".join(f"{m} {min(v):.1f} to {max(v):.1f} times" for m, v in apart.items())
    every = "; ".join(f"{m} {np.mean(v):.0f} %" for m, v in silent.items())
    whole = [m for m, values in silent.items() if min(values) == 100]
    bounded = {
        row["measure"] for row in _criteria(data, NINE).measures.rows() if row["bounded"] == "met"
    }
    most = max(row["exact"] for row in figures.rows if row["quantity"] == "IR, least fair")
    return Reproduced(
        figures.table(),
        (
            Claim(
                "FFMC.1: FPR and FNR contribute to IR and GARBE on one scale, not so to FDR",
                elsewhere(min(apart["FDR"]) > max(apart["IR"] + apart["GARBE"])),
                f"the larger of the two terms is in median so many times the smaller: {spans}; "
                "the paper names no limit that would part them",
                TWO,
            ),
            Claim(
                "FFMC.2: FDR and GARBE have bounds, IR has none",
                recounted(bounded == {"fdr", "garbe"}),
                f"by their definitions; IR reaches {most:.0f} here",
            ),
            Claim(
                "FFMC.3: FDR and GARBE can be computed where a group has no errors, IR cannot",
                recounted(whole == ["FDR", "GARBE"]),
                f"of their values at such thresholds are defined: {every}, IR where such a rate "
                "has no weight; where no group at all has errors GARBE is 0 / 0, counted as 0",
            ),
        ),
        (
            _TWO,
            (
                f"Terms stand beside what fair systems of these people show at {POINT}, p of each "
                "by itself; `parivox criteria` tells the same of any audit with a sweep."
            ),
        ),
        (_drawn(data, "fdr"), _drawn(data, "garbe"), _drawn(data, "ir")),
    )


def _figure1(data: Voxceleb1H) -> Reproduced:
    figures, ranges, medians = _ranges(data, "fdr", (0.82, 1.0, None, None), operating_point=POINT)
    inside = all(low >= 0.815 for low, _ in ranges.values())
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At an FPR of 0.1 % FDR is concentrated in 0.82 to 1, whatever alpha",
                elsewhere(inside),
                f"{_in_words(ranges)}, as rates are small: its terms have medians "
                f"{_scales(medians)}, FPD and FND",
                TWO,
            ),
        ),
        (_TWO,),
        (_over_alpha(data, "fdr"),),
    )


def _scales(medians: dict[str, tuple[float, float]]) -> str:
    return "; ".join(f"{one:.3f} and {two:.3f} ({whom})" for whom, (one, two) in medians.items())


def _figure2(data: Voxceleb1H) -> Reproduced:
    figures, ranges, _ = _ranges(data, "fdr", (0.72, 1.0, None, None))
    inside = all(low >= 0.715 for low, _ in ranges.values())
    swap = _swap(data, "fdr", figures, 0.9, fpd_first=False)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPRs of 0.1 to 10 % FDR is concentrated in 0.72 to 1",
                elsewhere(inside),
                f"{_in_words(ranges)}",
                TWO,
            ),
            swap,
        ),
        (_TWO,),
        (_drawn(data, "fdr"),),
    )


def _over_alpha(data: Voxceleb1H, measure: str) -> Any:
    at = {"by": "nationality", "systems": _SYSTEMS, "operating_points": POINT}
    return partial(_audit(data).charts.over_alpha, measures=measure, **at)


def _drawn(data: Voxceleb1H, measure: str) -> Any:
    charts = _audit(data).charts
    return partial(charts.terms, by="nationality", systems=_SYSTEMS, measures=measure)


def _figure3(data: Voxceleb1H) -> Reproduced:
    figures, ranges, medians = _ranges(
        data, "garbe", (0.19, 0.61, 0.55, 0.29), operating_point=POINT
    )
    _, of_fdr, _ = _ranges(data, "fdr", (None,) * 4, operating_point=POINT)
    wider = all(np.ptp(ranges[whom]) > np.ptp(of_fdr[whom]) for whom in ranges)
    apart = [one / two for one, two in medians.values()]
    for metric in ("fpr", "fnr"):
        for system in _SYSTEMS:
            at = {"system": system, "metric": metric, "operating_point": POINT, "gated": False}
            (row,) = _audit(data).meta.where(measure="gini", grouping="nationality", **at).rows()
            name = f"Gini of {metric.upper()}, {system}"
            figures.add(NINE, name, None, row["value"], 4, of=row, p_holm=row["p"])
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At an FPR of 0.1 % GARBE spans more than FDR (0.19 to 0.61 in print)",
                elsewhere(wider),
                f"{_in_words(ranges)}, FDR {_in_words(of_fdr)}",
                TWO,
            ),
            Claim(
                "There GARBE's terms are of comparable magnitude: FPD has a median of 0.55, FND of "
                "0.29 (4.1.3)",
                elsewhere(all(1 / 2 <= one <= 2 for one in apart)),
                f"{_scales(medians)}, so that FPD is "
                f"{' and '.join(f'{one:.1f}' for one in apart)} times FND, not twice",
                TWO,
            ),
        ),
        (_TWO,),
        (_over_alpha(data, "garbe"),),
    )


def _figure4(data: Voxceleb1H) -> Reproduced:
    figures, ranges, medians = _ranges(data, "garbe", (0.0, 1.0, 0.21, 0.88))
    spans = all(low < 0.05 and high > 0.95 for low, high in ranges.values())
    swap = _swap(data, "garbe", figures, 0.4, fpd_first=True)
    return Reproduced(
        figures.table(),
        (
            Claim(
                "At FPRs of 0.1 to 10 % GARBE spans all of 0 to 1, its terms on the same scale: "
                "medians 0.21 (FPD) and 0.88 (FND)",
                elsewhere(spans),
                f"{_in_words(ranges)}, with medians {_scales(medians)}; in print, which has them "
                "for 3(c), most likely a slip for 4(c), the second is 4.2 times the first",
                TWO,
            ),
            swap,
        ),
        (_TWO,),
        (_drawn(data, "garbe"),),
    )


def _figure5(data: Voxceleb1H) -> Reproduced:
    figures, ranges, _ = _ranges(data, "ir", (None, 200.0, None, None))
    shares = {}
    for whom in (NINE, SOME):
        rows = _audit(data, whom).sweep.where(measure="ir", alpha=0.5).to_dict()["value"]
        shares[whom] = 100 * sum(value is not None for value in rows) / len(rows)
        figures.add(whom, "IR, computable values, %", 8.6, shares[whom], 1, agrees=None, verdict="")
    told = "; ".join(f"{share:.0f} % on {whom}" for whom, share in shares.items())
    few = [share < 50 for share in shares.values()]
    return Reproduced(
        figures.table(),
        (
            Claim(
                "Few values of IR are computable: 8.6 % (4.2.2, as it is read here)",
                elsewhere(all(few)),
                f"{told}: it is a matter of how many trials a group has",
                TWO,
            ),
            Claim(
                "IR reaches 200",
                elsewhere(max(high for _, high in ranges.values()) >= 200),
                f"{_in_words(ranges)}, where it is defined",
                TWO,
            ),
        ),
        (_TWO,),
        (_drawn(data, "ir"),),
    )


def _figure6(data: Voxceleb1H) -> Reproduced:
    figures, lower, tells = Figures(), [], []
    for whom in (NINE, SOME):
        audit = _audit(data, whom)
        curves = [
            np.array(_values(audit, "fpr+fnr", "garbe", system, alpha=0.5)) for system in _SYSTEMS
        ]
        is_lower = curves[1] < curves[0]
        n, share = is_lower.size, int(is_lower.sum())
        beyond = is_lower[n - share :].all() and share < n  # at all FPRs above one of them
        above = f", those above {SWEPT[n - share - 1]:.2f} %," if beyond else ""
        lower.append(f"{share} of {n} FPRs on {whom}{above}")
        figures.add(whom, f"FPRs at which {L} is lower", None, share, 0)
        for point in (POINT, "eer"):
            where = {"measure": "garbe", "alpha": 0.5, "operating_point": point}
            (row,) = audit.comparison.where(**where).rows()
            name = f"GARBE {V2} - {L}"
            figures.add(f"{whom}, {point}", name, None, row["difference"], 3, of=row)
            if whom == NINE:
                tells.append((point, {**row, "value": row["difference"]}))
    return Reproduced(
        figures.table(),
        (
            Claim(
                f"{L} has the lowest GARBE at all FPRs from 0.1 to 10 %, {V2} the highest at most",
                elsewhere(all(clear_of(row) for _, row in tells)),
                f"{L} is the lower at {' and '.join(lower)}; {V2} less {L} is "
                + ", ".join(f"{spanned(row, decimals=3)} ({point})" for point, row in tells),
                TWO,
            ),
        ),
        (_TWO, f"No interval is given for {SOME}: eight a nationality or fewer are too few."),
        (
            partial(
                _audit(data).charts.over_fpr,
                by="nationality",
                systems=_SYSTEMS,
                measures="garbe",
                alpha=0.5,
            ),
        ),
    )


def _figure7(data: Voxceleb1H) -> Reproduced:
    figures, shown = Figures(), []
    for whom in (NINE, SOME):
        audit = _audit(data, whom)
        for system in _SYSTEMS:
            of = {"system": system, "grouping": "all", "metric": "eer"}
            (row,) = map(in_percent, audit.groups.where(**of).rows())
            figures.add(f"{system}, {whom}", "EER, %", None, row["value"], 2, of=row)
        (row,) = audit.comparison.where(grouping="all", metric="eer", measure="value").rows()
        change = {name: 100 * row[name] for name in ("low", "high")}
        change["value"] = 100 * row["difference"]
        figures.add(whom, f"EER {V2} - {L}, points", None, change["value"], 2, of=change)
        shown.append((whom, change))
    return Reproduced(
        figures.table(),
        (
            Claim(
                f"{L} is less accurate than {V2}",
                elsewhere(all(clear_of(row) is False for _, row in shown)),
                f"the EER of {V2} less that of {L} is "
                + "; ".join(f"{spanned(row)} points on {whom}" for whom, row in shown),
                TWO,
            ),
        ),
        (_TWO,),
        (partial(_audit(data).charts.together, systems=_SYSTEMS),),
    )


def _claim412(data: Voxceleb1H) -> Reproduced:
    figures, computable = Figures(), []
    for whom in (NINE, SOME):
        for system in _SYSTEMS:
            at = {"alpha": 0.5, "operating_point": POINT}
            found = _values(_audit(data, whom), "fpr+fnr", "ir", system, **at)
            name, printed = f"{system}, {whom}", 13.35 if system == V2 else None
            value = found[0] if found else float("nan")
            figures.add(name, "IR, alpha 0.5", printed, value, 2, agrees=None, verdict="")
            computable += [name] if found else []
    return Reproduced(
        figures.table(),
        (
            Claim(
                f"At an FPR of 0.1 % IR is computable for {V2} only (13.35), as in the other four "
                "systems some group has no false accepts",
                elsewhere(computable == [f"{V2}, {whom}" for whom in (NINE, SOME)]),
                f"with alpha 0.5 and on other trials, for {named(computable)}: not for {V2} "
                f"either, on {NINE} or on {SOME}",
                TWO,
            ),
        ),
        (_TWO, f"Print has ResNetSEV2, read as {V2}."),
    )


def _claim33(data: Voxceleb1H) -> Reproduced:
    audit, figures = _audit(data, SOME), Figures()
    claims = []
    for place, metric in enumerate(("fpr", "fnr")):
        alike, told = concordance([rates[place] for rates in TABLE_1.values()]), []
        figures.add(
            "five systems", f"Spearman of {metric.upper()}", None, alike.mean, 2, of=alike.row
        )
        for system in _SYSTEMS:
            at = {"system": system, "grouping": "nationality", "metric": metric}
            rows = audit.groups.where(**at, operating_point="eer").rows()
            rates = {row["group"]: in_percent(row) for row in rows}
            printed = TABLE_1[system][place]
            name = f"{metric.upper()}, %, {system}"
            for group, one in zip(GROUPS, printed, strict=True):
                of = rates[group]
                figures.add(group, name, one, of["value"], 2, of=of, agrees=None, verdict="")
            again = concordance([printed, [rates[group]["value"] for group in GROUPS]])
            figures.add("Spearman", name, None, again.mean, 2, of=again.row)
            told.append(f"{spanned(again.row)} for {system}")
        paper = {"fpr": "FMR", "fnr": "FNMR"}[metric]
        claims.append(
            Claim(
                f"There are consistent differences in {metric.upper()} (its {paper}) among "
                "nationalities",
                of_groups([is_shown(alike.p) or None, clear_of(alike.row)]),
                "between two of the five systems of table 1 their rank correlation is "
                f"{spanned(alike.row)} on average, {alike.least:.2f} to {alike.most:.2f}, p "
                f"{alike.p:.1g}. All five had the same eight people of each; of those who are "
                f"in VoxCeleb1-H, print and other trials of theirs have {' and '.join(told)}",
            )
        )
    return Reproduced(
        figures.table(),
        tuple(claims),
        (
            _TWO,
            "Rates are at the threshold of the pooled EER of each list.",
            "Intervals of rank correlations are over which nationalities, drawn with replacement.",
        ),
        (partial(audit.charts.forest, by="nationality", operating_point="eer"),),
    )


class Concordance(NamedTuple):
    """How alike orders are: mean of Spearman's correlations of two, their range, chance."""

    mean: float
    least: float
    most: float
    low: float
    high: float
    p: float

    @property
    def row(self) -> dict[str, float]:
        """The mean with its interval, as rows of audits have them."""
        return {"value": self.mean, "low": self.low, "high": self.high, "p_holm": self.p}


def concordance(orders: Sequence[Sequence[float]], *, draws: int = DRAWS) -> Concordance:
    """Spearman's correlations of every two of some rows of figures of the same groups.

    The interval, of 95 %, is over groups drawn with replacement; p is how often rows in random
    order, each its own, are as alike.

    Examples
    --------
    >>> concordance([[1, 2, 3, 4], [10, 20, 40, 50]]).mean
    1.0
    """
    rng, values = np.random.default_rng(0), np.array(orders, dtype=np.float64)
    pairs = np.triu_indices(len(values), 1)

    def between(drawn: FloatArray) -> FloatArray:
        below = (drawn[..., None, :] < drawn[..., :, None]).sum(axis=-1)
        ranks = below - (drawn[..., None, :] > drawn[..., :, None]).sum(axis=-1)
        z = ranks / np.maximum(np.sqrt((ranks**2).sum(axis=-1, keepdims=True)), 1e-12)
        found: FloatArray = (z @ np.swapaxes(z, -1, -2))[..., pairs[0], pairs[1]]
        return found

    each = between(values)
    groups = values.shape[1]
    again = values[:, rng.integers(0, groups, (draws, groups))].swapaxes(0, 1)
    low, high = np.quantile(between(again).mean(axis=-1), [0.025, 0.975])
    shuffled = rng.permuted(np.broadcast_to(values, (draws, *values.shape)), axis=-1)
    as_much = (between(shuffled).mean(axis=-1) >= each.mean() - 1e-12).sum()
    return Concordance(
        float(round(each.mean(), 12)),
        float(each.min()),
        float(each.max()),
        float(low),
        float(high),
        float((1 + as_much) / (1 + draws)),
    )


_item = partial(Item, "003")


def _two(kind: str, number: str, title: str, compute: Callable[[Any], Reproduced]) -> Item:
    return _item(kind, number, title, RUNS, ON_H, compute, TWO)


PAPER = Paper(
    "003",
    "O. Chouchane, C. Busch, C. Galdi, N. Evans and M. Todisco",
    2024,
    "A Comparison of Differential Performance Metrics for the Evaluation of Automatic Speaker "
    "Verification Fairness",
    (
        _item("table", "1", "error rates of five systems", RUNS, "", _table1),
        _two("table", "2", "criteria that measures meet", _table2),
        _two("figure", "1", "FDR over alpha at one threshold", _figure1),
        _two("figure", "2", "FDR over alpha and thresholds", _figure2),
        _two("figure", "3", "GARBE over alpha at one threshold", _figure3),
        _two("figure", "4", "GARBE over alpha and thresholds", _figure4),
        _two("figure", "5", "IR over alpha and thresholds", _figure5),
        _two("figure", "6", "GARBE of systems over thresholds", _figure6),
        _two("figure", "7", "DET curves", _figure7),
        _item("claim", "3.3", "nationalities differ consistently", RUNS, ON_H, _claim33),
        _two("claim", "4.1.2", "IR at one threshold", _claim412),
        _item("claim", "5", "fairness against accuracy", RUNS, "", _claim5),
    ),
)
