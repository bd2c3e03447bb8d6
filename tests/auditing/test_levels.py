"""Attributes of speakers, recordings and trials, and the audit within levels, by plain loops."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv
from parivox.data import spilled_rows
from parivox.errors import ConfigError, DataError

RULES = ("both", "enrol", "test", "either")
POINT = "threshold=1.0"
CHEAP = {"reference": "pooled", "zero": "none", "cost": "voxsrc", "intervals": False}
"""Fewer measures of bias than by default, without intervals: they are not what is tested here."""


def band(value, *edges):
    """Name of the band that holds a number."""
    if value is None:
        return None
    number = float(value)
    if number < edges[0]:
        return f"<{edges[0]}"
    for low, high in pairwise(edges):
        if low <= number < high:
            return f"{low}-{high - 1}"
    return f"{edges[-1]}+"


def same(one, two):
    if one is None or two is None:
        return None
    return "same" if one == two else "different"


def joined(*parts):
    """Both sides' groups of an intersection."""

    def sides(row):
        both = [part(row) for part in parts]
        return tuple(
            None if None in values else "+".join(values) for values in zip(*both, strict=True)
        )

    return sides


@pytest.fixture(scope="session")
def sides(bank):
    """The groups of both sides of a row, by the name of the grouping."""

    def own(of, name, *edges):
        def found(row):
            cells = [of(row[side])[name] for side in ("enrol", "test")]
            return tuple(band(cell, *edges) if edges else cell for cell in cells)

        return found

    gender, region = own(bank.customer, "gender"), own(bank.customer, "region")
    channel, language = own(bank.call, "channel"), own(bank.call, "language")
    found = {
        "gender": gender,
        "gender+region": joined(gender, region),
        "channel": channel,
        "language": language,
        "age:30,50": own(bank.call, "age", 30, 50),
        "enrol.channel": lambda row: (channel(row)[0],) * 2,
        "test.channel": lambda row: (channel(row)[1],) * 2,
        "same:channel": lambda row: (same(*channel(row)),) * 2,
        "same:gender": lambda row: (same(*gender(row)),) * 2,
        "device": lambda row: (row["device"],) * 2,
        "days apart:1,30": lambda row: (band(row["days apart"], 1, 30),) * 2,
    }
    found["enrol.age:40"] = lambda row: (own(bank.call, "age", 40)(row)[0],) * 2
    found["gender+same:channel"] = joined(gender, found["same:channel"])
    found["channel+device"] = joined(channel, found["device"])
    found["gender+enrol.language"] = joined(gender, lambda row: (language(row)[0],) * 2)
    return found


GROUPINGS = (
    *("gender", "gender+region", "channel", "language", "age:30,50", "enrol.channel"),
    *("test.channel", "same:channel", "same:gender", "device", "days apart:1,30"),
    *("enrol.age:40", "gender+same:channel", "channel+device", "gender+enrol.language"),
)
LEVELS = ("channel", "same:gender", "device", "gender")
SURE = (
    *("low", "high", "interval", "deff", "n_eff", "df", "se", "note"),
    *("p", "p_holm", "p_bh", "floor_mean", "floor_95"),
)
NO_KEY = ("reason", "interval", "note")


@pytest.fixture(scope="session")
def audit_of(bank):
    """Audit some rows of the bank with everything that it knows of them."""

    def made(rows, *columns, **options):
        columns = columns or ("device", "days apart")
        told = {"speakers": bank.customers, "utterances": bank.calls, "operating_points": POINT}
        return pv.audit(bank.table(rows, *columns), **{**told, **CHEAP, **options})

    return made


