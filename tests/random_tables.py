"""Random files of one evaluation: scores or calls, trial lists, people, recordings, models."""

from __future__ import annotations

import random

SEPARATORS = (",", ";", "\t", "|", " ")
LABEL_WORDS = (("1", "0"), ("target", "nontarget"), ("tgt", "imp"), ("yes", "no"), ("t", "f"))
DECISION_WORDS = (
    ("accept", "reject"), ("accepted", "rejected"), ("pass", "fail"), ("1", "0"), ("A", "R"),
    ("ja", "nein"),
)  # fmt: skip
ENROL_NAMES = ("enrol", "Enrol_File", "reference", "model", "left", "u", "file1", "speaker", "a")
TEST_NAMES = ("test", "probe", "segment", "right", "v", "file2", "recording", "b")
SCORE_NAMES = ("score", "llr", "cosine_score", "sim", "p", "value", "age")
LABEL_NAMES = ("label", "target", "key", "same", "y", "sex", "type")
SPEAKER_NAMES = ("speaker", "spk_id", "id", "customer", "Sprecher", "name", "nr", "code", "")
UTTERANCE_NAMES = ("utterance", "file", "path", "segment", "id", "call", "Aufnahme", "test")
CALL_NAMES = ("call_id", "call", "attempt", "session", "Anruf", "time", "nr")
CUSTOMER_NAMES = ("customer", "caller", "user_id", "Kunde", "speaker", "account")
CLAIM_NAMES = ("claimed_customer", "claimed", "profile", "behauptet", "enrolled_speaker")
DECISION_NAMES = ("decision", "accepted", "result", "Ergebnis", "ok", "label")
ATTRIBUTES = {
    "sex": ("f", "m"),
    "gender": ("female", "male"),
    "language": ("de", "fr", "it"),
    "accent": ("y", "n"),
    "device": ("a", "b"),
    "group": ("1", "0"),
    "score": ("0.5", "0.25", "0.75"),
    "label": ("t", "f"),
    "age": tuple(map(str, range(20, 70))),
    "town": tuple(f"town {n}" for n in range(12)),
}
ID_FORMS = ("s{:02d}", "{:03d}", "id1000{}", "p{}", "{}", "Anna{}")
UTTERANCE_FORMS = (
    "{s}/{k}.wav", "{s}/{k}", "{s}/v/{k}", "{s}/v/{k}.flac", "{s}-{k}", "u{n}", "{n:04d}",
    "wav/{s}/{k}",
)  # fmt: skip


class Draw(random.Random):
    """Random choices of one case."""

    def chance(self, share):
        return self.random() < share

    def header(self, *pools):
        """Return a name of each pool, no two alike; mostly the first of a pool."""
        names = []
        for pool in pools:
            free = [name for name in pool if name not in names]
            names.append(free[0] if free and self.chance(0.5) else self.choice(free or ["x"]))
        return names


def table_text(draw, header, rows, separator):
    """Return a table as text; a cell that holds the separator is quoted, or loses its blanks."""

    def line(cells):
        cells = [str(cell) for cell in cells]
        if separator == " ":
            return " ".join(cell.replace(" ", "_") or "-" for cell in cells)
        return separator.join(f'"{cell}"' if separator in cell else cell for cell in cells)

    lines = [line(header)] if header else []
    return "\n".join([*lines, *map(line, rows)]) + "\n"


