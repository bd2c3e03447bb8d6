"""Best guesses of rates and of ratios, and whether attributes add up, as an audit tells them."""

from __future__ import annotations

import pytest

from parivox.report.terminal import print_summary

QUICK = {"replicates": 199}
NAMES = ("best_guess", "best_guess_low", "best_guess_high")


@pytest.fixture(scope="module")
def uneven(people):
    """Three groups of twelve at one rate, one of ten at four times, one of six at none."""
    sizes = {"a": 12, "b": 12, "c": 12, "d": 10, "e": 6}
    often = {"a": 1, "b": 1, "c": 1, "d": 5, "e": 0}
    return people(sizes, fnr=lambda group, i: (often[group] * (1 + i % 2), 24))


@pytest.fixture(scope="module")
def audit(uneven):
    return uneven.audit(**QUICK)


@pytest.fixture
def read_summary(capsys):
    """What the terminal says of an audit, in one line."""

    def read(audit):
        print_summary(audit, details=True)
        return " ".join(capsys.readouterr().out.split())

    return read


def rows_by_group(rows):
    return {row["group"]: row for row in rows}


def test_rates_have_best_guesses_between_their_own_and_what_is_common(audit):
    rows = rows_by_group(audit.groups.subset(metric="fnr", grouping="group", definition=""))
    assert rows["a"]["best_guess"] < rows["d"]["best_guess"] < rows["d"]["value"]
    assert 0 == rows["e"]["value"] < rows["e"]["best_guess"] < rows["pooled"]["value"]
    for group in "abcde":
        guess, low, high = (rows[group][name] for name in NAMES)
        assert 0 < low < guess < high < 1
    assert [rows["pooled"][name] for name in NAMES] == [None] * 3
    elsewhere = [
        r for r in audit.groups if r["metric"] not in {"fnr", "fpr"} or r["grouping"] == "all"
    ]
    assert elsewhere
    assert not any(row[name] for row in elsewhere for name in NAMES)


@pytest.mark.slow
def test_ratios_have_theirs_and_no_verdict_rests_on_them(uneven, audit):
    rows = rows_by_group(audit.verdicts.subset(metric="fnr"))
    assert 1 < rows["d"]["best_guess"] < rows["d"]["ratio"]
    assert rows["d"]["verdict"] == "worse"
    assert 0 < rows["d"]["power"] < 1
    assert rows["e"]["ratio"] == 0 < rows["e"]["best_guess"] < 1
    assert rows["e"]["power"] is None
    against = rows_by_group(uneven.audit(reference="d", **QUICK).verdicts.subset(metric="fnr"))
    assert against["d"]["best_guess"] == pytest.approx(1)
    rates = rows_by_group(audit.groups.subset(metric="fnr", grouping="group", definition=""))
    assert against["a"]["best_guess"] == pytest.approx(
        rates["a"]["best_guess"] / rates["d"]["best_guess"]
    )
    assert not any(row["best_guess"] for row in uneven.audit(reference="macro", **QUICK).verdicts)


@pytest.mark.slow
def test_groups_that_share_speakers_have_none(uneven):
    audit = uneven.audit(**QUICK)
    assert any(row["best_guess"] for row in audit.groups.subset(metric="fpr"))
    uneven.nontarget("a00", "b00", 1, 2)
    try:
        crossed = uneven.audit(allocate="enrol", **QUICK)
    finally:
        del uneven.rows[-2:]
    assert not any(row["best_guess"] for row in crossed.groups.subset(metric="fpr"))


@pytest.mark.slow
def test_the_best_guess_is_told_where_power_is_low_and_nowhere_else(people, read_summary):
    errors_of_g = (5, 3, 6, 4, 1, 7, 2)
    few = people(
        {**dict.fromkeys("abcdef", 12), "g": 7},
        fnr=lambda group, i: (errors_of_g[i] if group == "g" else i % 4, 24),
        fpr=lambda group, i: (i % 2, 2),
    )
    row = rows_by_group(few.audit(**QUICK).verdicts.subset(metric="fnr"))["g"]
    assert (row["verdict"], row["power"] < 0.5) == ("worse", True)
    summary = read_summary(few.audit(**QUICK))
    assert "with few data, ratios of groups found worse or better tend to be" in summary
    many = people(
        dict.fromkeys("abcd", 24),
        fnr=lambda group, i: ((1 + i % 2) * (5 if group == "d" else 1), 24),
    )
    row = rows_by_group(many.audit(**QUICK).verdicts.subset(metric="fnr"))["d"]
    assert (row["verdict"], row["power"] > 0.5) == ("worse", True)
    assert "best guess" not in read_summary(many.audit(**QUICK))


@pytest.fixture(scope="module")
def two_attributes(people):
    """Twenty speakers in each of six groups by gender and country, all alike but for one group."""

    def audit_with(off):
        sizes = {f"{g}{c}": 20 for g in "fm" for c in "xyz"}
        genders = [group[0] for group, n in sizes.items() for _ in range(n)]
        countries = [group[1] for group, n in sizes.items() for _ in range(n)]
        often = {g: (2 if g[0] == "f" else 1) * (off if g == "fy" else 1) for g in sizes}
        speakers = people(
            sizes,
            fnr=lambda group, i: (often[group] * (1 + i % 2), 30),
            fpr=lambda group, i: (i % 2, 2),
            gender=genders,
            country=countries,
        )
        return speakers.audit(by="gender+country", **QUICK)

    return audit_with


@pytest.mark.slow
def test_attributes_that_add_up_are_no_news(two_attributes, read_summary):
    audit = two_attributes(1)
    (row,) = audit.meta.subset(measure="interaction", metric="fnr").rows()
    assert row["value"] < 0.1
    assert row["p"] > 0.5
    assert "is not the sum of" not in read_summary(audit)


@pytest.mark.slow
def test_where_attributes_do_not_add_up_it_is_said_with_the_groups_that_are_off(
    two_attributes, read_summary
):
    audit = two_attributes(6)
    (row,) = audit.meta.subset(measure="interaction", metric="fnr").rows()
    assert (row["high_group"], row["p"] < 0.02) == ("f+y", True)
    summary = read_summary(audit)
    assert "is not the sum of the effects of the attributes of gender+country" in summary
    assert "f+y is furthest above the sum" in summary


def test_groups_by_one_attribute_have_no_interaction(audit):
    assert not audit.meta.subset(measure="interaction").rows()
