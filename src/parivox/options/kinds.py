"""Kinds of options, and what all of them have: a name, a default, a check, words.

An option is a field of a dataclass, such as `parivox.options.audit.AuditOptions`. Its name,
type and default are those of the field; the rest is an `Option` beside it. The command
line, the signatures and checks of the library, the record of an audit, "how to reproduce" and the
docs read it there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

LOG_BASES = (2, 10)
"""Bases of logarithms that are not natural."""
MAX_WEIGHTS = 1000
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


@frozen(kw_only=True)
class Option:
    """One option; its subclasses are the kinds."""

    annotation: ClassVar[str] = "Any"
    """Type in a signature of the library, as source."""

    words: str
    """What it is, in Markdown; literals in backticks."""
    section: str
    """Heading under which it is listed; empty if there is none."""
    metavar: str = ""
    """What stands for the value in a list of options."""
    without: str = ""
    """What holds where it is left out, in words, where the default does not tell."""
    command: str | None = ""
    """Its name on the command line, if not `name` with dashes; None if it has none."""
    letter: str = ""
    """A short name on the command line, without its dash."""
    python: str = ""
    """Its name in the library, if not `name`."""
    position: str = ""
    """How many values stand on the command line without its name, if any: `1`, `?` or `+`."""
    is_repeatable: bool = False
    """Whether the command line takes it several times."""
    is_needed: bool = False
    """Whether the command line asks for it."""
    is_common: bool = False
    """Whether it is among the few that `--help` lists of a command with many."""
    is_recorded: bool = True
    """Whether the record of an audit names it."""
    reads: Callable[[Any], Any] | None = None
    """Makes what the library takes of what the command line is given, where that is no text."""
    name: str = ""
    default: Any = None

    @property
    def argument(self) -> str:
        """Name in the library."""
        return self.python or self.name

    @property
    def flag(self) -> str:
        """Name on the command line, with dashes."""
        return f"--{self.command or self.name.replace('_', '-')}"

    @property
    def plain(self) -> str:
        """The words without Markdown."""
        return _LINK.sub(r"\1", self.words).replace("`", "")

    @property
    def fallback(self) -> str:
        """What holds where the option is left out, in Markdown; empty if nothing does."""
        if self.without or self.default is None or self.default == ():
            return self.without
        values = as_tuple(() if isinstance(self.default, bool) else self.default)
        return ", ".join(f"`{_written(one)}`" for one in values)

    def is_given(self, value: Any) -> bool:
        """Whether a value, which may be a table, is not the default."""
        if value is None or isinstance(value, (str, bool, tuple, int, float)):
            return bool(value != self.default)
        return True

    def check(self, value: Any) -> Any:
        """The value to keep, or a sentence on what is wrong with it."""
        return value

    def parse(self, text: Any) -> Any:
        """What the command line is given, as the library takes it."""
        return text if self.reads is None else self.reads(text)

    def on_command_line(self, value: Any) -> list[str]:
        """The words that give a value on the command line."""
        return [word for one in as_tuple(value) for word in (self.flag, _written(one))]

    def _refuse(self, found: Any, wanted: str) -> ConfigError:
        return ConfigError(f"{self.flag} is {found!r}; give {wanted}")


def _written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


@frozen(kw_only=True)
class Unchecked(Option):
    """What is checked where it is read: a path, a table, several of them."""

    metavar: str = "FILE"
    annotated: str = "Any"
    """Type in a signature, as source."""
    is_many: bool = False
    """Whether several may follow the option on the command line."""
    const: Any = None
    """What the option stands for on the command line, where it takes no value."""
    is_recorded: bool = False

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """The type."""
        return self.annotated


@frozen(kw_only=True)
class Flag(Option):
    """True or False; on the command line an option without a value."""

    negated: str = ""
    """What the option says on the command line where it stands for False."""

    annotation: ClassVar[str] = "bool"

    def check(self, value: Any) -> bool:
        """True or False."""
        if not isinstance(value, bool):
            msg = f"{self.argument}={value!r} is neither True nor False; give one of them"
            raise ConfigError(msg)
        return value

    def parse(self, text: Any) -> bool:  # noqa: ARG002 - that it is given says it
        """The other of both."""
        return not self.default

    def on_command_line(self, value: Any) -> list[str]:
        """The option alone."""
        return [] if value == self.default else [self.flag]


@frozen(kw_only=True)
class Text(Option):
    """One text, perhaps one of several choices."""

    metavar: str = "NAME"
    choices: tuple[str, ...] = ()
    alone: str = ""
    """What the option stands for on the command line where no text follows it, if that may be."""

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """A text; None if it may be left out."""
        return "str | None" if self.default is None else "str"

    def check(self, value: Any) -> str | None:
        """One text."""
        if value is None and self.default is None:
            return None
        if not isinstance(value, str):
            msg = f"{self.argument}={value!r} is not text; give one text, or leave it out"
            raise ConfigError(msg)
        self._check_known(value)
        return value

    def _check_known(self, value: str) -> None:
        if self.choices and value not in self.choices:
            msg = f"{self.flag} {value!r} is not known; choose from {', '.join(self.choices)}"
            raise ConfigError(msg)


@frozen(kw_only=True)
class Texts(Text):
    """One or several texts, each once."""

    example: str = "gender"
    """One such text, for who gives something else."""
    may_be_empty: bool = False
    """Whether none at all says something."""
    is_repeatable: bool = True

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """One text, several, or None if it may be left out."""
        return "Sequence[str] | str" + (" | None" if self.default is None else "")

    def check(self, value: Any) -> Any:
        """The texts as a tuple, without space around them."""
        if value is None and self.default is None:
            return None
        found = self._texts(value)
        for one in found or (() if self.may_be_empty else ("",)):
            self._check_known(one)
        twice = next((one for one in found if found.count(one) > 1), None)
        if twice is not None or (not found and not self.may_be_empty):
            what = "nothing" if twice is None else f"{twice!r} twice"
            msg = f"{self.flag} names {what}; name each choice once"
            raise ConfigError(msg)
        return found

    def _texts(self, value: Any) -> tuple[str, ...]:
        found = as_tuple(value)
        for one in found:
            if not isinstance(one, str):
                what = "is" if one is value else f"holds {one!r}, which is"
                mend = f"give one, as in {self.argument}={self.example!r}, or a list of such"
                msg = f"{self.argument}={value!r} {what} not text; {mend}"
                raise ConfigError(msg)
        return tuple(one.strip() for one in found)


@frozen(kw_only=True)
class Number(Option):
    """A number, or a whole number, between two others."""

    metavar: str = "N"
    low: float
    high: float
    is_whole: bool = False
    wanted: str = ""
    """What to give, in words, where the bounds do not tell."""
    zero: str = ""
    """The word that stands for 0; empty if there is none."""
    outside: tuple[float, ...] = ()
    """Numbers from `low` to `high` that are none."""

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """The kind of number."""
        kind = "int" if self.is_whole else "float"
        may_be_none = self.default is None and not self.is_needed
        return kind + (" | str" if self.zero else "") + (" | None" if may_be_none else "")

    def check(self, value: Any) -> int | float | None:
        """A number of Python's, whatever number it was."""
        if value is None and self.default is None and not self.is_needed:
            return None
        if self.zero and isinstance(value, str) and value == self.zero:
            return 0
        if not self.is_right(value):
            kind = "a whole number" if self.is_whole else "a number"
            also = f"{self.zero}, or " if self.zero else ""
            wanted = self.wanted or f"{also}{kind} from {self.low} to {self.high}"
            raise self._refuse(value, wanted)
        return int(value) if self.is_whole else float(value)

    def is_right(self, value: Any) -> bool:
        """Whether it is a number within the bounds."""
        is_number = isinstance(value, Integral if self.is_whole else Real)
        if not is_number or isinstance(value, bool):
            return False
        is_within = self.low <= value <= self.high and value not in self.outside
        return bool(is_within or (self.zero and value == 0))

    def parse(self, text: Any) -> Any:
        """The number that a text is."""
        if text == self.zero:
            return text
        kind = "a whole number" if self.is_whole else "a number"
        digits = "" if "_" in str(text) else text  # Python reads 1_0 as ten, which nobody means
        try:
            found: float = int(digits) if self.is_whole else float(digits)
        except ValueError:
            also = f", or {self.zero}" if self.zero else ""
            raise self._refuse(text, f"{kind}{also}") from None
        if self.zero and found == 0:
            msg = f"{self.flag} is 0; give {self.zero}, or {kind} of {self.name}"
            raise ConfigError(msg)
        return found

    def on_command_line(self, value: Any) -> list[str]:
        """The number, or the word for 0."""
        return [self.flag, self.zero if self.zero and value == 0 else _written(value)]


