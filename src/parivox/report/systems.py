"""From recordings to scores, in the terminal: known systems, embeddings, scores."""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING

from rich.console import Group
from rich.padding import Padding

from parivox.embedding.identity import are_few, no_people
from parivox.errors import printable
from parivox.report.catalogue import fact_text, full_sentence, sentence_text
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
"""Names that are shown of many."""
_STAGES = {"enrol": "enrolment", "acquire": "test"}


def print_known(systems: Sequence[NameableSystem]) -> None:
    """Print which systems can be named, whether they run here, and why not."""
    table = grid("system", "runs here", "what", "note", left_aligned=(0, 1, 2, 3))
    for system in systems:
        is_runnable = "yes" if system.runs else "no"
        add_row(table, system.name, is_runnable, system.what, system.note)
    print_text(table)


def print_probed(system: EmbeddingSystem | VerifyingSystem, probed: Probed) -> None:
    """Print what a system is, and how it answered."""
    kind = "compares vectors by " + system.scoring if hasattr(system, "scoring") else "verifies"
    head = text(
        f"{probed.name}: {system.sample_rate:,} Hz, from {system.least_seconds:g} s on, {kind}"
    )
    provenance = grid("recorded", "", left_aligned=(0, 1))
    for name, setting in system.provenance.items():
        add_row(provenance, name, str(setting))
    checks = grid("check", "verdict", "found", left_aligned=(0, 1, 2))
    for finding in probed.findings:
        add_row(
            checks,
            finding.check,
            text(finding.verdict, style=_STYLES[finding.verdict]),
            finding.words,
        )
    n_faults = sum(finding.verdict == "fault" for finding in probed.findings)
    if probed.sound:
        end = full_sentence("no_fault_found")
    else:
        end = full_sentence(
            "faults_found", faults=n_faults, noun="faults" if n_faults > 1 else "fault"
        )
    blocks = (head, Padding(provenance, (0, 0, 0, 2)), Padding(checks, (0, 0, 0, 2)), text(end))
    print_text(Group(*blocks))


def speaker_lines(source: Source) -> Iterator[str]:
    """Yield who the speakers of recordings are, how that is known, and how to say otherwise."""
    speakers = source.speakers
    if not source.speaker_by:
        remedy = "in a table"
        if source.others:
            remedy = f"with --columns speaker=NAME ({_first_names(source.others)})"
        yield sentence_text("no_speakers_shown", remedy=remedy)
        return
    count = count_of(len(speakers), "speaker")
    warnings = [f"warning: {doubt}" for doubt in speaker_doubts(source)]
    remedy = ""
    if source.is_guess and not warnings:
        remedy = f"; to change this, use {_other_folders(source)}"
    elif source.others and not source.is_guess:
        remedy = f"; to change this, use --columns speaker=NAME ({_first_names(source.others)})"
    yield f"{count}, by {source.speaker_by}: {_first_names(speakers)}{remedy}"
    yield from warnings


def speaker_doubts(source: Source) -> Iterator[str]:
    """Yield why the first folders of the paths may not be the speakers, if there is a reason."""
    unlikely_names, speakers = no_people(source), source.speakers
    if not unlikely_names and not are_few(source):
        return
    if unlikely_names:
        names = _first_names(map(repr, unlikely_names))
        reason = sentence_text("not_names_of_persons", names=names, count=len(unlikely_names))
    else:
        recordings_each = source.table.height / len(speakers)
        reason = sentence_text(
            "few_speakers_with_many_recordings", speakers=len(speakers), recordings=recordings_each
        )
    yield sentence_text("folders_may_not_be_speakers", reason=reason, remedy=_other_folders(source))


def _other_folders(source: Source) -> str:
    """Return how to say which folder of the path is the speaker."""
    numbers = " or ".join(f"speaker={folder}" for folder in source.others)
    folders = f"--columns {numbers} (of the path, from 1), or " if numbers else ""
    return f"{folders}a table of file and speaker in place of the folder"


def _first_names(names: Iterable[str]) -> str:
    """Return the first of many names."""
    first_names = list(islice(names, SHOWN_NAMES + 1))
    words = ", ".join(first_names[:SHOWN_NAMES])
    return f"{words}, ..." if len(first_names) > SHOWN_NAMES else words


