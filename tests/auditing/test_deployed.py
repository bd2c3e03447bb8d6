"""Decisions that were made, and thresholds that each trial had, by plain loops."""

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sentences import item_in_words

import parivox as pv
from parivox.auditing.data_table import TRIALS_BEYOND_MEMORY
from parivox.errors import ConfigError, DataError

RULES = ("both", "enrol", "test", "either")
CHEAP = {"reference": "pooled", "zero": "none", "cost": "voxsrc", "intervals": False}
NO_SCORES = "decisions_without_scores"
LEFT_OUT = "trials without a score"


@pytest.fixture(scope="session")
def audit_of(bank):
    def made(rows, *columns, without=(), **options):
        table = bank.table(rows, *columns)
        for name in without:
            del table[name]
        reported = {"speakers": bank.customers, "utterances": bank.calls}
        return pv.audit(table, **{**reported, **CHEAP, **options})

    return made


@pytest.fixture(scope="session")
def groupings(bank):
    """Groups of both sides of a row."""
    return {
        "gender": lambda row: tuple(bank.customer(row[s])["gender"] for s in ("enrol", "test")),
        "test.channel": lambda row: (bank.call(row["test"])["channel"],) * 2,
        "channel": lambda row: tuple(bank.call(row[s])["channel"] for s in ("enrol", "test")),
    }


def decided(rows):
    """Errors and trials of both classes, of the trials that were decided."""
    known = [row for row in rows if row["decision"] is not None]
    other, own = ([row for row in known if row["label"] == label] for label in (0, 1))
    return (
        *(sum(row["decision"] == "accept" for row in other), len(other)),
        *(sum(row["decision"] == "reject" for row in own), len(own)),
    )


@pytest.fixture(scope="session")
def bare(bank, audit_of, groupings):
    """Decisions and nothing else."""
    return audit_of(
        bank.scored,
        "decision",
        without=["score"],
        intervals=False,
        by=[*groupings],
        allocate=RULES,
        operating_points=["deployed", "fpr=0.1", "threshold=1", "eer"],
        within="test.channel",
        sweep="fpr=0.01:0.1:log3",
    )


@pytest.fixture(scope="session")
def levelled(bank, audit_of, groupings):
    """Scores and a threshold for each trial."""
    return audit_of(
        bank.scored,
        "threshold",
        by=[*groupings],
        allocate=RULES,
        within="test.channel",
        intervals=False,
    )


