"""``parivox completion``, as the shell uses it."""

import shutil
import subprocess

import pytest

pytestmark = pytest.mark.minimal


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("au", {"audit"}),
        ("audit --speak", {"--speakers", "--speaker-ids"}),
        ("audit s.csv --by gender --repl", {"--replicates"}),
        ("audit s", set()),
        ("trials bu", {"build"}),
        ("trials build ", {"inclusive", "balanced", "cross"}),
        ("trials build inclusive --per", {"--per-speaker"}),
        ("trials build --per", set()),
        ("systems check --he", {"--help"}),
    ],
)
def test_bash_completes_commands_and_options(parivox, tmp_path, typed, wanted):
    if (bash := shutil.which("bash")) is None:
        pytest.skip("no bash")
    made = parivox("completion", "bash")
    assert (made.returncode, made.stderr) == (0, "")
    (tmp_path / "completion").write_text(made.stdout)
    words = typed.split(" ")
    line = f"COMP_WORDS=(parivox {' '.join(words[:-1])} '{words[-1]}'); COMP_CWORD={len(words)}"
    done = subprocess.run(
        [bash, "-euc", f'. ./completion; {line}; _parivox || true; echo "${{COMPREPLY[@]}}"'],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert ({*done.stdout.split()}, done.stderr) == (wanted, "")


def test_fish_is_told_each_option_of_each_command_with_its_words(parivox):
    lines = parivox("completion", "fish").stdout.splitlines()
    assert all(line.startswith("complete -c parivox ") for line in lines)
    assert any("-l replicates -d 'of the bootstrap" in line for line in lines)


def test_a_shell_that_is_not_known(parivox):
    done = parivox("completion", "bush")
    assert done.returncode == 2
    assert "did you mean bash? there are bash, zsh, fish" in done.stderr
