"""Parivox: does a speaker verification system treat groups of people alike?

>>> import parivox as pv
>>> float(pv.eer([0.9, 0.8, 0.4, 0.7, 0.3, 0.1], [1, 1, 1, 0, 0, 0]))
0.3333333333333333
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.lazy import lazy_names
from parivox.version import __version__ as __version__

if TYPE_CHECKING:
    from parivox import papers, shards, sklearn, trials
    from parivox.auditing.cell_counts import group_counts
    from parivox.auditing.counts.counting import count
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.fairness_criteria import Criteria, criteria
    from parivox.auditing.inspection import inspect
    from parivox.auditing.result import Audit, load
    from parivox.auditing.run import audit
    from parivox.core.bias import (
        difference,
        neg_log_ratio,
        ratio,
        reference,
        smoothed,
        threshold_bias,
    )
    from parivox.core.costs import (
        COST_MODELS,
        CostModel,
        act_cdet,
        bayes_threshold,
        cdet,
        equalised_min_cdet,
        min_cdet,
        parse_cost,
    )
    from parivox.core.counts import Counts, Curve
    from parivox.core.eer import eer
    from parivox.core.identification import Searches
    from parivox.core.llr import calibration_loss, cllr, min_cllr
    from parivox.core.measures import MEASURES
    from parivox.core.meta import au_fdr, eo_diff, eo_ratio, fdr, garbe, ir
    from parivox.core.rates import fnr_at_fpr, fpr_at_fnr, hter
    from parivox.core.separation import auc, dprime, r_precision, shift
    from parivox.core.spoof import min_tdcf, sasv_eer, spf_eer
    from parivox.core.spread import (
        cv,
        gini,
        max_geomean,
        max_mean,
        max_min,
        min_max,
        nrb,
        rb,
        sd,
    )
    from parivox.data.inspection.findings import Inspection
    from parivox.decide.calibrated_scores import apply_calibrator
    from parivox.decide.calibration import Calibration, calibrate
    from parivox.decide.calibrator_file import Calibrator
    from parivox.decide.release_gate import Gate, gate
    from parivox.decide.releases import Comparison, compare
    from parivox.decide.sample_size_plan import Plan, plan
    from parivox.decide.threshold_selection import Thresholds, thresholds
    from parivox.embedding.extract import embed
    from parivox.embedding.store import Store, open_store
    from parivox.errors import ConfigError, DataError, ParivoxError
    from parivox.monitoring.daily_monitor import Monitor, monitor
    from parivox.report.figures import write_figures
    from parivox.report.labels import labelled
    from parivox.report.report_files import write_tables
    from parivox.runtime.progress import Progress
    from parivox.scoring.all_pairs_counts import score_all_pairs
    from parivox.scoring.run import score
    from parivox.scoring.score_metrics import ScoreMetrics, metrics

_HOMES = {
    "parivox.papers": ("papers",),
    "parivox.shards": ("shards",),
    "parivox.sklearn": ("sklearn",),
    "parivox.trials": ("trials",),
    "parivox.auditing.result": ("Audit", "load"),
    "parivox.auditing.cell_counts": ("group_counts",),
    "parivox.scoring.all_pairs_counts": ("score_all_pairs",),
    "parivox.scoring.score_metrics": ("ScoreMetrics", "metrics"),
    "parivox.auditing.counts.counting": ("count",),
    "parivox.auditing.fairness_criteria": ("Criteria", "criteria"),
    "parivox.auditing.inspection": ("inspect",),
    "parivox.decide.release_gate": ("Gate", "gate"),
    "parivox.decide.sample_size_plan": ("Plan", "plan"),
    "parivox.decide.releases": ("Comparison", "compare"),
    "parivox.auditing.run": ("audit",),
    "parivox.auditing.counts.trial_counts": ("TrialCounts",),
    "parivox.core.bias": (
        "difference",
        "neg_log_ratio",
        "ratio",
        "reference",
        "smoothed",
        "threshold_bias",
    ),
    "parivox.core.costs": (
        "COST_MODELS",
        "CostModel",
        "act_cdet",
        "bayes_threshold",
        "cdet",
        "equalised_min_cdet",
        "min_cdet",
        "parse_cost",
    ),
    "parivox.core.counts": ("Counts", "Curve"),
    "parivox.core.eer": ("eer",),
    "parivox.core.identification": ("Searches",),
    "parivox.core.llr": ("calibration_loss", "cllr", "min_cllr"),
    "parivox.core.measures": ("MEASURES",),
    "parivox.core.meta": ("au_fdr", "eo_diff", "eo_ratio", "fdr", "garbe", "ir"),
    "parivox.core.rates": ("fnr_at_fpr", "fpr_at_fnr", "hter"),
    "parivox.core.separation": ("auc", "dprime", "r_precision", "shift"),
    "parivox.core.spoof": ("min_tdcf", "sasv_eer", "spf_eer"),
    "parivox.core.spread": (
        "cv",
        "gini",
        "max_geomean",
        "max_mean",
        "max_min",
        "min_max",
        "nrb",
        "rb",
        "sd",
    ),
    "parivox.embedding.extract": ("embed",),
    "parivox.embedding.store": ("Store", "open_store"),
    "parivox.errors": ("ConfigError", "DataError", "ParivoxError"),
    "parivox.decide.calibrated_scores": ("apply_calibrator",),
    "parivox.decide.calibration": ("Calibration", "calibrate"),
    "parivox.decide.threshold_selection": ("Thresholds", "thresholds"),
    "parivox.monitoring.daily_monitor": ("Monitor", "monitor"),
    "parivox.runtime.progress": ("Progress",),
    "parivox.report.figures": ("write_figures",),
    "parivox.report.report_files": ("write_tables",),
    "parivox.report.labels": ("labelled",),
    "parivox.scoring.run": ("score",),
    "parivox.decide.calibrator_file": ("Calibrator",),
    "parivox.data.inspection.findings": ("Inspection",),
}
_RENAMED_HOMES = {
    "parivox.report.exports": ("log_mlflow",),
    "parivox.report.report_files": ("write_page",),
}
"""Names that go with release 0.5; each warns, and says what it is called now."""
__all__ = [
    "COST_MODELS",
    "MEASURES",
    "Audit",
    "Calibration",
    "Calibrator",
    "Comparison",
    "ConfigError",
    "CostModel",
    "Counts",
    "Criteria",
    "Curve",
    "DataError",
    "Gate",
    "Inspection",
    "Monitor",
    "ParivoxError",
    "Plan",
    "Progress",
    "ScoreMetrics",
    "Searches",
    "Store",
    "Thresholds",
    "TrialCounts",
    "act_cdet",
    "apply_calibrator",
    "au_fdr",
    "auc",
    "audit",
    "bayes_threshold",
    "calibrate",
    "calibration_loss",
    "cdet",
    "cllr",
    "compare",
    "count",
    "criteria",
    "cv",
    "difference",
    "dprime",
    "eer",
    "embed",
    "eo_diff",
    "eo_ratio",
    "equalised_min_cdet",
    "fdr",
    "fnr_at_fpr",
    "fpr_at_fnr",
    "garbe",
    "gate",
    "gini",
    "group_counts",
    "hter",
    "inspect",
    "ir",
    "labelled",
    "load",
    "max_geomean",
    "max_mean",
    "max_min",
    "metrics",
    "min_cdet",
    "min_cllr",
    "min_max",
    "min_tdcf",
    "monitor",
    "neg_log_ratio",
    "nrb",
    "open_store",
    "papers",
    "parse_cost",
    "plan",
    "r_precision",
    "ratio",
    "rb",
    "reference",
    "sasv_eer",
    "score",
    "score_all_pairs",
    "sd",
    "shards",
    "shift",
    "sklearn",
    "smoothed",
    "spf_eer",
    "threshold_bias",
    "thresholds",
    "trials",
    "write_figures",
    "write_tables",
]


__getattr__, _ = lazy_names(
    "parivox",
    {
        module: _HOMES.get(module, ()) + _RENAMED_HOMES.get(module, ())
        for module in _HOMES | _RENAMED_HOMES
    },
    public_names=__all__,
)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
