"""Formats without a header: each column is known by its place.

A new one is a row of `HEADERLESS`: its name, its columns, how well a text fits it, and what
the documentation and ``parivox inspect`` say of it.

How well a text fits is a number, and the best one wins; a tie is for the user to decide. Labels
show more than sides of telephone calls, and these more than numbers, since ids may consist of
digits.
"""

from __future__ import annotations

from collections import Counter
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from parivox.data.formats.delimited import check_text, head_lines, is_text, read_text, split_line
from parivox.data.formats.format import CERTAIN_FIT, POSSIBLE_FIT, Chunk, Example, Format, Scan
from parivox.data.trial_values import is_label
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.data.columns import RequestedColumns
    from parivox.data.source_bytes import SourceBytes

    Cells = Sequence[str]

SIDES = ("a", "b")
"""Of a telephone call, as NIST names them."""
_SEPARATORS = (" ", ",", ";", "|")
STAR_SEPARATOR = "*"
"""What separates the two ids of a trial, where blanks do all else, as ESPnet writes it."""
_LINES = 200
_DECISIONS = ("accept", "accepted", "reject", "rejected")


@frozen
class TextSample:
    """First lines of a text without a header."""

    head: bytes  # first bytes of the text
    # fields of its first lines; empty for what is no table of three columns or more
    rows: list[list[str]]
    separator: str  # what separates them
    width: int  # how many fields most of the lines have

    @cached_property
    def all_rows(self) -> list[list[str]]:
        """Fields of all lines: bob compares a test with all models before it takes the next."""
        lines = head_lines(self.head) if is_text(self.head) else []
        return [split_line(line, self.separator) for _, line in lines]

    def column(self, place: int, rows: Sequence[Cells] | None = None) -> list[str]:
        """One column of the rows of the usual width."""
        some = self.rows if rows is None else rows
        return [row[place] for row in some if len(row) == self.width > place]

    def labels(self, place: int) -> bool:
        """Whether a column holds labels."""
        return _mostly_labels(self.column(place))

    def numbers(self, place: int) -> bool:
        """Whether a column holds numbers."""
        return mostly_numbers(self.column(place))

    def scores(self, place: int) -> bool:
        """Whether a column holds numbers that ids would not be."""
        return mostly_scores(self.column(place))

    def sides(self, place: int) -> bool:
        """Whether a column holds sides of telephone calls."""
        return _most(self.column(place), lambda cell: cell.lower() in SIDES)

    def scores_rather(self, place: int, other: int) -> int:
        """How surely scores stand in one column and not in the other one, from 0 to 3.

        Ids may consist of digits, so numbers are scores only if one of them is not a whole number
        or nothing else is.
        """
        columns = self.column(place), self.column(other)
        all_numbers = [bool(cells) and all(map(_is_number, cells)) for cells in columns]
        for certainty, (here, there) in (
            (3, map(mostly_scores, columns)),
            (2, all_numbers),
            (1, map(mostly_numbers, columns)),
        ):
            if here != there:
                return certainty if here else 0
        return 0

    def is_of_identities(self, *, with_targets: bool = True) -> bool:
        r"""Whether the columns stand to each other as bob's do, in four columns or in five.

        That is, they end in scores, each test is of one real identity, each model of one claimed
        one, and where a speaker is compared with himself the two identities are equal.

        Examples
        --------
        >>> sample(b"s1 s1 u1 0.5\ns1 s2 u2 0.1").is_of_identities()
        True
        >>> sample(b"a/1 a/2 phone 0.5\na/1 b/1 phone 0.1").is_of_identities()
        False
        """
        if self.width not in {4, 5}:
            return False
        columns = (self.column(place, self.all_rows) for place in range(self.width))
        claimed, *model, real, test, score = columns
        if not mostly_scores(score) or mostly_scores(test):
            return False
        meets = any(a == b for a, b in zip(claimed, real, strict=True))
        return (
            meets is with_targets
            and _has_one(test, real)
            and all(_has_one(one, claimed) for one in model)
        )

    @cached_property
    def has_unknown_header(self) -> bool:
        r"""Whether the first row names columns, if by no known names.

        It holds no number and no path, but the rows below it do.

        Examples
        --------
        >>> sample(b"u1 u2 y\na/1 a/2 1").has_unknown_header
        True
        """
        first, *others = self.rows or [[]]
        below = [row for row in others if len(row) == len(first)]
        if not below or any(_is_number(cell) or "/" in cell for cell in first):
            return False
        columns = list(zip(*below, strict=True))
        return any(mostly_numbers(c) or _most(c, lambda cell: "/" in cell) for c in columns)

    def are_decisions(self) -> bool:
        r"""Whether the rows are two ids and a decision each, which only a header can say.

        Examples
        --------
        >>> [sample(text).are_decisions() for text in (b"a b accept", b"x y z\na b accept")]
        [True, False]
        """
        third = [cell.lower() for cell in self.column(2)] or [""]
        return (
            self.width == 3
            and len(self.rows[0]) == self.width
            and third[0] in _DECISIONS
            and _most(third, _DECISIONS.__contains__)
        )


