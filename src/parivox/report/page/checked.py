"""Section 8: what the list of trials can show, and where groups are not compared alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from parivox.report.findings import SET_APART, failed_checks
from parivox.report.sheets.sheet import Sheet

if TYPE_CHECKING:
    from parivox.auditing.result import Audit
    from parivox.report.words import Row

__all__ = ["Checked", "checked"]


@dataclass(frozen=True)
class OfList:
    """What one list fails, and which systems it was audited with."""

    label: str
    apart: list[str]
    sheet: Sheet | None


@dataclass(frozen=True)
class Checked:
    """The eighth section."""

    lists: list[OfList]
    pairing: str
    grades: str
    missing: str


def checked(audit: Audit) -> Checked:
    """Findings of the trial check, each list once."""
    found = failed_checks(audit)
    return Checked(
        lists=[_of_list(names, failed) for names, failed in found],
        pairing=_pairing(audit),
        grades=_grades(audit),
        missing=""
        if found
        else "The list was not checked: it is too large for memory, or of "
        "counts. parivox trials check checks it by itself.",
    )


def _of_list(names: list[str], failed: list[Row]) -> OfList:
    label = f"The list of {', '.join(names)}"
    made = Sheet.headed(
        f"What the list of {', '.join(names)} fails",
        ("Check", "What it asks for", "Found"),
        words=(1, 2, 3),
        wide=(2, 3),
    )
    for one in failed:
        made.add(one["id"], one["what"], one["sentence"])
    apart = [f"{one['sentence']} ({one['id']})" for one in failed if one["id"] in SET_APART]
    return OfList(label, apart, made if failed else None)


def _pairing(audit: Audit) -> str:
    """Who is compared with whom, from the matrix of the groupings."""
    told, is_alike = [], True
    for grouping in audit.record["groupings"]:
        rows = audit.matrix.where(grouping=grouping, within="").rows()
        if not rows:
            continue
        first = (rows[0]["system"], rows[0]["list"], rows[0]["operating_point"])
        own = [r for r in rows if (r["system"], r["list"], r["operating_point"]) == first]
        total = sum(row["trials"] or 0 for row in own)
        alike = sum(row["trials"] or 0 for row in own if row["enrol_group"] == row["test_group"])
        if total:
            is_alike &= alike == total
            told.append(
                f"by {grouping}, {100 * alike / total:.3g} % of the nontarget trials compare "
                "speakers of one group"
            )
    if not told:
        return "Who is compared with whom: not known of this audit."
    rest = (
        "Nothing is known of impostors of another group, whom a system mostly tells apart more "
        "easily."
        if is_alike
        else "Impostors of another group are mostly told apart more easily, so the fewer of them "
        "a list holds, the higher is its FPR: compare rates only of lists that are paired alike."
    )
    return f"Who is compared with whom: {'; '.join(told)}. {rest}"


def _grades(audit: Audit) -> str:
    names = {*audit.record["groupings"], *(audit.record["options"]["within"] or ())}
    if "grade" in names:
        return "Trials were graded by how hard they are: see the groups by grade."
    return (
        "Trials were not graded by how hard they are (--by grade, or parivox trials grade): where "
        "groups have trials of unlike difficulty, their rates are not comparable."
    )
