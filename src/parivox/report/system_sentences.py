"""Sentences of the catalogue on how trials were scored, and on what the probe of a system finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parivox.report.sentence_template import SentenceTemplate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Values = Mapping[str, Any]

_COMPARISONS = {
    "cosine": "cosine",
    "dot": "inner product",
    "euclidean": "minus distance",
    "crops-euclidean": "minus mean distance of crops",
    "ecapa-published": "mean of the cosine of whole recordings and of crops",
}
"""Ways to compare vectors, by the names that users choose from."""
_REPETITIONS = {
    "repeated": "the same audio twice",
    "batched": "alone and in a batch",
    "shuffled": "in a batch of another order",
    "later": "the same audio after everything else",
    "quieter": "half as loud",
    "longer": "said twice",
    "verified_in_other_order": "in another order",
}
"""How recordings were given to a system again."""
_FAULTS = {"not_finite": "not finite", "zero": "zero"}


def _compared_by(values: Values) -> str:
    words = _COMPARISONS[values["comparison"]]
    if values["centred_on"] is not None:
        words += f", after the mean of {values['centred_on']:,} recordings was subtracted"
    return words


def _verified_by(values: Values) -> str:
    return f"{values['system']}, which {'decides' if values['decides'] else 'compares'} itself"


def _unusable(values: Values) -> str:
    return f"{values['unusable']} of {values['vectors']} vectors are {_FAULTS[values['fault']]}"


def _repeated(template: str) -> Callable[[Values], str]:
    """Return a template on recordings that were given again, after how that was done."""

    def sentence(values: Values) -> str:
        return f"{_REPETITIONS[values['repetition']]}: {template.format(**values)}"

    return sentence


def _repeated_unusable(values: Values) -> str:
    return f"{_REPETITIONS[values['repetition']]}: the vectors: {_unusable(values)}"


def _of_other_shape(values: Values) -> str:
    shape, expected = (
        f"({', '.join(map(str, values[name]))})" for name in ("shape", "expected_shape")
    )
    return f"{_REPETITIONS[values['repetition']]}: the vectors are of shape {shape}, not {expected}"


def _not_names_of_persons(values: Values) -> str:
    verb = "is not a person's name" if values["count"] == 1 else "are not names of persons"
    return f"{values['names']} {verb}"


_UNUSABLE = {"unusable": 3, "vectors": 4, "fault": "not_finite"}
SYSTEM_SENTENCES: dict[str, SentenceTemplate] = {
    # how trials were scored
    "compared_by": SentenceTemplate(_compared_by, {"comparison": "cosine", "centred_on": 500}),
    "models_averaged": SentenceTemplate(
        "a model is {averaged} averaged", {"averaged": "embeddings"}
    ),
    "s_norm": SentenceTemplate("S-norm with a cohort of {cohort:,} recordings", {"cohort": 1200}),
    "as_norm": SentenceTemplate(
        "AS-norm with the {nearest:,} nearest of a cohort of {cohort:,} recordings",
        {"nearest": 300, "cohort": 1200},
    ),
    "verified_by": SentenceTemplate(_verified_by, {"system": "my-system", "decides": True}),
    # what the probe of a system finds: vectors
    "vectors_usable": SentenceTemplate("every vector is finite and not zero"),
    "vectors_unusable": SentenceTemplate(_unusable, _UNUSABLE),
    "vectors_differ_by_voice": SentenceTemplate("different voices have different vectors"),
    "same_vector_of_all_voices": SentenceTemplate("different voices have the same vector"),
    "vectors_repeated": SentenceTemplate(
        _repeated("the vectors are the same, within {difference:.2g} of their length"),
        {"repetition": "batched", "difference": 1e-7},
    ),
    "vectors_not_repeated": SentenceTemplate(
        _repeated("the vectors differ by {difference:.2g} of their length"),
        {"repetition": "batched", "difference": 0.02},
    ),
    "vectors_stay_alike": SentenceTemplate(
        _repeated("the vectors stay similar, with a cosine of at least {cosine:.4f}"),
        {"repetition": "quieter", "cosine": 0.9921},
    ),
    "vectors_move": SentenceTemplate(
        _repeated("the vectors change, with cosines down to {cosine:.4f}"),
        {"repetition": "quieter", "cosine": 0.7034},
    ),
    "repeated_vectors_unusable": SentenceTemplate(
        _repeated_unusable, {"repetition": "later", **_UNUSABLE}
    ),
    "vectors_of_other_shape": SentenceTemplate(
        _of_other_shape, {"repetition": "batched", "shape": [4, 96], "expected_shape": [4, 192]}
    ),
    # and scores
    "scores_finite": SentenceTemplate("every score is finite"),
    "scores_not_finite": SentenceTemplate("some scores are not finite"),
    "scores_differ_by_pair": SentenceTemplate("different pairs have different scores"),
    "same_score_of_all_pairs": SentenceTemplate("every pair has the same score"),
    "scores_are_similarities": SentenceTemplate(
        "a recording is more alike to itself than to others"
    ),
    "scores_may_be_distances": SentenceTemplate(
        "a recording is not more alike to itself than to others: scores may be distances"
    ),
    "scores_repeated": SentenceTemplate(
        _repeated("the scores are the same"), {"repetition": "repeated"}
    ),
    "scores_not_repeated": SentenceTemplate(
        _repeated("the scores differ by {difference:.2g}"),
        {"repetition": "repeated", "difference": 0.02},
    ),
    "scores_move": SentenceTemplate(
        _repeated("scores move by up to {difference:.2g}, and vary by {spread:.2g} over pairs"),
        {"repetition": "quieter", "difference": 0.02, "spread": 0.3},
    ),
    # what `parivox embed`, `score` and `systems` print
    "no_fault_found": SentenceTemplate(
        "No fault found. The voices were synthetic, so this check does not show how accurate the "
        "system is"
    ),
    "faults_found": SentenceTemplate(
        "{faults} {noun}: scores of this system, and their audit, depend on more than the "
        "recordings",
        {"faults": 2, "noun": "faults"},
    ),
    "no_speakers_shown": SentenceTemplate(
        "no speakers: nothing shows the speakers of the recordings; state them {remedy}",
        {"remedy": "in a table"},
    ),
    "few_speakers_with_many_recordings": SentenceTemplate(
        "{speakers} with {recordings:,.0f} recordings each are few",
        {"speakers": 4, "recordings": 5000},
    ),
    "folders_may_not_be_speakers": SentenceTemplate(
        "the first folders of the paths may not be the speakers ({reason}), and an audit with "
        "wrong speakers is invalid; identify them with {remedy}",
        {"reason": "4 with 5,000 recordings each are few", "remedy": "--columns speaker=2"},
    ),
    "recordings_embedded": SentenceTemplate(
        "{embedded:,} of {recordings:,} recordings ({duration}) are embedded by {system} in "
        "{path}{earlier}",
        {
            "embedded": 98,
            "recordings": 100,
            "duration": "12 s",
            "system": "ge2e",
            "path": "embeddings",
            "earlier": "",
        },
    ),
    "recordings_failed": SentenceTemplate(
        "{failures:,} failed: {reasons}. An audit counts these failures: see status and reason in "
        "{path}",
        {"failures": 2, "reasons": "2 too short", "path": "embeddings/recordings.parquet"},
    ),
    "channels_differ": SentenceTemplate(
        "{recordings:,} recordings excluded, as their channels differ and no channel is chosen "
        "(first {first!r}); give --channel mix, left, right or each, or a column channel, and run "
        "the command again",
        {"recordings": 3, "first": "s1/a.wav"},
    ),
    "probe_found_fault": SentenceTemplate(
        "A probe of {system} found a fault ({check}): {fault}",
        {"system": "ge2e", "check": "padding", "fault": "scores change with silence"},
    ),
    "files_skipped": SentenceTemplate(
        "{files:,} files were skipped: their extension is not that of audio", {"files": 7}
    ),
    "duplicate_audio": SentenceTemplate(
        "{recordings:,} recordings contain the same audio as another one with another id (first "
        "{first!r} and {second!r}): a target trial of two of them compares audio with itself and "
        "shows nothing about the system",
        {"recordings": 2, "first": "s1/a.wav", "second": "s2/b.wav"},
    ),
    "earlier_recordings_stay": SentenceTemplate(
        "Recordings of earlier runs that are not among these: {recordings:,}. They stay in "
        "{path}; --prune removes them",
        {"recordings": 5, "path": "embeddings"},
    ),
    "earlier_recordings_removed": SentenceTemplate(
        "Recordings of earlier runs that are no longer named: {recordings:,}, removed from {path}",
        {"recordings": 5, "path": "embeddings"},
    ),
    "speakers_of_some_recordings_unknown": SentenceTemplate(
        "The speakers of some recordings are unknown, so recordings.parquet contains no speakers: "
        "give all speakers, or remove recordings of earlier runs with --prune"
    ),
    "store_complete": SentenceTemplate(
        "{path}: complete: {recordings:,} recordings, {embeddings:,} embeddings{crops} of "
        "{values} values by {system}",
        {
            "path": "embeddings",
            "recordings": 100,
            "embeddings": 100,
            "crops": "",
            "values": 256,
            "system": "ge2e",
        },
    ),
    "pairs_scored": SentenceTemplate(
        "All {pairs} scored, by {method}",
        {"pairs": "10,000 pairs of 200 recordings", "method": "cosine similarity"},
    ),
    "counts_written": SentenceTemplate(
        "Counts are in {path}: {size}", {"path": "counts.parquet", "size": "512 rows"}
    ),
    "speaker_counts_written": SentenceTemplate(
        "Speaker counts are in {path}: {rows:,} rows", {"path": "speakers.parquet", "rows": 1200}
    ),
    "speaker_numbers_are_personal": SentenceTemplate(
        "This file numbers speakers in the order of their table: do not share personal data"
    ),
    "trials_scored": SentenceTemplate(
        "{path}: {scored:,} of {trials:,} trials scored, by {method}",
        {"path": "scores.csv", "scored": 980, "trials": 1000, "method": "cosine similarity"},
    ),
    "failures_have_rows": SentenceTemplate(
        "Failures have rows, too: an audit counts failures by group"
    ),
    "not_names_of_persons": SentenceTemplate(
        _not_names_of_persons, {"names": "'train', 'test'", "count": 2}
    ),
}
"""Every sentence by its code."""
