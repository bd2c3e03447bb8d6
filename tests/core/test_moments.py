from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker, min_jackknife_share, moments
from parivox.core.confounding import standardised, trend
from parivox.core.ratios import moments_of_others

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)
few_examples = settings(max_examples=50, deadline=None)


def of_speakers(rng, *, speakers=(2, 6, 3), points=2):
    """Random target trials of cells with so many speakers; a speaker may be in several."""
    cell = np.repeat(np.arange(len(speakers)), speakers)
    speaker_ids = np.concatenate([rng.permutation(12)[:n] for n in speakers])
    trials = rng.integers(1, 40, cell.size)
    errors = rng.binomial(trials, rng.beta(0.6, 3, (points, cell.size)))
    return ErrorsBySpeaker(cell, speaker_ids, errors, trials, len(speakers))


def of_pairs(rng, *, speakers=(5, 7, 4), points=2, share=0.8):
    """Random nontarget trials between the speakers of each cell, some pairs missing."""
    rows = []
    for cell, n in enumerate(speakers):
        speaker_ids = rng.permutation(12)[:n]
        rows.extend(
            (cell, *sorted((speaker_ids[i], speaker_ids[j])))
            for i, j in combinations(range(n), 2)
            if rng.random() < share or j == i + 1
        )
    cell, first_speaker, second_speaker = np.array(rows).T
    trials = rng.integers(1, 40, cell.size)
    errors = rng.binomial(trials, rng.beta(0.6, 3, (points, cell.size)))
    return ErrorsByPair(cell, first_speaker, second_speaker, errors, trials, len(speakers))


def excess_kurtosis(r):
    square = (r**2).sum()
    return max(0, r.size * (r**4).sum() / square**2 - 3) if square > 1e-12 else 0


def pairs_of_vector(inputs):
    names = sorted({name for row in inputs["pairs_i_j_trials_FP"] for name in row[:2]})
    rows = [(names.index(i), names.index(j), m, e) for i, j, m, e in inputs["pairs_i_j_trials_FP"]]
    first_speaker, second_speaker, trials, errors = np.array(rows).T
    return ErrorsByPair(
        np.zeros_like(first_speaker), first_speaker, second_speaker, errors, trials, 1
    )


def test_dyadic_variance(vector):
    inputs, expected, tol = vector("4.3_dyadic_variance")
    sums = moments(pairs_of_vector(inputs))
    assert sums.rate[0] == pytest.approx(expected["FPR"], abs=tol)
    assert sums.variance_binomial[0] == pytest.approx(expected["naive_var"], abs=tol)
    assert sums.robust[0] == pytest.approx(expected["dyadic_var_with_S_over_Sm1"], abs=tol)
    by_pair = sums.pair_squares / sums.trials**2
    assert by_pair[0] == pytest.approx(expected["pair_cluster_var"], abs=tol)
    deff = sums.robust / sums.variance_binomial
    assert deff[0] == pytest.approx(expected["deff"], abs=tol)
    assert sums.trials[0] / deff[0] == pytest.approx(expected["n_eff"], abs=tol)


def test_cluster_variance(vector):
    inputs, expected, tol = vector("4.4_cluster_variance_mated")
    trials, errors = np.array([row[1:] for row in inputs["speaker_trials_FN"]]).T
    sums = moments(ErrorsBySpeaker(np.zeros(4, int), np.arange(4), errors, trials, 1))
    deff = sums.robust / sums.variance_binomial
    assert sums.rate[0] == pytest.approx(expected["FNR"], abs=tol)
    assert sums.robust[0] == pytest.approx(expected["var"], abs=tol)
    assert sums.variance_binomial[0] == pytest.approx(expected["naive"], abs=tol)
    assert deff[0] == pytest.approx(expected["deff"], abs=tol)
    assert sums.trials[0] / deff[0] == pytest.approx(expected["n_eff"], abs=tol)


def test_jackknife(vector):
    inputs, expected, tol = vector("4.6_jackknife")
    assert moments(pairs_of_vector(inputs)).jackknife[0] == pytest.approx(
        expected["jack_var"], abs=tol
    )


