"""The bank of docs/tutorials/bank.md: decisions on calls, enrolments of several calls, failures.

    python examples/bank.py FOLDER

Writes made-up files as a bank's log of genuine attempts might give them, and checks what an audit
of them says.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import parivox as pv
from parivox.auditing.counts.counting import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

THRESHOLDS = {"app": 1.8, "phone": 1.2}
LANGUAGES = ("French", "Dutch")
DEVICES = ("headset", "handset")
TOO_BAD = 0.03
"""So many calls cannot be used."""


def write(folder: Path) -> None:
    """Write customers, calls, enrolments, failures, and the decisions of each day and of all."""
    draw = random.Random(3)  # noqa: S311 - made-up customers, not secrets
    calls: list[Sequence[object]] = []
    customers, enrolments, failures = [], [], []
    days: tuple[list[Sequence[object]], ...] = ([], [])
    for i in range(400):
        customer, model = f"{i:06d}", f"m{i:06d}"
        gender, mother_tongue = draw.choice("fm"), draw.choice(LANGUAGES)
        customers.append((customer, gender))
        device, is_lost = draw.choice(DEVICES), draw.random() < TOO_BAD
        for _ in range(2):
            call = f"c{len(calls):05d}"
            calls.append((call, customer, "phone", mother_tongue, device))
            enrolments.append((model, customer, call))
            if is_lost:
                failures.append((call, "enrol", "too short"))
        for n in range(0 if is_lost else 10):
            call, channel = f"c{len(calls):05d}", draw.choice(list(THRESHOLDS))
            language = mother_tongue if draw.random() < 0.7 else draw.choice(LANGUAGES)
            calls.append((call, customer, channel, language, draw.choice(DEVICES)))
            score = draw.gauss(3.2 if gender == "m" else 2.9, 0.9)
            if language != mother_tongue:
                score -= 1
            decision = "accept" if score >= THRESHOLDS[channel] else "reject"
            if draw.random() < TOO_BAD:
                failures.append((call, "acquire", "no speech"))
                decision = ""
            days[n % 2].append((model, call, decision, THRESHOLDS[channel]))
    folder.mkdir(parents=True, exist_ok=True)

    def table(name: str, header: str, rows: Iterable[Sequence[object]]) -> None:
        with (folder / name).open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header.split(","), *rows])

    table("customers.csv", "customer,gender", customers)
    table("calls.csv", "call,customer,channel,language,device", calls)
    table("enrolments.csv", "model,customer,call", enrolments)
    table("failures.csv", "call,stage,reason", failures)
    for name, rows in (("decisions", [*days[0], *days[1]]), ("day1", days[0]), ("day2", days[1])):
        table(f"{name}.csv", "model,call,decision,threshold", rows)


def check(folder: Path) -> None:
    """Audit, and compare what comes out with a count by hand, and with the counts of the days."""
    options: dict[str, Any] = {
        "speakers": folder / "customers.csv",
        "utterances": folder / "calls.csv",
        "models": folder / "enrolments.csv",
        "failures": folder / "failures.csv",
        "columns": {"test": "call"},
        "by": ["gender", "same:device"],
        "within": "test.channel",
    }
    audit = pv.audit(folder / "decisions.csv", **options, intervals=False)
    gender = dict(rows_of(folder / "customers.csv"))
    decided = [
        (gender[row[0].removeprefix("m")], row[2]) for row in rows_of(folder / "decisions.csv")
    ]
    for group in ("f", "m"):
        decisions = [decision for caller_gender, decision in decided if caller_gender == group]
        rejected, lost = decisions.count("reject"), decisions.count("")
        assert errors(audit, group, "fnr") == (rejected, len(decisions) - lost)
        assert errors(audit, group, "frr") == (rejected + lost, len(decisions))
    thresholds = {
        row["within"]: row["threshold"] for row in audit.operating_points.rows() if row["within"]
    }
    assert thresholds == {f"test.channel={name}": level for name, level in THRESHOLDS.items()}
    for day in ("day1", "day2"):
        count(folder / f"{day}.csv", **options).save(folder / f"{day}.counts")
    days = pv.audit([folder / "day1.counts", folder / "day2.counts"])
    for group in ("f", "m"):
        for metric in ("fnr", "frr"):
            assert errors(days, group, metric) == errors(audit, group, metric)


def errors(audit: pv.Audit, group: str, metric: str) -> tuple[int, int]:
    """Errors and trials of a gender in the whole, each failure an attempt."""
    (row,) = (
        row
        for row in audit.groups.filter(grouping="gender", group=group, metric=metric, within="")
        if row["definition"] in {"", "attempts"}
    )
    return row["errors"], row["trials"]


def rows_of(file: Path) -> list[list[str]]:
    """Rows of a table below its header."""
    with file.open(newline="", encoding="utf-8") as text:
        return list(csv.reader(text))[1:]


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/bank")
    write(folder)
    check(folder)
