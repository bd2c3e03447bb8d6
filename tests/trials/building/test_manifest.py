"""The manifest: what was built, and the same bytes again."""

import hashlib
import json
import os

import numpy as np
import pytest

import parivox as pv
from parivox.errors import ConfigError, DataError

BUILDERS = {
    "inclusive": {"by": "gender+nation", "per_speaker": 2, "variants": 3},
    "balanced": {"by": "nation", "speakers_per_group": 4, "utterances_per_speaker": 3},
    "cross": {"by": "nation", "per_cell": 9},
}


@pytest.fixture
def files(pool, tmp_path):
    """Tables on disk."""
    table, people = pool(5, speakers=24)
    home = tmp_path / "in"
    home.mkdir()
    (home / "u.csv").write_text("utterance\n" + "\n".join(table["utterance"]) + "\n")
    rows = zip(*people.values(), strict=True)
    text = "\n".join(",".join(row) for row in [tuple(people), *rows])
    (home / "s.csv").write_text(text + "\n")
    return home


def build(kind, files, out, **asked):
    make = getattr(pv.trials, f"build_{kind}")
    tables = {"utterances": files / "u.csv", "speakers": files / "s.csv"}
    return make(**tables, **BUILDERS[kind] | asked, out=out, seed=3)


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BUILDERS)
@pytest.mark.parametrize("form", ["voxceleb", "parquet"])
def test_a_manifest_builds_the_same_bytes_again(kind, form, files, tmp_path):
    built = build(kind, files, tmp_path / "one", format=form)
    again = pv.trials.rebuild(built.path, out=tmp_path / "two")
    assert read(tmp_path / "two") == read(tmp_path / "one")
    assert [path.name for path in again.lists] == [path.name for path in built.lists]


def test_it_tells_what_was_built(files, tmp_path):
    built = build("inclusive", files, tmp_path / "out")
    told = json.loads(built.path.read_text())
    assert told == built.manifest
    assert (told["kind"], told["seed"], told["variants"]) == ("inclusive", 3, 3)
    assert told["parivox"] == pv.__version__
    for one in told["lists"]:
        data = (tmp_path / "out" / one["file"]).read_bytes()
        assert one["sha256"] == hashlib.sha256(data).hexdigest()
        assert one["target"] + one["nontarget"] == data.count(b"\n")
    for role, name in (("utterances", "u.csv"), ("speakers", "s.csv")):
        inputs = told["inputs"][role]
        assert inputs["path"] == f"../in/{name}"
        assert inputs.keys() == {"path", "ids_sha256"}
    assert {one["id"] for one in told["check"]} >= {f"G{k}" for k in range(1, 11)}
    fails = [one["id"] for one in told["check"] if one["verdict"] == "fail"]
    assert "G2" in fails  # as anybody's check has it
    assert "speaker by speaker" in told["rows"]


@pytest.mark.slow
def test_a_manifest_with_notes_as_sentences_is_read(files, tmp_path):
    built = build("inclusive", files, tmp_path / "one")
    former = built.manifest | {"notes": ["up to --per-speaker 4 the same speakers take part"]}
    former["left_out"] = [{"group": "f+x", "reason": "fewer than 2 utterances", "speakers": 1}]
    built.path.write_text(json.dumps(former))
    again = pv.trials.rebuild(built.path)
    assert again.manifest["notes"] == built.manifest["notes"]
    assert "the same speakers take part" in str(again)
    assert pv.trials.check(built.lists[0], speakers=files / "s.csv")["design"].sentence


@pytest.mark.slow
def test_it_names_no_speaker_unless_asked(files, tmp_path):
    one = build("inclusive", files, tmp_path / "one", per_speaker=3)
    assert one.manifest["left_out"]
    assert "s0" not in one.path.read_text()
    two = build("inclusive", files, tmp_path / "two", per_speaker=3, speaker_ids=True)
    assert "s0" in two.path.read_text()


@pytest.mark.slow
def test_the_bytes_are_pinned(tmp_path):
    # whatever machine, Python and NumPy: if this changes, so do everybody's lists
    speakers = [f"s{i:02d}" for i in range(24)]
    (tmp_path / "u.csv").write_text(
        "\n".join(["utterance", *(f"{s}/{r}/{u}" for s in speakers for r in "xyz" for u in "12")])
    )
    rows = [f"{s},{'fm'[i % 2]},{'XY'[i % 4 // 2]}" for i, s in enumerate(speakers)]
    (tmp_path / "s.csv").write_text("\n".join(["speaker,gender,nation", *rows]))
    observed = {
        kind: build(kind, tmp_path, tmp_path / kind).manifest["lists"][0]["sha256"][:16]
        for kind in BUILDERS
    }
    assert observed == {
        "inclusive": "04f53fc70241ef86",
        "balanced": "fba4a486785aa84f",
        "cross": "443cccbc62aafe55",
    }


