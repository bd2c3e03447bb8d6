"""Change bytes and cells of files of every kind: each is read, or refused in a sentence.

    python -m benchmarks.mutated [--files 100000] [--seed 1] [--kinds TEXT ...]

Files are valid ones with bytes changed, lost, doubled or cut, or with cells replaced by odd ones.
Workers read them by the library, and by commands inside the worker. Faults are: a worker that dies,
a file that takes over 20 seconds, an exception that is no sentence of Parivox, an exit code that is
none of an outcome, and rows of scores that are neither trials nor named as left out. They are
printed with the number that makes the same file again (``--only NUMBER``); the exit code is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import wave
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from examples.tiny_scores import write as write_tiny
from openpyxl import Workbook

import parivox as pv
from parivox.cli import main as command_line
from parivox.data.groups_file import read_groups_file
from parivox.data.lists.manifest import read_manifest
from parivox.data.recordings import read_failures, read_models, read_utterances
from parivox.data.rule_file import read_rules
from parivox.data.speakers import read_speakers
from parivox.decide.calibrator_file import read_calibrator
from parivox.decide.policy_file import read_policy
from parivox.embedding import audio
from parivox.embedding.systems import precomputed
from parivox.errors import ParivoxError
from parivox.report.context import read_context
from parivox.shards import read_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LONGEST_S = 20
ODD_CELLS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e999", "-1e-999", "0x10", "1_0", "١", "1,5", "--",
    "unknown", "None", "null", "TRUE", "2", "-1", "target", "nontarget", "=1+1", "\ufffe",
    "\x00", "\x1b[2J", "\u202e", "a" * 5000, "\ud7ff", "é", "../../x", "9" * 400, '"', "'",
    "[", "]", "{", "}", "&a", "*a", "!!python/object", "~", "%", "5%", "1e308x", "- -",
)  # fmt: skip
JOINING = {'"', "'", ",", "\x00", "\t", "\n"}
"""Signs that may join or split cells, so that another number of rows would be right."""
OUTCOMES = {None, 0, 1, 2, 3}
"""Exit codes of commands: docs/exit-codes.md."""
OLD_AUDITS = Path(__file__).parents[1] / "tests" / "old_audits"
STORED = ("audit.json", "provenance.json", "pairing.parquet", "det.parquet")


@dataclass(frozen=True)
class Kind:
    """A kind of file: its ending, valid ones, what reads it, and which cells replace others."""

    name: str
    ending: str
    seeds: Sequence[bytes]
    read: Callable[[Path], Any]
    odd_cells: Sequence[str] = ODD_CELLS
    changes_bytes: bool = True


# ---- changes


def changed(content: bytes, draw: random.Random) -> bytes:
    """A file with some bytes changed, lost or doubled, or cut off."""
    mutant, chance = bytearray(content), draw.random()
    if chance < 0.05:
        return bytes(mutant[: draw.randrange(len(mutant) + 1)])
    for _ in range(draw.choice((1, 1, 2, 2, 3, 5))):
        offset = draw.randrange(max(len(mutant), 1))
        if draw.random() < 0.3:  # the end of many formats says where all the rest is
            offset = max(len(mutant) - 1 - draw.randrange(900), 0)
        if chance < 0.8 and mutant:
            byte = mutant[offset]
            choices = (0, 255, 127, 128, draw.randrange(256), byte ^ (1 << draw.randrange(8)))
            mutant[offset] = draw.choice(choices)
        elif chance < 0.9:
            del mutant[offset : offset + draw.randrange(1, 9)]
        else:
            mutant[offset:offset] = mutant[offset : offset + draw.randrange(1, 40)]
    return bytes(mutant)


def with_odd_cells(content: bytes, draw: random.Random, odd_cells: Sequence[str]) -> bytes:
    """A text with some cells replaced; the first line is kept."""
    head, newline, body = content.decode().partition("\n")
    lines = body.split("\n")
    for _ in range(draw.choice((1, 1, 2, 4))):
        row = draw.randrange(len(lines))
        separator = next(
            (candidate for candidate in (",", "\t", ": ", " ") if candidate in lines[row]), "\n"
        )
        cells = lines[row].split(separator)
        cells[draw.randrange(len(cells))] = draw.choice(odd_cells)
        lines[row] = separator.join(cells)
    return (head + newline + "\n".join(lines)).encode()


def is_text(content: bytes) -> bool:
    """Whether cells of it can be replaced."""
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\x00" not in content


def mutated_file(kind: Kind, number: int) -> bytes:
    """The changed file of a number."""
    draw = random.Random(f"{kind.name}/{number}")  # noqa: S311 - no secrets
    seed = draw.choice(kind.seeds)
    if is_text(seed) and (not kind.changes_bytes or draw.random() < 0.5):
        return with_odd_cells(seed, draw, kind.odd_cells)
    return changed(seed, draw)


# ---- valid files


def table_bytes(frame: pl.DataFrame, file_format: Any) -> bytes:
    """A table as Parquet of a compression, as Arrow, or as a workbook."""
    buffer = io.BytesIO()
    if file_format == "arrow":
        frame.write_ipc(buffer)
    elif file_format == "arrow-stream":
        frame.write_ipc_stream(buffer)
    elif file_format == "xlsx":
        book = Workbook()
        sheet = book.active
        for row in (frame.columns, *frame.rows()):
            sheet.append(row)
        book.save(buffer)
    else:
        frame.write_parquet(buffer, compression=file_format)
    return buffer.getvalue()


def numpy_bytes(save: Callable[..., Any], *arrays: Any, **named: Any) -> bytes:
    """What `numpy.save` or `numpy.savez` writes."""
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def wave_bytes() -> bytes:
    """A second of a tone as WAV."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        tone = np.sin(np.arange(16_000) / 20) * 8000
        file.writeframes(tone.astype("<i2").tobytes())
    return buffer.getvalue()


