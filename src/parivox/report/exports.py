"""Metrics of an audit for tools that keep those of models: flat JSON, model cards, MLflow.

Each metric has a name, ``SYSTEM/GROUPING/GROUP/POINT/METRIC``; below it are its ``value``,
interval, counts, ratio and verdict: ``.../fnr/low``. A metric that is not defined has a ``reason``
instead of a value.
"""

from __future__ import annotations

import json
import math
import re
import time
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.renamed import renamed_function
from parivox.report.audit_queries import system_label
from parivox.report.catalogue import reason_text

if TYPE_CHECKING:
    from parivox.auditing import Audit
    from parivox.report.words import Row

    Value = float | int | str

VERSION = "parivox/version"
_RATE_FIELDS = ("low", "high", "errors", "trials", "speakers")
_RATIO_FIELDS = ("ratio", "low", "high", "p_holm", "verdict", "because_of")
_MEASURE_FIELDS = ("low", "high", "floor_mean", "floor_95", "p", "groups")
_SCOPE_COLUMNS = ("system", "list", "within", "grouping", "group", "allocation", "operating_point")
_TASK = {"type": "speaker-verification", "name": "Speaker verification"}
_MAX_METRICS_PER_BATCH = 1_000
"""Metrics, and a tenth of them tags, that MLflow takes at once."""
_DISALLOWED_CHARACTERS = re.compile(r"[^\w\-. :/]", re.ASCII)
_MAX_PART_LENGTH = 26
"""Letters of a part of a name: MLflow allows 250 for the whole name."""


def metrics_by_name(audit: Audit) -> dict[str, dict[str, Value]]:
    """Return every base metric of every group and every meta-measure, by name.

    Each has ``value`` or ``reason``, and ``low`` and ``high`` of its interval. Groups have counts
    and, for rates, ``ratio``, ``ratio_low``, ``ratio_high``, ``p_holm`` and ``verdict`` against the
    first reference, and ``because_of`` if a group is not shown to be better without the worst of
    the others; measures have their noise floor.
    """
    verdict_key = (*_SCOPE_COLUMNS, "metric")
    verdict_of_scope: dict[tuple[Any, ...], Row] = {}
    for row in audit.verdicts.rows():
        verdict_of_scope.setdefault(tuple(row[name] for name in verdict_key), row)
    metrics: dict[str, dict[str, Value]] = {}
    for row in audit.groups.rows():
        metric_fields = _number_fields(row, _RATE_FIELDS)
        verdict_row = verdict_of_scope.get(tuple(row[name] for name in verdict_key))
        if verdict_row is not None:
            # low and high are taken by the interval of the rate
            ratio_names = {"low": "ratio_low", "high": "ratio_high"}
            verdict_fields = _defined_fields(verdict_row, _RATIO_FIELDS)
            metric_fields |= {
                ratio_names.get(name, name): number for name, number in verdict_fields.items()
            }
        metrics[_metric_name(row, row["metric"], row["definition"])] = metric_fields
    for row in audit.meta.rows():
        alpha = None if row["alpha"] is None else f"alpha={row['alpha']:g}"
        zero = None if row["zero"] == "none" else row["zero"]
        groups_marker = None if row["gated"] else "every group"
        name_parts = (row["metric"], row["definition"], row["measure"], alpha, zero, groups_marker)
        metrics[_metric_name(row, *name_parts)] = _number_fields(row, _MEASURE_FIELDS)
    return metrics


def metrics_json(audit: Audit) -> str:
    """Return the same as flat JSON, for W&B, DVC and whatever else reads names with numbers."""
    flat: dict[str, Value] = {VERSION: audit.record["versions"]["parivox"]}
    for name, metric_fields in metrics_by_name(audit).items():
        for field, number in metric_fields.items():
            flat[f"{name}/{field}"] = number
    return json.dumps(flat, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def model_index(audit: Audit) -> str:
    """Return FPR and FNR of every group as metadata of a model card on Hugging Face.

    This is YAML for the head of ``README.md``, between lines ``---``; each system is one model.
    """
    import yaml  # noqa: PLC0415 - takes time to load

    metrics = metrics_by_name(audit)
    models: dict[str, list[Row]] = {}
    for row in audit.groups.rows():
        metric_fields = metrics[_metric_name(row, row["metric"], row["definition"])]
        # results of a model card are values, and an undefined metric has none
        if row["metric"] not in {"fpr", "fnr"} or "value" not in metric_fields:
            continue
        args = {name: number for name, number in metric_fields.items() if name != "value"}
        conditions = ", ".join(filter(None, (row["within"], row["operating_point"])))
        group_text = "everyone" if row["grouping"] == "all" else f"{row['grouping']}={row['group']}"
        models.setdefault(system_label(row["system"], row["list"]), []).append(
            {
                "type": row["metric"],
                "value": metric_fields["value"],
                "name": f"{row['metric'].upper()} of {group_text} at {conditions}",
                "args": {"operating_point": row["operating_point"], **args},
            }
        )
    inputs_of_system = {
        system_label(inputs["system"], inputs["list"]): inputs for inputs in audit.record["inputs"]
    }
    index = [
        {
            "name": name,
            "results": [
                {
                    "task": dict(_TASK),  # not the same one, which YAML would refer to
                    "dataset": {
                        "type": "trials",
                        "name": "the audited trials",
                        "args": {
                            key: inputs_of_system[name][key] for key in ("trials", "content_sha256")
                        },
                    },
                    "metrics": rows,
                }
            ],
        }
        for name, rows in models.items()
    ]
    head = f"# Parivox {audit.record['versions']['parivox']}: parivox report --format model-index\n"
    body: str = yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True)
    return head + body


