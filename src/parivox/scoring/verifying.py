"""Systems that compare recordings themselves: each model enrolled once, each trial verified."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from parivox import __version__
from parivox.embedding.audio import Excerpt, decode
from parivox.embedding.sources import read_source
from parivox.errors import DataError
from parivox.scoring.enrolments import read_enrolments
from parivox.scoring.lists import read_list
from parivox.scoring.parts import Parts
from parivox.scoring.run import FORMAT, Scored, outcomes
from parivox.tables.ids import places_in
from parivox.tables.utterances import some

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from parivox.embedding.audio import Decoded
    from parivox.embedding.systems.protocol import VerifyingSystem

__all__ = ["PART", "score_with_system"]

PART = 500
"""Trials that an interruption loses at most; a model's trials stay together."""
_HELD = 128
"""Decoded recordings that are kept at hand."""
REFUSED = "refused"
"""Status of what a system itself would not enrol or compare."""


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
    progress("reading trials")
    listed = read_list(trials, format=format, columns=columns)
    enrolments = read_enrolments(listed, models)
    source = read_source(recordings, channel=channel)
    needed = pl.concat([enrolments.recordings, listed.test]).unique().sort()
    place = places_in(needed, source.table["utterance"])
    if (place < 0).any():
        missing = needed.filter(pl.Series(place < 0))
        msg = (
            f"{listed.name}: {some(missing, needed, 'recordings')} are not in {source.name}; add "
            "them, or make the ids alike"
        )
        raise DataError(msg)
    excerpts = source.table[place].select("path", "channel", "start", "end")
    plan = {
        "format": FORMAT,
        "parivox": __version__,
        "trials": listed.sha256,
        "system": dict(system.provenance),
        "recordings": hashlib.sha256(
            repr([needed.to_list(), excerpts.rows(), [*enrolments.first, *enrolments.members]])
            .encode()
        ).hexdigest(),
    }  # fmt: skip
    whole = pl.concat(list(listed.chunks()))
    enrol, test = (
        places_in(whole[side], known)
        for side, known in (("enrol", listed.enrol), ("test", listed.test))
    )
    order = np.argsort(enrol, kind="stable")
    runner = _Runner(
        system,
        [Excerpt(*row) for row in excerpts.iter_rows()],
        needed,
        places_in(enrolments.recordings, needed)[enrolments.members],
        enrolments.first,
        places_in(listed.test, needed),
    )
    cuts = _cuts(enrol[order])
    kinds: set[str] = set()
    with Parts(path, plan, overwrite=overwrite) as parts:
        for number, (start, end) in enumerate(pairwise(cuts)):
            rows = order[start:end]
            is_new = not parts.has(number)
            part = (
                runner.verified(whole[rows], rows, enrol[rows], test[rows])
                if is_new
                else parts.read(number).collect()
            )
            kinds |= {kind for kind in ("score", "decision") if part[kind].count()}
            if len(kinds) > 1:
                msg = (
                    f"{system.name}: verify gives scores for some trials and decisions for others; "
                    "let it give one kind"
                )
                raise DataError(msg)
            if is_new:
                parts.write(number, part)
            progress(f"verified {end:,} of {listed.rows:,} trials")
        count = len(cuts) - 1
        found = outcomes(parts, count, listed.rows)
        decides = "decision" in kinds
        unwanted = ["row", "score" if decides else "decision"]
        parts.finish(count, lambda lazy: lazy.sort("row").drop(unwanted))
    how = f"{system.name}, which {'decides' if decides else 'compares'} itself"
    return Scored(path, listed.rows, *found, how)


def _cuts(enrol: NDArray[np.integer]) -> list[int]:
    """Where parts of sorted trials begin, and where the last one ends; no model is cut in two."""
    starts = np.flatnonzero(np.diff(enrol, prepend=-1))
    cuts = [0]
    for start in starts.tolist():
        if start - cuts[-1] >= PART:
            cuts.append(start)
    return [*cuts, enrol.size]


class _Runner:
    """Enrols and verifies; keeps some decoded recordings at hand."""

    def __init__(
        self,
        system: VerifyingSystem,
        excerpts: list[Excerpt],
        ids: pl.Series,
        members: NDArray[np.int32],
        first: NDArray[np.int64],
        tests: NDArray[np.int32],
    ) -> None:
        self.system, self.ids = system, ids
        self.members, self.first, self.tests = members, first, tests

        @lru_cache(maxsize=_HELD)
        def decoded(recording: int) -> Decoded:
            return decode(
                excerpts[recording], system.sample_rate, least_seconds=system.least_seconds
            )

        self.decoded = decoded

    def verified(
        self,
        chunk: pl.DataFrame,
        rows: NDArray[np.integer],
        enrol: NDArray[np.integer],
        test: NDArray[np.integer],
    ) -> pl.DataFrame:
        """A part of the trials, sorted by enrolment, with their place in the list."""
        found: list[tuple[float | None, str | None, str, str | None]] = []
        now, handle, status = -1, None, "ok"
        for model, probe in zip(enrol.tolist(), test.tolist(), strict=True):
            if model != now:
                now = model
                handle, status = self._enrolled(model)
            if status != "ok":
                found.append((None, None, status, "enrol"))
                continue
            found.append(self._verified(handle, int(self.tests[probe])))
        names = {"score": pl.Float64, "decision": pl.String, "status": pl.String}
        told = pl.DataFrame(found, schema={**names, "stage": pl.String}, orient="row")
        return chunk.with_columns(*told.get_columns(), pl.Series("row", rows, dtype=pl.Int64))

    def _enrolled(self, model: int) -> tuple[Any, str]:
        """The handle of a model of those recordings that can be used; else what became of it."""
        own = self.members[self.first[model] : self.first[model + 1]].tolist()
        heard = [self.decoded(one) for one in own]
        good = [one.waveform for one in heard if one.status == "ok"]
        if not good:
            return None, heard[0].status
        try:
            handle = self.system.enrol(good)
        except Exception as error:
            step = "enrol"
            raise self._raised(step, own[0], error) from error
        return handle, REFUSED if handle is None else "ok"

    def _verified(
        self, handle: Any, recording: int
    ) -> tuple[float | None, str | None, str, str | None]:
        """Score, decision, status and stage of one trial."""
        heard = self.decoded(recording)
        if heard.status != "ok":
            return None, None, heard.status, "acquire"
        try:
            said: Any = self.system.verify(handle, heard.waveform)
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
