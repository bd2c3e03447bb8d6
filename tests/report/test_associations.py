"""What is said of attributes that are associated, from what an audit records of them."""

import numpy as np
import pytest

import parivox as pv
from parivox.auditing.old_sentences import shares_of_sentence
from parivox.report.associations import association, association_text, has_same_differences
from parivox.report.audit_queries import scopes
from parivox.report.findings import associations

ROW = {
    "attribute": "gender",
    "other": "band",
    "relation": "confounded",
    "speakers": 1084,
    "cramers_v": 0.43,
    "p": 0.0001,
    "p_holm": 0.0002,
    "shares": {
        "value": "old",
        "groups": [{"group": "f", "share": 0.714}, {"group": "m", "fewer_than": 10}],
    },
}


def test_an_association_is_stated_with_its_shares_and_statistics():
    stated = association(ROW, has_same_differences=False)
    consequence = "so a difference by gender may be partly or entirely due to band"
    assert stated.short == (
        "gender and band are associated (so groups by one may differ because of the other)"
    )
    assert association_text(stated) == (
        "gender and band are associated: 71 % of the speakers with gender f and fewer than 10 of "
        "those with gender m have band old (Cramér's V 0.43, adjusted p < 0.001, 1,084 speakers), "
        f"{consequence}"
    )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"relation": "alike"},
            "gender and band coincide: a difference by one cannot be separated",
        ),
        ({"relation": "tells"}, "gender determines band: a difference by gender may be a"),
        ({"relation": "told"}, "gender is determined by band: each value of band occurs with one"),
        (
            {"relation": "not_shown", "p_holm": 0.25},
            "gender and band are not shown to be associated (Cramér's V 0.43, adjusted p = 0.25,",
        ),
        ({"cramers_v": 0.29, "shares": None}, "gender and band are weakly associated (Cramér's V"),
    ],
)
def test_every_relation_has_a_sentence(change, words):
    assert association_text(association(ROW | change, has_same_differences=False)).startswith(words)


def test_a_difference_that_recurs_within_a_value_is_not_said_to_be_entirely_due_to_it():
    sentence = association_text(association(ROW, has_same_differences=True))
    assert sentence.endswith("so part of a difference by gender may be due to band")


def _accents(shift_of_group):
    """Scores of men and women of two regions; nontarget scores are moved by group."""
    rng = np.random.default_rng(5)
    sizes = {"f+north": 30, "f+south": 12, "m+north": 12, "m+south": 30}
    people = {"id": [], "gender": [], "region": []}
    rows = []
    for group, size in sizes.items():
        ids = [f"{group}{i}" for i in range(size)]
        gender, _, region = group.partition("+")
        people["id"] += ids
        people["gender"] += [gender] * size
        people["region"] += [region] * size
        shift = shift_of_group.get(group, shift_of_group.get(gender, 0.0))
        for i, name in enumerate(ids):
            rows += [(f"{name}/1", f"{name}/{k}", rng.normal(3), 1) for k in range(2, 8)]
            rows += [
                (f"{name}/1", f"{ids[(i + step) % size]}/2", rng.normal() + shift, 0)
                for step in range(1, size // 2)
            ]
    columns = zip(*rows, strict=True)
    return dict(zip(("enrol", "test", "score", "label"), map(list, columns), strict=True)), people


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shift_of_group", "by", "recurs"),
    [
        # women are worse off in both regions
        ({"f": 1.0}, ["gender", "gender+region"], True),
        ({"f": 1.0}, ["gender", "region+gender"], True),
        # only because most of them are of one region
        ({"f+north": 1.0, "m+north": 1.0}, ["gender", "gender+region"], False),
        # unknown, as groups by both attributes were not audited
        ({"f": 1.0}, ["gender", "region"], False),
    ],
)
def test_a_difference_recurs_if_a_group_is_worse_among_speakers_with_one_value(
    shift_of_group, by, recurs
):
    trials, people = _accents(shift_of_group)
    audit = pv.audit(trials, people, by=by, operating_points="threshold=2", replicates=100)
    verdicts = audit.verdicts.subset(grouping="gender", metric="fpr", group="f").rows()
    assert [row["verdict"] for row in verdicts] == ["worse"]
    assert has_same_differences(audit, "gender", "region", "both") == recurs
    names = {"f": "women", "gender": "Sex", "region": "Area", by[1]: "groups", "north": "N"}
    for shown in (audit, pv.labelled(audit, {"labels": names})):
        by_gender, *_ = scopes(shown)
        (caveat,) = associations(shown, by_gender.filters)
        assert " are associated" in caveat.sentence
        assert ("partly or entirely" in caveat.sentence) != recurs


def test_a_share_of_all_but_few_is_not_told():
    groups = [{"group": "f", "all_but_fewer_than": 10}, {"group": "m", "share": 0.5}]
    sentence = association_text(
        association(
            ROW | {"shares": {"value": "old", "groups": groups}}, has_same_differences=False
        )
    )
    assert "all but fewer than 10 of the speakers with gender f" in sentence


@pytest.mark.parametrize(
    ("stated", "shares"),
    [
        (
            ": 71 % of the speakers with gender f have band old, fewer than 9 of those with m",
            ROW["shares"]
            | {"groups": [{"group": "f", "share": 0.71}, {"group": "m", "fewer_than": 9}]},
        ),
        (
            ": all but fewer than 5 of the speakers with gender a have band b, 0 % of those with c",
            {
                "value": "b",
                "groups": [
                    {"group": "a", "all_but_fewer_than": 5},
                    {"group": "c", "share": 0.0},
                ],
            },
        ),
        ("", None),
    ],
)
def test_shares_are_read_from_the_sentence_of_0_2_that_states_them(stated, shares):
    sentence = f"gender and band are associated{stated} (Cramér's V 0.43, adjusted p < 0.001)"
    assert shares_of_sentence(sentence, "gender", "band") == shares
