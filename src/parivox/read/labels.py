"""Words for target and nontarget trials."""

from __future__ import annotations

__all__ = ["LABELS", "is_label"]

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


def is_label(text: str) -> bool:
    """Whether a cell is a label, whatever its case.

    Examples
    --------
    >>> is_label("Target"), is_label("maybe")
    (True, False)
    """
    return text.strip().lower() in LABELS
