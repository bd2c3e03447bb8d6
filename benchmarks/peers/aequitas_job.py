"""aequitas: rates, disparities and parity of women and men, as docs/coming-from.md shows them.

Usage: python aequitas_job.py TABLE, in an environment with aequitas alone
"""

from __future__ import annotations

import sys

import pandas as pd
from aequitas.bias import Bias
from aequitas.fairness import Fairness
from aequitas.group import Group

frame = pd.read_csv(sys.argv[1])
counts, _ = Group().get_crosstabs(frame, attr_cols=["gender"])
disparities = Bias().get_disparity_predefined_groups(
    counts,
    original_df=frame,
    ref_groups_dict={"gender": "m"},
    check_significance=True,
    mask_significance=False,
)
fair = Fairness().get_group_value_fairness(disparities)
for rate in ("fpr", "fnr"):
    columns = [rate, f"{rate}_disparity", f"{rate}_significance", f"{rate.upper()} Parity"]
    print(fair[["attribute_value", *columns]])
