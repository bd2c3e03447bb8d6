"""A sentence of the catalogue, with places for the values of a fact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class SentenceTemplate(NamedTuple):
    """A sentence, with places for the values of a fact, and an example of these."""

    words: str | Callable[[Mapping[str, Any]], str]
    example: Mapping[str, Any] = {}

    def with_values(self, values: Mapping[str, Any]) -> str:
        """Return the sentence on these values."""
        return self.words.format(**values) if isinstance(self.words, str) else self.words(values)
