"""Systems that compare recordings themselves: each model enrolled, each trial verified."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox.embedding.audio import LONGEST_SECONDS, Decoded, Excerpt, check_decoders
from parivox.embedding.recordings import (
    EXCERPT,
    HASHES,
    hashed,
    hashes_of,
    read_hashes,
    read_source,
    with_stat,
)
from parivox.embedding.store import save
from parivox.embedding.systems.protocol import recorded
from parivox.embedding.workers import Batch, decode_batch, do_batches
from parivox.errors import DataError
from parivox.read.ids import places_in
from parivox.read.joining import listed_ids
from parivox.scoring.lists import CHUNK, read_enrolments, read_list
from parivox.scoring.parts import Parts
from parivox.scoring.run import FORMAT, Scored, outcomes
from parivox.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from parivox.embedding.recordings import Source
    from parivox.embedding.systems.protocol import VerifyingSystem
    from parivox.embedding.workers import InHand

    Outcome = tuple[float | None, str | None, str, str | None]

PIECE = 500
"""Trials that an interruption loses at most."""
_HELD = 128
"""Decoded recordings that are kept at hand."""
REFUSED = "refused"
"""Status of what a system itself would not enrol or compare."""
_OUTCOME = {
    "score": pl.Float64,
    "decision": pl.String,
    "status": pl.String,
    "stage": pl.String,
}


def score_with_system(
    trials: Any,
    system: VerifyingSystem,
    *,
    recordings: Any,
    out: str | Path,
    models: Any = None,
    channel: int | None = None,
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
    overwrite: bool = False,
    progress: Callable[[str], None] = lambda _: None,
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
        Parquet file, as :func:`parivox.scoring.run.score` writes it.
    models
        Table of model and recording: what is enrolled is models of several recordings.
    channel
        Which counts where a file has two and the table does not say.
    format, columns, overwrite, progress
        As of :func:`parivox.scoring.run.score`.

    Raises
    ------
    ConfigError
        If `out` is there.
    DataError
        If a recording of the trials is not among the recordings, or the system raises.
    """
    path = Path(out)
    read = {"the list": trials, "the models": models, "the recordings": recordings}
    Parts.check(path, overwrite=overwrite, inputs=read)
    check_decoders()
    progress("reading trials")
    listed = read_list(trials, format=format, columns=columns)
    enrolments = read_enrolments(listed, models)
    needed = pl.concat([enrolments.recordings, listed.test]).unique().sort()
    found = with_stat(_recordings_of(needed, read_source(recordings, channel=channel), listed.name))
    found = hashed(found, read_hashes(Parts.folder_of(path) / HASHES), progress)
    excerpts = [Excerpt(*row) for row in found.select(EXCERPT).rows()]
    audio = found.select("audio_sha256", "channel", "start", "end").rows()
    plan = {
        "format": FORMAT,
        "parivox": __version__,
        "trials": listed.sha256,
        "system": recorded(system),
        "recordings": hashlib.sha256(
            json.dumps(
                [needed.to_list(), audio, enrolments.first.tolist(), enrolments.members.tolist()]
            ).encode()
        ).hexdigest(),
    }
    verifier = _Verifier(
        system,
        excerpts,
        needed,
        places_in(enrolments.recordings, needed)[enrolments.members],
        enrolments.first,
        places_in(listed.test, needed),
    )
    kinds: set[str] = set()
    done = 0
    with Parts(path, plan, overwrite=overwrite) as parts:
        with parts.writing():
            save(parts / HASHES, hashes_of(found))
        for number, chunk in enumerate(listed.chunks(CHUNK)):
            if parts.has(number):
                _check_kind(kinds, parts.read(number).collect(), system)
            else:
                enrol, test = (
                    places_in(chunk[side], known)
                    for side, known in (("enrol", listed.enrol), ("test", listed.test))
                )
                for fresh in _in_pieces(verifier, enrol, test, parts, number, kinds):
                    progress(f"verified {done + fresh:,} of {listed.rows:,} trials")
                parts.write(chunk.hstack(_from_pieces(parts, number, enrol)), number)
                parts.forget(number)
            done += chunk.height
            progress(f"verified {done:,} of {listed.rows:,} trials")
        count = -(-listed.rows // CHUNK)
        told = outcomes(parts, count, listed.rows)
        unwanted = "score" if "decision" in kinds else "decision"
        parts.finish(count, lambda whole: whole.drop(unwanted))
    how = f"{system.name}, which {'decides' if unwanted == 'score' else 'compares'} itself"
    return Scored(path, listed.rows, *told, how)


def _recordings_of(needed: pl.Series, source: Source, name: str) -> pl.DataFrame:
    """The recordings of the source that the trials name, in the order of these ids."""
    place = places_in(needed, source.table["utterance"])
    if (place < 0).any():
        missing = needed.filter(pl.Series(place < 0))
        msg = (
            f"{name}: {listed_ids(missing, needed, 'recordings')} are not in {source.name}; add "
            "them, or make the ids alike"
        )
        raise DataError(msg)
    return source.table[place].select(EXCERPT)


def _in_pieces(
    verifier: _Verifier,
    enrol: NDArray[np.int32],
    test: NDArray[np.int32],
    parts: Parts,
    number: int,
    kinds: set[str],
) -> Iterator[int]:
    """Verify a chunk of trials, sorted by enrolment; told is how many are done so far."""
    order = np.argsort(enrol, kind="stable")
    pieces = [order[start : start + PIECE] for start in range(0, order.size, PIECE)]
    for piece in range(len(pieces)):
        if parts.has(number, piece):
            _check_kind(kinds, parts.read(number, piece).collect(), verifier.system)
    todo = [piece for piece in range(len(pieces)) if not parts.has(number, piece)]
    rows = np.concatenate([order[:0], *(pieces[piece] for piece in todo)])
    done = order.size - rows.size
    with closing(verifier.outcomes(enrol[rows], test[rows])) as told:
        for piece in todo:
            some_outcomes = list(islice(told, pieces[piece].size))
            frame = pl.DataFrame(some_outcomes, schema=_OUTCOME, orient="row")
            _check_kind(kinds, frame, verifier.system)
            parts.write(frame, number, piece)
            done += frame.height
            yield done


def _from_pieces(parts: Parts, number: int, enrol: NDArray[np.int32]) -> pl.DataFrame:
    """What became of a chunk of trials, in their own order, from its pieces."""
    pieces = [parts.read(number, piece) for piece in range(-(-enrol.size // PIECE))]
    return pl.concat(pieces).collect()[np.argsort(np.argsort(enrol, kind="stable"))]


def _check_kind(kinds: set[str], found: pl.DataFrame, system: VerifyingSystem) -> None:
    """Add whether there are scores or decisions, and refuse both."""
    kinds |= {kind for kind in ("score", "decision") if found[kind].count()}
    if len(kinds) > 1:
        msg = (
            f"{system.name}: verify gives scores for some trials and decisions for others; let it "
            "give one kind"
        )
        raise DataError(msg)


@dataclass(frozen=True, eq=False)
class _Verifier:
    """Enrols and verifies.

    Attributes
    ----------
    excerpts, ids
        Of the recordings.
    members, first
        Recordings of each model, and where these begin among the members.
    tests
        Recording of each test id.
    """

    system: VerifyingSystem
    excerpts: list[Excerpt]
    ids: pl.Series
    members: NDArray[np.int32]
    first: NDArray[np.int64]
    tests: NDArray[np.int32]

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
        with closing(_decoded(needs, self.excerpts, self.system)) as decoded:
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
        try:
            handle = self.system.enrol(good)
        except Exception as error:
            step = "enrol"
            raise self._raised(step, own[0], error) from error
        return handle, REFUSED if handle is None else "ok"

    def _verified(self, handle: Any, recording: int, decoded: Decoded) -> Outcome:
        """Score, decision, status and stage of one trial."""
        if decoded.status != "ok":
            return None, None, decoded.status, "acquire"
        try:
            said: Any = self.system.verify(handle, decoded.waveform)
        except Exception as error:
            step = "verify"
            raise self._raised(step, recording, error) from error
        if said is None:
            return None, None, REFUSED, "acquire"
        try:
            value = np.asarray(said)
        except ValueError:  # of lists of several lengths
            value = np.asarray(None)
        if value.dtype.kind not in "bfiu" or value.size != 1:
            told = "text" if isinstance(said, str) else f"a {type(said).__name__}"
            msg = (
                f"{self.system.name}: verify gave {told} at {self.ids[recording]!r}; expected one "
                "number, True or False, or None"
            )
            raise DataError(msg)
        if value.dtype.kind == "b":
            return None, "accept" if value.item() else "reject", "ok", None
        if not np.isfinite(value.item()):
            return None, None, "non_finite", "acquire"
        return float(value.item()), None, "ok", None

    def _raised(self, step: str, recording: int, error: Exception) -> DataError:
        told = " ".join(str(error).split()) or type(error).__name__
        return DataError(
            f"{self.system.name}: {step} raised {type(error).__name__} at "
            f"{self.ids[recording]!r} ({told}); let it give None for what it refuses, or mend it"
        )


def _decoded(
    needs: list[int], excerpts: list[Excerpt], system: VerifyingSystem
) -> Generator[Decoded]:
    """Recordings as they are needed; another process decodes those to come meanwhile."""
    steps = list(_steps(needs))
    held: dict[int, Decoded] = {}
    lost: dict[int, str] = {}  # what crashed is not decoded again
    batches = (
        Batch(n, [excerpts[one]], LONGEST_SECONDS, {0: lost[one]} if one in lost else {})
        for n, one in enumerate(need for need, is_new, _ in steps if is_new)
    )
    begin = partial(_decoding, system.sample_rate, system.least_seconds)
    with closing(do_batches(batches, begin, workers=1)) as decoded:
        for need, is_new, gone in steps:
            if is_new:
                held[need] = next(decoded)
            if held[need].is_passing:
                lost[need] = held[need].reason
            if gone is not None:
                del held[gone]
            yield held[need]


def _steps(needs: Iterable[int]) -> Iterator[tuple[int, bool, int | None]]:
    """Of each recording needed: whether it must be decoded, and which one gives way to it."""
    order: deque[int] = deque()
    held: set[int] = set()
    for need in needs:
        if need in held:
            yield need, False, None
            continue
        held.add(need)
        order.append(need)
        gone = order.popleft() if len(order) > _HELD else None
        held.discard(-1 if gone is None else gone)
        yield need, True, gone


def _decoding(rate: int, least_seconds: float) -> Callable[[Batch, InHand], Decoded]:
    """What the other process does: batches of one recording."""
    return lambda batch, in_hand: next(decode_batch(batch, rate, least_seconds, in_hand))
