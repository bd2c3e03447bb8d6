"""What functions of measures return can be printed, and cannot be changed by accident."""

from dataclasses import FrozenInstanceError, fields

import pytest

import parivox as pv
from parivox.core.costs import MinCost
from parivox.core.intervals import Interval
from parivox.core.rates import RateAtTarget
from parivox.core.resampling import BootstrapInterval

RATES = [0.1, 0.2, 0.4]
VALUES = {
    "MetaValue": pv.gini(RATES),
    "BiasValue": pv.ratio(RATES, 0.1),
    "MinCost": MinCost(*range(len(fields(MinCost)))),
    "RateAtTarget": RateAtTarget(*range(len(fields(RateAtTarget)))),
    "Interval": Interval(*range(len(fields(Interval)))),
    "BootstrapInterval": BootstrapInterval(*range(len(fields(BootstrapInterval)))),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_returned_value_shows_its_fields_and_is_frozen(name):
    value = VALUES[name]
    first_field = fields(value)[0].name
    assert repr(value).startswith(f"{name}({first_field}=")
    with pytest.raises(FrozenInstanceError):
        setattr(value, first_field, 9)
