"""Sentences of the catalogue on what files contain, as `parivox inspect` says it."""

from __future__ import annotations

from parivox.report.sentence_template import SentenceTemplate

INSPECTION_SENTENCES: dict[str, SentenceTemplate] = {
    # inspection
    "counts_can_be_combined": SentenceTemplate(
        "the {files} files of score counts can be combined", {"files": 3}
    ),
    "grouping_by_trial_side": SentenceTemplate(
        "by {attribute} alone, {share} of the target trials",
        {"attribute": "test.device", "share": "12 %"},
    ),
    "no_group_as_sides_differ": SentenceTemplate(
        "would be in no group, as the two sides differ; {attribute} uses one",
        {"attribute": "--by enrol.device"},
    ),
    "first_rows_described": SentenceTemplate(
        "more than {rows}, of which the first {rows} are described", {"rows": "1,000,000"}
    ),
    "hidden_rows_read": SentenceTemplate(
        "{count} hidden {noun} read like other rows", {"count": 2, "noun": "columns"}
    ),
    "ids_without_speaker": SentenceTemplate(
        "the ids do not contain the speaker{remedy}", {"remedy": ""}
    ),
    "labels_contradict_speakers": SentenceTemplate(
        "but {share} of the labels contradict that", {"share": "3.2 %"}
    ),
    "speakers_decide_labels": SentenceTemplate("none, so trials of one speaker are target trials"),
    "one_error_type_only": SentenceTemplate("only {metric} can be audited", {"metric": "FNR"}),
    "customer_without_claims": SentenceTemplate(
        "none and no claims, so column {column!r} names both the caller and the claimed customer: "
        "{counts}",
        {"column": "customer", "counts": "target 10, nontarget 90"},
    ),
    "labels_by_speakers": SentenceTemplate(
        "none, so determined by the speakers of both sides: {counts}",
        {"counts": "target 10, nontarget 90"},
    ),
    "no_small_group": SentenceTemplate(
        "nothing, as no group has fewer than {speakers} speakers", {"speakers": 5}
    ),
    "targets_score_lower": SentenceTemplate(
        "{range}; targets score lower (AUC {auc:.4g}), like distances: give --distance, or "
        "--similarity if higher scores mean the same speaker",
        {"range": "from 0.1 to 0.9", "auc": 0.03},
    ),
    "targets_score_higher": SentenceTemplate(
        "{range}; targets score higher (AUC {auc:.4g})", {"range": "from 0.1 to 0.9", "auc": 0.98}
    ),
    "table_contains_only_id": SentenceTemplate(
        "{table} contains the one {noun} of {file}",
        {"table": "people.csv", "noun": "speaker", "file": "scores.csv"},
    ),
    "table_contains_all_ids": SentenceTemplate(
        "{table} contains all {ids:,} {noun} of {file}",
        {"table": "people.csv", "ids": 40, "noun": "speakers", "file": "scores.csv"},
    ),
    "table_contains_some_ids": SentenceTemplate(
        "{table} contains {matched:,} of {ids:,} {noun} of {file}",
        {"table": "people.csv", "matched": 38, "ids": 40, "noun": "speakers", "file": "scores.csv"},
    ),
    "attribute_with_same_values": SentenceTemplate(
        "{tables}, with the same values",
        {"tables": "language is in people.csv (of speakers) and recordings.csv (of recordings)"},
    ),
    "attribute_to_choose": SentenceTemplate(
        "{tables}; where the values differ, choose one: {choices}",
        {
            "tables": "language is in people.csv (of speakers) and recordings.csv (of recordings)",
            "choices": "speaker.language or recording.language",
        },
    ),
    # inspection
    "file_cannot_be_read": SentenceTemplate("cannot be read"),
    "trials_cannot_be_read": SentenceTemplate("trials that cannot be read"),
    "each_id_is_a_speaker": SentenceTemplate("each is a speaker"),
    "give_utterances_or_models": SentenceTemplate("so give --utterances, or --models for models"),
}
"""Every sentence by its code."""
