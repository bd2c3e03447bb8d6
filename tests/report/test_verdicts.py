"""What the summary says of how sure it is."""

import re

import pytest

import parivox as pv
from parivox.report.catalogue import finding_text

pytestmark = pytest.mark.slow


def flat(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def audit(audited):
    return audited(by=["gender", "nation"], operating_points=["fpr=0.01", "eer"])


@pytest.fixture
def lines(printed):
    """Lines of one group in the tables of FNR and of FPR."""

    def find(audit, group):
        output_lines = printed(audit).splitlines()
        return [
            line.split() for line in output_lines if re.match(rf" +{re.escape(group)}\*? +\d", line)
        ]

    return find


def test_a_line_holds_rate_interval_speakers_errors_ratio_p_and_verdict(audit, lines):
    condition = {"grouping": "gender", "group": "f", "operating_point": "fpr=0.01"}
    for line, metric in zip(lines(audit, "f"), ("fnr", "fpr"), strict=True):
        (rate,) = audit.groups.subset(**condition, metric=metric, definition="").rows()
        (verdict,) = audit.verdicts.subset(**condition, metric=metric).rows()
        words = {"worse": ["worse"], "inconclusive": ["inconclusive"]}[verdict["verdict"]]
        numbers = [text.strip("[],~*") for text in line[1 : -len(words)]]
        assert line[-len(words) :] == words
        assert numbers[0] == str(rate["speakers"])
        assert numbers[4] == f"{rate['errors']}/{rate['trials']}"
        for text, number in (
            (numbers[1], 100 * rate["value"]),
            (numbers[2], 100 * rate["low"]),
            (numbers[3], 100 * rate["high"]),
            *zip(numbers[5:8], (verdict[name] for name in ("ratio", "low", "high")), strict=True),
            (numbers[8], verdict["p_holm"]),
        ):
            assert float(text) == pytest.approx(number, rel=0.05)


def test_groups_that_differ_are_told_first_with_their_figures(audit, printed):
    text = printed(audit)
    answer = flat(text.split("gender: 2 groups")[1].split("Every group")[0])
    assert (
        "false rejects (FNR): rates differ between groups (adjusted p = 0.012); worse: f; better: m"
        in answer
    )
    assert "f: more false rejects (FNR 30.9 %, ratio " in answer
    assert answer.index("f: more false rejects") < answer.index("m: fewer false rejects")


def test_opposite_directions_are_one_sentence(material, printed):
    trials, speakers = material
    enrolments_and_scores = zip(trials["enrol"], trials["score"], strict=True)
    scores = [
        score + (0.6 if int(enrol[1:3]) % 2 else -0.6) for enrol, score in enrolments_and_scores
    ]
    audit = pv.audit(
        {**trials, "score": scores},
        speakers=speakers,
        by="gender",
        operating_points="fpr=0.05",
        replicates=50,
    )
    (row,) = audit.verdicts.subset(group="m", metric="fpr+fnr").rows()
    assert finding_text(row) == "fewer false accepts; more false rejects"
    assert re.search(
        r"m: fewer false accepts \(FPR .*?\); more false rejects \(FNR ", flat(printed(audit))
    )


def test_better_but_for_one_group_is_told_with_it_and_not_counted(material, printed):
    trials, speakers = material
    rows = list(zip(trials["enrol"], trials["test"], trials["score"], strict=True))
    scores = [
        score - 1.2 * (enrol_id[:3] == test_id[:3] and int(enrol_id[1:3]) % 3 == 2)
        for enrol_id, test_id, score in rows
    ]
    audit = pv.audit(
        {**trials, "score": scores},
        speakers=speakers,
        by="nation",
        operating_points="fpr=0.05",
        replicates=50,
    )
    text = flat(printed(audit))
    assert "worse: USA; better (not confirmed without USA): India, Norway" in text
    assert re.search(r"Norway\*? 8 .*? better, not without USA", text)
    assert "Better, not without X: better, but not confirmed when" in text
    answer = text.split("Every group")[0]
    assert "Norway less" not in answer
    assert "Norway locked out" not in answer


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        ("worse", "worse"),
        ("better", "better"),
        ("equivalent", "equivalent"),
        ("inconclusive", "inconclusive"),
    ],
)
def test_no_verdict_is_told_in_the_words_of_another(audited, lines, verdict, words):
    wide = audited(by="gender", operating_points="fpr=0.01", margin=50)
    rows = [row for audit in (wide, audited(by="gender")) for row in audit.verdicts.rows()]
    assert verdict in {row["verdict"] for row in rows if row["group"] in {"f", "m"}}
    for audit in (wide, audited(by="gender")):
        for group in ("f", "m"):
            for line, metric in zip(lines(audit, group), ("fnr", "fpr"), strict=True):
                condition = {"group": group, "metric": metric, "operating_point": "fpr=0.01"}
                (row,) = audit.verdicts.subset(**condition).rows()
                assert (" ".join(line).endswith(f" {words}")) == (row["verdict"] == verdict)


