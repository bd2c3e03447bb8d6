"""Chouchane et al., "A Comparison of Differential Performance Metrics": table 1.

See docs/papers.md#paper-003.

The list has 2,208 target and 2,208 nontarget trials for each of nine nationalities of eight
speakers, and every printed percentage is k / 2208 for exactly one whole number k. So the error
counts come back from print, and with them FDR, IR and GARBE at the threshold of the pooled EER,
which the paper does not print. (FDR ranks ResNetSE34L least fair there, GARBE ranks it fairest.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.meta import fdr, garbe, ir
from parivox.core.spread import gini, max_min, value_range
from parivox.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.counts import FloatArray, IntArray

TRIALS = 2208
"""Target trials, and as many nontarget trials, of each nationality."""

SPEAKERS = 8
"""Of each nationality; each has as many target trials, each pair about as many nontarget ones."""
SPEAKER_SHARE, SIDE_SHARE, PAIR_SHARE, LARGER_SPEAKER_SHARE = 0.25, 0.06, 0.10, 0.45
"""Plausible shares of the variance of scores: of a target trial, its speaker; of a nontarget trial,
each of its speakers, and their pair. Last, what speakers would have if they differed more."""

GROUPS = (
    "USA",
    "UK",
    "Germany",
    "Australia",
    "Italy",
    "India",
    "Ireland",
    "New Zealand",
    "Canada",
)

# system: FPR and FNR in per cent, in the order of GROUPS
TABLE_1 = {
    "ERes2Net": (
        (1.22, 0.68, 0.59, 0.68, 1.95, 2.31, 0.18, 1.86, 1.13),
        (1.04, 0.45, 2.81, 0.27, 2.58, 0.09, 2.04, 0.27, 1.31),
    ),
    "CAM++": (
        (1.40, 0.41, 0.63, 1.99, 1.40, 1.90, 0.82, 1.86, 1.40),
        (1.54, 0.14, 4.26, 0.14, 2.72, 0.14, 2.31, 0.18, 0.86),
    ),
    "ECAPA": (
        (1.13, 0.72, 2.49, 1.90, 2.58, 2.76, 0.77, 2.17, 1.31),
        (1.45, 0.23, 6.34, 0.27, 3.85, 1.00, 1.45, 0.27, 1.22),
    ),
    "ResNetSE34V2": (
        (1.36, 0.50, 2.31, 0.86, 3.26, 6.11, 0.45, 0.95, 1.13),
        (1.68, 0.50, 6.34, 0.77, 2.54, 0.00, 2.36, 1.18, 1.63),
    ),
    "ResNetSE34L": (
        (2.76, 2.08, 4.17, 1.54, 3.53, 5.53, 0.86, 1.86, 5.30),
        (2.08, 1.90, 8.11, 1.72, 4.08, 0.09, 4.21, 2.67, 2.17),
    ),
}
"""Printed table 1: FPR (the paper's FMR) and FNR (its FNMR) at the pooled EER's threshold."""

POOLED_EER = {
    "ERes2Net": 1.18,
    "CAM++": 1.37,
    "ECAPA": 1.79,
    "ResNetSE34V2": 1.88,
    "ResNetSE34L": 3.01,
}
"""Printed pooled EER in per cent."""


@dataclass(frozen=True, eq=False)
class Fairness:
    """One system of table 1: errors of each nationality, joint measures and their terms.

    FDR is higher, the others lower for fairer. IR is NaN where a nationality has no errors.
    """

    system: str
    fp: IntArray
    fn: IntArray
    fdr: float
    fdr_fpd: float
    fdr_fnd: float
    ir: float
    ir_fpd: float
    ir_fnd: float
    garbe: float
    garbe_fpd: float
    garbe_fnd: float


def recovered_counts(percent: ArrayLike, *, trials: int = TRIALS) -> IntArray:
    """Return the error counts behind percentages printed with two decimals.

    There are fewer than 10,000 trials, so that one count at most prints as each percentage.

    Examples
    --------
    >>> recovered_counts([1.22, 0.68]).tolist()
    [27, 15]
    """
    if not 0 < trials < 10_000:
        msg = (
            f"{trials} trials: two decimals of a percentage determine counts up to 9,999 trials "
            "only"
        )
        raise DataError(msg)
    printed = np.asarray(percent, dtype=np.float64)
    counts = np.rint(printed / 100 * trials).astype(np.int64)
    is_impossible = np.abs(100 * counts / trials - printed) > 0.005 + 1e-12
    if is_impossible.any():
        msg = f"{printed[is_impossible][0]} % is not a whole number of {trials} trials"
        raise DataError(msg)
    return counts


def table1(*, alpha: float = 0.5) -> list[Fairness]:
    """Return FDR, IR and GARBE of the five systems in the paper's order, from table 1's counts.

    `alpha` is the weight of FPR.

    Examples
    --------
    >>> [(row.system, round(row.garbe, 4)) for row in table1()][:2]
    [('ERes2Net', 0.4379), ('CAM++', 0.4342)]
    """
    return [_fairness(system, *printed, alpha=alpha) for system, printed in TABLE_1.items()]


def fair_ginis(
    fpr: float, fnr: float, *, speaker_share: float = SPEAKER_SHARE, n_systems: int = 4_000
) -> tuple[FloatArray, FloatArray]:
    """Return Ginis of FPR and FNR of simulated fair systems with these rates in the paper's design.

    Every nationality has the same true rates; the scores of its speakers and pairs of speakers
    differ by the shares of variance above, `speaker_share` that of a target trial.

    Returns
    -------
    tuple of ndarray of shape (system,)

    Examples
    --------
    >>> [round(float(one.mean()), 2) for one in fair_ginis(0.018, 0.018)]
    [0.28, 0.31]
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415 - what takes time to load

    rng, speaker_shape = np.random.default_rng(0), (n_systems, len(GROUPS), SPEAKERS)
    # a score is a sum of its speaker's effect and noise, with variance 1 in all
    speaker_quantiles = (ndtri(fnr) + speaker_share**0.5 * rng.standard_normal(speaker_shape)) / (
        1 - speaker_share
    ) ** 0.5
    rejects = rng.binomial(TRIALS // SPEAKERS, ndtr(speaker_quantiles)).sum(axis=-1)
    first_speaker, second_speaker = np.triu_indices(SPEAKERS, 1)
    # trials are spread over pairs of speakers as evenly as whole numbers allow
    trials_per_pair = np.full(first_speaker.size, TRIALS // first_speaker.size)
    trials_per_pair[: TRIALS % first_speaker.size] += 1
    speaker_effects, pair_effects = (
        rng.standard_normal(speaker_shape),
        rng.standard_normal((*speaker_shape[:2], first_speaker.size)),
    )
    latent = (
        SIDE_SHARE**0.5
        * (speaker_effects[..., first_speaker] + speaker_effects[..., second_speaker])
        + PAIR_SHARE**0.5 * pair_effects
    )
    pair_quantiles = (ndtri(fpr) + latent) / (1 - 2 * SIDE_SHARE - PAIR_SHARE) ** 0.5
    accepts = rng.binomial(trials_per_pair, ndtr(pair_quantiles)).sum(axis=-1)
    return gini(accepts / TRIALS).value, gini(rejects / TRIALS).value


def _fairness(system: str, fpr: ArrayLike, fnr: ArrayLike, *, alpha: float) -> Fairness:
    fp, fn = recovered_counts(fpr), recovered_counts(fnr)
    fpr_rates: FloatArray = fp / TRIALS
    fnr_rates: FloatArray = fn / TRIALS
    return Fairness(
        system=system,
        fp=fp,
        fn=fn,
        fdr=float(fdr(fpr_rates, fnr_rates, alpha=alpha).value),
        fdr_fpd=float(value_range(fpr_rates).value),
        fdr_fnd=float(value_range(fnr_rates).value),
        ir=float(ir(fpr_rates, fnr_rates, alpha=alpha).value),
        ir_fpd=float(max_min(fpr_rates).value),
        ir_fnd=float(max_min(fnr_rates).value),
        garbe=float(garbe(fpr_rates, fnr_rates, alpha=alpha).value),
        garbe_fpd=float(gini(fpr_rates).value),
        garbe_fnd=float(gini(fnr_rates).value),
    )
