"""How far results move when the pairs of a list are drawn anew, beside how far speakers move them.

From a pool of scored pairs several lists are drawn with n pairs a speaker, for several n (as Figs.
2 and 3 of docs/references.md#paper-002). How much a group's figures differ between them tells how
much of a result is the draw of pairs. It falls with n; what other speakers would change does not,
and stands beside it (docs/methods/trial-lists.md#variation-over-draws).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from parivox.core.costs import min_cdet, parse_cost
from parivox.core.counts import Counts
from parivox.core.curves_resampled import ResampledCurves, curve_edges
from parivox.core.eer import eer
from parivox.core.rates import threshold_at_eer
from parivox.core.resampling import LEAST, speaker_weights
from parivox.errors import ConfigError
from parivox.options.trials import VariantsOptions, whole_number
from parivox.read.content import in_encoding_given
from parivox.read.table import Table
from parivox.shown import VARIATION_SHOWN_BY, Shown
from parivox.trials.scored_pairs import lists_drawn, lists_scored, read_scored_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.core.costs import CostModel
    from parivox.trials.scored_pairs import ScoredPairs, Scorer

    Floats = NDArray[np.float64]

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
class Variation(Shown):
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
        return import_module(VARIATION_SHOWN_BY).spread(self, metric)

    def dets(self) -> Any:
        """DET curves of the variants, a panel for each group, as an ``altair.Chart``."""
        return import_module(VARIATION_SHOWN_BY).dets(self)


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
    scorer: Scorer | None = None,
    cost: str = "voxsrc",
    replicates: int = 200,
    columns: Mapping[str, str] | None = None,
    orientation: str | None = None,
    id: str | None = None,  # noqa: A002 - the option's name
    encoding: str | None = None,
) -> Variation:
    """Draw several lists from scored pairs, and tell how much their results differ.

    Each list holds, for every speaker, `per_speaker` same-speaker pairs of two recordings and as
    many different-speaker pairs within the group. The speakers are the same in all lists: those
    with pairs enough for the largest number. With a scorer, lists are built as
    :func:`~parivox.trials.build_inclusive` does, and a smaller number may keep more speakers.

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
    scorer : callable, optional
        Takes the enrolment ids and the test ids of a list, two object arrays of shape (trial,),
        and gives its scores.
    cost : str
        Cost model of ``min_cdet``.
    replicates : int
        Draws of speakers, with replacement within each group, for each list.
    columns, orientation, id, encoding
        As :func:`parivox.audit` takes them.

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
    each = sorted({whole_number(n, "per_speaker", 1) for n in numbers})
    if not each:
        msg = "per_speaker names no number of pairs; give one or several, as in 25,50,75"
        raise ConfigError(msg)
    variants = whole_number(variants, "variants", 2)
    seed = whole_number(seed, "seed", 0)
    replicates = whole_number(replicates, "replicates", 2)
    VariantsOptions.of(
        by=by, cost=cost, id=id, columns=columns, orientation=orientation, encoding=encoding
    )
    model = parse_cost(cost)
    of_scores = {"utterances": utterances, "columns": columns, "orientation": orientation}
    who: dict[str, Any] = {"speakers": speakers, "by": by, "id": id}
    if scorer is None:
        pairs = read_scored_pairs(source, **who, **of_scores)
        drawn = lists_drawn(pairs, each, variants, seed)
    else:
        for name, value in of_scores.items():
            if value is not None:
                msg = f"{name} is of files of scores; leave it out where there is a scorer"
                raise ConfigError(msg)
        drawn = lists_scored(source, scorer, each, variants, seed, **who)
    every = drawn.reference
    threshold = float(threshold_at_eer(Counts.from_scores(every.score, every.target).curve))
    measuring = _Measuring(model, threshold, replicates, seed + _BOOTSTRAP)
    results: dict[tuple[str, int], list[_OfList]] = {}
    values: list[tuple[Any, ...]] = []
    curves: list[tuple[Any, ...]] = []
    for n, variant, pairs in drawn.lists:
        for group, counts, of_list in measuring.groups(pairs):
            results.setdefault((group, n), []).append(of_list)
            metrics = zip(METRICS, of_list.metrics.tolist(), strict=True)
            values += [(group, n, variant, *row) for row in metrics]
            curves += [(group, n, variant, *point) for point in _det(counts)]
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
            sd = _sd(drawn[:, g]) if speakers[g] >= LEAST else np.full(metrics.shape, np.nan)
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
            curve_edges(pairs.score, pairs.target, thresholds=[self.threshold]),
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
