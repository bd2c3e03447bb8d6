"""From recordings to scores, in words: which systems run here, what was embedded, what scored."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.embedding.identity import are_few, no_people
from parivox.errors import printable
from parivox.report.words import STYLES, add_row, count_of, grid, print_text, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from parivox.embedding.extract import Embedded
    from parivox.embedding.probe import Probed
    from parivox.embedding.recordings import Source
    from parivox.embedding.store import Store
    from parivox.embedding.systems import EmbeddingSystem, VerifyingSystem
    from parivox.embedding.systems.named import NameableSystem
    from parivox.scoring.all_pairs_counts import ScoredPairs
    from parivox.scoring.run import Scored

_STYLES = {"ok": "", "note": "bold", "fault": STYLES["worse"]}
_FAILURES = {
    "too_short": "too short",
    "no_speech": "without speech",
    "unreadable": "not readable",
    "non_finite": "with values that are not finite",
    "silent": "silent",
}
SHOWN_NAMES = 3
_STAGES = {"enrol": "enrolment", "acquire": "test"}


def print_known(known: Sequence[NameableSystem]) -> None:
    """Print which systems can be named, whether they run here, and why not."""
    made = grid("system", "runs here", "what", "note", left=(0, 1, 2, 3))
    for one in known:
        add_row(made, one.name, "yes" if one.is_runnable else "no", one.description, one.note)
    print_text(made)


def print_probed(system: EmbeddingSystem | VerifyingSystem, found: Probed) -> None:
    """Print what a system is, and how it answered."""
    kind = "compares vectors by " + system.scoring if hasattr(system, "scoring") else "verifies"
    head = text(
        f"{found.name}: {system.sample_rate:,} Hz, from {system.least_seconds:g} s on, {kind}"
    )
    about = grid("recorded", "", left=(0, 1))
    for name, value in system.provenance.items():
        add_row(about, name, str(value))
    made = grid("check", "verdict", "found", left=(0, 1, 2))
    for one in found.findings:
        add_row(made, one.check, text(one.verdict, style=_STYLES[one.verdict]), one.words)
    faults = sum(one.verdict == "fault" for one in found.findings)
    end = (
        "No fault found. The voices were synthetic: this says nothing of how well it tells people "
        "apart."
        if found.sound
        else f"{faults} fault{'s' * (faults > 1)}: scores of this system depend on more than the "
        "recordings, and an audit of them does too."
    )
    parts = (head, Padding(about, (0, 0, 0, 2)), Padding(made, (0, 0, 0, 2)), text(end))
    print_text(Group(*parts))


def speaker_lines(source: Source) -> Iterator[str]:
    """Lines of who the speakers of recordings are, by what that is told, and what tells it else."""
    speakers = source.speakers
    if not source.speaker_by:
        mend = f" with --columns speaker=NAME ({_some(source.others)})" if source.others else ""
        yield f"no speakers: nothing tells whose the recordings are; say it{mend or ' in a table'}"
        return
    count = count_of(len(speakers), "speaker")
    warnings = [f"warning: {one}" for one in speaker_doubts(source)]
    mend = ""
    if source.is_guess and not warnings:
        mend = f"; say otherwise with {_other_folders(source)}"
    elif source.others and not source.is_guess:
        mend = f"; say otherwise with --columns speaker=NAME ({_some(source.others)})"
    yield f"{count}, by {source.speaker_by}: {_some(speakers)}{mend}"
    yield from warnings


def speaker_doubts(source: Source) -> Iterator[str]:
    """What speaks against it that the first folders of the paths are people."""
    odd, speakers = no_people(source), source.speakers
    if not odd and not are_few(source):
        return
    if odd:
        names = _some(map(repr, odd))
        are = "is not a person's name" if len(odd) == 1 else "are not names of persons"
        why = f"{names} {are}"
    else:
        each = source.table.height / len(speakers)
        why = f"{len(speakers)} with {each:,.0f} recordings each are few"
    yield (
        f"the first folders of the paths may not be the speakers ({why}), and an audit of wrong "
        f"speakers is wrong; say who they are with {_other_folders(source)}"
    )


def _other_folders(source: Source) -> str:
    """How to say of a folder whose the recordings are."""
    numbers = " or ".join(f"speaker={one}" for one in source.others)
    folders = f"--columns {numbers} (of the path, from 1), or " if numbers else ""
    return f"{folders}a table of file and speaker in place of the folder"


def _some(names: Iterable[str]) -> str:
    """The first of many names."""
    first = list(islice(names, SHOWN_NAMES + 1))
    return ", ".join(first[:SHOWN_NAMES]) + ", ..." * (len(first) > SHOWN_NAMES)


def embedding_lines(run: Embedded) -> Iterator[str]:
    """Lines of what a run did: how much, what failed, and where that is told; no ids of speakers.

    What was set aside is told with the id of a recording, as is the same audio under two ids.
    """
    total, ok = sum(run.statuses.values()), run.statuses.get("ok", 0)
    had = total - run.new
    total += len(run.set_aside)
    known = f", {had:,} of them earlier" if had else ""
    name = run.store.system["name"]
    yield printable(
        f"{ok:,} of {total:,} recordings ({_hours(run.seconds)}) are embedded by {name} in "
        f"{run.store.path}{known}."
    )
    failed = [f"{n:,} {_FAILURES[status]}" for status, n in run.statuses.items() if status != "ok"]
    if failed:
        yield printable(
            f"{total - ok:,} failed: {', '.join(failed)}. An audit counts them as an outcome: see "
            f"status and reason in {run.store.path / 'recordings.parquet'}."
        )
    if run.set_aside:
        yield printable(
            f"{len(run.set_aside):,} set aside, as their channels differ and none is chosen (first "
            f"{run.set_aside[0]!r}); give --channel mix, left, right or each, or a column channel, "
            "and run it again."
        )
    yield from map(printable, _of_other_ids(run))
    for one in run.store.about["probe"]["findings"]:
        if one["verdict"] == "fault":
            yield printable(f"A probe of {name} found a fault ({one['check']}): {one['words']}.")
    if run.passed_over:
        yield f"{run.passed_over:,} files were skipped: their extension is not that of audio."


def _of_other_ids(run: Embedded) -> Iterator[str]:
    """Lines of recordings that are there twice, that stay of earlier runs, that were taken out."""
    same = run.same_audio
    if same.height:
        one, other = same["utterance"][:2]
        yield (
            f"{same.height:,} recordings hold the same audio as another one with another id (first "
            f"{one!r} and {other!r}): a target trial of two such compares audio with itself, and "
            "says nothing of the system."
        )
    if run.staying:
        yield (
            f"{run.staying:,} recordings of earlier runs are not among these, and stay in "
            f"{run.store.path}; --prune takes them out."
        )
    if run.pruned:
        yield (
            f"{run.pruned:,} recordings of earlier runs, which are no longer named, were taken out "
            f"of {run.store.path}."
        )
    if run.source.speakers and "speaker" not in run.store.table.columns:
        yield (
            "The speakers of some recordings are not known, so recordings.parquet tells none: give "
            "all of them, or take out others with --prune."
        )
    for one in speaker_doubts(run.source):
        yield f"Check this: {one}."


def check_lines(store: Store) -> Iterator[str]:
    """A line that says that a store is whole."""
    rows, crops, dimension = store.vectors.shape
    of_crops = f" of {crops} crops" if crops > 1 else ""
    yield printable(
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
    for line in scoring_lines(found):
        sys.stdout.write(printable(line) + "\n")


def print_scored_pairs(found: ScoredPairs, counts: Path, tally: Path) -> None:
    """Print how all pairs were scored, what either file tells of whom, and what reads them."""
    how_many = f"{found.counts.n_trials:,} pairs of {found.recordings:,} recordings"
    for line in (
        f"All {how_many} scored, by {found.how}.",
        f"Counts are in {counts}: {found.counts.size()}.",
        *(f"  {one}" for one in found.counts.told_apart()),
        f"Their tally is in {tally}: {len(found.tally):,} rows.",
        "  It numbers speakers in the order of their table: personal data, and not for others.",
        *(f"  Noted: {one}." for one in found.notes),
        f"Next: parivox audit {counts} {tally}",
    ):
        sys.stdout.write(printable(line) + "\n")


def scoring_lines(found: Scored) -> Iterator[str]:
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
