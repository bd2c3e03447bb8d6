"""What joins files on ids, whose each utterance is, and what to say where files do not fit."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Protocol

import numpy as np
import polars as pl

from parivox.data.columns import alone
from parivox.data.source_bytes import nobody_asked
from parivox.data.trial_values import labels
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Scan
    from parivox.data.speakers import Speakers

    Keys = Callable[[str], Iterable[object]]


class NamesSpeakers(Protocol):
    """A table of utterances, as far as it is asked whose they are."""

    @property
    def name(self) -> str:
        """Of the file."""

    @property
    def table(self) -> pl.DataFrame:
        """Its rows."""

    @property
    def names_speakers(self) -> bool:
        """Whether it has a column of speakers."""

    def speakers(self, ids: pl.Series, name: str) -> pl.Series:
        """The speaker of each utterance."""


PLACEHOLDERS = ("", "nan", "NaN", "None", "null", "NA", "N/A", "n/a", "unknown", "-", "?", "-1")
"""Speaker ids that stand for nobody, unless a table of speakers lists them."""


def placeholders() -> tuple[str, ...]:
    """Return speaker ids that stand for nobody, those that the user named among them."""
    return (*PLACEHOLDERS, *nobody_asked())


_FEW_WORDS = 3  # ids that may stand for nobody, which a message names as such
NOBODY = -2
"""What stands for the place of such a speaker."""
_SIDES = ("enrol", "test")
_ENDING, _FOLDER = r"\.[A-Za-z0-9]{1,5}$", r"^.*/"
DIFFERENCES: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "by their endings": lambda ids: ids.str.replace(_ENDING, ""),
    "by their folders": lambda ids: ids.str.replace(_FOLDER, ""),
    "by their folders and endings": lambda ids: ids.str.replace(_FOLDER, "").str.replace(
        _ENDING, ""
    ),
    "in upper and lower case": lambda ids: ids.str.to_lowercase(),
    "in slashes and backslashes": lambda ids: ids.str.replace_all("\\", "/", literal=True),
}
"""What ids of two files may differ in, and what makes them alike."""
_CUTS = (r"\..*$", r"\.[^.]*$")
"""Behind the first full stop, where SpeechBrain cuts ids, and behind the last."""
_PAIRS_SHOWN = 2
_EXAMPLES = 3
_MOST = 0.5
_SAMPLE = 1000
_MEND = "import the original into the spreadsheet again, with the column as text"
_DIGITS = 15
"""A spreadsheet keeps so many digits of a number."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Patterns stay text until ids are missed.
_SCIENTIFIC = r"(?i)(\d)(?:[.,](\d+))?E\+?(\d+)"
_POWER = r"(?i)\d+(?:E\d+)?"
_WHOLE = r"(-?\d+)[.,]0+"
_MONTH_AND_DAY = r"(?i)([a-z]{3,9})[-_./ ]?(\d{1,2})"
_DAY_AND_MONTH = r"(?i)(\d{1,2})[-_./ ]?([a-z]{3,9})\.?"
_NUMBERS = r"(\d{1,2})[-/.](\d{1,2})"
_DATE = r"\d{4}-(\d\d)-(\d\d)"


def named_rows(scans: Sequence[Scan]) -> pl.DataFrame:
    """Every utterance with the speaker that a column names for it, in the order of the rows.

    Columns ``scan`` (index into `scans`), ``row``, ``role``, ``utterance`` and ``speaker``; of each
    chunk, what it says again is left out.
    """
    texts = dict.fromkeys(("role", "utterance", "speaker"), pl.String)
    found = [pl.DataFrame(schema={"scan": pl.Int64, "row": pl.Int64, **texts})]
    for number, scanned in enumerate(scans):
        sides = [side for side in _SIDES if f"{side}_speaker" in scanned.columns]
        is_of_claimed = "label" in scanned.columns and bool(alone(scanned.columns))
        for chunk in scanned.chunks() if sides else ():
            placed = chunk.frame.with_columns(row=pl.Series(chunk.rows, dtype=pl.Int64))
            rows = dict.fromkeys(sides, placed)
            if is_of_claimed:  # who is claimed calls in target trials alone
                rows["test"] = placed.filter(pl.Series(labels(chunk) == 1))
            named = pl.concat(
                rows[side].select(
                    scan=pl.lit(number, dtype=pl.Int64),
                    row="row",
                    role=pl.lit(f"{side}_speaker"),
                    utterance=pl.col(side).cast(pl.String).str.strip_chars(),
                    speaker=pl.col(f"{side}_speaker").cast(pl.String).str.strip_chars(),
                )
                for side in sides
            )
            named = named.sort("row", maintain_order=True).drop_nulls()
            found.append(named.unique(["utterance", "speaker"], keep="first", maintain_order=True))
    return pl.concat(found)


