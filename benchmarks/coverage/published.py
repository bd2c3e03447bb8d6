"""Figures of the study by which the rules were chosen: to be met again.

See docs/methods/uncertainty.md#intervals-of-rates.

Its simulator was not kept. Each figure comes with the number of data sets behind it.
"""

from __future__ import annotations

from math import sqrt
from typing import TypeAlias

Figures: TypeAlias = dict[str, float]

FNR_DATASETS, FPR_DATASETS = 2000, 1200
FLOOR_DATASETS = 500

# kind, speakers, shape, rate: coverage by method, and mean log width where it is told
_METHODS = ("trials", "bootstrap", "speakers", "pooled floor")
_RATES = {
    ("fnr", 5, "even"): "29 903 943 992 | 47 889 978 987",
    ("fnr", 8, "even"): "30 906 941 963 | 41 879 925 964",
    ("fnr", 12, "even"): "31 923 954 965 | 42 888 937 962",
    ("fnr", 25, "even"): "31 929 952 957 | 43 911 946 950",
    ("fnr", 100, "even"): "30 953 956 956 | 42 929 947 950",
    ("fnr", 8, "skewed"): "14 768 862 956 | 16 634 747 946",
    ("fnr", 25, "skewed"): "14 920 943 946 | 19 846 942 958",
    ("fnr", 8, "unequal"): "28 892 949 973 | 39 861 956 981",
    ("fpr", 5, "even"): "61 993 975 | 89 992 974",
    ("fpr", 8, "even"): "54 975 971 | 83 991 968",
    ("fpr", 25, "even"): "57 965 946 | 76 990 964",
    ("fpr", 100, "even"): "60 978 954 | 76 988 954",
    ("fpr", 25, "skewed"): "35 887 882 | 58 966 955",
}
_ORDER = {"fnr": (0.10, 0.02), "fpr": (0.01, 0.003)}
COVERAGE: dict[tuple[str, int, str, float, str], float] = {
    (*case, rate, method): float(f".{figure}")
    for case, line in _RATES.items()
    for rate, figures in zip(_ORDER[case[0]], line.split("|"), strict=True)
    for method, figure in zip(_METHODS, figures.split(), strict=False)
}
WIDTH: dict[tuple[str, int, str, float, str], float] = {
    ("fnr", 5, "even", 0.10, "bootstrap"): 1.78,
    ("fnr", 5, "even", 0.02, "bootstrap"): 2.56,
    ("fnr", 5, "even", 0.10, "speakers"): 1.96,
    ("fnr", 5, "even", 0.02, "speakers"): 3.01,
    ("fnr", 8, "even", 0.10, "bootstrap"): 1.35,
    ("fnr", 8, "even", 0.02, "bootstrap"): 1.93,
    ("fnr", 8, "even", 0.10, "speakers"): 1.49,
    ("fnr", 8, "even", 0.02, "speakers"): 2.37,
    ("fnr", 25, "even", 0.10, "bootstrap"): 0.76,
    ("fnr", 25, "even", 0.02, "bootstrap"): 1.15,
    ("fnr", 25, "even", 0.10, "speakers"): 0.83,
    ("fnr", 25, "even", 0.02, "speakers"): 1.43,
    ("fpr", 8, "even", 0.01, "bootstrap"): 2.77,
    ("fpr", 8, "even", 0.003, "bootstrap"): 3.96,
    ("fpr", 8, "even", 0.01, "speakers"): 2.86,
    ("fpr", 8, "even", 0.003, "speakers"): 4.21,
    ("fpr", 25, "even", 0.01, "bootstrap"): 1.45,
    ("fpr", 25, "even", 0.003, "bootstrap"): 2.10,
    ("fpr", 25, "even", 0.01, "speakers"): 1.35,
    ("fpr", 25, "even", 0.003, "speakers"): 1.94,
    ("fpr", 100, "even", 0.01, "bootstrap"): 0.72,
    ("fpr", 100, "even", 0.003, "bootstrap"): 1.04,
    ("fpr", 100, "even", 0.01, "speakers"): 0.63,
    ("fpr", 100, "even", 0.003, "speakers"): 0.86,
}
# kind, speakers of one group and of the other, rate
RATIOS = {
    ("fnr", 8, 100, 0.10): 0.936,
    ("fnr", 8, 100, 0.02): 0.934,
    ("fnr", 25, 25, 0.10): 0.954,
    ("fnr", 25, 25, 0.02): 0.949,
    ("fpr", 100, 100, 0.01): 0.952,
    ("fpr", 100, 100, 0.003): 0.966,
}
# group, kind, speakers, rate
REAL = {
    ("m+USA", "fnr", 8, 0.109): 0.947,
    ("f+USA", "fnr", 8, 0.109): 0.954,
    ("m+USA", "fnr", 8, 0.02): 0.956,
    ("f+USA", "fnr", 8, 0.02): 0.947,
    ("m+USA", "fnr", 25, 0.005): 0.941,
    ("f+USA", "fnr", 25, 0.005): 0.948,
    ("m+USA", "fpr", 100, 0.01): 0.980,
    ("f+USA", "fpr", 100, 0.01): 0.982,
}
# design, kind, rate, method: share of fair systems in which Gini has p of at most .05
GINI = {
    ("9 x 8", "fnr", 0.018, "permutation"): 0.050,
    ("9 x 8", "fnr", 0.003, "permutation"): 0.052,
    ("9 x 8", "fnr", 0.001, "permutation"): 0.054,
    ("9 x 8", "fnr", 0.018, "gamma-multinomial"): 0.013,
    ("9 x 8", "fnr", 0.003, "gamma-multinomial"): 0.017,
    ("9 x 8", "fnr", 0.001, "gamma-multinomial"): 0.028,
    ("9 x 8", "fpr", 0.018, "recentred bootstrap"): 0.017,
    ("9 x 8", "fpr", 0.003, "recentred bootstrap"): 0.012,
    ("9 x 8", "fpr", 0.001, "recentred bootstrap"): 0.181,
    ("9 x 8", "fpr", 0.018, "gamma-multinomial"): 0.035,
    ("9 x 8", "fpr", 0.003, "gamma-multinomial"): 0.023,
    ("9 x 8", "fpr", 0.001, "gamma-multinomial"): 0.027,
    ("9 x 8, skewed speakers", "fnr", 0.018, "permutation"): 0.055,
    ("9 x 8, skewed speakers", "fnr", 0.003, "permutation"): 0.055,
    ("9 x 8, skewed speakers", "fnr", 0.018, "gamma-multinomial"): 0.035,
    ("9 x 8, skewed speakers", "fnr", 0.003, "gamma-multinomial"): 0.045,
    ("9 x 8, skewed speakers", "fpr", 0.018, "recentred bootstrap"): 0.275,
    ("9 x 8, skewed speakers", "fpr", 0.003, "recentred bootstrap"): 0.025,
    ("9 x 8, skewed speakers", "fpr", 0.018, "gamma-multinomial"): 0.023,
    ("9 x 8, skewed speakers", "fpr", 0.003, "gamma-multinomial"): 0.058,
    ("9 x 8, trials 1:8 between groups", "fnr", 0.003, "permutation"): 0.190,
    ("9 x 8, trials 1:8 between groups", "fnr", 0.003, "gamma-multinomial"): 0.043,
    ("9 x 8, trials 1:8 between groups", "fpr", 0.003, "recentred bootstrap"): 0.120,
    ("9 x 8, trials 1:8 between groups", "fpr", 0.003, "gamma-multinomial"): 0.040,
    ("4 x 5", "fnr", 0.018, "permutation"): 0.058,
    ("4 x 5", "fnr", 0.018, "gamma-multinomial"): 0.052,
    ("4 x 5", "fpr", 0.018, "recentred bootstrap"): 0.012,
    ("4 x 5", "fpr", 0.018, "gamma-multinomial"): 0.032,
    ("VoxCeleb1-H", "fnr", 0.018, "permutation"): 0.048,
    ("VoxCeleb1-H", "fnr", 0.018, "gamma-multinomial"): 0.050,
    ("VoxCeleb1-H", "fnr", 0.001, "permutation"): 0.024,
    ("VoxCeleb1-H", "fnr", 0.001, "gamma-multinomial"): 0.040,
    ("VoxCeleb1-H", "fpr", 0.018, "gamma-multinomial"): 0.062,
    ("VoxCeleb1-H", "fpr", 0.001, "gamma-multinomial"): 0.054,
}
# kind, rate, method: mean and 95 % quantile of Gini in paper 003's design
FLOORS = {
    ("fnr", 0.018, "simulation"): (0.305, 0.427),
    ("fnr", 0.001, "simulation"): (0.580, 0.795),
    ("fpr", 0.018, "simulation"): (0.283, 0.405),
    ("fpr", 0.001, "simulation"): (0.534, 0.731),
    ("fnr", 0.018, "gamma-multinomial"): (0.315, 0.474),
    ("fnr", 0.001, "gamma-multinomial"): (0.578, 0.786),
    ("fpr", 0.018, "gamma-multinomial"): (0.292, 0.425),
    ("fpr", 0.001, "gamma-multinomial"): (0.548, 0.737),
}


def differs(
    measured: float, error: float, published: float, datasets: int, places: int = 3
) -> bool:
    """Whether two shares lie further apart than two standard errors of their difference.

    `places` is how many decimals the published one was rounded to.
    """
    theirs = sqrt(published * (1 - published) / datasets)
    least = 2 * sqrt(error**2 + theirs**2) + 0.5 * 10.0**-places
    return abs(measured - published) > least
