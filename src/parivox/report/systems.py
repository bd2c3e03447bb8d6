"""From recordings to scores, in words: which systems run here, what was embedded, what scored."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.errors import shown
from parivox.report.words import add, grid, show, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from parivox.embedding.extract import Embedded
    from parivox.embedding.probe import Probed
    from parivox.embedding.store import Store
    from parivox.embedding.systems.named import Known
    from parivox.embedding.systems.protocol import EmbeddingSystem, VerifyingSystem
    from parivox.scoring.run import Scored

_STYLES = {"ok": "", "note": "yellow", "fault": "red"}
_FAILURES = {
    "too_short": "too short",
    "no_speech": "without speech",
    "unreadable": "not readable",
    "non_finite": "with values that are not finite",
    "silent": "silent",
}
_STAGES = {"enrol": "enrolment", "acquire": "test"}


def print_known(known: Sequence[Known]) -> None:
    """Print which systems can be named, whether they run here, and why not."""
    made = grid("system", "runs here", "what", "note", left=(0, 1, 2, 3))
    for one in known:
        add(made, one.name, "yes" if one.runs else "no", one.what, one.note)
    show(made)


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
    parts = (head, Padding(about, (0, 0, 0, 2)), Padding(made, (0, 0, 0, 2)), text(end))
    show(Group(*parts))


def embedded(run: Embedded) -> Iterator[str]:
    """Lines of what a run did: how much, what failed, and where that is told; no ids."""
    total, ok = sum(run.statuses.values()), run.statuses.get("ok", 0)
    had = total - run.new
    known = f", {had:,} of them earlier" if had else ""
    name = run.store.system["name"]
    yield shown(
        f"{ok:,} of {total:,} recordings ({_hours(run.seconds)}) are embedded by {name} in "
        f"{run.store.path}{known}."
    )
    failed = [f"{n:,} {_FAILURES[status]}" for status, n in run.statuses.items() if status != "ok"]
    if failed:
        yield shown(
            f"{total - ok:,} failed: {', '.join(failed)}. An audit counts them as an outcome: see "
            f"status and reason in {run.store.path / 'recordings.parquet'}."
        )
    for one in run.store.about["probe"]["findings"]:
        if one["verdict"] == "fault":
            yield shown(f"A probe of {name} found a fault ({one['check']}): {one['words']}.")
    if run.passed_over:
        yield f"{run.passed_over:,} files were passed over: by their ending they are no recordings."


def checked(store: Store) -> Iterator[str]:
    """A line that says that a store is whole."""
    rows, crops, dimension = store.vectors.shape
    of_crops = f" of {crops} crops" if crops > 1 else ""
    yield shown(
        f"{store.path}: is whole: {len(store.table):,} recordings, {rows:,} embeddings{of_crops} "
        f"of {dimension} values by {store.system['name']}."
    )


def _hours(seconds: float) -> str:
    """A duration as a person says it.

    Examples
    --------
    >>> [_hours(s) for s in (12.3, 754, 20_043)]
    ['12 s', '12 min 34 s', '5 h 34 min']
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, hours = whole // 60, whole // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {whole % 60} s"


def print_scored(found: Scored) -> None:
    """Print it: how many trials have a score, why others have none, of whom the cohort is."""
    for line in scored(found):
        sys.stdout.write(shown(line) + "\n")


def scored(found: Scored) -> Iterator[str]:
    """Lines of what was scored."""
    yield f"{found.out}: {found.scored:,} of {found.trials:,} trials scored, by {found.how}."
    for (stage, status), count in found.failed.items():
        yield f"  {count:,} trials failed: {_STAGES[stage]} recording {status.replace('_', ' ')}"
    if found.failed:
        yield "  Failures have a row, too: an audit counts them for the group that they hit."
    for note in found.notes:
        yield f"  Noted: {note}."
    if found.cohort:
        yield "  Of the cohort's recordings (speakers); a cohort of one group is itself a bias:"
    for attribute, values in found.cohort.items():
        counts = ", ".join(
            f"{value} {each['recordings']:,} ({each['speakers']:,})"
            for value, each in values.items()
        )
        yield f"    {attribute}: {counts}"
