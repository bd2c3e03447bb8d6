"""The hotline of docs/bring-your-data.md: one table with a row a call.

    python examples/hotline.py FOLDER

Writes a made-up log, and checks what an audit of it says.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

import parivox as pv

CUSTOMERS = [(number, "fm"[number % 2], 18 + number % 60) for number in range(1, 201)]

CALLS = 4000


def write(folder: Path) -> None:
    """Write the log: of every seventh call, another customer is claimed."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(4)  # noqa: S311 - made-up scores, not secrets
    with (folder / "log.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(
            ("call_id", "customer", "claimed_customer", "score", "decision", "gender", "age")
        )
        for call in range(1, CALLS + 1):
            customer, gender, age = CUSTOMERS[call % 200]
            claimed = draw.choice(CUSTOMERS)[0] if call % 7 == 0 else customer
            mean = 2.5 if claimed == customer else 0.0
            if gender == "f":
                mean -= 0.4
            score = draw.gauss(mean, 1)
            decision = "accept" if score >= 1 else "reject"
            rows.writerow((call, customer, claimed, f"{score:.3f}", decision, gender, age))


def check(folder: Path) -> None:
    """Audit the log and check what is told of it."""
    audit = pv.audit(folder / "log.csv", by="gender", intervals=False)
    women, men = (
        next(iter(audit.groups.filter(group=gender, metric="fnr", operating_point="deployed")))
        for gender in "fm"
    )
    assert women["value"] > men["value"]
    assert women["trials"] + men["trials"] > 6 / 7 * CALLS


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/hotline")
    write(folder)
    check(folder)
