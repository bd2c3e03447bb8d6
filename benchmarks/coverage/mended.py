"""Gamma-multinomial draws of FPR with another variance between pairs, beside the core's.

See docs/methods/noise-floors.md#gamma-multinomial-draws.

The variance of a pair's trials beyond the binomial one, W, is expected to be `tot (fp - 1/N)` if
`tot` is the variance of a pair's rate, two speakers' and the pair's own; the rule in the core
takes it for `tot fp`, which is too little where pairs have few trials. Likewise the binomial
variance of a group already holds `tot / N`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from parivox.core import noise as core
from parivox.core.noise import Null
from parivox.core.tallies import over

if TYPE_CHECKING:
    from benchmarks.coverage.simulate import FloatArray

    from parivox.core.tallies import Moments


def mended(moments: Moments, replicates: int, rng: np.random.Generator) -> Null:
    """Draw as :func:`parivox.core.noise.gamma_multinomial` does, of one point."""
    fair = core._fair(moments)  # noqa: SLF001
    seed = int(rng.integers(2**63))
    errors = np.zeros((replicates, *fair.errors.shape), dtype=np.int64)
    if not fair.reason:
        fair = fair._replace(excess=np.where(fair.trials > 0, _excess(moments), 0))
        errors = core._draw(fair, (), replicates, seed)  # noqa: SLF001
    trials = fair.trials.astype(np.int64)
    return Null(trials - errors if fair.mirrored else errors, trials, fair.reason)


def _excess(moments: Moments) -> FloatArray:
    """The variance of each group's rate in a fair system beyond the binomial one."""
    known = (moments.speakers >= 4) & np.isfinite(moments.jackknife)
    weights = np.where(known, moments.speakers - 1, 0)
    pairs = np.where(known, moments.pairs, 0)
    beyond = moments.unbiased - moments.variance_binomial
    own = moments.fp - 1 / moments.trials
    total = over(moments.pair_variance, np.where(own > 1e-12, own, 0))
    total = core._mean(total, pairs)  # noqa: SLF001
    apart = over(beyond - moments.pair_variance, moments.fs - 2 * moments.fp)
    first = np.maximum(core._mean(apart, weights), 0)  # noqa: SLF001
    pair = np.maximum(total - 2 * first, 0)
    each = over(beyond + total / moments.trials - pair * moments.fp, moments.fs)
    speaker = core._mean(np.maximum(each, 0), weights)  # noqa: SLF001
    whole = speaker * moments.fs + pair * moments.fp
    return np.asarray(whole - (2 * speaker + pair) / moments.trials)
