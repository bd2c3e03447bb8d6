"""Sites that may not share rows: counts with tallies of names that a key makes, or of blocks."""

import re
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.data.counts_file import SPEAKER_COUNTS, file_bytes, read_columns
from parivox.data.site_key import KDF, CountingLog
from parivox.data.speaker_counts import SpeakerCounts
from parivox.errors import ConfigError, DataError
from parivox.report.catalogue import fact_text

KEYS = {"north": "north's own secret, which stays", "south": "south's own secret, which stays"}
OPTIONS = {"by": "gender", "step": 0.1}
CLOSED = ("fnr", "fpr")


@pytest.fixture
def key(tmp_path):
    """Write the key of a site."""

    def written(name):
        path = tmp_path / f"{name}.key"
        path.write_text(KEYS.get(name, name) + "\n")
        return path

    return written


@pytest.fixture
def shared(tmp_path, key):
    """Count at a site; gives both files."""

    def count_at_site(name, trials, speakers, *, site=None, **options):
        counts = tmp_path / f"{name}.counts"
        merged = {"key": key(site or name), **OPTIONS, **options}
        pv.count({"S": trials}, speakers=speakers, **merged).save(counts)
        return [str(counts), str(tmp_path / f"{name}.tally")]

    return count_at_site


def halves(trials):
    frame = pl.DataFrame(trials)
    is_first = np.random.default_rng(8).random(frame.height) < 0.6
    return frame.filter(is_first), frame.filter(~is_first)


def renamed(trials, speakers, prefix):
    """The same list of other people."""
    sides = {name: [prefix + cell for cell in trials[name]] for name in ("enrol", "test")}
    frame = {**trials, **sides}
    return frame, {**speakers, "id": [prefix + cell for cell in speakers["id"]]}


def intervals(audit):
    columns = ["group", "metric", "operating_point", "value", "low", "high", "errors", "trials"]
    rows = audit.groups.to_polars().filter(pl.col("metric").is_in(CLOSED))
    return rows.select(columns).sort(columns[:3])


@pytest.mark.slow
def test_names_of_one_key_add_up_to_the_audit_of_all_trials(trials, speakers, shared):
    first_half, second_half = halves(trials)
    files = [
        *shared("may", first_half, speakers, site="north", withhold=0),
        *shared("june", second_half, speakers, site="north", withhold=0),
    ]
    added = pv.audit(files, replicates=60)
    direct = pv.audit(shared("year", trials, speakers, site="north", withhold=0), replicates=60)
    assert intervals(added).equals(intervals(direct))
    assert added.verdicts.to_polars().equals(direct.verdicts.to_polars())
    # at the threshold that was found in bins, the intervals are those of the rows themselves
    point = direct.operating_points.to_polars()["threshold"][0]
    points = [f"threshold={point!r}"]
    exact = pv.audit({"S": trials}, speakers=speakers, by="gender", operating_points=points)
    again = pv.audit(files, operating_points=points, replicates=60)
    ours, theirs = intervals(again), intervals(exact)
    assert ours["errors"].equals(theirs["errors"])
    for side in ("low", "high"):
        np.testing.assert_allclose(ours[side], theirs[side], rtol=1e-9)


@pytest.mark.slow
def test_blocks_of_two_sites_give_intervals_and_tell_of_no_speaker(simulate, shared, tmp_path):
    trials, speakers = simulate(speakers=60, utterances=4, nontarget=6000)
    north = shared("north", trials, speakers, blocks=3)
    south = shared("south", *renamed(trials, speakers, "s-"), blocks=3)
    speaker_counts = SpeakerCounts.read(north[1])
    assert speaker_counts.are_blocks
    assert (len(speaker_counts.names), speaker_counts.min_speakers) == (
        20,
        3,
    )  # of 30 women and 30 men
    assert not speaker_counts.score_keys.any()
    _, header, _ = read_columns(north[1], SPEAKER_COUNTS)
    disclosure, *_ = speaker_counts.disclosures()
    assert header["disclosures"][0] == {"code": disclosure.code, "values": disclosure.values}
    assert fact_text(disclosure).startswith(
        "the file contains the groups of 20 blocks of at least 3 speakers"
    )
    for file in (*north, *south):
        content = (tmp_path / file).read_bytes()
        assert not any(word in content for word in (b"qz001", b"vx1.wav", KEYS["north"].encode()))
    joint = pv.audit([*north, *south], replicates=60)
    assert (
        pv.audit([*south, *north], replicates=60)
        .verdicts.to_polars()
        .equals(joint.verdicts.to_polars())
    )
    rates = intervals(joint)
    assert rates["low"].null_count() == 0
    alone = intervals(pv.audit(north, operating_points=["threshold=1.5"], replicates=60))
    again = intervals(pv.audit([*north, *south], operating_points=["threshold=1.5"], replicates=60))
    # twice the same, of other people: the same rates, known more surely
    assert again["value"].to_list() == pytest.approx(alone["value"].to_list())
    assert again["trials"].to_list() == [2 * n for n in alone["trials"]]
    assert ((again["high"] - again["low"]) < (alone["high"] - alone["low"])).all()
    key_rows = joint.data.to_polars().filter(
        pl.col("values").str.contains("speakers_at_several_sites")
    )
    assert key_rows["note"].to_list() == ["keys_of_sites_differ"]