@pytest.fixture(scope="session")
def whole(bank, audit_of):
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
    whole, bank, sides, allocated, errors, shown, grouping, rule
):
    placed = allocated(bank.scored, sides[grouping], rule)
    found = shown(whole, POINT, grouping=grouping, allocation=rule, within="")
    occurring = {g for row in bank.scored for g in sides[grouping](row) if g is not None}
    assert {*found} == {*occurring, "pooled"}
    assert found == {group: errors(placed.get(group, []), 1.0) for group in found}
    for row in whole.groups.where(grouping=grouping, allocation=rule, within="", metric="fpr"):
        if row["trials"]:
            assert row["value"] == row["errors"] / row["trials"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_speakers_of_a_group_take_part_in_it_on_the_side_that_is_of_it(
    whole, bank, sides, allocated, grouping, rule
):
    found = whole.groups.where(
        grouping=grouping, allocation=rule, within="", metric="fpr", operating_point=POINT
    )
    everyone = set()
    for group, rows in allocated(bank.scored, sides[grouping], rule).items():
        if group == "pooled":
            continue
        who = {
            bank.who(row[side])
            for row in rows
            for side, own in zip(("enrol", "test"), sides[grouping](row), strict=True)
            if own == group
        }
        everyone |= who
        assert [row["speakers"] for row in found.where(group=group)] == [len(who)]
    assert [row["speakers"] for row in found.where(group="pooled")] == [len(everyone)]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_no_trial_is_left_out_untold(whole, bank, sides, allocated, grouping, rule):
    told = {
        row["item"].partition(",")[0]: row["count"]
        for row in whole.data.where(source="scores", grouping=grouping, group="")
        if row["item"].endswith(f"(allocation {rule})")
    }
    unknown = sum(count for item, count in told.items() if "unknown" in item)
    between = sum(count for item, count in told.items() if "between" in item)
    inside = len(allocated(bank.scored, sides[grouping], rule).get("pooled", []))
    assert inside + unknown + between == len(bank.scored)
    apart = [sides[grouping](row) for row in bank.scored]
    two_groups = sum(None not in pair and pair[0] != pair[1] for pair in apart)
    assert between == (two_groups if rule == "both" else 0)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_matrix_is_that_of_a_plain_loop(whole, bank, sides, grouping):
    counts = {}
    for row in bank.scored:
        pair = sides[grouping](row)
        if not row["label"] and None not in pair:
            cell = counts.setdefault(pair, [0, 0])
            cell[0] += row["score"] >= 1.0
            cell[1] += 1
    rows = whole.matrix.where(grouping=grouping, operating_point=POINT, within="")
    for row in rows:
        wanted = counts.pop((row["enrol_group"], row["test_group"]), [0, 0])
        assert [row["errors"], row["trials"]] == wanted
    assert len(rows)
    assert not counts


def test_bands_stand_in_rising_order(whole):
    for grouping, wanted in {
        "age:30,50": ["<30", "30-49", "50+"],
        "days apart:1,30": ["<1", "1-29", "30+"],
        "same:channel": ["different", "same"],
    }.items():
        rows = whole.groups.where(grouping=grouping, allocation="both", within="", metric="eer")
        assert [row["group"] for row in rows] == [*wanted, "pooled"]


def level_rows(bank, sides, grouping, level):
    """The trials both sides of which are in a level."""
    return [row for row in bank.scored if sides[grouping](row) == (level, level)]


@pytest.mark.parametrize(
    ("grouping", "level"),
    [("channel", "app"), ("same:gender", "same"), ("device", "old"), ("gender", "f")],
)
def test_a_level_holds_what_an_audit_of_its_trials_alone_says(
    whole, bank, sides, audit_of, grouping, level
):
    (point,) = whole.operating_points.where(operating_point="fpr=0.1", within="")
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
    for table, kept in (("groups", same_source), ("bias", same_source & plain), ("matrix", True)):
        both = [
            getattr(one, table).where(within=within).to_polars().drop("within").filter(kept)
            for one, within in ((whole, name), (inside, ""))
        ]
        mine, alone = both[0], both[1].with_columns(text)
        key = [c for c in alone.columns if alone[c].dtype == pl.String and c not in NO_KEY]
        # a level may have no trial of a group that the whole has
        rest = mine.join(alone, on=key, how="anti")
        counts = [c for c in ("trials", "target_trials", "nontarget_trials") if c in rest.columns]
        assert rest.select(counts).fill_null(0).sum().row(0) == (0,) * len(counts)
        mine = mine.join(alone, on=key, how="semi")
        assert mine.height == alone.height > 0
        mine, alone = mine.sort(key), alone.sort(key)
        shared = [c for c in mine.columns if c not in SURE]
        assert mine.select(shared).equals(alone.select(shared), null_equal=True)
    found = {
        row["operating_point"]: (row["threshold"], row["fpr"], row["fnr"], row["cdet_norm"])
        for row in whole.operating_points.where(within=name)
    }
    alone = [
        (row["threshold"], row["fpr"], row["fnr"], row["cdet_norm"])
        for row in inside.operating_points
    ]
    assert list(found.values()) == alone


def test_intervals_within_a_level_are_those_of_its_trials_alone(bank, sides, audit_of):
    by = ("gender", "device", "same:channel")  # what is no closed form rests on all trials
    how = {"by": by, "allocate": ("both", "enrol"), "intervals": True}
    some = audit_of(bank.scored, within="channel", **how)
    inside = audit_of(level_rows(bank, sides, "channel", "app"), **how)
    rates = pl.col("metric").is_in(["fpr", "fnr"])
    mine, alone = (
        audit.groups.where(within=within, operating_point=POINT).to_polars().filter(rates)
        for audit, within in ((some, "channel=app"), (inside, ""))
    )
    key = ["grouping", "group", "allocation", "metric"]
    mine = mine.join(alone, on=key, how="semi").drop("within").sort(key)
    alone = alone.drop("within").sort(key)
    assert mine["low"].count()
    assert mine.equals(alone, null_equal=True)


def test_thresholds_within_a_level_are_those_of_all_trials(whole):
    for point in (POINT, "fpr=0.1"):
        rows = whole.operating_points.where(operating_point=point)
        assert len({row["threshold"] for row in rows}) == 1
        assert len(rows) == 1 + 3 + 2 + 2 + 2
        rows = whole.groups.where(operating_point=point, metric="fnr")
        assert len({row["threshold"] for row in rows}) == 1


def test_the_level_stands_in_the_last_column_but_for_those_of_how_sure_it_is(whole):
    levels = ["", *(f"channel={c}" for c in ("app", "branch", "phone"))]
    levels += [f"same:gender={one}" for one in ("different", "same")]
    levels += [*("device=new", "device=old"), *("gender=f", "gender=m")]
    sure = {"groups": 11, "bias": 8, "meta": 8}
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "det"):
        table = whole.tables()[name].to_polars()
        assert table.columns.index("within") == table.width - 1 - sure.get(name, 0)
        found = table["within"].unique(maintain_order=True).to_list()
        # trials of different genders are all nontarget ones, and have no curve
        assert found == [one for one in levels if name != "det" or "different" not in one]