def check_speaker_columns(
    ids: pl.Series, names: pl.Series, utterances: NamesSpeakers, scans: Sequence[Scan]
) -> None:
    """Refuse utterances whose speaker is one in a column and another one in their table."""
    both = pl.DataFrame({"utterance": ids, "named": names}).join(utterances.table, on="utterance")
    odd = both.filter(pl.col("named") != pl.col("speaker"))
    if not odd.height:
        return
    wrong = odd.select("utterance", "named", other="row", theirs="speaker")
    first = named_rows(scans).join(wrong, on="utterance", maintain_order="left").row(0, named=True)
    such = "the only such utterance" if odd.height == 1 else f"{odd.height:,} such utterances"
    msg = (
        f"{scans[first['scan']].location(first['row'], first['role'])}: utterance "
        f"{first['utterance']!r} is of speaker {first['named']!r} here and of {first['theirs']!r} "
        f"in row {first['other']} of {utterances.name} ({such}); correct "
        "one of them, or leave one of the two out"
    )
    raise DataError(msg)


def _pairs(scanned: Scan) -> pl.DataFrame:
    """Pairs of ids of the first chunk."""
    for chunk in scanned.chunks():
        text = (pl.col(side).cast(pl.String).str.strip_chars() for side in _SIDES)
        return chunk.frame.select(*text).drop_nulls().unique(maintain_order=True)
    return pl.DataFrame(schema=dict.fromkeys(_SIDES, pl.String))


def pattern_of(scores: Scan, trials: Scan) -> str:
    """In what the pairs of two files differ, if there is one thing that explains most of them."""
    ours, theirs = _pairs(scores), _pairs(trials)

    def explains(one: pl.DataFrame, other: pl.DataFrame) -> bool:
        met = one.join(other, on=_SIDES, how="semi").height
        return 2 * met > min(one.height, other.height)

    if explains(ours.select(enrol="test", test="enrol"), theirs):
        return "enrol and test are swapped"
    for how, change in DIFFERENCES.items():
        if explains(ours.select(change(pl.all())), theirs.select(change(pl.all()))):
            return f"the ids differ {how}"
    for cut in _CUTS:
        if explains(ours, theirs.select(pl.all().str.replace(cut, ""))):
            return "the ids of the scores end at a full stop, as SpeechBrain cuts them"
    return ""


def why_nothing_fits(scores: Scan, trials: Scan) -> str:
    """What to say where no trial has a score: pairs of both files, and the mend."""
    shown = " but ".join(
        f"{scanned.name} holds "
        + ", ".join(f"({e}, {t})" for e, t in _pairs(scanned)[:_PAIRS_SHOWN].iter_rows())
        for scanned in (scores, trials)
    )
    pattern = pattern_of(scores, trials)
    mend = f"{pattern}, so make them alike" if pattern else "check that the files belong together"
    return f"{shown}; {mend}"