@pytest.mark.slow
def test_blocks_follow_from_the_key_alone(simulate, shared):
    trials, speakers = simulate(speakers=60, utterances=4, nontarget=3000)
    frame = pl.DataFrame(speakers).sample(fraction=1, shuffle=True, seed=3)
    speaker_counts, repeated, other_site = (
        SpeakerCounts.read(shared(name, trials, table, site=site, blocks=3)[1])
        for name, table, site in (
            ("a", speakers, "north"),
            ("b", frame, "north"),
            ("c", speakers, "south"),
        )
    )
    assert speaker_counts.names == repeated.names
    assert all(
        np.array_equal(speaker_counts.columns[name], repeated.columns[name])
        for name in speaker_counts.columns
    )
    assert not set(speaker_counts.names) & set(other_site.names)
    assert speaker_counts.sites != other_site.sites


@pytest.mark.slow
def test_a_group_that_one_site_withholds_is_in_no_tally(simulate, shared):
    trials, speakers = simulate(speakers=60, utterances=4, nontarget=3000)
    nations = [*["Peru"] * 2, *["Norway", "USA"] * 29]
    few = {**speakers, "nation": nations}
    many = {**speakers, "nation": ["Peru" if i % 3 else "Norway" for i in range(60)]}
    options = {"by": "nation", "blocks": 2}
    north = shared("north", trials, few, **{**options, "withhold": 4})
    south = shared("south", *renamed(trials, many, "s-"), **options)
    speaker_counts = SpeakerCounts.read(north[1])
    (nation,) = speaker_counts.groupings
    peru = nation.groups.index("Peru")
    assert peru not in nation.speaker_codes
    rates = pv.audit([*north, *south], replicates=60).groups.to_polars()
    rates = rates.filter(pl.col("metric").is_in(CLOSED))
    few, usa = (rates.filter(pl.col("group") == name) for name in ("Peru", "USA"))
    assert few["value"].null_count() == few.height > 0
    assert usa["low"].null_count() == 0 < usa.height


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first_options", "second_options", "sentence"),
    [
        (
            {"withhold": 0},
            {"site": "south", "withhold": 0},
            r"north\.tally and .*south\.tally: were made with different keys, so speakers",
        ),
        (
            {"blocks": 2},
            {"site": "north", "blocks": 2},
            r"north\.tally and .*south\.tally: contain blocks of different speakers made with one",
        ),
        (
            {"withhold": 0},
            {"site": "north", "blocks": 2},
            "one describes speakers, the other blocks of speakers",
        ),
        (
            {"withhold": 0},
            {"site": "north", "withhold": 0, "step": 0.2},
            "count both in the same way",
        ),
    ],
    ids=["keys", "overlap", "forms", "bins"],
)
def test_what_does_not_add_up_is_refused(
    trials, speakers, shared, first_options, second_options, sentence
):
    first_half, second_half = halves(trials)
    people = pl.DataFrame(speakers)
    first_ids = people["id"].to_list()[:-6]  # so that these are other speakers
    of_some = pl.col("enrol", "test").str.head(5).is_in(first_ids)
    second_half = second_half.filter(pl.all_horizontal(of_some))
    files = [
        *shared("north", first_half, speakers, **first_options),
        *shared("south", second_half, speakers, **second_options),
    ]
    with pytest.raises((DataError, ConfigError), match=sentence):
        pv.audit(files)


