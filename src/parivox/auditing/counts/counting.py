"""Counts of trials for others to audit: scores and speakers in, one file without ids out."""

from __future__ import annotations

import json
import math
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

import numpy as np

from parivox.auditing.cell_counts import FAILURE_STAGES, Attempts, count_cells
from parivox.auditing.counts.pseudonyms import check_disclosure, speaker_counts_to_share
from parivox.auditing.counts.suppression import (
    NO_CELL,
    SHOWN,
    group_suppression,
    stratum_suppression,
    suppression_reason,
)
from parivox.auditing.counts.trial_counts import (
    DECISIONS,
    FAILURES,
    LLR,
    LLR_TO_BASE,
    SCORES,
    SECONDS,
    SIMILARITY,
    THRESHOLDS,
    LayoutParticipants,
    Note,
    TrialCounts,
    check_joinable_rows,
)
from parivox.auditing.inputs import apply_groups_file, read_grouped_trials, sources_by_name
from parivox.auditing.layout import Layout, groups_of_trials, place_trials
from parivox.auditing.outcomes import MICROSECONDS
from parivox.auditing.participants import Participants
from parivox.auditing.system import check_polarity
from parivox.core.counts import TARGET
from parivox.core.key_sums import index_codes, sum_by_key
from parivox.data.count_rows import CountRows
from parivox.data.counts_file import SUM_COLUMNS
from parivox.data.score_bins import parse_bins
from parivox.data.site_key import CountingLog, SiteKey, key_file
from parivox.data.source_bytes import with_reading_options
from parivox.data.trial_checks import item_by_speaker
from parivox.data.trial_set import TrialSet, check_test_speakers
from parivox.errors import ConfigError, DataError
from parivox.options.audit import CountOptions
from parivox.options.kinds import as_tuple, names_options
from parivox.runtime.progress import reports_progress, stage

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.suppression import Bools
    from parivox.auditing.inputs import GroupedTrials
    from parivox.auditing.layout import Codes, PlacedTrials, Sides
    from parivox.auditing.outcomes import FailureShare
    from parivox.data.grouping import Grouping
    from parivox.data.score_bins import Bins
    from parivox.data.speakers import Speakers
    from parivox.data.trial_checks import Trials
    from parivox.options.types import OtherCountOptions
    from parivox.sources import DocumentSource, ScoreSource, SpeakerSource

_MAX_TABLES_PER_LAYOUT = 16
_GROUPS = ("level", "enrol_group", "test_group")
_NO_GROUP = np.int32(-1)


@names_options(CountOptions)
@reports_progress
@with_reading_options
def count(
    scores: ScoreSource,
    speakers: SpeakerSource | None = None,
    *,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    groups: DocumentSource | None = None,
    step: float | str | None = None,
    thresholds: Sequence[float | str] | float | str = (),
    withhold: int = 5,
    key: str | os.PathLike[str] | None = None,
    new_key: str | os.PathLike[str] | None = None,
    blocks: int | None = None,
    **options: Unpack[OtherCountOptions],
) -> TrialCounts:
    """Count trials by group and score, so that others can audit them without their rows.

    Counts hold no ids. Those of several files add up in `parivox.audit`, which has intervals where
    speaker counts are beside them.

    Parameters
    ----------
    scores
        A path, ``-`` for standard input, a dataframe, a mapping of arrays, or a mapping from one
        ``system`` or ``system@list`` to one of these.
    speakers, by, within, groups
        As in `parivox.audit`.
    step
        Width of the bins that scores are counted in; without it, each score is counted.
    thresholds
        Scores to count at: edges beside those of the bins or, without `step`, the only ones.
    withhold
        Groups of fewer speakers are withheld; 0 withholds none.
    key
        A secret of the site, in a file. Makes speaker counts as well, with renamed speakers.
    new_key
        The same by a new random secret, which is written to this file.
    blocks
        Tell of blocks of at least so many speakers each in the place of speakers.
    **options
        Every other option by name: see
        `parivox.options.types.OtherCountOptions`.

    Returns
    -------
    TrialCounts
        With a method ``write``; its attribute ``speaker_counts`` holds the speaker counts.

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> trials = {"enrol": ["a/1", "a/1"], "test": ["a/2", "b/1"], "score": [0.9, 0.1]}
    >>> people = {"id": ["a", "b"], "gender": ["f", "m"]}
    >>> count(trials, speakers=people, by="gender", withhold=0)
    <2 trials as counts by gender; 2 rows>
    """
    count_options = CountOptions.from_keywords(
        speakers=speakers,
        by=by or None,
        within=within or None,
        groups=groups,
        step=step,
        thresholds=thresholds,
        withhold=withhold,
        key=key,
        new_key=new_key,
        blocks=blocks,
        **options,
    )
    with key_file(count_options.key, count_options.new_key) as file:
        return _count_scores(scores, replace(count_options, key=file, new_key=None))


