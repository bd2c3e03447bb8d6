"""How files fit together: which ids of one file are in another, and what both contain."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from parivox.core.counts import NONTARGET, SPOOF, TARGET
from parivox.core.key_sums import count_distinct
from parivox.data.attributes import parse_attribute, unknown_cells
from parivox.data.columns import (
    MODEL_NAMES,
    SPEAKER_NAMES,
    UTTERANCE_NAMES,
    plain_name,
)
from parivox.data.ids import positions_in
from parivox.data.inspection.findings import DifferingAttribute, Join, LabelFindings, SpeakerRule
from parivox.data.inspection.tables import PLAIN_SCORES, as_enrolment_map, with_kind
from parivox.data.inspection.trials import auc_where_labelled, enrolment_prefix
from parivox.data.joining import (
    DIFFERENCES,
    ID_DIFFERENCES,
    id_difference,
    placeholders,
    speaker_pattern_hint,
)
from parivox.data.speakers import SPEAKER_ID_NAMES, Speakers, id_columns
from parivox.data.trial_checks import (
    CONFLICTS,
    DUPLICATES,
    INFINITE,
    REVERSED,
    SAME_UTTERANCE,
    SPEAKERS_IN_COLUMNS,
    SPEAKERS_IN_TABLE,
    UNSCORED,
    WITHOUT_TEST_SPEAKER,
    pair_key,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from parivox.data.inspection.findings import InspectedColumn
    from parivox.data.inspection.tables import InspectedTable
    from parivox.data.inspection.trials import InspectedTrials
    from parivox.data.trial_set import TrialSet

_MAX_EXAMPLES = 3
_COUNTED_ITEMS = frozenset(
    (
        CONFLICTS,
        DUPLICATES,
        INFINITE,
        REVERSED,
        SAME_UTTERANCE,
        UNSCORED,
        WITHOUT_TEST_SPEAKER,
    )
)
"""What an audit counts, whatever the rows of one file seem to be."""
_MAJORITY = 0.5
_MAX_CONFLICT_SHARE = 0.1
"""Share of trials of a class that may contradict the speakers: single labels may be wrong."""
_LEADING_ZEROS = r"^0+(.)"
_DIFFERENCES = {
    "they differ in upper and lower case": DIFFERENCES["in upper and lower case"],
    "leading zeros are missing on one side, as spreadsheets drop them": lambda ids: ids.str.replace(
        _LEADING_ZEROS, "$1"
    ),
    "one side contains them as numbers with decimals": lambda ids: ids.str.replace(
        r"^(\d+)[.,]0+$", "$1"
    ).str.replace(_LEADING_ZEROS, "$1"),
    **{f"they differ {difference}": change for difference, change in DIFFERENCES.items()},
}


def settle_kinds(
    trials: Sequence[InspectedTrials], tables: Sequence[InspectedTable]
) -> list[InspectedTable]:
    """Return the tables as the kinds that the ids of the trials show them to be.

    Column names distinguish tables of utterances from those of speakers only if they are known. In
    a table of speakers, the column with most of the speakers is the one of their ids.
    """
    if not trials:
        return list(tables)
    ids = pl.concat([inspected.ids for inspected in trials]).unique(maintain_order=True)
    all_speakers = pl.concat([inspected.speaker for inspected in trials])
    named_speakers = all_speakers.drop_nulls().unique(maintain_order=True)
    rules = [inspected.findings.speaker_rule for inspected in trials]
    # the guess that ids are speakers counts only if labels confirm it
    are_speakers = any(
        rule is not None and (rule.rule != "id" or rule.conflict_share == 0) for rule in rules
    )
    settled = []
    enrolments, tests = (
        pl.concat([file.ids.gather(np.unique(getattr(file.rows, side))) for file in trials])
        for side in ("enrol", "test")
    )
    for inspected in tables:
        table = _as_people(inspected, named_speakers)
        other_ids = [
            other_table.distinct(column)
            for other_table in tables
            if other_table is not inspected
            for column in other_table.roles.values()
        ]
        speaker_ids = pl.concat(other_ids) if other_ids else pl.Series(dtype=pl.String)
        enrolment_map = as_enrolment_map(table, enrolments, tests, speaker_ids)
        if enrolment_map is not None:
            settled.append(enrolment_map)
            continue
        if table.findings.kind == "speakers":
            column, share = _id_column(ids, table, UTTERANCE_NAMES)
            _, share_of_speakers = _id_column(named_speakers, table, SPEAKER_ID_NAMES)
            is_unclear = plain_name(column) not in SPEAKER_NAMES and not are_speakers
            is_refused = bool(table.findings.problems)  # as a speaker with several rows is
            if share > share_of_speakers or (share and (is_unclear or is_refused)):
                settled.append(with_kind(table, "utterances", {"utterance": column}))
                continue
        settled.append(table)
    needed = pl.concat(
        [speakers_of_ids(inspected, settled)[0] for inspected in trials]
    ).drop_nulls()
    needed = needed.unique(maintain_order=True)
    for index, table in enumerate(settled):
        if table.findings.kind == "speakers":
            column, share = _id_column(needed, table, SPEAKER_ID_NAMES)
            if share and table.roles.get("speaker") != column:
                settled[index] = with_kind(table, "speakers", {"speaker": column})
    return settled


def _as_people(table: InspectedTable, speakers: pl.Series) -> InspectedTable:
    """Return scores without ids as a table of speakers if a column contains ids of speakers."""
    if table.findings.kind != PLAIN_SCORES or len(table.columns) <= len(table.roles):
        return table
    column, _ = _id_column(speakers, table, SPEAKER_ID_NAMES)
    return with_kind(table, "speakers", {"speaker": column}) if column else table


def find_joins(
    trials: Sequence[InspectedTrials], tables: Sequence[InspectedTable]
) -> Iterator[Join]:
    """Yield every join of these files that an audit would make."""

    def tables_of(kind: str) -> list[InspectedTable]:
        return [table for table in tables if table.findings.kind == kind]

    lists = [inspected for inspected in trials if inspected.findings.kind == "trials"]
    scored = [inspected for inspected in trials if inspected.findings.kind == "scores"]
    for inspected in scored:
        for trial_list in lists:
            yield from _pair_joins(inspected, trial_list)
    for inspected in scored or lists:
        yield from _joins_of_trials(
            inspected, tables_of("utterances"), tables_of("models"), tables_of("speakers")
        )
    yield from _joins_of_role("recording", tables_of("models"), tables_of("utterances"))
    yield from _joins_of_failures(
        tables_of("failures"), tables_of("utterances"), tables_of("models")
    )
    if not trials:
        yield from _joins_of_role(
            "speaker", tables_of("utterances") + tables_of("models"), tables_of("speakers")
        )


def _joins_of_trials(
    trials: InspectedTrials,
    utterances: Sequence[InspectedTable],
    models: Sequence[InspectedTable],
    speakers: Sequence[InspectedTable],
) -> Iterator[Join]:
    """Look up the ids of trials in the tables of utterances, models and speakers."""
    recordings = trials.ids
    if models:
        enrol, recordings = (
            trials.ids.gather(np.unique(side)) for side in (trials.rows.enrol, trials.rows.test)
        )
        for table in models:
            yield _lookup("enrolments", trials.findings.name, enrol, table)
    for table in utterances:
        yield _lookup("utterances", trials.findings.name, recordings, table)
    for table in speakers:
        yield _join_of_speakers(trials, recordings, (*utterances, *models), table)


def _joins_of_role(
    role: str, holders: Sequence[InspectedTable], tables: Sequence[InspectedTable]
) -> Iterator[Join]:
    """Look up the cells of the columns of one role."""
    for holder in holders:
        if (cells := holder.cells(role)) is not None:
            for table in tables:
                yield _lookup(f"{role}s", holder.findings.name, cells, table)


def _joins_of_failures(
    failure_tables: Sequence[InspectedTable],
    utterances: Sequence[InspectedTable],
    models: Sequence[InspectedTable],
) -> Iterator[Join]:
    """Look up failures: those of enrolments in the models, all others in the recordings."""
    for failures in failure_tables:
        if "recording" not in failures.roles:
            continue
        cells = failures.distinct(failures.roles["recording"])
        for table in models:
            if (model_ids := table.cells("model")) is not None:
                is_model = cells.is_in(model_ids.implode())
                if is_model.any():
                    yield _lookup(
                        "enrolments", failures.findings.name, cells.filter(is_model), table
                    )
                cells = cells.filter(~is_model)
        if not len(cells):
            continue
        for table in utterances:
            yield _lookup("recordings", failures.findings.name, cells, table)


def _id_column(needed: pl.Series, table: InspectedTable, names: Sequence[str]) -> tuple[str, float]:
    """Return the column of these ids that an audit would choose, and the share that it contains."""
    columns, shares = id_columns(needed, table.table.select(table.columns), names)
    return (columns[0], shares[columns[0]]) if columns else ("", 0.0)


def _lookup(id_kind: str, file_name: str, ids: pl.Series, table: InspectedTable) -> Join:
    """Look up ids in the column of a table that contains most of them."""
    role, names = {
        "utterances": ("utterance", UTTERANCE_NAMES),
        "models": ("model", MODEL_NAMES),
        "speakers": ("speaker", SPEAKER_ID_NAMES),
    }[table.findings.kind]
    column, share = _id_column(ids, table, names)
    if not share:
        column = table.roles.get(role, "")
    has_column = share or column  # a column with ids may have an empty name
    cells = table.distinct(column) if has_column else pl.Series([], dtype=pl.String)
    if role == "speaker":
        listed = cells.implode()
        ids = ids.filter(ids.is_in(listed) | ~ids.is_in(placeholders()))
    is_found = ids.is_in(cells.implode())
    missing = ids.filter(~is_found)
    return Join(
        kind=id_kind,
        id_file=file_name,
        target_file=table.findings.name,
        column=column,
        matched=int(is_found.sum()),
        count=len(ids),
        missing=tuple(missing.head(_MAX_EXAMPLES).to_list()),
        pattern=_common_difference(missing, cells),
    )


def _common_difference(missing: pl.Series, cells: pl.Series) -> str:
    """Return the difference of notation that explains most of the missing ids; empty if none."""
    if not len(missing):
        return ""
    for description, change in _DIFFERENCES.items():
        changed_missing, changed_cells = (
            ids.to_frame("id").select(change(pl.col("id")))["id"] for ids in (missing, cells)
        )
        explained_share = changed_missing.is_in(changed_cells.implode()).mean() or 0.0
        if explained_share > _MAJORITY:  # type: ignore[operator]
            return description
    return ""


def _join_of_speakers(
    trials: InspectedTrials,
    recordings: pl.Series,
    tables: Sequence[InspectedTable],
    table: InspectedTable,
) -> Join:
    """Look up the speakers of trials in a table; try patterns of ids if most are missing."""
    speakers_known, by_table = speakers_of_ids(trials, tables)
    needed = speakers_known.drop_nulls().unique(maintain_order=True)
    join = _lookup("speakers", trials.findings.name, needed, table)
    is_component = (
        trials.findings.speaker_rule is not None and trials.findings.speaker_rule.rule != "columns"
    )
    if join.pattern or by_table.any() or not is_component or join.matched > _MAJORITY * join.count:
        return join
    provenance = table.provenance
    speakers = Speakers(
        table.table, name=str(provenance["name"]), id=None, conflicts="error", provenance=provenance
    )
    share = join.matched / max(join.count, 1)
    pattern, templates = speaker_pattern_hint(
        recordings,
        speakers,
        share,
        contradicts=lambda names: _contradict(names, recordings, trials),
    )
    template = templates[0] if templates else ""
    return replace(join, pattern=pattern, template=template, further_templates=templates[1:])


def _contradict(names: pl.Series, ids: pl.Series, trials: InspectedTrials) -> bool:
    """Return whether the speakers of some ids contradict the labels of one of the two classes."""
    known = pl.DataFrame({"id": ids, "speaker": names})
    speaker = pl.DataFrame({"id": trials.ids}).join(
        known, on="id", how="left", maintain_order="left"
    )["speaker"]
    enrol, test = speaker.gather(trials.rows.enrol), speaker.gather(trials.rows.test)
    is_same = enrol == test  # null where a speaker is unknown
    for class_code, is_right in ((TARGET, is_same), (NONTARGET, ~is_same)):
        are_right = is_right.filter(pl.Series(trials.rows.label == class_code)).drop_nulls()
        if len(are_right) and 1 - float(are_right.sum()) / len(are_right) > _MAX_CONFLICT_SHARE:
            return True
    return False


def _pair_joins(trials: InspectedTrials, trial_list: InspectedTrials) -> Iterator[Join]:
    """Look up the trials of a list in scores, and the reverse if any is missing."""
    findings, list_findings = trials.findings, trial_list.findings
    if not (findings.whole and list_findings.whole):
        is_found = trial_list.ids.is_in(trials.ids.implode())
        # of files that are inspected in part, only ids can be compared
        yield Join(
            kind="utterances",
            id_file=list_findings.name,
            target_file=findings.name,
            column="",
            matched=int(is_found.sum()),
            count=len(is_found),
            missing=tuple(trial_list.ids.filter(~is_found).head(_MAX_EXAMPLES)),
        )
        return
    ids, *keys = _pair_keys(trials, trial_list)
    (scored, _), (listed, _) = map(count_distinct, keys)
    n_common = np.intersect1d(scored, listed, assume_unique=True).size
    pattern = ""
    if 2 * n_common < min(scored.size, listed.size):
        difference = id_difference(trials.scan, trial_list.scan)
        pattern = ID_DIFFERENCES[difference] if difference else ""
    for searched, target, searched_keys, target_keys in (
        (list_findings, findings, listed, scored),
        (findings, list_findings, scored, listed),
    ):
        if searched is list_findings or n_common < searched_keys.size:
            missing = _pair_texts(np.setdiff1d(searched_keys, target_keys, assume_unique=True), ids)
            yield Join(
                kind="trials",
                id_file=searched.name,
                target_file=target.name,
                column="",
                matched=n_common,
                count=searched_keys.size,
                missing=missing,
                pattern=pattern,
            )


def _pair_texts(keys: NDArray[np.int64], ids: pl.Series) -> tuple[str, ...]:
    """Return the first of some pairs for messages, enrolment before test."""
    low, high = np.divmod(keys[: _MAX_EXAMPLES - 1] // 2, len(ids))
    is_reversed = keys[: _MAX_EXAMPLES - 1] % 2 == 1
    enrol, test = np.where(is_reversed, (high, low), (low, high)).tolist()
    return tuple(
        f"({ids[enrol_position]}, {ids[test_position]})"
        for enrol_position, test_position in zip(enrol, test, strict=True)
    )


def speakers_of_ids(
    trials: InspectedTrials, tables: Sequence[InspectedTable]
) -> tuple[pl.Series, pl.Series]:
    """Return the speaker of each id, null if a table lacks it, and whether a table gives it."""
    speaker = trials.speaker
    by_table = pl.repeat(False, len(trials.ids), dtype=pl.Boolean, eager=True)
    for table in tables:
        id_role = {"utterances": "utterance", "models": "model"}.get(table.findings.kind, "")
        known_speakers = _speakers_in_table(table, tables) if id_role in table.roles else None
        if known_speakers is None:
            continue
        frame = pl.DataFrame({"id": trials.ids, "own": speaker})
        table_speakers = frame.join(known_speakers, on="id", how="left", maintain_order="left")[
            "theirs"
        ]
        if table_speakers.null_count() < len(table_speakers):
            # a first table of utterances replaces what ids seem to say; others add to it
            if id_role == "model" or by_table.any():
                speaker = table_speakers.fill_null(speaker)
            else:
                speaker = table_speakers
            by_table |= table_speakers.is_not_null()
    return speaker, by_table


def _speakers_in_table(
    table: InspectedTable, tables: Sequence[InspectedTable]
) -> pl.DataFrame | None:
    """Return the speaker of each id of a table; of a model without one, that of its recording."""
    roles = table.roles
    id_column = roles.get("model") or roles["utterance"]
    if "speaker" in roles:
        return table.table.select(id=id_column, theirs=roles["speaker"]).unique("id")
    for other_table in tables:
        other_roles = other_table.roles
        if "recording" in roles and {"utterance", "speaker"} <= set(other_roles):
            recording_speakers = other_table.table.select(
                recording=other_roles["utterance"], theirs=other_roles["speaker"]
            )
            model_recordings = table.table.select(id=id_column, recording=roles["recording"])
            joined = model_recordings.join(
                recording_speakers.unique("recording"), on="recording", maintain_order="left"
            )
            return joined.select("id", "theirs").unique("id", keep="first", maintain_order=True)
    return None


def _pair_keys(
    trials: InspectedTrials, trial_list: InspectedTrials
) -> tuple[pl.Series, NDArray[np.int64], NDArray[np.int64]]:
    """Return the ids of two files, and for each row of either a number for its pair of ids."""
    all_ids = pl.concat((trials.ids, trial_list.ids)).unique(maintain_order=True)
    keys = []
    for inspected in (trials, trial_list):
        positions = positions_in(inspected.ids, all_ids)
        keys.append(
            pair_key(positions[inspected.rows.enrol], positions[inspected.rows.test], len(all_ids))
        )
    return all_ids, keys[0], keys[1]


def add_labels(trials: Sequence[InspectedTrials]) -> list[InspectedTrials]:
    """Return the trials, with labels of a list for scores without labels."""
    labelled_lists = [
        inspected
        for inspected in trials
        if inspected.findings.kind == "trials" and inspected.findings.labels is not None
    ]
    completed = []
    for inspected in trials:
        findings = inspected.findings
        if (
            findings.kind != "scores"
            or findings.labels is not None
            or not inspected.rows.enrol.size
            or not labelled_lists
        ):
            completed.append(inspected)
            continue
        label = _labels_of_list(inspected, labelled_lists[0])
        completed.append(_with_labels(inspected, label, labelled_lists[0].findings.name))
    return completed


def _with_labels(
    trials: InspectedTrials, label: NDArray[np.int8], label_source: str
) -> InspectedTrials:
    """Return trials with these labels, and with the AUC that they give the scores."""
    scores = trials.findings.scores
    if scores is not None:
        scores = replace(scores, auc=auc_where_labelled(trials.rows.score, label))
    n_target, n_nontarget, n_spoof = (
        int((label == class_code).sum()) for class_code in (TARGET, NONTARGET, SPOOF)
    )
    labels = LabelFindings(n_target, n_nontarget, label_source, n_spoof)
    findings = replace(trials.findings, labels=labels, scores=scores)
    return replace(trials, findings=findings, rows=trials.rows._replace(label=label))


def _labels_of_list(trials: InspectedTrials, trial_list: InspectedTrials) -> NDArray[np.int8]:
    """Return the label of each trial in a list, -1 if the list lacks the trial."""
    _, keys, list_keys = _pair_keys(trials, trial_list)
    if not list_keys.size:
        return np.full(keys.size, -1, dtype=np.int8)
    order = np.argsort(list_keys)
    list_index = order[np.searchsorted(list_keys, keys, sorter=order).clip(max=list_keys.size - 1)]
    is_listed = list_keys[list_index] == keys
    return np.where(is_listed, trial_list.rows.label[list_index], -1).astype(np.int8)


def as_read(inspected: InspectedTrials, trials: TrialSet) -> InspectedTrials:
    """Return trials with what an audit counts, the speakers that it finds, and labels by these."""
    counts = {note.item: note.count for note in trials.data_notes if note.source == "scores"}
    warnings = [
        replace(warning, count=counts[warning.what]) if warning.what in _COUNTED_ITEMS else warning
        for warning in inspected.findings.warnings
        if warning.what not in _COUNTED_ITEMS or warning.what in counts
    ]
    rule = _speaker_rule_as_read(inspected, trials)
    findings = replace(inspected.findings, speaker_rule=rule, warnings=tuple(warnings))
    return _with_labels_as_read(replace(inspected, findings=findings), trials)


def _speaker_rule_as_read(inspected: InspectedTrials, trials: TrialSet) -> SpeakerRule | None:
    """Return what gives the speakers of an audit; columns of the file, before tables and ids."""
    rule = inspected.findings.speaker_rule
    if rule is None:
        return None
    items = {note.item for note in trials.data_notes}
    n_speakers = trials.speakers_in_use.size
    if SPEAKERS_IN_COLUMNS not in items and SPEAKERS_IN_TABLE in items:
        has_labels = inspected.findings.labels is not None
        return SpeakerRule("table", n_speakers, 0.0 if has_labels else None)
    return replace(rule, speakers=n_speakers)


def _with_labels_as_read(inspected: InspectedTrials, trials: TrialSet) -> InspectedTrials:
    """Return trials without labels with those that an audit gives them by their speakers."""
    labels = inspected.findings.labels
    if (labels is not None and labels.source != "speakers") or not inspected.rows.enrol.size:
        return inspected
    ids, n_models = trials.utterance_ids.series(), trials.n_models
    names = inspected.ids
    if prefix := enrolment_prefix(inspected.scan.columns):
        names = names.str.strip_prefix(prefix)
    speaker = np.append(trials.utterance_speaker, np.int32(-1))  # position -1 is of no id
    enrol_position = positions_in(names, ids[:n_models] if n_models else ids)
    test_position = positions_in(inspected.ids, ids[n_models:])
    test_position = np.where(test_position < 0, -1, test_position + n_models)
    enrol = speaker[enrol_position][inspected.rows.enrol]
    test = speaker[test_position][inspected.rows.test]
    label = np.where((enrol < 0) | (test < 0), -1, enrol == test).astype(np.int8)
    return _with_labels(inspected, label, "speakers") if (label >= 0).any() else inspected


def differing_attributes(
    trials: InspectedTrials, tables: Sequence[InspectedTable]
) -> Iterator[tuple[InspectedColumn, DifferingAttribute]]:
    """Yield attributes of recordings that differ between the sides of most target trials."""
    rows = trials.rows.label == 1
    models = [table for table in tables if table.findings.kind == "models"]
    for table in tables:
        if table.findings.kind != "utterances" or "utterance" not in table.roles:
            continue
        for column in table.findings.columns:
            if column.groups:
                code = _attribute_codes(trials, table, column, models)
                enrol, test = code[trials.rows.enrol[rows]], code[trials.rows.test[rows]]
                is_known = (enrol >= 0) & (test >= 0)
                share = float((enrol != test)[is_known].mean()) if is_known.any() else 0.0
                if share > _MAJORITY:
                    yield (
                        column,
                        DifferingAttribute(column.grouping, f"test.{column.grouping}", share),
                    )


def _attribute_codes(
    trials: InspectedTrials,
    table: InspectedTable,
    column: InspectedColumn,
    models: Sequence[InspectedTable],
) -> NDArray[np.int64]:
    """Return the group of each id by an attribute of its recording.

    A model has a group if all of its recordings have the same one; -1 means none.
    """
    cell, roles = pl.col(column.name), table.roles
    values = (
        table.table.filter(~unknown_cells(cell))
        .select(id=roles["utterance"], value=cell)
        .unique("id")
    )
    for model in models:
        model_roles = model.roles
        if {"model", "recording"} <= set(model_roles):
            recordings_of_models = model.table.select(
                id=model_roles["recording"], model=model_roles["model"]
            )
            model_values = (
                recordings_of_models.join(values, on="id")
                .group_by("model")
                .agg(pl.col("value").unique())
            )
            model_values = model_values.filter(pl.col("value").list.len() == 1)
            values = pl.concat(
                (values, model_values.select(id="model", value=pl.col("value").list.first()))
            )
    ids = pl.DataFrame({"id": trials.ids})
    value = ids.join(values.unique("id"), on="id", how="left", maintain_order="left")["value"]
    bands = parse_attribute(column.grouping).bands if column.bands else None
    if bands is not None:
        return bands.band_indices(
            bands.parse_cells(value.to_list(), column.grouping, table.findings.name)
        ).astype(np.int64)
    return (value.rank("dense").cast(pl.Int64) - 1).fill_null(-1).to_numpy()
