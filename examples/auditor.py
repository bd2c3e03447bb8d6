"""The auditor of docs/tutorials/auditor.md: a workbook of people and a CSV, both of Excel.

    python examples/auditor.py FOLDER

Writes made-up files as Excel writes them in a country with decimal commas, and checks what an
audit of them says. Needs the extra `xlsx`.
"""

from __future__ import annotations

import csv
import random
import sys
from itertools import combinations
from pathlib import Path

from openpyxl import Workbook

import parivox as pv

AGES = ("18-29", "30-44", "45-59", "60+")
NOT_STATED = 10
"""Every tenth does not say how old they are."""
PEOPLE = {
    f"{7 * i:05d}": (
        "Männer" if i % 2 else "Frauen",
        AGES[i // 2 % 4] if i % NOT_STATED else "not stated",
    )
    for i in range(1, 241)
}
FILES = [(person, f"{person}_{n}.wav") for person in PEOPLE for n in (1, 2, 3, 4, 5)]
NONTARGETS = 0.03
"""So many of the pairs of two people are compared."""
HEADER = ("Enrol file", "Enrol speaker", "Test file", "Test speaker", "Score", "Same speaker")


def write(folder: Path) -> None:
    """Write the workbook and the CSV."""
    folder.mkdir(parents=True, exist_ok=True)
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Testpersonen"
    sheet.append(["Sprecherprüfung 2026"])
    sheet.append(["made up, for the documentation"])
    sheet.append([])
    sheet.append(["Person", "Gender", "Age group"])
    for row, (person, attributes) in enumerate(PEOPLE.items(), start=5):
        sheet.append([int(person), *attributes])  # a number that is shown as 00007
        sheet.cell(row, 1).number_format = "00000"
    book.save(folder / "people.xlsx")
    draw = random.Random(5)  # noqa: S311 - made-up scores, not secrets
    means = {
        person: draw.gauss(0.54 if age in AGES[2:] else 0.62, 0.08)
        for person, (_, age) in PEOPLE.items()
    }
    with (folder / "scores.csv").open("w", newline="", encoding="cp1252") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow([*HEADER, "Büro"])
        for (enrol_speaker, enrol), (test_speaker, test) in combinations(FILES, 2):
            is_target = enrol_speaker == test_speaker
            if not is_target and draw.random() > NONTARGETS:
                continue
            mean = means[enrol_speaker] if is_target else 0.1
            score = f"{draw.gauss(mean, 0.11):.4f}".replace(".", ",")
            answer = "yes" if is_target else "no"
            office = draw.choice(["Köln", "Bonn"])
            rows.writerow([enrol, enrol_speaker, test, test_speaker, score, answer, office])


def check(folder: Path) -> None:
    """Audit, and compare what comes out with what was put in."""
    scores, people = folder / "scores.csv", folder / "people.xlsx"
    audit = pv.audit(
        scores,
        speakers=people,
        by="Age group",
        operating_points="threshold=0.38",
        intervals=False,
    )
    assert {row["group"] for row in audit.groups} == {*AGES, "pooled", "all"}
    rows = audit.groups.filter(metric="fnr", definition="").rows()
    rates = {row["group"]: row["value"] for row in rows}
    assert min(rates[age] for age in AGES[2:]) > max(rates[age] for age in AGES[:2])


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/auditor")
    write(folder)
    check(folder)
