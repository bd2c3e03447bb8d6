"""Attributes of speakers, recordings and trials, and the audit within levels, by plain loops."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.sentences import item_in_words

import parivox as pv
from parivox.data import trial_shards
from parivox.errors import ConfigError, DataError

RULES = ("both", "enrol", "test", "either")
POINT = "threshold=1.0"
CHEAP = {"reference": "pooled", "zero": "none", "cost": "voxsrc", "intervals": False}
"""Fewer measures of bias than by default, without intervals: they are not what is tested here."""


def band(cell, *edges):
    """Name of the band that holds a number."""
    if cell is None:
        return None
    number = float(cell)
    if number < edges[0]:
        return f"<{edges[0]}"
    for low, high in pairwise(edges):
        if low <= number < high:
            return f"{low}-{high - 1}"
    return f"{edges[-1]}+"


def same_or_different(enrol_group, test_group):
    if enrol_group is None or test_group is None:
        return None
    return "same" if enrol_group == test_group else "different"


def joined(*sides_by_attribute):
    """Both sides' groups of an intersection."""

    def sides(row):
        pairs = [sides_of(row) for sides_of in sides_by_attribute]
        return tuple(
            None if None in side_groups else "+".join(side_groups)
            for side_groups in zip(*pairs, strict=True)
        )

    return sides


@pytest.fixture(scope="session")
def sides(bank):
    """The groups of both sides of a row, by the name of the grouping."""

    def both_sides(attributes_of, name, *edges):
        def banded(row):
            cells = [attributes_of(row[side])[name] for side in ("enrol", "test")]
            return tuple(band(cell, *edges) if edges else cell for cell in cells)

        return banded

    gender, region = both_sides(bank.customer, "gender"), both_sides(bank.customer, "region")
    channel, language = both_sides(bank.call, "channel"), both_sides(bank.call, "language")
    sides_by_grouping = {
        "gender": gender,
        "gender+region": joined(gender, region),
        "channel": channel,
        "language": language,
        "age:30,50": both_sides(bank.call, "age", 30, 50),
        "enrol.channel": lambda row: (channel(row)[0],) * 2,
        "test.channel": lambda row: (channel(row)[1],) * 2,
        "same:channel": lambda row: (same_or_different(*channel(row)),) * 2,
        "same:gender": lambda row: (same_or_different(*gender(row)),) * 2,
        "device": lambda row: (row["device"],) * 2,
        "days apart:1,30": lambda row: (band(row["days apart"], 1, 30),) * 2,
    }
    sides_by_grouping["enrol.age:40"] = lambda row: (both_sides(bank.call, "age", 40)(row)[0],) * 2
    sides_by_grouping["gender+same:channel"] = joined(gender, sides_by_grouping["same:channel"])
    sides_by_grouping["channel+device"] = joined(channel, sides_by_grouping["device"])
    sides_by_grouping["gender+enrol.language"] = joined(gender, lambda row: (language(row)[0],) * 2)
    return sides_by_grouping


GROUPINGS = (
    "gender",
    "gender+region",
    "channel",
    "language",
    "age:30,50",
    "enrol.channel",
    "test.channel",
    "same:channel",
    "same:gender",
    "device",
    "days apart:1,30",
    "enrol.age:40",
    "gender+same:channel",
    "channel+device",
    "gender+enrol.language",
)
LEVELS = ("channel", "same:gender", "device", "gender")
SURE = (
    "low",
    "high",
    "interval",
    "deff",
    "n_eff",
    "df",
    "se",
    "note",
    "p",
    "p_holm",
    "p_bh",
    "floor_mean",
    "floor_95",
)
NO_KEY = ("reason", "interval", "note", "values")


@pytest.fixture(scope="session")
def audit_of(bank):
    """Audit some rows of the bank with everything that it knows of them."""

    def audit_rows(rows, *columns, **options):
        columns = columns or ("device", "days apart")
        tables = {"speakers": bank.customers, "utterances": bank.calls, "operating_points": POINT}
        return pv.audit(bank.table(rows, *columns), **{**tables, **CHEAP, **options})

    return audit_rows


