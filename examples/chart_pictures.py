"""Draw the pictures of charts in the docs: docs/assets/metric-*.svg and docs/assets/chart-*.svg.

    python examples/chart_pictures.py

Needs the extras `demo` and `report`. The first are for the pages on metrics, the others are what
the calls on docs/api/charts.md give. Most are of two real systems on VoxCeleb1-H. That list has no
trials between groups, no failures and no likelihood ratios, so what needs these is of made data,
and the pages say so. The pictures hold text, no fonts and no links, and are light or dark as their
reader's screen is.
"""

from __future__ import annotations

import ast
import itertools
import random
import re
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import parivox as pv
from parivox.report.charts import DARK, LIGHT, spec, svg
from parivox.report.charts import grammar as vl

if TYPE_CHECKING:
    from collections.abc import Iterator

DOCS = Path(__file__).parents[1] / "docs"
CALL = re.compile(r"^audit\.charts\.(?P<chart>\w+)\(.*\)$", re.MULTILINE)
OF_MADE_DATA = ("levels", "failures", "matrix", "calibration")
GROUPS = ["f+India", "f+UK", "f+USA", "m+India", "m+Norway", "m+UK", "m+USA"]
"""Enough to see what a chart shows."""
GROUPING = "gender+nationality"
ACCENTS = {"north": 0.0, "east": 0.25, "south": 0.9, "west": 1.0}
"""Made groups; the nearer, the more their voices are alike."""


def main() -> None:
    """Audit real and made data, and draw what each page is about."""
    real, simulated = demo(), made_up()
    shared: dict[str, Any] = {"by": GROUPING, "groups": GROUPS, "system": "V2"}
    groups = ["f+India", "m+USA"]
    charts = real.charts
    draw("metric-error-rates", charts.forest(**shared))
    draw(
        "metric-eer",
        with_equal_rates(charts.det(by=GROUPING, groups=groups, systems="V2", panel="all")),
    )
    draw("metric-costs", charts.thresholds(**shared))
    draw("metric-separation", charts.boxes(**shared))
    draw("metric-bias-measures", charts.against(by=GROUPING, measure="subgroup_bias"))
    draw("metric-meta-measures", charts.measures(by="gender"))
    draw("metric-meta-measures-over-fpr", charts.over_fpr(by=GROUPING, measures=["fdr", "garbe"]))
    for name, options in calls((DOCS / "api" / "charts.md").read_text(encoding="utf-8")):
        audit = simulated if name in OF_MADE_DATA else real
        draw(f"chart-{name.replace('_', '-')}", getattr(audit.charts, name)(**options))


def calls(page: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every chart that a page calls, with what it is called with."""
    for match in CALL.finditer(page):
        call = ast.parse(match[0], mode="eval").body
        assert isinstance(call, ast.Call)
        yield (
            match["chart"],
            {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords},
        )


def demo() -> pv.Audit:
    """Both real systems."""
    spec = find_spec("bt4vt")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data"
    return pv.audit(
        {
            "V2": data / "resnetse34v2_H-eval_scores.csv",
            "L": data / "resnetse34l_H-eval_scores.csv",
        },
        speakers=data / "vox1_meta.csv",
        by=["gender", GROUPING],
        operating_points=["fpr=0.01", "eer", "fpr=0.001", "fpr=0.1"],
        compare=True,
    )


def made_up() -> pv.Audit:
    """Log-likelihood ratios of made speakers of four accents, some of whose recordings fail."""
    source = random.Random(11)  # noqa: S311 - made-up scores, not secrets
    people = {f"s{i}": (*ACCENTS,)[i % len(ACCENTS)] for i in range(64)}
    voices = {speaker: source.gauss(0, 0.6) for speaker in people}
    recordings = [(speaker, f"{speaker}/{n}") for speaker in people for n in range(4)]
    failed = {
        name
        for speaker, name in recordings
        if source.random() < (0.13 if people[speaker] == "west" else 0.03)
    }
    trials: dict[str, list[Any]] = {"enrol": [], "test": [], "label": [], "score": []}
    for (speaker, enrol), (test_speaker, test) in itertools.combinations(recordings, 2):
        is_target = speaker == test_speaker
        if not is_target and source.random() > 0.15:
            continue
        distance = abs(ACCENTS[people[speaker]] - ACCENTS[people[test_speaker]])
        mean = -3.5 - 2.5 * distance + voices[speaker] * voices[test_speaker]
        if is_target:
            mean = 3.5 + voices[speaker]
        llr = source.gauss(mean, 2.2)
        if people[speaker] == people[test_speaker] == "south":
            llr += 1.5
        has_failed = enrol in failed or test in failed
        row = (enrol, test, int(is_target), None if has_failed else round(llr, 4))
        for column, cell in zip(trials.values(), row, strict=True):
            column.append(cell)
    speakers = {
        "speaker": [*people],
        "accent": [*people.values()],
        "gender": ["fm"[i // 4 % 2] for i in range(len(people))],
    }
    stages = {
        "recording": sorted(failed),
        "stage": ["enrol" if name.endswith("/0") else "acquire" for name in sorted(failed)],
    }
    return pv.audit(
        {"made": trials},
        speakers=speakers,
        failures=stages,
        by="accent",
        within="gender",
        operating_points="fpr=0.01",
        llr=True,
    )


def with_equal_rates(chart: Any) -> dict[str, Any]:
    """A DET panel with its diagonal, on which both rates are equal."""
    panel = spec(chart)
    axes = panel["layer"][0]["encoding"]
    ends: dict[str, Any] = {}
    for axis in ("x", "y"):
        low, high = axes[axis]["scale"]["domain"]
        ends |= {axis: vl.datum(low, title=axes[axis]["title"]), f"{axis}2": {"datum": high}}
    diagonal = vl.mark("rule", ends, rows=[{}], color=LIGHT.muted, strokeDash=[1, 3])
    return {**panel, "layer": [*panel["layer"], diagonal]}


def draw(name: str, chart: Any) -> None:
    """Write the picture of a chart, in inks for light and dark screens."""
    picture = svg(chart, id=name)
    for ink, colour in LIGHT.by_variable().items():
        picture = picture.replace(f'"{colour}"', f'"var(--{ink})"')
    head, end, body = picture.partition(">")
    ground = f'<style>{inks()}</style><rect width="100%" height="100%" rx="6" fill="var(--paper)"/>'
    file = DOCS / "assets" / f"{name}.svg"
    file.write_text(f"{head}{end}{ground}{body}\n", encoding="utf-8")


def inks() -> str:
    """The inks of charts for light and dark screens, as a picture's style."""
    light, dark = (
        ";".join(f"--{name}:{ink}" for name, ink in inks.by_variable().items())
        for inks in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


if __name__ == "__main__":
    main()
