import base64
import hashlib
import itertools
import json
import re
import sys
import zipfile

import pytest

import parivox as pv
from parivox.errors import ConfigError
from parivox.report.html import html_report
from parivox.report.html.assembly import SECTIONS, environment
from parivox.report.html.first_screen import all_groups
from parivox.report.html.groups import trial_list_section
from parivox.report.overview import overview
from parivox.report.sheets.sheet import Cell, Sheet
from parivox.report.words import short_number

pytestmark = pytest.mark.usefixtures("without_figures")
ODD = [
    "<script>alert(1)</script>",
    "a\" onload='x' & b",
    "\u202egnp.\u05d0\u05d1",
    "long" * 50,
    "👩🏽‍🦱",
    "{{ 7 * 7 }}",
    "=1+1|\\",
]


NOT_IN_EVERY_PAGE = ("compared", "attacks")
"""Sections of several systems, and of spoof trials."""


def test_the_sections_stand_in_order_and_can_be_reached(html, read):
    reader = read(html)
    sections = [attributes["id"] for attributes in reader.elements_of("section")]
    assert sections == ["answer", *(name for name in SECTIONS if name not in NOT_IN_EVERY_PAGE)]
    links = {
        attributes["href"][1:]
        for attributes in reader.elements_of("a")
        if attributes["href"].startswith("#")
    }
    ids = [attrs["id"] for _, attrs in reader.elements if "id" in attrs]
    assert links <= set(ids)
    assert len(ids) == len(set(ids))


