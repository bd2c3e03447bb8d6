"""The registry of measures: what each is called, what it needs, how it is read, what computes it.

Three kinds follow from each other. A *base metric* is a number of one cell: an error rate, a cost,
a distance of scores. A *bias measure* sets a group's base metric against a reference. A
*meta-measure* is one number for how all groups differ. Everything that an audit says of a measure
besides its value stands here, once: intervals, noise floors, the terminal, the page, exports,
figures and the documentation read it. Papers go by the numbers of docs/references.md#papers.

To add one, write a pure function of counts or of rates ``[..., group]`` and register it:

>>> import numpy as np
>>> from parivox.core.spread import GroupSet
>>> def spread(values):
...     groups = GroupSet.of(values)
...     return groups.meta(np.sqrt(groups.range()))
>>> measure = MetaMeasure(
...     id="root_range",
...     label="root of the range",
...     says="square root of the largest less the smallest value",
...     compute=spread,
... )
>>> register(measure).fairer
'lower'
>>> _ = MEASURES.pop("root_range")
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from parivox.core import bias, meta, spread
from parivox.core.costs import act_cdet, bayes_threshold, cdet, min_cdet
from parivox.core.eer import eer
from parivox.core.llr import cllr, min_cllr
from parivox.core.rates import fnr_at_fpr, fpr_at_fnr, hter
from parivox.core.separation import auc, dprime
from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.core.costs import CostModel
    from parivox.core.counts import Counts, FloatArray
    from parivox.core.spread import Meta

__all__ = [
    "BOTH",
    "MEASURES",
    "RATES",
    "BaseMetric",
    "BiasMeasure",
    "Measure",
    "MetaMeasure",
    "base_metric",
    "base_metrics",
    "bias_measures",
    "meta_measures",
    "register",
]

Scale: TypeAlias = Literal["zero", "one", "ratio", "linear"]
RATES = ("fpr", "fnr")
BOTH = "fpr+fnr"
_INF = np.inf


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """What every measure has.

    Attributes
    ----------
    id : str
        As the columns ``metric`` and ``measure`` have it.
    label : str
        Its name in tables.
    short : str
        Its name where there is little room; the label, unless another is given.
    says : str
        Its definition in one line.
    source : str
        Who published it; empty if it is common.
    scale : {"zero", "one", "ratio", "linear"}
        On which scale it varies: it is at least 0 and 0 at best (its logarithm varies evenly),
        at most 1 and 1 at best (that of 1 - value), a ratio whose logarithm is 0 at par, or a
        number that varies evenly itself.
    bounds : (float, float)
        No value lies outside, and no limit of an interval.
    fairer : {"lower", "higher", "neither"}
        Which values are better: of a base metric for the people it is of, of the others for
        fairness.
    compute : callable or None
        The function; None of what the pipeline itself makes of other values.
    """

    id: str
    label: str
    says: str
    short: str = ""
    source: str = ""
    scale: Scale = "zero"
    bounds: tuple[float, float] = (0.0, _INF)
    fairer: Literal["lower", "higher", "neither"] = "lower"
    compute: Callable[..., object] | None = None

    def __post_init__(self) -> None:
        """Give what has no short name its label."""
        if not self.short:
            object.__setattr__(self, "short", self.label)

    @property
    def is_higher_fairer(self) -> bool:
        """Whether higher values are better."""
        return self.fairer == "higher"

    @property
    def widest(self) -> float:
        """No two values are further apart."""
        return self.bounds[1] - self.bounds[0]


@dataclass(frozen=True, kw_only=True, eq=False)
class BaseMetric(Measure):
    """A number of one cell of trials.

    Attributes
    ----------
    needs : str
        What `compute` takes, and when it is defined:

        ``points``
            A :class:`~parivox.core.counts.Curve` ``[..., threshold]`` at the operating points;
            gives ``[..., threshold]``.
        ``counts``
            :class:`~parivox.core.counts.Counts` ``[..., value]``; gives ``[...]``, or what has
            a ``threshold`` beside it.
        ``llr``
            The same of scores that are log-likelihood ratios.
        ``pooled``, ``recordings``, ``attempts``, ``seconds``
            Made by the audit of scores against those of all groups; of recordings that failed; of
            both rates with these; of times.
    per : {"", "cost", "eer", "held"}
        Computed once for each cost model (keyword `cost`), definition of the EER (`definition`),
        or rate that is held and rule (`target`, `rule`).
    of : {"target", "nontarget", "both"}
        The trials that it is of, and whose errors stand beside it.
    is_error : bool
        0 at best and lower for better, so that groups can be compared by it.
    field : str
        Which attribute of what `compute` gives it is, where it gives several; those of one
        function are computed together.
    made_of : tuple of str
        Computed of the values of these metrics instead.
    is_smooth : bool
        In replicates, bins of scores twice as wide do.
    """

    needs: Literal["points", "counts", "llr", "pooled", "recordings", "attempts", "seconds"]
    per: Literal["", "cost", "eer", "held"] = ""
    of: Literal["target", "nontarget", "both"] = "both"
    is_error: bool = True
    field: str = "value"
    made_of: tuple[str, ...] = ()
    is_smooth: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class BiasMeasure(Measure):
    """A group's base metric against a reference.

    Attributes
    ----------
    par : float
        Its value where the group fares as the reference does.
    is_of_references : bool
        Taken against each reference in turn; else against the one that its definition names.
    """

    par: float
    is_of_references: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class MetaMeasure(Measure):
    """One number for how the groups of a system differ.

    Attributes
    ----------
    metric : str
        The one metric that it is for (``fpr``, ``fnr``, ``fpr+fnr`` for both at once), or empty:
        any metric that is an error.
    takes : {"", "alpha", "average", "draws", "grid"}
        What `compute` takes besides the values: the keyword `alpha`, or the pooled value as
        second argument; or what the audit makes it of, draws of a fair system or a grid of
        operating points.
    takes_logs : bool
        A rate of 0 makes it undefined or infinite.
    zero_policies : tuple of str
        Rules for rates of 0 under which its value can differ.
    has_p_of_fpr : bool
        Whether the p of its noise floor is told of FPR. Of extremes and squares it is not: draws
        of a fair system make small groups vary a little too little where pairs of speakers have
        very unlike numbers of trials, so that it would be below .05 in up to .09 of fair systems.
    shown : {"first", "quoted", "further", "tables"}
        How prominently: in every summary; first on the page; further down; in tables alone.
    """

    metric: str = ""
    takes: Literal["", "alpha", "average", "draws", "grid"] = ""
    takes_logs: bool = False
    zero_policies: tuple[bias.ZeroPolicy, ...] = ("none",)
    has_p_of_fpr: bool = True
    shown: Literal["first", "quoted", "further", "tables"] = "further"

    @property
    def is_joint(self) -> bool:
        """Whether it is of both rates at once."""
        return self.metric == BOTH

    def of(self, *values: object, **more: object) -> Meta:
        """Its value; see `compute`."""
        assert self.compute is not None
        return self.compute(*values, **more)  # type: ignore[return-value]


MEASURES: dict[str, Measure] = {}
"""Every measure by its id, in the order in which tables have them."""

_M = TypeVar("_M", bound=Measure)


def register(measure: _M) -> _M:
    """Add a measure, by which it is everywhere.

    Raises
    ------
    ConfigError
        If its id is taken.
    """
    if measure.id in MEASURES:
        msg = f"measure {measure.id!r} is there already; give it another id"
        raise ConfigError(msg)
    MEASURES[measure.id] = measure
    return measure


def base_metrics() -> dict[str, BaseMetric]:
    """The base metrics by their ids."""
    return {name: one for name, one in MEASURES.items() if isinstance(one, BaseMetric)}


def base_metric(name: str) -> BaseMetric:
    """One of them; what is not registered is a metric of the user's own."""
    found = MEASURES.get(name)
    if isinstance(found, BaseMetric):
        return found
    return BaseMetric(id=name, label=name, says="a metric of your own", needs="counts")


