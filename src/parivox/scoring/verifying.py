"""Systems that compare recordings themselves: each model enrolled, each trial verified."""

from __future__ import annotations

import hashlib
import json
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.data.ids import positions_in
from parivox.data.source_bytes import with_reading_options
from parivox.embedding.audio import LONGEST_SECONDS, Decoded, Excerpt, check_decoders
from parivox.embedding.batches import Batch, decode_batch
from parivox.embedding.recordings import (
    EXCERPT,
    HASHES,
    hashes_of,
    parse_channel,
    read_hashes,
    read_source,
    with_hashes_of_files,
    with_stat,
)
from parivox.embedding.store import save
from parivox.embedding.systems import system_record
from parivox.errors import ConfigError, DataError
from parivox.facts import Fact
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import Processes
from parivox.scoring.lists import CHUNK, read_enrolments, read_list, recording_places
from parivox.scoring.resumable_file import ResumableFile
from parivox.scoring.run import FORMAT, Scored, outcomes
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.embedding.systems import VerifyingSystem
    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem

    Outcome = tuple[float | None, str | None, str, str | None]
    from parivox.sources import TableSource

# A commercial system may take seconds a trial: little is lost when a run is stopped.
TRIALS_PER_SLICE = 500
"""Trials that an interruption loses at most."""
_MAX_DECODED = 128  # decoded recordings that are kept at hand
REFUSED = "refused"
"""Status of what a system itself would not enrol or compare."""
_OUTCOME = {
    "score": pl.Float64,
    "decision": pl.String,
    "status": pl.String,
    "stage": pl.String,
}


