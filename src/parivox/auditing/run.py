"""The audit, end to end: scores and speakers in, one result out."""

from __future__ import annotations

import sys
from dataclasses import replace
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, cast

from parivox import __version__
from parivox.auditing.account import account_for, with_and_without
from parivox.auditing.compat import TOLD
from parivox.auditing.confounding import confounding
from parivox.auditing.definitions import all_definitions
from parivox.auditing.gather import gather, gather_counts, groups_file_of
from parivox.auditing.listed import list_checks
from parivox.auditing.options import OFFENDERS, REFERENCES, Options
from parivox.auditing.result import SCHEMA_VERSION, TABLES, Audit
from parivox.auditing.rows import Rows
from parivox.auditing.sources import by_name, count_files, developments
from parivox.auditing.system import (
    Design,
    System,
    add_rows,
    measure_system,
    measured_cells,
    part_of,
)
from parivox.auditing.trial_table import check_trial_table, check_trials_known, write_trial_table
from parivox.core.measures import MEASURES
from parivox.errors import ConfigError
from parivox.options.audit import AuditOptions
from parivox.options.kinds import Value, options_of
from parivox.read.counts_file import holds_counts
from parivox.read.trials import read_trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from numpy.typing import ArrayLike

    from parivox.auditing.common_trials import CommonTrials
    from parivox.auditing.comparison import Compared
    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.draws import Draws
    from parivox.auditing.gather import Gathered
    from parivox.core.counts import Curve
    from parivox.options.typed import OtherAuditOptions
    from parivox.read.grouping import Grouping
    from parivox.read.groups_file import GroupsFile
    from parivox.read.speakers import Speakers
    from parivox.read.trialset import TrialSet

    Metric = Callable[[Curve], ArrayLike]

__all__ = ["audit"]

