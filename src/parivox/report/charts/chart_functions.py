"""Every chart of an audit by its name, as Altair charts: what a notebook calls.

Papers go by their numbers in docs/references.md.
"""
# mypy: disable-error-code="empty-body"
# (a method is its keywords and its docstring; what draws it stands above it)

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeVar

from parivox.auditing import check_verification
from parivox.errors import ConfigError, name_hint
from parivox.report.charts.comparison import against, differences, ranks
from parivox.report.charts.det import det, det_of_systems
from parivox.report.charts.groups import failures, forest, rates_by_stratum, speakers
from parivox.report.charts.matrix import matrix
from parivox.report.charts.measures import accuracy, measures, over_metrics
from parivox.report.charts.scores import boxes, calibration, distributions, thresholds
from parivox.report.charts.sweep import over_alpha, over_fpr, terms
from parivox.report.charts.theme import theme

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import ModuleType

    import altair as alt

    from parivox.auditing import Audit
    from parivox.report.charts.chart import Chart, Names
    from parivox.report.charts.grammar import Spec

_Method = TypeVar("_Method", bound="Callable[..., Any]")


def _draws_chart(kind: Chart) -> Callable[[_Method], _Method]:
    """Return a decorator that makes a method with keywords and docstring draw a kind of chart."""

    def decorate(method: _Method) -> _Method:
        _, *keywords = signature(method).parameters
        default_width = signature(method).parameters["width"].default

        @wraps(method)
        def draw_chart(self: Charts, **options: Any) -> Any:
            for name in options:
                if name not in keywords:
                    msg = f"{method.__name__} takes no {name!r}; {name_hint(name, keywords)}"
                    raise TypeError(msg)
            chart_theme = theme(for_page=False, width=options.pop("width", default_width))
            spec = kind(self._audit, theme=chart_theme, **options)
            alt, debug_mode = _altair()
            # without debug mode, Altair checks the chart as a whole and not each part once more
            with debug_mode(False):
                return getattr(alt, _altair_class(spec)).from_dict(spec)

        return draw_chart  # type: ignore[return-value]

    return decorate


_CLASS_BY_KEY = {
    "layer": "LayerChart",
    "facet": "FacetChart",
    "concat": "ConcatChart",
    "hconcat": "HConcatChart",
    "vconcat": "VConcatChart",
}
"""Altair's classes of composed charts by the key that a specification of one has."""


def _altair_class(spec: Spec) -> str:
    """Return the name of Altair's class for a specification, so that Altair need not search it."""
    for key, class_name in _CLASS_BY_KEY.items():
        if key in spec:
            return class_name
    return "Chart"


def _altair() -> tuple[ModuleType, Callable[[bool], AbstractContextManager[None]]]:
    try:
        import altair as alt  # noqa: PLC0415 - an optional dependency
        from altair.utils.schemapi import debug_mode  # noqa: PLC0415
    except ImportError as error:
        msg = "charts need altair: pip install 'parivox[report]'"
        raise ConfigError(msg) from error
    return alt, debug_mode


