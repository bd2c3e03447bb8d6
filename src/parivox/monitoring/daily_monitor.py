"""Monitoring: the trials of a day are counted into a stream, and its groups are tested."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import TableBuilder, check_verification, load, read_one_system
from parivox.data.site_key import KDF, NO_KDF, SiteKey, key_file
from parivox.data.source_bytes import with_reading_options
from parivox.data.table import Table
from parivox.data.trial_checks import COUNTED_ONCE, LEFT_OUT, DataNote
from parivox.errors import ConfigError, DataError
from parivox.facts import VALUES_COLUMN, with_values
from parivox.monitoring.daily_tests import (
    BASELINE,
    BEFORE,
    LIMIT,
    MIN_SPEAKERS,
    OTHERS,
    group_tests,
)
from parivox.monitoring.state_checks import TEST_COLUMNS
from parivox.monitoring.stream import (
    DAY_SD,
    DAYS_PER_WEEK,
    MAX_START_WEEKS,
    Day,
    Stream,
    read_stream,
    state_lock,
    state_sha256,
)
from parivox.options.limits import parse_limits
from parivox.options.monitor import MonitorOptions
from parivox.runtime.progress import reports_progress, stage
from parivox.shown import NotebookView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from parivox.data.grouping import Grouping
    from parivox.data.trial_set import TrialSet
    from parivox.runtime.progress import Progress
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )

EXAMPLE = """\
call,customer,decision
c000001,000017,accept
c000002,000017,reject
c000003,000023,accept
"""
WEEK_COLUMNS = {"group": "str", "week": "str", "days": "int", "trials": "int", "errors": "int"}
_DATE_PATTERN = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


@dataclass(frozen=True, eq=False, repr=False)
class Monitor(NotebookView):
    """A stream of days as it stands.

    Attributes
    ----------
    groups : Table
        Each group against everyone else, its past or an audit, and a limit, since the week of most
        evidence: counts, FNR, the ratio with limits that hold on every day and for all groups at
        once, and the chance of such evidence without any difference. Of an alarm the day from which
        errors are most beyond the reference (``changed``), at how many errors it would be silent
        (``silent_at``), and the share of impostors among the trials that would explain it
        (``explained_by``). ``reason`` says why nothing can be told.
    alarms : Table
        The same rows on the day on which each alarm was raised (``day``); an alarm stays.
    weeks : Table
        Trials and errors of each group and week.
    record : dict
        What was fixed when the stream was begun, its days, speakers, and what was left out of the
        last one.
    """

    groups: Table
    alarms: Table
    weeks: Table
    record: dict[str, Any]

    def __repr__(self) -> str:
        return f"<Monitor of {self.record['days']} days, {len(self.alarms)} alarms>"

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        tables = {name: getattr(self, name).to_dict() for name in ("groups", "alarms", "weeks")}
        return {"record": self.record, "tables": tables}

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


@reports_progress
@with_reading_options
def monitor(
    scores: ScoreSource | None = None,
    *,
    state: str | os.PathLike[str],
    key: str | os.PathLike[str] | None = None,
    new_key: str | os.PathLike[str] | None = None,
    day: str | None = None,
    skipped: bool = False,
    new: bool = False,
    speakers: SpeakerSource | None = None,
    by: Sequence[str] | str | None = None,
    limits: Sequence[str] | str = (),
    baseline: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    margin: float = 1.25,
    day_sd: float = DAY_SD,
    impostors: float = 0.0,
    groups: DocumentSource | None = None,
    trials: TableSource | None = None,
    utterances: UtteranceSource | None = None,
    models: TableSource | None = None,
    only: Sequence[str] | str = (),
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - as the option is called
    encoding: str | None = None,
    quotes: str | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - taken by `reports_progress`
) -> Monitor:
    """Count the decisions of a day, and say whether any group fares worse than it did or others do.

    See docs/methods/monitoring.md: alarms may be looked at every day.

    Parameters
    ----------
    scores
        Genuine trials of one day with their decisions: a path, a dataframe, a mapping of arrays;
        without any, the stream as it stands.
    state
        File of what was counted so far.
    new
        Begin a stream with this day; otherwise the state must be there.
    key
        File of a secret, by which speakers get other names.
    new_key
        The same of a new stream by a new random secret, which is written to this file.
    day
        Date of the trials, ``YYYY-MM-DD``; by default the one in the name of the file.
    skipped
        Whether nothing is known of the days since the last one.
    speakers, by, groups, trials, utterances, models, only
        As of `audit`; one grouping, of speakers.
    limits
        ``fnr=5%``: what the FNR of a group may be at most.
    baseline
        A saved audit that rates are held against, in the place of the days before.
    alpha
        Chance that there is ever a false alarm.
    margin
        Largest ratio that is no reason for an alarm.
    day_sd
        Variation of a group's FNR from day to day that raises no alarm: standard deviation relative
        to its mean.
    impostors
        Share of trials that may be no genuine ones.
    scores_format, columns, id, encoding, quotes, orientation, conflicts, progress
        As of `audit`.

    Returns
    -------
    Monitor
        Tables ``groups``, ``alarms`` and ``weeks``.

    Raises
    ------
    ConfigError
        If an option is wrong, or other than when the stream was begun; if the day is counted
        already, comes too early, or leaves days out; if the state is of another key.
    DataError
        If a file does not hold what it must.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "key").write_text("0123456789abcdef")
    >>> calls = {"call": ["1", "2"], "customer": ["a", "b"], "decision": ["accept", "reject"]}
    >>> people = {"customer": ["a", "b"], "gender": ["f", "m"]}
    >>> monitor(
    ...     calls,
    ...     day="2026-11-22",
    ...     state=home / "state",
    ...     new=True,
    ...     key=home / "key",
    ...     speakers=people,
    ...     by="gender",
    ... )
    <Monitor of 1 days, 0 alarms>
    """
    options = MonitorOptions.from_keywords(
        state=state,
        key=key,
        new_key=new_key,
        day=day,
        skipped=skipped,
        new=new,
        speakers=speakers,
        by=by,
        limits=limits,
        baseline=baseline,
        alpha=alpha,
        margin=margin,
        day_sd=day_sd,
        impostors=impostors,
        groups=groups,
        trials=trials,
        utterances=utterances,
        models=models,
        only=only,
        scores_format=scores_format,
        columns=columns,
        id=id,
        encoding=encoding,
        quotes=quotes,
        orientation=orientation,
        conflicts=conflicts,
    )
    name = os.fsdecode(options.state)
    if scores is None:
        if options.new:
            msg = "--new needs the trials of the first day"
            hint = "name the file of these trials"
            raise ConfigError(msg, hint)
        stream = read_stream(name, options.key)
        if stream is None:
            msg = f"--state {name}: file not found"
            hint = "check the path"
            raise ConfigError(msg, hint)
        rows = group_tests(stream)
        return _monitor_of(_with_alarms(stream, rows), rows, {})
    if options.new_key is not None and not options.new:
        msg = "--new-key applies only to a new stream"
        hint = "add --new, or give the stream's own --key"
        raise ConfigError(msg, hint)
    with state_lock(name), key_file(options.key, options.new_key) as file:
        return _count_day(scores, replace(options, key=file, new_key=None), name)


def _count_day(scores: Any, options: MonitorOptions, name: str) -> Monitor:
    """Count a day into a state file that this process has locked, and test all groups."""
    previous_sha256 = state_sha256(name)
    stream = read_stream(name, None if options.new else options.key)
    if stream is None and not options.new:
        msg = f"--state {name}: file not found"
        hint = "check the path, or start a stream with --new"
        raise ConfigError(msg, hint)
    if stream is not None and options.new:
        msg = f"--state {name}: exists already"
        hint = "leave out --new, or name another file"
        raise ConfigError(msg, hint)
    if options.key is None:
        msg = "missing option --key"
        hint = (
            "name the file of the secret key for pseudonyms of speakers, or create a key with "
            "--new-key FILE"
        )
        raise ConfigError(msg, hint)
    kdf = KDF if stream is None else stream.settings.get("kdf", NO_KDF)
    site = SiteKey.read(options.key, kdf)
    trial_set, grouping = _read_trials(scores, options)
    settings = _stream_settings(options, site, grouping)
    stream = Stream.empty(settings) if stream is None else stream
    _check_same_settings(stream.settings, settings, name)
    date_of_trials = _day_of_trials(options, trial_set.name)
    day, notes = _count_trials(trial_set, grouping, stream.groups, site, date_of_trials)
    stream.check_next(day.day, day.sha256, trial_set.name, skipped=options.skipped)
    stream, n_moved = stream.with_day(day)
    notes.append(DataNote("speakers", "moved_customers", n_moved))
    with stage("watching"):
        rows = group_tests(stream)
    stream = _with_alarms(stream, rows)
    size = stream.write(name, previous_sha256, site)
    left_out = [
        {"item": note.item, "count": note.count, "note": note.note} for note in notes if note.count
    ]
    return _monitor_of(stream, rows, {"bytes": size, "left_out": left_out})


def _with_alarms(stream: Stream, rows: Sequence[Mapping[str, Any]]) -> Stream:
    """Return the stream with the alarms of its last day that it does not list."""
    raised_before = {(alarm["against"], alarm["group"]) for alarm in stream.alarms}
    alarms = [
        {"day": stream.days[-1]["day"], **row}
        for row in rows
        if row["is_alarm"] and (row["against"], row["group"]) not in raised_before
    ]
    return replace(stream, alarms=[*stream.alarms, *alarms])


def _read_trials(scores: Any, options: MonitorOptions) -> tuple[TrialSet, Grouping]:
    """Return the trials of a day, and the one grouping of their speakers."""
    gathered = read_one_system(
        scores, options, "but monitoring counts errors by speaker; give the trials", may_lack=True
    )
    trial_set, (grouping,) = gathered.only_list, gathered.groupings
    if not trial_set.has_decisions:
        msg = f"{trial_set.name}: contains scores, but no decisions"
        hint = "add a column of decisions (accept, reject) or of thresholds"
        raise DataError(msg, hint)
    if grouping.speaker_codes is None:
        msg = f"--by {grouping.name}: is not an attribute of speakers"
        hint = "name an attribute in --speakers"
        raise ConfigError(msg, hint)
    return trial_set, grouping


def _stream_settings(options: MonitorOptions, site: SiteKey, grouping: Grouping) -> dict[str, Any]:
    """Return the settings that are fixed when a stream begins."""
    parsed_limits = parse_limits(options.limit)
    # a stream tests the FNR of every group, so only such a limit fits: no ratio, no single group
    limits = [
        limit.maximum
        for limit in parsed_limits
        if limit.metric == "fnr" and not limit.is_ratio and not limit.group
    ]
    if len(limits) < len(parsed_limits) or len(parsed_limits) > 1:
        words = ", ".join(options.limit)
        msg = (
            f"--limit {words}: a stream has one limit, for the FNR of every group, for example "
            "fnr=5%"
        )
        raise ConfigError(msg)
    rates = {} if options.baseline is None else _baseline_rates(options.baseline, grouping)
    assert grouping.speaker_codes is not None
    n_by_group = np.bincount(grouping.speaker_codes + 1)[1:].tolist()
    sizes = dict(zip(grouping.groups, n_by_group, strict=False)) | dict(grouping.unused_groups)
    large_groups = sorted(group for group, n in sizes.items() if n >= MIN_SPEAKERS)
    # groups that are too small are not watched, as they would only raise the number of tests
    watched = large_groups or sorted(sizes)
    against = [OTHERS, BASELINE if rates else BEFORE]
    if limits:
        against.append(LIMIT)
    return {
        "site": site.site,
        "kdf": site.kdf,
        "by": grouping.name,
        "groups": sorted(sizes),
        "watched": watched,
        "against": against,
        "limit": limits[0] if limits else None,
        "baseline": rates,
        "alpha": options.alpha,
        "margin": options.margin,
        "day_sd": options.day_sd,
        "impostors": options.impostors,
    }


def _baseline_rates(path: str | os.PathLike[str], grouping: Grouping) -> dict[str, list[float]]:
    """Return FNR and its standard error for each group of a saved audit."""
    audit, name = load(path), f"--baseline {os.fsdecode(path)}"
    check_verification(audit, name, "give an audit of verification")
    rows = audit.groups.subset(grouping=grouping.name, metric="fnr", within="").rows()
    if not rows:
        groupings = ", ".join(audit.record["groupings"])
        msg = f"{name}: has FNR by {groupings}, not by {grouping.name}"
        hint = "name one of these with --by"
        raise ConfigError(msg, hint)
    systems = list(dict.fromkeys((row["system"], row["list"]) for row in rows))
    if len(systems) > 1:
        msg = f"{name}: contains {len(systems)} systems or lists"
        hint = "give an audit of one system and list"
        raise ConfigError(msg, hint)
    point = rows[0]["operating_point"]
    return {
        row["group"]: [row["value"], row["se"]]
        for row in rows
        if row["operating_point"] == point and row["value"] is not None and row["se"] is not None
    }


def _check_same_settings(fixed: Mapping[str, Any], current: Mapping[str, Any], name: str) -> None:
    """Refuse settings that differ from those of the stream; groups may have been added."""
    for setting in ("by", "limit", "baseline", "alpha", "margin", "day_sd", "impostors"):
        if fixed[setting] != current[setting]:
            fixed_text = "other rates" if setting == "baseline" else fixed[setting]
            option = f"--{setting.replace('_', '-')}"
            beginning = f"without {option}" if fixed_text is None else f"with {option} {fixed_text}"
            msg = f"--state {name}: was started {beginning}"
            hint = "give the same value, or start another --state"
            raise ConfigError(msg, hint)


def _day_of_trials(options: MonitorOptions, name: str) -> date:
    """Return the day of the trials, from the option or the name of the file."""
    dates = [options.day] if options.day is not None else _DATE_PATTERN.findall(name)
    try:
        (text,) = dates
        return date.fromisoformat(text)
    except ValueError:
        problem = (
            f"--day {options.day}: is not a date" if options.day else (f"{name}: contains no date")
        )
        hint = "give a date, for example --day 2026-11-22"
        raise ConfigError(problem, hint) from None


def _count_trials(
    trial_set: TrialSet, grouping: Grouping, groups: Sequence[str], site: SiteKey, day: date
) -> tuple[Day, list[DataNote]]:
    """Return genuine, decided trials by speaker, and the numbers of excluded ones by reason."""
    speakers, of_speaker = trial_set.speaker_table, grouping.speaker_codes
    assert speakers is not None
    assert of_speaker is not None
    n_speakers = len(speakers.ids)
    trials, errors = np.zeros(n_speakers, dtype=np.int64), np.zeros(n_speakers, dtype=np.int64)
    n_impostors = n_undecided = n_contradicting = n_failed = 0
    for partition in trial_set.partitions():
        decided = trial_set.decisions(partition)
        n_contradicting += int(partition.conflict.sum())
        n_impostors += int((~partition.target & ~partition.conflict).sum())
        is_genuine = partition.target & ~partition.conflict
        n_undecided += int((is_genuine & (decided < 0)).sum())
        n_failed += 0 if partition.failed is None else len(partition.failed)
        is_genuine &= decided >= 0
        speaker = trial_set.utterance_speaker[partition.enrol[is_genuine]]
        trials += np.bincount(speaker, minlength=n_speakers)
        is_error = decided[is_genuine] == 0
        errors += np.bincount(speaker, is_error, minlength=n_speakers).astype(np.int64)
    used_speakers = np.flatnonzero(trials)
    if not used_speakers.size:
        msg = f"{trial_set.name}: contains no target trials with decisions"
        hint = "give the decisions of the day"
        raise DataError(msg, hint)
    group_codes = {group: i for i, group in enumerate(groups)}
    # the last code is that of speakers in no group, whose index in the grouping is -1
    codes = np.array([*(group_codes.get(group, -1) for group in grouping.groups), -1])
    speaker_groups = codes[of_speaker[used_speakers]]
    n_without_group = int(trials[used_speakers][speaker_groups < 0].sum())
    counts_by_item = {
        "impostor_trials": n_impostors,
        "day_trials_without_decision": n_undecided,
        "contradicting_trials": n_contradicting,
        "failed_trials": n_failed,
    }
    notes = [DataNote("scores", item, count) for item, count in counts_by_item.items()]
    notes += [
        note
        for note in trial_set.data_notes
        if note.source == "scores" and note.note in {LEFT_OUT, COUNTED_ONCE}
    ]
    notes.append(DataNote("scores", "trials_of_customers_without_group", n_without_group))
    pseudonyms = site.pseudonyms([speakers.ids[i] for i in used_speakers])
    names = np.array([int(pseudonym, 16) for pseudonym in pseudonyms], np.uint64)
    order = np.argsort(names)
    used_speakers = used_speakers[order]
    counted = Day(
        day=day,
        sha256=site.mark(trial_set.content_sha256),
        name=names[order],
        group=speaker_groups[order],
        trials=trials[used_speakers],
        errors=errors[used_speakers],
    )
    return counted, notes


def _monitor_of(stream: Stream, rows: list[dict[str, Any]], details: Mapping[str, Any]) -> Monitor:
    """Return the result of a stream: tables of groups, alarms and weeks, and its record."""
    first_day = stream.dates[0]
    # calendar weeks of the stream, not its test weeks, which end with MAX_START_WEEKS
    week = np.array([(day - first_day).days // DAYS_PER_WEEK for day in stream.dates])
    weeks = TableBuilder(WEEK_COLUMNS)
    for week_number in np.unique(week).tolist():
        is_in_week = week == week_number
        weeks.add(
            group=stream.groups,
            week=(first_day + timedelta(days=DAYS_PER_WEEK * week_number)).isoformat(),
            days=int(is_in_week.sum()),
            trials=stream.trials[is_in_week, :-1].sum(axis=0),
            errors=stream.errors[is_in_week, :-1].sum(axis=0),
        )
    group_columns = {**TEST_COLUMNS, VALUES_COLUMN: "str"}
    alarm_columns = {"day": "str", **TEST_COLUMNS}
    record = {
        "settings": dict(stream.settings),
        "first": stream.days[0]["day"],
        "last": stream.days[-1]["day"],
        "days": len(stream.days),
        "trials": int(stream.trials.sum()),
        "errors": int(stream.errors.sum()),
        "speakers": int(stream.name.size),
        "weeks_left": max(MAX_START_WEEKS - 1 - int(week[-1]), 0),
        **details,
    }
    return Monitor(
        Table.of(
            with_values(
                {name: [row[name] for row in rows] for name in TEST_COLUMNS}, group_columns
            ),
            group_columns,
        ),
        Table.of(
            {name: [row[name] for row in stream.alarms] for name in alarm_columns}, alarm_columns
        ),
        weeks.table(),
        record,
    )
