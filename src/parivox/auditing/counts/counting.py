"""Counts of trials for others to audit: scores and speakers in, one file without ids out."""

from __future__ import annotations

import json
import math
from copy import copy
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

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
from parivox.auditing.layout import Layout, groups_of_trials, walk
from parivox.auditing.outcomes import MICROSECONDS
from parivox.auditing.participants import Participants
from parivox.auditing.system import check_polarity
from parivox.core.cluster_errors import index_codes, sum_by_code
from parivox.data.counts_file import SUM_TYPES, CountRows
from parivox.data.score_bins import parse_bins
from parivox.data.site_key import CountingLog, SiteKey, key_file
from parivox.data.source_bytes import with_reading_options
from parivox.data.trial_checks import item_by_speaker
from parivox.data.trial_set import TrialSet, check_test_speakers
from parivox.errors import ConfigError, DataError
from parivox.options.audit import CountOptions
from parivox.options.kinds import as_tuple
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

_TOGETHER = 16
_GROUPS = ("level", "enrol_group", "test_group")
_NONE = np.int32(-1)


@reports_progress
@with_reading_options
def count(
    scores: Any,
    *,
    speakers: Any = None,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    groups: Any = None,
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
    a tally is beside them.

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
        A secret of the site, in a file. Makes a tally as well, of speakers under other names.
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
        With a method ``write``; the tally is its attribute ``tally``.

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
    asked = CountOptions.from_keywords(
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
    with key_file(asked.key, asked.new_key) as file:
        return _counted(scores, replace(asked, key=file, new_key=None))


def _counted(scores: Any, asked: CountOptions) -> TrialCounts:
    if asked.blocks is not None:
        asked = replace(asked, withhold=max(asked.withhold, asked.blocks))
    site = None if asked.key is None else SiteKey.read(asked.key)
    asked, file = apply_groups_file(asked)
    bins = parse_bins(asked.step, as_tuple(asked.thresholds))
    sources = sources_by_name(scores)
    if len(sources) > 1:
        msg = f"parivox count takes one score file, here are {len(sources)}; count each by itself"
        raise ConfigError(msg)
    (name, source), *_ = sources.items()
    is_named = source is not scores
    read = read_grouped_trials({name if is_named else ("", ""): source}, asked, file, may_lack=True)
    check_disclosure(read, asked, is_exact=bins.is_exact)
    with stage("counting"):
        made = count_trials(read, asked, bins)
        if site is not None:
            made = replace(made, tally=speaker_counts_to_share(read, made, site, asked.blocks))
    check_polarity(made, count_cells(made, [], []).all_counts, asked.orientation)
    if site is not None:
        made = _remembered(made, read, asked, site)
    return made


def _remembered(
    counts: TrialCounts, read: GroupedTrials, asked: CountOptions, site: SiteKey
) -> TrialCounts:
    """The counts, with their entry for the record next to the key, added before they are written.

    Raises
    ------
    ConfigError
        If the same trials were counted by other groups, of which some were withheld.
    """
    assert asked.key is not None
    counted = CountingLog.of_key(asked.key)
    (trials,) = read.trial_sets
    assert isinstance(trials, TrialSet)
    groupings = (*read.groupings, *read.within)
    entry = {
        "trials": site.mark(counts.content_sha256),
        "groups": site.mark(_members(groupings, trials.speakers_in_use, counts.least)),
        "by": [one.name for one in groupings],
        "withheld": bool(counts.withheld or counts.levels_withheld),
    }
    if not asked.regroup:
        counted.check(entry, counts.name)
    return replace(counts, before_writing=partial(counted.record, entry))


def _members(groupings: Sequence[Grouping], in_use: NDArray[np.intp], least: int) -> str:
    """Who is in which group, as a text; of groups of recordings or trials, their names."""
    memberships = []
    for grouping in groupings:
        codes = None if grouping.speaker_codes is None else grouping.speaker_codes[in_use].tolist()
        memberships.append([grouping.name, grouping.groups, codes])
    return json.dumps([memberships, least])


def count_trials(
    read: GroupedTrials, asked: CountOptions, bins: Bins, rows: TrialSet | None = None
) -> TrialCounts:
    """The counts of one list, without groups and levels of too few speakers.

    Scores may be those of other `rows`, which weigh their number and stand for the same trials.
    """
    trials, people = read.trial_sets[0], read.speakers
    assert trials.has_speakers
    assert people is not None
    check_test_speakers(trials, "counts need the groups of both sides")
    _check_bins(trials, bins)
    blocks = _Blocks(trials, read.groupings, read.within)
    blocks.withhold(asked.withhold)
    contents = {
        SCORES: trials.is_scored,
        DECISIONS: trials.has_decisions,
        THRESHOLDS: "threshold" in trials.extra_columns,
        FAILURES: trials.failures is not None,
        SECONDS: "seconds" in trials.extra_columns,
        LLR: asked.llr and asked.llr_base is None,
        **{of: asked.llr_base == base for base, of in LLR_TO_BASE.items()},
        SIMILARITY: asked.orientation == "similarity",
    }
    withheld = blocks.withheld()
    scored = copy(blocks)
    scored.trials = trials if rows is None else rows
    made = TrialCounts(
        system=trials.system,
        list=trials.list,
        rows=scored.rows(bins),
        groupings=tuple(read.groupings),
        within=tuple(blocks.shown),
        bins=bins,
        contents=frozenset(kind for kind, is_known in contents.items() if is_known),
        least=asked.withhold,
        withheld=withheld,
        levels_withheld=blocks.levels_withheld(),
        sources=(trials.content_sha256,),
        seen=tuple(blocks.seen(withheld)),
        notes=tuple(_notes(trials, people, read.groupings, withheld)),
        chosen_by=read.chosen_by,
        name=trials.name,
        provenance=trials.provenance,
    )
    check_joinable_rows(made, may_tell=asked.blocks is None)
    return made


def _check_bins(trials: TrialSet, bins: Bins) -> None:
    """Refuse what would be as long as the trials themselves, and edges that mean nothing."""
    if not trials.is_scored and not bins.is_exact:
        msg = f"{trials.name}: holds decisions, not scores; leave out --step and --threshold"
        raise ConfigError(msg)
    if bins.is_exact and not trials.fits_in_memory:
        low, high = trials.score_range
        power = math.ceil(math.log10(max(high - low, 1e-9) / (1 << 16)))
        msg = (
            f"{trials.name}: has {trials.n_trials:,} trials, too many to count each score by "
            f"itself; give the width of bins, as in --step {10.0**power:g}"
        )
        raise ConfigError(msg)


class _Blocks:
    """The trials of one list block by block, each of one grouping within levels or none.

    Each block has every trial, with its level and the groups of both sides in
    ``Trials.extra_columns``, -1 for those that are withheld; so it is walked as counts of trials
    are.
    """

    def __init__(
        self, trials: TrialSet, groupings: Sequence[Grouping], within: Sequence[Grouping]
    ) -> None:
        self.trials, self.groupings, self.within = trials, groupings, within
        self.outer: list[Grouping | None] = [None, *within]
        self.groups_of = {id(one): one.side_coder(trials) for one in (*groupings, *within)}
        self.n = int(trials.utterance_speaker.max(initial=-1)) + 1
        sizes = [1, *(len(one.groups) for one in within)]
        # place of each level among those that are shown, -1 for the others and, last, for none
        self.place = [np.arange(1), *(np.append(np.arange(n), -1) for n in sizes[1:])]
        self.shown: Sequence[Grouping] = within
        """The attributes of levels, without the levels that are withheld."""
        self.least = 0
        self.level_codes = [np.zeros(one.size, dtype=np.int8) for one in self.place]
        self.codes = [
            np.zeros((place.size, len(one.groups) + 1), dtype=np.int8)
            for place in self.place
            for one in groupings
        ]

    def layouts(self) -> list[Layout]:
        """One for each block."""
        return [Layout(one, "both", of) for of in (None, *self.shown) for one in self.groupings]

    def partitions_by_layout(
        self, layouts: Sequence[Layout]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Trials as those of one block after the other, and the layouts that they count in."""
        outer, n = (None, *self.shown), len(self.groupings)
        which: dict[int, list[int]] = {}
        for i, one in enumerate(layouts):
            at = next(k for k, of in enumerate(outer) if of is one.within)
            k = next((k for k, of in enumerate(self.groupings) if of is one.grouping), 0)
            which.setdefault(at * n + k, []).append(i)
        for part in self.trials.partitions():
            kept = part.without_conflicts()
            for block, numbers in which.items():
                failed = None if part.failed is None else self._with_groups(part.failed, block)
                yield replace(self._with_groups(kept, block), failed=failed), numbers

    def _with_groups(self, part: Trials, block: int) -> Trials:
        """Trials with the level and the groups of both sides that are shown."""
        at, k = divmod(block, len(self.groupings))
        outer, grouping = self.outer[at], self.groupings[k]
        more: dict[str, Codes] = {"level": np.zeros(len(part), dtype=np.int32)}
        is_shown = self.codes[block] == SHOWN
        groups = np.where(is_shown, np.arange(is_shown.shape[1], dtype=np.int32), _NONE)
        groups[:, -1] = _NONE
        if outer is None:
            places: tuple[Any, ...] = (0,)
        else:
            (level,) = groups_of_trials(*self.groups_of[id(outer)](part), "both")
            more["level"] = self.place[at][level].astype(np.int32)
            places = (level,)
        sides = self.groups_of[id(grouping)](part)
        for name, group in zip(_GROUPS[1:], sides, strict=True):
            more[name] = groups[(*places, group)]
        return replace(part, extra_columns={**part.extra_columns, **more})

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], Sides]:
        """What gives the groups of both sides, or the level, of the trials of a block."""
        if any(grouping is one for one in self.shown):
            return lambda part: (part.extra_columns["level"], part.extra_columns["level"])
        return lambda part: (part.extra_columns["enrol_group"], part.extra_columns["test_group"])

    def withhold(self, least: int) -> None:
        """Choose the groups and levels that are too small."""
        self.least = least
        in_level, used = self._used()
        everyone = int(in_level[0][0].sum())
        if everyone < least:
            msg = (
                f"{self.trials.name}: its trials are of {everyone} speakers; "
                f"counts of fewer than {least} are not shared (see --withhold)"
            )
            raise DataError(msg)
        self.level_codes = [stratum_suppression(speakers, least) for speakers in in_level]
        n, shown_levels = len(self.groupings), []
        for at, outer in enumerate(self.within, 1):
            is_shown = self.level_codes[at][:-1] == SHOWN
            if is_shown.size and not is_shown.any():
                msg = (
                    f"--within {outer.name}: every level has fewer than {least} speakers; leave it "
                    "out (see --withhold)"
                )
                raise ConfigError(msg)
            self.place[at] = np.append(np.where(is_shown, np.cumsum(is_shown) - 1, -1), -1)
            kept = np.flatnonzero(is_shown).tolist()
            groups = tuple(outer.groups[i] for i in kept)
            parts = tuple(outer.group_values[i] for i in kept)
            shown_levels.append(replace(outer, groups=groups, group_values=parts))
            for mine in used[at * n : (at + 1) * n]:
                mine[-1] |= mine[:-1][~is_shown].any(axis=0)
                mine[:-1][~is_shown] = False
        self.codes = group_suppression(used, self.groupings, least)
        for at in range(1, len(self.outer)):
            for code in self.codes[at * n : (at + 1) * n]:
                code[:-1][self.level_codes[at][:-1] != SHOWN] = NO_CELL
        self.shown = shown_levels

    def _used(self) -> tuple[list[Bools], list[Bools]]:
        """Whether a speaker is in a level, and on a side of each group within each level.

        The last level and group stand for none. Nobody is asked for where nothing is withheld.
        """
        n, speaker = self.n if self.least else 0, self.trials.utterance_speaker
        used = [np.zeros((*code.shape, n + 1), dtype=np.bool_) for code in self.codes]
        sizes = [2, *(one.size for one in self.place[1:])]
        in_level = [np.zeros((size, n + 1), dtype=np.bool_) for size in sizes]
        for here in walk(self, self.layouts(), failed=FAILURE_STAGES) if self.least else ():
            (block,) = here.cells_by_layout
            more = here.trials.extra_columns
            for utterance, group in (
                (here.trials.enrol, more["enrol_group"]),
                (here.trials.test, more["test_group"]),
            ):
                who = speaker[utterance]
                in_level[block // len(self.groupings)][more["level"], who] = True
                used[block][more["level"], group, who] = True
        return [one[..., :-1] for one in in_level], [one[..., :-1] for one in used]

    def levels_withheld(self) -> dict[tuple[str, str], str]:
        """Why each level is withheld that is."""
        return {
            (one.name, level): suppression_reason(code, self.least)
            for one, codes in zip(self.within, self.level_codes[1:], strict=True)
            for level, code in zip(one.groups, codes.tolist(), strict=False)
            if code != SHOWN
        }

    def withheld(self) -> dict[tuple[str, str, str], str]:
        """Why each group is withheld that is, within each level that is shown."""
        found = {}
        for block, code in enumerate(self.codes):
            at, k = divmod(block, len(self.groupings))
            outer, one = self.outer[at], self.groupings[k]
            levels = [""] if outer is None else [f"{outer.name}={of}" for of in outer.groups]
            for name, place, codes in zip(levels, self.place[at], code.tolist(), strict=False):
                for group, mine in zip(one.groups, codes, strict=False):
                    if place >= 0 and mine != SHOWN:
                        found[one.name, name, group] = suppression_reason(mine, self.least)
        return found

    def rows(self, bins: Bins) -> CountRows:
        """Every block's rows."""
        blocks = range(len(self.groupings) * (1 + len(self.shown)))
        rows: list[CountRows] = []
        for part in self.trials.partitions():
            for some in (part.without_conflicts(), part.failed):
                if some is not None and len(some):
                    code, alike = _alike(self.trials, some, bins)
                    rows += [self._counted(some, block, code, alike) for block in blocks]
            if len(rows) > _TOGETHER * len(blocks):
                rows = [CountRows.total(rows)]
        return CountRows.total(rows).timed_by_cell()

    def _counted(
        self,
        part: Trials,
        block: int,
        code: NDArray[np.integer[Any]],
        alike: Mapping[str, NDArray[Any]],
    ) -> CountRows:
        """Trials of one block, given the code of what tells them apart in every block."""
        more, n = self._with_groups(part, block).extra_columns, alike["target"].size
        nowhere = more["level"] < 0
        if nowhere.any():
            for name in _GROUPS[1:]:
                more[name][nowhere] = _NONE
        low = {name: int(more[name].min()) for name in _GROUPS}
        sizes = {name: int(more[name].max()) - low[name] + 1 for name in _GROUPS}
        whole = np.zeros(len(part), dtype=np.int64)
        for name, size in sizes.items():
            if size > 1:
                whole *= size
                whole += more[name] - low[name]
        whole *= n
        whole += code
        found, sums = sum_by_code(whole, n * math.prod(sizes.values()), *_weights(part))
        cell, which = np.divmod(found, n)
        columns = {name: column[which] for name, column in alike.items()}
        for name, size in reversed(sizes.items()):
            cell, one = np.divmod(cell, size)
            columns[name] = (one + low[name]).astype(np.int32)
        columns["block"] = np.full(found.size, block, dtype=np.int32)
        none = [np.zeros(found.size, dtype=np.int64)] * (len(SUM_TYPES) - len(sums))
        columns |= dict(zip(SUM_TYPES, [*sums, *none], strict=True))
        return CountRows(columns)

    def seen(self, withheld: dict[tuple[str, str, str], str]) -> Iterator[LayoutParticipants]:
        """Speakers and recordings of each block, then of all trials and of each level."""
        attempts = None if self.trials.failures is None else Attempts(self.trials)
        outer = (None, *self.shown)
        blocks: list[tuple[int, Grouping | None, Grouping | None]] = []
        for groupings in (self.groupings, (None,)):
            for at, of in enumerate(outer):
                blocks += [(at, of, grouping) for grouping in groupings]
        layouts = [Layout(one, "" if one is None else "both", of) for _, of, one in blocks]
        people = [_Sides(one, self.n) for one in layouts]
        for here in walk(self, layouts, failed=FAILURE_STAGES):
            if attempts is not None and 0 in here.cells_by_layout:  # each block has every trial
                attempts.add(here)
            if not here.are_failed:
                sides = (here.trials.enrol, here.trials.test)
                of_sides = [self.trials.utterance_speaker[side] for side in sides]
                for i in here.cells_by_layout:
                    people[i].add(of_sides, here, i)
        for (at, of, one), who in zip(blocks, people, strict=True):
            is_hidden = [
                [(one.name, name, group) in withheld for group in one.groups]
                if one is not None
                else [False]
                for name in Layout(one, "", of).stratum_names()
            ]
            speakers: dict[str, list[list[int | None]]] = {}
            for rule, rows in who.count().items():
                speakers[rule] = [
                    [None if lost else n for n, lost in zip(row, [*hidden, False], strict=True)]
                    for row, hidden in zip(rows, is_hidden, strict=True)
                ]
            yield LayoutParticipants(speakers, self._failed(attempts, one, at, is_hidden))

    def _failed(
        self,
        attempts: Attempts | None,
        grouping: Grouping | None,
        at: int,
        is_hidden: Sequence[Sequence[bool]],
    ) -> dict[str, list[list[list[int] | None]]]:
        """Failed enrolments and recordings of each group that is shown, and of all of these.

        For each level that is shown.
        """
        layout = Layout(grouping, "", self.outer[at])
        n, places = layout.n_groups, self.place[at].tolist()
        found: dict[str, list[list[list[int] | None]]] = {"enrolments": [], "recordings": []}
        none: list[FailureShare | None] = [None] * layout.n_cells
        both = (none, none) if attempts is None else attempts.shares(layout)
        for rows, shares in zip(found.values(), both, strict=True):
            for level in (level for level in range(layout.n_strata) if places[level] >= 0):
                own = shares[level * n : (level + 1) * n]
                row = [
                    None if one is None or lost else [one.n_failed, one.n_attempted]
                    for one, lost in zip(own, is_hidden[places[level]], strict=True)
                ]
                known = [one for one in row if one is not None]
                whole = [sum(one[j] for one in known) for j in (0, 1)]
                rows.append([*row, None if None in own else whole])
        return found


class _Sides:
    """Which speakers take part in the trials of the cells of a grouping, by allocation."""

    def __init__(self, layout: Layout, n: int) -> None:
        self.layout = layout
        rules = ("",) if layout.grouping is None else ("both", "enrol", "test")
        self.people = {rule: Participants(layout, n) for rule in rules}

    def add(self, speakers: Sequence[NDArray[np.int32]], here: PlacedTrials, i: int) -> None:
        """Note the speakers of trials between alike groups, then of either side."""
        first, *others = self.people.values()
        groups, level = np.int32(self.layout.n_groups), here.trials.extra_columns["level"]
        for speaker in speakers:
            first.note(here.cells_by_layout[i].cells[0], speaker)
        sides = here.groups_of_sides(self.layout.grouping)
        for one, group, speaker in zip(others, sides, speakers, strict=False):
            cell = group if self.layout.within is None else level * groups + group
            one.note(cell, speaker, (group >= 0) & (level >= 0))

    def count(self) -> dict[str, list[list[int]]]:
        """Speakers of each group and, last, of all groups, for each level."""
        if "both" in self.people:
            both, enrol, test = self.people.values()
            self.people["either"] = either = Participants(self.layout, both.n_speakers)
            for one in (enrol, test):
                one.takes_part |= both.takes_part
                either.takes_part |= one.takes_part
        return {rule: one.count() for rule, one in self.people.items()}


def _alike(
    trials: TrialSet, part: Trials, bins: Bins
) -> tuple[NDArray[np.integer[Any]], dict[str, NDArray[Any]]]:
    """The code of all that tells trials apart but for their groups, and what each code stands for.

    Codes are in the order of rows of counts.
    """
    n = len(part)
    failed = part.extra_columns.get("failed", np.zeros(n, dtype=np.int8))
    accepted, threshold = np.full(n, -1, dtype=np.int8), np.zeros(n, dtype=np.int32)
    place: NDArray[np.integer[Any]] = threshold
    values = levels = np.array([np.nan])
    if "failed" not in part.extra_columns:
        values, place = bins.binned_positions(part.score)
        if trials.has_decisions:
            accepted = trials.decisions(part)
        if "threshold" in part.extra_columns:
            levels = np.roll(trials.thresholds, 1)  # none comes first
            threshold = part.extra_columns["threshold"] + 1
    found = np.zeros(n, dtype=np.int64)
    kinds = {
        "target": (part.target, np.array([False, True])),
        "failed": (failed, np.arange(3, dtype=np.int8)),
        "accepted": (accepted + 1, np.arange(-1, 2, dtype=np.int8)),
        "": (threshold > 0, np.arange(2)),
        "value": (place, values),
        "threshold": (threshold, levels),
    }
    told = {name: every if code.any() else every[:1] for name, (code, every) in kinds.items()}
    for name, every in told.items():
        if every.size > 1:
            found *= every.size
            found += kinds[name][0]
    found, number = index_codes(found, math.prod(every.size for every in told.values()))
    alike = {}
    for name, every in reversed(told.items()):
        found, code = np.divmod(found, every.size)
        alike[name] = every[code]
    return number, alike


def _weights(part: Trials) -> list[NDArray[np.int64]]:
    """What is summed up of trials: their number, what they took, of how many that is known.

    Nothing of trials that each count once, and of which it is not known.
    """
    count, took = part.extra_columns.get("count"), part.extra_columns.get("seconds")
    if took is None or "failed" in part.extra_columns:
        return [] if count is None else [count]
    micro = np.rint(np.nan_to_num(took) * MICROSECONDS).astype(np.int64)
    one = np.ones(len(part), dtype=np.int64) if count is None else count
    return [one, micro, (~np.isnan(took)).astype(np.int64)]


def _notes(
    trials: TrialSet,
    people: Speakers,
    groupings: Sequence[Grouping],
    withheld: dict[tuple[str, str, str], str],
) -> Iterator[Note]:
    """What was read and set aside, per file and per group that is not withheld."""
    for one in (*trials.data_notes, *people.notes(trials.speakers_in_use.tolist())):
        yield Note(one.source, one.item, one.count, one.note)
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
        for unit, value, count in grouping.excluded_values(trials):
            source = "scores" if unit == "trials" else unit
            item = f"{unit} whose {value} is left out by the groups file"
            yield Note(source, item, count, "", grouping.name)
