"""The frozen audits: each a function of a room, which runs commands there and keeps what they say.

Real scores are those of the demo (the package bt4vt); the rest is made up here, from seeds.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import itertools
import os
import random
import re
import sys
from contextlib import contextmanager
from pathlib import Path

__all__ = ["CASES", "Room"]

ALARM_AFTER = 11
"""The last day of the monitored stream before its alarm."""
FEW = ("--replicates", "50", "--quiet")
REAL = {"V2": "resnetse34v2_H-eval_scores.csv", "L": "resnetse34l_H-eval_scores.csv"}
CASES = {}


def case(function):
    """Register a frozen audit under the name of its function."""
    CASES[function.__name__] = function
    return function


class Room:
    """A folder in which commands run; ``out/`` holds what is compared.

    With `has_computed_inputs`, what is audited was computed here from recordings, so that last
    digits, and with them hashes of files, depend on the processor.
    """

    has_computed_inputs = False

    def __init__(self, folder: Path, n_workers: int | None = None) -> None:
        self.out = folder / "out"
        self.n_workers = n_workers
        self.out.mkdir(parents=True)
        os.chdir(folder)

    def run(self, name: str, *arguments: object, ends: int = 0) -> None:
        """Run a command; what it prints becomes ``out/NAME.txt``. Another end is an error."""
        from parivox.cli import main

        words = [str(argument) for argument in arguments]
        streams, status = (sys.stdout, sys.stderr), 0
        printed, error_output = (
            io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2)
        )
        try:
            sys.stdout, sys.stderr = printed, error_output
            main([*words, *self._processes(words)])
        except SystemExit as end:
            status = end.code
        finally:
            sys.stdout, sys.stderr = streams
        texts = []
        for stream in (printed, error_output):
            stream.flush()
            texts.append(stream.buffer.getvalue().decode().replace(str(Path.cwd()), "FOLDER"))
        if status != ends:
            msg = f"parivox {' '.join(words)} ended with {status}: {texts[1].strip()}"
            raise RuntimeError(msg)
        if "--json" in words:
            (self.out / f"{name}.json").write_text(texts[0], encoding="utf-8")
            texts[0] = f"{name}.json"
        (self.out / f"{name}.txt").write_text(
            f"$ parivox {' '.join(words)}\n{texts[0]}\nstandard error:\n{texts[1]}\n",
            encoding="utf-8",
        )

    def _processes(self, words: list[str]) -> list[str]:
        """The number of processes, of commands that have one."""
        is_shared = self.n_workers is not None and words[0] in {"audit", "demo", "report"}
        return ["--workers", str(self.n_workers)] if is_shared else []

    def audit(self, *arguments: object, name: str = "audit", page: bool = False) -> None:
        """Audit into ``out/NAME``; the summary is ``out/NAME.txt``."""
        more = ("--report", f"out/{name}.html", "--title", name) if page else ()
        self.run(name, "audit", *arguments, "--out", f"out/{name}", *more, *FEW)


# What is audited


def real_data() -> Path:
    """Folder of the package bt4vt's scores."""
    spec = importlib.util.find_spec("bt4vt")
    if spec is None or spec.origin is None:
        sys.exit("the real scores are missing: pip install 'parivox[demo]'")
    return Path(spec.origin).parent / "data"


