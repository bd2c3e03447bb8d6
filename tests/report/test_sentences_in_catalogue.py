"""Sentences of the product stand in the catalogue, which one command prints with example values.

A text of `report` is a statement if it has a full stop, or a finite verb among three words or more;
a place for a value counts as no word. Such texts are templates of ``*_sentences.py`` and of
``catalogue.py``, or definitions by name in ``definitions.py``. Labels, headings, cells, units, axis
titles and names of charts are not statements, and stay where they are laid out; problems and hints
of errors stand where they are raised, and are listed in ``tests/bad_input_sentences.txt``.
"""

import ast
import re
from pathlib import Path

import pytest

from parivox.report import catalogue

SOURCE = Path(__file__).parents[2] / "src" / "parivox"
IN_CATALOGUE = re.compile(r"(\w+_sentences|catalogue|definitions)\.py")
FINITE_VERBS = {
    # auxiliaries
    *(
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "do",
        "does",
        "did",
        "can",
        "cannot",
        "could",
        "may",
        "might",
        "must",
        "will",
        "would",
        "should",
    ),
    # what results, tables and readers do
    *("allows", "applies", "become", "becomes", "begins", "belong"),
    *("belongs", "changes", "comes", "compares", "confirms", "contain", "contains"),
    *("covers", "depend", "depends", "differ", "differs", "disagree", "ends"),
    *("exceed", "exceeds", "exclude", "excludes", "fail", "fails", "finds"),
    *("gets", "give", "gives", "hold", "holds", "include", "includes"),
    *("lack", "lacks", "leaves", "lies", "loses", "makes", "means"),
    *("meet", "meets", "misses", "need", "needs", "passes", "ranks"),
    *("reaches", "remain", "remains", "require", "requires", "says", "seems"),
    *("show", "shows", "starts", "stays", "suggest", "suggests", "takes"),
    *("tells", "treats", "uses", "varies"),
}
VALUE = "\x00"
"""Stands for a value in a text."""
ERROR_NAMES = {"msg", "hint", "problem"}
"""Names of the texts of errors."""
LABELS = {
    "report/charts/groups.py": {
        "cannot enrol (FTE)",
        "cannot be recorded (FTA)",
    },
    "report/context.py": {"How the speakers were recruited"},
    "report/criteria.py": {"  they are equal at FPR"},
    "report/html/explorer.py": {
        "a group has 0",
        "How unevenly errors are shared out",
        "How far groups are from pooled, as a logarithm",
        "How far groups are from their average",
    },
    "report/html/groups.py": {
        "Certainty of the order: replicates in which each system is better, %",
        "What is required",
    },
    "report/html/identification.py": {"Who is named"},
    "report/html/method.py": {
        "base metrics, bias measures and meta-measures, and where they disagree",
        "de Freitas Pereira and Marcel 2022; Grother (NIST); Howard et al. 2022",
        "higher is fairer",
        "lower is fairer",
        "Who was tested: speakers, groups, trials",
        "How the speakers were recruited, and from which population",
        "3 Persons on whom the system is meant to be used",
        "9 Monitoring after the system is placed on the market",
    },
    "report/inspection.py": {
        "can be grouped by",
        "speaker counts of parivox count --key, which belong to score counts",
    },
    "report/papers.py": {"what it shows", "# What four papers say, and what holds"},
    "report/sheets/groups.py": {"groups that differ (x)"},
    "report/sheets/identification.py": {f"Probes that could not be acquired ({VALUE})"},
    "report/sheets/paper.py": {r"% needs \usepackage{booktabs}"},
    "report/sheets/supplementary.py": {"if rates were equal"},
    "report/sheets/workbook.py": {"what was read and excluded, with reasons", "what a row is"},
    "report/systems.py": {"with values that are not finite", "compares vectors by "},
    "report/terminal.py": {f"Group (speakers), rate{VALUE}, {VALUE}."},
    "report/trials.py": {"uses of a recording"},
}
"""Headings, labels and cells that have a verb, by file."""
FILES_TO_FILL_IN = {"report/context.py": "# Audit context"}
"""Beginnings of texts that are whole files."""


def is_statement(words):
    """Return whether a text has a full stop, or a finite verb among three words or more."""
    all_words = re.findall(r"\b[A-Za-z'’]+\b", words)  # codes have no blanks
    has_full_stop = re.search(r"[\w)\x00%”’]\.(\s|$)", words)
    return len(all_words) > 2 and bool(has_full_stop or FINITE_VERBS.intersection(all_words))


def words_of(node):
    """Return a text, with `VALUE` for each value of an f-string; None for all else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            part.value if isinstance(part, ast.Constant) else VALUE for part in node.values
        )
    return None


def is_of_error(node):
    """Return whether a statement raises an error, or names the text of one."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    names = {each.id for each in ast.walk(ast.Tuple(targets)) if isinstance(each, ast.Name)}
    return isinstance(node, ast.Raise) or bool(names & ERROR_NAMES)


def statements(path):
    """Yield the statements of a file that are no docstrings and no texts of errors."""
    nodes = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Raise | ast.Assign | ast.AugAssign) and is_of_error(node):
            continue
        words = words_of(node)
        if words is not None and is_statement(words):
            yield words
        if isinstance(node, ast.JoinedStr):
            nodes += [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        else:
            nodes += ast.iter_child_nodes(node)


def statements_of_report(source):
    found = {}
    for path in sorted((source / "report").rglob("*.py")):
        name = path.relative_to(source).as_posix()
        if IN_CATALOGUE.fullmatch(path.name):
            continue
        whole_file = FILES_TO_FILL_IN.get(name)
        texts = {
            each for each in statements(path) if not whole_file or not each.startswith(whole_file)
        }
        if texts:
            found[name] = texts
    return found


@pytest.mark.slow
def test_statements_stand_in_the_catalogue():
    assert statements_of_report(SOURCE) == LABELS


@pytest.mark.parametrize(
    "statement",
    [
        'yield f"No group of {grouping} is shown to differ"',
        'return "Rates are observed values."',
        'words = f"{name} has the highest observed rate" if name else ""',
        "print(f\"{n} files were skipped: {', '.join(names)}.\")",
    ],
)
def test_a_statement_elsewhere_is_noticed(tmp_path, statement):
    (tmp_path / "report").mkdir()
    lines = [
        "def new(grouping, name, n, names):",
        '    """Say that it is so."""',
        f"    {statement}",
    ]
    (tmp_path / "report" / "new.py").write_text("\n".join(lines), encoding="utf-8")
    (words,) = statements_of_report(tmp_path)["report/new.py"]
    assert is_statement(words)


def test_labels_and_errors_are_no_statements(tmp_path):
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "new.py").write_text(
        """
def new(name):
    if not name:
        msg = "the name is missing"
        raise ValueError(msg)
    return ("false reject rate, %", f"Rates of {name} at the common threshold", "by group")
""",
        encoding="utf-8",
    )
    assert not statements_of_report(tmp_path)


@pytest.mark.slow
def test_every_sentence_of_a_report_is_used():
    """Codes are literals in calls of `sentence_text` and `full_sentence`."""
    used = {
        node.args[0].value
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and getattr(node.func, "id", "") in {"sentence_text", "full_sentence"}
        and isinstance(node.args[0], ast.Constant)
    }
    assert catalogue.REPORT_SENTENCES.keys() <= used <= catalogue.SENTENCES.keys()
