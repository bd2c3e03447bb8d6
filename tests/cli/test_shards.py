"""``parivox shards``: plan, run as an array, merge."""

import json

import pytest


@pytest.fixture
def shards(files, parivox, tmp_path):
    """The command, on a plan of three parts."""

    def run(command, *words):
        return parivox("shards", command, *words, cwd=tmp_path)

    scores, people = files / "scores.csv", files / "speakers.csv"
    words = ["--speakers", people, "--by", "gender", "--replicates", "50", "--shards", "3"]
    done = run("plan", f"S={scores}", *words, "--out", "run")
    assert done.stdout.splitlines() == [
        "run plans 435 rows of 1 file in 3 shards.",
        "Run them: parivox shards run run --workers N, or --shard 1/3 to 3/3.",
    ]
    return run


@pytest.mark.slow
def test_an_array_is_run_twice_and_merged(shards, files, parivox, tmp_path):
    for i in range(2):
        for number in (1, 2, 3):
            assert shards("run", "run", "--shard", f"{number}/3").returncode == 0
        done = shards("merge", "run", "--out", "audit")
        assert done.returncode == 0, done.stderr
        if i == 0:
            assert done.stdout.splitlines() == [
                "The thresholds are found on the counts of all shards.",
                "Run the array again, for the second pass, then merge run again.",
            ]
            assert not (tmp_path / "audit").exists()
    assert "435 trials, 6 speakers, 1 system (S)" in done.stdout
    completed = parivox(
        "audit", f"S={files / 'scores.csv'}", "--speakers", files / "speakers.csv",
        "--by", "gender", "--replicates", "50", "--out", "whole", cwd=tmp_path,
    )  # fmt: skip
    assert completed.returncode == 0
    for name in ("groups.csv", "verdicts.csv", "bias.csv", "det.parquet"):
        whole_file, merged_file = (tmp_path / folder / name for folder in ("whole", "audit"))
        assert whole_file.read_bytes() == merged_file.read_bytes(), name


@pytest.mark.slow
def test_all_parts_are_run_at_once(shards, tmp_path):
    done = shards("run", "run")
    assert done.stdout == "All shards are done: parivox shards merge run --out AUDIT.\n"
    records = sorted(tmp_path.glob("run/*/shard.json"))
    assert [len(json.loads(path.read_text())["files"]) for path in records] == [2, 2, 2]


@pytest.mark.slow
@pytest.mark.parametrize("is_pattern", [False, True])
def test_twelve_files_in_four_parts_have_the_bytes_of_one_audit(
    files, parivox, tmp_path, is_pattern
):
    header, *rows = (files / "scores.csv").read_text().splitlines()
    names = [f"part-{i:02d}.csv" for i in range(12)]
    for i, name in enumerate(names):
        (tmp_path / name).write_text("\n".join([header, *rows[i::12], ""]))
    words = ["--speakers", files / "speakers.csv", "--by", "gender", "--replicates", "50"]

    def run(*command):
        done = parivox(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    sources = ["part-*.csv"] if is_pattern else names
    planned = run("shards", "plan", *sources, *words, "--shards", "4", "--out", "run")
    assert planned.startswith("run plans 435 rows of 12 files in 4 shards.")
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())
    planned_files = [[path.rpartition("/")[2] for path, _, _ in shard] for shard in plan["shards"]]
    assert planned_files == [names[:3], names[3:6], names[6:9], names[9:]]
    run("shards", "run", "run")
    run("shards", "merge", "run", "--out", "merged")
    run("audit", f"{plan['system']}=part-*.csv", *words, "--out", "whole")
    tables = sorted(
        path.name
        for path in (tmp_path / "whole").iterdir()
        if path.suffix in {".csv", ".parquet"} and path.name != "pairing.parquet"
    )
    assert len(tables) > 10
    for name in tables:
        merged_file, whole_file = (tmp_path / folder / name for folder in ("merged", "whole"))
        assert merged_file.read_bytes() == whole_file.read_bytes(), name


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("run", "run", "--shard", "1/4"),
            "--shard 1/4: the plan has 3 shards, not 4; give 1/3 to",
        ),
        (("run", "nowhere"), "nowhere: contains no plan; create a plan with parivox shards plan"),
        (("merge", "run", "--out", "a"), "are missing (1, 2, 3); run these shards again"),
        (("merge", "run", "--out", "-"), "--out -: standard output is not a folder"),
        (("run", "run", "--workers", "0"), "--workers is 0"),
    ],
)
def test_what_is_wrong_is_a_sentence(shards, words, message):
    done = shards(*words)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
