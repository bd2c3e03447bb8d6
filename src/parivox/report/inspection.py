"""Inspections in the terminal: the command to type next, how files fit together, then each file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Any

from parivox.data.columns import is_call_log, only_customer_column
from parivox.data.formats import FORMATS
from parivox.data.formats.delimited import COMMENT_LINES, SPANNING_RECORDS
from parivox.errors import printable
from parivox.facts import CODE_JOINT, facts_of_cell
from parivox.report.catalogue import cell_text, sentence_text
from parivox.report.words import STYLES, count_of, terminal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.inspection.findings import (
        CountsFindings,
        FileFindings,
        InspectedColumn,
        Inspection,
        Join,
        SharedAttribute,
    )
    from parivox.data.value_warnings import DataWarning

_KIND_DESCRIPTIONS = {
    "scores": "scores of trials",
    "trials": "a trial list without scores",
    "speakers": "a table of speakers",
    "utterances": "a table of utterances",
    "models": "a table of enrolment models",
    "failures": "a table of failures",
    "scores without ids": "scores without ids of speakers",
    "counts": "score counts of parivox count",
    "tally": "speaker counts of parivox count --key, which belong to score counts",
    "groups": "a groups file for --groups",
    "searches": "searches of identification",
    "unknown": "neither trials nor a table of a known kind",
}
_OTHER_FORMATS = {"dataframe": "a dataframe", "yaml": "YAML", "kaldi": "Kaldi's files"}
_SEPARATORS = {" ": "blanks", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_LEVEL_NOUNS = {"speaker": "speakers", "recording": "recordings", "trial": "trials"}
_MISSING_FILES = {
    "PERSONS": "a table of the enrolled persons",
    "SCORES": "the file with the scores of these trials",
    "TRIALS": "a trial list of these recordings",
    "AUDIT": "the folder of an audit",
    "TARGET": "the scores of target trials",
    "NONTARGET": "the scores of nontarget trials",
    "PEOPLE": "a table of the speakers with their attributes",
    "ATTRIBUTE": "one of these attributes",
    "RECORDINGS": "a table of the recordings with the speaker of each",
}
_FEW_SCORES, _MANY_ROWS = 50, 1000
"""So few different scores in so many rows are worth a remark: they may be rounded."""
_MAX_NAMED_GROUPS = 6
_CHANCE_AUC = 0.5


def print_inspection(inspection: Inspection) -> None:
    """Print the inspection: with colours in a terminal, plain lines elsewhere."""
    if not sys.stdout.isatty():
        sys.stdout.writelines(f"{line}\n" for line in plain_lines(inspection))
        return
    from rich.text import Text  # noqa: PLC0415 - for terminals only

    styles = {"": "bold", "data warning": "bold", "note": "bold", "problem": STYLES["worse"]}
    styles |= dict.fromkeys(("next", "once fixed"), STYLES["better"])
    console = terminal()
    for label, words in labelled_lines(inspection):
        style = styles.get(label, "")
        text = Text(f"  {label}: ", style=style) if label else Text(words, style=style)
        # a command is left to the terminal to wrap, so that it can be copied whole
        is_command = label in {"next", "once fixed"}
        console.print(text.append(words, style="") if label else text, soft_wrap=is_command)


def plain_lines(inspection: Inspection) -> Iterator[str]:
    """Return the lines as plain text, those below a file indented."""
    return (
        f"  {label}: {words}" if label else words for label, words in labelled_lines(inspection)
    )


def to_json(inspection: Inspection) -> str:
    """Return the findings as JSON, data warnings as codes with values and in words."""
    contents = asdict(inspection)
    contents["warnings"] = [*map(_warning_entry, inspection.warnings)]
    for entry, inspected in zip(contents["files"], inspection.files, strict=True):
        entry["warnings"] = [*map(_warning_entry, inspected.warnings)]
        for column_entry, column in zip(entry["columns"], inspected.columns, strict=True):
            column_entry["warnings"] = [*map(_warning_entry, column.warnings)]
    return json.dumps(contents, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _warning_entry(warning: DataWarning) -> dict[str, Any]:
    """Return a data warning as the table of data has it, with its sentence."""
    facts = [facts_of_cell(cell) for cell in (warning.what, warning.note)]
    item, note = (CODE_JOINT.join(fact.code for fact in cell_facts) for cell_facts in facts)
    return {
        "item": item,
        "count": warning.count,
        "note": note,
        "values": {fact.code: dict(fact.values) for fact in chain(*facts) if fact.values},
        "sentence": _warning_text(warning),
    }


def labelled_lines(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Yield the lines to print: what each is about, empty where a file begins, and its words."""
    # files of trials whose ids are in a table of utterances or enrolments
    files_with_table = {
        join.id_file for join in inspection.joins if join.kind in {"utterances", "enrolments"}
    }
    n_problems = len(inspection.problems) + sum(
        len(inspected.problems) for inspected in inspection.files
    )
    problems = count_of(n_problems, "problem") if n_problems else "no problem"
    all_lines = [
        ("", f"{problems} found"),
        *_next_command_lines(inspection, n_problems),
        *_joint_lines(inspection),
    ]
    for inspected in inspection.files:
        all_lines += _file_lines(inspected, has_table=inspected.name in files_with_table)
    for label, words in all_lines:
        yield label, printable(words)


