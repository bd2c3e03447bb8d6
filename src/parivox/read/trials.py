"""Trials: read in any format, joined, encoded, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.errors import ConfigError
from parivox.read.checks import Trials
from parivox.read.columns import Columns
from parivox.read.failures import read_failures
from parivox.read.formats import scan
from parivox.read.ids import Ids
from parivox.read.models import read_models
from parivox.read.notes import DataNote, check_columns
from parivox.read.trial_reader import TrialReader
from parivox.read.trialset import TrialSet
from parivox.read.utterances import read_utterances

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from parivox.read.attributes import Attribute
    from parivox.read.speakers import Speakers

__all__ = ["DataNote", "TrialSet", "Trials", "read_trials"]

POLICIES = ("error", "set-aside")
ORIENTATIONS = (None, "distance", "similarity")


def read_trials(
    source: Any,
    *,
    system: str,
    list_: str,
    speakers: Speakers | None,
    trials: Any = None,
    utterances: Any = None,
    models: Any = None,
    failures: Any = None,
    attributes: Sequence[Attribute] = (),
    format: str | None = None,  # noqa: A002 - the option's name
    columns: Mapping[str, str] | None = None,
    orientation: str | None = None,
    conflicts: str = "error",
    strangers: bool = False,
    unscored: bool = False,
) -> TrialSet:
    """Read scored trials, find their speakers, and check them.

    Parameters
    ----------
    source
        A path, ``-`` for standard input, a dataframe or a mapping of arrays, with the columns
        enrol, test, score and, perhaps, label, enrol_speaker, test_speaker.
    system, list_
        Names of the system and of the list.
    speakers
        Who there is; None takes them from the trials and the other tables.
    trials
        A list of trials that stands apart: only its pairs are trials, its labels count.
    utterances
        Table of utterances: their speakers and attributes.
    models
        Table of model, speaker and recording: enrolments are models.
    failures
        Table of recording and the stage at which it failed.
    attributes
        Those that trials are grouped by, of which columns may stand in the trials.
    format
        Name of the format of `source`, where its content does not tell.
    columns
        The user's column name for some roles, in `source`, in `trials` or in both.
    orientation : {None, "distance", "similarity"}
        ``"distance"`` negates the scores.
    conflicts : {"error", "set-aside"}
        What to do with rows that contradict each other or the speakers.
    strangers
        Whether the speakers need not be known, as those of development scores: where there are
        labels, no speaker is looked up. `columns` that the files lack are then passed over.
    unscored
        Whether only who is compared with whom counts: `source` needs no scores, and those that
        it has, with decisions and the like, are passed over. Every score is then 0.

    Raises
    ------
    DataError
        If anything is not as it must be: one sentence with file, row, column and the mend.
    ConfigError
        If an option is not known.

    Examples
    --------
    >>> from parivox.read.speakers import read_speakers
    >>> speakers = read_speakers({"id": ["a", "b"], "gender": ["f", "m"]})
    >>> rows = {"enrol": ["a/1", "a/1"], "test": ["b/1", "a/2"], "score": [0.1, 0.9]}
    >>> found = read_trials(rows, system="x", list_="", speakers=speakers)
    >>> [(t.target.tolist(), t.score.tolist()) for t in found.partitions()]
    [([True, False], [0.9, 0.1])]
    """
    if conflicts not in POLICIES:
        msg = f"--conflicts {conflicts!r} is not known; choose from {', '.join(POLICIES)}"
        raise ConfigError(msg)
    if orientation not in ORIENTATIONS:
        msg = f"orientation {orientation!r} is not known; choose 'distance' or 'similarity'"
        raise ConfigError(msg)
    names = tuple(dict.fromkeys(n for one in attributes for n in (one.own, one.name)))
    asked = Columns(dict(columns or {}), strangers or trials is not None, names)
    scans = [scan(source, columns=asked, format=format, name="scores")]
    if trials is not None:
        scans.append(scan(trials, columns=asked, format=None, name="trials"))
    if not strangers:
        check_columns(asked, scans)
    needed = not (strangers and any("label" in one.columns for one in scans))
    reading = TrialReader(
        speakers, orientation, attributes, needs_speakers=needed, unscored=unscored
    )
    if utterances is not None and needed:
        reading.utterances = read_utterances(utterances)
    if models is not None and needed:
        reading.models = read_models(models).with_speakers(reading.utterances)
        reading.model_ids = Ids()
    reading.open_scores(scans[0])
    for one in scans[1:]:
        reading.open_trials(one)
    if failures is not None:
        reading.failures = read_failures(failures)
    return reading.finish(system, list_, conflicts)
