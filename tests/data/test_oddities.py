"""What is plausible and yet odd is told by an audit and by an inspection, in the same words."""

import unicodedata

import numpy as np
import pytest
from tests.sentences import in_words, item_in_words, note_in_words

import parivox as pv
from parivox.data.value_warnings import (
    distant_number_warnings,
    fold,
    score_warnings,
    value_warnings,
)

SPEAKERS = [f"s{i:02}" for i in range(24)]


def trials(change=lambda score, target: score, *, seed=1, ids="{0}/v{0}/{1}.wav"):
    """Every speaker with themselves and with three others, 40 trials each."""
    rng = np.random.default_rng(seed)
    rows = []
    for i, enrol_speaker in enumerate(SPEAKERS):
        for k in range(40):
            test_speaker = (
                enrol_speaker if k % 4 == 0 else SPEAKERS[(i + 1 + k % 3) % len(SPEAKERS)]
            )
            rows.append(
                (ids.format(enrol_speaker, k), ids.format(test_speaker, 100 + k), int(k % 4 == 0))
            )
    target = np.array([row[2] for row in rows])
    score = np.round(rng.normal(0.1 + 0.5 * target, 0.1), 6)
    columns = dict(zip(("enrol", "test", "label"), map(list, zip(*rows, strict=True)), strict=True))
    return {**columns, "score": change(score, target).tolist()}


def people(column, values):
    return {"speaker": SPEAKERS, column: [values[i % len(values)] for i in range(24)]}


def noted(scores, table=None, **options):
    """What an audit notes as odd, without the ranges of numbers."""
    table = people("sex", ["f", "m"]) if table is None else table
    options = {"by": next(name for name in table if name != "speaker"), **options}
    audit = pv.audit(scores, speakers=table, intervals=False, **options)
    rows = audit.data.subset(source="oddities").rows()
    return {item_in_words(row): (row["count"], note_in_words(row)) for row in rows}


def inspected(*files):
    inspection = pv.inspect(*files)
    odd = [oddity for file in inspection.files for oddity in file.warnings]
    columns = [column for file in inspection.files for column in file.columns]
    odd += [oddity for column in columns for oddity in column.warnings]
    return {in_words(oddity.what): (oddity.count, in_words(oddity.note)) for oddity in odd}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "note"),
    [
        (["F", "f", "m"], "'F' and 'f'"),
        (["f", "female", "m"], "'f' and 'female'"),
        (["U.S.A.", "USA", "UK"], "'U.S.A.' and 'USA'"),
        (["North West", "north-west", "south"], "'North West' and 'north-west'"),
        ([unicodedata.normalize(form, "Québec") for form in ("NFC", "NFD")], "Qu\\xe9bec"),
        (["UK", "UK\u200b"], "UK\\u200b"),
        (["USA", "US\u0410"], "US\\u0410"),  # a Cyrillic letter
    ],
)
def test_values_that_may_be_one_are_told(values, note):
    table = people("group", values)
    notes = noted(trials(), table)
    assert note in notes["values of 'group' that may be the same"][1]
    assert inspected(table) == notes


@pytest.mark.parametrize("value", ["-", "?", "#N/A", "NaT", "UNK", "n.a.", "missing"])
def test_words_that_look_unknown_are_told_where_they_are_groups(value):
    table = people("group", ["f", "m", value])
    assert noted(trials(), table)["values of 'group' that may mean unknown"] == (1, repr(value))
    assert inspected(table)["values of 'group' that may mean unknown"] == (1, repr(value))


@pytest.mark.parametrize("attributes", ["age:18,60", "speaker.age:18,60"])
def test_ages_that_are_none_are_told_with_the_range_of_bands(attributes):
    table = {"speaker": SPEAKERS, "age": [*range(17, 38), -1, 999, 1990]}
    notes = noted(trials(), table, by=attributes)
    odd = (3, "-1, 999, 1990; all other numbers range from 17 to 37")
    assert notes["numbers in 'age' that are far from all others"] == odd
    assert notes["different numbers in 'age'"] == (24, "from -1 to 1990")
    assert inspected(table)["numbers in 'age' that are far from all others"] == odd


@pytest.mark.slow
def test_numbers_of_recordings_and_of_trials_are_told_too():
    scores = trials()
    scores["snr"] = [float(i % 30) for i in range(len(scores["score"]))]
    scores["snr"][5] = 9999.0
    assert noted(scores, by="snr:10,20")["numbers in 'snr' that are far from all others"][0] == 1
    del scores["snr"]
    ids = sorted({*scores["enrol"], *scores["test"]})
    table = {"utterance": ids, "snr": [i % 30 for i in range(len(ids))]}
    table["snr"][3] = 9999
    notes = noted(scores, by="snr:10,20", utterances=table)
    assert notes["numbers in 'snr' that are far from all others"][0] == 1


