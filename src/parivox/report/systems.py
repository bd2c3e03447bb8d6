"""Systems in words: which can run here, and what a probe of one found."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding

from parivox.report.words import add, grid, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from parivox.embedding.probe import Probed
    from parivox.embedding.systems.named import Known
    from parivox.embedding.systems.protocol import EmbeddingSystem, VerifyingSystem

__all__ = ["print_known", "print_probed"]

PLAIN_WIDTH = 100
_STYLES = {"ok": "", "note": "yellow", "fault": "red"}


def print_known(known: Sequence[Known]) -> None:
    """Print which systems can be named, whether they run here, and why not."""
    made = grid("system", "runs here", "what", "note", left=(0, 1, 2, 3))
    for one in known:
        add(made, one.name, "yes" if one.runs else "no", one.what, one.note)
    _print(made)


def print_probed(system: EmbeddingSystem | VerifyingSystem, found: Probed) -> None:
    """Print what a system is, and how it answered."""
    kind = "compares vectors by " + system.scoring if hasattr(system, "scoring") else "verifies"
    head = text(
        f"{found.name}: {system.sample_rate:,} Hz, from {system.least_seconds:g} s on, {kind}"
    )
    about = grid("recorded", "", left=(0, 1))
    for name, value in system.provenance.items():
        add(about, name, str(value))
    made = grid("check", "verdict", "found", left=(0, 1, 2))
    for one in found.findings:
        add(made, one.check, text(one.verdict, style=_STYLES[one.verdict]), one.words)
    faults = sum(one.verdict == "fault" for one in found.findings)
    end = (
        "No fault found. The voices were synthetic: this says nothing of how well it tells people "
        "apart."
        if found.sound
        else f"{faults} fault{'s' * (faults > 1)}: scores of this system depend on more than the "
        "recordings, and an audit of them does too."
    )
    _print(head, Padding(about, (0, 0, 0, 2)), Padding(made, (0, 0, 0, 2)), text(end))


def _print(*parts: RenderableType) -> None:
    """With colours in a terminal, plain lines elsewhere."""
    if sys.stdout.isatty():
        Console(highlight=False).print(Group(*parts))
        return
    console = Console(highlight=False, width=PLAIN_WIDTH, no_color=True)
    with console.capture() as captured:
        console.print(Group(*parts))
    told = captured.get()
    if console.options.ascii_only:
        told = told.replace("–", "-")
    for line in told.split("\n")[:-1]:
        sys.stdout.write(line.rstrip() + "\n")
