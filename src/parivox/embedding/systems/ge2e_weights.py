"""Resemblyzer's published weights: from this user's cache, a file, or once from a package index.

Those of the network stand in a checkpoint of torch's, which could run code when it is opened. It is
known to the byte, by its hash: so it is never opened, and the arrays are taken from where they
stand in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from parivox.errors import ConfigError, DataError
from parivox.runtime.disk import atomic_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Weights = dict[str, NDArray[np.float32]]

LAYERS, SIZE = 3, 256
"""LSTMs of the network, and the width of each."""

PACKAGE, WHEEL = "Resemblyzer==0.1.4", "Resemblyzer-0.1.4-py3-none-any.whl"
WHEEL_SHA256 = "8f12eb2f1a9982d32e8db7856de754709b59c93a77bcf0ff536584b619a9dd1f"
CHECKPOINT = "resemblyzer/pretrained.pt"
CHECKPOINT_SHA256 = "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e"
WEIGHTS_SHA256 = "9253e3d277d7fee981eaa531e0f33e8d40814679648293925ded325c51f064d3"
"""Of the arrays alone, in the order of `SHAPES`, whatever file they come in."""
MAX_BYTES = 64 << 20
"""Bytes; the wheel has 15.7 million, the checkpoint in it 17.1."""
PIP_TIMEOUT_SECONDS = 600
"""Seconds that pip may take."""

SHAPES: dict[str, tuple[int, ...]] = {
    **{
        f"lstm.{name}_l{layer}": shape
        for layer in range(LAYERS)
        for name, shape in (
            ("weight_ih", (4 * SIZE, SIZE if layer else 40)),
            ("weight_hh", (4 * SIZE, SIZE)),
            ("bias_ih", (4 * SIZE,)),
            ("bias_hh", (4 * SIZE,)),
        )
    },
    "linear.weight": (SIZE, SIZE),
    "linear.bias": (SIZE,),
}
"""The 14 arrays of the network, by the names of the published file."""
_STARTS = {"linear.bias": 6_699, "linear.weight": 7_731}
_LSTMS_START = 269_883
"""Bytes of the checkpoint at which arrays begin: those of the LSTMs follow each other, first the
weights of all layers, then the biases."""


def weights_of(file: str | os.PathLike[str] | None = None) -> Weights:
    """The weights, from a file if one is named, else from the cache, which is filled if need be.

    The file is Resemblyzer's wheel, the ``pretrained.pt`` in it, or the array file of a cache.
    """
    if file is not None:
        return read_weights(Path(file))
    cached = cached_file()
    if cached.is_file():
        with contextlib.suppress(DataError):  # a damaged cache is filled again
            return read_weights(cached)
    weights = _fetch_weights()
    _write_cache(weights, cached)
    return weights


def cached_file() -> Path:
    """Where this user's copy of the weights is, or would be."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    if Path(cache).is_absolute():
        folder = Path(cache)
    elif sys.platform == "darwin":
        folder = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        folder = Path.home() / ".cache"
    return folder / "parivox" / f"ge2e-{WEIGHTS_SHA256[:12]}.npz"


