"""What holds values that belong together and do not change."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable

_Class = TypeVar("_Class", bound=type)


@overload
def frozen(made: _Class) -> _Class: ...
@overload
def frozen(*, kw_only: bool = ...) -> Callable[[_Class], _Class]: ...
@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def frozen(
    made: _Class | None = None, *, kw_only: bool = False
) -> _Class | Callable[[_Class], _Class]:
    """Make a dataclass of arrays and objects: without ``==``, and held frozen by type checkers.

    It is for what users are not handed. As Python runs it may be changed: to forbid that,
    `dataclasses` compiles two functions a class, which takes half of the time to make it.
    """

    def make(one: _Class) -> _Class:
        return dataclass(eq=False, repr=False, kw_only=kw_only)(one)  # type: ignore[return-value]

    return make if made is None else make(made)
