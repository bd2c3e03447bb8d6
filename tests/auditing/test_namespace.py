"""The public names, and what importing them costs."""

import inspect
import subprocess
import sys

import pytest

import parivox as pv

pytestmark = pytest.mark.minimal


@pytest.mark.parametrize("name", pv.__all__)
def test_every_public_name_is_there_and_described(name):
    member = getattr(pv, name)
    assert name in dir(pv)
    if inspect.isfunction(member) or inspect.isclass(member):
        assert inspect.getdoc(member)


@pytest.mark.parametrize(
    "name", [n for n in pv.__all__ if inspect.isfunction(getattr(pv, n)) and n != "load"]
)
def test_options_of_public_functions_are_keyword_only(name):
    plain = [
        parameter
        for parameter in inspect.signature(getattr(pv, name)).parameters.values()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    assert len(plain) <= 3


def test_public_names_are_those_that_have_a_home():
    assert sorted(pv.__all__) == sorted(name for names in pv._HOMES.values() for name in names)
    assert {"audit", "load", "Audit", "eer", "fdr", "ParivoxError", "DataError"} <= set(pv.__all__)


def test_completion_shows_public_names_and_nothing_else():
    assert sorted(dir(pv)) == sorted([*pv.__all__, "__version__"])
    assert not [name for name in dir(pv) if name.startswith("_") and name != "__version__"]


def test_types_are_shipped():
    from importlib.resources import files

    assert files("parivox").joinpath("py.typed").is_file()


def test_no_other_name():
    with pytest.raises(AttributeError, match="nosuch"):
        _ = pv.nosuch


def test_a_star_import_gives_all_of_them():
    space = {}
    exec("from parivox import *", space)
    assert set(pv.__all__) <= set(space)


def modules_after(code):
    script = f"{code}\nimport sys\nprint(*sorted({{m.partition('.')[0] for m in sys.modules}}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split("\n")[-2].split())


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import parivox",
        "import parivox; parivox.DataError",
        "from parivox.cli import parser; parser()",
    ],
)
def test_importing_is_cheap(code):
    assert not modules_after(code) & {"polars", "scipy", "rich", "numpy", "pandas", "pyarrow"}


@pytest.mark.slow
def test_functions_bring_numpy_only():
    modules = modules_after("import parivox; parivox.eer([1.0, 0.0], [1, 0])")
    assert "numpy" in modules
    assert not modules & {"polars", "scipy", "rich"}


@pytest.mark.slow
def test_public_names_are_not_replaced_by_modules_that_are_imported_first():
    script = """
import importlib, pkgutil, types
import parivox
for module in pkgutil.walk_packages(parivox.__path__, "parivox."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:  # of an extra that is not installed
        if error.name.startswith("parivox"):
            raise
public = ("papers", "shards", "sklearn", "trials")
packages = [parivox, *(importlib.import_module(f"parivox.{name}") for name in public)]
names = [(package, name) for package in packages for name in package.__all__]
wrong = [
    (package.__name__, name)
    for package, name in names
    if isinstance(getattr(package, name), types.ModuleType) != (name in public)
]
print(len(names), wrong)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    n_names, wrong = done.stdout.split(maxsplit=1)
    assert wrong.strip() == "[]"
    assert int(n_names) > len(pv.__all__)
