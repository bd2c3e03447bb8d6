"""What an audit tells apart: systems on lists, their groupings, and their operating points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from parivox.auditing.result import Audit
    from parivox.report.words import Row

__all__ = ["Scope", "first_point", "name_of", "points", "scopes", "systems"]


class Scope(NamedTuple):
    """One grouping of one system on one list, under one allocation."""

    system: str
    list: str
    grouping: str
    allocation: str

    @property
    def where(self) -> Row:
        """As a table is asked."""
        return {**self._asdict(), "within": ""}

    @property
    def of(self) -> str:
        """The grouping, as a reader is told of it."""
        how = "" if self.allocation == "both" else f", nontarget trials by {self.allocation}"
        return f"{self.grouping}{how}"

    @property
    def label(self) -> str:
        """The system and the grouping, as a reader is told of them."""
        return f"{name_of(self.system, self.list)}, {self.of}"


def name_of(system: str, list_: str) -> str:
    """A system, and the list it was audited on."""
    return f"{system} on {list_}" if list_ else system


def systems(audit: Audit) -> list[Row]:
    """Every system and list, as a table is asked."""
    return [{"system": one["system"], "list": one["list"]} for one in audit.record["inputs"]]


def scopes(audit: Audit) -> Iterator[Scope]:
    """Everything that has groups of its own, in the order of the audit."""
    known = {
        Scope(row["system"], row["list"], row["grouping"], row["allocation"])
        for row in audit.groups.where(metric="fnr", definition="", within="").rows()
    }
    for one in systems(audit):
        for grouping in audit.record["groupings"]:
            for allocation in audit.record["options"]["allocate"]:
                scope = Scope(one["system"], one["list"], grouping, allocation)
                if scope in known:
                    yield scope


def points(audit: Audit, where: Row) -> list[Row]:
    """Operating points of a system that came to a threshold, or to decisions."""
    asked = {"system": where["system"], "list": where["list"], "within": ""}
    return [row for row in audit.operating_points.where(**asked).rows() if not row["reason"]]


def first_point(audit: Audit, where: Row) -> str | None:
    """The first of them, at which everything is told."""
    return next((str(row["operating_point"]) for row in points(audit, where)), None)
