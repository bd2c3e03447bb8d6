"""Facts as data: codes with values in tables, sentences from one catalogue."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parivox as pv
from parivox import facts
from parivox.auditing import old_data_sentences
from parivox.auditing.old_sentences import facts_of_sentences
from parivox.cli import main
from parivox.errors import options_named
from parivox.report import catalogue, limitation_sentences
from parivox.report.attack_sentences import ATTACK_SENTENCES
from parivox.report.data_sentences import DATA_SENTENCES
from parivox.report.decision_sentences import DECISION_SENTENCES
from parivox.report.list_sentences import LIST_SENTENCES
from parivox.report.paper_sentences import PAPER_SENTENCES
from parivox.report.search_sentences import SEARCH_SENTENCES
from parivox.report.system_sentences import SYSTEM_SENTENCES
from parivox.report.verdict_sentences import VERDICT_SENTENCES

ROOT = Path(__file__).parents[2]
CODES = st.from_regex(r"[a-z][a-z_]{0,20}", fullmatch=True)
VALUES = st.dictionaries(
    st.from_regex(r"[a-z_]{1,10}", fullmatch=True),
    st.text() | st.integers() | st.floats(allow_nan=False) | st.lists(st.text(), max_size=3),
    max_size=3,
)
FACTS = st.lists(st.builds(facts.Fact, CODES, VALUES), max_size=4)


@pytest.mark.slow
@given(FACTS, FACTS)
def test_a_row_of_a_table_holds_the_facts_of_its_cells(reasons, notes):
    cells = [
        facts.joined_facts(*(facts.fact(each.code, **each.values) for each in column))
        for column in (reasons, notes)
    ]
    codes, note_codes, values = facts.table_cells(*([cell] for cell in cells))
    row = {"reason": codes[0], "note": note_codes[0], "values": values[0]}
    assert facts.is_values_cell(row["values"])
    if len({each.code for each in reasons + notes}) == len(reasons + notes):
        for column, cell in zip(("reason", "note"), cells, strict=True):
            assert facts.facts_of_row(row, column) == facts.facts_of_cell(cell)
            assert facts.cell_of_row(row, column) == cell


def test_two_facts_of_one_code_keep_their_values():
    cell = facts.joined_facts(*(facts.fact("unresolvable", trials=n) for n in (5, 7)))
    (codes,), (values,) = facts.table_cells([cell])
    row = {"reason": codes, "values": values}
    assert codes == "unresolvable; unresolvable"
    assert [each.values["trials"] for each in facts.facts_of_row(row, "reason")] == [5, 7]


@pytest.mark.parametrize("cell", ["[]", "{", '{"code": 1}', '{"code": [1]}', None, 5])
def test_what_holds_no_values_of_facts_is_noticed(cell):
    assert not facts.is_values_cell(cell)


def test_arrays_of_facts():
    causes = np.array([["same_in_all_replicates", ""], [facts.fact("few", speakers=5), ""]])
    caused = facts.caused_cells("no_interval", causes)
    assert caused.tolist() == [
        ['no_interval{"because": "same_in_all_replicates"}', ""],
        ['no_interval{"because": "few", "speakers": 5}', ""],
    ]
    joined = facts.joined_cells(np.array(["a", "", ""]), np.array(["b", "b", ""]))
    assert joined.tolist() == ["a\nb", "b", ""]


def test_every_sentence_takes_the_values_of_its_example():
    with options_named():
        words_by_code = {
            code: catalogue.fact_text(facts.Fact(code, template.example))
            for code, template in catalogue.SENTENCES.items()
        }
    assert len(words_by_code) > 1000
    unfit = {
        code: words
        for code, words in words_by_code.items()
        # one word may be its own code
        if not words or (words == code and not code.isalpha()) or re.search(r"[{}]|\.$", words)
    }
    assert unfit == {}


@pytest.mark.parametrize("code", limitation_sentences.LIMITATIONS)
def test_every_limitation_takes_the_values_of_its_example(code):
    template = limitation_sentences.LIMITATIONS[code]
    caveat = limitation_sentences.Caveat(code, template.sentence.example)
    for words in (caveat.short, caveat.sentence):
        assert words
        assert not re.search(r"[{}]|\.$", words)
    printed = "\n".join(catalogue.limitation_lines())
    assert caveat.short in printed
    assert caveat.sentence in printed


CALLS = {"fact", "Fact", "caused", "caused_cells", "sentence_text", "full_sentence"}


@pytest.mark.slow
def test_every_code_that_a_result_is_given_has_a_sentence():
    """Codes are literals in calls of `fact`, `Fact`, `caused` and `sentence_text`."""
    named = {
        node.args[0].value
        for path in (ROOT / "src" / "parivox").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in CALLS
        and isinstance(next(iter(node.args), None), ast.Constant)
    }
    assert len(named) > 10
    assert named <= catalogue.SENTENCES.keys()


@pytest.mark.slow
def test_every_code_of_a_data_note_has_a_sentence():
    """Codes without values are literals in calls of `DataNote` and `DataWarning`."""
    named = set()
    for path in (ROOT / "src" / "parivox").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            positions = {"DataNote": (1, 3), "Note": (1, 3), "DataWarning": (0, 2)}
            for i in positions.get(getattr(node.func, "id", ""), ()):
                if i < len(node.args) and isinstance(node.args[i], ast.Constant):
                    named.add(node.args[i].value)
    assert len(named) > 10
    assert named - {""} <= catalogue.SENTENCES.keys()


def test_docs_list_every_code():
    page = (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")
    with options_named():
        assert page.endswith("\n".join(catalogue.catalogue_lines()) + "\n")


def test_sentences_name_arguments_in_python_and_options_on_the_command_line():
    stated = facts.Fact("slope_of_base_10_llrs", {"slope": 2.28})
    assert catalogue.fact_text(stated).endswith("give llr_base=10")
    with options_named():
        assert catalogue.fact_text(stated).endswith("give --llr-base 10")


LATER = {
    "trials_labelled_by_speakers",
    "counted_for_enrolment_speaker",
    "verification_costs_more_than_rejecting_all",
    "fnir_above_fpir",
    "too_many_certain_rejects",
    "too_many_certain_accepts",
    "lists_end_above_threshold",
    "no_mated_searches",
    "no_nonmated_searches",
    "no_searches",
    "all_replicates_alike",
    "as_of_fpr",
    "beyond_number_range",
    "both_sides_must_have_one_value",
    "common_speakers",
    "common_trials_of_lists",
    "compared_on_common_trials",
    "contradicting_rows",
    "contradicting_rows_set_aside",
    "contradictory",
    "counted_in_fte_or_fta",
    "counts_hold_sums",
    "deff_of_other_groups",
    "enrolments_by_name",
    "enrolments_by_pattern",
    "equal_weights",
    "exact_value",
    "failed_enrolments_without_trials",
    "failed_recordings",
    "failed_tests_without_trials",
    "failures_not_given",
    "few_speakers_decide_slope",
    "few_speakers_for_rare_kinds",
    "bt4vt_needs_both_classes",
    "compared_with_all_others",
    "counted_at_thresholds",
    "decisions_without_score",
    "no_common_stratum",
    "no_speakers_to_exchange",
    "numbers_far_from_others",
    "optimism_corrected",
    "speakers_as_trials",
    "speakers_with_two_values",
    "target_rate_too_low",
    "trials_without_decision",
    "trials_without_score",
    "undefined_in_replicates",
    "no_trials_of_attack",
    "no_common_threshold",
    "few_trials_a_speaker",
    "fewer_than_three_groups_judged_in_both",
    "fewer_than_two_groups_with_errors",
    "files_of_counts",
    "group_of_trials",
    "group_withheld",
    "groups_that_both_have",
    "groups_that_pass_gates",
    "held_by_operating_point",
    "ids_alike_but_for_case",
    "ids_alike_but_for_endings",
    "ids_alike_but_for_slashes",
    "ids_begin_with_speaker",
    "ids_like_dates_of_spreadsheet",
    "ids_like_numbers_of_spreadsheet",
    "ids_may_be_cut",
    "ids_shortened_by_spreadsheet",
    "ids_with_similar_characters",
    "if_equal_variation",
    "infinite_value",
    "kept_as_trials",
    "keys_of_sites_differ",
    "left_out",
    "left_out_as_others_are_scored",
    "left_out_by_groups_file",
    "left_out_with_trials",
    "list_and_scores_unchecked",
    "mean_over_some_groups",
    "needs_rows",
    "no_common_trial",
    "no_errors_in_any_replicate",
    "no_group_has_rate",
    "no_log_estimate",
    "no_seconds",
    "no_spoof_trials",
    "no_status",
    "no_target_trial_left",
    "no_trials_of_failed_recordings",
    "none_attempted",
    "nontarget_trials_between_two_groups",
    "not_converged",
    "not_in_counts",
    "of_each_file_only",
    "one_value",
    "only_errors",
    "other_scores",
    "range_of_numbers",
    "same_group_or_reference",
    "same_speakers",
    "scores_in_no_trial",
    "scores_of_failed_trials",
    "scores_tell_outcomes",
    "separated",
    "set_aside",
    "shared_speakers",
    "signs_or_labels_may_be_turned",
    "some_groups",
    "speakers_of_unknown_group",
    "speakers_without_trials",
    "speakers_unknown_from_counts",
    "stratum_withheld",
    "taken_as_unknown",
    "target_trials_of_themselves",
    "tau_log_is_cut_off",
    "threshold_between_edges",
    "threshold_stays",
    "threshold_varies",
    "thresholds_fit_too_well",
    "too_few_errors_to_draw",
    "too_few_for_interaction",
    "too_few_groups_to_draw",
    "too_few_points",
    "too_few_to_split",
    "too_many_speakers_to_draw",
    "too_many_trials_for_memory",
    "trials_at_deployed_threshold",
    "trials_between_two_groups",
    "trials_beyond_memory",
    "trials_in_no_stratum",
    "trials_left_out",
    "trials_of_failed_recordings",
    "trials_of_unknown_group",
    "undecided_trials",
    "undefined_on_scores",
    "undefined_reference",
    "undefined_value",
    "unknown_from_counts",
    "unknown_in_several_files",
    "unknown_test_speakers",
    "unresolvable",
    "utterances_in_column",
    "utterances_in_table",
    "utterances_of_unknown_group",
    "values_that_look_unknown",
    "values_that_may_be_one",
    "variance_of_too_few_groups",
    "variance_raised",
    "with_contradicting_rows",
    "withheld",
    "withheld_to_protect",
    "without_contradicting_rows",
    "zero_cell",
    "zero_over_zero",
    "zero_own_min",
    "zero_reference",
    "no_interval",
    "no_interval_of_log_ratio",
    "same_in_all_replicates",
    "often_undefined",
    "interval_may_be_short",
    "often_undefined_or_zero",
    "trials_of_one_utterance",
    "decisions_against_threshold",
}
"""Whose sentence changed after 0.2."""
OF_OTHER_TABLES = {
    "not_in_baseline",
    "not_in_audit",
    "not_in_this_release",
    "not_in_release_before",
    "same_in_all_draws",
    "missing_in_version",
    "unknown_to_this_version",
    "limit_not_met",
    "limit_inconclusive",
    "group_worse",
}
"""Of results that are not read again."""


NEW = (
    DATA_SENTENCES.keys()
    | LIST_SENTENCES.keys()
    | DECISION_SENTENCES.keys()
    | PAPER_SENTENCES.keys()
    | SYSTEM_SENTENCES.keys()
    | ATTACK_SENTENCES.keys()
    | SEARCH_SENTENCES.keys()
    | catalogue.REPORT_SENTENCES.keys()
    | {"too_few_attacks"}
)
READ_AS_SENTENCES = {"is_reference", "below_minimum", "no_trials"}
OF_VERDICTS = VERDICT_SENTENCES.keys() - READ_AS_SENTENCES
"""Which are read from other columns: tests/report/test_verdict_sentences.py."""
OF_MEASURES = catalogue.SENTENCES.keys() - NEW - LATER - OF_OTHER_TABLES - OF_VERDICTS
OF_DATA = {*old_data_sentences.DATA_SENTENCES.values()} - LATER


@pytest.mark.parametrize("code", sorted(OF_MEASURES | OF_DATA))
def test_sentences_of_0_2_are_read_as_their_facts(code):
    template = catalogue.SENTENCES[code]
    example = {name: value for name, value in template.example.items() if value is not False}
    with options_named():
        words = catalogue.fact_text(facts.Fact(code, example))
    stated = facts.facts_of_cell(facts_of_sentences(words))
    assert stated == [facts.Fact(code, pytest.approx(example) if "share" in example else example)]


@pytest.mark.parametrize(
    ("sentence", "code", "values"),
    [
        ("its threshold is no edge of bins of 0.01", "threshold_between_edges", {"step": "0.01"}),
        ("its threshold is no edge of thresholds 0.5, 1", "threshold_between_edges", {"step": ""}),
        ("if speakers vary alike in all groups", "if_equal_variation", {}),
        ("fpr=0.001 is below one error in 1 trial", "target_rate_too_low", {"trials": 1}),
    ],
)
def test_sentences_that_have_changed_are_read(sentence, code, values):
    (stated,) = facts.facts_of_cell(facts_of_sentences(sentence))
    assert stated.code == code
    assert values.items() <= stated.values.items()


def test_several_sentences_of_a_cell_are_read_and_unknown_ones_kept():
    words = "mean over 3 of 4 groups; undefined in 1; infinite_value; of another release; zero_cell"
    assert facts_of_sentences(words).split(facts.FACT_JOINT) == [
        'mean_over_some_groups{"groups": 3, "all_groups": 4}',
        "infinite_value",
        "of another release",
        "zero_cell",
    ]
    row = {"reason": "of another release", "values": ""}
    assert catalogue.reason_text(row) == "of another release"


def test_values_of_another_release_leave_the_code():
    assert catalogue.fact_text(facts.Fact("below_minimum", {"persons": 5})) == "below_minimum"


@pytest.fixture(scope="module")
def audit():
    ids = [f"s{i}" for i in range(8)]
    pairs = [(a, b) for a in ids for b in ids]
    return pv.audit(
        {
            "enrol": [f"{a}/1" for a, _ in pairs],
            "test": [f"{b}/2" for _, b in pairs],
            "score": [float(a == b) + 0.1 * (i % 7) for i, (a, b) in enumerate(pairs)],
        },
        speakers={"id": ids, "gender": ["f", "m"] * 4},
        by="gender",
        operating_points=["threshold=0.9"],
        replicates=50,
    )


def test_no_table_holds_a_sentence(audit):
    """Codes have no blanks, and each of `data` is in the catalogue."""
    for row in audit.data:
        stated = [each for column in ("item", "note") for each in facts.facts_of_row(row, column)]
        assert {each.code for each in stated} <= catalogue.SENTENCES.keys()
    for name, table in audit.tables().items():
        if "values" not in table.columns:
            continue
        assert table.columns[-1] == "values"
        for row in table:
            json.loads(row["values"] or "{}")
            for column in {*facts.FACT_COLUMNS} & row.keys():
                for code in str(row[column]).split("; "):
                    assert re.fullmatch(r"[a-z0-9_]*", code), (name, row[column])


@pytest.mark.slow
def test_an_audit_tells_its_reasons_and_notes_in_words(audit, tmp_path, capsys):
    sentences = audit.sentences()
    assert sentences.columns == ("table", "column", "code", "values", "sentence", "rows")
    below = sentences.subset(table="groups", code="no_interval_below_minimum").rows()
    assert [row["sentence"] for row in below] == ["fewer than 5 speakers: no interval"]
    notes = [row["note"] for row in audit.groups if "no_interval_below_minimum" in row["note"]]
    assert below[0]["rows"] == len(notes)
    audit.save(tmp_path / "audit")
    loaded = pv.load(tmp_path / "audit")
    assert loaded.sentences().rows() == sentences.rows()
    main(["show", str(tmp_path / "audit"), "--notes"])
    printed = capsys.readouterr().out
    assert "Texts in the column 'note' of the table 'groups'\n" in printed
    assert f"- fewer than 5 speakers: no interval ({below[0]['rows']} rows)" in printed


def test_notes_are_of_the_whole_audit(audit, tmp_path, capsys):
    audit.save(tmp_path / "audit")
    with pytest.raises(SystemExit) as stopped:
        main(["show", str(tmp_path / "audit"), "f", "--notes"])
    assert stopped.value.code == 2
    assert "--notes shows notes of the whole audit" in capsys.readouterr().err
