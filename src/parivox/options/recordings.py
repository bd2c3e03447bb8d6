"""Options of `embed`, `score` and `systems`: recordings, system and scoring.

Classes named for a command hold the options of the command line alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.frozen import frozen
from parivox.options.audit import OUTPUT_SECTION, AuditOptions, CountOptions, ReadOptions
from parivox.options.kinds import CommandOptions, Flag, Number, Text, option, option_like
from parivox.options.trials import ListOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDINGS_SECTION = "recordings"
SYSTEM_SECTION = "system"
PROCESSING_SECTION = "processing"
FILES_SECTION = "input and output"
SCORING_SECTION = "scoring"
COUNTING_SECTION = "counting without rows"
VERIFICATION_SECTION = "systems that enrol and verify"
LIST_READING_SECTION = "reading the list"
_COUNT_BOUNDS: dict[str, Any] = {"is_whole": True, "low": 1, "high": 2**31 - 1}


@frozen(kw_only=True)
class SystemOptions(CommandOptions):
    """How a system is loaded."""

    weights: Any = option(
        SYSTEM_SECTION,
        "file with the weights of the system, unless the system is given as `NAME:CHECKPOINT`",
    )
    frontend: str | None = option(
        SYSTEM_SECTION, "front end that converts audio to system input: `kaldi80`", Text
    )
    sample_rate: int | None = option(
        SYSTEM_SECTION,
        "sample rate of the waveforms that a function or ONNX file expects",
        Number,
        metavar="HZ",
        **_COUNT_BOUNDS,
    )
    device: str = option(SYSTEM_SECTION, "device: `cpu` or `cuda`", Text, "cpu")


@frozen(kw_only=True)
class EmbedOptions(CommandOptions):
    """Options of embedding: input, what is kept, number of processes."""

    columns: Mapping[str, str] | None = option_like(
        ListOptions,
        "columns",
        section=RECORDINGS_SECTION,
        description="column for each role, such as `speaker=talker,file=wav`; for a folder, path "
        "level for each role, such as `speaker=2`",
        mapping_form="from role to column; give one, for example {'speaker': 'talker'}",
        example="speaker=talker,file=wav",
    )
    channel: int | str | None = option(
        RECORDINGS_SECTION,
        "channel to use in files whose channels differ: `mix`, `left`, `right`, a channel number "
        "(from 1), or `each` for one recording per channel",
        metavar="WHICH",
        default_text="such files are excluded",
        value_type="int | str | None",
    )
    longest_seconds: float = option(
        RECORDINGS_SECTION,
        "maximum duration; longer recordings are not read",
        Number,
        3600.0,
        metavar="SECONDS",
        command_name="longest",
        low=0,
        high=86_400,
        excluded=(0,),
    )
    encoding: str | None = option_like(ListOptions, "encoding", section=RECORDINGS_SECTION)
    quotes: str | None = option_like(ListOptions, "quotes", section=RECORDINGS_SECTION)
    prune: bool = option(
        OUTPUT_SECTION,
        "delete stored embeddings of recordings that are not in the current list",
        Flag,
        False,
        default_text="all embeddings are kept",
    )
    workers: int | None = option(
        PROCESSING_SECTION,
        "number of processes",
        Number,
        default_text="one per processor",
        **_COUNT_BOUNDS,
    )
    batch: int = option(PROCESSING_SECTION, "recordings per batch", Number, 64, **_COUNT_BOUNDS)
    ray: str | None = option(
        PROCESSING_SECTION,
        "use the [Ray cluster](scale.md#ray) at `HOST:PORT`; without a value, use the cluster at "
        "`RAY_ADDRESS` (if set) or this machine",
        Text,
        metavar="ADDRESS",
        implied_text="auto",
        default_text="the processes of `--workers`",
    )


@frozen(kw_only=True)
class EmbedCommand(CommandOptions):
    """The command line of `embed`."""

    section_order = (RECORDINGS_SECTION, SYSTEM_SECTION, PROCESSING_SECTION, OUTPUT_SECTION)

    recordings: Any = option(
        RECORDINGS_SECTION,
        "folder of audio files, Kaldi folder or wav.scp, or table with the column file and "
        "optional columns utterance, speaker, recording, channel, start and end",
        metavar="RECORDINGS",
        positional_count="?",
    )
    system: str = option(
        SYSTEM_SECTION,
        "speaker encoder: `ge2e`, `model.onnx`, `NAME:CHECKPOINT` or `package.module:function`; "
        "see `parivox systems list`",
        Text,
        "ge2e",
    )
    out: Any = option(
        OUTPUT_SECTION,
        "folder for the embeddings; if it exists, the run resumes from its contents",
        metavar="DIR",
    )
    check: Any = option(
        OUTPUT_SECTION,
        "check that the embeddings in this folder are complete and unchanged",
        metavar="DIR",
    )


@frozen(kw_only=True)
class SystemsListCommand(CommandOptions):
    """The command line of `systems list`."""

    json: bool = option(OUTPUT_SECTION, "print the result as JSON", Flag, False)


@frozen(kw_only=True)
class SystemsCheckCommand(SystemsListCommand):
    """The command line of `systems check`."""

    system: Any = option(
        SYSTEM_SECTION,
        "speaker encoder: ge2e, model.onnx, eres2net:weights.ckpt, package.module:function, or the "
        "name that a package registered",
        metavar="SYSTEM",
        positional_count="1",
    )


@frozen(kw_only=True)
class ScoreFileOptions(CommandOptions):
    """Options of a score file, by embeddings or by a system that compares recordings itself."""

    out: Any = option(
        FILES_SECTION, "write the scores to this Parquet file", is_required=True, is_common=True
    )
    overwrite: bool = option(
        FILES_SECTION,
        "replace an existing file",
        Flag,
        False,
        default_text="existing files are kept",
        is_common=True,
    )
    models: Any = option(
        FILES_SECTION,
        "model table, which lists the [recordings of each "
        "enrolment](recordings.md#models-of-several-recordings)",
        default_text="each enrolment is one recording",
        is_common=True,
        value_type="TableSource | None",
    )
    format: str | None = option(
        LIST_READING_SECTION,
        "format of the trial list",
        Text,
        command_name="trials-format",
        default_text="detected from the content",
    )
    columns: Mapping[str, str] | None = option_like(
        ListOptions, "columns", section=LIST_READING_SECTION
    )
    encoding: str | None = option_like(ListOptions, "encoding", section=LIST_READING_SECTION)
    quotes: str | None = option_like(ListOptions, "quotes", section=LIST_READING_SECTION)


@frozen(kw_only=True)
class ScoreOptions(CommandOptions):
    """Options of the comparison of embeddings."""

    embeddings: Any = option(
        FILES_SECTION,
        "folder written by `parivox embed`, or embedding file: npy, npz, Parquet, ark or scp",
        metavar="DIR",
        is_common=True,
        value_type="str | Path | Vectors",
    )
    scoring: str | None = option(
        SCORING_SECTION,
        "method that scores two embeddings: `cosine`, `dot`, `euclidean`, `crops-euclidean` or "
        "`ecapa-published`",
        Text,
        default_text="the scoring of the system",
    )
    models_by: str | None = option(
        SCORING_SECTION,
        "quantity to average over the recordings of a model: `embeddings` (default where "
        "possible) or `scores`",
        Text,
        metavar="WHAT",
    )
    subtract_mean: Any = option(
        SCORING_SECTION,
        "subtract the mean embedding of this cohort before scoring",
        metavar="COHORT",
        value_type="str | Path | None",
    )
    as_norm: Any = option(
        SCORING_SECTION,
        "apply AS-norm with the nearest speakers in this cohort (ids or embeddings)",
        metavar="COHORT",
        value_type="str | Path | None",
        is_common=True,
    )
    top: int | None = option(
        SCORING_SECTION,
        "number of nearest cohort speakers for AS-norm",
        Number,
        default_text="300",
        **_COUNT_BOUNDS,
        is_common=True,
    )
    s_norm: Any = option(
        SCORING_SECTION,
        "apply S-norm with all speakers in this cohort",
        metavar="COHORT",
        value_type="str | Path | None",
    )
    speakers: Any = option(
        SCORING_SECTION,
        "speaker table with the groups of cohort speakers (with `--counts`, of all scored "
        "speakers too)",
        is_common=True,
        value_type="SpeakerSource | None",
    )
    ray: str | None = option_like(
        EmbedOptions, "ray", section=SCORING_SECTION, default_text="this process"
    )


@frozen(kw_only=True)
class AllPairsOptions(CommandOptions):
    """Options of counting all pairs of recordings, of which no rows are written."""

    by: tuple[str, ...] | None = option_like(ReadOptions, "by", section=COUNTING_SECTION)
    within: tuple[str, ...] | None = option_like(ReadOptions, "within", section=COUNTING_SECTION)
    groups: Any = option_like(ReadOptions, "groups", section=COUNTING_SECTION)
    utterances: Any = option_like(
        ReadOptions,
        "utterances",
        section=COUNTING_SECTION,
        default_text="the table of the embedding folder",
        is_common=False,
    )
    id: str | None = option_like(ReadOptions, "id", section=COUNTING_SECTION)
    step: Any = option_like(
        CountOptions,
        "step",
        section=COUNTING_SECTION,
        description="width of the score bins",
        default_text="count only at `--threshold`",
    )
    thresholds: Any = option_like(CountOptions, "thresholds", section=COUNTING_SECTION)
    operating_points: Any = option_like(
        AuditOptions,
        "operating_points",
        section=COUNTING_SECTION,
        description="operating points of the planned audit, as for `audit`",
        default_text="the defaults of an audit",
        is_common=False,
    )
    across_recordings: bool = option(
        COUNTING_SECTION,
        "exclude same-speaker pairs within one recording; a column (`recording`, `video`, "
        "`session` or `call`) or the file's folder identifies the recording",
        Flag,
        False,
    )


@frozen(kw_only=True)
class VerifyOptions(CommandOptions):
    """A system that enrols and verifies, and its recordings."""

    recordings: Any = option(
        VERIFICATION_SECTION,
        "folder or table of recordings, as for `parivox embed`",
        metavar="PATH",
        is_common=True,
    )
    channel: int | str | None = option_like(
        EmbedOptions,
        "channel",
        section=VERIFICATION_SECTION,
        description="channel to use in files whose channels differ: `mix`, `left`, `right` or a "
        "channel number (from 1)",
        default_text="such files are refused",
    )
    device: str = option_like(SystemOptions, "device", section=VERIFICATION_SECTION)


@frozen(kw_only=True)
class ScoreCommand(CommandOptions):
    """The command line of `score`."""

    section_order = (
        FILES_SECTION,
        SCORING_SECTION,
        COUNTING_SECTION,
        VERIFICATION_SECTION,
        LIST_READING_SECTION,
    )

    trials: Any = option(
        FILES_SECTION,
        "trial list, in any format that an audit reads",
        metavar="TRIALS",
        positional_count="?",
        value_type="TableSource | None",
    )
    all_pairs: bool = option(
        COUNTING_SECTION,
        "score [all pairs](recordings.md#all-pairs) of the recordings instead of a trial list; "
        "requires `--counts`",
        Flag,
        False,
        is_common=True,
    )
    counts: bool = option(
        COUNTING_SECTION,
        "write score counts and speaker counts for an audit, instead of one row per trial; "
        "requires `--all-pairs`",
        Flag,
        False,
        is_common=True,
    )
    system: str | None = option(
        VERIFICATION_SECTION,
        "[system that compares recordings itself](recordings.md#systems-that-compare-themselves): "
        "`package.module:name`, or an entry point name",
        Text,
        is_common=True,
    )
