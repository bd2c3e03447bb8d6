"""Groups to the user's mind: a file that keeps, orders, merges and renames values."""

import importlib.resources
import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from parivox.data.attributes import parse_attribute
from parivox.data.groups_file import KEEP_NAMES, GroupDefinition, read_groups_file
from parivox.errors import ConfigError, DataError, ParivoxError

FULL_FILE = """\
by: [gender, gender+nationality, "age:18,60"]
within: channel
reference: [pooled, men]
groups:
  gender:
    women: [f, F, female]
    men: [m, M, male]
  nationality:
    North America: [USA, Canada]
    India: India
  age:18,60:
    young: <18
    old: 60+
  channel: [phone, web]
others:
  nationality: elsewhere
  channel: keep
"""
ACCEPTED = [
    FULL_FILE,
    "by: gender\n",
    "within: [channel]\n",
    "groups: {gender: [f, m]}\n",
    "groups:\n  gender:\n    a: [1, true, 2024-01-01, 1.50]\n",
    "groups:\n  language: [no, NO, yes, off, null]\n",
    '{"by": ["gender"], "groups": {"gender": {"women": ["f"]}}}',
    "%YAML 1.2\n---\nby: gender\n...\n",
    "\ufeffby: gender\n",
    "groups:\n  gender:\n    women: >\n      f\n",
]
REFUSED_BY_FORM = {
    "": "contains neither groups nor groupings; write 'groups:'",
    "# a remark\n": "contains neither groups nor groupings",
    "{}": "contains neither groups nor groupings",
    "by:\n": "line 1: by is empty",
    "by: []\n": "line 1: by is empty",
    "by: [a, ' ']\n": "line 1: by is empty, or contains an empty text",
    "by: [a, [b]]\n": "line 1: by contains a list or mapping in a list",
    "by: {a: b}\n": "line 1: by is a mapping",
    "by: [a, b, a]\n": "by names 'a' twice",
    "# first\n\nreferences: x\n": "line 3: 'references' is not known; did you mean 'reference'?",
    "attributes: x\n": "available: by, within, reference, groups, others",
    "- a\n": "line 1: the file is a list; write lines such as 'by: gender'",
    "gender\n": "line 1: the file is a single text",
    "groups:\n": "line 1: groups is empty; write lines such as 'gender: [f, m]'",
    "groups: [gender]\n": "groups is a list",
    "groups:\n  gender: f\n": "line 2: groups of gender is a single text",
    "groups:\n  gender:\n": "line 2: groups of gender is empty",
    "groups:\n  gender: {}\n": "groups of gender is empty",
    "groups:\n  gender:\n    women:\n": "line 3: group 'women' is empty",
    "groups:\n  gender:\n    women: {f: F}\n": "line 3: group 'women' is a mapping",
    "groups:\n  gender:\n    '': f\n": "line 3: groups of gender contains an entry without a name",
    "groups:\n  gender:\n    women: [f, f]\n": "line 3: group 'women' names 'f' twice",
    "groups:\n  gender: [f, f]\n": "line 2: groups of gender names 'f' twice",
    "groups: {g: [a]}\nothers: keep\n": "line 2: others is a single text; write lines such as",
    "groups: {g: [a]}\nothers: {g: [keep]}\n": "line 2: 'others' of 'g' is not text",
    "groups: {g: [a]}\nothers: {g: }\n": "line 2: 'others' of 'g' is not text",
}
REFUSED_BY_MEANING = {
    "groups:\n  g:\n    a: [x, y]\n    b: [y]\n": "line 4: groups 'a' and 'b' of g both contain 'y",
    "groups:\n  g:\n    a: x\n    a: y\n": "line 4: 'a' occurs twice",
    "by: a\nby: b\n": "line 2: 'by' occurs twice",
    "groups:\n  G: [a]\n  g: [b]\n": "'G' and 'g' are the same attribute",
    "by: gender\ngroups:\n  gendre: [f]\n": (
        "line 3: no grouping of 'by' uses the groups of 'gendre'; did you mean 'gender'?"
    ),
    "by: age\ngroups:\n  age:18: [<18]\n": "did you mean 'age'?",
    "groups: {nation: [a]}\nothers:\n  nations: keep\n": (
        "line 3: 'others' names 'nations', which has no groups; did you mean 'nation'?"
    ),
    "groups: {n: [a]}\nothers: {n: keep, N: keep}\n": "'others' names 'N' twice",
    "by: a++b\n": "groups.yaml: by 'a++b'",
    "by: [age:18,30]\n": 'a comma separates entries; put bands in quotes, for example "age:18,30"',
}
REFUSED_BY_YAML = {
    "by: gender: x\n": "line 1: is not YAML (mapping values are not allowed here)",
    "groups:\n\tgender: [f]\n": "indent with spaces, not with tabs",
    "by: [a\n": "line 2: is not YAML",
    "by: >30\n": "put texts with special characters in quotes",
    "by: &a [x]\nwithin: *a\n": "line 1: contains an anchor, an alias or a tag",
    "by: *\n": "is not YAML",
    "by: !!python/object/apply:os.system [ls]\n": "line 1: contains an anchor, an alias or a tag",
    "by: !!str a\n": "contains an anchor, an alias or a tag",
    "by: a\n---\nby: b\n": "line 2: a second document starts",
    "? [a]\n: b\n": "line 1: a name is a list or mapping",
    "by: \x07\n": r"line 1: contains '\x07'; remove this",
    'by: "\\ud800"\n': "contains an incomplete character",
    "by: [[[[[[a]]]]]]\n": "are nested more than 4 levels deep",
}


