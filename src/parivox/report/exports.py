"""Numbers of an audit for the tools that keep those of models: flat metrics, model cards, MLflow.

What is measured has a name of its own, ``SYSTEM/GROUPING/GROUP/POINT/METRIC``; below it stand its
``value``, interval, counts, ratio and verdict: ``.../fnr/low``. What is not defined has a
``reason`` in the place of a value.
"""

from __future__ import annotations

import json
import math
import re
import time
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.report.audit_queries import system_label

if TYPE_CHECKING:
    from parivox.auditing import Audit
    from parivox.report.words import Row

    Value = float | int | str

VERSION = "parivox/version"
_WITH_RATE = ("low", "high", "errors", "trials", "speakers")
_WITH_RATIO = ("ratio", "low", "high", "p_holm", "verdict")
_WITH_MEASURE = ("low", "high", "floor_mean", "floor_95", "p", "groups")
_SCOPE = ("system", "list", "within", "grouping", "group", "allocation", "operating_point")
_TASK = {"type": "speaker-verification", "name": "Speaker verification"}
_MOST = 1_000
"""Metrics, and a tenth of them tags, that MLflow takes at once."""
_OTHER = re.compile(r"[^\w\-. :/]", re.ASCII)
_LONGEST = 26
"""Letters of a part of a name, of which MLflow takes 250."""


def metrics_by_name(audit: Audit) -> dict[str, dict[str, Value]]:
    """Every base metric of every group, every measure of fairness: what is said of each, by name.

    ``value`` or ``reason``; ``low`` and ``high`` of its interval; of groups counts and, of rates,
    ``ratio``, ``ratio_low``, ``ratio_high``, ``p_holm`` and ``verdict`` against the first
    reference; of measures their noise floor.
    """
    judged: dict[tuple[Any, ...], Row] = {}
    for row in audit.verdicts.rows():
        judged.setdefault(tuple(row[name] for name in (*_SCOPE, "metric")), row)
    made: dict[str, dict[str, Value]] = {}
    for row in audit.groups.rows():
        found = _said(row, _WITH_RATE)
        if (of := judged.get(tuple(row[name] for name in (*_SCOPE, "metric")))) is not None:
            ends = {"low": "ratio_low", "high": "ratio_high"}
            said = _defined(of, _WITH_RATIO)
            found |= {ends.get(name, name): value for name, value in said.items()}
        made[_name(row, row["metric"], row["definition"])] = found
    for row in audit.meta.rows():
        alpha = None if row["alpha"] is None else f"alpha={row['alpha']:g}"
        zero = None if row["zero"] == "none" else row["zero"]
        every = None if row["gated"] else "every group"
        parts = (row["metric"], row["definition"], row["measure"], alpha, zero, every)
        made[_name(row, *parts)] = _said(row, _WITH_MEASURE)
    return made


