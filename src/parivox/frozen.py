"""A dataclass decorator for internal records that are not changed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable

_Class = TypeVar("_Class", bound=type)


@overload
def frozen(cls: _Class) -> _Class: ...
@overload
def frozen(*, kw_only: bool = ...) -> Callable[[_Class], _Class]: ...
@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def frozen(
    cls: _Class | None = None, *, kw_only: bool = False
) -> _Class | Callable[[_Class], _Class]:
    """Make a dataclass of arrays and objects, without ``==``, that type checkers treat as frozen.

    Use it for classes that users do not receive: at run time its fields can be set.
    """

    def decorate(decorated: _Class) -> _Class:
        # not frozen=True: for that, dataclasses compiles two functions per class, which takes half
        # of the time to make the class, and every command pays it at start-up
        return dataclass(eq=False, repr=False, kw_only=kw_only)(decorated)  # type: ignore[return-value]

    return decorate if cls is None else decorate(cls)