@lru_cache(maxsize=4)
def text_sample(head: bytes) -> TextSample:
    """The first lines of a text, of which these are the first bytes."""
    lines = [line for _, line in head_lines(head)[:_LINES]] if is_text(head) else []
    for separator in (STAR_SEPARATOR,) if _most(lines, _is_starred) else _SEPARATORS:
        rows = [split_line(line, separator) for line in lines]
        widths = Counter(map(len, rows))
        if rows and 2 * sum(n for width, n in widths.items() if width >= 3) > len(rows):
            width = max(widths, key=lambda width: (width >= 3, widths[width]))
            return TextSample(head, rows, separator, width)
    return TextSample(head, [], " ", 0)


def _is_starred(line: str) -> bool:
    """Whether a line is one of ESPnet's: two ids with a star between them, a score, a label.

    Examples
    --------
    >>> _is_starred("a/1*b/1 -0.5 0"), _is_starred("a*1 b*2 target")
    (True, False)
    """
    pair, *cells = line.split()
    ids, last = pair.split(STAR_SEPARATOR), cells[-1] if cells else ""
    return (
        len(ids) == 2
        and all(ids)
        and len(cells) <= 2
        and all(map(_is_number, cells[:-1]))
        and (_is_number(last) or is_label(last))
    )


def mostly_numbers(cells: Cells) -> bool:
    """Whether most cells are numbers."""
    return _most(cells, _is_number)


def mostly_scores(cells: Cells) -> bool:
    """Whether most cells are numbers and one of them is no whole one, as ids of digits are."""
    return mostly_numbers(cells) and any(_is_number(cell) and not _is_whole(cell) for cell in cells)


def _mostly_labels(cells: Cells) -> bool:
    """Whether most cells are labels and no other one is a number that no label may be."""
    odd = (cell for cell in cells if not is_label(cell))
    return _most(cells, is_label) and not any(_is_number(c) and not _is_whole(c) for c in odd)


def _most(cells: Cells, is_one: Callable[[str], bool]) -> bool:
    return 2 * sum(map(is_one, cells)) > len(cells)


def _is_whole(cell: str) -> bool:
    return cell.lstrip("+-").isdigit()