def embedding_lines(run: Embedded) -> Iterator[str]:
    """Yield what a run did: how much, what failed, and where to look it up; no ids of speakers.

    Recordings that were set aside are named by an id, as is the same audio under two ids.
    """
    total, n_ok = sum(run.statuses.values()), run.statuses.get("ok", 0)
    n_earlier = total - run.new
    total += len(run.set_aside)
    earlier = f", {n_earlier:,} of them earlier" if n_earlier else ""
    name = run.store.system["name"]
    yield printable(
        full_sentence(
            "recordings_embedded",
            embedded=n_ok,
            recordings=total,
            duration=_duration_text(run.seconds),
            system=name,
            path=run.store.path,
            earlier=earlier,
        )
    )
    failed = [f"{n:,} {_FAILURES[status]}" for status, n in run.statuses.items() if status != "ok"]
    if failed:
        yield printable(
            full_sentence(
                "recordings_failed",
                failures=total - n_ok,
                reasons=", ".join(failed),
                path=run.store.path / "recordings.parquet",
            )
        )
    if run.set_aside:
        yield printable(
            full_sentence("channels_differ", recordings=len(run.set_aside), first=run.set_aside[0])
        )
    yield from map(printable, _duplicate_audio_lines(run))
    for finding in run.store.about["probe"]["findings"]:
        if finding["verdict"] == "fault":
            yield printable(
                full_sentence(
                    "probe_found_fault", system=name, check=finding["check"], fault=finding["words"]
                )
            )
    if run.passed_over:
        yield full_sentence("files_skipped", files=run.passed_over)


def _duplicate_audio_lines(run: Embedded) -> Iterator[str]:
    """Yield recordings that are duplicates, that stay from earlier runs, or that were removed."""
    same_audio = run.same_audio
    if same_audio.height:
        first_id, second_id = same_audio["utterance"][:2]
        yield full_sentence(
            "duplicate_audio", recordings=same_audio.height, first=first_id, second=second_id
        )
    if run.staying:
        yield full_sentence("earlier_recordings_stay", recordings=run.staying, path=run.store.path)
    if run.pruned:
        yield full_sentence(
            "earlier_recordings_removed", recordings=run.pruned, path=run.store.path
        )
    if run.source.speakers and "speaker" not in run.store.table.columns:
        yield full_sentence("speakers_of_some_recordings_unknown")
    for first_id in speaker_doubts(run.source):
        yield f"Check this: {first_id}."


def check_lines(store: Store) -> Iterator[str]:
    """Yield one line: that a store is complete, and what it holds."""
    rows, crops, dimension = store.vectors.shape
    of_crops = f" of {crops} crops" if crops > 1 else ""
    yield printable(
        full_sentence(
            "store_complete",
            path=store.path,
            recordings=len(store.table),
            embeddings=rows,
            crops=of_crops,
            values=dimension,
            system=store.system["name"],
        )
    )


def _duration_text(seconds: float) -> str:
    """Return a duration in its two largest units.

    Examples
    --------
    >>> [_duration_text(seconds) for seconds in (12.3, 754, 20_043)]
    ['12 s', '12 min 34 s', '5 h 34 min']
    """
    total_minutes = round(seconds)
    if total_minutes < 60:
        return f"{total_minutes} s"
    minutes, hours = total_minutes // 60, total_minutes // 3600
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min {total_minutes % 60} s"


def print_scored(scored: Scored) -> None:
    """Print how many trials have a score, why others have none, and whom the cohort contains."""
    for sentence in scoring_lines(scored):
        sys.stdout.write(printable(sentence) + "\n")


def print_scored_pairs(pairs: ScoredPairs, counts: Path, speaker_counts: Path) -> None:
    """Print how all pairs were scored, what each of the two files reveals, and how to go on."""
    n_pairs = f"{pairs.counts.n_trials:,} pairs of {pairs.recordings:,} recordings"
    sentences = [
        full_sentence("pairs_scored", pairs=n_pairs, method=pairs.how),
        full_sentence("counts_written", path=counts, size=fact_text(pairs.counts.size())),
    ]
    sentences += [f"  {sentence}" for sentence in pairs.counts.told_apart()]
    sentences += [
        full_sentence(
            "speaker_counts_written", path=speaker_counts, rows=len(pairs.speaker_counts)
        ),
        "  " + full_sentence("speaker_numbers_are_personal"),
    ]
    sentences += [f"  Noted: {fact_text(note)}." for note in pairs.notes]
    sentences.append(f"Next: parivox audit {counts} {speaker_counts}")
    for sentence in sentences:
        sys.stdout.write(printable(sentence) + "\n")


def scoring_lines(scored: Scored) -> Iterator[str]:
    """Yield how many trials were scored, which failed, and whom the cohort contains."""
    yield full_sentence(
        "trials_scored",
        path=scored.out,
        scored=scored.scored,
        trials=scored.trials,
        method=scored.how,
    )
    for (stage, status), count in scored.failed.items():
        yield f"  {count:,} trials failed: {_STAGES[stage]} recording {status.replace('_', ' ')}"
    if scored.failed:
        yield "  " + full_sentence("failures_have_rows")
    for note in scored.notes:
        yield f"  Noted: {fact_text(note)}."
    if scored.cohort:
        yield "  Recordings (speakers) of the cohort; a cohort of one group causes bias:"
    for attribute, counts_of_group in scored.cohort.items():
        words = ", ".join(
            f"{group} {counts['recordings']:,} ({counts['speakers']:,})"
            for group, counts in counts_of_group.items()
        )
        yield f"    {attribute}: {words}"
