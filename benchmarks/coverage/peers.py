"""Bootstraps of other tools by their own code: do ours spread alike, and what do they take?

fairlearn resamples rows, ConfidenceIntervals resamples conditions, which are speakers here;
both on lists of the study `rivals`, for FNR. spkproof compares systems by EER: real speakers are
drawn with replacement; the truth is the EER of all of them, and its difference between systems.
`make evidence` installs the last two tools beside the others.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from benchmarks.coverage import rivals
from benchmarks.coverage.calibration_loss import score_table
from benchmarks.coverage.corpora import SYSTEMS, Trials, trials_of
from benchmarks.coverage.mitigation import drawn_material
from benchmarks.coverage.records import Row, interval_row, mean, stream
from scipy.special import gammaln

import parivox as pv

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from benchmarks.coverage.rivals import Pairs
    from benchmarks.coverage.simulate import FloatArray, IntArray

DATASETS = 100
SPREADS = {
    ("fairlearn", "V2"): (2, 8),
    ("fairlearn", "ge2e"): (4, 16),
    ("confidence-intervals", "V2"): (3, 16),
    ("confidence-intervals", "ge2e"): (8, 50),
}
"""Lists and replicates of each tool and system: as many as take half a minute."""
COMPARED = (("V2", "L"), ("ge2e",))
"""Systems whose EERs are compared, each with the next."""
POPULATION = "m+USA"
"""Whose speakers are drawn where a list has this group; else all are."""
SPEAKERS = 40
REPLICATES = 200


class MissingToolError(Exception):
    """A tool that is not installed."""


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study the spread of replicates, then EERs of systems."""
    for (tool, system), (lists, replicates) in SPREADS.items():
        name = f"{tool}, {system}"
        if is_wanted(name):
            yield [{"cell": name} | _spread(tool, system, min(lists, datasets), replicates, seed)]
    for systems in COMPARED:
        name = f"spkproof, {' and '.join(systems)}"
        if is_wanted(name):
            rows = _compared(systems, datasets, stream(seed, f"peers/{name}"))
            yield [{"cell": name} | row for row in rows]


def _imported(tool: str, module: str) -> Any:
    """Import a module of a tool.

    Raises
    ------
    MissingToolError
        If the tool is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        message = f"{tool} is not installed; `make evidence` installs it into build/peers"
        raise MissingToolError(message) from error


def _spread(tool: str, system: str, lists: int, replicates: int, seed: int) -> Row:
    """Return how wide rates spread by the tool's own code, compared with our writing of it."""
    rate_replicates, ours = OWN_CODE[tool]
    data = rivals.read(system)
    name = f"peers/{tool}/{system}"
    rng, group_rng = stream(seed, name), stream(seed, f"{name}/groups")
    n_groups = len(data.names)
    ratios, seconds, our_seconds = np.empty((lists, n_groups)), 0.0, 0.0
    for i in range(lists):
        group, pairs = data.pairs["fnr"].within(group_rng.permutation(data.group))
        start = time.process_time()
        rates = rate_replicates(group, pairs, n_groups, replicates, rng)
        between = time.process_time()
        our_sd = ours(group, pairs, n_groups, rng).sd
        seconds, our_seconds = (
            seconds + between - start,
            our_seconds + time.process_time() - between,
        )
        ratios[i] = _unbiased_sd(rates) / our_sd
    of_thousand = 1000 / lists
    return {
        "tool": tool,
        "version": importlib.metadata.version(tool),
        "system": system,
        "corpus": SYSTEMS[system],
        "datasets": lists,
        "replicates": replicates,
        "cpu": round(seconds * of_thousand / replicates),
        "our_cpu": float(f"{our_seconds * of_thousand / rivals.REPLICATES:.3g}"),
    } | mean(ratios, "sd_ratio")


def _unbiased_sd(rates: FloatArray) -> FloatArray:
    """Return standard deviations of few normal replicates, [replicate, group], without their bias.

    The root of the unbiased variance of five values is 6 % too small on average.
    """
    n = len(rates)
    sd: FloatArray = rates.std(axis=0, ddof=1)
    mean_share = float(np.sqrt(2 / (n - 1)) * np.exp(gammaln(n / 2) - gammaln((n - 1) / 2)))
    return sd / mean_share


def _expanded(group: IntArray, pairs: Pairs) -> tuple[IntArray, IntArray, IntArray]:
    """Return the group, enrolment speaker and error of every trial."""
    entry = np.repeat(np.arange(group.size), pairs.trials)
    turn = np.arange(entry.size) - np.repeat(np.cumsum(pairs.trials) - pairs.trials, pairs.trials)
    return group[entry], pairs.enrol[entry], (turn < pairs.errors[entry]).astype(np.int64)


