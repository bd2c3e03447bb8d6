"""Every group at every limit, on the first screen of the report."""

import re
from html import unescape

import numpy as np
import pytest

import parivox as pv
from parivox.report.html import html_report
from parivox.report.sheets.supplementary import limits


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(5)
    ids = [f"{gender}{i}" for gender in "fm" for i in range(12)]
    pairs = [(a, b) for i, a in enumerate(ids) for b in ids[i:] if a[0] == b[0]]
    enrol, test = ([f"{pair[side]}/{side}" for pair in pairs] for side in (0, 1))
    is_target = np.array([a == b for a, b in pairs])
    scores = {"enrol": enrol, "test": test, "label": is_target.astype(int)}
    scores["score"] = rng.normal(2.0 * is_target)
    people = {"id": ids, "gender": [name[0] for name in ids]}
    options = {"operating_points": ["threshold=1.0"], "limits": ["fnr=30%", "fpr=1.5x"]}
    return pv.audit(scores, people, by="gender", replicates=50, **options)


def test_each_group_has_its_interval_and_verdict_at_each_limit(audit):
    (sheet,) = limits(audit)
    assert [column.head for column in sheet.columns] == [
        "Group",
        "FNR at threshold=1.0: at most 30 %",
        "FPR at threshold=1.0: at most 1.5 times the rate of all other groups combined",
    ]
    words = {"met": "met", "not_met": "not met", "inconclusive": "inconclusive"}
    rows = [row for row in audit.limits.rows() if row["measure"] in {"limit", "ratio_limit"}]
    cells = {row[0].text: row[1:] for row in sheet.rows}
    assert list(cells) == ["f", "m", "pooled"]
    for row in rows:
        cell = cells[row["group"]][row["metric"] == "fpr"]
        assert cell.text == words[row["verdict"]]
        assert re.fullmatch(
            r"[\d.,]+ (%|times) \[[\d.,]+, [\d.,]+\]", cell.below.replace("\xa0", " ")
        )


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_limits_stand_before_the_sections(audit):
    page = unescape(html_report(audit))
    place = page.index("Limits by gender, each group judged separately")
    assert page.index('id="answer"') < place < page.index('id="groups"')
