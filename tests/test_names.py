"""Names that a stranger understands, and code that is not compressed: counts that may only fall.

What is counted is a rough sign, not the aim: a name should be a noun of the field with its kind.
Whoever lowers a count lowers its limit here, so that it cannot rise again.
"""

import ast
import collections
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

import parivox

PACKAGE = Path(__file__).parent.parent / "src" / "parivox"
ROOMS = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
REPOSITORY = Path(__file__).parent.parent
FOLDERS_BESIDE_PACKAGE = ("benchmarks", "examples", "tests")

FILLERS = frozenset(
    [
        "one",
        "ones",
        "found",
        "of",
        "every",
        "each",
        "same",
        "made",
        "told",
        "asked",
        "own",
        "whole",
        "given",
        "known",
        "other",
        "others",
        "first",
        "last",
        "such",
        "these",
        "those",
        "this",
        "that",
        "all",
        "both",
        "any",
        "some",
        "what",
        "why",
        "how",
        "where",
        "when",
        "who",
        "whose",
        "which",
        "at",
        "on",
        "by",
        "so",
        "with",
        "left",
        "rest",
        "kept",
        "seen",
        "said",
        "held",
        "taken",
        "chosen",
        "wanted",
        "part",
        "parts",
        "place",
        "way",
        "along",
        "here",
        "there",
        "then",
        "none",
        "nothing",
        "anything",
    ]
)
EMPTY_NOUNS = frozenset(
    [
        "item",
        "items",
        "thing",
        "things",
        "elem",
        "element",
        "obj",
        "object",
        "data",
        "value",
        "values",
        "val",
        "res",
        "result",
        "results",
        "ret",
        "tmp",
        "temp",
        "it",
        "entry",
    ]
)

MAX_FILLERS = 0.02
"""Share of bound names that are pronouns, prepositions or participles without a noun."""
MAX_EMPTY_NOUNS = 0.04
MIN_COMMENTS = 0.01
"""Share of lines that are comments: reasons that a reader would ask for."""
MAX_STAR_PACKED = 20
"""Lines that begin with a star-packed argument."""
MAX_NESTED_CONDITIONALS = 0
MAX_BOOLEAN_ARITHMETIC = 1
"""A product of arrays in `auditing/layout.py`, where a condition takes four times as long."""
MAX_LOOPS_IN_COMPREHENSION = 2

DISPLACED = {
    "block": "speaker block, chunk or shard",
    "piece": "chunk or shard",
    "level": "stratum or target rate",
    "levels": "strata or target rates",
    "tally": "speaker counts",
    "tallies": "speaker counts",
    "member": "unit",
    "members": "units",
    "people": "speakers",
}
"""Words that had several senses, and what stands in their place in names of classes and modules."""
OPTIONS = {"by", "part"}
"""Words that users type as options: fields of that name keep it."""
NETWORKS = "embedding/systems/published"
"""Published networks have the names that their papers and checkpoints give to blocks."""
NAMES_USED_TWICE = {"Plan"}
"""Public names of two commands: `parivox.Plan` of a trial list, `parivox.shards.Plan` of shards."""
REFERENCE = re.compile(r"(?<!`)`([A-Za-z_][\w.]*)`(?!`)")
"""A name that a comment or docstring points to; data and words stand in double backticks."""
NAMES_OF_OTHERS = {"Pattern", "RAY_ADDRESS"}
"""From the standard library, and an environment variable."""
ROOMS_OF_GATES = {"decide", "options", "cli", "report"}
"""A gate is a release decision; the sample-size minimum of a group is a minimum."""


def source_files(room=""):
    return sorted((PACKAGE / room).rglob("*.py"))