def stored_files(*names: str) -> list[bytes]:
    """Files that earlier releases wrote."""
    return [(OLD_AUDITS / name).read_bytes() for name in names]


# ---- what reads them


def command(*words: str) -> Callable[[Path], None]:
    """Run a command on FILE within this process; any exit code must be one of an outcome."""

    def run(path: Path) -> None:
        nowhere = io.StringIO()
        try:
            with contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
                command_line([str(path) if word == "FILE" else word for word in words])
        except SystemExit as ended:
            if ended.code not in OUTCOMES:
                msg = f"exit code {ended.code}: {nowhere.getvalue()[-300:]}"
                raise AssertionError(msg) from ended

    return run


def all_rows_told(path: Path, speakers: Path) -> None:
    """Audit scores of which each row must be a trial, or named as left out."""
    rows = len(path.read_text("utf-8").strip("\n").split("\n")) - 1
    audit = pv.audit({"S": path}, speakers=speakers, by="gender", intervals=False)
    trials = audit.record["inputs"][0]["trials"]
    notes = [row for row in audit.data.rows() if row["source"] in {"scores", "trials"}]
    left_out = sum(row["count"] or 0 for row in notes if row["note"])
    if trials + left_out < rows:
        msg = f"{rows} rows, but {trials} trials and {left_out} left out"
        raise AssertionError(msg)


def loaded_with(path: Path, folder: Path, name: str) -> None:
    """Load, gate and show an audit of which one file is another, its hashes made anew."""
    copy = path.with_suffix(".audit")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    (copy / "private.json").unlink()
    shutil.copy(path, copy / name)
    sums = copy / "SHA256SUMS"
    names = [line.split("  ")[1] for line in sums.read_text().splitlines()]
    digests = [hashlib.sha256((copy / file_name).read_bytes()).hexdigest() for file_name in names]
    sums.write_text(
        "".join(
            f"{digest}  {file_name}\n" for digest, file_name in zip(digests, names, strict=True)
        )
    )
    command("show", str(copy))(path)
    command("gate", str(copy), "--policy", str(OLD_AUDITS / "1-policy.yaml"))(path)
    pv.compare(pv.load(copy), pv.load(folder))


def read_beside(path: Path, ids: str) -> Any:
    """Vectors with the file of their ids beside them."""
    path.with_suffix(".txt").write_text(ids)
    return precomputed.read(path)


def read_plan_of(path: Path) -> Any:
    """A plan in a folder of its own."""
    folder = path.with_suffix(".run")
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / "plan.json")
    return read_plan(folder)


