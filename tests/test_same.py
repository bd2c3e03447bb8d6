"""What a comparison of frozen audits says of a table."""

import pytest
from tests.same.__main__ import added_rows

TABLE = "measure,value\ngini,0.5\nsd,0.1\n"


@pytest.mark.parametrize(
    ("now", "n_added"),
    [
        ("measure,value\ngini,0.5\nnew,0.3\nsd,0.1\nnew,0.2\n", 2),
        (TABLE, 0),
        ("measure,value\nnew,0.3\ngini,0.5\nsd,0.2\n", 0),
        ("measure,value\nnew,0.3\nsd,0.1\ngini,0.5\n", 0),
        ("measure,value,low\ngini,0.5,0.4\nsd,0.1,0\nnew,0.3,0.1\n", 0),
    ],
    ids=["added", "the same", "a changed value", "another order", "a new column"],
)
def test_rows_are_only_added_if_all_others_are_the_same(now, n_added):
    assert added_rows(TABLE, now) == n_added
