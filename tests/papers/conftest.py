"""All that the four papers print, computed once."""

import pytest

import parivox as pv


@pytest.fixture(scope="session")
def reproduced(bt4vt_data):
    """What every item comes to, by paper and name: a minute."""
    return {
        (item.paper, item.name): reproduction
        for item, reproduction in pv.papers.run(data=bt4vt_data)
    }
