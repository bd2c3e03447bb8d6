"""Cells of trials as numbers: labels, scores, decisions, failures, and what a trial took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.errors import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan

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
NO_STAGE = ("is not a stage", "use enrol or acquire")
STAGES = {**dict.fromkeys(_ENROL, ENROL), **dict.fromkeys(_ACQUIRE, ACQUIRE)}


def is_label(text: str) -> bool:
    """Whether a cell is a label, whatever its case.

    Examples
    --------
    >>> is_label("Target"), is_label("maybe")
    (True, False)
    """
    return text.strip().lower() in LABELS


def is_decision(text: str) -> bool:
    """Whether a cell is a decision and cannot be a label, whatever its case.

    Examples
    --------
    >>> is_decision("Accepted"), is_decision("yes")
    (True, False)
    """
    return text.strip().lower() in DECISIONS and not is_label(text)


def scores(chunk: Chunk, scan: Scan) -> NDArray[np.float64]:
    """Scores of a chunk; NaN where the cell is empty."""
    raw = chunk["score"]
    mend = "leave the cell empty if the trial was not scored"
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
            chunk.refuse(odd, "score", "is not a number", f"correct the value, or {mend}")
    elif raw.dtype.is_numeric() or raw.dtype == pl.Null:
        values = raw.cast(pl.Float64)
    else:
        msg = (
            f"{chunk.name}: column {chunk.columns['score']!r} holds {raw.dtype}, "
            "not numbers; save it as numbers"
        )
        raise DataError(msg)
    chunk.refuse(values.is_nan(), "score", "is not a score", mend)
    return values.fill_null(np.nan).to_numpy() + 0.0  # -0.0 and 0.0 are one score


def _check_decimal_commas(scan: Scan) -> None:
    """Refuse scores of which some have a decimal comma and others a decimal point.

    What separates thousands is never guessed.
    """
    if scan.content is not None and "decimal" in scan.content.dialect:
        return
    found: dict[str, tuple[int, str]] = {}
    for chunk in scan.chunks():
        text = chunk["score"].cast(pl.String)
        has = {sign: text.str.contains(sign, literal=True).fill_null(value=False) for sign in ",."}
        for sign, other in (",.", ".,"):
            only = has[sign] & ~has[other]
            if sign not in found and only.any():
                at = int(only.arg_max() or 0)
                found[sign] = int(chunk.rows[at]), str(text[at])
        if len(found) == 2:
            (row, one), (below, other) = sorted(found.values())
            signs = ["comma" if "," in text else "point" for text in (one, other)]
            msg = (
                f"{scan.name}, rows {row} and {below}, column {scan.columns['score']!r}: {one!r} "
                f"has a decimal {signs[0]} and {other!r} a decimal {signs[1]}; write all scores "
                "in one way, without separators of thousands"
            )
            raise DataError(msg)
    if scan.content is not None and found:
        scan.content.dialect["decimal"] = ","


def labels(chunk: Chunk) -> NDArray[np.int8]:
    """Labels of a chunk: 1 for target, 0 for nontarget."""
    raw = chunk["label"]
    if raw.dtype.is_integer() and not raw.null_count() and raw.is_between(0, 1).all():
        return raw.cast(pl.Int8).to_numpy()
    raw = raw.cast(pl.String, strict=False)
    codes = np.full(len(raw), -1, dtype=np.int8)
    while (left := codes < 0).any():  # of one word after the other, as they appear
        word = raw[int(left.argmax())]
        same = raw.eq_missing(word).to_numpy()
        code = LABELS.get("" if word is None else word.strip().lower(), -1)
        if code < 0:
            mend = "use 1 or target for the same speaker, 0 or nontarget for different speakers"
            chunk.refuse(same, "label", "is not a label", mend)
        codes[same] = code
    return codes


def _words(column: pl.Series) -> pl.Series:
    return column.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase().fill_null("")


def _coded(words: pl.Series, codes: dict[str, int]) -> NDArray[np.int8]:
    """Code of each word; -1 where it is empty, -2 where it is not known."""
    known = {"": -1} | {word: codes.get(word, -2) for word in words.unique() if word}
    found = words.replace_strict(list(known), list(known.values()), return_dtype=pl.Int8)
    return found.to_numpy().astype(np.int8)


def decisions(chunk: Chunk) -> NDArray[np.int8]:
    """1 for accepted, 0 for rejected, -1 where the cell is empty."""
    codes = _coded(_words(chunk["decision"]), DECISIONS)
    mend = (
        "use accept or reject, or leave the cell empty; or say what such words mean, as in "
        "--columns accept=WORD,reject=WORD,failed=WORD"
    )
    chunk.refuse(codes == -2, "decision", "is not a decision", mend)
    return codes


def stages(cells: pl.Series) -> NDArray[np.int8]:
    """Stage at which each recording failed; -1 where the cell is empty, -2 for no known stage."""
    return _coded(_words(cells).str.replace_all("[_ ]", "-"), STAGES)


def failures(chunk: Chunk) -> NDArray[np.int8]:
    """Stage at which each trial failed, by the columns of status and stage; 0 where it did not."""
    status = _words(chunk["status"])
    bad = ~status.is_in(list(OK)).to_numpy()
    stage = np.where(status.str.contains(r"enrol|\bfte\b").to_numpy(), ENROL, ACQUIRE)
    if "stage" in chunk.columns:
        named = stages(chunk["stage"])
        chunk.refuse(bad & (named == -2), "stage", *NO_STAGE)
        stage = np.where(named > 0, named, stage)
    return np.where(bad, stage, 0).astype(np.int8)


def numbers(
    chunk: Chunk, role: str, *, least: float = -np.inf, most: float = np.inf
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
    problem = "is not a number"
    if least > -np.inf:
        wrong |= (values < least) | (values > most)
        problem = f"is not a number from {least:g} to {most:,.0f}"
    chunk.refuse(wrong, role, problem, "correct it, or leave the cell empty")
    return values.fill_null(np.nan).to_numpy() + 0.0