def bias_measures() -> dict[str, BiasMeasure]:
    """The bias measures by their ids."""
    return {name: one for name, one in MEASURES.items() if isinstance(one, BiasMeasure)}


def meta_measures() -> dict[str, MetaMeasure]:
    """The meta-measures by their ids."""
    return {name: one for name, one in MEASURES.items() if isinstance(one, MetaMeasure)}


class AtThreshold(NamedTuple):
    """A metric, and the threshold that it is at; NaN for several."""

    value: FloatArray
    threshold: FloatArray


def _actual_cost(counts: Counts, *, cost: CostModel) -> AtThreshold:
    """The cost at the Bayes threshold, which is one where the model has one prior."""
    value = act_cdet(counts, cost=cost)
    threshold = bayes_threshold(cost) if len(cost.p_target) == 1 else np.nan
    return AtThreshold(value, np.full(np.shape(value), threshold))


_SHARE = (0.0, 1.0)
_ANY = (-_INF, _INF)

for _metric in (
    BaseMetric(
        id="fpr",
        label="FPR",
        says="false positive rate: nontarget trials accepted at the operating point",
        needs="points",
        of="nontarget",
        bounds=_SHARE,
        compute=attrgetter("fpr"),
    ),
    BaseMetric(
        id="fnr",
        label="FNR",
        says="false negative rate: target trials rejected at the operating point",
        needs="points",
        of="target",
        bounds=_SHARE,
        compute=attrgetter("fnr"),
    ),
    BaseMetric(
        id="cdet_raw",
        label="Cost, not normalised",
        says="detection cost at the operating point",
        needs="points",
        per="cost",
        compute=lambda at, cost: cdet(at, cost, normalised=False),
    ),
    BaseMetric(
        id="cdet_norm",
        label="Cost",
        says="detection cost at the operating point over that of deciding without scores",
        needs="points",
        per="cost",
        compute=cdet,
    ),
    BaseMetric(
        id="hter",
        label="HTER",
        says="half total error rate: mean of FPR and FNR at the operating point",
        needs="points",
        bounds=_SHARE,
        compute=hter,
    ),
    BaseMetric(
        id="act_cdet_norm",
        label="Actual cost",
        says="normalised cost at the Bayes threshold of log-likelihood ratios",
        needs="llr",
        per="cost",
        compute=_actual_cost,
    ),
    BaseMetric(
        id="min_cdet_norm",
        label="Minimum cost",
        says="smallest normalised cost over all thresholds, at the group's own one",
        needs="counts",
        per="cost",
        bounds=_SHARE,
        compute=min_cdet,
    ),
    BaseMetric(
        id="min_cdet_raw",
        label="Minimum cost, not normalised",
        says="smallest cost over all thresholds, at the group's own one",
        needs="counts",
        per="cost",
        field="raw",
        compute=min_cdet,
    ),
    BaseMetric(
        id="eer",
        label="EER",
        says="equal error rate, at the group's own threshold",
        needs="counts",
        per="eer",
        bounds=_SHARE,
        compute=eer,
    ),
    BaseMetric(
        id="fnr_at_fpr",
        label="FNR at own FPR",
        says="FNR where the group's own FPR is held at the stated rate",
        needs="counts",
        per="held",
        of="target",
        bounds=_SHARE,
        compute=fnr_at_fpr,
    ),
    BaseMetric(
        id="fpr_at_fnr",
        label="FPR at own FNR",
        says="FPR where the group's own FNR is held at the stated rate",
        needs="counts",
        per="held",
        of="nontarget",
        bounds=_SHARE,
        compute=fpr_at_fnr,
    ),
    BaseMetric(
        id="auc",
        label="AUC",
        says="probability that a target trial scores above a nontarget one",
        needs="counts",
        scale="one",
        bounds=_SHARE,
        fairer="higher",
        is_error=False,
        compute=auc,
    ),
    BaseMetric(
        id="dprime",
        label="d'",
        says="distance of the mean scores in units of their pooled standard deviation",
        needs="counts",
        scale="linear",
        bounds=_ANY,
        fairer="higher",
        is_error=False,
        compute=dprime,
    ),
    BaseMetric(
        id="cllr",
        label="Cllr",
        says="cost of log-likelihood ratios in bits, 1 for a system that knows nothing",
        needs="llr",
        compute=cllr,
    ),
    BaseMetric(
        id="min_cllr",
        label="minimum Cllr",
        says="Cllr after the best monotone calibration, the group's own one",
        needs="counts",
        bounds=_SHARE,
        is_smooth=True,
        compute=min_cllr,
    ),
    BaseMetric(
        id="cal_loss",
        label="calibration loss",
        says="what Cllr loses to calibration: cllr - min_cllr",
        needs="llr",
        scale="linear",
        made_of=("cllr", "min_cllr"),
        compute=np.subtract,
    ),
    BaseMetric(
        id="shift_target",
        label="shift of target scores",
        says="target scores of the group minus those of the pooled row, in units of score",
        needs="pooled",
        of="target",
        scale="linear",
        bounds=_ANY,
        fairer="neither",
        is_error=False,
    ),
    BaseMetric(
        id="shift_nontarget",
        label="shift of nontarget scores",
        says="nontarget scores of the group minus those of the pooled row, likewise",
        needs="pooled",
        of="nontarget",
        scale="linear",
        bounds=_ANY,
        fairer="neither",
        is_error=False,
    ),
    BaseMetric(
        id="fte",
        label="FTE",
        says="failure-to-enrol rate: enrolments that failed, of those attempted",
        needs="recordings",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="fta",
        label="FTA",
        says="failure-to-acquire rate: test recordings that failed, of those attempted",
        needs="recordings",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="frr",
        label="FRR",
        says="false reject rate: as fnr, recordings that could not be acquired being rejected",
        needs="attempts",
        of="target",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="far",
        label="FAR",
        says="false accept rate: as fpr, recordings that could not be acquired being rejected",
        needs="attempts",
        of="nontarget",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="gfrr",
        label="GFRR",
        says="generalised false reject rate: as frr, enrolments that failed being rejected too",
        needs="attempts",
        of="target",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="gfar",
        label="GFAR",
        says="generalised false accept rate: as far, enrolments that failed being rejected too",
        needs="attempts",
        of="nontarget",
        source="ISO/IEC 19795-1",
        bounds=_SHARE,
    ),
    BaseMetric(
        id="seconds",
        label="seconds",
        says="seconds that a trial took: mean, median and 95 % quantile (within half a percent)",
        needs="seconds",
        is_error=False,
    ),
):
    register(_metric)