@pytest.fixture
def read(tmp_path):
    def read_text(text):
        path = tmp_path / "groups.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_groups_file(path)

    return read_text


@pytest.fixture(scope="module")
def schema():
    path = importlib.resources.files("parivox.data") / "groups.schema.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_what_a_whole_file_says(read):
    definitions = read(FULL_FILE)
    assert definitions.name == "groups.yaml"
    assert definitions.by == ("gender", "gender+nationality", "age:18,60")
    assert definitions.within == ("channel",)
    assert definitions.reference == ("pooled", "men")
    assert list(definitions.definitions) == ["gender", "nationality", "age:18,60", "channel"]
    assert definitions.definitions["gender"] == GroupDefinition(
        {"women": ("f", "F", "female"), "men": ("m", "M", "male")}
    )
    assert definitions.definitions["nationality"].others == "elsewhere"
    assert definitions.definitions["channel"] == GroupDefinition(
        {"phone": ("phone",), "web": ("web",)}, KEEP_NAMES
    )
    assert definitions.provenance["role"] == "groups"
    assert definitions.provenance["format"] == "yaml"
    assert len(definitions.provenance["sha256"]) == 64


@pytest.mark.minimal
def test_values_are_merged_renamed_and_put_in_the_order_of_the_file(read):
    gender = read(FULL_FILE).definitions["gender"]
    values = ["F", "M", "f", "m", "x"]
    assert gender.grouped(values) == (["women", "men"], [0, 1, 0, 1, -1], ["x"])


@pytest.mark.minimal
def test_groups_without_a_value_in_the_data_are_not_made(read):
    gender = read(FULL_FILE).definitions["gender"]
    assert gender.grouped(["m"]) == (["men"], [0], [])
    assert gender.grouped([]) == ([], [], [])


@pytest.mark.minimal
def test_other_values_become_one_group_behind_the_named_ones(read):
    nationality = read(FULL_FILE).definitions["nationality"]
    values = ["Canada", "Ghana", "India", "Peru", "USA"]
    groups = ["North America", "India", "elsewhere"]
    assert nationality.grouped(values) == (groups, [0, 2, 1, 2, 0], [])


