"""Write the tables of docs/rereading.md: two published ones, with how sure they are.

    python examples/rereading.py

Table 4 of paper 001 is audited again (extra `demo`), with three seeds. Of paper 003 the scores are
not public: its design is simulated with a system that is fair.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtr, ndtri

import parivox as pv
from parivox.core.spread import gini

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Row = Mapping[str, Any]

PAGE = Path(__file__).parents[1] / "docs" / "rereading.md"
SEEDS = (0, 1, 2)

BIAS_001 = {
    "m+Mexico": 0.5768,
    "m+New Zealand": 0.6668,
    "f+Ireland": 0.7109,
    "m+Canada": 0.7304,
    "m+USA": 0.8357,
    "m+Australia": 0.9020,
    "f+USA": 0.9224,
    "m+UK": 0.9523,
    "m+Ireland": 1.0432,
    "f+Australia": 1.1523,
    "m+India": 1.2200,
    "f+Germany": 1.3359,
    "f+Canada": 1.4501,
    "f+UK": 1.4558,
    "f+Norway": 1.4711,
    "f+Italy": 1.7827,
    "m+Norway": 2.5720,
    "f+India": 2.5766,
}
"""Subgroup bias as paper 001 prints it (Table 4)."""

PUBLISHED_003 = {
    "ERes2Net": ((0.01178, 0.365), (0.01208, 0.510)),
    "CAM++": ((0.01313, 0.259), (0.01364, 0.610)),
    "ECAPA": ((0.01761, 0.271), (0.01786, 0.591)),
    "ResNetSE34V2": ((0.01882, 0.505), (0.01887, 0.517)),
    "ResNetSE34L": ((0.03070, 0.326), (0.03004, 0.411)),
}
"""Mean rate and Gini, of FPR and of FNR, at the threshold of the pooled EER: from the counts of
errors behind Table 1 of 003."""

GROUPS, SPEAKERS, TRIALS = 9, 8, 2208
OF_SPEAKER, OF_SIDE, OF_PAIR = 0.25, 0.06, 0.10
MORE = 0.45
"""Shares of the latent variance: of a target trial, its speaker; of a nontarget trial, each of its
speakers and their pair. Or, of a target trial, more."""
SYSTEMS = 10_000


# ---- paper 001


def audits() -> list[pv.Audit]:
    """The demo's first system as paper 001 has it, once for each seed."""
    spec = find_spec("bt4vt")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data"
    return [
        pv.audit(
            {"V2": data / "resnetse34v2_H-eval_scores.csv"},
            speakers=data / "vox1_meta.csv",
            by="gender+nationality",
            allocate="enrol",
            operating_points="min-cdet",
            zero="none",
            fixed_threshold=True,
            seed=seed,
        )
        for seed in SEEDS
    ]


def biases(audit: pv.Audit) -> dict[str, Row]:
    """Subgroup bias by group."""
    return {row["group"]: row for row in audit.bias.where(measure="subgroup_bias").rows()}


def table_4(found: Sequence[pv.Audit]) -> Iterator[str]:
    """Published and exact subgroup bias with intervals and p values of the first seed."""
    yield "| group | speakers | published | exact | 95 % interval | p | Holm | Benjamini-Hochberg |"
    yield "|---|---|---|---|---|---|---|---|"
    rows = biases(found[0])
    people = {
        row["group"]: row["speakers"]
        for row in found[0].groups.where(grouping="gender+nationality", metric="eer").rows()
    }
    for group, published in BIAS_001.items():
        row = rows[group]
        name = f"**{group}**" if row["p_holm"] < 0.05 else group
        yield (
            f"| {name} | {people[group]} | {published:.4f} | {row['value']:.4f} | "
            f"{row['low']:.2f} to {row['high']:.2f} | {shown(row['p'])} | {shown(row['p_holm'])} | "
            f"{shown(row['p_bh'])} |"
        )


def seeds(found: Sequence[pv.Audit]) -> Iterator[str]:
    """What another seed changes: mean and standard deviation over seeds."""
    yield "| group | lower limit | upper limit | p | Holm |"
    yield "|---|---|---|---|---|"
    every = [biases(audit) for audit in found]
    for group in ("m+USA", "f+UK", "m+Norway", "f+India"):
        cells = []
        for name in ("low", "high", "p", "p_holm"):
            values = np.array([rows[group][name] for rows in every])
            digits = 4 if name == "p" else 3
            cells.append(f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}")
        yield f"| {group} | {' | '.join(cells)} |"


def shown(p: float) -> str:
    """A p value as people read it."""
    return f"{p:.2f}" if p >= 0.1 else f"{p:.3f}" if p >= 0.001 else f"{p:.4f}"