def change_some_scores(share, change, seed=3):
    def changed(score, _):
        hit = np.random.default_rng(seed).random(score.size) < share
        return np.where(hit, change(score), score)

    return changed


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_some_scores(0.1, lambda _: -999.0), "trials that share one score"),
        (
            change_some_scores(0.3, lambda x: -x),
            "target trials that score lower than 95 % of the nontarget",
        ),
        (
            change_some_scores(0.5, lambda x: 100 * x),
            "trials whose scores seem to be on another scale",
        ),
    ],
)
def test_scores_that_cannot_all_be_meant_are_told(change, message):
    scores = trials(change)
    notes = noted(scores)
    assert [note for note in notes if message in note]
    assert inspected(scores, people("sex", ["f", "m"])) == notes


@pytest.mark.slow
@pytest.mark.parametrize(
    "ids", ["{0}//v{0}/{1}.wav", "./{0}/v{0}/{1}.wav", "{0}/v{0}/{1}.flac", "{0}/v{0}/{1}"]
)
def test_ids_that_differ_in_slashes_or_ending_are_told(ids):
    first_trials, second_trials = trials(), trials(seed=2, ids=ids)
    trials_of_both = {name: [*first_trials[name], *second_trials[name]] for name in first_trials}
    owners = sorted({*trials_of_both["enrol"], *trials_of_both["test"]})
    table = {"utterance": owners, "speaker": [owner[owner.index("s") :][:3] for owner in owners]}
    difference = "their file extension" if ids[-1] != "v" else "slashes"
    notes = noted(trials_of_both, utterances=table)
    assert f"ids that differ only in {difference}" in notes
    assert f"ids that differ only in {difference}" in inspected(trials_of_both)


@pytest.mark.slow
def test_development_trials_that_are_audited_are_told():
    scores = trials()
    notes = noted(scores, threshold_from=scores, operating_points="fpr=0.1")
    assert notes["development trials that are audited"][0] == len(scores["score"])
    assert noted(scores, threshold_from=trials(seed=5, ids="{}/b/{}.wav")) == {}


def test_nothing_is_odd_about_what_is_right():
    assert noted(trials()) == {}
    for values in (["f", "m"], ["UK", "Ukraine", "USA"], ["N", "NE", "NW", "S"], ["1", "10"]):
        assert value_warnings("group", values) == []
    for numbers in (range(18, 90), [16000, 8000, 44100], [-3.5, -1.2, 4.0, 9.9, 30.1, 12.2, 7.7]):
        assert distant_number_warnings("snr", np.array(numbers, dtype=float)) == []
    assert fold("Ünal") != fold("Unal")


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, target: rng.normal(0.05 + 0.55 * target, 0.1),  # cosines
        lambda rng, target: rng.normal(16 * target - 8, 4),  # log-likelihood ratios
        lambda rng, target: 1 / (1 + np.exp(-rng.normal(9 * target - 5, 3))),  # probabilities
        lambda rng, target: np.exp(rng.normal(12 * target - 6, 3.5)),  # likelihood ratios
        lambda rng, target: rng.normal(0.3 * target, 1),  # a poor system
        lambda rng, target: rng.standard_cauchy(target.size) + 2 * target,
        lambda rng, target: rng.exponential(1 + 4 * target),
        lambda rng, target: np.clip(rng.normal(0.05 + 0.55 * target, 0.1), 0, 0.95),
    ],
)
def test_scores_of_any_system_are_not_odd(draw):
    rng = np.random.default_rng(4)
    target = np.arange(40_000) % 2
    values, positions = np.unique(draw(rng, target), return_inverse=True)
    counts = [np.bincount(positions, target == label) for label in (1, 0)]
    oddities = score_warnings(values, *(label_counts.astype(int) for label_counts in counts))
    assert [oddity.what for oddity in oddities if oddity.what != "trials_with_one_score"] == []


@pytest.mark.slow
def test_what_is_odd_is_printed_and_stands_before_the_answer_of_a_page(tmp_path, optional):
    from parivox.report.full_tables import every_table

    audit = pv.audit(trials(), speakers=people("sex", ["F", "f", "m"]), by="sex", intervals=False)
    console = optional("rich.console").Console(width=200)
    with console.capture() as captured:
        console.print(every_table(audit))
    printed = " ".join(captured.get().split())
    assert "2 values of 'sex' that may be the same ('F' and 'f')" in printed
