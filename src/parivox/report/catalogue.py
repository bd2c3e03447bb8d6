"""The catalogue: every sentence of the product by its code, with places for values.

Facts of results are codes with values, which `fact_text` puts into words. What summaries, tables,
charts and reports say around them is made by `sentence_text` and `full_sentence` from the same
templates. ``python -m parivox.report.catalogue`` prints all, with an example of each. A code that
is not in it is shown as written: audits of earlier releases may hold such sentences.

In the catalogue is what a reader takes as a statement: a text with a finite verb or a full stop,
and what only stands in such texts. Labels, headings, cells, units and axis titles are laid out
where they are shown; the problem and hint of an error stand where it is raised; definitions of ids
and methods stand by name in `parivox.report.definitions`.
`tests/report/test_sentences_in_catalogue.py` tells them apart.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from parivox.auditing import TABLES, Options
from parivox.data.requested_groupings import POOLED
from parivox.data.score_bins import Bins
from parivox.errors import message_for_caller, options_named
from parivox.facts import (
    CODE_JOINT,
    FACT_COLUMNS,
    VALUES_COLUMN,
    Fact,
    facts_of_cell,
    facts_of_row,
    values_cell,
)
from parivox.report.attack_sentences import ATTACK_SENTENCES
from parivox.report.chart_sentences import CHART_SENTENCES
from parivox.report.command_sentences import COMMAND_SENTENCES
from parivox.report.data_sentences import DATA_SENTENCES
from parivox.report.decision_sentences import DECISION_SENTENCES, PLAN_REASONS
from parivox.report.definitions import all_definitions
from parivox.report.inspection_sentences import INSPECTION_SENTENCES
from parivox.report.limitation_sentences import LIMITATIONS
from parivox.report.list_sentences import LIST_SENTENCES
from parivox.report.page_sentences import PAGE_SENTENCES
from parivox.report.paper_sentences import PAPER_SENTENCES
from parivox.report.search_sentences import SEARCH_SENTENCES
from parivox.report.sentence_template import SentenceTemplate
from parivox.report.sheet_sentences import SHEET_SENTENCES
from parivox.report.summary_sentences import SUMMARY_SENTENCES
from parivox.report.system_sentences import SYSTEM_SENTENCES
from parivox.report.verdict_sentences import ERROR_NAMES, INCONCLUSIVE_REASONS, VERDICT_SENTENCES
from parivox.report.words import capitalised, count_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from parivox.auditing import Audit
    from parivox.report.words import Row

_CAUSE = "because"
"""The value that is the code of another fact: the cause of the first one."""


def _few_trials(values: Mapping[str, Any]) -> str:
    trials = "1 trial" if values["trials"] == 1 else f"{values['trials']} trials"
    return f"{values['operating_point']} corresponds to less than one error in {trials}"


def _undefined_share(values: Mapping[str, Any]) -> str:
    return f"the value is undefined in {np.round(100 * values['share'], 1)} % of the replicates"


def _excluded_share(values: Mapping[str, Any]) -> str:
    return f"{100 * values['share']:.1f} % of the trials are excluded"


def _partial_mean(values: Mapping[str, Any]) -> str:
    n_used, n_groups = values["groups"], values["all_groups"]
    return f"mean over the groups with a defined value ({n_used} of {n_groups})"


def _bin_edges(values: Mapping[str, Any]) -> str:
    bins = Bins(values["step"], tuple(values["thresholds"]))
    return f"the threshold is not a bin edge ({bins.in_words()})"


def _few_errors(values: Mapping[str, Any]) -> str:
    """Return a number of effective errors, of the error type if it is known."""
    noun = ERROR_NAMES[values["metric"]] if "metric" in values else "errors"
    return f"{values['errors']:.2g} effective {noun}"


def _few_speakers(values: Mapping[str, Any]) -> str:
    return "1 speaker" if values["speakers"] == 1 else f"{values['speakers']} speakers"


def group_of_limit(group: str) -> str:
    """Return the name of a group that a limit is about; all of them pooled are no group."""
    return "all groups pooled" if group == POOLED else group


def _groups_of_limit(values: Mapping[str, Any]) -> str:
    """Return the groups that a limit is about."""
    return ", ".join(map(group_of_limit, values["groups"]))


def _common_trials(values: Mapping[str, Any]) -> str:
    n_systems = values.get("systems", 2)
    subject = "both systems have"
    sizes = f"{values['first']:,} and {values['second']:,}"
    size_note = f"of {sizes}"
    if n_systems > 2:
        subject = f"all {n_systems} systems have"
        size_note = f"the two compared here have {sizes}"
    return (
        f"{subject} {values['common']:,} trials in common ({size_note}); only the common trials "
        "are compared"
    )


def _strata(values: Mapping[str, Any]) -> str:
    return f"strata with equal weight: {', '.join(values['strata'])}"


REPORT_SENTENCES: dict[str, SentenceTemplate] = {
    **SUMMARY_SENTENCES,
    **INSPECTION_SENTENCES,
    **COMMAND_SENTENCES,
    **SHEET_SENTENCES,
    **CHART_SENTENCES,
    **PAGE_SENTENCES,
}
"""What summaries, tables, charts and reports say around the facts of results."""
SENTENCES: dict[str, SentenceTemplate] = {
    # why a metric is undefined
    "no_target_trials": SentenceTemplate("no target trials"),
    "no_nontarget_trials": SentenceTemplate("no nontarget trials"),
    "no_spoof_trials": SentenceTemplate("no spoof trials"),
    "no_trials_of_attack": SentenceTemplate("no spoof trials of this attack"),
    "no_common_threshold": SentenceTemplate("no threshold is common to all trials"),
    "verification_costs_more_than_rejecting_all": SentenceTemplate(
        "the verification system alone costs more than rejecting every trial"
    ),
    "no_mated_searches": SentenceTemplate("no mated searches"),
    "no_nonmated_searches": SentenceTemplate("no non-mated searches"),
    "no_searches": SentenceTemplate("no searches"),
    "lists_end_above_threshold": SentenceTemplate(
        "candidate lists may be cut off at or above the threshold"
    ),
    "too_many_certain_rejects": SentenceTemplate(
        "no threshold applies, because too many trials are always rejected"
    ),
    "too_many_certain_accepts": SentenceTemplate(
        "no threshold applies, because too many trials are always accepted"
    ),
    "fnir_above_fpir": SentenceTemplate("FNIR exceeds FPIR at every threshold"),
    "decisions_without_scores": SentenceTemplate("decisions without scores"),
    "counted_at_thresholds": SentenceTemplate("trials are counted only at the given thresholds"),
    "target_rate_too_low": SentenceTemplate(
        _few_trials, {"operating_point": "fpr=0.001", "trials": 500}
    ),
    "threshold_between_edges": SentenceTemplate(_bin_edges, {"step": "0.01", "thresholds": [0.5]}),
    "unresolvable": SentenceTemplate(
        lambda values: (
            f"{count_of(values['trials'], 'trial')} cannot resolve a rate of "
            f"{values['target_rate']!r} (less than one error)"
        ),
        {"target_rate": 0.001, "trials": 500},
    ),
    "not_declared_llr": SentenceTemplate(
        "scores are not declared to be log-likelihood ratios (--llr)"
    ),
    "undefined_on_scores": SentenceTemplate("the metric is undefined for these scores"),
    "no_trials_of_failed_recordings": SentenceTemplate(
        "the list contains no trial of a failed recording"
    ),
    "group_of_trials": SentenceTemplate("the group consists of trials, not of recordings"),
    "none_attempted": SentenceTemplate("no attempts"),
    "failures_not_given": SentenceTemplate("failures were not supplied"),
    "no_seconds": SentenceTemplate("no trial has a time in seconds"),
    "unknown_from_counts": SentenceTemplate("score counts do not contain this value"),
    "no_common_stratum": SentenceTemplate(
        "no stratum has trials of several speakers in every group"
    ),
    "withheld": SentenceTemplate("suppressed: fewer than {speakers} speakers", {"speakers": 5}),
    "withheld_to_protect": SentenceTemplate(
        "suppressed: otherwise, values of a group with fewer than {speakers} speakers could be "
        "deduced",
        {"speakers": 5},
    ),
    "exact_value": SentenceTemplate("exact value: {exact:.9g}", {"exact": 0.0475}),
    "bt4vt_needs_both_classes": SentenceTemplate("bt4vt needs target and nontarget trials"),
    # why a measure of groups is undefined, infinite or set by convention
    "undefined_value": SentenceTemplate("the group's value is undefined"),
    "undefined_reference": SentenceTemplate("the reference value is undefined"),
    "zero_cell": SentenceTemplate("a group has no errors"),
    "zero_reference": SentenceTemplate("the reference value is 0"),
    "zero_over_zero": SentenceTemplate("0 divided by 0"),
    "zero_own_min": SentenceTemplate("the group's minimum cost is 0"),
    "infinite_value": SentenceTemplate("the group's value or the reference value is infinite"),
    "too_few_points": SentenceTemplate("too few operating points"),
    "not_converged": SentenceTemplate("the fit did not converge"),
    # what a reader must know of an interval
    "common_speaker": SentenceTemplate("one speaker takes part in all trials"),
    "no_errors": SentenceTemplate("no errors"),
    "only_errors": SentenceTemplate("only errors"),
    "deff_of_other_groups": SentenceTemplate(
        "the interval uses the design effect of the other groups"
    ),
    "speakers_as_trials": SentenceTemplate("each speaker counts as one trial"),
    "variance_raised": SentenceTemplate(
        "the variance is raised towards the variance of the other groups"
    ),
    "interval_may_be_short": SentenceTemplate("the interval may be too narrow"),
    "upper_limit_only": SentenceTemplate("upper limit only"),
    "few_speakers_for_rare_kinds": SentenceTemplate(
        "{speakers} speakers are too few to rule out a rare kind of speaker with many errors",
        {"speakers": 12},
    ),
    "threshold_varies": SentenceTemplate(
        "the interval includes the uncertainty of the threshold, which is set on the audited trials"
    ),
    "threshold_stays": SentenceTemplate(
        "the threshold, set on the audited trials, is treated as fixed"
    ),
    "optimism_corrected": SentenceTemplate(
        "the interval is corrected for the optimistic bias of minimum Cllr"
    ),
    "undefined_in_replicates": SentenceTemplate(_undefined_share, {"share": 0.012}),
    "reference_itself": SentenceTemplate("the reference itself"),
    "as_of_fpr": SentenceTemplate("the interval of the FPR is used"),
    "equal_weights": SentenceTemplate(_strata, {"strata": ["phone", "studio"]}),
    "trials_left_out": SentenceTemplate(_excluded_share, {"share": 0.25}),
    # why there is no interval
    "no_interval": SentenceTemplate("no interval", {_CAUSE: "same_in_all_replicates"}),
    "no_interval_of_log_ratio": SentenceTemplate(
        "no interval for the log ratio", {_CAUSE: "often_undefined"}
    ),
    "no_interval_below_minimum": SentenceTemplate(
        "fewer than {speakers} speakers: no interval", {"speakers": 5}
    ),
    "not_resampled": SentenceTemplate("not resampled"),
    "no_estimate": SentenceTemplate("no estimate"),
    "no_log_estimate": SentenceTemplate("the estimate has no logarithm"),
    "often_undefined": SentenceTemplate(
        "the value is undefined in more than 5 % of the replicates"
    ),
    "often_undefined_or_zero": SentenceTemplate(
        "the value is undefined or 0 in more than 5 % of the replicates"
    ),
    "fewer_than_two_speakers": SentenceTemplate("fewer than two speakers"),
    "same_in_all_replicates": SentenceTemplate("the value is the same in all replicates"),
    "all_replicates_alike": SentenceTemplate("all replicates have the same value"),
    "beyond_number_range": SentenceTemplate(
        "the interval is outside the range of floating-point numbers"
    ),
    "same_group_or_reference": SentenceTemplate(
        "the group's value or the reference value is the same in all replicates"
    ),
    "no_errors_in_any_replicate": SentenceTemplate("no errors in the data or in any replicate"),
    "unknown_test_speakers": SentenceTemplate(
        "the test speakers of some nontarget trials are unknown"
    ),
    "speakers_unknown_from_counts": SentenceTemplate("score counts do not identify speakers"),
    "too_many_trials_for_memory": SentenceTemplate("the trials do not fit in memory"),
    "too_many_speakers_to_draw": SentenceTemplate("there are too many speakers for random draws"),
    "tau_log_is_cut_off": SentenceTemplate(
        "tau_log is cut off at 0, which distorts its replicates; the measure 'spread' is tau_log "
        "squared without this cut-off"
    ),
    "few_speakers_decide_slope": SentenceTemplate("the slope depends on one or two speakers"),
    # why a measure of groups is undefined, or of which groups it is
    "undefined_in_every_group": SentenceTemplate("undefined in every group"),
    "mean_over_some_groups": SentenceTemplate(_partial_mean, {"groups": 3, "all_groups": 4}),
    "too_few_to_split": SentenceTemplate(
        "too few speakers to split in half (fewer than {speakers}), or no replicates",
        {"speakers": 4},
    ),
    "no_group_has_errors": SentenceTemplate("no group has errors"),
    "no_group_has_rate": SentenceTemplate("no group has a value for this rate"),
    "too_few_errors_to_draw": SentenceTemplate(
        "too few errors to simulate a system with equal rates"
    ),
    "too_few_groups_to_draw": SentenceTemplate(
        "too few groups have enough speakers to simulate a system with equal rates"
    ),
    "no_speakers_to_exchange": SentenceTemplate("no speakers can be exchanged between groups"),
    "shared_speakers": SentenceTemplate(
        "equal rates cannot be simulated: some speakers are in several groups"
    ),
    "fewer_than_two_groups": SentenceTemplate("fewer than two groups"),
    "fewer_than_three_groups": SentenceTemplate("fewer than three groups"),
    "fewer_than_two_groups_with_errors": SentenceTemplate(
        "fewer than two groups have at least two expected errors"
    ),
    "variance_of_too_few_groups": SentenceTemplate("the variance is known for too few groups"),
    "too_few_for_interaction": SentenceTemplate(
        "too few groups or errors to test for an interaction"
    ),
    "groups_that_both_have": SentenceTemplate(
        "computed over the {groups} groups present in both systems or lists", {"groups": 3}
    ),
    "some_groups": SentenceTemplate("computed over {groups} groups", {"groups": 3}),
    "groups_that_pass_gates": SentenceTemplate(
        "computed over the {groups} groups that meet the sample-size minimums", {"groups": 3}
    ),
    "fewer_than_three_groups_judged_in_both": SentenceTemplate(
        "fewer than three groups meet the sample-size minimums in both systems or lists"
    ),
    "too_few_attacks": SentenceTemplate(
        lambda values: (
            f"{count_of(values['attacks'], 'attack')}: too few to generalise to other attacks"
        ),
        {"attacks": 3},
    ),
    "held_by_operating_point": SentenceTemplate("the operating point fixes this rate"),
    # verdicts
    **VERDICT_SENTENCES,
    # minimums, limits and trends
    "speakers_below_minimum": SentenceTemplate(_few_speakers, {"speakers": 7}),
    "errors_below_minimum": SentenceTemplate(_few_errors, {"errors": 2.8}),
    "pairs_below_minimum": SentenceTemplate("{pairs} pairs of speakers", {"pairs": 21}),
    "few_speakers": SentenceTemplate("too few speakers"),
    "few_trials_a_speaker": SentenceTemplate("too few trials per speaker"),
    "not_in_baseline": SentenceTemplate("not in the baseline"),
    "not_in_audit": SentenceTemplate("not in this audit"),
    "not_in_this_release": SentenceTemplate("not in this release"),
    "not_in_release_before": SentenceTemplate("not in the previous release"),
    "same_in_all_draws": SentenceTemplate("the value is the same in all draws"),
    "one_value": SentenceTemplate("the attribute has the same value for all speakers"),
    "separated": SentenceTemplate(
        "in trials with errors, all values of the attribute are at or above (or all at or below) "
        "those in all other trials"
    ),
    # what another version wrote, and what the exit code tells
    "missing_in_version": SentenceTemplate(
        "missing: Parivox {version} did not write this {kind}; repeat the audit to add the {kind}",
        {"version": "0.1.0", "kind": "column"},
    ),
    "unknown_to_this_version": SentenceTemplate(
        "not loaded: this version of Parivox does not recognise this table or column; update "
        "Parivox"
    ),
    "limit_not_met": SentenceTemplate(
        lambda values: f"a limit is not met ({_groups_of_limit(values)})", {"groups": ["f"]}
    ),
    "limit_inconclusive": SentenceTemplate(
        lambda values: f"a limit is not shown to be met ({_groups_of_limit(values)})",
        {"groups": ["f"]},
    ),
    "group_worse": SentenceTemplate(
        lambda values: f"a group is shown to be worse ({', '.join(values['groups'])})",
        {"groups": ["f"]},
    ),
    # what two systems or lists share
    "same_trials": SentenceTemplate("the same trials"),
    "compared_on_common_trials": SentenceTemplate(
        _common_trials, {"common": 9850, "first": 10000, "second": 9850, "systems": 3}
    ),
    "common_trials_of_lists": SentenceTemplate(
        "the lists share {common:,} trials (of {first:,} and {second:,}); whole lists are compared",
        {"common": 40, "first": 1200, "second": 900},
    ),
    "no_common_trial": SentenceTemplate("the lists share no trial; whole lists are compared"),
    "lists_compared_as_wholes": SentenceTemplate("lists compared as wholes"),
    "no_common_speaker": SentenceTemplate("no speaker in common"),
    "same_speakers": SentenceTemplate("the same {speakers} speakers", {"speakers": 40}),
    "common_speakers": SentenceTemplate(
        "{common} speakers in common (of {first} and {second})",
        {"common": 12, "first": 40, "second": 30},
    ),
    # what was read, excluded and noticed
    **DATA_SENTENCES,
    # trial lists
    **LIST_SENTENCES,
    # thresholds, calibrators, plans, monitoring, metrics of scores
    **DECISION_SENTENCES,
    # systems: how trials were scored, and what a probe finds
    **SYSTEM_SENTENCES,
    # attacks, and searches in a gallery
    **ATTACK_SENTENCES,
    **SEARCH_SENTENCES,
    # the four papers
    **PAPER_SENTENCES,
    # what summaries, tables and reports say of results
    **REPORT_SENTENCES,
}
"""Every sentence by its code."""
MEASURE_REASONS = {
    "one_group": "there is only one group",
    "no_groups": "no group has a value for this rate",
    "no_errors": "no group has errors",
}
"""Sentences of reasons of meta-measures that have a code of their own, or another meaning."""


def sentence_text(code: str, /, **values: Any) -> str:
    """Return a sentence of what a command or report says, without its full stop.

    Examples
    --------
    >>> sentence_text("no_group_is_reference", reference="m")
    'No group is m'
    """
    return SENTENCES[code].with_values(values)


def full_sentence(code: str, /, **values: Any) -> str:
    """Return the same with its full stop."""
    return f"{sentence_text(code, **values)}."


def fact_text(fact: Fact, sentences: Mapping[str, str] | None = None) -> str:
    """Return a fact in words; `sentences` are of codes that mean something else in their table.

    Options are named as on the command line there, as arguments of Python elsewhere.

    Examples
    --------
    >>> fact_text(Fact("no_interval", {"because": "below_minimum", "speakers": 5}))
    'no interval: fewer than 5 speakers'
    >>> fact_text(Fact("a sentence of another release", {}))
    'a sentence of another release'
    """
    if sentences and fact.code in sentences and not fact.values:
        return sentences[fact.code]
    sentence = SENTENCES.get(fact.code)
    if sentence is None:
        return fact.code
    try:
        words = sentence.with_values(fact.values)
    except (KeyError, TypeError, ValueError):  # values of another release
        return fact.code
    words = message_for_caller(words)
    cause = cause_text(fact)
    return f"{words}: {cause}" if cause else words


def recorded_text(recorded: Mapping[str, Any] | str) -> str:
    """Return a fact of a record in words; a sentence of an earlier release as it is."""
    return recorded if isinstance(recorded, str) else fact_text(Fact(**recorded))


def cell_text(cell: str) -> str:
    """Return the facts of a cell of an array, or of a data warning, in words."""
    return facts_text(facts_of_cell(cell))


def facts_text(facts: Iterable[Fact]) -> str:
    """Return several facts in words, in one sentence without its end."""
    return CODE_JOINT.join(map(fact_text, facts))


def full_sentences(facts: Iterable[Fact]) -> tuple[str, ...]:
    """Return each fact as a sentence of its own.

    Examples
    --------
    >>> full_sentences([Fact("no_errors", {}), Fact("one_value", {})])
    ('No errors.', 'The attribute has the same value for all speakers.')
    """
    return tuple(f"{capitalised(fact_text(each))}." for each in facts)


def cause_text(fact: Fact) -> str:
    """Return the cause of a fact in words; empty if it has none."""
    code = fact.values.get(_CAUSE)
    if not isinstance(code, str):
        return ""
    return fact_text(Fact(code, _without_cause(fact)))


def without_cause_text(fact: Fact) -> str:
    """Return a fact in words, without its cause."""
    return fact_text(Fact(fact.code, _without_cause(fact)))


def _without_cause(fact: Fact) -> dict[str, Any]:
    return {name: value for name, value in fact.values.items() if name != _CAUSE}


def missing_interval_text(row: Row) -> str:
    """Return why a row has no interval, in words."""
    return CODE_JOINT.join(
        cause_text(fact) or fact_text(fact) for fact in facts_of_row(row, "note")
    )


def reason_text(row: Row) -> str:
    """Return why a value of a row is missing, in words; empty if it is not."""
    return _column_text(row, "reason")


def item_text(row: Row) -> str:
    """Return what a row of the table of data has counted, in words."""
    return _column_text(row, "item")


def counted_text(row: Row) -> str:
    """Return how many of what a row of the table of data has counted, in words.

    Examples
    --------
    >>> counted_text({"count": 1, "item": "trials_without_score"})
    '1 trial without a score'
    """
    count = row["count"]
    counted = (
        fact_text(Fact(fact.code, {**fact.values, "count": count}))
        for fact in facts_of_row(row, "item")
    )
    return f"{count:,} {CODE_JOINT.join(counted)}"


def shared_text(row: Row) -> str:
    """Return what the two sides of a comparison have in common, in words."""
    return _column_text(row, "speakers")


def finding_text(row: Row) -> str:
    """Return what a verdict says, in words that follow the name of its group, if it has one."""
    finding, previous_code = "", ""
    for fact in facts_of_row(row, "sentence"):
        if previous_code:
            # rates may differ although all groups are equivalent
            is_contrast = (previous_code, fact.code) == ("rates_differ", "all_groups_equivalent")
            finding += ", but " if is_contrast else CODE_JOINT
        finding += fact_text(fact)
        previous_code = fact.code
    return finding


def note_text(row: Row) -> str:
    """Return what a reader must know of a row, in words."""
    return _column_text(row, "note")


def inconclusive_text(row: Row) -> str:
    """Return why a comparison of groups is inconclusive, or why there is no rate, in words."""
    return _column_text(row, "reason", INCONCLUSIVE_REASONS)


def gates_text(row: Row) -> str:
    """Return which minimums of sample size a group misses, in words."""
    return _column_text(row, "gates")


def measure_reason_text(row: Row) -> str:
    """Return why a meta-measure is undefined, in words."""
    return _column_text(row, "reason", MEASURE_REASONS)


def _column_text(row: Row, column: str, sentences: Mapping[str, str] | None = None) -> str:
    """Return the facts in a column of a row in words."""
    return CODE_JOINT.join(fact_text(fact, sentences) for fact in facts_of_row(row, column))


_SENTENCES_OF_TABLES = {"verdicts": INCONCLUSIVE_REASONS, "meta": MEASURE_REASONS}


def audit_sentences(audit: Audit) -> dict[str, list[Any]]:
    """Return every fact that an audit holds in words, as columns: where, what, in how many rows."""
    n_rows: dict[tuple[str, ...], int] = {}
    for name, table in audit.tables().items():
        if VALUES_COLUMN not in table.columns:
            continue
        for column in FACT_COLUMNS:
            if TABLES[name].get(column) != "str":
                continue
            # few cells are distinct, of which each occurs often
            n_of_cells = Counter((row[column], row[VALUES_COLUMN]) for row in table)
            for (codes, values), n_cells in n_of_cells.items():
                for fact in facts_of_row({column: codes, VALUES_COLUMN: values}, column):
                    sentence = fact_text(fact, _SENTENCES_OF_TABLES.get(name))
                    key = (name, column, fact.code, values_cell([fact]), sentence)
                    n_rows[key] = n_rows.get(key, 0) + n_cells
    columns = zip(*n_rows, strict=True) if n_rows else ((),) * 5
    names = ("table", "column", "code", "values", "sentence")
    return {
        **{name: list(cells) for name, cells in zip(names, columns, strict=True)},
        "rows": list(n_rows.values()),
    }


_OTHER_CODES = {
    *LIST_SENTENCES,
    *SYSTEM_SENTENCES,
    *ATTACK_SENTENCES,
    *SEARCH_SENTENCES,
    *PAPER_SENTENCES,
    *REPORT_SENTENCES,
    # what `parivox count` says of its files
    "trials_as_counts",
    "counts_of_numbered_speakers",
    "counts_of_pseudonyms",
    "counts_of_speaker_blocks",
    "groups_of_few_blocks",
}
"""Codes that no table of an audit has."""


def catalogue_lines() -> Iterator[str]:
    """Yield every code with its sentence on example values, as a list in Markdown.

    Codes that are their own sentence, with blanks for underscores, come first, in one line, and are
    not repeated for a table. Those that no audit has are in `other_lines`.
    """
    yield from _sentence_lines(SENTENCES.keys() - _OTHER_CODES)
    for table, table_sentences in {**_SENTENCES_OF_TABLES, "a plan": PLAN_REASONS}.items():
        for code in table_sentences:
            words = fact_text(Fact(code, {}), table_sentences)
            if words != _plain_words(code):
                yield f"- `{code}` in {table}: {words}"


def other_lines() -> Iterator[str]:
    """Yield the same for lists, systems, counts, attacks, searches and `parivox papers`."""
    yield from _sentence_lines(_OTHER_CODES - REPORT_SENTENCES.keys())


def report_lines() -> Iterator[str]:
    """Yield the same for what summaries, tables, charts and reports say around facts."""
    yield from _sentence_lines(REPORT_SENTENCES.keys())


def definition_lines() -> Iterator[str]:
    """Yield the definitions of a report that is made with the default options, by their names."""
    texts: list[tuple[str, object]] = [*all_definitions(Options(), {}).items()]
    for name, definition in texts:
        if isinstance(definition, dict):
            texts += [(f"{name}, {part}", words) for part, words in definition.items()]
        elif isinstance(definition, str):
            yield f"- `{name}`: {definition}"


def limitation_lines() -> Iterator[str]:
    """Yield every limitation of a report: in a few words, and in a sentence if that says more."""
    for code, template in LIMITATIONS.items():
        short, sentence = (
            each.with_values(each.example) for each in (template.short, template.sentence)
        )
        yield f"- `{code}`: {short}" + ("" if sentence == short else f". *In full:* {sentence}")


def _plain_words(code: str) -> str:
    """Return a code with blanks for underscores, which is its sentence if it has no other."""
    return code.replace("_", " ")


def _sentence_lines(codes: Collection[str]) -> Iterator[str]:
    sentences = {
        code: fact_text(Fact(code, template.example))
        for code, template in SENTENCES.items()
        if code in codes
    }
    plain_codes = [code for code, words in sentences.items() if words == _plain_words(code)]
    if plain_codes:
        yield f"{', '.join(f'`{code}`' for code in plain_codes)}."
        yield ""
    for code, words in sentences.items():
        if code not in plain_codes:
            yield f"- `{code}`: {words}"


if __name__ == "__main__":
    with options_named():
        lines = [
            *catalogue_lines(),
            "",
            "Codes of other commands:",
            "",
            *other_lines(),
            "",
            "Limitations in reports:",
            "",
            *limitation_lines(),
            "",
            "Sentences of summaries, tables, charts and reports:",
            "",
            *report_lines(),
            "",
            "Definitions in reports, with default options:",
            "",
            *definition_lines(),
        ]
        sys.stdout.write("\n".join(lines) + "\n")
