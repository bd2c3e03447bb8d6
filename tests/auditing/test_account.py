"""How many recordings the audited trials are of."""

import parivox as pv
from parivox.report.facts import noted, recordings_told
from parivox.tables import store

OPTIONS = {"by": "gender", "intervals": False}
NAME = {"system": "S", "list": ""}


def counted(audit):
    rows = [r for r in audit.data.where(source="scores").rows() if not r["grouping"]]
    return {r["item"]: r["count"] for r in rows if r["item"] in {"models", "recordings"}}


def test_recordings_of_both_sides_are_counted_once(trials, speakers):
    audit = pv.audit({"S": trials}, speakers=speakers, **OPTIONS)
    n = len({*trials["enrol"], *trials["test"]})
    assert counted(audit) == {"recordings": n}
    assert recordings_told(audit, NAME) == f"{n} recordings"
    assert not any("recordings" in words for words in noted(audit, NAME))


def test_recordings_of_what_is_left_out_are_not_counted(trials, speakers):
    """A trial without score, and one that contradicts its speakers."""
    ends = [f"{speakers['id'][0]}/{name}.wav" for name in ("no", "score", "wrong", "label")]
    more = {"enrol": ends[::2], "test": ends[1::2], "score": [None, 1.0], "label": [1, 0]}
    spoilt = {key: [*cells, *more[key]] for key, cells in trials.items()}
    found = pv.audit({"S": spoilt}, speakers=speakers, conflicts="set-aside", **OPTIONS)
    assert counted(found) == counted(pv.audit({"S": trials}, speakers=speakers, **OPTIONS))


def test_models_are_counted_apart(trials, speakers):
    """The model of a speaker is of all that are on the first side."""
    owner = [name.split("/")[0] for name in trials["enrol"]]
    rows = sorted(set(zip(owner, trials["enrol"], strict=True)))
    models = {
        "model": [f"m-{who}" for who, _ in rows],
        "speaker": [who for who, _ in rows],
        "recording": [name for _, name in rows],
    }
    by_pair = dict(zip(zip(owner, trials["test"], strict=True), trials["score"], strict=True))
    scores = {
        "enrol": [f"m-{who}" for who, _ in by_pair],
        "test": [test for _, test in by_pair],
        "score": list(by_pair.values()),
    }
    audit = pv.audit({"S": scores}, speakers=speakers, models=models, **OPTIONS)
    wanted = {"models": len(set(owner)), "recordings": len(set(trials["test"]))}
    assert counted(audit) == wanted
    told = f"{wanted['models']} models and {wanted['recordings']} test recordings"
    assert recordings_told(audit, NAME) == told


def test_lists_too_large_for_memory_tell_too(trials, speakers, monkeypatch):
    in_memory = pv.audit({"S": trials}, speakers=speakers, **OPTIONS)
    monkeypatch.setattr(store, "IN_MEMORY_TRIALS", 1000)
    monkeypatch.setattr(store, "PART_TRIALS", 900)
    assert counted(pv.audit({"S": trials}, speakers=speakers, **OPTIONS)) == counted(in_memory)