def _fairlearn(
    group: IntArray, pairs: Pairs, n_groups: int, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Return FNR by MetricFrame's bootstrap, [replicate, group]."""
    metrics = importlib.import_module("fairlearn.metrics")
    bootstrap = importlib.import_module("fairlearn.metrics._bootstrap")
    annotated = importlib.import_module("fairlearn.metrics._annotated_metric_function")
    metric = annotated.AnnotatedMetricFunction(
        func=metrics.false_negative_rate,
        name="fnr",
        positional_argument_names=["y_true", "y_pred"],
    )
    group_of_trial, _, error = _expanded(group, pairs)
    trials = {"y_true": np.ones_like(error), "y_pred": 1 - error, "group": group_of_trial}
    samples = bootstrap.generate_bootstrap_samples(
        n_samples=replicates,
        random_state=int(rng.integers(2**31)),
        data=pd.DataFrame(trials),
        annotated_functions={"fnr": metric},
        sensitive_feature_names=["group"],
    )
    rates = [sample.by_group["fnr"].reindex(range(n_groups)).to_numpy() for sample in samples]
    return np.array(rates, dtype=np.float64)


def _confidence_intervals(
    group: IntArray, pairs: Pairs, n_groups: int, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Return FNR by group, with enrolment speakers as conditions, [replicate, group]."""
    module = _imported("confidence-intervals", "confidence_intervals.confidence_intervals")
    group_of_trial, speaker, error = _expanded(group, pairs)
    rates = np.empty((replicates, n_groups))
    for cell in range(n_groups):
        # its replicates have one seed for all speakers, so that order must not say who errs
        rows = rng.permutation(np.flatnonzero(group_of_trial == cell))
        bootstrap = module.Bootstrap(replicates, np.mean)
        rates[:, cell] = bootstrap.run(error[rows], None, speaker[rows])
    return rates


OWN_CODE: dict[str, tuple[Callable[..., FloatArray], Callable[..., rivals.Answer]]] = {
    "fairlearn": (_fairlearn, rivals.rows),
    "confidence-intervals": (_confidence_intervals, rivals.conditions),
}


def _compared(systems: tuple[str, ...], datasets: int, rng: np.random.Generator) -> Iterator[Row]:
    """Compare EERs, and their difference between two systems, by spkproof and by an audit."""
    trials = {system: trials_of(system) for system in systems}
    first = trials[systems[0]]
    people = np.arange(first.group.size)
    if POPULATION in first.names:
        people = np.flatnonzero(first.group == first.names.index(POPULATION))
    truth = _eers(trials, people)
    seconds = dict.fromkeys(("spkproof", "Parivox"), 0.0)
    limits: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(datasets):
        drawn = np.sort(rng.choice(people, SPEAKERS))
        nobody = np.zeros(SPEAKERS, dtype=np.int64)
        tables = {
            system: _table(drawn_material(trials[system], drawn, nobody, nobody, 0.0))
            for system in systems
        }
        for tool, interval_limits in (("spkproof", _by_spkproof), ("Parivox", _by_audit)):
            start = time.process_time()
            found = interval_limits(tables)
            seconds[tool] += time.process_time() - start
            for measure, ends in found.items():
                limits.setdefault((tool, measure), []).append(ends)
    for (tool, measure), drawn_limits in limits.items():
        low, high = np.array(drawn_limits, dtype=np.float64).T
        labels: Row = {"tool": tool, "system": " and ".join(systems), "measure": measure}
        labels |= {"corpus": SYSTEMS[systems[0]], "speakers": SPEAKERS, "replicates": REPLICATES}
        labels |= {"true": float(f"{truth[measure]:.4g}")}
        labels |= {"cpu": float(f"{seconds[tool] / datasets:.3g}")}
        if tool == "spkproof":
            labels["version"] = importlib.metadata.version(tool)
        width = {"width": float(f"{np.nanmean(high - low):.4g}")}
        yield labels | interval_row(truth[measure], low[:, None], high[:, None]) | width


def _eers(trials: Mapping[str, Trials], people: IntArray) -> dict[str, float]:
    """Return the EER of each system over all trials between these speakers, and the difference."""
    eers = {}
    for system, rows in trials.items():
        is_used = np.isin(rows.first_speaker, people) & np.isin(rows.second_speaker, people)
        eers[system] = float(pv.eer(rows.score[is_used], rows.target[is_used].astype(np.int64)))
    if len(eers) > 1:
        first, second = eers.values()
        eers["difference"] = first - second
    return eers


def _table(material: Any) -> dict[str, Any]:
    """Return scores of drawn speakers as an audit reads them."""
    ids = np.array([f"s{i:02}" for i in range(SPEAKERS)])
    enrol, test = (ids[side] for side in material.speakers)
    return score_table(material.score, material.target, enrol, test)


def _by_spkproof(tables: Mapping[str, dict[str, Any]]) -> dict[str, tuple[float, float]]:
    panel = _imported("spkproof", "spkproof.panel")
    first = next(iter(tables.values()))
    sides = [np.char.partition(first[side], "/")[:, 0].tolist() for side in ("enrol", "test")]
    scores = zip(*(table["score"].tolist() for table in tables.values()), strict=True)
    rows = [
        {
            "condition": "all",
            "label": "genuine" if label else "impostor",
            "speaker": enrol,
            "test_speaker": test,
            **dict(zip(tables, trial_scores, strict=True)),
        }
        for label, enrol, test, trial_scores in zip(
            first["label"].tolist(), *sides, scores, strict=True
        )
    ]
    results = panel.score_panel(rows, list(tables), bootstrap=REPLICATES)
    limits = {result.encoder: (result.eer_lo, result.eer_hi) for result in results}
    comparisons, _ = panel.paired_compare(results)
    for comparison in comparisons:
        ends = comparison.lo, comparison.hi
        if comparison.encoder_a != next(iter(tables)):
            ends = -ends[1], -ends[0]
        limits["difference"] = ends
    return limits


def _by_audit(tables: Mapping[str, dict[str, Any]]) -> dict[str, tuple[float, float]]:
    speakers = [f"s{i:02}" for i in range(SPEAKERS)]
    people = {"speaker": speakers, "half": ["a", "b"] * (SPEAKERS // 2)}
    is_several = len(tables) > 1
    audit = pv.audit(tables, speakers=people, by="half", compare=is_several, replicates=REPLICATES)
    everyone = {"grouping": "all", "metric": "eer"}
    limits = {
        row["system"]: (row["low"], row["high"]) for row in audit.groups.filter(**everyone).rows()
    }
    for row in audit.comparison.filter(**everyone, measure="value").rows():
        limits["difference"] = row["low"], row["high"]
    return limits
