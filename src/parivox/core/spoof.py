"""Measures of lists with spoof trials that no common threshold has: EERs, and the tandem cost.

A list has three classes: target trials, nontarget trials of impostors who do not disguise
themselves, and spoof trials. Rates at a common threshold are those of `parivox.core.counts.Curve`,
costs those of `parivox.core.costs`. Every EER has a threshold of its own and so says nothing about
unequal treatment at a deployed threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from parivox.core.counts import Counts, as_counts
from parivox.core.eer import eer
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from parivox.core.costs import CostModel
    from parivox.core.counts import FloatArray


def spf_eer(scores: Counts | ArrayLike, labels: ArrayLike | None = None) -> FloatArray:
    """Return the EER of target against spoof trials (SPF-EER), nontarget trials left out.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
    labels : array_like of shape (trial,), optional
        1 for target, 0 for nontarget, 2 for spoof trials; needed unless `scores` is a Counts.

    Returns
    -------
    float64 of shape (...)
        In [0, 1], lower is better, by the definition ``linear``. NaN without target or spoof
        trials.

    Examples
    --------
    >>> float(spf_eer([0.9, 0.4, 0.5, 0.1, 0.0], [1, 1, 2, 2, 0]))
    0.5
    """
    counts = as_counts(scores, labels)
    return eer(Counts(counts.values, counts.target, counts.spoof_or_zeros))


def sasv_eer(
    scores: Counts | ArrayLike,
    labels: ArrayLike | None = None,
    *,
    spoof_share: float | None = None,
) -> FloatArray:
    """Return the EER of target trials against nontarget and spoof trials (SASV-EER).

    It depends on the share of spoof trials: groups are comparable at one share only.

    Parameters
    ----------
    scores : Counts of shape (...) or array_like of shape (trial,)
    labels : array_like of shape (trial,), optional
        1 for target, 0 for nontarget, 2 for spoof trials; needed unless `scores` is a Counts.
    spoof_share : float, optional
        Share of spoof trials among those to reject, in [0, 1]: false accepts are then
        ``(1 - share) FPR + share SFAR``. Without it, as many as the trials have.

    Returns
    -------
    float64 of shape (...)
        In [0, 1], lower is better, by the definition ``linear``. NaN where one of the three classes
        has no trials.

    Examples
    --------
    >>> scores, labels = [3, 1, 2, 0, 0, 0], [1, 1, 2, 0, 0, 0]
    >>> float(sasv_eer(scores, labels)), float(sasv_eer(scores, labels, spoof_share=0.5))
    (0.25, 0.5)
    """
    counts = as_counts(scores, labels)
    nontarget, spoof = counts.nontarget, counts.spoof_or_zeros
    is_defined = (counts.n_nontarget > 0) & (counts.n_spoof > 0)
    if spoof_share is not None:
        if not 0 <= spoof_share <= 1:
            msg = f"spoof_share is {spoof_share!r}"
            hint = "give a number between 0 and 1"
            raise ConfigError(msg, hint)
        # whole numbers of trials with these shares, so that ties stay exact
        share = Fraction(repr(float(spoof_share)))
        nontarget_weight = counts.n_spoof * (share.denominator - share.numerator)
        spoof_weight = counts.n_nontarget * share.numerator
        nontarget = nontarget * nontarget_weight[..., None]
        spoof = spoof * spoof_weight[..., None]
    value = eer(Counts(counts.values, counts.target, nontarget + spoof))
    return np.where(is_defined, value, np.nan)[()]


@dataclass(frozen=True)
class TandemCost:
    """Weights of the tandem detection cost (t-DCF) at fixed decisions of a verification system."""

    asv: float
    """C0: cost of the errors of the verification system alone."""
    bonafide_rejects: float
    """C1: weight of bona fide trials that the countermeasure rejects."""
    spoof_accepts: float
    """C2: weight of spoof trials that the countermeasure accepts."""

    @classmethod
    def from_rates(cls, cost: CostModel, *, fnr: float, fpr: float, sfar: float) -> TandemCost:
        """Return the weights at error rates of the verification system at its own threshold.

        Raises
        ------
        ConfigError
            If the cost model has no spoof trials or several priors.
        """
        if not cost.has_spoof:
            msg = f"cost {cost.name} does not include spoof trials"
            hint = "use a cost that includes spoof trials, such as asvspoof5"
            raise ConfigError(msg, hint)
        miss, false_accept, spoof_accept = map(float, cost.weights)
        asv = miss * fnr + false_accept * fpr
        return cls(asv, miss - asv, spoof_accept * sfar)

    @property
    def default(self) -> float:
        """Cost of the better countermeasure that knows nothing; NaN if there is no such cost."""
        default = self.asv + min(self.bonafide_rejects, self.spoof_accepts)
        return default if self.bonafide_rejects >= 0 and default > 0 else np.nan

    def at(self, countermeasure: Counts, thresholds: ArrayLike | None = None) -> FloatArray:
        """Return the raw cost at thresholds of the countermeasure, ``[..., threshold]``.

        Parameters
        ----------
        countermeasure : Counts of shape (...)
            Trials by score of the countermeasure: bona fide ones as target, spoof trials as
            nontarget.
        thresholds : array_like of shape (threshold,), optional
            Without it, those of the whole curve, falling from +inf.
        """
        curve = countermeasure.curve if thresholds is None else countermeasure.at(thresholds)
        return self.asv + self.bonafide_rejects * curve.fnr + self.spoof_accepts * curve.fpr


def min_tdcf(
    countermeasure: Counts,
    cost: CostModel,
    *,
    fnr: float,
    fpr: float,
    sfar: float,
    normalised: bool = True,
) -> FloatArray:
    """Return the smallest tandem detection cost over the thresholds of a countermeasure.

    The verification system has a fixed threshold of its own. The cost assumes that both systems err
    independently within a class, and that the countermeasure treats target and nontarget trials
    alike.

    Parameters
    ----------
    countermeasure : Counts of shape (...)
        Trials by score of the countermeasure: bona fide ones as target, spoof trials as nontarget.
    cost : CostModel
        One with spoof trials, such as ``asvspoof5``.
    fnr, fpr, sfar : float
        Error rates of the verification system at its threshold, in [0, 1].
    normalised : bool
        Divide by the cost of the better countermeasure that knows nothing. The divisor contains the
        rates, so that normalised costs of two systems or groups have different units.

    Returns
    -------
    float64 of shape (...)
        Lower is better. NaN without bona fide or spoof trials, and where the verification system
        costs more than rejecting every trial.

    Examples
    --------
    >>> from parivox import Counts, parse_cost
    >>> countermeasure = Counts.from_scores([2.0, 1.0, 0.5, 0.0], [1, 1, 0, 0])
    >>> rates = {"fnr": 0.1, "fpr": 0.1, "sfar": 0.5}
    >>> round(float(min_tdcf(countermeasure, parse_cost("asvspoof5"), **rates)), 6)
    0.292886
    """
    tandem_cost = TandemCost.from_rates(cost, fnr=fnr, fpr=fpr, sfar=sfar)
    if np.isnan(tandem_cost.default):
        return np.full(countermeasure.n_target.shape, np.nan)[()]
    smallest = tandem_cost.at(countermeasure).min(axis=-1)
    return np.asarray(smallest / (tandem_cost.default if normalised else 1.0))[()]
