"""Counts of trials in the place of the trials: what an audit of a file of counts measures.

Every row holds the groups of both sides, so every allocation, the pooled row, the matrix between
groups and the levels of ``--within`` are sums of rows. The rows of one grouping within one
attribute's levels (or within none) hold every trial; the column ``layout`` numbers these sets of
rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from parivox.arguments import check_arguments
from parivox.auditing.layout import place_trials
from parivox.auditing.outcomes import FailureShare
from parivox.auditing.participants import Participants
from parivox.core.counts import SPOOF
from parivox.core.key_sums import collapse_constant
from parivox.data.count_rows import CountRows
from parivox.data.counts_file import SCORE_COUNTS, file_bytes, write_file, write_over
from parivox.data.metadata import grouping_metadata
from parivox.data.score_bins import Bins
from parivox.data.trial_checks import (
    IDS_BEGIN_WITH_SPEAKER,
    SPEAKERS_IN_COLUMNS,
    SPOOFS_OF_OTHERS,
    DataNote,
    Trials,
)
from parivox.data.trial_set import content_record
from parivox.errors import ConfigError
from parivox.facts import Fact, fact
from parivox.options.kinds import LOG_BASES
from parivox.renamed import renamed_attribute
from parivox.shown import CATALOGUE_MODULE

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.auditing.layout import Codes, Layout, PlacedTrials
    from parivox.auditing.outcomes import Outcomes
    from parivox.data.grouping import Grouping
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.data.units import UnitAssignment

    GroupKey: TypeAlias = tuple[str, str, str]
    """Grouping, level as the column ``within`` has it, and group."""

DECISIONS, FAILURES, LLR = "decisions", "failures", "log-likelihood ratios"
LLR_TO_BASE = {base: f"{LLR} to base {base}" for base in LOG_BASES}
SCORES, SECONDS, THRESHOLDS = "scores", "seconds", "thresholds"
SIMILARITY = "scores taken as similarities"
UNKNOWN_IN_SEVERAL_FILES = "unknown_in_several_files"
FILES_OF_COUNTS, COUNTED_AT, NOT_IN_COUNTS = "files_of_counts", "counted_at", "not_in_counts"
GROUP_WITHHELD, STRATUM_WITHHELD = "group_withheld", "stratum_withheld"
"""Codes of what is counted (`parivox.facts`)."""
_OF_RECORDINGS = {SPEAKERS_IN_COLUMNS, IDS_BEGIN_WITH_SPEAKER}
"""Codes of notes that count recordings, not trials or rows."""


@dataclass(frozen=True)
class Note(DataNote):
    """A line of what was read, perhaps of one group; those of trials add up over files."""

    grouping: str = ""
    group: str = ""

    @property
    def adds_up(self) -> bool:
        """Whether it counts trials or rows, not speakers or recordings, who may be in two files."""
        if self.source in {"scores", "trials"}:
            return self.item not in _OF_RECORDINGS
        return self.item == SPOOFS_OF_OTHERS


@dataclass(frozen=True)
class LayoutParticipants:
    """Speakers and recordings of one layout: what only the trials themselves can tell."""

    # by allocation, of each stratum: those of each group and, last, of all groups
    speakers: dict[str, list[list[int | None]]]
    # `enrolments` and `recordings`, of each level: how many failed of how many of each group and,
    # last, of all groups; None where it cannot be told
    failed: dict[str, list[list[list[int] | None]]]


@dataclass(frozen=True, eq=False, repr=False)
class TrialCounts:
    """Trials of one system on one list as counts, without any id.

    Attributes
    ----------
    system, list : str
        Names; both may be empty.
    rows : CountRows
    groupings, within : tuple of Grouping
    bins : Bins
        Where scores are counted.
    contents : frozenset of str
        What the trials tell: scores, decisions, thresholds, failures, seconds; and how their
        scores are to be read.
    min_speakers : int
        Groups of fewer speakers were withheld.
    withheld : dict of (grouping, level, group) to str
        Why a group is withheld.
    suppressed_strata : dict of (within, level) to str
        Likewise for levels, which are not in `within` then.
    sources : tuple of str
        Hash of the trials of each file, rising.
    seen : tuple of LayoutParticipants
        Of each layout, then of all trials and of the strata of each of `within`. Of
        several files it is not known, but for recordings of which none failed in any.
    notes : tuple of Note
    chosen_by : str
        Who chose the groupings.
    name : str
        The file, for messages.
    provenance : sequence of dict
        What was read.
    speaker_counts : SpeakerCounts or None
        The same trials by who takes part in them, where that is told.
    """

    system: str
    list: str
    rows: CountRows
    groupings: tuple[Grouping, ...]
    within: tuple[Grouping, ...]
    bins: Bins
    contents: frozenset[str]
    min_speakers: int
    withheld: Mapping[GroupKey, str]
    suppressed_strata: Mapping[tuple[str, str], str]
    sources: tuple[str, ...]
    seen: tuple[LayoutParticipants, ...]
    notes: tuple[Note, ...]
    chosen_by: str
    name: str = "counts"
    provenance: Sequence[dict[str, Any]] = ()
    speaker_counts: SpeakerCounts | None = None
    before_writing: Callable[[], None] | None = None
    """What is to be done before they are in a file."""

    # what counts do not tell of, in the words of `parivox.data.trial_set.TrialSet`
    identified: ClassVar[None] = None
    whole_list: ClassVar[None] = None
    speaker_ids: ClassVar[None] = None
    utterance_speaker: ClassVar[NDArray[np.int32]] = np.empty(0, dtype=np.int32)
    counts_by_speaker: ClassVar[Mapping[str, NDArray[np.int64]]] = {}
    decisions_by_day: ClassVar[Mapping[str, NDArray[np.int64]]] = {}
    has_times = False  # each trial's own
    n_without_test_speaker = 0  # such trials are not counted

    # what is asked of trials

    @property
    def is_scored(self) -> bool:
        """Whether the trials have scores."""
        return SCORES in self.contents

    @property
    def speaker_source(self) -> SpeakerCounts | None:
        """The trials by who takes part in them; None where it is not known."""
        return self.speaker_counts

    tally = renamed_attribute("tally", "speaker_counts")
    least = renamed_attribute("least", "min_speakers")
    levels_withheld = renamed_attribute("levels_withheld", "suppressed_strata")

    error_source = attack_source = speaker_source

    @property
    def score_source(self) -> TrialCounts:
        """What scores are counted from: these rows."""
        return self

    @property
    def people(self) -> SpeakerCounts | None:
        """The trials by speaker; None where speakers are not distinguished."""
        return None if self.speaker_counts is None else self.speaker_counts.people

    @property
    def participants(self) -> CountedParticipants:
        """Who takes part in the trials of cells."""
        return CountedParticipants(self)

    def with_units(self, _: UnitAssignment) -> TrialCounts:
        """The same counts, of which speaker counts have units of their own."""
        return self

    def bin_edges(self, _: Iterable[float]) -> None:
        """Scores are counted at those of the rows, which may be edges of bins."""

    def is_exact_at(self, threshold: float) -> bool:
        """Whether a threshold is an edge of the score bins."""
        return self.bins.has_threshold(threshold)

    def content(self) -> dict[str, Any]:
        """What the trials are: ids, labels and scores as a hash, and of how many files."""
        return {**content_record(self), "counts_files": len(self.sources)}

    @cached_property
    def n_classes(self) -> int:
        """Classes of trials: target and nontarget trials and, in shards, spoof trials."""
        is_scored = collapse_constant(self.columns["failed"]) == 0
        is_spoof = collapse_constant(self.columns["trial_class"]) == SPOOF
        return SPOOF + 1 if (is_scored & is_spoof).any() else SPOOF

    @property
    def attacks(self) -> tuple[str, ...]:
        """Names of the attacks of spoof trials, as far as speaker counts have them."""
        return () if self.speaker_counts is None else self.speaker_counts.attacks

    @property
    def is_exact(self) -> bool:
        """Whether no reported number comes from bins."""
        return not self.bins.step

    @property
    def is_llr(self) -> bool:
        """Whether the scores are said to be log-likelihood ratios."""
        return LLR in self.contents or self.llr_base is not None

    @property
    def llr_base(self) -> int | None:
        """The base of the log-likelihood ratios; None for natural ones, and where they are none."""
        return next((base for base, words in LLR_TO_BASE.items() if words in self.contents), None)

    @property
    def is_similarity(self) -> bool:
        """Whether the scores are to be taken as they are, whatever they look like."""
        return SIMILARITY in self.contents

    @property
    def has_decisions(self) -> bool:
        """Whether decisions are known."""
        return DECISIONS in self.contents

    @property
    def failures(self) -> frozenset[str] | None:
        """Not None where failures are told of."""
        return self.contents if FAILURES in self.contents else None

    @property
    def extra_columns(self) -> frozenset[str]:
        """What the rows hold besides, in the words of ``Trials.extra_columns``."""
        words = {THRESHOLDS: "threshold", SECONDS: "seconds"}
        return frozenset(word for content, word in words.items() if content in self.contents)

    @property
    def data_notes(self) -> Sequence[Note]:
        """What was counted, derived and set aside."""
        return self.notes

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        """The rows."""
        return self.rows.columns

    @cached_property
    def thresholds(self) -> NDArray[np.float64]:
        """Deployed thresholds, rising, then NaN."""
        level = self.columns["threshold"]
        return np.append(np.unique(level[~np.isnan(level)]), np.nan)

    @cached_property
    def content_sha256(self) -> str:
        """Hash of the trials or, of several files, of their hashes."""
        from hashlib import sha256  # noqa: PLC0415 - of several files only

        first_source, *more_sources = self.sources
        return (
            first_source
            if not more_sources
            else sha256("\n".join(self.sources).encode()).hexdigest()
        )

    @property
    def n_trials(self) -> int:
        """Trials with a score or decision."""
        rows = self.columns
        return int(rows["trials"][(rows["layout"] == 0) & (rows["failed"] == 0)].sum())

    def decisions(self, trials: Trials) -> NDArray[np.int8]:
        """1 for accepted, 0 for rejected, -1 where it is not known."""
        return trials.extra_columns["accepted"]

    def side_coder(self, grouping: Grouping) -> Callable[[Trials], tuple[Codes, Codes]]:
        """What gives the groups of both sides, or the level, of the rows of a grouping."""
        if any(grouping is stratum_grouping for stratum_grouping in self.within):
            return lambda trials: (trials.extra_columns["level"], trials.extra_columns["level"])
        return lambda trials: (trials.enrol, trials.test)

    def partitions_by_layout(
        self, layouts: Sequence[Layout]
    ) -> Iterator[tuple[Trials, Sequence[int]]]:
        """Rows of one grouping after the other as trials, and the layouts that they count in."""
        names = [grouping_or_layout.name for grouping_or_layout in self.groupings]
        levels = ["", *(grouping_or_layout.name for grouping_or_layout in self.within)]
        blocks: dict[int, list[int]] = {}
        for i, grouping_or_layout in enumerate(layouts):
            stratum_index = levels.index(
                "" if grouping_or_layout.within is None else grouping_or_layout.within.name
            )
            group = (
                0
                if grouping_or_layout.grouping is None
                else names.index(grouping_or_layout.grouping.name)
            )
            blocks.setdefault(stratum_index * len(names) + group, []).append(i)
        for block, layout_indices in blocks.items():
            yield self._layout_trials(block), layout_indices

    def _layout_trials(self, layout_number: int) -> Trials:
        is_in_layout = self.columns["layout"] == layout_number
        rows = {name: column[is_in_layout] for name, column in self.columns.items()}
        levels = self.thresholds[:-1]
        threshold = np.searchsorted(levels, rows["threshold"]).astype(np.int32)
        threshold[np.isnan(rows["threshold"])] = -1
        extra_columns = {
            **{name: rows[name] for name in ("timed", "accepted", "failed")},
            "count": rows["trials"],
            "level": rows["stratum"],
            "threshold": threshold,
            "seconds": rows["microseconds"],
        }
        all_trials = Trials(
            rows["enrol_group"],
            rows["test_group"],
            rows["trial_class"],
            rows["score"],
            np.zeros(threshold.size, dtype=np.bool_),
            extra_columns,
        )
        failed = rows["failed"] > 0
        scored = all_trials.take(~failed)
        return Trials(
            scored.enrol,
            scored.test,
            scored.trial_class,
            scored.score,
            scored.conflict,
            scored.extra_columns,
            all_trials.take(failed) if failed.any() else None,
        )

    def missing(self, grouping: Grouping, level: str) -> Sequence[str]:
        """Why each group is withheld within a level, as facts; empty for those that are not."""
        return [self.withheld.get((grouping.name, level, group), "") for group in grouping.groups]

    def header(self) -> dict[str, Any]:
        """What the file says of its rows."""
        from parivox.version import __version__  # noqa: PLC0415 - the version of the whole

        return {
            "parivox": __version__,
            "system": self.system,
            "list": self.list,
            "sources": [*self.sources],
            "trials": self.n_trials,
            "contents": sorted(self.contents),
            "step": self.bins.step,
            "thresholds": [repr(threshold) for threshold in self.bins.thresholds],
            "min_speakers": self.min_speakers,
            "withheld": [[*group_key, reason] for group_key, reason in self.withheld.items()],
            "suppressed_strata": [
                [*group_key, reason] for group_key, reason in self.suppressed_strata.items()
            ],
            "groupings": [grouping_metadata(described) for described in self.groupings],
            "within": [grouping_metadata(described) for described in self.within],
            "groupings_chosen_by": self.chosen_by,
            "participants": [
                {"speakers": described.speakers, "failed": described.failed}
                for described in self.seen
            ],
            "notes": [
                [
                    described.source,
                    described.item,
                    described.count,
                    described.note,
                    described.grouping,
                    described.group,
                ]
                for described in self.notes
            ],
        }

    def _file_bytes(self) -> bytes:
        return file_bytes(SCORE_COUNTS, self.rows.columns, self.header())

    def account(self) -> Iterator[dict[str, Any]]:
        """What was read, is withheld, and cannot be told: rows of the audit's data."""
        for note in self.notes:
            names = ("source", "grouping", "group", "item", "count", "note")
            yield {name: getattr(note, name) for name in names}
        row = {"source": "counts", "grouping": "", "group": "", "count": None, "note": ""}
        yield {**row, "item": FILES_OF_COUNTS, "count": len(self.sources)}
        if self.bins.no_curve_reason:
            bins = {"step": self.bins.step, "thresholds": [*self.bins.thresholds]}
            yield {**row, "item": fact(COUNTED_AT, **bins)}
        for (grouping, level, group), reason in self.withheld.items():
            group_columns = {"grouping": grouping, "group": group, "within": level}
            yield {**row, **group_columns, "item": GROUP_WITHHELD, "note": reason}
        for (within, level), reason in self.suppressed_strata.items():
            item = fact(STRATUM_WITHHELD, stratum=level)
            yield {**row, "grouping": within, "item": item, "note": reason}
        for content, reason in self.unknown().items():
            yield {**row, "item": fact(NOT_IN_COUNTS, content=content), "note": reason}

    def unknown(self) -> dict[str, str]:
        """Codes of what cannot be had from the counts alone, and why."""
        needs_rows = "needs_rows"
        reasons = {"by_recording": needs_rows}
        if self.speaker_counts is None:
            reasons = {"by_speaker_or_recording": needs_rows}
        if SECONDS in self.contents:
            reasons["quantiles_of_seconds"] = "counts_hold_sums"
        if len(self.sources) > 1:
            if self.people is None:
                reasons["speakers"] = UNKNOWN_IN_SEVERAL_FILES
            if FAILURES in self.contents:
                reasons["failure_rates"] = UNKNOWN_IN_SEVERAL_FILES
            reasons["trials_in_several_files"] = needs_rows
            if self.speaker_counts is not None and len(self.speaker_counts.sites) > 1:
                reasons["speakers_at_several_sites"] = "keys_of_sites_differ"
        return reasons

    @check_arguments
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the counts as one file, and speaker counts, if any, beside it; both or nothing.

        The speaker counts have the same name with ``.tally`` at the end.

        Raises
        ------
        ConfigError
            If the file cannot be written, or is there and holds no counts.
        """
        if self.before_writing is not None:
            self.before_writing()
        speaker_counts = None if self.speaker_counts is None else self.speaker_counts.save
        write_file(path, self._file_bytes(), speaker_counts)

    write = renamed_attribute("TrialCounts.write", "save")

    def write_over(self, path: str | os.PathLike[str]) -> None:
        """Write the counts alone in place of what is there, all of them or nothing.

        Raises
        ------
        ConfigError
            If the file cannot be written.
        """
        write_over(path, self._file_bytes())

    def __repr__(self) -> str:
        return f"<{import_module(CATALOGUE_MODULE).fact_text(self.size())}>"

    def size(self) -> Fact:
        """Return how many trials and rows there are, and by what they are counted."""
        return Fact(
            "trials_as_counts",
            {
                "trials": self.n_trials,
                "groupings": [grouping.name for grouping in self.groupings],
                "within": [grouping.name for grouping in self.within],
                "rows": len(self.rows),
            },
        )

    def disclosures(self) -> Iterator[Fact]:
        """Yield what one who shares or gets the counts should know."""
        if self.bins.is_exact and self.is_scored:
            yield Fact("every_score_in_counts", {})
        elif self.is_scored:
            thresholds = [*self.bins.thresholds]
            yield Fact(COUNTED_AT, {"step": self.bins.step, "thresholds": thresholds})
        for grouping in (*self.groupings, *self.within):
            if not grouping.groups:
                yield Fact("no_trial_in_any_group", {"grouping": grouping.name})
        suppressed = dict.fromkeys((grouping, group) for grouping, _, group in self.withheld)
        suppressed |= dict.fromkeys(self.suppressed_strata)
        if suppressed:
            groups = [{"grouping": grouping, "group": group} for grouping, group in suppressed]
            yield Fact("groups_suppressed", {"speakers": self.min_speakers, "groups": groups})
            yield Fact("subtraction_from_other_counts", {})
        elif self.min_speakers:
            yield Fact("no_group_too_small_to_share", {"speakers": self.min_speakers})
        else:
            yield Fact("groups_of_any_size", {})
        if len(informative_layouts(self)) < 2 or has_few_values(self.columns):
            return
        yield Fact("rows_rarely_joinable" if self.min_speakers else "rows_joinable", {})

    def told_apart(self) -> Iterator[str]:
        """Yield `disclosures` in words."""
        yield from import_module(CATALOGUE_MODULE).full_sentences(self.disclosures())


class CountedParticipants:
    """The speakers and recordings behind the cells of counts, as far as the file tells of them."""

    attempts = None  # which recordings were attempted, one by one

    def __init__(self, counts: TrialCounts) -> None:
        self.counts = counts

    def add(self, placed: PlacedTrials) -> None:
        """Rows of counts tell of nobody who takes part in them."""

    def n_recordings(self) -> None:
        """The numbers of different models and recordings are not known."""

    def speakers(self, layout: Layout) -> Sequence[Sequence[int | None]]:
        """Speakers of each group and, last, of all groups, for each level."""
        people = self.counts.people
        if people is None:
            return self._participants(layout).speakers[layout.allocation]
        participants = Participants(layout, people.is_unit_used.size)
        for partition in place_trials(people, [layout]):
            participants.add((partition.trials.enrol, partition.trials.test), partition, 0)
        return participants.count()

    def with_shares(
        self, layout: Layout, cells: Sequence[Outcomes], levels: Sequence[Outcomes]
    ) -> tuple[Sequence[Outcomes], Sequence[Outcomes]]:
        """Outcomes of the cells and levels with shares of failed recordings."""
        if self.counts.failures is None:
            return cells, levels
        failed = self._participants(layout).failed
        no_shares = UNKNOWN_IN_SEVERAL_FILES if len(self.counts.sources) > 1 else ""

        def shared(outcomes: Outcomes, level: int, group: int) -> Outcomes:
            enrolments, recordings = (
                None if cell_outcomes is None else FailureShare(*cell_outcomes)
                for cell_outcomes in (
                    failed[kind][level][group] for kind in ("enrolments", "recordings")
                )
            )
            return replace(
                outcomes,
                enrolment_failures=enrolments,
                recording_failures=recordings,
                no_shares_reason=no_shares,
            )

        many = [
            shared(cell_outcomes, *divmod(cell_index, layout.n_cells_per_stratum))
            for cell_index, cell_outcomes in enumerate(cells)
        ]
        return many, [
            shared(cell_outcomes, level, -1) for level, cell_outcomes in enumerate(levels)
        ]

    def _participants(self, layout: Layout) -> LayoutParticipants:
        levels = ["", *(stratum_grouping.name for stratum_grouping in self.counts.within)]
        stratum_index = levels.index("" if layout.within is None else layout.within.name)
        n_groupings = len(self.counts.groupings)
        if layout.grouping is None:
            return self.counts.seen[len(levels) * n_groupings + stratum_index]
        return self.counts.seen[
            stratum_index * n_groupings
            + [stratum_grouping.name for stratum_grouping in self.counts.groupings].index(
                layout.grouping.name
            )
        ]

    def missing(self, grouping: Grouping, level: str) -> Sequence[str]:
        """Why each group is withheld within a level, as facts; empty for those that are not."""
        return self.counts.missing(grouping, level)


# --- whether rows of different groupings can be told to be of the same trials --------------------
#
# Every block holds every trial. A score that one trial alone has joins its rows of all blocks, and
# so tells what is withheld: its groups by all groupings together. A score that many trials of each
# group share joins nothing, nor do a few values that all have. What is counted beside others is
# therefore refused where it is too rare.

MAX_HARMLESS_VALUES = 16
"""So many values of a class, such as accepted and rejected, tell no trial from others."""
MAX_RARE_SHARE = 0.1
"""Largest share of a group's trials whose value fewer of the group have than may be withheld."""
_DECADES_OF_WIDTHS = 4
_CELL_COLUMNS = ("layout", "stratum", "enrol_group", "test_group", "trial_class")