def test_bias_within_a_level_is_against_its_own_pooled_row(whole):
    where = {"metric": "fnr", "operating_point": POINT, "within": "channel=app"}
    rates = {
        (row["grouping"], row["group"], row["allocation"]): row["value"]
        for row in whole.groups.where(**where)
    }
    rows = whole.bias.where(**where, measure="ratio", reference="pooled", zero="none")
    assert len(rows)
    for row in rows:
        pooled = rates[row["grouping"], "pooled", row["allocation"]]
        own = rates[row["grouping"], row["group"], row["allocation"]]
        if not row["reason"]:
            assert row["value"] == own / pooled


def test_trials_in_no_level_are_told(whole, bank, sides):
    for grouping in LEVELS:
        pairs = [sides[grouping](row) for row in bank.scored]
        outside = sum(None in pair or pair[0] != pair[1] for pair in pairs)
        (row,) = (
            row
            for row in whole.data.where(source="scores", grouping=grouping)
            if row["item"] == "trials in no level of --within, or between two"
        )
        assert row["count"] == outside


def test_without_levels_the_column_is_empty(bank, audit_of, whole):
    points = [POINT, "fpr=0.1"]
    plain = audit_of(bank.scored, by=GROUPINGS, allocate=RULES, operating_points=points)
    for name in ("groups", "bias", "meta", "matrix", "operating_points", "det"):
        outer = whole.tables()[name].to_polars().filter(within="")
        assert outer.equals(plain.tables()[name].to_polars(), null_equal=True)


