"""Everything Parivox raises on purpose.

::

    ParivoxError            one sentence: what, where, found against expected, the mend
    ├── DataError           a file or table does not hold what it must
    ├── ConfigError         an option or argument is wrong, or two of them contradict
    └── UndefinedMetric     a number was asked for that the data cannot define

The command line prints the sentence and exits with 2; the library raises it.
"""

__all__ = ["ConfigError", "DataError", "ParivoxError", "UndefinedMetric"]


class ParivoxError(Exception):
    """Root of the errors that Parivox raises on purpose."""


class DataError(ParivoxError):
    """A file or table does not hold what it must."""


class ConfigError(ParivoxError):
    """An option or argument is wrong, or two of them contradict each other."""


class UndefinedMetric(ParivoxError):  # noqa: N818 - named for what it tells
    """A number was asked for that the data cannot define."""
