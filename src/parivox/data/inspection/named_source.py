"""A source that is inspected, with what is found of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from parivox.data.inspection.findings import FileFindings
from parivox.data.inspection.tables import InspectedTable
from parivox.data.inspection.trials import InspectedTrials

if TYPE_CHECKING:
    from parivox.runtime.disk import ScratchFolder

Inspected: TypeAlias = InspectedTrials | InspectedTable | FileFindings
"""One inspected source."""


@dataclass(eq=False)
class NamedSource:
    """A source under the name that the user gave it, in a form that can be read again."""

    name: str
    data: Any
    word: str  # in a command
    folder: ScratchFolder | None = None  # holds standard input, kept while it is needed
    inspected: Inspected = field(default_factory=lambda: FileFindings("", "unknown"))

    @property
    def findings(self) -> FileFindings:
        """Return the findings about it."""
        inspected = self.inspected
        return inspected if isinstance(inspected, FileFindings) else inspected.findings
