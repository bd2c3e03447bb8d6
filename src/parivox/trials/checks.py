"""What a list of trials can show, and what it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.read.table import Table
from parivox.trials.counts import count_list
from parivox.trials.description import Description, described
from parivox.trials.grades import hardest, parse_mix
from parivox.trials.guidelines import CHECKS, guidelines
from parivox.trials.lists import read_list
from parivox.trials.manifest import ListDesign
from parivox.trials.remarks import design_remark, detectable, overlap, remarks

if TYPE_CHECKING:
    from parivox.trials.guidelines import Check, Finding
    from parivox.trials.lists import TrialList

_COLUMNS = {
    "id": "str",
    "what": "str",
    "verdict": "str",
    "statistic": "float",
    "threshold": "float",
    "offenders": "int",
    "sentence": "str",
    "mend": "str",
}


@dataclass(frozen=True, eq=False)
class Checked(Description):
    """What a list can and cannot show.

    Attributes
    ----------
    name : str
        The file.
    groupings, graded_by : tuple of str
        What trials were grouped by, and what defines their difficulty.
    findings : tuple of Finding
    tables : dict of str to Table
        ``checks``, which holds the findings, and those of a
        :class:`~parivox.trials.description.Description`.
    """

    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Checks that failed."""
        return tuple(one for one in self.findings if one.verdict == "fail")

    def __getitem__(self, id: str) -> Finding:  # noqa: A002 - what findings call it
        return {one.id: one for one in self.findings}[id]

    def to_json(self) -> str:
        """Findings and tables as JSON, a column a list; infinite values as "inf"."""
        return self._as_json({"passed": self.passed})


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
    encoding: str | None = None,
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
        Other lists that were drawn like this one. Without these, `grade_by` and `mix`, the manifest
        beside a list that was built says what its design fixed.
    development
        A list whose speakers should not be in this one.
    pilot
        A plan made of a pilot, ``pv.plan("audit/")``: then, what differences the list can show.
    thresholds
        By check, as in ``{"G2": 100}``.
    speaker_ids
        Whether the table of speakers names them.
    id, columns, conflicts, encoding
        Id column of the speakers, columns of the list by role, what to do with rows that
        contradict each other, and the encoding of texts that are not Unicode, as an audit has it.

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
    checks = _with_thresholds(thresholds)
    if isinstance(variants, (str, bytes)) or not isinstance(variants, Sequence):
        msg = f"variants={variants!r} are not several lists; give them as in ['list-2.txt']"
        raise ConfigError(msg)
    if pilot is not None and not (hasattr(pilot, "groups") and hasattr(pilot, "asked")):
        msg = f"pilot={pilot!r} is no plan; make one of an audit, pv.plan('audit/')"
        raise ConfigError(msg)
    reading = {
        "speakers": speakers,
        "utterances": utterances,
        "id": id,
        "columns": columns,
        "conflicts": conflicts,
        "encoding": encoding,
    }
    trial_list = read_list(trials, by=by, grade_by=grade_by, **reading)
    design = ListDesign.beside(trials)
    if design is not None and grade_by is None:
        trial_list = design.graded(trial_list)
    wished = None if design is None else design.mix_of(trial_list)
    if mix is not None:
        if not trial_list.agreements:
            msg = (
                "--mix: no nontarget trial has a grade, as no attribute is known; give --speakers, "
                "or name attributes with --grade-by"
            )
            raise ConfigError(msg)
        wished = parse_mix(mix, hardest(len(trial_list.agreements)))
    others = {read_list(one, by=(), **reading).trials.content_sha256 for one in variants}
    lists = len(others | {trial_list.trials.content_sha256})
    if design is not None and not variants:
        lists = design.lists
    shared = [] if development is None else [overlap(trial_list, development, **reading)]
    counts = count_list(trial_list)
    about = described(counts, speaker_ids=speaker_ids)
    findings = (
        *guidelines(counts, checks, mix=wished, lists=lists),
        *remarks(about, counts.speakers),
        *([] if design is None else [design_remark(design)]),
        *shared,
        *([] if pilot is None else detectable(about, pilot)),
    )
    rows = [asdict(one) for one in findings]
    cells = {name: [row[name] for row in rows] for name in _COLUMNS}
    tables = {"checks": Table.of(cells, _COLUMNS), **about.tables}
    return Checked(about.name, about.groupings, about.graded_by, tables, findings)


def failed_checks(trial_list: TrialList, design: ListDesign | None = None) -> list[Finding]:
    """Checks that a list fails at the usual thresholds, held to what its design fixed."""
    mix, lists = (None, 1) if design is None else (design.mix_of(trial_list), design.lists)
    found = guidelines(count_list(trial_list), CHECKS, mix=mix, lists=lists)
    return [one for one in found if one.verdict == "fail"]


def _with_thresholds(asked: Any) -> dict[str, Check]:
    """All checks, some with thresholds of one's own."""
    if asked is not None and not isinstance(asked, Mapping):
        msg = f"thresholds={asked!r} is no mapping; give one, as in {{'G2': 100}}"
        raise ConfigError(msg)
    checks = dict(CHECKS)
    for name, value in (asked or {}).items():
        if name not in checks:
            msg = f"--threshold {name!r} is no check; choose from {', '.join(checks)}"
            raise ConfigError(msg)
        try:
            threshold = float(value)
        except (TypeError, ValueError):
            threshold = -1.0
        if not 0 <= threshold < float("inf"):
            msg = f"--threshold {name}={value!r}: is no number from 0; write it as in G2=100"
            raise ConfigError(msg)
        checks[name] = checks[name]._replace(threshold=threshold)
    return checks