@reports_progress
@with_reading_options
def score_with_system(
    trials: TableSource,
    system: VerifyingSystem,
    *,
    recordings: TableSource,
    out: str | Path,
    models: TableSource | None = None,
    channel: int | str | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
    encoding: str | None = None,  # noqa: ARG001 - for all that is read
    quotes: str | None = None,  # noqa: ARG001 - for all that is read
    overwrite: bool = False,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - for all stages
) -> Scored:
    """Score a list of trials with a system that enrols and verifies.

    A trial whose enrolment failed has the stage ``enrol``, one whose test recording failed the
    stage ``acquire``. A system that gives None refuses: the status is ``refused``. One that gives
    True or False decides: the file has a column of decisions in the place of scores.

    The system runs in this process. Another one decodes recordings for it, and may crash.

    Parameters
    ----------
    trials
        A list in any format that an audit reads.
    system
        The system.
    recordings
        A folder or table of recordings, as for ``parivox embed``.
    out
        Parquet file, as `parivox.scoring.run.score` writes it.
    models
        Table of model and recording: what is enrolled is models of several recordings.
    channel
        Which counts, of files whose channels differ and of which the table does not say: a number
        from 1, ``left``, ``right``, or ``mix``.
    format, columns, encoding, quotes, overwrite, progress
        As of `parivox.scoring.run.score`.

    Raises
    ------
    ConfigError
        If `out` is there.
    DataError
        If a recording of the trials is not among the recordings, none of its channels is chosen
        where they differ, or the system raises.
    """
    path = Path(out)
    inputs = {"the list": trials, "the models": models, "the recordings": recordings}
    ResumableFile.check(path, overwrite=overwrite, inputs=inputs)
    choice = _channel_number(channel)
    check_decoders()
    with stage("reading the trials"):
        trial_list = read_list(trials, format=format, columns=columns)
    enrolments = read_enrolments(trial_list, models)
    needed = enrolments.recordings_with(trial_list.test)
    source = read_source(recordings)
    known_ids = source.table["utterance"]
    positions = recording_places(
        needed, known_ids, asking=trial_list.name, source=source.name, mend="add them"
    )
    hashed_recordings = with_hashes_of_files(
        with_stat(source.table[positions].select(EXCERPT)),
        read_hashes(ResumableFile.folder_of(path) / HASHES),
    )
    audio = hashed_recordings.select("audio_sha256", "channel", "start", "end").rows()
    models_of = [enrolments.member_starts.tolist(), enrolments.members.tolist()]
    hashed_content = [needed.to_list(), audio, choice, *models_of]
    plan = {
        "format": FORMAT,
        "parivox": __version__,
        "trials": trial_list.sha256,
        "system": system_record(system),
        "recordings": hashlib.sha256(json.dumps(hashed_content).encode()).hexdigest(),
    }
    verifier = _Verifier(
        system,
        [Excerpt(*row) for row in hashed_recordings.select(EXCERPT).rows()],
        needed,
        positions_in(enrolments.recordings, needed)[enrolments.members],
        enrolments.member_starts,
        positions_in(trial_list.test, needed),
        choice,
    )
    name = f"verifying {trial_list.rows:,} trials"
    with ResumableFile(path, plan, overwrite=overwrite) as resumable_file:
        with resumable_file.writing():
            save(resumable_file / HASHES, hashes_of(hashed_recordings))
        with stage(name, trial_list.rows, "trials") as verifying:
            for number, chunk in enumerate(trial_list.chunks(CHUNK)):
                if resumable_file.has(number):
                    verifier.check_kind(resumable_file.read(number).collect())
                    verifying.add(chunk.height, is_new=False)
                    continue
                enrol = positions_in(chunk["enrol"], trial_list.enrol)
                test = positions_in(chunk["test"], trial_list.test)
                for n_trials, is_new in verifier.do_pieces(resumable_file, number, enrol, test):
                    verifying.add(n_trials, is_new=is_new)
                pieces = [
                    resumable_file.read(number, piece)
                    for piece in range(-(-enrol.size // TRIALS_PER_SLICE))
                ]
                in_order = np.argsort(np.argsort(enrol, kind="stable"))
                resumable_file.write(chunk.hstack(pl.concat(pieces).collect()[in_order]), number)
                resumable_file.forget(number)
        count = -(-trial_list.rows // CHUNK)
        counts = outcomes(resumable_file, count, trial_list.rows)
        decides = "decision" in verifier.kinds
        resumable_file.finish(count, lambda whole: whole.drop("score" if decides else "decision"))
    method = (Fact("verified_by", {"system": system.name, "decides": decides}),)
    return Scored(path, trial_list.rows, *counts, method)


@dataclass(frozen=True, eq=False)
class _Verifier:
    """Enrols and verifies."""

    system: VerifyingSystem
    excerpts: list[Excerpt]  # of the recordings
    ids: pl.Series  # of the same
    members: NDArray[np.int32]  # recordings of each model
    member_starts: NDArray[np.int64]  # where these begin among the members
    tests: NDArray[np.int32]  # recording of each test id
    channel: int | None  # which counts of files whose channels differ
    kinds: set[str] = field(default_factory=set)  # whether there are scores or decisions so far

    def check_kind(self, outcomes: pl.DataFrame) -> None:
        """Add whether there are scores or decisions, and refuse both."""
        self.kinds.update(kind for kind in ("score", "decision") if outcomes[kind].count())
        if len(self.kinds) > 1:
            msg = (
                f"{self.system.name}: verify returned scores for some trials and decisions for "
                "others"
            )
            hint = "return either scores or decisions"
            raise DataError(msg, hint)

    def do_pieces(
        self,
        resumable_file: ResumableFile,
        number: int,
        enrol: NDArray[np.int32],
        test: NDArray[np.int32],
    ) -> Iterator[tuple[int, bool]]:
        """Verify a chunk of trials, sorted by enrolment; gives how many a piece has, and if now."""
        # Sorted by enrolment: each model is enrolled once for all of its trials.
        order = np.argsort(enrol, kind="stable")
        rows_of_slice = {}
        for slice_number, start in enumerate(range(0, order.size, TRIALS_PER_SLICE)):
            rows = order[start : start + TRIALS_PER_SLICE]
            if resumable_file.has(number, slice_number):
                self.check_kind(resumable_file.read(number, slice_number).collect())
                yield rows.size, False
            else:
                rows_of_slice[slice_number] = rows
        rows = np.concatenate([order[:0], *rows_of_slice.values()])
        with closing(self.outcomes(enrol[rows], test[rows])) as outcomes:
            for slice_number, rows in rows_of_slice.items():
                outcomes_of_slice = list(islice(outcomes, rows.size))
                frame = pl.DataFrame(outcomes_of_slice, schema=_OUTCOME, orient="row")
                self.check_kind(frame)
                resumable_file.write(frame, number, slice_number)
                yield frame.height, True

    def outcomes(self, enrol: NDArray[np.int32], test: NDArray[np.int32]) -> Generator[Outcome]:
        """Score, decision, status and stage of trials that are sorted by enrolment."""
        is_new_model = np.diff(enrol, prepend=-1) != 0
        trials = list(
            zip(enrol.tolist(), self.tests[test].tolist(), is_new_model.tolist(), strict=True)
        )
        needed_recordings = [
            needed
            for model, recording, is_new in trials
            for needed in (*(self._recordings_of(model) if is_new else ()), recording)
        ]
        handle, status = None, "ok"
        with closing(
            _decode_ahead(needed_recordings, self.excerpts, self.system, self.channel)
        ) as decoded:
            for model, recording, is_new in trials:
                if is_new:
                    handle, status = self._enrolment(model, decoded)
                needed = next(decoded)
                if status == "ok":
                    yield self._verification(handle, recording, needed)
                else:
                    yield None, None, status, "enrol"

    def _recordings_of(self, model: int) -> list[int]:
        """Recordings of a model."""
        recordings: list[int] = self.members[
            self.member_starts[model] : self.member_starts[model + 1]
        ].tolist()
        return recordings

    def _enrolment(self, model: int, decoded: Iterator[Decoded]) -> tuple[Any, str]:
        """The handle of a model of those recordings that can be used; else what became of it."""
        recordings = self._recordings_of(model)
        decoded_recordings = list(islice(decoded, len(recordings)))
        good = [recording.waveform for recording in decoded_recordings if recording.status == "ok"]
        if not good:
            return None, decoded_recordings[0].status
        handle = self._answer("enrol", recordings[0], good)
        return handle, REFUSED if handle is None else "ok"

    def _verification(self, handle: Any, recording: int, decoded: Decoded) -> Outcome:
        """Score, decision, status and stage of one trial."""
        if decoded.status != "ok":
            return None, None, decoded.status, "acquire"
        answer = self._answer("verify", recording, handle, decoded.waveform)
        if answer is None:
            return None, None, REFUSED, "acquire"
        try:
            answer_array = np.asarray(answer)
        except ValueError:  # of lists of several lengths
            answer_array = np.asarray(None)
        if answer_array.dtype.kind not in "bfiu" or answer_array.size != 1:
            answer_kind = "text" if isinstance(answer, str) else f"a {type(answer).__name__}"
            msg = f"{self.system.name}: verify returned {answer_kind} for {self.ids[recording]!r}"
            hint = "return one number, True, False or None"
            raise DataError(msg, hint)
        if answer_array.dtype.kind == "b":
            return None, "accept" if answer_array.item() else "reject", "ok", None
        if not np.isfinite(answer_array.item()):
            return None, None, "non_finite", "acquire"
        return float(answer_array.item()), None, "ok", None

    def _answer(self, step: str, recording: int, *arguments: Any) -> Any:
        """What the system answers; where it raises, the step and the recording are told."""
        # Foreign code may raise anything; the user needs the recording that it failed on.
        try:
            return getattr(self.system, step)(*arguments)
        except Exception as error:
            words = " ".join(str(error).split()) or type(error).__name__
            msg = (
                f"{self.system.name}: {step} raised {type(error).__name__} for "
                f"{self.ids[recording]!r} ({words})"
            )
            hint = "correct the system, or return None for recordings that it refuses"
            raise DataError(msg, hint) from error


def _decode_ahead(
    needed_recordings: list[int],
    excerpts: list[Excerpt],
    system: VerifyingSystem,
    channel: int | None,
) -> Generator[Decoded]:
    """Recordings as they are needed; another process decodes those to come meanwhile."""
    steps = list(_decoding_steps(needed_recordings))
    decoded_at_hand: dict[int, Decoded] = {}
    crash_reasons: dict[int, str] = {}  # what crashed is not decoded again
    batches = (
        Batch(
            n,
            [excerpts[recording]],
            LONGEST_SECONDS,
            {0: crash_reasons[recording]} if recording in crash_reasons else {},
        )
        for n, recording in enumerate(
            recording_index for recording_index, is_new, _ in steps if is_new
        )
    )
    begin = partial(_recording_decoder, system.sample_rate, system.least_seconds, channel)
    with Processes().open(begin) as run_tasks:
        decoded = run_tasks(batches)
        for recording_index, is_new, evicted in steps:
            if is_new:
                decoded_at_hand[recording_index] = next(decoded)
            if decoded_at_hand[recording_index].is_passing:
                crash_reasons[recording_index] = decoded_at_hand[recording_index].reason
            if evicted is not None:
                del decoded_at_hand[evicted]
            yield decoded_at_hand[recording_index]


def _decoding_steps(needed_recordings: Iterable[int]) -> Iterator[tuple[int, bool, int | None]]:
    """Of each recording needed: whether it must be decoded, and which one gives way to it."""
    at_hand: dict[int, None] = {}  # in the order in which they came
    for recording_index in needed_recordings:
        evicted = None
        is_new = recording_index not in at_hand
        if is_new:
            at_hand[recording_index] = None
            if len(at_hand) > _MAX_DECODED:
                evicted = next(iter(at_hand))
                del at_hand[evicted]
        yield recording_index, is_new, evicted


def _recording_decoder(
    sample_rate: int, least_seconds: float, channel: int | None
) -> Callable[[Batch, AnnounceItem], Decoded]:
    """What the other process does: batches of one recording."""

    def decode(batch: Batch, in_hand: AnnounceItem) -> Decoded:
        decoded = next(decode_batch(batch, sample_rate, least_seconds, in_hand))
        if not decoded.channels:
            return decoded
        (recording,) = batch.recordings
        if channel is None:
            msg = f"{recording.path}: {decoded.reason}"
            hint = "choose a channel with --channel"
            raise DataError(msg, hint)
        return decode(replace(batch, recordings=[replace(recording, channel=channel)]), in_hand)

    return decode


def _channel_number(channel: int | str | None) -> int | None:
    """The channel that counts; two recordings of one file have no ids in a list."""
    choice = parse_channel(channel)
    if isinstance(choice, str):
        msg = f"--channel {choice} applies only to parivox embed"
        hint = "give mix, left, right or a number"
        raise ConfigError(msg, hint)
    return choice
