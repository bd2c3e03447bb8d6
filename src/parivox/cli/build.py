"""``parivox trials build``."""

from __future__ import annotations

import argparse
import signal
import sys
from typing import Any, NoReturn

from parivox.cli.options import check_out_is_named, repeatable
from parivox.cli.process import set_up
from parivox.cli.streams import print_json, printing, say
from parivox.errors import ConfigError, shown

__all__ = ["add_to"]

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
_OPTIONS = {"balance_partners": "--no-balance-partners"}
"""Options that are called otherwise than what they set."""
_COMMON = ("utterances", "speakers", "by", "out", "format", "variants", "seed", "id", "speaker_ids")
_OWN = {
    "inclusive": ("per_speaker", "grade_by", "target_grades", "mix", "balance_partners", "compat"),
    "balanced": ("speakers_per_group", "utterances_per_speaker", "pairs", "groups", "balance"),
    "cross": ("trials", "per_cell", "complete", "targets"),
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
    for name in (*_COMMON, *(name for own in _OWN.values() for name in own)):
        if name not in _TABLES:
            option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
            whole.add_argument(option, action=_OfKind, nargs="?", help=argparse.SUPPRESS)
    kinds = whole.add_subparsers(title="kinds", metavar="KIND", dest="kind", prog=_PROG)
    _add_inclusive(kinds)
    _add_balanced(kinds)
    _add_cross(kinds)


class _OfKind(argparse.Action):
    """An option that stands where it has no meaning."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse it."""
        msg = (
            f"{self.option_strings[0]} is an option of a kind of list: give it after the kind, as "
            "in build inclusive (with --from, the manifest tells it)"
        )
        raise ConfigError(msg)


def _add_tables(command: Any, before: str = "") -> None:
    """Add what every way to build takes, before the kind or after it."""
    for name, metavar, words in (
        ("utterances", "FILE", "table of utterances: speaker, recording"),
        ("speakers", "FILE", "table of speakers, their attributes"),
        ("out", "DIR", "folder for the lists and their manifest"),
    ):
        command.add_argument(f"--{name}", dest=before + name, metavar=metavar, help=words)
    command.add_argument(
        "--json", dest=f"{before}json", action="store_true", help="print the manifest"
    )


def _add(kinds: Any, name: str, words: str) -> Any:
    command = kinds.add_parser(
        name,
        help=words,
        usage=f"parivox trials build {name} --utterances FILE --by ATTRIBUTES --out DIR [options]",
        description=f"Build lists with {words}.",
        allow_abbrev=False,
    )
    command.set_defaults(run=_build)
    _add_tables(command)
    command.add_argument(
        "--by", metavar="ATTRIBUTES", help="groups of speakers, as in gender+nationality"
    )
    command.add_argument(
        "--format",
        metavar="NAME",
        default="voxceleb",
        help="voxceleb (default), kaldi, nist, csv or parquet",
    )
    command.add_argument("--variants", metavar="N", default=1, help="how many lists (default: 1)")
    command.add_argument("--seed", metavar="N", default=0, help="default: 0")
    command.add_argument("--id", metavar="COLUMN", help="id column of the speaker table")
    command.add_argument("--speaker-ids", action="store_true", help="name who is left out")
    return command


def _number(command: Any, name: str, words: str, **how: Any) -> None:
    command.add_argument(name, metavar="N", help=words, **how)


def _add_inclusive(kinds: Any) -> None:
    command = _add(kinds, "inclusive", "as many pairs, as hard ones, for every speaker")
    _number(command, "--per-speaker", "target and nontarget pairs of each speaker", required=True)
    repeatable(
        command, "--grade-by", "ATTRIBUTES", "what makes a pair difficult (default: those of --by)"
    )
    command.add_argument(
        "--target-grades", metavar="GRADES", default="3", help="3 (default), 1 or 1,3"
    )
    command.add_argument(
        "--mix", metavar="SHARES", help="grades of nontarget pairs, as in cat4=0.75,cat3=0.25"
    )
    command.add_argument(
        "--no-balance-partners",
        dest="balance_partners",
        action="store_const",
        const=False,
        help="draw partners at random, in place of one after the other",
    )
    command.add_argument("--compat", metavar="PAPER", help="hutiri2022: as the paper's listing")


def _add_balanced(kinds: Any) -> None:
    command = _add(kinds, "balanced", "as many speakers, utterances and pairs of every group")
    _number(command, "--speakers-per-group", "speakers of each group", required=True)
    _number(command, "--utterances-per-speaker", "utterances of each speaker", required=True)
    _number(
        command,
        "--pairs",
        "target and nontarget pairs of each speaker (default: as many as every group can give)",
    )
    repeatable(command, "--groups", "GROUPS", "groups to take part, as in Italy,Norway")
    command.add_argument(
        "--balance",
        metavar="ATTRIBUTE",
        help="balanced inside each group (default: gender, if known); none for nothing",
    )


def _add_cross(kinds: Any) -> None:
    command = _add(kinds, "cross", "nontarget pairs of every group with every group")
    _number(command, "--trials", "nontarget trials in all, shared out to the cells")
    _number(command, "--per-cell", "nontarget trials of each cell")
    command.add_argument("--complete", action="store_true", help="every nontarget pair there is")
    _number(command, "--targets", "target trials of each speaker (default: 0)", default=0)


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
    asked = {name: getattr(given, name) for name in (*_COMMON, *_OWN[given.kind])}
    for name in ("grade_by", "groups"):
        if asked.get(name) is not None:
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
    from parivox.trials.manifest import rebuild  # noqa: PLC0415

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