def kinds(home: Path) -> Iterator[Kind]:  # noqa: PLR0915 - a list of them
    """Every kind of file that is read."""
    write_tiny(home)
    scores, speakers = home / "scores.csv", home / "speakers.csv"
    text, people_text = scores.read_bytes(), speakers.read_bytes()
    trials, people = pl.read_csv(scores), pl.read_csv(speakers)
    ids = trials["enrol"].unique().sort().to_list()
    ways = ("zstd", "snappy", "uncompressed", "arrow", "arrow-stream")
    binary = [table_bytes(trials, file_format) for file_format in ways]
    binary_people = [table_bytes(people, file_format) for file_format in ways]
    columns = trials.select("label", "enrol", "test", "score")
    spaced = columns.write_csv(separator=" ", include_header=False).encode()
    whole_rows = [cell for cell in ODD_CELLS if not {*cell} & JOINING]

    def audit(path: Path) -> Any:
        return pv.audit({"S": path}, speakers=speakers, by="gender", intervals=False)

    all_told = partial(all_rows_told, speakers=speakers)
    options = ("--speakers", str(speakers), "--by", "gender")
    shown = command("audit", "FILE", *options, "--no-intervals", "--quiet")
    inspect = command("inspect", "FILE")
    workbook, workbook_of_people = (
        table_bytes(frame, "xlsx") for frame in (trials.head(40), people)
    )
    yield Kind("scores, csv", ".csv", [text, text.replace(b",", b"\t")], audit)
    yield Kind("scores, each row", ".csv", [text], all_told, whole_rows, changes_bytes=False)
    yield Kind("scores, spaces", ".txt", [spaced], audit)
    yield Kind("scores, binary", ".parquet", binary, audit)
    yield Kind("scores, packed", ".csv.gz", [gzip.compress(text)], audit)
    yield Kind("scores, workbook", ".xlsx", [workbook], audit)
    yield Kind("scores, by command", ".csv", [text], shown)
    yield Kind("speakers, csv", ".csv", [people_text], read_speakers)
    yield Kind("speakers, binary", ".parquet", binary_people, lambda path: read_speakers(path).ids)
    yield Kind("speakers, workbook", ".xlsx", [workbook_of_people], read_speakers)
    utterances = pl.DataFrame(
        {"utterance": ids, "speaker": [utterance.split("/")[0] for utterance in ids]}
    )
    yield Kind("utterances", ".csv", [utterances.write_csv().encode()], read_utterances)
    failures = b"recording,stage,reason\ns0/0.wav,acquire,noise\ns1/0.wav,enrol,short\n"
    yield Kind("failures", ".csv", [failures], read_failures)
    models = b"model,utterance\nm0,s0/0.wav\nm0,s0/1.wav\nm1,s1/0.wav\n"
    yield Kind("models", ".csv", [models], read_models)
    yield from kinds_of_published_files(trials, people, ids)
    yield Kind("inspect, text", ".csv", [text, people_text, spaced], inspect)
    yield Kind("inspect, binary", ".parquet", [*binary, *binary_people], inspect)
    yield Kind("inspect, workbook", ".xlsx", [workbook_of_people], inspect)
    counts, speaker_counts = (OLD_AUDITS / f"0.2.0-bins.{suffix}" for suffix in ("counts", "tally"))
    plain = partial(pv.audit, intervals=False)
    yield Kind(
        "counts", ".counts", [counts.read_bytes()], lambda path: plain([path, speaker_counts])
    )
    yield Kind("tally", ".tally", [speaker_counts.read_bytes()], lambda path: plain([counts, path]))
    states = stored_files("0.2.0-stream.state", "1-stream.state")
    yield Kind("state", ".state", states, command("monitor", "--state", "FILE"))
    yield Kind("rules", ".yaml", stored_files("0.2.0-rules.yaml", "1-rules.yaml"), read_rules)
    yield Kind("policy", ".yaml", stored_files("0.2.0-policy.yaml", "1-policy.yaml"), read_policy)
    calibrators = stored_files("0.2.0-isotonic.json", "0.2.0-logistic.json", "1-logistic.json")
    yield Kind("calibrator", ".json", calibrators, read_calibrator)
    groups = b"by: [gender]\ngroups:\n  gender:\n    women: [f]\n    men: [m]\nreference: others\n"
    yield Kind("groups", ".yaml", [groups], read_groups_file)
    context = b"purpose: door\npopulation: staff\nlabels:\n  groups:\n    f: women\n"
    yield Kind("context", ".yaml", [context], read_context)
    yield from kinds_of_folders(home, scores, speakers)
    vectors = np.random.default_rng(1).normal(size=(len(ids), 8)).astype(np.float32)
    archive = numpy_bytes(np.savez, ids=np.array(ids), vectors=vectors)
    yield Kind("embeddings, npz", ".npz", [archive], precomputed.read)
    with_ids = partial(read_beside, ids="\n".join(ids))
    yield Kind("embeddings, npy", ".npy", [numpy_bytes(np.save, vectors)], with_ids)
    embeddings = pl.DataFrame({"utterance": ids, "embedding": vectors.tolist()})
    tables = [table_bytes(embeddings, file_format) for file_format in ("zstd", "uncompressed")]
    yield Kind("embeddings, parquet", ".parquet", tables, precomputed.read)
    sound = partial(audio.decode, rate=16_000)
    yield Kind("recording", ".wav", [wave_bytes()], lambda path: sound(audio.Excerpt(str(path))))