@pytest.mark.slow
def test_one_speaker_in_two_groups_is_refused(trials, speakers, shared):
    first_half, second_half = halves(trials)
    turned = {
        **speakers,
        "gender": ["m" if gender == "f" else "f" for gender in speakers["gender"]],
    }
    files = [
        *shared("may", first_half, speakers, site="north", withhold=0),
        *shared("june", second_half, turned, site="north", withhold=0),
    ]
    with pytest.raises(
        ConfigError,
        match=r"the groups by gender differ from those of .*; make all speaker counts with",
    ):
        pv.audit(files)


@pytest.mark.slow
def test_a_tally_by_names_knows_no_table(trials, speakers, shared):
    files = shared("north", trials, speakers, withhold=0)
    with pytest.raises(ConfigError, match="contain pseudonyms, which match no speaker table"):
        pv.audit(files, speakers=speakers)


@pytest.mark.slow
def test_systems_of_other_speakers_are_audited_one_by_one(trials, speakers, shared):
    files = shared("north", trials, speakers, blocks=2)
    other_files = shared("south", *renamed(trials, speakers, "s-"), blocks=2)
    with pytest.raises(DataError, match="audit each system and list separately"):
        pv.audit({"A": files, "B": other_files})


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"blocks": 4}, "blocks needs a secret key, by which"),
        (
            {"key": "north", "step": None, "withhold": 0},
            "without bins, the speaker counts would contain every score; give step",
        ),
        ({"key": "north"}, "no group can be withheld; give blocks=20"),
        ({"key": "short"}, r"contains 5 bytes, but a key has 16 to 64"),
        ({"key": "x" * 5000}, r"contains at least 4096 bytes, but a key has 16 to 64"),
        ({"key": "x" * 65}, r"contains 65 bytes, but a key has 16 to 64"),
        (
            {"key": "north", "blocks": 25},
            r"the trials have 24 speakers, .*; give trials of at least 25",
        ),
        (
            {"key": "north", "by": ["gender", "nation"], "blocks": 5, "step": 2},
            "4 speakers of the trials are gender f, nation India, but a block needs 5; give a",
        ),
        (
            {"key": "north", "by": ["gender", "nation"], "blocks": 4, "step": 0.001},
            r"rare scores; give step=\S+, a few thresholds, or a single by without within$",
        ),
        (
            {"key": "north", "blocks": 5, "within": "same:nation"},
            "by same:nation, the trials of one block may come from only a few",
        ),
    ],
)
def test_what_would_tell_too_much_is_refused(trials, speakers, key, options, sentence):
    merged = {**OPTIONS, **options}
    if "key" in merged:
        merged["key"] = key(merged["key"]) if len(merged["key"]) < 60 else _long(key, merged["key"])
    with pytest.raises((DataError, ConfigError), match=sentence):
        pv.count({"S": trials}, speakers=speakers, **merged)


def _long(key, text):
    path = key("north")
    path.write_text(text)
    return path


def test_a_key_that_is_not_there_is_told_how_to_make(trials, speakers, tmp_path):
    with pytest.raises(ConfigError, match=r"file not found; .* create a random key with new_key"):
        pv.count({"S": trials}, speakers=speakers, key=tmp_path / "none.key", blocks=2, **OPTIONS)


@pytest.mark.parametrize("text", ["a" * 32, "0101010101010101", "abcabcabcabcabcabc"])
def test_a_key_that_can_be_guessed_is_refused(trials, speakers, key, text):
    path = _long(key, text)
    with pytest.raises(ConfigError, match="different characters and can be guessed") as caught:
        pv.count({"S": trials}, speakers=speakers, key=path, blocks=2, **OPTIONS)
    assert text not in str(caught.value)


@pytest.mark.parametrize("secret", ["5e8b2f00a1c4d97e5e8b2f00a1c4d97e", "correct horse battery"])
def test_a_secret_in_the_place_of_its_file_is_not_repeated(trials, speakers, secret):
    with pytest.raises(ConfigError, match="key: does not name a file") as caught:
        pv.count({"S": trials}, speakers=speakers, key=secret, blocks=2, **OPTIONS)
    assert secret not in str(caught.value)


def test_a_damaged_name_is_refused(trials, speakers, shared, tmp_path):
    file = shared("north", trials, speakers, withhold=0)[1]
    _, header, columns = read_columns(file, SPEAKER_COUNTS)
    header["names"] = header["names"][1:]
    Path(file).write_bytes(file_bytes(SPEAKER_COUNTS, columns, header))
    with pytest.raises(
        DataError, match=r"does not contain complete speaker counts .*rows of other members"
    ):
        SpeakerCounts.read(file)


