"""Draw docs/assets/report.png and report-dark.png: the head of the page on the demo's audit.

    python examples/page_picture.py

Needs the extras `demo`, `report` and `dev`, and a Chromium: the one named in the variable CHROMIUM,
or Debian's package `chromium`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path

import parivox as pv
from parivox.report.page import page

WIDTH, HEIGHT = 1200, 1500
NAMES = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main() -> None:
    """Audit both systems of the demo, and photograph the page in light and dark."""
    data = folder()
    audit = pv.audit(
        {
            "V2": data / "resnetse34v2_H-eval_scores.csv",
            "L": data / "resnetse34l_H-eval_scores.csv",
        },
        speakers=data / "vox1_meta.csv",
        by=["gender", "gender+nationality"],
        compare=True,
    )
    pictures = Path(__file__).parents[1] / "docs" / "assets"
    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "report.html"
        file.write_text(page(audit), encoding="utf-8")
        photograph(file, {"light": pictures / "report.png", "dark": pictures / "report-dark.png"})


def folder() -> Path:
    """Where the demo's scores are installed."""
    spec = find_spec("bt4vt")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data"


def photograph(file: Path, pictures: dict[str, Path]) -> None:
    """Write the head of a page as a reader sees it in each colour scheme."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of the extra `dev`

    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=OPTIONS)
        for scheme, picture in pictures.items():
            context = chromium.new_context(
                viewport={"width": WIDTH, "height": HEIGHT},
                color_scheme="dark" if scheme == "dark" else "light",
                offline=True,
            )
            shown = context.new_page()
            shown.goto(file.as_uri())
            shown.screenshot(path=str(picture))
            context.close()
        chromium.close()


if __name__ == "__main__":
    main()