@pytest.mark.slow
def test_headings_never_skip_a_level(html, read):
    levels = [int(tag[1]) for tag, _ in read(html).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_tables_have_captions_and_heads_with_scope(html, read):
    reader = read(html)
    assert len(reader.elements_of("caption")) == len(reader.elements_of("table")) > 10
    assert all(attributes.get("scope") for attributes in reader.elements_of("th"))


@pytest.mark.slow
def test_the_same_audit_gives_the_same_bytes(small, html):
    assert html_report(small) == html


def test_nothing_is_fetched(html, read):
    reader = read(html)
    for _, attrs in reader.elements:
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
    assert not reader.elements_of("link")
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_what_stands_in_the_page_by_hash_and_nothing_else(html, read):
    (policy,) = [
        script["content"] for script in read(html).elements_of("meta") if "http-equiv" in script
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    for kind, pattern in (
        ("script-src", r"<script>(.*?)</script>"),
        ("style-src", "<style>(.*?)</style>"),
    ):
        blocks = re.findall(pattern, html, re.DOTALL)
        hashes = {
            "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"
            for script in blocks
        }
        assert hashes
        assert set(rules[kind].split()) == hashes
    assert not re.search(r'<[a-z][^>]*\sstyle="', html)
    assert not re.search(r"<[a-z][^>]*\son\w+=", html)


@pytest.mark.slow
def test_names_of_any_kind_are_text_and_nothing_else(odd, read):
    page = html_report(odd(ODD), title="<b>T</b>")
    reader = read(page)
    assert not reader.elements_of("b") or "<b>T" not in page
    assert "&lt;b&gt;T&lt;/b&gt;" in page
    assert "<script>alert" not in page
    assert "{{ 7 * 7 }}" in reader.text
    assert all("onload" not in attrs for _, attrs in reader.elements)
    assert "49" not in re.findall(r"<bdi>([^<]*)</bdi>", page)
    page_json = re.search(
        r'<script type="application/json" id="x-data">(.*?)</script>', page, re.DOTALL
    )
    assert ODD[0] in json.dumps(json.loads(page_json[1]), ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 200])
def test_one_group_and_two_hundred_make_a_page(odd, read, n):
    reader = read(html_report(odd([f"g{i}" for i in range(n)])))
    assert f"g{n - 1}" in reader.text


@pytest.mark.slow
def test_without_nontarget_trials_the_page_says_what_is_missing(odd, read):
    text = read(html_report(odd(["f", "m"], nontarget=False))).text
    assert "No FPR: no nontarget trials" in text
    assert "False accepts (FPR) inconclusive (no nontarget trials): f, m." in text
    assert "False accepts (FPR), fewer than" not in text
    assert "False accepts (FPR) no nontarget trials" in text
    assert "¹ no nontarget trials." in text.partition("Operating points: common thresholds")[2]


@pytest.mark.slow
def test_without_own_trials_the_page_says_so_first(odd, read):
    text = read(html_report(odd(["f", "m"], target=False))).text
    assert "False rejects (FNR) no target trials" in text
    assert "1 comparison:" in text


@pytest.mark.slow
def test_a_group_without_trials_is_told_with_its_speakers(odd, read):
    text = read(html_report(odd(["a", "<c>"], absent=["<c>"]))).text
    sentence = "by kind (3 speakers in the speaker table) has no trials and cannot be assessed: <c>"
    assert text.count(sentence) == 3
    assert text.index("limitations.") < text.index(sentence) < text.index("Findings by operating")


def test_groups_are_drawn_with_the_ratios_of_their_verdicts(audited, read):
    audit = audited(by=["gender"], operating_points=["fpr=0.01"])
    html = html_report(audit)
    opening = html.partition('<table class="ratios">')[2].partition("</table>")[0]
    for row in audit.verdicts.subset(grouping="gender", operating_point="fpr=0.01").rows():
        if row["group"] and row["metric"] in {"fpr", "fnr"}:
            sign = {"worse": "▲", "better": "▼", "equivalent": "="}.get(row["verdict"], "?")
            text = f'v-{row["verdict"]}">{sign} {short_number(row["ratio"])}×'
            if row["verdict"] == "better":  # as the other of two groups is worse: in grey
                worse_group = "m" if row["group"] == "f" else "f"
                note = f'<small class="p">see {worse_group} </small>'
                text = f'v-none">{note}{short_number(row["ratio"])}×'
            assert text in opening
    assert "“see” names the worse group" in html


def cells(html, caption):
    """Rows of a table, as lists of texts."""
    table = html.partition(f"<caption>{caption}")[2].partition("</table>")[0]
    rows = table.partition("<tbody>")[2].split("<tr")[1:]
    return [
        [re.sub("<[^>]*>", "", cell).strip() for cell in re.split("<t[hd][^>]*>", row)[1:]]
        for row in rows
    ]


@pytest.mark.slow
def test_a_figure_of_a_group_without_interval_has_the_reason_below_its_table(odd):
    html = html_report(odd(["a", "a", "b"], operating_points=["threshold=6"]))
    rows = {row[0]: row for row in cells(html, "FNR (false rejects): model, kind")}
    assert re.match(r"\d", rows["b\u00a0*"][3])
    assert re.fullmatch("–\u00a0[¹²³]", rows["b\u00a0*"][4])
    for rate, *figures in (row[-3:] for group, row in rows.items() if group != "pooled"):
        assert re.match(r"\d", rate)
        assert all(re.fullmatch("–\u00a0[¹²³]", figure) for figure in figures)
    below = html.partition("<caption>FNR (false rejects)")[2].partition("</table>")[2]
    assert "fewer than 5 speakers: no interval" in below.partition("</p>")[0]
    assert (
        "the group or all other groups combined has too few speakers or errors"
        in below.partition("</p>")[0]
    )


@pytest.mark.slow
def test_no_cell_is_a_dash_without_a_reason(small, odd):
    audits = [small, odd(["f", "m"], nontarget=False), odd(["f", "m"], intervals=False)]
    for html in map(html_report, audits):
        for caption in ("FNR (false rejects)", "Operating points", "Each group at", "Options of"):
            rows = cells(html, caption)
            assert rows or caption not in html
            assert not [row for row in rows if "–" in row]
    assert ["within", "none given"] in cells(html_report(small), "Options of the audit")


@pytest.mark.slow
def test_everyone_together_is_compared_with_no_one(small):
    *_, pooled = cells(html_report(small), "FPR (false accepts): model, gender at")
    assert pooled[0] == "pooled"
    assert pooled[-3:] == ["", "", ""]


@pytest.mark.slow
def test_a_combination_without_anyone_is_told_as_the_legend_says(material, read):
    trials, speakers = material
    lopsided = {**speakers, "side": ["x" if i % 2 else "xy"[i % 3 == 0] for i in range(24)]}
    attributes = ["gender", "side", "gender+side"]
    options = {"operating_points": ["fpr=0.05"], "replicates": 50}
    text = read(
        html_report(pv.audit({"m": trials}, speakers=lopsided, by=attributes, **options))
    ).text
    assert "The reason for a dash is given below the table." in text
    table = text.partition("false rejects (FNR, %), ")[2]
    assert "there is no such group" in table.partition("false accepts (FPR, %)")[0]


def test_headings_and_tables_stay_together_on_paper(html):
    printed = html.partition("@media print")[2].partition("</style>")[0]
    after = re.search(r"([^{}]*){ break-after: avoid; }", printed)[1]
    assert {"h3", "h4", "summary", "caption", "thead"} <= set(re.split(r"[\s,]+", after))
    inside = re.search(r"([^{}]*){ break-inside: avoid; }", printed)[1]
    assert {"summary", "tr"} <= set(re.split(r"[\s,]+", inside))


@pytest.mark.slow
def test_without_intervals_the_page_says_that_nothing_is_said_of_chance(odd, read):
    text = read(html_report(odd(["f", "m"], intervals=False))).text
    opening = text.partition("All groups By")[0]
    assert "The audit does not show whether groups differ beyond chance" in opening
    assert "--no-intervals was given" in opening
    assert re.search(r"Highest observed rate of false rejects: [fm], [\d.]+ %", opening)
    assert "No verdicts: --no-intervals was given." in text


@pytest.mark.slow
def test_what_was_not_supplied_is_said_and_what_was_is_shown(small, html, read):
    assert "not supplied" in read(html).text
    context = {"purpose": "a <lock>", "threshold": {"chosen_by": "the vendor", "when": "2026"}}
    text = read(html_report(small, context=context)).text
    assert "Purpose a <lock>" in text
    assert "chosen by the vendor, 2026" in text


@pytest.mark.slow
def test_no_id_and_no_file_name_is_in_the_page(small, html):
    ids = {f"s{i:02d}" for i in range(24)}
    assert not {speaker_id for speaker_id in ids if re.search(rf"\b{speaker_id}\b", html)}
    assert all(
        str(record["name"]) not in html for record in small.provenance if "." in record["name"]
    )


def test_ids_are_shown_only_if_the_audit_kept_them(small):
    with pytest.raises(ConfigError, match="contains no speaker ids; audit again"):
        html_report(small, speaker_ids="offenders")
    with pytest.raises(ConfigError, match="'all' is not known; choose never or offenders"):
        html_report(small, speaker_ids="all")


@pytest.mark.slow
def test_ids_that_an_audit_kept_are_in_no_report_that_did_not_ask(named, tmp_path, read):
    ids = re.compile(r"\bs\d\d\b")
    offenders_page = read(html_report(named, speaker_ids="offenders"))
    assert "Speakers with the most errors (FNR) of model by gender" in offenders_page.text
    behind = named.offenders.to_dict()["speaker"]
    assert behind
    assert {
        speaker_id for speaker_id in behind if speaker_id in offenders_page.text.split()
    } == set(behind)
    assert not ids.search(html_report(named))
    for ending in (".md", ".tex"):
        pv.write_tables(named, tmp_path / f"t{ending}")
        assert not ids.search((tmp_path / f"t{ending}").read_text())
    pv.write_tables(named, tmp_path / "t.xlsx")
    with zipfile.ZipFile(tmp_path / "t.xlsx") as book:
        workbook_text = " ".join(book.read(name).decode() for name in book.namelist())
    assert not ids.search(workbook_text)
    assert "fnr" in workbook_text


@pytest.mark.slow
def test_a_report_says_what_personal_data_it_has_and_what_it_does_not_show(named, small, read):
    text = read(html_report(small)).text
    assert (
        "Personal data: the report lists no speaker ids. Names and results of groups with few "
        "speakers, and figures of single speakers among the checks of the trial list, may concern "
        "identifiable persons."
    ) in text
    assert (
        "This report does not show: that a difference is discrimination, or its cause; error rates "
        "in use; errors under spoofed speech; or that groups are alike where a comparison is "
        "inconclusive."
    ) in text
    assert "the report lists no speaker ids" in read(html_report(named)).text
    text = read(html_report(named, speaker_ids="offenders")).text
    assert "Personal data: the report lists ids of the speakers with the most errors." in text
    assert "lists no speaker ids" not in text


def test_figures_hold_no_id_that_an_audit_kept(named):
    from parivox.report.charts import figures, spec

    text = json.dumps(
        [[figure.title, figure.description, spec(figure.chart)] for figure in figures(named)]
    )
    assert not re.search(r"\bs\d\d\b", text)


def test_the_signature_names_the_hash_of_the_written_audit(small, html, tmp_path):
    small.save(tmp_path / "a")
    digest = hashlib.sha256((tmp_path / "a" / "audit.json").read_bytes()).hexdigest()
    assert digest in html


@pytest.mark.slow
def test_a_loaded_audit_gives_the_same_page(small, html, tmp_path):
    written = small.save(tmp_path / "a")
    assert html_report(pv.load(tmp_path / "a")) == html_report(written)


def test_without_jinja_the_mend_is_told(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigError, match=r"pip install 'parivox\[report\]'"):
        html_report(small)


@pytest.mark.slow
def test_the_title_of_a_figure_is_text(small, monkeypatch):
    from parivox.report.html import assembly

    drawn = assembly.EmbeddedFigure("fig", "A <b> title", "How to read it.", "<svg></svg>")
    figures = {name: [] for name in SECTIONS} | {"groups": [[drawn]]}
    monkeypatch.setattr(assembly, "_embedded_figures", lambda _: figures)
    page = html_report(small)
    assert "A &lt;b&gt; title" in page
    assert page.count("<figcaption>How to read it.</figcaption>") == 1


@pytest.mark.slow
def test_what_the_terminal_says_of_people_attempts_and_weights_is_in_the_page(audited, read):
    audit = audited(
        by=["gender", "gender+nation"],
        operating_points=["fpr=0.05"],
        attempts=3,
        limits=["fnr=0.05"],
        standardise=["nation"],
    )
    text = read(html_report(audit)).text
    for words in (
        "Per 10,000 in 3 attempts at fpr=0.05, if attempts are independent",
        "Speakers at fpr=0.05: share of speakers whose own FNR is above the limit",
        "At fpr=0.05 with equal weight for each stratum of nation",
        "EER at group-specific thresholds, exploratory:",
        "Limit of 5 % on FNR at fpr=0.05",
    ):
        assert words in text


@pytest.mark.slow
def test_only_hmacs_of_a_report_depend_on_the_key_of_its_folder(material, read, tmp_path):
    for name, table in zip(("scores.csv", "speakers.csv"), material, strict=True):
        lines = [
            ",".join(table),
            *(",".join(map(str, row)) for row in zip(*table.values(), strict=True)),
        ]
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = {"by": "gender", "operating_points": ["fpr=0.05"], "intervals": False}
    pages = {}
    for folder in ("a", "b"):
        for turn in (1, 2):
            audit = pv.audit(tmp_path / "scores.csv", speakers=tmp_path / "speakers.csv", **options)
            audit.save(tmp_path / folder)
            pages[folder, turn] = html_report(pv.load(tmp_path / folder))
    assert pages["a", 1] == pages["a", 2] != pages["b", 1] == pages["b", 2]
    hmac = r"\b[0-9a-f]{8}:[0-9a-f]{64}"
    assert len({re.sub(hmac, "", page) for page in pages.values()}) == 1
    text = read(pages["a", 1]).text
    assert (
        "give a byte-identical report, except for HMACs, which need the same key (private.json), "
        "too." in text
    )
    assert "HMACs only for holders of the key. No hash covers the attributes of speakers." in text
    assert "hashes of contents (independent of the order of rows) and of files" in text
    unsaved = read(html_report(pv.audit(*material, **options))).text
    assert "give a byte-identical report. Names" in unsaved
    assert "HMACs" not in unsaved
    assert "No hash covers" not in unsaved


@pytest.mark.slow
def test_rates_of_under_represented_groups_have_an_asterisk_that_is_explained(small):
    small_groups = [
        row
        for row in small.verdicts.subset(grouping="gender+nation").rows()
        if row["gates"] and row["metric"] in {"fnr", "fpr"}
    ]
    assert small_groups
    by_gender, by_both = all_groups(small, overview(small))
    marks = [
        drawn["mark"]
        for line in by_both["lines"]
        for of_metric in line["of"].values()
        for drawn in of_metric
    ]
    assert marks.count("\N{NO-BREAK SPACE}*") == len(small_groups)
    note = (
        "*: under-represented (fewer than 10 speakers, 5 effective errors or 45 pairs of speakers)."
    )
    assert by_both["note"] == note
    assert by_gender["note"] == ""
    section = html_report(small).partition('id="all"')[2].partition("</section>")[0]
    assert section.count("\N{NO-BREAK SPACE}*<") == len(small_groups)
    assert note in " ".join(section.replace("\u00a0", " ").split())


@pytest.mark.slow
def test_a_list_of_graded_trials_is_not_said_to_be_ungraded(small, html, read):
    """The check of the list grades trials by attributes, whether or not groups are by grade."""
    text = read(html).text
    assert any(check["id"] == "G4" for check in small.record["list_checks"]["model"])
    assert "trials of grade" in text
    assert "not graded" not in text
    assert "Rates are not shown by grade of difficulty (--by grade, or" in text


def test_groups_by_grade_and_another_attribute_are_groups_by_grade(audited):
    audit = audited(by=["gender", "gender+grade"], operating_points="fpr=0.05", intervals=False)
    assert trial_list_section(audit)["grades"].startswith("Trials were graded by difficulty")


@pytest.mark.slow
def test_systems_stand_side_by_side_once_for_each_allocation(material, without_figures, read):
    trials, speakers = material
    options = {"by": "gender", "allocate": ["enrol", "both"], "operating_points": ["fpr=0.05"]}
    audit = pv.audit({"a": trials, "b": trials}, speakers=speakers, intervals=False, **options)
    texts = read(html_report(audit)).texts
    for label in ("gender at fpr=0.05", "gender, nontarget trials by enrol at fpr=0.05"):
        assert texts.count(label) == 1


@pytest.mark.slow
def test_attributes_that_go_together_are_told_before_the_answer_is_relied_on(odd, read):
    audit = odd(["f", "m"])
    row = {
        "attribute": "kind",
        "other": "age",
        "relation": "confounded",
        "speakers": 40,
        "cramers_v": 0.5,
        "p_holm": 0.0001,
        "shares": {
            "value": "<60",
            "groups": [{"group": "f", "share": 0.8}, {"group": "m", "fewer_than": 10}],
        },
    }
    audit.record["confounding"] = {"model": [row]}
    text = read(html_report(audit)).text
    sentence = (
        "a difference by kind may be partly or entirely due to age. To account for age, use "
        "--within age"
    )
    shares = "80 % of the speakers with kind f and fewer than 10 of those with kind m have age <60"
    assert shares in text
    assert text.index("limitations.") < text.index(sentence) < text.index("Findings by operating")


@pytest.mark.slow
def test_a_value_with_the_sign_that_joins_attributes_stands_in_the_crosstab(material, read):
    trials, speakers = material
    aged = {**speakers, "age": [("60+", "<60")[i // 2 % 2] for i in range(24)]}
    points = ["fpr=0.05"]
    attributes = ["gender", "age", "gender+age"]
    audit = pv.audit(
        {"m": trials}, speakers=aged, by=attributes, operating_points=points, replicates=50
    )
    text = read(html_report(audit)).text
    assert "Two attributes at once" in text
    table = text.partition("by age at fpr=0.05")[2] or text.partition("by gender at fpr=0.05")[2]
    assert re.search(r"60\+ \d", table)


@pytest.mark.slow
def test_a_measure_without_p_has_the_reason_below_its_table(odd, without_figures):
    from parivox.report.html import html_report

    html = html_report(odd(list("abcd"), operating_points=["threshold=1"]))
    table = html.partition("<caption>Further measures")[2].partition("</p>")[0]
    mark = re.search(r"Gini of FPR.*<td>–\u00a0([¹²³⁴])<td>lower", table)[1]
    assert f"{mark} no p: no valid noise floor is known" in table.partition("</table>")[2]


def test_a_table_has_no_footnotes_of_columns_that_were_left_out():
    rows = [("one", Cell("–", reason="no b"), Cell("–", reason="no c")), ("two", "–", "1")]
    sheet = Sheet.with_heads("x", ("a", "b", "c"), rows)
    assert [column.head for column in sheet.without_empty_columns().columns] == ["a", "c"]
    assert sheet.without_empty_columns().footnotes == {"no c": "¹"}


def test_no_line_of_the_page_ends_within_an_interval_or_a_p_value_or_before_a_unit():
    unbroken = environment().filters["whole"]
    words = "2.9 times [2.2, 4.0], adjusted p = 0.002, ratio 1.7, p < 0.001: 4.75 % of 30 speakers"
    text = unbroken(words)
    assert text.replace("\u00a0", " ") == words
    for figure in (
        "2.9\u00a0times",
        "[2.2,\u00a04.0]",
        "p\u00a0=\u00a00.002",
        "p\u00a0<\u00a00.001",
    ):
        assert figure in text
    assert "4.75\u00a0%" in text
