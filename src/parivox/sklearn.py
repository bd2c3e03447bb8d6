"""Metrics with the arguments of scikit-learn: true labels first, then scores.

They go wherever functions of ``(y_true, y_score)`` go, such as ``MetricFrame`` of fairlearn, and
`make_scorer` makes scorers of them for model selection. Each returns one number, NaN where it is
undefined; `pv.metrics` states the reasons, and `pv.audit` the uncertainty over speakers.

>>> from parivox.sklearn import eer
>>> round(eer([1, 1, 1, 0, 0, 0], [0.9, 0.8, 0.4, 0.7, 0.3, 0.1]), 3)
0.333
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.arguments import check_arguments
from parivox.core import costs, llr, rates, separation
from parivox.core import eer as equal_error_rate
from parivox.errors import ConfigError, name_hint

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from parivox.core.rates import RateRule

__all__ = [
    "act_cdet",
    "auc",
    "calibration_loss",
    "cllr",
    "dprime",
    "eer",
    "fnr_at_fpr",
    "fpr_at_fnr",
    "make_scorer",
    "min_cdet",
    "min_cllr",
]


@check_arguments
def eer(y_true: ArrayLike, y_score: ArrayLike, *, definition: str = "linear") -> float:
    """Return the equal error rate, a fraction, by one of the definitions of `parivox.eer`."""
    return float(equal_error_rate.eer(y_score, y_true, definition=definition))


@check_arguments
def fnr_at_fpr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    target: float = 0.01,
    rule: RateRule = "conservative",
) -> float:
    """Return the false negative rate at the target false positive rate, both fractions."""
    return float(rates.fnr_at_fpr(y_score, y_true, target=target, rule=rule).value)


@check_arguments
def fpr_at_fnr(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    target: float = 0.01,
    rule: RateRule = "conservative",
) -> float:
    """Return the false positive rate at the target false negative rate, both fractions."""
    return float(rates.fpr_at_fnr(y_score, y_true, target=target, rule=rule).value)


@check_arguments
def min_cdet(
    y_true: ArrayLike, y_score: ArrayLike, *, cost: str = "voxsrc", normalised: bool = True
) -> float:
    """Return the minimum detection cost, by a cost model such as ``sre08`` or ``0.05,1,1``."""
    model = costs.parse_detection_cost(cost)
    return float(costs.min_cdet(y_score, y_true, cost=model, normalised=normalised).value)


@check_arguments
def act_cdet(
    y_true: ArrayLike, y_score: ArrayLike, *, cost: str = "voxsrc", normalised: bool = True
) -> float:
    """Return the detection cost of natural-log likelihood ratios at the Bayes threshold."""
    model = costs.parse_detection_cost(cost)
    return float(costs.act_cdet(y_score, y_true, cost=model, normalised=normalised))


@check_arguments
def cllr(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the cost of natural-log likelihood ratios, in bits."""
    return float(llr.cllr(y_score, y_true))


@check_arguments
def min_cllr(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the cost of likelihood ratios after perfect calibration, in bits."""
    return float(llr.min_cllr(y_score, y_true))


@check_arguments
def calibration_loss(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the difference of `cllr` and `min_cllr`, in bits."""
    return float(llr.calibration_loss(y_score, y_true))


@check_arguments
def auc(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the area under the ROC curve, in [0, 1]."""
    return float(separation.auc(y_score, y_true))


@check_arguments
def dprime(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Return the separation of both classes in standard deviations."""
    return float(separation.dprime(y_score, y_true))


_METRICS: dict[str, Callable[..., float]] = {
    metric.__name__: metric
    for metric in (
        act_cdet,
        auc,
        calibration_loss,
        cllr,
        dprime,
        eer,
        fnr_at_fpr,
        fpr_at_fnr,
        min_cdet,
        min_cllr,
    )
}
_GREATER_IS_BETTER = ("auc", "dprime")


@check_arguments
def make_scorer(metric: str | Callable[..., float], **options: Any) -> Any:
    """Return a scorer of scikit-learn, as for ``cross_val_score(..., scoring=scorer)``.

    Scores are those of ``decision_function``, or else the probability of the positive class. Of
    metrics that are better when lower, the scorer gives the negative value, as scikit-learn does.

    Parameters
    ----------
    metric
        A function of this module, such as `eer`, or its name.
    **options
        Options of that function, such as ``target=0.001``.

    Raises
    ------
    ConfigError
        If there is no such metric, or scikit-learn is missing.
    """
    if callable(metric):
        metric = getattr(metric, "__name__", repr(metric))
    if metric not in _METRICS:
        msg = f"metric={metric!r} is not known"
        hint = name_hint(metric, _METRICS)
        raise ConfigError(msg, hint)
    try:
        from sklearn import metrics  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        msg = "scorers need scikit-learn: pip install scikit-learn"
        raise ConfigError(msg) from error
    return metrics.make_scorer(
        _METRICS[metric],
        greater_is_better=metric in _GREATER_IS_BETTER,
        response_method=("decision_function", "predict_proba"),
        **options,
    )