@pytest.mark.minimal
def test_other_values_may_keep_their_names(read):
    channel = read(FULL_FILE).definitions["channel"]
    assert channel.grouped(["app", "web", "phone", "desk"]) == (
        ["phone", "web", "app", "desk"],
        [2, 1, 0, 3],
        [],
    )


@pytest.mark.minimal
def test_others_may_join_a_named_group_and_a_kept_value_the_group_of_its_name():
    assert GroupDefinition({"rest": ("x",), "a": ("a",)}, "rest").grouped(["a", "b", "x"]) == (
        ["rest", "a"],
        [1, 0, 0],
        [],
    )
    assert GroupDefinition({"women": ("f",)}, KEEP_NAMES).grouped(["f", "women"]) == (
        ["women"],
        [0, 0],
        [],
    )


@pytest.mark.minimal
def test_scalars_stay_the_text_that_is_written(read):
    definitions = read(
        "groups:\n  x: [no, NO, yes, 007, 1.50, 1_000, 2024-01-01, 0x1F, null, ~, 'a b']\n"
    )
    assert list(definitions.definitions["x"].groups) == [
        "no", "NO", "yes", "007", "1.50", "1_000", "2024-01-01", "0x1F", "null", "~", "a b",
    ]  # fmt: skip


@pytest.mark.minimal
def test_recipes_are_found_whatever_the_case_and_the_blanks_of_the_edges(read):
    definitions = read(FULL_FILE)

    def recipe(text):
        return definitions.definition(parse_attribute(text))

    assert recipe("Nationality") is definitions.definitions["nationality"]
    assert recipe("Age: 18, 60") is definitions.definitions["age:18,60"]
    assert recipe("age:18") is recipe("age") is None


@pytest.mark.minimal
def test_the_recipe_of_an_attribute_serves_either_side_but_not_whether_both_are_equal(read):
    definitions = read(
        "by: [enrol.Age, test.age, 'speaker.age:18', same:age]\n"
        "groups: {age: ['17'], test.age: ['18'], 'age:18': [18+], 'same:age': [same]}\n"
    )
    named = {text: definitions.definition(parse_attribute(text)) for text in definitions.by}
    assert [list(recipe.groups) for recipe in named.values()] == [["17"], ["18"], ["18+"], ["same"]]
    assert read("groups: {age: ['17']}\n").definition(parse_attribute("same:age")) is None
    with pytest.raises(ConfigError, match="no grouping of 'by' uses the groups of 'age'"):
        read("by: same:age\ngroups: {age: ['17']}\n")


@pytest.mark.minimal
def test_without_by_each_attribute_with_groups_is_a_grouping(read):
    assert read("groups: {Sex: [f, m], age: ['17']}\n").by == ("Sex", "age")
    assert read("groups: {sex: [f, m], line: [a]}\nwithin: Line\n").by == ("sex",)
    assert read("within: line\ngroups: {line: [a]}\n").by is None
    assert read("reference: best\n").by is None


@pytest.mark.minimal
def test_a_group_without_any_value_of_the_data_is_refused(read):
    gender = read(FULL_FILE).definitions["gender"]
    gender.refuse_empty_groups(["f", "m", "x"])
    with pytest.raises(ConfigError) as error_info:
        gender.refuse_empty_groups(["Female", "m"])
    assert str(error_info.value) == (
        "groups.yaml: line 6: no value of group 'women' occurs in the data ('f', 'F', 'female'); "
        "nearest: 'Female'; correct its values, or remove the group"
    )
    with pytest.raises(ConfigError, match="nearest: '1', '2';"):
        gender.refuse_empty_groups(["1", "2"])
    with pytest.raises(ConfigError, match="nearest: there is none;"):
        gender.refuse_empty_groups([])


@pytest.mark.slow
@pytest.mark.minimal
def test_long_lists_are_checked_in_time_and_told_in_part():
    recipe = GroupDefinition({"all": tuple(f"x{i}" for i in range(50_000))})
    with pytest.raises(ConfigError) as error_info:
        recipe.refuse_empty_groups([f"y{i}" for i in range(20_000)])
    assert len(str(error_info.value)) < 400


