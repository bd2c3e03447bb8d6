"""Facts in words, as the command line shows them: what tests of the table of data read."""

from __future__ import annotations

from parivox.errors import options_named
from parivox.report import catalogue


def in_words(cell):
    """The facts of a note or a data warning in words."""
    with options_named():
        return catalogue.cell_text(cell)


def fact_in_words(stated):
    """One fact in words."""
    with options_named():
        return catalogue.fact_text(stated)


def item_in_words(row):
    """What a row of the table of data has counted, in words."""
    with options_named():
        return catalogue.item_text(row)


def note_in_words(row):
    """The note of a row in words."""
    with options_named():
        return catalogue.note_text(row)


def shared_in_words(row):
    """What the two sides of a comparison share, in words."""
    with options_named():
        return catalogue.shared_text(row)
