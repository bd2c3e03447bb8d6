"""What may stand behind a difference between groups: other attributes of the same speakers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parivox.report.words import Row, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.text import Text

    from parivox.auditing.result import Audit

__all__ = ["confounded", "confounding"]

_OF_ONE_KIND = {"tells", "told", "alike"}


def confounding(audit: Audit, where: Row) -> Iterator[Text]:
    """Which attributes go together, as the terminal shows it."""
    for words, is_warning in confounded(audit, where):
        yield text(words, style="yellow" if is_warning else "")


def confounded(audit: Audit, where: Row) -> Iterator[tuple[str, bool]]:
    """Which attributes go together with those that groups are made of, and how to look past them.

    Of attributes that tell each other, as ages and bands of age do, one is enough: that which
    goes together most. With each sentence: whether it warns.
    """
    lists, options = audit.record.get("confounding", {}), audit.record["options"]
    name = "@".join(filter(None, (where["system"], where["list"])))
    rows = lists.get(name, [])
    is_said = name != next((one for one, of in lists.items() if of == rows), name)
    if is_said or where["allocation"] != options["allocate"][0]:
        return
    grouping = where["grouping"]
    is_one = any(row["attribute"] == grouping for row in rows)  # whose name may hold a +
    mine = [grouping] if is_one else grouping.split("+")
    beside = [row for row in rows if row["attribute"] in mine and row["other"] not in mine]
    if is_one:
        for row in beside:
            if row["relation"] in {"told", "alike"}:
                yield f"{row['sentence']}.", False
    of_one_kind = {(r["attribute"], r["other"]) for r in rows if r["relation"] in _OF_ONE_KIND}
    settled = {row["other"] for row in beside if row["relation"] in _OF_ONE_KIND}
    for row in sorted(beside, key=lambda row: -row["cramers_v"]):
        other = row["other"]
        if row["relation"] != "confounded" or other in settled:
            continue
        settled |= {other, *(kin for one, kin in of_one_kind if one == other)}
        is_within = other in (options["within"] or ()) or other in options["standardise"]
        mend = "" if is_within else f"; compare --within {other}, or --standardise {other}"
        yield f"{row['sentence']}{mend}.", True