def random_files(seed):
    """Return the texts of the files of one case, by name."""
    draw = Draw(seed)
    n_speakers, n_recordings = draw.randint(3, 14), draw.randint(2, 5)
    id_form, utterance_form = draw.choice(ID_FORMS), draw.choice(UTTERANCE_FORMS)
    speakers = [id_form.format(n) for n in range(n_speakers)]
    recordings = {
        utterance_form.format(s=speaker, k=k, n=number * n_recordings + k): speaker
        for number, speaker in enumerate(speakers)
        for k in range(n_recordings)
    }
    attributes = draw.sample(sorted(ATTRIBUTES), draw.randint(0, 3))
    people = [[s, *(draw.choice(ATTRIBUTES[name]) for name in attributes)] for s in speakers]
    files = {}
    if draw.chance(0.25):
        files["calls.csv"] = call_log(draw, people, attributes)
    else:
        files |= scores_and_list(draw, recordings)
    if draw.chance(0.75):
        files["people.csv"] = people_table(draw, people, attributes)
    if draw.chance(0.35) or utterance_form[:2] in {"u{", "{n"}:
        files["recordings.csv"] = recordings_table(draw, recordings)
    if draw.chance(0.1):
        files["models.csv"] = models_table(draw, recordings)
    if draw.chance(0.1):
        files["failures.csv"] = failures_table(draw, recordings)
    return files


def scores_and_list(draw, recordings):
    """Return scores, perhaps with labels or decisions, and perhaps a list of the same trials."""
    ids = list(recordings)
    pairs = {tuple(draw.sample(ids, 2)) for _ in range(draw.randint(8, 60))}
    pairs |= {
        (one, other)
        for one in ids[:20]
        for other in ids
        if one != other and recordings[one] == recordings[other] and draw.chance(0.3)
    }
    pairs = sorted(pairs)
    draw.shuffle(pairs)
    labels = [int(recordings[enrol] == recordings[test]) for enrol, test in pairs]
    scores = [round(draw.gauss(2 * label, 1), 3) for label in labels]
    separator, words = draw.choice(SEPARATORS), draw.choice(LABEL_WORDS)
    accept, reject = draw.choice(DECISION_WORDS)
    label_cells = [words[0] if label else words[1] for label in labels]
    has_decisions, has_labels = draw.chance(0.15), draw.chance(0.6)
    has_scores = not has_decisions or draw.chance(0.5)
    columns = [[enrol for enrol, _ in pairs], [test for _, test in pairs]]
    header = draw.header(ENROL_NAMES, TEST_NAMES)
    if has_scores:
        columns.append(scores)
        header += draw.header(SCORE_NAMES)
    if has_decisions:
        columns.append([accept if score > 1 else reject for score in scores])
        header += draw.header(DECISION_NAMES)
    if has_labels:
        columns.append(label_cells)
        header += draw.header(LABEL_NAMES)
    if draw.chance(0.2):
        name = draw.choice(sorted(ATTRIBUTES))
        columns.append([draw.choice(ATTRIBUTES[name]) for _ in pairs])
        header.append(name)
    if len(set(header)) < len(header):
        header = [f"{name}{'' if header.index(name) == n else n}" for n, name in enumerate(header)]
    if draw.chance(0.12):  # a fault
        column = draw.randrange(len(columns))
        columns[column] = list(columns[column])
        columns[column][draw.randrange(len(pairs))] = draw.choice(("", "what", "nan"))
    is_named = draw.chance(0.7)
    rows = list(zip(*columns, strict=True))
    if draw.chance(0.1):
        rows.append(draw.choice(rows))
    files = {"scores.txt": table_text(draw, header if is_named else [], rows, separator)}
    if draw.chance(0.3):
        listed = [(*pair, label) for pair, label in zip(pairs, label_cells, strict=True)]
        listed = listed[: draw.randint(1, len(listed))]
        if draw.chance(0.4):
            listed = [(label, enrol, test) for enrol, test, label in listed]
            files["list.txt"] = table_text(draw, [], listed, " ")
        else:
            names = draw.header(ENROL_NAMES, TEST_NAMES, LABEL_NAMES)
            named = names if draw.chance(0.6) else []
            files["list.txt"] = table_text(draw, named, listed, draw.choice(SEPARATORS))
    return files


