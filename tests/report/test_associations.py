"""What is said of attributes that are associated, from what an audit records of them."""

import pytest

from parivox.auditing.old_sentences import shares_of_sentence
from parivox.report.associations import association, association_text

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
    stated = association(ROW)
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
    assert association_text(association(ROW | change)).startswith(words)


def test_a_share_of_all_but_few_is_not_told():
    groups = [{"group": "f", "all_but_fewer_than": 10}, {"group": "m", "share": 0.5}]
    sentence = association_text(association(ROW | {"shares": {"value": "old", "groups": groups}}))
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
