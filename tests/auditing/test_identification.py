"""Audits of open-set identification, from files to verdicts, against vectors worked out apart."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import parivox as pv
from parivox.core.cluster_errors import ErrorsBySpeaker, moments
from parivox.core.intervals import rate_interval
from parivox.data.candidate_lists import read_searches
from parivox.data.gallery import read_gallery
from parivox.errors import ConfigError, DataError
from parivox.report import overview
from parivox.report.charts.curves import error_curves
from parivox.report.charts.det import det
from parivox.report.charts.scores import distributions

VECTORS = json.loads(
    (Path(__file__).parents[1] / "vectors_openset.json").read_text(encoding="utf-8")
)
GROUPED = VECTORS["data_B"]
CLOSE = {"rel": 0, "abs": 1e-12}


def expected(name):
    return VECTORS[name]["expected"]


def candidate_table(searches):
    """Candidate lists of a vector; a search without candidates has a row without one."""
    rows = [
        {
            "search": search["probe"],
            "probe_speaker": search["speaker"] or "",
            "gallery": search.get("gallery", "G"),
            "candidate": person,
            "score": score,
        }
        for search in searches
        for person, score in search["candidates"] or [("", None)]
    ]
    return pl.DataFrame(rows)


def gallery_table(galleries):
    rows = [{"person": p, "gallery": name} for name, persons in galleries.items() for p in persons]
    table = pl.DataFrame(rows)
    return table if len(galleries) > 1 else table.drop("gallery")


def audited(data=GROUPED, people=GROUPED["people"], **options):
    options = {
        "gallery": gallery_table(data["galleries"]),
        "by": "group",
        "operating_points": "fpir=0.2",
        "replicates": 50,
        "gates": ("inference=1", "speakers=2", "errors=1"),
        **options,
    }
    known = {name: group for name, group in people.items() if group is not None}
    speakers = {"id": [*people], "group": [known.get(name, "") for name in people]}
    return pv.audit(candidate_table(data["searches"]), speakers, **options)


@pytest.fixture(scope="module")
def audit():
    return audited()


def rate(audit, metric, **filters):
    (row,) = audit.groups.subset(metric=metric, **filters).rows()
    return row


def measure(audit, name, **filters):
    rows = [row for row in audit.searches.rows() if row["measure"] == name]
    return [row for row in rows if all(row[key] == value for key, value in filters.items())]


def test_rates_of_groups_are_those_of_probes_at_one_threshold(audit):
    vector = expected("O4.1_groups")
    (point,) = audit.operating_points.rows()
    assert point["threshold"] == vector["threshold"]
    cells = {("all", "all"): vector["all"], ("group", "pooled"): vector["pooled"]}
    cells |= {("group", group): numbers for group, numbers in vector["groups"].items()}
    for (grouping, group), numbers in cells.items():
        if not numbers["n_mated"] + numbers["n_nonmated"]:
            continue
        for metric, n_name in (("fnir", "n_mated"), ("fpir", "n_nonmated")):
            row = rate(audit, metric, grouping=grouping, group=group)
            assert row["trials"] == numbers[n_name]
            if numbers[metric] is None:
                assert row["value"] is None
                assert (
                    row["reason"].replace("nonmated", "non-mated").replace("_", " ")
                    in (numbers["reasons"])
                )
            else:
                assert row["value"] == pytest.approx(numbers[metric], **CLOSE)
        if group == "pooled":
            continue
        for name in ("wrong_person", "top_s_miss", "selectivity"):
            (row,) = measure(audit, name, grouping=grouping, group=group)
            wanted = numbers[name]
            assert row["value"] == (wanted if wanted is None else pytest.approx(wanted, **CLOSE))
        for name, wanted in numbers.get("eer_own_threshold", {}).items():
            (row,) = measure(audit, f"{name.replace('top1', 'top_1')}_eer", group=group)
            assert row["value"] == (wanted if wanted is None else pytest.approx(wanted, **CLOSE))


def test_ratios_are_to_all_other_groups(audit):
    for group, by_metric in expected("O4.2_ratios").items():
        for metric, numbers in by_metric.items():
            (row,) = audit.bias.subset(
                group=group, metric=metric, measure="ratio", zero="none", reference="others"
            ).rows()
            assert row["value"] == pytest.approx(numbers["ratio"], **CLOSE)


def test_who_is_named_is_told_by_group_of_the_person(audit):
    vector = expected("O4.3_false_candidates")
    for group, numbers in vector["by_candidate_group"].items():
        (named,) = measure(audit, "named_rate", group=group)
        assert named["errors"] == numbers["false_candidates"]
        assert named["trials"] == numbers["comparisons"]
        (share,) = measure(audit, "gallery_share", group=group)
        assert share["errors"] == numbers["gallery_persons"]
        assert share["value"] == pytest.approx(numbers["gallery_share"], **CLOSE)
    for pair, numbers in vector["matrix_probe_group_to_candidate_group"].items():
        probe, person = pair.split(">")
        (row,) = measure(audit, "named_rate_by_groups", group=probe, other_group=person)
        assert (row["errors"], row["trials"]) == (numbers["k"], numbers["n"])
    counts = sorted((n for n in vector["per_gallery_person"].values() if n), reverse=True)
    most = measure(audit, "named_most")
    assert [row["errors"] for row in most] == [round(25 * share) for share in counts]
    assert not any(row["person"] for row in most)  # by number, not by name


@pytest.mark.slow
def test_persons_are_named_on_request():
    named = measure(audited(speaker_ids="offenders"), "named_most")
    assert named[0]["person"] == expected("O4.3_false_candidates")["worst_gallery_person"]


def test_fewer_persons_enrolled_are_an_expectation(audit):
    sizes = expected("O5.1_gallery_size")["fpir"]
    rows = measure(audit, "expected_fpir")
    assert [row["persons"] for row in rows] == [1, 3]
    assert rows[0]["value"] == pytest.approx(sizes["1"], **CLOSE)


@pytest.mark.slow
def test_failed_searches_count_as_misses_and_as_no_false_positives():
    data = VECTORS["O6.2_empty_lists"]["inputs"] | {"galleries": VECTORS["data_mini"]["galleries"]}
    people = dict.fromkeys("abcdehkz", "x") | {"a": "y"}
    audit = audited(data, people, operating_points=("threshold=2", "threshold=-9"))
    for threshold, numbers in expected("O6.2_empty_lists").items():
        if threshold not in {"2", "-9"}:
            continue
        for metric in ("fnir", "fpir"):
            row = rate(audit, metric, grouping="all", operating_point=f"threshold={threshold}")
            assert row["value"] == pytest.approx(numbers[metric], **CLOSE)
    (noted,) = audit.data.subset(item="searches_without_candidates").rows()
    assert noted["count"] == 2


@pytest.mark.slow
def test_failures_that_are_told_are_left_out():
    ids = [search["probe"] for search in GROUPED["searches"]]
    failures = {"recording": ids[:2], "stage": ["acquire"] * 2}
    audit = audited(failures=failures)
    kept = audited({**GROUPED, "searches": GROUPED["searches"][2:]})
    for metric in ("fnir", "fpir"):
        for filters in ({"grouping": "all"}, {"grouping": "group", "group": "f"}):
            row, wanted = (rate(each, metric, **filters) for each in (audit, kept))
            assert (row["errors"], row["trials"]) == (wanted["errors"], wanted["trials"])
            assert row["low"] == wanted["low"]
    (fta,) = measure(audit, "fta", group="all")
    assert (fta["errors"], fta["trials"]) == (2, len(ids))
    (of_group,) = measure(audit, "fta", group="f")
    assert of_group["errors"] == 2
    for recording, stage in (("nothing", "acquire"), (ids[0], "enrol")):
        with pytest.raises(DataError, match=recording):
            audited(failures={"recording": [recording], "stage": [stage]})


def test_a_speaker_is_mated_in_one_gallery_only():
    data = VECTORS["O6.3_several_galleries"]["inputs"]
    people = dict.fromkeys("abcdeivw", "x") | {"a": "y"}
    audit = audited(data, people, operating_points="threshold=2")
    numbers = expected("O6.3_several_galleries")
    for metric in ("fnir", "fpir"):
        row = rate(audit, metric, grouping="all")
        assert row["value"] == pytest.approx(numbers["all"][metric], **CLOSE)
    (row,) = measure(audit, "false_candidate_rate", grouping="all")
    assert row["value"] == pytest.approx(numbers["false_candidate_rate"], **CLOSE)
    assert audit.record["identification"]["gallery_sizes"] == numbers["gallery_sizes"]
    shorts = [caveat.short for caveat in overview.overview(audit).caveats]
    assert "gallery sizes differ (2 to 4)" in shorts
    assert not len(audit.verdicts)  # until speakers who cross galleries have intervals


def households(sizes, *, seed=1):
    """Decisions in households of adults and children, who are recognised less well."""
    rng = np.random.default_rng(seed)
    rows, gallery, people = [], [], {}
    for house, n_members in enumerate(sizes):
        members = [f"h{house}p{i}" for i in range(n_members)]
        visitors = [f"v{house}-{i}" for i in range(2)]
        for i, person in enumerate([*members, *visitors]):
            people[person] = "child" if i % 2 else "adult"
            rate = 0.1 if i % 2 else 0.3
            for k in range(10):
                is_error = rng.random() < rate
                predicted = person if not is_error else "unknown"
                if person in visitors:
                    predicted = members[k % n_members] if is_error else "unknown"
                rows.append((f"{person}-{k}", f"house{house}", person, predicted))
        gallery += [(person, f"house{house}") for person in members]
    names = ["file", "gallery", "true_speaker", "predicted_speaker"]
    return (
        pl.DataFrame(rows, schema=names, orient="row"),
        {"id": [*people], "age": [*people.values()]},
        pl.DataFrame(gallery, schema=["person", "gallery"], orient="row"),
    )


@pytest.mark.slow
def test_households_are_the_sampling_unit_of_their_members():
    decisions, people, gallery = households([4] * 12)
    audit = pv.audit(decisions, people, gallery=gallery, by="age", replicates=50)
    assert audit.record["identification"]["unit"] == "gallery"
    row = rate(audit, "fnir", grouping="all")
    errors, trials = (
        decisions.filter(~pl.col("true_speaker").str.starts_with("v"))
        .group_by("gallery", maintain_order=True)
        .agg((pl.col("true_speaker") != pl.col("predicted_speaker")).sum().alias("k"), pl.len())
        .select("k", "len")
    )
    cell, unit = np.zeros(12, dtype=int), np.arange(12)
    of_units = ErrorsBySpeaker(cell, unit, errors.to_numpy(), trials.to_numpy(), 1)
    interval = rate_interval(moments(of_units), 0.95)
    assert (row["low"], row["high"]) == pytest.approx((interval.low[0], interval.high[0]))
    assert {verdict["metric"] for verdict in audit.verdicts.rows()} == {"fnir", "fpir"}
    assert "95 % CI over galleries" in " ".join(str(audit).split())


@pytest.mark.slow
def test_galleries_of_other_sizes_leave_false_positives_inconclusive():
    decisions, people, gallery = households([2, 6] * 8)
    audit = pv.audit(decisions, people, gallery=gallery, by="age", replicates=50)
    rows = [row for row in audit.verdicts.rows() if row["metric"] == "fpir"]
    assert {row["verdict"] for row in rows} == {"inconclusive"}
    assert {row["reason"] for row in rows} == {"gallery_sizes_differ"}
    assert "gallery sizes differ (2 to 6)" in " ".join(str(audit).split())


@pytest.mark.slow
def test_a_group_below_a_minimum_may_be_in_galleries_of_other_sizes(tmp_path):
    decisions, people, gallery = households([2, 6] * 8)
    people["age"][people["id"].index("v0-0")] = "baby"
    audit = pv.audit(decisions, people, gallery=gallery, by="age", replicates=50)
    (row,) = audit.verdicts.subset(metric="fpir", group="baby").rows()
    assert row["gates"].startswith("speakers_below_minimum")
    assert json.loads(row["values"])["speakers_below_minimum"] == {"speakers": 1}
    audit.report(tmp_path / "page.html")


@pytest.mark.slow
def test_values_of_verdicts_have_no_infinity():
    decisions, people, gallery = households([2, 6] * 8)
    right = pl.col("true_speaker").str.starts_with("v") & pl.col("true_speaker").str.ends_with("0")
    predicted = pl.when(right).then(pl.lit("unknown")).otherwise("predicted_speaker")
    decisions = decisions.with_columns(predicted.alias("predicted_speaker"))
    audit = pv.audit(decisions, people, gallery=gallery, by="age", replicates=50)
    assert math.inf in [row["ratio"] for row in audit.verdicts.rows()]
    assert "Infinity" not in "".join(row["values"] for row in audit.verdicts.rows())


def test_decisions_count_whatever_their_score():
    vector = VECTORS["O7.1_decisions"]
    names = ("file", "true_speaker", "predicted_speaker", "score")
    rows = [
        dict(zip(names, row, strict=True))
        for row in vector["inputs"]["rows_file_true_predicted_score"]
    ]
    people = {"id": ["anna", "ben", "carl"], "age": ["x", "y", "y"]}
    audit = pv.audit(
        pl.DataFrame(rows), people, gallery=",".join(vector["inputs"]["gallery"]), by="age"
    )
    numbers = vector["expected"]
    assert rate(audit, "fnir", grouping="all")["value"] == pytest.approx(numbers["fnir"], **CLOSE)
    assert rate(audit, "fpir", grouping="all")["value"] == pytest.approx(numbers["fpir"], **CLOSE)
    assert measure(audit, "wrong_person", group="all")[0]["value"] == numbers["wrong_person"]
    assert measure(audit, "top_s_miss", group="all")[0]["value"] == numbers["no_one"]
    assert [row["errors"] for row in measure(audit, "named_most")] == [1, 1]
    assert not len(audit.verdicts)
    assert not len(audit.bias)
    sentences = overview.overview(audit).finding_sentences
    assert sentences[0].startswith("Rates only: ")


@pytest.mark.parametrize(
    ("name", "counts"),
    [("O9.1_interval_fnir", "misses"), ("O9.2_interval_fpir", "false_positives")],
)
def test_intervals_are_over_probe_speakers(name, counts):
    inputs, numbers = VECTORS[name]["inputs"], expected(name)
    errors, trials = np.array(inputs[counts]), np.array(inputs["searches"])
    cell, speaker = np.zeros(errors.size, dtype=int), np.arange(errors.size)
    of_cells = moments(ErrorsBySpeaker(cell, speaker, errors, trials, 1))
    interval = rate_interval(of_cells, inputs["confidence"])
    assert interval.low[0] == pytest.approx(numbers["low"], abs=1e-7)
    assert interval.high[0] == pytest.approx(numbers["high"], abs=1e-7)
    assert interval.df[0] == pytest.approx(numbers["df"], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mated"), [("O9.1_interval_fnir", True), ("O9.2_interval_fpir", False)]
)
def test_an_audit_has_these_intervals(name, mated):
    inputs, numbers = VECTORS[name]["inputs"], expected(name)
    counts = inputs["misses" if mated else "false_positives"]
    rows = []
    for i, (n_errors, n_searches) in enumerate(zip(counts, inputs["searches"], strict=True)):
        speaker = f"s{i:02}" if mated else f"t{i:02}"
        for k in range(n_searches):
            is_error = k < n_errors
            rows.append(
                {
                    "search": f"{speaker}-{k}",
                    "probe_speaker": speaker,
                    "candidate": f"s{i:02}",
                    "score": 0.0 if is_error == mated else 1.0,
                }
            )
    gallery = [f"s{i:02}" for i in range(len(counts))]
    rows += [
        {"search": f"{p}-x", "probe_speaker": p, "candidate": "s00", "score": 1.0}
        for p in (["v1", "v2"] if mated else ["s00", "s01"])
    ]
    people = {"id": sorted({row["probe_speaker"] for row in rows})}
    people["group"] = ["x" if i % 2 else "y" for i in range(len(people["id"]))]
    audit = pv.audit(
        pl.DataFrame(rows),
        people,
        gallery=gallery,
        operating_points="threshold=1",
        replicates=50,
        interval="speakers",
    )
    assert len(audit.verdicts)
    row = rate(audit, "fnir" if mated else "fpir", grouping="all")
    assert (row["low"], row["high"]) == pytest.approx((numbers["low"], numbers["high"]), abs=1e-7)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["O10.1_format_candidates", "O10.2_format_trials", "O10.3_format_decisions"]
)
def test_files_of_searches_are_read(name, tmp_path):
    file = tmp_path / "searches.csv"
    file.write_text(VECTORS[name]["inputs"]["text"], encoding="utf-8")
    numbers = expected(name)
    utterances = {"utterance": ["p1", "q1"], "speaker": ["anna", "dora"]}
    searches = read_searches(
        file, read_gallery("anna,ben"), utterances=utterances if "trials" in name else None
    )
    ids = np.array(searches.ids)
    assert len(ids) == numbers["searches"]
    assert ids[searches.searches.is_mated].tolist() == numbers["mated"]
    assert ids[~searches.searches.is_mated].tolist() == numbers["nonmated"]


@pytest.mark.parametrize("name", [*VECTORS["O10.4_refused"]["inputs"]["texts"]])
def test_contradictory_files_are_refused_in_one_sentence(name, tmp_path):
    file = tmp_path / "searches.csv"
    file.write_text(VECTORS["O10.4_refused"]["inputs"]["texts"][name], encoding="utf-8")
    options = {} if "without a gallery" in name else {"gallery": "anna,ben"}
    utterances = {"utterance": ["p1", "q1"], "speaker": ["anna", "dora"], "sex": ["f", "m"]}
    people = {"id": ["anna", "ben", "dora"], "sex": ["f", "m", "m"]}
    with pytest.raises(DataError) as refusal:
        pv.audit(file, people, by="sex", utterances=utterances, **options)
    assert "; " in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert str(refusal.value).startswith("searches.csv")


def test_formats_and_columns_may_be_named(tmp_path):
    file = tmp_path / "searches.csv"
    text = VECTORS["O10.1_format_candidates"]["inputs"]["text"]
    file.write_text(text.replace("candidate", "hit"), encoding="utf-8")
    gallery = read_gallery("anna,ben")
    searches = read_searches(file, gallery, format="delimited", columns={"candidate": "hit"})
    assert searches.searches.n_mated == 1
    text = "enrol,test,who,score\nanna,p1,anna,2.5\nben,p1,anna,0.5\n"
    file.write_text(text, encoding="utf-8")
    searches = read_searches(file, gallery, columns={"test_speaker": "who"})
    assert searches.speakers == ("anna",)
    with pytest.raises(ConfigError, match="is not known"):
        read_searches(file, gallery, format="nothing")


def test_a_missing_pair_may_exclude_its_search(tmp_path):
    file = tmp_path / "scores.csv"
    text = VECTORS["O10.4_refused"]["inputs"]["texts"]["pair missing in a full score list"]
    file.write_text(text, encoding="utf-8")
    searches = read_searches(
        file,
        read_gallery("anna,ben"),
        utterances={"utterance": ["p1", "q1"], "speaker": ["anna", "dora"]},
        conflicts="exclude",
    )
    assert searches.ids == ("p1",)
    assert searches.n_excluded == 1


def test_several_models_of_a_person_count_as_the_best():
    gallery = pl.DataFrame({"person": ["anna", "anna", "ben"], "model": ["a1", "a2", "b1"]})
    rows = {
        "search": ["p1"] * 3,
        "probe_speaker": ["anna"] * 3,
        "candidate": ["a1", "b1", "a2"],
        "score": [0.5, 1.0, 2.0],
    }
    searches = read_searches(rows, read_gallery(gallery))
    assert searches.n_models == 1
    assert searches.searches.mate_score.tolist() == [2.0]


def test_lists_of_models_end_at_the_fewest_persons_of_any_that_is_cut(tmp_path):
    (tmp_path / "persons.csv").write_text("person,model\na,a1\na,a2\nb,b1\nc,c1\nd,d1\n")
    rows = ["search,probe_speaker,candidate,score", "p1,a,a1,3", "p1,a,a2,2", "p1,a,b1,1"]
    # as many models, of another number of persons; the third list is whole before it ends
    rows += ["p2,x,b1,3", "p2,x,c1,2", "p2,x,d1,1", "p3,x,c1,3"]
    (tmp_path / "lists.csv").write_text("\n".join(rows) + "\n")
    searches = read_searches(tmp_path / "lists.csv", read_gallery(tmp_path / "persons.csv"))
    assert searches.searches.list_length == 2
    assert searches.n_models == 1
    lengths = np.bincount(searches.searches.candidate_search)
    assert lengths.tolist() == [2, 2, 1]


def test_a_model_has_one_score_in_a_search():
    gallery = read_gallery(pl.DataFrame({"person": ["a", "a", "b"], "model": ["a1", "a2", "b1"]}))
    lists = {"search": ["p"] * 3, "probe_speaker": ["a"] * 3, "candidate": ["a1", "b1", "a1"]}
    pairs = {"enrol": ["a1", "a2", "b1", "a1"], "test": ["p"] * 4, "test_speaker": ["a"] * 4}
    for rows in (lists | {"score": [2, 1, 0]}, pairs | {"score": [2, 1, 0, 3]}):
        with pytest.raises(DataError, match=r"'a1' .* 'p'; keep one row for each model"):
            read_searches(rows, gallery)
    # persons without models are repeated by name
    with pytest.raises(DataError, match=r"'a' has a second score with 'p'; .*name the models"):
        read_searches(
            pairs | {"enrol": ["a", "b", "a", "b"], "score": [2, 1, 0, 3]}, read_gallery("a,b")
        )


def test_a_gallery_of_which_every_person_is_listed_has_lists_of_its_own_length():
    sizes = {"large": 6, "small": 4}
    rows = [(name, f"{name[0]}{i}") for name, size in sizes.items() for i in range(size)]
    gallery = read_gallery(pl.DataFrame(rows, schema=["gallery", "person"], orient="row"))
    # lists of the large gallery are cut after two persons, those of the small one are whole
    lengths = {"large": 2, "small": 4}
    lists = [
        (name, f"{name[0]}{i}", f"{name[0]}{j}", 9 - j)
        for name, length in lengths.items()
        for i in (0, 3)
        for j in range(length)
    ]
    table = pl.DataFrame(
        [(f"s-{person}", person, *row) for row in lists for person in row[1:2]],
        schema=["search", "probe_speaker", "gallery", "drop", "candidate", "score"],
        orient="row",
    ).drop("drop")
    searches = read_searches(table, gallery).searches
    assert searches.list_length == 2
    assert searches.list_lengths.tolist() == [2, 2, 4, 4]
    assert searches.cmc(3).tolist() == [0.5, 0.5, np.nan] or np.isnan(searches.cmc(3)[2])
    # what lies below the cut is unknown
    unknown = {"search": ["u"] * 2, "probe_speaker": ["?"] * 2, "gallery": ["large"] * 2}
    cut = pl.DataFrame(unknown | {"candidate": ["l0", "l1"], "score": [9, 8]})
    searches = read_searches(pl.concat([table, cut], how="vertical_relaxed"), gallery).searches
    assert np.isnan(searches.selectivity([8.0]))
    assert searches.selectivity([8.5]) == 1
    assert searches.subset(searches.gallery_size == 4).list_length is None


def test_a_gallery_with_empty_lists_only_cuts_no_other_list():
    sizes = {"large": 6, "small": 4}
    rows = [(name, f"{name[0]}{i}") for name, size in sizes.items() for i in range(size)]
    gallery = read_gallery(pl.DataFrame(rows, schema=["gallery", "person"], orient="row"))
    lists = [(f"s{i}", f"l{i}", "large", f"l{j}", 9.0 - j) for i in range(3) for j in range(3)]
    lists.append(("s9", "s0", "small", None, None))
    columns = ["search", "probe_speaker", "gallery", "candidate", "score"]
    searches = read_searches(pl.DataFrame(lists, schema=columns, orient="row"), gallery).searches
    assert searches.list_length == 3
    assert searches.cmc(3).tolist() == [0.25, 0.5, 0.75]


def test_a_model_is_not_named_like_another_person():
    models = pl.DataFrame({"person": ["anna", "ben"], "model": ["ben", "b1"]})
    with pytest.raises(DataError, match="'ben' of 'anna' has the name of another person"):
        read_gallery(models)
    models = models.with_columns(pl.Series("model", ["anna", None]))
    assert read_gallery(models).person_of_model == {"anna": "anna"}


def test_distances_are_negated():
    people = {"utterance": ["p1", "q1"], "speaker": ["anna", "dora"]}
    pairs = {"enrol": ["anna", "ben"] * 2, "test": ["p1", "p1", "q1", "q1"], "score": [1, 3, 2, 4]}
    lists = {
        "search": pairs["test"],
        "probe_speaker": ["anna"] * 2 + ["dora"] * 2,
        "candidate": pairs["enrol"],
        "score": pairs["score"],
    }
    for rows, utterances in ((pairs, people), (lists, None)):
        searches = read_searches(
            rows, read_gallery("anna,ben"), utterances=utterances, are_distances=True
        )
        assert searches.searches.mate_rank().tolist() == [1, 0]
        assert searches.searches.top_score.tolist() == [-1, -2]


def test_ranks_of_the_file_count_in_ties():
    rows = {
        "search": ["p1", "p1"],
        "probe_speaker": ["anna"] * 2,
        "rank": [1, 2],
        "candidate": ["anna", "ben"],
        "score": [1.0, 1.0],
    }
    assert read_searches(rows, read_gallery("anna,ben")).searches.mate_rank().tolist() == [1]
    del rows["rank"]
    assert read_searches(rows, read_gallery("anna,ben")).searches.mate_rank().tolist() == [2]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rank": 7}, "have 6 candidates"),
        ({"operating_points": "fpr=0.1"}, "does not apply to identification"),
        ({"limits": "fnr=5%"}, "does not apply to identification"),
        ({"cost": "sre08"}, "cannot be used with"),
        ({"gallery": ["f1", "unknown"]}, "does not name an enrolled person"),
        ({"gallery": ["f1"]}, "is not in the gallery"),
        ({"columns": {"search": "nothing"}}, "has no column"),
        ({"columns": {"enrolment": "search"}}, "is not a role of searches"),
    ],
)
def test_what_searches_cannot_have_is_refused(options, words):
    data = {**GROUPED, "searches": [dict(each) for each in GROUPED["searches"]]}
    for search in data["searches"]:
        search["candidates"] = search["candidates"][:-1]  # lists end at some rank
    with pytest.raises((ConfigError, DataError), match=words) as refusal:
        audited(data, **options)
    assert "\n" not in str(refusal.value)


def test_verification_has_no_rates_of_searches():
    trials = {"enrol": ["a/1"], "test": ["a/2"], "score": [1.0]}
    people = {"id": ["a", "b"], "sex": ["f", "m"]}
    for options in ({"operating_points": "fpir=0.1"}, {"rank": 2}, {"limits": "fpir=5%"}):
        with pytest.raises(ConfigError, match="identification"):
            pv.audit(trials, people, by="sex", **options)


# --- what is shown -------------------------------------------------------------------------------


def test_every_rate_stands_with_the_number_of_persons(audit):
    words = " ".join(str(audit).split())
    assert "against 7 persons" in words
    assert "All results hold for this gallery only" in words
    assert "trials" not in words
    assert "false accept" not in words


@pytest.mark.slow
def test_an_audit_is_saved_and_read_again(audit, tmp_path):
    audit.save(tmp_path / "audit")
    again = pv.load(tmp_path / "audit")
    assert again.searches.rows() == audit.searches.rows()
    assert str(again) == str(audit)


@pytest.mark.slow
def test_limits_are_of_rates_of_searches(tmp_path):
    audit = audited(limits=("fpir=5%", "fnir:f=10%", "fpir=1.5x"))
    limits = {(row["metric"], row["measure"]) for row in audit.limits.rows()}
    assert limits >= {("fpir", "limit"), ("fnir", "limit"), ("fpir", "ratio_limit")}
    audit.report(tmp_path / "page.html")
    assert "Limit of 5 % on FPIR" in " ".join(str(audit).split())


@pytest.mark.slow
def test_the_page_names_the_conditions(audit, tmp_path):
    audit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for words in ("7 persons", "closed set", "Who is named", "Top-1 EER", "--gallery"):
        assert words in page
    assert "target trials" not in page


def test_rates_and_ratios_are_those_of_searches(audit):
    assert {row["metric"] for row in audit.rates().rows()} == {"fnir", "fpir"}
    assert {row["metric"] for row in audit.ratios().rows()} == {"fnir", "fpir"}
    assert "45 searches" in repr(audit)


@pytest.mark.slow
def test_labels_replace_names_of_groups_and_systems(audit, tmp_path):
    labels = {"labels": {"f": "women", "scores": "Tracker", "fpir=0.2": "one in five"}}
    audit.report(tmp_path / "page.html", context=labels)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert ">women<" in page
    assert ">f<" not in page
    assert "one in five" in page


@pytest.mark.slow
def test_unknown_speakers_give_no_interval_in_several_systems():
    searches = [
        search | {"speaker": None} if search["speaker"] == "u1" else search
        for search in GROUPED["searches"]
    ]
    tables = [candidate_table(searches), candidate_table(searches[5:])]
    utterances = {
        "utterance": [search["probe"] for search in GROUPED["searches"]],
        "side": ["x" if i % 2 else "y" for i in range(len(GROUPED["searches"]))],
    }
    audit = pv.audit(
        {"A": tables[0], "B": tables[1]},
        utterances=utterances,
        by="side",
        gallery=gallery_table(GROUPED["galleries"]),
        operating_points="fpir=0.2",
        replicates=50,
        gates=("inference=1",),
    )
    for system in ("A", "B"):
        assert rate(audit, "fpir", grouping="all", system=system)["high"] is None
        assert rate(audit, "fnir", grouping="all", system=system)["high"] is not None


def test_charts_are_of_verification(audit):
    with pytest.raises(ConfigError, match="identification"):
        audit.charts.forest()


def test_rates_by_person_are_all_that_a_household_shows():
    rng = np.random.default_rng(0)
    persons = ["ada", "bo", "cai", "dee", "eli", "fay"]
    rows = [
        (f"{person}-{k}", person, person if rng.random() < 0.8 else "unknown")
        for person in persons
        for k in range(20)
    ]
    rows += [(f"guest-{k}", "guest", "ada" if k < 2 else "unknown") for k in range(20)]
    table = pl.DataFrame(rows, schema=["file", "true_speaker", "predicted_speaker"], orient="row")
    household = {"person": persons, "age": ["adult"] * 3 + ["child"] * 3}
    audit = pv.audit(table, household, gallery=household, by="age")
    assert not len(audit.verdicts)
    assert len(measure(audit, "fnir_of_person")) == 6
    words = " ".join(str(audit).split())
    assert "Rates only: each group has 3 speakers" in words
    assert "2/20, all of unknown speakers" in words
    assert "▲" not in words
    assert rate(audit, "fpir", grouping="all")["speakers"] == 0


# --- what audits of searches refuse -------------------------------------------------------------

DECIDED = {
    "file": ["p1", "p2", "p3"],
    "true_speaker": ["anna", "ben", "guest"],
    "predicted_speaker": ["anna", "anna", "unknown"],
}
AGES = {"id": ["anna", "ben"], "age": ["x", "y"]}
LISTED = {
    "search": ["p1", "p1", "p2", "p2", "p3", "p3"],
    "probe_speaker": ["anna"] * 2 + ["ben"] * 2 + ["guest"] * 2,
    "candidate": ["ben", "anna"] * 3,
    "score": [2.0, 1.0] * 3,
}


def test_a_list_of_persons_without_a_header_is_refused(tmp_path):
    file = tmp_path / "gallery.csv"
    for header, is_known in (("person", True), ("speaker", True), ("anna", False)):
        file.write_text(f"{header}\nben\ncarl\n", encoding="utf-8")
        if is_known:
            assert read_gallery(file).persons == ("ben", "carl")
            continue
        with pytest.raises(DataError, match=r"has no column 'person' \(found: anna\)") as refusal:
            read_gallery(file)
        assert "header line: person" in refusal.value.hint


@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("label", ["target", "spoof", "target"]),
        ("attack", ["-", "A01", ""]),
        ("spoof", ["0", "1", "0"]),
    ],
)
@pytest.mark.parametrize("place", ["decisions", "scores", "utterances"])
def test_spoofed_probes_are_refused(column, cells, place):
    if (column, place) == ("label", "utterances"):
        pytest.skip("a label is of a trial")
    scores, utterances = pl.DataFrame(DECIDED), None
    if place == "decisions":
        scores = scores.with_columns(pl.Series(column, cells))
    elif place == "scores":
        pairs = {"enrol": LISTED["candidate"], "test": LISTED["search"], "score": LISTED["score"]}
        pairs |= {"test_speaker": LISTED["probe_speaker"]}
        scores = pl.DataFrame(pairs | {column: [cell for cell in cells for _ in range(2)]})
    else:
        utterances = {"utterance": DECIDED["file"], column: cells}
    with pytest.raises(DataError, match="identification with spoof trials is not supported"):
        pv.audit(scores, AGES, gallery="anna,ben", by="age", utterances=utterances)


def test_probes_of_bona_fide_speech_may_say_so():
    audit = pv.audit(
        pl.DataFrame(DECIDED | {"attack": ["-"] * 3}), AGES, gallery="anna,ben", by="age"
    )
    assert rate(audit, "fnir", grouping="all")["trials"] == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"cm": {"recording": ["p1"], "score": [1.0]}}, "cannot be used with"),
        ({"cm_threshold": "0.5"}, "cannot be used with"),
        (
            {"utterances": {"utterance": ["p1"], "speaker": ["anna"]}},
            "the table names only speakers",
        ),
    ],
)
def test_options_without_effect_on_searches_are_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        pv.audit(pl.DataFrame(DECIDED), AGES, gallery="anna,ben", by="age", **options)


@pytest.mark.slow
def test_higher_ranks_do_not_split_misses(tmp_path):
    for rank, is_split in ((1, True), (2, False)):
        audit = pv.audit(
            pl.DataFrame(LISTED),
            AGES,
            gallery="anna,ben",
            by="age",
            rank=rank,
            operating_points="threshold=0",
        )
        audit.report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        for words in (page, " ".join(str(audit).split())):
            assert ("as another person" in words.lower()) == is_split
        assert ("Not recognised" in page) == is_split
        assert bool(measure(audit, "wrong_of_person")) == is_split


@pytest.mark.parametrize("options", [{"limits": "fpir=5%"}, {"speaker_ids": "offenders"}])
def test_options_that_need_intervals_are_refused_where_there_are_rates_only(options):
    with pytest.raises(ConfigError, match=r"have only rates: .*; leave out") as refusal:
        pv.audit(pl.DataFrame(DECIDED), AGES, gallery="anna,ben", by="age", **options)
    assert "no-intervals" not in str(refusal.value)


@pytest.mark.slow
def test_few_expected_false_positives_are_told(audit):
    (row,) = audit.data.subset(item="few_false_positives_expected").rows()
    (point,) = measure(audit, "selectivity", grouping="all")
    assert (row["count"], row["value"]) == (point["trials"], pytest.approx(0.2 * point["trials"]))
    shorts = [caveat.short for caveat in overview.overview(audit).caveats]
    assert "few false positives expected at the operating point" in shorts
    at_threshold = audited(operating_points="threshold=1")
    assert not len(at_threshold.data.subset(item="few_false_positives_expected"))


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_the_page_has_a_row_of_unknown_speakers(tmp_path):
    audit = pv.audit(pl.DataFrame(DECIDED), AGES, gallery="anna,ben", by="age")
    (row,) = measure(audit, "fpir_of_unknown")
    assert (row["errors"], row["trials"]) == (0, 1)
    audit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "unknown speakers (in no group)" in page
    assert "1 search of unknown speakers" in page
    assert "1 search is of speakers without an id" in page


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_the_page_names_the_sampling_unit_and_households(audit, tmp_path):
    decisions, people, gallery = households([4] * 12)
    of_households = pv.audit(decisions, people, gallery=gallery, by="age", replicates=50)
    for each, unit in ((of_households, "galleries"), (audit, "probe speakers")):
        each.report(tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        assert f"intervals treat {unit} as the sampling unit" in page
        assert f"treat {unit}, not searches, as the sampling unit" in page
        text = " ".join(page.split())
        assert "This report does not show: that a difference is discrimination, or" in text
        assert "Personal data: the report " in text
        assert "options and version of Parivox give a byte-identical report." in text
    listed = pv.audit(
        pl.DataFrame(LISTED), AGES, gallery="anna,ben", by="age", operating_points="threshold=0"
    )
    decided = pv.audit(pl.DataFrame(DECIDED), AGES, gallery="anna,ben", by="age")
    assert "household" in str(decided)
    assert "record at least 10 speakers in each group" in " ".join(str(listed).split())
    assert "household" not in str(listed)


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("speaker_ids", "words"),
    [("never", "lists no speaker ids"), ("offenders", "lists ids of enrolled persons")],
)
def test_results_by_person_are_named_as_personal_data(speaker_ids, words, tmp_path):
    audit = audited(speaker_ids=speaker_ids)
    (person, *_) = (row["person"] for row in measure(audit, "named_most"))
    audit.report(tmp_path / "page.html")
    text = " ".join((tmp_path / "page.html").read_text(encoding="utf-8").split())
    assert f"Personal data: the report {words}. Names and results of groups with few" in text
    assert "few speakers, and results by person, may concern identifiable persons." in text
    assert (person != "" and person in text) == (speaker_ids == "offenders")


def test_a_missing_or_repeated_pair_is_named():
    pairs = pl.DataFrame(
        {
            "enrol": LISTED["candidate"],
            "test": LISTED["search"],
            "test_speaker": LISTED["probe_speaker"],
            "score": LISTED["score"],
        }
    )
    for rows, words in (
        (
            pairs[1:],
            "1 pair of a probe and an enrolled person has no score, namely that of probe 'p1'",
        ),
        (pairs.vstack(pairs[:1]), "column 'enrol': '.*' has a second score with 'p1'"),
        (pairs.vstack(pairs[2:]), "has a second score with '"),
    ):
        with pytest.raises(DataError, match=words):
            read_searches(rows, read_gallery("anna,ben"))


@pytest.mark.slow
def test_rules_of_points_may_be_in_capitals(audit):
    in_capitals = audited(operating_points="FPIR=0.2")
    assert in_capitals.groups.rows() == audit.groups.rows()
    assert in_capitals.data.rows() == audit.data.rows()
    decided = pv.audit(
        pl.DataFrame(DECIDED), AGES, gallery="anna,ben", by="age", operating_points="DEPLOYED"
    )
    assert rate(decided, "fnir", grouping="all")["value"] == 0.5


def test_speakers_of_non_mated_searches_count_where_there_are_rates_only():
    strangers = ["dora", "emil", "fred", "gina"]
    decisions = {
        "file": [f"{name}-1" for name in strangers],
        "true_speaker": strangers,
        "predicted_speaker": ["anna", "unknown", "unknown", "ben"],
    }
    people = {"id": strangers, "age": ["x", "y"] * 2}
    audit = pv.audit(pl.DataFrame(decisions), people, gallery="anna,ben", by="age")
    assert "Rates only: each group has 2 speakers" in " ".join(str(audit).split())


@pytest.mark.parametrize("limit", ["fpir=abc", "fnir:f=0.5x", "fpir="])
def test_limits_are_refused_as_they_were_written(limit):
    with pytest.raises(ConfigError) as refusal:
        audited(limits=("fnir=10%", limit))
    assert refusal.value.problem == f"--limit: {limit!r} is not RATE=MAX"
    assert refusal.value.hint == "use fpir=5% or fnir=10%"


def test_a_limit_that_is_given_twice_is_named_as_it_was_written():
    with pytest.raises(ConfigError, match=r"twice.*fpir=5%"):
        audited(limits=("fpir=5%", "fpir=0.05"))


@pytest.mark.slow
def test_nobody_is_named_most_where_lists_end_above_the_threshold():
    cut = {name: cells[::2] for name, cells in LISTED.items()}
    for lists, is_told in ((LISTED, True), (cut, False)):
        audit = pv.audit(
            pl.DataFrame(lists),
            AGES,
            gallery="anna,ben",
            by="age",
            operating_points="threshold=0",
        )
        assert bool(measure(audit, "named_most")) == is_told


@pytest.mark.slow
def test_the_det_curve_is_of_searches(audit, tmp_path):
    by_grouping = {curves.grouping: curves for curves in error_curves(audit)}
    (grouping,) = set(by_grouping) - {"all"}
    of_all = by_grouping["all"]
    row = audit.operating_points.rows()[0]
    index = int(np.searchsorted(of_all.thresholds, row["threshold"]))
    point = {"operating_point": row["operating_point"], "grouping": "all"}
    for metric, value in (("fnir", of_all.fnr[0, index]), ("fpir", of_all.fpr[0, index])):
        assert rate(audit, metric, **point)["value"] == pytest.approx(value)
    spec = det(audit, by=grouping)
    marks = [mark["t"] for mark in spec["data"]["values"] if mark["k"] == "at"]
    assert all(words.startswith("FPIR ") for words in marks)
    assert all("FNIR " in words for words in marks)
    assert not [mark for mark in spec["data"]["values"] if mark["k"] == "own"]
    with pytest.raises(ConfigError, match="distributions is not drawn for identification"):
        distributions(audit)
    audit.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="det-h"' in page
    assert "<svg" in page[page.index('id="det"') :]