def _count_scores(scores: Any, count_options: CountOptions) -> TrialCounts:
    if count_options.blocks is not None:
        count_options = replace(
            count_options, withhold=max(count_options.withhold, count_options.blocks)
        )
    site = None if count_options.key is None else SiteKey.read(count_options.key)
    count_options, file = apply_groups_file(count_options)
    bins = parse_bins(count_options.step, as_tuple(count_options.thresholds))
    sources = sources_by_name(scores)
    if len(sources) > 1:
        msg = f"parivox count takes one score file (found {len(sources)})"
        hint = "count each file separately"
        raise ConfigError(msg, hint)
    (name, source), *_ = sources.items()
    is_named = source is not scores
    inputs = read_grouped_trials(
        {name if is_named else ("", ""): source}, count_options, file, may_lack=True
    )
    check_disclosure(inputs, count_options, is_exact=bins.is_exact)
    with stage("counting"):
        counts = count_trials(inputs, count_options, bins)
        if site is not None:
            counts = replace(
                counts,
                speaker_counts=speaker_counts_to_share(inputs, counts, site, count_options.blocks),
            )
    check_polarity(counts, count_cells(counts, [], []).all_counts, count_options.orientation)
    if site is not None:
        counts = _with_log_entry(counts, inputs, count_options, site)
    return counts


def _with_log_entry(
    counts: TrialCounts, inputs: GroupedTrials, count_options: CountOptions, site: SiteKey
) -> TrialCounts:
    """The counts, with their entry for the record next to the key, added before they are written.

    Raises
    ------
    ConfigError
        If the same trials were counted by other groups, of which some were withheld.
    """
    assert count_options.key is not None
    log = CountingLog.of_key(count_options.key)
    trials = inputs.only_list
    groupings = (*inputs.groupings, *inputs.within)
    entry = {
        "trials": site.mark(counts.content_sha256),
        "groups": site.mark(
            _membership_text(groupings, trials.speakers_in_use, counts.min_speakers)
        ),
        "by": [grouping.name for grouping in groupings],
        "withheld": bool(counts.withheld or counts.suppressed_strata),
    }
    if not count_options.regroup:
        log.check(entry, counts.name)
    return replace(counts, before_writing=partial(log.record, entry))


def _membership_text(
    groupings: Sequence[Grouping], in_use: NDArray[np.intp], min_speakers: int
) -> str:
    """Who is in which group, as a text; of groups of recordings or trials, their names."""
    memberships = []
    for grouping in groupings:
        codes = None if grouping.speaker_codes is None else grouping.speaker_codes[in_use].tolist()
        memberships.append([grouping.name, grouping.groups, codes])
    return json.dumps([memberships, min_speakers])