def utterance_speakers(
    ids: pl.Series,
    speakers: Speakers,
    utterances: NamesSpeakers | None,
    name: str,
    *,
    known: bool = False,
    may_be_nobody: bool = False,
) -> NDArray[np.int32]:
    """Speaker of every distinct utterance, as an index into ``speakers.ids``, shape (utterance,).

    Without a table of utterances, the speaker is the first component of the path. It is `known`
    where other ids have shown that this is where the speaker stands; `name` is the file with the
    ids.
    """
    if utterances is not None and utterances.names_speakers:
        whose = utterances.speakers(ids, name)
        return speaker_indices(whose, speakers, utterances.name, may_be_nobody=may_be_nobody)
    components = first_components(ids)
    whose = components.rle()  # the ids are in order, so those of one speaker stand together
    names, times = whose.struct.field("value"), whose.struct.field("len").to_numpy()
    place = speakers.positions(names) if known else None
    if place is not None and (place >= 0).all():
        return np.repeat(place, times)
    share = speakers.choose_id_column(names)
    if (
        share < _MOST
        and not known
        and not _in_header(components, speakers).any()
        and not _damage_of_speakers(components, speakers, share)
    ):
        given = "" if utterances is None else utterances.name
        hint = _case_hint(components, speakers) or _cut_hint(
            components.unique(), pl.concat(map(speakers.table_column, speakers.columns))
        )
        pattern = hint or pattern_of_speakers(ids, speakers, share, utterances=given)[0]
        if pattern:
            missing = ids.filter(~components.is_in(_known_ids(speakers, share)))
            msg = (
                f"{name}: the first components of {listed_ids(missing, ids, 'utterance ids')} are "
                f"not speakers in {speakers.name}; {pattern}"
            )
            raise DataError(msg)
    place = speaker_indices(names, speakers, name, may_be_nobody=may_be_nobody)
    return np.repeat(place, times)


def speaker_indices(
    found: pl.Series, speakers: Speakers, name: str, *, may_be_nobody: bool = False
) -> NDArray[np.int32]:
    """Indices of speaker ids, all of which must be in the table of speakers.

    With `may_be_nobody`, `NOBODY` stands for a placeholder that the table does not list.
    """
    place = speakers.positions(found)
    if place is not None and (place >= 0).all():
        return place
    share = speakers.choose_id_column(found)
    if share < 1.0:
        distinct = found.unique().sort()
        missing = distinct.filter(~distinct.is_in(_known_ids(speakers, share)))
        if may_be_nobody:
            missing = missing.filter(~missing.is_in(placeholders()))
            if missing.is_empty():
                return _with_nobody(found, speakers)
        headless = missing.filter(_in_header(missing, speakers))
        if len(headless):
            msg = (
                f"{speakers.name}: has no header, as its first row holds the speaker "
                f"{headless[0]!r}; put a row with names of the columns above it"
            )
            raise DataError(msg)
        mend = _damage_of_speakers(missing, speakers, share) or (
            "add them to it, check case and spelling, or name its id column with --id"
        )
        if len(missing) <= _FEW_WORDS and len(distinct) > len(missing):
            words = "|".join(missing.to_list())
            mend += (
                f". For ids that stand for no speaker, give --columns nobody={shlex.quote(words)}"
            )
        msg = (
            f"{name}: {listed_ids(missing, distinct, 'speakers')} are not in {speakers.name}; "
            f"{mend}"
        )
        raise DataError(msg)
    place = speakers.positions(found)
    assert place is not None
    return place


def _with_nobody(found: pl.Series, speakers: Speakers) -> NDArray[np.int32]:
    """Indices of speaker ids, those of nobody as `NOBODY`."""
    place = speakers.positions(found)
    if place is None:
        return np.full(len(found), NOBODY, dtype=np.int32)
    return np.where(place < 0, np.int32(NOBODY), place)


def _in_header(found: pl.Series, speakers: Speakers) -> pl.Series:
    """Which speakers stand where the names of the columns should."""
    return found.is_in(pl.Series([speakers.columns], dtype=pl.List(pl.String)))


def _known_ids(speakers: Speakers, share: float) -> pl.Series:
    """Ids of the speakers, if any was found, since only then their column is known."""
    return pl.Series([list(speakers.ids) if share else []], dtype=pl.List(pl.String))


def _damage_of_speakers(found: pl.Series, speakers: Speakers, share: float) -> str:
    """What a spreadsheet did to ids of which this share is known, if it did anything."""
    if share:
        missing = found.filter(~found.is_in(_known_ids(speakers, share)))
        return spreadsheet_damage(missing.unique().sort(), speakers.ids, speakers.name)
    there = [one for column in speakers.columns for one in speakers.table_column(column)]
    return spreadsheet_damage(found.unique().sort(), there, speakers.name)


