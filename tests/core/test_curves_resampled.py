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
        left, right = self.group[self.one], self.group[self.other]
        self.layouts = [
            ([np.where(left == right, left, -1)], 3),
            ([left, np.where(left == right, -1, right)], 3),
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
                np.concatenate([one.target for one in of_cell]),
                np.concatenate([one.nontarget for one in of_cell]),
            )
            for of_cell in zip(*of_layout, strict=True)
        ]
        for of_layout in zip(*chunks, strict=True)
    ]


def same(one, two):
    return all(
        np.array_equal(getattr(one, name), getattr(two, name))
        for name in ("values", "target", "nontarget")
    )


def in_use(counts, row):
    """One replicate by itself, on the scores that it has."""
    used = (counts.target[row] > 0) | (counts.nontarget[row] > 0)
    return Counts(counts.values[used], counts.target[row][used], counts.nontarget[row][used])


def test_exact_counts_with_weights_of_one_are_the_counts_themselves(trials):
    for ties in (False, True):
        some = Trials(3, ties=ties)
        found = some.curves().original()
        for layout, (_, n) in enumerate(some.layouts):
            assert len(found[layout]) == n
            for cell in range(n):
                wanted = some.written_out(layout, cell, np.ones(24, dtype=int))
                assert same(found[layout][cell], wanted)


def test_each_replicate_is_that_of_trials_written_out(trials, weights):
    found = joined(trials.curves(), weights)
    for at in (0, 17, 39):
        for layout, (_, n) in enumerate(trials.layouts):
            for cell in range(n):
                wanted = trials.written_out(layout, cell, weights[at].astype(int))
                assert same(in_use(found[layout][cell], at), wanted)


def test_counts_do_not_depend_on_chunks_or_on_the_order_of_trials(trials, weights):
    whole = joined(trials.curves(trials.edges()), weights)
    pieces = joined(trials.curves(trials.edges()), weights, chunk=7)
    order = np.random.default_rng(0).permutation(trials.score.size)
    mixed = Trials(1)
    mixed.layouts = [([code[order] for code in codes], n) for codes, n in mixed.layouts]
    for name in ("score", "target", "one", "other"):
        setattr(mixed, name, getattr(mixed, name)[order])
    shuffled = joined(mixed.curves(mixed.edges()), weights)
    for one, two, three in zip(whole, pieces, shuffled, strict=True):
        assert all(map(same, one, two))
        for left, right in zip(one, three, strict=True):
            assert np.array_equal(left.target, right.target)
            assert np.array_equal(left.nontarget, right.nontarget)
            assert left.values == pytest.approx(right.values, abs=1e-12)


def test_counts_at_every_edge_and_fixed_threshold_are_exact(trials, weights):
    fixed = [0.123, 1.5, np.nan, 99.0]
    edges = trials.edges(bins=64, thresholds=fixed)
    assert np.isin([0.123, 1.5, 99.0], edges).all()
    binned, exact = joined(trials.curves(edges), weights), joined(trials.curves(), weights)
    for few_values, many in zip(
        chain.from_iterable(binned), chain.from_iterable(exact), strict=True
    ):
        assert few_values.values.size < many.values.size / 2
        one, two = few_values.at(edges), many.at(edges)
        assert np.array_equal(one.fp, two.fp)
        assert np.array_equal(one.fn, two.fn)


def test_measures_of_binned_replicates_are_within_the_bound_of_exact_ones(trials, weights):
    binned = joined(trials.curves(trials.edges(bins=128)), weights)
    exact = joined(trials.curves(), weights)
    for coarse, fine in zip(chain.from_iterable(binned), chain.from_iterable(exact), strict=True):
        bound = largest_share(coarse)
        assert bound.max() < 0.2
        assert (np.abs(eer(coarse) - eer(fine)) <= bound + 1e-12).all()
        assert (np.abs(auc(coarse) - auc(fine)) <= bound + 1e-12).all()
        costs = [min_cdet(one, cost=COST).value for one in (coarse, fine)]
        assert (costs[0] >= costs[1] - 1e-12).all()
        assert (costs[0] - costs[1] <= bound + 1e-12).all()
        rates = [fnr_at_fpr(one, target=0.05).value for one in (coarse, fine)]
        assert (np.abs(rates[0] - rates[1]) <= bound + 1e-12).all()
        assert dprime(coarse) == pytest.approx(dprime(fine), rel=0.02)
    assert largest_share(exact[2][0]).max() == 0


