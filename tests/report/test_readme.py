"""The README shows what the demo prints, to the letter."""

import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_excerpt_is_what_the_demo_prints(bt4vt_data):
    text = README.read_text(encoding="utf-8")
    block = text.split("<!-- demo:start -->\n```text\n")[1].split("\n```\n<!-- demo:end -->")[0]
    command = [sys.executable, "-m", "parivox", "audit", "--quiet"]
    for system, name in (("V2", "resnetse34v2"), ("L", "resnetse34l")):
        command.append(f"{system}={bt4vt_data / name}_H-eval_scores.csv")
    command += ["--speakers", str(bt4vt_data / "vox1_meta.csv")]
    command += ["--by", "gender", "--by", "gender+nationality", "--compare"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, encoding="utf-8")
    printed = done.stdout.splitlines()
    shown = [line for line in block.splitlines() if line != "..."]
    assert len(shown) > 30
    at = 0
    for line in shown:
        assert line in printed[at:], line
        at += printed[at:].index(line) + 1
