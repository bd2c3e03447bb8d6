"""The demo: from an installed package to a first audit and its page, in one command."""

import pytest

from parivox.cli import demo


def test_without_its_scores_the_demo_says_how_to_get_them(parivox, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    done = parivox("demo")
    assert done.returncode == 2
    assert "pip install 'parivox[demo]' brings them" in done.stderr


@pytest.mark.slow
def test_the_demo_writes_an_audit_and_its_page(parivox, bt4vt_data, tmp_path):
    done = parivox("demo", "--out", tmp_path / "d", "--quiet")
    assert done.returncode == 0
    assert "550,894 trials · 1,190 speakers · 2 systems" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(
        "Your own files: parivox inspect SCORES SPEAKERS"
    )
    assert (tmp_path / "d" / "report.html").stat().st_size > 100_000
    assert (tmp_path / "d" / "audit" / "groups.csv").is_file()
