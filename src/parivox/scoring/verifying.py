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

from parivox.data.ids import places_in
from parivox.data.source_bytes import in_encoding_given
from parivox.embedding.audio import LONGEST_SECONDS, Decoded, Excerpt, check_decoders
from parivox.embedding.batches import Batch, decode_batch
from parivox.embedding.recordings import (
    EXCERPT,
    HASHES,
    channel_chosen,
    hashed,
    hashes_of,
    read_hashes,
    read_source,
    with_stat,
)
from parivox.embedding.store import save
from parivox.embedding.systems import recorded
from parivox.errors import ConfigError, DataError
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.workers import Processes
from parivox.scoring.lists import CHUNK, read_enrolments, read_list, recording_places
from parivox.scoring.resumable_file import Parts
from parivox.scoring.run import FORMAT, Scored, outcomes
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.embedding.systems import VerifyingSystem
    from parivox.runtime.progress import Progress
    from parivox.runtime.workers import AnnounceItem

    Outcome = tuple[float | None, str | None, str, str | None]

PIECE = 500
"""Trials that an interruption loses at most."""
_AT_HAND = 128  # decoded recordings that are kept at hand
REFUSED = "refused"
"""Status of what a system itself would not enrol or compare."""
_OUTCOME = {
    "score": pl.Float64,
    "decision": pl.String,
    "status": pl.String,
    "stage": pl.String,
}


