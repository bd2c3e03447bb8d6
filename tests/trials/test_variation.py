"""How results move when pairs are drawn anew, beside how they move with other speakers."""

import itertools
import json

import numpy as np
import pytest

import parivox as pv
from parivox import Counts, eer
from parivox.errors import ConfigError, DataError
from parivox.report.charts.variation import save
from parivox.report.variation import variation_summary
from parivox.trials.variation import read_scored_pairs

SPEAKERS, VIDEOS, CLIPS = 6, 5, 2  # of either sex


@pytest.fixture(scope="module")
def people():
    ids = [f"{sex}{i}" for sex in "fm" for i in range(SPEAKERS)]
    return {"id": ids, "sex": [speaker_id[0] for speaker_id in ids]}


def utterance_ids(people):
    clips = itertools.product(people["id"], range(VIDEOS), range(CLIPS))
    return [f"{speaker_id}/{video}/{clip}" for speaker_id, video, clip in clips]


@pytest.fixture(scope="module")
def pool(people):
    """Every pair of utterances once, in both orders at random; speakers differ in their scores."""
    rng = np.random.default_rng(11)
    ids = utterance_ids(people)
    enrolled, tested = np.triu_indices(len(ids), 1)
    turned = rng.random(enrolled.size) < 0.5
    enrolled, tested = np.where(turned, tested, enrolled), np.where(turned, enrolled, tested)
    speaker = np.arange(len(ids)) // (VIDEOS * CLIPS)
    effect = rng.normal(scale=0.7, size=2 * SPEAKERS)
    target = speaker[enrolled] == speaker[tested]
    score = 2.0 * target + effect[speaker[enrolled]] * effect[speaker[tested]]
    return {
        "enrol": np.array(ids)[enrolled],
        "test": np.array(ids)[tested],
        "label": target.astype(int),
        "score": score + rng.normal(size=enrolled.size),
    }


def read(pool, people):
    unset = dict.fromkeys(("utterances", "columns", "orientation", "id"))
    return read_scored_pairs(pool, speakers=people, by="sex", **unset)


def variants(pool, people, **options):
    options = {"per_speaker": [5, 20], "variants": 3, "replicates": 20, **options}
    return pv.trials.variants(pool, speakers=people, by="sex", **options)


def test_every_speaker_has_so_many_pairs_of_either_class_and_none_twice(pool, people):
    pairs = read(pool, people).with_enough_pairs(20)
    drawn = pairs.draw_rows(20, (1,))
    assert np.unique(drawn).size == drawn.size
    for kind in (False, True):
        pair_rows = drawn[pairs.target[drawn] == kind]
        assert np.bincount(pairs.speaker[pair_rows]).tolist() == [20] * 2 * SPEAKERS
    assert not np.array_equal(drawn, pairs.draw_rows(20, (2,)))