_AGAINST = (
    BiasMeasure(
        id="difference",
        label="difference",
        says="group - reference; 0 is par, above it the group fares worse",
        par=0.0,
        is_of_references=True,
        scale="linear",
        bounds=_ANY,
        compute=bias.difference,
    ),
    BiasMeasure(
        id="ratio",
        label="ratio",
        says="group / reference; 1 is par, above it the group fares worse",
        par=1.0,
        is_of_references=True,
        scale="ratio",
        compute=bias.ratio,
    ),
    BiasMeasure(
        id="neg_log_ratio",
        label="minus log ratio",
        says="-ln(group / reference); 0 is par, below it the group fares worse",
        par=0.0,
        is_of_references=True,
        scale="linear",
        bounds=_ANY,
        fairer="higher",
        compute=bias.neg_log_ratio,
    ),
    BiasMeasure(
        id="subgroup_bias",
        label="subgroup bias",
        says=(
            "group's cost over the pooled cost, at the threshold of the smallest cost over all "
            "trials (paper 001, eq. 2)"
        ),
        par=1.0,
        scale="ratio",
        compute=bias.ratio,
    ),
    BiasMeasure(
        id="threshold_bias",
        label="threshold bias",
        says=(
            "group's cost at that threshold over its own smallest cost; at least 1 by "
            "construction, and larger for small groups (paper 001, eq. 3)"
        ),
        par=1.0,
        scale="ratio",
        bounds=(1.0, _INF),
        compute=bias.threshold_bias,
    ),
    BiasMeasure(
        id="threshold_bias_cv",
        label="threshold bias, cross-fitted",
        says=(
            "the same with own thresholds found on other speakers of the group: what they would "
            "bring; may be below 1"
        ),
        par=1.0,
        scale="ratio",
    ),
)
_MEANS = tuple(
    BiasMeasure(
        id=f"mean_{one.id}",
        label=f"mean {one.label}",
        says=(
            f"unweighted mean of {one.id} over the groups of an intersection that share a value of "
            "one attribute, as in group gender=f (paper 001); groups where it is undefined are "
            "left out, and the reason says how many"
        ),
        par=one.par,
        scale=one.scale,
        bounds=one.bounds,
        fairer=one.fairer,
    )
    for one in _AGAINST
)
_TREND = BiasMeasure(
    id="trend",
    label="trend",
    says=(
        "change of the log odds of an error per unit (in definition) of the number that bands are "
        "made of; 0 is none, above it errors rise with the number"
    ),
    par=0.0,
    scale="linear",
    bounds=_ANY,
    fairer="neither",
)
for _against in (*_AGAINST, *_MEANS, _TREND):
    register(_against)