def test_a_tally_of_which_a_letter_was_changed_is_refused(trials, speakers, shared):
    file = Path(shared("north", trials, speakers, withhold=0)[1])
    file.write_bytes(file.read_bytes().replace(b'"min_speakers": 1', b'"min_speakers": 2'))
    with pytest.raises(DataError, match="content has changed since it was written"):
        SpeakerCounts.read(file)


@pytest.mark.slow
def test_decisions_are_shared_without_bins(speakers, shared, trials):
    decisions = np.where(np.array(trials["score"]) > 1.4, "accept", "reject").tolist()
    decided = {name: trials[name] for name in ("enrol", "test", "label")} | {"decision": decisions}
    files = shared("north", decided, speakers, step=None, blocks=2)
    disclosure, *_ = SpeakerCounts.read(files[1]).disclosures()
    assert "the outcomes of the trials of each pair" in fact_text(disclosure)
    rates = intervals(pv.audit(files)).filter(pl.col("group").is_in(["f", "m"]))
    assert rates["low"].null_count() == 0 < rates.height


def test_a_tally_that_was_cut_off_is_told(shared, trials, speakers, tmp_path):
    counts, speaker_counts = shared("north", trials, speakers, blocks=3)
    short = tmp_path / "north.tally"
    short.write_bytes(Path(speaker_counts).read_bytes()[:500])
    with pytest.raises(DataError, match=r"north\.tally: is truncated; copy or create the file"):
        pv.audit([counts, short])


@pytest.mark.slow
def test_a_new_key_is_random_and_its_owner_s_alone(trials, speakers, tmp_path):
    paths = [tmp_path / "one.key", tmp_path / "other.key"]
    speaker_counts_files = [
        pv.count(
            {"S": trials}, speakers=speakers, new_key=path, withhold=0, **OPTIONS
        ).speaker_counts
        for path in paths
    ]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600, 0o600]
    assert len({path.read_text() for path in paths}) == 2
    assert speaker_counts_files[0].sites != speaker_counts_files[1].sites
    again = pv.count({"S": trials}, speakers=speakers, key=paths[0], withhold=0, **OPTIONS)
    assert again.speaker_counts.names == speaker_counts_files[0].names
    with pytest.raises(ConfigError, match="exists already; use it with key"):
        pv.count({"S": trials}, speakers=speakers, new_key=paths[0], withhold=0, **OPTIONS)
    with pytest.raises(ConfigError, match="key and new_key: give one of them"):
        pv.count({"S": trials}, key=paths[0], new_key=tmp_path / "c.key", **OPTIONS)


@pytest.mark.slow
def test_a_new_key_goes_if_nothing_was_counted_with_it(trials, speakers, tmp_path):
    path = tmp_path / "site.key"
    with pytest.raises(ConfigError, match="nowhere"):
        pv.count({"S": trials}, speakers=speakers, new_key=path, by="nowhere", step=0.1)
    assert not path.exists()
    with pytest.raises(ConfigError, match="cannot be written"):
        pv.count({"S": trials}, speakers=speakers, new_key=tmp_path / "no" / "key", **OPTIONS)


@pytest.mark.slow
def test_tallies_record_how_their_key_was_derived(trials, speakers, shared):
    first_half, second_half = halves(trials)
    files = [*shared("a", first_half, speakers, site="north", withhold=0)]
    files += shared("b", second_half, speakers, site="north", withhold=0)
    assert read_columns(files[1], SPEAKER_COUNTS)[1]["kdf"] == KDF
    _, header, columns = read_columns(files[3], SPEAKER_COUNTS)
    header["kdf"] = ""  # as 0.2.0 derived it
    Path(files[3]).write_bytes(file_bytes(SPEAKER_COUNTS, columns, header))
    with pytest.raises(ConfigError, match=r"derived in different ways \(scrypt.* and none, as of"):
        pv.audit(files)


@pytest.fixture
def few(speakers):
    """Three speakers of nation `few`, and of a region that they are half of."""
    n = len(speakers["id"])
    nation = ["few" if i < 3 else "many" for i in range(n)]
    region = ["few or more" if i < 9 else "rest" for i in range(n)]
    return {"id": speakers["id"], "nation": nation, "region": region}


