"""Measure how far results move when the pairs of a list are drawn again, and when speakers are.

`variants` draws several lists with n pairs a speaker from a pool of scored pairs, for several n (as
Figs. 2 and 3 of docs/references.md#paper-002). How much a group's figures differ between the lists
shows how much of a result is the draw of pairs. That falls with n. What other speakers would change
does not, and is reported next to it (docs/methods/planning.md#variation-over-draws).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parivox.core.costs import min_cdet, parse_detection_cost
from parivox.core.counts import Counts
from parivox.core.eer import eer
from parivox.core.rates import threshold_at_eer
from parivox.core.resampled_curves import ResampledCurves, curve_edges
from parivox.core.resampling import MIN_STRATUM_SPEAKERS, speaker_weights
from parivox.data.lists.trial_list import read_with_speakers, utterance_recordings
from parivox.data.requested_groupings import make_groupings, parsed_attributes
from parivox.data.source_bytes import with_reading_options
from parivox.data.speakers import read_speakers
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.options.trials import PER_SPEAKER_OPTION, InclusiveOptions, VariantsOptions
from parivox.runtime.progress import stage
from parivox.shown import VARIATION_CHART_MODULE, NotebookView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.costs import CostModel
    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet

    Codes = NDArray[np.int32]
    Floats = NDArray[np.float64]
    Scorer: TypeAlias = Callable[[NDArray[np.object_], NDArray[np.object_]], Any]
    """From the enrolment and the test ids of a list to its scores."""
    from parivox.sources import SpeakerSource, TableSource, UtteranceSource

METRICS = ("eer", "min_cdet", "fpr", "fnr")
COLUMNS = {
    "group": "str",
    "speakers": "int",
    "per_speaker": "int",
    "metric": "str",
    "mean": "float",
    "seed_max_min": "float",
    "seed_sd": "float",
    "speaker_sd": "float",
}
VALUES = {
    "group": "str",
    "per_speaker": "int",
    "variant": "int",
    "metric": "str",
    "value": "float",
}
CURVES = {"group": "str", "per_speaker": "int", "variant": "int", "fpr": "float", "fnr": "float"}

_N_TAIL_POINTS = 30  # of either tail of a DET curve
_BOOTSTRAP_SEED_OFFSET = 1 << 32  # seeds of draws of speakers, away from those of pairs


@dataclass(frozen=True, eq=False)
class Variation(NotebookView):
    """Results of several lists drawn from one pool of pairs.

    Attributes
    ----------
    table : Table
        For each group, number of pairs and metric: the mean over the variants; their largest
        over their smallest less 1 (``seed_max_min``); their standard deviation over their mean
        (``seed_sd``); and the same when the speakers of a variant are drawn anew instead
        (``speaker_sd``, root mean square over the variants; undefined for fewer than 5 speakers).
    values : Table
        Each metric of each variant.
    curves : Table
        Points of the DET curve of each variant.
    by : str
        What groups are made of.
    cost : CostModel
        Of ``min_cdet``.
    threshold : float
        Common to all groups and variants, at which ``fpr`` and ``fnr`` are taken: where both are
        equal over all pairs that variants are drawn from.
    variants, seed, replicates : int
        How many lists for each number of pairs, what they are drawn with, and how often speakers
        are drawn.
    kept, left_out : mapping of str to int
        Speakers of each group, and those with fewer pairs than the largest number asked for.
    warning : str
        Why folders that were taken for recordings may be none, as a fact; empty where nothing says
        so.
    """

    table: Table
    values: Table
    curves: Table
    by: str
    cost: CostModel
    threshold: float
    variants: int
    seed: int
    replicates: int
    kept: Mapping[str, int]
    left_out: Mapping[str, int]
    warning: str = ""

    def to_json(self) -> str:
        """All of it but the curves as JSON; no ids are in it."""
        document = {
            "by": self.by,
            "cost": self.cost.name,
            "threshold": self.threshold,
            **{name: getattr(self, name) for name in ("variants", "seed", "replicates")},
            "speakers": dict(self.kept),
            "left_out": dict(self.left_out),
            **{name: json.loads(getattr(self, name).to_json()) for name in ("table", "values")},
        }
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    def chart(self, metric: str = "min_cdet") -> Any:
        """Spread over draws of pairs and over draws of speakers, for each group and n.

        Parameters
        ----------
        metric : {"eer", "min_cdet", "fpr", "fnr"}

        Returns
        -------
        altair.Chart
            To be saved as SVG, PNG, PDF or HTML with its ``save``.
        """
        if metric not in METRICS:
            msg = f"metric {metric!r} is not known"
            hint = f"choose from {', '.join(METRICS)}"
            raise ConfigError(msg, hint)
        return import_module(VARIATION_CHART_MODULE).spread(self, metric)

    def dets(self) -> Any:
        """DET curves of the variants, a panel for each group, as an ``altair.Chart``."""
        return import_module(VARIATION_CHART_MODULE).dets(self)


@with_reading_options
def variants(
    source: TableSource,
    *,
    by: str,
    speakers: SpeakerSource | None = None,
    utterances: UtteranceSource | None = None,
    per_speaker: int | Sequence[int] = (25, 50, 75),
    variants: int = 5,
    seed: int = 0,
    groups: Sequence[str] | str | None = None,
    scorer: Scorer | None = None,
    cost: str = "voxsrc",
    replicates: int = 200,
    columns: Mapping[str, str] | None = None,
    orientation: str | None = None,
    id: str | None = None,  # noqa: A002 - the option's name
    encoding: str | None = None,
    quotes: str | None = None,
) -> Variation:
    """Draw several lists from scored pairs, and tell how much their results differ.

    Each list holds, for every speaker, `per_speaker` same-speaker pairs of two recordings and as
    many different-speaker pairs within the group. The speakers are the same in all lists: those
    with pairs enough for the largest number. With a scorer, lists are built as
    `parivox.trials.build_inclusive` does, and a smaller number may keep more speakers.

    Parameters
    ----------
    source
        Scores of more pairs than a list needs: a path, a dataframe or a mapping of arrays. With a
        `scorer`, the table of utterances to draw from.
    by
        What groups are made of: attributes of speakers, as in ``gender+nationality``.
    speakers, utterances
        Tables of speakers and of utterances.
    per_speaker : int or sequence of int
        Pairs of either class.
    variants : int
        Lists for each number of pairs; 2 or more.
    seed : int
        Each list has a stream of its own, spawned from it by number of pairs and variant.
    groups
        Those that take part; without it, all.
    scorer : callable, optional
        Takes the enrolment ids and the test ids of a list, two object arrays of shape (trial,),
        and gives its scores.
    cost : str
        Cost model of ``min_cdet``.
    replicates : int
        Draws of speakers, with replacement within each group, for each list.
    columns, orientation, id, encoding, quotes
        As `parivox.audit` takes them.

    Raises
    ------
    DataError
        If no speaker has pairs enough: the sentence says how many the others have.
    ConfigError
        If an option is out of range or unknown.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> ids = [f"{s}{i}/{v}/0" for s in "fm" for i in range(4) for v in range(8)]
    >>> one, other = np.triu_indices(len(ids), 1)
    >>> pairs = {"enrol": np.array(ids)[one], "test": np.array(ids)[other]}
    >>> pairs["label"] = (one // 8 == other // 8).astype(int)
    >>> pairs["score"] = rng.normal(2.0 * pairs["label"])
    >>> people = {"id": [f"{s}{i}" for s in "fm" for i in range(4)], "sex": [*"ffffmmmm"]}
    >>> found = variants(pairs, speakers=people, by="sex", per_speaker=[10, 20], replicates=20)
    >>> found.table.subset(metric="eer", per_speaker=20).columns[-3:]
    ('seed_max_min', 'seed_sd', 'speaker_sd')
    """
    is_several = isinstance(per_speaker, Iterable) and not isinstance(per_speaker, (str, bytes))
    numbers: Any = per_speaker if is_several else [per_speaker]
    pair_numbers = sorted({PER_SPEAKER_OPTION.check(number) for number in numbers})
    if not pair_numbers:
        msg = "per_speaker contains no number of pairs"
        hint = "give one or several, for example 25,50,75"
        raise ConfigError(msg, hint)
    checked_options = VariantsOptions.from_keywords(
        by=by,
        variants=variants,
        seed=seed,
        groups=groups,
        replicates=replicates,
        cost=cost,
        id=id,
        columns=columns,
        orientation=orientation,
        encoding=encoding,
        quotes=quotes,
    )
    n_variants, seed = checked_options.variants, checked_options.seed
    replicates = checked_options.replicates
    cost_model = parse_detection_cost(cost)
    score_options: dict[str, Any] = {
        "utterances": utterances,
        "columns": columns,
        "orientation": orientation,
    }
    speaker_options: dict[str, Any] = {"speakers": speakers, "by": by, "id": id, "groups": groups}
    if scorer is None:
        with stage("reading the scores"):
            pairs = read_scored_pairs(source, **speaker_options, **score_options)
        series = draw_lists(pairs, pair_numbers, n_variants, seed)
    else:
        for name, option in score_options.items():
            if option is not None:
                msg = f"{name} applies only to files of scores"
                hint = "leave it out if you give a scorer"
                raise ConfigError(msg, hint)
        series = build_scored_lists(
            source, scorer, pair_numbers, n_variants, seed, **speaker_options
        )
    reference = series.reference
    reference_counts = Counts.from_scores(reference.score, reference.target)
    # one threshold for all groups and lists, so that their FPR and FNR can be compared
    threshold = float(threshold_at_eer(reference_counts.curve))
    # seeds of speakers are far from those of pairs, so that streams do not coincide
    meter = _ListMeter(cost_model, threshold, replicates, seed + _BOOTSTRAP_SEED_OFFSET)
    metrics_by_group: dict[tuple[str, int], list[_GroupMetrics]] = {}
    metric_rows: list[tuple[Any, ...]] = []
    curve_rows: list[tuple[Any, ...]] = []
    n_lists = len(pair_numbers) * n_variants
    with stage("drawing and measuring lists", n_lists, "lists") as progress:
        for n_pairs, variant, pairs in series.lists:
            for group, counts, group_metrics in meter.group_metrics(pairs):
                metrics_by_group.setdefault((group, n_pairs), []).append(group_metrics)
                key = (group, n_pairs, variant)
                metrics = zip(METRICS, group_metrics.metrics.tolist(), strict=True)
                metric_rows += [(*key, *row) for row in metrics]
                curve_rows += [(*key, *point) for point in _det_points(counts)]
            progress.add()
    n_kept = reference.n_speakers_by_group()
    n_left_out = series.n_speakers_by_group - n_kept
    return Variation(
        table=_table(_spread_rows(metrics_by_group), COLUMNS),
        values=_table(metric_rows, VALUES),
        curves=_table(curve_rows, CURVES),
        by=reference.grouping,
        cost=cost_model,
        threshold=threshold,
        variants=n_variants,
        seed=seed,
        replicates=replicates,
        kept={g: int(n) for g, n in zip(reference.groups, n_kept, strict=True) if n},
        left_out={g: int(n) for g, n in zip(reference.groups, n_left_out, strict=True) if n},
        warning=reference.warning,
    )


class _GroupMetrics(NamedTuple):
    """Metrics of one group of one list, and how they vary with the speakers."""

    n_speakers: int
    metrics: Floats
    sd: Floats  # NaN for too few speakers


class _ListMeter(NamedTuple):
    """How lists are measured."""

    cost: CostModel
    threshold: float
    replicates: int
    seed: int

    def group_metrics(self, pairs: CandidatePairs) -> Iterator[tuple[str, Counts, _GroupMetrics]]:
        """Yield each group of a list: its name, its counts, and its metrics."""
        n_speakers, replicates = pairs.n_speakers_by_group(), self._replicates(pairs)
        for group in np.flatnonzero(n_speakers):
            is_in_group = pairs.group == group
            counts = Counts.from_scores(pairs.score[is_in_group], pairs.target[is_in_group])
            metrics = self._metrics(counts)
            # resampling so few speakers shows too little of how much they vary
            if n_speakers[group] >= MIN_STRATUM_SPEAKERS:
                sd = _sd(replicates[:, group])
            else:
                sd = np.full(metrics.shape, np.nan)
            yield pairs.groups[group], counts, _GroupMetrics(int(n_speakers[group]), metrics, sd)

    def _metrics(self, counts: Counts) -> Floats:
        """Of counts of shape (...), return an array of shape (..., metric)."""
        rates = counts.at([self.threshold])
        cost = min_cdet(counts, cost=self.cost).value
        return np.stack([eer(counts), cost, rates.fpr[..., 0], rates.fnr[..., 0]], axis=-1)

    def _replicates(self, pairs: CandidatePairs) -> Floats:
        """Return the metrics when speakers are resampled: [replicate, group, metric]."""
        curves = ResampledCurves(
            pairs.score,
            pairs.target,
            pairs.speaker,
            pairs.partner,
            [([pairs.group], len(pairs.groups))],
            curve_edges(Counts.from_scores(pairs.score, pairs.target), thresholds=[self.threshold]),
        )
        weights = speaker_weights(pairs.group_of_speaker, self.replicates, self.seed)
        metrics = np.full((self.replicates, len(pairs.groups), len(METRICS)), np.nan)
        for replicate_rows, (group_counts,) in curves.replicates(weights):
            for group in np.flatnonzero(pairs.n_speakers_by_group()):
                metrics[replicate_rows, group] = self._metrics(group_counts[group])
        return metrics


def _spread_rows(
    metrics_by_group: Mapping[tuple[str, int], Sequence[_GroupMetrics]],
) -> Iterator[tuple[Any, ...]]:
    """Yield the spread over lists and that over speakers, by group and number of pairs."""
    for (group, n_pairs), lists in sorted(metrics_by_group.items()):
        metrics = np.stack([list_metrics.metrics for list_metrics in lists])
        mean, minimum = metrics.mean(axis=0), metrics.min(axis=0)
        speaker_variance = np.mean([np.square(list_metrics.sd) for list_metrics in lists], axis=0)
        columns = (
            mean,
            metrics.max(axis=0) / _zero_to_nan(minimum) - 1,
            _sd(metrics) / _zero_to_nan(mean),
            np.sqrt(speaker_variance) / _zero_to_nan(mean),
        )
        for metric, *row in zip(METRICS, *(column.tolist() for column in columns), strict=True):
            yield group, lists[0].n_speakers, n_pairs, metric, *row


def _table(rows: Iterable[tuple[Any, ...]], columns: Mapping[str, str]) -> Table:
    row_list = list(rows)
    cells = {name: [row[i] for row in row_list] for i, name in enumerate(columns)}
    return Table.of(cells, columns)


def _zero_to_nan(divisors: Floats) -> Floats:
    """Return divisors with NaN in the place of 0."""
    return np.where(divisors > 0, divisors, np.nan)


def _sd(samples: Floats) -> Floats:
    """Return the standard deviation along the first axis; NaN of fewer than two.

    Samples that are NaN are left out.
    """
    is_defined = ~np.isnan(samples)
    n_defined = is_defined.sum(axis=0)
    defined = np.where(is_defined, samples, 0.0)
    mean = defined.sum(axis=0) / np.maximum(n_defined, 1)
    deviations = np.where(is_defined, defined - mean, 0.0)
    squares = np.where(n_defined > 1, np.square(deviations).sum(axis=0), np.nan)
    return np.asarray(np.sqrt(squares / np.maximum(n_defined - 1, 1)))


def _det_points(counts: Counts) -> Iterator[tuple[float, float]]:
    """Return points of a DET curve, dense in both tails, without those at 0 and 1."""
    curve = counts.curve
    false_accepts, false_rejects = curve.fp, curve.fn[::-1]
    accept_steps = np.geomspace(1, max(false_accepts[-1], 1), _N_TAIL_POINTS)
    reject_steps = np.geomspace(1, max(false_rejects[-1], 1), _N_TAIL_POINTS)
    left = np.searchsorted(false_accepts, accept_steps)
    right = false_rejects.size - 1 - np.searchsorted(false_rejects, reject_steps)
    positions = np.unique(np.concatenate((left, right)).clip(0, false_accepts.size - 1))
    fpr, fnr = curve.fpr[positions], curve.fnr[positions]
    is_inside = (fpr > 0) & (fpr < 1) & (fnr > 0) & (fnr < 1)
    return zip(fpr[is_inside].tolist(), fnr[is_inside].tolist(), strict=True)


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs that lists may be drawn from, each in one order only."""

    grouping: str  # what groups are made of
    groups: tuple[str, ...]
    group_of_speaker: Codes  # index into `groups`, -1 for speakers without pairs
    speaker: Codes  # whose each pair is
    partner: Codes  # who the other is: the speaker again in same-speaker pairs
    group: Codes  # of both
    target: NDArray[np.bool_]
    score: NDArray[np.float64]
    warning: str = ""  # why folders may be no recordings; empty where they are

    def n_speakers_by_group(self) -> NDArray[np.int64]:
        """Count the speakers of each group."""
        return _speakers_by_group(self.group_of_speaker, self.groups)

    def with_enough_pairs(self, n_pairs: int) -> CandidatePairs:
        """Return the pairs of speakers with so many of either class.

        Raises
        ------
        DataError
            If no speaker has so many.
        """
        n_speakers = self.group_of_speaker.size
        n_of_rarer_class = np.minimum(
            np.bincount(self.speaker[self.target], minlength=n_speakers),
            np.bincount(self.speaker[~self.target], minlength=n_speakers),
        )
        has_enough = n_of_rarer_class >= n_pairs
        if not has_enough.any():
            n_of_speakers_with_pairs = n_of_rarer_class[self.group_of_speaker >= 0]
            msg = (
                f"no speaker has {n_pairs:,} same-speaker pairs of two recordings and {n_pairs:,} "
                "different-speaker pairs within the group"
            )
            hint = (
                f"ask for at most {int(n_of_rarer_class.max(initial=0)):,} pairs, the maximum of "
                f"all speakers (median: {int(np.median(n_of_speakers_with_pairs)):,})"
            )
            raise DataError(msg, hint)
        pairs = self.select(np.flatnonzero(has_enough[self.speaker]))
        return replace(
            pairs, group_of_speaker=np.where(has_enough, self.group_of_speaker, np.int32(-1))
        )

    def select(self, rows: NDArray[np.intp]) -> CandidatePairs:
        """Return the pairs of these rows."""
        names = ("speaker", "partner", "group", "target", "score")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def draw_rows(self, n_pairs: int, seed: tuple[int, ...]) -> NDArray[np.intp]:
        """Draw rows of so many pairs of either class for every speaker, without replacement."""
        random_keys = np.random.default_rng(seed).random(self.score.size)
        stratum = 2 * self.speaker.astype(np.int64) + self.target  # speaker and class
        order = np.lexsort((random_keys, stratum))
        sorted_stratum = stratum[order]
        rank = np.arange(order.size) - np.searchsorted(sorted_stratum, sorted_stratum)
        return np.sort(order[rank < n_pairs])


def _speakers_by_group(group_of_speaker: Codes, groups: Sequence[str]) -> NDArray[np.int64]:
    return np.bincount(group_of_speaker[group_of_speaker >= 0], minlength=len(groups))


class ListSeries(NamedTuple):
    """Lists to be measured."""

    reference: CandidatePairs  # what the common threshold is found on
    n_speakers_by_group: NDArray[np.int64]  # how many of each group there were to draw from
    lists: Iterator[tuple[int, int, CandidatePairs]]
    """Pairs per speaker, number of the variant from 1 on, and the list."""


def draw_lists(
    pairs: CandidatePairs, pair_numbers: Sequence[int], n_variants: int, seed: int
) -> ListSeries:
    """Draw lists from scored pairs, all of the speakers who have enough for the largest.

    `pair_numbers`, pairs per speaker and class, rise.
    """
    eligible = pairs.with_enough_pairs(pair_numbers[-1])
    lists = (
        (
            n_pairs,
            variant + 1,
            eligible.select(eligible.draw_rows(n_pairs, (seed, n_pairs, variant))),
        )
        for n_pairs in pair_numbers
        for variant in range(n_variants)
    )
    return ListSeries(eligible, pairs.n_speakers_by_group(), lists)


def build_scored_lists(
    utterances: UtteranceSource,
    scorer: Scorer,
    pair_numbers: Sequence[int],
    n_variants: int,
    seed: int,
    *,
    speakers: SpeakerSource,
    by: str,
    id: str | None,  # noqa: A002 - the option's name
    groups: Sequence[str] | str | None,
) -> ListSeries:
    """Build inclusive lists from a table of utterances, and score each as a whole."""
    from parivox.trials.inclusive import design  # noqa: PLC0415 - where lists are built
    from parivox.trials.pairs import RandomStreams  # noqa: PLC0415
    from parivox.trials.pool import Pool, group_positions  # noqa: PLC0415

    pool = Pool.read(utterances, speakers, by=by, id=id)
    ids = pool.utterance_ids.to_numpy().astype(object)
    speaker_of_utterance = pool.speaker_of_utterance.astype(np.int32)

    def scored_list(n_pairs: int, variant: int) -> CandidatePairs:
        inclusive = design(pool, InclusiveOptions(per_speaker=n_pairs, groups=groups))
        chunks = list(inclusive.draw(RandomStreams(seed).child(variant)))
        enrol, test, target = (np.concatenate(column) for column in zip(*chunks, strict=True))
        score = np.asarray(scorer(ids[enrol], ids[test]), dtype=np.float64)
        if score.shape != enrol.shape or np.isnan(score).any():
            fault = (
                (f"NaN among {score.size:,} scores") if score.shape == enrol.shape else score.shape
            )
            msg = f"the scorer returned {fault} for {enrol.size:,} trials"
            hint = "return one score per trial"
            raise DataError(msg, hint)
        speaker = speaker_of_utterance[enrol]
        takes_part = np.bincount(speaker, minlength=pool.group_of_speaker.size) > 0
        return CandidatePairs(
            grouping=pool.grouping,
            groups=pool.groups,
            group_of_speaker=np.where(takes_part, pool.group_of_speaker, np.int32(-1)),
            speaker=speaker,
            partner=speaker_of_utterance[test],
            group=pool.group_of_speaker[speaker],
            target=target,
            score=score,
            warning=pool.warning,
        )

    # the first of the largest lists is also the reference, and is scored once
    reference = scored_list(pair_numbers[-1], 0)
    reference_key = (pair_numbers[-1], 0)
    lists = (
        (
            n_pairs,
            variant + 1,
            reference if (n_pairs, variant) == reference_key else scored_list(n_pairs, variant),
        )
        for n_pairs in pair_numbers
        for variant in range(n_variants)
    )
    is_in_groups = np.isin(pool.group_of_speaker, group_positions(pool.groups, by, groups))
    n_speakers = _speakers_by_group(pool.group_of_speaker[is_in_groups], pool.groups)
    return ListSeries(reference, n_speakers, lists)


def read_scored_pairs(
    source: TableSource,
    *,
    speakers: SpeakerSource,
    utterances: UtteranceSource,
    by: str,
    columns: Mapping[str, str] | None,
    orientation: str | None,
    id: str | None,  # noqa: A002 - the option's name
    groups: Sequence[str] | str | None = None,
) -> CandidatePairs:
    """Read pairs of two recordings of one speaker, and of two speakers of one group.

    A different-speaker pair is the enrolment speaker's. Where some speaker never enrols in such
    pairs, as in a triangle of all pairs, every second pair is the other speaker's.
    """
    table = None if speakers is None else read_speakers(speakers, id=id)
    trials, table = read_with_speakers(
        source,
        table,
        utterances,
        parsed_attributes([by]),
        columns=columns,
        orientation=orientation,
    )
    (grouping,) = make_groupings(table, [by], sets=[trials])
    if grouping.speaker_codes is None:
        msg = f"--by {by}: lists are drawn by speaker, so name an attribute of speakers"
        raise ConfigError(msg)
    from parivox.trials.pool import group_positions  # noqa: PLC0415

    positions = group_positions(grouping.groups, by, groups)
    is_in_groups = np.isin(grouping.speaker_codes, positions)
    group_of_speaker = np.where(is_in_groups, grouping.speaker_codes, -1)
    return _scored_pairs(trials, grouping, group_of_speaker.astype(np.int32))


def _scored_pairs(trials: TrialSet, grouping: Grouping, group_of_speaker: Codes) -> CandidatePairs:
    """Return the pairs that lists may be drawn from, each in one order only."""
    partitions = [partition.without_conflicts() for partition in trials.partitions()]
    columns = [
        np.concatenate([getattr(partition, name) for partition in partitions])
        for name in ("enrol", "test", "target", "score")
    ]
    enrol, test = columns[:2]
    n_utterances = np.int64(trials.utterance_speaker.size)
    # a pair and its reverse are one
    keys = np.minimum(enrol, test) * n_utterances + np.maximum(enrol, test)
    _, first_rows = np.unique(keys, return_index=True)
    enrol, test, target, score = (column[first_rows] for column in columns)
    speaker, partner = trials.utterance_speaker[enrol], trials.utterance_speaker[test]
    names, group = trials.recording_names, group_of_speaker[speaker]
    recording = utterance_recordings(trials, names, is_asked=True)
    # pairs of unknown recordings are taken to be of two
    crosses_recordings = (recording[enrol] != recording[test]) | (recording[enrol] < 0)
    is_eligible = (group >= 0) & np.where(
        target, crosses_recordings, group == group_of_speaker[partner]
    )
    for label, words in (
        (True, "same-speaker pair of two recordings"),
        (False, f"different-speaker pair within a group of {grouping.name}"),
    ):
        if not (is_eligible & (target == label)).any():
            msg = f"{trials.provenance[0]['name']}: contains no {words}"
            hint = "give scores of pairs of this kind"
            raise DataError(msg, hint)
    enrol, test, target, score, speaker, partner, group = (
        column[is_eligible] for column in (enrol, test, target, score, speaker, partner, group)
    )
    n_speakers = group_of_speaker.size
    n_enrolled = np.bincount(speaker[~target], minlength=n_speakers)
    n_tested = np.bincount(partner[~target], minlength=n_speakers)
    # in a triangle of all pairs, the last speakers never enrol
    if ((n_enrolled == 0) & (n_tested > 0)).any():
        is_swapped = ~target & ((enrol + test) % 2 == 1)
        speaker, partner = (
            np.where(is_swapped, partner, speaker),
            np.where(is_swapped, speaker, partner),
        )
    has_pairs = np.isin(np.arange(n_speakers), speaker)
    return CandidatePairs(
        grouping=grouping.name,
        groups=grouping.groups,
        group_of_speaker=np.where(has_pairs, group_of_speaker, np.int32(-1)),
        speaker=speaker,
        partner=partner,
        group=group,
        target=target,
        score=score,
        warning=names.warning,
    )
