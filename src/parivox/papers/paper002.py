"""Hutiri, Gorce and Ding (2022), "Design Guidelines for Inclusive [...] Evaluation Datasets".

See docs/methods/trial-lists.md for its grades, its algorithm and its guidelines, which
`parivox.trials` follows.
"""

from __future__ import annotations

from functools import partial

from parivox.papers.items import LATER, MISSING, NOTHING, Item, Paper
from parivox.papers.voxceleb import ON_H

_item = partial(Item, "002")


PAPER = Paper(
    "002",
    "W. Hutiri, L. Gorce and A. Y. Ding",
    2022,
    "Design Guidelines for Inclusive Speaker Verification Evaluation Datasets",
    (
        _item("table", "1", "grades of difficulty", NOTHING, "definitions: trials grade"),
        _item("table", "2", "experiments", NOTHING, "a design"),
        _item("table", "3", "pairs of the same speaker", LATER, ON_H),
        _item("figure", "1", "a baseline and an inclusive list", MISSING, "its inclusive list"),
        *(_item("figure", n, "outcomes by pairs per speaker", LATER, ON_H) for n in "23"),
    ),
)
