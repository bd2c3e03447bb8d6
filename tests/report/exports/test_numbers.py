"""Numbers of an audit as the tools that keep those of models read them."""

import json
import math
import os
import subprocess
import sys
import warnings

import pytest

import parivox as pv
from parivox.report.exports import metrics_by_name


@pytest.fixture(scope="module")
def flat(odd, tmp_path_factory):
    file = tmp_path_factory.mktemp("numbers") / "metrics.json"
    pv.write_tables(odd, file)
    pv.write_tables(odd, file)  # its own file may be replaced
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_every_number_of_every_table_has_a_name_of_its_own(odd, flat):
    assert len(metrics_by_name(odd)) == len(odd.groups) + len(odd.meta)
    numbers = [
        row["value"]
        for row in (*odd.groups.rows(), *odd.meta.rows())
        if row["value"] is not None and math.isfinite(row["value"])
    ]
    ends = tuple(metrics_by_name(odd))
    assert sorted(flat[f"{name}/value"] for name in ends if f"{name}/value" in flat) == sorted(
        numbers
    )
    missing = {name for name in ends if f"{name}/value" not in flat}
    assert missing
    assert all(flat[f"{name}/reason"] for name in missing)


def test_a_rate_has_its_interval_counts_and_verdict(odd, flat):
    conditions = {"system": "C", "grouping": "sex", "group": "f", "operating_point": "fpr=0.05"}
    (row,) = odd.groups.subset(**conditions, metric="fnr").rows()
    judged = odd.verdicts.subset(**conditions, metric="fnr").rows()[0]
    name = "C/sex/f/fpr=0.05/fnr"
    assert flat[f"{name}/value"] == row["value"] == row["errors"] / row["trials"]
    for column in ("low", "high", "errors", "trials", "speakers"):
        assert flat[f"{name}/{column}"] == row[column]
    assert flat[f"{name}/verdict"] == judged["verdict"]
    assert flat[f"{name}/ratio"] == judged["ratio"]
    assert flat[f"{name}/ratio_low"] == judged["low"]


@pytest.mark.slow
def test_a_model_card_is_read_by_the_hub_and_has_the_same_numbers(optional, tmp_path):
    card_of = optional("huggingface_hub").ModelCard
    audit = pv.audit(odd_trials(), by=["sex"], speakers=odd_people(), operating_points=["fpr=0.05"])
    for name in ("card.yaml", "card.md"):
        pv.write_tables(audit, tmp_path / name)
    index, section = ((tmp_path / name).read_text() for name in ("card.yaml", "card.md"))
    card = card_of(f"---\n{index}---\n{section}", ignore_metadata_errors=False)
    evaluations = {evaluation.metric_name: evaluation for evaluation in card.data.eval_results}
    (row,) = audit.groups.subset(grouping="sex", group="f", metric="fnr").rows()
    fnr_evaluation = evaluations["FNR of sex=f at fpr=0.05"]
    assert fnr_evaluation.metric_value == row["value"]
    assert fnr_evaluation.metric_args["errors"] == row["errors"]
    assert fnr_evaluation.metric_args["verdict"]
    assert fnr_evaluation.task_type == "speaker-verification"
    assert len(evaluations) == 8
    again = card_of(str(card)).data
    assert {audit.metric_name: audit.metric_value for audit in again.eval_results} == {
        name: audit.metric_value for name, audit in evaluations.items()
    }
    assert "## Error rates by group" in card.text


def odd_trials():
    ids = [f"s{i}/{k}" for i in range(12) for k in range(3)]
    pairs = [(enrol_id, test_id) for i, enrol_id in enumerate(ids) for test_id in ids[i + 1 :]]
    score = [
        math.sin(37 * i) + 3 * (enrol_id.split("/")[0] == test_id.split("/")[0])
        for i, (enrol_id, test_id) in enumerate(pairs)
    ]
    return {"enrol": [a for a, _ in pairs], "test": [b for _, b in pairs], "score": score}


def odd_people():
    return {"id": [f"s{i}" for i in range(12)], "sex": ["f", "m"] * 6}


@pytest.mark.slow
def test_mlflow_keeps_every_number_and_the_verdicts(odd, tmp_path, monkeypatch):
    pytest.importorskip("mlflow")  # of the extra `exports`; .ci/release has it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what MLflow plans for folders
        import mlflow

        tracking_uri = (tmp_path / "mlruns").as_uri()
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        run = odd.to_mlflow(tracking_uri=tracking_uri, experiment="audits", run_name="odd")
        client = mlflow.MlflowClient(tracking_uri)
        logged_run = client.get_run(run)
        artefact = next((tmp_path / "mlruns").rglob("parivox.json"))
    assert logged_run.info.status == "FINISHED"
    assert logged_run.info.run_name == "odd"
    (row,) = odd.groups.subset(
        system="C", grouping="sex", group="f", metric="fnr", operating_point="fpr=0.05"
    ).rows()
    name = "C/sex/f/fpr_0.05/fnr"
    assert logged_run.data.metrics[f"{name}/value"] == row["value"]
    assert logged_run.data.metrics[f"{name}/errors"] == row["errors"]
    assert logged_run.data.tags[f"{name}/verdict"]
    metric_rows = metrics_by_name(odd).values()
    count = sum(
        not isinstance(cell, str) for metric_row in metric_rows for cell in metric_row.values()
    )
    assert len(logged_run.data.metrics) == count
    assert len(json.loads(artefact.read_text(encoding="utf-8"))) > count


@pytest.mark.slow
def test_wandb_keeps_every_kind_of_number_in_the_summary_of_a_run(flat, tmp_path):
    wandb = pytest.importorskip("wandb")  # .ci/release has it
    settings = wandb.Settings(console="off", silent=True)
    with wandb.init(project="audits", mode="offline", dir=tmp_path, settings=settings) as run:
        run.summary.update(flat)
        name = "C/sex/f/fpr=0.05/fnr"
        keys = [key for key in flat if key.startswith(f"{name}/")]
        assert {key: run.summary[key] for key in keys} == {key: flat[key] for key in keys}
        assert f"{name}/verdict" in keys


@pytest.mark.slow
def test_dvc_shows_the_file_as_it_is(odd, flat, tmp_path):
    pytest.importorskip("dvc")  # .ci/release has it
    pv.write_tables(odd, tmp_path / "metrics.json")
    (tmp_path / "dvc.yaml").write_text("metrics: [metrics.json]\n", encoding="utf-8")
    for command in (["init", "--no-scm", "--quiet"], ["metrics", "show", "--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *command],
            cwd=tmp_path,
            env={**os.environ, "DVC_NO_ANALYTICS": "1"},
            check=True,
            capture_output=True,
            text=True,
        )
    (shown,) = json.loads(done.stdout).values()
    assert shown["data"]["metrics.json"]["data"] == flat
