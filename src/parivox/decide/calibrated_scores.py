"""A calibrator applied: every row of a score file, with its score as a log likelihood ratio."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.auditing import apply_groups_file, read_grouped_trials, sources_by_name
from parivox.data.source_bytes import in_encoding_given
from parivox.data.trial_rows import chunks_of_trials
from parivox.data.trial_set import TrialSet
from parivox.data.trial_values import scores as scores_of
from parivox.decide.calibrator_file import read_calibrator
from parivox.errors import ConfigError, DataError, name_hint
from parivox.options.decide import HeldOutOptions
from parivox.shown import NotebookView
from parivox.trials.writing import (
    FORMATS_WITH_FURTHER_COLUMNS,
    ListWriter,
    check_is_new,
    further_columns,
    is_target,
    scan_every_column,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from pathlib import Path

    from parivox.decide.calibrator_file import Calibrator


@dataclass(frozen=True)
class Applied(NotebookView):
    """Scores that were written as log likelihood ratios.

    Attributes
    ----------
    path : Path
    rows : int
        Every row of the score file, in its order.
    own : int
        Those of groups that have a calibrator of their own.
    n_positive, n_negative : int
        Rows whose log likelihood ratio is above 0, and below 0.
    """

    path: Path
    rows: int
    own: int
    n_positive: int
    n_negative: int

    @property
    def told(self) -> tuple[str, ...]:
        """A summary, line by line."""
        by = f"; {self.own:,} by the calibrator of their group" if self.own else ""
        lines = [f"{self.rows:,} rows in {self.path}: natural-log likelihood ratios{by}."]
        if self.n_positive + self.n_negative > 1 and not (self.n_positive and self.n_negative):
            side = "above" if self.n_positive else "below"
            lines.append(
                f"Data warning: all log likelihood ratios are {side} 0. The calibrator may be of "
                "another model or scale of scores."
            )
        return tuple(lines)


@in_encoding_given
def apply_calibrator(
    scores: Any,
    calibrator: Any,
    out: str | os.PathLike[str],
    *,
    speakers: Any = None,
    groups: Any = None,
    trials: Any = None,
    utterances: Any = None,
    models: Any = None,
    scores_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - as the option is called
    encoding: str | None = None,
    quotes: str | None = None,
    conflicts: str = "error",
) -> Applied:
    """Write scores as natural-log likelihood ratios, with every other column as it was.

    Parameters
    ----------
    scores
        A path, a dataframe or a mapping of arrays; labels are not needed.
    calibrator
        A `Calibrator`, or the path of one.
    out
        A new file, CSV or Parquet, which ``parivox audit --llr`` takes.
    speakers, groups, trials, utterances, models, conflicts
        As of `audit`: needed only if the calibrator has groups.
    scores_format, columns, id, encoding, quotes
        As of `audit`.

    Returns
    -------
    Applied
        How many rows were written.

    Raises
    ------
    ConfigError
        If the calibrator is none, its groups are not found, or the file cannot be written.
    DataError
        If the scores cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> rows = {"enrol": ["a", "a"], "test": ["b", "c"], "score": [0.2, 0.5]}
    >>> made = {"parivox-calibrator": 1, "method": "logistic", "by": "gender"}
    >>> made["common"] = {"slope": 10.0, "offset": -3.0}
    >>> done = apply_calibrator(rows, made, Path(mkdtemp()) / "llr.csv")
    >>> done.path.read_text().split()
    ['enrol,test,score', 'a,b,-1.0', 'a,c,2.0']
    """
    asked = HeldOutOptions.from_keywords(
        speakers=speakers,
        groups=groups,
        trials=trials,
        utterances=utterances,
        models=models,
        scores_format=scores_format,
        columns=columns,
        id=id,
        encoding=encoding,
        quotes=quotes,
        conflicts=conflicts,
    )
    found, path = read_calibrator(calibrator), check_is_new(out)
    if path.suffix not in {f".{one}" for one in FORMATS_WITH_FURTHER_COLUMNS}:
        msg = f"--out {path}: scores are written as .csv or .parquet; end the name so"
        raise ConfigError(msg)
    scanned = scan_every_column(scores, dict(columns or {}), scores_format)
    if "score" not in scanned.columns:
        msg = f"{scanned.name}: no score column{scanned.columns_shown}; give scores"
        raise DataError(msg)
    if "threshold" in scanned.columns:
        name = scanned.columns["threshold"]
        msg = f"{scanned.name}: column {name!r} is a threshold of the scores as they are; remove it"
        raise DataError(msg)
    more = further_columns(scanned)
    known = _groups_of(scores, found, asked) if found.groups else None
    own = n_positive = n_negative = 0
    with ListWriter(path, path.suffix.removeprefix(".")) as writer:
        for chunk in chunks_of_trials(scanned):
            enrol, test = map(chunk.ids, ("enrol", "test"))
            group = None
            if known is not None:
                whose = (enrol if found.side == "enrol" else test).to_frame("utterance")
                group = whose.join(known, on="utterance", how="left", maintain_order="left")[
                    "group"
                ]
                own += int(group.is_in([*found.groups]).sum())
            llr = found.llr(scores_of(chunk, scanned), group)
            cells = {name: chunk[role] for role, name in more.items()}
            n_positive += int((llr > 0).sum())
            n_negative += int((llr < 0).sum())
            cells["score"] = pl.Series(llr).fill_nan(None)
            target = is_target(chunk, None) if "label" in chunk.columns else None
            writer.write(enrol, test, target, cells)
    return Applied(path, writer.n_rows, own, n_positive, n_negative)


def _groups_of(scores: Any, found: Calibrator, asked: HeldOutOptions) -> pl.DataFrame:
    """The group of each utterance on the calibrator's side."""
    asked, file = apply_groups_file(replace(asked, by=(found.by,)))
    read = read_grouped_trials(sources_by_name(scores), asked, file)
    (trials,), (grouping,) = read.trial_sets, read.groupings
    assert isinstance(trials, TrialSet)
    if not {*found.groups} & {*grouping.groups}:
        first = next(iter(found.groups))
        msg = (
            f"--apply: none of the calibrator's groups by {found.by} occurs in the trials; "
            f"{name_hint(first, grouping.groups)}"
        )
        raise ConfigError(msg)
    code = grouping.side_codes(trials, found.side)
    if code is None:
        msg = f"--apply: groups by {found.by} are of trials, not of people; calibrate by another"
        raise ConfigError(msg)
    # models of several recordings come first
    of = slice(None, trials.n_models) if found.side == "enrol" and trials.n_models else None
    at = of or slice(trials.n_models, None)
    names = pl.Series([*grouping.groups, None], dtype=pl.String)
    group = names.gather(pl.Series(code[at]).cast(pl.Int64) % len(names))
    return pl.DataFrame(
        [trials.utterance_ids.series()[at].alias("utterance"), group.alias("group")]
    )