class Charts:
    """The charts of one audit, as Altair charts to show, restyle or save.

    What is not asked for is the first that the audit has, or all. A `ConfigError` tells in one
    sentence what the audit does not have, with the names that it has.

    Every chart takes keywords only. These mean the same in all of them:

    - ``by``: a grouping, as ``"gender+nationality"``; else that of the ``groups``, or that of most
      groups that can be read.
    - ``groups``: of one grouping, one or several to draw; else all, or of very many those with the
      most speakers.
    - ``system``: one system, as ``"V2"``, or a system on a list, as ``"V2@clean"``.
    - ``systems``: one or several of them, in this order; else all, or the first where one is drawn.
    - ``allocation``: the rule by which trials between groups are counted, as ``"both"``.
    - ``operating_point``: as the audit names it, as ``"fpr=0.01"``.
    - ``width``: of the whole chart in inches; 3.5 is a column of most papers, 7 is two.

    Parameters
    ----------
    audit : Audit
        Whose charts they are.

    Examples
    --------
    In a notebook, with the extra `report`:

        audit.charts.det(by="gender+nationality", panel="gender", groups=["f+India", "m+India"])
        audit.charts.against(measure="subgroup_bias", systems=("V2", "L"))
        audit.charts.over_alpha(measures="fdr", operating_points=["fpr=0.001", "fpr=0.1"])
    """

    def __init__(self, audit: Audit) -> None:
        check_verification(audit, "charts", "take the figures from the report (HTML)")
        self._audit = audit

    def __repr__(self) -> str:
        names = (name for name in vars(Charts) if not name.startswith("_"))
        return f"<Charts: {', '.join(names)}>"

    @_draws_chart(speakers)
    def speakers(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Bars of speakers, target trials and nontarget trials of each group.

        Takes ``by``, ``groups``, ``system``, ``allocation`` and ``width`` as every chart does.
        """

    @_draws_chart(forest)
    def forest(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """FNR and FPR of every group with intervals, the pooled rate and the noise floor.

        Takes ``by``, ``groups``, ``system``, ``allocation``, ``operating_point`` and ``width`` as
        every chart does.
        """

    @_draws_chart(rates_by_stratum)
    def levels(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """FNR and FPR of every group within each level of ``--within``, side by side.

        Takes ``by``, ``groups``, ``system``, ``allocation``, ``operating_point`` and ``width`` as
        every chart does.
        """

    @_draws_chart(failures)
    def failures(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """FTE and FTA of every group with intervals, of an audit with ``--failures``.

        Takes ``by``, ``groups``, ``system``, ``allocation`` and ``width`` as every chart does.
        """

    @_draws_chart(det)
    def det(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        systems: Names = None,
        allocation: str | None = None,
        panel: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """DET curves with interval bands, audited thresholds and where each would cost least.

        As Figs. 4, 8, 9 and 10 of paper 001.

        Takes ``by``, ``groups``, ``systems``, ``allocation`` and ``width`` as every chart does.

        Parameters
        ----------
        panel : str
            What has a panel of its own: an attribute of the grouping, ``"group"``, ``"system"``, or
            ``"all"`` for a single panel. Else as can be read.
        """

    @_draws_chart(det_of_systems)
    def together(
        self,
        *,
        systems: Names = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """DET curves of all trials of every system and list in one panel.

        As Fig. 6 of paper 001 and Fig. 7 of paper 003.

        Takes ``systems`` and ``width`` as every chart does.
        """

    @_draws_chart(distributions)
    def distributions(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Densities of target and nontarget scores of each group, with the thresholds.

        Takes ``by``, ``groups``, ``system``, ``allocation`` and ``width`` as every chart does.
        """

    @_draws_chart(boxes)
    def boxes(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Quantiles of target and nontarget scores of each group, and how sure its median is.

        Takes ``by``, ``groups``, ``system``, ``allocation`` and ``width`` as every chart does.
        """

    @_draws_chart(calibration)
    def calibration(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Cllr of each group as scored and after a calibration of its own, with ``--llr``.

        Takes ``by``, ``groups``, ``system``, ``allocation`` and ``width`` as every chart does.
        """

    @_draws_chart(thresholds)
    def thresholds(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        allocation: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Each group's own threshold of smallest cost, and what the common one costs it.

        Takes ``by``, ``groups``, ``system``, ``allocation`` and ``width`` as every chart does.
        """

    @_draws_chart(matrix)
    def matrix(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        system: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Heat map of the FPR of every pair of groups.

        Takes ``by``, ``groups``, ``system``, ``operating_point`` and ``width`` as every chart does.
        """

    @_draws_chart(measures)
    def measures(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Meta-measures of every system, in units of their noise floors.

        Takes ``by``, ``systems``, ``allocation``, ``operating_point`` and ``width`` as every chart
        does.
        """

    @_draws_chart(accuracy)
    def accuracy(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Rate of all against the spread between groups, of every system.

        Takes ``by``, ``systems``, ``allocation``, ``operating_point`` and ``width`` as every chart
        does.
        """

    @_draws_chart(over_metrics)
    def over_metrics(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        measure: str = "nrb",
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """A meta-measure over base metrics, with intervals and noise floors.

        As Fig. 2 of paper 000.

        Takes ``by``, ``systems``, ``allocation`` and ``width`` as every chart does.

        Parameters
        ----------
        measure : str
            One of a single metric: ``"nrb"``, ``"gini"``, ``"max_min"``, ``"cv"`` and the like.
        """

    @_draws_chart(over_alpha)
    def over_alpha(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        measures: Names = None,
        operating_points: Names = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """FDR, GARBE and IR over alpha, the weight of FPR.

        As Fig. 1 of paper 000.

        Takes ``by``, ``systems``, ``allocation`` and ``width`` as every chart does.

        Parameters
        ----------
        measures : str or sequence of str
            Of ``"fdr"``, ``"garbe"`` and ``"ir"``; else all three.
        operating_points : str or sequence of str
            A line for each of several; else the first.
        """

    @_draws_chart(over_fpr)
    def over_fpr(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        measures: Names = None,
        alpha: float | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """FDR, GARBE and IR with their two terms over pooled FPR; where the terms cross.

        As Fig. 6 of paper 003.

        Takes ``by``, ``systems``, ``allocation`` and ``width`` as every chart does.

        Parameters
        ----------
        measures : str or sequence of str
            Of ``"fdr"``, ``"garbe"`` and ``"ir"``; else all three.
        alpha : float in [0, 1]
            The weight of FPR; else the audit's first.
        """

    @_draws_chart(terms)
    def terms(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        measures: Names = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Densities of FDR, GARBE and IR over alpha and threshold, above boxes of their terms.

        As Figs. 1 to 5 of paper 003.

        Takes ``by``, ``systems``, ``allocation`` and ``width`` as every chart does.

        Parameters
        ----------
        measures : str or sequence of str
            Of ``"fdr"``, ``"garbe"`` and ``"ir"``; else all three.
        """

    @_draws_chart(against)
    def against(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        systems: Names = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        measure: str = "ratio",
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Each group's bias in one system against that in another, with both intervals.

        As Fig. 5 of paper 001, with ``measure="subgroup_bias"``. Groups of ratio 0 lie at the edge.

        Takes ``by``, ``groups``, ``systems``, ``allocation``, ``operating_point`` and ``width`` as
        every chart does.

        Parameters
        ----------
        measure : str
            ``"ratio"`` of both rates to the reference, ``"subgroup_bias"``, ``"threshold_bias"`` or
            ``"threshold_bias_cv"``.
        """

    @_draws_chart(differences)
    def differences(
        self,
        *,
        by: str | None = None,
        groups: Names = None,
        systems: Names = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """Paired comparison of two systems group by group: one's rate over the other's.

        Takes ``by``, ``groups``, ``systems``, ``allocation``, ``operating_point`` and ``width`` as
        every chart does.
        """

    @_draws_chart(ranks)
    def ranks(
        self,
        *,
        by: str | None = None,
        systems: Names = None,
        allocation: str | None = None,
        operating_point: str | None = None,
        width: float = 7,
    ) -> alt.TopLevelMixin:
        """How often one system comes out better than another when speakers are drawn anew.

        Takes ``by``, ``systems``, ``allocation``, ``operating_point`` and ``width`` as every chart
        does.
        """
