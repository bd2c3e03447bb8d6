"""What joins files on ids, and what to say where they do not fit each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parivox.read.formats.format import Scan
    from parivox.read.utterances import Utterances

__all__ = ["agree", "named_rows", "pattern_of", "unmet"]

_SIDES = ("enrol", "test")
_EXAMPLES = 2


def named_rows(scans: Sequence[Scan]) -> pl.DataFrame:
    """Every utterance with the speaker that a column names for it, in the order of the rows.

    Returns
    -------
    DataFrame
        Columns ``scan`` (index into `scans`), ``row``, ``role``, ``utterance`` and ``speaker``;
        of each chunk, what it says again is left out.
    """
    found = [
        pl.DataFrame(
            schema={
                "scan": pl.Int64,
                "row": pl.Int64,
                "role": pl.String,
                "utterance": pl.String,
                "speaker": pl.String,
            }
        )
    ]
    for number, scanned in enumerate(scans):
        sides = [side for side in _SIDES if f"{side}_speaker" in scanned.columns]
        for rows, chunk in scanned.chunks() if sides else ():
            placed = chunk.with_columns(row=pl.Series(rows, dtype=pl.Int64))
            said = pl.concat(
                placed.select(
                    pl.lit(number, dtype=pl.Int64).alias("scan"),
                    pl.col("row"),
                    pl.lit(f"{side}_speaker").alias("role"),
                    pl.col(side).cast(pl.String).str.strip_chars().alias("utterance"),
                    pl.col(f"{side}_speaker").cast(pl.String).str.strip_chars().alias("speaker"),
                )
                for side in sides
            )
            said = said.sort("row", maintain_order=True).drop_nulls()
            found.append(said.unique(["utterance", "speaker"], keep="first", maintain_order=True))
    return pl.concat(found)


def agree(ids: pl.Series, names: pl.Series, utterances: Utterances, scans: Sequence[Scan]) -> None:
    """Refuse utterances whose speaker is one in a column and another one in their table.

    Parameters
    ----------
    ids, names
        Utterances and the speakers that columns name for them.
    utterances
        The table.
    scans
        Where the columns stand.
    """
    both = pl.DataFrame({"utterance": ids, "named": names}).join(utterances.table, on="utterance")
    odd = both.filter(pl.col("named") != pl.col("speaker"))
    if not odd.height:
        return
    wrong = odd.select("utterance", "named", other="row", theirs="speaker")
    first = named_rows(scans).join(wrong, on="utterance", maintain_order="left").row(0, named=True)
    such = "the only such utterance" if odd.height == 1 else f"{odd.height:,} such utterances"
    msg = (
        f"{scans[first['scan']].at(first['row'], first['role'])}: utterance "
        f"{first['utterance']!r} is of speaker {first['named']!r} here and of {first['theirs']!r} "
        f"in row {first['other']} of {utterances.name} ({such}); correct "
        "one of them, or leave one of the two out"
    )
    raise DataError(msg)


def _pairs(scanned: Scan) -> pl.DataFrame:
    """Pairs of ids of the first chunk."""
    for _, chunk in scanned.chunks():
        text = (pl.col(side).cast(pl.String).str.strip_chars() for side in _SIDES)
        return chunk.select(*text).drop_nulls().unique(maintain_order=True)
    return pl.DataFrame(schema=dict.fromkeys(_SIDES, pl.String))


def pattern_of(scores: Scan, trials: Scan) -> str:
    """In what the pairs of two files differ, if there is one thing that explains most of them."""
    ours, theirs = _pairs(scores), _pairs(trials)
    ending, folder = r"\.[A-Za-z0-9]{1,5}$", r"^.*/"
    changes = {
        "enrol and test are swapped": None,
        "the ids differ by their endings": [ending],
        "the ids differ by their folders": [folder],
        "the ids differ by their folders and endings": [folder, ending],
    }
    for told, patterns in changes.items():
        if patterns is None:
            one, other = ours.select(enrol="test", test="enrol"), theirs
        else:
            one, other = ours, theirs
            for pattern in patterns:
                bare = pl.all().str.replace(pattern, "")
                one, other = one.select(bare), other.select(bare)
        met = one.join(other, on=_SIDES, how="semi").height
        if 2 * met > min(one.height, other.height):
            return told
    lower = [pairs.select(pl.all().str.to_lowercase()) for pairs in (ours, theirs)]
    if 2 * lower[0].join(lower[1], on=_SIDES, how="semi").height > min(ours.height, theirs.height):
        return "the ids differ in upper and lower case"
    return ""


def unmet(scores: Scan, trials: Scan) -> str:
    """What to say where no trial has a score: pairs of both files, and the mend."""
    shown = " but ".join(
        f"{scanned.name} holds "
        + ", ".join(f"({e}, {t})" for e, t in _pairs(scanned)[:_EXAMPLES].iter_rows())
        for scanned in (scores, trials)
    )
    pattern = pattern_of(scores, trials)
    mend = f"{pattern}, so make them alike" if pattern else "check that the files belong together"
    return f"{shown}; {mend}"
