"""Draw 100 sentences of the terminal, the report and the documentation, for editors to judge.

python -m benchmarks.language_sample [--seed SEED] > sample.tsv

25 sentences come from the terminal (output, help and error messages), 25 from the report of the
demo, and 50 from the README and the documentation. Within a stratum each sentence has the same
chance. The seed is by default the first 8 hexadecimal digits of the commit, so that no release can
be tuned to its sample. CONTRIBUTING.md says how the sample is judged.
"""

from __future__ import annotations

import argparse
import html
import os
import random
import re
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REPOSITORY = Path(__file__).parents[1]
SIZES = {"terminal": 25, "report": 25, "docs": 50}
N_ERROR_MESSAGES = 16
MIN_WORDS = 6
MIN_WORD_SHARE = 0.45
"""Least share of letters-only words: rows of figures are no sentences."""
SAMPLE_COMMANDS = (
    ("show", "AUDIT"),
    ("show", "AUDIT", "f+India"),
    ("show", "AUDIT", "-v"),
    ("show", "AUDIT", "--notes"),
    ("inspect", "scores.csv", "speakers.csv"),
    ("plan", "--pilot", "AUDIT", "--detect-ratio", "2"),
    ("trials", "check", "scores.csv", "--speakers", "speakers.csv"),
    ("gate", "--example"),
    ("gate", "AUDIT", "--policy", "policy.yaml"),
    ("compare", "AUDIT", "AUDIT"),
    ("context",),
)
_ABBREVIATIONS = (
    r"(?<!e\.g\.)(?<!i\.e\.)(?<!cf\.)(?<!vs\.)(?<!Fig\.)(?<!\bsp\.)(?<!\beq\.)(?<!\bal\.)"
)
_SENTENCE_END = re.compile(_ABBREVIATIONS + r"(?<=[.!?])\s+(?=[A-Z*`\[\"'“(<▲▼?~+0-9])")
_BLOCK_TAGS = (
    "p|div|h\\d|li|tr|t[dh]|section|details|summary|figcaption|caption|dt|dd|option|label|button"
    "|small|span"
)
_NUMBERS_AND_GROUPS = re.compile(r"[\d.,%\[\]]+|\b[fm]\+\w+|\bV2\b|\bL\b")
_HELP_ENTRY = re.compile(r"\s{2,4}\S.*?\s{2,}(?=\S)|\s{2,4}\S+$")
_OPTION_OR_COMMAND = re.compile(r"\s{4}|\s+-|\s+[A-Z]{3}")
"""Starts of help entries, whose names are left out; other labels belong to their sentence."""
_COMMAND = re.compile(r"\s*(\S+: )*parivox \w+ .*(--|\.csv)")
_LABEL = re.compile(r"\s*(?:- |\S+ {2,})?")
"""The bullet or label of a line, and the blanks around it."""
_FIRST_WORD = re.compile(r"[\d.,]+ (?:%|times)|p [=<≤] \S+|\S+")
"""A word, or what is not wrapped: a number and its unit, or a p value."""
_TABLE_ROW = re.compile(r"\s+[\d,]+\s{2,}\S")
_TABLE_HEAD = re.compile(r"(?m)^.*\n\s*─+$")
_LINE_WIDTH, _HELP_WIDTH = 80, 78
"""Columns that lines are wrapped to, those of help texts before others."""


def sentences(block: str) -> Iterator[str]:
    """Yield the sentences of a block of text: of at least six words, most of them letters."""
    for part in _SENTENCE_END.split(block):
        sentence = re.sub(r"\s+", " ", part).strip(" *|#>").removeprefix("- ")
        n_words = len(re.findall(r"[A-Za-z]{2,}", sentence))
        has_hash = re.search(r"[0-9a-f]{32}", sentence)
        if (
            n_words >= MIN_WORDS
            and n_words >= MIN_WORD_SHARE * len(sentence.split())
            and not has_hash
        ):
            yield sentence