@few_examples
@given(seeds)
def test_target_sums_are_those_of_loops_over_speakers(rng):
    cluster_errors = of_speakers(rng)
    sums = moments(cluster_errors)
    for point, cell in np.ndindex(2, cluster_errors.n_cells):
        in_cell = cluster_errors.cell == cell
        e, n = cluster_errors.errors[point, in_cell], cluster_errors.trials[in_cell]
        size, rate = e.size, e.sum() / n.sum()
        r = e - rate * n
        gone = [(e.sum() - e[s]) / (n.sum() - n[s]) for s in range(size)]
        jackknife = (size - 1) / size * sum((rate_without - rate) ** 2 for rate_without in gone)
        binomial = rate * (1 - rate) / n.sum()
        f = (n**2).sum() / n.sum() ** 2
        kurt = excess_kurtosis(r)
        df = min(max(1 / f - 1, 1), 2 / (kurt / size + 2 / (size - 1)))
        for name, want in (
            ("speakers", size),
            ("rate", rate),
            ("jackknife", jackknife),
            ("variance", max(jackknife, binomial)),
            ("robust", size / (size - 1) * (r**2).sum() / n.sum() ** 2),
            ("speaker_concentration", f),
            ("kurtosis", kurt),
            ("df", df),
        ):
            got = getattr(sums, name)[point, cell]
            assert got == pytest.approx(want, rel=1e-8, abs=1e-15), name
        if e.any():
            assert sums.largest_share[point, cell] == e.max() / e.sum()
    for name in ("pairs", "unbiased", "pair_variance", "pair_concentration"):
        assert np.isnan(getattr(sums, name)).all()


@pytest.mark.slow
@few_examples
@given(seeds)
def test_nontarget_sums_are_those_of_loops_over_pairs(rng):
    cluster_errors = of_pairs(rng)
    sums = moments(cluster_errors)
    for point, cell in np.ndindex(2, cluster_errors.n_cells):
        rows = np.flatnonzero(cluster_errors.cell == cell)
        e, m = cluster_errors.errors[point, rows], cluster_errors.trials[rows]
        sides = [{cluster_errors.first_speaker[p], cluster_errors.second_speaker[p]} for p in rows]
        people = sorted(set.union(*sides))
        size, total, rate = len(people), m.sum(), e.sum() / m.sum()
        r = e - rate * m
        is_side = np.array([[s in side for side in sides] for s in people])
        rows_of = {
            s: (r[has].sum(), (r[has] ** 2).sum(), m[has].sum())
            for s, has in zip(people, is_side, strict=True)
        }
        gone = [e[~has].sum() / m[~has].sum() for has in is_side]
        jackknife = (size - 1) / size * sum((rate_without - rate) ** 2 for rate_without in gone)
        unbiased = (
            (size - 2) / (size - 3) * (size - 1) / size
            * sum((rs**2 - qs / 2) / (total - ns) ** 2 for rs, qs, ns in rows_of.values())
        )  # fmt: skip
        binomial = rate * (1 - rate) / total
        dyads = sum(r[p] * r[q] for p, q in np.ndindex(r.size, r.size) if sides[p] & sides[q])
        pairs = r.size
        within = pairs / (pairs - 1) * (r**2).sum() / total**2 - binomial
        rs = np.array([x for x, _, _ in rows_of.values()])
        kurt = excess_kurtosis(rs)
        ns = np.array([x for _, _, x in rows_of.values()])
        df = min(max(ns.sum() ** 2 / (ns**2).sum() - 1, 1), 2 / (kurt / size + 2 / (size - 1)))
        for name, want in (
            ("speakers", size),
            ("pairs", pairs),
            ("jackknife", jackknife),
            ("unbiased", unbiased),
            ("variance", max(unbiased, 0.75 * jackknife, binomial)),
            ("robust", size / (size - 1) * dyads / total**2),
            ("pair_variance", within),
            ("speaker_concentration", (ns**2).sum() / total**2),
            ("pair_concentration", (m**2).sum() / total**2),
            ("kurtosis", kurt),
            ("df", df),
        ):
            got = getattr(sums, name)[point, cell]
            assert got == pytest.approx(want, rel=1e-8, abs=1e-15), name
        if e.any():
            most = max(e[has].sum() for has in is_side)
            assert sums.largest_share[point, cell] == most / e.sum()


