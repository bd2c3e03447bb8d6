"""Public names of a package, each imported on first use.

A command that needs one room imports that room alone: loading all rooms takes longer than many
commands run.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import FunctionType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


def lazy_names(
    package: str,
    names_by_module: Mapping[str, tuple[str, ...]],
    *,
    public_names: Collection[str] = (),
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package
        Full name of the package.
    names_by_module
        Full names of modules, and the names that the package offers from each. If package and name
        give the full name of the module, the name offers the module itself.
    public_names
        Names by which users call functions, whose arguments are therefore checked.
    """
    module_by_name = {name: module for module, names in names_by_module.items() for name in names}

    def import_name(name: str) -> object:
        if name not in module_by_name:
            msg = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(msg)
        module = import_module(module_by_name[name])
        is_module = module.__name__ == f"{package}.{name}"
        attribute = module if is_module else getattr(module, name)
        if name in public_names and isinstance(attribute, FunctionType):
            from parivox.arguments import check_arguments  # noqa: PLC0415 - with a first function

            attribute = check_arguments(attribute)
            # where pickle finds it again
            attribute.__module__, attribute.__qualname__ = package, name
        setattr(sys.modules[package], name, attribute)
        return attribute

    def list_names() -> list[str]:
        return sorted(module_by_name)

    return import_name, list_names