@reports_progress
@in_encoding_given
def score_with_system(
    trials: Any,
    system: VerifyingSystem,
    *,
    recordings: Any,
    out: str | Path,
    models: Any = None,
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
    read = {"the list": trials, "the models": models, "the recordings": recordings}
    Parts.check(path, overwrite=overwrite, inputs=read)
    choice = _channel(channel)
    check_decoders()
    with stage("reading the trials"):
        trial_list = read_list(trials, format=format, columns=columns)
    enrolments = read_enrolments(trial_list, models)
    needed = enrolments.recordings_with(trial_list.test)
    source = read_source(recordings)
    known = source.table["utterance"]
    place = recording_places(
        needed, known, asking=trial_list.name, source=source.name, mend="add them"
    )
    found = hashed(
        with_stat(source.table[place].select(EXCERPT)),
        read_hashes(Parts.folder_of(path) / HASHES),
    )
    audio = found.select("audio_sha256", "channel", "start", "end").rows()
    models_of = [enrolments.first.tolist(), enrolments.members.tolist()]
    everything = [needed.to_list(), audio, choice, *models_of]
    plan = {
        "format": FORMAT,
        "parivox": __version__,
        "trials": trial_list.sha256,
        "system": recorded(system),
        "recordings": hashlib.sha256(json.dumps(everything).encode()).hexdigest(),
    }
    verifier = _Verifier(
        system,
        [Excerpt(*row) for row in found.select(EXCERPT).rows()],
        needed,
        places_in(enrolments.recordings, needed)[enrolments.members],
        enrolments.first,
        places_in(trial_list.test, needed),
        choice,
    )
    name = f"verifying {trial_list.rows:,} trials"
    with Parts(path, plan, overwrite=overwrite) as parts:
        with parts.writing():
            save(parts / HASHES, hashes_of(found))
        with stage(name, trial_list.rows, "trials") as verifying:
            for number, chunk in enumerate(trial_list.chunks(CHUNK)):
                if parts.has(number):
                    verifier.check_kind(parts.read(number).collect())
                    verifying.add(chunk.height, is_new=False)
                    continue
                enrol = places_in(chunk["enrol"], trial_list.enrol)
                test = places_in(chunk["test"], trial_list.test)
                for n, is_new in verifier.do_pieces(parts, number, enrol, test):
                    verifying.add(n, is_new=is_new)
                pieces = [parts.read(number, piece) for piece in range(-(-enrol.size // PIECE))]
                in_order = np.argsort(np.argsort(enrol, kind="stable"))
                parts.write(chunk.hstack(pl.concat(pieces).collect()[in_order]), number)
                parts.forget(number)
        count = -(-trial_list.rows // CHUNK)
        counts = outcomes(parts, count, trial_list.rows)
        decides = "decision" in verifier.kinds
        parts.finish(count, lambda whole: whole.drop("score" if decides else "decision"))
    how = f"{system.name}, which {'decides' if decides else 'compares'} itself"
    return Scored(path, trial_list.rows, *counts, how)


@dataclass(frozen=True, eq=False)
class _Verifier:
    """Enrols and verifies."""

    system: VerifyingSystem
    excerpts: list[Excerpt]  # of the recordings
    ids: pl.Series  # of the same
    members: NDArray[np.int32]  # recordings of each model
    first: NDArray[np.int64]  # where these begin among the members
    tests: NDArray[np.int32]  # recording of each test id
    channel: int | None  # which counts of files whose channels differ
    kinds: set[str] = field(default_factory=set)  # whether there are scores or decisions so far

    def check_kind(self, found: pl.DataFrame) -> None:
        """Add whether there are scores or decisions, and refuse both."""
        self.kinds.update(kind for kind in ("score", "decision") if found[kind].count())
        if len(self.kinds) > 1:
            msg = (
                f"{self.system.name}: verify gives scores for some trials and decisions for "
                "others; let it give one kind"
            )
            raise DataError(msg)

    def do_pieces(
        self, parts: Parts, number: int, enrol: NDArray[np.int32], test: NDArray[np.int32]
    ) -> Iterator[tuple[int, bool]]:
        """Verify a chunk of trials, sorted by enrolment; gives how many a piece has, and if now."""
        order = np.argsort(enrol, kind="stable")
        todo = {}
        for piece, start in enumerate(range(0, order.size, PIECE)):
            rows = order[start : start + PIECE]
            if parts.has(number, piece):
                self.check_kind(parts.read(number, piece).collect())
                yield rows.size, False
            else:
                todo[piece] = rows
        rows = np.concatenate([order[:0], *todo.values()])
        with closing(self.outcomes(enrol[rows], test[rows])) as every:
            for piece, rows in todo.items():
                some = list(islice(every, rows.size))
                frame = pl.DataFrame(some, schema=_OUTCOME, orient="row")
                self.check_kind(frame)
                parts.write(frame, number, piece)
                yield frame.height, True

    def outcomes(self, enrol: NDArray[np.int32], test: NDArray[np.int32]) -> Generator[Outcome]:
        """Score, decision, status and stage of trials that are sorted by enrolment."""
        begins = np.diff(enrol, prepend=-1) != 0
        trials = list(zip(enrol.tolist(), self.tests[test].tolist(), begins.tolist(), strict=True))
        needs = [
            one
            for model, recording, is_new in trials
            for one in (*(self._own(model) if is_new else ()), recording)
        ]
        handle, status = None, "ok"
        with closing(_decoded(needs, self.excerpts, self.system, self.channel)) as decoded:
            for model, recording, is_new in trials:
                if is_new:
                    handle, status = self._enrolled(model, decoded)
                one = next(decoded)
                if status == "ok":
                    yield self._verified(handle, recording, one)
                else:
                    yield None, None, status, "enrol"

    def _own(self, model: int) -> list[int]:
        """Recordings of a model."""
        own: list[int] = self.members[self.first[model] : self.first[model + 1]].tolist()
        return own

    def _enrolled(self, model: int, decoded: Iterator[Decoded]) -> tuple[Any, str]:
        """The handle of a model of those recordings that can be used; else what became of it."""
        own = self._own(model)
        every = list(islice(decoded, len(own)))
        good = [one.waveform for one in every if one.status == "ok"]
        if not good:
            return None, every[0].status
        handle = self._asked("enrol", own[0], good)
        return handle, REFUSED if handle is None else "ok"

    def _verified(self, handle: Any, recording: int, decoded: Decoded) -> Outcome:
        """Score, decision, status and stage of one trial."""
        if decoded.status != "ok":
            return None, None, decoded.status, "acquire"
        answer = self._asked("verify", recording, handle, decoded.waveform)
        if answer is None:
            return None, None, REFUSED, "acquire"
        try:
            value = np.asarray(answer)
        except ValueError:  # of lists of several lengths
            value = np.asarray(None)
        if value.dtype.kind not in "bfiu" or value.size != 1:
            what = "text" if isinstance(answer, str) else f"a {type(answer).__name__}"
            msg = (
                f"{self.system.name}: verify gave {what} at {self.ids[recording]!r}; expected one "
                "number, True or False, or None"
            )
            raise DataError(msg)
        if value.dtype.kind == "b":
            return None, "accept" if value.item() else "reject", "ok", None
        if not np.isfinite(value.item()):
            return None, None, "non_finite", "acquire"
        return float(value.item()), None, "ok", None

    def _asked(self, step: str, recording: int, *what: Any) -> Any:
        """What the system answers; where it raises, the step and the recording are told."""
        try:
            return getattr(self.system, step)(*what)
        except Exception as error:
            words = " ".join(str(error).split()) or type(error).__name__
            msg = (
                f"{self.system.name}: {step} raised {type(error).__name__} at "
                f"{self.ids[recording]!r} ({words}); let it give None for what it refuses, or mend "
                "it"
            )
            raise DataError(msg) from error


def _decoded(
    needs: list[int], excerpts: list[Excerpt], system: VerifyingSystem, channel: int | None
) -> Generator[Decoded]:
    """Recordings as they are needed; another process decodes those to come meanwhile."""
    steps = list(_steps(needs))
    at_hand: dict[int, Decoded] = {}
    lost: dict[int, str] = {}  # what crashed is not decoded again
    batches = (
        Batch(n, [excerpts[one]], LONGEST_SECONDS, {0: lost[one]} if one in lost else {})
        for n, one in enumerate(need for need, is_new, _ in steps if is_new)
    )
    begin = partial(_decoding, system.sample_rate, system.least_seconds, channel)
    with Processes().open(begin) as do:
        decoded = do(batches)
        for need, is_new, gone in steps:
            if is_new:
                at_hand[need] = next(decoded)
            if at_hand[need].is_passing:
                lost[need] = at_hand[need].reason
            if gone is not None:
                del at_hand[gone]
            yield at_hand[need]


def _steps(needs: Iterable[int]) -> Iterator[tuple[int, bool, int | None]]:
    """Of each recording needed: whether it must be decoded, and which one gives way to it."""
    at_hand: dict[int, None] = {}  # in the order in which they came
    for need in needs:
        gone = None
        is_new = need not in at_hand
        if is_new:
            at_hand[need] = None
            if len(at_hand) > _AT_HAND:
                gone = next(iter(at_hand))
                del at_hand[gone]
        yield need, is_new, gone


def _decoding(
    rate: int, least_seconds: float, channel: int | None
) -> Callable[[Batch, AnnounceItem], Decoded]:
    """What the other process does: batches of one recording."""

    def decode(batch: Batch, in_hand: AnnounceItem) -> Decoded:
        found = next(decode_batch(batch, rate, least_seconds, in_hand))
        if not found.channels:
            return found
        (one,) = batch.recordings
        if channel is None:
            msg = f"{one.path}: {found.reason}; say which counts with --channel"
            raise DataError(msg)
        return decode(replace(batch, recordings=[replace(one, channel=channel)]), in_hand)

    return decode


def _channel(given: int | str | None) -> int | None:
    """The channel that counts; two recordings of one file have no ids in a list."""
    choice = channel_chosen(given)
    if isinstance(choice, str):
        msg = f"--channel {choice} is of parivox embed; give mix, left, right or a number"
        raise ConfigError(msg)
    return choice