def strangers(*, in_blocks, n=20, cells=1):
    """Pairs of speakers who are in no other pair, with ten trials; 0 and 2 errors in turn."""
    first_speaker = 2 * np.arange(n * cells)
    errors = np.resize([0, 2], first_speaker.size)
    cell = np.repeat(np.arange(cells), n)
    return ErrorsByPair(
        cell,
        first_speaker,
        first_speaker + 1,
        errors,
        np.full(first_speaker.size, 10),
        cells,
        in_blocks=in_blocks,
    )


def test_variance_of_blocks_is_less_of_the_jackknife():
    speakers, blocks = (moments(strangers(in_blocks=in_blocks)) for in_blocks in (False, True))
    # 40 speakers with r = -1 or 1, so that sum R^2 = 40 and sum Q / 2 = 20; N - N_s = 190
    jackknife, unbiased = 39 / 40 * 40 / 190**2, 38 / 37 * 39 / 40 * 20 / 190**2
    share = 0.5 + 0.25 * (10 / 39) ** 2
    for sums, want in ((speakers, 0.75), (blocks, share)):
        assert sums.df[0] == pytest.approx(39)
        assert sums.jackknife[0] == pytest.approx(jackknife)
        assert sums.unbiased[0] == pytest.approx(unbiased)
        assert unbiased < want * jackknife
        assert sums.variance[0] == pytest.approx(want * jackknife)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [of_speakers, of_pairs])
@few_examples
@given(seeds)
def test_variance_of_few_blocks_is_that_of_as_many_speakers(kind, rng):
    cluster_errors = kind(rng)
    blocks = moments(replace(cluster_errors, in_blocks=True))
    np.testing.assert_array_equal(blocks.variance, moments(cluster_errors).variance)


def test_share_of_the_jackknife_goes_from_three_quarters_to_a_half():
    df = np.array([[1, 5, 10, 20], [40, 1e6, np.inf, np.nan]])
    want = [[0.75, 0.75, 0.75, 0.5625], [0.515625, 0.5, 0.5, 0.75]]
    np.testing.assert_allclose(min_jackknife_share(df, in_blocks=True), want, rtol=1e-9)
    assert (min_jackknife_share(df, in_blocks=False) == 0.75).all()


@pytest.mark.parametrize("in_blocks", [False, True])
def test_all_that_is_made_of_blocks_is_told_as_of_blocks(in_blocks, monkeypatch):
    cluster_errors = strangers(in_blocks=in_blocks, cells=3)
    three = replace(cluster_errors, errors=np.stack([cluster_errors.errors] * 3))
    errors_by_metric = [
        cluster_errors.cell_range(1, 2),
        three.operating_point(1),
        three.excluding_cell(np.array([0, 1, 2])),
    ]
    assert {cluster_errors_part.in_blocks for cluster_errors_part in errors_by_metric} == {
        in_blocks
    }
    assert standardised(cluster_errors, [0, 0, 1], [0, 1, 0]).cluster_errors.in_blocks == in_blocks
    others_sums = moments_of_others(cluster_errors)
    assert others_sums.in_blocks == moments_of_others(three).in_blocks == in_blocks
    # the other two cells together, 80 speakers: sum R^2 = 80, sum Q / 2 = 40, N - N_s = 390
    jackknife, unbiased = 79 / 80 * 80 / 390**2, 78 / 77 * 79 / 80 * 40 / 390**2
    assert others_sums.variance[0] == pytest.approx(unbiased if in_blocks else 0.75 * jackknife)
    monkeypatch.setattr("parivox.core.cluster_errors._MAX_ERRORS_AT_ONCE", 0)
    assert moments(three).in_blocks == in_blocks