@pytest.fixture(params=["bare", "levelled"])
def either(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", ["gender", "test.channel", "channel"])
def test_deployed_rates_are_those_of_a_plain_loop(
    either, bank, groupings, allocated, shown, grouping, rule
):
    placed = allocated(bank.scored, groupings[grouping], rule)
    expected = {group: decided(rows) for group, rows in placed.items()}
    observed = shown(either, "deployed", grouping=grouping, allocation=rule, within="")
    assert observed == expected


def test_deployed_rates_of_all_trials(either, bank, shown):
    expected = decided(bank.scored)
    assert shown(either, "deployed", grouping="all", within="") == {"all": expected}
    (point,) = either.operating_points.subset(operating_point="deployed", within="")
    assert point["fpr"] == expected[0] / expected[1]
    assert point["fnr"] == expected[2] / expected[3]
    cost = 0.05 * point["fnr"] + 0.95 * point["fpr"]
    assert point["cdet_norm"] == pytest.approx(cost / 0.05)
    assert (point["threshold"], point["source"], point["reason"]) == (None, "given", "")


def test_deployed_rates_within_levels(either, bank, groupings, allocated, shown):
    for level, threshold in {"app": 0.75, "branch": 1.0, "phone": 1.25}.items():
        rows = [r for r in bank.scored if bank.call(r["test"])["channel"] == level]
        filters = {"within": f"test.channel={level}"}
        placed = allocated(rows, groupings["gender"], "both")
        expected = {group: decided(some) for group, some in placed.items()}
        assert (
            shown(either, "deployed", grouping="gender", allocation="both", **filters) == expected
        )
        (point,) = either.operating_points.subset(operating_point="deployed", **filters)
        fp, nontarget, fn, target = decided(rows)
        assert (point["fpr"], point["fnr"]) == (fp / nontarget, fn / target)
        has_thresholds = len(either.det) > 0
        assert point["threshold"] == (threshold if has_thresholds else None)


def test_matrix_of_decisions_is_that_of_a_plain_loop(either, bank, groupings):
    counts = {}
    for row in bank.scored:
        pair = groupings["gender"](row)
        if not row["label"] and None not in pair and row["decision"] is not None:
            cell = counts.setdefault(pair, [0, 0])
            cell[0] += row["decision"] == "accept"
            cell[1] += 1
    rows = either.matrix.subset(grouping="gender", operating_point="deployed", within="")
    observed = {(r["enrol_group"], r["test_group"]): [r["errors"], r["trials"]] for r in rows}
    assert observed == counts


def test_what_needs_scores_is_missing_with_that_reason(bare):
    decisions = {"fpr", "fnr", "hter", "cdet_raw", "cdet_norm"}
    for row in bare.groups:
        if row["operating_point"] == "deployed":
            assert row["metric"] in decisions
            assert row["reason"] in {"", "no_target_trials", "no_nontarget_trials", "no_trials"}
        elif row["metric"] not in {"act_cdet_norm", "cllr", "min_cllr", "cal_loss"}:
            assert (row["value"], row["reason"]) == (None, NO_SCORES)
        else:
            assert row["value"] is None
    for point in ("fpr=0.1", "threshold=1", "eer"):
        for row in bare.operating_points.subset(operating_point=point):
            assert (row["threshold"], row["fpr"], row["reason"]) == (None, None, NO_SCORES)
        for row in bare.matrix.subset(operating_point=point):
            assert (row["errors"], row["value"]) == (None, None)
    assert len(bare.det) == 0
    for row in bare.bias:
        assert row["value"] is None or row["operating_point"] == "deployed"
    for row in bare.meta:
        assert row["value"] is None or row["operating_point"] == "deployed"
    for row in bare.sweep:
        assert row["value"] is None


def test_decisions_alone_are_audited_by_default_at_their_own_point(bank, audit_of):
    audit = audit_of(bank.scored, "decision", without=["score"], by="gender")
    assert [row["operating_point"] for row in audit.operating_points] == ["deployed"]
    undecided = sum(row["decision"] is None for row in bank.scored)
    assert undecided
    (left,) = audit.data.subset(item="trials_without_decision")
    assert left["count"] == undecided
    rows = audit.bias.subset(metric="fnr", measure="ratio", operating_point="deployed")
    assert all(row["value"] is not None for row in rows)
    assert len(rows) == 2


def test_scores_with_decisions_have_their_own_points_too(bank, audit_of, errors, shown):
    audit = audit_of(bank.scored, "decision", by="gender")
    assert [row["operating_point"] for row in audit.operating_points] == ["deployed", "fpr=0.01"]
    assert shown(audit, "deployed", grouping="all") == {"all": decided(bank.scored)}
    (point,) = audit.operating_points.subset(operating_point="fpr=0.01")
    expected = errors(bank.scored, point["threshold"])
    assert shown(audit, "fpr=0.01", grouping="all") == {"all": expected}


def test_measures_of_both_rates_are_of_the_operating_point_that_they_name(bank, audit_of):
    points = ["deployed", "fpr=0.1", "threshold=0.5"]
    audit = audit_of(bank.scored, "threshold", by="gender", operating_points=points)
    for point in points:
        filters = {"grouping": "gender", "operating_point": point}
        ranges = []
        for metric in ("fpr", "fnr"):
            rows = audit.groups.subset(**filters, metric=metric)
            rates = [row["value"] for row in rows if row["group"] != "pooled"]
            ranges.append(max(rates) - min(rates))
        (fdr,) = audit.meta.subset(**filters, measure="fdr", gated=False)
        assert fdr["value"] == pytest.approx(1 - sum(ranges) / 2)
        (worst,) = audit.meta.subset(**filters, measure="eo_diff", gated=False)
        assert worst["value"] == pytest.approx(max(ranges))


@pytest.mark.parametrize("rule", RULES)
def test_deployed_thresholds_are_told_per_group(levelled, bank, groupings, allocated, rule):
    for grouping, sides in groupings.items():
        for group, rows in allocated(bank.scored, sides, rule).items():
            expected = Counter(row["threshold"] for row in rows if row["threshold"] is not None)
            told = levelled.data.subset(source="scores", grouping=grouping, group=group, within="")
            start, ending = "trials at the deployed threshold", f"(allocation {rule})"
            told = [
                r
                for r in told
                if item_in_words(r).startswith(start) and item_in_words(r).endswith(ending)
            ]
            assert {r["value"]: r["count"] for r in told} == expected
            assert all(item_in_words(r) == f"{start} {r['value']!r} {ending}" for r in told)
            filters = {"grouping": grouping, "group": group, "allocation": rule, "within": ""}
            (fnr,) = levelled.groups.subset(**filters, metric="fnr", operating_point="deployed")
            assert fnr["threshold"] == (next(iter(expected)) if len(expected) == 1 else None)


def test_no_threshold_is_an_average(levelled, bank):
    given = {row["threshold"] for row in bank.scored}
    rows = levelled.groups.subset(operating_point="deployed")
    assert {row["threshold"] for row in rows} <= given
    assert {row["threshold"] for row in rows.subset(grouping="test.channel")} == given
    assert {row["threshold"] for row in rows.subset(grouping="gender", within="")} == {None}


def test_deployed_thresholds_of_all_trials_and_of_levels(levelled, bank):
    told = levelled.data.subset(source="scores", grouping="all")
    observed = {(r["within"], r["value"]): r["count"] for r in told}
    expected = Counter()
    for row in bank.scored:
        if row["threshold"] is not None:
            expected["", row["threshold"]] += 1
            channel = bank.call(row["test"])["channel"]
            expected[f"test.channel={channel}", row["threshold"]] += 1
    assert observed == expected


def test_decisions_and_thresholds_that_agree_are_one(bank, audit_of, levelled, groupings, shown):
    both = audit_of(bank.scored, "threshold", "decision", by=[*groupings], allocate=RULES)
    for rule in RULES:
        filters = {"grouping": "gender", "allocation": rule, "within": ""}
        assert shown(both, "deployed", **filters) == shown(levelled, "deployed", **filters)


def test_decisions_without_scores_may_tell_their_thresholds(bank, audit_of, bare, shown):
    rows = [row for row in bank.scored if row["decision"] is not None]
    audit = audit_of(rows, "decision", "threshold", without=["score"], by="gender")
    assert shown(audit, "deployed", grouping="gender") == shown(
        bare, "deployed", grouping="gender", allocation="both", within=""
    )
    told = audit.data.subset(source="scores", grouping="all")
    assert {r["value"]: r["count"] for r in told} == Counter(row["threshold"] for row in rows)


def contradicted(rows):
    """One decision the wrong way round; the row in the table, counted from 1."""
    at = next(i for i, row in enumerate(rows) if row["decision"] == "reject" and i > 20)
    return [{**r, "decision": "accept"} if i == at else r for i, r in enumerate(rows)], at + 1


def test_a_decision_that_its_score_contradicts_is_refused(bank, audit_of):
    rows, at = contradicted(bank.scored)
    row = rows[at - 1]
    pair = rf"\({row['enrol']}, {row['test']}\) is 'accept', but has score {row['score']} "
    with pytest.raises(DataError, match=rf"row {at}, column 'decision': {pair}"):
        audit_of(rows, "decision", "threshold", by="gender")


def test_a_decision_that_its_score_contradicts_may_be_set_aside(bank, audit_of, shown):
    rows, at = contradicted(bank.scored)
    audit = audit_of(
        rows, "decision", "threshold", by="gender", within="test.channel", conflicts="exclude"
    )
    rest = [row for i, row in enumerate(rows) if i != at - 1]
    assert shown(audit, "deployed", grouping="all", within="") == {"all": decided(rest)}
    reported = {
        item_in_words(row): row for row in audit.data.subset(group="") if row["grouping"] == ""
    }
    assert reported["contradictory rows"]["count"] == 1
    assert reported["decisions that contradict the score and the threshold"]["count"] == 1
    reported = {
        item_in_words(row): row for row in audit.data.subset(source="conflicts", group="all")
    }
    for word, some in (("without", rest), ("with", rows)):
        fp, nontarget, fn, target = decided(some)
        for metric, value in (("fpr", fp / nontarget), ("fnr", fn / target)):
            item = f"{metric} at deployed {word} contradictory rows"
            assert reported[item]["value"] == value


def test_decisions_without_scores_that_are_set_aside_have_no_eer(bank, audit_of):
    rows = [*bank.scored, {**bank.scored[0], "decision": "reject"}]
    first = bank.scored[0]["decision"]
    rows[-1]["decision"] = {"accept": "reject", "reject": "accept"}[first]
    with pytest.raises(DataError, match=f"rows 1 and {len(rows)}: the same trial"):
        audit_of(rows, "decision", without=["score"], by="gender")
    audit = audit_of(rows, "decision", without=["score"], by="gender", conflicts="exclude")
    items = [item_in_words(row) for row in audit.data.subset(source="conflicts")]
    assert any(item.startswith("fpr at deployed") for item in items)
    assert not any("eer" in item or "cdet" in item for item in items)
    (kept,) = audit.data.subset(item="trials")
    assert kept["count"] == sum(row["decision"] is not None for row in bank.scored) - 1


def test_nothing_deployed_is_refused(bank, audit_of):
    with pytest.raises(ConfigError, match="neither a column 'decision' nor a column 'threshold'"):
        audit_of(bank.scored, by="gender", operating_points="deployed")


def test_thresholds_alone_decide_nothing(bank, audit_of):
    with pytest.raises(DataError, match="no score column"):
        audit_of(bank.scored, "threshold", without=["score"], by="gender")


@pytest.mark.parametrize(
    ("accept", "reject"),
    [
        *(("accept", "reject"), ("Accepted", "REJECTED"), ("1", "0"), ("true", "false")),
        *(("yes", "no"), ("pass", "fail"), (" match ", "nonmatch"), ("1.0", "-1")),
        *((1, 0), (True, False), (1.0, 0.0), ("A", "r")),
    ],
)
def test_words_for_decisions(bank, audit_of, shown, accept, reject):
    words = {"accept": accept, "reject": reject, None: None}
    rows = [{**row, "decision": words[row["decision"]]} for row in bank.scored]
    audit = audit_of(rows, "decision", without=["score"], by="gender")
    assert shown(audit, "deployed", grouping="all") == {"all": decided(bank.scored)}


@pytest.mark.parametrize(
    ("column", "cell", "match"),
    [
        (
            "decision",
            "perhaps",
            "row 3, column 'decision': 'perhaps' is not a decision; correct it",
        ),
        (
            "threshold",
            "high",
            "row 3, column 'threshold': 'high' is not a number; correct",
        ),
        ("threshold", "nan", "row 3, column 'threshold': 'nan' is not a number"),
    ],
)
def test_bad_cells(bank, audit_of, column, cell, match):
    rows = [{**row, column: str(row[column] or "")} for row in bank.scored[:50]]
    rows[2][column] = cell
    with pytest.raises(DataError, match=match):
        audit_of(rows, column, by="gender")


def test_decisions_that_are_all_the_wrong_way_round_are_refused(bank, audit_of):
    swapped = {"accept": "reject", "reject": "accept", None: None}
    rows = [{**row, "decision": swapped[row["decision"]]} for row in bank.scored]
    with pytest.raises(DataError, match="target trials are accepted less often"):
        audit_of(rows, "decision", without=["score"], by="gender")
    audit_of(rows, "decision", without=["score"], by="gender", orientation="similarity")


def test_distances_are_accepted_up_to_their_threshold(bank, audit_of, levelled, shown):
    rows = [
        {**row, "score": -row["score"], "threshold": row["threshold"] and -row["threshold"]}
        for row in bank.scored
    ]
    audit = audit_of(rows, "threshold", "decision", by="gender", orientation="distance")
    filters = {"grouping": "gender"}
    assert shown(audit, "deployed", **filters) == shown(
        levelled, "deployed", **filters, allocation="both", within=""
    )


def test_cells_of_numbers_may_have_decimal_commas(bank, audit_of, levelled, shown):
    def text(number):
        return "" if number is None else str(number).replace(".", ",")

    rows = [{**row, **{c: text(row[c]) for c in ("score", "threshold")}} for row in bank.scored]
    audit = audit_of(rows, "threshold", by="gender")
    assert shown(audit, "deployed", grouping="all") == shown(
        levelled, "deployed", grouping="all", within=""
    )


def test_many_thresholds_are_told_by_the_lowest_and_the_highest(bank, audit_of):
    rows = [{**row, "threshold": (100 + i % 60) / 100} for i, row in enumerate(bank.scored)]
    audit = audit_of(rows, "threshold", by="gender")
    told = audit.data.subset(grouping="all")
    assert [row["value"] for row in told] == [1.0, 1.59]
    assert [item_in_words(row) for row in told] == [
        f"trials at the deployed threshold {level}; only the lowest and highest of 60 thresholds "
        "are listed"
        for level in (1.0, 1.59)
    ]
    (point,) = audit.operating_points.subset(operating_point="deployed")
    known = [{**r, "decision": ("reject", "accept")[r["score"] >= r["threshold"]]} for r in rows]
    fp, nontarget, fn, target = decided(known)
    assert (point["fpr"], point["fnr"]) == (fp / nontarget, fn / target)


def test_one_threshold_for_all_is_that_operating_point(bank, audit_of, shown):
    rows = [{**row, "threshold": 1.0} for row in bank.scored]
    audit = audit_of(rows, "threshold", by="gender", operating_points=["deployed", "threshold=1.0"])
    assert shown(audit, "deployed", grouping="gender") == shown(
        audit, "threshold=1.0", grouping="gender"
    )
    assert {r["threshold"] for r in audit.groups.subset(operating_point="deployed")} == {1.0}
    one, two = audit.operating_points
    for name in ("threshold", "fpr", "fnr", "cdet_norm", "source", "reason"):
        assert one[name] == two[name]


@pytest.mark.parametrize("columns", [("threshold",), ("threshold", "decision"), ("decision",)])
def test_beyond_memory_decisions_count_the_same(bank, audit_of, beyond_memory, columns):
    options = {"by": ["gender", "channel"], "allocate": RULES, "within": "test.channel"}
    options["intervals"] = False  # which take the speakers of every trial in memory
    full_audit = audit_of(bank.scored, *columns, **options, operating_points="deployed")
    beyond_memory()
    parts = audit_of(bank.scored, *columns, **options, operating_points="deployed")
    assert (parts.record["resolution"]["exact"], full_audit.record["resolution"]["exact"]) == (
        False, True,
    )  # fmt: skip
    filters = {"operating_point": "deployed"}
    for name in ("groups", "bias", "meta", "matrix", "operating_points"):
        one, two = (
            getattr(audit, name).subset(**filters).to_polars() for audit in (parts, full_audit)
        )
        if "measure" in one.columns:  # whose threshold is found on the curve
            of_costs = one["measure"].is_in(["subgroup_bias", "threshold_bias"])
            one, two = one.filter(~of_costs), two.filter(~of_costs)
        assert one.height
        assert one.equals(two, null_equal=True)
    read = parts.data.to_polars().filter(pl.col("item") != TRIALS_BEYOND_MEMORY)
    assert read.equals(full_audit.data.to_polars(), null_equal=True)


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    cells=st.lists(
        st.tuples(
            st.sampled_from([0.0, 0.5, 1.0, -0.0]), st.sampled_from([None, 0.0, 0.5, 1.0, -0.0])
        ),
        min_size=2,
        max_size=12,
    )
)
def test_a_score_at_its_threshold_is_accepted(cells):
    trials = {
        "enrol": [f"a/{i}" for i in range(len(cells))],
        "test": [f"a/t{i}" for i in range(len(cells))],
        "score": [score for score, _ in cells],
        "threshold": [level for _, level in cells],
    }
    audit = pv.audit(trials, speakers={"id": ["a"], "g": ["x"]}, by="g", **CHEAP)
    known = [(score, level) for score, level in cells if level is not None]
    rows = audit.groups.subset(grouping="all", metric="fnr", operating_point="deployed").rows()
    if not known:
        assert not rows
        return
    (fnr,) = rows
    assert (fnr["errors"], fnr["trials"]) == (sum(s < t for s, t in known), len(known))


