import base64
import hashlib
import itertools
import json
import re
import sys
import types

import pytest

from parivox.errors import ConfigError
from parivox.report.page import page
from parivox.report.page.assembly import SECTIONS

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


def test_the_sections_stand_in_order_and_can_be_reached(html, read):
    found = read(html)
    sections = [one["id"] for one in found.all("section")]
    assert sections == list(SECTIONS)
    links = {one["href"][1:] for one in found.all("a") if one["href"].startswith("#")}
    ids = [attrs["id"] for _, attrs in found.elements if "id" in attrs]
    assert links <= set(ids)
    assert len(ids) == len(set(ids))


def test_headings_never_skip_a_level(html, read):
    levels = [int(tag[1]) for tag, _ in read(html).elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_tables_have_captions_and_heads_with_scope(html, read):
    found = read(html)
    assert len(found.all("caption")) == len(found.all("table")) > 10
    assert all(one.get("scope") for one in found.all("th"))


def test_the_same_audit_gives_the_same_bytes(small, html):
    assert page(small) == html


def test_nothing_is_fetched(html, read):
    found = read(html)
    for _, attrs in found.elements:
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith("#")
    assert not found.all("link")
    assert "url(" not in html
    assert "@import" not in html


def test_the_policy_allows_what_stands_in_the_page_by_hash_and_nothing_else(html, read):
    (policy,) = [one["content"] for one in read(html).all("meta") if "http-equiv" in one]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    for kind, pattern in (
        ("script-src", r"<script>(.*?)</script>"),
        ("style-src", "<style>(.*?)</style>"),
    ):
        blocks = re.findall(pattern, html, re.DOTALL)
        hashes = {
            "'sha256-" + base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() + "'"
            for one in blocks
        }
        assert hashes
        assert set(rules[kind].split()) == hashes
    assert not re.search(r'<[a-z][^>]*\sstyle="', html)
    assert not re.search(r"<[a-z][^>]*\son\w+=", html)


def test_names_of_any_kind_are_text_and_nothing_else(odd, read):
    made = page(odd(ODD), title="<b>T</b>")
    found = read(made)
    assert not found.all("b") or "<b>T" not in made
    assert "&lt;b&gt;T&lt;/b&gt;" in made
    assert "<script>alert" not in made
    assert "{{ 7 * 7 }}" in found.text
    assert all("onload" not in attrs for _, attrs in found.elements)
    assert "49" not in re.findall(r"<bdi>([^<]*)</bdi>", made)
    data = re.search(r'<script type="application/json" id="x-data">(.*?)</script>', made, re.DOTALL)
    assert ODD[0] in json.dumps(json.loads(data[1]), ensure_ascii=False)


@pytest.mark.parametrize("n", [1, 200])
def test_one_group_and_two_hundred_make_a_page(odd, read, n):
    found = read(page(odd([f"g{i}" for i in range(n)])))
    assert f"g{n - 1}" in found.text


def test_without_nontarget_trials_the_page_says_what_is_missing(odd, read):
    text = read(page(odd(["f", "m"], nontarget=False))).text
    assert "No FPR (impostors in): no nontarget trials" in text


def test_without_intervals_the_page_says_that_nothing_is_said_of_chance(odd, read):
    text = read(page(odd(["f", "m"], intervals=False))).text
    assert "Nothing is said of chance. model: --no-intervals was given" in text
    assert "No verdicts: --no-intervals was given." in text


def test_what_was_not_supplied_is_said_and_what_was_is_shown(small, html, read):
    assert "not supplied" in read(html).text
    told = {"purpose": "a <lock>", "threshold": {"chosen_by": "the vendor", "when": "2026"}}
    text = read(page(small, context=told)).text
    assert "Purpose a <lock>" in text
    assert "chosen by the vendor, 2026" in text


def test_no_id_and_no_file_name_is_in_the_page(small, html):
    ids = {f"s{i:02d}" for i in range(24)}
    assert not {one for one in ids if re.search(rf"\b{one}\b", html)}
    assert all(str(entry["name"]) not in html for entry in small.provenance if "." in entry["name"])


def test_ids_are_shown_only_if_the_audit_kept_them(small):
    with pytest.raises(ConfigError, match="kept no ids of speakers; audit again"):
        page(small, speaker_ids="offenders")
    with pytest.raises(ConfigError, match="'all' is not known; choose never or offenders"):
        page(small, speaker_ids="all")


def test_the_signature_names_the_hash_of_the_written_audit(small, html, tmp_path):
    small.write(tmp_path / "a")
    digest = hashlib.sha256((tmp_path / "a" / "audit.json").read_bytes()).hexdigest()
    assert digest in html


def test_a_loaded_audit_gives_the_same_page(small, html, tmp_path):
    import parivox as pv

    small.write(tmp_path / "a")
    assert page(pv.load(tmp_path / "a")) == html


def test_without_jinja_the_mend_is_told(small, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ConfigError, match=r"pip install 'parivox\[report\]'"):
        page(small)


def test_a_live_figure_brings_its_spec_and_vega_once(small, monkeypatch, read):
    from parivox.report.page import assembly

    drawn = assembly.Drawn(
        "fig", "A <b> title", "How to read it.", "<svg></svg>", '{"a":"\\u003c"}'
    )
    figures = {name: [] for name in SECTIONS} | {"groups": [drawn], "det": [drawn]}
    monkeypatch.setattr(assembly, "_drawn", lambda _: figures)
    monkeypatch.setattr(assembly, "_vega", lambda: "let vega;")
    made = page(small)
    assert made.count("let vega;") == 1
    assert made.count('<script type="application/json">{"a":"\\u003c"}</script>') == 2
    assert "A &lt;b&gt; title" in made
    policy = next(one["content"] for one in read(made).all("meta") if "http-equiv" in one)
    digest = base64.b64encode(hashlib.sha256(b"let vega;").digest()).decode()
    assert digest in policy


def test_specs_cannot_leave_their_script(monkeypatch):
    from parivox.report.charts import draw
    from parivox.report.page import assembly

    monkeypatch.setattr(draw, "spec", lambda _: {"x": "</script><!--\u2028&"})
    monkeypatch.setattr(draw, "svg", lambda *_, **__: "<svg></svg>")
    one = types.SimpleNamespace(id="a", title="", reading="", description="", chart=None, live=True)
    text = assembly._figure(one).spec
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == {"x": "</script><!--\u2028&"}