@frozen(kw_only=True)
class LogBase(Option):
    """The base of logarithms that are not natural."""

    metavar: str = "BASE"

    annotation: ClassVar[str] = "int | None"

    def check(self, value: Any) -> int | None:
        """One of the bases, as a whole number."""
        if value is None:
            return None
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or value not in LOG_BASES:
            raise self._refuse(value, "10 or 2, or --llr alone for natural logarithms")
        return int(value)

    def parse(self, text: Any) -> int | str:
        """The number that a text is, or the text."""
        return int(text) if text.isdecimal() else text


class Weights(Option):
    """Weights between 0 and 1: numbers, texts of numbers, or of ranges ``low:high:step``."""

    annotation: ClassVar[str] = "Sequence[float | str] | float | str"

    def check(self, value: Any) -> tuple[float, ...]:
        """The weights, each once."""
        found: list[float] = []
        for text in ",".join(str(one) for one in as_tuple(value)).split(","):
            parts = text.split(":")
            try:
                numbers = [float(part) for part in parts]
            except ValueError:
                numbers = []
            if len(numbers) == 1:
                found += numbers
            elif len(numbers) == 3 and all(map(math.isfinite, numbers)) and _is_range(*numbers):
                low, high, step = numbers
                found += [
                    round(low + step * i, 12)
                    for i in range(math.floor((high - low) / step + 1.5e-9) + 1)
                ]
            else:
                msg = f"{self.flag} {text!r} is neither a number nor LOW:HIGH:STEP, as in 0:1:0.05"
                raise ConfigError(msg)
        weights = tuple(dict.fromkeys(found))
        if not all(0 <= weight <= 1 for weight in weights):
            msg = (
                f"{self.flag} is given {list(weights)}; weights lie between 0 and 1, as in 0:1:0.05"
            )
            raise ConfigError(msg)
        return weights


