"""Scores of VoxCeleb1-H by two systems: the data of the papers that anyone can have.

They come with bt4vt 1.0.1 (``pip install parivox[demo]``): 550,894 trials by ResNetSE34V2 and
ResNetSE34L, and the speakers. VoxCeleb1 was withdrawn by its authors; scores hold no audio.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import audit, count, group_counts
from parivox.errors import DataError
from parivox.runtime.disk import sha256_of
from parivox.trials.description import describe
from parivox.trials.grading import grade

if TYPE_CHECKING:
    import os
    from collections.abc import Collection

    from numpy.typing import NDArray

    from parivox.auditing import Audit
    from parivox.core.counts import Counts
    from parivox.trials.description import Description

V2, L = "ResNetSE34V2", "ResNetSE34L"
BY = "gender+nationality"
AT_LEAST_COST: dict[str, Any] = {
    "by": (BY, "nationality", "gender"),
    "compare": True,
    "operating_points": "min-cdet",
    "zero": "none",
    "fixed_threshold": True,
}
"""Options of the audits of both systems at the fixed threshold of minimum cost over all trials."""
H, INSTEAD = "VoxCeleb1-H", "on VoxCeleb1-H instead"
"""For items and claims that are tested on this list instead of the paper's own."""
ON_H = "scores of VoxCeleb1-H"
"""What items that are computed on these files need."""
SPEAKERS = "vox1_meta.csv"
SCORES = {V2: "resnetse34v2_H-eval_scores.csv", L: "resnetse34l_H-eval_scores.csv"}
SHA256 = {
    SCORES[V2]: "efa179de4bb813db6e3281a6a0ea35e4881352d09639b08f19173d674cf378c6",
    SCORES[L]: "8fd363699ce25316f587097208aa95c64c840f9d7087616753cf36c9f996d5e8",
    SPEAKERS: "c18af27f03e781de23f7cbf067528c43541c8fe95a81db7dc27e5554d45a375c",
}
TEST = "veri_test.txt"
"""VoxCeleb1's own test list, which users who have it may put next to the files."""
_ID_LENGTH = len("id10001")
_SPEAKER_COLUMNS = ("Gender", "Nationality")
_HINT = "run pip install 'parivox[demo]', or name the data folder of bt4vt 1.0.1 with --data"


@dataclass(frozen=True)
class Voxceleb1H:
    """The files, and a cache of what is computed from them."""

    folder: Path
    cache: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def locate(cls, folder: str | os.PathLike[str] | None = None) -> Voxceleb1H:
        """Return the files in a folder or, without one, of the installed package.

        Raises
        ------
        DataError
            If a file is missing, or is not the one that the papers' figures come from.
        """
        if folder is None:
            package = find_spec("bt4vt")
            if package is None or package.origin is None:
                msg = "the scores of two systems on VoxCeleb1-H are not installed"
                raise DataError(msg, _HINT)
            folder = Path(package.origin).parent / "data"
        # the papers' figures only follow from these very files
        for name, sha256 in SHA256.items():
            path = Path(folder, name)
            if not path.is_file():
                msg = f"{folder}: has no {name}"
                raise DataError(msg, _HINT)
            if sha256_of(path) != sha256:
                msg = f"{path}: differs from the file of bt4vt 1.0.1"
                raise DataError(msg, _HINT)
        return cls(Path(folder))

    def scores(self, *systems: str) -> dict[str, Path]:
        """Return score files by system."""
        return {system: self.folder / SCORES[system] for system in systems}

    @property
    def speakers(self) -> Path:
        """The table of speakers."""
        return self.folder / SPEAKERS

    def test_list(self) -> Description | None:
        """Return the description of VoxCeleb1's test list; None if the list is not there."""
        path = self.folder / TEST
        if not path.is_file():
            return None
        return describe(path, speakers=self.speakers, by=("gender", "nationality"))

    def speaker_rows(self) -> list[dict[str, str]]:
        """Return gender and nationality of every speaker of VoxCeleb1."""
        if SPEAKERS not in self.cache:
            with self.speakers.open(encoding="utf-8", newline="") as file:
                rows = [*csv.DictReader(file, delimiter="\t")]
            self.cache[SPEAKERS] = [
                {
                    "id": row["VoxCeleb1 ID"],
                    **{name.lower(): row[name] for name in _SPEAKER_COLUMNS},
                }
                for row in rows
            ]
        speaker_rows: list[dict[str, str]] = self.cache[SPEAKERS]
        return speaker_rows

    def trials(self) -> Any:
        """Return every trial of the list with its grade, as a Polars dataframe."""
        if "trials" not in self.cache:
            graded = grade(self.scores(V2)[V2], speakers=self.speakers)
            self.cache["trials"] = None if graded.trials is None else graded.trials.to_polars()
        return self.cache["trials"]

    def utterances(self) -> NDArray[np.object_]:
        """Return every utterance of the list."""
        if "utterances" not in self.cache:
            all_trials = self.trials()
            trial_utterances = np.concatenate(
                [all_trials[side].unique().to_numpy() for side in ("enrol", "test")]
            )
            self.cache["utterances"] = np.unique(trial_utterances)
        cached_utterances: NDArray[np.object_] = self.cache["utterances"]
        return cached_utterances

    def trials_between(self, speakers: Collection[str]) -> Any:
        """Return the trials in which both sides are of these speakers."""
        all_trials, speaker_ids = self.trials(), [*speakers]
        enrol, test = (
            all_trials[side].str.slice(0, _ID_LENGTH).is_in(speaker_ids)
            for side in ("enrol", "test")
        )
        return all_trials.filter(enrol & test).select("enrol", "test", "label")

    def audit(
        self,
        *systems: str,
        among: frozenset[str] | None = None,
        without_grade: int | None = None,
        **options: Any,
    ) -> Audit:
        """Return an audit of some systems by gender and nationality, of all or some trials."""
        key = systems, among, without_grade, repr(sorted(options.items()))
        if key not in self.cache:
            if among is not None:
                options["trials"] = self.trials_between(among)
            if without_grade is not None:
                remaining_trials = self.trials().filter(self.trials()["grade"] != without_grade)
                options["trials"] = remaining_trials.select("enrol", "test", "label")
            options = {"by": BY, "allocate": "enrol", "replicates": 1_000, **options}
            self.cache[key] = audit(self.scores(*systems), speakers=self.speakers, **options)
        cached_audit: Audit = self.cache[key]
        return cached_audit

    def counts(self, system: str) -> dict[str, Counts]:
        """Return counts by gender and nationality of the enrolment speaker, and of ``all``."""
        if system not in self.cache:
            counts = count(self.scores(system), speakers=self.speakers, by=BY, withhold=0)
            groups = group_counts(counts, allocate="enrol")
            self.cache[system] = {**groups[BY], **groups["all"]}
        cached_counts: dict[str, Counts] = self.cache[system]
        return cached_counts
