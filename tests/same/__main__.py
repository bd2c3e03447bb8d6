"""Frozen audits: does every table, JSON, page, figure and export come out as it did?

    python -m tests.same [AUDIT ...] [--exact] [--workers N]
    python -m tests.same [AUDIT ...] --record REASON
    python -m tests.same --list

Runs the audits of ``cases.py`` and compares hashes of what comes out with those in ``hashes/``.
What agrees is kept under build/same, so that a later difference is shown by its lines. A hash that
changes on purpose is recorded with its reason, which stands beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from difflib import unified_diff
from itertools import zip_longest
from pathlib import Path

from tests.same.cases import CASES
from tests.same.forms import NORMALISED, TABLES, fingerprint, has_changed, rounded, sections
from tests.same.running import run

HASHES = Path(__file__).parent / "hashes"
BUILD = Path("build/same").absolute()
SHOWN_LINES, SHOWN_WIDTH = 3, 160
"""Of a difference: lines of either side."""
COMPARED_LINES = 400
"""From the first that differs: to find what was put in or taken out."""


def main() -> None:
    options = parse()
    if options.list:
        print(*(f"{name:12}{case.__doc__}" for name, case in CASES.items()), sep="\n")
        return
    names = [name for word in options.audits for name in word.split(",") if name] or [*CASES]
    if unknown := [name for name in names if name not in CASES]:
        sys.exit(f"no frozen audit is called {', '.join(unknown)}; there are {', '.join(CASES)}")
    if options.record is not None and not options.record.strip():
        sys.exit("a reason is needed: --record 'why these outputs changed'")
    os.environ.update(COLUMNS="100", LINES="40", NO_COLOR="1", TERM="dumb")
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        os.environ.pop(name, None)

    started, n_changed, failed = time.perf_counter(), 0, []
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, mp_context=spawn) as workers:
        for name, running in [(name, workers.submit(run, name, options.workers)) for name in names]:
            try:
                texts, seconds = running.result()
            except Exception as error:  # noqa: BLE001 - the other audits are still of interest
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                failed.append(name)
            else:
                n_changed += compare(name, texts, seconds, options)
    print(f"{len(names)} audits in {time.perf_counter() - started:.0f} s.", *NORMALISED)
    if failed:
        sys.exit(f"could not be run: {', '.join(failed)}")
    if n_changed and options.record is None:
        sys.exit(
            f"{n_changed} outputs differ; those of now are in {BUILD / 'now'}. If that is meant: "
            'make same ONLY=... RECORD="why"'
        )


def parse() -> argparse.Namespace:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser("python -m tests.same", None, __doc__, formatter_class=raw)
    add = parser.add_argument
    add("audits", nargs="*", metavar="AUDIT", help="these only (default: all)")
    add("--list", action="store_true", help="list the frozen audits")
    add("--exact", action="store_true", help="compare every digit of floats")
    add("--record", metavar="REASON", help="record what differs, with the reason")
    folder_help = "of outputs that agreed, to show differences from (default: build/same/kept)"
    add("--kept", type=Path, default=BUILD / "kept", metavar="FOLDER", help=folder_help)
    add("--jobs", type=int, default=min(2, os.cpu_count() or 1), metavar="N", help="processes")
    workers_help = "of each audit and report, however small (default: as without the option)"
    add("--workers", type=int, metavar="N", help=workers_help)
    return parser.parse_args()


def compare(name: str, texts: dict[str, str], seconds: float, options: argparse.Namespace) -> int:
    """Compare an audit's outputs with what is recorded, or record them; how many differ."""
    file = HASHES / f"{name}.json"
    recorded = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    current = {output: hashes(output, text) for output, text in texts.items()}
    changed = [
        output
        for output in sorted({*recorded, *current})
        if differs(recorded.get(output, {}), current.get(output, {}), exact=options.exact)
    ]
    state = f"{len(changed)} differ" if changed else "all the same"
    print(f"{name}: {len(current)} outputs, {state} ({seconds:.1f} s)", flush=True)
    for output in changed if recorded else ():
        print(f"  {output}: {difference(recorded.get(output), current.get(output))}")
        if output in current:
            write(BUILD / "now" / name / output, texts[output])
        if output in current and output in recorded:
            kept_file = options.kept / name / output
            show(kept_file, texts[output], recorded[output], exact=options.exact)
    if options.record is not None:
        record(file, recorded, current, changed, options.record.strip())
    for output, text in texts.items():
        if options.record is not None or output not in changed:
            write(options.kept / name / output, text)
    return len(changed)


