"""Cells of trials as numbers: labels, scores, decisions, failures, and what a trial took."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.core.counts import SPOOF
from parivox.data.cell_words import DECISIONS, LABELS, MAX_DECISION_WORDS, is_label
from parivox.data.trial_checks import ACQUIRE, ENROL
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Chunk, Scan

SECONDS_PER_DAY = 86_400.0
"""Seconds that a trial takes at most."""
SPOOF_REMEDY = "remove the spoof trials, or audit them with parivox audit"
UNKNOWN_WORD = "WORD"
"""What stands in an option for a word that only the user knows."""
SUCCESS_WORDS = frozenset(
    ("", "ok", "okay", "success", "succeeded", "scored", "valid", "done", "none")
)
_ENROL_STAGE_WORDS = (
    "enrol",
    "enroll",
    "enrolment",
    "enrollment",
    "enrolled",
    "fte",
    "failure-to-enrol",
)
_ACQUIRE_STAGE_WORDS = (
    "acquire", "acquisition", "acquired", "test", "verify", "verification", "probe", "fta",
    "failure-to-acquire",
)  # fmt: skip
STAGE_PROBLEM = ("is not a stage", "use enrol or acquire")
STAGE_WORDS = {
    **dict.fromkeys(_ENROL_STAGE_WORDS, ENROL),
    **dict.fromkeys(_ACQUIRE_STAGE_WORDS, ACQUIRE),
}


def scores(chunk: Chunk, scan: Scan) -> NDArray[np.float64]:
    """Scores of a chunk; NaN where the cell is empty."""
    column = chunk["score"]
    remedy = "leave the cell empty if the trial was not scored"
    if column.dtype == pl.String:
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            column = column.str.strip_chars()
            column = column.set(column == "", None)
            numbers = column.cast(pl.Float64, strict=False)
            is_no_number = numbers.is_null() & column.is_not_null()
            if column.filter(is_no_number).str.contains(",", literal=True).any():
                _check_decimal_commas(scan)
                numbers = column.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
                is_no_number = numbers.is_null() & column.is_not_null()
            chunk.refuse(
                is_no_number, "score", "is not a number", f"correct the value, or {remedy}"
            )
    elif column.dtype.is_numeric() or column.dtype == pl.Null:
        numbers = column.cast(pl.Float64)
    else:
        msg = (
            f"{chunk.name}: column {chunk.columns['score']!r} contains {column.dtype}, not numbers"
        )
        hint = "save the column as numbers"
        raise DataError(msg, hint)
    chunk.refuse(numbers.is_nan(), "score", "is not a score", remedy)
    return numbers.fill_null(np.nan).to_numpy() + 0.0  # -0.0 and 0.0 are one score


def _check_decimal_commas(scan: Scan) -> None:
    """Refuse scores of which some have a decimal comma and others a decimal point.

    What separates thousands is never guessed.
    """
    if scan.content is not None and "decimal" in scan.content.dialect:
        return
    examples: dict[str, tuple[int, str]] = {}
    for chunk in scan.chunks():
        text = chunk["score"].cast(pl.String)
        sign_cells = {
            sign: text.str.contains(sign, literal=True).fill_null(value=False) for sign in ",."
        }
        for sign, second_text in (",.", ".,"):
            has_one_sign = sign_cells[sign] & ~sign_cells[second_text]
            if sign not in examples and has_one_sign.any():
                row = int(has_one_sign.arg_max() or 0)
                examples[sign] = int(chunk.rows[row]), str(text[row])
        if len(examples) == 2:
            (first_row, first_text), (second_row, second_text) = sorted(examples.values())
            signs = ["comma" if "," in text else "point" for text in (first_text, second_text)]
            msg = (
                f"{scan.name}, rows {first_row} and {second_row}, column "
                f"{scan.columns['score']!r}: {first_text!r} "
                f"has a decimal {signs[0]} and {second_text!r} a decimal {signs[1]}"
            )
            hint = "use one decimal sign, and no thousands separators"
            raise DataError(msg, hint)
    if scan.content is not None and examples:
        scan.content.dialect["decimal"] = ","


def labels(chunk: Chunk) -> NDArray[np.int8]:
    """Labels of a chunk, as codes of `parivox.core.counts.TRIAL_CLASSES`."""
    column = chunk["label"]
    if column.dtype.is_integer() and not column.null_count() and column.is_between(0, 1).all():
        return column.cast(pl.Int8).to_numpy()
    column = column.cast(pl.String, strict=False)
    codes = np.full(len(column), -1, dtype=np.int8)
    while (is_uncoded := codes < 0).any():  # of one word after the other, as they appear
        word = column[int(is_uncoded.argmax())]
        has_word = column.eq_missing(word).to_numpy()
        code = LABELS.get("" if word is None else word.strip().lower(), -1)
        if code < 0:
            chunk.refuse(has_word, "label", "is not a label", _label_remedy(column))
        codes[has_word] = code
    return codes


def bona_fide_labels(chunk: Chunk) -> NDArray[np.int8]:
    """Labels of a chunk of target and nontarget trials; a spoof trial is an error."""
    codes = labels(chunk)
    chunk.refuse(codes == SPOOF, "label", "labels a spoof trial", SPOOF_REMEDY)
    return codes


def _label_remedy(column: pl.Series) -> str:
    """Return how to say what the words of a column of labels mean.

    Examples
    --------
    >>> _label_remedy(pl.Series(["H1", "H2"]))
    'state what the words mean, for example --columns target=H1,nontarget=H2 or the reverse'
    """
    words = column.str.strip_chars().drop_nulls().unique(maintain_order=True).to_list()
    unknown = [word for word in words if word and not is_label(word)]
    if len(unknown) == len(words) == 2:
        assigned = shlex.quote(f"target={unknown[0]},nontarget={unknown[1]}")
        return f"state what the words mean, for example --columns {assigned} or the reverse"
    return (
        "use 1 or target for the same speaker, 0 or nontarget for different speakers, or state "
        "what the words mean with --columns target=WORD,nontarget=WORD,spoof=WORD"
    )


def _lower_words(column: pl.Series) -> pl.Series:
    return column.cast(pl.String, strict=False).str.strip_chars().str.to_lowercase().fill_null("")


def _word_codes(words: pl.Series, codes: dict[str, int]) -> NDArray[np.int8]:
    """Code of each word; -1 where it is empty, -2 where it is not known."""
    word_codes = {"": -1} | {word: codes.get(word, -2) for word in words.unique() if word}
    coded = words.replace_strict(list(word_codes), list(word_codes.values()), return_dtype=pl.Int8)
    return coded.to_numpy().astype(np.int8)


def decisions(chunk: Chunk) -> NDArray[np.int8]:
    """1 for accepted, 0 for rejected, -1 where the cell is empty."""
    cells = _lower_words(chunk["decision"])
    codes = _word_codes(cells, DECISIONS)
    remedy = (
        "use accept or reject, or leave the cell empty; or say what such words mean, for example "
        "--columns accept=WORD,reject=WORD,failed=WORD"
    )
    words = cells.unique().drop_nulls().sort().to_list() if (codes == -2).any() else []
    if len(words) <= MAX_DECISION_WORDS:
        recipe, _ = decision_words([word for word in words if word])
        if "failed" in recipe and UNKNOWN_WORD not in recipe.values():
            remedy = f"correct it, or say what failed with {columns_option(recipe)}"
    chunk.refuse(codes == -2, "decision", "is not a decision", remedy)
    return codes


def decision_words(words: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return what an option must say of unknown words of decisions, and an explanation.

    If words of both decisions are known, all others mean failures. Otherwise only the user knows
    the meaning of the unknown ones, for which `UNKNOWN_WORD` stands.

    Examples
    --------
    >>> decision_words(["accept", "reject", "too short"])
    ({'failed': 'too short'}, "'too short' is read as a failure")
    >>> decision_words(["ja", "nein"])[0]
    {'accept': 'WORD', 'reject': 'WORD'}
    """
    unknown = unknown_words(words)
    known_codes = {DECISIONS[word.lower()] for word in words if word not in unknown}
    if not unknown or any(sign in word for word in unknown for sign in ",|"):  # as no option has it
        return {}, ""
    if len(known_codes) > 1:
        return {"failed": "|".join(unknown)}, failure_words_text(unknown)
    needed_words = [
        word for code, word in ((1, "accept"), (0, "reject")) if code not in known_codes
    ]
    needed_words += ["failed"] if len(unknown) > len(needed_words) else []
    listed = ", ".join(map(repr, unknown))
    explanation = f"which of {listed} means {', '.join(needed_words)} is not known"
    return dict.fromkeys(needed_words, UNKNOWN_WORD), explanation


