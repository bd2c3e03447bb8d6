"""The systems under audit, as black boxes: what they are asked for, and nothing else of them.

Each kind of system has a module of its own.
"""

from __future__ import annotations

import json
import os
from numbers import Real
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Waveform = NDArray[np.float32]
    """Mono samples in [-1, 1] at the system's rate, of shape (sample,)."""

# From 1.29 on onnxruntime sends its maker what is run with it, unless it is told not to before it
# is loaded, here or by a system of the user's own.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

# The highest rate of any audio interface; more is a slip of the user's.
MAX_SAMPLE_RATE = 768_000
MAX_LEAST_SECONDS = 86_400
SCORINGS = ("cosine", "dot", "euclidean", "crops-euclidean", "ecapa-published")
"""How vectors can be compared."""


class SystemFailed(ConfigError):  # noqa: N818 - named for what it tells
    """A system failed on what it was given; with other recordings it may not.

    Where it is raised from an error of the system, that is the reason of the recording.
    """


@runtime_checkable
class EmbeddingSystem(Protocol):
    """A system that makes vectors of recordings.

    Attributes
    ----------
    name : str
        As the user names it and reports do.
    sample_rate : int
        In Hz; recordings are resampled to it.
    scoring : str
        How its vectors are compared unless the user says otherwise, one of `SCORINGS` (see
        `parivox.scoring.vectors`).
    least_seconds : float
        Recordings that are shorter have the status ``too_short``.
    provenance : mapping
        What it is, as JSON can hold it: hash of weights, front end, versions, options. Two systems
        with the same provenance give the same vectors.
    """

    name: str
    sample_rate: int
    scoring: str
    least_seconds: float
    provenance: Mapping[str, Any]

    def embed(self, waveforms: Sequence[Waveform]) -> NDArray[np.float32]:
        """Vectors of several recordings, of shape (recording, crop, dimension).

        Systems that make one vector of a recording have one crop. The vectors of a recording do
        not depend on what else is in the batch, within 1e-5.
        """
        ...


@runtime_checkable
class VerifyingSystem(Protocol):
    """A system that compares recordings itself, as commercial products do."""

    name: str
    sample_rate: int
    least_seconds: float
    provenance: Mapping[str, Any]

    def enrol(self, recordings: Sequence[Waveform]) -> Any:
        """A handle of one speaker, from one or several recordings."""
        ...

    def verify(self, handle: Any, recording: Waveform) -> float | bool:
        """A score, higher for more alike, or a decision."""
        ...


def check_scoring(scoring: Any, subject: str) -> str:
    """How vectors are to be compared, if that is known; `subject` is how the message begins."""
    if scoring not in SCORINGS:
        msg = f"{subject}: scoring {scoring!r} is not known"
        hint = f"give {', '.join(SCORINGS)}"
        raise ConfigError(msg, hint)
    return str(scoring)


def check_least_seconds(seconds: Any, subject: str) -> float:
    """How long a recording must be at least, in seconds, if that is a length."""
    if not isinstance(seconds, Real) or not 0 <= float(seconds) <= MAX_LEAST_SECONDS:
        msg = (
            f"{subject}: least_seconds is {seconds!r}, not a number of seconds from 0 to "
            f"{MAX_LEAST_SECONDS:,}"
        )
        hint = "state the minimum length of a recording"
        raise ConfigError(msg, hint)
    return float(seconds)


def check_rate(rate: Any, subject: str) -> int:
    """A sample rate in Hz, if recordings have such."""
    if not isinstance(rate, (int, np.integer)) or not 1_000 <= rate <= MAX_SAMPLE_RATE:
        msg = (
            f"{subject}: the sample rate {rate!r} is not a whole number of Hz from 1,000 to "
            f"{MAX_SAMPLE_RATE:,}"
        )
        raise ConfigError(msg)
    return int(rate)


def system_record(system: EmbeddingSystem | VerifyingSystem) -> dict[str, Any]:
    """What a system says of itself, as JSON holds it: what is made with another is not mixed."""
    names = ("name", "sample_rate", "scoring", "least_seconds")
    record = {name: getattr(system, name) for name in names if hasattr(system, name)}
    record["provenance"] = dict(system.provenance)
    # Provenance is compared as JSON: what cannot be written would never be equal to itself.
    try:
        text = json.dumps(record, default=_number, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"{system.name}: the provenance cannot be stored as JSON ({error})"
        hint = "use only texts, finite numbers, lists and dictionaries"
        raise ConfigError(msg, hint) from error
    read_back: dict[str, Any] = json.loads(text)
    return read_back


def _number(value: Any) -> Any:
    """What NumPy holds as Python has it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    msg = f"it contains a {type(value).__name__}"
    raise TypeError(msg)
