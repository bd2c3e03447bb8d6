"""Measure scoring against the loops of toolkits, and embedding against other runtimes.

python -m benchmarks.scoring [--embedding] [--recordings FOLDER] [--write]

Everything in one process of one thread, in turns; the least CPU time of each counts. The loops are
written in our own words, as toolkits score a list: vectors in a dictionary, one call a trial.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from benchmarks.measure import Gate, comparison_line, machine

from parivox.scoring.run import score
from parivox.scoring.vectors import COMPARISONS, Vectors, pair_scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Array = NDArray[Any]

RESULTS_PAGE = Path(__file__).with_name("SCORING.md")
ROUNDS = 3
RECORDINGS, SIZE, TRIALS = 100_000, 256, 1_000_000
VOICES, SPOKEN = 2_000, 3.0
"""Recordings that are embedded, and their seconds, unless a folder of some is given."""
LOOPED = {"as SpeechBrain": 10_000, "as wespeaker": 2_000}
"""Trials of each loop, whose cost does not depend on their number."""
FASTER = {"as SpeechBrain": 10, "as wespeaker": 300}
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
COUNTED = (
    "Trials that are ordered by enrolment read one test vector each, and the enrolment's once in a "
    "run of trials, which is next to nothing. So counted:"
)
COSINE = COMPARISONS["cosine"]


def least(jobs: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """CPU seconds of each job, the least of some rounds that take turns."""
    seconds = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            seconds[name] = min(seconds[name], time.process_time() - start)
    return seconds


def speechbrain(vectors: Mapping[str, Any], lines: list[str]) -> list[str]:
    """Tensors in a dictionary; a line split, a similarity module called, a line written."""
    import torch

    similarity = torch.nn.CosineSimilarity(dim=-1, eps=1e-6)
    scored = []
    for line in lines:
        enrol, test = line.split()
        cosine = similarity(vectors[enrol], vectors[test])[0].item()
        scored.append(f"{enrol} {test} {cosine:f}")
    return scored


def wespeaker(vectors: Mapping[str, Any], lines: list[str]) -> list[str]:
    """Arrays in a dictionary; a line split, scikit-learn's matrix of one by one, a line written."""
    from sklearn.metrics.pairwise import cosine_similarity

    scored = []
    for line in lines:
        enrol, test = line.split()
        matrix = cosine_similarity(vectors[enrol].reshape(1, -1), vectors[test].reshape(1, -1))
        scored.append(f"{enrol} {test} {matrix[0][0]:.5f}")
    return scored


def einsum(prepared: Array, enrol: Array, test: Array, chunk: int = 1 << 16) -> Array:
    """Both sides gathered, a chunk at a time."""
    scores = np.empty(enrol.size, dtype=np.float32)
    for start in range(0, enrol.size, chunk):
        rows = slice(start, start + chunk)
        scores[rows] = np.einsum("ij,ij->i", prepared[enrol[rows]], prepared[test[rows]])
    return scores


def gather(prepared: Array, test: Array, chunk: int = 512) -> None:
    """Fetch one vector a trial into the cache, and do nothing with it."""
    room = np.empty((chunk, prepared.shape[1]), dtype=prepared.dtype)
    for start in range(0, test.size, chunk):
        rows = test[start : start + chunk]
        prepared.take(rows, axis=0, out=room[: rows.size], mode="clip")