def read_weights(path: Path) -> Weights:
    """The weights in a wheel, checkpoint or array file; others than were published are refused."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error})"
        hint = "give the path of the weights"
        raise DataError(msg, hint) from error
    digest = hashlib.sha256(data).hexdigest()
    if digest == WHEEL_SHA256:
        with zipfile.ZipFile(io.BytesIO(data)) as wheel:
            data = wheel.read(CHECKPOINT)
        digest = hashlib.sha256(data).hexdigest()
    # The checkpoint is recognised by its hash and never unpickled, which could run code.
    weights = _read_checkpoint(data) if digest == CHECKPOINT_SHA256 else _read_npz(data)
    weights = {name: weights[name] for name in SHAPES if name in weights}
    if {name: w.shape for name, w in weights.items()} != SHAPES or hash_of(weights) != (
        WEIGHTS_SHA256
    ):
        msg = (
            f"{path}: contains weights other than those of {PACKAGE}, or is damaged (its sha256 is "
            f"{digest[:16]}...)"
        )
        hint = f"give {WHEEL}, the pretrained.pt in it, or the array file that Parivox made of it"
        raise DataError(msg, hint)
    return weights


def hash_of(weights: Mapping[str, NDArray[np.float32]]) -> str:
    """SHA-256 of the arrays, one after the other as little-endian float32."""
    digest = hashlib.sha256()
    for name in SHAPES:
        digest.update(np.ascontiguousarray(weights[name], "<f4").tobytes())
    return digest.hexdigest()


def _read_checkpoint(data: bytes) -> Weights:
    """The arrays of the published checkpoint, little-endian float32 row by row."""
    starts, next_start = dict(_STARTS), _LSTMS_START
    for kind in ("weight", "bias"):
        for name, shape in SHAPES.items():
            if name.startswith(f"lstm.{kind}"):
                starts[name] = next_start
                next_start += 4 * math.prod(shape)
    return {
        name: np.frombuffer(data, "<f4", math.prod(shape), starts[name]).reshape(shape)
        for name, shape in SHAPES.items()
    }


def _read_npz(data: bytes) -> Weights:
    """The arrays of an npz file; none if it is something else."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Exception:  # noqa: BLE001 - whatever a damaged archive ends in, the caller says it
        return {}


def _fetch_weights() -> Weights:
    """The weights in the wheel that pip downloads; nothing of it is installed or run."""
    by_hand = (
        f"download {WHEEL} on another machine (pip download --no-deps {PACKAGE}) and give the "
        "file with --weights FILE"
    )
    sys.stderr.write(
        f"parivox: ge2e needs the weights in {WHEEL} (15.7 MB, Apache-2.0): pip downloads it "
        f"once, and the weights are kept in {cached_file().parent}\n"
    )
    failure = ""
    # Through pip, so that the user's index, proxy and certificates apply.
    with tempfile.TemporaryDirectory(prefix="parivox-") as folder:
        wheel = Path(folder) / WHEEL
        for pip in _pip_commands():
            pip_message = _download_wheel(pip, folder)
            if wheel.is_file():
                return read_weights(wheel)
            failure = (
                failure if not pip_message or "No module named pip" in pip_message else pip_message
            )
    msg = f"the weights of ge2e could not be fetched ({failure or 'there is no pip'})"
    raise ConfigError(msg, by_hand)


def _pip_commands() -> Iterator[list[str]]:
    """Commands that may be a pip: of this environment, of Python itself, of the system."""
    yield [sys.executable, "-m", "pip"]
    with contextlib.suppress(ImportError):  # some systems take it out of Python
        import ensurepip  # noqa: PLC0415 - where an environment has no pip

        bundled = Path(ensurepip.__file__).parent / "_bundled"
        yield from ([sys.executable, f"{wheel}/pip"] for wheel in sorted(bundled.glob("pip-*.whl")))
    yield from ([program] for name in ("pip3", "pip") if (program := shutil.which(name)))


def _download_wheel(pip: list[str], folder: str) -> str:
    """Have the wheel downloaded into a folder; what is said if it is not."""
    command = [*pip, "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", folder, PACKAGE]
    try:
        done = subprocess.run(  # noqa: S603 - a pip
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PIP_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    lines = done.stderr.strip().splitlines()
    error_line = next((line for line in lines if line.startswith("ERROR")), "")
    return (error_line or (lines[-1] if lines else "no wheel came")).strip()


def _write_cache(weights: Weights, path: Path) -> None:
    """Write the array file; a cache that takes nothing is told and left."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as aside:
            np.savez(aside, allow_pickle=False, **weights)
    except OSError as error:
        sys.stderr.write(
            f"parivox: {path} cannot be written ({error.strerror or error}), so that ge2e is "
            "fetched again each time; set XDG_CACHE_HOME to a folder that can\n"
        )