def check_joinable_rows(counts: TrialCounts, *, may_tell: bool = True) -> None:
    """Refuse counts that tell what they withhold, to one who joins rows of equal scores.

    It is an error if a group's trials have rarer scores than can be told of several groupings.
    `may_tell` is whether nothing need be withheld.
    """
    if not counts.min_speakers:
        return
    blocks = informative_layouts(counts)
    if len(blocks) < 2 or has_few_values(counts.columns):
        return
    is_informative = np.isin(counts.columns["layout"], blocks)
    columns = {name: column[is_informative] for name, column in counts.columns.items()}
    if not _is_rare(columns, counts.min_speakers):
        return
    width = _sufficient_bin_width(columns, counts) if counts.is_scored else ""
    remedies = [f"--step {width}"] if width else []
    remedies += ["fewer --threshold" if counts.bins.thresholds else "a few --threshold"]
    remedies = [*(remedies if counts.is_scored else []), "a single --by without --within"]
    remedies += ["--withhold 0"] if may_tell else []
    *first_remedies, last_remedy = remedies
    remedy_text = (
        f"{', '.join(first_remedies)}, or {last_remedy}" if first_remedies else last_remedy
    )
    counted_at = counts.bins.in_words() if counts.is_scored else "each threshold"
    names = ", ".join(grouping.name for grouping in (*counts.groupings, *counts.within))
    msg = (
        f"{counts.name}: in counts by {names} ({counted_at}), suppressed counts could be computed "
        "by joining rows with rare scores"
    )
    hint = f"give {remedy_text}"
    raise ConfigError(msg, hint)


