"""Draw docs/assets/*.png: the demo's audit as page, on paper and in a notebook; these docs' start.

    python examples/page_picture.py

Needs the extras `demo`, `report` and `dev`, and a Chromium: the one named in the variable CHROMIUM,
or Debian's package `chromium`. Paper is drawn where there is `pdftoppm` (Debian's package
`poppler-utils`), the docs' start after `make docs`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import parivox as pv
from parivox.report.html import html_report

PICTURES = {
    "report": (1200, "light"),
    "report-dark": (1200, "dark"),
    "report-tablet": (768, "light"),
    "report-phone": (390, "light"),
}
"""Width and colour scheme of each."""
TALLEST = 900
NAMES = ("chromium", "chromium-browser", "google-chrome")
SHEETS = 3
"""Of paper: what is signed."""
NOTEBOOK = """<!doctype html><meta charset="utf-8">
<body style="font: 14px sans-serif; max-width: 54rem; margin: 1rem">
<pre style="background: #f4f4f2; padding: 0.5rem">audit = pv.load("audit/")
audit</pre>"""
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def main() -> None:
    """Audit both systems of the demo, and photograph the page in several widths."""
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
    root = Path(__file__).parents[1]
    pictures = root / "docs" / "assets"
    pictures.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        file = Path(home) / "report.html"
        file.write_text(html_report(audit), encoding="utf-8")
        notebook = Path(home) / "notebook.html"
        notebook.write_text(NOTEBOOK + audit._repr_html_(), encoding="utf-8")
        photograph(file, notebook, root / "site" / "index.html", pictures)


def folder() -> Path:
    """Where the demo's scores are installed."""
    spec = find_spec("bt4vt")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "data"


def photograph(file: Path, notebook: Path, start: Path, pictures: Path) -> None:
    """Write what readers see first of each, as much as a picture should hold."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - of the extra `dev`

    browser = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=OPTIONS)
        for name, (width, scheme) in PICTURES.items():
            tab = chromium.new_page(
                viewport={"width": width, "height": TALLEST},
                color_scheme="dark" if scheme == "dark" else "light",
            )
            tab.goto(file.as_uri())
            box = tab.locator("#answer").bounding_box()
            assert box is not None
            height = min(TALLEST, box["y"] + box["height"] + box["x"])
            tab.screenshot(
                path=str(pictures / f"{name}.png"),
                clip={"x": 0, "y": 0, "width": width, "height": height},
            )
            tab.close()
        tab = chromium.new_page(viewport={"width": 900, "height": TALLEST})
        for name, page in {"notebook": notebook, "start": start}.items():
            if page.exists():
                tab.goto(page.as_uri())
                tab.screenshot(path=str(pictures / f"{name}.png"))
        tab.goto(file.as_uri())
        tab.pdf(path=str(file.with_suffix(".pdf")), prefer_css_page_size=True)
        chromium.close()
    if drawer := shutil.which("pdftoppm"):
        drawn = [drawer, "-r", "70", "-l", str(SHEETS), "-png", str(file.with_suffix(".pdf"))]
        subprocess.run([*drawn, str(pictures / "paper")], check=True)  # noqa: S603 - poppler's


if __name__ == "__main__":
    main()
