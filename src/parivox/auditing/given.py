"""What callers of the library give for an option: its kind is checked once, for every door."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_columns", "check_mapping", "check_texts", "chosen", "several", "texts"]

_EXAMPLES = {"within": "channel", "allocate": "both", "operating_points": "eer", "cost": "sre08"}
_EXAMPLES |= {"eer": "linear", "rule": "nearest", "reference": "pooled", "zero": "jeffreys"}


def several(value: Any) -> tuple[Any, ...]:
    """One or several choices as several.

    Examples
    --------
    >>> several("gender"), several(["gender", "age"]), several(None)
    (('gender',), ('gender', 'age'), (None,))
    """
    is_many = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    return tuple(value) if is_many else (value,)


def texts(value: Any, option: str) -> tuple[str, ...]:
    """One or several texts as several, without the space around them.

    Examples
    --------
    >>> texts(3, "by")
    Traceback (most recent call last):
        ...
    parivox.errors.ConfigError: by=3 is no text; give one, as in by='gender', or a list of such
    """
    found = several(value)
    for one in found:
        if not isinstance(one, str):
            what = "is" if one is value else f"holds {one!r}, which is"
            example = _EXAMPLES.get(option, "gender")
            mend = f"give one, as in {option}={example!r}, or a list of such"
            msg = f"{option}={value!r} {what} no text; {mend}"
            raise ConfigError(msg)
    return tuple(one.strip() for one in found)


def chosen(value: Any, option: str, filed: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """What the caller gives, else what the groups file says."""
    return filed if value is None else texts(value, option)


def check_texts(**given: Any) -> None:
    """Refuse what is neither one text nor None."""
    for option, value in given.items():
        if value is not None and not isinstance(value, str):
            msg = f"{option}={value!r} is no text; give one text, or leave it out"
            raise ConfigError(msg)


def check_mapping(value: Any, option: str, is_right: Callable[[Any], bool], form: str) -> None:
    """Refuse what is neither None nor a mapping from texts to what is right."""
    if value is None:
        return
    if not isinstance(value, Mapping) or not all(
        isinstance(name, str) and is_right(one) for name, one in value.items()
    ):
        msg = f"{option}={value!r} is no mapping {form}"
        raise ConfigError(msg)


def check_columns(columns: Any) -> None:
    """Refuse columns that are no mapping from role to column."""
    form = "from role to column; give one, as in {'enrol': 'ref_file'}"
    check_mapping(columns, "columns", lambda column: isinstance(column, str), form)
