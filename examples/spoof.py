"""The lists of docs/tutorials/spoof.md: spoof trials of a challenge, of two scores, and of calls.

    python examples/spoof.py FOLDER

Writes made-up scores and decisions; the voices and people do not exist.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import parivox as pv

N_SPEAKERS = 40
ATTACKS = {"A07": -1.0, "A08": -1.8, "A10": -0.4, "A13": -0.2, "A17": 0.2, "A19": -0.7}
"""Mean scores of attacks, of which those of target trials are 2.5."""
N_CUSTOMERS = 120
CALL_ATTACKS = {"clone-A": 0.13, "clone-B": 0.2, "replay": 0.05}
"""Shares of calls that are accepted, of customers under 40."""


def write(folder: Path) -> None:
    """Write the three lists."""
    folder.mkdir(parents=True, exist_ok=True)
    draw = random.Random(11)  # noqa: S311 - made-up scores, not secrets
    for name, lines in {**challenge(draw), **submission(draw), **bank(draw)}.items():
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def claims(n_target: int, n_nontarget: int, n_spoof: int) -> list[tuple[int, str, int, str]]:
    """Return the claimed speaker, the label, the caller and the attack of each trial."""
    trials = []
    attacks = list(ATTACKS)
    for speaker in range(N_SPEAKERS):
        trials += [(speaker, "target", speaker, "")] * n_target
        for k in range(n_nontarget):
            other = (speaker + 2 + 2 * k) % N_SPEAKERS  # of the same gender
            trials.append((speaker, "nontarget", other, ""))
        trials += [(speaker, "spoof", speaker, attacks[k % 6]) for k in range(n_spoof)]
    return trials


def challenge(draw: random.Random) -> dict[str, list[str]]:
    """Return scores as systems of SASV write them, their protocol, and tables."""
    scores, protocol, utterances = [], [], ["utterance,speaker"]
    kinds = [draw.gauss(0, 0.4) for _ in range(N_SPEAKERS)]
    for i, (speaker, label, caller, attack) in enumerate(claims(16, 18, 36)):
        mean = {"target": 2.5, "nontarget": -1.5}.get(label) or ATTACKS[attack]
        if label == "spoof" and speaker % 2 == 0:
            mean += 0.35
        score = draw.gauss(mean + kinds[speaker], 0.8)
        scores.append(f"LA_{speaker:04} L_{i:05} {score:.3f} {label}")
        protocol.append(f"LA_{speaker:04} L_{i:05} {attack or 'bonafide'} {label}")
        utterances.append(f"L_{i:05},LA_{caller:04}")
    people = ["speaker,gender", *(f"LA_{i:04},{'fm'[i % 2]}" for i in range(N_SPEAKERS))]
    return {
        "scores.txt": scores,
        "protocol.txt": protocol,
        "utterances.csv": utterances,
        "speakers.csv": people,
    }


def submission(draw: random.Random) -> dict[str, list[str]]:
    """Return a submission to ASVspoof 5: three scores, trials, and recordings."""
    scores, trials, recordings = ["spk\tfilename\tcm-score\tasv-score\tsasv-score"], [], []
    for i, (speaker, label, caller, attack) in enumerate(claims(12, 14, 30)):
        gender, file = "FM"[speaker % 2], f"E_{i:05}"
        cm = draw.gauss(-1.2 if attack else 2.2, 1.1)
        asv = draw.gauss(-1.5 if label == "nontarget" else 2.4 - bool(attack), 0.9)
        both = min(cm + 1, asv)
        scores.append(f"E_{speaker:04}\t{file}\t{cm:.3f}\t{asv:.3f}\t{both:.3f}")
        trials.append(f"E_{speaker:04} {file} {gender} {attack or 'bonafide'} {label}")
        key = "spoof" if attack else "bonafide"
        recordings.append(f"E_{caller:04} {file} {gender} - - - - {attack or key} {key} -")
    return {"score.tsv": scores, "trial.tsv": trials, "track_1.tsv": recordings}


def bank(draw: random.Random) -> dict[str, list[str]]:
    """Return a log of test calls with decisions, and the customers."""
    calls = ["call_id,claimed_customer,caller,kind,attack,decision"]
    customers = ["customer,age_band"]
    for i in range(N_CUSTOMERS):
        is_old = i % 3 == 0
        customers.append(f"{i:05},{'60 and over' if is_old else 'under 40'}")
        rows = [("genuine", f"{i:05}", "", 0.91 if is_old else 0.95)] * 8
        rows += [("impostor", f"{(i + 3) % N_CUSTOMERS:05}", "", 0.01)] * 3
        for attack, share in CALL_ATTACKS.items():
            rows += [("spoof", "", attack, 2.2 * share if is_old else share)] * 2
        for kind, caller, attack, share in rows:
            decision = "accept" if draw.random() < share else "reject"
            calls.append(f"{10_000 + len(calls)},{i:05},{caller},{kind},{attack},{decision}")
    return {"calls.csv": calls, "customers.csv": customers}


def main() -> None:
    """Write the lists, and check that they have spoof trials."""
    if len(sys.argv) > 1:
        write(Path(sys.argv[1]))
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        write(folder)
        files = folder / "calls.csv", folder / "customers.csv"
        audit = pv.audit(*files, by="age_band", intervals=False)
        assert audit.record["attacks"] == sorted(CALL_ATTACKS)


if __name__ == "__main__":
    main()