def hashes(output: str, text: str) -> dict[str, object]:
    """Return fingerprints of an output and of its parts, and its hash to the last digit."""
    by_part = {section: fingerprint(piece) for section, piece in sections(output, text).items()}
    return {"near": fingerprint(text), "exact": short(text), "parts": by_part}


def differs(recorded: dict, current: dict, *, exact: bool) -> bool:
    """Return whether an output differs from the recorded one; all its digits if exact."""
    if exact:
        return recorded.get("exact") != current.get("exact")
    return has_changed(recorded.get("near"), current.get("near"))


def short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def difference(recorded: dict | None, current: dict | None) -> str:
    """Which parts of an output differ."""
    if recorded is None or current is None:
        return "new" if recorded is None else "gone"
    old, new = recorded["parts"], current["parts"]
    changes = [
        *[
            f"{section} differs"
            for section in old
            if section in new and has_changed(old[section], new[section])
        ],
        *[f"{section} is gone" for section in old if section not in new],
        *[f"{section} is new" for section in new if section not in old],
    ]
    if not differs(recorded, current, exact=False):
        changes = ["only digits beyond those compared by default differ"]
    return ", ".join(changes) or "differs"


def show(kept_file: Path, text: str, recorded: dict, *, exact: bool) -> None:
    """Show the first lines that differ from the kept output, if that is the recorded one."""
    old = kept_file.read_bytes().decode() if kept_file.exists() else None
    if old is None or differs(recorded, hashes(kept_file.name, old), exact=False):
        print("    for its lines, first run this where it agrees, with the same --kept FOLDER")
        return
    if not exact:
        old, text = rounded(old), rounded(text)
    if kept_file.name.endswith(TABLES) and (n_added := added_rows(old, text)):
        print(f"    {n_added} rows added, all other rows are the same")
        return
    if not kept_file.name.endswith(".html"):
        show_lines(old, text)
        return
    was, now = sections(kept_file.name, old), sections(kept_file.name, text)
    for section in was.keys() & now.keys():
        if was[section] != now[section]:
            print(f"    {section}:")
            show_lines(was[section], now[section])


def added_rows(old: str, text: str) -> int:
    """Return the number of new rows of a table; 0 if any other row is missing or has moved."""
    was, now = old.splitlines(), text.splitlines()
    remaining_rows = iter(now)
    # each search goes on after the row that was found last
    return len(now) - len(was) if all(row in remaining_rows for row in was) else 0


def show_lines(old: str, text: str) -> None:
    """Show the first lines that differ."""
    was, now = old.splitlines(), text.splitlines()
    start_line = next((i for i, pair in enumerate(zip_longest(was, now)) if len({*pair}) > 1), 0)
    window = slice(start_line, start_line + COMPARED_LINES)
    changes = [*unified_diff(was[window], now[window], n=0, lineterm="")][2:]
    changed_lines = [*was[start_line:][:1], *now[start_line:][:1]]
    shared = len(os.path.commonprefix(changed_lines))  # noqa: RUF071
    start = max(0, shared - SHOWN_WIDTH // 2)
    print(f"    from line {start_line + 1} of {len(now)}:")
    for sign in "-+":
        for line in [line[1:] for line in changes if line.startswith(sign)][:SHOWN_LINES]:
            cut = start if len(line) > SHOWN_WIDTH else 0
            print(f"    {sign} {'…' if cut else ''}{line[cut : cut + SHOWN_WIDTH]}")


def record(file: Path, recorded: dict, current: dict, changed: list[str], reason: str) -> None:
    """Write the hashes; what changed, is new or gone gets the reason beside those it had."""
    gone = {"near": None, "exact": None, "parts": {}}
    entries = {output: recorded[output] for output in recorded if output not in changed}
    for output in changed:
        reasons = [*recorded.get(output, {}).get("reasons", []), *([reason] if recorded else [])]
        entries[output] = {**current.get(output, gone), "reasons": reasons}
    lines = (
        f"{json.dumps(output)}: {json.dumps(entry)}" for output, entry in sorted(entries.items())
    )
    write(file, "{\n" + ",\n".join(lines) + "\n}\n")
    print(f"  {len(changed)} recorded in {file.relative_to(Path.cwd())}")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", newline="")


if __name__ == "__main__":
    main()
