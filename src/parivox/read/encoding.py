"""Text to numbers, once, at the door: ids to codes, words to labels, cells to scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.errors import DataError
from parivox.read.labels import LABELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from parivox.read.formats.scan import Rows, Scan

__all__ = ["Dictionary", "labels", "scores"]


class Dictionary:
    """Ids numbered in the order in which they appear.

    The table engine's dictionary lives as long as this object, so chunks of a file share it.
    """

    def __init__(self) -> None:
        self._type: pl.Categorical | None = pl.Categorical(pl.Categories.random())
        # The engine forgets a dictionary that no column uses.
        self._kept: pl.Series | None = pl.Series([], dtype=self._type)
        self._ids = [pl.Series([], dtype=pl.String)]
        self._is_plain = True
        self.size = 0

    def codes(self, chunk: pl.DataFrame, role: str, scan: Scan, rows: Rows) -> NDArray[np.int32]:
        """Codes of one column, shape (row,); its empty cells are an error."""
        text = chunk[role]
        if text.dtype != pl.String:
            text = text.cast(pl.String)
        if text.null_count():
            raise _empty(scan, role, rows[int(text.is_null().arg_max() or 0)])
        codes, fresh = self.learn(text)
        if len(fresh):
            blank = self._ids[-1].str.strip_chars() == ""
            if blank.any():
                raise _empty(scan, role, rows[int(fresh[blank.arg_max() or 0])])
        return codes

    def learn(self, text: pl.Series) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Code of each text, and the places of those that were not known before."""
        assert self._type is not None
        codes: NDArray[np.int32] = text.cast(self._type).to_physical().to_numpy().astype(np.int32)
        top = int(codes.max(initial=-1)) + 1
        if top <= self.size:
            return codes, np.empty(0, dtype=np.int64)
        seen = np.full(top - self.size, -1, dtype=np.int64)
        fresh = np.flatnonzero(codes >= self.size)[::-1]
        seen[codes[fresh] - self.size] = fresh
        ids = text.gather(seen)
        self._is_plain = self._is_plain and bool((ids.str.strip_chars() == ids).all())
        self._ids.append(ids)
        self.size = top
        return codes, seen

    def sorted(self) -> tuple[pl.Series, NDArray[np.int32]]:
        """Distinct ids in rising order, and the place of each code among them.

        Nothing can be added after that: the dictionary gives its memory back.
        """
        self._type = self._kept = None
        ids = pl.concat(self._ids)
        self._ids.clear()
        if self._is_plain:
            order = ids.arg_sort()
            place = np.empty(len(ids), dtype=np.int32)
            place[order.to_numpy()] = np.arange(len(ids), dtype=np.int32)
            return ids.gather(order), place
        # ids that differ in blanks around them are one id
        plain = ids.str.strip_chars()
        distinct = plain.unique().sort()
        return distinct, plain.cast(pl.Enum(distinct)).to_physical().to_numpy().astype(np.int32)


def _empty(scan: Scan, role: str, row: int) -> DataError:
    return DataError(f"{scan.at(row, role)}: is empty; give the id, or remove the row")


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
    known = {word: LABELS.get(word.strip().lower(), -1) for word in raw.unique().drop_nulls()}
    found = raw.replace_strict(list(known), list(known.values()), default=-1, return_dtype=pl.Int8)
    codes = found.fill_null(-1).to_numpy()
    if (codes < 0).any():
        at = int((codes < 0).argmax())
        told = "is empty" if raw[at] is None else f"{raw[at]!r} is no label"
        msg = (
            f"{scan.at(rows[at], 'label')}: {told}; use 1 or target for two utterances of one "
            "speaker, 0 or nontarget for others"
        )
        raise DataError(msg)
    return np.asarray(codes, dtype=np.int8)
