"""The study of coverage in `benchmarks/coverage` runs, and its page says what it found."""

import dataclasses
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

import parivox as pv
from parivox.core.cluster_errors import moments
from parivox.core.noise import gamma_multinomial
from parivox.report import findings
from parivox.report.audit_queries import scopes

ROOT = Path(__file__).parents[1]


@pytest.fixture
def study_module(monkeypatch):
    """Import a part of the study, which lies beside the package."""
    if not (ROOT / "benchmarks").is_dir():
        pytest.skip("the benchmarks are not part of this copy")
    monkeypatch.syspath_prepend(ROOT)
    return lambda name: importlib.import_module(f"benchmarks.coverage.{name}")


@pytest.mark.slow
def test_the_pages_hold_the_figures_that_are_kept(study_module):
    page, records = study_module("page"), study_module("records")
    assert [*page.TEMPLATES] == ["coverage.md", "why-believe-it.md"]
    for name, template in page.TEMPLATES.items():
        text = (page.DOCS / name).read_text(encoding="utf-8")
        assert text == page.render(template, records.read())


@pytest.mark.slow
def test_every_figure_of_the_pages_has_rows(study_module):
    page, records = study_module("page"), study_module("records")
    for template in page.TEMPLATES.values():
        text = page.render(template, records.read())
        assert "<<" not in text
        assert page.NO_FIGURE not in text
        assert page.render(template, {}).count(page.NO_FIGURE) == template.count("<<") > 0


def test_a_figure_of_a_page_is_the_range_of_the_rows_that_meet_its_conditions(study_module):
    page = study_module("page")
    rows = [
        {"design": "a b", "level": 0.95, "coverage": 0.941, "coverage_error": 0.005},
        {"design": "a b", "level": 0.9, "coverage": 0.00004, "coverage_error": 0.001},
        {"design": "c", "level": 0.95, "coverage": 1.0, "coverage_error": 0.0},
        {"design": "c", "level": 0.95, "coverage": None, "coverage_error": None},
    ]
    for query, figure in {
        '<<s coverage "design=a b" level=0.95>>': ".941 ± .005",
        '<<s coverage "design=a b">>': ".00004 to .941",
        '<<s coverage "design!=a b">>': "1.000 ± 0",
        "<<max s coverage level=0.95|0.9>>": "1.000",
        '<<percent s coverage "design=a b">>': "0.004 to 94.1 %",
        '<<percent s coverage "design=a b" level=0.95>>': "94.1 ± 0.5 %",
        "<<percent s coverage design=c level=0.95>>": "100 ± 0 %",
        "<<max-percent s coverage level=0.95|0.9>>": "100 %",
        "<<s coverage design=d>>": page.NO_FIGURE,
    }.items():
        assert page.render(query, {"s": rows}) == figure


def test_reports_quote_how_often_something_is_said_of_fair_systems(study_module):
    rows = study_module("records").read()["findings"]
    shares = study_module("findings").shares(rows)
    most = max(row["said"] for row in shares)
    assert f"about {100 * most:.0f} in 100 " in findings.EXPLORATORY_SENTENCE
    page = (ROOT / "docs" / "uncertainty.md").read_text(encoding="utf-8")
    assert f"about {100 * most:.0f} %" in page


def test_pages_give_shares_of_all_lists_where_cells_keep_numbers(study_module):
    page = study_module("page")
    cells = [{"design": "D", "of": "gender", "datasets": 50, "said": said} for said in (2, 0, 4)]
    others = [{"design": "D", "said": 0.5, "said_error": 0.1}, {"design": "D", "coverage": 0.95}]
    studies = {"s": [*cells, *others]}
    assert page.render('<<s said "of=gender">>', studies) == ".040 ± .016"
    assert page.render("<<s datasets of=gender>>", studies) == "150"
    assert page.render("<<s said of=>>", studies) == ".500 ± .100"
    assert page.render("<<s coverage design=D>>", studies) == ".950"


def test_few_replicates_spread_as_much_as_many(study_module):
    rates = np.random.default_rng(3).normal(size=(5, 40_000))
    # the root of the unbiased variance would be .94
    assert study_module("peers")._unbiased_sd(rates).mean() == pytest.approx(1, abs=0.006)


