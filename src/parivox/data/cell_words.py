"""Words of labels and decisions, and whether a cell is one of them or a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.core.counts import NONTARGET, SPOOF, TARGET

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_TARGET_WORDS = (
    "1 1.0 +1 target targets tgt tar true t yes y same genuine mated match positive client "
    "same-speaker same_speaker samespeaker"
)
_NONTARGET_WORDS = (
    "0 0.0 -1 -1.0 nontarget non-target non_target nontgt non imp imposter impostor false f no n "
    "known_nontarget unknown_nontarget different diff unmated non-mated nonmated nonmatch "
    "non-match negative different-speaker different_speaker differentspeaker"
)

LABELS: dict[str, int] = {
    **dict.fromkeys(_TARGET_WORDS.split(), TARGET),
    **dict.fromkeys(_NONTARGET_WORDS.split(), NONTARGET),
    **dict.fromkeys(("spoof", "spoofed"), SPOOF),
}
"""Class of trials by word in lower case."""
BONA_FIDE_WORDS = ("bonafide", "bona-fide", "bona fide", "genuine")
"""What says that speech is not spoofed, in a column of attacks."""
NO_ATTACK_WORDS = ("", "-", *BONA_FIDE_WORDS, "none", "no", "0")
"""What a column of attacks holds in rows of bona fide speech."""
_ACCEPT_WORDS = "accept accepted a 1 1.0 true t yes y pass passed match"
_REJECT_WORDS = "reject rejected r 0 0.0 -1 false f no n fail failed nonmatch"
DECISIONS = {**dict.fromkeys(_ACCEPT_WORDS.split(), 1), **dict.fromkeys(_REJECT_WORDS.split(), 0)}
MAX_DECISION_WORDS = 8
"""With more words than these, a column contains no decisions."""


def is_label(text: str) -> bool:
    """Whether a cell is a label, whatever its case.

    Examples
    --------
    >>> is_label("Target"), is_label("maybe")
    (True, False)
    """
    return text.strip().lower() in LABELS


def is_number(text: str) -> bool:
    """Whether a cell is a number in the notation of scores.

    Examples
    --------
    >>> is_number("-1e-3"), is_number("1_0"), is_number("a")
    (True, False, False)
    """
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text


def is_whole(text: str) -> bool:
    """Whether a cell is a whole number, which may be an id."""
    return text.lstrip("+-").isdigit()


def holds_for_most(cells: Sequence[str], condition: Callable[[str], bool]) -> bool:
    """Whether a condition holds for more than half of some cells."""
    return 2 * sum(map(condition, cells)) > len(cells)


def mostly_numbers(cells: Sequence[str]) -> bool:
    """Whether most cells are numbers."""
    return holds_for_most(cells, is_number)


def mostly_scores(cells: Sequence[str]) -> bool:
    """Whether most cells are numbers and one is not whole; whole numbers may be ids."""
    return mostly_numbers(cells) and any(is_number(cell) and not is_whole(cell) for cell in cells)


def is_decision(text: str) -> bool:
    """Whether a cell is a decision and cannot be a label, whatever its case.

    Examples
    --------
    >>> is_decision("Accepted"), is_decision("yes")
    (True, False)
    """
    return text.strip().lower() in DECISIONS and not is_label(text)
