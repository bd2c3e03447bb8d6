"""What a list of trials can show, and what it cannot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.read.checks import DUPLICATES
from parivox.trials.counts import count_list, count_speakers
from parivox.trials.description import described
from parivox.trials.findings import THRESHOLDS, Checked, as_table, parse_thresholds
from parivox.trials.grades import hardest, parse_mix
from parivox.trials.guidelines import guidelines
from parivox.trials.lists import read_list
from parivox.trials.remarks import detectable, overlap, remarks, shared_with

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.trials.findings import Finding
    from parivox.trials.lists import TrialList
    from parivox.trials.remarks import Overlap


def check(
    trials: Any,
    *,
    speakers: Any = None,
    utterances: Any = None,
    by: Sequence[str] | str | None = None,
    grade_by: Sequence[str] | str | None = None,
    mix: Mapping[str, float] | str | None = None,
    variants: Sequence[Any] = (),
    development: Any = None,
    pilot: Any = None,
    thresholds: Mapping[str, float] | None = None,
    speaker_ids: bool = False,
    id: str | None = None,  # noqa: A002 - the command line's word
    columns: Mapping[str, str] | None = None,
    conflicts: str = "error",
) -> Checked:
    """Check a list of trials against the guidelines for evaluations that carry a claim.

    Parameters
    ----------
    trials
        A path, a dataframe or a mapping of arrays, with the columns enrol, test and, perhaps,
        label; without labels, trials of one speaker are target trials. Scores are passed over.
    speakers
        Path or table of speakers with their attributes.
    utterances
        Table of utterances: their speakers, where ids do not tell them, their recordings (a
        column recording, video, session or call; else the folder of the file, as in VoxCeleb) and
        attributes.
    by
        Groupings as in ``gender+nationality``; without it, every attribute with 2 to 50 values.
    grade_by
        Attributes that define difficulty, the one that weighs most first: of speakers, of
        recordings, or columns of the list. Without it, gender (or sex) and nationality where
        speakers have them, else those of `by`.
    mix
        The share of nontarget trials of each grade that is wished for: ``cat4=0.5,cat3=0.5``.
    variants
        Other lists that were drawn like this one.
    development
        A list whose speakers should not be in this one.
    pilot
        A plan made of a pilot, ``pv.plan("audit/")``: then, what differences the list can show.
    thresholds
        By check, as in ``{"G2": 100}``.
    speaker_ids
        Whether the table of speakers names them.
    id, columns, conflicts
        Id column of the speakers, columns of the list by role, and what to do with rows that
        contradict each other, as an audit has it.

    Returns
    -------
    Checked
        Findings and tables.

    Raises
    ------
    DataError
        If a file does not hold what it must.
    ConfigError
        If an option is wrong.

    Examples
    --------
    >>> trials = {"enrol": ["a/x/1", "a/x/1"], "test": ["a/y/2", "b/z/1"], "label": [1, 0]}
    >>> found = check(trials, thresholds={"G2": 1})
    >>> found["G2"].verdict, found["G2"].sentence
    ('fail', '1 of 2 speakers enrol in fewer than 1: 0 to 1')
    """
    reading = {
        "speakers": speakers,
        "utterances": utterances,
        "id": id,
        "columns": columns,
        "conflicts": conflicts,
    }
    levels = parse_thresholds(thresholds)
    _check_kinds(variants, pilot)
    found = read_list(trials, by=by, grade_by=grade_by, **reading)
    wished = None if mix is None else _wished_mix(mix, found)
    lists = {found.trials.content_sha256}
    for one in variants:
        lists.add(read_list(one, by=(), **reading).trials.content_sha256)
    common = None if development is None else shared_with(found, development, **reading)
    return check_list(
        found,
        levels,
        mix=wished,
        lists=len(lists),
        common=common,
        pilot=pilot,
        speaker_ids=speaker_ids,
    )


def check_list(
    found: TrialList,
    thresholds: Mapping[str, float],
    *,
    mix: Mapping[int, float] | None = None,
    lists: int = 1,
    common: Overlap | None = None,
    pilot: Any = None,
    speaker_ids: bool = False,
) -> Checked:
    """Check a list that was read.

    Parameters
    ----------
    found, thresholds
        The list, and what every check is held against.
    mix, lists
        As :func:`parivox.trials.guidelines.guidelines` takes them.
    common
        What it shares with a development list.
    pilot
        As :func:`check` has it.
    speaker_ids
        Whether the table of speakers names them.
    """
    counted = count_list(found)
    speakers = count_speakers(found, counted)
    about = described(found, counted, speaker_ids=speaker_ids)
    findings = (
        *guidelines(
            found,
            counted,
            speakers,
            thresholds,
            mix=mix,
            lists=lists,
            duplicates=_duplicates(found),
        ),
        *remarks(about, speakers),
        *([] if common is None else [overlap(common)]),
        *([] if pilot is None else detectable(about, pilot)),
    )
    tables = {"checks": as_table(findings), **about.tables}
    return Checked(about.name, about.groupings, about.graded_by, findings, tables)


def _check_kinds(variants: Any, pilot: Any) -> None:
    """Refuse variants that are no sequence of lists, and a pilot that is no plan."""
    if isinstance(variants, (str, bytes)) or not isinstance(variants, Sequence):
        msg = f"variants={variants!r} are not several lists; give them as in ['list-2.txt']"
        raise ConfigError(msg)
    if pilot is not None and not (hasattr(pilot, "groups") and hasattr(pilot, "asked")):
        msg = f"pilot={pilot!r} is no plan; make one of an audit, pv.plan('audit/')"
        raise ConfigError(msg)


def _wished_mix(mix: Mapping[str, float] | str, found: TrialList) -> dict[int, float]:
    """Wished shares of the grades of nontarget trials."""
    if not found.agreements:
        msg = (
            "--mix: no nontarget trial has a grade, as no attribute is known; give --speakers, or "
            "name attributes with --grade-by"
        )
        raise ConfigError(msg)
    return parse_mix(mix, hardest(len(found.agreements)))


def failed_checks(found: TrialList) -> list[Finding]:
    """Checks that a list fails at the usual thresholds."""
    counted = count_list(found)
    return [
        one
        for one in guidelines(
            found,
            counted,
            count_speakers(found, counted),
            THRESHOLDS,
            duplicates=_duplicates(found),
        )
        if one.verdict == "fail"
    ]


def _duplicates(found: TrialList) -> int:
    """Number of rows that repeat another."""
    return sum(note.count for note in found.trials.data if note.item == DUPLICATES)
