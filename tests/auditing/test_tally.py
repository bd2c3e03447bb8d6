"""Tallies of trials by who takes part in them: they add up, and a file holds them."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.auditing.layout import Layout, cell_layouts, place_trials
from parivox.auditing.operating_points import LocatedPoint, OperatingPoint
from parivox.auditing.speaker_counts import count_by_speaker
from parivox.auditing.speaker_errors import count_speaker_errors
from parivox.data.requested_groupings import make_groupings, parsed_attributes
from parivox.data.speaker_counts import SpeakerCounts
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials
from parivox.data.units import Units
from parivox.errors import ConfigError, DataError

PEOPLE = {
    "id": list("abcdefgh"),
    "gender": ["f", "m", "f", "m", "f", "m", "f", ""],
    "region": ["n", "n", "s", "s", "n", "s", "s", "n"],
}
RULES = ("both", "enrol", "test", "either")
THRESHOLDS = np.array([0.2, 0.5, 0.8])


@st.composite
def rows(draw):
    """Trials of all speakers: enrolment and test speaker, score in twentieths, channel."""
    cell = st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from("abcdefgh"),
        st.integers(0, 20),
        st.sampled_from(("phone", "web")),
    )
    return [("a", "a", 10, "phone"), ("b", "b", 10, "web"), *draw(st.lists(cell, max_size=40))]


def gathered(trials, start=0):
    """Trials as read, with their groupings; rows are numbered from `start`."""
    columns = {
        "enrol": [f"{speaker}/e{i}" for i, (speaker, *_) in enumerate(trials, start)],
        "test": [f"{speaker}/t{i}" for i, (_, speaker, *_) in enumerate(trials, start)],
        "score": [score / 20 for *_, score, _ in trials],
        "decision": ["accept" if score > 8 else "reject" for *_, score, _ in trials],
        "channel": [channel for *_, channel in trials],
    }
    people = read_speakers(PEOPLE)
    attributes = parsed_attributes(("channel",))
    read = read_trials(columns, system="s", list_="", speakers=people, attributes=attributes)
    groupings = make_groupings(people, ["gender", "region", "channel"], sets=[read], may_lack=True)
    return SimpleNamespace(trials=read, groupings=groupings, people=people)


def speaker_counts(sample):
    return count_by_speaker(sample.trials, THRESHOLDS, sample.groupings)


def errors(trials, groupings, n_speakers):
    """Errors and trials of every cell and level by speaker and by pair."""
    layouts: list[Layout] = cell_layouts(groupings, RULES, groupings[-1:])
    points = [OperatingPoint(f"threshold={t}", "threshold", t) for t in THRESHOLDS.tolist()]
    points.append(OperatingPoint("deployed", "deployed"))
    located = [LocatedPoint(point, point.rule_value, *(np.nan,) * 3, "") for point in points]
    members = Units(n_speakers)
    counted = count_speaker_errors(trials, layouts, place_trials(trials, layouts), located, members)
    by_point = [point_errors for layout_errors in counted for point_errors in layout_errors]
    kinds = [kind for point_errors in by_point for kind in point_errors.by_class]
    return [array.tolist() for kind in kinds for array in (kind.cell, kind.errors, kind.trials)]


def content(counts):
    return {name: column.tolist() for name, column in counts.columns.items()}


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(rows())
def test_errors_of_a_tally_are_those_of_its_trials(trials):
    sample = gathered(trials)
    n = len(sample.people.ids)
    counts = speaker_counts(sample)
    assert counts.n_trials == len(trials)
    assert errors(counts, sample.groupings, n) == errors(sample.trials, sample.groupings, n)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(rows(), rows())
def test_tallies_of_disjoint_trials_add_up(trials, other_trials):
    sample, other_sample = gathered(trials), gathered(other_trials, start=len(trials))
    joint = gathered([*trials, *other_trials])
    counts, other_counts = (
        speaker_counts(gathering).with_groupings(joint.groupings)
        for gathering in (sample, other_sample)
    )
    for added in (counts + other_counts, other_counts + counts):
        assert content(added) == content(speaker_counts(joint))
        assert added.score_keys.tolist() == speaker_counts(joint).score_keys.tolist()
        assert added.speakers_in_use.tolist() == speaker_counts(joint).speakers_in_use.tolist()


def test_recordings_and_trials_may_be_grouped_in_very_many_ways():
    phone, other_phone = (
        gathered([("a", "a", 9, "web"), ("a", "b", i, "phone")], start=2 * i) for i in range(2)
    )
    more = [str(i) for i in range(1000)]
    speaker_counts_files = []
    for sample in (phone, other_phone):
        *_, channel = sample.groupings
        groups, group_values = (
            (*channel.groups, *more),
            (*channel.group_values, *((i,) for i in more)),
        )
        wide = [
            replace(channel, name=f"{i}", groups=groups, group_values=group_values)
            for i in range(3)
        ]
        speaker_counts_files.append(count_by_speaker(sample.trials, THRESHOLDS, wide))
    joint = speaker_counts_files[0] + speaker_counts_files[1]
    assert joint.columns["side_groups"].max() > 1 << 50
    ((partition, _),) = joint.partitions_by_layout(())
    sides = [
        [side.tolist() for side in joint.side_coder(sample)(partition)]
        for sample in joint.groupings
    ]
    assert sides == [[[0, 1]] * 2] * 3
    assert joint.columns["trials"].tolist() == [2, 2]


def test_a_file_holds_a_tally_and_no_id(tmp_path):
    counts = speaker_counts(
        gathered([("a", "b", 4, "web"), ("c", "c", 20, "phone"), ("c", "c", 20, "phone")])
    )
    file = tmp_path / "a.tally"
    counts.save(file)
    again = SpeakerCounts.read(file)
    assert content(again) == content(counts)
    assert again.thresholds.tolist() == THRESHOLDS.tolist()
    assert again.shared_properties() == counts.shared_properties()
    assert again.score_keys.tolist() == counts.score_keys.tolist()
    with pytest.raises(ConfigError, match="two files of speaker counts contain the same trials"):
        again + counts
    assert not any(word in file.read_bytes() for word in (b"a/e0", b"c/t1"))
    assert [*tmp_path.iterdir()] == [file]


def test_tallies_at_other_thresholds_do_not_add_up():
    sample = gathered([("a", "a", 10, "web")])
    coarser = count_by_speaker(sample.trials, THRESHOLDS[:2], sample.groupings)
    with pytest.raises(
        ConfigError, match="speaker counts that differ in thresholds cannot be added up"
    ):
        speaker_counts(sample) + coarser


@pytest.mark.parametrize("damage", [lambda data: data[:-40], lambda _: b"enrol,test\n"])
def test_a_damaged_file_is_refused(tmp_path, damage):
    file = tmp_path / "a.tally"
    speaker_counts(gathered([("a", "a", 10, "web")])).save(file)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(DataError, match=r"a\.tally: does not contain complete speaker counts"):
        SpeakerCounts.read(file)


def test_a_folder_cannot_be_written(tmp_path):
    with pytest.raises(ConfigError, match="cannot be written"):
        speaker_counts(gathered([("a", "a", 10, "web")])).save(tmp_path)