def log_audit(
    audit: Audit,
    *,
    tracking_uri: str | None = None,
    experiment: str = "Default",
    run_name: str | None = None,
) -> str:
    """Log an audit to MLflow and return the id of the run, as `Audit.to_mlflow` describes.

    Raises
    ------
    ConfigError
        If MLflow is missing, or cannot log there.
    """
    try:
        import mlflow  # noqa: PLC0415 - an optional dependency
    except ImportError as error:
        msg = "runs of MLflow need mlflow: pip install 'parivox[exports]'"
        raise ConfigError(msg) from error
    try:
        client = mlflow.MlflowClient(tracking_uri)
        active = mlflow.active_run() if tracking_uri is None else None
        if active is not None:
            run = str(active.info.run_id)
        else:
            known_experiment = client.get_experiment_by_name(experiment)
            experiment_id = (
                client.create_experiment(experiment)
                if known_experiment is None
                else known_experiment.experiment_id
            )
            run = str(client.create_run(experiment_id, run_name=run_name).info.run_id)
        _log_run(audit, client, run)
        if active is None:
            client.set_terminated(run)
    except mlflow.exceptions.MlflowException as error:
        reason = str(error).partition(". ")[0]
        msg = f"MLflow cannot log to {tracking_uri or 'the default tracking URI'} ({reason})"
        hint = "name another tracking_uri or, for a folder, set MLFLOW_ALLOW_FILE_STORE=true"
        raise ConfigError(msg, hint) from error
    return run


log_mlflow = renamed_function("pv.log_mlflow", "audit.to_mlflow", log_audit)


def _log_run(audit: Audit, client: Any, run: str) -> None:
    """Log metrics, verdicts as tags, and tables to a run, in batches that MLflow accepts."""
    from mlflow.entities import Metric, RunTag  # noqa: PLC0415 - an optional dependency

    from parivox.report.sheets.paper import markdown  # noqa: PLC0415 - what takes time to load

    time_ms, used_names = int(time.time() * 1_000), set[str]()
    mlflow_metrics, tags = [], [RunTag("parivox", audit.record["versions"]["parivox"])]
    for name, metric_fields in metrics_by_name(audit).items():
        short = _mlflow_name(name, used_names)
        for field, number in metric_fields.items():
            key = f"{short}/{field}"
            if not isinstance(number, str):
                mlflow_metrics.append(Metric(key, number, time_ms, 0))
            elif field in {"verdict", "because_of"}:
                tags.append(RunTag(key, number))
    for start in range(0, len(mlflow_metrics), _MAX_METRICS_PER_BATCH):
        client.log_batch(run, metrics=mlflow_metrics[start : start + _MAX_METRICS_PER_BATCH])
    for start in range(0, len(tags), _MAX_METRICS_PER_BATCH // 10):
        client.log_batch(run, tags=tags[start : start + _MAX_METRICS_PER_BATCH // 10])
    client.log_text(run, metrics_json(audit), "parivox.json")
    client.log_text(run, markdown(audit), "parivox.md")


def _metric_name(row: Row, *own_parts: str | None) -> str:
    """Return the name of a row: its scope, its operating point, and its own parts."""
    allocation = "" if row["allocation"] == "both" else row["allocation"]
    scope_parts = (
        system_label(row["system"], row["list"]),
        row["within"],
        row["grouping"],
        row.get("group"),
    )
    name_parts = (*scope_parts, allocation, row["operating_point"], *own_parts)
    return "/".join(name_part.replace("/", "_") for name_part in name_parts if name_part)


def _number_fields(row: Row, columns: tuple[str, ...]) -> dict[str, Value]:
    """Return a row's value, or why there is none, with those of some columns that are defined."""
    number = row["value"]
    if number is None or not math.isfinite(number):
        return {"reason": reason_text(row) or "infinite"} | _defined_fields(row, columns)
    return {"value": number} | _defined_fields(row, columns)


def _defined_fields(row: Row, names: tuple[str, ...]) -> dict[str, Value]:
    """Return those of some columns that are present and finite."""
    # JSON has neither infinity nor NaN; tables of older versions lack columns
    present = {name: row[name] for name in names if row.get(name) not in {None, ""}}
    return {
        name: number
        for name, number in present.items()
        if isinstance(number, str) or math.isfinite(number)
    }


def _mlflow_name(name: str, used_names: set[str]) -> str:
    """Return a name that MLflow allows and that is not used yet."""
    name_parts = (
        _DISALLOWED_CHARACTERS.sub("_", name_part)[:_MAX_PART_LENGTH].strip(" .") or "_"
        for name_part in name.split("/")
    )
    candidate = base = "/".join(name_parts)
    suffix = 1
    while candidate in used_names:
        suffix += 1
        candidate = f"{base} {suffix}"
    used_names.add(candidate)
    return candidate
