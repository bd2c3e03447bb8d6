"""The audit, end to end: scores and speakers in, one result out."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np

from parivox.auditing.comparison import ComparedSet, add_comparisons, check_comparable
from parivox.auditing.data_table import (
    add_conflict_effects,
    add_data_warnings,
    add_same_score_warnings,
    add_trial_accounts,
)
from parivox.auditing.draws import MAX_DRAWN_SPEAKERS, draw_speakers
from parivox.auditing.inputs import (
    Design,
    apply_groups_file,
    development_sources,
    named_counts_files,
    read_grouped_counts,
    read_grouped_trials,
    sources_by_name,
)
from parivox.auditing.judged_groups import judged_groups
from parivox.auditing.layout import (
    MAX_SEPARATE_SPEAKERS,
    N_DRAWN_BLOCKS,
    N_SPEAKER_BLOCKS,
    block_groups,
    blocks_of_many_speakers,
    blocks_replacing_speakers,
    finest_groups,
)
from parivox.auditing.options import OFFENDERS, REFERENCES, Options
from parivox.auditing.record import audit_record, provenance_entries
from parivox.auditing.result import Audit, system_name
from parivox.auditing.schema import TABLES, TableBuilder
from parivox.auditing.speaker_sample import MAX_COUNT_ROWS
from parivox.auditing.system import (
    counted_thresholds,
    measure_system,
    metrics_by_grouping,
    no_intervals_reason,
)
from parivox.auditing.system_rows import add_rows
from parivox.auditing.trial_table import check_trial_table, check_trials_known, write_trial_table
from parivox.core.measures import MEASURES
from parivox.data.counts_file import holds_counts
from parivox.data.requested_groupings import MOST_GROUPS
from parivox.data.rule_file import read_rules
from parivox.data.source_bytes import in_encoding_given
from parivox.data.trial_set import CommonTrials, TrialSet
from parivox.data.trials import read_trials
from parivox.errors import ConfigError, name_hint
from parivox.options.audit import NEVER, AuditOptions
from parivox.options.kinds import Unchecked, option_fields
from parivox.runtime.memory import give_back_memory
from parivox.runtime.progress import reports_progress, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from numpy.typing import ArrayLike, NDArray

    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.draws import SpeakerDraws
    from parivox.auditing.inputs import GroupedTrials
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.system import CellMetrics, System
    from parivox.core.counts import Curve, FloatArray
    from parivox.data.groups_file import GroupsFile
    from parivox.data.rule_file import RuleFile
    from parivox.options.types import OtherAuditOptions

    Metric = Callable[[Curve], ArrayLike]

ENTRY_POINTS = "parivox.metrics"
MOST_GROUPINGS = 20
"""Groupings of one audit with intervals: of each, all trials are counted and resampled."""


@reports_progress
@in_encoding_given
def audit(
    scores: Any,
    *,
    speakers: Any = None,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    groups: Any = None,
    trials: Any = None,
    utterances: Any = None,
    operating_points: Sequence[str] | str | None = None,
    limits: Sequence[str] | str = (),
    intervals: bool = True,
    compare: bool = False,
    **options: Unpack[OtherAuditOptions],
) -> Audit:
    """Audit scores: how each group of people fares, by every measure.

    Parameters
    ----------
    scores
        A path, or a list of several whose trials are one list; ``-`` for standard input, a
        dataframe, a mapping of arrays; or a mapping from ``system`` or ``system@list`` to any of
        these. Or one or several files of counts, of which those of one system and list are added
        up.
    speakers
        Path or table of speakers with their attributes; without it, nothing but their names is
        known, from the trials or the other tables.
    by
        Groupings: attributes, combinations as in ``gender+nationality``, bands as in
        ``age:18,30,60``; ``enrol.x``, ``test.x`` and ``same:x`` for one side or whether both are
        alike. Without it, every attribute with 2 to 50 values.
    within
        Attributes within whose levels the audit is repeated.
    groups
        Groups file: which groups are made of which values, and what to compare.
    trials
        Separate trial list (labels), joined on the pair of ids.
    utterances
        Table of utterances: their speakers, where ids do not tell them, and attributes of the
        recordings such as language, channel or age at recording.
    operating_points
        Common thresholds: ``threshold=x``, ``fpr=x``, ``fnr=x``, ``eer``, ``min-cdet``, ``bayes``;
        ``deployed`` stands for the decisions or thresholds that the trials tell.
    limits
        What a rate may be at most, as in ``fnr=0.05``.
    intervals
        Whether to say how sure everything is: intervals, noise floors, verdicts.
    compare
        Compare the systems and lists with each other.
    **options
        Every other option by name: see
        `parivox.options.types.OtherAuditOptions`.

    Returns
    -------
    Audit
        Tidy tables ``groups``, ``bias``, ``meta``, ``verdicts``, ``limits``, ``matrix``,
        ``operating_points``, ``data``, ``det``; rates are fractions in [0, 1].

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.
    """
    asked = AuditOptions.from_keywords(
        speakers=speakers,
        by=by,
        within=within,
        groups=groups,
        trials=trials,
        utterances=utterances,
        operating_points=operating_points,
        limits=limits,
        intervals=intervals,
        compare=compare,
        **options,
    )
    table = _trial_table(scores, asked)
    return _audited(_study(scores, asked), table)


@reports_progress
@in_encoding_given
def audit_counted(
    scores: Any, counted: Callable[[GroupedTrials], TrialCounts], **options: Any
) -> Audit:
    """Audit the scores of one system whose parts were counted and tallied before.

    Scores are counted, and errors told by speaker, from what the parts add up to; all else that an
    audit tells, from the rows.

    Parameters
    ----------
    scores
        As `audit` takes them.
    counted
        Gives the counts of what was read, with their tally.
    **options
        Those of the audit.

    Returns
    -------
    Audit
    """
    study = _study(scores, AuditOptions.from_keywords(**options))
    return _audited(study._replace(read=replace(study.read, merged_counts=counted(study.read))))


def _audited(study: _Study, table: Path | None = None) -> Audit:
    """The audit of what was read; every trial is written to a table, if there is to be one."""
    rows, record, provenance = _rows_of(study, table)
    # tables are made once the counts have gone, as both may be large
    give_back_memory()
    tables = {name: rows.pop(name).table() for name in [*rows]}
    return Audit(**tables, record=record, provenance=provenance)


def _rows_of(
    study: _Study, table: Path | None
) -> tuple[dict[str, TableBuilder], dict[str, Any], list[dict[str, Any]]]:
    """The rows of each table, how they were made, and what was read."""
    read, design, files = study.read, study.design, (study.file, study.rules)
    checked, development_of = design.options, study.development_of
    if table is not None:
        check_trials_known(read.trial_sets)
    common = None
    if checked.compare:
        check_comparable(read.trial_sets)
        common = CommonTrials.of(cast("Sequence[TrialSet]", read.trial_sets))
    # what is measured: system by system, then against each other
    block, together = _blocks(read, checked)
    draws = _draws(read, checked, block, together)
    design = replace(design, speaker_block=block, draws=draws)
    measured: list[ComparedSet] = []
    for trials_of in read.trial_sets:
        with stage(f"measuring {system_name(trials_of.system, trials_of.list)}"):
            system = _with_primary(_measured(trials_of, read, design, development_of))
            # one system alone is measured grouping by grouping, as many take much room
            cells = [] if len(read.trial_sets) == 1 else list(metrics_by_grouping(system))
            measured.append(ComparedSet(system, cells))
    systems = [system for system, _ in measured]
    # systems are compared on the same groups, so that all are measured before any row is made
    judged = judged_groups([parts for _, parts in measured])
    rows = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    for (system, parts), judged_parts in zip(measured, judged, strict=True):
        with stage(f"measuring {system_name(system.trials.system, system.trials.list)}"):
            pairs = zip(parts, judged_parts, strict=True) if parts else _each_judged(system)
            add_rows(system, pairs, rows)
            _account(rows["data"], system, read)
    for one, other in combinations(systems, 2):
        add_same_score_warnings(rows["data"], one, other)
    if table is not None:
        with stage(f"writing {table}"):
            write_trial_table(table, systems, checked.seed)
    if common is not None:
        with stage("comparing"):
            add_comparisons(rows["comparison"], _pairs(measured, common), checked)
    record = audit_record(checked, read, systems, *files)
    return rows, record, provenance_entries(read, systems, *files)


def _each_judged(system: System) -> Iterator[tuple[CellMetrics, JudgedGroups | None]]:
    """The cells of one grouping after the other, with the groups that are judged in them."""
    for part in metrics_by_grouping(system):
        ((judged,),) = judged_groups([[part]])
        yield part, judged


class _Study(NamedTuple):
    """What an audit is of, and what it is measured by."""

    read: GroupedTrials
    file: GroupsFile | None
    rules: RuleFile | None
    design: Design  # without draws
    development_of: Mapping[tuple[str, str], Any]  # scores to find thresholds on


def _study(scores: Any, asked: AuditOptions) -> _Study:
    """Read what is audited, and check that the options fit it."""
    asked, file = apply_groups_file(asked)
    rules = None if asked.thresholds is None else read_rules(asked.thresholds)
    metrics = _own_metrics(asked.metrics)
    files = named_counts_files(scores)
    if rules is not None and (
        files is not None or len({one for one, _ in sources_by_name(scores)}) > 1
    ):
        why = (
            "several systems have no threshold in common"
            if files is None
            else "counts hold no trials"
        )
        msg = f"--thresholds: {why}; give the scores of one system, or leave it out"
        raise ConfigError(msg)
    if files is None:
        checked = _checked(asked, file)
        sources = sources_by_name(scores)
        development_of = development_sources(asked.threshold_from, sources)
        read = read_grouped_trials(sources, asked, file, standardise=asked.standardise, rules=rules)
        if not asked.allocate and any(one.n_without_test_speaker for one in read.trial_sets):
            checked = _checked(replace(asked, allocate=("enrol",)), file)
    else:
        read = read_grouped_counts(files, asked)
        checked = _checked(
            asked,
            file,
            by=read.names(read.groupings),
            within=read.names(read.within) or None,
            llr=asked.llr or read.is_llr,
            llr_base=read.llr_base(asked),
        )
        names = {(one.system, one.list): one for one in read.trial_sets}
        development_of = development_sources(asked.threshold_from, names)
    _check_groups(read, checked)
    _check_speakers_known(read, checked)
    read, primary_point = _primary_first(read, checked)
    design = Design(
        groupings=read.groupings,
        options=checked,
        metrics=metrics,
        within=read.within,
        standardise_over=read.standardise_over,
        primary_point=primary_point,
    )
    return _Study(read, file, rules, design, development_of)


def _measured(
    trials: TrialSet | TrialCounts,
    read: GroupedTrials,
    design: Design,
    development_of: Mapping[tuple[str, str], Any],
) -> System:
    """One system on one list, and what its thresholds are found on."""
    development = development_of.get((trials.system, trials.list))
    found_on = None
    if development is not None:
        with stage("reading the development scores"):
            found_on = _development(development, trials.system, read)
    way = "similarity" if trials.is_similarity else design.options.orientation
    return measure_system(trials, design, found_on, way, counted=read.merged_counts)


def speaker_count_thresholds(counts: Any, **options: Any) -> FloatArray:
    """Thresholds of the tally that an audit of counts needs, to say how sure it is.

    Parameters
    ----------
    counts
        Files of counts of one system and list.
    **options
        Those of the audit.

    Returns
    -------
    float64 ndarray of shape (threshold,)
        Rising.
    """
    asked = AuditOptions.from_keywords(**options)
    # what is said of people moves no threshold
    asked = replace(asked, limit=(), attempts=None, primary=None, speaker_ids=NEVER)
    study = _study(counts, asked)
    (trials,) = study.read.trial_sets
    system = _measured(trials, study.read, study.design, study.development_of)
    return counted_thresholds(system)


def _trial_table(scores: Any, asked: AuditOptions) -> Path | None:
    """Where every trial is to be written, if it is, and is no file that is read."""
    if asked.trial_table is None:
        return None
    tables = (
        name for name, one in option_fields(AuditOptions).items() if isinstance(one, Unchecked)
    )
    inputs = [scores, *(getattr(asked, name) for name in tables if name != "trial_table")]
    return check_trial_table(asked.trial_table, [one for source in inputs for one in _each(source)])


def _checked(asked: AuditOptions, file: GroupsFile | None, **of_counts: Any) -> Options:
    """Options, with the references of the groups file where none are asked for.

    Files of counts have groupings and a kind of scores of their own.
    """
    reference = asked.reference or (file.reference if file is not None else None)
    return Options(**{**vars(asked), "reference": reference, **of_counts})


def _account(data: TableBuilder, system: System, read: GroupedTrials) -> None:
    """Add what became of the trials of one system."""
    trials, tally, points = system.trials, system.counts, system.points.located
    options = system.design.options
    add_trial_accounts(data, trials, read.speakers, read.groupings, tally, points, options)
    every = [*read.groupings, *read.within]
    add_data_warnings(data, trials, every, tally.all_counts, system.development, options)
    if options.conflicts == "set-aside" and trials.has_speakers:
        add_conflict_effects(data, trials, read.groupings, tally, points, options)


def _pairs(
    compared: Sequence[ComparedSet], common: CommonTrials
) -> Iterator[tuple[ComparedSet, ComparedSet, str]]:
    """Each two systems and lists, on the trials that they are compared on."""
    restricted = {}
    for i, trials in common.restricted.items():
        # on the speakers drawn for all; which way scores go was checked on all trials
        whole = compared[i].system
        design = replace(whole.design, standardise_over=())
        some = measure_system(trials, design, whole.development, "similarity", is_along=False)
        restricted[i] = ComparedSet(some, list(metrics_by_grouping(some)))
    for i, j in combinations(range(len(compared)), 2):
        of = restricted if common.is_restricted(i, j) else compared
        yield of[i], of[j], common.in_words(i, j)


def _each(source: Any) -> list[Any]:
    """What may be files of what a caller gives: one, several, or several by name."""
    if isinstance(source, dict):
        return [one for part in source.values() for one in _each(part)]
    return list(source) if isinstance(source, (list, tuple)) else [source]


def _check_speakers_known(read: GroupedTrials, options: Options) -> None:
    """Refuse options that need to know the speakers where counts are audited."""
    if all(one.by_speaker is not None for one in read.trial_sets):
        _check_ids_known(read, options)
        return
    for name in ("limit", "attempts", "primary"):
        if getattr(options, name):
            msg = (
                f"--{name}: counts do not tell who the speakers are, so that nothing can be said "
                "of people or chance; give the scores"
            )
            raise ConfigError(msg)
    _check_ids_known(read, options)


def _check_ids_known(read: GroupedTrials, options: Options) -> None:
    """Refuse to name speakers where counts are audited."""
    if options.speaker_ids == OFFENDERS and not all(one.has_speakers for one in read.trial_sets):
        msg = f"--speaker-ids {OFFENDERS}: counts hold no ids of speakers; give the scores"
        raise ConfigError(msg)


def _blocks(
    read: GroupedTrials, options: Options
) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    """What is taken in blocks where lists do not fit in memory; None for what is not.

    The block that stands for each speaker, of very many speakers; and of those that are tallied,
    the block that each is drawn with, of very many trials.
    """
    every = [one.by_speaker for one in read.trial_sets]
    large = [one for one in every if isinstance(one, TrialSet) and not one.is_held]
    if not options.intervals or read.speakers is None or not large:
        return None, None
    used = np.unique(np.concatenate([one.in_use for one in every if one is not None]))
    finest = finest_groups(
        [*read.groupings, *read.within, *read.standardise_over], len(read.speakers.ids)
    )
    block = blocks_replacing_speakers(finest, used, MAX_SEPARATE_SPEAKERS, N_SPEAKER_BLOCKS)
    if max(one.n_trials for one in large) <= MAX_COUNT_ROWS:
        return block, None
    if block is None:
        return None, blocks_of_many_speakers(finest, used, N_DRAWN_BLOCKS, N_DRAWN_BLOCKS)
    of_blocks = block_groups(finest, block, used).astype(np.int64)
    return block, blocks_of_many_speakers(
        of_blocks, np.arange(of_blocks.size), N_DRAWN_BLOCKS, N_DRAWN_BLOCKS
    )


def _draws(
    read: GroupedTrials,
    options: Options,
    block: NDArray[np.int32] | None,
    together: NDArray[np.int32] | None,
) -> SpeakerDraws | None:
    """The speakers drawn for replicates, or the blocks of them, if there are to be any."""
    every = [one.by_speaker for one in read.trial_sets]
    known = [one for one in every if one is not None]
    if not options.intervals or not known:
        return None
    used = np.unique(np.concatenate([one.in_use for one in known]))
    if block is None and used.size > MAX_DRAWN_SPEAKERS:
        return None
    return draw_speakers(known, read.groupings, options, block, together)


def _development(source: Any, system: str, read: GroupedTrials) -> TrialSet | TrialCounts:
    """Trials, or counts of them, to find thresholds on."""
    if holds_counts(source):
        from parivox.auditing.counts.merging import read_counts_files  # noqa: PLC0415 - for counts only

        return read_counts_files([((system, "development"), source)])[0]
    return read_trials(
        source,
        system=system,
        list_="development",
        speakers=read.speakers,
        strangers=True,
        **read.reading_options,
    )


def _check_groups(read: GroupedTrials, options: Options) -> None:
    """Refuse references that are no groups, and more groups than intervals can be held of."""
    known = sorted({group for grouping in read.groupings for group in grouping.groups})
    _check_references(options, known)
    for one in options.limits:
        if one.group and one.group not in known:
            msg = f"--limit: {one.group!r} is not a group; {name_hint(one.group, known)}"
            raise ConfigError(msg)
    if not options.intervals or all(no_intervals_reason(one) for one in read.trial_sets):
        return
    named = "" if options.by else f" ({read.chosen_by})"
    times = len(options.allocate) * (1 + sum(len(one.groups) for one in read.within))
    n = times * sum(len(one.groups) for one in read.groupings)
    if len(read.groupings) > MOST_GROUPINGS:
        problem = f"{len(read.groupings):,} groupings{named} are more than {MOST_GROUPINGS}"
    elif n > MOST_GROUPS:
        each = " by every allocation and within every level" if times > 1 else ""
        problem = f"{n:,} groups{each}{named} are more than {MOST_GROUPS:,}"
    else:
        return
    msg = (
        f"--by: {problem}, the most of one audit; name fewer, audit them one after the other, or "
        "give --no-intervals"
    )
    raise ConfigError(msg)


def _check_references(options: Options, known: Sequence[str]) -> None:
    """Named groups to compare with must be groups."""
    for name in options.reference:
        if name not in REFERENCES and name not in known:
            msg = (
                f"--reference {name!r} is neither pooled, macro, geomean or best nor a group; "
                f"{name_hint(name, known)}"
            )
            raise ConfigError(msg)


def _primary_first(read: GroupedTrials, options: Options) -> tuple[GroupedTrials, str]:
    """The primary grouping before all others, and the operating point if one is named."""
    primary, point = options.primary_of(read.names(read.groupings))
    groupings = sorted(read.groupings, key=lambda one: one.name != primary)
    return replace(read, groupings=groupings), point


def _with_primary(system: System) -> System:
    """The system, if it has the operating point that is named to be primary."""
    named, known = system.design.primary_point, [one.point.text for one in system.points.located]
    if named and named not in known:
        msg = (
            f"--primary {system.design.options.primary!r}: {named!r} is not an operating point of "
            f"{system.trials.name}; choose from {', '.join(known)}"
        )
        raise ConfigError(msg)
    return system


def entry_points() -> Iterable[EntryPoint]:
    """Metrics that installed packages register.

    The standard library's look-up takes longer to import than all packages take to ask.
    """
    heading = f"[{ENTRY_POINTS}]"
    texts = (
        file.read_text(encoding="utf-8", errors="replace")
        for folder in sys.path
        for file in Path(folder).glob("*-info/entry_points.txt")
    )
    if not any(heading in text for text in texts):
        return ()
    from importlib.metadata import entry_points as registered  # noqa: PLC0415

    return registered(group=ENTRY_POINTS)


def _own_metrics(metrics: Mapping[str, Metric] | None) -> dict[str, Metric]:
    """The user's metrics: those given and those registered by entry point."""
    found: dict[str, Metric] = {}
    for entry in entry_points():
        try:
            found[entry.name] = entry.load()
        except Exception as error:
            msg = f"metric {entry.name!r} of {entry.value} cannot be loaded: {error!r}"
            raise ConfigError(msg) from error
    found.update(metrics or {})
    for name in found:
        if name in MEASURES or "+" in name:
            msg = f"metric {name!r} would stand for a built-in one; give it another name"
            raise ConfigError(msg)
    return found
