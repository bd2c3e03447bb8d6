"""What is said of gains rests on the test that says whom a rule of its own would serve."""

import pytest
from rich.console import Console

import parivox as pv
from parivox.report.calibration import calibration_summary
from parivox.report.thresholds import costliest_group, gain_text, thresholds_summary

pytestmark = pytest.mark.slow
GAIN = ("is shown:", "is negative:", "is inconclusive:")


def printed(words):
    console = Console(width=200, no_color=True)
    with console.capture() as captured:
        console.print(words)
    return captured.get()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("shift", [0.0, 0.4])
def test_a_gain_is_told_only_where_a_group_is_shown_to_miss_its_aim(draw_scored, seed, shift):
    trials, speakers = draw_scored(shift, seed=seed, people=40)
    selection = pv.thresholds(trials, speakers=speakers, by="gender", aim="fpr=0.05", folds=5)
    text = printed(thresholds_summary(selection))
    assert ("no group is shown to miss the aim" in text) == (not selection.apart)
    averaged = next(line for line in text.splitlines() if "averaged over groups" in line)
    worst = next(
        line for line in text.splitlines() if "the group with the largest cost, the gain" in line
    )
    if selection.apart:
        assert any(words in averaged for words in GAIN)
    else:
        assert "is not tested:" in averaged
        assert "Gains are tested only if" in text
    assert ("is not tested:" in worst) == (costliest_group(selection) not in selection.apart)


def test_a_calibrator_that_is_not_shown_to_differ_is_not_said_to_gain(alike):
    trials, speakers = alike
    calibration = pv.calibrate(trials, speakers=speakers, by="gender", folds=5)
    assert calibration.apart == []
    assert "group-specific calibrators is not tested:" in printed(calibration_summary(calibration))


def test_a_gain_without_any_width_is_unknown():
    row = {"gain": 0.0, "gain_low": 0.0, "gain_high": 0.0}
    assert gain_text(row, is_needed=True) == gain_text(row, is_needed=False) == "unknown"