@pytest.mark.slow
def test_the_order_of_the_rows_of_the_tables_does_not_matter(files, tmp_path):
    built = build("inclusive", files, tmp_path / "one")
    for name in ("u.csv", "s.csv"):
        head, *rows = (files / name).read_text().splitlines()
        np.random.default_rng(1).shuffle(rows)
        (files / name).write_text("\n".join([head, *rows]) + "\n")
    again = pv.trials.rebuild(built.path, out=tmp_path / "two")
    assert [a.read_bytes() for a in again.lists] == [b.read_bytes() for b in built.lists]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("u.csv", "s000/r9/9\n", "does not contain the utterances"),
        ("s.csv", "s000,x,Z\n", "the lists differ .* give the same tables"),
    ],
)
def test_other_tables_are_refused(name, text, told, files, tmp_path):
    built = build("inclusive", files, tmp_path / "one")
    if name == "u.csv":
        with (files / name).open("a") as file:
            file.write(text)
    else:
        lines = (files / name).read_text().splitlines()
        (files / name).write_text("\n".join([lines[0], text.strip(), *lines[2:]]) + "\n")
    with pytest.raises(DataError, match=told):
        pv.trials.rebuild(built.path, out=tmp_path / "two")
    assert not (tmp_path / "two").exists()


def test_tables_that_moved_are_given_anew(files, tmp_path):
    built = build("balanced", files, tmp_path / "one")
    moved = files.rename(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="file not found"):
        pv.trials.rebuild(built.path, out=tmp_path / "two")
    tables = {"utterances": moved / "u.csv", "speakers": moved / "s.csv"}
    pv.trials.rebuild(built.path, out=tmp_path / "two", **tables)
    name = "balanced.txt"
    assert (tmp_path / "two" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()


def test_lists_that_come_out_different_are_not_written(files, tmp_path):
    built = build("cross", files, tmp_path / "one")
    told = json.loads(built.path.read_text())
    told["lists"][0]["sha256"] = "0" * 64
    built.path.write_text(json.dumps(told))
    with pytest.raises(DataError, match="the lists differ"):
        pv.trials.rebuild(built.path, out=tmp_path / "two")
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "other/9", "kind": "cross"}',
        '{"schema": "parivox.trials/1", "kind": "cross", "seed": 1}',
    ],
)
def test_what_is_no_manifest_is_refused(text, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(DataError, match="manifest"):
        pv.trials.rebuild(path)
    with pytest.raises(DataError, match="cannot be read"):
        pv.trials.rebuild(tmp_path / "nowhere.json")


HASH = "0" * 64


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kind": "square"}, "kind is 'square', expected inclusive or balanced or cross"),
        ({"kind": []}, r"kind is \[\], expected"),
        ({"seed": "x"}, "seed is 'x', expected a whole number"),
        ({"seed": True}, "seed is True, expected a whole number"),
        ({"id": 3}, "id is 3, expected text or null"),
        ({"grade_by": 3}, "grade_by is 3, expected a list"),
        ({"grade_by": [3]}, r"grade_by is \[3\], expected a list"),
        ({"parameters": []}, r"parameters is \[\], expected a mapping"),
        ({"parameters": None}, "parameters is None, expected a mapping"),
        ({"parameters.more": 3}, "'more' is not known"),
        ({"parameters.per_speaker": KeyError}, "lacks parameters.per_speaker"),
        ({"parameters.mix": 3}, "parameters.mix is 3, expected text or a mapping or null"),
        ({"parameters.mix": {"cat4": "1"}}, "parameters.mix is"),
        ({"parameters.target_grades": None}, "parameters.target_grades is None, expected a list"),
        ({"inputs": "u.csv"}, "inputs is 'u.csv', expected a mapping"),
        ({"inputs.utterances": KeyError}, "lacks inputs.utterances"),
        ({"inputs.speakers": "s.csv"}, "inputs.speakers is 's.csv', expected a mapping"),
        ({"inputs.models": {}}, "'models' is not known"),
        ({"inputs.utterances.ids_sha256": 3}, "inputs.utterances.ids_sha256 is 3, expected text"),
        ({"inputs.utterances.path": 3}, "inputs.utterances.path is 3, expected text or null"),
        ({"lists": "inclusive.txt"}, "lists is 'inclusive.txt', expected a list"),
        ({"lists": []}, "variants is 3, but there are 0"),
        ({"variants": 2}, "variants is 2, but there are 3"),
        ({"lists": [{"sha256": HASH}, {}, {}]}, r"lacks lists\[1\]\.sha256"),
        ({"lists": [3, 3, 3]}, r"lists\[0\] is 3, expected a mapping"),
        ({"seed": 4}, "the lists differ .* give the same tables with"),
        ({"parivox": "0.0.0", "seed": 4}, "the lists differ .* install Parivox 0.0.0"),
    ],
)
def test_a_manifest_that_was_changed_is_refused_in_a_sentence(change, told, files, tmp_path):
    built = build("inclusive", files, tmp_path / "one")
    held = json.loads(built.path.read_text())
    for name, value in change.items():
        *where, last = name.split(".")
        part = held
        for one in where:
            part = part[one]
        if value is KeyError:
            del part[last]
        else:
            part[last] = value
    built.path.write_text(json.dumps(held))
    with pytest.raises(DataError, match=told):
        pv.trials.rebuild(built.path, out=tmp_path / "two")
    assert not (tmp_path / "two").exists()


