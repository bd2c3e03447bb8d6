"""Data warnings on real lists: how often a sound list raises one, and a list with a planted fault.

Trials of VoxCeleb1-H are drawn at random, half of them target trials. Speakers have a group and a
nation, recordings a device, all drawn at random; a twentieth of the scores is missing at random,
decisions are those of one threshold. Each fault is planted into such a list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from benchmarks.coverage import corpora, real
from benchmarks.coverage.records import Row, mean, stream

import parivox as pv
from parivox.auditing.data_table import POINT_WARNINGS
from parivox.auditing.missing_scores import MISSING_SCORES
from parivox.data.value_warnings import RANGE_OF_NUMBERS, WARNING_SOURCE
from parivox.errors import ParivoxError
from parivox.report.catalogue import item_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DATASETS = 300
SIZES = (40, 200, 1000, 5000)
SYSTEMS = ("V2", "L")
MISSING, FPR = 0.05, 0.01
FAULTED_SIZE = 1000
DAYS = 5
_KINDS = {
    "two spellings": "under two spellings",
    "synonyms": "may mean the same",
    "two codings": "in two codings",
    "decades among ages": "decades or bands among ages",
    "device follows the group": "follows from",
    "cross-group impostors only": "all between groups",
    "two speakers make the list": "enrolled speakers alone",
    "one group's scores negated": "score below its nontarget trials",
    "30 % of scores negated": "than 95 % of the",
    "both orders differ": "in both orders",
    "trials repeated": "more than once",
    "one day's decisions swapped": "whose decisions contradict",
    "scores missing in one group": "without score, which differ",
    "same scores, rescaled": "with the same scores",
    "threshold of another scale": "outside the range of scores",
}
"""A part of the warning of each fault."""


def study(datasets: int, seed: int, is_wanted: Callable[[str], bool]) -> Iterator[list[Row]]:
    """Study sound lists of each system and size, then each fault."""
    for system in SYSTEMS:
        for size in SIZES:
            name = f"data_warnings/{system}/{size}"
            if not is_wanted(name):
                continue
            rng = stream(seed, name)
            warned = [warnings_of(sound_list(system, size, rng)) for _ in range(datasets)]
            kinds = sorted({kind for messages in warned for kind in messages})
            has_warning = np.array([[float(bool(messages))] for messages in warned])
            yield [
                {"cell": name, "system": system, "trials": size, "fault": "", "datasets": datasets}
                | {"kinds": "; ".join(kinds)}
                | mean(has_warning, "warned")
            ]
    for fault, words in _KINDS.items():
        name = f"data_warnings/{fault}"
        if not is_wanted(name):
            continue
        rng = stream(seed, name)
        is_detected = [
            any(words in message for message in warnings_of(planted(fault, rng)))
            for _ in range(max(1, datasets // 6))
        ]
        hits = np.array([[float(is_hit)] for is_hit in is_detected])
        yield [
            {"cell": name, "system": "V2", "trials": FAULTED_SIZE, "fault": fault}
            | {"datasets": len(is_detected), "kinds": ""}
            | mean(hits, "warned")
        ]


def sound_list(system: str, size: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draw a list without a fault, as arguments of an audit."""
    trials = corpora.voxceleb(system)
    rows = np.concatenate(
        [
            rng.choice(np.flatnonzero(trials.target == is_target), size // 2, replace=False)
            for is_target in (True, False)
        ]
    )
    rows = rng.permutation(rows)
    first_speaker, second_speaker, target = (
        trials.first_speaker[rows],
        trials.second_speaker[rows],
        trials.target[rows],
    )
    threshold = real.threshold(trials, "fpr", FPR, np.ones(trials.target.size, dtype=bool))
    # recordings are not in the scores as read: each trial has two of its own
    side = [[f"s{speaker}/{n}{letter}" for n, speaker in enumerate(side_speakers)]
            for letter, side_speakers in (("a", first_speaker), ("b", second_speaker))]  # fmt: skip
    score = trials.score[rows]
    frame = pl.DataFrame(
        {
            "enrol": side[0],
            "test": side[1],
            "score": np.where(rng.random(size) < MISSING, np.nan, score),
            "label": target.astype(np.int64),
            "decision": np.where(score >= threshold, "accept", "reject"),
            "day": rng.permutation(np.arange(size) % DAYS).astype(str),
        }
    ).with_columns(pl.col("score").fill_nan(None))
    frame = frame.with_columns(decision=pl.when(pl.col("score").is_not_null()).then("decision"))
    ids = np.unique(np.concatenate([first_speaker, second_speaker]))
    speakers = pl.DataFrame(
        {
            "speaker": [f"s{speaker}" for speaker in ids],
            "group": rng.choice(["f", "m"], ids.size),
            "nation": rng.choice(["India", "UK", "USA"], ids.size),
            "age": rng.integers(18, 60, ids.size).astype(str),
        }
    )
    names = [*side[0], *side[1]]
    utterances = pl.DataFrame(
        {"utterance": names, "device": rng.choice(["phone", "web"], len(names))}
    )
    return {
        "scores": frame,
        "speakers": speakers,
        "utterances": utterances,
        "by": ["group", "nation"],
        "operating_points": [f"threshold={threshold!r}"],
    }


def planted(fault: str, rng: np.random.Generator) -> dict[str, Any]:
    """Plant a fault into a list that is sound without it."""
    arguments = sound_list("V2", FAULTED_SIZE, rng)
    changed = _with_wrong_people(fault, arguments, rng)
    return _with_wrong_trials(fault, arguments, rng) if changed is None else changed


def _with_wrong_people(
    fault: str, arguments: dict[str, Any], rng: np.random.Generator
) -> dict[str, Any] | None:
    """Plant a fault into attributes of speakers or recordings; None for any other fault."""
    speakers = arguments["speakers"]
    if fault == "two spellings":
        again = speakers.head(3).with_columns(speaker=pl.col("speaker").str.to_uppercase())
        arguments["speakers"] = pl.concat([speakers, again])
    elif fault == "synonyms":
        words = pl.when(pl.Series(rng.random(speakers.height) < 0.5)).then(pl.lit("United Kingdom"))
        nation = pl.when(pl.col("nation") == "UK").then(words.otherwise(pl.lit("UK")))
        arguments["speakers"] = speakers.with_columns(nation=nation.otherwise("nation"))
    elif fault == "two codings":
        coded = pl.Series(rng.choice(["1", "2", "f", "m"], speakers.height))
        arguments["speakers"], arguments["by"] = speakers.with_columns(sex=coded), ["sex"]
    elif fault == "decades among ages":
        is_changed = pl.Series(rng.random(speakers.height) < 0.2)
        age = pl.when(is_changed).then(pl.lit("30s")).otherwise("age")
        arguments["speakers"] = speakers.with_columns(age=age)
        arguments["by"] = ["age"]
    elif fault == "device follows the group":
        owner = arguments["utterances"]["utterance"].str.split("/").list.first()
        device = owner.replace_strict(_groups_of(speakers)).replace({"f": "phone", "m": "web"})
        arguments["utterances"] = arguments["utterances"].with_columns(device=device)
    else:
        return None
    return arguments


def _with_wrong_trials(
    fault: str, arguments: dict[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """Plant a fault into trials, their scores or their decisions."""
    frame, speakers = arguments["scores"], arguments["speakers"]
    of_enrol, of_test = (
        frame[side].str.split("/").list.first().replace_strict(_groups_of(speakers))
        for side in ("enrol", "test")
    )
    is_f = of_enrol == "f"
    turned = -pl.col("score")
    if fault == "cross-group impostors only":
        arguments["scores"] = frame.filter((pl.col("label") == 1) | (of_enrol != of_test))
        arguments["by"] = ["group"]
    elif fault == "two speakers make the list":
        two_speakers = speakers["speaker"].to_list()[:2]
        names = [f"{two_speakers[n % 2]}/x{n}" for n in range(4 * FAULTED_SIZE)]
        more = frame.sample(
            4 * FAULTED_SIZE, with_replacement=True, seed=int(rng.integers(1_000_000))
        )
        more = more.with_columns(
            enrol=pl.Series(names), test=pl.Series([f"{name}y" for name in names]),
            label=pl.lit(1, dtype=pl.Int64),
        )  # fmt: skip
        arguments["scores"] = pl.concat([frame, more])
        arguments.pop("utterances")
    elif fault == "one group's scores negated":
        is_usa = frame["enrol"].str.split("/").list.first().replace_strict(
            dict(speakers.select("speaker", "nation").iter_rows())
        ) == "USA"  # fmt: skip
        arguments["scores"] = frame.with_columns(
            score=pl.when(is_usa).then(turned).otherwise("score")
        ).drop("decision")
    elif fault == "30 % of scores negated":
        is_negated = pl.Series(rng.random(frame.height) < 0.3)
        arguments["scores"] = frame.with_columns(
            score=pl.when(is_negated).then(turned).otherwise("score")
        ).drop("decision")
    elif fault == "both orders differ":
        back = frame.select(
            pl.col("test").alias("enrol"), pl.col("enrol").alias("test"),
            pl.col("score") + 0.1, "label", "decision", "day",
        )  # fmt: skip
        arguments["scores"] = pl.concat([frame, back.sample(fraction=0.5, seed=1)])
    elif fault == "trials repeated":
        arguments["scores"] = pl.concat([frame, frame.sample(fraction=0.5, seed=1)])
    elif fault == "one day's decisions swapped":
        swapped = pl.col("decision").replace({"accept": "reject", "reject": "accept"})
        arguments["scores"] = frame.with_columns(
            decision=pl.when(pl.col("day") == "2").then(swapped).otherwise("decision")
        )
        arguments["by"] = ["day"]
    elif fault == "scores missing in one group":
        # the lowest target scores of f, as of a system that fails on hard recordings
        low = frame.filter((pl.col("label") == 1) & is_f)["score"].quantile(0.3)
        lost = is_f & (frame["label"] == 1) & (frame["score"] < low)
        arguments["scores"] = frame.with_columns(
            score=pl.when(~lost).then("score"), decision=pl.when(~lost).then("decision")
        )
    elif fault == "same scores, rescaled":
        arguments["scores"] = {"A": frame, "B": frame.with_columns(score=3 * pl.col("score") - 1)}
        arguments["operating_points"] = ["eer"]
    else:
        arguments["operating_points"] = ["threshold=50"]
    return arguments


def _groups_of(speakers: pl.DataFrame) -> dict[str, str]:
    """Return the group of each speaker."""
    return dict(speakers.select("speaker", "group").iter_rows())


def warnings_of(arguments: dict[str, Any]) -> list[str]:
    """Return what an audit warns of; a refusal counts as a warning, too."""
    scores = arguments["scores"]
    options = {name: option for name, option in arguments.items() if name != "scores"}
    try:
        audit = pv.audit(scores, **options, intervals=False)
    except ParivoxError as error:
        return [str(error)]
    return [
        item_text(row)
        for source in (WARNING_SOURCE, MISSING_SCORES, POINT_WARNINGS)
        for row in audit.data.filter(source=source).rows()
        if row["item"] != RANGE_OF_NUMBERS
    ]
