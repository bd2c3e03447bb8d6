"""Any bytes give trials or one sentence, never another exception or a hang."""

import gzip
import io

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parivox.data.counts_file import holds_counts
from parivox.data.formats import FORMATS
from parivox.data.recordings import read_utterances
from parivox.data.speakers import read_speakers
from parivox.data.trials import read_trials
from parivox.errors import DataError, ParivoxError

pytestmark = [
    pytest.mark.minimal,
    pytest.mark.filterwarnings("ignore::parivox.errors.EncodingGuessed"),
]

FUZZ = settings(
    deadline=5000,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

_FRAME = pl.DataFrame({"enrol": ["a/1", "b/1"], "test": ["a/2", "a/1"], "score": [1.0, 0.5]})
_PARQUET, _ARROW, _STREAM = io.BytesIO(), io.BytesIO(), io.BytesIO()
_FRAME.write_parquet(_PARQUET)
_FRAME.write_ipc(_ARROW)
_FRAME.write_ipc_stream(_STREAM)
SEEDS = [
    b"enrol,test,score,label\na/1,a/2,0.5,1\nb/1,a/1,0.1,0\n",
    b"1 a/1 a/2 0.5\n0 b/1 a/1 0.1\n",
    b"a/1 a/2 0.5\nb/1 a/1 0.1\n",
    gzip.compress(b"a/1 a/2 target\nb/1 a/1 nontarget\n"),
    b"a/1 a/2 0.51230 target\nb/1 a/1 -0.10000 nontarget\n",
    b"a/1 a/2 1 0.512300\nb/1 a/1 0 -0.100000\n",
    b"a a a/2 0.5123\na b b/1 -0.25\nb b b/1 0.75\n",
    b"a a/1 a a/2 0.5123\na a/1 b b/1 -0.25\nb b/2 b b/1 0.75\n",
    b"probe_template_id,probe_subject_id,bio_ref_id,bio_ref_subject_id,score\r\na/2,a,a/1,a,0.51\r\n",
    b"modelid\tsegmentid\tside\tLLR\na/1\ta/2\ta\t0.5123\na/1\tb/1\tb\t-0.25\n",
    b"model,segment,side,targettype\na/1,a/2,a,target\na/1,b/1,b,nontarget\n",
    b"a/1 a/2 a 0.5123\na/1 b/1 B -0.25\n",
    b"a/1 a/2 a target\na/1 b/1 b nontarget\n",
    _PARQUET.getvalue(),
    _ARROW.getvalue(),
    _STREAM.getvalue(),
]
cells = st.sampled_from(
    [
        "a",
        "b",
        "a/1",
        "b/2",
        "0",
        "1",
        "target",
        "nan",
        "inf",
        "",
        " ",
        "-1",
        "0.5",
        '"',
        "'",
        "x",
        "\x00",
        "é",
    ]
)
texts = st.builds(
    lambda rows, sep, end, head: (head + end.join(sep.join(row) for row in rows)).encode(),
    st.lists(st.lists(cells, max_size=6), max_size=6),
    st.sampled_from([",", " ", "\t", ";", "|", "  "]),
    st.sampled_from(["\n", "\r\n", "\r", "\n\n"]),
    st.sampled_from(
        [
            "", "enrol,test,score\n", "enrol\ttest\tscore\tlabel\n", "\ufeff", "id,sex\n",
            "modelid,segmentid,side,LLR\n", "probe_id,probe_subject,bio_ref_id,score\n",
        ]
    ),
)  # fmt: skip


@st.composite
def damaged(draw):
    """A good file with some bytes changed, lost or added."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 4))):
        position = draw(st.integers(0, max(len(data) - 1, 0)))
        cut = draw(st.integers(0, 8))
        data[position : position + cut] = draw(st.binary(max_size=8))
    return bytes(data)


contents = st.one_of(st.binary(max_size=200), texts, damaged())


@pytest.fixture
def fuzzed(tmp_path):
    path = tmp_path / "fuzz"

    def run(data, job):
        path.write_bytes(data)
        try:
            job(path)
        except ParivoxError as error:
            message = str(error)
        else:
            return
        assert message
        assert "\n" not in message

    return run


@pytest.mark.slow
@FUZZ
@given(data=contents, format_name=st.sampled_from([None, *FORMATS]))
def test_trials(fuzzed, data, format_name):
    speakers = read_speakers({"id": ["a", "b"], "sex": ["f", "m"]})

    def job(path):
        read_trials(path, system="s", list_="", speakers=speakers, format=format_name)
        read_trials(path, system="s", list_="", speakers=speakers, conflicts="exclude")

    fuzzed(data, job)


@pytest.mark.slow
@FUZZ
@given(scores=contents, listed=contents)
def test_scores_and_their_trials(fuzzed, scores, listed, tmp_path):
    speakers = read_speakers({"id": ["a", "b"], "sex": ["f", "m"]})
    (tmp_path / "listed").write_bytes(listed)

    def job(path):
        read_trials(path, system="s", list_="", speakers=speakers, trials=tmp_path / "listed")

    fuzzed(scores, job)


@pytest.mark.slow
@FUZZ
@given(data=contents)
def test_speakers(fuzzed, data):
    fuzzed(data, lambda path: read_speakers(path).ids)


@pytest.mark.slow
@FUZZ
@given(data=contents)
def test_utterances(fuzzed, data):
    fuzzed(data, read_utterances)


@pytest.mark.slow
def test_damaged_metadata_of_parquet_leave_nothing_on_standard_error(tmp_path, capfd):
    content = _PARQUET.getvalue()
    footer = int.from_bytes(content[-8:-4], "little") + 8
    path = tmp_path / "x.parquet"
    for position in range(len(content) - footer, len(content)):
        for byte in (0, 0x15, 0xFF):
            path.write_bytes(content[:position] + bytes([byte]) + content[position + 1 :])
            holds_counts(path)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf", b"\xef\xbb\xbf\n \n", b"\n\n"])
@pytest.mark.parametrize("format_name", ["jsonl", "delimited"])
def test_files_of_a_byte_order_mark_or_blank_lines_alone(tmp_path, content, format_name):
    (tmp_path / "blank").write_bytes(content)
    with pytest.raises(DataError, match="contains blank lines only"):
        read_trials(tmp_path / "blank", system="s", list_="", speakers=None, format=format_name)