PEOPLE = {"id": ["a", "b"], "sex": ["f", "m"]}
PAIRS = {"enrol": ["a/1", "b/1", "a/1"], "test": ["a/2", "b/2", "b/2"]}


def item(audit, text, **where):
    rows = [row for row in audit.data.subset(**where) if item_in_words(row).startswith(text)]
    return {row["group"]: row["count"] for row in rows}


@pytest.mark.slow
def test_trials_without_a_threshold_are_told_for_each_group():
    scores = {**PAIRS, "score": [0.9, 0.7, 0.3], "threshold": ["0.5", "", "0.6"]}
    audit = pv.audit(scores, speakers=PEOPLE, by="sex")
    words = "trials without a decision or threshold, not counted at the operating point 'deployed'"
    assert item(audit, words, grouping="") == {"": 1}
    assert item(audit, words, grouping="sex") == {"f": 0, "m": 1}
    (fnr,) = audit.groups.subset(grouping="all", metric="fnr", operating_point="deployed")
    assert (fnr["errors"], fnr["trials"]) == (0, 1)


@pytest.mark.slow
@pytest.mark.parametrize("column", ["threshold", "decision"])
def test_an_empty_column_is_no_deployed_point(column):
    scores = {**PAIRS, "score": [0.9, 0.7, 0.3], column: ["", "", ""]}
    audit = pv.audit(scores, speakers=PEOPLE, by="sex")
    assert "deployed" not in {row["operating_point"] for row in audit.operating_points}