def test_pairs_of_one_recording_or_of_two_groups_are_none(pool, people):
    pairs = read(pool, people)
    per_speaker = VIDEOS * CLIPS
    across_recordings = per_speaker * (per_speaker - 1) // 2 - VIDEOS
    assert pairs.target.sum() == 2 * SPEAKERS * across_recordings
    assert (~pairs.target).sum() == 2 * (SPEAKERS * (SPEAKERS - 1) // 2) * per_speaker**2
    assert (pairs.group_of_speaker[pairs.partner] == pairs.group).all()


def test_a_pair_in_both_orders_is_one_pair(pool, people):
    doubled = {name: np.concatenate((cells, cells)) for name, cells in pool.items()}
    doubled["enrol"][len(pool["enrol"]) :] = pool["test"]
    doubled["test"][len(pool["enrol"]) :] = pool["enrol"]
    assert read(doubled, people).score.size == read(pool, people).score.size


def test_in_a_triangle_of_all_pairs_every_speaker_has_half_of_its_pairs(pool, people):
    turned = pool["enrol"] > pool["test"]
    triangle = pool | {
        "enrol": np.where(turned, pool["test"], pool["enrol"]),
        "test": np.where(turned, pool["enrol"], pool["test"]),
    }
    pairs = read(triangle, people)
    pair_counts = np.bincount(pairs.speaker[~pairs.target])
    assert pair_counts.tolist() == [(SPEAKERS - 1) * (VIDEOS * CLIPS) ** 2 // 2] * 2 * SPEAKERS


@pytest.mark.slow
def test_same_seed_same_tables_whatever_the_order_of_the_rows(pool, people):
    order = np.random.default_rng(0).permutation(len(pool["score"]))
    shuffled = {name: cells[order] for name, cells in pool.items()}
    ordered, reordered = variants(pool, people, seed=4), variants(shuffled, people, seed=4)
    assert ordered.to_json() == reordered.to_json()
    assert ordered.to_json() != variants(pool, people, seed=5).to_json()


def test_the_table_sums_up_the_values_of_the_variants(pool, people):
    variation = variants(pool, people)
    for row in variation.table:
        cell = {name: row[name] for name in ("group", "per_speaker", "metric")}
        values = np.array([draw["value"] for draw in variation.values.subset(**cell)])
        assert values.size == variation.variants
        assert row["mean"] == pytest.approx(values.mean())
        if values.min() > 0:
            assert row["seed_max_min"] == pytest.approx(values.max() / values.min() - 1)
        assert row["seed_sd"] == pytest.approx(values.std(ddof=1) / values.mean())


def test_a_metric_is_that_of_the_trials_drawn(pool, people):
    variation = variants(pool, people, seed=9)
    pairs = read(pool, people).with_enough_pairs(20)
    drawn = pairs.draw_rows(5, (9, 5, 1))
    mine = drawn[pairs.group[drawn] == 1]
    expected = float(eer(Counts.from_scores(pairs.score[mine], pairs.target[mine])))
    (row,) = variation.values.subset(group="m", per_speaker=5, variant=2, metric="eer").rows()
    assert row["value"] == expected


@pytest.mark.slow
def test_more_pairs_cure_the_draw_of_pairs_and_not_the_draw_of_speakers(pool, people):
    variation = variants(pool, people, per_speaker=[5, 35], variants=20, replicates=100)
    for metric in ("eer", "fnr", "fpr"):
        rows = variation.table.subset(metric=metric).rows()
        few, many = (
            {
                name: np.mean([r[name] for r in rows if r["per_speaker"] == n])
                for name in rows[0]
                if name.endswith("_sd")
            }
            for n in (5, 35)
        )
        assert many["seed_sd"] < 0.5 * few["seed_sd"]
        assert many["speaker_sd"] > 2 * many["seed_sd"]


@pytest.mark.slow
def test_a_scorer_is_asked_for_the_trials_of_lists_built_for_it(people):
    ids = utterance_ids(people)
    requests = []

    def scorer(enrol, test):
        requests.append(enrol.size)
        is_target = np.array(
            [enrolled[:2] == tested[:2] for enrolled, tested in zip(enrol, test, strict=True)]
        )
        return 2.0 * is_target + np.array(
            [hash_of(enrolled + tested) for enrolled, tested in zip(enrol, test, strict=True)]
        )

    variation = variants({"utterance": ids}, people, scorer=scorer, per_speaker=[5, 20])
    assert sorted(requests) == [2 * 5 * 2 * SPEAKERS] * 3 + [2 * 20 * 2 * SPEAKERS] * 3
    assert variation.kept == {"f": SPEAKERS, "m": SPEAKERS}
    for row in variation.table.subset(metric="eer"):
        assert 0 < row["mean"] < 0.5
    again = variants({"utterance": ids[::-1]}, people, scorer=scorer, per_speaker=[5, 20])
    assert again.to_json() == variation.to_json()


def hash_of(text):
    """A number in [-3, 3] that looks random and is not."""
    return sum(ord(letter) * 31**position for position, letter in enumerate(text)) % 601 / 100 - 3


def test_what_a_scorer_gives_is_a_score_for_each_trial(people):
    table = {"utterance": [f"{p}/{v}/0" for p in people["id"] for v in range(9)]}
    with pytest.raises(DataError, match="returned \\(1,\\) for 120 trials"):
        variants(table, people, scorer=lambda _, __: [0.5], per_speaker=[5])
    with pytest.raises(DataError, match="returned NaN among 120"):
        variants(table, people, scorer=lambda enrol, _: enrol.size * [np.nan], per_speaker=[5])
    with pytest.raises(ConfigError, match="columns applies only to files of scores"):
        variants(table, people, scorer=len, columns={"score": "x"})


def test_groups_that_are_asked_for_alone_take_part(pool, people):
    variation = variants(pool, people, groups="f", per_speaker=10)
    assert set(variation.table.to_dict()["group"]) == {*variation.kept} == {"f"}
    assert {*variation.left_out} <= {"f"}


def test_speakers_without_pairs_enough_are_left_out_of_all_lists(pool, people):
    lost = np.char.startswith(pool["enrol"], "f0") & (pool["label"] == 1)
    lost &= np.arange(lost.size) % 2 == 0
    short = {name: cells[~lost] for name, cells in pool.items()}
    variation = variants(short, people, per_speaker=[5, 40])
    assert variation.left_out == {"f": 1}
    assert {row["speakers"] for row in variation.table.subset(group="f")} == {SPEAKERS - 1}


def test_fewer_than_five_speakers_tell_nothing_of_others(pool, people):
    few = np.isin(np.char.partition(pool["enrol"], "/")[:, 0], ["f0", "f1", "m0", "m1", "m2"])
    few &= np.isin(np.char.partition(pool["test"], "/")[:, 0], ["f0", "f1", "m0", "m1", "m2"])
    variation = variants({name: cells[few] for name, cells in pool.items()}, people)
    assert {row["speaker_sd"] for row in variation.table} == {None}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"per_speaker": [5, 41]}, DataError, "no speaker has 41 same-speaker .* at most 40"),
        ({"per_speaker": []}, ConfigError, "contains no number of pairs"),
        ({"per_speaker": [0]}, ConfigError, "per_speaker is 0; give a whole number from 1 to"),
        ({"variants": 1}, ConfigError, "variants is 1; give a whole number from 2 to"),
        ({"seed": 0.5}, ConfigError, "seed is 0.5; give a whole number from 0 to"),
        ({"cost": "none"}, ConfigError, "'none'"),
    ],
)
def test_what_cannot_be_drawn_is_said_with_what_can(options, kind, message, pool, people):
    with pytest.raises(kind, match=message):
        variants(pool, people, **options)