def test_small_groups_are_marked_and_listed_with_what_they_lack(audited, printed):
    text = printed(audited(by="gender+nation", operating_points="fpr=0.01"))
    listed = flat(text.split("* under-represented: ")[1].split("\n\n")[0])
    assert listed.startswith("f+USA (3 speakers); f+India, f+Norway, m+India, m+Norway, m+USA (4 s")
    assert re.search(r"(?m)^ +f\+USA\* ", text)
    large = audited(by="gender", operating_points="eer", gates=["speakers=2", "errors=1"])
    assert "under-represented" not in printed(large)
    assert "without *" not in printed(large).split("FNR (false rejects): %")[0]


def test_meta_measures_stand_beside_their_floors(audited, printed):
    gates = ["speakers=5", "errors=1", "pairs=2"]
    audit = audited(by="nation", operating_points="eer", gates=gates)
    (row,) = audit.meta.subset(
        grouping="nation", measure="garbe", operating_point="eer", zero="none", gated=False
    ).rows()
    output_lines = printed(audit).splitlines()
    line = next(line for line in output_lines if line.startswith("  GARBE"))
    (fair,) = re.findall(rf"{row['value']:.3f} +({row['floor_mean']:.3f}, \S+) +\S+ +lower", line)
    assert fair == f"{row['floor_mean']:.3f}, {row['floor_95']:.3f}"
    assert "A value within the floor does not show fairness" in flat(printed(audit))


@pytest.mark.parametrize("options", [{}, {"limits": ["fnr=0.2"], "attempts": 3, "compare": True}])
def test_no_speaker_is_named(material, printed, options):
    trials, speakers = material
    systems = {"A": trials, "B": {**trials, "score": [2 * score for score in trials["score"]]}}
    text = printed(pv.audit(systems, speakers=speakers, by="gender", replicates=50, **options))
    assert not re.search(r"\bs\d\d\b", text)


def test_without_intervals_nothing_is_said_of_chance(audited, printed):
    text = flat(printed(audited(by="gender", intervals=False)))
    assert "No confidence intervals: --no-intervals was given." in text
    assert "ratio: to all groups pooled" in text
    assert "verdict" not in text
    assert "inconclusive" not in text


def test_counts_say_why_nothing_is_said_of_chance(material, printed, tmp_path):
    trials, speakers = material
    pv.count({"A": trials}, speakers=speakers, by=["gender"]).save(tmp_path / "all.counts")
    text = flat(printed(pv.audit(tmp_path / "all.counts")))
    opening = text.split("From 1 file of counts")[0]
    assert "No confidence intervals: score counts do not identify speakers." in opening
    assert "do not contain:" in text.split("gender: 2 groups")[0]


