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

EMBEDDED = "recordings"
SYSTEM = "system"
HOW = "processing"
SCORED = "input and output"
COMPARED = "scoring"
COUNTED = "counting without rows"
VERIFIED = "systems that enrol and verify"
READ = "reading the list"
_COUNT: dict[str, Any] = {"is_whole": True, "low": 1, "high": 2**31 - 1}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SystemOptions(Options):
    """How a system is loaded."""

    weights: Any = option(
        SYSTEM, "file with the weights of the system, if they are not part of its name"
    )
    frontend: str | None = option(
        SYSTEM, "front end that turns audio into the input of the system: `kaldi80`", Text
    )
    sample_rate: int | None = option(
        SYSTEM, "sample rate of a function or waveform input", Number, metavar="HZ", **_COUNT
    )
    device: str = option(SYSTEM, "device: `cpu` or `cuda`", Text, "cpu")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmbedOptions(Options):
    """What is embedded, what of it stays, and by how many processes."""

    columns: Mapping[str, str] | None = same_as(
        ListOptions,
        "columns",
        section=EMBEDDED,
        words="columns of a table by role, `speaker=talker,file=wav`; for a folder, the level of "
        "the path: `speaker=2`",
        form="from role to column; give one, as in {'speaker': 'talker'}",
        example="speaker=talker,file=wav",
    )
    channel: int | str | None = option(
        EMBEDDED,
        "channel to use in files whose channels differ: `mix`, `left`, `right`, a number from 1, "
        "or `each`, which makes one recording per channel",
        metavar="WHICH",
        without="such files are excluded",
        annotated="int | str | None",
    )
    longest_seconds: float = option(
        EMBEDDED,
        "do not read recordings longer than this",
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
        "remove recordings of earlier runs that are no longer named",
        Flag,
        False,
        without="they are kept",
    )
    workers: int | None = option(
        HOW, "number of processes", Number, without="one per processor", **_COUNT
    )
    batch: int = option(HOW, "recordings per batch", Number, 64, **_COUNT)
    ray: str | None = option(
        HOW,
        "use the processors of a [Ray cluster](scale.md#ray), given as `HOST:PORT`; without a "
        "value, that of `RAY_ADDRESS` or of this machine",
        Text,
        metavar="ADDRESS",
        alone="auto",
        without="the processes of `--workers`",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class EmbedCommand(Options):
    """The command line of `embed`."""

    order = (EMBEDDED, SYSTEM, HOW, WRITTEN)

    recordings: Any = option(
        EMBEDDED,
        "folder of audio files, Kaldi folder or wav.scp, or table of utterance, file, speaker, "
        "recording, channel, start and end",
        metavar="RECORDINGS",
        position="?",
    )
    system: str = option(
        SYSTEM,
        "speaker encoder: `ge2e`, `model.onnx`, `NAME:CHECKPOINT` or `package.module:function`; "
        "see `parivox systems list`",
        Text,
        "ge2e",
    )
    out: Any = option(
        WRITTEN, "folder for the embeddings; an existing folder is continued", metavar="DIR"
    )
    check: Any = option(WRITTEN, "check that this folder is complete and unchanged", metavar="DIR")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SystemsListCommand(Options):
    """The command line of `systems list`."""

    json: bool = option(WRITTEN, "print the list as JSON", Flag, False)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SystemsCheckCommand(SystemsListCommand):
    """The command line of `systems check`."""

    system: Any = option(
        SYSTEM,
        "speaker encoder: ge2e, model.onnx, eres2net:weights.ckpt, package.module:function, or the "
        "name that a package registered",
        metavar="SYSTEM",
        position="1",
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoredOptions(Options):
    """What is scored, by embeddings or by a system that compares itself."""

    out: Any = option(
        SCORED, "write the scores to this Parquet file", is_needed=True, is_common=True
    )
    overwrite: bool = option(
        SCORED, "replace an existing file", Flag, False, without="it is kept", is_common=True
    )
    models: Any = option(
        SCORED,
        "model table with model and recording: [what is "
        "enrolled](recordings.md#models-of-several-recordings)",
        without="each enrolment is one recording",
        is_common=True,
    )
    format: str | None = option(
        READ,
        "format of the trial list",
        Text,
        command="trials-format",
        without="detected from the content",
    )
    columns: Mapping[str, str] | None = same_as(ListOptions, "columns", section=READ)
    encoding: str | None = same_as(ListOptions, "encoding", section=READ)
    quotes: str | None = same_as(ListOptions, "quotes", section=READ)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreOptions(Options):
    """How embeddings are compared."""

    embeddings: Any = option(
        SCORED,
        "folder of `parivox embed`, or file of embeddings: npy, npz, Parquet, ark, scp",
        metavar="DIR",
        is_common=True,
    )
    scoring: str | None = option(
        COMPARED,
        "comparison of two embeddings: `cosine`, `dot`, `euclidean`, `crops-euclidean`, "
        "`ecapa-published`",
        Text,
        without="the scoring of the system",
    )
    models_by: str | None = option(
        COMPARED,
        "average the `embeddings` of a model's recordings (default where possible) or their "
        "`scores`",
        Text,
        metavar="WHAT",
    )
    subtract_mean: Any = option(
        COMPARED, "first subtract the mean embedding of this cohort", metavar="COHORT"
    )
    as_norm: Any = option(
        COMPARED,
        "AS-norm with the nearest speakers of this cohort: ids or embeddings",
        metavar="COHORT",
        is_common=True,
    )
    top: int | None = option(
        COMPARED,
        "number of nearest cohort speakers",
        Number,
        without="300",
        **_COUNT,
        is_common=True,
    )
    s_norm: Any = option(COMPARED, "S-norm with all speakers of this cohort", metavar="COHORT")
    speakers: Any = option(
        COMPARED,
        "speaker table: the groups of the cohort and, with `--counts`, of all pairs",
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
        words="width of the score bins",
        without="count at `--threshold` only",
    )
    thresholds: Any = same_as(CountOptions, "thresholds", section=COUNTED)
    operating_points: Any = same_as(
        AuditOptions,
        "operating_points",
        section=COUNTED,
        words="operating points of the later audit, in its notation",
        without="those that an audit uses by default",
        is_common=False,
    )
    across_recordings: bool = option(
        COUNTED,
        "leave out pairs of one speaker within one recording, given by a column recording, video, "
        "session or call, or by the folder of the file",
        Flag,
        False,
    )


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class VerifyOptions(Options):
    """A system that enrols and verifies, and its recordings."""

    recordings: Any = option(
        VERIFIED,
        "folder or table of recordings, as for `parivox embed`",
        metavar="PATH",
        is_common=True,
    )
    channel: int | str | None = same_as(
        EmbedOptions,
        "channel",
        section=VERIFIED,
        words="channel to use in files whose channels differ: `mix`, `left`, `right` or a number "
        "from 1",
        without="such files are refused",
    )
    device: str = same_as(SystemOptions, "device", section=VERIFIED)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ScoreCommand(Options):
    """The command line of `score`."""

    order = (SCORED, COMPARED, COUNTED, VERIFIED, READ)

    trials: Any = option(
        SCORED, "trial list, in any format that an audit reads", metavar="TRIALS", position="?"
    )
    all_pairs: bool = option(
        COUNTED,
        "score [all pairs](embed.md#all-pairs) of the recordings instead of a trial list; with "
        "`--counts`",
        Flag,
        False,
        is_common=True,
    )
    counts: bool = option(
        COUNTED,
        "write counts and a tally, which an audit reads, instead of rows; with `--all-pairs`",
        Flag,
        False,
        is_common=True,
    )
    system: str | None = option(
        VERIFIED,
        "[system that compares recordings itself](recordings.md#systems-that-compare-themselves): "
        "`package.module:name`, or an entry point",
        Text,
        is_common=True,
    )
