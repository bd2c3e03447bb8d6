"""The audit, end to end: scores and speakers in, one result out.

`audit` reads what is given (`_read_study`) and runs the stages in order (`_fill_tables`); those of
one system are in `parivox.auditing.system`. The pipeline stands first in this file; what is read,
drawn and refused follows below it.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

from parivox.auditing.data_table import (
    add_conflict_effects,
    add_data_warnings,
    add_same_score_warnings,
    add_trial_accounts,
    add_warnings,
)
from parivox.auditing.inputs import (
    AuditDesign,
    apply_groups_file,
    check_trials_shared,
    development_sources,
    named_counts_files,
    read_grouped_counts,
    read_grouped_trials,
    sources_by_name,
)
from parivox.auditing.judged_groups import judged_groups
from parivox.auditing.options import OFFENDERS, REFERENCES, Options
from parivox.auditing.record import audit_record, provenance_entries
from parivox.auditing.result import Audit, system_name
from parivox.auditing.schema import TABLES, TableBuilder
from parivox.auditing.spoof_warnings import share_warnings, spoof_warnings
from parivox.auditing.system import (
    MeasuredSystem,
    counted_thresholds,
    measure_system,
    metrics_by_grouping,
    no_intervals_reason,
)
from parivox.auditing.system_rows import add_rows
from parivox.core.costs import parse_detection_cost
from parivox.core.measures import IDENTIFICATION_RATES, MEASURES, RATES
from parivox.data.counts_file import holds_counts
from parivox.data.requested_groupings import MAX_GROUPS
from parivox.data.source_bytes import with_reading_options
from parivox.data.trial_set import CommonTrials, TrialSet
from parivox.data.trials import read_trials
from parivox.data.units import UnitAssignment
from parivox.errors import ConfigError, name_hint
from parivox.options.audit import NEVER, AuditOptions, checked_workers
from parivox.options.kinds import Unchecked, names_options, option_fields
from parivox.runtime.memory import give_back_memory
from parivox.runtime.progress import reports_progress, stage
from parivox.runtime.task_sharing import (
    are_workers_open,
    begin_tasks,
    is_picklable,
    shared_outputs,
    start_workers,
    workers_shared,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from numpy.typing import ArrayLike

    from parivox.auditing.cascade import Countermeasure
    from parivox.auditing.counts.trial_counts import TrialCounts
    from parivox.auditing.inputs import GroupedTrials
    from parivox.auditing.judged_groups import JudgedGroups
    from parivox.auditing.system import GroupingMetrics, System
    from parivox.core.counts import Curve, FloatArray
    from parivox.data.groups_file import GroupsFile
    from parivox.data.rule_file import RuleFile
    from parivox.data.speaker_counts import SpeakerCounts
    from parivox.options.types import OtherAuditOptions

    Metric = Callable[[Curve], ArrayLike]
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )

ENTRY_POINTS = "parivox.metrics"
MAX_GROUPINGS = 20
"""Groupings of one audit with intervals: of each, all trials are counted and resampled."""


@names_options(AuditOptions)
@reports_progress
@with_reading_options
def audit(
    scores: ScoreSource,
    speakers: SpeakerSource | None = None,
    *,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    groups: DocumentSource | None = None,
    trials: TableSource | None = None,
    utterances: UtteranceSource | None = None,
    operating_points: Sequence[str] | str | None = None,
    limits: Sequence[str] | str = (),
    intervals: bool = True,
    compare: bool = False,
    workers: int = 1,
    **options: Unpack[OtherAuditOptions],
) -> Audit:
    """Audit scores: how each group of people fares, by every measure.

    Parameters
    ----------
    scores
        A path, or a list of several whose trials are one list; ``-`` for standard input, a
        dataframe of any library, a mapping of arrays; or a mapping from ``system`` or
        ``system@list`` to any of these. Or one or several files of counts, of which those of one
        system and list are added up.
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
    workers
        Number of processes, which changes no result. With more than 1, a script needs
        ``if __name__ == "__main__":``.
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
    audit_options = AuditOptions.from_keywords(
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
    with workers_shared(checked_workers(workers)):
        if audit_options.gallery is not None:
            return _audit_searches(scores, audit_options)
        trial_table_path = _trial_table_path(scores, audit_options)
        # every cell of a table in memory may be a file, and asking takes time
        if audit_options.intervals and are_workers_open():
            sources = _single_sources(scores)
            number, n_bytes = max(len(sources) - 1, 1), sum(map(_file_bytes, sources))
            start_workers(number, _load_libraries, work=n_bytes, unit="bytes")
        study = _read_study(scores, audit_options)
        return _audit_study(study, trial_table_path)


@reports_progress
@with_reading_options
def audit_counted(
    scores: Any, merge_counts: Callable[[GroupedTrials], TrialCounts], **options: Any
) -> Audit:
    """Audit the scores of one system whose shards were counted before.

    Scores and errors by speaker come from the sums of the shards; all else that an audit has, from
    the rows.

    Parameters
    ----------
    scores
        As `audit` takes them.
    merge_counts
        Gives the counts of what was read, with their speaker counts.
    **options
        Those of the audit.

    Returns
    -------
    Audit
    """
    study = _read_study(scores, AuditOptions.from_keywords(**options))
    trials = replace(study.inputs.only_list, shard_sum=merge_counts(study.inputs))
    return _audit_study(study._replace(inputs=replace(study.inputs, trial_sets=[trials])))


def speaker_count_thresholds(counts: Any, **options: Any) -> FloatArray:
    """Thresholds of the speaker counts that an audit of counts needs, to say how sure it is.

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
    audit_options = AuditOptions.from_keywords(**options)
    # Options about speakers need the speaker counts, yet to be made; none moves a threshold.
    audit_options = replace(audit_options, limit=(), attempts=None, primary=None, speaker_ids=NEVER)
    study = _read_study(counts, audit_options)
    (trials,) = study.inputs.trial_sets
    (development,) = _read_developments(study.inputs, study.development_sources)
    system = _measure(trials, development, study.design)
    return counted_thresholds(system)


# --- the pipeline -------------------------------------------------------------------------------


def _audit_study(study: _Study, trial_table_path: Path | None = None) -> Audit:
    """Audit what was read; write every trial to a table too, if a path for it is given."""
    tables, record, provenance = _fill_tables(study, trial_table_path)
    # Builders become tables only here, where the counts are out of scope: both may be large.
    give_back_memory()
    finished_tables = {name: tables.pop(name).table() for name in list(tables)}
    return Audit(**finished_tables, record=record, provenance=provenance)


def _file_bytes(source: Any) -> int:
    """Return the size of a file; 0 of what is none."""
    is_path = isinstance(source, (str, os.PathLike))
    return os.path.getsize(source) if is_path and os.path.isfile(source) else 0  # noqa: PTH113, PTH202 - any text


def _load_libraries() -> None:
    """Load what measuring needs, and this module with it."""
    for name in ("scipy.sparse", "scipy.special"):
        import_module(name)


def _audit_searches(scores: Any, audit_options: AuditOptions) -> Audit:
    """Audit searches of identification: trials to everything but what names them."""
    from parivox.auditing.identification import (  # noqa: PLC0415 - with a gallery only
        identification_audit,
        read_grouped_searches,
        trial_options,
    )

    options, groups_file = apply_groups_file(trial_options(audit_options))
    searches = read_grouped_searches(sources_by_name(scores), options, groups_file)
    complete_options = _complete_options(searches.options, groups_file)
    study = _checked_study(searches.inputs, groups_file, None, complete_options, {}, {})
    return identification_audit(_audit_study(study), searches, audit_options)


def _fill_tables(
    study: _Study, trial_table_path: Path | None
) -> tuple[dict[str, TableBuilder], dict[str, Any], list[dict[str, Any]]]:
    """Run every stage of an audit; return the rows of each table, the record and the provenance."""
    inputs, options = study.inputs, study.design.options
    if trial_table_path is not None:
        from parivox.auditing.trial_table import check_trials_known  # noqa: PLC0415 - if asked for

        check_trials_known(inputs.trial_sets)
    if options.compare:
        from parivox.auditing.comparison import check_comparable  # noqa: PLC0415 - if asked for

        check_comparable(inputs.trial_sets)

    # Units are assigned and drawn once, so that all systems, lists and groupings have the same.
    inputs, design = _with_units(inputs, study.design)
    common_trials = None
    if options.compare:
        common_trials = CommonTrials.of(cast("Sequence[TrialSet]", inputs.trial_sets))

    # Of each system: counts, operating points, errors by speaker, draws; then estimates.
    developments = _read_developments(inputs, study.development_sources)
    n_shared_trials = _n_shared_trials(inputs, design)
    measured_systems = shared_outputs(
        _measured_set,
        [
            (trials, development, design, len(developments) > 1)
            for trials, development in zip(inputs.trial_sets, developments, strict=True)
        ],
        work=n_shared_trials,
        unit="trials",
    )
    if len(developments) > 1:
        all_trials: Sequence[TrialSet | TrialCounts] = inputs.trial_sets
        measured_systems = [
            measured._replace(
                system=replace(measured.system, trials=trials, development=development)
            )
            for measured, trials, development in zip(
                measured_systems, all_trials, developments, strict=True
            )
        ]
    systems = [system for system, _ in measured_systems]

    # Systems are compared on the same groups, so all are measured before any row is added.
    judged_by_system = judged_groups([grouping_metrics for _, grouping_metrics in measured_systems])
    inputs_without_trials = replace(inputs, trial_sets=[], reading_options={})
    tables = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    tasks_of_tables = begin_tasks(
        _tables_of_system,
        [
            (measured, judged, inputs_without_trials)
            for measured, judged in zip(measured_systems, judged_by_system, strict=True)
        ],
        work=n_shared_trials,
        unit="trials",
    )
    for tables_of_system in tasks_of_tables.outputs():
        for name, table in tables.items():
            table.append(tables_of_system[name])
            table.pack()  # many systems have many rows
    for first_system, second_system in combinations(systems, 2):
        add_same_score_warnings(tables["data"], first_system, second_system)
    if trial_table_path is not None:
        from parivox.auditing.trial_table import write_trial_table  # noqa: PLC0415 - if asked for

        with stage(f"writing {trial_table_path}"):
            write_trial_table(trial_table_path, systems, options.seed)
    if common_trials is not None:
        from parivox.auditing.comparison import add_comparisons  # noqa: PLC0415 - if asked for

        with stage("comparing"):
            pairs = _compared_pairs(measured_systems, common_trials)
            add_comparisons(tables["comparison"], pairs, options)

    files = study.groups_file, study.threshold_rules
    record = audit_record(options, inputs, systems, *files)
    return tables, record, provenance_entries(inputs, systems, *files)


def _measure(
    trials: TrialSet | TrialCounts, development: TrialSet | TrialCounts | None, design: AuditDesign
) -> System:
    """Return one system on one list, measured up to its draws."""
    orientation = "similarity" if trials.is_similarity else design.options.orientation
    return measure_system(trials, design, development, orientation)


def _measured_set(
    trials: TrialSet | TrialCounts,
    development: TrialSet | TrialCounts | None,
    design: AuditDesign,
    has_others: bool,  # noqa: FBT001 - a task has no names of arguments
) -> MeasuredSystem:
    """Return one of several systems and lists with its estimates; a single one without.

    A single system is estimated grouping by grouping where its rows are made, as many take much
    room. One of several comes without its trials, which would take long to send back.
    """
    with stage(f"measuring {system_name(trials.system, trials.list)}"):
        system = _measure(trials, development, design)
        _check_primary_point(system)
        if not has_others:
            return MeasuredSystem(system, [])
        grouping_metrics = list(metrics_by_grouping(system))
        return MeasuredSystem(
            replace(system, trials=cast("TrialSet", None), development=None), grouping_metrics
        )


def _tables_of_system(
    measured: MeasuredSystem, judged: Sequence[JudgedGroups | None], inputs: GroupedTrials
) -> dict[str, TableBuilder]:
    """Return the rows of one system in every table; `inputs` need no trials."""
    system, grouping_metrics = measured
    tables = {name: TableBuilder(columns) for name, columns in TABLES.items()}
    with stage(f"measuring {system_name(system.trials.system, system.trials.list)}"):
        if grouping_metrics:
            add_rows(system, zip(grouping_metrics, judged, strict=True), tables)
        else:
            add_rows(system, _metrics_with_judged_groups(system), tables)
        _add_data_rows(tables["data"], system, inputs)
    return tables


def _n_shared_trials(inputs: GroupedTrials, design: AuditDesign) -> int:
    """Return the number of trials whose systems workers may measure: none of what is on disk."""
    is_held = all(trials.whole_list is not None for trials in inputs.trial_sets)
    # what else a design has is data, of which the draws of many speakers are large
    has_long_work = (
        design.options.intervals and is_held and is_picklable((design.options, design.metrics))
    )
    return sum(trials.n_trials for trials in inputs.trial_sets) if has_long_work else 0


def _read_developments(
    inputs: GroupedTrials, sources: Mapping[tuple[str, str], Any]
) -> list[TrialSet | TrialCounts | None]:
    """Return the trials that the thresholds of each system and list are found on, if any."""
    developments: list[TrialSet | TrialCounts | None] = []
    for trials in inputs.trial_sets:
        source = sources.get((trials.system, trials.list))
        if source is None:
            developments.append(None)
            continue
        with (
            stage(f"measuring {system_name(trials.system, trials.list)}"),
            stage("reading the development scores"),
        ):
            developments.append(_read_development_trials(source, trials.system, inputs))
    return developments


def _metrics_with_judged_groups(
    system: System,
) -> Iterator[tuple[GroupingMetrics, JudgedGroups | None]]:
    """Yield the metrics of one grouping after the other, with the groups that are judged in it."""
    for grouping_metrics in metrics_by_grouping(system):
        ((judged,),) = judged_groups([[grouping_metrics]])
        yield grouping_metrics, judged


def _add_data_rows(data_table: TableBuilder, system: System, inputs: GroupedTrials) -> None:
    """Add what became of the trials of one system, and what is odd about them."""
    trials, counts, points = system.trials, system.counts, system.points.located
    options = system.design.options
    add_trial_accounts(
        data_table, trials, inputs.speakers, inputs.groupings, counts, points, options
    )
    groupings = [*inputs.groupings, *inputs.within]
    add_data_warnings(data_table, trials, groupings, counts.all_counts, system.development, options)
    if trials.attack_source is not None:
        oddities = spoof_warnings(trials.attack_source, trials.identified, system.attacks)
        add_warnings(data_table, trials, oddities)
        if trials.is_scored:
            add_warnings(data_table, trials, share_warnings(counts.group_counts))
    if trials.identified is not None and trials.identified.first_stage_threshold is not None:
        from parivox.auditing.cascade import add_stage_rows  # noqa: PLC0415 - with --cm only
        from parivox.auditing.tandem import add_tandem_rows  # noqa: PLC0415 - likewise

        add_stage_rows(data_table, trials.identified, inputs.groupings, points)
        add_tandem_rows(data_table, trials.identified, points, options.costs)
    if options.conflicts != "error" and trials.identified is not None:
        add_conflict_effects(
            data_table, trials.identified, inputs.groupings, counts, points, options
        )


def _compared_pairs(
    measured_systems: Sequence[MeasuredSystem], common_trials: CommonTrials
) -> Iterator[tuple[MeasuredSystem, MeasuredSystem, str]]:
    """Yield each two systems and lists, measured on the trials that they are compared on."""
    restricted_systems = {}
    for i, trials in common_trials.restricted.items():
        # The speakers drawn for all trials serve again. The direction of the scores was checked
        # on all trials, so that none is checked here.
        system = measured_systems[i].system
        design = replace(system.design, standardise_over=())
        restricted = measure_system(
            trials, design, system.development, "similarity", has_curves=False
        )
        restricted_systems[i] = MeasuredSystem(restricted, list(metrics_by_grouping(restricted)))
    for i, j in combinations(range(len(measured_systems)), 2):
        if common_trials.is_restricted(i, j):
            yield restricted_systems[i], restricted_systems[j], common_trials.facts(i, j)
        else:
            yield measured_systems[i], measured_systems[j], common_trials.facts(i, j)


# --- what is read -------------------------------------------------------------------------------


class _Study(NamedTuple):
    """What an audit is of, and what it is measured by."""

    inputs: GroupedTrials
    groups_file: GroupsFile | None
    threshold_rules: RuleFile | None
    design: AuditDesign  # without draws
    development_sources: Mapping[tuple[str, str], Any]  # scores to find thresholds on


def _read_study(scores: Any, audit_options: AuditOptions) -> _Study:
    """Read what is audited, and check that the options fit it."""
    audit_options, groups_file = apply_groups_file(audit_options)
    threshold_rules = None
    if audit_options.thresholds is not None:
        from parivox.data.rule_file import read_rules  # noqa: PLC0415 - if asked for

        threshold_rules = read_rules(audit_options.thresholds)
    metrics = _user_metrics(audit_options.metrics)
    counts_files = named_counts_files(scores)
    countermeasure = _countermeasure(audit_options, has_counts=counts_files is not None)
    if threshold_rules is not None:
        _check_rules_apply(scores, has_counts=counts_files is not None)
    if counts_files is None:
        options = _complete_options(audit_options, groups_file)
        sources = sources_by_name(scores)
        development = development_sources(audit_options.threshold_from, sources)
        inputs = read_grouped_trials(
            sources,
            audit_options,
            groups_file,
            standardise=audit_options.standardise,
            rules=threshold_rules,
            countermeasure=countermeasure,
            takes_spoof=True,
        )
        check_trials_shared(scores, cast("Sequence[TrialSet]", inputs.trial_sets))
        lacks_test_speakers = any(trials.n_without_test_speaker for trials in inputs.trial_sets)
        if not audit_options.allocate and lacks_test_speakers:
            by_enrolment = replace(audit_options, allocate=("enrol",))
            options = _complete_options(by_enrolment, groups_file)
    else:
        inputs = read_grouped_counts(counts_files, audit_options)
        options = _complete_options(
            audit_options,
            groups_file,
            by=inputs.names(inputs.groupings),
            within=inputs.names(inputs.within) or None,
            llr=audit_options.llr or inputs.is_llr,
            llr_base=inputs.llr_base(audit_options),
        )
        trials_by_name = {(trials.system, trials.list): trials for trials in inputs.trial_sets}
        development = development_sources(audit_options.threshold_from, trials_by_name)
    _check_rates(options)
    return _checked_study(inputs, groups_file, threshold_rules, options, metrics, development)


def _checked_study(
    inputs: GroupedTrials,
    groups_file: GroupsFile | None,
    threshold_rules: RuleFile | None,
    options: Options,
    metrics: Mapping[str, Metric],
    development: Mapping[tuple[str, str], Any],
) -> _Study:
    """Return what is audited and how, if the options fit what was read."""
    _check_classes(inputs, options)
    _check_groups(inputs, options)
    _check_speakers_known(inputs, options)
    inputs, primary_point = _primary_grouping_first(inputs, options)
    design = AuditDesign(
        groupings=inputs.groupings,
        options=options,
        metrics=metrics,
        within=inputs.within,
        standardise_over=inputs.standardise_over,
        primary_point=primary_point,
    )
    return _Study(inputs, groups_file, threshold_rules, design, development)


def _complete_options(
    audit_options: AuditOptions, groups_file: GroupsFile | None, **counts_options: Any
) -> Options:
    """Return checked options, with the references of the groups file where none are requested.

    Files of counts have groupings and a kind of scores of their own: `counts_options`.
    """
    default_reference = None if groups_file is None else groups_file.reference
    reference = audit_options.reference or default_reference
    return Options(**{**vars(audit_options), "reference": reference, **counts_options})


def _read_development_trials(
    source: Any, system: str, inputs: GroupedTrials
) -> TrialSet | TrialCounts:
    """Return the trials, or counts of them, to find thresholds on."""
    if holds_counts(source):
        from parivox.auditing.counts.merging import read_counts_files  # noqa: PLC0415 - for counts only

        return read_counts_files([((system, "development"), source)])[0]
    return read_trials(
        source,
        system=system,
        list_="development",
        speakers=inputs.speakers,
        allows_unknown_speakers=True,
        **inputs.reading_options,
    )


def _trial_table_path(scores: Any, audit_options: AuditOptions) -> Path | None:
    """Return the path for the table of trials, if one is requested; it may be no file of input."""
    if audit_options.trial_table is None:
        return None
    input_options = [
        name
        for name, field in option_fields(AuditOptions).items()
        if isinstance(field, Unchecked) and name != "trial_table"
    ]
    inputs = [scores, *(getattr(audit_options, name) for name in input_options)]
    sources = [source for sources in inputs for source in _single_sources(sources)]
    from parivox.auditing.trial_table import check_trial_table  # noqa: PLC0415 - if asked for

    return check_trial_table(audit_options.trial_table, sources)


def _single_sources(sources: Any) -> list[Any]:
    """Return what may be files of what a caller gives: one, several, or several by name."""
    if isinstance(sources, dict):
        return [source for nested in sources.values() for source in _single_sources(nested)]
    return list(sources) if isinstance(sources, (list, tuple)) else [sources]


def _primary_grouping_first(inputs: GroupedTrials, options: Options) -> tuple[GroupedTrials, str]:
    """Put the primary grouping before all others; return the operating point too, if named."""
    primary, point = options.primary_of(inputs.names(inputs.groupings))
    groupings = sorted(inputs.groupings, key=lambda grouping: grouping.name != primary)
    return replace(inputs, groupings=groupings), point


def entry_points() -> Iterable[EntryPoint]:
    """Return the metrics that installed packages register."""
    # The standard library's look-up takes longer to import than all packages take to ask.
    heading = f"[{ENTRY_POINTS}]"
    texts = (
        file.read_text(encoding="utf-8", errors="replace")
        for folder in sys.path
        for file in Path(folder).glob("*-info/entry_points.txt")
    )
    if not any(heading in text for text in texts):
        return ()
    from importlib.metadata import entry_points as registered_entry_points  # noqa: PLC0415

    return registered_entry_points(group=ENTRY_POINTS)


def _user_metrics(metrics: Mapping[str, Metric] | None) -> dict[str, Metric]:
    """Return the user's metrics: those given and those registered by entry point."""
    user_metrics: dict[str, Metric] = {}
    for entry_point in entry_points():
        try:
            user_metrics[entry_point.name] = entry_point.load()
        except Exception as error:
            msg = f"metric {entry_point.name!r} of {entry_point.value} cannot be loaded: {error!r}"
            raise ConfigError(msg) from error
    user_metrics.update(metrics or {})
    for name in user_metrics:
        if name in MEASURES or "+" in name:
            msg = f"metric {name!r} has the name of a built-in metric"
            hint = "give the metric another name"
            raise ConfigError(msg, hint)
    return user_metrics


# --- whom uncertainty is measured over ----------------------------------------------------------


def _with_units(inputs: GroupedTrials, design: AuditDesign) -> tuple[GroupedTrials, AuditDesign]:
    """Return the trials with the unit of each speaker, and the design with the units drawn."""
    sources = _speaker_sources(inputs)
    if not design.options.intervals or not sources:
        return inputs, design
    from parivox.auditing.draws import (  # noqa: PLC0415 - with intervals only
        MAX_DRAWN_SPEAKERS,
        draw_speakers,
    )

    groupings = [*inputs.groupings, *inputs.within, *inputs.standardise_over]
    n_speakers = 0 if inputs.speakers is None else len(inputs.speakers.ids)
    assignment = UnitAssignment.of_lists(sources, groupings, n_speakers)
    trial_sets = [trials.with_units(assignment) for trials in inputs.trial_sets]
    inputs = replace(inputs, trial_sets=cast("Sequence[TrialSet]", trial_sets))
    sources = _speaker_sources(inputs)  # those that are measured: what draws sum up is kept there
    draws = None
    if assignment.n_units_in_use(sources) <= MAX_DRAWN_SPEAKERS:
        draws = draw_speakers(sources, inputs.groupings, design.options, assignment)
    return inputs, replace(design, draws=draws)


def _speaker_sources(inputs: GroupedTrials) -> list[TrialSet | SpeakerCounts]:
    """Return what says who takes part in the trials of each system."""
    return [
        trials.speaker_source for trials in inputs.trial_sets if trials.speaker_source is not None
    ]


# --- what is refused ----------------------------------------------------------------------------


def _countermeasure(audit_options: AuditOptions, *, has_counts: bool) -> Countermeasure | None:
    """Return the countermeasure that decides first, if one is given and can be used."""
    if audit_options.cm is None:
        if audit_options.cm_threshold:
            msg = "--cm-threshold needs the scores of a countermeasure"
            hint = "give the scores with --cm"
            raise ConfigError(msg, hint)
        return None
    for name, is_given in (
        ("score counts", has_counts),
        ("--threshold-from", audit_options.threshold_from is not None),
        ("--thresholds", audit_options.thresholds is not None),
        # scores of -inf, where the countermeasure rejects, have no finite cost
        ("--llr", audit_options.llr),
        ("--llr-base", audit_options.llr_base is not None),
    ):
        if is_given:
            msg = f"--cm: cannot be used with {name}"
            hint = "leave out one of them"
            raise ConfigError(msg, hint)
    from parivox.auditing.cascade import read_countermeasure  # noqa: PLC0415 - if asked for

    return read_countermeasure(audit_options.cm, audit_options.cm_threshold)


def _check_rules_apply(scores: Any, *, has_counts: bool) -> None:
    """Refuse a file of thresholds where there are no trials of one system to decide by it."""
    if has_counts:
        reason = "counts contain no trials"
    elif len({system for system, _ in sources_by_name(scores)}) > 1:
        reason = "several systems cannot share thresholds"
    else:
        return
    msg = f"--thresholds: {reason}"
    hint = "give the scores of one system, or leave out --thresholds"
    raise ConfigError(msg, hint)


def _check_speakers_known(inputs: GroupedTrials, options: Options) -> None:
    """Refuse options that need to know the speakers where counts are audited."""
    if any(trials.speaker_source is None for trials in inputs.trial_sets):
        for name in ("limit", "attempts", "primary"):
            if getattr(options, name):
                msg = (
                    f"--{name}: score counts contain no speakers, so neither speakers nor "
                    "uncertainty can be assessed"
                )
                hint = "give the scores instead of counts"
                raise ConfigError(msg, hint)
    has_ids = all(trials.identified is not None for trials in inputs.trial_sets)
    if options.speaker_ids == OFFENDERS and not has_ids:
        msg = f"--speaker-ids {OFFENDERS}: counts contain no ids of speakers"
        hint = "give the scores instead of counts"
        raise ConfigError(msg, hint)


def _check_rates(options: Options) -> None:
    """Refuse operating points of searches, which verification trials do not have."""
    for point in options.points() or []:
        if point.text.partition("=")[0].lower() in IDENTIFICATION_RATES:
            msg = f"--operating-point {point.text}: applies only to identification"
            hint = "give the enrolled persons with --gallery, or use fpr=X or fnr=X"
            raise ConfigError(msg, hint)
    for limit in options.limits:
        if limit.metric in IDENTIFICATION_RATES:
            msg = f"--limit: {limit.metric} applies only to identification"
            hint = "give the enrolled persons with --gallery, or use fpr or fnr"
            raise ConfigError(msg, hint)
    if options.rank != 1:
        msg = "--rank: applies only to identification"
        hint = "give --gallery, or leave --rank out"
        raise ConfigError(msg, hint)


def _check_classes(inputs: GroupedTrials, options: Options) -> None:
    """Refuse lists with and without spoof trials together, and what spoof trials alone define."""
    n_classes = {trials.n_classes for trials in inputs.trial_sets}
    if len(n_classes) > 1:
        msg = "some lists have spoof trials and others do not"
        hint = "audit the lists one by one"
        raise ConfigError(msg, hint)
    if n_classes == {len(RATES)}:
        for cost in options.costs:
            parse_detection_cost(cost.name)


def _check_groups(inputs: GroupedTrials, options: Options) -> None:
    """Refuse references that are no groups, and more groups than intervals can be held of."""
    group_names = sorted({group for grouping in inputs.groupings for group in grouping.groups})
    _check_references(options, group_names)
    _check_limits(inputs, options, group_names)
    if not options.intervals or all(map(no_intervals_reason, inputs.trial_sets)):
        return
    chosen_by = "" if options.by else f" ({inputs.chosen_by})"
    n_strata = 1 + sum(len(grouping.groups) for grouping in inputs.within)
    n_repeats = len(options.allocate) * n_strata
    n_groups = n_repeats * sum(len(grouping.groups) for grouping in inputs.groupings)
    n_groupings = len(inputs.groupings)
    if n_groupings > MAX_GROUPINGS:
        problem = (
            f"{n_groupings:,} groupings{chosen_by} are more than the maximum of {MAX_GROUPINGS}"
        )
    elif n_groups > MAX_GROUPS:
        repeats = " (in all allocations and strata)" if n_repeats > 1 else ""
        problem = (
            f"{n_groups:,} groups{repeats}{chosen_by} are more than the maximum of {MAX_GROUPS:,}"
        )
    else:
        return
    msg = f"--by: {problem} for one audit"
    hint = "name fewer groupings, audit them one after the other, or give --no-intervals"
    raise ConfigError(msg, hint)


def _check_limits(inputs: GroupedTrials, options: Options, group_names: Sequence[str]) -> None:
    """Refuse limits of what is no group, and no attack of which the SFAR could have a limit."""
    attacks = sorted({name for trials in inputs.trial_sets for name in trials.attacks})
    for limit in options.limits:
        is_of_attack = limit.metric == "sfar" and not limit.is_ratio
        if is_of_attack and limit.group in attacks and limit.group in group_names:
            msg = f"--limit: {limit.group!r} is both a group and an attack"
            hint = "rename one of them, for example the attack in the list of trials"
            raise ConfigError(msg, hint)
        if limit.group and limit.group not in group_names:
            msg = f"--limit: {limit.group!r} is not a group"
            hint = name_hint(limit.group, group_names)
            if is_of_attack and attacks:
                msg = f"--limit: {limit.group!r} is neither a group nor an attack"
                hint = name_hint(limit.group, [*group_names, *attacks])
            if limit.group in attacks:
                if is_of_attack:
                    continue
                msg = f"--limit: {limit.group!r} is an attack"
                hint = f"give the largest SFAR of this attack, such as sfar:{limit.group}=5%"
            raise ConfigError(msg, hint)


def _check_references(options: Options, group_names: Sequence[str]) -> None:
    """Refuse references that are neither a rule nor a group."""
    for name in options.reference:
        if name not in REFERENCES and name not in group_names:
            msg = f"--reference {name!r} is neither a group nor pooled, macro, geomean or best"
            hint = name_hint(name, group_names)
            raise ConfigError(msg, hint)


def _check_primary_point(system: System) -> None:
    """Refuse a primary operating point that the system does not have."""
    primary_point = system.design.primary_point
    point_names = [located.point.text for located in system.points.located]
    if primary_point and primary_point not in point_names:
        msg = (
            f"--primary {system.design.options.primary!r}: {primary_point!r} is not an operating "
            f"point of {system.trials.name}"
        )
        hint = f"choose from {', '.join(point_names)}"
        raise ConfigError(msg, hint)