ENTRY_POINTS = "parivox.metrics"


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
        A path, ``-`` for standard input, a dataframe, a mapping of arrays, or a mapping from
        ``system`` or ``system@list`` to any of these. Or one or several files of counts, of
        which those of one system and list are added up.
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
        :class:`parivox.options.typed.OtherAuditOptions`.

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
    asked = AuditOptions.of(
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
    table = None
    if asked.trial_table is not None:
        tables = (name for name, one in options_of(AuditOptions).items() if isinstance(one, Value))
        inputs = [scores, *(getattr(asked, name) for name in tables if name != "trial_table")]
        every = [one for given in inputs for one in _each(given)]
        table = check_trial_table(asked.trial_table, every)
    tell = asked.progress or (lambda _: None)
    asked, file = groups_file_of(asked)
    files = count_files(scores)
    counted = None if files is None else gather_counts(files, asked, tell)
    checked = _checked(asked, file, counted)
    own = _own_metrics(asked.metrics)
    if counted is None:
        sources = by_name(scores)
        development_of = developments(asked.threshold_from, sources)
        found = gather(sources, asked, file, tell, standardise=asked.standardise)
    else:
        found = counted
        names = {(one.system, one.list): one for one in found.sets}
        development_of = developments(asked.threshold_from, names)
    _check_references(checked, found.groupings)
    _check_speakers_known(found, checked)
    if table is not None:
        check_trials_known(found.sets)
    if checked.compare:
        from parivox.auditing.common_trials import CommonTrials  # noqa: PLC0415 - on request
        from parivox.auditing.comparison import check_comparable  # noqa: PLC0415 - likewise

        check_comparable(found.sets)
        common = CommonTrials.of(cast("Sequence[TrialSet]", found.sets))
    rows = {name: Rows(columns) for name, columns in TABLES.items()}
    made = _Making(found, checked, own, rows, tell)
    for one in found.sets:
        made.add(one, development_of.get((one.system, one.list)), asked.orientation)
    if table is not None:
        tell(f"writing {table}")
        write_trial_table(table, made.measured, checked.seed)
    if checked.compare:
        from parivox.auditing.comparison import add_comparisons  # noqa: PLC0415 - on request

        tell("comparing")
        add_comparisons(rows["comparison"], made.pairs(common), checked)
    return Audit(
        **{name: block.table() for name, block in rows.items()},
        record=_record(checked, found, made)
        | ({"groups_file": file.record()} if file is not None else {})
        | ({"list_checks": made.unmet} if any(made.unmet.values()) else {})
        | ({"confounding": made.confounded} if any(made.confounded.values()) else {}),
        provenance=_provenance(found.people, [*found.sets, *made.development], file),
    )


class _Making:
    """The rows of an audit in the making, system by system."""

    def __init__(
        self,
        found: Gathered,
        options: Options,
        metrics: Mapping[str, Metric],
        rows: Mapping[str, Rows],
        tell: Callable[[str], None],
    ) -> None:
        self.found, self.options, self.metrics, self.rows = found, options, metrics, rows
        self.tell = tell
        self.design = Design(
            groupings=found.groupings,
            options=options,
            metrics=metrics,
            within=found.levels,
            strata=found.strata,
            draws=_draws(found, options),
        )
        self.measured: list[System] = []
        self.compared: list[Compared | None] = []
        self.development: list[TrialSet | TrialCounts] = []
        self.found_on: list[TrialSet | TrialCounts | None] = []
        self.bounds: dict[str, dict[str, float]] = {}
        self.unmet: dict[str, list[dict[str, Any]]] = {}
        self.confounded: dict[str, list[dict[str, Any]]] = {}

    def add(self, one: TrialSet | TrialCounts, development: Any, orientation: str | None) -> None:
        """Measure one system on one list."""
        found, options, rows = self.found, self.options, self.rows
        name = f"{one.system}@{one.list}" if one.list else one.system
        found_on = None
        if development is not None:
            self.tell(f"reading the development scores of {one.system}")
            found_on = _development(development, one.system, found)
            self.development.append(found_on)
        self.found_on.append(found_on)
        self.tell(f"measuring {name}")
        way = "similarity" if one.is_counted and one.is_similarity else orientation
        measured = measure_system(one, self.design, found_on, way)
        compared = self._to_compare(measured)
        add_rows(measured, rows, compared=compared)
        self.compared.append(compared)
        data, points = rows["data"], measured.points.found
        account_for(data, one, found.people, found.groupings, measured.tally, points)
        if options.conflicts == "set-aside" and not one.is_counted:
            with_and_without(data, one, found.groupings, measured.tally, points, options)
        self.bounds[name] = {"rate": measured.tally.bound, "score": measured.tally.width}
        if measured.sample is not None:
            self.bounds[name]["replicates"] = measured.sample.bound
        self.measured.append(measured)
        if not one.is_counted and found.people is not None:
            self.unmet[name] = list_checks(one, found.people, found.groupings)
        if not one.is_counted and options.intervals:
            self.confounded[name] = confounding(one, found.groupings, options)

    def pairs(self, common: CommonTrials) -> Iterator[tuple[Compared, Compared, str]]:
        """Each two systems and lists, on the trials that they are compared on."""
        wholes = self.compared
        parts = {i: self._compared_on(i, trials) for i, trials in common.restricted.items()}
        for i, j in combinations(range(len(wholes)), 2):
            one, other = (
                (parts[i], parts[j]) if common.is_restricted(i, j) else (wholes[i], wholes[j])
            )
            assert one is not None
            assert other is not None
            yield one, other, common.told(i, j)

    def _compared_on(self, i: int, trials: TrialSet) -> Compared | None:
        """What is compared of some of a system's trials, on the speakers drawn for all."""
        design = replace(self.design, strata=())
        # which way scores go was checked on all trials
        measured = measure_system(trials, design, self.found_on[i], "similarity")
        compared = self._to_compare(measured)
        if compared is not None:
            compared.parts.extend(part_of(measured, one) for one in measured_cells(measured))
        return compared

    def _to_compare(self, measured: System) -> Compared | None:
        """Where what is compared of a system is kept, if it is to be."""
        if not self.options.compare or measured.trials.is_counted:
            return None
        from parivox.auditing.comparison import Compared  # noqa: PLC0415 - on request

        return Compared(measured.trials, measured.points)


def _checked(asked: AuditOptions, file: GroupsFile | None, counted: Gathered | None) -> Options:
    """Options with what the groups file and files of counts say."""
    said: dict[str, Any] = {
        "reference": asked.reference or (file.reference if file is not None else None),
    }
    if counted is not None:
        said["by"] = counted.names(counted.groupings)
        said["within"] = counted.names(counted.levels) or None
        said["llr"] = asked.llr or counted.is_llr
    return Options(**{**vars(asked), **said})


def _each(given: Any) -> list[Any]:
    """What may be files of what a caller gives: one, several, or several by name."""
    if isinstance(given, dict):
        return [one for part in given.values() for one in _each(part)]
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _check_speakers_known(found: Gathered, options: Options) -> None:
    """Refuse to say of counts what takes their speakers."""
    if not any(one.is_counted for one in found.sets):
        return
    for name in ("limit", "attempts"):
        if getattr(options, name):
            msg = (
                f"--{name}: counts do not tell who the speakers are, so that nothing can be said "
                "of people or chance; give the scores"
            )
            raise ConfigError(msg)
    if options.speaker_ids == OFFENDERS:
        msg = f"--speaker-ids {OFFENDERS}: counts hold no ids of speakers; give the scores"
        raise ConfigError(msg)


def _draws(found: Gathered, options: Options) -> Draws | None:
    """The speakers drawn for replicates, if there are to be any."""
    small = [one for one in found.sets if not one.is_counted and one.is_exact]
    if not options.intervals or not small:
        return None
    from parivox.auditing.draws import (  # noqa: PLC0415 - not for --no-intervals
        MOST_SPEAKERS,
        draw_speakers,
    )

    if len({*(int(s) for one in small for s in one.in_use)}) > MOST_SPEAKERS:
        return None
    return draw_speakers(small, found.groupings, options)


def _development(source: Any, system: str, found: Gathered) -> TrialSet | TrialCounts:
    """Trials, or counts of them, to find thresholds on."""
    if holds_counts(source):
        from parivox.auditing.counted.merging import read_all  # noqa: PLC0415 - for files of counts only

        return read_all([((system, "development"), source)])[0]
    return read_trials(
        source,
        system=system,
        list_="development",
        speakers=found.people,
        strangers=True,
        **found.how,
    )


def _record(options: Options, found: Gathered, made: _Making) -> dict[str, Any]:
    """How the audit was made, independent of files' names, order and format."""
    return {
        "versions": {"parivox": __version__, "schema": SCHEMA_VERSION},
        "options": options.recorded(),
        "groupings": [grouping.name for grouping in found.groupings],
        "groupings_chosen_by": found.chosen_by,
        "inputs": [_told(one, [*found.groupings, *found.levels]) for one in found.sets],
        "development": [_told(one, ()) for one in made.development],
        "speakers_content_sha256": found.people.content_sha256 if found.people else None,
        "resolution": {
            "exact": all(one.is_exact for one in found.sets),
            "bounds": made.bounds,
        },
        "definitions": all_definitions(options),
    } | ({"compat": TOLD} if options.compat else {})


def _told(trials: TrialSet | TrialCounts, groupings: Sequence[Grouping]) -> dict[str, Any]:
    told = {
        "system": trials.system,
        "list": trials.list,
        "trials": trials.n_trials,
        "content_sha256": trials.content_sha256,
    }
    if trials.is_counted:
        return told | {"counts_files": len(trials.sources)}
    columns = sorted({key for one in groupings for key in one.keys(trials)})
    if columns:
        told["columns_sha256"] = trials.columns_sha256(columns)
    if trials.recordings is not None and any(one.is_of_recordings for one in groupings):
        told["recordings_sha256"] = trials.recordings.content_sha256
    return told


def _provenance(
    people: Speakers | None, read: Sequence[TrialSet | TrialCounts], file: GroupsFile | None
) -> list[dict[str, Any]]:
    """Every file that was read, once."""
    of_people = [] if people is None else people.provenance
    told = [*of_people, *(entry for one in read for entry in one.provenance)]
    if file is not None:
        told.append(file.provenance)
    shared = {"utterances", "models", "failures"}  # read once, told by every system
    return [e for i, e in enumerate(told) if e["role"] not in shared or e not in told[:i]]


def _check_references(options: Options, groupings: Sequence[Grouping]) -> None:
    """Named groups to compare with must be groups."""
    known = sorted({group for grouping in groupings for group in grouping.groups})
    for name in options.reference:
        if name not in REFERENCES and name not in known:
            near = get_close_matches(name, known, n=3, cutoff=0.3) or known[:8]
            msg = (
                f"--reference {name!r} is neither pooled, macro, geomean or best nor a group; "
                f"nearest groups: {', '.join(near)}"
            )
            raise ConfigError(msg)


def entry_points() -> Iterable[EntryPoint]:
    """Metrics that installed packages register.

    The standard library's look-up takes longer to import than all packages take to ask.
    """
    heading = f"[{ENTRY_POINTS}]"
    told = (
        file.read_text(encoding="utf-8", errors="replace")
        for folder in sys.path
        for file in Path(folder).glob("*-info/entry_points.txt")
    )
    if not any(heading in text for text in told):
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