def metrics_json(audit: Audit) -> str:
    """The same as flat JSON, for W&B, DVC and whatever else reads names with numbers."""
    flat: dict[str, Value] = {VERSION: audit.record["versions"]["parivox"]}
    for name, found in metrics_by_name(audit).items():
        for what, value in found.items():
            flat[f"{name}/{what}"] = value
    return json.dumps(flat, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def model_index(audit: Audit) -> str:
    """FPR and FNR of every group, as the metadata of a model card on Hugging Face have them.

    YAML to stand between the lines ``---`` at the head of ``README.md``; a model for each system.
    """
    import yaml  # noqa: PLC0415 - takes time to load

    every = metrics_by_name(audit)
    models: dict[str, list[Row]] = {}
    for row in audit.groups.rows():
        found = every[_name(row, row["metric"], row["definition"])]
        if row["metric"] not in {"fpr", "fnr"} or "value" not in found:
            continue
        more = {name: value for name, value in found.items() if name != "value"}
        where = ", ".join(filter(None, (row["within"], row["operating_point"])))
        of = "everyone" if row["grouping"] == "all" else f"{row['grouping']}={row['group']}"
        models.setdefault(system_label(row["system"], row["list"]), []).append(
            {
                "type": row["metric"],
                "value": found["value"],
                "name": f"{row['metric'].upper()} of {of} at {where}",
                "args": {"operating_point": row["operating_point"], **more},
            }
        )
    trials = {system_label(one["system"], one["list"]): one for one in audit.record["inputs"]}
    index = [
        {
            "name": name,
            "results": [
                {
                    "task": dict(_TASK),  # not the same one, which YAML would refer to
                    "dataset": {
                        "type": "trials",
                        "name": "the audited trials",
                        "args": {key: trials[name][key] for key in ("trials", "content_sha256")},
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


def log_mlflow(
    audit: Audit,
    *,
    tracking_uri: str | None = None,
    experiment: str = "Default",
    run_name: str | None = None,
) -> str:
    """Log an audit to MLflow: every number as a metric, verdicts as tags, tables as files.

    Parameters
    ----------
    audit
        From `pv.audit` or `pv.load`.
    tracking_uri
        Where to, as in ``file:mlruns``; by default MLflow's own, and the run that is active there.
    experiment
        Its name; made if there is none. Not of an active run.
    run_name
        Of a new run.

    Returns
    -------
    str
        Id of the run. Names have ``_`` for what MLflow allows in none; ``parivox.json`` among the
        files has them as they are.

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
            known = client.get_experiment_by_name(experiment)
            of = client.create_experiment(experiment) if known is None else known.experiment_id
            run = str(client.create_run(of, run_name=run_name).info.run_id)
        _log(audit, client, run)
        if active is None:
            client.set_terminated(run)
    except mlflow.exceptions.MlflowException as error:
        why = str(error).partition(". ")[0]
        msg = (
            f"MLflow cannot log to {tracking_uri or 'its default place'} ({why}); name another "
            "tracking_uri, or, for a folder, set MLFLOW_ALLOW_FILE_STORE=true"
        )
        raise ConfigError(msg) from error
    return run


def _log(audit: Audit, client: Any, run: str) -> None:
    from mlflow.entities import Metric, RunTag  # noqa: PLC0415 - an optional dependency

    from parivox.report.sheets.paper import markdown  # noqa: PLC0415 - what takes time to load

    now, taken = int(time.time() * 1_000), set[str]()
    made, tags = [], [RunTag("parivox", audit.record["versions"]["parivox"])]
    for name, found in metrics_by_name(audit).items():
        short = _plain(name, taken)
        for what, value in found.items():
            key = f"{short}/{what}"
            if not isinstance(value, str):
                made.append(Metric(key, value, now, 0))
            elif what == "verdict":
                tags.append(RunTag(key, value))
    for at in range(0, len(made), _MOST):
        client.log_batch(run, metrics=made[at : at + _MOST])
    for at in range(0, len(tags), _MOST // 10):
        client.log_batch(run, tags=tags[at : at + _MOST // 10])
    client.log_text(run, metrics_json(audit), "parivox.json")
    client.log_text(run, markdown(audit), "parivox.md")


def _name(row: Row, *parts: str | None) -> str:
    """The name of a row: what it is of, its operating point, and its own parts."""
    allocation = "" if row["allocation"] == "both" else row["allocation"]
    of = (
        system_label(row["system"], row["list"]),
        row["within"],
        row["grouping"],
        row.get("group"),
    )
    every = (*of, allocation, row["operating_point"], *parts)
    return "/".join(one.replace("/", "_") for one in every if one)


def _said(row: Row, more: tuple[str, ...]) -> dict[str, Value]:
    value = row["value"]
    if value is None or not math.isfinite(value):
        return {"reason": row["reason"] or "infinite"} | _defined(row, more)
    return {"value": value} | _defined(row, more)


def _defined(row: Row, names: tuple[str, ...]) -> dict[str, Value]:
    found = {name: row[name] for name in names if row[name] not in {None, ""}}
    return {name: one for name, one in found.items() if isinstance(one, str) or math.isfinite(one)}


def _plain(name: str, taken: set[str]) -> str:
    """A name as MLflow allows it, of its own."""
    parts = (_OTHER.sub("_", part)[:_LONGEST].strip(" .") or "_" for part in name.split("/"))
    made = base = "/".join(parts)
    place = 1
    while made in taken:
        place += 1
        made = f"{base} {place}"
    taken.add(made)
    return made
