"""Score counts of each replicate, exact and in bins."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox import Counts, auc, cdet, dprime, eer, fnr_at_fpr, min_cdet, parse_cost
from parivox.core.rates import threshold_at_fpr
from parivox.core.resampled_curves import ResampledCurves, curve_edges, largest_share
from parivox.core.resampling import speaker_weights
from parivox.errors import ConfigError

few = settings(max_examples=50, deadline=None)
COST = parse_cost("0.1,1,1")


class Trials:
    """Random trials of 24 speakers in three groups, some of them between groups."""

    def __init__(self, seed, size=4000, ties=False):
        rng = np.random.default_rng(seed)
        self.group = np.repeat([0, 1, 2], 8)
        self.target = rng.random(size) < 0.4
        self.one = rng.integers(0, 24, size)
        self.other = np.where(self.target, self.one, rng.integers(0, 24, size))
        nontarget = ~self.target & (self.one == self.other)
        self.other[nontarget] = (self.one[nontarget] + 1) % 24
        self.score = rng.normal(size=size) + 2 * self.target + rng.normal(size=24)[self.one] / 3
        if ties:
            self.score = np.round(self.score)
        first_group, second_group = self.group[self.one], self.group[self.other]
        self.layouts = [
            ([np.where(first_group == second_group, first_group, -1)], 3),
            ([first_group, np.where(first_group == second_group, -1, second_group)], 3),
            ([np.zeros(size, dtype=np.int32)], 1),
        ]

    def curves(self, edges=None):
        return ResampledCurves(self.score, self.target, self.one, self.other, self.layouts, edges)

    def edges(self, bins=256, **options):
        return curve_edges(Counts.from_scores(self.score, self.target), bins=bins, **options)

    def written_out(self, layout, cell, times):
        """Counts of one cell with every trial as often as it weighs."""
        weight = np.where(
            self.one == self.other, times[self.one], times[self.one] * times[self.other]
        )
        inside = sum((code == cell).astype(int) for code in self.layouts[layout][0])
        weight = weight * inside
        return Counts.from_scores(np.repeat(self.score, weight), np.repeat(self.target, weight))


@pytest.fixture(scope="module")
def trials():
    return Trials(1)


@pytest.fixture(scope="module")
def weights(trials):
    return speaker_weights(trials.group, 40, seed=2)


def joined(curves, weights, **options):
    """Counts of all replicates, by layout and cell."""
    chunks = [cells for _, cells in curves.replicates(weights, **options)]
    return [
        [
            Counts(
                of_cell[0].values,
                np.concatenate([chunk.target for chunk in of_cell]),
                np.concatenate([chunk.nontarget for chunk in of_cell]),
            )
            for of_cell in zip(*of_layout, strict=True)
        ]
        for of_layout in zip(*chunks, strict=True)
    ]


def same_counts(first_counts, second_counts):
    return all(
        np.array_equal(getattr(first_counts, name), getattr(second_counts, name))
        for name in ("values", "target", "nontarget")
    )


def in_use(counts, row):
    """One replicate by itself, on the scores that it has."""
    used = (counts.target[row] > 0) | (counts.nontarget[row] > 0)
    return Counts(counts.values[used], counts.target[row][used], counts.nontarget[row][used])


def test_exact_counts_with_weights_of_one_are_the_counts_themselves(trials):
    for ties in (False, True):
        drawn_trials = Trials(3, ties=ties)
        originals = drawn_trials.curves().original()
        for layout, (_, n) in enumerate(drawn_trials.layouts):
            assert len(originals[layout]) == n
            for cell in range(n):
                expected = drawn_trials.written_out(layout, cell, np.ones(24, dtype=int))
                assert same_counts(originals[layout][cell], expected)


def test_each_replicate_is_that_of_trials_written_out(trials, weights):
    replicates = joined(trials.curves(), weights)
    for row in (0, 17, 39):
        for layout, (_, n) in enumerate(trials.layouts):
            for cell in range(n):
                expected = trials.written_out(layout, cell, weights[row].astype(int))
                assert same_counts(in_use(replicates[layout][cell], row), expected)


def test_counts_do_not_depend_on_chunks_or_on_the_order_of_trials(trials, weights):
    unsplit = joined(trials.curves(trials.edges()), weights)
    pieces = joined(trials.curves(trials.edges()), weights, chunk=7)
    order = np.random.default_rng(0).permutation(trials.score.size)
    mixed = Trials(1)
    mixed.layouts = [([code[order] for code in codes], n) for codes, n in mixed.layouts]
    for name in ("score", "target", "one", "other"):
        setattr(mixed, name, getattr(mixed, name)[order])
    shuffled = joined(mixed.curves(mixed.edges()), weights)
    for cells, cells_of_pieces, cells_of_shuffled in zip(unsplit, pieces, shuffled, strict=True):
        assert all(map(same_counts, cells, cells_of_pieces))
        for first_counts, second_counts in zip(cells, cells_of_shuffled, strict=True):
            assert np.array_equal(first_counts.target, second_counts.target)
            assert np.array_equal(first_counts.nontarget, second_counts.nontarget)
            assert first_counts.values == pytest.approx(second_counts.values, abs=1e-12)


def test_counts_at_every_edge_and_fixed_threshold_are_exact(trials, weights):
    fixed = [0.123, 1.5, np.nan, 99.0]
    edges = trials.edges(bins=64, thresholds=fixed)
    assert np.isin([0.123, 1.5, 99.0], edges).all()
    binned, exact = joined(trials.curves(edges), weights), joined(trials.curves(), weights)
    for few_values, many in zip(
        chain.from_iterable(binned), chain.from_iterable(exact), strict=True
    ):
        assert few_values.values.size < many.values.size / 2
        coarse_point, fine_point = few_values.at(edges), many.at(edges)
        assert np.array_equal(coarse_point.fp, fine_point.fp)
        assert np.array_equal(coarse_point.fn, fine_point.fn)


def test_measures_of_binned_replicates_are_within_the_bound_of_exact_ones(trials, weights):
    binned = joined(trials.curves(trials.edges(bins=128)), weights)
    exact = joined(trials.curves(), weights)
    for coarse, fine in zip(chain.from_iterable(binned), chain.from_iterable(exact), strict=True):
        bound = largest_share(coarse)
        assert bound.max() < 0.2
        assert (np.abs(eer(coarse) - eer(fine)) <= bound + 1e-12).all()
        assert (np.abs(auc(coarse) - auc(fine)) <= bound + 1e-12).all()
        costs = [min_cdet(counts, cost=COST).value for counts in (coarse, fine)]
        assert (costs[0] >= costs[1] - 1e-12).all()
        assert (costs[0] - costs[1] <= bound + 1e-12).all()
        rates = [fnr_at_fpr(counts, target=0.05).value for counts in (coarse, fine)]
        assert (np.abs(rates[0] - rates[1]) <= bound + 1e-12).all()
        assert dprime(coarse) == pytest.approx(dprime(fine), rel=0.02)
    assert largest_share(exact[2][0]).max() == 0


def test_thresholds_found_on_all_trials_are_read_on_each_group(trials, weights):
    groups, _, (everyone,) = joined(trials.curves(), weights)
    read_rates = np.stack(
        [threshold_at_fpr(everyone.curve, 0.05), min_cdet(everyone, cost=COST).threshold], axis=-1
    )
    for group in groups:
        costs = cdet(group.at(read_rates), COST)
        assert costs.shape == (40, 2)
        for row in (0, 39):
            alone = in_use(group, row).at(read_rates[row])
            assert costs[row] == pytest.approx(cdet(alone, COST))


def test_a_group_whose_speakers_are_not_drawn_has_no_trials(trials):
    weights = np.zeros((2, 24), dtype=np.uint8)
    weights[1, :3] = 1
    first_group, second, third = joined(trials.curves(), weights)[0]
    assert first_group.n_target.tolist()[0] == 0
    assert first_group.n_target.tolist()[1] > 0
    assert np.isnan(eer(first_group)).tolist() == [True, False]
    assert not second.n_nontarget.any()
    assert not third.n_target.any()


def test_heavy_weights_do_not_overflow(trials):
    many_trials = Trials(4, size=3000, ties=True)
    weights = np.full((1, 24), 250, dtype=np.uint8)
    counts = joined(many_trials.curves(), weights)[2][0]
    original = many_trials.curves().original()[2][0]
    assert np.array_equal(counts.target[0], 250 * original.target)
    assert np.array_equal(counts.nontarget[0], 250 * 250 * original.nontarget)


@pytest.mark.parametrize("weight", [1, 2, 5, 11, 12, 40, 181, 182, 255])
def test_counts_are_exact_on_both_sides_of_every_integer_type(weight):
    many_trials = Trials(5, size=6000, ties=True)
    counts = joined(many_trials.curves(), np.full((1, 24), weight, dtype=np.uint8))[2][0]
    original = many_trials.curves().original()[2][0]
    assert original.nontarget.max() < np.iinfo(np.int16).max  # of one row; its weighted sum is not
    assert np.array_equal(counts.target[0], weight * original.target)
    assert np.array_equal(counts.nontarget[0], weight**2 * original.nontarget)


def test_a_row_may_stand_for_several_trials(trials, weights):
    times = np.random.default_rng(3).integers(1, 4, trials.score.size)
    edges = trials.edges(bins=64)
    rows = trials.score, trials.target, trials.one, trials.other
    repeated = [np.repeat(column, times) for column in rows]
    layouts = [([np.repeat(code, times) for code in codes], n) for codes, n in trials.layouts]
    short = joined(ResampledCurves(*rows, trials.layouts, edges, times), weights)
    long = joined(ResampledCurves(*repeated, layouts, edges), weights)
    for short_counts, long_counts in zip(
        chain.from_iterable(short), chain.from_iterable(long), strict=True
    ):
        assert np.array_equal(short_counts.target, long_counts.target)
        assert np.array_equal(short_counts.nontarget, long_counts.nontarget)
        assert short_counts.values == pytest.approx(long_counts.values, abs=1e-12)


def test_infinite_scores_have_bins_of_their_own():
    score = np.array([-np.inf, 0.1, 0.2, 0.3, np.inf, np.inf])
    target = np.array([False, False, True, True, True, False])
    speakers = np.arange(6)
    edges = curve_edges(Counts.from_scores(score, target), bins=4)
    curves = ResampledCurves(score, target, speakers, speakers, [([np.zeros(6, int)], 1)], edges)
    ((counts,),) = curves.original()
    assert counts.values[[0, -1]].tolist() == [-np.inf, np.inf]
    assert counts.target.tolist()[-1] == counts.nontarget.tolist()[-1] == 1
    assert counts.n_target == counts.n_nontarget == 3


def test_no_trials_give_empty_counts():
    no_trials = np.zeros(0, dtype=int)
    curves = ResampledCurves(
        np.zeros(0), no_trials == 1, no_trials, no_trials, [([no_trials], 2)], None
    )
    ((first_counts, second_counts),) = curves.original()
    assert first_counts.values.size == second_counts.values.size == 0
    assert np.isnan(eer(first_counts))


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.booleans()), max_size=60),
    st.integers(4, 64),
    st.lists(st.floats(-30, 30), max_size=3),
)
@few
def test_edges_rise_and_hold_the_lowest_score_and_the_thresholds(labelled, bins, thresholds):
    score = np.array([s for s, _ in labelled], dtype=float)
    counts = Counts.from_scores(score, np.array([t for _, t in labelled], dtype=bool))
    edges = curve_edges(counts, bins=bins, thresholds=thresholds)
    assert (np.diff(edges) > 0).all()
    assert edges.size <= bins + 3 + len(thresholds)
    assert np.isin(thresholds, edges).all()
    assert np.isin(edges, np.concatenate((score, thresholds))).all()
    if labelled:
        assert edges[0] <= score.min()


def test_edges_are_dense_where_errors_are_rare(trials):
    edges = trials.edges(bins=400)
    nontarget = trials.score[~trials.target]
    fpr = (nontarget >= edges[:, None]).mean(axis=1)
    assert ((fpr > 0) & (fpr < 0.01)).sum() > 20


def test_odd_edges_are_refused(trials):
    with pytest.raises(ConfigError, match="bins is 3"):
        trials.edges(bins=3)
    with pytest.raises(ConfigError, match=r"first edge is 0\.5"):
        trials.curves(np.array([0.5, 1.0]))