def kinds_of_published_files(
    trials: pl.DataFrame, people: pl.DataFrame, ids: Sequence[str]
) -> Iterator[Kind]:
    """Files as corpora and toolkits publish them."""
    records = people.to_dicts()
    documents = [
        json.dumps(document, indent=indent).encode()
        for indent in (None, 1)
        for document in (
            records,
            {record["speaker"]: record for record in records},
            people.to_dict(as_series=False),
            {gender: people.filter(gender=gender)["speaker"].to_list() for gender in "fm"},
            people.rows(),
            {"columns": people.columns, "data": people.rows()},
        )
    ]
    yield Kind("speakers, json", ".json", documents, lambda path: read_speakers(path).ids)
    comments = b"; speakers\n;ID  |SEX| NAME\n14   | F | A. Reader\n16   | M | B. Reader\n"
    blanks = b"ID  AGE  REGION\n225  23  Southern England\n226  22  Surrey\n227  38\n"
    yield Kind(
        "speakers, as published", ".txt", [comments, blanks], lambda path: read_speakers(path).ids
    )
    wide = "\n".join(f"m{i} {first} {second}" for i, (first, second) in enumerate(pairwise(ids)))
    maps = [wide.encode(), wide.replace(" ", "\t").encode(), wide.replace(" ", ",").encode()]
    tables = [
        "\n".join(f"m{i} {first.partition('/')[0]}" for i, first in enumerate(ids)).encode(),
        "\n".join(
            ["model-id phrase-id file-id1 file-id2"]
            + [f"m{i} 05 {first} {second}" for i, (first, second) in enumerate(pairwise(ids))]
        ).encode(),
    ]
    yield Kind("enrolment map", ".txt", [*maps, *tables], read_models)
    plain = trials.select("score", "label")
    words = plain.select("score", type=pl.when(plain["label"] == 1).then(pl.lit("genuine"))
                         .otherwise(pl.lit("impostor")))  # fmt: skip
    plain_texts = [
        words.write_csv().encode(),
        plain.write_csv().encode(),
        plain.write_csv(include_header=False, separator=" ").encode(),
        plain.select("score").write_csv(include_header=False).encode(),
    ]
    shown = command("metrics", "FILE", "--json")
    yield Kind("scores without ids", ".csv", plain_texts, shown)
    published = [*documents, *maps, *tables, *plain_texts, comments, blanks]
    yield Kind("inspect, published", ".txt", published, command("inspect", "FILE"))