@pytest.mark.slow
def test_decisions_count_where_every_score_is_empty():
    decided = {**PAIRS, "decision": ["accept", "reject", "reject"]}
    wanted = pv.audit(decided, speakers=PEOPLE, by="sex").groups.rows()
    empty = pv.audit({**decided, "score": ["", "", ""]}, speakers=PEOPLE, by="sex")
    assert empty.groups.rows() == wanted
    some = pv.audit({**decided, "score": ["0.9", "", "0.1"]}, speakers=PEOPLE, by="sex")
    assert item(some, "decisions on trials without a score") == {"": 1}


def test_decisions_are_nothing_to_find_thresholds_on():
    scores = {**PAIRS, "score": [0.9, 0.7, 0.3]}
    decided = {**PAIRS, "decision": ["accept", "reject", "reject"]}
    with pytest.raises(ConfigError, match="from which no threshold can be set; give scores"):
        pv.audit(scores, speakers=PEOPLE, by="sex", threshold_from=decided)


@pytest.mark.parametrize("role", ["enrol", "test", "score", "label"])
def test_what_trials_are_made_of_is_nothing_to_group_by(role):
    scores = {**PAIRS, "score": [0.9, 0.7, 0.3], "label": [1, 1, 0]}
    with pytest.raises(ConfigError, match="unknown attribute"):
        pv.audit(scores, speakers=PEOPLE, by=role)