def first_components(ids: pl.Series) -> pl.Series:
    r"""What stands before the first slash, in ids of Windows a backslash; the id if there is none.

    Examples
    --------
    >>> first_components(pl.Series(["a/1.wav", r"b\2.wav", "c"])).to_list()
    ['a', 'b', 'c']
    """
    return before(ids, r"[/\\]")


def before(ids: pl.Series, pattern: str) -> pl.Series:
    """What stands before the first match of a pattern; the id if there is none."""
    text = pl.col("id")
    first = text.cast(pl.Binary).bin.slice(0, text.str.find(pattern))  # which counts bytes
    return ids.to_frame("id").select(first.cast(pl.String).alias(ids.name)).to_series()


def with_slashes(ids: pl.Series) -> pl.Series:
    """Ids with slashes for the backslashes of Windows."""
    is_windows = ids.str.contains("\\", literal=True).any()
    return ids.str.replace_all("\\", "/", literal=True) if is_windows else ids


def listed_ids(missing: pl.Series, every: pl.Series, what: str) -> str:
    """How many of the ids are missing, and which, for messages."""
    shown = ", ".join(repr(one) for one in missing[:_EXAMPLES])
    more = ", ..." if len(missing) > _EXAMPLES else ""
    return f"{len(missing):,} of {len(every):,} {what} ({shown}{more})"


def mend_of_ids(missing: pl.Series, known: pl.Series) -> str:
    """The mend: alike, if folders in front or an ending are all that sets each of them apart."""
    ours, theirs = (with_slashes(ids).str.replace(_ENDING, "") for ids in (missing, known))
    if with_slashes(missing).is_in(with_slashes(known).implode()).all():
        return "they differ in slashes and backslashes only, so make them alike"
    if missing.str.ends_with(":b").all() and missing.str.strip_suffix(":b").is_in(known).all():
        return f"they are of side b, so write {missing[0]!r} and the like there"

    def behind(ids: pl.Series) -> list[pl.Series]:
        """The ids, each time with one folder more at most."""
        parts = ids.str.split("/")
        most = int(parts.list.len().max() or 1)  # type: ignore[arg-type]
        return [parts.list.tail(n).list.join("/") for n in range(1, most + 1)]

    is_met = ours.is_in(pl.concat(behind(theirs)).unique().implode())
    for tail in behind(ours):
        is_met |= tail.is_in(theirs.implode())
    if is_met.all():
        return "they differ from ids there by folder or ending only, so make them alike"
    return _cut_hint(missing, known) or "add them to it"


def _cut_hint(found: pl.Series, known: pl.Series) -> str:
    """What to say of ids most of which go on there behind a full stop; else nothing.

    Examples
    --------
    >>> _cut_hint(pl.Series(["anna"]), pl.Series(["anna.b", "tom"]))
    "they end where those there have a full stop ('anna' is 'anna.b'), as SpeechBrain cuts ids; \
write them whole"
    """
    for cut in _CUTS:
        whole = pl.DataFrame({"whole": known, "cut": known.str.replace(cut, "")})
        whole = (
            whole.filter(pl.col("whole") != pl.col("cut")).sort("whole").unique("cut", keep="first")
        )
        met = pl.DataFrame({"cut": found}).join(whole, on="cut", maintain_order="left")
        if 2 * met.height > len(found):
            return (
                f"they end where those there have a full stop ({met['cut'][0]!r} is "
                f"{met['whole'][0]!r}), as SpeechBrain cuts ids; write them whole"
            )
    return ""


def _case_hint(found: pl.Series, speakers: Speakers) -> str:
    """What to say of speakers that differ from those of the table in case only; else nothing."""
    for column in speakers.columns:
        ours, theirs = (
            pl.DataFrame({name: one, "plain": one.str.to_lowercase()})
            for name, one in (("mine", found), ("theirs", speakers.table_column(column)))
        )
        both = ours.join(theirs.unique("plain"), on="plain", maintain_order="left")
        odd = both.filter(pl.col("mine") != pl.col("theirs"))
        if 2 * odd.height > len(found):
            pair = f"{odd['mine'][0]!r} is {odd['theirs'][0]!r}"
            return f"they differ in upper and lower case ({pair}), so make them alike"
    return ""


