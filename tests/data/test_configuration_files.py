"""Groups, rules, policies and contexts: files that are none of these are refused in one way."""

import pytest

from parivox.data.groups_file import read_groups_file
from parivox.data.rule_file import read_rules
from parivox.data.yaml_text import MAX_BYTES
from parivox.decide.policy_file import read_policy
from parivox.errors import ConfigError
from parivox.report.context import read_context

pytestmark = pytest.mark.minimal
READERS = {
    "a groups file": read_groups_file,
    "a rule file": read_rules,
    "a policy": read_policy,
    "a context file": read_context,
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "contains n|is not a"),
        (b"# a remark\n", "contains n|is not a"),
        (b"by: \x02\xe9\n", "is not text; "),
        (b"by: [a\n", "line 2: is not YAML"),
        (b"notes: " + b"x" * MAX_BYTES, "is larger than 1 MiB, so it is not {kind}; name another"),
    ],
    ids=["empty", "remark", "binary", "no YAML", "large"],
)
def test_a_file_of_another_kind_is_refused(tmp_path, kind, content, message):
    path = tmp_path / "given.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"^given.yaml: ({message.format(kind=kind)})"):
        READERS[kind](path)


@pytest.mark.parametrize("kind", READERS)
def test_what_is_neither_a_file_nor_a_mapping_is_refused(kind):
    with pytest.raises(ConfigError, match=f"a int is not {kind}; give the path of a YAML file, or"):
        READERS[kind](7)