@pytest.fixture
def with_gender(bank):
    """The calls with a column of the same name as one of the customers'."""

    def made(**changes):
        calls = bank.calls["call"]
        column = [changes.get(call, bank.customer(call)["gender"]) for call in calls]
        return {**bank.calls, "gender": column}

    return made


def test_one_attribute_of_two_levels_that_agree_is_one(bank, audit_of, with_gender, whole, shown):
    both = audit_of(bank.scored, by="gender", utterances=with_gender())
    assert shown(both, POINT, grouping="gender") == shown(
        whole, POINT, grouping="gender", allocation="both", within=""
    )


def test_one_attribute_of_two_levels_that_differ_must_be_told_apart(
    bank, audit_of, with_gender, allocated, errors, shown
):
    call = bank.scored[0]["enrol"]
    assert bank.customer(call)["gender"] == "f"
    calls = with_gender(**{call: "m"})
    with pytest.raises(ConfigError, match="'f' by speakers and 'm' by utterances") as told:
        audit_of(bank.scored, by="gender", utterances=calls)
    assert "speaker.gender or recording.gender" in str(told.value)
    found = audit_of(bank.scored, by=["speaker.gender", "recording.gender"], utterances=calls)

    def own(of):
        return lambda row: tuple(of(row[side]) for side in ("enrol", "test"))

    for name, of in (
        ("speaker.gender", lambda one: bank.customer(one)["gender"]),
        ("recording.gender", lambda one: "m" if one == call else bank.customer(one)["gender"]),
    ):
        placed = allocated(bank.scored, own(of), "both")
        wanted = {group: errors(rows, 1.0) for group, rows in placed.items()}
        assert shown(found, POINT, grouping=name) == wanted


def test_one_attribute_of_trials_and_of_recordings_must_be_told_apart(bank, audit_of):
    rows = [{**row, "channel": bank.call(row["test"])["channel"]} for row in bank.scored]
    with pytest.raises(ConfigError, match=r"recording\.channel or trial\.channel"):
        audit_of(rows, "channel", by="channel")
    found = audit_of(rows, "channel", by=["trial.channel", "test.channel"])
    one, two = (
        found.groups.where(grouping=name).to_polars().drop("grouping")
        for name in ("trial.channel", "test.channel")
    )
    assert one.equals(two, null_equal=True)


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
    found = audit_of(
        rows, "enrol_tongue", "test_tongue", by=["tongue", "same:tongue", "enrol.tongue"],
        allocate=RULES, **options,
    )  # fmt: skip
    language = sides["language"]
    for name, of in {
        "tongue": language,
        "same:tongue": lambda row: (same(*language(row)),) * 2,
        "enrol.tongue": lambda row: (language(row)[0],) * 2,
    }.items():
        for rule in RULES:
            placed = allocated(rows, of, rule)
            wanted = {group: errors(some, 1.0) for group, some in placed.items()}
            assert shown(found, POINT, grouping=name, allocation=rule) == wanted


def test_an_attribute_may_be_unknown_in_the_first_rows(bank, audit_of, shown, allocated, errors):
    rows = sorted(bank.scored, key=lambda row: row["device"] is not None)
    assert rows[0]["device"] is None
    found = audit_of(rows, by="device")
    placed = allocated(rows, lambda row: (row["device"],) * 2, "both")
    wanted = {group: errors(some, 1.0) for group, some in placed.items()}
    assert shown(found, POINT, grouping="device") == wanted


def test_an_age_that_changes_between_recordings_is_no_conflict(whole, bank):
    ages = {}
    for name, age in zip(bank.calls["customer"], bank.calls["age"], strict=True):
        ages.setdefault(name, set()).add(age)
    assert any(len(several) > 1 for several in ages.values())
    assert len(whole.groups.where(grouping="age:30,50"))


