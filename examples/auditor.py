"""The auditor of docs/bring-your-data.md: a workbook of people and a CSV of scores, both of Excel.

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

AGES = ("18-29", "30-44", "45-59", "60+", "not stated")
PEOPLE = {f"{7 * i:05d}": ("Männer" if i % 2 else "Frauen", AGES[i % 5]) for i in range(1, 41)}
FILES = [(one, f"{one}_{n}.wav") for one in PEOPLE for n in (1, 2, 3, 4)]
GROUPS = """\
by: [Age group]
reference: [younger]
groups:
  Age group:
    younger: [18-29, 30-44]
    older: [45-59, 60+]
"""


def write(folder: Path) -> None:
    """Write the workbook, the CSV and the groups file."""
    folder.mkdir(parents=True, exist_ok=True)
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Testpersonen"
    sheet.append(["Sprecherprüfung 2026"])
    sheet.append(["made up, for the documentation"])
    sheet.append([])
    sheet.append(["Person", "Gender", "Age group"])
    for row, (person, told) in enumerate(PEOPLE.items(), start=5):
        sheet.append([int(person), *told])  # a number that is shown as 00007
        sheet.cell(row, 1).number_format = "00000"
    book.save(folder / "people.xlsx")
    draw = random.Random(5)  # noqa: S311 - made-up scores, not secrets
    with (folder / "scores.csv").open("w", newline="", encoding="cp1252") as file:
        rows = csv.writer(file, delimiter=";")
        rows.writerow(
            [
                "Enrol file",
                "Enrol speaker",
                "Test file",
                "Test speaker",
                "Score",
                "Same speaker",
                "Büro",
            ]
        )
        for (first, enrol), (second, test) in combinations(FILES, 2):
            if first != second and draw.random() > 0.3:
                continue
            older = PEOPLE[first][1] in AGES[2:4]
            mean = (0.48 if older else 0.6) if first == second else 0.1
            score = f"{draw.gauss(mean, 0.13):.4f}".replace(".", ",")
            same = "yes" if first == second else "no"
            rows.writerow([enrol, first, test, second, score, same, draw.choice(["Köln", "Bonn"])])
    (folder / "groups.yaml").write_text(GROUPS, encoding="utf-8")


def check(folder: Path) -> None:
    """Audit, and compare what comes out with what was put in."""
    scores, people = folder / "scores.csv", folder / "people.xlsx"
    audit = pv.audit(scores, speakers=people, by="Age group")
    assert {row["group"] for row in audit.groups} == {*AGES, "pooled", "all"}
    merged = pv.audit(scores, speakers=people, groups=folder / "groups.yaml")
    older, younger = (
        merged.groups.where(group=name, metric="fnr").rows()[0]["value"]
        for name in ("older", "younger")
    )
    assert older > younger
    (left_out,) = merged.data.where(source="groups").rows()
    assert left_out["count"] == sum(age == "not stated" for _, age in PEOPLE.values())


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else "build/auditor")
    write(where)
    check(where)