def test_decimal_points_and_commas_do_not_mix():
    scores = {**PAIRS, "score": [0.9, 0.7, 0.3], "threshold": ["0,5", ".4", "0,6"]}
    with pytest.raises(DataError, match="row 1, column 'threshold': '0,5' is not a number"):
        pv.audit(scores, speakers=PEOPLE, by="sex")


@pytest.mark.slow
def test_scores_whose_squares_are_infinite_warn_of_nothing():
    scores = {**PAIRS, "score": [1e308, 0.7, -1e308]}
    assert len(pv.audit(scores, speakers=PEOPLE, by="sex").groups)


def test_bootstrap_intervals_of_decisions_are_those_of_the_threshold_that_made_them(bank, audit_of):
    rows = [{**row, "decision": int(row["score"] >= 1)} for row in bank.scored]
    points = ["deployed", "threshold=1", "fpr=0.1"]
    audit = audit_of(
        rows,
        "decision",
        by="gender",
        operating_points=points,
        intervals=True,
        interval="bootstrap",
        replicates=99,
    )
    names = ("metric", "group", "value", "low", "high", "se")
    made, at_one = (
        [
            [row[name] for name in names]
            for row in audit.groups.rows()
            if row["operating_point"] == point and row["metric"] in {"fpr", "fnr"}
        ]
        for point in points[:2]
    )
    assert any(row[-1] for row in made)
    assert made == at_one