def call_log(draw, people, attributes):
    """Return a log with a row a call."""
    accept, reject = draw.choice(DECISION_WORDS)
    has_claims, has_scores, has_labels = draw.chance(0.5), draw.chance(0.4), draw.chance(0.2)
    has_decisions = not has_scores or draw.chance(0.4)
    pools = [CALL_NAMES, CUSTOMER_NAMES]
    pools += [CLAIM_NAMES] * has_claims + [SCORE_NAMES] * has_scores
    pools += [DECISION_NAMES] * has_decisions + [LABEL_NAMES] * has_labels
    names = draw.header(*pools)
    rows = []
    for number in range(draw.randint(20, 120)):
        caller = draw.choice(people)
        claimed = draw.choice(people) if has_claims and draw.chance(0.4) else caller
        score = round(draw.gauss(2 if claimed is caller else 0, 1), 3)
        row = [f"c{number}" if len(people) % 2 else number, caller[0]]
        row += [claimed[0]] * has_claims + [score] * has_scores
        row += [accept if score > 1 else reject] * has_decisions
        row += [int(claimed is caller)] * has_labels
        rows.append([*row, *caller[1:]])
    if has_decisions and draw.chance(0.2):
        position = 2 + has_claims + has_scores
        rows[draw.randrange(len(rows))][position] = draw.choice(("too short", "", "noise"))
    header = [*names, *(name for name in attributes)]
    if len(set(header)) < len(header):
        header = [f"{name}{'' if header.index(name) == n else n}" for n, name in enumerate(header)]
    return table_text(draw, header, rows, draw.choice(SEPARATORS[:4]))


def people_table(draw, people, attributes):
    """Return a table of people, or one of the columns of another kind."""
    rows = [list(person) for person in people]
    header = [*draw.header([name for name in SPEAKER_NAMES if name not in attributes]), *attributes]
    if draw.chance(0.1) and len(rows) > 3:
        rows.pop()
    if draw.chance(0.1):
        rows.append([rows[0][0], *(draw.choice(ATTRIBUTES[name]) for name in attributes)])
    if draw.chance(0.2):
        header = ["no", *header]
        rows = [[number, *row] for number, row in enumerate(rows)]
    is_named = draw.chance(0.92) or not attributes
    return table_text(draw, header if is_named else [], rows, draw.choice(SEPARATORS[:4]))


def recordings_table(draw, recordings):
    """Return a table of recordings, mostly with their speakers."""
    has_speakers = draw.chance(0.85)
    pools = [UTTERANCE_NAMES, SPEAKER_NAMES[:8]] if has_speakers else [UTTERANCE_NAMES]
    name = draw.choice(("channel", "device", "language", "sentence"))
    values = ATTRIBUTES.get(name, ("phone", "app")) if name != "sentence" else None
    rows = []
    for number, (recording, speaker) in enumerate(recordings.items()):
        value = draw.choice(values) if values else f"text {number}"
        rows.append([recording, *([speaker] * has_speakers), value])
    if draw.chance(0.1):
        rows.pop()
    return table_text(draw, [*draw.header(*pools), name], rows, draw.choice(SEPARATORS[:4]))


def models_table(draw, recordings):
    """Return models, each with a recording and perhaps its speaker."""
    has_speakers = draw.chance(0.7)
    rows = [
        [recording, *([speaker] * has_speakers), f"{recording}_e"]
        for recording, speaker in recordings.items()
    ]
    pools = [("model", "model_id", "enrolment"), SPEAKER_NAMES[:4], UTTERANCE_NAMES[:6]]
    header = draw.header(*(pools if has_speakers else (pools[0], pools[2])))
    return table_text(draw, header, rows, draw.choice(SEPARATORS[:4]))


def failures_table(draw, recordings):
    """Return recordings that failed, with the stage and perhaps a reason."""
    rows = [
        [recording, draw.choice(("enrol", "acquire")), draw.choice(("noise", "short"))]
        for recording in draw.sample(list(recordings), 3)
    ]
    header = draw.header(("recording", "utterance", "file"), ("stage",), ("reason", "why", "note"))
    return table_text(draw, header, rows, draw.choice(SEPARATORS[:4]))