def count_trials(
    inputs: GroupedTrials, count_options: CountOptions, bins: Bins, rows: TrialSet | None = None
) -> TrialCounts:
    """The counts of one list, without groups and levels of too few speakers.

    Scores may be those of other `rows`, which weigh their number and stand for the same trials.
    """
    trials, speakers = inputs.only_list, inputs.speakers
    assert speakers is not None
    check_test_speakers(trials, "counts need the groups of both sides")
    _check_bins(trials, bins)
    layouts_of_list = _SuppressedLayouts(trials, inputs.groupings, inputs.within)
    layouts_of_list.suppress(count_options.withhold)
    contents = {
        SCORES: trials.is_scored,
        DECISIONS: trials.has_decisions,
        THRESHOLDS: "threshold" in trials.extra_columns,
        FAILURES: trials.failures is not None,
        SECONDS: "seconds" in trials.extra_columns,
        LLR: count_options.llr and count_options.llr_base is None,
        **{content: count_options.llr_base == base for base, content in LLR_TO_BASE.items()},
        SIMILARITY: count_options.orientation == "similarity",
    }
    withheld = layouts_of_list.withheld()
    scored_layouts = copy(layouts_of_list)
    scored_layouts.trials = trials if rows is None else rows
    counts = TrialCounts(
        system=trials.system,
        list=trials.list,
        rows=scored_layouts.rows(bins),
        groupings=tuple(inputs.groupings),
        within=tuple(layouts_of_list.shown),
        bins=bins,
        contents=frozenset(kind for kind, is_known in contents.items() if is_known),
        min_speakers=count_options.withhold,
        withheld=withheld,
        suppressed_strata=layouts_of_list.suppressed_strata(),
        sources=(trials.content_sha256,),
        seen=tuple(layouts_of_list.participants_by_layout(withheld)),
        notes=tuple(_notes(trials, speakers, inputs.groupings, withheld)),
        chosen_by=inputs.chosen_by,
        name=trials.name,
        provenance=trials.provenance,
    )
    check_joinable_rows(counts, may_tell=count_options.blocks is None)
    return counts


def _check_bins(trials: TrialSet, bins: Bins) -> None:
    """Refuse what would be as long as the trials themselves, and edges that mean nothing."""
    if not trials.is_scored and not bins.is_exact:
        msg = f"{trials.name}: contains decisions, not scores"
        hint = "leave out --step and --threshold"
        raise ConfigError(msg, hint)
    if bins.is_exact and not trials.is_exact:
        low, high = trials.score_range
        power = math.ceil(math.log10(max(high - low, 1e-9) / (1 << 16)))
        msg = (
            f"{trials.name}: has {trials.n_trials:,} trials, too many to count each score value "
            "separately"
        )
        hint = f"give a bin width, for example --step {10.0**power:g}"
        raise ConfigError(msg, hint)