@pytest.mark.parametrize("options", [{"by": 3}, {"cost": 3}, {"id": 3}, {"columns": 3}], ids=str)
def test_options_of_another_kind_are_refused_by_name(options, pool, people):
    with pytest.raises(ConfigError, match=f"^{next(iter(options))}=3"):
        pv.trials.variants(pool, speakers=people, **{"by": "sex"} | options)


def test_scores_of_one_class_are_refused(pool, people):
    targets = {name: cells[pool["label"] == 1] for name, cells in pool.items()}
    with pytest.raises(DataError, match="contains no different-speaker pair within a group of sex"):
        variants(targets, people)


def test_groups_must_be_of_speakers(pool, people):
    with pytest.raises(ConfigError, match="name an attribute of speakers"):
        pv.trials.variants(
            pool | {"device": ["a", "b"] * (len(pool["score"]) // 2)}, speakers=people, by="device"
        )


def test_the_json_and_the_page_hold_no_ids(pool, people):
    from rich.console import Console

    variation = variants(pool, people)
    payload = json.loads(variation.to_json())
    assert payload["speakers"] == {"f": SPEAKERS, "m": SPEAKERS}
    console = Console(width=100)
    with console.capture() as captured:
        console.print(variation_summary(variation))
    page = captured.get()
    assert "3 lists for each of 5, 20 pairs per speaker and class" in page
    for text in (page, variation.to_json()):
        assert not any(id_ in text for id_ in people["id"])


@pytest.mark.slow
def test_the_charts_hold_what_the_tables_do(pool, people, optional, tmp_path):
    optional("altair")
    variation = variants(pool, people)
    rows = variation.chart("eer").data.values
    assert len(rows) == 2 * 2 * 2  # groups, numbers of pairs, ways
    curves = variation.dets().data.values
    assert {row["line"] for row in curves} == {f"{n}/{k}" for n in (5, 20) for k in (1, 2, 3)}
    assert np.isfinite([(row["x"], row["y"]) for row in curves]).all()
    save(variation.dets(), "--dets", str(tmp_path / "dets.svg"))
    assert "</svg>" in (tmp_path / "dets.svg").read_text()
    with pytest.raises(ConfigError, match="choose from eer, min_cdet"):
        variation.chart("acc")


def test_on_voxceleb1_h_the_draw_of_speakers_stays(bt4vt_data):
    """Published: Canada, n = 25, 75: 26, 6 % by pairs and 20, 14 % by speakers."""
    variation = pv.trials.variants(
        bt4vt_data / "resnetse34v2_H-eval_scores.csv",
        speakers=bt4vt_data / "vox1_meta.csv",
        by="nationality",
        per_speaker=[25, 75],
        variants=8,
        replicates=40,
        seed=1,
    )
    assert variation.kept["Canada"] == 54
    assert sum(variation.kept.values()) + sum(variation.left_out.values()) == 1190
    few, many = variation.table.subset(group="Canada", metric="min_cdet").rows()
    assert few["seed_sd"] == pytest.approx(0.20, abs=0.12)
    assert many["seed_sd"] == pytest.approx(0.08, abs=0.04)
    assert few["speaker_sd"] == pytest.approx(0.26, abs=0.08)
    assert many["speaker_sd"] == pytest.approx(0.20, abs=0.06)
