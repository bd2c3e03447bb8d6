"""The memory that a merge is said to take: estimated, checked, and asked of schedulers."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.cli import main
from parivox.errors import DataError
from parivox.runtime import cgroup
from parivox.shards import merge, plan, run
from parivox.share import shard_memory
from parivox.share.shard_plan import read_plan

SOURCES = Path(pv.__file__).parents[1]
ROOT = Path(__file__).parents[2]
# in a process of its own, as a child's peak is at least that of the process that starts it
MEASURED = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "parivox", *sys.argv[1:], "--quiet"], check=True, stdout=2)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
"""


def write_lists(folder, n_trials, n_speakers):
    """Trials of random pairs of speakers, who have two attributes."""
    draw = np.random.default_rng(7)
    enrol = draw.integers(n_speakers, size=n_trials)
    test = np.where(draw.random(n_trials) < 0.1, enrol, draw.integers(n_speakers, size=n_trials))
    is_target = enrol == test
    pl.DataFrame(
        {
            "enrol": [f"s{i:05d}/e{k}" for k, i in enumerate(enrol.tolist())],
            "test": [f"s{i:05d}/t{k}" for k, i in enumerate(test.tolist())],
            "score": np.round(draw.normal(is_target * 2.5), 4),
            "label": is_target.astype(int),
        }
    ).write_parquet(folder / "trials.parquet")
    speakers = {
        "speaker": [f"s{i:05d}" for i in range(n_speakers)],
        "gender": ["fm"[i % 2] for i in range(n_speakers)],
        "nation": [f"n{i % 7}" for i in range(n_speakers)],
    }
    pl.DataFrame(speakers).write_csv(folder / "s.csv")


def planned(folder, n_shards=2, **options):
    options = {"by": ["gender", "nation"], "speakers": str(folder / "s.csv"), **options}
    return plan(str(folder / "trials.parquet"), out=folder / "run", shards=n_shards, **options)


@pytest.fixture
def finished(tmp_path):
    """A plan whose shards have been run."""
    write_lists(tmp_path, 3_000, 20)
    run(planned(tmp_path, replicates=50).folder)
    return tmp_path / "run"


