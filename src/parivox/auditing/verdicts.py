"""Verdicts in words: what can be said of each group, and of the system, at each operating point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.uncertainty import missing_for_gates
from parivox.core.measures import RATES
from parivox.core.verdict import WHY, benjamini_hochberg, holm, joint, overall, sentence, verdicts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.bias import Ratios
    from parivox.auditing.operating_points import Found
    from parivox.auditing.options import Options
    from parivox.auditing.rows import Rows
    from parivox.auditing.uncertainty import Uncertainty
    from parivox.core.verdict import Verdicts

BOTH = "fpr+fnr"
_AGAINST = {
    "others": "everyone else",
    "pooled": "everyone together",
    "macro": "the mean group",
    "geomean": "the geometric mean of the groups",
    "best": "the best group",
}


def verdict_rows(
    rows: Rows,
    where: Mapping[str, Any],
    groups: Sequence[str],
    found: Sequence[Found],
    against: Mapping[tuple[str, str], Ratios],
    uncertainty: Uncertainty,
    options: Options,
) -> None:
    """The verdict on every group and on the system.

    Parameters
    ----------
    rows, where
        The table and the columns that all rows share.
    groups
        Names of the groups; rows of the system have none.
    found
        Operating points.
    against
        By metric and operating point, ratios to the first reference asked for.
    uncertainty
        Which groups are too small.
    options
        The margin, the confidence and the gates.
    """
    reference = options.reference[0]
    words = _AGAINST.get(reference, reference)
    for one in found:
        point = one.point.text
        pair = [against.get((metric, point)) for metric in RATES]
        if one.reason or None in pair:
            continue
        ratios = [of for of in pair if of is not None]
        together = np.concatenate([of.p for of in ratios])
        adjusted = np.split(holm(together), 2), np.split(benjamini_hochberg(together), 2)
        judged: dict[str, Verdicts] = {}
        for i, (metric, of) in enumerate(zip(RATES, ratios, strict=True)):
            judged[metric] = verdicts(
                of.ratio,
                of.low,
                of.high,
                adjusted[0][i],
                gate=_too_few(metric, groups, reference, uncertainty, options),
                pooled=of.pooled,
                confidence=options.confidence,
                margin=options.margin,
            )
            told = judged[metric]
            rows.add(
                **where,
                group=list(groups),
                metric=metric,
                operating_point=point,
                reference=reference,
                ratio=of.ratio,
                low=of.low,
                high=of.high,
                p=of.p,
                p_holm=adjusted[0][i],
                p_bh=adjusted[1][i],
                margin=options.margin,
                verdict=told.code.tolist(),
                gates=missing_for_gates(uncertainty, metric, point),
                sentence=_sentences(metric, told, words),
                reason=told.reason.tolist(),
            )
        codes = np.stack([judged[metric].code for metric in RATES])
        reasons = np.stack([judged[metric].reason for metric in RATES])
        judgeable = np.array([group != reference for group in groups])
        fpr, fnr = codes.tolist()
        plain: dict[str, Any] = {
            **where,
            "operating_point": point,
            "reference": reference,
            "margin": options.margin,
            **dict.fromkeys(("ratio", "low", "high", "p", "p_holm", "p_bh")),
            "gates": "",
            "reason": "",
        }
        both = [joint(fnr=a, fpr=b) for a, b in zip(fnr, fpr, strict=True)]
        rows.add(
            **plain,
            group=list(groups),
            metric=BOTH,
            verdict=overall(codes.T).tolist(),
            sentence=np.where(judgeable, both, "is the reference").tolist(),
        )
        for metric, own in (*judged.items(), (BOTH, None)):
            of_all = (codes if own is None else own.code[None])[:, judgeable]
            whys = (reasons if own is None else own.reason[None])[:, judgeable]
            rows.add(
                **plain,
                group="",
                metric=metric,
                verdict=str(overall(of_all.reshape(-1))),
                sentence=_of_system(
                    [g for g in groups if g != reference], of_all, whys, one, options
                ),
            )


def _too_few(
    metric: str, groups: Sequence[str], reference: str, uncertainty: Uncertainty, options: Options
) -> list[str]:
    """Why nothing is concluded about a group; empty where something may be."""
    least = options.gates.inference
    told = [
        f"fewer than {least} speakers" if n < least else ""
        for n in uncertainty.intervals.speakers[metric][:-1].tolist()
    ]
    return ["is the reference" if g == reference else t for g, t in zip(groups, told, strict=True)]


def _sentences(metric: str, told: Verdicts, words: str) -> list[str]:
    columns = (told.code, told.ratio, told.low, told.high, told.reason)
    return [
        sentence(metric, code, ratio, low, high, reason=reason, against=words)  # type: ignore[arg-type]
        for code, ratio, low, high, reason in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _of_system(
    names: Sequence[str],
    codes: NDArray[np.str_],
    reasons: NDArray[np.str_],
    found: Found,
    options: Options,
) -> str:
    """What is said of the system, with the groups that it rests on; ``[metric, group]``."""
    code = str(overall(codes.reshape(-1)))
    n = len(names)
    if code == "no_difference":
        return f"no group of {n} differs by more than {options.margin:g} times"
    unknown = [g for g, of in zip(names, codes.T, strict=True) if "cannot_tell" in of.tolist()]
    if code == "cannot_tell":
        whole = f"it cannot be told of any of {n} groups whether it differs"
        if np.isinf(found.threshold):
            return f"{whole}: the threshold is infinite"
        if (reasons == "too_common").all():
            return f"{whole}: {WHY['too_common']}"
        return (
            f"no group of {n} is shown to differ, and of {len(unknown)} it cannot be told whether "
            "they do"
        )
    differ = [g for g, of in zip(names, codes.T, strict=True) if {"worse", "better"} & {*of}]
    rest = f"; of {len(unknown)} it cannot be told" if unknown else ""
    return f"{len(differ)} of {n} groups differ: {', '.join(differ)}{rest}"