def _is_number(cell: str) -> bool:
    """Whether a cell is a number as scores are written."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def _has_one(labels: Cells, owners: Cells) -> bool:
    """Whether each label has one owner, but for an odd line."""
    owner: dict[str, str] = {}
    odd = sum(owner.setdefault(a, b) != b for a, b in zip(labels, owners, strict=True))
    return 10 * odd <= len(labels)


def headerless(
    name: str,
    label: str,
    places: Mapping[str, int],
    *examples: Example,
    fits: Callable[[TextSample], float],
    optional: Mapping[str, int] = MappingProxyType({}),
    more: bool | int = False,
    rows: str = "",
    label_with_optional: str = "",
    separators: str = "".join(_SEPARATORS),
) -> Format:
    """A format whose columns are known by their places, as `Format` has them.

    A column may have more than one role; the `optional` ones hold numbers and may be missing. How
    well the first lines of a text fit is 0 for not at all. Where `more` columns of words may
    follow, or just so many of any kind, they are ignored. `rows` says what the rows hold, if not
    the names of the roles.
    """
    role_words = _role_words({**places, **optional})
    least, most = len(set(places.values())), len(role_words)

    def fits_head(head: bytes, _: RequestedColumns) -> float:
        first = text_sample(head)
        fitting = first.separator in separators and not first.has_unknown_header
        return fits(first) if fitting else 0

    def scan(content: SourceBytes, columns: RequestedColumns) -> Scan:
        check_text(content)
        if columns.by_role and not columns.may_be_elsewhere:
            msg = (
                f"{content.name}: --columns names {', '.join(columns.by_role.values())}, but the "
                f"file is read as {name}, without a header; give {columns.option} delimited if it "
                "has one"
            )
            raise DataError(msg)
        lines, first = head_lines(content.head), text_sample(content.head)
        if first.width < least:
            msg = (
                f"{content.name}, row {lines[0][0] if lines else 1}: does not have the "
                f"{least} columns of {name}: {', '.join(role_words[:least])}"
            )
            raise DataError(msg)
        beyond = [first.column(place) for place in range(most, first.width)]
        is_more = len(beyond) == more if more is not True else not any(map(mostly_numbers, beyond))
        if beyond and not is_more:
            row = next(lines[i][0] for i, row in enumerate(first.rows) if len(row) == first.width)
            msg = (
                f"{content.name}, row {row}: has {first.width} columns, but {name} has {most} "
                f"({', '.join(role_words)}); name the columns in a header, or remove the others"
            )
            raise DataError(msg)
        here = {**places, **{role: at for role, at in optional.items() if first.numbers(at)}}
        names = {role: f"{at + 1} ({role})" for role, at in here.items()}
        ignored = tuple(str(at + 1) for at in range(first.width) if at not in here.values())

        def chunks() -> Iterator[Chunk]:
            start, separator = lines[0][0], first.separator
            score = [at for role, at in here.items() if role == "score"]
            read = read_text(content, separator, first.width, start, quote=None, numbers=score)
            for numbers, block in read:
                frame = block.select(**{role: f"f{at}" for role, at in here.items()})
                yield Chunk(frame, numbers, content.name, names)

        return Scan(content.name, name, names, ignored, chunks, content)

    return Format(
        name,
        label,
        fits_head,
        scan,
        places=places,
        optional=optional,
        label_with_optional=label_with_optional,
        rows=rows or ", ".join(role_words),
        examples=examples,
    )


def _role_words(places: Mapping[str, int]) -> list[str]:
    """What each column holds, as messages say it.

    Examples
    --------
    >>> _role_words({"enrol": 0, "enrol_speaker": 0, "score": 1})
    ['enrol and enrol_speaker', 'score']
    """
    return [
        " and ".join(role for role, at in places.items() if at == place)
        for place in sorted(set(places.values()))
    ]


_OF_NORMS = 4  # columns that WeSpeaker writes behind normalised scores: lengths and cohorts' means


def _wespeaker(first: TextSample) -> float:
    """Labels behind scores; but 0 and 1 before whole numbers are Kaldi's with a score."""
    if first.width not in {4, 4 + _OF_NORMS} or not first.labels(3):
        return 0
    if first.width > 4 and not all(map(first.numbers, range(4, first.width))):
        return 0
    if first.scores(2) or (first.numbers(2) and not first.numbers(3)):
        return 80
    return 10 * first.scores_rather(2, 0)


def _bob(first: TextSample, width: int) -> float:
    """Identities that consist of 0 and 1 could be VoxCeleb's labels, if all of them do."""
    if first.width != width:
        return 0
    if not first.is_of_identities():
        return POSSIBLE_FIT if first.is_of_identities(with_targets=False) else 0
    if width == 5:
        return 90
    if first.labels(0):
        return 60 if _mostly_labels(first.column(0, first.all_rows)) else 65
    return 40


