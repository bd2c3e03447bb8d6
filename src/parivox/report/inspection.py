"""What an inspection found, in words: the command to type next, how files fit, then each file."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING

from parivox.data.columns import alone, are_customers
from parivox.data.formats import FORMATS
from parivox.data.formats.delimited import SPANNING_RECORDS
from parivox.errors import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from parivox.data.inspection.findings import (
        Column,
        CountsFindings,
        FileFindings,
        Inspection,
        Join,
        SharedAttribute,
    )
    from parivox.data.value_warnings import DataWarning

_KINDS = {
    "scores": "scores of trials",
    "trials": "a list of trials without scores",
    "speakers": "a table of speakers",
    "utterances": "a table of utterances",
    "models": "a table of enrolment models",
    "failures": "a table of failures",
    "counts": "counts of trials, as parivox count makes them",
    "tally": "a tally of counts, which goes beside them, as parivox count --key makes it",
    "groups": "a groups file, as --groups takes it",
    "unknown": "neither trials nor a table that Parivox knows",
}
_OTHER_FORMATS = {"dataframe": "a dataframe", "yaml": "YAML", "kaldi": "Kaldi's files"}
_SEPARATORS = {" ": "blanks", "\t": "tabs", ",": "commas", ";": "semicolons", "|": "bars"}
_LEVELS = {"speaker": "speakers", "recording": "recordings", "trial": "trials"}
_MISSING = {
    "SCORES": "the file with the scores of these trials",
    "TRIALS": "a list of trials of these recordings",
    "AUDIT": "the folder of an audit",
    "PEOPLE": "a table of the speakers with their attributes",
    "ATTRIBUTE": "one of these attributes",
    "RECORDINGS": "a table of the recordings with the speaker of each",
}
_FEW_VALUES, _MANY_ROWS, _MANY_GROUPS = 50, 1000, 6
_CHANCE = 0.5


def print_inspection(inspection: Inspection) -> None:
    """Print it: with colours in a terminal, plain lines elsewhere."""
    if not sys.stdout.isatty():
        sys.stdout.writelines(f"{line}\n" for line in plain_lines(inspection))
        return
    from rich.text import Text  # noqa: PLC0415 - for terminals only

    from parivox.report.words import STYLES, terminal  # noqa: PLC0415

    styles = {"": "bold", "data warning": "bold", "note": "bold", "problem": STYLES["worse"]}
    styles |= dict.fromkeys(("next", "once fixed"), STYLES["better"])
    console = terminal()
    for label, words in lines(inspection):
        style = styles.get(label, "")
        text = Text(f"  {label}: ", style=style) if label else Text(words, style=style)
        # a command is left to the terminal to wrap, so that it can be copied whole
        is_command = label in {"next", "once fixed"}
        console.print(text.append(words, style="") if label else text, soft_wrap=is_command)


def plain_lines(inspection: Inspection) -> Iterator[str]:
    """The same, a line each."""
    return (f"  {label}: {words}" if label else words for label, words in lines(inspection))


def to_json(inspection: Inspection) -> str:
    """The findings as they are, as JSON."""
    return json.dumps(asdict(inspection), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def lines(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """Lines to print: what each is about, empty where a part begins, and its words."""
    placed = {join.of for join in inspection.joins if join.what in {"utterances", "enrolments"}}
    of_files = [_file(one, is_placed=one.name in placed) for one in inspection.files]
    n = len(inspection.problems) + sum(len(found.problems) for found in inspection.files)
    answer = [("", f"{_many(n, 'problems') if n else 'no problem'} found")]
    for label, words in chain(answer, _next(inspection, n), _together(inspection), *of_files):
        yield label, printable(words)


def _together(inspection: Inspection) -> Iterator[tuple[str, str]]:
    """How the files fit."""
    names = [found.name for found in inspection.files]
    short = {name: name.rpartition("/")[2] or name for name in names}
    if len(set(short.values())) < len(short):  # without their folders, they are not told apart
        short = {name: name for name in names}
    for join in inspection.joins:
        yield "join", _join(join, short)
    counts = [found for found in inspection.files if found.kind == "counts"]
    if len(counts) > 1 and not (inspection.problems or any(one.problems for one in counts)):
        yield "join", f"the {len(counts)} files of counts fit each other"
    for shared in inspection.shared:
        yield "twice", _shared(shared, short)
    for problem in inspection.problems:
        yield "problem", problem
    if inspection.warnings:
        yield "data warning", "; ".join(map(_odd_in_words, inspection.warnings))


def _next(inspection: Inspection, n_problems: int) -> Iterator[tuple[str, str]]:
    """The command, what is yet to be given, and why it is so."""
    if not inspection.next:
        return
    yield "once fixed" if n_problems else "next", inspection.next
    missing = [f"{w} is {_MISSING[w]}" for w in inspection.next.split() if w in _MISSING]
    if missing:
        yield "where", f"{'; '.join(missing)}, yet to be given"
    for one in inspection.differing:
        words = f"by {one.by} alone, {_percent(one.share)} of the target trials would be in no "
        words += f"group, as their sides differ; {one.instead} is of one side, for --within too"
        yield "why", words


def _file(found: FileFindings, *, is_placed: bool) -> Iterator[tuple[str, str]]:
    yield "", f"{found.name}: {_headline(found)}"
    is_table = found.kind not in {"scores", "trials"}
    if found.counted is not None:
        yield from _counts(found, found.counted)
    elif found.rows:
        if found.ids:
            whose = _whose(found, is_placed=is_placed)
            yield "ids", "; ".join(filter(None, (_ids(found, is_table=is_table), whose)))
        for label, words in (("labels", _labels(found)), ("scores", _scores(found))):
            if words:
                yield label, words
    if found.groups:
        yield "groups of", _grouped(found.groups, "group")
    if found.by:
        yield "groupings", ", ".join(found.by)
    yield from _columns(found, is_table=is_table)
    if odd := list(_odd(found)):
        yield "note", "; ".join(odd)
    for problem in found.problems:
        yield "problem", problem


def _columns(found: FileFindings, *, is_table: bool) -> Iterator[tuple[str, str]]:
    others = [column for column in found.columns if column.role or not column.groups]
    if not is_table:
        others = [column for column in others if column.role]
    elif found.ids:  # the ids have a line of their own
        kinds = {one.what.removesuffix("s") for one in found.ids}
        others = [column for column in others if column.role not in kinds]
    words = [*map(_column, others), *(f"{column} (not read)" for column in found.ignored)]
    if words:
        yield "columns", ", ".join(words)
    groups = [column for column in found.columns if column.groups]
    if groups:
        yield "can be grouped by", ", ".join(map(_column, groups))


def _odd(found: FileFindings) -> Iterator[str]:
    every = (*found.odd, *(odd for column in found.columns for odd in column.odd))
    return map(_odd_in_words, every)


def _odd_in_words(odd: DataWarning) -> str:
    """What is odd, how often, and an example or a remark."""
    words = f"{odd.what}: {odd.count:,}" if odd.count else odd.what
    return f"{words} ({odd.note})" if odd.note else words


def _headline(found: FileFindings) -> str:
    words = found.own or _KINDS[found.kind]
    is_trials = found.kind in {"scores", "trials"}
    if found.kind == "unknown" and len(found.problems) == 1 and not found.own:
        return "cannot be read"
    if is_trials and not found.rows:
        words = "trials, of which none can be read"
    elif found.kind == "scores" and "score" not in (found.roles or {}):
        words = "decisions on trials"
    if is_trials and are_customers(found.roles or {}):
        words += ", a call a row"
    if found.counted is not None and found.counted.system:
        words += f", of {found.counted.system}"
        words += f" on {found.counted.list}" if found.counted.list else ""
    if found.format and (found.format != "delimited" or is_trials) and found.kind != "counts":
        words += f", in {_format(found)}"
    facts = list(_facts(found.read or {}))
    if facts:
        words += f" ({', '.join(facts)})"
    if is_trials and found.roles:
        roles = (
            role if column == role or column.endswith(f"({role})") else f"{role} = {column}"
            for role, column in found.roles.items()
        )
        words += f": {', '.join(roles)}"
    if found.rows:
        rows = _many(found.rows, "rows")
        words += f"; {rows}" if found.whole else f"; more than {rows}, of which the first are told"
    return words


def _format(found: FileFindings) -> str:
    """The format in words."""
    known = FORMATS.get(found.format)
    if known is None:
        return _OTHER_FORMATS.get(found.format, found.format)
    return (known.label_with_optional if found.scores is not None else "") or known.label


_FACT_WORDS = {
    "header_row": "header in row {}",
    "sheet": "sheet {!r}",
    "other_sheets": "not read: sheet {}",
    "hidden_sheets": "not read: hidden sheet {}",
    SPANNING_RECORDS: "rows with a cell over several lines: {}",
}


def _facts(read: Mapping[str, str]) -> Iterator[str]:
    for fact, value in read.items():
        if fact in _FACT_WORDS:
            yield _FACT_WORDS[fact].format(value)
        elif fact == "separator":
            yield f"separated by {_SEPARATORS.get(value, value)}"
        elif fact == "hidden_rows":
            yield f"{value} hidden row{'s' if value != '1' else ''} read like the others"
        elif fact == "decimal":
            if value != ".":
                yield f"decimals with {value!r}"
        elif fact == "encoding":
            yield value.removesuffix("-sig").upper() if value.startswith("utf") else value
        else:
            yield value


def _ids(found: FileFindings, *, is_table: bool) -> str:
    every = []
    for one in found.ids:
        words = _many(one.count, one.what)
        column = (found.roles or {}).get(one.what.removesuffix("s"))
        if is_table and column:
            words += f" in column {column!r}"
        every.append(words + (f" such as {', '.join(one.examples)}" if one.examples else ""))
    return "; ".join(every)


def _whose(found: FileFindings, *, is_placed: bool) -> str:
    whose = found.whose
    if whose is None:
        return ""
    if whose.rule == "id":
        if whose.wrong == 0:
            return "each is a speaker"
        mend = "" if is_placed else ", so give --utterances, or --models for models"
        return f"the ids do not contain the speaker{mend}"
    by_label = ""
    if whose.wrong is not None:
        contradicted = f", but {_percent(whose.wrong)} of the labels contradict that"
        see = "--columns test_speaker=..." if alone(found.roles or {}) else "--utterances"
        by_label = f"{contradicted}: see {see}" if whose.wrong else ", consistent with the labels"
    if whose.rule == "columns":
        n_speakers = _many(whose.speakers, "speakers")
        return f"speakers: columns of the file ({n_speakers}){by_label}"
    n_speakers = _many(whose.speakers, "speakers")
    return f"speaker: first component of the id ({n_speakers}){by_label}"


def _many(count: int, what: str) -> str:
    """A number with its noun, which is given as of several."""
    return f"{count:,} {what.removesuffix('s') if count == 1 else what}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def _labels(found: FileFindings) -> str:
    labels = found.labels
    if labels is None:
        return "none, so trials of one speaker are target ones" if found.kind == "scores" else ""
    words = f"target {labels.target:,}, nontarget {labels.nontarget:,}"
    if bool(labels.target) != bool(labels.nontarget):
        words += f" (only {'FNR' if labels.target else 'FPR'} can be audited)"
    if labels.by == "speakers" and (who := alone(found.roles or {})):
        return f"none and no claims, so {who!r} is who calls and is claimed: {words}"
    if labels.by == "speakers":
        return f"none, so by whose the sides are: {words}"
    if not labels.by:
        return words
    rest = found.rows - labels.target - labels.nontarget
    words = f"those of {labels.by}: {words}"
    return f"{words}; {rest:,} row{'s have' if rest != 1 else ' has'} none" if rest else words


def _counts(found: FileFindings, counted: CountsFindings) -> Iterator[tuple[str, str]]:
    """What a file of counts is of."""
    failed = f"; {counted.failed:,} of failed recordings" if counted.failed else ""
    yield "trials", _labels(found) + failed
    besides = ", ".join(one for one in counted.told if one not in {"scores", "failures"})
    scores = f"counted at {counted.scores}" if counted.scores else "none"
    yield "scores", f"{scores}; with {besides}" if besides else scores
    groups = _grouped(counted.groupings, "group")
    if counted.within:
        groups += f"; and again within {_grouped(counted.within, 'level')}"
    yield "grouped by", groups
    withheld = "nothing, however few speakers a group has"
    if counted.withheld:
        few = f"for the sake of groups of fewer than {counted.least} speakers"
        withheld = f"{_some(counted.withheld)}, {few}"
    elif counted.least:
        withheld = f"nothing, as no group has fewer than {counted.least} speakers"
    yield "withheld", withheld
    yield "not in it", "; ".join(counted.lacks)


def _grouped(groupings: Mapping[str, Sequence[str]], what: str) -> str:
    return "; ".join(
        f"{name} ({_many(len(groups), f'{what}s')}: {_some(groups)})"
        for name, groups in groupings.items()
    )


def _some(names: Sequence[str]) -> str:
    more = f", and {len(names) - _MANY_GROUPS:,} more" if len(names) > _MANY_GROUPS else ""
    return ", ".join(names[:_MANY_GROUPS]) + more


def _scores(found: FileFindings) -> str:
    scores = found.scores
    if scores is None:
        return ""
    words = f"from {scores.low:.4g} to {scores.high:.4g}"
    if scores.distinct < _FEW_VALUES and found.rows >= _MANY_ROWS:
        words += f", only {scores.distinct} different ones"
    if scores.auc is None:
        return words
    if scores.auc < _CHANCE:
        return (
            f"{words}; targets score lower (AUC {scores.auc:.4g}), as distances do: give "
            "--distance, or --similarity if they are right"
        )
    return f"{words}; targets score higher (AUC {scores.auc:.4g})"


def _column(column: Column) -> str:
    if column.values is None:
        words = "more than 10,000 values"
    else:
        words = _many(column.values, "values") if column.values else "nothing known"
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


def _join(join: Join, short: Mapping[str, str]) -> str:
    what = "enrolment ids" if join.what == "enrolments" else join.what
    of, in_ = short[join.of], short[join.in_]
    table = f"{in_} (column {join.column!r})" if join.column else in_
    if join.met == join.count == 1:
        return f"{table} contains the one {what.removesuffix('s')} of {of}"
    if join.met == join.count:
        return f"{table} contains all {join.count:,} {what} of {of}"
    words = f"{table} contains {join.met:,} of {join.count:,} {what} of {of}"
    if join.missing:
        more = ", ..." if join.count - join.met > len(join.missing) else ""
        words += f"; not {', '.join(join.missing)}{more}"
    return f"{words}; {join.pattern}" if join.pattern else words


def _shared(shared: SharedAttribute, short: Mapping[str, str]) -> str:
    places = [f"{short[file]} (of {_LEVELS[level]})" for level, file in shared.files.items()]
    words = f"{shared.name} stands in {' and '.join(places)}"
    if shared.refused == "":
        return f"{words}, with the same values"
    choices = " or ".join(f"{level}.{shared.name}" for level in shared.files)
    if shared.refused is None:
        return f"{words}; where they differ, say which is meant, {choices}"
    return f"{words}: {shared.refused}"
