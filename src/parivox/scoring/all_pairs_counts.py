"""From embeddings to counts and speaker counts of all pairs: what an audit takes, without one row.

Recordings that are alike in all that is grouped by count in the same cells, whomever they are
compared with; those of one speaker among them are a unit. Pairs are counted by cells of both sides
and edge, and by units of both sides and step, in tiles (`parivox.scoring.all_pairs`). Such sums are
trials that weigh their number, one recording standing for its cell or unit, so that counts and a
speaker counts are made of them as of any trials.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import (
    apply_groups_file,
    count_by_speaker,
    count_trials,
    read_grouped_trials,
    speaker_count_thresholds,
)
from parivox.data.counts_file import holds_counts, holds_speaker_counts
from parivox.data.lists.trial_list import utterance_recordings
from parivox.data.score_bins import parse_bins
from parivox.data.source_bytes import with_reading_options
from parivox.data.trial_checks import DataNote, Trials
from parivox.errors import ConfigError, DataError
from parivox.facts import Fact, facts_of_cell
from parivox.options.audit import CountOptions
from parivox.options.kinds import as_tuple
from parivox.renamed import renamed_attribute
from parivox.runtime.disk import ScratchFolder, atomic_file, explain_write_errors
from parivox.runtime.progress import reports_progress, stage
from parivox.scoring.all_pairs import ByCell, ByUnit, Edges, Recordings, add_all_pairs, is_turned
from parivox.scoring.comparison import Scorer, ScoringMethod, check_norms, digest
from parivox.scoring.run import FORMAT
from parivox.scoring.vectors import open_vectors
from parivox.shown import CATALOGUE_MODULE, NotebookView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing import GroupedTrials, TrialCounts
    from parivox.core.counts import FloatArray, IntArray
    from parivox.data.score_bins import Bins
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.runtime.progress import Progress
    from parivox.scoring.vectors import Vectors
    from parivox.sources import DocumentSource, SpeakerSource, UtteranceSource


MAX_SPEAKER_COUNT_ROWS = 1 << 24
"""Rows of speaker counts: about 2.5 GB while they are added up."""


@dataclass(frozen=True)
class ScoredPairs(NotebookView):
    """All pairs of some recordings, as `parivox.audit` takes them.

    Attributes
    ----------
    counts : TrialCounts
        By groups of both sides, class and bin of scores.
    speaker_counts : SpeakerCounts
        By speakers of both sides: what intervals and verdicts are told from. It is personal data.
    recordings : int
        Recordings that were compared.
    method : tuple of Fact
        How they were scored: codes with values.
    how : str
        The same in words.
    notes : tuple of Fact
        What else the user should know: codes with values.
    """

    counts: TrialCounts
    speaker_counts: SpeakerCounts
    recordings: int
    method: tuple[Fact, ...]
    notes: tuple[Fact, ...] = ()
    tally = renamed_attribute("tally", "speaker_counts")

    @property
    def how(self) -> str:
        """How they were scored, in words."""
        return str(import_module(CATALOGUE_MODULE).facts_text(self.method))

    def __repr__(self) -> str:
        size = import_module(CATALOGUE_MODULE).fact_text(self.counts.size())
        return f"<{size}, and speaker counts of {len(self.speaker_counts):,} rows>"

    def save(self, out: str | Path, *, overwrite: bool = False) -> tuple[Path, Path]:
        """Save both files, `out` and its name with ``.tally`` at the end; which they are.

        Raises
        ------
        ConfigError
            If they cannot be written, or are there.
        """
        files = check_out(out, overwrite=overwrite)
        with (
            explain_write_errors(f"--out {out}"),
            atomic_file(files[0]) as counts,
            atomic_file(files[1]) as speaker_counts,
        ):
            self.counts.save(counts)
            self.speaker_counts.save(speaker_counts)
        return files

    write = renamed_attribute("ScoredPairs.write", "save")


def check_out(out: str | Path, *, overwrite: bool) -> tuple[Path, Path]:
    """The two files to write, if they may be written."""
    path = Path(out)
    files = path, path.with_suffix(".tally")
    if files[0] == files[1] or path.is_dir():
        msg = f"--out {out}: is not the name of a counts file"
        hint = "give a name such as big.counts"
        raise ConfigError(msg, hint)
    for file, is_ours in zip(files, (holds_counts, holds_speaker_counts), strict=True):
        if file.exists() and not is_ours(file):
            msg = f"--out {file}: already exists and was not written by Parivox"
            hint = "name another file"
            raise ConfigError(msg, hint)
        if file.exists() and not overwrite:
            msg = f"--out {file}: already exists"
            hint = "replace the file with --overwrite, or give another name"
            raise ConfigError(msg, hint)
    return files


@reports_progress
@with_reading_options
def score_all_pairs(
    embeddings: str | Path | Vectors,
    *,
    speakers: SpeakerSource | None = None,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    groups: DocumentSource | None = None,
    utterances: UtteranceSource | None = None,
    id: str | None = None,  # noqa: A002 - the option's name
    step: float | str | None = None,
    thresholds: Sequence[float | str] | float | str = (),
    operating_points: Sequence[str] | str | None = None,
    across_recordings: bool = False,
    scoring: str | None = None,
    subtract_mean: str | Path | None = None,
    as_norm: str | Path | None = None,
    top: int | None = None,
    s_norm: str | Path | None = None,
    encoding: str | None = None,
    quotes: str | None = None,
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - for all stages
) -> ScoredPairs:
    """Score every pair of recordings, and keep counts and speaker counts in the place of rows.

    They are those of the rows that `parivox.score` would write of the same pairs. With `thresholds`
    alone, pairs are scored once and counted at these; with `step`, twice: the thresholds of the
    audit are found on the counts, and the speaker counts are made at them.

    Parameters
    ----------
    embeddings
        Folder of ``parivox embed``, a file of embeddings, or one that was opened. Recordings that
        failed, and those of a cohort of strangers among them, are left out.
    speakers, by, within, groups, utterances, id, encoding, quotes
        As in `parivox.audit`. Without `utterances`, the table in the folder of ``parivox embed``.
    step, thresholds
        As in `parivox.count`; one of them is needed.
    operating_points
        Of the audit that is to come, which cannot be at others; None for those it takes itself.
    across_recordings
        Leave out pairs of one speaker within one recording: a column recording, video, session
        or call, or the folder of the file.
    scoring, subtract_mean, as_norm, top, s_norm
        As in `parivox.score`; scores must be inner products.
    progress
        Called with the `parivox.runtime.progress.Progress` of each stage.

    Raises
    ------
    ConfigError
        If an option is wrong, or the sums would not fit into memory.
    DataError
        If the vectors or the tables do not hold what they must.
    """
    check_norms(as_norm, s_norm, top)
    bins = parse_bins(step, as_tuple(thresholds))
    if bins.is_exact:
        msg = (
            "--counts needs a bin width, for example --step 0.001, or thresholds, for example "
            "--threshold 0.5"
        )
        raise ConfigError(msg)
    if bins.no_curve_reason and operating_points is not None:
        msg = "--operating-point: cannot be set from counts at thresholds, which have no curve"
        hint = "add --step, or give --threshold alone"
        raise ConfigError(msg, hint)
    vectors = open_vectors(embeddings)
    method = ScoringMethod.from_options(
        vectors,
        scoring=scoring,
        as_norm=as_norm,
        s_norm=s_norm,
        top=top,
        subtract_mean=subtract_mean,
    )
    if not method.comparison.is_product:
        msg = (
            f"--scoring {method.comparison.name}: all pairs can be counted only with inner products"
        )
        hint = "give cosine, dot or ecapa-published, or score a trial list"
        raise ConfigError(msg, hint)
    if utterances is None and vectors.table is not None:
        utterances = vectors.table
    options = CountOptions.from_keywords(
        speakers=speakers,
        by=by or None,
        within=within or None,
        groups=groups,
        utterances=utterances,
        id=id,
        encoding=encoding,
        quotes=quotes,
        step=step,
        thresholds=thresholds,
        withhold=0,
        orientation="similarity",
    )
    options, file = apply_groups_file(options)
    inputs = read_grouped_trials({("", ""): _ring_of_trials(method)}, options, file, may_lack=True)
    pairs = _Pairs(inputs, method, bins, across_recordings=across_recordings)
    groupings = [*inputs.groupings, *inputs.within]
    thresholds_of_units = np.array(bins.thresholds)
    # Thresholds that are given need one pass; those of an audit must first be found on counts.
    if bins.no_curve_reason:
        units = pairs.by_unit(thresholds_of_units)
        pairs.add([units], "scoring and counting")
        counts = count_trials(pairs.gathered(units), options, bins)
    else:
        cells, units = ByCell(pairs.recordings, pairs.edges), pairs.by_unit(thresholds_of_units[:0])
        pairs.add([cells, units], "scoring and counting")
        counts = count_trials(
            pairs.gathered(units), options, bins, pairs.weighing(pairs.of_cells(cells))
        )
        point_options = {} if operating_points is None else {"operating_points": operating_points}
        scratch = ScratchFolder()
        with scratch.file_to_write("all.counts") as path:
            counts.save(path)
        with stage("finding the thresholds of the speaker counts"):
            thresholds_of_units = speaker_count_thresholds(str(path), **point_options)
        units = pairs.by_unit(thresholds_of_units)
        pairs.add([units], "scoring again, for the speaker counts,")
    n_rows = sum(n.size for *_, n in units.rows())
    if n_rows > MAX_SPEAKER_COUNT_ROWS:
        msg = (
            f"--step {bins.step}: an audit of these counts needs {thresholds_of_units.size} "
            f"thresholds, for which the speaker counts would have {n_rows:,} rows (maximum: "
            f"{MAX_SPEAKER_COUNT_ROWS:,})"
        )
        hint = "give a few --threshold instead of --step"
        raise ConfigError(msg, hint)
    with stage("adding up the speaker counts"):
        speaker_counts = count_by_speaker(
            pairs.weighing(pairs.of_units(units)), thresholds_of_units, groupings
        )
    return ScoredPairs(
        counts, speaker_counts, len(pairs.ids), tuple(method.facts()), tuple(pairs.notes())
    )


def _ring_of_trials(method: ScoringMethod) -> dict[str, Any]:
    """A list in which each recording that is compared is on either side of a trial."""
    vectors, is_compared = method.vectors, method.vectors.row >= 0
    is_compared[method.own_cohort] = False
    usable = np.flatnonzero(is_compared)
    if usable.size < 2:
        msg = f"{vectors.name}: contains {usable.size} usable recordings"
        hint = "give at least two recordings"
        raise DataError(msg, hint)
    # A ring names every recording on either side, so that readers of lists join and check them.
    sides = {"enrol": usable, "test": np.roll(usable, -1)}
    ids = {side: vectors.ids.gather(positions) for side, positions in sides.items()}
    return {**ids, "score": np.zeros(usable.size)}


class _Pairs:
    """All pairs of the recordings of a ring of trials."""

    def __init__(
        self,
        inputs: GroupedTrials,
        method: ScoringMethod,
        bins: Bins,
        *,
        across_recordings: bool,
    ) -> None:
        ring, speakers = inputs.only_list, inputs.speakers
        assert speakers is not None
        self.ring = ring
        self.read, self.method = inputs, method
        self.ids = self.ring.utterance_ids.series()
        self.places = method.vectors.places(self.ids, method.vectors.name)
        if method.cohort is not None:
            method.cohort.check_apart(self.ids, method.vectors.name)
        with stage(f"preparing {len(self.ids):,} recordings"):
            prepared = method.prepared(self.places)
            self.scorer = Scorer(
                prepared,
                method.comparison,
                method.stranger_scores(prepared, self.ids),
            )
        self.edges = Edges(bins, self.scorer.limits)
        names = speakers.ids
        # Numbers in the order of ids: who enrols must not depend on the order of the table.
        speaker_number = np.empty(len(names), dtype=np.int64)
        speaker_number[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        groupings = [*inputs.groupings, *inputs.within]
        codes = np.stack(
            [code for grouping in groupings for code in grouping.utterance_values(self.ring)]
        )
        session, self.warning = None, ""
        if across_recordings:
            sessions = ring.recording_names
            self.warning = sessions.warning
            session = utterance_recordings(ring, sessions, is_asked=True).astype(np.int64)
            if (session < 0).any():
                msg = (
                    f"{method.vectors.name}: for {int((session < 0).sum()):,} utterances, the "
                    "recording they were cut from is unknown"
                )
                hint = (
                    "give --utterances with a column 'recording', or leave out --across-recordings"
                )
                raise DataError(msg, hint)
        self.recordings = Recordings(
            speaker_number[self.ring.utterance_speaker],
            np.unique(codes, axis=1, return_inverse=True)[1].reshape(-1),
            session,
        )
        plan = {
            "format": FORMAT,
            **method.plan(),
            "recordings": digest(self.ids),
            "speakers": digest([names[i] for i in self.ring.utterance_speaker.tolist()]),
            "sessions": None if session is None else hashlib.sha256(session.tobytes()).hexdigest(),
        }
        self.sha256 = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()

    def by_unit(self, thresholds: FloatArray) -> ByUnit:
        """Pairs to be counted by units at thresholds."""
        steps = np.searchsorted(thresholds, self.edges.values, side="right")
        self.levels = np.append(-np.inf, thresholds)
        return ByUnit(self.recordings, steps)

    def add(self, sums: Sequence[ByCell | ByUnit], stage_name: str) -> None:
        """Count all pairs."""
        n_pairs = len(self.ids) * (len(self.ids) - 1) // 2
        with stage(f"{stage_name} {n_pairs:,} pairs", n_pairs, "pairs") as progress_stage:
            for done in add_all_pairs(self.scorer, self.recordings, self.edges, sums):
                progress_stage.add(done - progress_stage.done)

    def of_cells(self, cells: ByCell) -> Iterator[Trials]:
        """Trials by cells of both sides, class and score, of one enrolment cell after the other."""
        _, first_recording = np.unique(self.recordings.cell, return_index=True)
        for enrol in range(first_recording.size):
            counts = cells.counts[:, enrol]
            target, test, edge = counts.nonzero()
            yield _weighted_trials(
                np.full(test.size, first_recording[enrol]),
                first_recording[test],
                target == 1,
                self.edges.values[edge],
                counts[target, test, edge],
            )

    def of_units(self, units: ByUnit) -> Iterator[Trials]:
        """Trials by units of both sides and the highest threshold at or below the score."""
        first_recording = self.recordings.recording_of_unit
        speaker = self.recordings.speaker[first_recording]
        for lower_unit, higher_unit, step, n_pairs in units.rows():
            target = speaker[lower_unit] == speaker[higher_unit]
            turned = ~target & is_turned(speaker[lower_unit], speaker[higher_unit])
            enrol, test = (
                np.where(turned, higher_unit, lower_unit),
                np.where(turned, lower_unit, higher_unit),
            )
            yield _weighted_trials(
                first_recording[enrol], first_recording[test], target, self.levels[step], n_pairs
            )

    def weighing(self, trial_chunks: Iterable[Trials], data: Sequence[DataNote] = ()) -> TrialSet:
        """Such trials as a list."""
        return self.ring.with_weighted_rows(
            [trials for trials in trial_chunks if len(trials)], self.sha256, data
        )

    def gathered(self, units: ByUnit) -> GroupedTrials:
        """What was read, with all pairs in the place of the ring."""
        trial_chunks = [*self.of_units(units)]
        n = sum(int(chunk.extra_columns["count"].sum()) for chunk in trial_chunks)
        targets = sum(
            int(chunk.extra_columns["count"][chunk.target].sum()) for chunk in trial_chunks
        )
        failed = int((self.method.vectors.row < 0).sum())
        described_counts = [
            ("recordings", len(self.ids), "compared_with_all_others"),
            ("trials", n, ""),
            ("target_trials", targets, ""),
            ("nontarget_trials", n - targets, ""),
            ("failed_recordings", failed, "left_out_with_trials"),
        ]
        data = [
            DataNote("scores", item, count, note) for item, count, note in described_counts if count
        ]
        table_notes = [note for note in self.ring.data_notes if note.source != "scores"]
        return replace(self.read, trial_sets=[self.weighing(trial_chunks, [*data, *table_notes])])

    def notes(self) -> Iterator[Fact]:
        """What the user should know besides."""
        failed = int((self.method.vectors.row < 0).sum())
        if failed:
            yield Fact("failed_recordings_in_no_pair", {"recordings": failed})
        yield from facts_of_cell(self.warning)
        if self.method.own_cohort.size:
            yield Fact("cohort_in_no_pair", {"recordings": self.method.own_cohort.size})
        yield from self.method.notes(self.places)


def _weighted_trials(
    enrol: IntArray,
    test: IntArray,
    target: NDArray[np.bool_],
    score: FloatArray,
    n_trials: IntArray,
) -> Trials:
    """Trials that weigh their number."""
    is_equal_recording = np.zeros(n_trials.size, dtype=np.bool_)
    codes = enrol.astype(np.int32), test.astype(np.int32)
    return Trials(*codes, target.astype(np.int8), score, is_equal_recording, {"count": n_trials})
