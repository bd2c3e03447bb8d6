"""A simulated bank: millions of customers, channels with thresholds of their own, failures.

    python -m benchmarks.customers FOLDER [--trials N] [--customers N] [--people N]

Writes ``bank.parquet``, ``customers.csv`` and ``truth.json``; ``once.parquet``, in which each trial
has a call of its own; and, as the rival of equal size, ``few.parquet`` and ``few.csv``: as many
trials among `people` people with 120 calls each, as VoxCeleb1 has.

Every call is compared with its own customer's enrolment and with those of four others. Scores of
a group are normal, so its true error rates at a channel's threshold are known.
"""

from __future__ import annotations

import argparse
import json
from math import erf, sqrt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

CHANNELS = {"app": 0.9, "branch": 1.1, "desk phone": 1.0, "mobile": 1.25, "web": 1.4}
GENDERS = ("f", "m")
REGIONS = ("east", "north", "south", "west")
NAMES = ("customer", "gender", "region")
FAILING = {"f": 0.04, "m": 0.02}
TARGET_MEAN = {("f", "east"): 2.4, ("m", "west"): 2.9}
WOMEN_NONTARGET_MEAN = 0.1
IMPOSTORS = 4
CALLS = 1_000_000


def mean_of(gender: str, region: str) -> float:
    """Mean score of a group's target trials; nontarget ones have mean 0 (women: 0.1)."""
    return TARGET_MEAN.get((gender, region), 2.7)


def make(
    folder: Path,
    trials: int,
    customers: int,
    name: str,
    table: str,
    *,
    once: bool = False,
    calls_each: int | None = None,
) -> None:
    """Write the trials and the customers.

    With `once`, each trial has a call of its own; with `calls_each`, customers have so many calls,
    which are compared again and again.
    """
    rng = np.random.default_rng(7)
    gender = rng.integers(0, 2, customers)
    region = rng.choice(4, customers, p=[0.4, 0.3, 0.2, 0.1])
    with (folder / table).open("w", encoding="utf-8") as file:
        file.write(",".join(NAMES) + "\n")
        for i, (g, r) in enumerate(zip(gender.tolist(), region.tolist(), strict=True)):
            file.write(f"c{i:07d},{GENDERS[g]},{REGIONS[r]}\n")
    means = np.array([[mean_of(g, r) for r in REGIONS] for g in GENDERS])
    thresholds = np.array(list(CHANNELS.values()))
    channels = np.array(list(CHANNELS))
    ids = np.array([f"c{i:07d}" for i in range(customers)])
    failing = np.array([FAILING[g] for g in GENDERS])
    # where calls are used again and again, each fails once and for all
    lost = rng.random((customers, calls_each or 1)) < failing[gender][:, None]
    writer = None
    calls = trials // (1 + IMPOSTORS)
    for start in range(0, calls, CALLS):
        number = np.arange(start, min(start + CALLS, calls))
        caller = number % customers
        channel = rng.integers(0, len(CHANNELS), number.size)
        share = (customers - 1) // IMPOSTORS  # one of each share, so that no two are the same
        apart = rng.integers(0, share, (number.size, IMPOSTORS)) + 1 + share * np.arange(IMPOSTORS)
        claimed_others = (caller[:, None] + apart) % customers
        claimed = np.concatenate([caller[:, None], claimed_others], axis=1)
        target = claimed == caller[:, None]
        score = rng.normal(size=claimed.shape) + np.where(
            target,
            means[gender[claimed], region[claimed]],
            np.where(gender[claimed] == 0, WOMEN_NONTARGET_MEAN, 0.0),
        )
        size = number.size * (1 + IMPOSTORS)
        chance = np.repeat(failing[gender[caller]], 1 + IMPOSTORS)
        flat = rng.random(size) < chance
        if not once:  # a call fails in all of its trials
            flat = np.repeat(flat[:: 1 + IMPOSTORS], 1 + IMPOSTORS)
        enrol = np.char.add(ids[claimed.ravel()], "/enrolment")
        calls_of = np.repeat(number, 1 + IMPOSTORS)
        if once:
            calls_of = calls_of * (1 + IMPOSTORS) + np.tile(np.arange(1 + IMPOSTORS), number.size)
        if calls_each:  # every pair of calls at most once
            test_call, enrol_call = np.divmod(number // customers, calls_each - 1)
            enrol_call += enrol_call >= test_call
            calls_of = np.repeat(test_call, 1 + IMPOSTORS)
            flat = np.repeat(lost[caller, test_call], 1 + IMPOSTORS)
            apart_of = np.repeat(enrol_call, 1 + IMPOSTORS).astype(str)
            enrol = np.char.add(np.char.add(ids[claimed.ravel()], "/call"), apart_of)
        caller_ids = np.repeat(ids[caller], 1 + IMPOSTORS)
        block = pa.table({
            "enrol": enrol,
            "test": np.char.add(np.char.add(caller_ids, "/call"), calls_of.astype(str)),
            "label": target.ravel().astype(np.int8),
            "score": pa.array(score.ravel().astype(np.float32), mask=flat),
            "channel": np.repeat(channels[channel], 1 + IMPOSTORS),
            "threshold": np.repeat(thresholds[channel], 1 + IMPOSTORS),
            "status": np.where(flat, "no_speech", "ok"),
        })  # fmt: skip
        writer = writer or pq.ParquetWriter(folder / name, block.schema)
        writer.write_table(block)
    assert writer is not None
    writer.close()


def above(threshold: float, mean: float) -> float:
    """Share of normal scores at or above a threshold."""
    return 0.5 * (1 - erf((threshold - mean) / sqrt(2)))


def truth() -> list[dict[str, object]]:
    """True error rates by group and channel, and shares of recordings that fail."""
    rows: list[dict[str, object]] = []
    for g in GENDERS:
        rows.append({"group": g, "within": "", "metric": "fta", "value": FAILING[g]})
        for r in REGIONS:
            for channel, t in CHANNELS.items():
                keys = {"group": f"{g}+{r}", "within": f"channel={channel}"}
                fnr = 1 - above(t, mean_of(g, r))
                frr = FAILING[g] + (1 - FAILING[g]) * fnr
                rows.append({**keys, "metric": "fnr", "value": fnr})
                rows.append({**keys, "metric": "frr", "value": frr})
                rows.append(
                    {
                        **keys,
                        "metric": "fpr",
                        "value": above(t, WOMEN_NONTARGET_MEAN if g == "f" else 0.0),
                    }
                )
    return rows


def main() -> None:
    """Write everything."""
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("folder", type=Path)
    parse.add_argument("--trials", type=int, default=50_000_000)
    parse.add_argument("--customers", type=int, default=2_000_000)
    parse.add_argument("--people", type=int, default=1_251)
    options = parse.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bank = (options.folder, options.trials, options.customers)
    make(*bank, "bank.parquet", "customers.csv")
    make(*bank, "once.parquet", "customers.csv", once=True)
    few = (options.folder, options.trials, options.people, "few.parquet", "few.csv")
    make(*few, calls_each=120)
    (options.folder / "truth.json").write_text(json.dumps(truth(), indent=1) + "\n")


if __name__ == "__main__":
    main()