@cache
def syntax_nodes(path):
    """Every node of a file's syntax: a walk takes longer than most tests, and all of them walk."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def bound_names(path):
    for node in syntax_nodes(path):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg) and node.arg not in {"self", "cls"}:
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name


def name_shares(files):
    n_names = 0
    counts = collections.Counter()
    for path in files:
        for name in bound_names(path):
            word = name.strip("_").lower()
            n_names += 1
            counts["fillers"] += word in FILLERS - OPTIONS
            counts["empty nouns"] += word in EMPTY_NOUNS
    return counts["fillers"] / n_names, counts["empty nouns"] / n_names


def code_lines(files):
    for path in files:
        for line in path.read_text(encoding="utf-8").splitlines():
            yield line.strip()


def places(condition):
    return [
        f"{path.relative_to(PACKAGE)}:{node.lineno}"
        for path in source_files()
        for node in syntax_nodes(path)
        if condition(node)
    ]


def is_truth_value(node):
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Not)
    if isinstance(node, ast.BoolOp):
        return all(map(is_truth_value, node.values))
    return isinstance(node, ast.Compare)


def is_boolean_arithmetic(node):
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mult | ast.Add | ast.Sub)
        and (is_truth_value(node.left) or is_truth_value(node.right))
    )


def is_nested_conditional(node):
    return isinstance(node, ast.IfExp) and any(
        isinstance(branch, ast.IfExp) for branch in (node.test, node.body, node.orelse)
    )


def has_many_loops(node):
    return (
        isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        and len(node.generators) > MAX_LOOPS_IN_COMPREHENSION
    )


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_names_are_nouns_of_the_field(room):
    fillers, empty_nouns = name_shares(source_files(room))
    assert fillers <= MAX_FILLERS
    assert empty_nouns <= MAX_EMPTY_NOUNS


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS_BESIDE_PACKAGE)
def test_names_beside_the_package_are_no_fillers(folder):
    fillers, _ = name_shares(sorted((REPOSITORY / folder).rglob("*.py")))
    assert fillers <= MAX_FILLERS


def test_comments_give_reasons():
    lines = list(code_lines(source_files()))
    assert sum(line.startswith("#") for line in lines) >= MIN_COMMENTS * len(lines)


def test_arguments_are_not_packed_into_stars():
    lines = code_lines(source_files())
    assert sum(line.startswith("*(") for line in lines) <= MAX_STAR_PACKED


def test_conditional_expressions_are_not_nested():
    assert len(places(is_nested_conditional)) <= MAX_NESTED_CONDITIONALS, places(
        is_nested_conditional
    )


def test_truth_values_are_not_added_or_multiplied():
    assert len(places(is_boolean_arithmetic)) <= MAX_BOOLEAN_ARITHMETIC, places(
        is_boolean_arithmetic
    )


@pytest.mark.slow
def test_comprehensions_have_at_most_two_loops():
    assert places(has_many_loops) == []


def words(name):
    return re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)


def class_and_module_names():
    for path in source_files():
        if NETWORKS in path.as_posix():
            continue
        room = path.relative_to(PACKAGE).parts[0]
        yield room, path.stem
        for node in syntax_nodes(path):
            if isinstance(node, ast.ClassDef):
                yield room, node.name


def test_names_of_classes_and_modules_follow_the_glossary():
    wrong = {
        name: DISPLACED[word.lower()]
        for _, name in class_and_module_names()
        for word in words(name)
        if word.lower() in DISPLACED
    }
    assert wrong == {}


def test_no_class_or_module_is_named_by_a_filler():
    fillers = [name for _, name in class_and_module_names() if name.strip("_").lower() in FILLERS]
    assert fillers == []


@pytest.mark.slow
def test_only_releases_have_gates():
    wrong = [
        (room, name)
        for room, name in class_and_module_names()
        if "gate" in {word.lower().removesuffix("s") for word in words(name)}
        and room not in ROOMS_OF_GATES
    ]
    assert wrong == []


def test_one_class_name_has_one_class():
    counts = collections.Counter(name for _, name in class_and_module_names() if name[:1].isupper())
    repeated = {name for name, count in counts.items() if count > 1}
    assert repeated == NAMES_USED_TWICE


@cache
def identifiers(path):
    """Every name that a file binds or reads."""
    names = {path.stem}
    for node in syntax_nodes(path):
        if isinstance(node, ast.ImportFrom):
            names.update((node.module or "").split("."))
        for field in ("id", "arg", "attr", "name", "asname"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                names.update(name.split("."))
    return names


def comments_and_docstrings(path):
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline)
    for token in tokens:
        is_docstring = token.type == tokenize.STRING and token.string.startswith(('"""', 'r"""'))
        if token.type == tokenize.COMMENT or is_docstring:
            yield token.start[0], token.string


def public_names():
    """Names that any file may refer to: modules, and what `parivox` and registries offer."""
    from parivox.cli import COMMANDS
    from parivox.core.measures import MEASURES

    modules = {name for path in source_files() for name in path.relative_to(PACKAGE).parts}
    modules = {name.removesuffix(".py") for name in modules} | {"parivox", "pv"}
    return modules | {*parivox.__all__} | {*MEASURES} | {*COMMANDS} | NAMES_OF_OTHERS


@pytest.mark.slow
def test_comments_refer_to_names_that_exist():
    known_names = public_names()
    all_identifiers = set().union(*map(identifiers, source_files()))
    dangling = []
    for path in source_files():
        is_page_of_room = path.name == "__init__.py"
        names = all_identifiers if is_page_of_room else identifiers(path)
        for line_number, text in comments_and_docstrings(path):
            for reference in REFERENCE.findall(text):
                first_name, *other_names = reference.split(".")
                is_known = first_name in names | known_names
                if not (is_known and all_identifiers.issuperset(other_names)):
                    dangling.append(f"{path.relative_to(PACKAGE)}:{line_number}: {reference}")
    assert dangling == []