def test_trends_of_blocks_have_their_share_of_the_jackknife():
    x = np.tile(np.repeat([0.0, 1.0], 4), 5)
    speakers, blocks = (trend(strangers(in_blocks=in_blocks), x) for in_blocks in (False, True))
    assert blocks.df[0] == speakers.df[0] > 10
    share = 0.5 + 0.25 * (10 / blocks.df[0]) ** 2
    assert (blocks.se[0] / speakers.se[0]) ** 2 == pytest.approx(share / 0.75)


@pytest.mark.slow
@few_examples
@given(seeds)
def test_order_and_names_do_not_matter(rng):
    for cluster_errors in (of_speakers(rng), of_pairs(rng)):
        n = cluster_errors.cell.size
        order = np.lexsort((rng.random(n), cluster_errors.cell))
        name = rng.permutation(12)
        if isinstance(cluster_errors, ErrorsBySpeaker):
            speaker_ids = (name[cluster_errors.speaker[order]],)
        else:
            speaker_ids = np.sort(
                [
                    name[cluster_errors.first_speaker[order]],
                    name[cluster_errors.second_speaker[order]],
                ],
                axis=0,
            )
        mixed = type(cluster_errors)(
            cluster_errors.cell[order],
            *speaker_ids,
            cluster_errors.errors[:, order],
            cluster_errors.trials[order],
            cluster_errors.n_cells,
        )
        ordered, shuffled = moments(cluster_errors), moments(mixed)
        np.testing.assert_allclose(ordered.variance, shuffled.variance, rtol=1e-9)
        np.testing.assert_allclose(ordered.df, shuffled.df, rtol=1e-9)
        np.testing.assert_array_equal(ordered.rate, shuffled.rate)


@pytest.mark.parametrize("kind", [of_speakers, of_pairs])
def test_leading_axes_are_free_and_trials_may_have_them(kind):
    cluster_errors = kind(np.random.default_rng(1), points=3)
    together = moments(cluster_errors)
    speaker_ids = (
        (cluster_errors.speaker,)
        if kind is of_speakers
        else (cluster_errors.first_speaker, cluster_errors.second_speaker)
    )
    spread = np.broadcast_to(cluster_errors.trials, cluster_errors.errors.shape)
    again = moments(
        type(cluster_errors)(cluster_errors.cell, *speaker_ids, cluster_errors.errors, spread, 3)
    )
    for row in range(3):
        alone = moments(
            type(cluster_errors)(
                cluster_errors.cell,
                *speaker_ids,
                cluster_errors.errors[row],
                cluster_errors.trials,
                3,
            )
        )
        for name in ("speakers", "pairs", "variance", "df", "largest_share", "pair_variance"):
            np.testing.assert_array_equal(getattr(together, name)[row], getattr(alone, name))
            np.testing.assert_array_equal(getattr(again, name)[row], getattr(alone, name))


def test_speakers_without_trials_are_nobody():
    cell, errors = np.zeros(4, int), np.array([2, 5, 0, 1])
    full = ErrorsBySpeaker(cell, np.arange(4), errors, np.array([9, 9, 0, 9]), 2)
    reduced = ErrorsBySpeaker(cell[:3], np.arange(3), errors[[0, 1, 3]], np.array([9, 9, 9]), 2)
    full_sums, reduced_sums = moments(full), moments(reduced)
    assert full_sums.speakers.tolist() == reduced_sums.speakers.tolist() == [3, 0]
    np.testing.assert_array_equal(full_sums.variance, reduced_sums.variance)
    assert np.isnan(full_sums.rate[1])
    assert np.isnan(full_sums.variance[1])


@pytest.mark.parametrize("rate", [0.1, 0.3, 1 / 3, 1])
def test_speakers_of_one_rate_leave_the_binomial_variance_exactly(rate):
    trials = np.array([30, 60, 90, 30, 600])
    cluster_errors = ErrorsBySpeaker(
        np.zeros(5, int), np.arange(5), np.rint(rate * trials).astype(int), trials, 1
    )
    sums = moments(cluster_errors)
    assert sums.jackknife[0] == 0
    assert sums.kurtosis[0] == 0
    assert sums.variance[0] == sums.variance_binomial[0]