@pytest.mark.slow
@pytest.mark.parametrize("second", ["region", ["nation", "region"]])
def test_what_was_withheld_is_not_given_back_by_other_groups(trials, few, key, tmp_path, second):
    options = {"speakers": few, "step": 0.5, "key": key("north"), "blocks": 5}
    first_count = pv.count({"S": trials}, by="nation", **options)
    assert first_count.withheld
    pv.count({"S": trials}, by=second, **options)  # nothing is to be in a file yet
    first_count.save(tmp_path / "first.counts")
    with pytest.raises(ConfigError, match=r"could reveal withheld groups\. .* regroup=True"):
        pv.count({"S": trials}, by=second, **options)
    pv.count({"S": trials}, by="nation", **options)
    (tmp_path / "link.key").symlink_to(tmp_path / "north.key")
    with pytest.raises(ConfigError, match="could reveal withheld groups"):
        pv.count({"S": trials}, by=second, **options | {"key": tmp_path / "link.key"})
    pv.count({"S": trials}, by=second, regroup=True, **options)
    pv.count(halves(trials)[0], by=second, **options)
    pv.count({"S": trials}, by=second, **options | {"key": key("south")})


@pytest.mark.parametrize(
    "change_name", ["speakers moved", "groups joined", "fewer withheld", "blocks"]
)
def test_groups_of_one_name_may_be_others(trials, few, key, tmp_path, change_name):
    options = {"speakers": few, "step": 0.5, "key": key("north"), "blocks": 5, "by": "nation"}
    pv.count({"S": trials}, **options).save(tmp_path / "first.counts")
    change = {
        "speakers moved": {"speakers": few | {"nation": ["many", *few["nation"][1:]]}},
        "groups joined": {
            "by": None,
            "groups": {"by": ["nation"], "groups": {"nation": {"many": ["many", "few"]}}},
        },
        "fewer withheld": {"withhold": 0, "blocks": None},
        "blocks": {"blocks": 8},
    }[change_name]
    with pytest.raises(ConfigError, match="could reveal withheld groups"):
        pv.count({"S": trials}, **options | change)


def test_records_of_several_processes_all_stay(key):
    counted = CountingLog.of_key(key("north"))  # as each of them has read it
    entries = [
        {"trials": str(i), "groups": "g", "by": ["gender"], "withheld": True} for i in range(5)
    ]
    for entry in entries:
        counted.record(entry)
    assert list(CountingLog.of_key(key("north")).entries) == entries


def test_nothing_withheld_gives_nothing_back(trials, speakers, shared):
    shared("first", trials, speakers, site="north", blocks=5)
    shared("second", trials, speakers, site="north", blocks=5, by="nation")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"parivox_counted": [{}]}'])
def test_a_damaged_record_of_what_was_counted_is_refused(trials, speakers, key, text):
    path = key("north")
    path.with_name("north.key.counted").write_text(text)
    with pytest.raises(ConfigError, match=r"north\.key\.counted: is a damaged"):
        pv.count({"S": trials}, speakers=speakers, key=path, blocks=5, **OPTIONS)


def test_the_record_of_what_was_counted_tells_of_no_trial(trials, few, key, tmp_path):
    counts = pv.count(
        {"S": trials}, speakers=few, step=0.5, key=key("north"), blocks=5, by="nation"
    )
    counts.save(tmp_path / "a.counts")
    path = tmp_path / "north.key.counted"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert counts.content_sha256 not in path.read_text()


def swapped(speakers):
    """The same speakers, with the groups exchanged."""
    first, second = dict.fromkeys(speakers["gender"])
    exchanged = {first: second, second: first}
    return {**speakers, "gender": [exchanged[group] for group in speakers["gender"]]}


@pytest.mark.slow
def test_speaker_counts_with_other_groups_are_refused(trials, speakers, shared):
    counts, _ = shared("a", trials, speakers, site="north", withhold=0)
    _, tally = shared("b", trials, swapped(speakers), site="north", withhold=0)
    message = r"a\.counts and b\.tally: the number of .*trials of .* \(gender\).* differs \(.*\)"
    with pytest.raises(DataError, match=message) as error:
        pv.audit([counts, tally])
    first, second = re.search(r"differs \(([\d,]+) and ([\d,]+)\)", str(error.value)).groups()
    assert first != second