@pytest.mark.parametrize(
    ("by", "rows", "match"),
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
def test_bad_attributes_of_trials(bank, audit_of, by, rows, match):
    few = [{**row, **rows} for row in bank.scored[:200]]
    if match is None:
        found = audit_of(few, "days apart", by=by)
        assert {row["group"] for row in found.groups} == {"all", "x", "pooled"}
        return
    with pytest.raises((ConfigError, DataError), match=match):
        audit_of(few, by=[by, "device"] if by == "devise" else by)


def test_a_column_for_one_side_only(bank, audit_of):
    rows = [{**row, "test_net": "a"} for row in bank.scored[:200]]
    with pytest.raises(ConfigError, match="for one side only, not for the enrolment"):
        audit_of(rows, "test_net", by="net")
    found = audit_of(rows, "test_net", by="test.net")
    assert {row["group"] for row in found.groups} == {"all", "a", "pooled"}


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
    other = bank.table(bank.scored)
    with pytest.raises(ConfigError, match="has no such column, but other trials have"):
        pv.audit(
            {"A": bank.table(bank.scored, "device"), "B": other},
            speakers=bank.customers,
            utterances=bank.calls,
            by="device",
        )


def test_the_order_of_rows_changes_nothing(bank, audit_of):
    rows = bank.scored[:400]
    mixed = [rows[i] for i in np.random.default_rng(5).permutation(len(rows))]
    how = {"by": ["device", "same:channel", "gender"], "within": "channel", "intervals": True}
    assert audit_of(mixed, **how).to_json() == audit_of(rows, **how).to_json()


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
    wanted = {renamed.get(group, group): counts for group, counts in as_named.items()}
    assert by_device(rows) == wanted


def test_one_side_of_a_trial_is_the_allocation_to_that_side(whole):
    for side in ("enrol", "test"):
        one, two = (
            whole.groups.where(grouping=grouping, allocation=rule, within="")
            .to_polars()
            .drop("grouping", "allocation", "speakers")
            for grouping, rule in ((f"{side}.channel", "both"), ("channel", side))
        )
        assert one.equals(two, null_equal=True)


PLAIN = {
    "enrol": ["a/1", "a/1", "b/1", "c/1", "c/1", "b/1"],
    "test": ["a/2", "b/1", "b/2", "c/2", "a/1", "a/2"],
    "score": [1.0, 0.0, 1.0, 0.2, 0.9, 0.1],
    "device": ["new", "old", "old", "new", "new", "old"],
}
WANTED = {"all": (1, 3, 1, 3), "new": (1, 1, 1, 2), "old": (0, 2, 0, 1), "pooled": (1, 3, 1, 3)}


def test_speakers_may_be_known_by_the_ids_alone(shown):
    found = pv.audit(PLAIN, by="device", operating_points="threshold=0.5", **CHEAP)
    assert shown(found, "threshold=0.5") == WANTED
    (row,) = found.groups.where(grouping="all", metric="fpr")
    assert row["speakers"] == 3


def test_speakers_may_be_known_by_columns_alone(shown):
    flat = {name: [cell.replace("/", "") for cell in PLAIN[name]] for name in ("enrol", "test")}
    owners = {f"{name}_speaker": [cell[0] for cell in flat[name]] for name in flat}
    found = pv.audit(
        {**PLAIN, **flat, **owners}, by="device", operating_points="threshold=0.5", **CHEAP
    )
    assert shown(found, "threshold=0.5") == WANTED


def test_speakers_may_be_known_by_the_tables_of_recordings_and_of_models_alone(shown):
    flat = {name: [cell.replace("/", "") for cell in PLAIN[name]] for name in ("enrol", "test")}
    calls = {"call": ["a1", "a2", "b1", "b2", "c1", "c2"], "speaker": [*"aabbcc"]}
    options = {"by": "device", "operating_points": "threshold=0.5", **CHEAP}
    found = pv.audit({**PLAIN, **flat}, utterances=calls, **options)
    assert shown(found, "threshold=0.5") == WANTED
    models = {"model": ["m-a", "m-b", "m-c"], "speaker": [*"abc"], "recording": ["a1", "b1", "c1"]}
    enrol = [f"m-{cell[0]}" for cell in PLAIN["enrol"]]
    found = pv.audit({**PLAIN, **flat, "enrol": enrol}, utterances=calls, models=models, **options)
    assert shown(found, "threshold=0.5") == WANTED


def test_systems_of_different_speakers_need_no_table_of_them(shown):
    other = {
        "enrol": ["d/1", "e/1", "a/1"],
        "test": ["d/2", "d/1", "a/5"],
        "score": [1.0, 0.7, 0.1],
        "device": ["odd", "odd", "new"],
    }
    both = pv.audit({"A": PLAIN, "B": other}, by="device", operating_points="threshold=0.5")
    found = shown(both, "threshold=0.5", system="A")
    assert {group: found[group] for group in WANTED} == WANTED
    assert found["odd"] == (0, 0, 0, 0)
    assert shown(both, "threshold=0.5", system="B") == {
        "all": (1, 1, 1, 2),
        "new": (0, 0, 1, 1),
        "odd": (1, 1, 0, 1),
        "old": (0, 0, 0, 0),
        "pooled": (1, 1, 1, 2),
    }
    people = {
        row["system"]: row["speakers"] for row in both.groups.where(grouping="all", metric="fpr")
    }
    assert people == {"A": 3, "B": 3}


def test_ids_that_tell_no_speaker_are_refused():
    trials = {"enrol": ["a1", "b1"], "test": ["a2", "a2"], "score": [1, 0], "d": ["x", "x"]}
    with pytest.raises(DataError, match=r"3 of 3 utterance ids \('a1', 'a2', 'b1'\) tell no"):
        pv.audit(trials, by="d")


def test_without_any_attribute_there_is_nothing_to_group_by():
    bare = {name: PLAIN[name] for name in ("enrol", "test", "score")}
    with pytest.raises(DataError, match="no attribute of anybody is known to group by"):
        pv.audit(bare)


@pytest.mark.parametrize("is_large", [False, True])
def test_models_of_several_recordings_have_what_all_of_them_have(
    bank, audit_of, allocated, errors, shown, monkeypatch, is_large
):
    calls, owners = bank.calls["call"], bank.calls["customer"]
    made_of = {f"m{call[4:]}": [call] for call in calls}
    for one, following in pairwise(calls):
        if bank.who(one) == bank.who(following):
            made_of[f"m{one[4:]}"].append(following)
    pairs = [(model, call) for model, made in made_of.items() for call in made]
    models = {
        "model": [model for model, _ in pairs],
        "speaker": [bank.who(call) for _, call in pairs],
        "recording": [call for _, call in pairs],
    }
    assert len(models["model"]) > len(owners) + 1
    rows = [{**row, "enrol": f"m{row['enrol'][4:]}"} for row in bank.scored]

    def known(name):
        def sides(row):
            held = {bank.call(call)[name] for call in made_of[row["enrol"]]}
            return (held.pop() if len(held) == 1 else None, bank.call(row["test"])[name])

        return sides

    channel = known("channel")
    if is_large:
        monkeypatch.setattr(spilled_rows, "IN_MEMORY_TRIALS", 300)
        monkeypatch.setattr(spilled_rows, "PARTITION_TRIALS", 200)
    by = ["channel", "language", "same:channel", "enrol.channel"]
    found = audit_of(rows, by=by, models=models, allocate=RULES)
    assert found.record["resolution"]["exact"] != is_large
    for grouping, sides in {
        "channel": channel,
        "language": known("language"),
        "same:channel": lambda row: (same(*channel(row)),) * 2,
        "enrol.channel": lambda row: (channel(row)[0],) * 2,
    }.items():
        for rule in RULES:
            placed = allocated(rows, sides, rule)
            wanted = {group: errors(some, 1.0) for group, some in placed.items()}
            assert shown(found, POINT, grouping=grouping, allocation=rule) == wanted
    (itself,) = found.data.where(item="trials of an utterance with itself")
    assert itself["count"] == sum(row["test"] in made_of[row["enrol"]] for row in rows)