HEADERLESS = (
    headerless(
        "voxceleb",
        "VoxCeleb's columns",
        {"label": 0, "enrol": 1, "test": 2},
        Example(
            "1 id1/v/1.wav id2/v/2.wav",
            "VoxCeleb, clovaai; a score may follow",
            "label, enrolment, test",
        ),
        optional={"score": 3},
        more=True,
        fits=lambda first: 60 if first.labels(0) else 0,
    ),
    headerless(
        "voxceleb-scores",
        "VoxSRC's columns",
        {"score": 0, "enrol": 1, "test": 2},
        Example("0.5213 id1/v/1.wav id2/v/2.wav", "VoxSRC", "score, enrolment, test"),
        fits=lambda first: 10 * first.scores_rather(0, 2),
    ),
    headerless(
        "kaldi-trials",
        "Kaldi's columns",
        {"enrol": 0, "test": 1, "label": 2},
        Example("id1-a id2-b nontarget", "Kaldi", "enrolment, test, label"),
        Example("id1-a id2-b 1 0.5213", "SpeechBrain", "enrolment, test, label, score"),
        Example("id1/a.wav id2/b.wav tar", "VOiCES (`imp`, `tar`)", "enrolment, test, label"),
        optional={"score": 3},
        label_with_optional="SpeechBrain's columns",
        fits=lambda first: 50 if first.labels(2) else 0,
    ),
    headerless(
        "kaldi-scores",
        "Kaldi's columns",
        {"enrol": 0, "test": 1, "score": 2},
        Example("id1-a id2-b 0.5213", "Kaldi", "enrolment, test, score"),
        fits=lambda first: (
            0 if first.width in {4, 8} and first.labels(3) else 10 * first.scores_rather(2, 0)
        ),
        separators="".join((*_SEPARATORS, STAR_SEPARATOR)),  # ESPnet's, without their labels
    ),
    headerless(
        "wespeaker",
        "WeSpeaker's four columns",
        {"enrol": 0, "test": 1, "score": 2, "label": 3},
        Example("id1-a id2-b 0.52130 target", "WeSpeaker", "enrolment, test, score, label"),
        Example(
            "id1-a id2-b 3.10210 target 9.1 8.7 0.2 0.3",
            "WeSpeaker's `score_norm`",
            "enrolment, test, score, label; the other columns are left out",
        ),
        more=_OF_NORMS,
        fits=_wespeaker,
    ),
    headerless(
        "espnet",
        "ESPnet's columns",
        {"enrol": 0, "test": 1, "score": 2, "label": 3},
        Example("id1-a*id2-b -0.5213 0", "ESPnet", "enrolment and test, score, label"),
        separators=STAR_SEPARATOR,
        fits=lambda first: CERTAIN_FIT if first.width == 4 else 0,
    ),
    headerless(
        "espnet-trials",
        "ESPnet's columns",
        {"enrol": 0, "test": 1, "label": 2},
        Example("id1-a*id2-b 0", "ESPnet", "enrolment and test, label"),
        separators=STAR_SEPARATOR,
        fits=lambda first: CERTAIN_FIT if first.width == 3 and first.labels(2) else 0,
    ),
    # bob has no labels: the two identities say whether a trial is a target. With four columns the
    # claimed one is also the enrolment, since nothing else names it.
    headerless(
        "bob-4",
        "bob's four columns",
        {"enrol": 0, "enrol_speaker": 0, "test_speaker": 1, "test": 2, "score": 3},
        Example(
            "anna anna anna/probe1 0.5213",
            "bob",
            "claimed identity (the enrolment and its speaker), real identity (the test's speaker), "
            "test, score",
        ),
        rows="claimed identity, real identity, test, score as bob writes them",
        fits=lambda first: _bob(first, 4),
    ),
    headerless(
        "bob-5",
        "bob's five columns",
        {"enrol_speaker": 0, "enrol": 1, "test_speaker": 2, "test": 3, "score": 4},
        Example(
            "anna m01 anna anna/probe1 0.5213",
            "bob",
            "claimed identity, model (the enrolment), real identity, test, score",
        ),
        rows="claimed identity, model, real identity, test, score as bob writes them",
        fits=lambda first: _bob(first, 5),
    ),
    headerless(
        "nist-key",
        "the columns of a NIST key",
        {"enrol": 0, "test": 1, "side": 2, "label": 3},
        Example(
            "m1 s1.sph a target",
            "NIST SRE keys",
            "model, segment and side, label; columns after these are left out",
        ),
        more=True,
        fits=lambda first: 35 if first.sides(2) and first.labels(3) else 0,
    ),
    headerless(
        "nist-scores",
        "the columns of a NIST system output",
        {"enrol": 0, "test": 1, "side": 2, "score": 3},
        Example(
            "m1 s1.sph a -3.21", "NIST SRE system outputs", "model, segment and side, score (LLR)"
        ),
        fits=lambda first: 35 if first.sides(2) and first.numbers(3) and not first.labels(3) else 0,
    ),
)
"""The formats, in the order in which they are listed."""