def check(found: Sequence[pv.Audit]) -> None:
    """What the page says in words, with every seed."""
    for audit in found:
        rows = biases(audit)
        assert [group for group, row in rows.items() if row["p_holm"] < 0.05] == ["m+USA"]
        assert sum(row["p"] < 0.05 for row in rows.values()) == 3
        for group, low, high in (("f+India", 0.77, 8.7), ("m+Norway", 1.4, 4.75)):
            ends = np.log([rows[group]["low"] / low, rows[group]["high"] / high])
            assert (np.abs(ends) < 0.1).all()


# ---- paper 003


def fair_fnr(
    rate: float, draw: np.random.Generator, of_speaker: float = OF_SPEAKER
) -> NDArray[np.float64]:
    """FNR of every group of fair systems, ``[system, group]``; each speaker has as many trials."""
    speaker = draw.standard_normal((SYSTEMS, GROUPS, SPEAKERS))
    own = ndtr((ndtri(rate) + of_speaker**0.5 * speaker) / (1 - of_speaker) ** 0.5)
    found: NDArray[np.float64] = draw.binomial(TRIALS // SPEAKERS, own).sum(axis=-1) / TRIALS
    return found


def fair_fpr(rate: float, draw: np.random.Generator) -> NDArray[np.float64]:
    """FPR likewise; all pairs of speakers of a group have about as many trials."""
    one, other = np.triu_indices(SPEAKERS, 1)
    trials = np.full(one.size, TRIALS // one.size)
    trials[: TRIALS % one.size] += 1
    speaker = draw.standard_normal((SYSTEMS, GROUPS, SPEAKERS))
    pair = draw.standard_normal((SYSTEMS, GROUPS, one.size))
    latent = OF_SIDE**0.5 * (speaker[..., one] + speaker[..., other]) + OF_PAIR**0.5 * pair
    own = ndtr((ndtri(rate) + latent) / (1 - 2 * OF_SIDE - OF_PAIR) ** 0.5)
    found: NDArray[np.float64] = draw.binomial(trials, own).sum(axis=-1) / TRIALS
    return found


def floors() -> Iterator[str]:
    """Gini of fair systems in the design of paper 003, beside the published ones."""
    yield "| at | error | fair systems: mean | 95 % are below | published |"
    yield "|---|---|---|---|---|"
    draw = np.random.default_rng(0)
    printed = [
        ", ".join(f"{one:.2f}" for one in sorted(pair[i][1] for pair in PUBLISHED_003.values()))
        for i in (0, 1)
    ]
    for point, rate, function, error, published in (
        ("EER", 0.018, fair_fnr, "FNR", printed[1]),
        ("EER", 0.018, fair_fpr, "FPR", printed[0]),
        ("0.1 %", 0.001, fair_fnr, "FNR", "–"),
        ("0.1 %", 0.001, fair_fpr, "FPR", "0.55 (median)"),
    ):
        value = gini(function(rate, draw)).value
        yield (
            f"| {point} | {error} {100 * rate:.1f} % | {value.mean():.3f} | "
            f"{np.quantile(value, 0.95):.3f} | {published} |"
        )


def systems() -> Iterator[str]:
    """Each published Gini among those of systems that are fair at the same mean rate."""
    heads = [f"Gini of {error} | fair systems | p" for error in ("FPR", "FNR")]
    heads += ["GARBE | fair systems | p | p, if speakers differ more"]
    yield f"| system | {' | '.join(heads)} |"
    yield f"|---|{'---|' * 10}"
    draw = np.random.default_rng(1)
    for system, ((fpr, of_fpr), (fnr, of_fnr)) in PUBLISHED_003.items():
        accepts, rejects, more = (
            gini(rates).value
            for rates in (fair_fpr(fpr, draw), fair_fnr(fnr, draw), fair_fnr(fnr, draw, MORE))
        )
        both, of_both = (accepts + rejects) / 2, (of_fpr + of_fnr) / 2
        cells = [
            f"{at:.3f} | {fair.mean():.2f} ({np.quantile(fair, 0.95):.2f}) | {chance(fair, at)}"
            for fair, at in ((accepts, of_fpr), (rejects, of_fnr), (both, of_both))
        ]
        yield f"| {system} | {' | '.join(cells)} | {chance((accepts + more) / 2, of_both)} |"


def chance(fair: NDArray[np.float64], at: float) -> str:
    """Share of fair systems with at least such a value, the published one among them."""
    return shown(float((1 + (fair >= at).sum()) / (1 + fair.size)))


def put(page: str, name: str, table: Iterator[str]) -> str:
    """The page with the table between ``<!-- name -->`` and ``<!-- /name -->`` made anew."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, _, rest = page.partition(start)
    _, found, after = rest.partition(end)
    assert found, name
    return before + start + "".join(f"{line}\n" for line in table) + end + after


if __name__ == "__main__":
    every = audits()
    check(every)
    text = PAGE.read_text(encoding="utf-8")
    for of, made in (
        ("table 4", table_4(every)),
        ("seeds", seeds(every)),
        ("floors", floors()),
        ("systems", systems()),
    ):
        text = put(text, of, made)
    PAGE.write_text(text, encoding="utf-8")
