"""Published networks as ONNX files that need no torch to run."""

from __future__ import annotations

import importlib
import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import atomic_file, explain_write_errors

if TYPE_CHECKING:
    import os
    from types import ModuleType

    from parivox.embedding.systems.published import PublishedSystem

_TOLERANCE = 1e-4
_OPSET = 17


def export_onnx(system: PublishedSystem, path: str | os.PathLike[str]) -> float:
    """Write a system's network as ONNX, once onnxruntime agrees with torch on it.

    The file takes ``features`` of shape (batch, frame, bin) and gives ``embedding`` of shape
    (batch, dimension). Its metadata say the rest: ``parivox.name``, ``parivox.frontend``,
    ``parivox.sample_rate``, ``parivox.scoring``, ``parivox.recipe`` (as JSON, see
    `parivox.embedding.frontends.Recipe`) and ``parivox.weights_sha256``.

    Given back is the largest difference to torch over batches of other sizes and lengths than it
    was traced with, relative to the largest value; above 1e-4 it is an error, and nothing is
    written.
    """
    path = Path(path)
    onnx, onnxruntime = _extra("onnx", "torch"), _extra("onnxruntime", "onnx")
    metadata = {
        "name": system.name,
        "frontend": system.frontend.name,
        "sample_rate": str(system.sample_rate),
        "scoring": system.scoring,
        "recipe": json.dumps(asdict(system.recipe)),
        "weights_sha256": str(system.provenance.get("weights_sha256", "")),
    }
    with explain_write_errors(str(path)), atomic_file(path) as aside:
        _trace(system, aside)
        model = onnx.load(aside)
        onnx.helper.set_model_props(model, {f"parivox.{k}": v for k, v in metadata.items()})
        onnx.save(model, aside)
        difference = _difference(system, aside, onnxruntime)
        if not difference <= _TOLERANCE:
            msg = (
                f"{system.name}: the ONNX file would differ from torch by {difference:.1e}, "
                f"more than {_TOLERANCE:.0e}"
            )
            hint = "use the checkpoint itself; nothing was written"
            raise DataError(msg, hint)
    return difference


def _trace(system: PublishedSystem, aside: Path) -> None:
    import torch  # noqa: PLC0415 - heavy

    features = torch.zeros(2, 150, system.frontend.bins, device=system.device)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's age, and sizes that the modules fix
        torch.onnx.export(
            system.network,
            (features,),
            aside,
            input_names=["features"],
            output_names=["embedding"],
            dynamic_axes={"features": {0: "batch", 1: "frame"}, "embedding": {0: "batch"}},
            opset_version=_OPSET,
            dynamo=False,
        )


def _difference(system: PublishedSystem, aside: Path, onnxruntime: ModuleType) -> float:
    import torch  # noqa: PLC0415 - heavy

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(aside, options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    worst = 0.0
    for batch, frames in ((1, 98), (3, 431)):
        shape = (batch, frames, system.frontend.bins)
        features = random.standard_normal(shape).astype(np.float32)
        with torch.inference_mode():
            expected = system.network(torch.from_numpy(features).to(system.device)).cpu().numpy()
        (vectors,) = session.run(["embedding"], {"features": features})
        worst = max(worst, float(np.abs(vectors - expected).max() / np.abs(expected).max()))
    return worst


def _extra(package: str, extra: str) -> ModuleType:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        msg = f"export to ONNX needs {package}, which is not installed"
        hint = f"install it with: pip install 'parivox[{extra}]'"
        raise ConfigError(msg, hint) from None
