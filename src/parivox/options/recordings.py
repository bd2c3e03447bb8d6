"""Options of `embed`, `score` and `systems`: what is embedded, by which system, how it is scored.

Classes named for a command hold what the command line alone takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from parivox.options.audit import WRITTEN, AuditOptions, CountOptions, ReadOptions
from parivox.options.kinds import Flag, Number, Options, Text, option, same_as
from parivox.options.trials import ListOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

EMBEDDED = "what is embedded"
SYSTEM = "with which system"
HOW = "how it is embedded"
SCORED = "what is scored"
COMPARED = "how embeddings are compared"
COUNTED = "counted without rows"
VERIFIED = "with a system that enrols and verifies"
READ = "how the list is read"
_COUNT: dict[str, Any] = {"is_whole": True, "low": 1, "high": 2**31 - 1}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SystemOptions(Options):
    """How a system is loaded."""

    weights: Any = option(SYSTEM, "weights of the system, where they are not part of its name")
    frontend: str | None = option(SYSTEM, "what turns audio into its input: `kaldi80`", Text)
    sample_rate: int | None = option(
        SYSTEM, "what a function, or a waveform input, takes", Number, metavar="HZ", **_COUNT
    )
    device: str = option(SYSTEM, "`cpu` or `cuda`", Text, "cpu")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmbedOptions(Options):
    """What is embedded, what of it stays, and by how many processes."""

    columns: Mapping[str, str] | None = same_as(
        ListOptions,
        "columns",
        section=EMBEDDED,
        words="columns of a table by role, `speaker=talker,file=wav`; of a folder, which folder of "
        "the path: `speaker=2`",
        form="from role to column; give one, as in {'speaker': 'talker'}",
        example="speaker=talker,file=wav",
    )
    channel: int | str | None = option(
        EMBEDDED,
        "which counts, of files whose channels differ: `mix`, `left`, `right`, a number from 1, or "
        "`each`, which makes a recording of every channel",
        metavar="WHICH",
        without="such files are set aside",
        annotated="int | str | None",
    )
    longest_seconds: float = option(
        EMBEDDED,
        "longer recordings are not read",
        Number,
        3600.0,
        metavar="SECONDS",
        command="longest",
        low=0,
        high=86_400,
        outside=(0,),
    )
    encoding: str | None = same_as(ListOptions, "encoding", section=EMBEDDED)
    quotes: str | None = same_as(ListOptions, "quotes", section=EMBEDDED)
    prune: bool = option(
        WRITTEN,
        "take out recordings of earlier runs that are no longer named",
        Flag,
        False,
        without="they stay",
    )
    workers: int | None = option(HOW, "processes", Number, without="one a processor", **_COUNT)
    batch: int = option(HOW, "recordings in a batch", Number, 64, **_COUNT)
    ray: str | None = option(
        HOW,
        "by the processors of a [Ray cluster](scale.md#ray), as `HOST:PORT`; alone: of "
        "`RAY_ADDRESS`, or of this machine",
        Text,
        metavar="ADDRESS",
        alone="auto",
        without="by `--workers`",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmbedCommand(Options):
    """The command line of `embed`."""

    order = (EMBEDDED, SYSTEM, HOW, WRITTEN)

    recordings: Any = option(
        EMBEDDED,
        "folder of audio files, Kaldi folder or wav.scp, or table of utterance, file, speaker, "
        "recording, channel, start, end",
        metavar="RECORDINGS",
        position="?",
    )
    system: str = option(
        SYSTEM,
        "`ge2e`, `model.onnx`, `NAME:CHECKPOINT`, `package.module:function`; see "
        "`parivox systems list`",
        Text,
        "ge2e",
    )
    out: Any = option(WRITTEN, "folder of embeddings, new or to go on with", metavar="DIR")
    check: Any = option(WRITTEN, "check that a folder holds what was written", metavar="DIR")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SystemsListCommand(Options):
    """The command line of `systems list`."""

    json: bool = option(WRITTEN, "print as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SystemsCheckCommand(SystemsListCommand):
    """The command line of `systems check`."""

    system: Any = option(
        SYSTEM,
        "ge2e, model.onnx, eres2net:weights.ckpt, package.module:function, or a name that a "
        "package registered",
        metavar="SYSTEM",
        position="1",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoredOptions(Options):
    """What is scored, by embeddings or by a system that compares itself."""

    out: Any = option(SCORED, "Parquet file to write", is_needed=True, is_common=True)
    overwrite: bool = option(
        SCORED, "replace the file if it is there", Flag, False, without="it is kept", is_common=True
    )
    models: Any = option(
        SCORED,
        "table of model and recording: "
        "[what is enrolled](recordings.md#models-of-several-recordings)",
        without="each is a recording",
        is_common=True,
    )
    format: str | None = option(
        READ, "format of the list", Text, command="trials-format", without="by content"
    )
    columns: Mapping[str, str] | None = same_as(ListOptions, "columns", section=READ)
    encoding: str | None = same_as(ListOptions, "encoding", section=READ)
    quotes: str | None = same_as(ListOptions, "quotes", section=READ)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreOptions(Options):
    """How embeddings are compared."""

    embeddings: Any = option(
        SCORED,
        "of `parivox embed`; or a file of embeddings: npy, npz, Parquet, ark, scp",
        metavar="DIR",
        is_common=True,
    )
    scoring: str | None = option(
        COMPARED,
        "`cosine`, `dot`, `euclidean`, `crops-euclidean`, `ecapa-published`",
        Text,
        without="the system's own",
    )
    models_by: str | None = option(
        COMPARED,
        "of a model's recordings, average `embeddings` (default where they can be) or `scores`",
        Text,
        metavar="WHAT",
    )
    subtract_mean: Any = option(COMPARED, "subtract its mean embedding first", metavar="COHORT")
    as_norm: Any = option(
        COMPARED,
        "normalise by the nearest strangers: ids or embeddings",
        metavar="COHORT",
        is_common=True,
    )
    top: int | None = option(
        COMPARED, "so many of them", Number, without="300", **_COUNT, is_common=True
    )
    s_norm: Any = option(COMPARED, "normalise by all strangers", metavar="COHORT")
    speakers: Any = option(
        COMPARED,
        "table of speakers: tells the groups of the cohort and, with `--counts`, of all pairs",
        is_common=True,
    )
    ray: str | None = same_as(EmbedOptions, "ray", section=COMPARED, without="by this process")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AllPairsOptions(Options):
    """How all pairs of recordings are counted, of which no rows are written."""

    by: tuple[str, ...] | None = same_as(ReadOptions, "by", section=COUNTED)
    within: tuple[str, ...] | None = same_as(ReadOptions, "within", section=COUNTED)
    groups: Any = same_as(ReadOptions, "groups", section=COUNTED)
    utterances: Any = same_as(
        ReadOptions,
        "utterances",
        section=COUNTED,
        without="that of the folder of `parivox embed`",
        is_common=False,
    )
    id: str | None = same_as(ReadOptions, "id", section=COUNTED)
    step: Any = same_as(
        CountOptions,
        "step",
        section=COUNTED,
        words="width of the bins that scores are counted in",
        without="they are counted at `--threshold` alone",
    )
    thresholds: Any = same_as(CountOptions, "thresholds", section=COUNTED)
    operating_points: Any = same_as(
        AuditOptions,
        "operating_points",
        section=COUNTED,
        words="of the audit that is to come, as it takes them",
        without="those that an audit takes itself",
        is_common=False,
    )
    across_recordings: bool = option(
        COUNTED,
        "leave out pairs of one speaker within one recording: a column recording, video, session "
        "or call, or the folder of the file",
        Flag,
        False,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerifyOptions(Options):
    """A system that enrols and verifies, and its recordings."""

    recordings: Any = option(
        VERIFIED, "folder or table, as `parivox embed` has it", metavar="PATH", is_common=True
    )
    channel: int | str | None = same_as(
        EmbedOptions,
        "channel",
        section=VERIFIED,
        words="which counts, of files whose channels differ: `mix`, `left`, `right` or a number "
        "from 1",
        without="such files are refused",
    )
    device: str = same_as(SystemOptions, "device", section=VERIFIED)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreCommand(Options):
    """The command line of `score`."""

    order = (SCORED, COMPARED, COUNTED, VERIFIED, READ)

    trials: Any = option(
        SCORED, "list of trials, in any format of an audit", metavar="TRIALS", position="?"
    )
    all_pairs: bool = option(
        COUNTED,
        "[every pair](embed.md#all-pairs) of the recordings in the place of a list; with "
        "`--counts`",
        Flag,
        False,
        is_common=True,
    )
    counts: bool = option(
        COUNTED,
        "write counts and a tally, which an audit takes, in the place of rows; with `--all-pairs`",
        Flag,
        False,
        is_common=True,
    )
    system: str | None = option(
        VERIFIED,
        "`package.module:name`, or an entry point; see "
        "[systems that compare themselves](recordings.md#systems-that-compare-themselves)",
        Text,
        is_common=True,
    )
