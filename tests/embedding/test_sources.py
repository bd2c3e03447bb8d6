"""Which recordings a folder, a table or a Kaldi list names."""

import json

import numpy as np
import polars as pl
import pytest
import soundfile

from parivox.embedding.recordings import piped_file, read_source
from parivox.errors import ConfigError, DataError


@pytest.fixture
def folder(tmp_path):
    """Three recordings of two speakers, as VoxCeleb lays them out, and a file beside them."""
    for name in ("id1/v1/1.wav", "id1/v2/1.wav", "id2/v1/1.flac"):
        path = tmp_path / "audio" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        soundfile.write(path, np.zeros(160, "f4"), 16_000)
    (tmp_path / "audio" / "README.txt").write_text("no recording")
    (tmp_path / "audio" / ".DS_Store").write_text("")
    return tmp_path / "audio"


def rows(source, *columns):
    return source.table.select(columns).rows()


def test_a_folder_in_the_layout_of_voxceleb_tells_speaker_and_recording(folder):
    source = read_source(folder)
    assert rows(source, "utterance", "speaker", "recording") == [
        ("id1/v1/1.wav", "id1", "v1"),
        ("id1/v2/1.wav", "id1", "v2"),
        ("id2/v1/1.flac", "id2", "v1"),
    ]
    assert source.passed_over == 1
    assert rows(read_source(f"{folder}/"), "utterance") == rows(source, "utterance")


def test_a_flat_folder_tells_no_speakers(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(160, "f4"), 16_000)
    assert rows(read_source(tmp_path), "utterance", "speaker") == [("a.wav", None)]
    (tmp_path / "s1").mkdir()
    soundfile.write(tmp_path / "s1" / "a.wav", np.zeros(160, "f4"), 16_000)
    assert read_source(tmp_path).table["speaker"].to_list() == [None, None]


def test_where_no_recording_is_told_each_file_is_one(tmp_path):
    for name in ("s1/a.wav", "s1/b.wav"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        soundfile.write(tmp_path / name, np.zeros(160, "f4"), 16_000)
    assert read_source(tmp_path).table["recording"].to_list() == ["s1/a.wav", "s1/b.wav"]
    path = tmp_path / "t.csv"
    path.write_text("utterance,file,start\nu,s1/a.wav,0\nv,s1/a.wav,1\nw,s1/b.wav,0\n")
    recording_ids = read_source(path).table["recording"].to_list()
    assert recording_ids == ["s1/a.wav", "s1/a.wav", "s1/b.wav"]
    path.write_text("utterance,file\nid1/v1/1.wav,s1/a.wav\nid1/v1/2.wav,s1/b.wav\n")
    assert read_source(path).table["recording"].to_list() == [None, None]  # the ids tell


def test_a_column_named_as_an_inner_one_is_refused(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(160, "f4"), 16_000)
    (tmp_path / "t.csv").write_text("utterance,file,_size\nu,a.wav,large\n")
    with pytest.raises(DataError, match=r"column '_size': begins with an underscore"):
        read_source(tmp_path / "t.csv")


def test_links_to_folders_are_followed_and_circles_end(folder, tmp_path):
    (folder / "id3").symlink_to(folder / "id2")
    (folder / "id2" / "back").symlink_to(folder)
    ids = read_source(folder).table["utterance"].to_list()
    assert "id3/v1/1.flac" in ids
    assert len(ids) == len(set(ids)) < 20


def test_a_table_keeps_its_ids_as_text_and_its_other_columns(folder, tmp_path):
    path = tmp_path / "utterances.csv"
    path.write_text(
        "utterance,speaker,file,channel,start,end,device\n"
        "007,id1,audio/id1/v1/1.wav,B,0.5,1.5,phone\n"
        f"008,id2,{folder}/id2/v1/1.flac,,,,headset\n"
    )
    source = read_source(path)
    assert rows(source, "utterance", "channel", "start", "end", "device") == [
        ("007", 2, 0.5, 1.5, "phone"),
        ("008", None, None, None, "headset"),
    ]
    for file in source.table["path"]:
        assert soundfile.info(file).frames == 160


def test_channels_have_words(folder, tmp_path):
    words = ("left", "Right", "MIX", "a", "2", "")
    table = pl.DataFrame({
        "utterance": [str(i) for i in range(6)], "channel": words,
        "file": [str(folder / "id1/v1/1.wav")] * 6,
    })  # fmt: skip
    assert read_source(table).table["channel"].to_list() == [1, 2, 0, 1, 2, None]


def test_columns_of_a_table_are_named_by_their_role(folder, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("talker,clip,speaker\nann,audio/id1/v1/1.wav,x\n")
    source = read_source(path, columns={"file": "clip", "speaker": "Talker"})
    assert rows(source, "file", "speaker") == [("audio/id1/v1/1.wav", "ann")]
    assert (source.speaker_by, source.speakers) == ("column 'talker'", {"ann": 1})
    with pytest.raises(
        ConfigError, match=r"'talk' is not a column of t.csv; did you mean 'talker'\?"
    ):
        read_source(path, columns={"file": "clip", "speaker": "talk"})
    with pytest.raises(ConfigError, match=r"columns talker: is not a role of a recording; choose"):
        read_source(path, columns={"talker": "talker"})


def test_a_folder_of_the_path_is_the_speaker_that_is_asked_for(folder):
    source = read_source(folder, columns={"speaker": "2"})
    assert rows(source, "speaker", "recording") == [
        ("v1", "id1/v1/1.wav"), ("v2", "id1/v2/1.wav"), ("v1", "id2/v1/1.flac"),
    ]  # fmt: skip
    assert source.speaker_by == "the second folder of the path"
    source_table = read_source(folder, columns={"speaker": "2", "recording": "1"}).table
    assert source_table["recording"].to_list() == ["id1", "id1", "id2"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"speaker": "3"},
            "columns={'speaker': '3'}: every path has folders 1 to 2; give one",
        ),
        ({"speaker": "sex"}, "columns={'speaker': 'sex'}: every path has"),
        ({"file": "1"}, "columns={'file': '1'}: folders can name only speaker and recording"),
    ],
)
def test_a_folder_that_is_not_there_is_no_speaker(folder, columns, message):
    with pytest.raises(ConfigError) as raised:
        read_source(folder, columns=columns)
    assert message in str(raised.value)