@pytest.mark.minimal
def test_a_mapping_in_python_says_the_same_as_the_file(read):
    of_file, of_mapping = read(FULL_FILE), read_groups_file(yaml.load(FULL_FILE, yaml.BaseLoader))
    assert of_mapping.definitions == of_file.definitions
    assert of_mapping.record() == of_file.record()
    assert read_groups_file(of_file) is of_file
    numbers = read_groups_file({"groups": {"age": {"old": (60, 61), "young": 7}}})
    assert numbers.definitions["age"].groups == {"old": ("60", "61"), "young": ("7",)}


@pytest.mark.minimal
@pytest.mark.parametrize("value", [True, None, b"f", {1, 2}, float])
def test_python_values_that_are_no_text_are_refused(value):
    with pytest.raises(ConfigError, match=r"groups: .* is not text; write it as text"):
        read_groups_file({"groups": {"gender": {"women": [value]}}})


@pytest.mark.minimal
def test_python_mappings_are_refused_as_files_are():
    with pytest.raises(ConfigError, match="'1' occurs twice"):
        read_groups_file({"groups": {"g": {1: "a", "1": "b"}}})
    endless = []
    endless.append(endless)
    with pytest.raises(ConfigError, match="more than 4 levels deep"):
        read_groups_file({"by": endless})
    for source in (7, ["gender"]):
        with pytest.raises(ConfigError, match="is not a groups file"):
            read_groups_file(source)


@pytest.mark.minimal
def test_the_record_does_not_know_how_or_where_the_file_was_written(read):
    rewritten_file = """\
others: {channel: keep, Nationality: elsewhere}
groups: {channel: [phone, web], "AGE: 18, 60": {young: [<18], old: ["60+"]},
  nationality: {North America: [Canada, USA], India: [India]},
  gender: {women: [female, F, f], men: [m, M, male]}}
by: [gender, gender+nationality, "age:18,60"]
within: [channel]   # a remark
reference: [pooled, men]
"""
    assert read(rewritten_file).record() == read(FULL_FILE).record()
    assert json.loads(json.dumps(read(FULL_FILE).record())) == read(FULL_FILE).record()
    turned = (
        FULL_FILE.replace("women:", "later:").replace("men:", "women:").replace("later:", "men:")
    )
    assert read(turned).record() != read(FULL_FILE).record()


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_is_accepted_is_so_by_the_schema(read, schema, text, optional):
    validator = optional("jsonschema").Draft202012Validator(schema)
    assert read(text).name == "groups.yaml"
    assert list(validator.iter_errors(yaml.load(text, yaml.BaseLoader))) == []


def test_editors_that_read_numbers_and_truth_values_accept_them_too(schema, optional):
    validator = optional("jsonschema").Draft202012Validator(schema)
    document = yaml.safe_load("groups:\n  x:\n    a: [1, true, 1.50]\n    2: no\n")
    document["groups"]["x"] = {str(key): value for key, value in document["groups"]["x"].items()}
    assert document["groups"]["x"]["2"] is False
    assert list(validator.iter_errors(document)) == []


@pytest.mark.parametrize("text", REFUSED_BY_FORM)
def test_what_has_another_form_is_refused_here_and_by_the_schema(read, schema, text, optional):
    validator = optional("jsonschema").Draft202012Validator(schema)
    with pytest.raises(ConfigError) as error_info:
        read(text)
    assert str(error_info.value).startswith("groups.yaml: ")
    assert REFUSED_BY_FORM[text] in str(error_info.value)
    assert not validator.is_valid(yaml.load(text, yaml.BaseLoader))


REFUSED = {**REFUSED_BY_MEANING, **REFUSED_BY_YAML}


@pytest.mark.minimal
@pytest.mark.parametrize("text", REFUSED)
def test_what_contradicts_itself_or_is_no_plain_yaml_is_refused(read, text):
    with pytest.raises(ConfigError) as error_info:
        read(text)
    assert str(error_info.value).startswith("groups.yaml: ")
    assert REFUSED[text] in str(error_info.value)


