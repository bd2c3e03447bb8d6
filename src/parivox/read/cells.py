"""Cells of trials as numbers: labels, scores, decisions, failures, and what a trial took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.checks import ACQUIRE, ENROL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.read.formats.format import Rows, Scan

_TARGET = "1 1.0 +1 target targets tgt tar true t yes y same genuine mated match positive client"
_NONTARGET = (
    "0 0.0 -1 -1.0 nontarget non-target non_target nontgt non imp imposter impostor false f no n "
    "different diff unmated non-mated nonmated nonmatch non-match negative"
)

LABELS: dict[str, int] = {
    **dict.fromkeys(_TARGET.split(), 1),
    **dict.fromkeys(_NONTARGET.split(), 0),
}
"""1 for target, 0 for nontarget, by word in lower case."""
DAY = 86_400.0
"""Seconds that a trial takes at most."""
_ACCEPT = "accept accepted a 1 1.0 true t yes y pass passed match"
_REJECT = "reject rejected r 0 0.0 -1 false f no n fail failed nonmatch"
DECISIONS = {**dict.fromkeys(_ACCEPT.split(), 1), **dict.fromkeys(_REJECT.split(), 0)}
OK = frozenset(("", "ok", "okay", "success", "succeeded", "scored", "valid", "done", "none"))
_ENROL = ("enrol", "enroll", "enrolment", "enrollment", "enrolled", "fte", "failure-to-enrol")
_ACQUIRE = (
    *("acquire", "acquisition", "acquired", "test", "verify", "verification", "probe", "fta"),
    "failure-to-acquire",
)
STAGES = {**dict.fromkeys(_ENROL, ENROL), **dict.fromkeys(_ACQUIRE, ACQUIRE)}


def is_label(text: str) -> bool:
    """Whether a cell is a label, whatever its case.

    Examples
    --------
    >>> is_label("Target"), is_label("maybe")
    (True, False)
    """
    return text.strip().lower() in LABELS


def scores(chunk: pl.DataFrame, scan: Scan, rows: Rows) -> NDArray[np.float64]:
    """Scores of a chunk; NaN where the cell is empty."""
    raw = chunk["score"]
    if raw.dtype == pl.String:
        values = raw.cast(pl.Float64, strict=False)
        if values.null_count() > raw.null_count():
            raw = raw.str.strip_chars()
            raw = raw.set(raw == "", None)
            values = raw.cast(pl.Float64, strict=False)
            odd = values.is_null() & raw.is_not_null()
            if raw.filter(odd).str.contains(",", literal=True).any():
                _check_decimal_commas(scan)
                values = raw.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
                odd = values.is_null() & raw.is_not_null()
            if odd.any():
                at = int(odd.arg_max() or 0)
                msg = (
                    f"{scan.at(rows[at], 'score')}: {raw[at]!r} is no number; "
                    "correct it, or leave the cell empty if the trial was not scored"
                )
                raise DataError(msg)
    elif raw.dtype.is_numeric() or raw.dtype == pl.Null:
        values = raw.cast(pl.Float64)
    else:
        msg = (
            f"{scan.name}: column {scan.columns['score']!r} holds {raw.dtype}, "
            "not numbers; save it as numbers"
        )
        raise DataError(msg)
    nan = values.is_nan()
    if nan.any():
        row = rows[int(nan.fill_null(value=False).arg_max() or 0)]
        msg = (
            f"{scan.at(row, 'score')}: 'nan' is no score; "
            "leave the cell empty if the trial was not scored"
        )
        raise DataError(msg)
    return values.fill_null(np.nan).to_numpy() + 0.0  # -0.0 and 0.0 are one score


def _check_decimal_commas(scan: Scan) -> None:
    """Refuse scores of which some have a decimal comma and others a decimal point.

    What separates thousands is never guessed.
    """
    if scan.content is not None and "decimal" in scan.content.dialect:
        return
    found: dict[str, tuple[int, str]] = {}
    for rows, chunk in scan.chunks():
        text = chunk["score"].cast(pl.String)
        has = {sign: text.str.contains(sign, literal=True).fill_null(value=False) for sign in ",."}
        for sign, other in (",.", ".,"):
            only = has[sign] & ~has[other]
            if sign not in found and only.any():
                at = int(only.arg_max() or 0)
                found[sign] = int(rows[at]), str(text[at])
        if len(found) == 2:
            (row, one), (below, other) = sorted(found.values())
            signs = ["comma" if "," in text else "point" for text in (one, other)]
            msg = (
                f"{scan.name}: rows {row} and {below}, column {scan.columns['score']!r}: {one!r} "
                f"has a decimal {signs[0]} and {other!r} a decimal {signs[1]}; write all scores "
                "in one way, without separators of thousands"
            )
            raise DataError(msg)
    if scan.content is not None and found:
        scan.content.dialect["decimal"] = ","


def labels(chunk: pl.DataFrame, scan: Scan, rows: Rows) -> NDArray[np.int8]:
    """Labels of a chunk: 1 for target, 0 for nontarget."""
    raw = chunk["label"].cast(pl.String, strict=False)
    codes = np.full(len(raw), -1, dtype=np.int8)
    while (left := codes < 0).any():  # of one word after the other, as they appear
        at = int(left.argmax())
        code = -1 if raw[at] is None else LABELS.get(raw[at].strip().lower(), -1)
        if code < 0:
            problem = "is empty" if raw[at] is None else f"{raw[at]!r} is no label"
            msg = (
                f"{scan.at(rows[at], 'label')}: {problem}; use 1 or target for two utterances of "
                "one speaker, 0 or nontarget for others"
            )
            raise DataError(msg)
        codes[raw.eq_missing(raw[at]).to_numpy()] = code
    return codes


def _words(column: pl.Series) -> pl.Series:
    return column.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase()


def _coded(words: pl.Series, codes: dict[str, int]) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
    """Code of each word, -1 where it is empty; True where it is a word that is not known."""
    known = {word: codes.get(word, -2) for word in words.unique().drop_nulls()}
    known[""] = -1
    found = words.fill_null("").replace_strict(
        list(known), list(known.values()), return_dtype=pl.Int8
    )
    array = found.to_numpy().astype(np.int8)
    return array, array == -2


def decisions(chunk: pl.DataFrame, scan: Scan, rows: Rows) -> NDArray[np.int8]:
    """1 for accepted, 0 for rejected, -1 where the cell is empty."""
    codes, odd = _coded(_words(chunk["decision"]), DECISIONS)
    if odd.any():
        at = int(odd.argmax())
        msg = (
            f"{scan.at(rows[at], 'decision')}: {str(chunk['decision'][at])!r} is no decision; "
            "use accept or reject, or leave the cell empty"
        )
        raise DataError(msg)
    return codes


def stage_of(word: str) -> int | None:
    """Stage at which a recording failed, None where the word is not known."""
    return STAGES.get(word.strip().lower().replace("_", "-").replace(" ", "-"))


def failures(chunk: pl.DataFrame, scan: Scan, rows: Rows) -> NDArray[np.int8]:
    """Stage at which each trial failed, by the columns of status and stage; 0 where it did not."""
    status = _words(chunk["status"]).fill_null("")
    bad = ~status.is_in(list(OK)).to_numpy()
    stage = np.where(status.str.contains(r"enrol|\bfte\b").to_numpy(), ENROL, ACQUIRE)
    if "stage" in chunk.columns:
        stages = _words(chunk["stage"]).fill_null("")
        known = {word: stage_of(word) for word in stages.unique() if word}
        for at in np.flatnonzero(bad):
            if stages[int(at)] and known[stages[int(at)]] is None:
                msg = (
                    f"{scan.at(rows[int(at)], 'stage')}: {stages[int(at)]!r} is no stage; "
                    "use enrol or acquire"
                )
                raise DataError(msg)
        codes = {word: code for word, code in known.items() if code is not None}
        named = _coded(stages, codes)[0]
        stage = np.where(named > 0, named, stage)
    return np.where(bad, stage, 0).astype(np.int8)


def numbers(
    chunk: pl.DataFrame,
    role: str,
    scan: Scan,
    rows: Rows,
    *,
    least: float = -np.inf,
    most: float = np.inf,
) -> NDArray[np.float64]:
    """Numbers of a column, NaN where the cell is empty."""
    raw = chunk[role]
    if raw.dtype == pl.String:
        raw = raw.str.strip_chars()
        raw = raw.set(raw == "", None)
        values = raw.cast(pl.Float64, strict=False)
        if values.null_count() > raw.null_count():
            comma = raw.str.contains(",", literal=True)
            if not raw.filter(~comma).str.contains(".", literal=True).any():
                values = raw.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    else:
        values = raw.cast(pl.Float64, strict=False)
    wrong = (values.is_null() & raw.is_not_null()) | values.is_nan()
    what = "no number"
    if least > -np.inf:
        wrong |= (values < least) | (values > most)
        what = f"no number from {least:g} to {most:,.0f}"
    wrong = wrong.fill_null(value=False)
    if wrong.any():
        at = int(wrong.arg_max() or 0)
        msg = (
            f"{scan.at(rows[at], role)}: {str(raw[at])!r} is {what}; correct it, or leave the cell "
            "empty"
        )
        raise DataError(msg)
    return values.fill_null(np.nan).to_numpy() + 0.0
