"""Draw docs/assets/metric-*.svg: a picture for each page on metrics.

    python examples/metric_pictures.py

Needs the extras `demo` and `report`. Most are of two real systems on VoxCeleb1-H. That list has no
trials between groups, no failures and no likelihood ratios, so allocation, failures and calibration
are of made data, and their pages say so. The pictures hold text, no fonts and no links, and are
light or dark as their reader's screen is.
"""

from __future__ import annotations

import itertools
import random
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import parivox as pv
from parivox.report.charts import DARK, LIGHT, PAGE, svg
from parivox.report.charts import grammar as vl
from parivox.report.charts.chart import CHOICES, choose
from parivox.report.charts.comparison import against
from parivox.report.charts.det import det
from parivox.report.charts.groups import failures, forest
from parivox.report.charts.matrix import matrix
from parivox.report.charts.measures import measures
from parivox.report.charts.scores import boxes, calibration, thresholds
from parivox.report.charts.sweep import over_fpr

if TYPE_CHECKING:
    from parivox.report.charts.chart import Chart

ASSETS = Path(__file__).parents[1] / "docs" / "assets"
GROUPS = ["f+India", "f+UK", "f+USA", "m+India", "m+Norway", "m+UK", "m+USA"]
"""Enough to see what a chart shows."""
BOTH = "gender+nationality"
ACCENTS = {"north": 0.0, "east": 0.25, "south": 0.9, "west": 1.0}
"""Made groups, and how much alike their voices are: the nearer, the more."""


def main() -> None:
    """Audit real and made data, and draw what each page is about."""
    real, made = demo(), made_up()
    draw(real, "error-rates", forest, by=BOTH, groups=GROUPS, system="V2")
    draw(real, "eer", det, by=BOTH, groups=["f+India", "m+USA"], panel="all", system="V2")
    draw(real, "costs", thresholds, by=BOTH, groups=GROUPS, system="V2")
    draw(real, "separation", boxes, by=BOTH, groups=GROUPS, system="V2")
    draw(real, "bias-measures", against, by=BOTH, measure="subgroup_bias")
    draw(real, "meta-measures", measures, by="gender", systems=["V2", "L"])
    draw(real, "meta-measures-over-fpr", over_fpr, by=BOTH, measures=["fdr", "garbe"])
    draw(made, "allocation", matrix)
    draw(made, "failures", failures)
    draw(made, "calibration", calibration)


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
        by=["gender", BOTH],
        operating_points=["fpr=0.01", "eer"],
    )


def made_up() -> pv.Audit:
    """Log-likelihood ratios of made speakers of four accents, some of whose recordings fail."""
    source = random.Random(11)  # noqa: S311 - made-up scores, not secrets
    people = {f"s{i}": (*ACCENTS,)[i % len(ACCENTS)] for i in range(64)}
    voices = {one: source.gauss(0, 0.6) for one in people}
    recordings = [(one, f"{one}/{n}") for one in people for n in range(4)]
    failed = {
        name for one, name in recordings if source.random() < 0.03 + 0.1 * (people[one] == "west")
    }
    trials: dict[str, list[Any]] = {"enrol": [], "test": [], "label": [], "score": []}
    for (one, enrol), (other, test) in itertools.combinations(recordings, 2):
        is_target = one == other
        if not is_target and source.random() > 0.15:
            continue
        apart = abs(ACCENTS[people[one]] - ACCENTS[people[other]])
        mean = 3.5 + voices[one] if is_target else -3.5 - 2.5 * apart + voices[one] * voices[other]
        llr = source.gauss(mean, 2.2) + 1.5 * (people[one] == people[other] == "south")
        has_failed = enrol in failed or test in failed
        row = (enrol, test, int(is_target), None if has_failed else round(llr, 4))
        for column, value in zip(trials.values(), row, strict=True):
            column.append(value)
    speakers = {"speaker": [*people], "accent": [*people.values()]}
    stages = {
        "recording": sorted(failed),
        "stage": ["enrol" if name.endswith("/0") else "acquire" for name in sorted(failed)],
    }
    return pv.audit(
        {"made": trials},
        speakers=speakers,
        failures=stages,
        by="accent",
        operating_points="fpr=0.01",
        llr=True,
    )


def draw(audit: pv.Audit, name: str, kind: Chart, **asked: Any) -> None:
    """Write the picture of one chart, with its words for those who do not see it."""
    chosen = choose(audit, **{key: asked.pop(key) for key in CHOICES if key in asked})
    drawing = kind.draw(chosen, PAGE, **asked)
    if name == "eer":
        drawing.spec["layer"].append(equal_rates(drawing.spec))
    words = f"{drawing.reading} {drawing.description}"
    picture = svg(drawing.spec, id=name, title=drawing.title, description=words)
    head, end, body = picture.partition(">")
    ground = f'<style>{inks()}</style><rect width="100%" height="100%" rx="6" fill="var(--paper)"/>'
    file = ASSETS / f"metric-{name}.svg"
    file.write_text(f"{head}{end}{ground}{body}\n", encoding="utf-8")


def equal_rates(spec: dict[str, Any]) -> dict[str, Any]:
    """The diagonal of a DET panel, on which both rates are equal."""
    axes = spec["layer"][0]["encoding"]
    ends: dict[str, Any] = {}
    for axis in ("x", "y"):
        low, high = axes[axis]["scale"]["domain"]
        ends |= {axis: vl.datum(low, title=axes[axis]["title"]), f"{axis}2": {"datum": high}}
    return vl.mark("rule", ends, rows=[{}], color=PAGE.inks.muted, strokeDash=[1, 3])


def inks() -> str:
    """The inks of charts for light and dark screens, as a picture's style."""
    light, dark = (
        ";".join(f"--{name}:{ink}" for name, ink in inks.named().items()) for inks in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


if __name__ == "__main__":
    main()