_SMOOTH: tuple[bias.ZeroPolicy, ...] = ("none", "jeffreys")
_RATIOS: tuple[bias.ZeroPolicy, ...] = ("none", "jeffreys", "nist")
_PEREIRA, _NIST, _HOWARD = (
    "de Freitas Pereira and Marcel 2022",
    "NIST (Grother)",
    "Howard 2022",
)
_HUTIRI, _IR8429, _FOUR_FIFTHS = "Hutiri et al. 2023", "NIST IR 8429", "four-fifths style"
_LUM = "Lum, Zhang and Bower 2022"

for _meta in (
    MetaMeasure(
        id="fdr",
        label="FDR",
        says="1 less the weighted ranges of both rates",
        source=_PEREIRA,
        metric=BOTH,
        takes="alpha",
        fairer="higher",
        scale="one",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        shown="first",
        compute=meta.fdr,
    ),
    MetaMeasure(
        id="fdr_fpd",
        label="FPD of FDR",
        short="FPD",
        says="range of FPR: its largest less its smallest value",
        source=_PEREIRA,
        metric="fpr",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=meta.fdr_fpd,
    ),
    MetaMeasure(
        id="fdr_fnd",
        label="FND of FDR",
        short="FND",
        says="range of FNR: its largest less its smallest value",
        source=_PEREIRA,
        metric="fnr",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        compute=meta.fdr_fnd,
    ),
    MetaMeasure(
        id="ir",
        label="IR",
        says="largest over smallest FPR times largest over smallest FNR, each to its weight",
        source=_NIST,
        metric=BOTH,
        takes="alpha",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        shown="first",
        compute=meta.ir,
    ),
    MetaMeasure(
        id="ir_fpd",
        label="FPD of IR",
        short="IR, FPR",
        says="largest over smallest FPR",
        source=_NIST,
        metric="fpr",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        compute=meta.ir_fpd,
    ),
    MetaMeasure(
        id="ir_fnd",
        label="FND of IR",
        short="IR, FNR",
        says="largest over smallest FNR",
        source=_NIST,
        metric="fnr",
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        compute=meta.ir_fnd,
    ),
    MetaMeasure(
        id="garbe",
        label="GARBE",
        says="weighted sum of the Gini coefficients of both rates",
        source=_HOWARD,
        metric=BOTH,
        takes="alpha",
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        shown="first",
        compute=meta.garbe,
    ),
    MetaMeasure(
        id="gini",
        label="Gini",
        says="Gini coefficient over groups, 1 if one group has all errors",
        source=_HOWARD,
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        compute=spread.gini,
    ),
    MetaMeasure(
        id="nrb",
        label="NRB",
        says="mean over groups of abs(ln(value / pooled value))",
        source=_HUTIRI,
        takes="average",
        takes_logs=True,
        zero_policies=_SMOOTH,
        compute=spread.nrb,
    ),
    MetaMeasure(
        id="rb",
        label="RB",
        says="sum over groups of abs(ln(value / pooled value))",
        source=_HUTIRI,
        takes="average",
        zero_policies=_SMOOTH,
        shown="tables",
        compute=spread.rb,
    ),
    MetaMeasure(
        id="max_min",
        label="largest / smallest",
        short="max / min",
        says="largest over smallest value",
        source=_FOUR_FIFTHS,
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        shown="quoted",
        compute=spread.max_min,
    ),
    MetaMeasure(
        id="min_max",
        label="smallest / largest",
        short="min / max",
        says="smallest over largest value",
        source=_FOUR_FIFTHS,
        fairer="higher",
        scale="ratio",
        bounds=_SHARE,
        takes_logs=True,
        zero_policies=_SMOOTH,
        shown="tables",
        compute=spread.min_max,
    ),
    MetaMeasure(
        id="max_geomean",
        label="largest / geometric mean",
        short="max / geometric mean",
        says="largest value over the geometric mean",
        source=_IR8429,
        scale="ratio",
        takes_logs=True,
        zero_policies=_RATIOS,
        compute=spread.max_geomean,
    ),
    MetaMeasure(
        id="max_mean",
        label="largest / mean",
        short="max / mean",
        says="largest value over the mean",
        source=_IR8429,
        scale="ratio",
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=spread.max_mean,
    ),
    MetaMeasure(
        id="sd",
        label="standard deviation",
        short="SD",
        says="standard deviation over groups",
        source="common",
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=spread.sd,
    ),
    MetaMeasure(
        id="cv",
        label="coefficient of variation",
        short="CV",
        says="standard deviation over groups in units of their mean",
        source="common",
        zero_policies=_SMOOTH,
        has_p_of_fpr=False,
        compute=spread.cv,
    ),
    MetaMeasure(
        id="eo_diff",
        label="equalised odds difference",
        short="EO difference",
        says="the larger of the ranges of TPR and FPR",
        source="fairlearn",
        metric=BOTH,
        bounds=_SHARE,
        zero_policies=_SMOOTH,
        compute=meta.eo_diff,
    ),
    MetaMeasure(
        id="eo_ratio",
        label="equalised odds ratio",
        short="EO ratio",
        says="the smaller of smallest over largest TPR and FPR",
        source="fairlearn",
        metric=BOTH,
        fairer="higher",
        scale="ratio",
        bounds=_SHARE,
        takes_logs=True,
        zero_policies=_SMOOTH,
        compute=meta.eo_ratio,
    ),
    MetaMeasure(
        id="au_fdr",
        label="area under FDR",
        short="auFDR",
        says="area under FDR over pooled false positive rates, divided by their span",
        source="Peri et al. 2023",
        metric=BOTH,
        takes="grid",
        fairer="higher",
        scale="one",
        bounds=_SHARE,
        compute=meta.au_fdr,
    ),
    MetaMeasure(
        id="tau_log",
        label="tau_log (spread beyond noise)",
        short="tau_log",
        says="spread of ln rates between groups beyond what speakers make of it",
        takes="draws",
        shown="first",
    ),
    MetaMeasure(
        id="var_corrected",
        label="variance beyond noise",
        short="corrected variance",
        says="variance of rates between groups beyond what speakers make of it",
        source=_LUM,
        takes="draws",
        bounds=_ANY,
    ),
    MetaMeasure(
        id="var_double_corrected",
        label="variance beyond noise, twice corrected",
        short="twice corrected variance",
        says="the same, with how sure it is",
        source=_LUM,
        takes="draws",
        bounds=_ANY,
    ),
):
    register(_meta)