def informative_layouts(counts: TrialCounts) -> list[int]:
    """Blocks that tell more than another one does by itself.

    Groups by gender are sums of those by gender+nation, and add nothing to them unless some of
    these are withheld.
    """
    attribute_sets: list[tuple[frozenset[str], bool]] = []
    for outer in (None, *counts.within):
        levels = (
            ("",)
            if outer is None
            else tuple(f"{outer.name}={grouping}" for grouping in outer.groups)
        )
        is_stratum_suppressed = outer is not None and any(
            suppressed_grouping == outer.name for suppressed_grouping, _ in counts.suppressed_strata
        )
        for grouping in counts.groupings:
            layout_attributes = set(grouping.attributes)
            if outer is not None:
                layout_attributes.add(f"within {outer.name}")
            is_whole = not is_stratum_suppressed and not any(
                (grouping.name, level, group) in counts.withheld
                for level in levels
                for group in grouping.groups
            )
            attribute_sets.append((frozenset(layout_attributes), is_whole))
    return [
        block
        for block, (attributes, _) in enumerate(attribute_sets)
        if not any(
            attributes < more_attributes and is_whole
            for more_attributes, is_whole in attribute_sets
        )
    ]


def has_few_values(columns: Mapping[str, NDArray[Any]]) -> bool:
    """Whether a class has so few values that no trial can be told by its own."""
    is_in_first_layout = columns["layout"] == columns["layout"][0]  # each block holds every trial
    nowhere = np.zeros(int(is_in_first_layout.sum()), dtype=np.int32)
    columns_of_layout = {name: column[is_in_first_layout] for name, column in columns.items()}
    values = CountRows.total(
        [
            CountRows(
                {
                    **columns_of_layout,
                    **dict.fromkeys(("stratum", "enrol_group", "test_group"), nowhere),
                }
            )
        ]
    )
    return bool(np.bincount(values.columns["trial_class"]).max(initial=0) <= MAX_HARMLESS_VALUES)


