"""How far results move when the pairs of a list are drawn anew, beside how far speakers move them.

From a pool of scored pairs several lists are drawn with n pairs a speaker, for several n (as Figs.
2 and 3 of docs/references.md#paper-002). How much a group's figures differ between them tells how
much of a result is the draw of pairs. It falls with n; what other speakers would change does not,
and stands beside it (docs/methods/trial-lists.md#variation-over-draws).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from parivox.core.costs import min_cdet, parse_cost
from parivox.core.counts import Counts
from parivox.core.eer import eer
from parivox.core.rates import threshold_at_eer
from parivox.core.resampled_curves import ResampledCurves, curve_edges
from parivox.core.resampling import MIN_STRATUM_SPEAKERS, speaker_weights
from parivox.data.recording_names import recording_names_of
from parivox.data.requested_groupings import attributes_asked, make_groupings
from parivox.data.source_bytes import in_encoding_given
from parivox.data.speakers import read_speakers
from parivox.data.table import Table
from parivox.errors import ConfigError, DataError
from parivox.options.trials import PER_SPEAKER_OPTION, InclusiveOptions, VariantsOptions
from parivox.runtime.progress import stage
from parivox.shown import VARIATION_CHART_MODULE, NotebookView
from parivox.trials.lists import read_with_speakers, recordings_in

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

_POINTS = 30  # of either tail of a DET curve
_BOOTSTRAP = 1 << 32  # seeds of draws of speakers, away from those of pairs


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
        Why folders that were taken for recordings may be none; empty where nothing says so.
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
        values = {
            "by": self.by,
            "cost": self.cost.name,
            "threshold": self.threshold,
            **{name: getattr(self, name) for name in ("variants", "seed", "replicates")},
            "speakers": dict(self.kept),
            "left_out": dict(self.left_out),
            **{name: json.loads(getattr(self, name).to_json()) for name in ("table", "values")},
        }
        return json.dumps(values, indent=1, ensure_ascii=False, allow_nan=False) + "\n"

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
            msg = f"metric is {metric!r}; it is one of {', '.join(METRICS)}"
            raise ConfigError(msg)
        return import_module(VARIATION_CHART_MODULE).spread(self, metric)

    def dets(self) -> Any:
        """DET curves of the variants, a panel for each group, as an ``altair.Chart``."""
        return import_module(VARIATION_CHART_MODULE).dets(self)


@in_encoding_given
def variants(
    source: Any,
    *,
    by: str,
    speakers: Any = None,
    utterances: Any = None,
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
    >>> rng = np.random.default_rng(1)
    >>> ids = [f"{s}{i}/{v}/0" for s in "fm" for i in range(4) for v in range(8)]
    >>> one, other = np.triu_indices(len(ids), 1)
    >>> pairs = {"enrol": np.array(ids)[one], "test": np.array(ids)[other]}
    >>> pairs["label"] = (one // 8 == other // 8).astype(int)
    >>> pairs["score"] = rng.normal(2.0 * pairs["label"])
    >>> people = {"id": [f"{s}{i}" for s in "fm" for i in range(4)], "sex": [*"ffffmmmm"]}
    >>> found = variants(pairs, speakers=people, by="sex", per_speaker=[10, 20], replicates=20)
    >>> found.table.where(metric="eer", per_speaker=20).columns[-3:]
    ('seed_max_min', 'seed_sd', 'speaker_sd')
    """
    is_many = isinstance(per_speaker, Iterable) and not isinstance(per_speaker, (str, bytes))
    numbers: Any = per_speaker if is_many else [per_speaker]
    each = sorted({PER_SPEAKER_OPTION.check(n) for n in numbers})
    if not each:
        msg = "per_speaker names no number of pairs; give one or several, as in 25,50,75"
        raise ConfigError(msg)
    asked = VariantsOptions.of(
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
    variants, seed, replicates = asked.variants, asked.seed, asked.replicates
    model = parse_cost(cost)
    of_scores = {"utterances": utterances, "columns": columns, "orientation": orientation}
    who: dict[str, Any] = {"speakers": speakers, "by": by, "id": id, "groups": groups}
    if scorer is None:
        with stage("reading the scores"):
            pairs = read_scored_pairs(source, **who, **of_scores)
        drawn = draw_lists(pairs, each, variants, seed)
    else:
        for name, value in of_scores.items():
            if value is not None:
                msg = f"{name} is of files of scores; leave it out where there is a scorer"
                raise ConfigError(msg)
        drawn = build_scored_lists(source, scorer, each, variants, seed, **who)
    every = drawn.reference
    threshold = float(threshold_at_eer(Counts.from_scores(every.score, every.target).curve))
    measuring = _Measuring(model, threshold, replicates, seed + _BOOTSTRAP)
    results: dict[tuple[str, int], list[_OfList]] = {}
    values: list[tuple[Any, ...]] = []
    curves: list[tuple[Any, ...]] = []
    with stage("drawing and measuring lists", len(each) * variants, "lists") as at:
        for n, variant, pairs in drawn.lists:
            for group, counts, of_list in measuring.groups(pairs):
                results.setdefault((group, n), []).append(of_list)
                metrics = zip(METRICS, of_list.metrics.tolist(), strict=True)
                values += [(group, n, variant, *row) for row in metrics]
                curves += [(group, n, variant, *point) for point in _det(counts)]
            at.add()
    kept = every.speakers_of_groups()
    return Variation(
        _table(_spreads(results), COLUMNS),
        _table(values, VALUES),
        _table(curves, CURVES),
        every.by,
        model,
        threshold,
        variants,
        seed,
        replicates,
        {g: int(n) for g, n in zip(every.groups, kept, strict=True) if n},
        {g: int(n) for g, n in zip(every.groups, drawn.speakers - kept, strict=True) if n},
        every.warning,
    )


class _OfList(NamedTuple):
    """What one list tells of a group: its metrics, and how they vary with the speakers."""

    speakers: int
    metrics: Floats
    sd: Floats  # NaN for too few speakers


class _Measuring(NamedTuple):
    """How lists are measured."""

    cost: CostModel
    threshold: float
    replicates: int
    seed: int

    def groups(self, pairs: ScoredPairs) -> Iterator[tuple[str, Counts, _OfList]]:
        """Each group of a list: its name, its counts, and what they tell."""
        speakers, drawn = pairs.speakers_of_groups(), self._replicates(pairs)
        for g in np.flatnonzero(speakers):
            here = pairs.group == g
            counts = Counts.from_scores(pairs.score[here], pairs.target[here])
            metrics = self._metrics(counts)
            sd = (
                _sd(drawn[:, g])
                if speakers[g] >= MIN_STRATUM_SPEAKERS
                else np.full(metrics.shape, np.nan)
            )
            yield pairs.groups[g], counts, _OfList(int(speakers[g]), metrics, sd)

    def _metrics(self, counts: Counts) -> Floats:
        """Of counts of shape (...), an array of shape (..., metric)."""
        at = counts.at([self.threshold])
        cost = min_cdet(counts, cost=self.cost).value
        return np.stack([eer(counts), cost, at.fpr[..., 0], at.fnr[..., 0]], axis=-1)

    def _replicates(self, pairs: ScoredPairs) -> Floats:
        """Metrics when speakers are drawn anew: [replicate, group, metric]."""
        curves = ResampledCurves(
            pairs.score,
            pairs.target,
            pairs.speaker,
            pairs.partner,
            [([pairs.group], len(pairs.groups))],
            curve_edges(Counts.from_scores(pairs.score, pairs.target), thresholds=[self.threshold]),
        )
        weights = speaker_weights(pairs.group_of_speaker, self.replicates, self.seed)
        every = np.full((self.replicates, len(pairs.groups), len(METRICS)), np.nan)
        for part, (cells,) in curves.replicates(weights):
            for g in np.flatnonzero(pairs.speakers_of_groups()):
                every[part, g] = self._metrics(cells[g])
        return every


def _spreads(results: Mapping[tuple[str, int], Sequence[_OfList]]) -> Iterator[tuple[Any, ...]]:
    """The spread over lists beside that over speakers, by group and number of pairs."""
    for (group, n), lists in sorted(results.items()):
        metrics = np.stack([one.metrics for one in lists])
        mean, least = metrics.mean(axis=0), metrics.min(axis=0)
        columns = (
            mean,
            metrics.max(axis=0) / _or_nan(least) - 1,
            _sd(metrics) / _or_nan(mean),
            np.sqrt(np.mean([np.square(one.sd) for one in lists], axis=0)) / _or_nan(mean),
        )
        for metric, *row in zip(METRICS, *(one.tolist() for one in columns), strict=True):
            yield group, lists[0].speakers, n, metric, *row


def _table(rows: Iterable[tuple[Any, ...]], columns: Mapping[str, str]) -> Table:
    every = list(rows)
    return Table.of({name: [row[i] for row in every] for i, name in enumerate(columns)}, columns)


def _or_nan(values: Floats) -> Floats:
    """What others are divided by: NaN in the place of 0."""
    return np.where(values > 0, values, np.nan)


def _sd(values: Floats) -> Floats:
    """Standard deviation along the first axis, of what is defined; NaN of fewer than two."""
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    defined = np.where(known, values, 0.0)
    off = np.where(known, defined - defined.sum(axis=0) / np.maximum(n, 1), 0.0)
    squares = np.where(n > 1, np.square(off).sum(axis=0), np.nan)
    return np.asarray(np.sqrt(squares / np.maximum(n - 1, 1)))


def _det(counts: Counts) -> Iterator[tuple[float, float]]:
    """Points of a DET curve, dense in both tails, without those at 0 and 1."""
    curve = counts.curve
    fp, fn = curve.fp, curve.fn[::-1]
    left = np.searchsorted(fp, np.geomspace(1, max(fp[-1], 1), _POINTS))
    right = fn.size - 1 - np.searchsorted(fn, np.geomspace(1, max(fn[-1], 1), _POINTS))
    at = np.unique(np.concatenate((left, right)).clip(0, fp.size - 1))
    fpr, fnr = curve.fpr[at], curve.fnr[at]
    inside = (fpr > 0) & (fpr < 1) & (fnr > 0) & (fnr < 1)
    return zip(fpr[inside].tolist(), fnr[inside].tolist(), strict=True)


@dataclass(frozen=True, eq=False)
class ScoredPairs:
    """Pairs that lists may be drawn from, each in one order only."""

    by: str  # what groups are made of
    groups: tuple[str, ...]
    group_of_speaker: Codes  # index into `groups`, -1 for speakers without pairs
    speaker: Codes  # whose each pair is
    partner: Codes  # who the other is: the speaker again in same-speaker pairs
    group: Codes  # of both
    target: NDArray[np.bool_]
    score: NDArray[np.float64]
    warning: str = ""  # why folders may be no recordings; empty where they are

    def speakers_of_groups(self) -> NDArray[np.int64]:
        """How many speakers each group has."""
        return _count(self.group_of_speaker, self.groups)

    def keep(self, n: int) -> ScoredPairs:
        """The pairs of speakers with `n` of either class."""
        size = self.group_of_speaker.size
        least = np.minimum(
            np.bincount(self.speaker[self.target], minlength=size),
            np.bincount(self.speaker[~self.target], minlength=size),
        )
        has_all = least >= n
        if not has_all.any():
            msg = (
                f"no speaker has {n:,} same-speaker pairs of two recordings and {n:,} "
                "different-speaker pairs within the group; ask for at most "
                f"{int(least.max(initial=0)):,}, which one speaker has (half of them have "
                f"{int(np.median(least[self.group_of_speaker >= 0])):,})"
            )
            raise DataError(msg)
        kept = self.take(np.flatnonzero(has_all[self.speaker]))
        return replace(
            kept, group_of_speaker=np.where(has_all, self.group_of_speaker, np.int32(-1))
        )

    def take(self, rows: NDArray[np.intp]) -> ScoredPairs:
        """Some of the pairs."""
        names = ("speaker", "partner", "group", "target", "score")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def draw(self, n: int, seed: tuple[int, ...]) -> NDArray[np.intp]:
        """Rows of `n` pairs of either class for every speaker, drawn without replacement."""
        key = np.random.default_rng(seed).random(self.score.size)
        owner = 2 * self.speaker.astype(np.int64) + self.target
        order = np.lexsort((key, owner))
        sorted_owner = owner[order]
        rank = np.arange(order.size) - np.searchsorted(sorted_owner, sorted_owner)
        return np.sort(order[rank < n])


def _count(group_of_speaker: Codes, groups: Sequence[str]) -> NDArray[np.int64]:
    return np.bincount(group_of_speaker[group_of_speaker >= 0], minlength=len(groups))


class ListSeries(NamedTuple):
    """Lists to be measured."""

    reference: ScoredPairs  # what the common threshold is found on
    speakers: NDArray[np.int64]  # how many of each group there were to draw from
    lists: Iterator[tuple[int, int, ScoredPairs]]
    """Pairs per speaker, number of the variant from 1 on, and the list."""


def draw_lists(pairs: ScoredPairs, each: Sequence[int], variants: int, seed: int) -> ListSeries:
    """Lists drawn from scored pairs, all of the speakers who have enough for the largest."""
    kept = pairs.keep(each[-1])
    lists = (
        (n, variant + 1, kept.take(kept.draw(n, (seed, n, variant))))
        for n in each
        for variant in range(variants)
    )
    return ListSeries(kept, pairs.speakers_of_groups(), lists)


def build_scored_lists(
    utterances: Any,
    scorer: Scorer,
    each: Sequence[int],
    variants: int,
    seed: int,
    *,
    speakers: Any,
    by: str,
    id: str | None,  # noqa: A002 - the option's name
    groups: Sequence[str] | str | None,
) -> ListSeries:
    """Inclusive lists built from a table of utterances, each scored as a whole."""
    from parivox.trials.inclusive import design  # noqa: PLC0415 - where lists are built
    from parivox.trials.pairs import Draws  # noqa: PLC0415
    from parivox.trials.pool import Pool, group_positions  # noqa: PLC0415

    pool = Pool.read(utterances, speakers, by=by, id=id)
    ids, owner = pool.ids.to_numpy().astype(object), pool.owner.astype(np.int32)

    def scored(n: int, variant: int) -> ScoredPairs:
        inclusive = design(pool, InclusiveOptions(per_speaker=n, groups=groups))
        blocks = list(inclusive.draw(Draws(seed).child(variant)))
        enrol, test, target = (np.concatenate(cells) for cells in zip(*blocks, strict=True))
        score = np.asarray(scorer(ids[enrol], ids[test]), dtype=np.float64)
        if score.shape != enrol.shape or np.isnan(score).any():
            what = f"NaN among {score.size:,}" if score.shape == enrol.shape else score.shape
            msg = f"the scorer gave {what} for {enrol.size:,} trials; give a score for each"
            raise DataError(msg)
        speaker, partner = owner[enrol], owner[test]
        is_in = np.bincount(speaker, minlength=pool.group.size) > 0
        of_speaker = np.where(is_in, pool.group, np.int32(-1))
        group = pool.group[speaker]
        whom = of_speaker, speaker, partner, group
        return ScoredPairs(pool.by, pool.groups, *whom, target, score, pool.warning)

    first = scored(each[-1], 0)
    lists = (
        (n, variant + 1, first if (n, variant) == (each[-1], 0) else scored(n, variant))
        for n in each
        for variant in range(variants)
    )
    asked = np.isin(pool.group, group_positions(pool.groups, by, groups))
    return ListSeries(first, _count(pool.group[asked], pool.groups), lists)


def read_scored_pairs(
    source: Any,
    *,
    speakers: Any,
    utterances: Any,
    by: str,
    columns: Mapping[str, str] | None,
    orientation: str | None,
    id: str | None,  # noqa: A002 - the option's name
    groups: Sequence[str] | str | None = None,
) -> ScoredPairs:
    """Pairs of two recordings of one speaker, and of two speakers of one group.

    A different-speaker pair is the enrolment speaker's. Where some speaker never enrols in such
    pairs, as in a triangle of all pairs, every second pair is the other speaker's.
    """
    people = None if speakers is None else read_speakers(speakers, id=id)
    how: dict[str, Any] = {"columns": columns, "orientation": orientation}
    trials, people = read_with_speakers(source, people, utterances, attributes_asked([by]), **how)
    (grouping,) = make_groupings(people, [by], sets=[trials])
    if grouping.of_speaker is None:
        msg = f"--by {by}: lists are drawn by speaker, so name an attribute of speakers"
        raise ConfigError(msg)
    from parivox.trials.pool import group_positions  # noqa: PLC0415

    chosen = group_positions(grouping.groups, by, groups)
    of_speaker = np.where(np.isin(grouping.of_speaker, chosen), grouping.of_speaker, -1)
    return _pairs(trials, grouping, of_speaker.astype(np.int32))


def _pairs(trials: TrialSet, grouping: Grouping, of_speaker: Codes) -> ScoredPairs:
    parts = [part.without_conflicts() for part in trials.partitions()]
    columns = [
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("enrol", "test", "target", "score")
    ]
    enrol, test = columns[:2]
    size = np.int64(trials.utterance_speaker.size)
    _, once = np.unique(np.minimum(enrol, test) * size + np.maximum(enrol, test), return_index=True)
    enrol, test, target, score = (column[once] for column in columns)
    speaker, partner = trials.utterance_speaker[enrol], trials.utterance_speaker[test]
    names, group = recording_names_of(trials), of_speaker[speaker]
    recording = recordings_in(trials, names, is_asked=True)
    is_new = (recording[enrol] != recording[test]) | (recording[enrol] < 0)
    fits = (group >= 0) & np.where(target, is_new, group == of_speaker[partner])
    for label, words in (
        (True, "same-speaker pair of two recordings"),
        (False, f"different-speaker pair within a group of {grouping.name}"),
    ):
        if not (fits & (target == label)).any():
            msg = f"{trials.provenance[0]['name']}: holds no {words}; give scores of such pairs"
            raise DataError(msg)
    enrol, test, target, score, speaker, partner, group = (
        column[fits] for column in (enrol, test, target, score, speaker, partner, group)
    )
    n = of_speaker.size
    enrols, tests = (np.bincount(side[~target], minlength=n) for side in (speaker, partner))
    if ((enrols == 0) & (tests > 0)).any():
        turned = ~target & ((enrol + test) % 2 == 1)
        speaker, partner = np.where(turned, partner, speaker), np.where(turned, speaker, partner)
    of_speaker = np.where(np.isin(np.arange(n), speaker), of_speaker, np.int32(-1))
    return ScoredPairs(
        *(grouping.name, grouping.groups, of_speaker, speaker, partner, group, target, score),
        names.warning,
    )