def real(step: int, *systems: str) -> list[str]:
    """Every so many-th trial of real systems; ``speakers.csv``, the people."""
    people = (real_data() / "vox1_meta.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in people]
    table("speakers.csv", "speaker,gender,nationality", [(r[0], r[2], r[3]) for r in rows[1:]])
    for system in systems or ("V2",):
        lines = (real_data() / REAL[system]).read_text(encoding="utf-8").splitlines(keepends=True)
        Path(f"{system}.csv").write_text("".join([lines[0], *lines[1::step]]), encoding="utf-8")
    return [f"{system}={system}.csv" for system in systems or ("V2",)]


def table(name, header, rows):
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([header.split(","), *rows])


def made_up(seed=1, speakers=48, per_person=4, per_speaker=50, *, llr=False):
    """Made-up scores of two systems, ``A.csv`` and ``B.csv``, with people and recordings."""
    draw = random.Random(seed)
    people = [
        (f"s{i:03d}", "fm"[i % 2], ("north", "south", "west")[i // 2 % 3], 18 + i * 7 % 60)
        for i in range(speakers)
    ]
    utterances = [
        (f"{person[0]}/{n}", person[0], ("phone", "app")[n % 2], draw.choice(("fr", "nl")))
        for person in people
        for n in range(per_person)
    ]
    table("speakers.csv", "speaker,gender,region,age", people)
    table("utterances.csv", "utterance,speaker,channel,language", utterances)
    ease = {person[0]: draw.gauss(2.2 if person[1] == "m" else 1.8, 0.5) for person in people}
    pairs = []
    for number, person in enumerate(people):
        own_utterances = utterances[number * per_person : (number + 1) * per_person]
        pairs += [(enrol, test, 1) for enrol, test in itertools.combinations(own_utterances, 2)]
        for _ in range(per_speaker):
            test = draw.choice(utterances)
            if test[1] != person[0]:
                pairs.append((draw.choice(own_utterances), test, 0))
    pairs = list(
        {(enrol[0], test[0]): (enrol, test, label) for enrol, test, label in pairs}.values()
    )
    for system, noise in (("A", 0.9), ("B", 1.2)):
        rows = []
        for enrol, test, label in pairs:
            mean = ease[enrol[1]] if label else -1.5
            if not label and enrol[2] == test[2]:
                mean += 0.4
            score = draw.gauss(mean, noise)
            rows.append((enrol[0], test[0], f"{score * 2 if llr else score:.6f}", label))
        table(f"{system}.csv", "enrol,test,score,label", rows)
    return ["A=A.csv", "B=B.csv"]


def negated(scores, distances):
    with Path(scores).open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    table(distances, ",".join(header), [(*row[:2], -float(row[2]), row[3]) for row in rows])


PEOPLE = ("--speakers", "speakers.csv")
RECORDINGS = (*PEOPLE, "--utterances", "utterances.csv")


def bank():
    """Decisions on calls at thresholds of two channels, enrolments, failures; the scores."""
    draw = random.Random(3)
    levels = {"app": 1.8, "phone": 1.2}
    calls, customers, enrolments, failures, rows = [], [], [], [], []
    for i in range(160):
        customer, model = f"{i:06d}", f"m{i:06d}"
        gender, language = draw.choice("fm"), draw.choice(("French", "Dutch"))
        customers.append((customer, gender, language))
        is_lost = draw.random() < 0.05
        for _ in range(2):
            call = f"c{len(calls):05d}"
            calls.append((call, customer, "phone"))
            enrolments.append((model, customer, call))
            if is_lost:
                failures.append((call, "enrol", "too short"))
        for n in range(0 if is_lost else 12):
            call, channel = f"c{len(calls):05d}", draw.choice(list(levels))
            calls.append((call, customer, channel))
            claimed = model if n < 8 or i == 0 else f"m{draw.randrange(i):06d}"
            genuine_mean = 3.2 if gender == "m" else 2.9
            score = draw.gauss(genuine_mean if claimed == model else 0.2, 0.9)
            decision = "accept" if score >= levels[channel] else "reject"
            seconds = f"{draw.uniform(2, 9):.2f}"
            if draw.random() < 0.04:
                failures.append((call, "acquire", "no speech"))
                score = decision = ""
            rows.append((claimed, call, score, decision, levels[channel], seconds))
    lost = {row[0] for row in failures}
    gone = {model for model, _, call in enrolments if call in lost}
    rows = [row for row in rows if row[0] not in gone]
    table("customers.csv", "customer,gender,language", customers)
    table("calls.csv", "call,customer,channel", calls)
    table("enrolments.csv", "model,customer,call", enrolments)
    table("failures.csv", "call,stage,reason", failures)
    header = "model,call,decision,threshold,seconds"
    decided = [(row[0], row[1], *row[3:]) for row in rows]
    table("decisions.csv", header, decided)
    table("day1.csv", header, decided[0::2])
    table("day2.csv", header, decided[1::2])
    table("scores.csv", "model,call,score", [row[:3] for row in rows if row[2] != ""])


BANK = (
    "--columns",
    "test=call",
    "--speakers",
    "customers.csv",
    "--utterances",
    "calls.csv",
    "--models",
    "enrolments.csv",
    "--failures",
    "failures.csv",
)


# The audits


@case
def demo(room):
    """The demo: two real systems on all trials, with --compare and a page."""
    for name in (*REAL.values(), "vox1_meta.csv"):
        Path(name).symlink_to(real_data() / name)
    systems = [f"{name}={file}" for name, file in REAL.items()]
    groupings = ("--by", "gender", "--by", "gender+nationality", "--compare")
    room.audit(*systems, "--speakers", "vox1_meta.csv", *groupings, page=True)


@case
def exports(room):
    """Every export and figure of a comparison of two real systems, a twelfth of the trials."""
    room.audit(*real(12, "V2", "L"), *PEOPLE, "--by", "gender", "--compare")
    for kind in ("md", "tex", "xlsx"):
        room.run(f"export-{kind}", "report", "out/audit", "--out", f"out/tables.{kind}", "--quiet")
    room.run("figures", "report", "out/audit", "--figures", "out/figures", "--quiet")


@case
def levels(room):
    """The same within levels, standardised, with tries, limits and gates; made up."""
    groupings = ("--by", "gender", "--by", "age:18,30,60")
    levels_options = ("--within", "channel", "--standardise", "same:language", "--attempts", "3")
    limits = ("--limit", "fnr=0.05", "--limit", "fpr=0.05", "--gate", "speakers=8")
    points = ("--operating-point", "fpr=0.05", "--operating-point", "eer")
    room.audit(
        *made_up(),
        *RECORDINGS,
        *groupings,
        *levels_options,
        *limits,
        *points,
        "--compare",
        page=True,
    )
    room.run("export-md", "report", "out/audit", "--format", "markdown", "--quiet")


@case
def failures(room):
    """Recordings that failed to enrol or to be acquired, with scores; every allocation."""
    bank()
    groupings = ("--by", "gender", "--by", "channel")
    rules = [word for rule in ("both", "enrol", "either") for word in ("--allocate", rule)]
    points = ("--operating-point", "fpr=0.05", "--operating-point", "threshold=1.5")
    room.audit("scores.csv", *BANK, *groupings, *rules, *points, "--attempts", "2", page=True)
    room.run("export-md", "report", "out/audit", "--format", "markdown", "--quiet")


@case
def deployed(room):
    """Decisions and their thresholds in the rows, within channels; what inspect says of them."""
    bank()
    groupings = ("--by", "gender", "--by", "gender+language", "--within", "test.channel")
    room.audit("decisions.csv", *BANK, *groupings, page=True)
    files = ("decisions.csv", "enrolments.csv", "calls.csv", "customers.csv", "failures.csv")
    room.run("inspect", "inspect", *files, "--columns", "test=call")
    room.run("export-tex", "report", "out/audit", "--format", "latex", "--quiet")


@case
def allocation(room):
    """Every rule of allocation; real, a thirtieth of the trials."""
    rules = [r for rule in ("both", "enrol", "test", "either") for r in ("--allocate", rule)]
    room.audit(*real(30), *PEOPLE, "--by", "gender", "--by", "nationality", *rules)


@case
def counts(room):
    """Counts of two days and of scores in bins, and audits of them."""
    bank()
    groupings = ("--by", "gender", "--within", "test.channel")
    for day in ("day1", "day2"):
        room.run(
            day, "count", f"{day}.csv", *BANK, *groupings, "--out", f"out/{day}.counts", "--quiet"
        )
    room.audit("out/day1.counts", "out/day2.counts", name="days")
    made_up()
    groupings = ("--by", "gender", "--by", "gender+region", "--step", "0.01")
    room.run("made", "count", "A.csv", *PEOPLE, *groupings, "--out", "out/made.counts", "--quiet")
    room.audit("out/made.counts", name="binned", page=True)


@case
def sweep(room):
    """Meta-measures over operating points and over alpha; real, a thirtieth of the trials."""
    over = ("--sweep", "fpr=0.005:0.1:log10", "--alpha", "0:1:0.25")
    room.audit(*real(30), *PEOPLE, "--by", "gender", *over)


@case
def llr(room):
    """Log likelihood ratios: Cllr, actual costs, Bayes thresholds; two cost models."""
    points = ("--operating-point", "bayes", "--operating-point", "min-cdet")
    costs = ("--cost", "voxsrc", "--cost", "sre08", "--cost", "0.1,1,2")
    room.audit(*made_up(5, llr=True), *PEOPLE, "--by", "gender", "--llr", *points, *costs)


@case
def compat(room):
    """The rules of bt4vt beside the exact ones; real, a thirtieth of the trials."""
    room.audit(*real(30), *PEOPLE, "--by", "gender+nationality", "--compat", "bt4vt")


@case
def disk(room):
    """Trials kept on disk, counted in bins; real, a fifteenth of the trials."""
    groupings = ("--by", "gender", "--by", "gender+nationality", "--allocate", "either")
    scores = real(15)
    with constants(IN_MEMORY_TRIALS=10_000, SHARD_TRIALS=5_000):
        room.audit(*scores, *PEOPLE, *groupings)


@case
def offenders(room):
    """Speakers named who have most of the errors."""
    options = ("--speaker-ids", "offenders", "--operating-point", "fpr=0.05")
    room.audit(made_up()[0], *PEOPLE, "--by", "gender", *options)
    page = ("--out", "out/page.html", "--speaker-ids", "offenders", "--quiet")
    room.run("page", "report", "out/audit", *page)


@case
def trial_table(room):
    """Every trial with its errors, groups and numbered speakers."""
    groupings = ("--by", "gender", "--by", "age:18,30,60", "--allocate", "either", "--no-intervals")
    for ending in ("csv", "parquet"):
        file = f"out/trials.{ending}"
        room.audit(*made_up(), *RECORDINGS, *groupings, "--trial-table", file, name=f"to-{ending}")


@case
def ways(room):
    """Other ways to be sure, other definitions, other forms."""
    scores = made_up(7)
    choices = {
        "--eer": "linear,nearest_max,nearest_mean,clova,speechbrain,kaldi,nist_sre16,rocch,pyeer",
        "--rule": "conservative,nearest,interp",
        "--zero": "none,jeffreys,nist",
        "--reference": "others,pooled,macro,geomean,best,f",
    }
    rules = []
    for key, methods in choices.items():
        for method in methods.split(","):
            rules += [key, method]
    plain = (scores[0], *PEOPLE, "--by", "gender", "--operating-point", "fpr=0.05")
    room.audit(*plain, *rules, "--no-intervals", "--format", "parquet", name="definitions")
    for interval in ("bootstrap", "wilson", "clopper-pearson", "jeffreys"):
        room.audit(*plain, "--interval", interval, "--confidence", "0.9", name=interval)
    room.audit(*plain, "--bins", "exact", "--fixed-threshold", "--seed", "4", name="fixed")
    negated("A.csv", "distances.csv")
    distances = ("distances.csv", *plain[1:], "--pooled-floor", "--margin", "1.5", "--distance")
    room.audit(*distances, name="distances")
    room.audit(*plain, "--threshold-from", "B.csv", name="development")
    room.run("json", "audit", *plain, "--json", *FEW)
    room.run("table", "audit", *plain, *FEW)


@case
def chain(room):
    """From recordings of synthetic voices to an audit: lists, embeddings, scores."""
    room.has_computed_inputs = True
    recordings()
    lists = ("--utterances", "listed.csv", *PEOPLE, "--by", "gender")
    room.run("balanced", "trials", "build", "balanced", *lists, "--out", "out/balanced",
             "--speakers-per-group", "5", "--utterances-per-speaker", "6")  # fmt: skip
    room.run(
        "inclusive",
        "trials",
        "build",
        "inclusive",
        *lists,
        "--out",
        "out/inclusive",
        "--per-speaker",
        "5",
        "--format",
        "csv",
        "--variants",
        "2",
    )
    room.run(
        "cross",
        "trials",
        "build",
        "cross",
        *lists,
        "--out",
        "out/cross",
        "--per-cell",
        "100",
        "--targets",
        "3",
        "--format",
        "kaldi",
    )
    stored = ("--system", "quick_system:SYSTEM", "--out", "embeddings", "--quiet")
    room.run("embed", "embed", "utterances.csv", *stored, "--workers", "1")
    list_files = sorted(Path("out/inclusive").glob("*.csv"))
    from_store = ("--embeddings", "embeddings", "--quiet", "--out")
    room.run("score", "score", list_files[0], *from_store, "out/scores.parquet")
    norm = ("--as-norm", "cohort.txt", "--top", "5", *PEOPLE)
    room.run("normalised", "score", list_files[0], *from_store, "out/normalised.parquet", *norm)
    room.audit(
        "plain=out/scores.parquet",
        "normalised=out/normalised.parquet",
        *RECORDINGS,
        "--by",
        "gender",
        "--operating-point",
        "eer",
        "--compare",
    )


@case
def lists(room):
    """What the commands say of trial lists, of plans and of files."""
    real(30)
    groupings = (*PEOPLE, "--by", "gender+nationality")
    room.run("check", "trials", "check", "V2.csv", *groupings)
    room.run("describe", "trials", "describe", "V2.csv", *groupings)
    room.run("variants", "trials", "variants", "V2.csv", *PEOPLE, "--by", "gender",
             "--per-speaker", "5,10", "--variants", "2", "--replicates", "20")  # fmt: skip
    scores = made_up()
    room.run("made-check", "trials", "check", "A.csv", *RECORDINGS, "--by", "gender")
    room.run("made-json", "trials", "describe", "A.csv", *RECORDINGS, "--by", "gender", "--json")
    room.run("grade", "trials", "grade", "A.csv", *PEOPLE, "--grade-by", "gender,region",
             "--out", "out/graded.csv")  # fmt: skip
    for kind in ("voxceleb", "kaldi", "nist"):
        room.run(kind, "trials", "convert", "A.csv", "--to", kind, "--out", f"out/{kind}-list.txt")
    room.run("inspect", "inspect", "A.csv", "speakers.csv", "utterances.csv")
    point = ("--operating-point", "fpr=0.05")
    room.run("pilot", "audit", scores[0], *PEOPLE, "--by", "gender", *point, *FEW, "--out", "pilot")
    room.run("plan", "plan", "--pilot", "pilot", "--detect-ratio", "1.5", "--target-fpr", "0.05")
    guess = ("--rate", "fnr=0.05", "--icc", "fnr=0.1", "--trials-per-speaker", "fnr=50")
    room.run("plan-guess", "plan", *guess)
    room.run("no-file", "audit", "missing.csv", ends=2)


@case
def identification(room):
    """Searches in a watch list, and the decisions of smart speakers in one and in many homes."""
    draw = random.Random(9)
    people = {f"w{i:02d}": draw.choice(("en", "tr")) for i in range(60)}
    listed = [*people][:24]
    table("people.csv", "speaker,language", people.items())
    table("watchlist.csv", "person", [(name,) for name in listed])
    rows = []
    for number, name in enumerate(name for name in people for _ in range(6)):
        scores = {person: draw.gauss(2.2 if person == name else 0, 1) for person in listed}
        best = sorted(scores, key=scores.get, reverse=True)[:8]
        rows += [
            (f"s{number}", name, rank, p, f"{scores[p]:.4f}") for rank, p in enumerate(best, 1)
        ]
    table("candidates.csv", "search,probe_speaker,rank,candidate,score", rows)
    watched = ("candidates.csv", "--gallery", "watchlist.csv", "--speakers", "people.csv")
    points = ("--operating-point", "fpir=0.1", "--operating-point", "threshold=2")
    room.audit(*watched, *points, "--limit", "fpir=20%", name="watchlist", page=True)
    room.audit(*watched, *points, "--rank", "3", name="third")
    room.run("inspect", "inspect", "candidates.csv", "watchlist.csv", "people.csv")
    room.run("refused", "audit", "candidates.csv", "--speakers", "people.csv", ends=2)
    homes, decisions = [], []
    for home in range(8):
        members = [(f"h{home}-{i}", ("adult", "child")[i % 2], f"home{home}") for i in range(4)]
        homes += members
        for number, (member, *_) in enumerate(members * 10):
            named = draw.choice((member, member, member, members[0][0], "unknown"))
            decisions.append((f"{home}-{number}.wav", f"home{home}", member, named))
        for number in range(6):
            named = draw.choice((members[1][0], *["unknown"] * 4))
            decisions.append((f"{home}-g{number}.wav", f"home{home}", "guest", named))
    head = "file,gallery,true_speaker,predicted_speaker"
    for name, n_homes in (("home", 1), ("homes", 8)):
        table(f"{name}.csv", "person,age,gallery", homes[: 4 * n_homes])
        table(
            f"{name}-decisions.csv", head, [row for row in decisions if row[1] < f"home{n_homes}"]
        )
        people_of_home = ("--gallery", f"{name}.csv", "--speakers", f"{name}.csv", "--by", "age")
        room.audit(f"{name}-decisions.csv", *people_of_home, name=name, page=True)


@case
def shards(room):
    """An audit in parts, of scores that are counted one by one and in bins; merged."""
    made_up()
    groupings = ("--by", "gender", "--by", "gender+region", "--quiet")
    for name, size in (("exact", 10**9), ("binned", 100)):
        with constants(MAX_EXACT_TRIALS=size):
            plan = ("A=A.csv", *PEOPLE, *groupings, "--shards", "3", "--out", name)
            room.run(f"{name}-plan", "shards", "plan", *plan)
            for _ in range(2):  # counts, then tallies at the thresholds that are found on all
                room.run(f"{name}-run", "shards", "run", name, "--quiet")
                room.run(name, "shards", "merge", name, "--out", f"out/{name}", "--quiet")


@case
def sites(room):
    """Counts of two sites with tallies: of single speakers by one key, of blocks by two."""
    Path("north.key").write_text("a key of north that nobody else has", encoding="utf-8")
    Path("south.key").write_text("a key of south that nobody else has", encoding="utf-8")
    groupings = (*PEOPLE, "--by", "gender", "--step", "0.1", "--quiet")
    for day in ("1", "2"):
        made_up(seed=int(day), speakers=60)
        key = ("--key", "north.key", "--withhold", "0")
        room.run(f"day{day}", "count", "A.csv", *groupings, *key, "--out", f"out/day{day}.counts")
    days = [f"out/day{day}.{kind}" for day in "12" for kind in ("counts", "tally")]
    room.audit(*days, name="speakers")
    for name, seed in (("north", 3), ("south", 4)):
        made_up(seed=seed, speakers=120)
        key = ("--key", f"{name}.key", "--blocks", "10")
        room.run(name, "count", "A.csv", *groupings, *key, "--out", f"out/{name}.counts")
    block_files = [
        f"out/{name}.{kind}" for name in ("north", "south") for kind in ("counts", "tally")
    ]
    room.audit(*block_files, name="blocks")


POLICY = """\
parivox-policy: 1
conditions:
- {name: few are locked out, rate: fnr, at-most: 60%, by: gender}
- {name: nobody far more often, rate: fnr, at-most: 1.5x, by: gender+region}
- {name: no worse than before, rate: fpr, not: worse}
accept:
- condition: nobody far more often
  groups: [f+west]
  reason: a trial that ends with the year
  until: 2999-01-01
"""


@case
def releases(room):
    """A gate on a release with a baseline, and three releases compared."""
    Path("policy.yaml").write_text(POLICY, encoding="utf-8")
    groupings = ("--by", "gender", "--by", "gender+region")
    for seed, name in enumerate(("first", "second", "third"), 7):
        made_up(seed=seed, speakers=90)
        room.audit("A=A.csv", *PEOPLE, *groupings, name=name)
    folders = [f"out/{name}" for name in ("first", "second", "third")]
    room.run("gate", "gate", folders[1], "--policy", "policy.yaml", ends=3)
    baseline = ("--policy", "policy.yaml", "--baseline", folders[0])
    room.run("gate-json", "gate", folders[2], *baseline, "--json", ends=3)
    room.run("compare", "compare", *folders)
    room.run("compare-json", "compare", *folders, "--json")


@case
def monitoring(room):
    """A stream of days in which one group fares worse from a day on."""
    draw = random.Random(11)
    customers = [(f"c{i:03d}", "fm"[i % 2]) for i in range(120)]
    table("customers.csv", "customer,gender", customers)
    Path("bank.key").write_text("a key of the bank that nobody else has", encoding="utf-8")
    state_options = ("--state", "bank.state", "--speakers", "customers.csv", "--by", "gender")
    for number in range(14):
        day, rows = f"2026-03-{number + 1:02d}", []
        for i in range(600):
            customer, gender = draw.choice(customers)
            rate = 0.5 if gender == "f" and number >= 7 else 0.06
            decision = "reject" if draw.random() < rate else "accept"
            rows.append((f"{number}-{i}", customer, decision))
        table(f"{day}.csv", "call,customer,decision", rows)
        begun = () if number else ("--new",)
        words = (f"{day}.csv", *state_options, "--key", "bank.key", *begun, "--quiet")
        ends = 1 if number > ALARM_AFTER else 0
        room.run(f"day{number + 1:02d}", "monitor", *words, ends=ends)
    room.run("stream", "monitor", "--state", "bank.state", ends=1)
    room.run("stream-json", "monitor", "--state", "bank.state", "--json", ends=1)


@case
def mitigation(room):
    """Thresholds and calibrators for all and for each group, written and used."""
    made_up(seed=5, speakers=120)
    groupings = (*PEOPLE, "--by", "gender", "--quiet")
    for aim in ("fpr=0.05", "min-cdet", "least-worst"):
        name = f"thresholds-{aim.partition('=')[0]}"
        room.run(name, "thresholds", "A.csv", *groupings, "--aim", aim, "--out", f"out/{name}.yaml")
    room.run("thresholds-json", "thresholds", "A.csv", *groupings, "--aim", "fpr=0.05", "--json")
    room.audit("A=A.csv", *PEOPLE, "--thresholds", "out/thresholds-fpr.yaml")
    for method in ("logistic", "isotonic"):
        out = ("--method", method, "--out", f"out/{method}.json")
        room.run(method, "calibrate", "A.csv", *groupings, *out)
        apply = ("--apply", f"out/{method}.json", "--out", f"out/{method}.csv")
        room.run(f"{method}-applied", "calibrate", "B.csv", *PEOPLE, *apply, "--quiet")
    room.run("calibrate-json", "calibrate", "A.csv", *groupings, "--llr", "--json")


QUICK = """
import numpy as np


class Quick:
    name, sample_rate, scoring, least_seconds = "quick", 16_000, "cosine", 0.3
    provenance = {"weights": {"sha256": "none"}}

    def embed(self, waveforms):
        return np.stack([self.vector(wave) for wave in waveforms])

    def vector(self, wave):
        frames = wave[: wave.size // 400 * 400].reshape(-1, 400)
        power = np.log(np.abs(np.fft.rfft(frames))[:, 1:41] + 1e-4).mean(0, keepdims=True)
        return np.round(power - power.mean(), 2).astype("f4")


SYSTEM = Quick()
"""


def recordings():
    """Sixteen synthetic voices, the last four a cohort, and a system that takes no time."""
    import soundfile

    from parivox.embedding.voices import RATE, draw_voice, speak

    Path("audio").mkdir()
    Path("quick_system.py").write_text(QUICK, encoding="utf-8")
    genders = {f"v{number:02d}": "fm"[number % 2] for number in range(16)}
    rows = []
    for number, (speaker, gender) in enumerate(genders.items()):
        voice = draw_voice(number, gender)
        for sentence in range(8):
            file, line = f"audio/{speaker}-{sentence}.wav", ("phone", "app")[sentence % 2]
            seconds = 0.8 + 0.1 * (sentence % 4)
            soundfile.write(file, speak(voice, seconds, 1000 * number + sentence), RATE)
            rows.append((f"{speaker}/r{sentence // 2}/{sentence}", speaker, file, line))
    table("utterances.csv", "utterance,speaker,file,line", rows)
    table("listed.csv", "utterance,speaker,file,line", rows[:96])
    table("speakers.csv", "speaker,gender", genders.items())
    Path("cohort.txt").write_text("".join(f"{row[0]}\n" for row in rows[96:]), encoding="utf-8")


@contextmanager
def constants(**values):
    """Set constants of Parivox by name, wherever they are: no option makes lists large."""
    package = Path(importlib.import_module("parivox").__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    for name in values:
        homes = [path for path, text in texts.items() if re.search(rf"(?m)^{name}\b.*=", text)]
        if not homes:
            sys.exit(f"Parivox has no constant {name} any more; mend tests/same")
        for path in homes:
            names = path.relative_to(package.parent).with_suffix("").parts
            importlib.import_module(
                ".".join(module_name for module_name in names if module_name != "__init__")
            )
    constants_before = [
        (module, name, vars(module)[name])
        for title, module in list(sys.modules.items())
        if title.partition(".")[0] == "parivox"
        for name in values
        if name in vars(module)
    ]
    try:
        for module, name, _ in constants_before:
            setattr(module, name, values[name])
        yield
    finally:
        for module, name, value in constants_before:
            setattr(module, name, value)
