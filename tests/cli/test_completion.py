"""``parivox completion``, as each shell uses it."""

import os
import pty
import select
import shutil
import subprocess

import pytest

pytestmark = pytest.mark.minimal
EERS = "linear nearest_max nearest_mean clova speechbrain kaldi nist_sre16 rocch pyeer"
TYPED = {
    "au": {"audit"},
    "audit --speak": {"--speakers", "--speaker-ids"},
    "audit s.csv --by gender --repl": {"--replicates"},
    "audit --eer ": {*EERS.split()},
    "audit --allocate e": {"enrol", "either"},
    "completion ": {"bash", "zsh", "fish"},
    "trials bu": {"build"},
    "trials build ": {"inclusive", "balanced", "cross"},
    "trials build inclusive --per": {"--per-speaker"},
    "systems check --he": {"--help"},
}


@pytest.fixture(scope="module")
def started(parivox, tmp_path_factory):
    """A shell that is installed, a folder, and what makes it complete, in a file there."""

    def start(name):
        if (shell := shutil.which(name)) is None:
            pytest.skip(f"no {name} is installed")
        folder = tmp_path_factory.mktemp(name)
        completed = parivox("completion", name)
        assert (completed.returncode, completed.stderr) == (0, "")
        (folder / "completion").write_text(completed.stdout)
        return shell, folder

    return start


def shell_output(shell, script, folder):
    """What a script prints, run by a shell that knows nothing of its user."""
    done = subprocess.run(
        [*shell, script], cwd=folder, env={**os.environ, "HOME": str(folder)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout


def test_bash_completes_commands_options_and_choices(started):
    bash, folder = started("bash")
    cases = {**TYPED, "audit s": set(), "trials build --per": set()}
    lines = []
    for typed in cases:
        words = typed.split(" ")
        line = f"COMP_WORDS=(parivox {' '.join(words[:-1])} '{words[-1]}'); COMP_CWORD={len(words)}"
        lines.append(f'{line}; _parivox || true; echo "${{COMPREPLY[@]}}"')
    answers = shell_output([bash, "-euc"], "\n".join([". ./completion", *lines]), folder).split(
        "\n"
    )
    assert dict(zip(cases, ({*line.split()} for line in answers), strict=False)) == cases


def test_fish_completes_commands_options_and_choices_with_their_words(started):
    fish, folder = started("fish")
    lines = [f"complete -C 'parivox {typed}'; echo" for typed in TYPED]
    script = "\n".join(["source ./completion", *lines])
    answers = shell_output([fish, "--no-config", "-c"], script, folder).split("\n\n")
    shown = [
        dict(line.split("\t", 1) for line in answer.strip().split("\n")) for answer in answers[:-1]
    ]
    assert dict(zip(TYPED, ({*answer} for answer in shown), strict=True)) == TYPED
    assert shown[2]["--replicates"].startswith("of the bootstrap")


def test_zsh_completes_commands_options_choices_and_files(started):
    zsh, folder = started("zsh")
    (folder / "scores.csv").touch()
    cases = {
        "au": "audit",
        "audit --repl": "audit --replicates",
        "audit --eer kal": "audit --eer kaldi",
        "completion fi": "completion fish",
        "trials build inclusive --per-s": "trials build inclusive --per-speaker",
        "audit sco": "audit scores.csv",
    }
    typist, screen = pty.openpty()
    with subprocess.Popen(
        [zsh, "-f", "-i"], cwd=folder, stdin=screen, stdout=screen, stderr=screen,
        start_new_session=True, env={**os.environ, "HOME": str(folder), "TERM": "dumb"},
    ) as process:  # fmt: skip
        os.write(typist, b"parivox() { print -r -- GIVEN $*. }; . ./completion; parivox ready\n")
        until(typist, "GIVEN ready.")
        for typed, completed in cases.items():
            os.write(typist, f"parivox {typed}\t\n".encode())
            terminal_screen = until(typist, f"GIVEN {completed}.")
            assert f"GIVEN {completed}." in terminal_screen
        process.kill()
    os.close(screen)
    os.close(typist)


def until(typist, words):
    """What is written on the screen up to some words."""
    terminal_screen = ""
    while words not in terminal_screen and select.select([typist], [], [], 60)[0]:
        terminal_screen += os.read(typist, 4096).decode(errors="replace")
    return terminal_screen


def test_a_shell_that_is_not_known(parivox):
    done = parivox("completion", "bush")
    assert done.returncode == 2
    assert "did you mean 'bash'? available: bash, zsh, fish" in done.stderr
