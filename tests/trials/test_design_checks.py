"""Checks G11 to G15: durations, impostor pools, returning enrolments and classes by group."""

import itertools
import statistics

import pytest

import parivox as pv
from parivox.report.caveats import caveats
from parivox.report.findings import check_sentence
from parivox.trials import check

SPEAKERS = {"id": [f"s{i:02d}" for i in range(24)], "gender": ["f", "m"] * 12}
WOMEN, MEN = SPEAKERS["id"][::2], SPEAKERS["id"][1::2]


def trial_list(impostors=None):
    """Four recordings a speaker: the first is the enrolment, the others are target tests.

    `impostors` are of each speaker, the next ones of the same gender in a circle.
    """
    rows = []
    for speakers in (WOMEN, MEN):
        for position, speaker in enumerate(speakers):
            rows += [(f"{speaker}/0", f"{speaker}/{k}", 1) for k in (1, 2, 3)]
            n_impostors = 3 if impostors is None else impostors[speaker]
            for step in range(1, n_impostors + 1):
                other = speakers[(position + step) % len(speakers)]
                rows.append((f"{speaker}/0", f"{other}/{1 + step % 3}", 0))
    return dict(zip(("enrol", "test", "label"), map(list, zip(*rows, strict=True)), strict=True))


def recordings(seconds_of_gender, name="duration", factor=1.0):
    utterances = [f"{speaker}/{k}" for speaker in SPEAKERS["id"] for k in range(4)]
    genders = dict(zip(SPEAKERS["id"], SPEAKERS["gender"], strict=True))
    seconds = [
        seconds_of_gender[genders[utterance.partition("/")[0]]][int(utterance[-1])] * factor
        for utterance in utterances
    ]
    return {"utterance": utterances, name: seconds}


def finding(check_id, trials, **tables):
    return check(trials, speakers=SPEAKERS, by="gender", **tables)[check_id]


@pytest.mark.parametrize(
    ("name", "factor"), [("duration", 1.0), ("Clip Duration", 1.0), ("duration[ms]", 1000.0)]
)
@pytest.mark.parametrize(
    ("men", "verdict", "is_large"),
    [
        ([4.0, 5.0, 5.0, 6.0], "pass", False),
        ([4.0, 5.3, 5.3, 9.0], "fail", False),
        ([4.0, 6.4, 6.4, 9.0], "fail", True),
    ],
)
def test_median_durations_of_groups_are_compared(men, verdict, is_large, name, factor):
    women = [1.0, 4.0, 4.0, 9.0]
    table = recordings({"f": women, "m": men}, name, factor)
    found = finding("G11", trial_list(), utterances=table)
    ratio = statistics.median(men) / statistics.median(women)
    assert found.verdict == verdict
    assert found.statistic == pytest.approx(ratio)
    assert found.sentence == (
        "the median duration of recordings, by gender, ranges from 4.0 s (f, 48 recordings) to "
        f"{statistics.median(men):.1f} s (m, 48 recordings), a ratio of {ratio:.3g}"
        + " (a large difference)"
        * is_large
    )


def test_shares_of_short_recordings_are_compared():
    table = recordings({"f": [1.9, 2.0, 3.0, 4.0], "m": [2.0, 2.0, 3.0, 4.0]})
    found = finding("G12", trial_list(), utterances=table)
    assert (found.verdict, found.statistic) == ("fail", 12 / 48)
    assert found.sentence == (
        "12 of 96 recordings are under 2 s; by gender, the share ranges from 0.0 % (m, 48 "
        "recordings) to 25.0 % (f, 48 recordings)"
    )
    even = recordings({"f": [1.9, 2.0, 3.0, 4.0], "m": [1.0, 2.0, 3.0, 4.0]})
    assert finding("G12", trial_list(), utterances=even).verdict == "pass"


def test_durations_go_with_a_condition_too():
    table = recordings({"f": [8.0, 8.0, 3.0, 3.0], "m": [8.0, 8.0, 3.0, 3.0]})
    table["channel"] = [
        "web" if utterance[-1] in "01" else "phone" for utterance in table["utterance"]
    ]
    checked = check(trial_list(), speakers=SPEAKERS, by=["gender", "channel"], utterances=table)
    assert checked["G11"].statistic == pytest.approx(8 / 3)
    assert (
        "by channel, ranges from 3.0 s (phone, 48 recordings) to 8.0 s" in checked["G11"].sentence
    )
    assert checked["G11"].offenders == 1  # not by gender
    in_bands = check(trial_list(), speakers=SPEAKERS, by="duration:5", utterances=table)
    assert in_bands["G11"].verdict == "not checked"  # groups are made of durations


@pytest.mark.slow
def test_durations_that_nobody_knows_are_not_compared():
    unknown = recordings({"f": [1.0] * 4, "m": [9.0] * 4})
    unknown["duration"] = [
        seconds if i < 60 else None for i, seconds in enumerate(unknown["duration"])
    ]
    assert finding("G11", trial_list(), utterances=unknown).verdict == "fail"
    unknown["duration"][20:] = [None] * 76
    for check_id, table in itertools.product(
        ("G11", "G12"), (unknown, {"utterance": unknown["utterance"], "device": ["x"] * 96})
    ):
        assert finding(check_id, trial_list(), utterances=table).verdict == "not checked"


