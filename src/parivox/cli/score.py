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
        ScoreCommand,
        ScoreFileOptions,
        ScoreOptions,
        AllPairsOptions,
        VerifyOptions,
        ProgressCommand,
        help=words,
        usage="parivox score TRIALS --embeddings DIR --out FILE [options]",
        description="Score a trial list: one row per trial, in the order of the list. "
        "Alternatively, score all pairs of recordings and write counts only.",
        examples=EXAMPLES,
    )


def _run(arguments: argparse.Namespace) -> None:
    from parivox.report.systems import print_scored  # noqa: PLC0415 - what takes time to load

    check_out_is_named(arguments.out, "file")
    _check_arguments(arguments)
    if arguments.all_pairs:
        _count_all_pairs(arguments)
        return
    file_options = given_options(arguments, ScoreFileOptions)
    arguments.outcome = "what was scored is kept; the same command goes on from there"
    if arguments.system is None:
        from parivox.scoring.run import score  # noqa: PLC0415

        scored = score(arguments.trials, **file_options, **given_options(arguments, ScoreOptions))
    else:
        from parivox.scoring.verifying import score_with_system  # noqa: PLC0415

        verify_options = given_options(arguments, VerifyOptions)
        system = _load_verifier(
            arguments.system, verify_options.pop("device", VerifyOptions.device)
        )
        scored = score_with_system(arguments.trials, system, **file_options, **verify_options)
    with printing():
        print_scored(scored)


def _count_all_pairs(arguments: argparse.Namespace) -> None:
    """Count every pair, and write the counts and the speaker counts."""
    from parivox.report.systems import print_scored_pairs  # noqa: PLC0415
    from parivox.scoring.all_pairs_counts import check_out, score_all_pairs  # noqa: PLC0415

    options = given_options(arguments, ScoreOptions) | given_options(arguments, AllPairsOptions)
    embeddings = options.pop("embeddings")
    options |= {"encoding": arguments.encoding, "quotes": arguments.quotes}
    check_out(arguments.out, overwrite=arguments.overwrite)
    pairs = score_all_pairs(embeddings, **options)
    counts, speaker_counts = pairs.save(arguments.out, overwrite=arguments.overwrite)
    with printing():
        print_scored_pairs(pairs, counts, speaker_counts)


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Refuse options that do not belong together."""
    _check_trials(arguments)
    if (arguments.embeddings is None) == (arguments.system is None):
        msg = "give either --embeddings DIR, made by parivox embed, or --system NAME"
        raise ConfigError(msg)
    if arguments.system is not None and arguments.recordings is None:
        msg = "--system needs --recordings, the folder or table of the recordings"
        hint = "add --recordings"
        raise ConfigError(msg, hint)
    compares_embeddings = arguments.system is None
    required = "--system" if compares_embeddings else "--embeddings"
    for option in option_fields(VerifyOptions if compares_embeddings else ScoreOptions).values():
        if getattr(arguments, option.name) is not None:
            msg = f"{option.flag} applies only to {required}"
            hint = "leave it out"
            raise ConfigError(msg, hint)


def _check_trials(arguments: argparse.Namespace) -> None:
    """Refuse a list and all pairs, neither of them, and options of the other one."""
    if bool(arguments.all_pairs) != bool(arguments.counts):
        if arguments.all_pairs:
            msg = "--all-pairs needs --counts: pairs are counted, not written as rows"
            hint = "add --counts"
            raise ConfigError(msg, hint)
        msg = "--counts needs --all-pairs"
        hint = (
            "add --all-pairs or, for a trial list, score the list and give the scores to parivox "
            "count"
        )
        raise ConfigError(msg, hint)
    if bool(arguments.all_pairs) == (arguments.trials is not None):
        if arguments.all_pairs:
            msg = f"{arguments.trials}: a trial list and --all-pairs contradict each other"
            hint = "give one of them"
            raise ConfigError(msg, hint)
        msg = "missing trials: give a trial list, or --all-pairs --counts"
        raise ConfigError(msg)
    excluded_options = ["system", "models", "models_by", "format", "columns", "ray"]
    if not arguments.all_pairs:
        excluded_options = [*option_fields(AllPairsOptions)]
    option_of_name = {
        name: option
        for options_class in (ScoreCommand, ScoreFileOptions, ScoreOptions, AllPairsOptions)
        for name, option in option_fields(options_class).items()
    }
    for name in excluded_options:
        if getattr(arguments, name):
            required = "trial lists" if arguments.all_pairs else "--all-pairs --counts"
            msg = f"{option_of_name[name].flag} applies only to {required}"
            hint = "leave it out"
            raise ConfigError(msg, hint)


def _load_verifier(name: str, device: str) -> Any:
    """Return the named system, which must compare recordings itself."""
    from parivox.embedding.systems import VerifyingSystem  # noqa: PLC0415
    from parivox.embedding.systems.named import load  # noqa: PLC0415 - what takes time to load

    system = load(name, device=device)
    if not isinstance(system, VerifyingSystem):
        msg = f"--system {name}: this system makes embeddings, not scores"
        hint = "embed the recordings with parivox embed, then score with --embeddings"
        raise ConfigError(msg, hint)
    return system