@pytest.fixture(scope="session")
def audit_by_levels(bank, audit_of):
    return audit_of(
        bank.scored,
        by=GROUPINGS,
        allocate=RULES,
        within=LEVELS,
        operating_points=[POINT, "fpr=0.1"],
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_groups_are_those_of_a_plain_loop(
    audit_by_levels, bank, sides, allocated, errors, shown, grouping, rule
):
    placed = allocated(bank.scored, sides[grouping], rule)
    counts = shown(audit_by_levels, POINT, grouping=grouping, allocation=rule, within="")
    occurring = {g for row in bank.scored for g in sides[grouping](row) if g is not None}
    assert {*counts} == {*occurring, "pooled"}
    assert counts == {group: errors(placed.get(group, []), 1.0) for group in counts}
    for row in audit_by_levels.groups.subset(
        grouping=grouping, allocation=rule, within="", metric="fpr"
    ):
        if row["trials"]:
            assert row["value"] == row["errors"] / row["trials"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_speakers_of_a_group_take_part_in_it_on_the_side_that_is_of_it(
    audit_by_levels, bank, sides, allocated, grouping, rule
):
    group_rows = audit_by_levels.groups.subset(
        grouping=grouping, allocation=rule, within="", metric="fpr", operating_point=POINT
    )
    everyone = set()
    for group, rows in allocated(bank.scored, sides[grouping], rule).items():
        if group == "pooled":
            continue
        group_speakers = {
            bank.who(row[side])
            for row in rows
            for side, side_group in zip(("enrol", "test"), sides[grouping](row), strict=True)
            if side_group == group
        }
        everyone |= group_speakers
        assert [row["speakers"] for row in group_rows.subset(group=group)] == [len(group_speakers)]
    assert [row["speakers"] for row in group_rows.subset(group="pooled")] == [len(everyone)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_no_trial_is_left_out_untold(audit_by_levels, bank, sides, allocated, grouping, rule):
    excluded = {
        item_in_words(row): row["count"]
        for row in audit_by_levels.data.subset(source="scores", grouping=grouping, group="")
        if item_in_words(row).endswith(f"(allocation {rule})")
    }
    unknown = sum(count for item, count in excluded.items() if "unknown" in item)
    between = sum(count for item, count in excluded.items() if "between" in item)
    inside = len(allocated(bank.scored, sides[grouping], rule).get("pooled", []))
    assert inside + unknown + between == len(bank.scored)
    apart = [sides[grouping](row) for row in bank.scored]
    two_groups = sum(None not in pair and pair[0] != pair[1] for pair in apart)
    assert between == (two_groups if rule == "both" else 0)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_matrix_is_that_of_a_plain_loop(audit_by_levels, bank, sides, grouping):
    counts = {}
    for row in bank.scored:
        pair = sides[grouping](row)
        if not row["label"] and None not in pair:
            cell = counts.setdefault(pair, [0, 0])
            cell[0] += int(row["score"] >= 1.0)
            cell[1] += 1
    rows = audit_by_levels.matrix.subset(grouping=grouping, operating_point=POINT, within="")
    for row in rows:
        expected = counts.pop((row["enrol_group"], row["test_group"]), [0, 0])
        assert [row["errors"], row["trials"]] == expected
    assert len(rows)
    assert not counts


def test_bands_stand_in_rising_order(audit_by_levels):
    for grouping, expected in {
        "age:30,50": ["<30", "30-49", "50+"],
        "days apart:1,30": ["<1", "1-29", "30+"],
        "same:channel": ["different", "same"],
    }.items():
        rows = audit_by_levels.groups.subset(
            grouping=grouping, allocation="both", within="", metric="eer"
        )
        assert [row["group"] for row in rows] == [*expected, "pooled"]


def level_rows(bank, sides, grouping, level):
    """The trials both sides of which are in a level."""
    return [row for row in bank.scored if sides[grouping](row) == (level, level)]


@pytest.mark.parametrize(
    ("grouping", "level"),
    [("channel", "app"), ("same:gender", "same"), ("device", "old"), ("gender", "f")],
)
def test_a_level_holds_what_an_audit_of_its_trials_alone_says(
    audit_by_levels, bank, sides, audit_of, grouping, level
):
    (point,) = audit_by_levels.operating_points.subset(operating_point="fpr=0.1", within="")
    inside = audit_of(
        level_rows(bank, sides, grouping, level),
        by=GROUPINGS,
        allocate=RULES,
        operating_points=[POINT, f"threshold={point['threshold']!r}"],
    )
    name = f"{grouping}={level}"
    text = pl.col(pl.String).replace(f"threshold={point['threshold']!r}", "fpr=0.1")
    # what is found at the group's own or at the cheapest threshold of all trials has another source
    same_source = ~pl.col("metric").is_in(["fnr_at_fpr"])
    plain = pl.col("measure").is_in(["difference", "ratio", "neg_log_ratio"])
    for table, row_filter in (
        ("groups", same_source),
        ("bias", same_source & plain),
        ("matrix", True),
    ):
        tables = [
            getattr(audit, table)
            .subset(within=within)
            .to_polars()
            .drop("within")
            .filter(row_filter)
            for audit, within in ((audit_by_levels, name), (inside, ""))
        ]
        mine, alone = tables[0], tables[1].with_columns(text)
        key = [c for c in alone.columns if alone[c].dtype == pl.String and c not in NO_KEY]
        # a level may have no trial of a group that the whole has
        unmatched = mine.join(alone, on=key, how="anti")
        counts = [
            c for c in ("trials", "target_trials", "nontarget_trials") if c in unmatched.columns
        ]
        assert unmatched.select(counts).fill_null(0).sum().row(0) == (0,) * len(counts)
        mine = mine.join(alone, on=key, how="semi")
        assert mine.height == alone.height > 0
        mine, alone = mine.sort(key), alone.sort(key)
        shared = [c for c in mine.columns if c not in SURE]
        assert mine.select(shared).equals(alone.select(shared), null_equal=True)
    level_points = {
        row["operating_point"]: (row["threshold"], row["fpr"], row["fnr"], row["cdet_norm"])
        for row in audit_by_levels.operating_points.subset(within=name)
    }
    alone = [
        (row["threshold"], row["fpr"], row["fnr"], row["cdet_norm"])
        for row in inside.operating_points
    ]
    assert list(level_points.values()) == alone


def test_intervals_within_a_level_are_those_of_its_trials_alone(bank, sides, audit_of):
    groupings = ("gender", "device", "same:channel")  # what is no closed form rests on all trials
    options = {"by": groupings, "allocate": ("both", "enrol"), "intervals": True}
    by_channel = audit_of(bank.scored, within="channel", **options)
    inside = audit_of(level_rows(bank, sides, "channel", "app"), **options)
    rates = pl.col("metric").is_in(["fpr", "fnr"])
    mine, alone = (
        audit.groups.subset(within=within, operating_point=POINT).to_polars().filter(rates)
        for audit, within in ((by_channel, "channel=app"), (inside, ""))
    )
    key = ["grouping", "group", "allocation", "metric"]
    mine = mine.join(alone, on=key, how="semi").drop("within").sort(key)
    alone = alone.drop("within").sort(key)
    assert mine["low"].count()
    assert mine.equals(alone, null_equal=True)


def test_thresholds_within_a_level_are_those_of_all_trials(audit_by_levels):
    for point in (POINT, "fpr=0.1"):
        rows = audit_by_levels.operating_points.subset(operating_point=point)
        assert len({row["threshold"] for row in rows}) == 1
        assert len(rows) == 1 + 3 + 2 + 2 + 2
        rows = audit_by_levels.groups.subset(operating_point=point, metric="fnr")
        assert len({row["threshold"] for row in rows}) == 1


def test_the_level_stands_in_the_last_column_but_for_those_of_how_sure_it_is(audit_by_levels):
    levels = ["", *(f"channel={c}" for c in ("app", "branch", "phone"))]
    levels += [f"same:gender={level}" for level in ("different", "same")]
    levels += [*("device=new", "device=old"), *("gender=f", "gender=m")]
    sure = {"groups": 12, "bias": 9, "meta": 9, "matrix": 1, "operating_points": 1}
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "det"):
        table = audit_by_levels.tables()[name].to_polars()
        assert table.columns.index("within") == table.width - 1 - sure.get(name, 0)
        table_levels = table["within"].unique(maintain_order=True).to_list()
        # trials of different genders are all nontarget ones, and have no curve
        assert table_levels == [
            level for level in levels if name != "det" or "different" not in level
        ]


def test_bias_within_a_level_is_against_its_own_pooled_row(audit_by_levels):
    row_filter = {"metric": "fnr", "operating_point": POINT, "within": "channel=app"}
    rates = {
        (row["grouping"], row["group"], row["allocation"]): row["value"]
        for row in audit_by_levels.groups.subset(**row_filter)
    }
    rows = audit_by_levels.bias.subset(
        **row_filter, measure="ratio", reference="pooled", zero="none"
    )
    assert len(rows)
    for row in rows:
        pooled = rates[row["grouping"], "pooled", row["allocation"]]
        group_rate = rates[row["grouping"], row["group"], row["allocation"]]
        if not row["reason"]:
            assert row["value"] == group_rate / pooled


def test_trials_in_no_level_are_told(audit_by_levels, bank, sides):
    for grouping in LEVELS:
        pairs = [sides[grouping](row) for row in bank.scored]
        outside = sum(None in pair or pair[0] != pair[1] for pair in pairs)
        (row,) = (
            row
            for row in audit_by_levels.data.subset(source="scores", grouping=grouping)
            if item_in_words(row) == "trials in no stratum of --within, or between two strata"
        )
        assert row["count"] == outside


def test_without_levels_the_column_is_empty(bank, audit_of, audit_by_levels):
    points = [POINT, "fpr=0.1"]
    plain = audit_of(bank.scored, by=GROUPINGS, allocate=RULES, operating_points=points)
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "det"):
        outer = audit_by_levels.tables()[name].to_polars().filter(within="")
        assert outer.equals(plain.tables()[name].to_polars(), null_equal=True)


@pytest.fixture
def with_gender(bank):
    """The calls with a column of the same name as one of the customers'."""

    def calls_with_gender(**changes):
        calls = bank.calls["call"]
        column = [changes.get(call, bank.customer(call)["gender"]) for call in calls]
        return {**bank.calls, "gender": column}

    return calls_with_gender


def test_one_attribute_of_two_levels_that_agree_is_one(
    bank, audit_of, with_gender, audit_by_levels, shown
):
    audit = audit_of(bank.scored, by="gender", utterances=with_gender())
    assert shown(audit, POINT, grouping="gender") == shown(
        audit_by_levels, POINT, grouping="gender", allocation="both", within=""
    )


def test_one_attribute_of_two_levels_that_differ_must_be_told_apart(
    bank, audit_of, with_gender, allocated, errors, shown
):
    call = bank.scored[0]["enrol"]
    assert bank.customer(call)["gender"] == "f"
    calls = with_gender(**{call: "m"})
    with pytest.raises(ConfigError, match="'f' by speakers and 'm' by utterances") as refusal:
        audit_of(bank.scored, by="gender", utterances=calls)
    assert "speaker.gender or recording.gender" in str(refusal.value)
    audit = audit_of(bank.scored, by=["speaker.gender", "recording.gender"], utterances=calls)

    def both_sides(gender_of):
        return lambda row: tuple(gender_of(row[side]) for side in ("enrol", "test"))

    for name, gender_of in (
        ("speaker.gender", lambda recording: bank.customer(recording)["gender"]),
        (
            "recording.gender",
            lambda recording: "m" if recording == call else bank.customer(recording)["gender"],
        ),
    ):
        placed = allocated(bank.scored, both_sides(gender_of), "both")
        expected = {group: errors(rows, 1.0) for group, rows in placed.items()}
        assert shown(audit, POINT, grouping=name) == expected


def test_one_attribute_of_trials_and_of_recordings_must_be_told_apart(bank, audit_of):
    rows = [{**row, "channel": bank.call(row["test"])["channel"]} for row in bank.scored]
    with pytest.raises(ConfigError, match=r"recording\.channel or trial\.channel"):
        audit_of(rows, "channel", by="channel")
    audit = audit_of(rows, "channel", by=["trial.channel", "test.channel"])
    by_trial, by_recording = (
        audit.groups.subset(grouping=name).to_polars().drop("grouping")
        for name in ("trial.channel", "test.channel")
    )
    assert by_trial.equals(by_recording, null_equal=True)


def test_columns_for_either_side_of_a_trial_are_the_sides_own(
    bank, audit_of, sides, allocated, errors, shown
):
    rows = [
        {
            **row,
            "enrol_tongue": bank.call(row["enrol"])["language"],
            "test_tongue": bank.call(row["test"])["language"],
        }
        for row in bank.scored
    ]
    options = {"utterances": {k: bank.calls[k] for k in ("call", "customer")}}
    audit = audit_of(
        rows, "enrol_tongue", "test_tongue", by=["tongue", "same:tongue", "enrol.tongue"],
        allocate=RULES, **options,
    )  # fmt: skip
    language = sides["language"]
    for name, sides_of in {
        "tongue": language,
        "same:tongue": lambda row: (same_or_different(*language(row)),) * 2,
        "enrol.tongue": lambda row: (language(row)[0],) * 2,
    }.items():
        for rule in RULES:
            placed = allocated(rows, sides_of, rule)
            expected = {group: errors(group_rows, 1.0) for group, group_rows in placed.items()}
            assert shown(audit, POINT, grouping=name, allocation=rule) == expected


def test_an_attribute_may_be_unknown_in_the_first_rows(bank, audit_of, shown, allocated, errors):
    rows = sorted(bank.scored, key=lambda row: row["device"] is not None)
    assert rows[0]["device"] is None
    audit = audit_of(rows, by="device")
    placed = allocated(rows, lambda row: (row["device"],) * 2, "both")
    expected = {group: errors(group_rows, 1.0) for group, group_rows in placed.items()}
    assert shown(audit, POINT, grouping="device") == expected


def test_an_age_that_changes_between_recordings_is_no_conflict(audit_by_levels, bank):
    ages = {}
    for name, age in zip(bank.calls["customer"], bank.calls["age"], strict=True):
        ages.setdefault(name, set()).add(age)
    assert any(len(several) > 1 for several in ages.values())
    assert len(audit_by_levels.groups.subset(grouping="age:30,50"))


@pytest.mark.parametrize(
    ("grouping", "rows", "match"),
    [
        ("days apart", {"days apart": "x"}, None),
        ("days apart:1,30", {"days apart": "long ago"}, "'long ago' .* not a number"),
        ("device", {"device": None}, "is unknown for every trial"),
        ("enrol.device", {}, "'device' is a column of the trials"),
        ("same:device", {}, "'device' is a column of the trials"),
        ("devise", {}, "unknown attribute .*; did you mean 'device"),
        ("trial.region", {}, "unknown attribute"),
    ],
)
def test_bad_attributes_of_trials(bank, audit_of, grouping, rows, match):
    few = [{**row, **rows} for row in bank.scored[:200]]
    if match is None:
        audit = audit_of(few, "days apart", by=grouping)
        assert {row["group"] for row in audit.groups} == {"all", "x", "pooled"}
        return
    with pytest.raises((ConfigError, DataError), match=match):
        audit_of(few, by=[grouping, "device"] if grouping == "devise" else grouping)


def test_a_column_for_one_side_only(bank, audit_of):
    rows = [{**row, "test_net": "a"} for row in bank.scored[:200]]
    with pytest.raises(ConfigError, match="for one side only, not for the enrolment"):
        audit_of(rows, "test_net", by="net")
    audit = audit_of(rows, "test_net", by="test.net")
    assert {row["group"] for row in audit.groups} == {"all", "a", "pooled"}


def test_an_attribute_of_trials_with_too_many_values_is_no_grouping():
    n = 10_001
    trials = {
        "enrol": ["a/1"] * n,
        "test": [f"b/{i}" for i in range(n)],
        "score": np.linspace(0, 1, n),
        "label": [0] * n,
        "minute": [f"t{i}" for i in range(n)],
    }
    with pytest.raises(DataError, match="'minute' has more than 10,000 values"):
        pv.audit(trials, by="minute")


def test_an_attribute_that_other_trials_lack(bank, audit_of):
    without_device = bank.table(bank.scored)
    with pytest.raises(ConfigError, match="has no such column, but other trials do"):
        pv.audit(
            {"A": bank.table(bank.scored, "device"), "B": without_device},
            speakers=bank.customers,
            utterances=bank.calls,
            by="device",
        )


def test_the_order_of_rows_changes_nothing(bank, audit_of):
    rows = bank.scored[:400]
    mixed = [rows[i] for i in np.random.default_rng(5).permutation(len(rows))]
    options = {"by": ["device", "same:channel", "gender"], "within": "channel", "intervals": True}
    assert audit_of(mixed, **options).to_json() == audit_of(rows, **options).to_json()


@pytest.fixture(scope="module")
def by_device(audit_of, shown):
    def counts(rows):
        return shown(audit_of(rows, by="device"), POINT, grouping="device")

    return counts


@pytest.fixture(scope="module")
def as_named(bank, by_device):
    return by_device(bank.scored[:400])


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(names=st.permutations(["new", "old", "x"]))
def test_other_names_of_values_are_the_same_groups(bank, by_device, as_named, names):
    renamed = {"new": names[0], "old": names[1], None: None}
    rows = [{**row, "device": renamed[row["device"]]} for row in bank.scored[:400]]
    expected = {renamed.get(group, group): counts for group, counts in as_named.items()}
    assert by_device(rows) == expected


def test_one_side_of_a_trial_is_the_allocation_to_that_side(audit_by_levels):
    for side in ("enrol", "test"):
        by_attribute, by_rule = (
            audit_by_levels.groups.subset(grouping=grouping, allocation=rule, within="")
            .to_polars()
            .drop("grouping", "allocation", "speakers")
            for grouping, rule in ((f"{side}.channel", "both"), ("channel", side))
        )
        assert by_attribute.equals(by_rule, null_equal=True)


PLAIN = {
    "enrol": ["a/1", "a/1", "b/1", "c/1", "c/1", "b/1"],
    "test": ["a/2", "b/1", "b/2", "c/2", "a/1", "a/2"],
    "score": [1.0, 0.0, 1.0, 0.2, 0.9, 0.1],
    "device": ["new", "old", "old", "new", "new", "old"],
}
EXPECTED_COUNTS = {
    "all": (1, 3, 1, 3),
    "new": (1, 1, 1, 2),
    "old": (0, 2, 0, 1),
    "pooled": (1, 3, 1, 3),
}


def test_speakers_may_be_known_by_the_ids_alone(shown):
    audit = pv.audit(PLAIN, by="device", operating_points="threshold=0.5", **CHEAP)
    assert shown(audit, "threshold=0.5") == EXPECTED_COUNTS
    (row,) = audit.groups.subset(grouping="all", metric="fpr")
    assert row["speakers"] == 3


def test_speakers_may_be_known_by_columns_alone(shown):
    flat = {name: [cell.replace("/", "") for cell in PLAIN[name]] for name in ("enrol", "test")}
    owners = {f"{name}_speaker": [cell[0] for cell in flat[name]] for name in flat}
    audit = pv.audit(
        {**PLAIN, **flat, **owners}, by="device", operating_points="threshold=0.5", **CHEAP
    )
    assert shown(audit, "threshold=0.5") == EXPECTED_COUNTS


def test_speakers_may_be_known_by_the_tables_of_recordings_and_of_models_alone(shown):
    flat = {name: [cell.replace("/", "") for cell in PLAIN[name]] for name in ("enrol", "test")}
    calls = {"call": ["a1", "a2", "b1", "b2", "c1", "c2"], "speaker": [*"aabbcc"]}
    options = {"by": "device", "operating_points": "threshold=0.5", **CHEAP}
    audit = pv.audit({**PLAIN, **flat}, utterances=calls, **options)
    assert shown(audit, "threshold=0.5") == EXPECTED_COUNTS
    models = {"model": ["m-a", "m-b", "m-c"], "speaker": [*"abc"], "recording": ["a1", "b1", "c1"]}
    enrol = [f"m-{cell[0]}" for cell in PLAIN["enrol"]]
    audit = pv.audit({**PLAIN, **flat, "enrol": enrol}, utterances=calls, models=models, **options)
    assert shown(audit, "threshold=0.5") == EXPECTED_COUNTS


@pytest.mark.slow
def test_systems_of_different_speakers_need_no_table_of_them(shown):
    other_trials = {
        "enrol": ["d/1", "e/1", "a/1"],
        "test": ["d/2", "d/1", "a/5"],
        "score": [1.0, 0.7, 0.1],
        "device": ["odd", "odd", "new"],
    }
    audit = pv.audit({"A": PLAIN, "B": other_trials}, by="device", operating_points="threshold=0.5")
    counts = shown(audit, "threshold=0.5", system="A")
    assert {group: counts[group] for group in EXPECTED_COUNTS} == EXPECTED_COUNTS
    assert counts["odd"] == (0, 0, 0, 0)
    assert shown(audit, "threshold=0.5", system="B") == {
        "all": (1, 1, 1, 2),
        "new": (0, 0, 1, 1),
        "odd": (1, 1, 0, 1),
        "old": (0, 0, 0, 0),
        "pooled": (1, 1, 1, 2),
    }
    people = {
        row["system"]: row["speakers"] for row in audit.groups.subset(grouping="all", metric="fpr")
    }
    assert people == {"A": 3, "B": 3}


def test_ids_that_tell_no_speaker_are_refused():
    trials = {"enrol": ["a1", "b1"], "test": ["a2", "a2"], "score": [1, 0], "d": ["x", "x"]}
    with pytest.raises(
        DataError, match=r"3 of 3 utterance ids \('a1', 'a2', 'b1'\) do not contain"
    ):
        pv.audit(trials, by="d")


def test_without_any_attribute_there_is_nothing_to_group_by():
    bare = {name: PLAIN[name] for name in ("enrol", "test", "score")}
    with pytest.raises(DataError, match="there is no attribute to group by"):
        pv.audit(bare)


@pytest.mark.parametrize("is_large", [False, True])
def test_models_of_several_recordings_have_what_all_of_them_have(
    bank, audit_of, allocated, errors, shown, monkeypatch, is_large
):
    calls, owners = bank.calls["call"], bank.calls["customer"]
    made_of = {f"m{call[4:]}": [call] for call in calls}
    for earlier, later in pairwise(calls):
        if bank.who(earlier) == bank.who(later):
            made_of[f"m{earlier[4:]}"].append(later)
    pairs = [(model, call) for model, recordings in made_of.items() for call in recordings]
    models = {
        "model": [model for model, _ in pairs],
        "speaker": [bank.who(call) for _, call in pairs],
        "recording": [call for _, call in pairs],
    }
    assert len(models["model"]) > len(owners) + 1
    rows = [{**row, "enrol": f"m{row['enrol'][4:]}"} for row in bank.scored]

    def model_sides(name):
        def sides(row):
            cells = {bank.call(call)[name] for call in made_of[row["enrol"]]}
            return (cells.pop() if len(cells) == 1 else None, bank.call(row["test"])[name])

        return sides

    channel = model_sides("channel")
    if is_large:
        monkeypatch.setattr(trial_shards, "IN_MEMORY_TRIALS", 300)
        monkeypatch.setattr(trial_shards, "SHARD_TRIALS", 200)
    groupings = ["channel", "language", "same:channel", "enrol.channel"]
    audit = audit_of(rows, by=groupings, models=models, allocate=RULES)
    assert audit.record["resolution"]["exact"] != is_large
    for grouping, sides in {
        "channel": channel,
        "language": model_sides("language"),
        "same:channel": lambda row: (same_or_different(*channel(row)),) * 2,
        "enrol.channel": lambda row: (channel(row)[0],) * 2,
    }.items():
        for rule in RULES:
            placed = allocated(rows, sides, rule)
            expected = {group: errors(group_rows, 1.0) for group, group_rows in placed.items()}
            assert shown(audit, POINT, grouping=grouping, allocation=rule) == expected
    (itself,) = audit.data.subset(item="trials_of_one_utterance")
    assert itself["count"] == sum(row["test"] in made_of[row["enrol"]] for row in rows)
