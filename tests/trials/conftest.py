"""Lists that several tests look at: two real ones and a small one."""

from __future__ import annotations

from pathlib import Path

import pytest

from parivox.trials import check

PROTOCOL = Path(__file__).parents[3] / "shared" / "data" / "paper003-protocol.txt.gz"


@pytest.fixture(scope="session")
def protocol():
    """The published list of paper 003, which stands beside the repository, if at all."""
    if not PROTOCOL.exists():
        pytest.skip("the list of paper 003 is not here")
    return PROTOCOL


@pytest.fixture(scope="session")
def h_list(bt4vt_data):
    """VoxCeleb1-H, as a file of scores."""
    return bt4vt_data / "resnetse34v2_H-eval_scores.csv"


@pytest.fixture(scope="session")
def vox1(bt4vt_data):
    """The table of VoxCeleb1's speakers."""
    return bt4vt_data / "vox1_meta.csv"


@pytest.fixture(scope="session")
def h_checked(h_list, vox1):
    """VoxCeleb1-H, checked by gender, by nationality and by both at once."""
    return check(h_list, speakers=vox1, by=["gender", "nationality", "gender+nationality"])


@pytest.fixture(scope="session")
def protocol_checked(protocol, vox1):
    """The list of paper 003, checked by nationality."""
    return check(protocol, speakers=vox1, by="nationality")


@pytest.fixture
def even():
    """Four speakers of two groups, each with two recordings of two utterances; nothing is odd.

    Each enrols in one target trial and in one nontarget trial with the other of the group.
    """
    pairs = {"a": "b", "b": "a", "c": "d", "d": "c"}
    enrol, test, label = [], [], []
    for enrolled, tested in pairs.items():
        enrol += [f"{enrolled}/x{enrolled}/1", f"{enrolled}/x{enrolled}/2"]
        test += [f"{enrolled}/y{enrolled}/1", f"{tested}/y{tested}/2"]
        label += [1, 0]
    return {"enrol": enrol, "test": test, "label": label}


@pytest.fixture
def people():
    """Their speakers."""
    return {"id": list("abcd"), "gender": list("ffmm"), "nationality": ["UK", "UK", "IE", "IE"]}
