"""What a notebook shows of results: words and figures, escaped, without scripts."""

import re
from html.parser import HTMLParser

import pytest

import parivox as pv
from parivox.report.notebook import html
from parivox.report.overview import overview, plain_text


class Parsed(HTMLParser):
    """Tags in order, whether each is closed, and the text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.text += text


def parsed(shown):
    reader = Parsed(shown._repr_html_())
    assert reader.open == []
    assert not {"script", "link", "img", "style", "iframe"} & set(reader.tags)
    return reader


@pytest.mark.slow
def test_an_audit_shows_what_its_page_shows_first_and_its_groups_below(audited):
    audit = audited(by=["gender", "nation"], operating_points=["fpr=0.01"])
    reader = parsed(audit)
    assert f"{plain_text(overview(audit).headline)}." in reader.text
    assert reader.tags.count("table") == 3
    assert reader.tags.count("svg") == 2 * len(overview(audit).differing_groups)
    assert re.search(r"▲\s2.1\s\[\d.*\]", reader.text)
    assert "false accepts (FPR): errors/trials" in reader.text


def test_names_of_groups_are_no_markup(material):
    trials, speakers = material
    odd = {**speakers, "gender": [f"<script>{name}</script>\u202e" for name in speakers["gender"]]}
    audit = pv.audit({"<b>": trials}, speakers=odd, by="gender", intervals=False)
    reader = parsed(audit)
    assert "<script>f</script>" in reader.text
    assert "\u202e" not in reader.text


@pytest.mark.slow
def test_what_an_audit_lacks_is_said(material):
    trials, speakers = material
    is_target = [a[:3] == b[:3] for a, b in zip(trials["enrol"], trials["test"], strict=True)]
    only = {
        name: [c for c, keep in zip(v, is_target, strict=True) if keep]
        for name, v in trials.items()
    }
    reader = parsed(pv.audit({"S": only}, speakers=speakers, by="gender"))
    assert "No FPR (no nontarget trials): f, m, pooled." in reader.text


@pytest.fixture
def shown_results(material, audited, tmp_path):
    trials, speakers = material
    path = tmp_path / "list.csv"
    rows = zip(trials["enrol"], trials["test"], strict=True)
    path.write_text(
        "enrol,test,label\n" + "".join(f"{a},{b},{int(a[:3] == b[:3])}\n" for a, b in rows)
    )
    people = tmp_path / "people.csv"
    id_genders = zip(speakers["id"], speakers["gender"], strict=True)
    people.write_text("id,gender\n" + "".join(f"{a},{b}\n" for a, b in id_genders))
    return {
        "check": pv.trials.check(path, speakers=people, by="gender"),
        "describe": pv.trials.describe(path, speakers=people, by="gender"),
        "grade": pv.trials.grade(
            path, speakers=people, grade_by=["gender"], out=tmp_path / "g.csv"
        ),
        "convert": pv.trials.convert(path, tmp_path / "k", to="kaldi"),
        "inspect": pv.inspect(path, people),
        "plan": pv.plan(audited(by="gender", operating_points=["fpr=0.05"])),
    }


@pytest.mark.slow
def test_other_results_show_what_the_terminal_prints(shown_results):
    begins = {
        "check": "G10",
        "describe": "target",
        "grade": "Every trial is in",
        "convert": "",
        "inspect": "people.csv",
        "plan": "Aim: to detect",
    }
    for name, shown in shown_results.items():
        reader = parsed(shown)
        assert reader.tags[0] == "pre"
        assert begins[name] in reader.text, name
        assert reader.text.strip()


@pytest.mark.slow
def test_charts_are_reached_from_an_audit(audited, optional):
    optional("altair")
    chart = audited(by="gender", operating_points=["fpr=0.05"]).charts.det(by="gender")
    assert "$schema" in chart.to_dict()


@pytest.mark.slow
def test_the_html_of_an_audit_is_always_the_same(audited):
    audit = audited(by="gender", operating_points=["fpr=0.05"])
    assert html(audit) == html(audit)