def test_impostor_pools_of_groups_are_compared():
    impostors = {speaker: 6 if speaker in MEN else 3 for speaker in SPEAKERS["id"]}
    found = finding("G13", trial_list(impostors))
    assert (found.verdict, found.statistic) == ("fail", 2.0)
    assert found.sentence == (
        "the median number of impostor speakers per enrolled speaker, by gender, ranges from 3 "
        "(f, 12 enrolled) to 6 (m, 12 enrolled), a ratio of 2"
    )
    even = finding("G13", trial_list())
    assert (even.verdict, even.statistic) == ("pass", 1.0)


def test_classes_of_groups_are_compared():
    impostors = {speaker: 5 if speaker in MEN else 3 for speaker in SPEAKERS["id"]}
    found = finding("G15", trial_list(impostors))
    assert found.verdict == "fail"
    assert found.statistic == pytest.approx((36 / 36) / (36 / 60))
    assert "from 0.6 (m, 12 enrolled) to 1 (f, 12 enrolled), a ratio of 1.67" in found.sentence
    nearly_even = {speaker: 4 if speaker in MEN else 3 for speaker in SPEAKERS["id"]}
    assert finding("G15", trial_list(nearly_even)).verdict == "pass"


def test_enrolments_that_return_as_tests_are_counted():
    trials = trial_list()
    assert finding("G14", trials).statistic == 0
    for speaker in WOMEN[:3]:  # who test with their enrolments, at another's door
        trials["enrol"].append(f"{WOMEN[5]}/0")
        trials["test"].append(f"{speaker}/0")
        trials["label"].append(0)
    found = finding("G14", trials)
    assert (found.verdict, found.statistic, found.offenders) == ("fail", 3, 3)
    assert found.sentence == "3 of 24 enrolment recordings are also test recordings"


def test_sides_of_a_list_of_pairs_may_be_turned_round():
    utterances = [f"{speaker}/{k}" for speaker in SPEAKERS["id"] for k in range(3)]
    pairs = list(itertools.combinations(utterances, 2))
    pairs = [pair if i % 2 else pair[::-1] for i, pair in enumerate(pairs)]
    labels = [int(first[:3] == second[:3]) for first, second in pairs]
    enrol, test = map(list, zip(*pairs, strict=True))
    found = finding("G14", {"enrol": enrol, "test": test, "label": labels})
    assert found.verdict == "not checked"
    assert "a list of pairs, whose sides are interchangeable" in found.sentence


def test_models_are_known_by_their_recordings():
    trials = trial_list()
    models = {"model": [], "recording": [], "speaker": []}
    for speaker in SPEAKERS["id"]:
        for k in (0, 9) if speaker != "s05" else (0, 1):  # and s05/1 is a test
            models["model"].append(f"{speaker}-m")
            models["recording"].append(f"{speaker}/{k}")
            models["speaker"].append(speaker)
    trials["enrol"] = [f"{name.partition('/')[0]}-m" for name in trials["enrol"]]
    trials["score"] = [0.5 + 0.1 * (i % 5) for i in range(len(trials["enrol"]))]
    audit = pv.audit(trials, speakers=SPEAKERS, by="gender", models=models, intervals=False)
    (failed,) = audit.record["list_checks"].values()
    (returning,) = (row for row in failed if row["id"] == "G14")
    assert check_sentence(returning) == "1 of 48 enrolment recordings are also test recordings"


def test_groups_of_few_speakers_are_not_compared():
    small = {"id": SPEAKERS["id"], "gender": ["f"] * 4 + ["m"] * 20}
    checked = check(trial_list(), speakers=small, by="gender")
    assert {checked[check_id].verdict for check_id in ("G13", "G15")} == {"not checked"}
    assert "no two groups have 5 enrolled speakers" in checked["G13"].sentence


def test_an_audit_names_them_as_limitations():
    impostors = {speaker: 6 if speaker in MEN else 3 for speaker in SPEAKERS["id"]}
    trials = trial_list(impostors)
    trials["test"][-1] = f"{MEN[0]}/0"  # which is an enrolment
    trials["score"] = [label + 0.01 * i for i, label in enumerate(trials["label"])]
    table = recordings({"f": [1.0, 1.0, 4.0, 4.0], "m": [6.0, 6.0, 7.0, 8.0]})
    audit = pv.audit(trials, speakers=SPEAKERS, by="gender", utterances=table, intervals=False)
    texts = {caveat.short: caveat.sentence for caveat in caveats(audit)}
    starts = {
        "error rates of groups may not be comparable: the median duration of recordings":
            "If groups differ in error rates, part of the difference may be due to their trials",
        "error rates of groups may not be comparable: 24 of 96 recordings are under 2 s": "due to",
        "FPRs of groups may not be comparable: the median number of impostor": "false accepts",
        "1 of 24 enrolment recordings are also test recordings": "share a recording are dependent",
        "the number of target trials per nontarget trial, by gender": "weigh the groups",
    }  # fmt: skip
    for start, consequence in starts.items():
        (sentence,) = (text for short, text in texts.items() if short.startswith(start))
        assert consequence in sentence
