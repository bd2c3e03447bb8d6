"""What an ONNX file takes and gives, as far as it does not say so itself.

It is declared in the file's metadata under ``parivox.NAME``, or in a JSON file beside it
(``model.onnx.json``) under ``NAME``. The names are those of :class:`Declared`;
``--frontend`` goes before both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from parivox.embedding.frontends import FRONTENDS
from parivox.embedding.systems.protocol import check_scoring
from parivox.embedding.systems.published.recipe import Recipe
from parivox.errors import ConfigError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = [
    "WAVEFORM",
    "Declared",
    "beside",
    "completed",
    "declared_by",
    "named",
    "shape_told",
    "told",
]

WAVEFORM = "waveform"
"""The front end of networks that take samples themselves."""


@dataclass(frozen=True)
class Declared:
    """What an ONNX file takes and gives.

    Attributes
    ----------
    frontend : str
        What its frames are, one of :data:`~parivox.embedding.frontends.FRONTENDS`, or ``waveform``.
    sample_rate : int
        In Hz; that of the front end, and 16,000 of waveforms, unless declared.
    input : str
        The input that takes frames or samples; the first, unless declared.
    lengths : str
        An input that takes the length of each recording, if it has one: whole numbers as frames or
        samples, others as a share of the longest, which is always 1.
    output : str
        The output with the vectors; the only one, unless declared.
    scoring : str
        How vectors are compared: as the recipe says, unless declared.
    recipe : Recipe
        Which parts of a recording are embedded: the whole, unless declared as a JSON object.
    least_seconds : float
        Shorter recordings are ``too_short``.
    """

    frontend: str = ""
    sample_rate: int = 0
    input: str = ""
    lengths: str = ""
    output: str = ""
    scoring: str = ""
    recipe: Recipe = field(default_factory=lambda: Recipe("cosine"))
    least_seconds: float = 0.25


def declared_by(path: Path, session: Any) -> Declared:
    """What the metadata and the JSON file beside it say; the latter goes before.

    Raises
    ------
    DataError
        If either cannot be read, or declares something that is not known.
    """
    known = {each.name for each in fields(Declared)}
    metadata = session.get_modelmeta().custom_metadata_map
    said: dict[str, Any] = {
        name: metadata[f"parivox.{name}"] for name in known if f"parivox.{name}" in metadata
    }
    where = path
    try:
        if "recipe" in said:
            said["recipe"] = json.loads(said["recipe"])
        if beside(path).is_file():
            where = beside(path)
            said |= {**json.loads(where.read_bytes())}
        numbers: dict[str, Callable[[Any], Any]] = {
            "sample_rate": int,
            "least_seconds": float,
            "recipe": lambda r: Recipe(**r),
        }
        values = {name: numbers.get(name, str)(value) for name, value in said.items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        msg = (
            f"{where}: what it declares cannot be read ({error}); write a JSON object, as in "
            '{"frontend": "kaldi80"}'
        )
        raise DataError(msg) from error
    unknown = [name for name in values if name not in known]
    if unknown:
        msg = f"{where}: declares {unknown[0]!r}; known are {', '.join(sorted(known))}"
        raise DataError(msg)
    return Declared(**values)


def completed(path: Path, session: Any, given: Declared, sample_rate: int | None) -> Declared:
    """The same with every name filled in.

    Raises
    ------
    ConfigError
        If something must be declared; it shows what the file has.
    """
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if given.frontend not in {WAVEFORM, *FRONTENDS}:
        unknown = f"front end {given.frontend!r} is not known"
        what = unknown if given.frontend else "its front end is not declared"
        msg = (
            f"{path}: {what}; it takes {told(inputs)}: give --frontend with one of {WAVEFORM}, "
            f"{', '.join(FRONTENDS)}"
        )
        raise ConfigError(msg)
    needed = 1 + bool(given.lengths)
    if len(inputs) != needed:
        msg = (
            f"{path}: takes {told(inputs)}, expected {needed} of them; declare which is which in "
            f'{beside(path)}, as in {{"input": "{inputs[0].name}", "lengths": '
            f'"{inputs[-1].name}"}}'
        )
        raise ConfigError(msg)
    if len(outputs) > 1 and not given.output:
        msg = (
            f"{path}: gives {told(outputs)}; declare which holds the vectors in "
            f'{beside(path)}, as in {{"output": "{outputs[-1].name}"}}'
        )
        raise ConfigError(msg)
    others = [one for one in inputs if one.name != given.lengths]
    found = replace(
        given, input=given.input or others[0].name, output=given.output or outputs[0].name
    )
    named(inputs, found.input, path)
    named(outputs, found.output, path)
    if found.lengths:
        named(inputs, found.lengths, path)
    front = FRONTENDS.get(found.frontend)
    rate = sample_rate or found.sample_rate or (front.sample_rate if front else 16_000)
    if front is not None and rate != front.sample_rate:
        msg = (
            f"{path}: {rate:,} Hz do not go with the front end {front.name}, which takes "
            f"{front.sample_rate:,}; leave the rate out, recordings are resampled"
        )
        raise ConfigError(msg)
    scoring = check_scoring(found.scoring or found.recipe.scoring, str(path))
    return replace(found, sample_rate=rate, scoring=scoring)


def beside(path: Path) -> Path:
    """Where a file's declaration is, or would be."""
    return path.with_name(f"{path.name}.json")


def named(values: Sequence[Any], name: str, path: Path) -> Any:
    """The input or output of this name.

    Raises
    ------
    ConfigError
        If there is none.
    """
    found = next((value for value in values if value.name == name), None)
    if found is None:
        msg = f"{path}: has no {name!r}, it has {told(values)}; declare one of them"
        raise ConfigError(msg)
    return found


def told(values: Sequence[Any]) -> str:
    """Inputs or outputs as a sentence shows them: name, shape, type."""
    return ", ".join(f"{value.name!r} {shape_told(value.shape)} {value.type}" for value in values)


def shape_told(shape: Sequence[Any]) -> str:
    """A shape as it is written."""
    return f"({', '.join(map(str, shape))})"