def test_thresholds_found_on_all_trials_are_read_on_each_group(trials, weights):
    groups, _, (everyone,) = joined(trials.curves(), weights)
    found = np.stack(
        [threshold_at_fpr(everyone.curve, 0.05), min_cdet(everyone, cost=COST).threshold], axis=-1
    )
    for group in groups:
        costs = cdet(group.at(found), COST)
        assert costs.shape == (40, 2)
        for at in (0, 39):
            alone = in_use(group, at).at(found[at])
            assert costs[at] == pytest.approx(cdet(alone, COST))


def test_a_group_whose_speakers_are_not_drawn_has_no_trials(trials):
    weights = np.zeros((2, 24), dtype=np.uint8)
    weights[1, :3] = 1
    first, second, third = joined(trials.curves(), weights)[0]
    assert first.n_target.tolist()[0] == 0
    assert first.n_target.tolist()[1] > 0
    assert np.isnan(eer(first)).tolist() == [True, False]
    assert not second.n_nontarget.any()
    assert not third.n_target.any()


def test_heavy_weights_do_not_overflow(trials):
    some = Trials(4, size=3000, ties=True)
    weights = np.full((1, 24), 250, dtype=np.uint8)
    counts = joined(some.curves(), weights)[2][0]
    ones = some.curves().original()[2][0]
    assert np.array_equal(counts.target[0], 250 * ones.target)
    assert np.array_equal(counts.nontarget[0], 250 * 250 * ones.nontarget)


def test_a_row_may_stand_for_several_trials(trials, weights):
    times = np.random.default_rng(3).integers(1, 4, trials.score.size)
    edges = trials.edges(bins=64)
    rows = trials.score, trials.target, trials.one, trials.other
    many = [np.repeat(one, times) for one in rows]
    layouts = [([np.repeat(code, times) for code in codes], n) for codes, n in trials.layouts]
    short = joined(ResampledCurves(*rows, trials.layouts, edges, times), weights)
    long = joined(ResampledCurves(*many, layouts, edges), weights)
    for one, two in zip(chain.from_iterable(short), chain.from_iterable(long), strict=True):
        assert np.array_equal(one.target, two.target)
        assert np.array_equal(one.nontarget, two.nontarget)
        assert one.values == pytest.approx(two.values, abs=1e-12)


def test_infinite_scores_have_bins_of_their_own():
    score = np.array([-np.inf, 0.1, 0.2, 0.3, np.inf, np.inf])
    target = np.array([False, False, True, True, True, False])
    who = np.arange(6)
    edges = curve_edges(Counts.from_scores(score, target), bins=4)
    curves = ResampledCurves(score, target, who, who, [([np.zeros(6, int)], 1)], edges)
    ((counts,),) = curves.original()
    assert counts.values[[0, -1]].tolist() == [-np.inf, np.inf]
    assert counts.target.tolist()[-1] == counts.nontarget.tolist()[-1] == 1
    assert counts.n_target == counts.n_nontarget == 3


def test_no_trials_give_empty_counts():
    nothing = np.zeros(0, dtype=int)
    curves = ResampledCurves(np.zeros(0), nothing == 1, nothing, nothing, [([nothing], 2)], None)
    ((one, two),) = curves.original()
    assert one.values.size == two.values.size == 0
    assert np.isnan(eer(one))


@given(
    st.lists(st.tuples(st.integers(-20, 20), st.booleans()), max_size=60),
    st.integers(4, 64),
    st.lists(st.floats(-30, 30), max_size=3),
)
@few
def test_edges_rise_and_hold_the_lowest_score_and_the_thresholds(some, bins, thresholds):
    score = np.array([s for s, _ in some], dtype=float)
    counts = Counts.from_scores(score, np.array([t for _, t in some], dtype=bool))
    edges = curve_edges(counts, bins=bins, thresholds=thresholds)
    assert (np.diff(edges) > 0).all()
    assert edges.size <= bins + 3 + len(thresholds)
    assert np.isin(thresholds, edges).all()
    assert np.isin(edges, np.concatenate((score, thresholds))).all()
    if some:
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
