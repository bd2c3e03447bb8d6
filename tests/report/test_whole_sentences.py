"""What one function has put into words, no other takes apart: it asks for codes and values.

Every function of `report` and of the products that calls a method which takes texts apart, or looks
for given words in something, is listed here. Whoever adds one shows that it takes names apart, not
sentences, or goes back to the fact that the sentence was made of.
"""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "parivox"
ROOMS = ("report", "decide", "monitoring")
STRING_METHODS = {
    *("endswith", "find", "findall", "finditer", "fullmatch", "match", "partition", "removeprefix"),
    *("removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "search", "split"),
    *("splitlines", "startswith", "sub", "subn", "translate"),
}
"""Methods of texts and regular expressions."""
COLLECTIONS = (ast.Dict, ast.List, ast.Set, ast.Tuple)
MARKUP = {"report/charts/draw.py"}
"""Files that deal with SVG and PDF alone."""
TAKE_NAMES_APART = {
    "report/audit_queries.py": {"attribute_values", "grouping_attributes"},
    "report/catalogue.py": {"_plain_words"},
    "report/charts/__init__.py": {"_unique_slug"},
    "report/charts/chart_functions.py": {"Charts.__repr__"},
    "report/charts/comparison.py": {"_bias_measure"},
    "report/charts/det.py": {"_attribute_values", "_rate_names"},
    "report/criteria.py": {"_change_places_text"},
    "report/exports.py": {"_metric_name", "_mlflow_name", "log_audit"},
    "report/figures.py": {"_figure_files", "_foreign_files", "_report_files"},
    "report/findings.py": {"associations", "limited_rate_text", "primary_question_text"},
    "report/full_tables.py": {"_compatibility_blocks"},
    "report/html/assembly.py": {"_without_breaks"},
    "report/html/explorer.py": {"_json_threshold", "_limit_code", "_point_data", "explorer"},
    "report/html/layout.py": {"point_text"},
    "report/html/method.py": {"_spaced"},
    "report/identification.py": {"_point_text", "limitations"},
    "report/inspection.py": {
        "_column_lines",
        "_fact_texts",
        "_ids_text",
        "_join_text",
        "_joint_lines",
        "_next_command_lines",
        "_role_texts",
    },
    "report/labels.py": {
        "_AuditLabels.__init__",
        "_AuditLabels.group_label",
        "_AuditLabels.grouping_at_point",
        "_AuditLabels.grouping_label",
        "_AuditLabels.stratum_label",
        "_AuditLabels.system_on_list",
    },
    "report/notebook.py": {"_comparison_cells"},
    "report/overview.py": {
        "_better_systems",
        "_cascade_text",
        "_development_aim",
        "_is_set_on_development",
        "_misses_target",
        "_point_label",
        "_pooled_rates",
        "_rate_reached_here",
        "_target_rate_text",
        "_threshold_text",
        "point_in_short",
    },
    "report/releases.py": {"_release_pair_blocks"},
    "report/score_metrics.py": {"_rates_table"},
    "report/sheets/paper.py": {"latex", "latex_escaped", "markdown_escaped"},
    "report/sheets/sheet.py": {"Sheet.footnotes", "_terminal_text"},
    "report/sheets/supplementary.py": {"_rates"},
    "report/systems.py": {"scoring_lines"},
    "report/terminal_grid.py": {"Grid.__rich_console__", "_column_widths"},
    "report/thresholds.py": {"_difference", "_undetected_difference"},
    "report/words.py": {"Paragraph.wrap", "plain_lines"},
    "decide/calibrated_scores.py": {"apply_calibrator"},
    "decide/pilot_audit.py": {"groups_without_pilot"},
    "decide/threshold_aims.py": {"parse_aim"},
    "monitoring/daily_monitor.py": {"_check_same_settings", "_day_of_trials"},
}
"""Functions that take apart names, such as those of operating points, attributes and files, or
break lines. `log_audit` shortens an error of MLflow, which has no parts."""
ASK_FOR_KEYS = {
    "report/limitation_sentences.py": {"Caveat.sentence", "_share_text"},
    "report/audit_queries.py": {"covers_same_groups"},
    "report/catalogue.py": {"_few_errors"},
    "report/charts/groups.py": {"failures", "rates_by_stratum"},
    "report/charts/measures.py": {"accuracy"},
    "report/charts/scores.py": {"_without_spoof_trials", "boxes", "thresholds"},
    "report/data_sentences.py": {
        "_allocation",
        "_point_text",
        "_trials_at_deployed_threshold",
        "metric_text",
    },
    "report/definitions.py": {"definitions"},
    "report/exports.py": {"model_index"},
    "report/html/explorer.py": {"explorer"},
    "report/html/first_screen.py": {"_events", "_keys", "_legend", "_size"},
    "report/html/groups.py": {"_grades_text", "_point_section"},
    "report/html/method.py": {"_deployment", "_flat_texts", "_not_shown"},
    "report/html/sentences.py": {"_point_section"},
    "report/inspection.py": {"_file_headline", "_labels_text"},
    "report/identification.py": {"is_identification"},
    "report/labels.py": {"_AuditLabels.labelled_record", "_AuditLabels.labelled_table"},
    "report/list_sentences.py": {"_eers_of_lists"},
    "report/monitor.py": {"headline", "notes"},
    "report/overview.py": {"_size", "_threshold_text"},
    "report/sheets/comparison.py": {"rates_side_by_side"},
    "report/sheets/paper.py": {"paper"},
    "report/sheets/supplementary.py": {"failures", "tandem_costs"},
    "report/systems.py": {"_duplicate_audio_lines"},
    "report/trials.py": {"_speaker_table"},
    "report/verdict_sentences.py": {
        "_all_groups_equivalent",
        "_all_groups_inconclusive",
        "_both_error_types",
        "_worst_group_condition",
        "_figures",
        "_frequency",
        "_rates_differ",
    },
    "report/full_tables.py": {"_spoof_legend"},
    "report/terminal.py": {"_summary_blocks"},
    "report/sheets/groups.py": {"_spoof_reading", "trials_text"},
    "report/caveats.py": {"tested_attacks"},
    "decide/calibrated_scores.py": {"apply_calibrator"},
    "decide/pilot_audit.py": {"pilot_groups"},
    "decide/releases.py": {"_spoof_conditions"},
    "decide/policy_file.py": {"_acceptance", "_condition", "_policy"},
    "decide/sample_size_plan.py": {"_design_columns"},
    "monitoring/state_checks.py": {"_check_settings"},
    "monitoring/stream.py": {"_read_arrays"},
}
"""Functions that look for given words among keys, names and marks."""


def uses(path):
    """Yield the functions of a file that call such a method, or look for given words."""
    nodes = [(ast.parse(path.read_text(encoding="utf-8")), "")]
    while nodes:
        node, function = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}".lstrip(".")
        if isinstance(node, ast.Attribute) and node.attr in STRING_METHODS:
            yield "method", function
        if (
            isinstance(node, ast.Compare)
            and isinstance(node.left, ast.Constant | ast.JoinedStr)
            and isinstance(getattr(node.left, "value", ""), str)
            and isinstance(node.ops[0], ast.In | ast.NotIn)
            and not isinstance(node.comparators[0], COLLECTIONS)
        ):
            yield "words", function
        nodes += [(child, function) for child in ast.iter_child_nodes(node)]


def found_in(source):
    functions = {"method": defaultdict(set), "words": defaultdict(set)}
    for room in ROOMS:
        for path in (source / room).rglob("*.py"):
            name = path.relative_to(source).as_posix()
            for kind, function in uses(path) if name not in MARKUP else ():
                functions[kind][name].add(function)
    return functions


@pytest.mark.slow
def test_no_function_takes_apart_what_another_has_put_into_words():
    functions = found_in(SOURCE)
    assert functions["method"] == TAKE_NAMES_APART
    assert functions["words"] == ASK_FOR_KEYS


def test_taking_a_sentence_apart_is_noticed(tmp_path):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "new.py").write_text(
        """
def is_small(row):
    return "withheld" in row["note"]

def first(words):
    cut = words.partition
    return cut(". ")[0]
""",
        encoding="utf-8",
    )
    functions = found_in(tmp_path)
    assert functions["words"] == {"report/new.py": {"is_small"}}
    assert functions["method"] == {"report/new.py": {"first"}}