@pytest.mark.slow
def test_tables_in_memory_must_be_given_again(pool, tmp_path):
    table, people = pool(5, speakers=24)
    asked = BUILDERS["inclusive"] | {"out": tmp_path / "one"}
    built = pv.trials.build_inclusive(table, speakers=people, **asked)
    with pytest.raises(ConfigError, match="utterances was not a file"):
        pv.trials.rebuild(built.path)
    again = pv.trials.rebuild(built.path, utterances=table, speakers=people)
    assert again.path is None
    assert [len(one) for one in again.lists] == [
        one["target"] + one["nontarget"] for one in built.manifest["lists"]
    ]


@pytest.mark.slow
def test_speakers_may_be_told_by_the_table_of_utterances(tmp_path):
    rows = [f"{s}/{r}/1,{'fm'[i % 2]}" for i, s in enumerate("abcdef") for r in "wxyz"]
    (tmp_path / "u.csv").write_text("\n".join(["utterance,sex", *rows]))
    built = pv.trials.build_inclusive(
        tmp_path / "u.csv", by="sex", per_speaker=3, out=tmp_path / "one"
    )
    again = pv.trials.rebuild(built.path, out=tmp_path / "two")
    assert again.lists[0].read_bytes() == built.lists[0].read_bytes()


def test_nothing_is_written_over_and_nothing_is_left_of_what_failed(files, tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "inclusive-2.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"inclusive-2\.txt already exists"):
        build("inclusive", files, out)
    assert read(out) == {"inclusive-2.txt": b"mine"}
    monkeypatch.setattr("parivox.trials.building.check", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build("inclusive", files, tmp_path / "new" / "folder")
    assert not (tmp_path / "new").exists()
    (out / "inclusive-2.txt").unlink()
    with pytest.raises(ZeroDivisionError):
        build("inclusive", files, out)
    assert os.listdir(out) == []  # noqa: PTH208 - nothing at all


def test_a_folder_that_cannot_be_made_is_named(files, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="name another folder"):
        build("cross", files, tmp_path / "file" / "out")


@pytest.mark.slow
def test_build_check_and_audit_judge_one_list_alike(files, tmp_path):
    built = build("inclusive", files, tmp_path / "out", variants=2, grade_by=["gender", "nation"])
    fails = [one["id"] for one in built.manifest["check"] if one["verdict"] == "fail"]
    assert f"The list fails {', '.join(fails)}. Run parivox trials check for details." in built.told
    asked = {"speakers": files / "s.csv", "utterances": files / "u.csv"}
    by = built.manifest["by"]
    observed = pv.trials.check(built.lists[0], **asked, by=by)
    assert [one.id for one in observed.failed] == fails
    # what its design fixed is known without being said again
    assert (observed["G5"].verdict, observed["G6"].statistic) == ("pass", 2)
    assert "design" in [one.id for one in observed.findings]
    rows = [line.split() for line in built.lists[0].read_text().splitlines()]
    columns = ("label", "enrol", "test")
    scores = {name: [row[at] for row in rows] for at, name in enumerate(columns)}
    scores["score"] = [float(row[0]) + i / 1e6 for i, row in enumerate(rows)]
    audit = pv.audit(scores, trials=built.lists[0], **asked, by=by, intervals=False)
    assert [one["id"] for one in audit.record["list_checks"]["scores"]] == fails


def test_of_a_list_that_was_changed_nothing_is_fixed(files, tmp_path):
    built = build("inclusive", files, tmp_path / "out", variants=1, grade_by=["gender", "nation"])
    path = built.lists[0]
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    observed = pv.trials.check(path, speakers=files / "s.csv")
    assert observed["G5"].verdict == "not checked"
