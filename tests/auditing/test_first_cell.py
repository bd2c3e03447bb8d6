"""The first cell of somebody who works in Python: any table goes in, a summary comes out."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import parivox as pv

N_SPEAKERS = 12


class CapsuleOnly:
    """A table that has the Arrow PyCapsule interface and nothing else."""

    def __init__(self, frame):
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self._frame.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def scores():
    draw = np.random.default_rng(4)
    speaker = np.repeat(np.arange(N_SPEAKERS), 2)
    enrol, test = np.triu_indices(speaker.size, 1)
    is_target = speaker[enrol] == speaker[test]
    names = np.array([f"s{number:02}/{i % 2}" for i, number in enumerate(speaker)])
    return pd.DataFrame(
        {
            "enrol": names[enrol],
            "test": names[test],
            "score": draw.normal(3.0 * is_target, 1).round(3),
            "label": is_target.astype(int),
        }
    )


@pytest.fixture(scope="module")
def speakers():
    ids = [f"s{number:02}" for number in range(N_SPEAKERS)]
    return pd.DataFrame({"speaker": ids, "gender": ["f", "m"] * (N_SPEAKERS // 2)})


@pytest.fixture(scope="module")
def small(scores, speakers):
    return pv.audit(scores, speakers, by="gender", operating_points="fpr=0.05")


TABLES = {
    "pandas": lambda frame: frame,
    "Polars": pl.DataFrame,
    "lazy Polars": lambda frame: pl.LazyFrame(pl.DataFrame(frame)),
    "Arrow": lambda frame: pl.DataFrame(frame).to_arrow(),
    "Arrow capsule": lambda frame: CapsuleOnly(pl.DataFrame(frame)),
    "narwhals": nw.from_native,
    "lazy narwhals": lambda frame: nw.from_native(pl.DataFrame(frame).lazy()),
    "arrays by name": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "structured array": lambda frame: frame.to_records(index=False),
    "rows": lambda frame: frame.to_dict("records"),
    "index": lambda frame: frame.set_index(frame.columns[0]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TABLES)
def test_any_table_goes_in_by_position(kind, scores, speakers, small):
    as_table = TABLES[kind]
    audit = pv.audit(as_table(scores), as_table(speakers), by="gender", operating_points="fpr=0.05")
    assert audit.to_json() == small.to_json()


SPEAKER_MAPPINGS = {
    "attributes by speaker": lambda rows: {row.pop("speaker"): row for row in rows},
    "speakers by attribute": lambda rows: {"gender": {r["speaker"]: r["gender"] for r in rows}},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPEAKER_MAPPINGS)
def test_speakers_may_be_a_mapping_as_in_json(kind, scores, speakers, small):
    mapping = SPEAKER_MAPPINGS[kind](speakers.to_dict("records"))
    audit = pv.audit(scores, mapping, by="gender", operating_points="fpr=0.05")
    assert audit.to_json() == small.to_json()


def test_speakers_may_be_a_mapping_to_the_one_attribute_known(scores, speakers):
    mapping = dict(zip(speakers.speaker, speakers.gender, strict=True))
    audit = pv.audit(scores, mapping, intervals=False)
    assert {*audit.groups["grouping"]} == {"value", "all"}


@pytest.mark.parametrize("kind", ["Arrow capsule", "lazy narwhals", "structured array"])
def test_systems_by_name_may_be_any_table(kind, scores, speakers):
    systems = {"A": TABLES[kind](scores), "B": scores.assign(score=scores.score**3)}
    audit = pv.audit(systems, speakers, by="gender", intervals=False)
    assert [source["system"] for source in audit.record["inputs"]] == ["A", "B"]


@pytest.mark.parametrize(
    "without_ids",
    [
        lambda scores: scores.score.to_numpy(),
        lambda scores: scores.score,
        lambda scores: scores[["score", "label"]],
        lambda scores: {"score": scores.score.to_numpy(), "label": scores.label.to_numpy()},
    ],
)
def test_scores_without_ids_are_referred_to_metrics(without_ids, scores, speakers):
    with pytest.raises(pv.DataError, match="scores and labels without ids"):
        pv.audit(without_ids(scores), speakers, by="gender")


def test_an_array_is_no_table_of_speakers(scores):
    with pytest.raises(
        pv.DataError, match=r"speakers: an array of type ndarray has no column names"
    ):
        pv.audit(scores, np.array(["f", "m"]), by="gender")


def test_an_audit_is_printed_as_its_summary_and_represented_in_one_line(small):
    assert repr(small) == "<Audit of scores by gender: 276 trials>"
    assert str(small) == small.summary()
    first_line, *_, last_line = small.summary().splitlines()
    assert first_line.startswith("276 trials, 12 speakers, 1 system (scores).")
    assert last_line
    assert "-v" not in small.summary()


@pytest.mark.slow
def test_other_results_are_printed_as_the_terminal_has_them(scores, small):
    policy = {
        "parivox-policy": 1,
        "conditions": [{"name": "FNR", "rate": "fnr", "at-most": "5%"}],
    }
    gate = pv.gate(small, policy)
    assert str(gate).startswith("Gate: ")
    assert "EER" in str(pv.metrics(scores.score, scores.label))
    assert "Aim: to detect" in str(pv.plan(small))
    assert ">Gate: " in gate._repr_html_()


def test_a_gate_exports_what_the_command_writes(small):
    policy = {
        "parivox-policy": 1,
        "conditions": [{"name": "FNR", "rate": "fnr", "at-most": "5%"}],
    }
    gate = pv.gate(small, policy)
    assert gate.to_junit().startswith('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites')
    assert "| outcome | condition | result |" in gate.to_markdown()
    assert gate.to_dict()["outcome"] == gate.outcome
    assert [row["group"] for row in gate.to_dict()["groups"]] == ["f", "m"]


@pytest.mark.slow
def test_an_audit_is_saved_loaded_and_reported_by_its_methods(small, tmp_path, optional):
    optional("vl_convert")
    small.save(tmp_path / "audit")
    assert pv.load(tmp_path / "audit").to_json() == small.to_json()
    small.report(tmp_path / "report.html", title="Release 3")
    assert "<title>Release 3" in (tmp_path / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_old_names_work_and_name_the_new_ones(small, tmp_path, optional):
    optional("vl_convert")
    with pytest.warns(DeprecationWarning, match=r"Audit\.write is save since release 0\.3"):
        small.write(tmp_path / "audit")
    with pytest.warns(DeprecationWarning, match=r"pv\.write_page is audit\.report"):
        pv.write_page(small, tmp_path / "report.html")
    with pytest.warns(DeprecationWarning, match=r"Table\.where is filter since release 0\.3"):
        assert len(small.groups.where(group="nosuch")) == 0
    # without a server or its library, which is said in a sentence; the warning comes first
    with (
        pytest.warns(DeprecationWarning, match=r"pv\.log_mlflow is audit\.to_mlflow") as warned,
        pytest.raises(pv.ParivoxError),
    ):
        pv.log_mlflow(small, tracking_uri=str(tmp_path / "nosuch" / "a\0b"))
    assert {warning.filename for warning in warned} == {__file__}
    assert not {"write_page", "log_mlflow"} & {*dir(pv)}