def unknown_words(words: Sequence[str]) -> list[str]:
    """Return the words of a column that are no known words of decisions."""
    return [word for word in words if word.lower() not in DECISIONS]


def failure_words_text(words: Sequence[str]) -> str:
    """Return that words are read as failures, as a clause."""
    meaning = "are read as failures" if len(words) > 1 else "is read as a failure"
    return f"{', '.join(map(repr, words))} {meaning}"


def columns_option(recipe: Mapping[str, str]) -> str:
    """Return the option of columns in the notation of a shell.

    Examples
    --------
    >>> columns_option({"decision": "ok", "failed": "too short"})
    "--columns 'decision=ok,failed=too short'"
    """
    return f"--columns {shlex.quote(','.join(map('='.join, recipe.items())))}"


def stages(cells: pl.Series) -> NDArray[np.int8]:
    """Stage at which each recording failed; -1 where the cell is empty, -2 for no known stage."""
    return _word_codes(_lower_words(cells).str.replace_all("[_ ]", "-"), STAGE_WORDS)


def failures(chunk: Chunk) -> NDArray[np.int8]:
    """Stage at which each trial failed, by the columns of status and stage; 0 where it did not."""
    status = _lower_words(chunk["status"])
    has_failed = ~status.is_in(list(SUCCESS_WORDS)).to_numpy()
    stage = np.where(status.str.contains(r"enrol|\bfte\b").to_numpy(), ENROL, ACQUIRE)
    if "stage" in chunk.columns:
        named_stage = stages(chunk["stage"])
        chunk.refuse(has_failed & (named_stage == -2), "stage", *STAGE_PROBLEM)
        stage = np.where(named_stage > 0, named_stage, stage)
    return np.where(has_failed, stage, 0).astype(np.int8)


def numbers(
    chunk: Chunk, role: str, *, lowest: float = -np.inf, highest: float = np.inf
) -> NDArray[np.float64]:
    """Numbers of a column, NaN where the cell is empty."""
    column = chunk[role]
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set(column == "", None)
        parsed = column.cast(pl.Float64, strict=False)
        if parsed.null_count() > column.null_count():
            has_comma = column.str.contains(",", literal=True)
            if not column.filter(~has_comma).str.contains(".", literal=True).any():
                parsed = column.str.replace(",", ".", literal=True).cast(pl.Float64, strict=False)
    else:
        parsed = column.cast(pl.Float64, strict=False)
    is_invalid = (parsed.is_null() & column.is_not_null()) | parsed.is_nan()
    problem = "is not a number"
    if lowest > -np.inf:
        is_invalid |= (parsed < lowest) | (parsed > highest)
        problem = f"is not a number from {lowest:g} to {highest:,.0f}"
    chunk.refuse(is_invalid, role, problem, "correct it, or leave the cell empty")
    return parsed.fill_null(np.nan).to_numpy() + 0.0