@pytest.mark.parametrize("skewed", [False, True])
def test_simulated_speakers_have_the_rate_asked_for(study_module, skewed):
    simulate, rng = study_module("simulate"), np.random.default_rng(5)
    targets = simulate.target_design([20] * 5)
    nontargets = simulate.nontarget_design([20] * 5)
    for cluster_errors, rate in (
        (simulate.misses(targets, 0.1, 400, rng, skewed=skewed), 0.1),
        (simulate.false_accepts(nontargets, 0.01, 400, rng, skewed=skewed), 0.01),
    ):
        rates = cluster_errors.sum_by_cell(cluster_errors.errors) / cluster_errors.sum_by_cell(
            cluster_errors.trials
        )
        error = rates.mean(axis=1).std(ddof=1) / 20
        assert abs(rates.mean() - rate) < 4 * error


def test_pairs_of_a_group_enrol_in_both_orders_and_others_in_one(study_module):
    design = study_module("simulate").enrolled_design([2, 3], 4)
    assert design.sum_by_cell(design.trials).tolist() == [2 * 4 * 4, 3 * 4 * 4]
    assert set(design.trials.tolist()) == {4, 8}
    assert design.n_pairs.tolist() == [1 + 6, 3 + 6]


def test_an_interval_is_counted_on_the_side_on_which_it_misses(study_module):
    low, high = np.array([[0.1, 0.3], [0.1, np.nan]]), np.array([[0.4, 0.5], [0.15, np.nan]])
    row = study_module("records").interval_row(0.2, low, high)
    assert (row["below"], row["above"], row["undefined"]) == (0.33333, 0.33333, 0.25)
    assert row["coverage"] == 0.33333
    assert row["coverage_error"] > 0


@pytest.mark.slow
def test_large_groups_with_few_trials_a_pair_do_not_hide_how_small_groups_vary(study_module):
    simulate, rng = study_module("simulate"), np.random.default_rng(3)
    design = simulate.nontarget_design([8] * 6 + [60] * 2, [280] * 6 + [59] * 2)
    effects = simulate.Spread(nontarget=0.03, pair=0.4)
    drawn = simulate.false_accepts(design, 0.05, 200, rng, spread=effects)
    true = moments(drawn).rate[:, :6].std(axis=0).mean()
    dataset_moments = [
        moments(dataclasses.replace(drawn, errors=errors)) for errors in drawn.errors
    ]

    drawn = [
        gamma_multinomial(dataset, 50, np.random.default_rng(i)).rates
        for i, dataset in enumerate(dataset_moments)
    ]
    spread = np.sqrt(np.mean([dataset[:, :6].var(axis=0) for dataset in drawn]))
    # a little less than in truth, as all draws have the same errors in all
    assert 0.92 * true < spread < 1.05 * true


@pytest.mark.slow
def test_p_values_of_all_measures_are_told_by_kind_of_error(study_module, capsys):
    assert study_module("__main__").main(["measures", "--quick", "--cells", "4 x 5/0.018"]) == 0
    out = capsys.readouterr().out
    measures = study_module("measures")
    for measure in (*measures.SINGLE, *measures.JOINT):
        assert f"measure {measure.name}, datasets 4" in out
    assert "kind both, measure GARBE" in out


@pytest.mark.slow
def test_every_cell_of_every_study_runs_in_minutes(study_module, capsys):
    main = study_module("__main__")
    assert main.main([]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed] == [*main.STUDIES, "page"]
    assert main.main([*main.STUDIES, "--cells"]) == 0
    cells = capsys.readouterr().out.splitlines()
    assert len(cells) == sum(int(line.split()[1]) for line in listed[:-1])
    assert all(float(cell.split()[0]) <= 8 for cell in cells)
    assert all(int(re.search(r"(\d+) in all", line)[1]) <= 16 for line in listed[:-1])  # two cores


def test_minutes_are_those_of_the_draws_of_a_run(study_module, monkeypatch):
    main = study_module("__main__")
    rows = [{"cell": "blocks/fnr/2/even", "minutes": 3.0, "draws": 3 * main.blocks.DATASETS}]
    monkeypatch.setattr(main, "read", lambda: {"blocks": rows})
    assert main._minutes("blocks")["blocks/fnr/2/even"] == pytest.approx(1)
    # more draws are more cells here, each as long
    cell = main._cells(main.findings, main.findings.DATASETS)[0]
    rows = [{"cell": cell, "minutes": 2.0, "draws": 2 * main.findings.DATASETS}]
    monkeypatch.setattr(main, "read", lambda: {"findings": rows})
    assert main._minutes("findings")[cell] == 2


