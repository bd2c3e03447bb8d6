import hashlib
import re
from dataclasses import fields

import pytest

from parivox.errors import ConfigError, DataError
from parivox.report.context import Choice, Context, read_context, starter

YAML = """\
purpose: unlocking a phone
population: customers in "Norway" & Peru
threshold:
  chosen_by: the vendor
  when: 2026-03-01
  why: 1 % of impostors
notes: no
"""


def test_a_context_file_tells_what_it_says_with_the_hash_of_its_bytes(tmp_path):
    path = tmp_path / "context.yaml"
    path.write_text(YAML, encoding="utf-8")
    context = read_context(path)
    assert context.purpose == "unlocking a phone"
    assert context.population == 'customers in "Norway" & Peru'
    choice = Choice(chosen_by="the vendor", when="2026-03-01", why="1 % of impostors")
    assert context.threshold == choice
    assert context.notes == "no"
    assert context.margin == Choice()
    assert context.sha256 == hashlib.sha256(YAML.encode()).hexdigest()


def test_the_file_to_fill_in_reads_back_and_names_every_entry(tmp_path):
    path = tmp_path / "context.yaml"
    path.write_text(starter(), encoding="utf-8")
    context = read_context(path)
    assert context == Context(sha256=context.sha256)
    filled = re.sub(r":  # (.*)", r": \1", starter()).replace("why:", "why: a reason")
    path.write_text(filled.replace("#  ", "  "), encoding="utf-8")
    context = read_context(path)
    empty = {field.name for field in fields(Context) if not getattr(context, field.name)}
    assert empty == set()
    assert context.margin == Choice(chosen_by="the product team", when="2026-03-01", why="a reason")
    assert context.labels == {"V2": "the new encoder", "f": "women", "fpr=0.01": "strict"}


def test_a_mapping_is_a_context_whose_hash_does_not_depend_on_its_order():
    context = read_context({"purpose": "door", "date": "2026"})
    assert context == read_context({"date": "2026", "purpose": "door"})
    assert context.sha256 != read_context({"date": "2027", "purpose": "door"}).sha256
    assert read_context(None) is None
    assert read_context(context) is context


@pytest.mark.parametrize(
    ("told", "sentence"),
    [
        ({"purpos": "x"}, "context: 'purpos' is not known; did you mean 'purpose"),
        (
            {"margin": {"chosenby": "x"}},
            "context: 'chosenby' is not known; did you mean 'chosen_by",
        ),
        (
            {"margin": "1.25"},
            "margin is a single text; write lines such as 'chosen_by: the product team'",
        ),
        ({"purpose": ["a", "b"]}, "purpose is a list; write it as one text"),
        ({"purpose": {"a": "b"}}, "purpose is a mapping; write it as one text"),
        ({}, "context: contains no entries"),
        (["purpose"], "a list is not a context file"),
    ],
)
def test_what_is_not_known_is_refused_with_the_nearest_that_is(told, sentence):
    with pytest.raises(ConfigError) as error:
        read_context(told)
    assert sentence in str(error.value)


def test_a_sentence_names_file_and_line(tmp_path):
    path = tmp_path / "context.yaml"
    path.write_text("purpose: door\ndeployr: me\n", encoding="utf-8")
    message = r"context\.yaml: line 2: 'deployr' is not known; did you mean 'deployer"
    with pytest.raises(ConfigError, match=message):
        read_context(path)
    path.write_text("- purpose\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"context\.yaml: line 1: a context is a list"):
        read_context(path)
    path.write_text("purpose: [door\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"context\.yaml"):
        read_context(path)
    with pytest.raises(DataError, match=r"nothing\.yaml"):
        read_context(tmp_path / "nothing.yaml")
