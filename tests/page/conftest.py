"""A page in headless Chromium: offline, and watched for whatever a reader must not meet."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from parivox import audit
from parivox.report.html import html_report
from parivox.report.html.explorer import explorer

OPTIONS = (
    "--no-sandbox",  # or a container's root may not start it
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NAMES = ("chromium", "chromium-browser", "google-chrome")
USUAL = {"width": 1280, "height": 720}
"""The size of a window for which none is asked."""
WRONG = {"error", "warning"}


def absent(reason):
    """Skip what needs a browser; where everything is required, fail it."""
    if os.environ.get("PARIVOX_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def executable(playwright):
    """A Chromium: the one named in CHROMIUM, the system's, or Playwright's own."""
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else [*filter(None, map(shutil.which, NAMES))]
    bundled = playwright.chromium.executable_path
    for path in (*candidates, bundled):
        if Path(path).exists():
            return path
    return absent("no Chromium is installed; on Debian: apt-get install chromium")


@pytest.fixture(scope="session")
def chromium(optional):
    """One browser for all tests."""
    sync = optional("playwright.sync_api")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=executable(playwright), args=list(OPTIONS)
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def opened(chromium, tmp_path_factory):
    """Open a page from a file, offline: nothing but that file may be asked for, nothing fail.

    A window serves one test after the other in any size and colour scheme, as it takes longer to
    open than what is shown in it; a `fresh` one is new, and closed again.
    """
    folder = tmp_path_factory.mktemp("pages")
    written, windows = {}, {}

    @contextmanager
    def open_page(html, *, fresh=False, viewport=USUAL, color_scheme="light", **options):
        if html not in written:
            written[html] = folder / f"{len(written)}.html"
            written[html].write_text(html, encoding="utf-8")
        address = written[html].as_uri()
        name = repr(sorted(options.items()))
        page = None if fresh else windows.pop(name, None)
        if page is None:
            context = chromium.new_context(
                offline=True, viewport=viewport, color_scheme=color_scheme, **options
            )
            context.set_default_timeout(600_000)  # a busy machine is slow, not broken
            page = context.new_page()
        else:
            page.set_viewport_size(viewport)
            page.emulate_media(media="null", color_scheme=color_scheme)
            page.mouse.move(0, 0)
        urls, messages = [], []
        watched = {
            "request": lambda request: urls.append(request.url),
            "console": lambda message: (
                messages.append(message.text) if message.type in WRONG else None
            ),
            "weberror": lambda message: messages.append(str(message.error)),
        }
        for event, listener in watched.items():
            page.context.on(event, listener)
        is_sound = False
        try:
            page.goto(address)
            yield page
            assert not messages
            assert {url for url in urls if not url.startswith(("data:", "blob:"))} == {address}
            is_sound = not fresh
        finally:
            for event, listener in watched.items():
                page.context.remove_listener(event, listener)
            if is_sound:
                windows[name] = page
            else:
                page.context.close()

    return open_page


@pytest.fixture(scope="session")
def h_audit(bt4vt_data):
    """Both systems on VoxCeleb1-H, by gender and by gender and nationality."""
    return audit(
        {
            "V2": bt4vt_data / "resnetse34v2_H-eval_scores.csv",
            "L": bt4vt_data / "resnetse34l_H-eval_scores.csv",
        },
        speakers=bt4vt_data / "vox1_meta.csv",
        by=["gender+nationality", "gender"],
        zero=["none", "jeffreys", "nist"],
        cost=["voxsrc", "sre08"],
        compare=True,
    )


@pytest.fixture(scope="session")
def h_page(h_audit):
    """Its page."""
    return html_report(h_audit)


@pytest.fixture(scope="session")
def alone(optional):
    """The explorer of an audit on a page without anything else: made at once."""
    jinja2 = optional("jinja2")
    files = resources.files("parivox.report")
    template = jinja2.Environment(
        loader=jinja2.PackageLoader("parivox.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    ).get_template("explorer.html.j2")

    def page_of(audit):
        page_style, style, *scripts = (
            (files / "assets" / name).read_text("utf-8")
            for name in ("page.css", "explorer.css", "arithmetic.js", "explorer.js")
        )
        script_tags = "".join(f"<script>{script}</script>" for script in scripts)
        return (
            f"<!DOCTYPE html><html lang='en'><meta charset='utf-8'>"
            f"<style>{page_style}{style}</style>"
            f"{template.render(explorer=explorer(audit))}{script_tags}"
        )

    return page_of


@pytest.fixture(scope="session")
def h_explorer(h_audit, alone):
    """The explorer of VoxCeleb1-H's page alone."""
    return alone(h_audit)


ODD_NAMES = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'so'",
    "</script><!--",
    "\u202eright to left",
    "עברית",
    "🎙️ voice",
    "x" * 200,
    "{{ 7 * 7 }}",
)


@pytest.fixture(scope="session")
def audited():
    """Make a small audit, with six speakers in each group, of scores changed in any way; once."""

    def small_audit(
        *, groups=ODD_NAMES, target=6, nontarget=30, seed=1, points=None, change=None, **options
    ):
        """A small audit with six speakers in each group."""
        draw = np.random.default_rng(seed)
        rows, people = [], {"id": [], "group": []}
        for g, name in enumerate(groups):
            ids = [f"s{g:03d}{i}" for i in range(6)]
            people["id"] += ids
            people["group"] += [name] * 6
            for i in range(6):
                test_speaker = ids[(i + 1) % 6]
                rows += [(ids[i], ids[i], f"{k}", f"t{k}", 1) for k in range(target)]
                rows += [(ids[i], test_speaker, f"{k}", f"n{k}", 0) for k in range(nontarget)]
        label = np.array([row[4] for row in rows])
        score = np.round(draw.normal(2.5 * label, 1), 3)
        if change is not None:
            score = change(score, label)
        trials = {
            "enrol": [f"{row[0]}/{row[2]}" for row in rows],
            "test": [f"{row[1]}/{row[3]}" for row in rows],
            "enrol_speaker": [row[0] for row in rows],
            "test_speaker": [row[1] for row in rows],
            "score": score.tolist(),
            "label": label.tolist(),
        }
        options_of_points = {} if points is None else {"operating_points": points}
        return audit({"made": trials}, speakers=people, by="group", **options_of_points, **options)

    audits = {}

    def once(**options):
        if "change" in options:  # a function, which has no name that lasts
            return small_audit(**options)
        key = repr(sorted(options.items()))
        if key not in audits:
            audits[key] = small_audit(**options)
        return audits[key]

    return once