def kinds_of_folders(home: Path, scores: Path, speakers: Path) -> Iterator[Kind]:
    """Files that stand in folders which Parivox wrote."""
    takes = [f"p{i:02d}/{session}/{k}" for i in range(12) for session in "ab" for k in range(3)]
    table = {"speaker": [f"p{i:02d}" for i in range(12)], "sex": ["f", "m"] * 6}
    lists = home / "lists"
    pv.trials.build_inclusive(
        {"utterance": takes}, speakers=table, by="sex", out=lists, per_speaker=3
    )
    (manifest,) = lists.glob("*.manifest.json")
    yield Kind("manifest", ".json", [manifest.read_bytes()], read_manifest)
    options = ("--speakers", str(speakers), "--by", "gender", "--shards", "2")
    command("shards", "plan", str(scores), *options, "--out", str(home / "run"))(scores)
    plan = (home / "run" / "plan.json").read_bytes()
    yield Kind("plan", ".json", [plan], read_plan_of)
    folder = home / "audit"
    pv.audit({"S": scores}, speakers=speakers, by="gender", replicates=50).save(folder)
    for name in STORED:
        read = partial(loaded_with, folder=folder, name=name)
        yield Kind(name, Path(name).suffix, [(folder / name).read_bytes()], read)


# ---- running


class _Hang(BaseException):
    """A file takes too long."""


def _stop(*_: object) -> None:
    raise _Hang


def work(start: int, stop: int, kind_texts: Sequence[str], home: Path) -> None:
    """Read the files of some numbers; each is noted before it is read, and a line told of each."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _stop)
    chosen_kinds = [
        candidate
        for candidate in kinds(home)
        if any(text in candidate.name for text in kind_texts or [""])
    ]
    for number in range(start, stop):
        kind = chosen_kinds[number % len(chosen_kinds)]
        path = home / f"file{kind.ending}"
        path.write_bytes(mutated_file(kind, number))
        print(f"begin {number} {kind.name}", flush=True)
        signal.alarm(LONGEST_S)
        try:
            kind.read(path)
            outcome = "read"
        except ParivoxError as error:
            is_sentence = str(error) and "\n" not in str(error)
            outcome = "refused" if is_sentence else f"FAULT no sentence: {error!r:.300}"
        except _Hang:
            outcome = f"FAULT over {LONGEST_S} s"
        except BaseException as error:  # noqa: BLE001 - whatever it is, it is a fault
            outcome = f"FAULT {type(error).__name__}: {str(error)[:300]!r}"
        signal.alarm(0)
        print(f"end {outcome}", flush=True)


def watch(
    start: int, stop: int, kind_texts: Sequence[str]
) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Have files read by a worker, and by another where one dies; count what became of them."""
    outcomes: Counter[tuple[str, str]] = Counter()
    faults: list[str] = []
    while start < stop:
        with tempfile.TemporaryDirectory() as home:
            words = ["--work", str(start), str(stop), home, "--kinds", *kind_texts]
            worker = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.mutated", *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert worker.stdout is not None
            name = ""
            for line in worker.stdout:
                event, _, details = line.rstrip("\n").partition(" ")
                if event == "begin":
                    number, _, name = details.partition(" ")
                    start = int(number) + 1
                elif event == "end":
                    outcome = details.split(" ")[0]
                    outcomes[name, outcome] += 1
                    if outcome == "FAULT":
                        faults.append(f"{number} ({name}): {details}")
                        print(faults[-1], flush=True)
                    name = ""
            code = worker.wait()
            if code:
                outcomes[name, "FAULT"] += 1
                faults.append(f"{start - 1} ({name}): the worker ended with {code}")
                print(faults[-1], flush=True)
                if not name:
                    return outcomes, faults  # it does not begin at all
    return outcomes, faults


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1, help="numbers begin at a billion of these")
    parser.add_argument("--kinds", nargs="*", default=[], metavar="TEXT")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one file, in this process")
    parser.add_argument("--work", nargs=3, metavar=("FIRST", "LAST", "HOME"))
    options = parser.parse_args()
    if options.work:
        start, stop, home = options.work
        work(int(start), int(stop), options.kinds, Path(home))
        return
    if options.only is not None:
        with tempfile.TemporaryDirectory() as folder:
            work(options.only, options.only + 1, options.kinds, Path(folder))
        return
    started, start = time.monotonic(), options.seed * 10**9
    outcomes, faults = watch(start, start + options.files, options.kinds)
    for name in dict.fromkeys(name for name, _ in outcomes):
        counts = [outcomes[name, outcome] for outcome in ("read", "refused", "FAULT")]
        print(f"{name:24}" + "".join(f"{count:10,}" for count in counts))
    seconds = time.monotonic() - started
    print(f"{sum(outcomes.values()):,} files, {len(faults)} faults, {seconds:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