def test_kaldi_lists_have_no_columns_and_flat_folders_no_folders(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(160, "f4"), 16_000)
    with pytest.raises(ConfigError, match=r"'1'}: not every file lies in a folder; give a t"):
        read_source(tmp_path, columns={"speaker": "1"})
    (tmp_path / "wav.scp").write_text(f"u {tmp_path}/a.wav\n")
    with pytest.raises(ConfigError, match=r"has no columns; leave columns out"):
        read_source(tmp_path, columns={"speaker": "1"})


def test_a_dataframe_is_a_table(folder):
    files = [str(folder / "id1/v1/1.wav")]
    source = read_source(pl.DataFrame({"utterance": ["u"], "file": files}))
    assert rows(source, "utterance", "path") == [("u", files[0])]


def test_a_kaldi_folder_with_segments_and_speakers(folder, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "wav.scp").write_text(
        f"rec1 {folder}/id1/v1/1.wav\nrec2 sph2pipe -f wav -p -c 2 {folder}/id2/v1/1.flac |\n"
    )
    assert rows(read_source(data), "utterance", "recording", "channel") == [
        ("rec1", "rec1", None),
        ("rec2", "rec2", 2),
    ]
    (data / "segments").write_text("u1 rec1 0.0 1.25\nu2 rec1 1.25 -1\nu3 rec2 3 4\n")
    (data / "utt2spk").write_text("u1 s1\nu2 s1\nu3 s2\n")
    source = read_source(data / "wav.scp")
    assert rows(source, "utterance", "speaker", "recording", "channel", "start", "end") == [
        ("u1", "s1", "rec1", None, 0.0, 1.25),
        ("u2", "s1", "rec1", None, 1.25, None),
        ("u3", "s2", "rec2", 2, 3.0, 4.0),
    ]


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("sph2pipe -f wav -p -c 1 a.sph |", ("a.sph", 1)),
        ("/opt/kaldi/tools/sph2pipe -f rif -p 'my calls/a.sph' |", ("my calls/a.sph", None)),
        ("sox a.mp3 -t wav - |", ("a.mp3", None)),
        ("sox -t wav a.wav -t wav -b 16 -e signed-integer - |", ("a.wav", None)),
        ("ffmpeg -v 8 -i a.m4a -f wav -acodec pcm_s16le - |", ("a.m4a", None)),
        ("ffmpeg -hide_banner -loglevel quiet -i a.wav -f wav pipe:1 |", ("a.wav", None)),
        ("flac -c -d -s a.flac |", ("a.flac", None)),
    ],
)
def test_pipes_that_unpack_a_file_are_that_file(command, file):
    assert piped_file(command) == file


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("sox a.wav -r 8000 -t wav - |", "sox is given '-r'"),
        ("sox -t raw a.wav -t wav - |", "sox is given '-t raw'"),
        ("ffmpeg -i a.wav -i b.wav -f wav - |", "ffmpeg is given '-i' twice"),
        (" |", "it contains no command"),
        ("sox a.wav b.wav -t wav - |", "sox reads 2 files"),
        ("sox a.wav -t wav b.wav |", "sox does not write to the pipe"),
        ("ffmpeg -i a.wav -ar 8000 -f wav - |", "ffmpeg is given '-ar'"),
        ("ffmpeg -i a.wav -f mp3 - |", "ffmpeg is given '-f mp3'"),
        ("sph2pipe -f wav -p -c 1 a.sph | sox - -t wav - |", "it contains '|'"),
        ("cat a.wav; rm -rf / |", "it contains ';'"),
        ("cat $(echo a) |", "it contains '$'"),
        ("wav-reverberate a.wav - |", "it runs wav-reverberate"),
        ("sph2pipe -t 1:2 a.sph |", "sph2pipe is given '-t'"),
    ],
)
def test_other_pipes_are_refused_with_the_reason(command, reason):
    with pytest.raises(ValueError, match=r".") as error_info:
        piped_file(command)
    assert reason in str(error_info.value)


