"""What does not change intervals: the order of trials, names of speakers, other options."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import parivox as pv

pytestmark = pytest.mark.slow

POINT = "threshold=0.5"
CLOSED = ("value", "low", "high", "interval", "deff", "n_eff", "df", "se", "note")
OF_RATES = {"fpr", "fnr"}
OPTIONS = {"by": "group", "operating_points": POINT, "reference": "others", "zero": "none"}
QUICK = settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def lists(draw):
    """Trials of speakers of two groups, with any errors, and maybe few speakers or trials."""
    sizes = draw(st.tuples(st.integers(1, 7), st.integers(2, 7)))
    seed = draw(st.integers(0, 2**16))
    rates = draw(st.tuples(*[st.sampled_from([0.0, 0.05, 0.3, 1.0])] * 4))
    n_trials = draw(st.integers(1, 8))
    rng = np.random.default_rng(seed)
    names = [(g, f"{g}{i}") for g, n in zip("ab", sizes, strict=True) for i in range(n)]
    rows = []
    for group, enrol_speaker in names:
        for other_group, test_speaker in names:
            if test_speaker < enrol_speaker or (group != other_group and rng.random() < 0.7):
                continue
            label = int(enrol_speaker == test_speaker)
            rate = rates[2 * int(group == "b") + label]
            for _ in range(n_trials):
                wrong = rng.random() < rate
                n = len(rows)
                rows.append(
                    (f"{enrol_speaker}/e{n}", f"{test_speaker}/t{n}", label, float(wrong != label))
                )
    columns = [list(column) for column in zip(*rows, strict=True)]
    trials = dict(zip(("enrol", "test", "label", "score"), columns, strict=True))
    return trials, {"id": [name for _, name in names], "group": [group for group, _ in names]}


def audit(trials, speakers, **options):
    merged = {**OPTIONS, "orientation": "similarity", "bins": "exact", **options}
    return pv.audit(trials, speakers=speakers, **merged)


def closed_forms(audited):
    """Everything of rates that no replicate is needed for."""
    rates = [row for row in audited.groups if row["metric"] in OF_RATES]
    ratios = [
        row
        for row in audited.bias
        if row["metric"] in OF_RATES and row["measure"] in {"ratio", "neg_log_ratio"}
    ]
    return [[row[name] for name in CLOSED] for row in rates], [
        [row[name] for name in ("value", "low", "high", "p", "p_holm", "reason")] for row in ratios
    ]


@QUICK
@given(lists())
def test_limits_lie_around_the_estimate(trial_lists):
    for row in audit(*trial_lists).groups:
        low, estimate, high = row["low"], row["value"], row["high"]
        if low is not None:
            assert low <= estimate * (1 + 1e-12)
            assert estimate <= high * (1 + 1e-12) + 1e-15
            if row["metric"] in OF_RATES:
                assert 0 <= low <= high <= 1
                assert high > low


@QUICK
@given(lists())
def test_an_interval_is_never_narrower_than_of_independent_trials_at_its_limits(trial_lists):
    """The rule of 3 for rates without errors; a variance of at least the binomial one else."""
    for row in audit(*trial_lists).groups:
        if row["interval"] == "speakers":
            rate = row["value"]
            assert row["se"] ** 2 >= rate * (1 - rate) / row["trials"] * (1 - 1e-12)
            assert row["deff"] >= 1 - 1e-12
            assert row["df"] >= 1
        elif row["interval"] == "zero-errors":
            assert row["high"] - row["low"] >= min(1, 3 / row["trials"]) - 1e-12


@QUICK
@given(lists(), st.randoms(use_true_random=False))
def test_the_order_of_trials_and_speakers_changes_nothing(trial_lists, random):
    trials, speakers = trial_lists
    shuffled = []
    for table in (trials, speakers):
        order = list(range(len(next(iter(table.values())))))
        random.shuffle(order)
        shuffled.append({name: [column[i] for i in order] for name, column in table.items()})
    plain, reordered = audit(*trial_lists), audit(*shuffled)
    for name, table in plain.tables().items():
        assert table.to_dict() == getattr(reordered, name).to_dict(), name


@QUICK
@given(lists(), st.randoms(use_true_random=False))
def test_names_of_speakers_change_no_closed_form(trial_lists, random):
    trials, speakers = trial_lists
    names = [f"z{i:02d}" for i in range(len(speakers["id"]))]
    random.shuffle(names)
    new = dict(zip(speakers["id"], names, strict=True))

    def renamed(utterance):
        speaker, _, recording = utterance.partition("/")
        return f"{new[speaker]}/{recording}"

    renamed_trials = {
        **trials,
        **{side: [*map(renamed, trials[side])] for side in ("enrol", "test")},
    }
    people = {**speakers, "id": [new[name] for name in speakers["id"]]}
    for before, after in zip(
        closed_forms(audit(*trial_lists)), closed_forms(audit(renamed_trials, people)), strict=True
    ):
        for row, renamed_row in zip(before, after, strict=True):
            for a, b in zip(row, renamed_row, strict=True):
                assert a == b or (isinstance(a, float) and b == pytest.approx(a, rel=1e-9))


@QUICK
@given(lists())
def test_enrolment_and_test_may_be_exchanged(trial_lists):
    trials, speakers = trial_lists
    exchanged = {**trials, "enrol": trials["test"], "test": trials["enrol"]}
    assert closed_forms(audit(*trial_lists)) == closed_forms(audit(exchanged, speakers))


def test_a_seed_decides_everything(alike):
    texts = [alike.audit(operating_points="eer", seed=s).to_json() for s in (4, 4, 5)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]


def test_another_seed_and_other_replicates_leave_closed_forms_as_they_are(alike):
    usual = alike.audit()
    changed = {
        "seed": alike.audit(seed=9),
        "replicates": alike.audit(replicates=80),
        "bins": alike.audit(bins=64),
    }
    for changed_audit in changed.values():
        assert closed_forms(changed_audit) == closed_forms(usual)
    moved = [
        [row["high"] for row in changed_audit.groups.subset(metric="eer")]
        for changed_audit in (usual, changed["seed"])
    ]
    assert moved[0] != moved[1]


def test_the_first_replicates_do_not_depend_on_how_many_there_are(alike):
    """So that fewer replicates tell the same to within their own error."""
    few, many = (alike.audit(operating_points="eer", replicates=n) for n in (400, 800))
    for row, other_row in zip(few.groups, many.groups, strict=True):
        if row["interval"] == "bootstrap":
            assert other_row["se"] == pytest.approx(row["se"], rel=0.2)


def test_another_grouping_changes_no_closed_form(alike, people):
    table = {**alike.table, "odd": ["xy"[i % 2] for i in range(24)]}
    together = pv.audit(alike.trials, speakers=table, **{**OPTIONS, "by": ["group", "odd"]})
    alone = pv.audit(alike.trials, speakers=table, **OPTIONS)
    rows = [
        [row for row in audited.groups.subset(grouping="group") if row["metric"] in OF_RATES]
        for audited in (together, alone)
    ]
    assert rows[0] == rows[1]


def test_dropping_speakers_widens_intervals(people):
    widths = []
    for size in (6, 12, 48):
        speakers = people(
            {"a": size, "b": 6},
            fnr=lambda group, i: (1 + 2 * (i % 3), 20),
            fpr=lambda group, i: (int(i % 3 == 0), 3),
        )
        rows = [
            row
            for row in speakers.audit().groups.subset(group="a")
            if row["metric"] in OF_RATES or row["metric"] == "cdet_norm"
        ]
        widths.append([row["high"] / row["low"] for row in rows])
    for wider, narrower in pairwise(widths):
        assert all(a > b for a, b in zip(wider, narrower, strict=True))


def test_names_of_speakers_change_no_replicate_and_no_floor():
    draw = np.random.default_rng(7)
    rows = [(i, i) for i in range(20) for _ in range(6)]
    rows += [(i, (i + 2 * k) % 20) for i in range(20) for k in range(1, 6)]
    score = draw.normal(size=len(rows)) + [2.0 if a == b else 0.0 for a, b in rows]
    tables = []
    for names in (np.arange(20), draw.permutation(20)):
        trials = {
            "enrol": [f"s{names[a]:02d}/e{k}" for k, (a, _) in enumerate(rows)],
            "test": [f"s{names[b]:02d}/t{k}" for k, (_, b) in enumerate(rows)],
            "score": score.tolist(),
            "label": [int(a == b) for a, b in rows],
        }
        people = {
            "id": [f"s{names[i]:02d}" for i in range(20)],
            "half": ["ab"[i % 2] for i in range(20)],
        }
        named = pv.audit(trials, speakers=people, by="half", operating_points="fpr=0.2")
        tables.append([getattr(named, name).rows() for name in ("groups", "bias", "meta")])
    for before, after in zip(*tables, strict=True):
        for row, renamed_row in zip(before, after, strict=True):
            for a, b in zip(row.values(), renamed_row.values(), strict=True):
                assert a == b or (isinstance(a, float) and b == pytest.approx(a, rel=1e-9))
