"""Kinds of options, and what every option has: a name, a default, a check, a description.

An option is a field of a dataclass, such as `parivox.options.audit.AuditOptions`. Name, type and
default are those of the field; everything else is in an `Option` that is attached to the field. The
command line, the signatures and checks of the library, the record of an audit, "how to reproduce"
and the docs all read it from there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from inspect import Parameter, signature
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from parivox.errors import ConfigError
from parivox.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")

LOG_BASES = (2, 10)
"""Bases of logarithms that are not natural."""
MAX_WEIGHTS = 1000
_MARKDOWN_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


@frozen(kw_only=True)
class Option:
    """One option; each subclass is a kind of option."""

    annotation: ClassVar[str] = "Any"
    """Type in a signature of the library, as source code."""

    description: str
    """Help text in Markdown; literals in backticks."""
    section: str
    """Heading under which it is listed; empty for none."""
    metavar: str = ""
    """Placeholder of the value in a list of options."""
    default_text: str = ""
    """What happens without the option, in words, where the default does not say it."""
    command_name: str | None = ""
    """Name on the command line, if not `name` with dashes; None if the command line lacks it."""
    letter: str = ""
    """One-letter name on the command line, without its dash."""
    python_name: str = ""
    """Name in the library, if not `name`."""
    positional_count: str = ""
    """Number of values without the name of the option, as in argparse: `1`, `?`, `*` or `+`."""
    is_repeatable: bool = False
    """Whether the command line accepts it several times."""
    is_required: bool = False
    """Whether the command line requires it."""
    is_common: bool = False
    """Whether `--help` lists it although the command has many options."""
    is_recorded: bool = True
    """Whether the record of an audit holds it."""
    parser: Callable[[Any], Any] | None = None
    """Converts the words of the command line to the argument of the library, if not text."""
    name: str = ""
    default: Any = None

    @property
    def keyword(self) -> str:
        """Return the name in the library."""
        return self.python_name or self.name

    @property
    def flag(self) -> str:
        """Return the name on the command line, with dashes."""
        return f"--{self.command_name or self.name.replace('_', '-')}"

    @property
    def plain_description(self) -> str:
        """Return the description without Markdown."""
        return _MARKDOWN_LINK.sub(r"\1", self.description).replace("`", "")

    @property
    def default_description(self) -> str:
        """Return what happens without the option, in Markdown; empty if nothing does."""
        if self.default_text or self.default is None or self.default == ():
            return self.default_text
        values = as_tuple(() if isinstance(self.default, bool) else self.default)
        return ", ".join(f"`{_value_text(element)}`" for element in values)

    def is_given(self, setting: Any) -> bool:
        """Whether a setting, which may be a table, differs from the default."""
        if setting is None or isinstance(setting, (str, bool, tuple, int, float)):
            return bool(setting != self.default)
        return True  # a table, whose comparison with the default would give a table

    def check(self, setting: Any) -> Any:
        """Return the setting to keep; raise one sentence if it is wrong."""
        return setting

    def parse(self, text: Any) -> Any:
        """Return the argument of the library for the words of the command line."""
        return text if self.parser is None else self.parser(text)

    def command_line_words(self, setting: Any) -> list[str]:
        """Return the words that give a setting on the command line."""
        words: list[str] = []
        for element in as_tuple(setting):
            words += [self.flag, _value_text(element)]
        return words

    def _refuse(self, rejected: Any, expected: str) -> ConfigError:
        msg = f"{self.flag} is {rejected!r}"
        hint = f"give {expected}"
        return ConfigError(msg, hint)


def _value_text(setting: Any) -> str:
    return f"{setting:g}" if isinstance(setting, float) else str(setting)


@frozen(kw_only=True)
class Unchecked(Option):
    """An option whose value is checked where it is used: a path, a table, or several."""

    metavar: str = "FILE"
    value_type: str = "Any"
    """Type in a signature, as source code."""
    takes_several: bool = False
    """Whether several values may follow the option on the command line."""
    flag_value: Any = None
    """Value of the option on the command line, if no value follows it."""
    is_recorded: bool = False

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """Return the type."""
        return self.value_type


@frozen(kw_only=True)
class Flag(Option):
    """True or False; on the command line an option without a value."""

    negated_description: str = ""
    """Description on the command line, if the option there stands for False."""

    annotation: ClassVar[str] = "bool"

    def check(self, setting: Any) -> bool:
        """Return the setting; refuse everything but True and False."""
        if not isinstance(setting, bool):
            msg = f"{self.keyword}={setting!r} is neither True nor False"
            hint = "give True or False"
            raise ConfigError(msg, hint)
        return setting

    def parse(self, text: Any) -> bool:  # noqa: ARG002 - its presence says it
        """Return the opposite of the default."""
        return not self.default

    def command_line_words(self, setting: Any) -> list[str]:
        """Return the option alone; nothing for the default."""
        return [] if setting == self.default else [self.flag]


@frozen(kw_only=True)
class Text(Option):
    """One text, perhaps one of several choices."""

    metavar: str = "NAME"
    choices: tuple[str, ...] = ()
    implied_text: str = ""
    """Value of the option on the command line if no text follows; empty if one must."""

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """Return the type: a text; None if it may be left out."""
        return "str | None" if self.default is None else "str"

    def check(self, setting: Any) -> str | None:
        """Return one text; refuse anything else."""
        if setting is None and self.default is None:
            return None
        if not isinstance(setting, str):
            msg = f"{self.keyword}={setting!r} is not text"
            hint = "give one text, or leave it out"
            raise ConfigError(msg, hint)
        self._check_known(setting)
        return setting

    def _check_known(self, text: str) -> None:
        if self.choices and text not in self.choices:
            msg = f"{self.flag} {text!r} is not known"
            hint = f"choose from {', '.join(self.choices)}"
            raise ConfigError(msg, hint)


@frozen(kw_only=True)
class Texts(Text):
    """One or several texts, each once."""

    example: str = "gender"
    """One such text, for messages."""
    may_be_empty: bool = False
    """Whether an empty list is allowed."""
    is_repeatable: bool = True

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """Return the type: one text, several, or None if it may be left out."""
        return "Sequence[str] | str" + (" | None" if self.default is None else "")

    def check(self, setting: Any) -> Any:
        """Return the texts as a tuple, without space around them."""
        if setting is None and self.default is None:
            return None
        texts = self._texts(setting)
        # an empty list is checked as an empty text, so that the message lists the choices
        for text in texts or (() if self.may_be_empty else ("",)):
            self._check_known(text)
        repeated = [text for text in texts if texts.count(text) > 1]
        if repeated or (not texts and not self.may_be_empty):
            problem = f"{repeated[0]!r} twice" if repeated else "nothing"
            msg = f"{self.flag} names {problem}"
            hint = "name each choice once"
            raise ConfigError(msg, hint)
        return texts

    def _texts(self, setting: Any) -> tuple[str, ...]:
        texts = as_tuple(setting)
        for text in texts:
            if not isinstance(text, str):
                problem = "is" if text is setting else f"contains {text!r}, which is"
                remedy = (
                    f"give a text, for example {self.keyword}={self.example!r}, or a list of texts"
                )
                msg = f"{self.keyword}={setting!r} {problem} not text"
                raise ConfigError(msg, remedy)
        return tuple(text.strip() for text in texts)


@frozen(kw_only=True)
class Number(Option):
    """A number, or a whole number, between two others."""

    metavar: str = "N"
    low: float
    high: float
    is_whole: bool = False
    expected: str = ""
    """What to give, in words, where the bounds do not say it."""
    zero_word: str = ""
    """The word that stands for 0; empty if there is none."""
    excluded: tuple[float, ...] = ()
    """Numbers from `low` to `high` that are refused, such as the bounds of an open interval."""

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """Return the type of number."""
        kind = "int" if self.is_whole else "float"
        may_be_none = self.default is None and not self.is_required
        if self.zero_word:
            kind += " | str"
        return f"{kind} | None" if may_be_none else kind

    def check(self, setting: Any) -> int | float | None:
        """Return the setting as a number of Python; refuse numbers out of bounds."""
        if setting is None and self.default is None and not self.is_required:
            return None
        if self.zero_word and isinstance(setting, str) and setting == self.zero_word:
            return 0
        if not self.is_valid(setting):
            kind = "a whole number" if self.is_whole else "a number"
            alternative = f"{self.zero_word}, or " if self.zero_word else ""
            expected = self.expected or f"{alternative}{kind} from {self.low} to {self.high}"
            raise self._refuse(setting, expected)
        return int(setting) if self.is_whole else float(setting)

    def is_valid(self, number: Any) -> bool:
        """Whether this is a number within the bounds."""
        is_number = isinstance(number, Integral if self.is_whole else Real)
        if not is_number or isinstance(number, bool):
            return False
        try:
            is_within = self.low <= number <= self.high and number not in self.excluded
            float(number)
        except (TypeError, OverflowError):  # a duration of NumPy; beyond all floats
            return False
        return bool(is_within or (self.zero_word and number == 0))

    def parse(self, text: Any) -> Any:
        """Return the number that a text means, or the word for 0."""
        if text == self.zero_word:
            return text
        kind = "a whole number" if self.is_whole else "a number"
        digits = "" if "_" in str(text) else text  # Python reads 1_0 as ten, which nobody means
        try:
            number: float = int(digits) if self.is_whole else float(digits)
        except ValueError:
            alternative = f", or {self.zero_word}" if self.zero_word else ""
            raise self._refuse(text, f"{kind}{alternative}") from None
        if self.zero_word and number == 0:
            msg = f"{self.flag} is 0"
            hint = f"give {self.zero_word}, or {kind} of {self.name}"
            raise ConfigError(msg, hint)
        return number

    def command_line_words(self, number: Any) -> list[str]:
        """Return the option and its number, or the word for 0."""
        return [
            self.flag,
            self.zero_word if self.zero_word and number == 0 else _value_text(number),
        ]


@frozen(kw_only=True)
class LogBase(Option):
    """The base of logarithms that are not natural."""

    metavar: str = "BASE"

    annotation: ClassVar[str] = "int | None"

    def check(self, base: Any) -> int | None:
        """Return one of the bases, as a whole number."""
        if base is None:
            return None
        is_number = isinstance(base, Real) and not isinstance(base, bool)
        if not is_number or base not in LOG_BASES:
            raise self._refuse(base, "10 or 2, or only --llr for natural logarithms")
        return int(base)

    def parse(self, text: Any) -> int | str:
        """Return the number that a text means, or the text."""
        return int(text) if text.isdecimal() else text


class Weights(Option):
    """Weights between 0 and 1: numbers, texts of numbers, or of ranges ``low:high:step``."""

    annotation: ClassVar[str] = "Sequence[float | str] | float | str"

    def check(self, setting: Any) -> tuple[float, ...]:
        """Return the weights, each once."""
        weights: list[float] = []
        elements = as_tuple(setting)
        if not all(isinstance(element, (str, Real)) for element in elements):
            msg = f"{self.flag}: {setting!r} contains no weights"
            hint = "give numbers from 0 to 1"
            raise ConfigError(msg, hint)
        for text in ",".join(str(element) for element in elements).split(","):
            bound_texts = text.split(":")
            try:
                numbers = [float(bound_text) for bound_text in bound_texts]
            except ValueError:
                numbers = []
            if len(numbers) == 1:
                weights += numbers
            elif (
                len(numbers) == 3
                and all(map(math.isfinite, numbers))
                and _is_weight_range(*numbers)
            ):
                low, high, step = numbers
                # 1.5e-9: rounding of the quotient must not lose the last weight
                weights += [
                    round(low + step * i, 12)
                    for i in range(math.floor((high - low) / step + 1.5e-9) + 1)
                ]
            else:
                msg = (
                    f"{self.flag} {text!r} is neither a number nor LOW:HIGH:STEP, for example "
                    "0:1:0.05"
                )
                raise ConfigError(msg)
        unique_weights = tuple(dict.fromkeys(weights))
        if not all(0 <= weight <= 1 for weight in unique_weights):
            wrong = next(weight for weight in unique_weights if not 0 <= weight <= 1)
            msg = f"{self.flag} is {wrong:g}"
            hint = "give weights between 0 and 1, for example 0:1:0.05"
            raise ConfigError(msg, hint)
        return unique_weights


def _is_weight_range(low: float, high: float, step: float) -> bool:
    """Whether there are steps from low to high, and at most `MAX_WEIGHTS`."""
    return step > 0 and low <= high and (high - low) / step <= MAX_WEIGHTS


@frozen(kw_only=True)
class NameMapping(Option):
    """A mapping from names to something, such as roles to columns."""

    value_type: str
    """Type of the values, as source code."""
    is_valid: Callable[[Any], bool]
    """Whether a value has this type."""
    mapping_form: str
    """What is mapped to what, with an example, for messages."""
    example: str = "enrol=ref_file,score=sc"
    """Such a mapping on the command line."""

    @property
    def annotation(self) -> str:  # type: ignore[override]
        """Return the type of the mapping."""
        return f"Mapping[str, {self.value_type}] | None"

    def check(self, mapping: Any) -> Any:
        """Return the mapping unchanged; refuse anything else."""
        is_mapping = isinstance(mapping, Mapping) and all(
            isinstance(name, str) and self.is_valid(mapped) for name, mapped in mapping.items()
        )
        if mapping is not None and not is_mapping:
            msg = f"{self.keyword}={mapping!r} is not a mapping {self.mapping_form}"
            raise ConfigError(msg)
        return mapping

    def parse(self, text: Any) -> dict[str, str]:
        """Return columns by role, from text such as ``enrol=ref_file,test=com_file``."""
        columns_by_role: dict[str, str] = {}
        for assignment in text.split(","):
            role, equals, column = (word.strip() for word in assignment.partition("="))
            if not equals or not role or not column:
                msg = (
                    f"{self.flag} {text!r}: {assignment!r} is not of the form ROLE=COLUMN, for "
                    f"example {self.example}"
                )
                raise ConfigError(msg)
            if role in columns_by_role:
                msg = f"{self.flag} {text!r}: {role} is given twice"
                hint = "give each role a single column"
                raise ConfigError(msg, hint)
            columns_by_role[role] = column
        return columns_by_role


@frozen(kw_only=True)
class Direction(Text):
    """One of several words, each an option of its own on the command line: ``--distance``."""

    descriptions: Mapping[str, str]
    """Description of each word."""


def one_or_several(texts: list[str]) -> str | list[str]:
    """Return the only text of an option that may be repeated, or all of them."""
    return texts[0] if len(texts) == 1 else texts


def as_tuple(choice: Any) -> tuple[Any, ...]:
    """Return one or several choices as a tuple.

    Examples
    --------
    >>> as_tuple("gender"), as_tuple(["gender", "age"]), as_tuple(None)
    (('gender',), ('gender', 'age'), (None,))
    """
    if not isinstance(choice, Iterable) or isinstance(choice, (str, bytes)):
        return (choice,)
    try:
        return tuple(choice)
    except TypeError:  # an array without axes
        return (choice,)


def option(
    section: str,
    description: str,
    kind: type[Option] = Unchecked,
    default: Any = None,
    **details: Any,
) -> Any:
    """Return a field of a dataclass that is an option."""
    described = kind(description=description, section=section, default=default, **details)
    return field(default=default, metadata={"option": described})


def option_like(command: type[CommandOptions], name: str, **changes: Any) -> Any:
    """Return a field that is an option of another command, with some changes."""
    (original,) = (candidate for candidate in fields(command) if candidate.name == name)
    changed = replace(original.metadata["option"], **{"name": name} | changes)
    return field(default=changed.default, metadata={"option": changed})


def option_fields(command: type[CommandOptions]) -> dict[str, Option]:
    """Return the options of a command by the name of their field, in order."""
    return {
        described.name: replace(described.metadata["option"], name=described.name)
        for described in fields(command)
        if "option" in described.metadata
    }


@frozen(kw_only=True)
class CommandOptions:
    """The options that a caller gave, each checked once.

    A subclass has a field for each option. Options of the command line alone are in a separate
    subclass, named for the command.
    """

    section_order: ClassVar[tuple[str, ...]] = ()
    """Sections that are listed before all others, in this order."""

    def __post_init__(self) -> None:
        """Check every option."""
        for name, described in option_fields(type(self)).items():
            setattr(self, name, described.check(getattr(self, name)))

    @classmethod
    def from_keywords(cls, **keywords: Any) -> Self:
        """Return the options of keyword arguments, named as in the library.

        Raises
        ------
        ConfigError
            If no option has such a name, or a setting is wrong.
        """
        names = {described.keyword: name for name, described in option_fields(cls).items()}
        for argument in keywords:
            if argument not in names:
                from difflib import get_close_matches  # noqa: PLC0415 - takes time to load

                close_names = get_close_matches(argument, names, n=1)
                if not close_names:  # a name within the other is close, however long the rest is
                    related_names = [name for name in names if argument in name or name in argument]
                    close_names = get_close_matches(argument, related_names, n=1, cutoff=0)
                remedy = f"choose from {', '.join(names)}"
                if close_names:
                    remedy = f"did you mean {close_names[0]}?"
                msg = f"{argument}= is not an option"
                raise ConfigError(msg, remedy)
        return cls(**{names[argument]: setting for argument, setting in keywords.items()})


def names_options(command: type[CommandOptions]) -> Callable[[Function], Function]:
    """Return a decorator that names every option in the signature of a function.

    The function takes some of them by ``**options``, whose types editors know. Notebooks complete
    arguments by the signature that a function has when it runs, and so does ``help``.

    Examples
    --------
    >>> from parivox.options.audit import AuditOptions
    >>> @names_options(AuditOptions)
    ... def audit(scores, **options): ...
    >>> signature(audit).parameters["replicates"].default
    1000
    """

    def named(function: Function) -> Function:
        own_signature = signature(function)
        *parameters, _ = own_signature.parameters.values()
        own_names = {parameter.name for parameter in parameters}
        parameters += [
            Parameter(
                described.keyword,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if described.is_required else described.default,
                annotation=described.annotation,
            )
            for described in option_fields(command).values()
            if described.keyword not in own_names
        ]
        vars(function)["__signature__"] = own_signature.replace(parameters=parameters)
        return function

    return named


def options_by_section(*commands: type[CommandOptions]) -> dict[str, list[Option]]:
    """Return the options of some commands by the heading of their section, in order."""
    sections: dict[str, list[Option]] = {}
    for command in commands:
        for section in command.section_order:
            sections[section] = []
    for command in commands:
        for described in option_fields(command).values():
            sections.setdefault(described.section, []).append(described)
    return {section: options for section, options in sections.items() if options}
