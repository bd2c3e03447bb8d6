"""Draw docs/assets/summary.svg: what `parivox audit` prints on the demo's first system.

    python examples/summary_picture.py

Needs the extra `demo`. The picture holds text, no fonts and no links.
"""

from __future__ import annotations

import io
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme

import parivox as pv
from parivox.report.terminal import summary

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"
 aria-label="Summary of an audit as printed in a terminal">
<style>
text {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
 font-size: {char_height}px; line-height: {line_height}px; white-space: pre; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#fbfbf9"/>
<g transform="translate({terminal_x}, {terminal_y})">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
INK = (34, 34, 34)
THEME = TerminalTheme((251, 251, 249), INK, [INK] * 8)


def main() -> None:
    """Audit the demo's first system and draw the summary."""
    spec = find_spec("bt4vt")
    assert spec is not None
    assert spec.origin is not None
    data = Path(spec.origin).parent / "data"
    audit = pv.audit(
        {"V2": data / "resnetse34v2_H-eval_scores.csv"},
        speakers=data / "vox1_meta.csv",
        by=["gender", "gender+nationality"],
        operating_points="fpr=0.01",
    )
    console = Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    console.print(summary(audit))
    picture = Path(__file__).parents[1] / "docs" / "assets" / "summary.svg"
    picture.parent.mkdir(exist_ok=True)
    console.save_svg(str(picture), title="", theme=THEME, code_format=SVG, unique_id="parivox")


if __name__ == "__main__":
    main()