def measured_peak(words):
    """Return the largest resident bytes of a command."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCES)},
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize(("n_trials", "n_speakers"), [(100_000, 100), (1_000_000, 2_000)])
def test_the_estimate_is_the_measured_peak_up_to_twice_of_it(n_trials, n_speakers, tmp_path):
    write_lists(tmp_path, n_trials, n_speakers)
    folder = planned(tmp_path, n_shards=4).folder
    run(folder)
    size = shard_memory.merge_size(read_plan(folder), str(folder / "trials.counts"))
    assert size.n_trials == n_trials
    peak = measured_peak(["shards", "merge", str(folder), "--out", str(tmp_path / "audit")])
    assert peak <= size.n_bytes <= 2 * peak, (peak, size)
    # before any shard has been run, the groups of trials are unknown
    assert size.n_bytes <= shard_memory.planned_merge_bytes(read_plan(folder))


def test_records_have_the_pairs_of_speakers(finished):
    records = [json.loads(path.read_text()) for path in sorted(finished.glob("*/shard.json"))]
    all_trials = pl.read_parquet(finished.parent / "trials.parquet")
    for record, rows in zip(records, (all_trials[:1500], all_trials[1500:]), strict=True):
        sides = [name.str.slice(0, 6) for name in rows.filter(label=0)["enrol", "test"]]
        pairs = {frozenset(pair) for pair in zip(*sides, strict=True)}
        assert record["pairs"] == len(pairs)
        assert 0 < record["pairs"] <= record["rows"] <= 1500


def test_score_counts_that_are_made_again_leave_the_numbers_of_the_speaker_counts(finished):
    path = next(finished.glob("00002-*/shard.json"))
    record = json.loads(path.read_text())
    (path.parent / "trials.counts").unlink()
    run(finished)
    assert (path.parent / "trials.counts").exists()
    assert json.loads(path.read_text()) == record
    assert record["rows"] > 0 < record["pairs"]


@pytest.mark.slow
def test_a_record_without_numbers_may_have_as_many_pairs_as_rows(finished):
    plan_read, counts = read_plan(finished), str(finished / "trials.counts")
    size = shard_memory.merge_size(plan_read, counts)
    for path in finished.glob("*/shard.json"):
        record = json.loads(path.read_text())
        del record["rows"], record["pairs"]
        path.write_text(json.dumps(record))
    size_of_old = shard_memory.merge_size(plan_read, counts)
    assert size_of_old.n_rows == 3_000 > size.n_rows
    assert size_of_old.n_pairs == 210  # 20 speakers, with each other and themselves
    assert merge(finished) is not None


def test_a_merge_that_does_not_fit_is_refused_before_it_writes(
    finished, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(shard_memory, "available_bytes", lambda: 5e7)
    monkeypatch.setattr(shard_memory, "resident_bytes", lambda: 150_000_000)
    files = {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}
    with pytest.raises(DataError) as refused:
        merge(finished)
    assert re.fullmatch(
        rf"{re.escape(str(finished))}: merging takes about 0\.\d GB of memory \(\d+ pairs of "
        r"speakers\), but 0\.2 GB are available",
        refused.value.problem,
    )
    with pytest.raises(SystemExit) as ended:
        main(["shards", "merge", str(finished), "--out", str(tmp_path / "audit")])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("merging takes about") == 1
    assert not (tmp_path / "audit").exists()
    assert files == {path: path.read_bytes() for path in finished.rglob("*") if path.is_file()}


def limit_memory(folder, monkeypatch, n_bytes, n_other_bytes=0):
    """Simulate a control group of so many bytes, some of them of this and of other processes."""
    group, n_pages = folder / "groups" / "job", 50_000
    group.mkdir(parents=True, exist_ok=True)
    n_resident_bytes = n_pages * os.sysconf("SC_PAGE_SIZE")
    (folder / "cgroup").write_text("0::/job\n")
    (folder / "statm").write_text(f"90000 {n_pages} 9000 1 0 60000 0\n")
    (group / "memory.max").write_text(f"{n_bytes:.0f}\n")
    (group / "memory.current").write_text(f"{n_resident_bytes + n_other_bytes:.0f}\n")
    for name, file in (
        ("_OWN_GROUP", "cgroup"),
        ("_MOUNT", "groups"),
        ("_MEMORY", "no-meminfo"),
        ("_OWN_MEMORY", "statm"),
    ):
        monkeypatch.setattr(cgroup, name, folder / file)
    assert cgroup.resident_bytes() == n_resident_bytes


@pytest.mark.slow
def test_a_merge_fits_into_the_memory_that_its_job_asks_for(finished, tmp_path, monkeypatch):
    """Memory that the process of the merge has already is a part of what the merge takes."""
    shard_memory.write_memory_files(read_plan(finished))
    asked = int((finished / "merge-memory.txt").read_text().strip().removesuffix("M")) << 20
    planned_bytes = shard_memory.planned_merge_bytes(read_plan(finished))
    assert 1.1 * planned_bytes <= asked <= 1.1 * planned_bytes + (1 << 20)
    limit_memory(tmp_path, monkeypatch, asked)
    shard_memory.check_merge_fits(read_plan(finished), str(finished / "trials.counts"))
    assert merge(finished) is not None
    limit_memory(tmp_path, monkeypatch, asked, n_other_bytes=asked / 5)
    with pytest.raises(DataError, match="merging takes about"):
        merge(finished)


def test_resident_bytes_are_those_of_this_process(tmp_path, monkeypatch):
    if cgroup._OWN_MEMORY.exists():
        assert 10e6 < cgroup.resident_bytes() < 1e12
    monkeypatch.setattr(cgroup, "_OWN_MEMORY", tmp_path / "statm")
    assert cgroup.resident_bytes() == 0
    (tmp_path / "statm").write_text("unknown\n")
    assert cgroup.resident_bytes() == 0


@pytest.mark.slow
def test_a_merge_without_intervals_takes_neither_replicates_nor_pairs(tmp_path, monkeypatch):
    write_lists(tmp_path, 3_000, 20)
    options = {"by": ["nation"], "within": ["gender"]}
    with_intervals = shard_memory.planned_merge_bytes(planned(tmp_path, **options))
    (tmp_path / "run").rename(tmp_path / "with-intervals")
    plan_made = planned(tmp_path, intervals=False, **options)
    without_intervals = shard_memory.planned_merge_bytes(plan_made)
    # 7 nations, among all and in 2 genders: 21 cells, each of 1,000 replicates or of a few tables
    assert with_intervals - without_intervals >= 1.15 * 21 * 1e6
    run(plan_made.folder)
    plan_read, counts = read_plan(plan_made.folder), str(plan_made.folder / "trials.counts")
    size = shard_memory.merge_size(plan_read, counts)
    assert size.n_replicates == 0
    assert size.n_bytes <= without_intervals
    limit_memory(tmp_path, monkeypatch, without_intervals)
    assert merge(plan_made.folder) is not None


def test_the_estimate_without_intervals_is_the_measured_peak_up_to_twice_of_it():
    """Peaks were measured of random trials: 100 groups in 100 strata, and 40 groups in 10."""
    many_cells = shard_memory.MergeSize(60_000, 59_988, 48_038, 49_036, 10_100, 4, 0)
    assert 2.007e9 <= many_cells.n_bytes <= 2 * 2.007e9
    few_cells = shard_memory.MergeSize(20_000, 19_969, 15_174, 15_867, 440, 4, 0)
    assert 0.229e9 <= few_cells.n_bytes <= 2 * 0.229e9


@pytest.mark.slow
def test_trials_between_two_groups_count_twice_in_a_planned_merge(tmp_path):
    write_lists(tmp_path, 3_000, 20)
    both = shard_memory.planned_merge_bytes(planned(tmp_path, allocate=["both"]))
    (tmp_path / "run").rename(tmp_path / "both")
    plan_made = planned(tmp_path, allocate=["either"])
    either = shard_memory.planned_merge_bytes(plan_made)
    # once more in each of 2 groupings: 210 pairs of 44 bytes and their errors at 4 points
    assert either - both == pytest.approx(1.15 * 2 * 210 * (44 + 4 * 8), abs=1)
    run(plan_made.folder)
    size = shard_memory.merge_size(
        read_plan(plan_made.folder), str(plan_made.folder / "trials.counts")
    )
    assert size.n_bytes <= either


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "command", "option"),
    [
        ("slurm_array.sh", "sbatch", "--mem={}"),
        ("sge_array.sh", "qsub", "-l mem_free={}"),
        ("scale.md", "sbatch", "--mem={}"),
    ],
)
def test_submitted_jobs_ask_for_the_estimated_memory(script, command, option, tmp_path):
    write_lists(tmp_path, 500, 10)
    words = ["plan", str(tmp_path / "trials.parquet"), "--speakers", str(tmp_path / "s.csv")]
    assert not main(["shards", *words, "--by", "gender", "--out", str(tmp_path / "run")])
    asked = [
        (tmp_path / "run" / f"{name}-memory.txt").read_text().strip() for name in ("shard", "merge")
    ]
    assert all(re.fullmatch(r"\d{3,4}M", memory) for memory in asked)
    folder = ROOT / ("docs" if script.endswith(".md") else "examples")
    lines = re.findall(
        r"^(?:#   )?((?:\w+=)?(?:\"|\$\()?(?:sbatch|qsub|\$shard|\$merge) ?.*)$",
        (folder / script).read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    program = tmp_path / command
    program.write_text('#!/bin/sh\necho "$*" >> submitted.txt\necho 1\n')
    program.chmod(0o755)
    path = f"{tmp_path}:/usr/bin:/bin"
    subprocess.run(["bash", "-euc", "\n".join(lines)], cwd=tmp_path, check=True, env={"PATH": path})
    submitted = (tmp_path / "submitted.txt").read_text().splitlines()
    assert len(submitted) == 4
    for job, memory in zip(submitted, [*asked, *asked], strict=True):
        assert option.format(memory) in job
        assert ("shards merge" in job) == (memory == asked[1])


@pytest.mark.slow
def test_shards_that_lack_groups_are_merged(tmp_path):
    """The first one has the later half of the nations, with more cities than these."""
    write_lists(tmp_path, 4_000, 24)
    number = [f"s{i:05d}" for i in range(24)]
    pl.DataFrame(
        {
            "speaker": number,
            "nation": ["ab"[i // 12] for i in range(24)],
            "city": [f"c{i // 3}" for i in range(24)],
        }
    ).write_csv(tmp_path / "s.csv")
    frame = pl.read_parquet(tmp_path / "trials.parquet")
    is_late = (pl.col("enrol") > "s00012") & (pl.col("test") > "s00012")
    frame.sort(is_late, descending=True).write_parquet(tmp_path / "trials.parquet")
    options = {"by": ["nation", "city"], "replicates": 50}
    folder = planned(tmp_path, n_shards=5, **options).folder
    run(folder)
    merged = merge(folder)
    whole = pv.audit(str(tmp_path / "trials.parquet"), str(tmp_path / "s.csv"), **options)
    assert merged.groups.to_polars().equals(whole.groups.to_polars())
