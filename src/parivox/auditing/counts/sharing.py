"""From encoded trials to counts that can be shared."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing.cell_counts import Participants
from parivox.auditing.counts.trial_counts import (
    DECISIONS,
    FAILURES,
    LLR,
    SCORES,
    SECONDS,
    SIMILARITY,
    THRESHOLDS,
    Note,
    Seen,
    TrialCounts,
    check_links,
)
from parivox.auditing.counts.withholding import NONE, SHOWN, hide, hide_levels, words
from parivox.auditing.layout import ALLOCATIONS, Layout, PlacedTrials, groups_of_trials, placed
from parivox.auditing.outcomes import MICRO, NO_OUTCOMES, Attempts, with_shares
from parivox.errors import ConfigError, DataError
from parivox.read.counts_file import CountRows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.counts.withholding import Bools
    from parivox.auditing.layout import Codes
    from parivox.auditing.outcomes import Share
    from parivox.read.bins import Bins
    from parivox.read.checks import Trials
    from parivox.read.grouping import Grouping
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

_TOGETHER = 16
_NONE = np.int32(-1)


def share(
    trials: TrialSet,
    people: Speakers,
    groupings: Sequence[Grouping],
    within: Sequence[Grouping] = (),
    *,
    bins: Bins,
    least: int,
    llr: bool = False,
    similarity: bool = False,
    chosen_by: str = "user",
) -> TrialCounts:
    """Count trials for others to audit.

    Parameters
    ----------
    trials, people, groupings, within
        As read.
    bins
        Where scores are counted.
    least
        Groups and levels of fewer speakers are withheld.
    llr, similarity
        What is declared of the scores.
    chosen_by
        Who chose the groupings.
    """
    _check_bins(trials, bins)
    sides = _Sides(trials, groupings, within)
    sides.withhold(least)
    told = {
        SCORES: trials.is_scored,
        DECISIONS: trials.has_decisions,
        THRESHOLDS: "threshold" in trials.more,
        FAILURES: trials.failures is not None,
        SECONDS: "seconds" in trials.more,
        LLR: llr,
        SIMILARITY: similarity,
    }
    rows = _rows(trials, sides, bins)
    made = TrialCounts(
        trials.system,
        trials.list,
        rows,
        tuple(groupings),
        tuple(sides.shown_levels()),
        bins,
        frozenset(what for what, is_told in told.items() if is_told),
        least,
        sides.withheld(),
        sides.levels_withheld(),
        (trials.content_sha256,),
        tuple(sides.seen()),
        tuple(_notes(trials, people, groupings, sides)),
        chosen_by,
        str(trials.provenance[0]["name"]),
        trials.provenance,
    )
    check_links(made)
    return made


def _check_bins(trials: TrialSet, bins: Bins) -> None:
    """Refuse what would be as long as the trials themselves, and edges that mean nothing."""
    name = trials.provenance[0]["name"]
    if not trials.is_scored and not bins.is_exact:
        msg = f"{name}: holds decisions, not scores; leave out --step and --threshold"
        raise ConfigError(msg)
    if bins.is_exact and trials.n_partitions > 1:
        low, high = trials.score_range
        power = math.ceil(math.log10(max(high - low, 1e-9) / (1 << 16)))
        msg = (
            f"{name}: has {trials.n_trials:,} trials, too many to count each score by itself; give "
            f"the width of bins, as in --step {10.0**power:g}"
        )
        raise ConfigError(msg)


class _Sides:
    """Level and groups of trials in each block, and who is on which side of which."""

    def __init__(
        self, trials: TrialSet, groupings: Sequence[Grouping], within: Sequence[Grouping]
    ) -> None:
        self.trials, self.groupings, self.within = trials, groupings, within
        self.outer: list[Grouping | None] = [None, *within]
        self.found = {id(one): one.on(trials) for one in (*groupings, *within)}
        self.n = int(trials.utterance_speaker.max(initial=-1)) + 1
        # place of each level among those that are shown, -1 for the others and, last, for none
        self.level_of = [np.arange(1)] + [
            np.append(np.arange(len(one.groups)), -1) for one in within
        ]
        self.least = 0
        self.level_codes: list[NDArray[np.int8]] = []
        self.codes = [
            np.zeros((self._levels(w) + (w > 0), len(one.groups) + 1), dtype=np.int8)
            for w in range(len(self.outer))
            for one in groupings
        ]

    def _levels(self, at: int) -> int:
        outer = self.outer[at]
        return 1 if outer is None else len(outer.groups)

    def _level(self, at: int, part: Trials) -> Codes:
        """Level of each trial, of all that there are."""
        outer = self.outer[at]
        if outer is None:
            return np.zeros(len(part), dtype=np.int32)
        (level,) = groups_of_trials(*self.found[id(outer)](part), "both")
        return level

    def blocks(self, part: Trials) -> Iterator[tuple[int, Codes, tuple[Codes, Codes]]]:
        """Block, level, and groups of both sides, -1 for those withheld and outside all levels."""
        groups = {id(one): self.found[id(one)](part) for one in self.groupings}
        for at in range(len(self.outer)):
            level = self._level(at, part)
            shown = self.level_of[at][level].astype(np.int32)
            for i, one in enumerate(self.groupings):
                block = at * len(self.groupings) + i
                code = self.codes[block]
                sides = (
                    np.where(code[level, side] == SHOWN, side, _NONE) for side in groups[id(one)]
                )
                yield block, shown, tuple(sides)  # type: ignore[misc]

    def everything(self) -> Iterator[tuple[Trials, bool]]:
        """All trials, and whether they failed."""
        for part in self.trials.partitions():
            yield part.without_conflicts(), False
            if part.failed is not None and len(part.failed):
                yield part.failed, True

    def _used(self) -> tuple[list[Bools], list[Bools]]:
        """Whether a speaker is in a level, and on a side of each group within each level."""
        n = self.n
        used = [np.zeros((*code.shape, n + 1), dtype=np.bool_) for code in self.codes]
        in_level = [
            np.zeros((self._levels(at) + 1, n + 1), np.bool_) for at in range(len(self.outer))
        ]
        for part, _ in self.everything():
            speaker = [self.trials.utterance_speaker[side] for side in (part.enrol, part.test)]
            for at, seen in enumerate(in_level):
                for who in speaker:
                    seen[self._level(at, part), who] = True
            for block, _, sides in self.blocks(part):
                level = self._level(block // len(self.groupings), part)
                for who, side in zip(speaker, sides, strict=True):
                    used[block][level, side, who] = True
        return [one[..., :-1] for one in in_level], [one[..., :-1] for one in used]

    def withhold(self, least: int) -> None:
        """Choose the groups and levels that are too small."""
        self.least = least
        in_level, used = self._used()
        everyone = int(in_level[0][0].sum())
        if everyone < least:
            msg = (
                f"{self.trials.provenance[0]['name']}: its trials are of {everyone} speakers; "
                f"counts of fewer than {least} are not shared (see --withhold)"
            )
            raise DataError(msg)
        self.level_codes = [hide_levels(seen, least) for seen in in_level]
        for at, code in enumerate(self.level_codes[1:], 1):
            outer = self.outer[at]
            assert outer is not None
            shown = code[:-1] == SHOWN
            if shown.size and not shown.any():
                msg = (
                    f"--within {outer.name}: every level has fewer than {least} speakers; leave it "
                    "out (see --withhold)"
                )
                raise ConfigError(msg)
            self.level_of[at] = np.append(np.where(shown, np.cumsum(shown) - 1, -1), -1)
            for i in range(len(self.groupings)):
                mine = used[at * len(self.groupings) + i]
                mine[-1] |= mine[:-1][~shown].any(axis=0)
                mine[:-1][~shown] = False
        self.codes = hide(used, self.groupings, least)
        for at, code in enumerate(self.level_codes[1:], 1):
            for i in range(len(self.groupings)):
                self.codes[at * len(self.groupings) + i][:-1][code[:-1] != SHOWN] = NONE

    def shown_levels(self) -> list[Grouping]:
        """The attributes of levels, without the levels that are withheld."""
        made = []
        for one, place in zip(self.within, self.level_of[1:], strict=True):
            kept = [i for i, at in enumerate(place[:-1].tolist()) if at >= 0]
            groups = tuple(one.groups[i] for i in kept)
            parts = tuple(one.parts[i] for i in kept)
            made.append(replace(one, groups=groups, parts=parts))
        return made

    def levels_withheld(self) -> dict[tuple[str, str], str]:
        """Why each level is withheld that is."""
        return {
            (one.name, level): words(code, self.least)
            for one, codes in zip(self.within, self.level_codes[1:], strict=True)
            for level, code in zip(one.groups, codes.tolist(), strict=False)
            if code != SHOWN
        }

    def withheld(self) -> dict[tuple[str, str, str], str]:
        """Why each group is withheld that is, within each level that is shown."""
        found = {}
        for at, outer in enumerate(self.outer):
            for i, one in enumerate(self.groupings):
                code = self.codes[at * len(self.groupings) + i]
                for level, place in enumerate(self.level_of[at][: self._levels(at)].tolist()):
                    name = "" if outer is None else f"{outer.name}={outer.groups[level]}"
                    for group, mine in zip(one.groups, code[level].tolist(), strict=False):
                        if place >= 0 and mine != SHOWN:
                            found[one.name, name, group] = words(mine, self.least)
        return found

    def seen(self) -> list[Seen]:
        """Speakers and recordings of each block, then of all trials and of each level."""
        outer = [None, *self.shown_levels()]
        layouts = [
            [Layout(one, rule, w) for rule in (ALLOCATIONS if one is not None else ("",))]
            for of in (self.groupings, (None,))
            for w in outer
            for one in of
        ]
        places = [at for of in (self.groupings, (None,)) for at in range(len(outer)) for _ in of]
        people = [[Participants(one, self.n) for one in several] for several in layouts]
        attempts = None if self.trials.failures is None else Attempts(self.trials)
        for part in self.trials.partitions():
            kept = part.without_conflicts()
            speakers = [self.trials.utterance_speaker[side] for side in (kept.enrol, kept.test)]
            nowhere = np.zeros(len(kept), dtype=np.int32)
            known = [(level, sides) for _, level, sides in self.blocks(kept)]
            known += [
                (self.level_of[at][self._level(at, kept)].astype(np.int32), (nowhere, nowhere))
                for at in range(len(outer))
            ]
            for (level, sides), several, who in zip(known, layouts, people, strict=True):
                for one, mine in zip(several, who, strict=True):
                    both = {id(one.grouping): sides, id(one.within): (level, level)}
                    here = {0: placed(one, both, len(kept))}
                    mine.add(speakers, PlacedTrials(kept, here, both), 0)
            if attempts is not None:
                attempts.add(kept, part.failed)
        made = []
        for several, who, at in zip(layouts, people, places, strict=True):
            counted = zip(several, who, strict=True)
            speakers_of = {one.allocation: mine.count() for one, mine in counted}
            shares = self._shares(attempts, several[0].grouping, at)
            made.append(self._blanked(several[0], speakers_of, shares))
        return made

    def _shares(
        self, attempts: Attempts | None, grouping: Grouping | None, at: int
    ) -> dict[str, list[list[Share | None]]]:
        """Failed enrolments and recordings of each group, for each level that is shown."""
        layout = Layout(grouping, "", self.outer[at])
        n, levels = layout.groups, layout.levels
        cells = [NO_OUTCOMES] * layout.cells
        if attempts is not None:
            cells, _ = with_shares(attempts, layout, cells, cells[:levels])
        return {
            kind: [
                [getattr(one, kind) for one in cells[level * n : (level + 1) * n]]
                for level in range(levels)
                if self.level_of[at][level] >= 0
            ]
            for kind in ("enrolments", "recordings")
        }

    def _blanked(
        self,
        layout: Layout,
        speakers: dict[str, list[list[int]]],
        shares: dict[str, list[list[Share | None]]],
    ) -> Seen:
        """Without the groups that are withheld; with the sum of the others."""
        hidden = self.withheld()
        failed: dict[str, list[list[Any]]] = {}
        shown_speakers: dict[str, list[list[int | None]]] = {
            rule: [[*row] for row in rows] for rule, rows in speakers.items()
        }
        for kind, levels in shares.items():
            failed[kind] = []
            for at, name in enumerate(layout.names()):
                row: list[list[int] | None] = []
                for k, one in enumerate(levels[at]):
                    is_hidden = layout.grouping is not None and (
                        layout.grouping.name, name, layout.grouping.groups[k]
                    ) in hidden  # fmt: skip
                    row.append(None if one is None or is_hidden else [one.count, one.of])
                    if is_hidden:
                        for rows in shown_speakers.values():
                            rows[at][k] = None
                known = [one for one in row if one is not None]
                lost = any(one is None for one in levels[at])
                row.append(None if lost else [sum(one[i] for one in known) for i in (0, 1)])
                failed[kind].append(row)
        return Seen(shown_speakers, failed)


def _rows(trials: TrialSet, sides: _Sides, bins: Bins) -> CountRows:
    """Every block's rows."""
    held: list[CountRows] = []
    for part, has_failed in sides.everything():
        n = len(part)
        known: dict[str, Any] = {
            "target": part.target,
            "failed": part.more["failed"] if has_failed else np.zeros(n, dtype=np.int8),
            "value": np.full(n, np.nan) if has_failed else bins.of(part.score),
            "accepted": np.full(n, -1, dtype=np.int8),
            "threshold": np.full(n, np.nan),
            "count": np.ones(n, dtype=np.int64),
            "microseconds": np.zeros(n, dtype=np.int64),
            "timed": np.zeros(n, dtype=np.int64),
        }
        if trials.has_decisions and not has_failed:
            known["accepted"] = trials.decided(part)
        if "threshold" in part.more and not has_failed:
            known["threshold"] = trials.thresholds[part.more["threshold"]]
        if "seconds" in part.more and not has_failed:
            took = part.more["seconds"]
            known["timed"] = (~np.isnan(took)).astype(np.int64)
            known["microseconds"] = np.rint(np.nan_to_num(took) * MICRO).astype(np.int64)
        for block, level, (enrol, test) in sides.blocks(part):
            place = {
                "block": np.full(n, block, dtype=np.int32),
                "level": level,
                "enrol_group": np.where(level < 0, _NONE, enrol),
                "test_group": np.where(level < 0, _NONE, test),
            }
            one = CountRows({**place, **known})
            held.append(CountRows.total([one]) if trials.n_partitions > 1 else one)
        if trials.n_partitions > 1 and len(held) > _TOGETHER * len(sides.codes):
            held = [CountRows.total(held)]
    return CountRows.total(held).timed_by_cell()


def _notes(
    trials: TrialSet, people: Speakers, groupings: Sequence[Grouping], sides: _Sides
) -> Iterator[Note]:
    """What was read and set aside, per file and per group that is not withheld."""
    used = np.unique(trials.utterance_speaker)
    for one in (*trials.data, *people.notes(used[used >= 0].tolist())):
        yield Note(one.source, one.item, one.count, one.note)
    hidden = sides.withheld()
    for item, of_speaker in trials.aside.items():
        for grouping in groupings:
            if grouping.of_speaker is None:
                continue
            group = grouping.of_speaker[: of_speaker.size]
            for k, name in enumerate(grouping.groups):
                count = int(of_speaker[group == k].sum())
                if count and (grouping.name, "", name) not in hidden:
                    told = f"{item} (by enrolment speaker)"
                    yield Note("scores", told, count, "", grouping.name, name)
    for grouping in groupings:
        for unit, value, count in grouping.left_out(trials):
            source = "scores" if unit == "trials" else unit
            item = f"{unit} whose {value} is left out by the groups file"
            yield Note(source, item, count, "", grouping.name)
