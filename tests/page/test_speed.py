"""How soon the page is there and how fast it answers, in proportion to an empty page."""

from __future__ import annotations

import statistics

import numpy as np
import pytest

import parivox as pv

PAINT = """() => new Promise((done) => new PerformanceObserver((list) =>
  done(list.getEntries()[0].startTime)).observe({type: 'paint', buffered: true}))"""
STEP = """() => {
  const slider = document.getElementById('x-slider');
  const times = [];
  for (let i = 0; i < 40; i += 1) {
    slider.value = Number(slider.max) * (0.2 + 0.6 * (i * 0.618034 % 1));
    const start = performance.now();
    slider.dispatchEvent(new Event('input'));
    document.body.getBoundingClientRect();
    times.push(performance.now() - start);
  }
  return times;
}"""
EMPTY = "<!DOCTYPE html><html lang='en'><title>empty</title><p>Nothing.</p></html>"


def first_paint(opened, html):
    times = []
    for _ in range(3):
        with opened(html, fresh=True) as page:
            times.append(page.evaluate(PAINT))
    return statistics.median(times)


@pytest.fixture(scope="module")
def hundred_groups():
    """An audit of 100 groups of six speakers."""
    draw = np.random.default_rng(1)
    n, size = 60_000, 600
    enrol = draw.integers(0, size, n)
    label = draw.integers(0, 2, n)
    test_speaker = enrol // 6 * 6 + (enrol + draw.integers(1, 6, n)) % 6
    test_speaker = np.where(
        label == 1, enrol, np.where(test_speaker == enrol, enrol // 6 * 6, test_speaker)
    )
    trials = {
        "enrol": [f"{e}/{i}" for i, e in enumerate(enrol)],
        "test": [f"{t}/t{i}" for i, t in enumerate(test_speaker)],
        "enrol_speaker": [f"s{e}" for e in enrol],
        "test_speaker": [f"s{t}" for t in test_speaker],
        "score": draw.normal(3.0 * label + (enrol // 6 % 10) / 20).tolist(),
        "label": (enrol == test_speaker).astype(int).tolist(),
    }
    people = {"id": [f"s{i}" for i in range(size)], "group": [f"g{i // 6}" for i in range(size)]}
    return pv.audit({"made": trials}, speakers=people, by="group")


def test_the_first_paint_comes_soon(opened, h_page):
    empty, full = first_paint(opened, EMPTY), first_paint(opened, h_page)
    print(f"first paint: {full:.0f} ms, of an empty page {empty:.0f} ms")  # noqa: T201
    assert full < 1000 or full < 60 * empty


def test_a_step_of_the_slider_with_100_groups_takes_no_longer_than_it_may(
    opened, alone, hundred_groups
):
    empty = first_paint(opened, EMPTY)
    with opened(alone(hundred_groups), viewport={"width": 1280, "height": 900}) as page:
        times = []
        page.evaluate("() => { document.getElementById('x-advanced').open = true; }")
        for table in ("#x-common", "#x-own"):  # what is out of sight is not laid out
            page.locator(table).scroll_into_view_if_needed()
            times += page.evaluate(STEP)
    step = statistics.median(times)
    print(f"a step: {step:.1f} ms, first paint of an empty page {empty:.0f} ms")  # noqa: T201
    assert step < 50 or step < 5 * empty