def report(rounds: int = ROUNDS) -> tuple[list[str], list[Gate]]:
    """Score, and return a Markdown table and its gates."""
    import torch

    torch.set_num_threads(1)
    draw = np.random.default_rng(0)
    embeddings = draw.standard_normal((RECORDINGS, 1, SIZE), dtype=np.float32)
    prepared = COSINE.prepare(embeddings.astype(np.float64)).astype(np.float32)
    ids = pl.Series([f"id{i // 120:05d}/{i % 120:03d}.wav" for i in range(RECORDINGS)])
    enrol, test = draw.integers(0, RECORDINGS, (2, TRIALS))
    ordered = np.sort(draw.integers(0, RECORDINGS // 100, TRIALS))
    order = np.lexsort((test, ordered))
    run_length = TRIALS // (RECORDINGS // 100)  # trials of an enrolment, all with neighbours
    block = np.repeat(np.arange(RECORDINGS // 100), run_length)
    begin = draw.integers(0, RECORDINGS - run_length, RECORDINGS // 100)
    neighbours = np.repeat(begin, run_length) + np.tile(np.arange(run_length), RECORDINGS // 100)
    copy = np.empty_like(prepared)
    most = max(LOOPED.values())
    listed = {side: ids.gather(rows) for side, rows in (("enrol", enrol), ("test", test))}
    vectors = Vectors(
        "vectors", ids, embeddings, np.arange(RECORDINGS), pl.repeat("ok", RECORDINGS, eager=True),
        None, "cosine", {},
    )  # fmt: skip
    lines = [" ".join(pair) for pair in zip(*(s[:most] for s in listed.values()), strict=True)]
    used = {name for line in lines for name in line.split()}
    row_of_id = {name: row for row, name in enumerate(ids)}
    arrays = {name: embeddings[row_of_id[name], 0] for name in used}
    tensors = {name: torch.from_numpy(embeddings[row_of_id[name]]) for name in used}
    with tempfile.TemporaryDirectory() as folder:
        trials = Path(folder) / "trials.parquet"
        pl.DataFrame(listed).write_parquet(trials)
        jobs: dict[str, Callable[[], object]] = {
            "list to file": partial(
                score, str(trials), embeddings=vectors, out=Path(folder) / "s", overwrite=True
            ),
            "pairs": partial(pair_scores, prepared, enrol, test, COSINE),
            "chunked einsum": partial(einsum, prepared, enrol, test),
            "pairs, ordered by enrolment": partial(
                pair_scores, prepared, ordered[order], test[order], COSINE
            ),
            "pairs, ordered, in a block": partial(pair_scores, prepared, block, neighbours, COSINE),
            "no more than gathered": partial(gather, prepared, test[order]),
            "copy": partial(np.copyto, copy, prepared),
            "as SpeechBrain": partial(speechbrain, tensors, lines[: LOOPED["as SpeechBrain"]]),
            "as wespeaker": partial(wespeaker, arrays, lines[: LOOPED["as wespeaker"]]),
        }
        cpu = least(jobs, rounds)
    rate = {name: LOOPED.get(name, TRIALS) / cpu[name] / 1e6 for name in jobs if name != "copy"}
    copied = prepared.nbytes / cpu["copy"] / 1e9
    read = {name: 4 * SIZE * rate[name] / 1e3 for name in rate if "ordered" in name}
    random, near = read.values()
    fetched = 4 * SIZE * rate["no more than gathered"] / 1e3
    words = {
        "list to file": "`score`: ids read, matched, scored, written as Parquet",
        "pairs": "vectors to scores alone, random pairs",
        "pairs, ordered by enrolment": "the same, 1,000 enrolments with 1,000 trials each",
        "pairs, ordered, in a block": "the same, the 1,000 stored side by side",
        "no more than gathered": "the random 1,000 fetched, and nothing made of them",
        "chunked einsum": "NumPy, 65,536 pairs at once",
        "as SpeechBrain": "a loop: lines, a dictionary of tensors, `CosineSimilarity`",
        "as wespeaker": "a loop: lines, a dictionary of arrays, `cosine_similarity`",
    }
    contender_lines = [f"| {name} | {words[name]} | {rate[name]:.3g} |" for name in words]
    layout_lines = [
        f"| {layout} | {speed:.1f} | {speed / copied:.2f} | {2 * speed / copied:.2f} |"
        for layout, speed in (("scattered", random), ("stored side by side", near))
    ]
    table = [
        f"{RECORDINGS:,} recordings of {SIZE} dimensions, {TRIALS:,} random trials, one thread.",
        "",
        "| contender | what it does | million trials per CPU second |",
        "|---|---|---:|",
        *contender_lines,
        "",
        f"Copying the vectors: {copied:.1f} GB/s, each byte counted once. {COUNTED}",
        "",
        "| test vectors of an enrolment | GB/s | of the copy | counting both vectors of a trial |",
        "|---|---:|---:|---:|",
        *layout_lines,
        f"| scattered, fetched and no more | {fetched:.1f} | {fetched / copied:.2f} | |",
    ]
    gates = [
        Gate(f"CPU of pairs, of the loop {peer}", rate[peer] / rate["pairs"], 1 / n)
        for peer, n in FASTER.items()
    ]
    gates += [
        Gate("CPU of pairs, of a chunked einsum", rate["chunked einsum"] / rate["pairs"], 1.0),
        Gate(
            "copy bandwidth over that of ordered pairs, two vectors each", copied / random / 2, 2.0
        ),
        Gate("the same, one vector each, side by side", copied / near, 2.0),
    ]
    return table, gates


def embedding_report(
    recordings: Path | None = None, rounds: int = ROUNDS
) -> tuple[list[str], list[Gate]]:
    """Embed with ge2e, and return a Markdown table and its gates."""
    import torch

    from parivox.embedding.systems.ge2e import Network, OnnxNetwork
    from parivox.embedding.systems.ge2e_weights import weights_of

    torch.set_num_threads(1)
    weights = weights_of()
    lstm = torch.nn.LSTM(40, 256, 3, batch_first=True)
    linear = torch.nn.Linear(256, 256)
    tensors = {name: torch.from_numpy(array.copy()) for name, array in weights.items()}
    lstm.load_state_dict({n[5:]: t for n, t in tensors.items() if n.startswith("lstm.")})
    linear.load_state_dict({n[7:]: t for n, t in tensors.items() if n.startswith("linear.")})

    def torch_network(windows: Array) -> Array:
        with torch.inference_mode():
            embeddings = linear(lstm(torch.from_numpy(windows))[1][0][-1])
        return np.asarray(embeddings.numpy())

    networks: dict[str, tuple[Callable[[Array], Array], int]] = {
        "NumPy": (Network(weights), Network.batch),
        "onnxruntime": (OnnxNetwork(weights), OnnxNetwork.batch),
        "torch": (torch_network, 64),
    }
    windows = np.abs(np.random.default_rng(0).normal(0, 0.01, (256, 160, 40))).astype(np.float32)
    seconds = len(windows) * 77 * 0.01  # of audio that so many overlapping windows cover

    def run(network: Callable[[Array], Array], batch: int) -> Array:
        batches = [
            network(windows[start : start + batch]) for start in range(0, len(windows), batch)
        ]
        return np.concatenate(batches)

    outputs = [run(*setup) for setup in networks.values()]
    apart = max(float(np.abs(outputs[0] - output).max()) for output in outputs[1:])
    cpu = least({name: partial(run, *setup) for name, setup in networks.items()}, rounds)
    runtime_lines = [
        f"| {name} | {cpu[name] / seconds:.4f} | {cpu[name] / cpu['torch']:.2f} |"
        for name in networks
    ]
    lines = [
        f"ge2e's network, one thread, in turns; the outputs differ by {apart:.1e} at most.",
        "",
        "| runtime | CPU s per second of audio | of torch |",
        "|---|---:|---:|",
        *runtime_lines,
    ]
    gates = [
        Gate("CPU of ge2e in NumPy, of torch's", cpu["NumPy"] / cpu["torch"], 1.5),
        Gate("CPU of ge2e in onnxruntime, of torch's", cpu["onnxruntime"] / cpu["torch"], 1.0),
    ]
    if recordings is None:
        with tempfile.TemporaryDirectory() as folder:
            walls = _whole_runs(_synthesised(Path(folder)))
    else:
        walls = _whole_runs(recordings)
    recordings_text = (
        f"{VOICES:,} synthetic recordings of {SPOKEN:g} s" if recordings is None else "recordings"
    )
    again, one_worker, two_workers = walls["again"], walls["1"], walls["2"]
    summary = (
        f"{one_worker:.1f} s with one worker, {two_workers:.1f} s with two, {again:.2f} s once more"
    )
    lines += ["", f"`embed` of {recordings_text}: {summary}."]
    lines.append(comparison_line("Time of two workers, of one", two_workers / one_worker))
    lines.append(comparison_line("Time of a second `embed`, of the first", again / two_workers))
    return lines, gates


def _synthesised(folder: Path) -> Path:
    """Recordings of synthetic voices."""
    import soundfile

    from parivox.embedding.voices import RATE, draw_voice, speak

    for number in range(VOICES):
        sound = speak(draw_voice(number % 50), SPOKEN, number)
        soundfile.write(folder / f"{number:04d}.wav", sound, RATE)
    return folder


def _whole_runs(recordings: Path) -> dict[str, float]:
    """Seconds of embedding a folder with one and two workers, and again when all is there."""
    from parivox.embedding.extract import embed
    from parivox.embedding.systems.ge2e import load_ge2e

    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, out, workers in (("1", "one", 1), ("2", "two", 2), ("again", "two", 2)):
            start = time.perf_counter()
            embed(recordings, load_ge2e, Path(folder) / out, workers=workers)
            seconds[name] = time.perf_counter() - start
    return seconds


def main() -> int:
    """Measure and print; return 1 if a gate fails."""
    if any(name not in os.environ for name in THREADS):  # read when the libraries load
        command = [sys.executable, "-m", "benchmarks.scoring", *sys.argv[1:]]
        return subprocess.call(command, env=os.environ | dict.fromkeys(THREADS, "1"))
    parser = argparse.ArgumentParser(description="Measure scoring and embedding.")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--embedding", action="store_true", help="ge2e, too")
    parser.add_argument("--recordings", type=Path, help="to embed, in place of synthetic ones")
    parser.add_argument("--write", action="store_true", help=f"into {RESULTS_PAGE.name}")
    options = parser.parse_args()
    sections = [report(options.rounds)]
    if options.embedding or options.recordings:
        sections.append(embedding_report(options.recordings, options.rounds))
    written = ["# Scoring and embedding", "", "Written by `python -m benchmarks.scoring --write`."]
    written += ["", f"Machine: {machine()}."]
    for lines, gates in sections:
        written += ["", *lines, "", *(f"* {gate}" for gate in gates)]
    print(*written, sep="\n")
    if options.write:
        RESULTS_PAGE.write_text("\n".join(written) + "\n", encoding="utf-8")
    return int(not all(gate.passed for _, gates in sections for gate in gates))


if __name__ == "__main__":
    raise SystemExit(main())
