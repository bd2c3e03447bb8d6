"""Apply a calibrator: write every row of a score file with a log likelihood ratio as its score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.auditing import apply_groups_file, read_grouped_trials, sources_by_name
from parivox.data.source_bytes import with_reading_options
from parivox.data.trial_rows import trial_chunks
from parivox.data.trial_values import scores as scores_of
from parivox.decide.calibrator_file import read_calibrator
from parivox.errors import ConfigError, DataError, name_hint
from parivox.facts import Fact
from parivox.options.decide import HeldOutOptions
from parivox.shown import CATALOGUE_MODULE, NotebookView
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
    from parivox.sources import (
        DocumentSource,
        ScoreSource,
        SpeakerSource,
        TableSource,
        UtteranceSource,
    )


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
    def facts(self) -> tuple[Fact, ...]:
        """A summary: codes with values."""
        rows = {"rows": self.rows, "of_own_calibrator": self.own, "path": str(self.path)}
        facts = [Fact("scores_calibrated", rows)]
        n_ratios = self.n_positive + self.n_negative
        if n_ratios > 1 and not (self.n_positive and self.n_negative):
            side = "above" if self.n_positive else "below"
            facts.append(Fact("all_llrs_on_one_side", {"side": side}))
        return tuple(facts)

    @property
    def told(self) -> tuple[str, ...]:
        """The same in words, line by line."""
        return tuple(import_module(CATALOGUE_MODULE).full_sentences(self.facts))


@with_reading_options
def apply_calibrator(
    scores: ScoreSource,
    calibrator: Calibrator | DocumentSource,
    out: str | os.PathLike[str],
    *,
    speakers: SpeakerSource | None = None,
    groups: DocumentSource | None = None,
    trials: TableSource | None = None,
    utterances: UtteranceSource | None = None,
    models: TableSource | None = None,
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
    >>> calibrator = {"parivox-calibrator": 1, "method": "logistic", "by": "gender"}
    >>> calibrator["common"] = {"slope": 10.0, "offset": -3.0}
    >>> applied = apply_calibrator(rows, calibrator, Path(mkdtemp()) / "llr.csv")
    >>> applied.path.read_text().split()
    ['enrol,test,score', 'a,b,-1.0', 'a,c,2.0']
    """
    options = HeldOutOptions.from_keywords(
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
    lines, path = read_calibrator(calibrator), check_is_new(out)
    if path.suffix not in {f".{name}" for name in FORMATS_WITH_FURTHER_COLUMNS}:
        msg = f"--out {path}: scores are written as .csv or .parquet"
        hint = "use one of these endings"
        raise ConfigError(msg, hint)
    source_scan = scan_every_column(scores, dict(columns or {}), scores_format)
    if "score" not in source_scan.columns:
        msg = f"{source_scan.name}: no score column{source_scan.found_columns_text}"
        hint = "give a file with scores"
        raise DataError(msg, hint)
    if "threshold" in source_scan.columns:
        name = source_scan.columns["threshold"]
        msg = f"{source_scan.name}: column {name!r} contains thresholds of the original scores"
        hint = "remove this column"
        raise DataError(msg, hint)
    column_names = further_columns(source_scan)
    # groups are read only where some have a calibrator of their own
    group_of_utterance = _group_of_utterance(scores, lines, options) if lines.groups else None
    n_with_group_line = n_positive = n_negative = 0
    with ListWriter(path, path.suffix.removeprefix(".")) as writer:
        for chunk in trial_chunks(source_scan):
            enrol, test = map(chunk.ids, ("enrol", "test"))
            group = None
            if group_of_utterance is not None:
                utterances_of_side = (enrol if lines.side == "enrol" else test).to_frame(
                    "utterance"
                )
                utterance_groups = utterances_of_side.join(
                    group_of_utterance, on="utterance", how="left", maintain_order="left"
                )
                group = utterance_groups["group"]
                n_with_group_line += int(group.is_in([*lines.groups]).sum())
            llr = lines.llr(scores_of(chunk, source_scan), group)
            cells = {name: chunk[role] for role, name in column_names.items()}
            n_positive += int((llr > 0).sum())
            n_negative += int((llr < 0).sum())
            cells["score"] = pl.Series(llr).fill_nan(None)
            target = is_target(chunk, None) if "label" in chunk.columns else None
            writer.write(enrol, test, target, cells)
    return Applied(path, writer.n_rows, n_with_group_line, n_positive, n_negative)


def _group_of_utterance(
    scores: Any, calibrator: Calibrator, options: HeldOutOptions
) -> pl.DataFrame:
    """Return the group of each utterance on the calibrator's side.

    The columns are ``utterance`` and ``group``, which is undefined where it is not known.
    """
    options, file = apply_groups_file(replace(options, by=(calibrator.by,)))
    inputs = read_grouped_trials(sources_by_name(scores), options, file)
    trials, (grouping,) = inputs.only_list, inputs.groupings
    if not {*calibrator.groups} & {*grouping.groups}:
        first_group, *_ = calibrator.groups
        msg = f"--apply: none of the calibrator's groups by {calibrator.by} occurs in the trials"
        hint = name_hint(first_group, grouping.groups)
        raise ConfigError(msg, hint)
    codes = grouping.side_codes(trials, calibrator.side)
    if codes is None:
        msg = f"--apply: groups by {calibrator.by} are groups of trials, not of speakers"
        hint = "calibrate by another grouping"
        raise ConfigError(msg, hint)
    # models of several recordings come first
    ids = slice(trials.n_models, None)
    if calibrator.side == "enrol" and trials.n_models:
        ids = slice(None, trials.n_models)
    names = pl.Series([*grouping.groups, None], dtype=pl.String)
    group = names.gather(pl.Series(codes[ids]).cast(pl.Int64) % len(names))
    return pl.DataFrame(
        [trials.utterance_ids.series()[ids].alias("utterance"), group.alias("group")]
    )