def _is_range(low: float, high: float, step: float) -> bool:
    """Whether there are steps from low to high, and not absurdly many."""
    return step > 0 and low <= high and (high - low) / step <= MAX_WEIGHTS


@frozen(kw_only=True)
class NameMapping(Option):
    """A mapping from names to something, such as roles to columns."""

    of: str
    """What the values are, as source of a type."""
    is_right: Callable[[Any], bool]
    """Whether a value is such."""
    form: str
    """What is mapped to what, with an example."""
    example: str = "enrol=ref_file,score=sc"
    """Such a mapping on the command line."""

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """The mapping."""
        return f"Mapping[str, {self.of}] | None"

    def check(self, value: Any) -> Any:
        """The mapping as it is."""
        is_mapping = isinstance(value, Mapping) and all(
            isinstance(name, str) and self.is_right(one) for name, one in value.items()
        )
        if value is not None and not is_mapping:
            msg = f"{self.argument}={value!r} is not a mapping {self.form}"
            raise ConfigError(msg)
        return value

    def parse(self, text: Any) -> dict[str, str]:
        """Roles and columns, as in ``enrol=ref_file,test=com_file``."""
        found: dict[str, str] = {}
        for part in text.split(","):
            role, equals, column = (word.strip() for word in part.partition("="))
            if not equals or not role or not column:
                msg = f"{self.flag} {text!r}: {part!r} is not ROLE=COLUMN, as in {self.example}"
                raise ConfigError(msg)
            if role in found:
                msg = f"{self.flag} {text!r}: {role} is given twice; give each role one column"
                raise ConfigError(msg)
            found[role] = column
        return found


@frozen(kw_only=True)
class Direction(Text):
    """One of several words, each an option of its own on the command line: ``--distance``."""

    each: Mapping[str, str]
    """What each word says."""


def as_tuple(value: Any) -> tuple[Any, ...]:
    """One or several choices as several.

    Examples
    --------
    >>> several("gender"), several(["gender", "age"]), several(None)
    (('gender',), ('gender', 'age'), (None,))
    """
    is_many = isinstance(value, Iterable) and not isinstance(value, (str, bytes))
    return tuple(value) if is_many else (value,)


def option(
    section: str, words: str, kind: type[Option] = Unchecked, default: Any = None, **more: Any
) -> Any:
    """A field of a dataclass that is an option."""
    made = kind(words=words, section=section, default=default, **more)
    return field(default=default, metadata={"option": made})


def option_like(described: type[Options], name: str, **changes: Any) -> Any:
    """A field that is the option of another command, but for some changes."""
    (known,) = (one for one in fields(described) if one.name == name)
    made = replace(known.metadata["option"], **{"name": name} | changes)
    return field(default=made.default, metadata={"option": made})


def option_fields(described: type[Options]) -> dict[str, Option]:
    """The options of a command by the name of their field, in order."""
    return {
        one.name: replace(one.metadata["option"], name=one.name)
        for one in fields(described)
        if "option" in one.metadata
    }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Options:
    """What a command is asked to do: each option checked once.

    Subclasses have a field for each option. What the command line alone takes is in one of its
    own, named for the command.
    """

    order: ClassVar[tuple[str, ...]] = ()
    """Sections that are listed before those of other names, in this order."""

    def __post_init__(self) -> None:
        """Check every option."""
        for name, described in option_fields(type(self)).items():
            object.__setattr__(self, name, described.check(getattr(self, name)))

    @classmethod
    def of(cls, **given: Any) -> Self:
        """What a caller gives by the names that options have in the library.

        Raises
        ------
        ConfigError
            If there is no option of such a name, or it is given something wrong.
        """
        names = {one.argument: name for name, one in option_fields(cls).items()}
        for argument in given:
            if argument not in names:
                from difflib import get_close_matches  # noqa: PLC0415 - takes time to load

                near = get_close_matches(argument, names, n=1) or get_close_matches(
                    argument, [n for n in names if argument in n or n in argument], n=1, cutoff=0
                )
                mend = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
                msg = f"{argument}= is not an option; {mend}"
                raise ConfigError(msg)
        return cls(**{names[argument]: value for argument, value in given.items()})


def options_by_section(*described: type[Options]) -> dict[str, list[Option]]:
    """Options under the heading of their section, in order."""
    found: dict[str, list[Option]] = {}
    for section in (section for one in described for section in one.order):
        found[section] = []
    for one in (one for options in described for one in option_fields(options).values()):
        found.setdefault(one.section, []).append(one)
    return {section: options for section, options in found.items() if options}
