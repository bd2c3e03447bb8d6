"""Who the speakers are is said before anything is embedded, and doubted where it must be."""

import polars as pl
import pytest

from parivox.embedding.recordings import Source, read_source
from parivox.report.systems import speaker_lines


def speaker_lines_of(folder, *names, files_per_name=1, columns=None):
    """What is said of a folder with such folders in it."""
    for name in names:
        (folder / name).mkdir(parents=True)
        for i in range(files_per_name):
            (folder / name / f"{i}.wav").touch()
    return list(speaker_lines(read_source(folder, columns=columns)))


def test_people_are_told_with_what_tells_them(tmp_path):
    (line,) = speaker_lines_of(tmp_path, *(f"id{i}" for i in range(83)))
    assert line == (
        "83 speakers, by the first folder of the path: id0, id1, id10, ...; to change this, use a "
        "table of file and speaker in place of the folder"
    )


def test_another_folder_of_the_path_is_offered_and_taken(tmp_path):
    (line,) = speaker_lines_of(tmp_path, "x/anna", "y/bert")
    assert "; to change this, use --columns speaker=2 (of the path, from 1), or a table" in line
    lines = speaker_lines_of(tmp_path, columns={"speaker": "2"})
    assert lines == ["2 speakers, by the second folder of the path: anna, bert"]


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (("female_audio", "male_audio"), "'female_audio', 'male_audio' are not names of persons"),
        (("train-clean-100", "x"), "'train-clean-100' is not a person's name"),
        (("wav", *(f"id{i}" for i in range(50))), "'wav' is not a person's name"),
        (("F", "M"), "'F', 'M' are not names of persons"),
    ],
)
def test_names_that_are_no_persons_are_doubted(tmp_path, names, reason):
    speakers, warning = speaker_lines_of(tmp_path, *names)
    assert " by the first folder of the path: " in speakers
    assert warning.startswith(
        f"warning: the first folders of the paths may not be the speakers ({reason}), and an audit "
        "with wrong speakers is invalid; identify them with "
    )


def test_few_folders_of_many_recordings_are_doubted(tmp_path):
    warning = speaker_lines_of(tmp_path, "Names", "Numbers", "Addresses", files_per_name=20)[1]
    assert "(3 with 20 recordings each are few)" in warning


def test_people_are_not_doubted_for_how_they_are_called(tmp_path):
    names = [*(f"male_{i}" for i in range(20)), "audrey", "manuel", "testa"]
    assert len(speaker_lines_of(tmp_path, *names, files_per_name=2)) == 1


def test_a_column_is_named_and_others_are_offered():
    table = pl.DataFrame({"file": [__file__], "spk": ["anna"], "reader": ["bert"]})
    assert list(speaker_lines(read_source(table))) == [
        "1 speaker, by column 'spk': anna; to change this, use --columns speaker=NAME (reader)"
    ]
    lines = list(speaker_lines(read_source(table, columns={"speaker": "reader"})))
    assert lines == ["1 speaker, by column 'reader': bert"]


def test_that_nothing_tells_speakers_is_said_with_the_mend():
    table = pl.DataFrame({"file": [__file__], "reader": ["bert"]})
    (line,) = speaker_lines(read_source(table))
    assert line == (
        "no speakers: nothing shows the speakers of the recordings; state them with --columns "
        "speaker=NAME (reader)"
    )
    flat = Source("x", table.with_columns(speaker=pl.lit(None, pl.String)))
    (line,) = speaker_lines(flat)
    assert line.endswith("of the recordings; state them in a table")
