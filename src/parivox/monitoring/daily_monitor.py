"""A day's trials counted into a stream, and the stream watched."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import TableBuilder, load, read_one_system
from parivox.data.site_key import KDF, NO_KDF, SiteKey, key_file
from parivox.data.source_bytes import in_encoding_given
from parivox.data.table import Table
from parivox.data.trial_set import TrialSet
from parivox.errors import ConfigError, DataError
from parivox.monitoring.daily_tests import (
    BASELINE,
    BEFORE,
    LIMIT,
    MIN_SPEAKERS,
    OTHERS,
    TEST_COLUMNS,
    group_tests,
)
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
    from parivox.runtime.progress import Progress

EXAMPLE = """\
call,customer,decision
c000001,000017,accept
c000002,000017,reject
c000003,000023,accept
"""
WEEK_COLUMNS = {"group": "str", "week": "str", "days": "int", "trials": "int", "errors": "int"}
_DATE = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")


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
@in_encoding_given
def monitor(
    scores: Any = None,
    *,
    state: str | os.PathLike[str],
    key: str | os.PathLike[str] | None = None,
    new_key: str | os.PathLike[str] | None = None,
    day: str | None = None,
    skipped: bool = False,
    new: bool = False,
    speakers: Any = None,
    by: Sequence[str] | str | None = None,
    limits: Sequence[str] | str = (),
    baseline: str | os.PathLike[str] | None = None,
    alpha: float = 0.05,
    margin: float = 1.25,
    day_sd: float = DAY_SD,
    impostors: float = 0.0,
    groups: Any = None,
    trials: Any = None,
    utterances: Any = None,
    models: Any = None,
    only: Sequence[str] | str = (),
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - as the option is called
    encoding: str | None = None,
    quotes: str | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
    progress: Callable[[Progress], None] | None = None,  # noqa: ARG001 - taken by `telling`
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
    asked = MonitorOptions.from_keywords(
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
    name = os.fsdecode(asked.state)
    if scores is None:
        if asked.new:
            msg = "--new: begins a stream with the trials of a day; name their file"
            raise ConfigError(msg)
        stream = read_stream(name)
        if stream is None:
            msg = f"--state {name}: file not found; check the path"
            raise ConfigError(msg)
        return _made(stream, group_tests(stream), {})
    if asked.new_key is not None and not asked.new:
        msg = "--new-key: is for a new stream; add --new, or give the stream's own --key"
        raise ConfigError(msg)
    with state_lock(name), key_file(asked.key, asked.new_key) as file:
        return _counted(scores, replace(asked, key=file, new_key=None), name)


def _counted(scores: Any, asked: MonitorOptions, name: str) -> Monitor:
    """Count a day into a state that nobody else writes meanwhile."""
    before = state_sha256(name)
    stream = read_stream(name)
    if stream is None and not asked.new:
        msg = f"--state {name}: file not found; check the path, or begin a stream with --new"
        raise ConfigError(msg)
    if stream is not None and asked.new:
        msg = f"--state {name}: exists already; leave out --new, or name another file"
        raise ConfigError(msg)
    if asked.key is None:
        msg = (
            "--key: is missing; name the file of a secret, by which speakers get other names, or "
            "make one with --new-key FILE"
        )
        raise ConfigError(msg)
    kdf = KDF if stream is None else stream.settings.get("kdf", NO_KDF)
    site = SiteKey.read(asked.key, kdf)
    read, grouping = _read(scores, asked)
    settings = _settings(asked, site, grouping)
    stream = Stream.begun(settings) if stream is None else stream
    _check_settings(stream.settings, settings, name)
    new, notes = _day(read, grouping, stream.groups, site, _date(asked, read.name))
    stream.check_next(new.day, new.sha256, read.name, skipped=asked.skipped)
    stream, moved = stream.with_day(new)
    notes["customers in another group than before, who stay where they were"] = moved
    with stage("watching"):
        rows = group_tests(stream)
    raised = {(one["against"], one["group"]) for one in stream.alarms}
    alarms = [
        {"day": new.day.isoformat(), **row}
        for row in rows
        if row["is_alarm"] and (row["against"], row["group"]) not in raised
    ]
    stream = replace(stream, alarms=[*stream.alarms, *alarms])
    size = stream.write(name, before)
    return _made(stream, rows, {"bytes": size, "left_out": {k: n for k, n in notes.items() if n}})


def _read(scores: Any, asked: MonitorOptions) -> tuple[TrialSet, Grouping]:
    """The trials of a day, and the one grouping of their speakers."""
    read = read_one_system(scores, asked, "who come again; give the trials", may_lack=True)
    (found,), (grouping,) = read.trial_sets, read.groupings
    assert isinstance(found, TrialSet)
    if not found.has_decisions:
        msg = (
            f"{found.name}: holds scores and no decisions; give a column of decisions (accept, "
            "reject), or of the threshold of each trial"
        )
        raise DataError(msg)
    if grouping.of_speaker is None:
        msg = f"--by {grouping.name}: is not of speakers, who come again; name what --speakers has"
        raise ConfigError(msg)
    return found, grouping


def _settings(asked: MonitorOptions, site: SiteKey, grouping: Grouping) -> dict[str, Any]:
    """What is fixed when a stream is begun."""
    given = parse_limits(asked.limit)
    limits = [one.maximum for one in given if one == ("fnr", one.maximum, False, "")]
    if len(limits) < len(given) or len(given) > 1:
        words = ", ".join(asked.limit)
        msg = f"--limit {words}: a stream has one limit, of the FNR of every group, as in fnr=5%"
        raise ConfigError(msg)
    rates = {} if asked.baseline is None else _baseline(asked.baseline, grouping)
    assert grouping.of_speaker is not None
    known = np.bincount(grouping.of_speaker + 1)[1:].tolist()
    sizes = dict(zip(grouping.groups, known, strict=False)) | dict(grouping.unused)
    watched = sorted(group for group, n in sizes.items() if n >= MIN_SPEAKERS) or sorted(sizes)
    against = [OTHERS, BASELINE if rates else BEFORE, *[LIMIT] * bool(limits)]
    return {
        "site": site.site,
        "kdf": site.kdf,
        "by": grouping.name,
        "groups": sorted(sizes),
        "watched": watched,
        "against": against,
        "limit": limits[0] if limits else None,
        "baseline": rates,
        "alpha": asked.alpha,
        "margin": asked.margin,
        "day_sd": asked.day_sd,
        "impostors": asked.impostors,
    }


def _baseline(path: str | os.PathLike[str], grouping: Grouping) -> dict[str, list[float]]:
    """FNR of each group in an audit, and its standard error."""
    audit, name = load(path), f"--baseline {os.fsdecode(path)}"
    rows = audit.groups.where(grouping=grouping.name, metric="fnr", within="").rows()
    if not rows:
        there = ", ".join(audit.record["groupings"])
        msg = f"{name}: has FNR by {there}, not by {grouping.name}; name one of these with --by"
        raise ConfigError(msg)
    systems = list(dict.fromkeys((row["system"], row["list"]) for row in rows))
    if len(systems) > 1:
        msg = f"{name}: is of {len(systems)} systems or lists; give an audit of one"
        raise ConfigError(msg)
    point = rows[0]["operating_point"]
    return {
        row["group"]: [row["value"], row["se"]]
        for row in rows
        if row["operating_point"] == point and row["value"] is not None and row["se"] is not None
    }


def _check_settings(begun: Mapping[str, Any], now: Mapping[str, Any], name: str) -> None:
    """Refuse what is other than when the stream was begun; groups may have come since."""
    if begun["site"] != now["site"]:
        msg = f"--state {name}: was begun with another key; give that --key, or another --state"
        raise ConfigError(msg)
    for what in ("by", "limit", "baseline", "alpha", "margin", "day_sd", "impostors"):
        if begun[what] != now[what]:
            was = "other rates" if what == "baseline" else begun[what]
            option = f"--{what.replace('_', '-')}"
            how = f"without {option}" if was is None else f"with {option} {was}"
            msg = f"--state {name}: was begun {how}; give the same, or begin another --state"
            raise ConfigError(msg)


def _date(asked: MonitorOptions, name: str) -> date:
    """The day of the trials."""
    found = [asked.day] if asked.day is not None else _DATE.findall(name)
    try:
        (text,) = found
        return date.fromisoformat(text)
    except ValueError:
        told = f"--day {asked.day}: is not a date" if asked.day else f"{name}: tells no day"
        msg = f"{told}; give one, as in --day 2026-11-22"
        raise ConfigError(msg) from None


def _day(
    read: TrialSet, grouping: Grouping, groups: Sequence[str], site: SiteKey, day: date
) -> tuple[Day, dict[str, int]]:
    """Genuine, decided trials by speaker, and how many others there were."""
    people, of_speaker = read.people, grouping.of_speaker
    assert people is not None
    assert of_speaker is not None
    n = len(people.ids)
    trials, errors = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    notes = dict.fromkeys(("impostors'", "without decision", "contradicting", "failed"), 0)
    for part in read.partitions():
        decided = read.decided(part)
        notes["contradicting"] += int(part.conflict.sum())
        notes["impostors'"] += int((~part.target & ~part.conflict).sum())
        own = part.target & ~part.conflict
        notes["without decision"] += int((own & (decided < 0)).sum())
        notes["failed"] += 0 if part.failed is None else len(part.failed)
        own &= decided >= 0
        who = read.utterance_speaker[part.enrol[own]]
        trials += np.bincount(who, minlength=n)
        errors += np.bincount(who, decided[own] == 0, minlength=n).astype(np.int64)
    used = np.flatnonzero(trials)
    if not used.size:
        msg = f"{read.name}: holds no genuine trial with a decision; give those of the day"
        raise DataError(msg)
    place = {group: i for i, group in enumerate(groups)}
    codes = np.array([*(place.get(one, -1) for one in grouping.groups), -1])
    group = codes[of_speaker[used]]
    for one in read.data:
        if one.source == "scores" and one.note in {"left out", "counted once"}:
            notes[f"{one.item} ({one.note})"] = one.count
    notes["of customers in none of the groups"] = int(trials[used][group < 0].sum())
    names = np.array([int(one, 16) for one in site.names([people.ids[i] for i in used])], np.uint64)
    order = np.argsort(names)
    used, sha256 = used[order], site.mark(read.content_sha256)
    return Day(day, sha256, names[order], group[order], trials[used], errors[used]), notes


def _made(stream: Stream, rows: list[dict[str, Any]], more: Mapping[str, Any]) -> Monitor:
    first = stream.dates[0]
    week = np.array([(one - first).days // DAYS_PER_WEEK for one in stream.dates])
    weeks = TableBuilder(WEEK_COLUMNS)
    for one in np.unique(week).tolist():
        at = week == one
        weeks.add(
            group=stream.groups,
            week=(first + timedelta(days=DAYS_PER_WEEK * one)).isoformat(),
            days=int(at.sum()),
            trials=stream.trials[at, :-1].sum(axis=0),
            errors=stream.errors[at, :-1].sum(axis=0),
        )
    alarmed = {"day": "str", **TEST_COLUMNS}
    record = {
        "settings": dict(stream.settings),
        "first": stream.days[0]["day"],
        "last": stream.days[-1]["day"],
        "days": len(stream.days),
        "trials": int(stream.trials.sum()),
        "errors": int(stream.errors.sum()),
        "speakers": int(stream.name.size),
        "weeks_left": max(MAX_START_WEEKS - 1 - int(week[-1]), 0),
        **more,
    }
    return Monitor(
        Table.of({name: [row[name] for row in rows] for name in TEST_COLUMNS}, TEST_COLUMNS),
        Table.of({name: [row[name] for row in stream.alarms] for name in alarmed}, alarmed),
        weeks.table(),
        record,
    )
