"""Errors and trials of every cell: by speaker, by pair of speakers, and between groups.

One more walk over the trials, once the thresholds are known. The sample of uncertainty are the
speakers (target trials) and pairs of speakers (nontarget trials).
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from parivox.auditing.layout import CROSS, MAX_LAYOUTS_TOGETHER, Layout, place_trials
from parivox.auditing.operating_points import DEPLOYED
from parivox.core.counts import NONTARGET, TARGET
from parivox.core.key_sums import index_codes, sum_by_key
from parivox.core.registry import ALL_RATES, ERROR_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.layout import PlacedTrials
    from parivox.auditing.operating_points import LocatedPoint
    from parivox.core.cluster_errors import ErrorsByPair, ErrorsBySpeaker
    from parivox.core.counts import IntArray
    from parivox.core.registry import ErrorType
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.trial_set import TrialSet
    from parivox.data.units import Units

    Bools = NDArray[np.bool_]


_TRIALS_PER_CHUNK = (
    1 << 16
)  # trials whose pairs of groups are counted together: they fit into the cache


class SpeakerErrors(NamedTuple):
    """Errors and trials of some cells at every operating point."""

    by_class: tuple[ErrorsBySpeaker | ErrorsByPair, ...]
    """In the order of `parivox.core.registry.ERROR_TYPES`; spoof trials where there are any."""

    @property
    def rates(self) -> tuple[str, ...]:
        """Return the error rates that the trials have."""
        return ALL_RATES[: len(self.by_class)]

    @property
    def target(self) -> ErrorsBySpeaker:
        """Return target trials by speaker."""
        return cast("ErrorsBySpeaker", self.by_class[TARGET])

    @property
    def nontarget(self) -> ErrorsBySpeaker | ErrorsByPair:
        """Return nontarget trials by pair of speakers; non-mated searches by probe speaker."""
        return self.by_class[NONTARGET]

    def for_rate(self, rate: str) -> ErrorsBySpeaker | ErrorsByPair:
        """Return the errors of FPR, by pair of speakers, or of another rate, by speaker."""
        return self.by_class[ALL_RATES.index(rate)]

    def cell_slice(self, start: int, stop: int) -> SpeakerErrors:
        """Return cells `start` to `stop`, the latter excluded."""
        if (start, stop) == (0, self.target.n_cells):
            return self
        return SpeakerErrors(tuple(errors.cell_range(start, stop) for errors in self.by_class))


def count_speaker_errors(
    trials: TrialSet | SpeakerCounts,
    layouts: Sequence[Layout],
    chunks: Iterable[PlacedTrials],
    located_points: Sequence[LocatedPoint],
    units: Units,
) -> Iterator[tuple[SpeakerErrors, SpeakerErrors]]:
    """Yield errors and trials of every layout by speaker or pair, by cell and by stratum.

    A cell is ``stratum * n_groups + group``.

    A stratum has every trial that counts in one of its cells, once; where that is all trials, it
    is the very object of the first layout.

    Parameters
    ----------
    trials
        The encoded trials, or speaker counts of them whose thresholds include those of the points.
    layouts, chunks
        What the cells are of, the first of all trials; `parivox.auditing.layout.place_trials`. A
        list of one chunk is counted layout by layout: a caller that keeps none holds few of them.
    located_points
        Operating points: trials are accepted at their thresholds or, at ``deployed``, as decided.
        Where a point was not found, errors mean nothing.
    units
        Whom uncertainty is measured over.
    """
    error_types: Sequence[ErrorType] = ERROR_TYPES[: trials.n_classes]
    if units.are_probe_speakers:
        error_types = [error_type._replace(is_of_pairs=False) for error_type in error_types]

    def classify(placed: PlacedTrials) -> _ClassifiedChunk:
        return _ClassifiedChunk(
            placed,
            Acceptances.of_trials(trials, placed, located_points),
            _units_by_class(trials, placed, units, error_types),
        )

    classified_chunks: Iterable[_ClassifiedChunk] = map(classify, chunks)
    layouts_at_once = len(layouts)
    if isinstance(chunks, list) and len(chunks) == 1:
        classified_chunks, layouts_at_once = list(classified_chunks), 1
    all_errors: SpeakerErrors | None = None
    n_trials_of_all: list[int | list[int]] = []
    for start in range(0, len(layouts), layouts_at_once):
        numbers = range(start, start + layouts_at_once)
        cell_errors, stratum_errors = _sums_of_layouts(
            {i: layouts[i] for i in numbers}, classified_chunks, units, error_types
        )
        for i in numbers:
            # taken out, so that sums are given back once they are errors
            cell_sums, stratum_sums = cell_errors.pop(i), stratum_errors.pop(i)
            cell_sums.join()
            stratum_sums.join()
            if all_errors is None:
                all_errors, n_trials_of_all = cell_sums.finish(), cell_sums.n_trials()
                pooled = errors = all_errors
            else:
                layout = layouts[i]
                if layout.allocation != "either":
                    stratum_sums.part_sums = cell_sums.sums_by_stratum(layout.n_cells_per_stratum)
                has_all_trials = layout.n_strata == 1 and stratum_sums.n_trials() == n_trials_of_all
                pooled = all_errors if has_all_trials else stratum_sums.finish()
                errors = cell_sums.finish()
            del cell_sums, stratum_sums
            yield errors, pooled
            del errors, pooled


def _sums_of_layouts(
    layouts: Mapping[int, Layout],
    classified_chunks: Iterable[_ClassifiedChunk],
    units: Units,
    error_types: Sequence[ErrorType],
) -> tuple[dict[int, _ErrorSums], dict[int, _ErrorSums]]:
    """Return the errors of the cells and of the strata of each layout, by its number."""
    cell_errors, stratum_errors = (
        {i: _ErrorSums(n_cells, units, error_types) for i, n_cells in sizes.items()}
        for sizes in (
            {i: layout.n_cells for i, layout in layouts.items()},
            {i: layout.n_strata for i, layout in layouts.items()},
        )
    )
    for placed, acceptances, classes in classified_chunks:
        for i in layouts.keys() & placed.cells_by_layout.keys():
            trial_cells = placed.cells_by_layout[i]
            cell_errors[i].add(classes, trial_cells.cells, acceptances)
            if layouts[i].allocation == "either":  # cells share trials
                stratum_errors[i].add(classes, [trial_cells.stratum], acceptances)
    return cell_errors, stratum_errors


class _ClassifiedChunk(NamedTuple):
    """One chunk of trials, with what is the same for all layouts."""

    placed: PlacedTrials
    acceptances: Acceptances
    classes: list[_ClassUnits]


class Matrix(NamedTuple):
    """False accepts and trials of nontarget pairs, ``[point, enrol group, test group]``."""

    errors: IntArray
    trials: IntArray


def count_matrices(
    trials: TrialSet | TrialCounts | SpeakerCounts,
    groupings: Sequence[Grouping],
    located_points: Sequence[LocatedPoint],
    within: Sequence[Grouping] = (),
) -> list[tuple[Grouping, str, Matrix]]:
    """Return the false accepts and trials of nontarget pairs, by group of either side.

    See docs/methods/rates.md#cross-group-matrix. Each grouping comes for all trials first, then
    within every stratum, named as the column ``within`` has it.
    """
    layouts = [
        Layout(grouping, CROSS, strata) for strata in (None, *within) for grouping in groupings
    ]
    sums = [
        np.zeros((2, len(located_points), layout.n_cells), dtype=np.int64) for layout in layouts
    ]
    for placed in place_trials(
        trials, layouts, at_once=_TRIALS_PER_CHUNK, layouts_at_once=MAX_LAYOUTS_TOGETHER
    ):
        acceptances = Acceptances.of_trials(trials, placed, located_points)
        nontarget = np.flatnonzero(placed.trials.nontarget)
        for i, trial_cells in placed.cells_by_layout.items():
            cell = trial_cells.cells[0].take(nontarget)
            in_cell = np.flatnonzero(cell >= 0)
            n_trials, errors = acceptances.count_entries(
                cell.take(in_cell), nontarget.take(in_cell), layouts[i].n_cells, is_of_accepts=True
            )
            sums[i][0] += errors
            sums[i][1] += n_trials
    matrices = []
    for layout, layout_sums in zip(layouts, sums, strict=True):
        assert layout.grouping is not None
        n_groups = len(layout.grouping.groups)
        by_stratum = layout_sums.reshape(
            2, len(located_points), layout.n_strata, n_groups, n_groups
        )
        for stratum, name in enumerate(layout.stratum_names()):
            matrices.append((layout.grouping, name, Matrix(*by_stratum[:, :, stratum])))
    return matrices


class Acceptances(NamedTuple):
    """Which trials of one chunk are accepted at the operating points."""

    n_points: int
    order: NDArray[np.intp]  # those of the points that are thresholds, in rising order of these
    n_passed: IntArray  # at how many of the thresholds, the lowest first, each trial is accepted
    # which point is the decisions that were made; which trials were accepted, of which it is known
    decided: tuple[int, Bools, Bools] | None
    weight: IntArray | None  # how many trials each of them stands for; None for one

    @classmethod
    def of_trials(
        cls,
        trials: TrialSet | TrialCounts | SpeakerCounts,
        placed: PlacedTrials,
        located_points: Sequence[LocatedPoint],
    ) -> Acceptances:
        """Return those of one chunk; of recordings that failed, all trials are rejected."""
        trials_of_chunk = placed.trials
        score_points = [
            i for i, located in enumerate(located_points) if located.point.rule != DEPLOYED
        ]
        thresholds = np.array([located_points[i].threshold for i in score_points])
        order = np.argsort(thresholds)  # NaN, at which no trial is accepted, comes last
        n_passed = np.searchsorted(thresholds[order], trials_of_chunk.score, side="right")
        if placed.are_failed:
            n_passed[:] = 0
        decided = None
        if len(score_points) < len(located_points):
            rules = [located.point.rule for located in located_points]
            deployed_point = rules.index(DEPLOYED)
            rejected = np.zeros(len(trials_of_chunk), dtype=np.int8)
            decisions = rejected if placed.are_failed else trials.decisions(trials_of_chunk)
            decided = deployed_point, decisions == 1, decisions >= 0
        points = np.array(score_points, dtype=np.intp)[order]
        return cls(
            len(located_points),
            points,
            n_passed,
            decided,
            trials_of_chunk.extra_columns.get("count"),
        )

    def count_entries(
        self,
        entry: NDArray[np.integer[Any]],
        row: NDArray[np.intp],
        n_entries: int,
        *,
        is_of_accepts: bool,
    ) -> tuple[IntArray, IntArray]:
        """Return the trials, of all points or of each, and the errors ``[point, entry]``.

        Trial `row` counts in one `entry` of `n_entries`.
        """
        n_steps = self.order.size + 1
        code = self.n_passed.take(row)
        code *= n_entries
        code += entry
        # a step is a row, so that rows are added up and copied as they lie in memory
        cumulative = self._count(code, row, n_entries * n_steps).reshape(n_steps, n_entries)
        del code  # as large as the rows: many entries leave room for few such arrays
        for lower_step, step in pairwise(cumulative):
            np.add(lower_step, step, out=step)
        trials = cumulative[-1].copy()
        errors = np.empty((self.n_points, n_entries), dtype=np.int64)
        for point, rejected in zip(self.order, cumulative[:-1], strict=True):
            errors[point] = trials - rejected if is_of_accepts else rejected
        del cumulative
        if self.decided is None:
            return trials, errors
        point, accepted, is_known = self.decided
        wrong = (accepted if is_of_accepts else ~accepted) & is_known
        errors[point] = self._count(entry, row, n_entries, wrong)
        if is_known.all():
            return trials, errors
        trials_by_point = np.repeat(trials[None], self.n_points, axis=0)
        trials_by_point[point] = self._count(entry, row, n_entries, is_known)
        return trials_by_point, errors

    def _count(
        self,
        entry: NDArray[np.integer[Any]],
        row: NDArray[np.intp],
        n_entries: int,
        is_counted: Bools | None = None,
    ) -> IntArray:
        """Return the number of trials, or of those that `is_counted` chooses, in each entry."""
        if is_counted is not None:
            is_row_counted = is_counted[row]
            entry, row = entry[is_row_counted], row[is_row_counted]
        if self.weight is None:
            return np.bincount(entry, minlength=n_entries).astype(np.int64, copy=False)
        counts = np.bincount(entry, self.weight[row], minlength=n_entries)
        # in place, as these may be the largest arrays: numbers of either kind take eight bytes
        whole_counts = counts.view(np.int64)
        np.copyto(whole_counts, counts, casting="unsafe")
        return whole_counts


class _ClassUnits(NamedTuple):
    """Trials of one class by speaker, or by pair of speakers."""

    rows: NDArray[np.intp]
    # speaker or pair of each row, by its number among those that occur
    number: NDArray[np.integer[Any]]
    codes: IntArray  # those that occur, rising


def _units_by_class(
    trials: TrialSet | SpeakerCounts,
    placed: PlacedTrials,
    units: Units,
    error_types: Sequence[ErrorType],
) -> list[_ClassUnits]:
    """Return the trials of each class by who bears their risk: nontarget trials by pair."""
    trials_of_chunk, speaker = placed.trials, trials.utterance_speaker
    classes = []
    for class_code, error_type in enumerate(error_types):
        rows = np.flatnonzero(trials_of_chunk.trial_class == class_code)
        enrolled = speaker[trials_of_chunk.enrol[rows]]
        if error_type.is_of_pairs:
            code = units.pair_numbers(enrolled, speaker[trials_of_chunk.test[rows]])
        else:
            code = units.unit_numbers(enrolled)
        codes, number = index_codes(code, _n_unit_codes(error_type, units))
        classes.append(_ClassUnits(rows, number, codes))
    return classes


def _n_unit_codes(error_type: ErrorType, units: Units) -> int:
    """Return the number of units, or of pairs of them, that an error type may be counted by."""
    return units.n_units**2 if error_type.is_of_pairs else units.n_units


class _PartSums(NamedTuple):
    """Trials and errors by the code of a cell and a unit, of some of the trials."""

    code: IntArray
    trials: IntArray
    errors: IntArray

    @classmethod
    def joined(cls, part_sums: Sequence[_PartSums]) -> _PartSums:
        """Return the sum of several parts, or of one in which a code occurs more than once."""
        only = part_sums[0]
        if len(part_sums) == 1 and (only.code[1:] > only.code[:-1]).all():
            return only
        trials = [sums.trials for sums in part_sums]
        if len({table.ndim for table in trials}) > 1:  # some decisions are known of all trials
            trials = [np.broadcast_to(sums.trials, sums.errors.shape) for sums in part_sums]
        if len(part_sums) == 1:  # no copies
            columns = only
        else:
            columns = cls(
                np.concatenate([sums.code for sums in part_sums]),
                np.concatenate(trials, axis=-1),
                np.concatenate([sums.errors for sums in part_sums], axis=-1),
            )
        code, (all_trials, all_errors) = sum_by_key(*columns)
        return cls(code, all_trials, all_errors)


class _ErrorSums:
    """Errors of one layout being added up, chunk by chunk, by error type."""

    def __init__(self, n_cells: int, units: Units, error_types: Sequence[ErrorType]) -> None:
        self.n_cells, self.units, self.error_types = n_cells, units, error_types
        self.n_unit_codes = [_n_unit_codes(error_type, units) for error_type in error_types]
        self.part_sums: list[list[_PartSums]] = [[] for _ in error_types]

    def add(
        self,
        classes: Sequence[_ClassUnits],
        cells: Sequence[NDArray[np.int32]],
        acceptances: Acceptances,
    ) -> None:
        """Add the trials of all classes; each may be in a second cell too."""
        for error_type, units_of_class, n_unit_codes, part_sums in zip(
            self.error_types, classes, self.n_unit_codes, self.part_sums, strict=True
        ):
            n_units = units_of_class.codes.size
            cell_codes, rows = [], []
            for cell in cells:
                row_cells = cell[units_of_class.rows]
                in_cell = np.flatnonzero(row_cells >= 0)
                cell_codes.append(
                    row_cells[in_cell].astype(np.int64) * n_units + units_of_class.number[in_cell]
                )
                rows.append(units_of_class.rows[in_cell])
            used_codes, entry = index_codes(np.concatenate(cell_codes), self.n_cells * n_units)
            n_trials, errors = acceptances.count_entries(
                entry,
                np.concatenate(rows),
                used_codes.size,
                is_of_accepts=error_type.is_of_accepts,
            )
            cell, unit = np.divmod(used_codes, n_units)
            code = cell * n_unit_codes + units_of_class.codes[unit]
            part_sums.append(_PartSums(code, n_trials, errors))

    def join(self) -> None:
        """Add up the parts of each class."""
        for part_sums in self.part_sums:
            part_sums[:] = [_PartSums.joined(part_sums)] if part_sums else []

    def n_trials(self) -> list[int | list[int]]:
        """Return the trials of each class, at each point if they differ."""
        n_by_class = (
            sum((sums.trials.sum(axis=-1) for sums in part_sums), np.array(0))
            for part_sums in self.part_sums
        )
        return [n.tolist() for n in n_by_class]

    def sums_by_stratum(self, n_groups: int) -> list[list[_PartSums]]:
        """Return the sums by stratum, each of which has `n_groups` cells."""
        return [
            [
                sums._replace(code=sums.code // n // n_groups * n + sums.code % n)
                for sums in part_sums
            ]
            for n, part_sums in zip(
                np.maximum(self.n_unit_codes, 1).tolist(), self.part_sums, strict=True
            )
        ]

    def finish(self) -> SpeakerErrors:
        """Return the errors and trials by speaker and by pair."""
        n, n_cells = max(self.units.n_units, 1), self.n_cells
        by_class: list[ErrorsBySpeaker | ErrorsByPair] = []
        for error_type, part_sums in zip(self.error_types, self.part_sums, strict=True):
            sums = _PartSums.joined(part_sums)
            if error_type.is_of_pairs:
                cell, pair = np.divmod(sums.code, n * n)
                by_class.append(
                    self.units.errors_by_pair(
                        cell, (pair // n, pair % n), sums.errors, sums.trials, n_cells
                    )
                )
            else:
                by_class.append(
                    self.units.errors_by_unit(
                        sums.code // n, sums.code % n, sums.errors, sums.trials, n_cells
                    )
                )
        return SpeakerErrors(tuple(by_class))