def test_no_pipe_is_run(tmp_path):
    (tmp_path / "wav.scp").write_text(f"u sox {tmp_path}/a.wav -t wav - > {tmp_path}/ran |\n")
    with pytest.raises(
        DataError, match=r"wav.scp: line 1: its pipe does more than unpack .*contains '>'"
    ):
        read_source(tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("utterance,file\nu,nosuch.wav\nv,no.wav\n", "2 of 2 files are missing, the first is"),
        ("utterance,file\nu,a.wav\nu,a.wav\n", "utterance 'u' occurs twice; give each"),
        (
            "utterance,file,channel\nu,a.wav,up\n",
            "row 2, column 'channel': 'up' is not a channel; g",
        ),
        ("utterance,file,channel\nu,a.wav,0\n", "'0' is not a channel"),
        (
            "utterance,file,start\nu,a.wav,-1\n",
            "row 2, column 'start': '-1' is not a number of sec",
        ),
        ("utterance,file,start,end\nu,a.wav,3,2\n", "row 2: end 2 is not after start 3"),
        ("utterance,file,end\nu,a.wav,0\n", "row 2: end 0 is not after its beginning"),
        ("utterance,file\nu,\n", "row 2, column 'file': is empty"),
        ("utterance,speaker\nu,s\n", "has no column 'file'"),
    ],
)
def test_a_table_that_cannot_be_is_one_sentence(tmp_path, text, message):
    soundfile.write(tmp_path / "a.wav", np.zeros(160, "f4"), 16_000)
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError) as raised:
        read_source(tmp_path / "t.csv")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"wav.scp": "u\n"}, "wav.scp: line 1: has fewer than 2 fields"),
        ({"wav.scp": "u a.wav\nu a.wav\n"}, "wav.scp: line 2: recording 'u' occurs twice"),
        ({"wav.scp": "u a.wav\n", "segments": "s w 0 1\n"}, "segments: line 1: recording 'w' is n"),
        ({"wav.scp": "u a.wav\n", "segments": "s u 0 x\n"}, "segments: line 1: '0' and 'x' are no"),
        ({"wav.scp": "u a.wav\n", "utt2spk": "x s\n"}, "utt2spk: has no line for 'u'"),
        ({"wav.scp": "u b.wav\n"}, "1 of 1 files are missing"),
        ({}, "contains no recording"),
    ],
)
def test_a_kaldi_folder_that_cannot_be_is_one_sentence(tmp_path, files, message):
    (tmp_path / "data").mkdir()
    if files:
        soundfile.write(tmp_path / "data" / "a.wav", np.zeros(160, "f4"), 16_000)
    for name, text in files.items():
        (tmp_path / "data" / name).write_text(text)
    with pytest.raises(DataError) as raised:
        read_source(tmp_path / "data")
    assert message in str(raised.value)


def test_manifests_of_nemo_and_lhotse_name_recordings_and_excerpts(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros((16_000, 2), "f4"), 8_000)
    path = f"{tmp_path}/a.wav"
    nemo = {"audio_filepath": path, "offset": 0.5, "duration": 1.0, "label": "s1"}
    supervision = {"id": "u-1", "recording_id": "r", "start": 0, "duration": 1.0, "channel": 1}
    recording = {"id": "r", "sources": [{"type": "file", "channels": [0, 1], "source": path}]}
    cut = {
        "id": "u",
        "start": 0.5,
        "duration": 1.0,
        "channel": 1,
        "type": "MonoCut",
        "supervisions": [{**supervision, "speaker": "s1"}],
        "recording": recording,
    }
    columns = ("utterance", "speaker", "channel", "start", "end", "path")
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps(nemo) + "\n")
    assert rows(read_source(manifest), *columns) == [(path, "s1", None, 0.5, 1.5, path)]
    manifest.write_text(json.dumps(cut) + "\n")
    assert rows(read_source(manifest), *columns) == [("u", "s1", 2, 0.5, 1.5, path)]
    manifest.write_text(json.dumps(recording) + "\n")
    assert rows(read_source(manifest), *columns) == [("r", None, None, None, None, path)]
