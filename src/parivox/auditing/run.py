"""The audit, end to end: scores and speakers in, one result out."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from parivox import __version__
from parivox.auditing.account import account_for, with_and_without
from parivox.auditing.compat import TOLD
from parivox.auditing.counted.trial_counts import SIMILARITY, TrialCounts
from parivox.auditing.definitions import BASE_METRICS, all_definitions
from parivox.auditing.gather import Reading, gather, gather_counts
from parivox.auditing.given import check_mapping, check_texts, chosen, several, texts
from parivox.auditing.measure import Measurement
from parivox.auditing.options import REFERENCES, Options, parse_alpha
from parivox.auditing.result import SCHEMA_VERSION, TABLES, Audit
from parivox.auditing.rows import Rows
from parivox.auditing.sources import by_name, count_files, developments
from parivox.errors import ConfigError
from parivox.tables.counts_file import holds_counts
from parivox.tables.trials import read_trials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from importlib.metadata import EntryPoint

    from numpy.typing import ArrayLike

    from parivox.auditing.gather import Gathered
    from parivox.core.counts import Curve
    from parivox.tables.grouping import Grouping
    from parivox.tables.groups_file import GroupsFile
    from parivox.tables.speakers import Speakers
    from parivox.tables.trialset import TrialSet

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
        Tidy tables ``groups``, ``bias``, ``meta``, ``matrix``, ``operating_points``, ``data``,
        ``det``; rates are fractions in [0, 1].

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.
    """
    check_texts(sweep=sweep, compat=compat)
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
        reference=chosen(reference, "reference", file.reference if file else None) or REFERENCES,
        zero=cast("Any", texts(zero, "zero")),
        alpha=parse_alpha(several(alpha)),
        sweep=sweep,
        llr=llr or (counted is not None and counted.is_llr),
        compat=compat,
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
    sets, groupings, levels = found.sets, found.groupings, found.levels
    _check_references(options, groupings)
    rows = {name: Rows(columns) for name, columns in TABLES.items()}
    bounds: dict[str, dict[str, float]] = {}
    read: list[TrialSet | TrialCounts] = [*sets]
    for one in sets:
        name = f"{one.system}@{one.list}" if one.list else one.system
        development = development_of.get((one.system, one.list))
        found_on = None
        if development is not None:
            tell(f"reading the development scores of {one.system}")
            found_on = _development(development, one.system, found)
            read.append(found_on)
        tell(f"measuring {name}")
        way = orientation
        if isinstance(one, TrialCounts) and SIMILARITY in one.told:
            way = "similarity"
        measured = Measurement(one, groupings, options, own, found_on, way, levels)
        measured.add_to(rows)
        account_for(rows["data"], one, found.people, groupings, measured.tally)
        if conflicts == "set-aside" and not isinstance(one, TrialCounts):
            with_and_without(rows["data"], one, groupings, measured.tally, measured.found, options)
        bounds[name] = {"rate": measured.tally.bound, "score": measured.tally.width}
    return Audit(
        **{name: block.table() for name, block in rows.items()},
        record=_record(options, found, read[len(sets) :], bounds, conflicts)
        | ({"groups_file": file.told()} if file is not None else {}),
        provenance=_provenance(found.people, read, file),
    )


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


def _record(
    options: Options,
    found: Gathered,
    development: Sequence[TrialSet | TrialCounts],
    bounds: Mapping[str, Mapping[str, float]],
    conflicts: str,
) -> dict[str, Any]:
    """How the audit was made, independent of files' names, order and format."""
    return {
        "versions": {"parivox": __version__, "schema": SCHEMA_VERSION},
        "options": {**options.told(), "conflicts": conflicts},
        "groupings": [grouping.name for grouping in found.groupings],
        "groupings_chosen_by": found.chosen_by,
        "inputs": [_told(one, [*found.groupings, *found.levels]) for one in found.sets],
        "development": [_told(one, ()) for one in development],
        "speakers_content_sha256": found.people.content_sha256 if found.people else None,
        "resolution": {
            "exact": all(one.is_exact for one in found.sets),
            "bounds": dict(bounds),
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
    if isinstance(trials, TrialCounts):
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
        if name in BASE_METRICS or "+" in name:
            msg = f"metric {name!r} would stand for a built-in one; give it another name"
            raise ConfigError(msg)
    return found
