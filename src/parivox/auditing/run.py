"""The audit, end to end: scores and speakers in, one result out."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from parivox import __version__
from parivox.auditing.account import account_for, with_and_without
from parivox.auditing.compat import TOLD
from parivox.auditing.confounding import confounding
from parivox.auditing.definitions import all_definitions
from parivox.auditing.gather import Reading, gather, gather_counts
from parivox.auditing.given import check_mapping, check_texts, chosen, several, texts
from parivox.auditing.listed import list_checks
from parivox.auditing.measure import Measurement
from parivox.auditing.options import OFFENDERS, REFERENCES, Options, parse_alpha
from parivox.auditing.result import SCHEMA_VERSION, TABLES, Audit
from parivox.auditing.rows import Rows
from parivox.auditing.sources import by_name, count_files, developments
from parivox.auditing.trial_table import check_trial_table, check_trials_known, write_trial_table
from parivox.core.measures import MEASURES
from parivox.errors import ConfigError
from parivox.read.counts_file import holds_counts
from parivox.read.trials import read_trials

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from numpy.typing import ArrayLike

    from parivox.auditing.common_trials import CommonTrials
    from parivox.auditing.compared import Compared
    from parivox.auditing.counted.trial_counts import TrialCounts
    from parivox.auditing.gather import Gathered
    from parivox.auditing.replicated import Draws
    from parivox.core.counts import Curve
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
    trials: Any = None,
    utterances: Any = None,
    models: Any = None,
    failures: Any = None,
    groups: Any = None,
    by: Sequence[str] | str | None = None,
    within: Sequence[str] | str | None = None,
    allocate: Sequence[str] | str = "both",
    operating_points: Sequence[str] | str | None = None,
    threshold_from: Any = None,
    cost: Sequence[str] | str = "voxsrc",
    eer: Sequence[str] | str = "linear",
    rule: Sequence[str] | str = "conservative",
    reference: Sequence[str] | str | None = None,
    zero: Sequence[str] | str = ("none", "jeffreys"),
    alpha: Sequence[float | str] | float | str = 0.5,
    sweep: str | None = None,
    llr: bool = False,
    compat: str | None = None,
    intervals: bool = True,
    interval: str = "speakers",
    pooled_floor: bool = False,
    confidence: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    fixed_threshold: bool = False,
    bins: int | str = 1024,
    margin: float = 1.25,
    limits: Sequence[str] | str = (),
    attempts: int | None = None,
    gates: Sequence[str] | str = (),
    standardise: Sequence[str] | str = (),
    compare: bool = False,
    speaker_ids: str = "never",
    trial_table: str | os.PathLike[str] | None = None,
    metrics: Mapping[str, Metric] | None = None,
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - the command line's word
    orientation: str | None = None,
    conflicts: str = "error",
    progress: Callable[[str], None] | None = None,
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
    trials
        Separate trial list (labels), joined on the pair of ids.
    utterances
        Table of utterances: their speakers, where ids do not tell them, and attributes of the
        recordings such as language, channel or age at recording.
    models
        Table of model, speaker and recording, one row a recording, where enrolments are models.
    failures
        Table of recording, stage (enrol or acquire) and reason: what could not be enrolled or
        acquired.
    groups
        Groups file: which groups are made of which values, and what to compare.
    by
        Groupings: attributes, combinations as in ``gender+nationality``, bands as in
        ``age:18,30,60``; ``enrol.x``, ``test.x`` and ``same:x`` for one side or whether both are
        alike. Without it, every attribute with 2 to 50 values.
    within
        Attributes within whose levels the audit is repeated.
    allocate
        Which group a nontarget trial counts for: both, enrol, test, either.
    operating_points
        Common thresholds: ``threshold=x``, ``fpr=x``, ``fnr=x``, ``eer``, ``min-cdet``, ``bayes``;
        ``deployed`` stands for the decisions or thresholds that the trials tell.
    threshold_from
        Development scores to find the thresholds on; one source, or a mapping like ``scores``.
    cost, eer, rule, reference, zero, alpha, sweep, llr, compat
        See :class:`parivox.auditing.options.Options`.
    intervals
        Whether to say how sure everything is: intervals, noise floors, verdicts.
    interval, pooled_floor, confidence, replicates, seed, fixed_threshold, bins
        How: see :class:`parivox.auditing.options.Options` and the page "How sure".
    margin, limits, attempts, gates
        What verdicts, limits and headline numbers ask for, likewise.
    standardise
        Attributes of trials (``same:gender``, ``trial.duration``) whose levels every group is
        given in equal weight, beside the crude rates.
    compare
        Compare the systems and lists with each other.
    speaker_ids
        ``"offenders"`` adds a table of the speakers behind most errors of each group, by id.
    trial_table
        A CSV or Parquet file to write every trial to, with its errors, groups and numbered
        speakers: for mixed models of your own.
    metrics
        Your own metrics: functions from error counts ``[..., group, threshold]`` to values
        ``[..., group]`` (of the whole curve) or ``[..., group, threshold]`` (at each operating
        point); lower is better. Those of the entry point group ``parivox.metrics`` are added.
    scores_format, columns, id
        Format of the score file, its column names, the id column of the speaker table, where
        they are not found by themselves.
    orientation
        ``"distance"`` negates the scores; ``"similarity"`` takes them as they are whatever
        their AUC.
    conflicts
        ``"error"`` or ``"set-aside"``: what to do with rows that contradict each other.
    progress
        Called with what is being done, as it starts.

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
    check_texts(sweep=sweep, compat=compat, interval=interval, speaker_ids=speaker_ids)
    table = None
    if trial_table is not None:
        inputs = [scores, speakers, trials, utterances, models, failures, groups, threshold_from]
        every = [one for given in inputs for one in _each(given)]
        table = check_trial_table(trial_table, every)
    tell = progress or (lambda _: None)
    reading = Reading.of(
        speakers=speakers,
        trials=trials,
        utterances=utterances,
        models=models,
        failures=failures,
        groups=groups,
        by=by,
        within=within,
        standardise=texts(standardise, "standardise"),
        scores_format=scores_format,
        columns=columns,
        id=id,
        orientation=orientation,
        conflicts=conflicts,
    )
    file = reading.file
    files = count_files(scores)
    counted = None if files is None else gather_counts(files, reading, tell)
    options = Options(
        by=reading.by if counted is None else counted.names(counted.groupings),
        within=reading.within if counted is None else counted.names(counted.levels) or None,
        allocate=texts(allocate, "allocate"),
        operating_points=chosen(operating_points, "operating_points", None),
        cost=texts(cost, "cost"),
        eer=texts(eer, "eer"),
        rule=cast("Any", texts(rule, "rule")),
        reference=chosen(reference, "reference", file.reference if file else None)
        or (REFERENCES if intervals else REFERENCES[1:]),  # others are what verdicts are against
        zero=cast("Any", texts(zero, "zero")),
        alpha=parse_alpha(several(alpha)),
        sweep=sweep,
        llr=llr or (counted is not None and counted.is_llr),
        compat=compat,
        intervals=intervals,
        interval=interval,
        pooled_floor=pooled_floor,
        confidence=confidence,
        replicates=replicates,
        seed=seed,
        fixed_threshold=fixed_threshold,
        bins=0 if isinstance(bins, str) and bins == "exact" else _bins(bins),
        margin=margin,
        limit=texts(limits, "limits"),
        attempts=attempts,
        gate=texts(gates, "gates"),
        standardise=reading.standardise,
        compare=compare,
        speaker_ids=speaker_ids,
    )
    own = _own_metrics(metrics)
    if counted is None:
        sources = by_name(scores)
        development_of = developments(threshold_from, sources)
        found = gather(sources, reading, tell)
    else:
        found = counted
        names = {(one.system, one.list): one for one in found.sets}
        development_of = developments(threshold_from, names)
    _check_references(options, found.groupings)
    _check_speakers_known(found, options)
    if table is not None:
        check_trials_known(found.sets)
    if options.compare:
        from parivox.auditing.common_trials import CommonTrials  # noqa: PLC0415 - on request
        from parivox.auditing.comparison import check_comparable  # noqa: PLC0415 - likewise

        check_comparable(found.sets)
        common = CommonTrials.of(cast("Sequence[TrialSet]", found.sets))
    rows = {name: Rows(columns) for name, columns in TABLES.items()}
    made = _Making(found, options, own, rows, tell, conflicts)
    for one in found.sets:
        made.add(one, development_of.get((one.system, one.list)), orientation)
    if table is not None:
        tell(f"writing {table}")
        write_trial_table(table, made.measured, found.strata, options.seed)
    if options.compare:
        from parivox.auditing.comparison import add_comparisons  # noqa: PLC0415 - on request

        tell("comparing")
        add_comparisons(rows["comparison"], made.pairs(common), options)
    return Audit(
        **{name: block.table() for name, block in rows.items()},
        record=_record(options, found, made, conflicts)
        | ({"groups_file": file.told()} if file is not None else {})
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
        conflicts: str,
    ) -> None:
        self.found, self.options, self.metrics, self.rows = found, options, metrics, rows
        self.tell, self.conflicts = tell, conflicts
        self.draws = _draws(found, options)
        self.measured: list[Measurement] = []
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
        measured = Measurement(
            *(one, found.groupings, options, self.metrics, found_on, way, found.levels),
            draws=self.draws,
            strata=found.strata,
        )
        measured.add_to(rows)
        account_for(
            rows["data"], one, found.people, found.groupings, measured.tally, measured.found
        )
        if self.conflicts == "set-aside" and not one.is_counted:
            tally, points = measured.tally, measured.found
            with_and_without(rows["data"], one, found.groupings, tally, points, options)
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
        wholes = [one.compared for one in self.measured]
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
        found = self.found
        measured = Measurement(
            *(trials, found.groupings, self.options, self.metrics, self.found_on[i]),
            *("similarity", found.levels),  # which way scores go was checked on all trials
            draws=self.draws,
        )
        measured.add_to({name: Rows(columns) for name, columns in TABLES.items()})
        return measured.compared


def _each(given: Any) -> list[Any]:
    """What may be files of what a caller gives: one, several, or several by name."""
    if isinstance(given, dict):
        return [one for part in given.values() for one in _each(part)]
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _bins(bins: Any) -> Any:
    """Bins as given, of which 0 is no number: it stands for exact scores."""
    if isinstance(bins, int) and not isinstance(bins, bool) and bins == 0:
        msg = "--bins is 0; give exact, or a whole number of bins"
        raise ConfigError(msg)
    return bins


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
    from parivox.auditing.replicated import (  # noqa: PLC0415 - not for --no-intervals
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


def _record(options: Options, found: Gathered, made: _Making, conflicts: str) -> dict[str, Any]:
    """How the audit was made, independent of files' names, order and format."""
    return {
        "versions": {"parivox": __version__, "schema": SCHEMA_VERSION},
        "options": {**options.told(), "conflicts": conflicts},
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
    form = "from name to function; give one, as in {'weighted_error': weighted_error}"
    check_mapping(metrics, "metrics", callable, form)
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
