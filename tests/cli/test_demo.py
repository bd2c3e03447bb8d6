"""The demo: what it prints and writes is beside the README, in tests/report/test_readme.py."""

from parivox.cli import demo


def test_without_its_scores_the_demo_says_how_to_get_them(parivox, monkeypatch):
    monkeypatch.setattr(demo, "find_spec", lambda _: None)
    done = parivox("demo")
    assert done.returncode == 2
    assert "install them with: pip install 'parivox[demo]'" in done.stderr