def test_lists_of_all_cells_add_up(study_module):
    rows = [{"design": "H", "of": "gender", "datasets": 50, "said": n_said} for n_said in (2, 0, 4)]
    (share,) = study_module("findings").shares(rows)
    assert (share["said"], share["datasets"]) == (0.04, 150)
    assert share["said_error"] == pytest.approx(np.sqrt(0.04 * 0.96 / 150), rel=1e-4)


@pytest.mark.slow
def test_a_quick_run_keeps_nothing(study_module, capsys):
    records = study_module("records")
    before = {file: file.read_bytes() for file in records.RESULTS.iterdir()}
    cells = ["fnr/8/even/0.1", "fpr/8/even/0.01", "fnr/25 against 25/0.1"]
    assert study_module("__main__").main(["rates", "ratios", "--quick", "--cells", *cells]) == 0
    out = capsys.readouterr().out
    assert all(cell in out for cell in cells)
    assert "coverage" in out
    assert {file: file.read_bytes() for file in records.RESULTS.iterdir()} == before


@pytest.mark.slow
def test_a_corpus_that_is_missing_is_named_with_what_makes_it(
    study_module, monkeypatch, tmp_path, capsys
):
    monkeypatch.setenv("PARIVOX_SPEECHOCEAN", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        study_module("__main__").main(["speechocean", "--quick", "--cells", "gates/2"])
    assert ended.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {tmp_path / 'scores.parquet'}: not found; make it with ")
    assert "docs/speechocean.md" in error


def test_rows_of_the_second_corpus_name_it_and_have_no_ids(study_module):
    rows = study_module("records").read()["speechocean"]
    for row in rows:
        assert row["corpus"] == "speechocean"
        assert row["datasets"] > 0
        assert "speaker" not in row


def test_groups_drawn_with_replacement_have_the_rate_of_all_speakers(study_module):
    rivals, speechocean = study_module("rivals"), study_module("speechocean")
    rng, n = np.random.default_rng(3), 20
    first, second = np.triu_indices(n, 1)
    errors = rng.binomial(10, rng.beta(1, 9, first.size))
    pairs = rivals.Pairs(first, second, errors, np.full(first.size, 10))
    drawn = speechocean._drawn_errors(pairs, "fpr", 8, 4000, rng)
    assert drawn.first_speaker.max() == 6
    assert drawn.second_speaker.max() == 7
    # a pair of one person, drawn twice, is no trial
    assert drawn.n_pairs.mean() == pytest.approx(28 * (1 - 1 / n), rel=0.01)
    rate = drawn.errors.sum() / drawn.trials.sum()
    assert rate == pytest.approx(errors.sum() / (10 * first.size), rel=0.02)


def test_rows_of_peers_are_the_trials_of_pairs_of_speakers(study_module):
    peers, rivals = study_module("peers"), study_module("rivals")
    speaker = np.arange(3)
    pairs = rivals.Pairs(speaker, speaker, np.array([0, 2, 1]), np.array([2, 3, 1]))
    group, enrol, error = peers._expanded(np.array([0, 0, 1]), pairs)
    assert group.tolist() == [0, 0, 0, 0, 0, 1]
    assert enrol.tolist() == [0, 0, 1, 1, 1, 2]
    assert error.tolist() == [0, 0, 1, 1, 0, 1]


@pytest.mark.slow
def test_rivals_are_compared_with_what_an_audit_reports(study_module):
    rivals, rng, n = study_module("rivals"), np.random.default_rng(3), 60
    is_target = np.arange(n * 40) % 2 == 0
    enrol = np.repeat(np.arange(n), 40)
    test = np.where(is_target, enrol, (enrol + rng.integers(1, n, enrol.size)) % n)
    score = rng.normal(2.0 * is_target + rng.normal(0, 0.4, n)[enrol])
    ids = np.arange(enrol.size)
    scores = {
        "enrol": [f"s{i:02}/a{k}" for i, k in zip(enrol, ids, strict=True)],
        "test": [f"s{i:02}/b{k}" for i, k in zip(test, ids, strict=True)],
        "score": score,
        "label": is_target.astype(int),
    }
    group = np.arange(n) % 3
    people = {"speaker": [f"s{i:02}" for i in range(n)], "part": [*map(str, group)]}
    audit = pv.audit(scores, speakers=people, by="part", operating_points="threshold=1")
    is_error = (score >= 1) != is_target
    for kind, is_of_kind in (("fnr", is_target), ("fpr", ~is_target)):
        keys, pair = np.unique(np.stack([enrol, test])[:, is_of_kind], axis=1, return_inverse=True)
        counts = [np.bincount(pair, weights) for weights in (is_error[is_of_kind], None)]
        pairs = rivals.Pairs(*keys, *(column.astype(np.int64) for column in counts))
        answer = rivals.parivox(*pairs.within(group), 3)
        chosen = {"grouping": "part", "metric": kind, "operating_point": "threshold=1"}
        rows = [row for row in audit.groups.filter(**chosen).rows() if row["group"] != "pooled"]
        assert answer.low.tolist() == pytest.approx([row["low"] for row in rows])
        assert answer.high.tolist() == pytest.approx([row["high"] for row in rows])
        verdicts = audit.verdicts.filter(**chosen).rows()
        assert answer.p.tolist() == pytest.approx([row["p"] for row in verdicts if row["group"]])


def test_the_readme_quotes_the_comparison_with_rivals(study_module):
    rows = study_module("records").read()["rivals"]

    def figures(method, column):
        return [
            row[name]
            for row in rows
            if row["method"] == method
            for name in row
            if name.startswith(column) and not name.endswith("_error") and row[name] is not None
        ]

    def percent(share):
        return f"{100 * share:.0f}"

    coverage = figures("Parivox", "coverage")
    quoted = (
        "95 % intervals of the false reject rate (FNR) from a bootstrap over rows contain the "
        "true rate in about "
        f"{percent(np.mean(figures('rows', 'coverage')))} % of cases, and every audit finds a "
        "group that differs. Intervals by Parivox contain the true rate in "
        f"{percent(min(coverage))} to {percent(max(coverage))} % of cases, and about "
        f"{percent(np.mean(figures('Parivox', 'significant')))} % of audits find a group "
        "that differs."
    )
    assert set(figures("rows", "significant")) == {1.0}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert quoted in " ".join(readme.split())


def test_rows_come_back_from_a_file_as_they_were(study_module, tmp_path):
    records = study_module("records")
    rows = [
        {"cell": "a, b", "speakers": "150", "n": 150, "share": 0.25, "fair": True, "none": None},
        {"cell": 'c "d"', "fault": "", "more": "12+4"},
    ]
    order = ["a, b", 'c "d"', "e"]
    records.keep("study", [{"cell": "e"}], 1, 0.5, order, tmp_path)
    records.keep("study", rows, 1, 0.5, order, tmp_path)
    records_kept = records.read(tmp_path)["study"]
    columns_kept = [
        {k: v for k, v in row.items() if k not in {"about", "minutes", "draws"}}
        for row in records_kept
    ]
    assert columns_kept == [*rows, {"cell": "e"}]


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 2.0])
def test_the_study_of_findings_reads_words_that_reports_say(study_module, shift):
    rng, n = np.random.default_rng(3), 40
    speaker = np.repeat(np.arange(n), 12)
    impostor = (speaker + rng.integers(1, n, speaker.size)) % n
    enrol, test = np.append(speaker, speaker), np.append(speaker, impostor)
    is_target = enrol == test
    score = rng.normal(3.0 * is_target - shift * is_target * (enrol % 2))
    ids = np.arange(enrol.size).astype(str)
    scores = {
        "enrol": [f"s{i}/a{k}" for i, k in zip(enrol, ids, strict=True)],
        "test": [f"s{i}/b{k}" for i, k in zip(test, ids, strict=True)],
        "score": score,
        "label": is_target.astype(int),
    }
    people = {"speaker": [f"s{i}" for i in range(n)], "half": ["f", "m"] * (n // 2)}
    audit = pv.audit(scores, speakers=people, by="half", operating_points="fpr=0.05")
    differs = bool(shift)
    shares = study_module("findings").findings_of(audit)
    assert shares["half"] == shares["and EER"] == differs
    (line,) = [
        line
        for scope in scopes(audit)
        for line in findings.group_eer_lines(audit, scope.filters)
        if line.label == "comparison"
    ]
    assert line.is_shown == differs
    assert line.words.endswith("(inconclusive)") != differs
