"""The file of scores: its rows, failures, models, order and bytes."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox import score
from parivox.errors import ConfigError, DataError
from parivox.facts import Fact
from parivox.scoring import lists, run


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_rows_stand_in_the_order_of_the_list(pairs, embedded, scored):
    scores = scored(pairs, embedded)
    assert scores.columns == ["enrol", "test", "label", "score", "status", "stage"]
    assert scores.select(pairs.columns).equals(pairs)
    assert set(scores["status"]) == {"ok"}
    assert scores["stage"].null_count() == scores.height
    assert (scores["score"][:5] == scores["score"][-5:]).all()


def test_a_list_without_labels_gives_scores_without(pairs, embedded, scored):
    assert "label" not in scored(pairs.drop("label"), embedded).columns


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("voxceleb.txt", "{l} {e} {t}"),
        ("kaldi.txt", "{e} {t} {w}"),
        ("trials.csv", "{e},{t},{w}"),
        ("trials.tsv", "{e}\t{t}\t{w}"),
    ],
)
def test_lists_are_read_in_the_formats_of_the_field(name, line, pairs, embedded, scored, tmp_path):
    rows = [
        line.format(e=e, t=t, w=w, l=int(w == "target")) for e, t, w in pairs.unique().iter_rows()
    ]
    header = {"trials.csv": ["enrol,test,label"], "trials.tsv": ["enrol\ttest\tlabel"]}
    (tmp_path / name).write_text("\n".join([*header.get(name, []), *rows]) + "\n")
    scores = scored(str(tmp_path / name), embedded).sort("enrol", "test")
    expected = scored(pairs.unique(), embedded).sort("enrol", "test")
    assert scores.equals(expected)


def test_recordings_that_failed_keep_their_trials(pairs, embedded, scored, by_hand):
    status = ["ok"] * 60
    status[3], status[11] = "too_short", "unreadable"
    values = np.delete(embedded.values, [3, 11], axis=0)
    scores = scored(pairs, by_hand.vectors_of(values, status=status))
    score_table = scored(pairs, embedded)
    gone = {"s00/3": "too_short", "s02/1": "unreadable"}
    for row, before in zip(
        scores.iter_rows(named=True), score_table.iter_rows(named=True), strict=True
    ):
        if row["enrol"] in gone:
            assert (row["score"], row["status"], row["stage"]) == (
                None,
                gone[row["enrol"]],
                "enrol",
            )
        elif row["test"] in gone:
            assert (row["score"], row["status"], row["stage"]) == (
                None,
                gone[row["test"]],
                "acquire",
            )
        else:
            assert row == before
    assert scores["score"].null_count() > 10


@pytest.mark.slow
def test_an_audit_counts_the_failures_of_the_file(pairs, embedded, tmp_path, by_hand):
    apart = pairs.filter(pl.col("enrol") != pl.col("test"))
    apart = apart.unique(["enrol", "test"], maintain_order=True)
    status = ["ok"] * 60
    status[3] = "silent"
    vectors = by_hand.vectors_of(np.delete(embedded.values, 3, axis=0), status=status)
    out = tmp_path / "scores.parquet"
    scoring_run = score(apart, embeddings=vectors, out=out)
    speakers = {"speaker": [f"s{i:02d}" for i in range(8)], "gender": list("fmfmfmfm")}
    audit = pv.audit(out, speakers=speakers, by=["gender"], intervals=False)
    rows = {(r["group"], r["metric"]): r for r in audit.groups.rows() if r["grouping"] == "gender"}
    assert scoring_run.failed[("acquire", "silent")] > 0
    assert rows["f", "fta"]["value"] > 0 == rows["m", "fta"]["value"]


def test_recordings_that_are_not_there_are_counted_with_examples(pairs, embedded, scored):
    odd = pairs.with_columns(pl.col("test").str.replace("s03/", "s3/"))
    with pytest.raises(
        DataError, match=r"5 of 45 recordings \('s3/0'.*\) are not in embeddings; embed"
    ):
        scored(odd, embedded)


def test_ids_with_a_sign_for_the_slash_are_told(pairs, embedded, scored, by_hand):
    nemo = by_hand.vectors_of(embedded.values, ids=embedded.ids.str.replace("/", "@").to_list())
    with pytest.raises(DataError, match="not in embeddings; save the ids with / instead of @"):
        scored(pairs, nemo)


@pytest.mark.slow
def test_models_are_the_mean_of_embeddings_or_of_scores(pairs, embedded, scored, by_hand):
    models = pl.DataFrame(
        {
            "model": [f"m{s}" for s in range(8) for _ in range(s % 3 + 1)],
            "recording": [f"s{s:02d}/{k}" for s in range(8) for k in range(s % 3 + 1)],
        }
    )
    made_of = models.group_by("model", maintain_order=True).agg("recording")
    made_of = dict(made_of.iter_rows())
    trials = pl.DataFrame({"enrol": [f"m{i % 8}" for i in range(200)], "test": pairs["test"][:200]})
    unit = {
        i: by_hand.vector(embedded, i)[0] / np.linalg.norm(by_hand.vector(embedded, i))
        for i in embedded.ids
    }
    for rule, model_score in (
        (
            "embeddings",
            lambda model_recordings, t: by_hand.cosine(
                np.mean([unit[o] for o in model_recordings], axis=0), unit[t]
            ),
        ),
        (
            "scores",
            lambda model_recordings, t: np.mean([unit[o] @ unit[t] for o in model_recordings]),
        ),
    ):
        scores = scored(trials, embedded, models=models, models_by=rule)["score"].to_numpy()
        expected = [model_score(made_of[m], t) for m, t in trials.iter_rows()]
        assert np.abs(scores - expected).max() < 1e-6
    assert scored(trials, embedded, models=models).equals(
        scored(trials, embedded, models=models, models_by="embeddings")
    )


def test_a_model_fails_if_all_of_its_recordings_do(embedded, scored, tmp_path, by_hand):
    status = ["ok"] * 60
    status[0] = status[1] = "no_speech"
    vectors = by_hand.vectors_of(embedded.values[2:], status=status)
    models = {"model": ["a", "a", "b", "b"], "recording": ["s00/0", "s00/1", "s00/1", "s00/2"]}
    trials = {"enrol": ["a", "b"], "test": ["s00/4", "s00/4"]}
    scores = scored(trials, vectors, models=models)
    assert scores["status"].to_list() == ["no_speech", "ok"]
    assert scores["stage"].to_list() == ["enrol", None]
    only = scored({"enrol": ["s00/2"], "test": ["s00/4"]}, vectors)["score"][0]
    assert scores["score"][1] == pytest.approx(only, abs=1e-7)
    scoring_run = score(
        trials, embeddings=vectors, models=models, out=tmp_path / "s.parquet", overwrite=True
    )
    assert scoring_run.notes == (Fact("models_of_fewer_recordings", {"models": 1}),)


def test_models_that_no_table_tells_of_are_refused(pairs, embedded, scored):
    with pytest.raises(DataError, match=r"40 of 40 enrolment ids .* are not models in models"):
        scored(pairs, embedded, models={"model": ["m"], "recording": ["s00/0"]})


def test_options_of_models_that_do_not_fit_are_refused(pairs, embedded, scored):
    models = {"model": embedded.ids.to_list(), "recording": embedded.ids.to_list()}
    with pytest.raises(ConfigError, match="add models=FILE"):
        scored(pairs, embedded, models_by="scores")
    with pytest.raises(ConfigError, match="give models_by='scores'"):
        scored(pairs, embedded, models=models, models_by="embeddings", scoring="crops-euclidean")
    with pytest.raises(ConfigError, match="choose from embeddings, scores"):
        scored(pairs, embedded, models=models, models_by="luck")


def test_chunks_change_nothing_but_memory(pairs, embedded, cohort, tmp_path, monkeypatch):
    scoring_run = score(
        pairs, embeddings=embedded, out=tmp_path / "a.parquet", as_norm=cohort, top=4
    )
    monkeypatch.setattr(run, "CHUNK", 64)
    chunks = lists.ListToScore.chunks
    monkeypatch.setattr(lists.ListToScore, "chunks", lambda self: chunks(self, 64))
    scored_run = score(
        pairs, embeddings=embedded, out=tmp_path / "b.parquet", as_norm=cohort, top=4
    )
    assert digest(scoring_run.out) == digest(scored_run.out)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.parquet", "b.parquet", "cohort.txt"]


@pytest.mark.slow
def test_an_interrupted_run_goes_on_where_it_stopped(pairs, embedded, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "CHUNK", 64)
    chunks = lists.ListToScore.chunks
    monkeypatch.setattr(lists.ListToScore, "chunks", lambda self: chunks(self, 64))
    scoring_run = score(pairs, embeddings=embedded, out=tmp_path / "a.parquet")
    out = tmp_path / "b.parquet"
    reports = []

    def stop(progress):
        reports.append(progress)
        if progress.unit == "trials" and progress.done == 192:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(pairs, embeddings=embedded, out=out, progress=stop)
    assert not out.exists()
    first_times = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "b.parquet.parts").glob("0*")}
    assert len(first_times) == 3
    later_times = {}

    def note(_):
        for path in (tmp_path / "b.parquet.parts").glob("0*"):
            later_times.setdefault(path.name, path.stat().st_mtime_ns)

    score(pairs, embeddings=embedded, out=out, progress=note)
    assert digest(out) == digest(scoring_run.out)
    assert first_times.items() <= later_times.items()


def test_parts_of_another_plan_are_not_taken_over(pairs, embedded, tmp_path):
    out = tmp_path / "s.parquet"

    def stop(progress):
        if progress.stage.startswith("scoring") and progress.is_over:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score(pairs, embeddings=embedded, out=out, progress=stop)
    other_vectors = dataclasses.replace(
        embedded, values=embedded.values[::-1], provenance={"made": "anew"}
    )
    score(pairs, embeddings=other_vectors, out=out)
    score(pairs, embeddings=other_vectors, out=tmp_path / "apart.parquet")
    assert digest(out) == digest(tmp_path / "apart.parquet")


def test_a_file_that_is_there_is_kept_unless_it_may_go(pairs, embedded, tmp_path):
    out = tmp_path / "scores.parquet"
    score(pairs[:2], embeddings=embedded, out=out)
    with pytest.raises(ConfigError, match="already exists; replace the file with overwrite=True"):
        score(pairs, embeddings=embedded, out=out)
    assert pl.read_parquet(out).height == 2
    score(pairs, embeddings=embedded, out=out, overwrite=True)
    assert pl.read_parquet(out).height == pairs.height


@pytest.mark.parametrize("name", ["speakers.csv", "speakers.parquet"])
def test_a_file_that_holds_no_scores_is_never_replaced(pairs, embedded, tmp_path, name):
    out, people = tmp_path / name, pl.DataFrame({"speaker": ["s1"], "gender": ["f"]})
    (people.write_csv if name.endswith("csv") else people.write_parquet)(out)
    before = out.read_bytes()
    for overwrite in (True, False):
        with pytest.raises(
            ConfigError, match="does not contain scores written by Parivox; name another"
        ):
            score(pairs, embeddings=embedded, out=out, overwrite=overwrite)
    assert out.read_bytes() == before


def test_a_folder_of_someone_elses_is_not_removed(pairs, embedded, tmp_path):
    (tmp_path / "s.parquet.parts").mkdir()
    (tmp_path / "s.parquet.parts" / "thesis.tex").write_text("mine")
    with pytest.raises(ConfigError, match="contains other files"):
        score(pairs, embeddings=embedded, out=tmp_path / "s.parquet")
    assert (tmp_path / "s.parquet.parts" / "thesis.tex").read_text() == "mine"


@pytest.mark.slow
def test_memory_depends_on_the_chunk_and_not_on_the_list(embedded, tmp_path):
    import tracemalloc

    ids = embedded.ids
    peaks = []
    for count in (1 << 19, 1 << 21):
        draw = np.random.default_rng(1)
        frame = pl.DataFrame(
            {s: ids.gather(draw.integers(0, 60, count, dtype=np.uint32)) for s in ("enrol", "test")}
        )
        frame.write_parquet(tmp_path / "trials.parquet", row_group_size=1 << 18)
        tracemalloc.start()
        score(
            str(tmp_path / "trials.parquet"), embeddings=embedded, out=tmp_path / f"{count}.parquet"
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


@pytest.mark.slow
def test_an_utterance_that_is_there_twice_is_refused(pairs, embedded, scored, tmp_path):
    store = tmp_path / "store"
    store.mkdir()
    ids = pl.concat([embedded.ids, embedded.ids[:1]])
    table = pl.DataFrame({"utterance": ids, "status": "ok", "row": range(61)})
    table.write_parquet(store / "recordings.parquet")
    np.save(store / "embeddings.npy", np.ones((61, 1, 2), "f4"))
    about = {"version": 1, "system": {"name": "one"}, "options": {}, "files": {}}
    (store / "store.json").write_text(json.dumps(about))
    with pytest.raises(DataError, match=r"1 of 61 recordings \('s00/0'\) occur twice"):
        scored(pairs, store)


@pytest.mark.slow
def test_a_full_disk_is_a_sentence_and_what_was_scored_is_kept(
    pairs, embedded, tmp_path, monkeypatch
):
    monkeypatch.setattr(run, "CHUNK", 64)
    chunks = lists.ListToScore.chunks
    monkeypatch.setattr(lists.ListToScore, "chunks", lambda self: chunks(self, 64))
    scoring_run = score(pairs, embeddings=embedded, out=tmp_path / "whole.parquet")
    write = pl.DataFrame.write_parquet
    written = []

    def full(frame, path, **options):
        if len(written) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(path)
        write(frame, path, **options)

    out = tmp_path / "s.parquet"
    with monkeypatch.context() as disk:
        disk.setattr(pl.DataFrame, "write_parquet", full)
        with pytest.raises(ConfigError, match=r"No space left on device.*goes on from there"):
            score(pairs, embeddings=embedded, out=out)
    assert not out.exists()
    assert len(list((tmp_path / "s.parquet.parts").glob("0*.parquet"))) == 3
    score(pairs, embeddings=embedded, out=out)
    assert digest(out) == digest(scoring_run.out)


def test_two_runs_do_not_make_one_file(pairs, embedded, tmp_path):
    out = tmp_path / "s.parquet"
    messages = []

    def meanwhile(progress):
        if progress.stage.startswith("preparing") and not messages:
            messages.append(progress)
            with pytest.raises(DataError, match="another run is writing this file; wait until it"):
                score(pairs[::-1], embeddings=embedded, out=out)

    score(pairs, embeddings=embedded, out=out, progress=meanwhile)
    assert len(messages) == 1
    score(pairs, embeddings=embedded, out=tmp_path / "alone.parquet")
    assert digest(out) == digest(tmp_path / "alone.parquet")
    score(pairs[::-1], embeddings=embedded, out=out, overwrite=True)  # once it is let go


def test_what_is_read_is_not_replaced(pairs, embedded, tmp_path):
    ids = embedded.ids.to_list()
    listed, models, folder = tmp_path / "t.csv", tmp_path / "m.csv", tmp_path / "e"
    pairs.write_csv(listed)
    pl.DataFrame({"model": ids, "recording": ids}).write_csv(models)
    folder.mkdir()
    for recording_id, vector in zip(ids, embedded.values, strict=True):
        (folder / recording_id).parent.mkdir(exist_ok=True)
        np.save(folder / f"{recording_id}.npy", vector[0])
    (tmp_path / "link").symlink_to(listed)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for out, role in (
        (listed, "the list"),
        (tmp_path / "link", "the list"),
        (models, "the models"),
        (folder / f"{ids[0]}.npy", "the embeddings"),
    ):
        with pytest.raises(ConfigError, match=f"would replace {role}, which is an input"):
            score(listed, embeddings=folder, models=models, out=out, overwrite=True)
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before
    for _ in range(2):  # scores may lie in the folder of the embeddings
        score(listed, embeddings=folder, out=folder / "scores.parquet", overwrite=True)


@pytest.mark.parametrize(
    "options",
    [
        {"as_norm": "cohort", "top": 1},
        {"as_norm": "cohort", "top": 99},
        {"s_norm": "one"},
        {"scoring": "ecapa-published"},
    ],
)
def test_options_that_are_refused_leave_nothing(options, pairs, embedded, cohort, tmp_path):
    small_cohort = tmp_path / "one.txt"
    small_cohort.write_text(cohort.read_text().split()[0] + "\n")
    options = {
        key: {"cohort": cohort, "one": small_cohort}.get(value, value)
        for key, value in options.items()
    }
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ConfigError, match=r"top|give 2 or more|give scoring='cosine'"):
        score(pairs, embeddings=embedded, out=tmp_path / "s.parquet", **options)
    assert sorted(tmp_path.iterdir()) == before


def test_vectors_that_are_refused_leave_nothing(pairs, embedded, tmp_path):
    zero = dataclasses.replace(embedded, values=np.zeros_like(embedded.values))
    with pytest.raises(DataError, match="vectors of zeros"):
        score(pairs, embeddings=zero, out=tmp_path / "s.parquet")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_disk_that_is_full_before_the_first_score_is_a_sentence(embedded, tmp_path):
    """As a process, since a full disk under a map of memory kills it without a word."""
    ids = [f"u{i}" for i in range(4000)]
    np.savez(tmp_path / "e.npz", ids=ids, vectors=np.ones((len(ids), 256), np.float32))
    pl.DataFrame({"enrol": ids, "test": ids[::-1]}).write_csv(tmp_path / "t.csv")
    script = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n"
        "from parivox.scoring.run import score\n"
        "score('t.csv', embeddings='e.npz', out='s.parquet')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(pv.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "ConfigError: out s.parquet: cannot be written (File too large)" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e.npz", "t.csv"]
