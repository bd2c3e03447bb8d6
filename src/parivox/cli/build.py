"""``parivox trials build``."""

from __future__ import annotations

import argparse
import signal
import sys
from dataclasses import replace
from typing import Any, NoReturn

from parivox.cli.options import (
    add_every_section,
    add_option,
    check_out_is_named,
    given_options,
)
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing, say
from parivox.errors import ConfigError, shown
from parivox.options.kinds import options_of
from parivox.options.trials import KINDS, BuildOptions

EXAMPLES = """\
examples:
  parivox trials build inclusive --utterances u.csv --speakers s.csv --by gender+nationality \\
    --per-speaker 500 --variants 5 --seed 1 --out lists/
  parivox trials build balanced --utterances u.csv --speakers s.csv --by nationality \\
    --speakers-per-group 8 --utterances-per-speaker 24 --out balanced/
  parivox trials build cross --utterances u.csv --speakers s.csv --by gender --trials 1000000 \\
    --out cross/
  parivox trials build --from lists/inclusive.manifest.json --out again/
"""
_PROG = "parivox trials build"
_TABLES = ("utterances", "speakers", "out")
_WORDS = {
    "inclusive": "as many pairs, as hard ones, for every speaker",
    "balanced": "as many speakers, utterances and pairs of every group",
    "cross": "nontarget pairs of every group with every group",
}


def add_to(commands: Any) -> None:
    """Add the command, a sub-command for each kind of list, and their options."""
    whole = commands.add_parser(
        "build",
        help="build a list: inclusive, balanced, cross",
        usage="parivox trials build KIND --utterances FILE --by ATTRIBUTES --out DIR [options]\n"
        "       parivox trials build --from MANIFEST --out DIR",
        description="Build trial lists from a table of utterances, with a manifest that builds "
        "them again.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        prog=_PROG,
    )
    whole.set_defaults(run=_rebuild)
    whole.add_argument("--from", dest="manifest", metavar="MANIFEST", help="build its lists again")
    _add_tables(whole, before="before_")
    whole.add_argument("--json", dest="before_json", action="store_true", help="print the manifest")
    every = {one.flag for options in KINDS.values() for one in options_of(options).values()}
    for flag in sorted(every - {f"--{name}" for name in (*_TABLES, "progress")}):
        whole.add_argument(flag, action=_OfKind, nargs="?", help=argparse.SUPPRESS)
    kinds = whole.add_subparsers(title="kinds", metavar="KIND", dest="kind", prog=_PROG)
    for name, options in KINDS.items():
        command = kinds.add_parser(
            name,
            help=_WORDS[name],
            usage=f"{_PROG} {name} --utterances FILE --by ATTRIBUTES --out DIR [options]",
            description=f"Build lists with {_WORDS[name]}.",
            allow_abbrev=False,
        )
        command.set_defaults(run=_build)
        add_every_section(command, options)
        command.add_argument("--json", action="store_true", help="print the manifest")


class _OfKind(argparse.Action):
    """An option that stands where it has no meaning."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse it."""
        msg = (
            f"{self.option_strings[0]} is an option of a kind of list: give it after the kind, as "
            "in build inclusive (with --from, the manifest tells it)"
        )
        raise ConfigError(msg)


def _add_tables(whole: Any, before: str) -> None:
    """Add what may stand before the kind as well as after it."""
    for name in _TABLES:
        one = options_of(BuildOptions)[name]
        add_option(whole, replace(one, name=f"{before}{name}", command=name))


def _build(given: argparse.Namespace) -> None:
    set_up()
    if given.manifest is not None:
        msg = f"--from and {given.kind} contradict each other; give one of them"
        raise ConfigError(msg)
    for name in _TABLES:
        before = getattr(given, f"before_{name}")
        if before is not None and getattr(given, name) is not None:
            msg = f"--{name} is given twice; give it once"
            raise ConfigError(msg)
        setattr(given, name, before if before is not None else getattr(given, name))
    for name, what in (("utterances", "file"), ("by", "grouping"), ("out", "folder")):
        if getattr(given, name) is None:
            msg = f"--{name} is needed: name a {what}; see {_PROG} {given.kind} --help"
            raise ConfigError(msg)
    asked = given_options(given, KINDS[given.kind])
    for name in ("grade_by", "groups"):
        if name in asked:
            asked[name] = _several(asked[name])
    import parivox.trials  # noqa: PLC0415 - what takes time to load

    _check_tables(given)
    _end_in_order()
    built = getattr(parivox.trials, f"build_{given.kind}")(**asked, progress=say)
    _print(built, json=given.json or given.before_json)


def _rebuild(given: argparse.Namespace) -> None:
    if given.manifest is None:
        msg = "what is to be built? inclusive, balanced, cross, or --from a manifest"
        raise ConfigError(msg)
    for name in _TABLES:
        setattr(given, name, getattr(given, f"before_{name}"))
    if given.out is None:
        msg = f"--out is needed: name a folder; see {_PROG} --help"
        raise ConfigError(msg)
    set_up()
    from parivox.trials.building import rebuild  # noqa: PLC0415

    _check_tables(given)
    _end_in_order()
    tables = {"utterances": given.utterances, "speakers": given.speakers}
    _print(rebuild(given.manifest, out=given.out, **tables, progress=say), json=given.before_json)


def _check_tables(given: argparse.Namespace) -> None:
    check_out_is_named(given.out, "folder")
    if "-" in {given.utterances, given.speakers} and sys.stdin is None:
        msg = "-: standard input is closed; name a file, or send one to standard input"
        raise ConfigError(msg)


def _end_in_order() -> None:
    """Let what was asked to end remove first what it has half written."""

    def end(number: int, _: object) -> NoReturn:
        say("stopped; nothing was written")
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, end)


def _print(built: Any, *, json: bool) -> None:
    with printing():
        if json:
            print_json(built.to_json())
        else:
            for line in built.told:
                sys.stdout.write(f"{shown(line)}\n")


def _several(given: list[str]) -> list[str]:
    return [part.strip() for text in given for part in text.split(",")]
