"""No id of a speaker or recording is in what an audit writes or prints, unless it is asked for."""

from __future__ import annotations

import pytest

MARK = "zqx"
ODD_PAIRS = [
    (f"{MARK}1//a.wav", f"{MARK}1/a.wav"),  # slashes
    (f"{MARK}2/b.wav", f"{MARK}2/B.wav"),  # case
    (f"{MARK}3/c.wav", f"{MARK}3/c.flac"),  # endings
    (f"{MARK}4/d.wav", f"{MARK}4/d\u200b.wav"),  # characters that no reader sees
    (f"{MARK}5/\u0430.wav", f"{MARK}5/a.wav"),  # a Cyrillic letter
]


@pytest.fixture
def odd_files(tmp_path):
    """Scores whose ids give rise to every warning about ids, and their speakers."""
    speakers = [f"{MARK}{number}" for number in range(1, 9)]
    recordings = {
        speaker: [f"{speaker}/r{number}.wav" for number in range(3)] for speaker in speakers
    }
    for number, pair in enumerate(ODD_PAIRS):
        recordings[speakers[number]] += pair
    rows = ["enrol,test,score,label"]
    for i, speaker in enumerate(speakers):
        first, *others = recordings[speaker]
        rows += [f"{first},{other},{0.5 + j / 10 + i / 100},1" for j, other in enumerate(others)]
        for j, other_speaker in enumerate(speakers):
            if other_speaker != speaker:
                score = 0.3 + (i * 7 + j * 3) % 10 / 30
                rows.append(f"{first},{recordings[other_speaker][1]},{score},0")
    rows += [
        f"{MARK}1/r0.wav,{MARK}1/r0.wav,1.0,1",  # a trial of one recording with itself
        f"{MARK}1/r0.wav,{MARK}1/r1.wav,0.9,0",  # a label that contradicts another row
        f"{MARK}2/r0.wav,{MARK}2/r1.wav,0.2,1",  # a pair with two scores
    ]
    (tmp_path / "scores.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    table = ["speaker,gender", *(f"{name},{'fm'[i % 2]}" for i, name in enumerate(speakers))]
    table += [f"{MARK}07,f", f"{MARK.upper()}7,m"]  # who may be a speaker under another spelling
    (tmp_path / "speakers.csv").write_text("\n".join(table) + "\n", encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_an_audit_of_odd_ids_quotes_none(parivox, odd_files):
    paths = {name: odd_files / name for name in ("scores.csv", "speakers.csv", "out", "r.html")}
    done = parivox(
        "audit", paths["scores.csv"], "--speakers", paths["speakers.csv"], "--by", "gender",
        "--conflicts", "exclude", "--verbose", "--out", paths["out"], "--report", paths["r.html"],
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    data_rows = (paths["out"] / "data.csv").read_text(encoding="utf-8")
    for code in ("slashes", "case", "endings", "similar_characters"):
        assert code in data_rows
    notes = parivox("show", paths["out"], "--notes")
    assert "parivox inspect" in notes.stdout
    written = [path for path in paths["out"].iterdir() if path.name != "private.json"]
    texts = {path.name: path.read_bytes().decode("utf-8", "replace") for path in written}
    texts |= {"page": paths["r.html"].read_text(encoding="utf-8")}
    texts |= {"printed": done.stdout + done.stderr, "notes": notes.stdout}
    assert {name for name, text in texts.items() if MARK in text.lower()} == set()
