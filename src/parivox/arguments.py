"""Arguments of public functions: one of a wrong kind is refused in one sentence.

`parivox.lazy` gives each public function `check_arguments` when it is first used by its public
name; calls inside the package have no such checks. Names of files, and functions to call back, are
checked at once, because nothing should be written or computed before. All other arguments are
looked at only if the call fails with an error that is not one of Parivox: if an argument is of
another kind than the signature says, that is the reason. Whatever else fails is a mistake of
Parivox, or of a function that the caller gave, and its error is passed on.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from functools import partial, wraps
from inspect import Parameter, signature
from numbers import Real
from typing import Any, TypeAlias, TypeVar

from parivox.errors import ConfigError, DataError, ParivoxError, printable

Function = TypeVar("Function", bound=Callable[..., Any])
Checks: TypeAlias = tuple[tuple[Callable[[Any], bool], str], ...]

_MAX_SHOWN = 60
_ARITHMETIC = ("parivox.core.", "parivox.sklearn")
"""Modules of functions of arrays, which fail only for arrays that do not go together."""


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return not isinstance(value, bool) and isinstance(value, Real)


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    try:
        float(value)
    except (TypeError, OverflowError):  # a duration of NumPy; a number beyond all floats
        return False
    return True


def _is_flag(value: object) -> bool:
    return type(value).__name__ in {"bool", "bool_"}


def _is_path(value: object) -> bool:
    """Return whether a file could have this name, whether it is there or not."""
    try:
        os.lstat(value)  # type: ignore[arg-type]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return isinstance(value, (str, os.PathLike))
    except (OSError, TypeError, ValueError):  # too long, no text, or with a null character
        return False
    return isinstance(value, (str, os.PathLike))


def _is_array(value: object) -> bool:
    import numpy as np  # noqa: PLC0415 - takes time to load

    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except Exception:  # noqa: BLE001 - an array of any library, which may raise anything
        return False
    return array.dtype.kind in "biuf"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _holds_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(map(_is_text, value.values()))


def _is_table(value: object) -> bool:
    names = ("__arrow_c_stream__", "collect_schema", "columns", "select_columns")
    has_field_names = bool(getattr(getattr(value, "dtype", None), "names", None))
    return _is_mapping(value) or has_field_names or any(hasattr(value, name) for name in names)


def _is_number_or_text(value: object) -> bool:
    return _is_number(value) or _is_text(value)


def _list_of(is_element: Callable[[object], bool]) -> Callable[[object], bool]:
    """Return a check of lists and tuples, each of whose elements meets another check."""
    return lambda value: isinstance(value, (list, tuple)) and all(map(is_element, value))


_PATH = (_is_path, "the name of a file or folder")
_TABLE = (_is_table, "a table")
_DOCUMENT = (_is_mapping, "a mapping")
_KINDS: dict[str, Checks] = {
    "bool": ((_is_flag, "True or False"),),
    "int": ((_is_whole, "a whole number"),),
    "float": ((_is_number, "a number"),),
    "str": ((_is_text, "text"),),
    "RateRule": ((_is_text, "text"),),
    "Reference": ((_is_text, "text"),),
    "TrialClass": ((_is_text, "text"),),
    "ZeroPolicy": ((_is_text, "text"),),
    "os.PathLike[str]": (_PATH,),
    "Path": (_PATH,),
    "FilePath": (_PATH,),
    "ArrayLike": ((_is_array, "an array of numbers"),),
    "Sequence[str]": ((_list_of(_is_text), "a list of texts"),),
    "Sequence[int]": ((_list_of(_is_whole), "a list of whole numbers"),),
    "Sequence[float]": ((_list_of(_is_number), "a list of numbers"),),
    "Sequence[float | str]": ((_list_of(_is_number_or_text), "a list of numbers"),),
    "Mapping[str, str]": (
        (
            lambda value: _is_mapping(value) and all(map(_is_text, dict(value).values())),
            "a mapping",
        ),
    ),
    "Callable[[Progress], None]": ((callable, "a function"),),
    "TableSource": (_PATH, _TABLE, (_list_of(_is_mapping), "a list of rows")),
    "SpeakerSource": (_PATH, _TABLE, (_list_of(_is_mapping), "a list of rows")),
    "DocumentSource": (_PATH, _DOCUMENT),
    "None": ((lambda value: value is None, ""),),
}
"""How each type of a signature is checked, and what it is called."""
_CLASSES = {"Audit", "CostModel", "Counts", "Curve", "TrialCounts", "Vectors", "dt.date"}
"""Classes in signatures, which are checked by their names."""
_MAKERS = {
    "Audit": ", as pv.audit or pv.load returns it",
    "CostModel": ", as pv.parse_cost('sre08') returns it",
    "Counts": ", as pv.Counts.from_scores returns them",
    "TrialCounts": ", as pv.count returns them",
}
"""What makes an object of a class."""
_AT_ONCE = {"os.PathLike[str]", "Path", "Callable[[Progress], None]", "dt.date"}
"""Kinds of arguments that are checked before the call."""
_OWN_CHECKS = {"groups", "labels", "y_true"}
"""Arrays that the functions check themselves."""


def shown_value(value: object) -> str:
    """Return a value as a message shows it: itself if it is short, else its type.

    Examples
    --------
    >>> (
    ...     shown_value("x"),
    ...     shown_value(["a"] * 1000),
    ...     shown_value("a" * 100) == repr("a" * 57 + "..."),
    ... )
    ("'x'", 'of type list', True)
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str) and len(value) > _MAX_SHOWN:
        value = f"{value[: _MAX_SHOWN - 3]}..."
    if isinstance(value, (str, bytes, bool, int, float, complex, type(None))):
        try:
            text = repr(value)
        except ValueError:  # a number of more digits than Python writes
            text = ""
        if text and len(text) <= 2 * _MAX_SHOWN:
            return printable(text)
    return f"of type {type(value).__name__}"