@pytest.mark.minimal
def test_files_that_cannot_be_read(read, tmp_path):
    with pytest.raises(DataError, match="file not found"):
        read_groups_file(tmp_path / "none.yaml")
    with pytest.raises(DataError, match="is a folder"):
        read_groups_file(tmp_path)
    with pytest.raises(ConfigError, match="larger than 1 MiB"):
        read("by: " + "x" * (1 << 20))


@pytest.mark.slow
@pytest.mark.minimal
def test_yaml_is_loaded_where_a_groups_file_is_read_and_nowhere_else():
    import subprocess
    import sys

    modules = "parivox, parivox.cli, parivox.data.groups_file"
    code = f"import sys, {modules}; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def read_or_refused(source):
    try:
        definitions = read_groups_file(source)
    except ParivoxError as error:
        sentence = str(error)
        assert sentence
        assert "\n" not in sentence
    else:
        json.dumps(definitions.record(), ensure_ascii=False).encode()


words = st.text(max_size=6) | st.sampled_from(["by", "groups", "gender", "keep", "f", "no", "1"])
trees = st.recursive(
    words | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=12,
)
documents = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("by", "within", "reference", "groups", "others"), trees)
)


@pytest.mark.slow
@pytest.mark.minimal
@settings(deadline=None, max_examples=100)
@given(documents | trees)
def test_any_document_is_read_or_refused_in_a_sentence(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("fuzz") / "groups.yaml"
    path.write_text(yaml.dump(document, allow_unicode=True), encoding="utf-8")
    for source in (path, document):
        read_or_refused(source)


@pytest.mark.slow
@pytest.mark.minimal
@pytest.mark.filterwarnings("ignore::parivox.errors.EncodingGuessed")
@settings(deadline=None, max_examples=100)
@given(
    st.binary(max_size=60)
    | st.text(alphabet=" \n\t-:,[]{}#&*!|>'\"%@`?abf1\\u", max_size=60).map(str.encode)
    | st.builds(
        lambda position, piece: (
            FULL_FILE.encode()[:position] + piece + FULL_FILE.encode()[position:]
        ),
        st.integers(0, len(FULL_FILE)),
        st.binary(max_size=4)
        | st.sampled_from([b"\n", b"[", b"'", b": ", b"- ", b"\t", b"*", b"&"]),
    )
)
def test_any_bytes_are_read_or_refused_in_a_sentence(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("fuzz") / "groups.yaml"
    path.write_bytes(data)
    read_or_refused(path)


@pytest.mark.slow
@pytest.mark.minimal
@settings(deadline=None, max_examples=100)
@given(
    st.dictionaries(st.text(max_size=2), st.lists(st.text(max_size=2), max_size=3), max_size=4),
    st.none() | st.just(KEEP_NAMES) | st.text(max_size=2),
    st.lists(st.text(max_size=2), unique=True, max_size=8),
)
def test_no_value_is_lost_without_being_told(groups, remainder, values):
    used_values = set()
    parted = {}
    for name, members in groups.items():
        parted[name] = tuple(v for v in members if v not in used_values)
        used_values.update(members)
    group_names, of_value, left_out = GroupDefinition(parted, remainder).grouped(values)
    assert len(of_value) == len(values)
    assert [v for v, i in zip(values, of_value, strict=True) if i < 0] == left_out
    assert sorted({i for i in of_value if i >= 0}) == list(range(len(group_names)))
    assert len(set(group_names)) == len(group_names)
    for value, i in zip(values, of_value, strict=True):
        holder = next((name for name, members in parted.items() if value in members), None)
        group_name = value if remainder == KEEP_NAMES else remainder
        if holder is not None:
            group_name = holder
        assert (group_names[i] if i >= 0 else None) == group_name
    if remainder is not None:
        assert not left_out