@pytest.mark.parametrize("n_trials", [3, 30, 3 * 10**5])
def test_pairs_of_one_rate_leave_no_residual(n_trials):
    first, second = np.triu_indices(40, 1)
    trials = n_trials * (1 + np.arange(first.size) % 7)
    cluster_errors = ErrorsByPair(np.zeros(first.size, int), first, second, trials // 3, trials, 1)
    sums = moments(cluster_errors)
    assert sums.pair_squares[0] == sums.pair_deleted_squares[0] == 0
    assert sums.variance[0] == sums.variance_binomial[0]


@pytest.mark.parametrize("n_errors", [1, 3, 400])
def test_squares_of_pairs_are_those_of_the_trials_that_are_no_errors(n_errors):
    first, second = np.triu_indices(60, 1)
    trials = np.full(first.size, 10**6)
    errors = np.zeros(first.size, int)
    errors[:n_errors] = 1
    pair_sums = [
        moments(ErrorsByPair(np.zeros(first.size, int), first, second, numbers, trials, 1))
        for numbers in (errors, trials - errors)
    ]
    expected = n_errors - n_errors**2 / first.size
    for sums in pair_sums:
        assert sums.pair_squares[0] == pytest.approx(expected, rel=1e-9)
    assert pair_sums[0].pair_deleted_squares == pytest.approx(
        pair_sums[1].pair_deleted_squares, rel=1e-9
    )


def test_nothing_is_told_of_others_where_one_speaker_is_in_every_trial():
    lone = moments(
        ErrorsBySpeaker(np.zeros(1, int), np.zeros(1, int), np.array([3]), np.array([9]), 1)
    )
    pair = [np.array([x]) for x in (0, 0, 1, 3, 9)]
    star = [np.array(x) for x in ([0] * 3, [0] * 3, [1, 2, 3], [3, 0, 1], [9] * 3)]
    for sums in (lone, moments(ErrorsByPair(*pair, 1)), moments(ErrorsByPair(*star, 1))):
        assert sums.has_common_speaker.all()
        assert np.isfinite(sums.rate).all()
        for name in ("jackknife", "unbiased", "variance"):
            assert np.isnan(getattr(sums, name)).all()


def test_weighted_trials_hide_no_speaker_who_is_in_all_of_them():
    weights = np.array([0.1, 0.7, 0.3, 1.1])
    cell, second_speaker = np.zeros(4, int), np.arange(1, 5)
    star = ErrorsByPair(
        cell, np.zeros(4, int), second_speaker, weights * [0, 0.5, 0.2, 0.1], weights, 1
    )
    assert moments(star).has_common_speaker.all()


def test_no_trials_at_all():
    no_trials = np.zeros(0, int)
    for cluster_errors in (
        ErrorsBySpeaker(no_trials, no_trials, np.zeros((2, 0)), no_trials, 3),
        ErrorsByPair(no_trials, no_trials, no_trials, np.zeros((2, 0)), no_trials, 3),
    ):
        sums = moments(cluster_errors)
        assert sums.trials.shape == (2, 3)
        assert np.isnan(sums.rate).all()
        assert np.isnan(sums.variance).all()


@pytest.mark.parametrize("kind", [of_speakers, of_pairs])
def test_points_taken_one_by_one_are_the_same(kind, monkeypatch):
    cluster_errors = kind(np.random.default_rng(2), points=3)
    want = moments(cluster_errors)
    monkeypatch.setattr("parivox.core.cluster_errors._MAX_ERRORS_AT_ONCE", 0)
    sums = moments(cluster_errors)
    for name, value in vars(want).items():
        np.testing.assert_array_equal(getattr(sums, name), value, err_msg=name)


def test_three_speakers_have_the_whole_jackknife():
    triangle = [np.array(x) for x in ([0] * 3, [0, 0, 1], [1, 2, 2], [6, 0, 1], [20] * 3)]
    sums = moments(ErrorsByPair(*triangle, 1))
    assert np.isnan(sums.unbiased[0])
    assert sums.variance[0] == sums.jackknife[0] > sums.variance_binomial[0]