def check_path(value: object, name: str) -> None:
    """Refuse what is no name of a file or folder.

    Raises
    ------
    ConfigError
        If a file cannot have such a name.
    """
    if not _is_path(value):
        msg = f"{name} is {shown_value(value)}"
        hint = "give the name of a file or folder"
        raise ConfigError(msg, hint)


def _kinds_of(annotation: str) -> list[str]:
    """Return the types of a union.

    Examples
    --------
    >>> _kinds_of("Sequence[float | str] | float | None")
    ['Sequence[float | str]', 'float', 'None']
    """
    kinds = [""]
    depth = 0
    for word in annotation.replace("((", "(").split(" | "):
        kinds[-1] += f" | {word}" if depth else word
        depth += word.count("[") - word.count("]")
        if not depth:
            kinds.append("")
    kinds.pop()
    if {*kinds} & {"os.PathLike[str]", "Path"}:  # a text is a path there
        kinds.remove("str")
    return kinds


def _check_kind(name: str, kinds: list[str], value: object) -> None:
    """Refuse a value of another kind than a signature names, if all kinds are known."""
    expected: list[str] = []
    for kind in kinds:
        checks: Checks
        if kind in _CLASSES:
            class_name = kind.rpartition(".")[2]
            words = f"a {class_name}{_MAKERS.get(class_name, '')}"
            checks = ((partial(_is_of_class, class_name), words),)
        elif kind.startswith("Literal["):
            checks = ((_is_text, "text"),)
        elif kind.startswith("Mapping["):
            checks = _KINDS.get(kind, (_DOCUMENT,))
        elif kind in _KINDS and not (kind == "ArrayLike" and name in _OWN_CHECKS):
            checks = _KINDS[kind]
        else:
            return
        if any(is_kind(value) for is_kind, _ in checks):
            return
        expected += [words for _, words in checks if words]
    msg = f"{name} is {shown_value(value)}"
    hint = f"give {' or '.join(dict.fromkeys(expected))}"
    raise ConfigError(msg, hint)


def _is_of_class(class_name: str, value: object) -> bool:
    return any(base.__name__ == class_name for base in type(value).__mro__)


def check_arguments(function: Function) -> Function:
    """Return a function, or a method, that refuses arguments of a wrong kind.

    Examples
    --------
    >>> def half(number: float, *, exact: bool = False):
    ...     return number / 2
    >>> half = check_arguments(half)
    >>> half(3.0)
    1.5
    >>> half("x")
    Traceback (most recent call last):
    parivox.errors.ConfigError: number is 'x'; give a number
    """
    own_signature = signature(function)
    kinds_by_name = {
        name: _kinds_of(parameter.annotation)
        for name, parameter in own_signature.parameters.items()
        if isinstance(parameter.annotation, str)
    }
    checked_at_once = {name for name, kinds in kinds_by_name.items() if {*kinds} & _AT_ONCE}
    positional_names = [
        name
        for name, parameter in own_signature.parameters.items()
        if parameter.kind in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
    ]

    @wraps(function)
    def checked(*args: Any, **keywords: Any) -> Any:
        arguments = {**dict(zip(positional_names, args, strict=False)), **keywords}
        for name in checked_at_once & {*arguments}:
            _check_kind(name, kinds_by_name[name], arguments[name])
        try:
            return function(*args, **keywords)
        except ParivoxError:
            raise
        except Exception as error:
            for name, value in arguments.items():
                if name in kinds_by_name and value is not own_signature.parameters[name].default:
                    _check_kind(name, kinds_by_name[name], value)
            if function.__module__.startswith(_ARITHMETIC) and not isinstance(error, OSError):
                # too many arguments, or too few, are a TypeError as of any function
                try:
                    own_signature.bind(*args, **keywords)
                except TypeError:
                    raise error from None
                reason = str(error).partition("\n")[0]
                msg = f"{function.__name__}: the arguments do not match each other ({reason})"
                raise DataError(msg) from error
            raise

    return checked  # type: ignore[return-value]
