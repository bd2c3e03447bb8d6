"""What joins files on ids, whose each utterance is, and what to say where files do not fit."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import polars as pl

from parivox.data.columns import SPEAKER_NAMES, only_customer_column, plain_name
from parivox.data.id_patterns import speakers_by_pattern, with_slashes
from parivox.data.source_bytes import nobody_words
from parivox.data.trial_values import labels
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.formats.format import Scan
    from parivox.data.speakers import Speakers

    Keys = Callable[[str], Iterable[object]]
    SpeakerCheck = Callable[[pl.Series], bool]
    """Whether the speakers of some ids, null for unknown ones, contradict the labels of trials."""


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

    def speakers(self, ids: pl.Series, name: str, *, known: Speakers | None = None) -> pl.Series:
        """The speaker of each utterance; one that is a known speaker itself is that speaker."""


PLACEHOLDERS = ("", "nan", "NaN", "None", "null", "NA", "N/A", "n/a", "unknown", "-", "?", "-1")
"""Speaker ids that represent nobody, unless a table of speakers lists them."""


def placeholders() -> tuple[str, ...]:
    """Return speaker ids that represent nobody, those that the user named among them."""
    return (*PLACEHOLDERS, *nobody_words())


_MAX_NOBODY_WORDS = 3  # ids that may stand for nobody, which a message names as such
NOBODY_POSITION = -2
"""The position of such a speaker."""
_SIDES = ("enrol", "test")
_FILE_ENDING, _FOLDER_PREFIX = r"\.[A-Za-z0-9]{1,5}$", r"^.*/"
DIFFERENCES: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "in their file extensions": lambda ids: ids.str.replace(_FILE_ENDING, ""),
    "in their folders": lambda ids: ids.str.replace(_FOLDER_PREFIX, ""),
    "in their folders and file extensions": lambda ids: ids.str.replace(
        _FOLDER_PREFIX, ""
    ).str.replace(_FILE_ENDING, ""),
    "in upper and lower case": lambda ids: ids.str.to_lowercase(),
    "in slashes and backslashes": lambda ids: ids.str.replace_all("\\", "/", literal=True),
}
"""What ids of two files may differ in, and what makes them alike."""
_DIFFERENCE_CODES = {
    "in their file extensions": "ids_differ_by_endings",
    "in their folders": "ids_differ_by_folders",
    "in their folders and file extensions": "ids_differ_by_folders_and_endings",
    "in upper and lower case": "ids_differ_in_case",
    "in slashes and backslashes": "ids_differ_in_slashes",
}
ID_DIFFERENCES = {
    "sides_are_swapped": "enrol and test are swapped",
    **{code: f"the ids differ {difference}" for difference, code in _DIFFERENCE_CODES.items()},
    "ids_cut_at_full_stop": (
        "the ids in the score file are cut at a full stop (SpeechBrain cuts at the first)"
    ),
}
"""By code: what the pairs of two files may differ in."""
_FULL_STOP_CUTS = (r"\..*$", r"\.[^.]*$")
"""Behind the first full stop, where SpeechBrain cuts ids, and behind the last."""
_PAIRS_SHOWN = 2
_MAX_EXAMPLES = 3
_MIN_MAJORITY = 0.5
_MAX_SAMPLED_IDS = 1000
_MIN_CONTAINED = 3
"""Characters of a speaker's id that is looked for anywhere in an utterance's."""
_LETTERS_IN_FRONT = r"^\p{L}+"
_ZEROS_IN_FRONT = r"^0+(.)"
_SPREADSHEET_REMEDY = "import the original into the spreadsheet again, with the column as text"
_SPREADSHEET_DIGITS = 15
"""A spreadsheet keeps so many digits of a number."""
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Patterns stay text until ids are missed.
_SCIENTIFIC = r"(?i)(\d)(?:[.,](\d+))?E\+?(\d+)"
_POWER_OF_TEN = r"(?i)\d+(?:E\d+)?"
_WHOLE_WITH_POINT = r"(-?\d+)[.,]0+"
_MONTH_AND_DAY = r"(?i)([a-z]{3,9})[-_./ ]?(\d{1,2})"
_DAY_AND_MONTH = r"(?i)(\d{1,2})[-_./ ]?([a-z]{3,9})\.?"
_TWO_NUMBERS = r"(\d{1,2})[-/.](\d{1,2})"
_ISO_DATE = r"\d{4}-(\d\d)-(\d\d)"


def column_speaker_rows(scans: Sequence[Scan]) -> pl.DataFrame:
    """Every utterance with the speaker that a column names for it, in the order of the rows.

    Columns ``scan`` (index into `scans`), ``row``, ``role``, ``utterance`` and ``speaker``; of each
    chunk, what it says again is left out.
    """
    texts = dict.fromkeys(("role", "utterance", "speaker"), pl.String)
    tables = [pl.DataFrame(schema={"scan": pl.Int64, "row": pl.Int64, **texts})]
    for number, scanned in enumerate(scans):
        sides = [side for side in _SIDES if f"{side}_speaker" in scanned.columns]
        has_one_customer_column = "label" in scanned.columns and bool(
            only_customer_column(scanned.columns)
        )
        for chunk in scanned.chunks() if sides else ():
            numbered_rows = chunk.frame.with_columns(row=pl.Series(chunk.rows, dtype=pl.Int64))
            side_rows = dict.fromkeys(sides, numbered_rows)
            if has_one_customer_column:  # who is claimed calls in target trials alone
                side_rows["test"] = numbered_rows.filter(pl.Series(labels(chunk) == 1))
            speaker_rows = pl.concat(
                side_rows[side].select(
                    scan=pl.lit(number, dtype=pl.Int64),
                    row="row",
                    role=pl.lit(f"{side}_speaker"),
                    utterance=pl.col(side).cast(pl.String).str.strip_chars(),
                    speaker=pl.col(f"{side}_speaker").cast(pl.String).str.strip_chars(),
                )
                for side in sides
            )
            speaker_rows = speaker_rows.sort("row", maintain_order=True).drop_nulls()
            tables.append(
                speaker_rows.unique(["utterance", "speaker"], keep="first", maintain_order=True)
            )
    return pl.concat(tables)


def check_speaker_columns(
    ids: pl.Series, names: pl.Series, utterances: NamesSpeakers, scans: Sequence[Scan]
) -> None:
    """Refuse utterances whose speaker is one in a column and another one in their table."""
    joined = pl.DataFrame({"utterance": ids, "named": names}).join(utterances.table, on="utterance")
    contradictory = joined.filter(pl.col("named") != pl.col("speaker"))
    if not contradictory.height:
        return
    contradictions = contradictory.select("utterance", "named", other="row", theirs="speaker")
    first_row = (
        column_speaker_rows(scans)
        .join(contradictions, on="utterance", maintain_order="left")
        .row(0, named=True)
    )
    count_text = (
        "the only such utterance"
        if contradictory.height == 1
        else f"{contradictory.height:,} such utterances"
    )
    msg = (
        f"{scans[first_row['scan']].location(first_row['row'], first_row['role'])}: utterance "
        f"{first_row['utterance']!r} has speaker {first_row['named']!r} here, but "
        f"{first_row['theirs']!r} in row {first_row['other']} of {utterances.name} ({count_text})"
    )
    hint = "correct one of the two, or leave one out"
    raise DataError(msg, hint)


def _first_pairs(scanned: Scan) -> pl.DataFrame:
    """Pairs of ids of the first chunk."""
    for chunk in scanned.chunks():
        text = (pl.col(side).cast(pl.String).str.strip_chars() for side in _SIDES)
        return chunk.frame.select(*text).drop_nulls().unique(maintain_order=True)
    return pl.DataFrame(schema=dict.fromkeys(_SIDES, pl.String))


def id_difference(scores: Scan, trials: Scan) -> str:
    """Return the code of what the pairs of two files differ in, if one thing explains most of them.

    Empty if nothing does.
    """
    score_pairs, list_pairs = _first_pairs(scores), _first_pairs(trials)

    def explains(first: pl.DataFrame, second: pl.DataFrame) -> bool:
        n_shared = first.join(second, on=_SIDES, how="semi").height
        return 2 * n_shared > min(first.height, second.height)

    if explains(score_pairs.select(enrol="test", test="enrol"), list_pairs):
        return "sides_are_swapped"
    for description, change in DIFFERENCES.items():
        if explains(score_pairs.select(change(pl.all())), list_pairs.select(change(pl.all()))):
            return _DIFFERENCE_CODES[description]
    for cut in _FULL_STOP_CUTS:
        if explains(score_pairs, list_pairs.select(pl.all().str.replace(cut, ""))):
            return "ids_cut_at_full_stop"
    return ""


def unmatched_pairs_message(scores: Scan, trials: Scan) -> str:
    """What to say where no trial has a score: pairs of both files, and the mend."""
    shown = " but ".join(
        f"{scanned.name} contains "
        + ", ".join(
            f"({enrol}, {test})" for enrol, test in _first_pairs(scanned)[:_PAIRS_SHOWN].iter_rows()
        )
        for scanned in (scores, trials)
    )
    difference = id_difference(scores, trials)
    remedy = (
        f"{ID_DIFFERENCES[difference]}, so make them alike"
        if difference
        else "check that the files belong together"
    )
    return f"{shown}; {remedy}"


def utterance_speakers(
    ids: pl.Series,
    speakers: Speakers,
    utterances: NamesSpeakers | None,
    name: str,
    *,
    is_known_position: bool = False,
    may_be_nobody: bool = False,
) -> NDArray[np.int32]:
    """Speaker of every distinct utterance, as an index into ``speakers.ids``, shape (utterance,).

    Without a table of utterances, the speaker is the first component of the path;
    `is_known_position` says that other ids have shown this. `name` is the file with the ids.
    """
    if utterances is not None and utterances.names_speakers:
        runs = utterances.speakers(ids, name, known=speakers)
        return positions_of_speakers(runs, speakers, utterances.name, may_be_nobody=may_be_nobody)
    components = first_components(ids)
    runs = components.rle()  # the ids are in order, so those of one speaker stand together
    run_speakers, run_lengths = runs.struct.field("value"), runs.struct.field("len").to_numpy()
    positions = speakers.positions(run_speakers) if is_known_position else None
    if positions is not None and (positions >= 0).all():
        return np.repeat(positions, run_lengths)
    share = speakers.choose_id_column(run_speakers)
    if (
        share < _MIN_MAJORITY
        and not is_known_position
        and not _is_in_header(components, speakers).any()
        and not _damage_of_speakers(components, speakers, share)
    ):
        table_name = "" if utterances is None else utterances.name
        difference = _spelling_hint(components, speakers) or _cut_hint(
            components.unique(), pl.concat(map(speakers.table_column, speakers.columns))
        )
        pattern = difference or speaker_pattern_hint(ids, speakers, share, utterances=table_name)[0]
        if pattern:
            missing = ids.filter(~components.is_in(_known_ids(speakers, share)))
            msg = (
                f"{name}: the first components of {listed_ids(missing, ids, 'utterance ids')} are "
                f"not speakers in {speakers.name}"
            )
            raise DataError(msg, pattern)
    positions = positions_of_speakers(run_speakers, speakers, name, may_be_nobody=may_be_nobody)
    return np.repeat(positions, run_lengths)


def positions_of_speakers(
    names: pl.Series, speakers: Speakers, name: str, *, may_be_nobody: bool = False
) -> NDArray[np.int32]:
    """Indices of speaker ids, all of which must be in the table of speakers.

    With `may_be_nobody`, `NOBODY_POSITION` represents a placeholder that the table does not list.
    """
    positions = speakers.positions(names)
    if positions is not None and (positions >= 0).all():
        return positions
    share = speakers.choose_id_column(names)
    if share < 1.0:
        distinct = names.unique().sort()
        missing = distinct.filter(~distinct.is_in(_known_ids(speakers, share)))
        if may_be_nobody:
            missing = missing.filter(~missing.is_in(placeholders()))
            if missing.is_empty():
                return _positions_with_nobody(names, speakers)
        headless = missing.filter(_is_in_header(missing, speakers))
        if len(headless):
            msg = (
                f"{speakers.name}: has no header: the first row contains the speaker "
                f"{headless[0]!r}"
            )
            hint = "add a header row with column names"
            raise DataError(msg, hint)
        remedy = _damage_of_speakers(missing, speakers, share) or (
            "add the speakers, check case and spelling, or name the id column with --id"
        )
        if share and 2 * len(missing) > len(distinct):
            remedy += ". If these are ids of recordings, name their speakers with --utterances"
        if len(missing) <= _MAX_NOBODY_WORDS and len(distinct) > len(missing):
            words = "|".join(missing.to_list())
            remedy += (
                ". For ids that mean an unknown speaker, give --columns "
                f"nobody={shlex.quote(words)}"
            )
        msg = f"{name}: {listed_ids(missing, distinct, 'speakers')} are not in {speakers.name}"
        raise DataError(msg, remedy)
    positions = speakers.positions(names)
    assert positions is not None
    return positions


def _positions_with_nobody(names: pl.Series, speakers: Speakers) -> NDArray[np.int32]:
    """Indices of speaker ids, those of nobody as `NOBODY_POSITION`."""
    positions = speakers.positions(names)
    if positions is None:
        return np.full(len(names), NOBODY_POSITION, dtype=np.int32)
    return np.where(positions < 0, np.int32(NOBODY_POSITION), positions)


def _is_in_header(names: pl.Series, speakers: Speakers) -> pl.Series:
    """Which speakers stand where the names of the columns should."""
    return names.is_in(pl.Series([speakers.columns], dtype=pl.List(pl.String)))


def _known_ids(speakers: Speakers, share: float) -> pl.Series:
    """Ids of the speakers, if any was found, since only then their column is known."""
    return pl.Series([list(speakers.ids) if share else []], dtype=pl.List(pl.String))


def _damage_of_speakers(names: pl.Series, speakers: Speakers, share: float) -> str:
    """What a spreadsheet did to ids of which this share is known, if it did anything."""
    if share:
        missing = names.filter(~names.is_in(_known_ids(speakers, share)))
        return spreadsheet_damage(missing.unique().sort(), speakers.ids, speakers.name)
    table_ids = [cell for column in speakers.columns for cell in speakers.table_column(column)]
    return spreadsheet_damage(names.unique().sort(), table_ids, speakers.name)


def first_components(ids: pl.Series) -> pl.Series:
    r"""What stands before the first slash, in ids of Windows a backslash; the id if there is none.

    Examples
    --------
    >>> first_components(pl.Series(["a/1.wav", r"b\2.wav", "c"])).to_list()
    ['a', 'b', 'c']
    """
    return text_before(ids, r"[/\\]")


def text_before(ids: pl.Series, pattern: str) -> pl.Series:
    """What stands before the first match of a pattern; the id if there is none."""
    text = pl.col("id")
    prefix = text.cast(pl.Binary).bin.slice(0, text.str.find(pattern))  # which counts bytes
    return ids.to_frame("id").select(prefix.cast(pl.String).alias(ids.name)).to_series()


def listed_ids(missing: pl.Series, all_ids: pl.Series, noun: str) -> str:
    """How many of the ids are missing, and which, for messages."""
    shown = ", ".join(repr(missing_id) for missing_id in missing[:_MAX_EXAMPLES])
    ellipsis = ", ..." if len(missing) > _MAX_EXAMPLES else ""
    return f"{len(missing):,} of {len(all_ids):,} {noun} ({shown}{ellipsis})"


def missing_ids_remedy(missing: pl.Series, known: pl.Series) -> str:
    """The mend: alike, if folders in front or an ending are all that sets each of them apart."""
    missing_ids, known_ids = (
        with_slashes(ids).str.replace(_FILE_ENDING, "") for ids in (missing, known)
    )
    if with_slashes(missing).is_in(with_slashes(known).implode()).all():
        return "make the ids alike: they differ only in slashes and backslashes"
    if missing.str.ends_with(":b").all() and missing.str.strip_suffix(":b").is_in(known).all():
        return f"write {missing[0]!r} and so on in the table: the ids are those of side b"

    def path_ends(ids: pl.Series) -> list[pl.Series]:
        """The ids, each time with one folder more at most."""
        components = ids.str.split("/")
        max_depth = int(components.list.len().max() or 1)  # type: ignore[arg-type]
        return [components.list.tail(depth).list.join("/") for depth in range(1, max_depth + 1)]

    is_explained = missing_ids.is_in(pl.concat(path_ends(known_ids)).unique().implode())
    for path_end in path_ends(missing_ids):
        is_explained |= path_end.is_in(known_ids.implode())
    if is_explained.all():
        return "make the ids alike: they differ from ids in the table only by folder or ending"
    return _cut_hint(missing, known) or "add these ids to the table"


def _cut_hint(names: pl.Series, known: pl.Series) -> str:
    """What to say of ids most of which go on there behind a full stop; else nothing.

    Examples
    --------
    >>> _cut_hint(pl.Series(["anna"]), pl.Series(["anna.b", "tom"]))
    "write the whole ids: these end where ids in the table have a full stop ('anna' is 'anna.b'), \
as in output of SpeechBrain"
    """
    for cut in _FULL_STOP_CUTS:
        shortened = pl.DataFrame({"whole": known, "cut": known.str.replace(cut, "")})
        shortened = (
            shortened.filter(pl.col("whole") != pl.col("cut"))
            .sort("whole")
            .unique("cut", keep="first")
        )
        matches = pl.DataFrame({"cut": names}).join(shortened, on="cut", maintain_order="left")
        if 2 * matches.height > len(names):
            return (
                "write the whole ids: these end where ids in the table have a full stop "
                f"({matches['cut'][0]!r} is {matches['whole'][0]!r}), as in output of SpeechBrain"
            )
    return ""


_LETTERS_DIFFER = "by letters in front"
_SPELLINGS: dict[str, Callable[[pl.Series], pl.Series]] = {
    "in upper and lower case": lambda texts: texts.str.to_lowercase(),
    "in how accented letters are coded (NFC and NFD)": lambda texts: texts.str.normalize("NFC"),
    _LETTERS_DIFFER: lambda texts: texts.str.replace(_LETTERS_IN_FRONT, ""),
}
"""What ids of speakers may differ in, and what makes them alike."""


def _spelling_hint(names: pl.Series, speakers: Speakers) -> str:
    """What to say of speakers that differ from those of the table in spelling; else nothing."""
    for difference, change in _SPELLINGS.items():
        for column in speakers.columns:
            cells = speakers.table_column(column)
            if difference == _LETTERS_DIFFER:  # letters in the ids are left out by a pattern
                cells = cells.filter(cells.str.contains(_LETTERS_IN_FRONT))
            own_names = pl.DataFrame({"mine": names, "plain": change(names)})
            table_ids = pl.DataFrame({"theirs": cells, "plain": change(cells)})
            table_ids = table_ids.filter(pl.col("plain") != "").unique("plain", keep="none")
            joined = own_names.join(table_ids, on="plain", maintain_order="left")
            differing = joined.filter(pl.col("mine") != pl.col("theirs"))
            if 2 * differing.height > len(names):
                pair = f"{differing['mine'][0]!r} is {differing['theirs'][0]!r}"
                return f"make the ids alike: they differ {difference} ({pair})"
    return ""


_SPEAKER_PATTERNS = {
    "{speaker}/**": "the first component of the path",
    "{speaker}-**": "the text before the first '-'",
    "{speaker}_**": "the text before the first '_'",
    "{speaker}.**": "the text before the first '.'",
    "*/{speaker}/**": "the second component of the path",
    "*/*/{speaker}/**": "the third component of the path",
    "**/{speaker}/*": "the folder of the file",
    "**/{speaker}-*": "the part of the file's name before '-'",
    "**/{speaker}_*": "the part of the file's name before '_'",
    "{speaker}#**": "the text before the first '#'",
    "**-{speaker}": "the text behind the last '-'",
    "**_{speaker}": "the text behind the last '_'",
    "**#{speaker}": "the text behind the last '#'",
    "**/{speaker}": "the last component of the path",
    "**/{speaker}.*": "the file's name before '.'",
    "**-{speaker}.*": "the part of the file's name behind the last '-'",
    "**_{speaker}.*": "the part of the file's name behind the last '_'",
    "*-{speaker}-**": "the text behind the first '-'",
    "*_{speaker}_**": "the text behind the first '_'",
}
"""Where in ids their speaker may stand, as `speakers_by_pattern` takes it and in words."""


class _PatternFit(NamedTuple):
    """Patterns by which ids have a speaker of a column, and the share of the ids that do."""

    patterns: tuple[str, ...]
    description: str
    share: float
    is_contradicted: bool = False
    """Whether speakers by another pattern contradict the labels of trials."""


def _best_patterns(
    ids: pl.Series, columns: Sequence[pl.Series], share: float, contradicts: SpeakerCheck
) -> _PatternFit:
    """Return patterns by which most ids have a speaker of a column, if more than a share do.

    A pattern whose speakers contradict the labels of trials is none.
    """
    descriptions = dict(_SPEAKER_PATTERNS)
    for cells in columns:  # ids of one length may begin the utterance's id, as s01u07 does
        lengths = cells.str.len_chars().unique().to_list()
        if len(lengths) == 1 and len(cells) > 1:
            descriptions[f"{{speaker:{lengths[0]}}}**"] = f"its first {lengths[0]} characters"
    best = _PatternFit((), "", share)
    for pattern, words in descriptions.items():
        matching = speakers_by_pattern(pattern, ids)
        for cells in columns:
            for names, patterns, position in _readings(pattern, matching, cells):
                is_known = names.is_in(cells.implode()).fill_null(value=False)
                matched_share = float(is_known.sum()) / max(len(ids), 1)
                if matched_share <= best.share:
                    continue
                if contradicts(_only(names, is_known)):
                    best = best._replace(is_contradicted=True)
                    continue
                best = _PatternFit(
                    patterns, f"{words}{position}", matched_share, best.is_contradicted
                )
    return best


def _readings(
    pattern: str, matching: pl.Series, cells: pl.Series
) -> Iterator[tuple[pl.Series, tuple[str, ...], str]]:
    """Yield names of speakers that a pattern may mean, with its forms and where the names begin."""
    yield matching, (pattern,), ""
    # p225 for 225: the letters are no part of the speaker's id
    prefixes = matching.drop_nulls().str.extract(f"({_LETTERS_IN_FRONT})").unique().to_list()
    if len(prefixes) != 1 or not prefixes[0]:
        return
    prefix = prefixes[0]
    numbers = matching.str.replace(_LETTERS_IN_FRONT, "")
    behind_prefix = pattern.replace("{speaker", f"{prefix}{{speaker", 1)
    yield numbers, (behind_prefix,), f", behind {prefix!r}"
    # spk0007 for 7, and spk0012 for 12: each number of zeros needs a pattern of its own
    has_length = ":" in pattern
    if has_length or cells.str.contains(_ZEROS_IN_FRONT).any():
        return
    without_zeros = numbers.str.replace(_ZEROS_IN_FRONT, "$1")
    n_zeros = (numbers.str.len_chars() - without_zeros.str.len_chars()).drop_nulls().unique()
    if n_zeros.max():
        forms = tuple(
            pattern.replace("{speaker", f"{prefix}{'0' * n}{{speaker", 1) for n in n_zeros.sort()
        )
        yield without_zeros, forms, f", behind {prefix!r} and zeros"


def _only(names: pl.Series, is_known: pl.Series) -> pl.Series:
    """Return the names that are known; null for the others."""
    return names.zip_with(is_known, pl.Series([None] * len(names), dtype=pl.String))


def _no_labels(speakers: pl.Series) -> bool:  # noqa: ARG001 - a check as any other
    """Return that speakers contradict no labels, as there are none."""
    return False


def speaker_pattern_hint(
    ids: pl.Series,
    speakers: Speakers,
    share: float,
    *,
    utterances: str = "",
    contradicts: SpeakerCheck = _no_labels,
) -> tuple[str, tuple[str, ...]]:
    """What the ids look like, and what mends it; and patterns of the speakers if one fits most.

    Both are empty if first components fit better, which are known of this share of the ids.
    `utterances` is a table of these that is given, and gives no speakers. `contradicts` tells
    whether speakers of the ids contradict the labels of trials.
    """
    table = {column: speakers.table_column(column) for column in speakers.columns}
    known = [cells for column, cells in table.items() if plain_name(column) in SPEAKER_NAMES]
    columns = list(table.values())
    fit = _best_patterns(ids, known or columns, share, contradicts)
    if known and not (fit.patterns and fit.share >= _MIN_MAJORITY):
        fit = _best_patterns(ids, columns, share, contradicts)
    remedy = (
        f"add the column 'speaker' that {utterances} lacks"
        if utterances
        else "give the speakers with --utterances, as Kaldi's utt2spk has them, or as columns "
        "enrol_speaker and test_speaker"
    )
    if fit.patterns and fit.share >= _MIN_MAJORITY:
        patterns = (*fit.patterns, *_patterns_of_rest(ids, columns, fit.patterns))
        if not utterances:
            options = " ".join(f"--utterances '{text}'" for text in patterns)
            remedy = f"state this with {options}, or {remedy}"
        return (
            f"the speaker seems to be {fit.description} ({fit.share:.0%} of the ids); {remedy}",
            patterns,
        )
    if share:
        return "", ()
    for column, cells in table.items():
        if float(ids.is_in(cells.implode()).mean() or 0.0) >= _MIN_MAJORITY:  # type: ignore[arg-type]
            return (
                f"column {column!r} of the table contains the utterance ids, so it does not seem "
                f"to be a speaker table; {remedy}"
            ), ()
    if contained := _contained_speaker(ids, columns):
        utterance, speaker = contained
        return (
            f"{utterance!r} seems to contain the speaker {speaker!r}, but at an unknown position; "
            "state the position with a pattern such as --utterances '**_{speaker}_*', or "
            f"{remedy}"
        ), ()
    if fit.is_contradicted:
        return (
            "the ids contain known speakers only where these contradict the labels, so check that "
            f"the tables belong together, or {remedy}"
        ), ()
    extent = "no part of most of" if fit.patterns else "no part of"
    return (
        f"{extent} the ids between '/', '-', '_', '.' or '#' is a known speaker, so check that "
        f"the tables belong together, or {remedy}"
    ), ()


def _patterns_of_rest(
    ids: pl.Series, columns: Sequence[pl.Series], patterns: Sequence[str]
) -> tuple[str, ...]:
    """Return further patterns, of ids that the first leave and that are no speakers."""
    are_speakers = pl.Series([False] * len(ids), dtype=pl.Boolean)
    for cells in columns:
        are_speakers |= ids.is_in(cells.implode())
        for pattern in patterns:
            names = speakers_by_pattern(pattern, ids)
            are_speakers |= names.is_in(cells.implode()).fill_null(value=False)
    rest = ids.filter(~are_speakers)
    if not len(rest):
        return ()
    # labels are of pairs, whose other ids may be of the first patterns
    fit = _best_patterns(rest, columns, 0.0, _no_labels)
    return fit.patterns if fit.share >= _MIN_MAJORITY else ()


def _contained_speaker(ids: pl.Series, columns: Sequence[pl.Series]) -> tuple[str, str] | None:
    """An id that contains the id of a speaker somewhere, of the first ids; None where none does."""
    for utterance in ids.head(_MAX_SAMPLED_IDS).to_list():
        for cells in columns:
            for speaker in cells.head(_MAX_SAMPLED_IDS).to_list():
                if len(speaker) >= _MIN_CONTAINED and speaker != utterance and speaker in utterance:
                    return utterance, speaker
    return None


def spreadsheet_damage(missing: Iterable[str], known: Iterable[str], table: str) -> str:
    """How a spreadsheet made one id of the other, and the mend; empty if it did not.

    Examples
    --------
    >>> spreadsheet_damage(["00042", "x"], ["42"], "people.csv").partition(";")[0]
    "a spreadsheet seems to have dropped leading zeros ('00042' is '42' in people.csv)"
    """
    sampled_ids = [damaged for damaged, _ in zip(missing, range(_MAX_SAMPLED_IDS), strict=False)]
    known_ids = list(known)
    most_matches, change = 0, ""
    for habit, text_before, after in _SPREADSHEET_HABITS:
        for missing_keys, known_keys in ((text_before, after), (after, text_before)):
            matches = _ids_that_match(sampled_ids, known_ids, missing_keys, known_keys)
            if len(matches) > most_matches:
                damaged, original = next(iter(matches.items()))
                remedy = _SPREADSHEET_REMEDY
                if text_before is _keys_with_zeros:  # the digits are all there, and can be shown
                    zeros = "0" * max(len(damaged), len(original))
                    remedy += (
                        f", or give the column a number format such as {zeros} and export the "
                        "table again"
                    )
                most_matches, change = (
                    len(matches),
                    f"{habit} ({damaged!r} is {original!r} in {table}); {remedy}",
                )
    return f"a spreadsheet seems to have {change}" if change else ""


def _ids_that_match(
    missing: Iterable[str], known: Iterable[str], missing_keys: Keys, known_keys: Keys
) -> dict[str, str]:
    """The known id that each wanted one may be, where there is one."""
    ids_by_key: dict[object, list[str]] = {}
    for missing_id in missing:
        for key in missing_keys(missing_id):
            ids_by_key.setdefault(key, []).append(missing_id)
    matches: dict[str, str] = {}
    for known_id in known if ids_by_key else ():
        for key in known_keys(known_id):
            matches |= {
                missing_id: known_id
                for missing_id in ids_by_key.get(key, ())
                if missing_id not in matches
            }
    return {missing_id: matches[missing_id] for missing_id in missing if missing_id in matches}


def _keys_with_zeros(text: str) -> Iterable[object]:
    return (text.lstrip("0") or "0",) if text.isdecimal() and text[0] == "0" else ()


def _keys_without_zeros(text: str) -> Iterable[object]:
    return (text,) if text.isdecimal() and text[0] != "0" else ()


def _keys_as_power(text: str) -> Iterable[object]:
    """Every way to write a number in powers of ten."""
    if len(text) > 300 or not re.fullmatch(_POWER_OF_TEN, text) or len(text.partition("E")[2]) > 3:
        return ()
    return {f"{float(text):.{digits}E}" for digits in range(6)}


def _keys_from_power(text: str) -> Iterable[object]:
    number_match = re.fullmatch(_SCIENTIFIC, text)
    if not number_match:
        return ()
    leading_digit, decimals, power = number_match.groups()
    return (f"{leading_digit}{'.' + decimals if decimals else ''}E+{int(power):02d}",)


def _keys_as_whole(text: str) -> Iterable[object]:
    return (text, text.lstrip("0") or "0") if text.lstrip("-").isdecimal() else ()


def _keys_without_point(text: str) -> Iterable[object]:
    number_match = re.fullmatch(_WHOLE_WITH_POINT, text)
    return (number_match[1],) if number_match else ()


def _keys_of_long_number(text: str) -> Iterable[object]:
    cut = text[:_SPREADSHEET_DIGITS] + "0" * (len(text) - _SPREADSHEET_DIGITS)
    return (cut,) if text.isdecimal() and cut != text and len(text) > _SPREADSHEET_DIGITS else ()


def _keys_of_rounded_number(text: str) -> Iterable[object]:
    return (text,) if text.isdecimal() and len(text) > _SPREADSHEET_DIGITS else ()


def _keys_as_date(text: str) -> Iterable[object]:
    """Month and day that an id may be taken for, as MAR1 and 3-1 are."""
    numbers = re.fullmatch(_TWO_NUMBERS, text)
    if numbers:
        first_number, second_number = int(numbers[1]), int(numbers[2])
        return {(first_number, second_number), (second_number, first_number)}
    date_match = re.fullmatch(_MONTH_AND_DAY, text)
    return _month_and_day(date_match[1], date_match[2]) if date_match else ()


def _keys_from_date(text: str) -> Iterable[object]:
    iso_match = re.fullmatch(_ISO_DATE, text)
    if iso_match:
        return ((int(iso_match[1]), int(iso_match[2])),)
    day_first_match, month_first_match = (
        re.fullmatch(_DAY_AND_MONTH, text),
        re.fullmatch(_MONTH_AND_DAY, text),
    )
    if day_first_match:
        return _month_and_day(day_first_match[2], day_first_match[1])
    return _month_and_day(month_first_match[1], month_first_match[2]) if month_first_match else ()


def _month_and_day(month: str, day: str) -> Iterable[object]:
    is_month = month[:3].lower() in _MONTHS
    return ((_MONTHS.index(month[:3].lower()) + 1, int(day)),) if is_month else ()


_SPREADSHEET_HABITS: tuple[tuple[str, Keys, Keys], ...] = (
    ("dropped leading zeros", _keys_with_zeros, _keys_without_zeros),
    ("put .0 behind whole numbers", _keys_as_whole, _keys_without_point),
    ("written ids in powers of ten", _keys_as_power, _keys_from_power),
    (
        f"turned digits beyond the {_SPREADSHEET_DIGITS}th into zeros",
        _keys_of_long_number,
        _keys_of_rounded_number,
    ),
    ("taken ids for dates", _keys_as_date, _keys_from_date),
)
"""What was done, keys of an id as it was and keys of it as it is now."""