_PARTS = {
    "{speaker}-**": "the text before the first '-'",
    "{speaker}_**": "the text before the first '_'",
    "{speaker}.**": "the text before the first '.'",
    "*/{speaker}/**": "the second component of the path",
    "*/*/{speaker}/**": "the third component of the path",
    "**/{speaker}/*": "the folder of the file",
    "**/{speaker}-*": "the part of the file's name before '-'",
    "**/{speaker}_*": "the part of the file's name before '_'",
}
"""Where in ids their speaker may stand, as `speakers_by` takes it and in words."""
_PIECES = {"**": ".+", "*": "[^/]+", "{speaker}": "([^/]+?)"}


def speakers_by(pattern: str, ids: pl.Series) -> pl.Series:
    r"""The part of each id that a pattern calls the speaker; null where the id does not fit it.

    A star stands for some text within a folder, two for some text, and ``{speaker:3}`` for a
    speaker of three characters.

    Examples
    --------
    >>> speakers_by("{speaker}-**", pl.Series(["id1-a-1", "id2-b/c", "id3"])).to_list()
    ['id1', 'id2', None]
    >>> speakers_by("**/{speaker}/*", pl.Series(["C:\\data\\id1\\1.wav"])).to_list()
    ['id1']
    """
    parts = re.split(r"(\*\*|\*|\{speaker(?::\d+)?\})", pattern)
    made = ""
    for part in parts:
        length = re.fullmatch(r"\{speaker:(\d+)\}", part)
        made += f"(.{{{length[1]}}})" if length else _PIECES.get(part, re.escape(part))
    return with_slashes(ids).str.extract(f"(?s)^{made}$")


def _best_pattern(
    ids: pl.Series, columns: Sequence[pl.Series], share: float
) -> tuple[str, str, float]:
    """The pattern by which most ids have a speaker of a column, if more than a share do."""
    parts = dict(_PARTS)
    for cells in columns:  # ids of one length may begin the utterance's id, as s01u07 does
        lengths = cells.str.len_chars().unique().to_list()
        if len(lengths) == 1 and len(cells) > 1:
            parts[f"{{speaker:{lengths[0]}}}**"] = f"its first {lengths[0]} characters"
    best, most = "", share
    for pattern in parts:
        known = speakers_by(pattern, ids).drop_nulls()
        for cells in columns:
            now = float(known.is_in(cells.implode()).sum() or 0) / max(len(ids), 1)
            if now > most:
                best, most = pattern, now
    return best, parts.get(best, ""), most


def pattern_of_speakers(
    ids: pl.Series, speakers: Speakers, share: float, *, utterances: str = ""
) -> tuple[str, str]:
    """What the ids look like, and what mends it; and a pattern of the speakers if one fits most.

    Both are empty if first components fit better, which are known of this share of the ids.
    `utterances` is a table of these that is given, and tells no speakers.
    """
    table = {column: speakers.table_column(column) for column in speakers.columns}
    best, part, most = _best_pattern(ids, list(table.values()), share)
    mend = (
        f"add the column 'speaker' that {utterances} lacks"
        if utterances
        else "give the speakers with --utterances, as Kaldi's utt2spk has them, or as columns "
        "enrol_speaker and test_speaker"
    )
    if best and most >= _MOST:
        if not utterances:
            mend = f"say so with --utterances '{best}', or {mend}"
        return f"the speaker seems to be {part} ({most:.0%} of the ids); {mend}", best
    if share:
        return "", ""
    for column, cells in table.items():
        if float(ids.is_in(cells.implode()).mean() or 0.0) >= _MOST:  # type: ignore[arg-type]
            return (
                f"column {column!r} there holds the utterance ids themselves, so it seems to be "
                f"no table of speakers; {mend}"
            ), ""
    few = "no part of most of" if best else "no part of"
    return (
        f"{few} the ids is known as a speaker, so check that the tables belong together, or {mend}"
    ), ""