def _is_rare(columns: Mapping[str, NDArray[Any]], min_speakers: int) -> bool:
    """Whether too many trials of a group have a value that too few others of it have."""
    for side in ("enrol_group", "test_group"):
        nobody = np.full(columns[side].size, -1, dtype=np.int32)
        rows = CountRows.total([CountRows({**columns, side: nobody})]).columns
        starts = np.ones(rows["trials"].size, dtype=np.bool_)
        starts[1:] = np.any([rows[key][1:] != rows[key][:-1] for key in _CELL_COLUMNS], axis=0)
        cell = np.cumsum(starts) - 1
        total = np.bincount(cell, rows["trials"])
        rare = rows["trials"] < np.minimum(min_speakers, total[cell])
        if (np.bincount(cell, rows["trials"] * rare) > MAX_RARE_SHARE * total).any():
            return True
    return False


def _sufficient_bin_width(columns: Mapping[str, NDArray[Any]], counts: TrialCounts) -> str:
    """Of bins that would do: 1, 2 or 5 and zeros; empty if none would."""
    value = columns["score"][np.isfinite(columns["score"])]
    if not value.size or value.min() == value.max():
        return ""
    top = math.ceil(math.log10(value.max() - value.min()))
    finest = max(top - _DECADES_OF_WIDTHS, math.ceil(math.log10(np.abs(value).max())) - 12)
    widths = [
        f"{Decimal(width).scaleb(power):f}"
        for power in range(finest, top + 1)
        for width in (1, 2, 5)
    ]
    columns = _binned_rows(columns, widths[0], counts)  # of which all wider ones are multiples
    fits = [width for width in widths if float(width) > counts.bins.width]
    finest_width = ""
    while fits:  # the finest of them, as if any wider one would do as well
        middle = (len(fits) - 1) // 2
        wider = _binned_rows(columns, fits[middle], counts)
        if has_few_values(wider) or not _is_rare(wider, counts.min_speakers):
            finest_width, fits = fits[middle], fits[:middle]
        else:
            fits = fits[middle + 1 :]
    return finest_width


def _binned_rows(
    columns: Mapping[str, NDArray[Any]], width: str, counts: TrialCounts
) -> Mapping[str, NDArray[Any]]:
    value = Bins(width, counts.bins.thresholds).binned(columns["score"])
    return CountRows.total([CountRows({**columns, "score": value})]).columns