def test_limits_and_people_are_told_where_they_are_asked_for(audited, printed):
    options = {"by": "gender", "operating_points": "fpr=0.01"}
    plain = flat(printed(audited(**options)))
    assert "Limit of" not in plain
    assert "Per 10,000" not in plain
    assert "the 10 % of speakers with the most false rejects account for" in plain
    text = printed(audited(**options, limits=["fnr=0.2", "fpr=0.01"], attempts=3))
    assert "Limit of 20 % on FNR at fpr=0.01: not met: f (30.9 % [" in flat(text)
    assert "Limit of 1 % on FPR at fpr=0.01: inconclusive: f, m, pooled." in flat(text)
    assert "Per 10,000 in 3 attempts at fpr=0.01, if attempts are independent" in flat(text)
    for head in ("FNR above 20.0 %", "worst 10 %", "rejected", "accepted"):
        assert head in text
    assert all(len(line) <= 100 for line in text.splitlines())


def test_a_named_reference_is_no_group_to_be_judged(audited, printed, lines):
    audit = audited(by=["gender", "nation"], reference="f", operating_points="fpr=0.01")
    assert [line[-1] for line in lines(audit, "f")] == ["reference", "reference"]
    assert "no verdicts, as this grouping has no group f" in printed(audit)


def test_a_class_without_trials_has_no_verdict(material, printed):
    trials, speakers = material
    cells = [row for row in zip(*trials.values(), strict=True) if row[0][:3] == row[1][:3]]
    only = dict(zip(trials, map(list, zip(*cells, strict=True)), strict=True))
    options = {"by": "gender", "operating_points": "threshold=1", "replicates": 50}
    text = printed(pv.audit(only, speakers=speakers, **options))
    assert "No FPR: no nontarget trials." in text
    assert "false accepts (FPR)" not in text


def test_bands_of_a_number_have_a_trend(material, printed):
    trials, speakers = material
    ages = {**speakers, "age": [20 + 2 * i for i in range(24)]}
    audit = pv.audit(
        trials, speakers=ages, by="age:30,50", operating_points="fpr=0.01", replicates=50
    )
    assert re.search(
        r"Odds of an error with age, per 10: FNR x 1\.0 \[\S+, \S+\], p ", flat(printed(audit))
    )


def test_standardised_rates_stand_beside_the_crude_ones(audited, printed):
    audit = audited(by="gender", operating_points="fpr=0.01", standardise="same:nation")
    text = printed(audit).split("equal weight for each stratum of same:nation")[1]
    (row,) = audit.groups.subset(
        group="f", metric="fpr", definition="standardised same:nation"
    ).rows()
    line = next(line for line in text.splitlines() if line.startswith("  f "))
    assert line.split()[1:3] == ["30.9", "30.9"]
    assert f"{100 * row['value']:.3g}" in line.split()


def test_a_comparison_is_told(material, printed):
    trials, speakers = material
    shifted = {
        **trials,
        "score": [score * (1 if i % 3 else 0.5) for i, score in enumerate(trials["score"])],
    }
    options = {"by": "nation", "operating_points": "fpr=0.01", "replicates": 50, "compare": True}
    audit = pv.audit({"A": trials, "B@x": shifted}, speakers=speakers, **options)
    text = printed(audit)
    assert "A against B on x: the same trials" in text
    (row,) = audit.comparison.subset(grouping="all", metric="eer").rows()
    line = next(line for line in text.splitlines() if line.startswith("  EER "))
    assert f"{100 * row['value']:.3g} %" in line
    assert f"{100 * row['difference']:+.3g}" in line
    assert re.search(r"(?m)^  GARBE ", text.split("A against")[1])


def test_levels_tell_which_groups_differ(audited, printed):
    text = printed(audited(by="gender", within="nation", operating_points="fpr=0.01"))
    assert re.search(r"(?m)^  nation=India .*2 inconclusive", text)


def test_intervals_that_take_trials_as_independent_are_named(audited, printed):
    text = flat(printed(audited(by="gender", interval="wilson", operating_points="eer")))
    assert "95 % confidence interval, wilson (takes trials as independent)" in text