def _joint_lines(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Yield how the files fit together."""
    names = [inspected.name for inspected in inspection.files]
    short_names = {name: name.rpartition("/")[2] or name for name in names}
    # files of one name are told apart by their folders
    if len(set(short_names.values())) < len(short_names):
        short_names = {name: name for name in names}
    for join in inspection.joins:
        yield "join", _join_text(join, short_names)
    counts_files = [inspected for inspected in inspection.files if inspected.kind == "counts"]
    has_problems = inspection.problems or any(inspected.problems for inspected in counts_files)
    if len(counts_files) > 1 and not has_problems:
        yield "join", sentence_text("counts_can_be_combined", files=len(counts_files))
    for shared in inspection.shared:
        yield "twice", _shared_attribute_text(shared, short_names)
    for problem in inspection.problems:
        yield "problem", problem
    if inspection.warnings:
        yield "data warning", "; ".join(map(_warning_text, inspection.warnings))


def _next_command_lines(inspection: Inspection, n_problems: int) -> Iterator[tuple[str, str]]:
    """Yield the command to type next, which files are missing in it, and why it is so."""
    if not inspection.next:
        return
    yield "once fixed" if n_problems else "next", inspection.next
    missing = [
        f"{word} is {_MISSING_FILES[word]}"
        for word in inspection.next.split()
        if word in _MISSING_FILES
    ]
    if missing:
        yield "where", f"{'; '.join(missing)} (still to be given)"
    for difference in inspection.differing:
        share = _percent_text(difference.share)
        words = sentence_text("grouping_by_trial_side", attribute=difference.grouping, share=share)
        words += " " + sentence_text("no_group_as_sides_differ", attribute=difference.instead)
        yield "why", f"{words} side, also for --within"


def _file_lines(inspected: FileFindings, *, has_table: bool) -> Iterator[tuple[str, str]]:
    """Yield what a file is, and what was found in it."""
    yield "", f"{inspected.name}: {_file_headline(inspected)}"
    is_table = inspected.kind not in {"scores", "trials"}
    if inspected.counted is not None:
        yield from _count_file_lines(inspected, inspected.counted)
    elif inspected.rows:
        if inspected.ids:
            id_texts = [
                _ids_text(inspected, is_table=is_table),
                _speaker_source_text(inspected, has_table=has_table),
            ]
            yield "ids", "; ".join(filter(None, id_texts))
        for label, words in (
            ("labels", _labels_text(inspected)),
            ("scores", _scores_text(inspected)),
        ):
            if words:
                yield label, words
    if inspected.groups:
        yield "groups of", _groupings_text(inspected.groups, "group")
    if inspected.groupings:
        yield "groupings", ", ".join(inspected.groupings)
    yield from _column_lines(inspected, is_table=is_table)
    if warnings := list(_warning_texts(inspected)):
        yield "note", "; ".join(warnings)
    for problem in inspected.problems:
        yield "problem", problem


def _column_lines(inspected: FileFindings, *, is_table: bool) -> Iterator[tuple[str, str]]:
    """Yield the columns that have a role or are not read, and those that can make groups."""
    other_columns = [column for column in inspected.columns if column.role or not column.groups]
    if not is_table:
        other_columns = [column for column in other_columns if column.role]
    elif inspected.ids:  # the ids have a line of their own
        kinds = {id_kind.kind.removesuffix("s") for id_kind in inspected.ids}
        other_columns = [column for column in other_columns if column.role not in kinds]
    words = [_column_text(column) for column in other_columns]
    words += [f"{column} (not read)" for column in inspected.ignored]
    if words:
        yield "columns", ", ".join(words)
    grouping_columns = [column for column in inspected.columns if column.groups]
    if grouping_columns:
        yield "can be grouped by", ", ".join(map(_column_text, grouping_columns))


def _warning_texts(inspected: FileFindings) -> Iterator[str]:
    """Return the data warnings of a file and of its columns."""
    warnings = [*inspected.warnings]
    for column in inspected.columns:
        warnings += column.warnings
    return map(_warning_text, warnings)


def _warning_text(warning: DataWarning) -> str:
    """Return what is unusual, how often, and an example or a remark."""
    words = cell_text(warning.what)
    if warning.count:
        words = f"{words}: {warning.count:,}"
    return f"{words} ({cell_text(warning.note)})" if warning.note else words


def _file_headline(inspected: FileFindings) -> str:
    """Return what a file is: its kind, format, roles of columns and rows."""
    words = inspected.description or _KIND_DESCRIPTIONS[inspected.kind]
    is_trials = inspected.kind in {"scores", "trials"}
    if inspected.kind == "unknown" and len(inspected.problems) == 1 and not inspected.description:
        return sentence_text("file_cannot_be_read")
    if is_trials and not inspected.rows:
        words = sentence_text("trials_cannot_be_read")
    elif inspected.kind == "scores" and "score" not in (inspected.roles or {}):
        words = "decisions on trials"
    if is_trials and is_call_log(inspected.roles or {}):
        words += ", one call per row"
    if inspected.counted is not None and inspected.counted.system:
        words += f", of {inspected.counted.system}"
        words += f" on {inspected.counted.list}" if inspected.counted.list else ""
    if (
        inspected.format
        and (inspected.format != "delimited" or is_trials)
        and inspected.kind != "counts"
    ):
        words += f", in {_format_text(inspected)}"
    facts = list(_fact_texts(inspected.read or {}))
    if facts:
        words += f" ({', '.join(facts)})"
    if is_trials and inspected.roles:
        words += f": {', '.join(_role_texts(inspected.roles))}"
    return words + _row_count_text(inspected)


def _row_count_text(inspected: FileFindings) -> str:
    """Return how many rows a file has, as the end of its headline; empty if it has none."""
    if not inspected.rows:
        return ""
    rows = count_of(inspected.rows, "row")
    return (
        f"; {rows}" if inspected.whole else "; " + sentence_text("first_rows_described", rows=rows)
    )


def _role_texts(roles: Mapping[str, str]) -> Iterator[str]:
    """Yield each role with its column, unless the column has the name of the role."""
    for role, column in roles.items():
        is_named_by_role = column == role or column.endswith(f"({role})")
        yield role if is_named_by_role else f"{role} = {column}"


def _format_text(inspected: FileFindings) -> str:
    """Return the format in words."""
    format_description = FORMATS.get(inspected.format)
    if format_description is None:
        return _OTHER_FORMATS.get(inspected.format, inspected.format)
    # the optional column of a format is the score
    if inspected.scores is not None and format_description.label_with_optional:
        return format_description.label_with_optional
    return format_description.label


_FACT_WORDS = {
    "header_row": "header in row {}",
    "sheet": "sheet {!r}",
    "other_sheets": "not read: sheet {}",
    "hidden_sheets": "not read: hidden sheet {}",
    COMMENT_LINES: "comments above the data: {}",
    SPANNING_RECORDS: "rows with a cell over several lines: {}",
}


def _fact_texts(facts: Mapping[str, str]) -> Iterator[str]:
    """Yield how a file was read, as far as a reader would not expect it."""
    for fact, detail in facts.items():
        if fact in _FACT_WORDS:
            yield _FACT_WORDS[fact].format(detail)
        elif fact == "separator":
            yield f"separated by {_SEPARATORS.get(detail, detail)}"
        elif fact == "hidden_rows":
            rows = "row" if detail == "1" else "rows"
            yield sentence_text("hidden_rows_read", count=detail, noun=rows)
        elif fact == "decimal":
            if detail != ".":
                yield f"decimals with {detail!r}"
        elif fact == "encoding" and detail.startswith("utf"):
            yield detail.removesuffix("-sig").upper()
        else:
            yield detail


def _ids_text(inspected: FileFindings, *, is_table: bool) -> str:
    """Return how many ids of each kind there are, with examples."""
    descriptions = []
    for id_kind in inspected.ids:
        kind = id_kind.kind.removesuffix("s")
        words = count_of(id_kind.count, kind)
        column = (inspected.roles or {}).get(kind)
        if is_table and column:
            words += f" in column {column!r}{',' if id_kind.examples else ''}"
        if id_kind.examples:
            words += f" such as {', '.join(id_kind.examples)}"
        descriptions.append(words)
    return "; ".join(descriptions)


def _speaker_source_text(inspected: FileFindings, *, has_table: bool) -> str:
    """Return where the speakers of the ids come from, and whether labels agree."""
    speaker_source = inspected.speaker_rule
    if speaker_source is None:
        return ""
    if speaker_source.rule == "id":
        if speaker_source.conflict_share == 0:
            return sentence_text("each_id_is_a_speaker")
        remedy = "" if has_table else ", " + sentence_text("give_utterances_or_models")
        return sentence_text("ids_without_speaker", remedy=remedy)
    by_label = ""
    if speaker_source.conflict_share:
        contradicted = ", " + sentence_text(
            "labels_contradict_speakers", share=_percent_text(speaker_source.conflict_share)
        )
        option = (
            "--columns test_speaker=..."
            if only_customer_column(inspected.roles or {})
            else "--utterances"
        )
        by_label = f"{contradicted}: see {option}"
    elif speaker_source.conflict_share is not None:
        by_label = ", consistent with the labels"
    n_speakers = count_of(speaker_source.speakers, "speaker")
    if speaker_source.rule == "table":
        return f"speakers: from --utterances ({n_speakers}){by_label}"
    if speaker_source.rule == "columns":
        return f"speakers: columns of the file ({n_speakers}){by_label}"
    return f"speaker: first component of the id ({n_speakers}){by_label}"


def _percent_text(share: float) -> str:
    return f"{100 * share:.3g} %"


def _labels_text(inspected: FileFindings) -> str:
    """Return how many trials are target and nontarget, and by what they are told apart."""
    labels = inspected.labels
    if labels is None:
        if inspected.kind == "scores" and "label" not in (inspected.roles or {}):
            return sentence_text("speakers_decide_labels")
        return ""
    words = f"target {labels.target:,}, nontarget {labels.nontarget:,}"
    if labels.spoof:
        words += f", spoof {labels.spoof:,}"
    if bool(labels.target) != bool(labels.nontarget):
        words += (
            " ("
            + sentence_text("one_error_type_only", metric="FNR" if labels.target else "FPR")
            + ")"
        )
    if labels.source == "speakers" and (only_column := only_customer_column(inspected.roles or {})):
        return sentence_text("customer_without_claims", column=only_column, counts=words)
    if labels.source == "speakers":
        return sentence_text("labels_by_speakers", counts=words)
    if not labels.source:
        return words
    n_unlabelled = inspected.rows - labels.target - labels.nontarget - labels.spoof
    words = f"from {labels.source}: {words}"
    if n_unlabelled:
        words += f"; {n_unlabelled:,} {'row has' if n_unlabelled == 1 else 'rows have'} no label"
    return words


def _count_file_lines(
    inspected: FileFindings, count_file: CountsFindings
) -> Iterator[tuple[str, str]]:
    """Yield what a file of counts contains, suppresses and lacks."""
    failed = f"; {count_file.failed:,} of failed recordings" if count_file.failed else ""
    yield "trials", _labels_text(inspected) + failed
    other_contents = ", ".join(
        kind for kind in count_file.contents if kind not in {"scores", "failures"}
    )
    scores = f"counted at {count_file.scores}" if count_file.scores else "none"
    yield "scores", f"{scores}; with {other_contents}" if other_contents else scores
    groups = _groupings_text(count_file.groupings, "group")
    if count_file.within:
        groups += f"; also within {_groupings_text(count_file.within, 'level')}"
    yield "grouped by", groups
    suppressed = "nothing, whatever the number of speakers of a group"
    if count_file.withheld:
        suppression_reason = f"to protect groups of fewer than {count_file.min_speakers} speakers"
        suppressed = f"{_first_names(count_file.withheld)}, {suppression_reason}"
    elif count_file.min_speakers:
        suppressed = sentence_text("no_small_group", speakers=count_file.min_speakers)
    yield "suppressed", suppressed
    yield "not in it", "; ".join(map(cell_text, count_file.missing_results))


def _groupings_text(groupings: Mapping[str, Sequence[str]], noun: str) -> str:
    """Return groupings, each with how many groups it has, and the first of these."""
    return "; ".join(
        f"{name} ({count_of(len(groups), noun)}: {_first_names(groups)})"
        for name, groups in groupings.items()
    )


def _first_names(names: Sequence[str]) -> str:
    """Return the first of some names, and how many more there are."""
    words = ", ".join(names[:_MAX_NAMED_GROUPS])
    n_more = len(names) - _MAX_NAMED_GROUPS
    return f"{words}, and {n_more:,} more" if n_more > 0 else words


def _scores_text(inspected: FileFindings) -> str:
    """Return the range of scores, and whether target trials score higher."""
    scores = inspected.scores
    if scores is None:
        return ""
    words = f"from {scores.low:.4g} to {scores.high:.4g}"
    if scores.distinct < _FEW_SCORES and inspected.rows >= _MANY_ROWS:
        words += f", only {scores.distinct} different scores"
    if scores.auc is None:
        return words
    if scores.auc < _CHANCE_AUC:
        return sentence_text("targets_score_lower", range=words, auc=scores.auc)
    return sentence_text("targets_score_higher", range=words, auc=scores.auc)


def _column_text(column: InspectedColumn) -> str:
    """Return a column with how many values it has, examples, and what is unknown."""
    if column.values is None:
        words = "more than 10,000 values"
    else:
        words = count_of(column.values, "value") if column.values else "no known values"
    if column.numbers is not None and (column.bands or not column.examples):
        words += f" from {column.numbers[0]:.6g} to {column.numbers[1]:.6g}"
    elif column.examples:
        is_all = column.values is not None and column.values <= len(column.examples)
        words += f": {', '.join(column.examples)}{'' if is_all else ', ...'}"
    if column.bands:
        words += f"; bands as in {column.name}:{column.bands}"
    if column.unknown:
        words += f"; {column.unknown:,} {'empty' if column.role else 'unknown'}"
    if column.sides:
        words = f"in {' and '.join(column.sides)}, {words}"
    name = column.name
    if column.role and column.role != column.name.lower():
        name = f"{column.role} = {name}"
    return f"{name} ({words})"


def _join_text(join: Join, short: Mapping[str, str]) -> str:
    """Return how many ids of a file are in a table; `short` has the names of files to show."""
    matched_ids = "enrolment ids" if join.kind == "enrolments" else join.kind
    file_name, table_name = short[join.id_file], short[join.target_file]
    table = f"{table_name} (column {join.column!r})" if join.column else table_name
    if join.matched == join.count == 1:
        return sentence_text(
            "table_contains_only_id",
            table=table,
            noun=matched_ids.removesuffix("s"),
            file=file_name,
        )
    if join.matched == join.count:
        return sentence_text(
            "table_contains_all_ids", table=table, ids=join.count, noun=matched_ids, file=file_name
        )
    words = sentence_text(
        "table_contains_some_ids",
        table=table,
        matched=join.matched,
        ids=join.count,
        noun=matched_ids,
        file=file_name,
    )
    if join.missing:
        ellipsis = ", ..." if join.count - join.matched > len(join.missing) else ""
        words += f"; not {', '.join(join.missing)}{ellipsis}"
    return f"{words}; {join.pattern}" if join.pattern else words


def _shared_attribute_text(shared: SharedAttribute, short: Mapping[str, str]) -> str:
    """Return which tables share an attribute, and whether its values agree."""
    file_texts = [
        f"{short[file]} (of {_LEVEL_NOUNS[level]})" for level, file in shared.files.items()
    ]
    words = f"{shared.name} is in {' and '.join(file_texts)}"
    if shared.refused == "":
        return sentence_text("attribute_with_same_values", tables=words)
    choices = " or ".join(f"{level}.{shared.name}" for level in shared.files)
    if shared.refused is None:
        return sentence_text("attribute_to_choose", tables=words, choices=choices)
    return f"{words}: {shared.refused}"