def sentences_of_markdown(text: str) -> Iterator[str]:
    """Yield the sentences, list entries and table cells of a page, without its code."""
    text = re.sub(r"(?s)^```.*?^```", "", text, flags=re.MULTILINE)
    text = re.sub(r"(?s)<!--.*?-->|<picture>.*?</picture>|!\[.*?\]\(.*?\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"(?m)^.*doi\.org.*$|^.*arXiv.*$", "", text)
    # directives that insert docstrings, with their options
    text = re.sub(r"(?m)^:::.*(\n {4}.*)*", "", text)
    for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|\n(?=#)|\n(?=\|)", text):
        stripped = block.strip()
        cells = stripped.strip("|").split("|") if stripped.startswith("|") else [block]
        for cell in cells:
            yield from sentences(cell)


def sentences_of_report(text: str) -> Iterator[str]:
    """Yield the sentences of an HTML report; those that differ in numbers or groups alone, once."""
    text = re.sub(r"(?s)<(script|style|svg|pre)\b.*?</\1>", " ", text)
    # a script fills them
    text = re.sub(r"<(span|strong)\b[^>]*></\1>", "…", text)
    text = re.sub(rf"</?({_BLOCK_TAGS})\b[^>]*>", "\n\n", text)
    text = html.unescape(re.sub(r"<[^>]+>", "", text)).replace(" · ", "\n\n")
    templates: set[str] = set()
    for block in re.split(r"\n\s*\n", text):
        for sentence in sentences(block):
            template = _NUMBERS_AND_GROUPS.sub("#", sentence)
            if template not in templates:
                templates.add(template)
                yield sentence


def sentences_of_terminal(text: str) -> Iterator[str]:
    """Yield the sentences of what commands print; wrapped lines are joined, examples left out."""
    blocks, previous_line, is_example, width = [""], "", False, _LINE_WIDTH
    for printed_line in _TABLE_HEAD.sub("", text).splitlines():
        line = re.sub(r"^# ", "", printed_line)
        if not line.startswith(" "):
            is_example = line.startswith(("examples:", "usage:"))
            width = _HELP_WIDTH if line.startswith("usage:") else width
        if is_example or _COMMAND.match(line):
            line = previous_line = ""
        if _is_continuation(line, previous_line, width):
            blocks[-1] += f" {line.strip()}"
        else:
            help_entry = _OPTION_OR_COMMAND.match(line) and _HELP_ENTRY.match(line)
            blocks.append(line[help_entry.end() :] if help_entry else line)
        previous_line = line
    for block in blocks:
        yield from sentences(block.removeprefix("parivox: ").removeprefix("error: "))


def _is_continuation(line: str, previous_line: str, width: int) -> bool:
    """Return whether a line continues the sentence of the line before, of text of that width."""
    if not line.strip() or not previous_line.strip() or line.startswith("parivox: "):
        return False
    if line.startswith(" " * 6):
        return _TABLE_ROW.match(line) is None
    label = _LABEL.match(previous_line)
    text_column = label.end() if label else 0
    is_entry = re.match(r"\s{2,4}\S.*?\s{2,}\S|\s+--?\w", line)
    has_columns = is_entry or re.search(r"\S {2,}\S", previous_line[text_column:])
    if has_columns or len(line) - len(line.lstrip()) != text_column:
        return False
    first_word = _FIRST_WORD.match(line.strip())
    length = len(previous_line.rstrip())
    return length <= width and length + 1 + len(first_word[0] if first_word else "") > width


def printed_text(words: Sequence[str], folder: Path) -> str:
    """Return what a command prints, errors included."""
    command = [sys.executable, "-m", "parivox", *words]
    completed = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{completed.stdout}\n\n{completed.stderr}\n\n"


def terminal_and_report(rng: random.Random) -> tuple[str, str]:
    """Return what commands print on the demo and on small files, and the report of the demo."""
    with tempfile.TemporaryDirectory() as temporary_folder:
        folder = Path(temporary_folder)
        # by name, as tests are not typed
        scores = import_module("tests.cli.conftest").table(5)
        (folder / "scores.csv").write_text(scores, encoding="utf-8")
        speaker_rows = [f"s{i},{'fm'[i % 2]},{'ABC'[i % 3]},{15 + 10 * i}\n" for i in range(6)]
        speakers = "speaker,gender,nation,age\n" + "".join(speaker_rows)
        (folder / "speakers.csv").write_text(speakers, encoding="utf-8")
        printed = [printed_text(["demo", "--out", "demo"], folder)]
        (folder / "policy.yaml").write_text(
            printed_text(["gate", "--example"], folder), encoding="utf-8"
        )
        for words in SAMPLE_COMMANDS:
            arguments = [word.replace("AUDIT", "demo/audit") for word in words]
            printed.append(printed_text(arguments, folder))
        help_text = printed_text(["--help"], folder)
        commands = re.findall(r"(?m)^    ([a-z-]+)", help_text)
        printed += [help_text, *(printed_text([name, "--help"], folder) for name in commands)]
        cases = import_module("tests.cli.test_bad_input").CASES
        for name in rng.sample(sorted(cases), N_ERROR_MESSAGES):
            arguments, _ = cases[name]
            printed.append(printed_text(list(map(str, arguments)), folder))
        report = (folder / "demo" / "report.html").read_text(encoding="utf-8")
    return "\n".join(printed), report


def draw_sample(seed: str) -> list[tuple[str, str]]:
    """Return the place and text of each sentence that is drawn."""
    rng = random.Random(seed)  # noqa: S311 - a sample, no secret
    terminal, report = terminal_and_report(rng)
    pages = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    strata = {
        "terminal": [("terminal", text) for text in dict.fromkeys(sentences_of_terminal(terminal))],
        "report": [("report", text) for text in sentences_of_report(report)],
        "docs": [
            (str(page.relative_to(REPOSITORY)), text)
            for page in pages
            for text in sentences_of_markdown(page.read_text(encoding="utf-8"))
        ],
    }
    drawn = []
    for name, size in SIZES.items():
        print(f"# {name}: {size} of {len(strata[name])}", file=sys.stderr)
        drawn += rng.sample(strata[name], size)
    return drawn


def commit_seed() -> str:
    """Return the first 8 hexadecimal digits of the commit."""
    command = ["git", "-C", str(REPOSITORY), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout[:8]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the sample as tab-separated rows: place and sentence."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", help="default: the first 8 hexadecimal digits of the commit")
    options = parser.parse_args(arguments)
    for place, sentence in draw_sample(options.seed or commit_seed()):
        print(f"{place}\t{sentence}")


if __name__ == "__main__":
    main()