@pytest.mark.slow
@pytest.mark.parametrize("moved", ["step", "trials"])
def test_speaker_counts_with_other_errors_are_refused(trials, speakers, shared, moved):
    counts, tally = shared("a", trials, speakers, site="north", withhold=0)
    _, header, columns = read_columns(tally, SPEAKER_COUNTS)
    changed = columns[moved].copy()
    is_target = columns["trial_class"] == 1
    if moved == "step":
        changed[np.flatnonzero(is_target & (changed > 0))[0]] = 0
        words = "with scores below"
    else:  # a trial more of one class, and one less of the other
        changed[np.flatnonzero(is_target)[0]] += 1
        several = np.flatnonzero(~is_target & (changed > 1))
        changed[several[0]] -= 1
        words = "target trials of"
    Path(tally).write_bytes(file_bytes(SPEAKER_COUNTS, {**columns, moved: changed}, header))
    with pytest.raises(DataError, match=rf"a\.counts and a\.tally: the number of .*{words}"):
        pv.audit([counts, tally])


def two_days(shared, trials, first_speakers, second_speakers, **options):
    """Files of two days with one key, each counted with its own table of speakers."""
    first_half, second_half = halves(trials)
    options = {"site": "north", "withhold": 0, **options}
    return (
        shared("may", first_half, first_speakers, **options),
        shared("june", second_half, second_speakers, **options),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"by": "gender"}, {"by": "nation", "within": "gender"}], ids=["by", "within"]
)
def test_a_group_may_be_known_on_one_day_only(trials, speakers, shared, options):
    unknown = {**speakers, "gender": ["", *speakers["gender"][1:]]}
    (may, may_tally), (june, june_tally) = two_days(shared, trials, unknown, speakers, **options)
    points = {"operating_points": ["threshold=1.5"], "replicates": 60}
    audit = pv.audit([may, may_tally, june, june_tally], **points)
    rates = [
        rows.drop("low", "high").sort(pl.all())
        for rows in (intervals(audit), intervals(pv.audit([may, june], **points)))
    ]
    assert rates[0].equals(rates[1])
    assert intervals(audit).filter(group="all")["low"].null_count() == 0


def with_an_error_more(tally):
    """Write speaker counts with a target trial of the lowest score in the place of a higher one."""
    _, header, columns = read_columns(tally, SPEAKER_COUNTS)
    step = columns["step"].copy()
    step[np.flatnonzero((columns["trial_class"] == 1) & (step > 0))[0]] = 0
    content = file_bytes(SPEAKER_COUNTS, {**columns, "step": step}, header)
    Path(tally).write_bytes(content)


@pytest.mark.slow
@pytest.mark.parametrize("changed", [0, 1], ids=["may", "june"])
def test_the_day_whose_speaker_counts_differ_is_named(trials, speakers, shared, changed):
    days = two_days(shared, trials, speakers, speakers)
    name = ("may", "june")[changed]
    with_an_error_more(days[changed][1])
    message = rf"^{name}\.counts and {name}\.tally: the number of .*target trials of"
    with pytest.raises(DataError, match=message):
        pv.audit([*days[0], *days[1]])


@pytest.mark.slow
def test_a_day_counted_with_other_groups_is_refused(trials, speakers, shared):
    unknown = {**speakers, "gender": ["", *speakers["gender"][1:]]}
    (_, may_tally), june_files = two_days(shared, trials, unknown, speakers)
    first_half, _ = halves(trials)
    may, _ = shared("known", first_half, speakers, site="north", withhold=0)
    message = r"^known\.counts and may\.tally: the number of .*trials of .* \(gender\)"
    with pytest.raises(DataError, match=message):
        pv.audit([may, may_tally, *june_files])


@pytest.mark.slow
@pytest.mark.parametrize("is_changed", [False, True], ids=["same", "changed"])
def test_speaker_counts_of_two_days_in_one_file(trials, speakers, shared, tmp_path, is_changed):
    (may, may_tally), (june, june_tally) = two_days(shared, trials, speakers, speakers)
    if is_changed:
        with_an_error_more(june_tally)
    both = tmp_path / "both.tally"
    SpeakerCounts.total([SpeakerCounts.read(may_tally), SpeakerCounts.read(june_tally)]).save(both)
    if not is_changed:
        assert len(pv.audit([may, june, str(both)], replicates=60).groups)
        return
    with pytest.raises(DataError, match=r"both\.tally: the number of .*target trials of"):
        pv.audit([may, june, str(both)])
