"""Of how many fair systems an audit says something: in its answer, and in all that it looks at.

Real speakers of VoxCeleb1-H, with their scores by V2, change groups at random, and every list is
audited whole, by three groupings at both default operating points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from benchmarks.coverage.corpora import trial_table
from benchmarks.coverage.records import Row, mean, stream

import parivox as pv
from parivox.report import findings
from parivox.report.audit_queries import located_points, scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from parivox.auditing.result import Audit

DATASETS = 200
AT_ONCE = 50  # in one cell, as an audit takes seconds
REPLICATES = 200
SIDES = ("enrol", "test")


@dataclass(frozen=True)
class Design:
    """A list, and the groups that its speakers are dealt out to."""

    name: str
    groupings: tuple[str, str, str]
    group: str = ""  # whose speakers alone take part
    shares: tuple[int, ...] = ()  # of the values of the second attribute; none: as they are
    system: str = "V2"

    def read(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return trials and speakers with their attributes."""
        table = trial_table(self.system)
        trials, people = table.trials, table.people
        if self.group:
            gender, nationality = self.group.split("+")
            people = people.filter(gender=gender, nationality=nationality)
        side_speakers = [trials[side].str.split("/").list.first() for side in SIDES]
        trials = trials.filter(side_speakers[0].is_in(people["speaker"].implode()))
        people = people.filter(pl.col("speaker").is_in(pl.concat(side_speakers).implode()))
        if self.shares:
            speaker_number = np.arange(people.height)
            pairs = (
                speaker_number % 2,
                np.repeat(np.arange(len(self.shares)), self._sizes(people.height)),
            )
            names = zip(self.groupings, pairs, strict=False)
            return trials, people.select(
                "speaker", **{name: pl.Series(numbers) for name, numbers in names}
            )
        return trials, people

    def _sizes(self, speakers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        ends = np.rint(speakers * np.cumsum(self.shares) / sum(self.shares)).astype(np.int64)
        return np.diff(ends, prepend=0)


DESIGNS = (
    Design("H", ("gender", "nationality", "gender+nationality")),
    Design("m+USA", ("half", "share", "half+share"), "m+USA", (8, 4, 2, 1, 1)),
)


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study what is said of fair systems, list by list."""
    lists = [(design, start) for design in DESIGNS for start in range(0, datasets, AT_ONCE)]
    for design, start in lists:
        stop = min(start + AT_ONCE, datasets)
        name = f"{design.name}, lists {start + 1} to {stop}"
        if is_wanted(name):
            rng = stream(seed, f"findings/{design.name}/{start}")
            rows = finding_rows(design, stop - start, rng)
            yield [{"cell": name, "design": design.name} | row for row in rows]


def finding_rows(design: Design, datasets: int, rng: np.random.Generator) -> list[Row]:
    """Return in how many lists anything is said, for each part of what audits look at."""
    trials, people = design.read()
    flags_by_question: dict[str, list[bool]] = {}
    for _ in range(datasets):
        dealt = people.with_columns(speaker=rng.permutation(people["speaker"].to_numpy()))
        audit = pv.audit(trials, speakers=dealt, by=design.groupings, replicates=REPLICATES)
        for question, is_said in findings_of(audit).items():
            flags_by_question.setdefault(question, []).append(is_said)
    return [
        {"speakers": people.height, "datasets": len(flags), "of": question, "said": sum(flags)}
        for question, flags in flags_by_question.items()
    ]


def shares(rows: Sequence[Row]) -> Iterator[Row]:
    """Add up the lists of all cells: a row for each design and what is asked of it."""
    for design, question in dict.fromkeys((row["design"], row["of"]) for row in rows):
        question_rows = [row for row in rows if (row["design"], row["of"]) == (design, question)]
        n_said, datasets = (
            sum(row[name] for row in question_rows) for name in ("said", "datasets")
        )
        is_said = np.arange(datasets, dtype=np.float64) < n_said
        labels = {"design": design, "of": question, "datasets": datasets}
        yield labels | mean(is_said.astype(np.float64), "said")


def findings_of(audit: Audit) -> dict[str, bool]:
    """Return whether anything is said: by grouping at the first point, then in more of all."""
    all_scopes = list(scopes(audit))
    differs_by_grouping: dict[str, bool] = {}
    verdicts, has_eer_finding, sums = False, False, False
    for scope in all_scopes:
        for i, point in enumerate(located_points(audit, scope.filters)):
            point_filters = {
                "operating_point": point["operating_point"],
                "group": "",
                "metric": "fpr+fnr",
            }
            (row,) = audit.verdicts.filter(**scope.filters, **point_filters).rows()
            is_said = row["verdict"] == "differs"
            verdicts |= is_said
            if not i:
                differs_by_grouping[scope.grouping] = is_said
        has_eer_finding |= any(
            line.is_shown for line in findings.group_eer_lines(audit, scope.filters)
        )
        sums |= any(True for _ in findings.interaction_sentences(audit, scope.filters))
    return differs_by_grouping | {
        "three groupings, two points": verdicts,
        "and EER": verdicts or has_eer_finding,
        "and whether attributes add up": verdicts or has_eer_finding or sums,
    }
