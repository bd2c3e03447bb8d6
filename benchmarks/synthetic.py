"""Make synthetic trials of any number, streamed, with error counts known exactly.

    python -m benchmarks.synthetic FOLDER --trials 10000000 --csv

writes `FOLDER/trials-10000000.parquet`, the same trials as `.csv` if asked for, `speakers.csv`, and
`trials-10000000.json` with the truth. 1,251 speakers, 120 utterances each, 2 genders and 36
nationalities as skewed as VoxCeleb1's. With another number of `--speakers`, the names of the files
end with it. One trial in ten is a target trial. Every ordered pair
occurs once, but for a few exact duplicates, whose two rows lie far apart. Scores are float32 and
Gaussian; women's target scores are a little lower, so that there is something to find.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator

IntArray: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
FloatArray: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

SPEAKERS = 1_251
UTTERANCES_EACH = 120
VIDEO = 6  # utterances cut from one video
NATIONALITIES = (
    799, 215, 54, 37, 26, 20, 18, 9, 8, 8, 7, 5, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, *[1] * 13,
)  # fmt: skip
WOMEN = 0.45
TARGETS = 0.1
NONTARGET_MEAN, NONTARGET_SD = 0.1, 0.12
TARGET_MEAN, TARGET_SD, WOMEN_LOWER = 0.55, 0.15, 0.03
THRESHOLDS = (0.25, 0.375, 0.5)  # exact in float32, so that text and Parquet agree
CHUNK = 1_000_000  # trials held at once; one row group
DUPLICATES = 5  # of the first chunk's trials, again in every chunk
FPR = 0.01
GRID = np.linspace(-1.0, 2.0, 2**22 + 1)  # brackets the curve metrics; scores lie well within
SEED = 3


def speaker_table(n_speakers: int = SPEAKERS) -> pl.DataFrame:
    """Return id, gender and nationality of every speaker."""
    rng = np.random.default_rng(SEED)
    # of other numbers of speakers, each nationality has about the same share
    place = np.arange(n_speakers) * SPEAKERS // n_speakers
    nationality = np.repeat(np.arange(len(NATIONALITIES)), NATIONALITIES)[place]
    gender = np.where(rng.permutation(n_speakers) < WOMEN * n_speakers, "f", "m")
    return pl.DataFrame(
        {
            "id": [f"id{i:05d}" for i in range(1, n_speakers + 1)],
            "gender": gender,
            "nationality": [f"N{i:02d}" for i in rng.permutation(nationality)],
        }
    )


def utterance_ids(n_speakers: int = SPEAKERS) -> list[str]:
    """Return the ids, `id00001/v012/00003`: speaker, video, utterance."""
    return [
        f"id{speaker:05d}/v{i // VIDEO:03d}/{i % VIDEO:05d}"
        for speaker in range(1, n_speakers + 1)
        for i in range(UTTERANCES_EACH)
    ]


def shuffled(index: IntArray, *, rows: int, columns: int, key: int) -> tuple[IntArray, IntArray]:
    """Map distinct indices to distinct cells of a rows x columns table, seemingly at random.

    Each round moves one coordinate by an amount that depends on the other alone, so every round,
    and the whole, can be undone: no two indices meet in one cell, and none need be remembered.
    """
    row, column = index % rows, index // rows
    moves = np.random.default_rng(key)
    for _ in range(3):
        row = (row + moves.integers(rows, size=columns)[column]) % rows
        column = (column + moves.integers(columns, size=rows)[row]) % columns
    return row, column


def target_pairs(n_utterances: int, start: int, count: int) -> tuple[IntArray, IntArray]:
    """Return the target pairs number first, first + 1, ...: (enrol, test) utterances."""
    index = np.arange(start, start + count, dtype=np.int64)
    enrol, step = shuffled(index, rows=n_utterances, columns=UTTERANCES_EACH - 1, key=SEED)
    speaker, utterance_place = np.divmod(enrol, UTTERANCES_EACH)
    return enrol, speaker * UTTERANCES_EACH + (utterance_place + step + 1) % UTTERANCES_EACH


def nontarget_pairs(n_utterances: int, start: int, count: int) -> tuple[IntArray, IntArray, int]:
    """Return `count` nontarget pairs from number `first` on, and the number to go on from."""
    index = np.arange(start, start + count + count // 100 + 100, dtype=np.int64)
    enrol, test = shuffled(index, rows=n_utterances, columns=n_utterances, key=SEED + 1)
    different = np.flatnonzero(enrol // UTTERANCES_EACH != test // UTTERANCES_EACH)[:count]
    return enrol[different], test[different], start + int(different[-1]) + 1


class Truth:
    """Counts of the distinct trials, kept while they are made."""

    def __init__(self, speakers: pl.DataFrame) -> None:
        self.n_speakers = speakers.height
        self.groupings: dict[str, tuple[list[str], IntArray]] = {}
        for names in (["gender"], ["nationality"], ["gender", "nationality"]):
            joined = speakers.select(pl.concat_str(names, separator="+")).to_series()
            groups, of_speaker = np.unique(joined.to_numpy(), return_inverse=True)
            self.groupings["+".join(names)] = ([str(group) for group in groups], of_speaker)
        self.counts: dict[tuple[str, bool], IntArray] = {}
        bins = len(GRID) - 1
        self.histogram = {target: np.zeros(bins, dtype=np.int64) for target in (False, True)}

    def add(
        self, enrol: IntArray, test: IntArray, score: FloatArray, target: np.ndarray[Any, Any]
    ) -> None:
        """Count trials, each once; a group has those with both speakers in it."""
        score_bins = ((score.astype(np.float64) - GRID[0]) / (GRID[1] - GRID[0])).astype(np.int64)
        # column 0: trials; then, per threshold, errors
        for is_target, histogram in self.histogram.items():
            is_kind = target == is_target
            np.add(
                histogram, np.bincount(score_bins[is_kind], minlength=histogram.size), out=histogram
            )
            wrong = [(score[is_kind] >= threshold) != is_target for threshold in THRESHOLDS]
            sides = enrol[is_kind] // UTTERANCES_EACH, test[is_kind] // UTTERANCES_EACH
            everyone: tuple[list[str], IntArray] = (
                ["all"],
                np.zeros(self.n_speakers, dtype=np.int64),
            )
            for grouping, (groups, of_speaker) in {"all": everyone, **self.groupings}.items():
                group = of_speaker[sides[0]]
                within = group == of_speaker[sides[1]]
                columns = [within, *(within & row for row in wrong)]
                counts = [np.bincount(group[row], minlength=len(groups)) for row in columns]
                key = (grouping, is_target)
                self.counts[key] = self.counts.get(key, 0) + np.stack(counts, axis=1)

    def brackets(self) -> dict[str, list[float]]:
        """Return bounds within which every exact curve metric of all trials lies."""
        below = np.concatenate(([0], np.cumsum(self.histogram[True])))
        fnr = below / below[-1]
        rejected = np.concatenate(([0], np.cumsum(self.histogram[False])))
        fpr = 1 - rejected / rejected[-1]
        cross = int(np.argmax(fnr >= fpr))
        at_fpr = int(np.argmax(fpr <= FPR))
        return {
            "eer": [
                float(max(fnr[cross - 1], fpr[cross])),
                float(min(fpr[cross - 1], fnr[cross])),
            ],
            f"fnr_at_fpr {FPR}": [float(fnr[at_fpr - 1]), float(fnr[at_fpr])],
        }

    def report(self) -> dict[str, Any]:
        """Return every count, named."""
        out: dict[str, Any] = {}
        for grouping, (groups, _) in {"all": (["all"], None), **self.groupings}.items():
            target, nontarget = self.counts[grouping, True], self.counts[grouping, False]
            out[grouping] = {
                group: {
                    "target_trials": int(target[i, 0]),
                    "nontarget_trials": int(nontarget[i, 0]),
                    "false_rejects": [int(n) for n in target[i, 1:]],
                    "false_accepts": [int(n) for n in nontarget[i, 1:]],
                }
                for i, group in enumerate(groups)
            }
        return out


def chunks(trials: int, truth: Truth) -> Iterator[tuple[IntArray, IntArray, FloatArray, Any]]:
    """Yield (enrol, test, score, target) of up to CHUNK trials, and count them."""
    rng = np.random.default_rng(SEED)
    women = truth.groupings["gender"][1] == 0
    n_utterances = truth.n_speakers * UTTERANCES_EACH
    n_made = targets_made = nontargets_next = number = 0
    again: tuple[np.ndarray[Any, Any], ...] = ()
    while n_made < trials:
        size = min(CHUNK, trials - n_made)
        fresh = size - DUPLICATES
        targets = round(TARGETS * fresh)
        enrol_t, test_t = target_pairs(n_utterances, targets_made, targets)
        enrol_n, test_n, nontargets_next = nontarget_pairs(
            n_utterances, nontargets_next, fresh - targets
        )
        targets_made += targets
        order = rng.permutation(fresh)
        enrol = np.concatenate((enrol_t, enrol_n))[order]
        test = np.concatenate((test_t, test_n))[order]
        target = (np.arange(fresh) < targets)[order]
        noise = rng.standard_normal(fresh, dtype=np.float32)
        mean = TARGET_MEAN - WOMEN_LOWER * women[enrol // UTTERANCES_EACH]
        score = np.where(
            target, mean + TARGET_SD * noise, NONTARGET_MEAN + NONTARGET_SD * noise
        ).astype(np.float32)
        truth.add(enrol, test, score, target)
        again = again or (enrol[:1000], test[:1000], score[:1000], target[:1000])
        copied = (np.arange(DUPLICATES) + DUPLICATES * number) % 1000
        yield (
            np.concatenate((enrol, again[0][copied])),
            np.concatenate((test, again[1][copied])),
            np.concatenate((score, again[2][copied])),
            np.concatenate((target, again[3][copied])),
        )
        n_made += size
        number += 1


def generate(folder: Path, trials: int, *, csv: bool = False, n_speakers: int = SPEAKERS) -> Path:
    """Write the files and return the path of the Parquet file.

    Parameters
    ----------
    folder : Path
        Made if it is not there.
    trials : int
        Rows to write, 10,000 to 170 million; target pairs run out above.
    csv : bool
        Whether to write the same trials as text, too. Scores are written with the digits of a
        float64, so that both files hold the same numbers.
    n_speakers : int
        Of other numbers than 1,251, the names of all files end with the number.
    """
    if not 10_000 <= trials <= 170_000_000:
        message = f"{trials} trials asked for: take 10,000 to 170,000,000"
        raise ValueError(message)
    folder.mkdir(parents=True, exist_ok=True)
    speakers = speaker_table(n_speakers)
    name_end = "" if n_speakers == SPEAKERS else f"-of-{n_speakers}"
    speakers.write_csv(folder / f"speakers{name_end}.csv")
    truth = Truth(speakers)
    ids = pa.array(utterance_ids(n_speakers))
    path = folder / f"trials-{trials}{name_end}.parquet"
    schema = pa.schema(
        {"enrol": pa.string(), "test": pa.string(), "score": pa.float32(), "label": pa.int8()}
    )
    rows = 0
    text = path.with_suffix(".csv").open("wb") if csv else None
    # The dictionary of ids must fit, or Parquet falls back to plain text.
    with pq.ParquetWriter(
        path, schema, compression="zstd", use_dictionary=["enrol", "test"],
        dictionary_pagesize_limit=16 * 2**20,
    ) as writer:  # fmt: skip
        for enrol, test, score, target in chunks(trials, truth):
            table = pa.table(
                [ids.take(pa.array(enrol)), ids.take(pa.array(test)), score, target.view(np.int8)],
                schema=schema,
            )
            writer.write_table(table, row_group_size=CHUNK)
            if text is not None:
                frame = pl.DataFrame(pl.from_arrow(table)).cast({"score": pl.Float64})
                frame.write_csv(text, include_header=rows == 0)
            rows += table.num_rows
    if text is not None:
        text.close()
    duplicates = DUPLICATES * -(-trials // CHUNK)
    truth_record = {
        "rows": rows,
        "exact_duplicates": duplicates,
        "distinct_trials": rows - duplicates,
        "thresholds": list(THRESHOLDS),
        "groups": truth.report(),
        "between": truth.brackets(),
    }
    path.with_suffix(".json").write_text(
        json.dumps(truth_record, indent=1) + "\n", encoding="utf-8"
    )
    return path


def main() -> None:
    """Read the command line and generate."""
    parser = argparse.ArgumentParser(description="Make synthetic trials with known error counts.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trials", type=int, default=10_000_000)
    parser.add_argument("--speakers", type=int, default=SPEAKERS)
    parser.add_argument("--csv", action="store_true", help="write text, too")
    options = parser.parse_args()
    generate(options.folder, options.trials, csv=options.csv, n_speakers=options.speakers)


if __name__ == "__main__":
    main()