class _SuppressedLayouts:
    """The trials of one list layout by layout, each of one grouping within strata or none.

    Each block has every trial, with its level and the groups of both sides in
    ``Trials.extra_columns``, -1 for those that are withheld; so it is walked as counts of trials
    are.
    """

    utterance_speaker: ClassVar[NDArray[np.int32]] = np.empty(0, dtype=np.int32)
    """Groups say whose they are."""

    def __init__(
        self, trials: TrialSet, groupings: Sequence[Grouping], within: Sequence[Grouping]
    ) -> None:
        self.trials, self.groupings, self.within = trials, groupings, within
        self.outer: list[Grouping | None] = [None, *within]
        self.groups_of = {
            id(grouping): trials.side_coder(grouping) for grouping in (*groupings, *within)
        }
        self.n_speakers = int(trials.utterance_speaker.max(initial=-1)) + 1
        sizes = [1, *(len(grouping.groups) for grouping in within)]
        # place of each level among those that are shown, -1 for the others and, last, for none
        self.stratum_positions = [
            np.arange(1),
            *(np.append(np.arange(n_strata), -1) for n_strata in sizes[1:]),
        ]
        self.shown: Sequence[Grouping] = within
        """The attributes of levels, without the levels that are withheld."""
        self.min_speakers = 0
        self.level_codes = [
            np.zeros(positions.size, dtype=np.int8) for positions in self.stratum_positions
        ]
        self.codes = [
            np.zeros((positions.size, len(grouping.groups) + 1), dtype=np.int8)
            for positions in self.stratum_positions
            for grouping in groupings
        ]

    def layouts(self) -> list[Layout]:
        """One for each block."""
        return [
            Layout(grouping, "both", strata)
            for strata in (None, *self.shown)
            for grouping in self.groupings
        ]

    def partitions_by_layout(
        self, layouts: Sequence[Layout]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Trials as those of one block after the other, and the layouts that they count in."""
        outer, n_groupings = (None, *self.shown), len(self.groupings)
        layouts_by_block: dict[int, list[int]] = {}
        for i, layout in enumerate(layouts):
            stratum_index = next(
                grouping_index
                for grouping_index, candidate in enumerate(outer)
                if candidate is layout.within
            )
            grouping_index = next(
                (
                    grouping_index
                    for grouping_index, candidate in enumerate(self.groupings)
                    if candidate is layout.grouping
                ),
                0,
            )
            layouts_by_block.setdefault(stratum_index * n_groupings + grouping_index, []).append(i)
        for partition in self.trials.partitions():
            consistent = partition.without_conflicts()
            for block, layout_indices in layouts_by_block.items():
                failed = (
                    None if partition.failed is None else self._with_groups(partition.failed, block)
                )
                yield replace(self._with_groups(consistent, block), failed=failed), layout_indices

    def _with_groups(self, trials: Trials, block: int) -> Trials:
        """Trials with the level and the groups of both sides that are shown."""
        stratum_index, grouping_index = divmod(block, len(self.groupings))
        outer, grouping = self.outer[stratum_index], self.groupings[grouping_index]
        extra_columns: dict[str, Codes] = {"level": np.zeros(len(trials), dtype=np.int32)}
        is_shown = self.codes[block] == SHOWN
        groups = np.where(is_shown, np.arange(is_shown.shape[1], dtype=np.int32), _NO_GROUP)
        groups[:, -1] = _NO_GROUP
        if outer is None:
            places: tuple[Any, ...] = (0,)
        else:
            (level,) = groups_of_trials(*self.groups_of[id(outer)](trials), "both")
            extra_columns["level"] = self.stratum_positions[stratum_index][level].astype(np.int32)
            places = (level,)
        sides = self.groups_of[id(grouping)](trials)
        for name, group in zip(_GROUPS[1:], sides, strict=True):
            extra_columns[name] = groups[(*places, group)]
        return replace(trials, extra_columns={**trials.extra_columns, **extra_columns})

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides, or the level, of the trials of a block."""
        if any(grouping is stratum_grouping for stratum_grouping in self.shown):
            return lambda trials: (trials.extra_columns["level"], trials.extra_columns["level"])
        return lambda trials: (
            trials.extra_columns["enrol_group"],
            trials.extra_columns["test_group"],
        )

    def suppress(self, min_speakers: int) -> None:
        """Choose the groups and levels that are too small."""
        self.min_speakers = min_speakers
        in_level, used = self._speakers_by_cell()
        everyone = int(in_level[0][0].sum())
        if everyone < min_speakers:
            msg = (
                f"{self.trials.name}: the trials have {everyone} speakers, too few to share their "
                "counts"
            )
            hint = f"give trials of at least {min_speakers} speakers (see --withhold)"
            raise DataError(msg, hint)
        self.level_codes = [stratum_suppression(speakers, min_speakers) for speakers in in_level]
        n_groupings, shown_levels = len(self.groupings), []
        for stratum_index, outer in enumerate(self.within, 1):
            is_shown = self.level_codes[stratum_index][:-1] == SHOWN
            if is_shown.size and not is_shown.any():
                msg = f"--within {outer.name}: every stratum has fewer than {min_speakers} speakers"
                hint = "leave out --within (see --withhold)"
                raise ConfigError(msg, hint)
            self.stratum_positions[stratum_index] = np.append(
                np.where(is_shown, np.cumsum(is_shown) - 1, -1), -1
            )
            shown_indices = np.flatnonzero(is_shown).tolist()
            groups = tuple(outer.groups[i] for i in shown_indices)
            group_values = tuple(outer.group_values[i] for i in shown_indices)
            shown_levels.append(replace(outer, groups=groups, group_values=group_values))
            for speakers_of_groups in used[
                stratum_index * n_groupings : (stratum_index + 1) * n_groupings
            ]:
                speakers_of_groups[-1] |= speakers_of_groups[:-1][~is_shown].any(axis=0)
                speakers_of_groups[:-1][~is_shown] = False
        self.codes = group_suppression(used, self.groupings, min_speakers)
        for stratum_index in range(1, len(self.outer)):
            for code in self.codes[stratum_index * n_groupings : (stratum_index + 1) * n_groupings]:
                code[:-1][self.level_codes[stratum_index][:-1] != SHOWN] = NO_CELL
        self.shown = shown_levels

    def _speakers_by_cell(self) -> tuple[list[Bools], list[Bools]]:
        """Whether a speaker is in a level, and on a side of each group within each level.

        The last level and group stand for none. Nobody is asked for where nothing is withheld.
        """
        n_speakers, speaker = (
            self.n_speakers if self.min_speakers else 0,
            self.trials.utterance_speaker,
        )
        used = [np.zeros((*code.shape, n_speakers + 1), dtype=np.bool_) for code in self.codes]
        sizes = [2, *(table.size for table in self.stratum_positions[1:])]
        in_level = [np.zeros((size, n_speakers + 1), dtype=np.bool_) for size in sizes]
        for partition in (
            place_trials(self, self.layouts(), failed=FAILURE_STAGES) if self.min_speakers else ()
        ):
            (block,) = partition.cells_by_layout
            trials = partition.trials.by_claim()
            extra_columns = trials.extra_columns
            for utterance, group in (
                (trials.enrol, extra_columns["enrol_group"]),
                (trials.test, extra_columns["test_group"]),
            ):
                speakers = speaker[utterance]
                in_level[block // len(self.groupings)][extra_columns["level"], speakers] = True
                used[block][extra_columns["level"], group, speakers] = True
        return [table[..., :-1] for table in in_level], [table[..., :-1] for table in used]

    def suppressed_strata(self) -> dict[tuple[str, str], str]:
        """Why each level is withheld that is."""
        return {
            (grouping.name, level): suppression_reason(code, self.min_speakers)
            for grouping, codes in zip(self.within, self.level_codes[1:], strict=True)
            for level, code in zip(grouping.groups, codes.tolist(), strict=False)
            if code != SHOWN
        }

    def withheld(self) -> dict[tuple[str, str, str], str]:
        """Why each group is withheld that is, within each level that is shown."""
        reasons = {}
        for block, code in enumerate(self.codes):
            stratum_index, grouping_index = divmod(block, len(self.groupings))
            outer, grouping = self.outer[stratum_index], self.groupings[grouping_index]
            levels = (
                [""] if outer is None else [f"{outer.name}={stratum}" for stratum in outer.groups]
            )
            for name, position, codes in zip(
                levels, self.stratum_positions[stratum_index], code.tolist(), strict=False
            ):
                for group, group_code in zip(grouping.groups, codes, strict=False):
                    if position >= 0 and group_code != SHOWN:
                        reasons[grouping.name, name, group] = suppression_reason(
                            group_code, self.min_speakers
                        )
        return reasons

    def rows(self, bins: Bins) -> CountRows:
        """Every block's rows."""
        blocks = range(len(self.groupings) * (1 + len(self.shown)))
        rows: list[CountRows] = []
        for partition in self.trials.partitions():
            for trials in (partition.without_conflicts(), partition.failed):
                if trials is not None and len(trials):
                    code, distinct_columns = _distinct_columns(self.trials, trials, bins)
                    rows += [
                        self._count_scores(trials, block, code, distinct_columns)
                        for block in blocks
                    ]
            if len(rows) > _MAX_TABLES_PER_LAYOUT * len(blocks):
                rows = [CountRows.total(rows)]
        return CountRows.total(rows).timed_by_cell()

    def _count_scores(
        self,
        trials: Trials,
        block: int,
        code: NDArray[np.integer[Any]],
        distinct_columns: Mapping[str, NDArray[Any]],
    ) -> CountRows:
        """Trials of one block, given the code of what tells them apart in every block."""
        extra_columns, n_distinct = (
            self._with_groups(trials, block).extra_columns,
            distinct_columns["trial_class"].size,
        )
        nowhere = extra_columns["level"] < 0
        if nowhere.any():
            for name in _GROUPS[1:]:
                extra_columns[name][nowhere] = _NO_GROUP
        low = {name: int(extra_columns[name].min()) for name in _GROUPS}
        sizes = {name: int(extra_columns[name].max()) - low[name] + 1 for name in _GROUPS}
        combined_code = np.zeros(len(trials), dtype=np.int64)
        for name, size in sizes.items():
            if size > 1:
                combined_code *= size
                combined_code += extra_columns[name] - low[name]
        combined_code *= n_distinct
        combined_code += code
        distinct_codes, sums = sum_by_key(combined_code, *_weights(trials))
        cell, column_positions = np.divmod(distinct_codes, n_distinct)
        columns = {name: column[column_positions] for name, column in distinct_columns.items()}
        for name, size in reversed(sizes.items()):
            cell, group = np.divmod(cell, size)
            columns[name] = (group + low[name]).astype(np.int32)
        columns["stratum"] = columns.pop("level")
        columns["layout"] = np.full(distinct_codes.size, block, dtype=np.int32)
        zeros = [np.zeros(distinct_codes.size, dtype=np.int64)] * (len(SUM_COLUMNS) - len(sums))
        columns |= dict(zip(SUM_COLUMNS, [*sums, *zeros], strict=True))
        return CountRows(columns)

    def participants_by_layout(
        self, withheld: dict[tuple[str, str, str], str]
    ) -> Iterator[LayoutParticipants]:
        """Speakers and recordings of each block, then of all trials and of each level."""
        attempts = None if self.trials.failures is None else Attempts(self.trials)
        outer = (None, *self.shown)
        blocks: list[tuple[int, Grouping | None, Grouping | None]] = []
        for groupings in (self.groupings, (None,)):
            for stratum_index, strata in enumerate(outer):
                blocks += [(stratum_index, strata, grouping) for grouping in groupings]
        layouts = [
            Layout(layout_grouping, "" if layout_grouping is None else "both", strata)
            for _, strata, layout_grouping in blocks
        ]
        participants = [
            _ParticipantsByRule(layout_grouping, self.n_speakers) for layout_grouping in layouts
        ]
        for partition in place_trials(self, layouts, failed=FAILURE_STAGES):
            if (
                attempts is not None and 0 in partition.cells_by_layout
            ):  # each block has every trial
                attempts.add(partition)
            if not partition.are_failed:
                claims = partition.trials.by_claim()
                sides = (claims.enrol, claims.test)
                of_sides = [self.trials.utterance_speaker[side] for side in sides]
                for i in partition.cells_by_layout:
                    participants[i].add(of_sides, partition, i)
        for (stratum_index, strata, layout_grouping), participants_of_layout in zip(
            blocks, participants, strict=True
        ):
            is_hidden = [
                [
                    (layout_grouping.name, name, group) in withheld
                    for group in layout_grouping.groups
                ]
                if layout_grouping is not None
                else [False]
                for name in Layout(layout_grouping, "", strata).stratum_names()
            ]
            speakers: dict[str, list[list[int | None]]] = {}
            for rule, rows in participants_of_layout.count().items():
                speakers[rule] = [
                    [
                        None if is_suppressed else n
                        for n, is_suppressed in zip(row, [*hidden, False], strict=True)
                    ]
                    for row, hidden in zip(rows, is_hidden, strict=True)
                ]
            yield LayoutParticipants(
                speakers, self._failure_counts(attempts, layout_grouping, stratum_index, is_hidden)
            )

    def _failure_counts(
        self,
        attempts: Attempts | None,
        grouping: Grouping | None,
        stratum_index: int,
        is_hidden: Sequence[Sequence[bool]],
    ) -> dict[str, list[list[list[int] | None]]]:
        """Failed enrolments and recordings of each group that is shown, and of all of these.

        For each level that is shown.
        """
        layout = Layout(grouping, "", self.outer[stratum_index])
        n_groups, places = (
            layout.n_cells_per_stratum,
            self.stratum_positions[stratum_index].tolist(),
        )
        counts_by_kind: dict[str, list[list[list[int] | None]]] = {
            "enrolments": [],
            "recordings": [],
        }
        no_shares: list[FailureShare | None] = [None] * layout.n_cells
        shares_by_kind = (no_shares, no_shares) if attempts is None else attempts.shares(layout)
        for rows, shares in zip(counts_by_kind.values(), shares_by_kind, strict=True):
            for level in (level for level in range(layout.n_strata) if places[level] >= 0):
                shares_of_stratum = shares[level * n_groups : (level + 1) * n_groups]
                row = [
                    None if share is None or is_suppressed else [share.n_failed, share.n_attempted]
                    for share, is_suppressed in zip(
                        shares_of_stratum, is_hidden[places[level]], strict=True
                    )
                ]
                known_counts = [share for share in row if share is not None]
                total = [sum(share[j] for share in known_counts) for j in (0, 1)]
                rows.append([*row, None if None in shares_of_stratum else total])
        return counts_by_kind


class _ParticipantsByRule:
    """Which speakers take part in the trials of the cells of a grouping, by allocation."""

    def __init__(self, layout: Layout, n: int) -> None:
        self.layout = layout
        rules = ("",) if layout.grouping is None else ("both", "enrol", "test")
        self.people = {rule: Participants(layout, n) for rule in rules}

    def add(self, speakers: Sequence[NDArray[np.int32]], partition: PlacedTrials, i: int) -> None:
        """Note the speakers of trials between alike groups, then of either side."""
        of_both_sides, *of_one_side = self.people.values()
        groups, level = (
            np.int32(self.layout.n_cells_per_stratum),
            partition.trials.extra_columns["level"],
        )
        for speaker in speakers:
            of_both_sides.note(partition.cells_by_layout[i].cells[0], speaker)
        sides = partition.groups_of_sides(self.layout.grouping)
        for participants, group, speaker in zip(of_one_side, sides, speakers, strict=False):
            cell = group if self.layout.within is None else level * groups + group
            participants.note(cell, speaker, (group >= 0) & (level >= 0))

    def count(self) -> dict[str, list[list[int]]]:
        """Speakers of each group and, last, of all groups, for each level."""
        if "both" in self.people:
            of_both, enrol, test = self.people.values()
            self.people["either"] = either = Participants(self.layout, of_both.n_speakers)
            for participants in (enrol, test):
                participants.takes_part |= of_both.takes_part
                either.takes_part |= participants.takes_part
        return {rule: participants.count() for rule, participants in self.people.items()}


def _distinct_columns(
    trials: TrialSet, trials_part: Trials, bins: Bins
) -> tuple[NDArray[np.integer[Any]], dict[str, NDArray[Any]]]:
    """The code of all that tells trials apart but for their groups, and what each code stands for.

    Codes are in the order of rows of counts.
    """
    n_trials = len(trials_part)
    failed = trials_part.extra_columns.get("failed", np.zeros(n_trials, dtype=np.int8))
    accepted, threshold = np.full(n_trials, -1, dtype=np.int8), np.zeros(n_trials, dtype=np.int32)
    score_positions: NDArray[np.integer[Any]] = threshold
    values = levels = np.array([np.nan])
    if "failed" not in trials_part.extra_columns:
        values, score_positions = bins.binned_positions(trials_part.score)
        if trials.has_decisions:
            accepted = trials.decisions(trials_part)
        if "threshold" in trials_part.extra_columns:
            levels = np.roll(trials.thresholds, 1)  # none comes first
            threshold = trials_part.extra_columns["threshold"] + 1
    combined_code = np.zeros(n_trials, dtype=np.int64)
    kinds = {
        "trial_class": (
            trials_part.trial_class,
            np.arange(trials_part.trial_class.max(initial=TARGET) + 1, dtype=np.int8),
        ),
        "failed": (failed, np.arange(3, dtype=np.int8)),
        "accepted": (accepted + 1, np.arange(-1, 2, dtype=np.int8)),
        "": (threshold > 0, np.arange(2)),
        "score": (score_positions, values),
        "threshold": (threshold, levels),
    }
    values_by_kind = {
        name: kind_values if code.any() else kind_values[:1]
        for name, (code, kind_values) in kinds.items()
    }
    for name, kind_values in values_by_kind.items():
        if kind_values.size > 1:
            combined_code *= kind_values.size
            combined_code += kinds[name][0]
    combined_code, number = index_codes(
        combined_code, math.prod(kind_values.size for kind_values in values_by_kind.values())
    )
    distinct_columns = {}
    for name, kind_values in reversed(values_by_kind.items()):
        combined_code, code = np.divmod(combined_code, kind_values.size)
        distinct_columns[name] = kind_values[code]
    return number, distinct_columns


def _weights(trials: Trials) -> list[NDArray[np.int64]]:
    """What is summed up of trials: their number, what they took, of how many that is known.

    Nothing of trials that each count once, and of which it is not known.
    """
    count, took = trials.extra_columns.get("count"), trials.extra_columns.get("seconds")
    if took is None or "failed" in trials.extra_columns:
        return [] if count is None else [count]
    micro = np.rint(np.nan_to_num(took) * MICROSECONDS).astype(np.int64)
    n_each = np.ones(len(trials), dtype=np.int64) if count is None else count
    return [n_each, micro, (~np.isnan(took)).astype(np.int64)]


def _notes(
    trials: TrialSet,
    speakers: Speakers,
    groupings: Sequence[Grouping],
    withheld: dict[tuple[str, str, str], str],
) -> Iterator[Note]:
    """What was read and set aside, per file and per group that is not withheld."""
    for data_note in (*trials.data_notes, *speakers.notes(trials.speakers_in_use.tolist())):
        yield Note(data_note.source, data_note.item, data_note.count, data_note.note)
    for item, of_speaker in trials.counts_by_speaker.items():
        for grouping in groupings:
            if grouping.speaker_codes is None:
                continue
            group = grouping.speaker_codes[: of_speaker.size]
            for k, name in enumerate(grouping.groups):
                count = int(of_speaker[group == k].sum())
                if count and (grouping.name, "", name) not in withheld:
                    item_of = item_by_speaker(item)
                    yield Note("scores", item_of, count, "", grouping.name, name)
    for grouping in groupings:
        for excluded in grouping.excluded_values(trials):
            source = "scores" if excluded.unit == "trials" else excluded.unit
            yield Note(source, excluded.item, excluded.n_units, "", grouping.name)
