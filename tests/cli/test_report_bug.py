"""``parivox report-bug`` tells what a report needs, and nothing of who reports."""

import platform
import subprocess
from importlib.metadata import version

import pytest

import parivox as pv


@pytest.mark.slow
def test_versions_are_told_without_names_or_paths(program, tmp_path):
    folder = tmp_path / "acme-voices"
    folder.mkdir()
    user_variables = {"HOME": str(folder), "USER": "jdoe", "LOGNAME": "jdoe", "USERNAME": "jdoe"}
    done = subprocess.run(
        [program, "report-bug"],
        cwd=folder,
        env=user_variables,
        capture_output=True,
        text=True,
        check=True,
    )
    for fact in (f"Parivox {pv.__version__}", platform.python_version(), platform.system()):
        assert fact in done.stdout
    assert f"numpy {version('numpy')}" in done.stdout
    for private in ("acme-voices", "jdoe", "/", "\\", platform.node()):
        assert private not in done.stdout


def test_what_is_not_installed_is_missing(monkeypatch, capsys):
    from parivox.cli import main

    lines = [
        "a-b>=1",
        "c; python_version < '3.11'",
        "d>=1; extra == 'x'",
        "e>=1; (python_version < '4.0') and extra == 'x'",
        "parivox[x]; extra == 'y'",
    ]
    monkeypatch.setattr("importlib.metadata.requires", lambda _: lines)
    main(["report-bug"])
    assert capsys.readouterr().out.splitlines()[1:] == [
        "core: a-b missing",
        "x: d missing, e missing",
    ]
