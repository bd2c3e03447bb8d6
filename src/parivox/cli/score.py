"""``parivox score``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.cli.options import add_command, check_out_is_named, given_options
from parivox.cli.process import printing
from parivox.errors import ConfigError
from parivox.options.audit import ProgressCommand
from parivox.options.kinds import option_fields
from parivox.options.recordings import (
    AllPairsOptions,
    ScoreCommand,
    ScoreFileOptions,
    ScoreOptions,
    VerifyOptions,
)

if TYPE_CHECKING:
    import argparse

EXAMPLES = """\
examples:
  parivox score trials.txt --embeddings embeddings/ --out scores.parquet
  parivox score trials.txt --embeddings embeddings/ --as-norm cohort.txt --top 300 --out s.parquet
  parivox score trials.csv --embeddings embeddings/ --models models.csv --out scores.parquet
  parivox score --all-pairs --counts --embeddings e/ --speakers s.csv --threshold 0.3 --out a.counts
  parivox score trials.csv --system mypkg:verifier --recordings utterances.csv --out s.parquet
"""


def add_to(commands: Any, words: str) -> None:
    """Add the command and its options."""
    add_command(
        commands,
        "score",
        _run,
        *(ScoreCommand, ScoreFileOptions, ScoreOptions, AllPairsOptions, VerifyOptions),
        ProgressCommand,
        help=words,
        usage="parivox score TRIALS --embeddings DIR --out FILE [options]",
        description="Score a trial list: one row per trial, in the order of the list. Or score "
        "all pairs of recordings and write counts only.",
        examples=EXAMPLES,
    )


def _run(given: argparse.Namespace) -> None:
    from parivox.report.systems import print_scored  # noqa: PLC0415 - what takes time to load

    check_out_is_named(given.out, "file")
    _check(given)
    if given.all_pairs:
        _count_all_pairs(given)
        return
    shared = given_options(given, ScoreFileOptions)
    given.outcome = "what was scored is kept; the same command goes on from there"
    if given.system is None:
        from parivox.scoring.run import score  # noqa: PLC0415

        found = score(given.trials, **shared, **given_options(given, ScoreOptions))
    else:
        from parivox.scoring.verifying import score_with_system  # noqa: PLC0415

        own = given_options(given, VerifyOptions)
        system = _verifying(given.system, own.pop("device", VerifyOptions.device))
        found = score_with_system(given.trials, system, **shared, **own)
    with printing():
        print_scored(found)


def _count_all_pairs(given: argparse.Namespace) -> None:
    """Count every pair, and write the counts and the tally."""
    from parivox.report.systems import print_scored_pairs  # noqa: PLC0415
    from parivox.scoring.all_pairs_counts import check_out, score_all_pairs  # noqa: PLC0415

    options = given_options(given, ScoreOptions) | given_options(given, AllPairsOptions)
    embeddings = options.pop("embeddings")
    options |= {"encoding": given.encoding, "quotes": given.quotes}
    check_out(given.out, overwrite=given.overwrite)
    found = score_all_pairs(embeddings, **options)
    counts, tally = found.write(given.out, overwrite=given.overwrite)
    with printing():
        print_scored_pairs(found, counts, tally)


def _check(given: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    _check_trials(given)
    if (given.embeddings is None) == (given.system is None):
        msg = "give either --embeddings DIR, of parivox embed, or --system NAME"
        raise ConfigError(msg)
    if given.system is not None and given.recordings is None:
        msg = "--system takes --recordings, the folder or table of the recordings; give it, too"
        raise ConfigError(msg)
    is_compared = given.system is None
    needs = "--system" if is_compared else "--embeddings"
    for one in option_fields(VerifyOptions if is_compared else ScoreOptions).values():
        if getattr(given, one.name) is not None:
            msg = f"{one.flag} goes with {needs}; leave it out"
            raise ConfigError(msg)


def _check_trials(given: argparse.Namespace) -> None:
    """Refuse a list and all pairs, neither of them, and options of the other one."""
    if bool(given.all_pairs) != bool(given.counts):
        msg = (
            "--all-pairs: pairs are counted, not written as rows; give --counts with it"
            if given.all_pairs
            else "--counts: counts all pairs; give --all-pairs with it or, of a list, score it, "
            "and give the file to parivox count"
        )
        raise ConfigError(msg)
    if bool(given.all_pairs) == (given.trials is not None):
        msg = (
            f"{given.trials}: is a list, in the place of which --all-pairs stands; leave one out"
            if given.all_pairs
            else "which trials? give a list of them, or --all-pairs --counts"
        )
        raise ConfigError(msg)
    others = ["system", "models", "models_by", "format", "columns", "ray"]
    if not given.all_pairs:
        others = [*option_fields(AllPairsOptions)]
    described = {
        name: one
        for of in (ScoreCommand, ScoreFileOptions, ScoreOptions, AllPairsOptions)
        for name, one in option_fields(of).items()
    }
    for name in others:
        if getattr(given, name):
            needs = "a list of trials" if given.all_pairs else "--all-pairs --counts"
            msg = f"{described[name].flag} goes with {needs}; leave it out"
            raise ConfigError(msg)


def _verifying(name: str, device: str) -> Any:
    """The system that is named, which must compare recordings itself."""
    from parivox.embedding.systems import VerifyingSystem  # noqa: PLC0415
    from parivox.embedding.systems.named import load  # noqa: PLC0415 - what takes time to load

    system = load(name, device=device)
    if not isinstance(system, VerifyingSystem):
        msg = (
            f"--system {name}: makes embeddings; embed the recordings with parivox embed, "
            "then score with --embeddings"
        )
        raise ConfigError(msg)
    return system
