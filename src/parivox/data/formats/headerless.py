"""Formats without a header: each column is known by its position.

To add one, add a row to `HEADERLESS`: its name, its columns, how well a text fits it, and its
description in the documentation and ``parivox inspect``.

The fit is a number, and the best fit wins; in case of a tie the user must decide. Ids may consist
of digits, so numbers are weak evidence. The ranges mean:

=========  =======================================================================================
0          The text does not have the columns of this format.
1          The text may have this format, but does not show it (`POSSIBLE_FIT`).
10 to 30   Numbers are the only evidence, by certainty (`TextSample.score_certainty`).
35         Sides of telephone calls are in their column.
40 to 65   Labels, or repeated identities of bob, are in their columns. Other columns are not known.
80 to 90   Labels are next to scores or attacks, or bob's five columns are all consistent. A format
           whose rows also fit another one of this range needs a higher number than that one.
100        Nothing else has this form (`CERTAIN_FIT`); no other format is tried.
=========  =======================================================================================
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

import polars as pl

from parivox.data.cell_words import (
    holds_for_most,
    is_label,
    is_number,
    is_whole,
    mostly_numbers,
    mostly_scores,
)
from parivox.data.columns import SPEAKER_NAMES, UTTERANCE_NAMES, plain_name
from parivox.data.formats.delimited import check_text, head_lines, is_text, read_text, split_line
from parivox.data.formats.format import CERTAIN_FIT, POSSIBLE_FIT, Chunk, Example, Format, Scan
from parivox.errors import DataError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from parivox.data.columns import RequestedColumns
    from parivox.data.source_bytes import SourceBytes

    Cells = Sequence[str]

SIDES = ("a", "b")
"""Sides of a telephone call, as NIST names them."""
_SEPARATORS = (" ", ",", ";", "|")
STAR_SEPARATOR = "*"
"""Separator of the two ids of a trial of ESPnet, where blanks separate all other fields."""
_MAX_SAMPLED_LINES = 200
_DECIMAL_COMMA = re.compile(r"^([+-]?\d+),(\d+)$")
_SPOOFING_KEYS = frozenset(("bonafide", "spoof"))
_TABLE_NAMES = frozenset((*SPEAKER_NAMES, *UTTERANCE_NAMES))
_DECISIONS = ("accept", "accepted", "reject", "rejected")


@frozen
class TextSample:
    """First lines of a text without a header."""

    head: bytes  # first bytes of the text
    # fields of its first lines; empty if it is not a table of at least three columns
    rows: list[list[str]]
    separator: str  # of fields
    width: int  # number of fields of most lines

    @cached_property
    def all_rows(self) -> list[list[str]]:
        """Return the fields of all lines of the head, not only of the first ones.

        bob compares a test with all models before the next test, so first lines may have one test.
        """
        lines = head_lines(self.head) if is_text(self.head) else []
        return [split_line(line, self.separator) for _, line in lines]

    def column(self, position: int, rows: Sequence[Cells] | None = None) -> list[str]:
        """Return one column of the rows of the usual width."""
        sampled_rows = self.rows if rows is None else rows
        return [row[position] for row in sampled_rows if len(row) == self.width > position]

    def has_labels(self, position: int) -> bool:
        """Whether a column contains labels."""
        return _mostly_labels(self.column(position))

    def has_numbers(self, position: int) -> bool:
        """Whether a column contains numbers."""
        return mostly_numbers(self.column(position))

    def has_scores(self, position: int) -> bool:
        """Whether a column contains numbers that cannot be ids."""
        return mostly_scores(self.column(position))

    def has_sides(self, position: int) -> bool:
        """Whether a column contains sides of telephone calls."""
        return holds_for_most(self.column(position), lambda cell: cell.lower() in SIDES)

    def score_certainty(self, position: int, other_position: int) -> int:
        """Return the certainty that one column contains scores and the other does not, from 0 to 3.

        Ids may consist of digits, so numbers are scores only if one of them is not a whole number
        or nothing else is.
        """
        columns = self.column(position), self.column(other_position)
        all_numbers = [bool(cells) and all(map(is_number, cells)) for cells in columns]
        for certainty, (is_so, is_other_so) in (
            (3, map(mostly_scores, columns)),
            (2, all_numbers),
            (1, map(mostly_numbers, columns)),
        ):
            if is_so != is_other_so:
                return certainty if is_so else 0
        return 0

    def has_bob_identities(self, *, with_targets: bool = True) -> bool:
        r"""Whether four or five columns have the relations of those that bob writes.

        The last holds scores, each test has one real identity, each model one claimed identity, and
        in a target trial the two identities are equal.

        Examples
        --------
        >>> text_sample(b"s1 s1 u1 0.5\ns1 s2 u2 0.1").has_bob_identities()
        True
        >>> text_sample(b"a/1 a/2 phone 0.5\na/1 b/1 phone 0.1").has_bob_identities()
        False
        """
        if self.width not in {4, 5}:
            return False
        columns = (self.column(position, self.all_rows) for position in range(self.width))
        claimed_ids, *model_columns, real_ids, test_ids, scores = columns
        if not mostly_scores(scores) or mostly_scores(test_ids):
            return False
        has_targets = any(
            claimed_id == real_id for claimed_id, real_id in zip(claimed_ids, real_ids, strict=True)
        )
        return (
            has_targets is with_targets
            and _has_one_owner(test_ids, real_ids)
            and all(_has_one_owner(models, claimed_ids) for models in model_columns)
        )

    @cached_property
    def has_unknown_header(self) -> bool:
        r"""Whether the first row is a header of unknown names.

        It contains no number and no path, but the rows below it do; or it has a name of a column of
        a table, which no row below it has.

        Examples
        --------
        >>> [
        ...     text_sample(text).has_unknown_header
        ...     for text in (
        ...         b"u1 u2 y\na/1 a/2 1",
        ...         b"speaker,place,sex\na,x,f",
        ...         b"user,a,t\na,user,t",
        ...     )
        ... ]
        [True, True, False]
        """
        first_row, *other_rows = self.rows or [[]]
        if any(is_number(cell) or "/" in cell for cell in first_row):
            return False
        table_names = [cell for cell in first_row if plain_name(cell) in _TABLE_NAMES]
        if other_rows and any(all(name not in row for row in other_rows) for name in table_names):
            return True
        rows_below = [row for row in other_rows if len(row) == len(first_row)]
        if not rows_below:
            return False
        columns = list(zip(*rows_below, strict=True))
        return any(
            mostly_numbers(column) or holds_for_most(column, lambda cell: "/" in cell)
            for column in columns
        )

    @cached_property
    def holds_spoofing_keys(self) -> bool:
        r"""Whether most rows say whether the speech is of a person, as those of ASVspoof do.

        Examples
        --------
        >>> text_sample(b"LA_1 LA_T_1 - A01 spoof\nLA_1 LA_T_2 - - bonafide").holds_spoofing_keys
        True
        """
        n_rows = [not _SPOOFING_KEYS.isdisjoint(row) for row in self.rows].count(True)
        return 2 * n_rows > len(self.rows)

    @cached_property
    def spoofing_label_position(self) -> int:
        r"""Return the column of target, nontarget and spoof in spoofing keys; -1 for none.

        Examples
        --------
        >>> keys = b"LA_1 E_1 alaw ita_tx bonafide nontarget\nLA_1 E_2 alaw ita_tx A07 spoof"
        >>> text_sample(keys).spoofing_label_position
        5
        """
        for position in range(self.width):
            words = {cell.lower() for cell in self.column(position)}
            if words & {"target", "nontarget"} and words <= {"target", "nontarget", "spoof"}:
                return position
        return -1

    @property
    def spoofing_positions(self) -> list[int]:
        """Return the columns of attacks, which hold ``bonafide`` too, and of labels."""
        label_position = self.spoofing_label_position
        return [
            position
            for position in range(2, self.width)
            if position == label_position
            or any(cell.lower() == "bonafide" for cell in self.column(position))
        ]

    def are_decisions(self) -> bool:
        r"""Whether each row is two ids and a decision, which needs a header.

        Examples
        --------
        >>> [text_sample(text).are_decisions() for text in (b"a b accept", b"x y z\na b accept")]
        [True, False]
        """
        third_column = [cell.lower() for cell in self.column(2)] or [""]
        return (
            self.width == 3
            and len(self.rows[0]) == self.width
            and third_column[0] in _DECISIONS
            and holds_for_most(third_column, _DECISIONS.__contains__)
        )


@lru_cache(maxsize=4)
def text_sample(head: bytes) -> TextSample:
    """Return the first lines of a text, given its first bytes."""
    lines = [line for _, line in head_lines(head)[:_MAX_SAMPLED_LINES]] if is_text(head) else []
    for separator in (STAR_SEPARATOR,) if holds_for_most(lines, _is_starred) else _SEPARATORS:
        rows = [split_line(line, separator) for line in lines]
        if separator != ",":
            rows = [[_DECIMAL_COMMA.sub(r"\1.\2", cell) for cell in row] for row in rows]
        widths = Counter(map(len, rows))
        if rows and 2 * sum(n_rows for width, n_rows in widths.items() if width >= 3) > len(rows):
            width = max(widths, key=lambda width: (width >= 3, widths[width]))
            if len(rows[0]) != width and len({line.count("\t") for line in lines} - {0}) == 1:
                break  # blanks within cells of a table separated by tabs
            return TextSample(head, rows, separator, width)
    return TextSample(head, [], " ", 0)


def _is_starred(line: str) -> bool:
    """Whether a line has the form of ESPnet: ids with stars between them, a score, a label.

    Examples
    --------
    >>> _is_starred("a/1*b/1 -0.5 0"), _is_starred("a*1 b*2 target")
    (True, False)
    """
    pair, *cells = line.split()
    ids, last_cell = pair.split(STAR_SEPARATOR), cells[-1] if cells else ""
    return (
        len(ids) > 1  # several enrolments of one trial are one id
        and all(ids)
        and len(cells) <= 2
        and all(map(is_number, cells[:-1]))
        and (is_number(last_cell) or is_label(last_cell))
    )


def _mostly_labels(cells: Cells) -> bool:
    """Whether most cells are labels, and no other cell is a number with decimals.

    If the first one is not, it is the only one: else it may be a name, as of a column of f and m.
    """
    odd = [cell for cell in cells if not is_label(cell)]
    if len(odd) > 1 and not is_label(cells[0]):
        return False
    return holds_for_most(cells, is_label) and not any(
        is_number(c) and not is_whole(c) for c in odd
    )


def _has_one_owner(labels: Cells, owners: Cells) -> bool:
    """Whether each label has one owner, in at least nine of ten rows."""
    owner: dict[str, str] = {}
    n_deviating = sum(
        owner.setdefault(label, label_owner) != label_owner
        for label, label_owner in zip(labels, owners, strict=True)
    )
    return 10 * n_deviating <= len(labels)


def headerless(
    name: str,
    label: str,
    positions: Mapping[str, int],
    *examples: Example,
    fits: Callable[[TextSample], float],
    optional: Mapping[str, int] = MappingProxyType({}),
    ignored_columns: bool | int = False,
    rows: str = "",
    label_with_optional: str = "",
    separators: str = "".join(_SEPARATORS),
    label_words: Mapping[str, str] = MappingProxyType({}),
) -> Format:
    """Return a format whose columns are known by their positions.

    A column may have several roles; those in `optional` contain numbers and may be missing. `fits`
    returns how well the first lines of a text fit, 0 for not at all. If `ignored_columns` is True,
    columns of words may follow; if it is a number, exactly so many columns of any kind may. They
    are ignored. `rows` describes what the rows contain, if the names of the roles do not, and
    `label_words` what its labels mean, where they are no labels elsewhere.
    """
    column_texts = _column_texts({**positions, **optional})
    n_required = len(set(positions.values()))

    def fits_head(head: bytes, _: RequestedColumns) -> float:
        sample = text_sample(head)
        may_fit = sample.separator in separators and not sample.has_unknown_header
        return fits(sample) if may_fit else 0

    def scan(content: SourceBytes, columns: RequestedColumns) -> Scan:
        check_text(content)
        if columns.by_role and not columns.may_be_elsewhere:
            msg = (
                f"{content.name}: --columns names {', '.join(columns.by_role.values())}, but the "
                f"file is read as {name}, without a header"
            )
            hint = f"if the file has a header, give {columns.option} delimited"
            raise DataError(msg, hint)
        sample = text_sample(content.head)
        _check_width(
            content, name, sample, column_texts, n_required, ignored_columns=ignored_columns
        )
        optional_here = {
            role: position for role, position in optional.items() if sample.has_numbers(position)
        }
        used_positions = {**positions, **optional_here}
        names = {role: f"{position + 1} ({role})" for role, position in used_positions.items()}
        if "label" in positions and positions["enrol"] == positions.get("enrol_speaker"):
            names["enrol_speaker"] = names["enrol"]  # one column of claimed speakers
        ignored = tuple(
            str(position + 1)
            for position in range(sample.width)
            if position not in used_positions.values()
        )

        def chunks() -> Iterator[Chunk]:
            records = read_text(
                content,
                sample.separator,
                sample.width,
                start=head_lines(content.head)[0][0],
                quote=None,
                numbers=[used_positions["score"]] if "score" in used_positions else [],
            )
            for row_numbers, records_frame in records:
                frame = records_frame.select(
                    **{role: f"f{position}" for role, position in used_positions.items()}
                )
                if label_words:
                    words = pl.col("label").replace({**label_words})
                    frame = frame.with_columns(label=words)
                yield Chunk(frame, row_numbers, content.name, names)

        return Scan(content.name, name, names, ignored, chunks, content)

    return Format(
        name,
        label,
        fits_head,
        scan,
        positions=positions,
        optional_positions=optional,
        label_with_optional=label_with_optional,
        rows=rows or ", ".join(column_texts),
        examples=examples,
    )


def _check_width(
    content: SourceBytes,
    name: str,
    sample: TextSample,
    column_texts: Sequence[str],
    n_required: int,
    *,
    ignored_columns: bool | int,
) -> None:
    """Refuse a file with fewer or more columns than its format has."""
    lines, n_known = head_lines(content.head), len(column_texts)
    if sample.width < n_required:
        msg = (
            f"{content.name}, row {lines[0][0] if lines else 1}: does not have the "
            f"{n_required} columns of {name}: {', '.join(column_texts[:n_required])}"
        )
        raise DataError(msg)
    further_columns = [sample.column(position) for position in range(n_known, sample.width)]
    if ignored_columns is True:
        may_follow = not any(map(mostly_numbers, further_columns))
    else:
        may_follow = len(further_columns) == ignored_columns
    if further_columns and not may_follow:
        wide_lines = [i for i, row in enumerate(sample.rows) if len(row) == sample.width]
        msg = (
            f"{content.name}, row {lines[wide_lines[0]][0]}: has {sample.width} columns, but "
            f"{name} has {n_known} ({', '.join(column_texts)})"
        )
        hint = "name the columns in a header, or remove the surplus columns"
        raise DataError(msg, hint)


def _column_texts(positions: Mapping[str, int]) -> list[str]:
    """Return the roles of each column, for messages.

    Examples
    --------
    >>> _column_texts({"enrol": 0, "enrol_speaker": 0, "score": 1})
    ['enrol and enrol_speaker', 'score']
    """
    return [
        " and ".join(role for role, role_position in positions.items() if role_position == position)
        for position in sorted(set(positions.values()))
    ]


_N_NORM_COLUMNS = 4
"""Columns that WeSpeaker writes after normalised scores: lengths and means of cohorts."""


def _wespeaker_fit(sample: TextSample) -> float:
    """Return the fit: labels after scores; 0 and 1 before whole numbers are Kaldi with a score."""
    if sample.width not in {4, 4 + _N_NORM_COLUMNS} or not sample.has_labels(3):
        return 0
    if sample.width > 4 and not all(map(sample.has_numbers, range(4, sample.width))):
        return 0
    if sample.has_scores(2) or (sample.has_numbers(2) and not sample.has_numbers(3)):
        return 80
    return 10 * sample.score_certainty(2, 0)


def _sasv_fit(sample: TextSample, label: int, *, attack: int = -1) -> float:
    """Return the fit: labels with spoof among them and, before them, attacks or ``bonafide``."""
    words = {cell.lower() for cell in sample.column(label)}
    if "spoof" not in words or not sample.has_labels(label):
        return 0
    if attack < 0:
        return 85 if sample.width == label + 1 and sample.has_numbers(label - 1) else 0
    has_attacks = words == {"spoof"} and not sample.has_numbers(attack)
    is_protocol = has_attacks or any(cell.lower() == "bonafide" for cell in sample.column(attack))
    has_score = sample.width == label + 2 and sample.has_numbers(label + 1)
    return 85 if is_protocol and (sample.width == label + 1 or has_score) else 0


def _bob_fit(sample: TextSample, width: int) -> float:
    """Return the fit; identities that all are 0 or 1 could be the labels of VoxCeleb."""
    if sample.width != width:
        return 0
    if not sample.has_bob_identities():
        return POSSIBLE_FIT if sample.has_bob_identities(with_targets=False) else 0
    if width == 5:
        return 90
    if sample.has_labels(0):
        return 60 if _mostly_labels(sample.column(0, sample.all_rows)) else 65
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
        ignored_columns=True,
        fits=lambda sample: 60 if sample.has_labels(0) else 0,
    ),
    headerless(
        "voxceleb-scores",
        "VoxSRC's columns",
        {"score": 0, "enrol": 1, "test": 2},
        Example("0.5213 id1/v/1.wav id2/v/2.wav", "VoxSRC", "score, enrolment, test"),
        fits=lambda sample: 10 * sample.score_certainty(0, 2),
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
        fits=lambda sample: 50 if sample.has_labels(2) else 0,
    ),
    headerless(
        "kaldi-scores",
        "Kaldi's columns",
        {"enrol": 0, "test": 1, "score": 2},
        Example("id1-a id2-b 0.5213", "Kaldi", "enrolment, test, score"),
        fits=lambda sample: (
            0
            if sample.width in {4, 8} and sample.has_labels(3)
            else 10 * sample.score_certainty(2, 0)
        ),
        separators="".join((*_SEPARATORS, STAR_SEPARATOR)),  # also ESPnet without labels
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
        ignored_columns=_N_NORM_COLUMNS,
        fits=_wespeaker_fit,
    ),
    # In lists with spoof trials, speakers are enrolled once, under their own names.
    headerless(
        "sasv",
        "the four columns of SASV",
        {"enrol": 0, "enrol_speaker": 0, "test": 1, "score": 2, "label": 3},
        Example(
            "anna u01 0.5213 spoof",
            "scores of SASV systems",
            "claimed speaker, test, score, label",
        ),
        fits=lambda sample: _sasv_fit(sample, 3),
    ),
    headerless(
        "sasv-protocol",
        "the columns of a SASV protocol",
        {"enrol": 0, "enrol_speaker": 0, "test": 1, "attack": 2, "label": 3},
        Example(
            "anna u01 A07 spoof",
            "SASV 2022; a score may follow",
            "claimed speaker, test, attack or `bonafide`, label",
        ),
        optional={"score": 4},
        label_with_optional="the columns of SASV 2022",
        fits=lambda sample: _sasv_fit(sample, 3, attack=2),
    ),
    headerless(
        "asvspoof5-trials",
        "the columns of ASVspoof 5 trials",
        {"enrol": 0, "enrol_speaker": 0, "test": 1, "attack": 3, "label": 4},
        Example(
            "anna u01 F A11 spoof",
            "ASVspoof 5",
            "claimed speaker, test, gender (left out), attack or `bonafide`, label",
        ),
        ignored_columns=1,
        fits=lambda sample: _sasv_fit(sample, 4, attack=3),
    ),
    headerless(
        "espnet-spoof",
        "the columns of ESPnet's recipe for ASVspoof 5",
        {"enrol": 0, "test": 1, "score": 2, "label": 3},
        Example(
            "id1-a*id2-b -0.5213 2",
            "ESPnet's ASVspoof 5",
            "enrolment and test, score, label (0 target, 1 nontarget, 2 spoof)",
        ),
        separators=STAR_SEPARATOR,
        label_words={"0": "target", "1": "nontarget", "2": "spoof"},
        fits=lambda sample: (
            # a rare 2 is a wrong label
            CERTAIN_FIT
            if sample.width == 4 and 10 * sample.column(3).count("2") > len(sample.rows)
            else 0
        ),
    ),
    headerless(
        "espnet",
        "ESPnet's columns",
        {"enrol": 0, "test": 1, "score": 2, "label": 3},
        Example("id1-a*id2-b -0.5213 0", "ESPnet", "enrolment and test, score, label"),
        separators=STAR_SEPARATOR,
        fits=lambda sample: CERTAIN_FIT if sample.width == 4 else 0,
    ),
    headerless(
        "espnet-trials",
        "ESPnet's columns",
        {"enrol": 0, "test": 1, "label": 2},
        Example("id1-a*id2-b 0", "ESPnet", "enrolment and test, label"),
        separators=STAR_SEPARATOR,
        fits=lambda sample: CERTAIN_FIT if sample.width == 3 and sample.has_labels(2) else 0,
    ),
    # bob has no labels: a trial is a target if its two identities are equal. With four columns the
    # claimed identity is also the enrolment, since no other column names it.
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
        fits=lambda sample: _bob_fit(sample, 4),
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
        fits=lambda sample: _bob_fit(sample, 5),
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
        ignored_columns=True,
        fits=lambda sample: 35 if sample.has_sides(2) and sample.has_labels(3) else 0,
    ),
    headerless(
        "nist-scores",
        "the columns of a NIST system output",
        {"enrol": 0, "test": 1, "side": 2, "score": 3},
        Example(
            "m1 s1.sph a -3.21", "NIST SRE system outputs", "model, segment and side, score (LLR)"
        ),
        fits=lambda sample: (
            35 if sample.has_sides(2) and sample.has_numbers(3) and not sample.has_labels(3) else 0
        ),
    ),
)
"""The formats, in the order of the documentation."""