def spreadsheet_damage(missing: Iterable[str], known: Iterable[str], table: str) -> str:
    """How a spreadsheet made one id of the other, and the mend; empty if it did not.

    Examples
    --------
    >>> spreadsheet_damage(["00042", "x"], ["42"], "people.csv").partition(";")[0]
    "a spreadsheet seems to have dropped leading zeros ('00042' is '42' in people.csv)"
    """
    wanted = [one for one, _ in zip(missing, range(_SAMPLE), strict=False)]
    there = list(known)
    best, change = 0, ""
    for did, before, after in _HABITS:
        for mine, theirs in ((before, after), (after, before)):
            met = _ids_that_match(wanted, there, mine, theirs)
            if len(met) > best:
                one, other = next(iter(met.items()))
                mend = _MEND
                if before is _padded:  # the digits are all there, and can be shown
                    zeros = "0" * max(len(one), len(other))
                    mend += f", or give it a number format such as {zeros} and export it again"
                best, change = len(met), f"{did} ({one!r} is {other!r} in {table}); {mend}"
    return f"a spreadsheet seems to have {change}" if change else ""


def _ids_that_match(
    wanted: Iterable[str], there: Iterable[str], mine: Keys, theirs: Keys
) -> dict[str, str]:
    """The known id that each wanted one may be, where there is one."""
    asked: dict[object, list[str]] = {}
    for one in wanted:
        for key in mine(one):
            asked.setdefault(key, []).append(one)
    met: dict[str, str] = {}
    for other in there if asked else ():
        for key in theirs(other):
            met |= {one: other for one in asked.get(key, ()) if one not in met}
    return {one: met[one] for one in wanted if one in met}


def _padded(text: str) -> Iterable[object]:
    return (text.lstrip("0") or "0",) if text.isdecimal() and text[0] == "0" else ()


def _unpadded(text: str) -> Iterable[object]:
    return (text,) if text.isdecimal() and text[0] != "0" else ()


def _power(text: str) -> Iterable[object]:
    """Every way to write a number in powers of ten."""
    if len(text) > 300 or not re.fullmatch(_POWER, text) or len(text.partition("E")[2]) > 3:
        return ()
    return {f"{float(text):.{digits}E}" for digits in range(6)}


def _scientific(text: str) -> Iterable[object]:
    found = re.fullmatch(_SCIENTIFIC, text)
    if not found:
        return ()
    first, rest, power = found.groups()
    return (f"{first}{'.' + rest if rest else ''}E+{int(power):02d}",)


def _whole(text: str) -> Iterable[object]:
    return (text, text.lstrip("0") or "0") if text.lstrip("-").isdecimal() else ()


def _with_point(text: str) -> Iterable[object]:
    found = re.fullmatch(_WHOLE, text)
    return (found[1],) if found else ()


def _long(text: str) -> Iterable[object]:
    cut = text[:_DIGITS] + "0" * (len(text) - _DIGITS)
    return (cut,) if text.isdecimal() and cut != text and len(text) > _DIGITS else ()


def _cut(text: str) -> Iterable[object]:
    return (text,) if text.isdecimal() and len(text) > _DIGITS else ()


def _like_date(text: str) -> Iterable[object]:
    """Month and day that an id may be taken for, as MAR1 and 3-1 are."""
    numbers = re.fullmatch(_NUMBERS, text)
    if numbers:
        one, other = int(numbers[1]), int(numbers[2])
        return {(one, other), (other, one)}
    found = re.fullmatch(_MONTH_AND_DAY, text)
    return _month_and_day(found[1], found[2]) if found else ()


def _dated(text: str) -> Iterable[object]:
    day = re.fullmatch(_DATE, text)
    if day:
        return ((int(day[1]), int(day[2])),)
    found, other = re.fullmatch(_DAY_AND_MONTH, text), re.fullmatch(_MONTH_AND_DAY, text)
    if found:
        return _month_and_day(found[2], found[1])
    return _month_and_day(other[1], other[2]) if other else ()


def _month_and_day(month: str, day: str) -> Iterable[object]:
    known = month[:3].lower() in _MONTHS
    return ((_MONTHS.index(month[:3].lower()) + 1, int(day)),) if known else ()


_HABITS: tuple[tuple[str, Keys, Keys], ...] = (
    ("dropped leading zeros", _padded, _unpadded),
    ("put .0 behind whole numbers", _whole, _with_point),
    ("written ids in powers of ten", _power, _scientific),
    (f"turned digits beyond the {_DIGITS}th into zeros", _long, _cut),
    ("taken ids for dates", _like_date, _dated),
)
"""What was done, keys of an id as it was and keys of it as it is now."""
