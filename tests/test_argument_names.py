"""Messages of errors: options on the command line, arguments in Python."""

import re

import pytest

import parivox as pv
from parivox.cli import main
from parivox.errors import ParivoxError, options_named
from parivox.options.argument_names import python_words
from parivox.options.audit import AuditOptions
from parivox.options.kinds import Flag, option_fields

SCORES = {"enrol": ["a/1", "a/1", "b/1"], "test": ["a/2", "b/2", "b/2"], "score": [3, 1, 2]}
SPEAKERS = {"id": ["a", "b"], "accent": ["UK", "US"]}


@pytest.mark.parametrize("option", option_fields(AuditOptions).values(), ids=lambda o: o.name)
def test_every_option_is_named_as_the_argument(option):
    if option.command_name is None or option.flag == f"--{option.name}" == "--orientation":
        return
    words = python_words(f"{option.flag}: is wrong")
    setting = f"={not option.default}" if isinstance(option, Flag) else ""
    assert words == f"{option.keyword}{setting}: is wrong"


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("--by 'acent' is unknown", "by='acent' is unknown"),
        (
            "name a file, for example --by gender or --by a+b",
            "name a file, for example by='gender' or by='a+b'",
        ),
        ("leave out --distance", "leave out orientation='distance'"),
        ("give --baseline OLD, its audit", "give baseline=OLD, its audit"),
        ("--columns score=a,label=b: twice", "columns={'score': 'a', 'label': 'b'}: twice"),
        ("for example --day 2026-11-22", "for example day='2026-11-22'"),
        ("count it with parivox count; or not", "count it with pv.count; or not"),
        ("see parivox gate --example", "see parivox gate --example"),
        ("as shown by `ray start --head`", "as shown by `ray start --head`"),
        ("a--b and -- are no options", "a--b and -- are no options"),
    ],
)
def test_settings_are_written_as_python_writes_them(message, words):
    assert python_words(message) == words
    assert python_words(words) == words


def test_the_library_names_arguments_and_the_command_line_options(tmp_path, capsys):
    with pytest.raises(pv.ConfigError, match=r"^by: unknown attribute 'acent'") as caught:
        pv.audit(SCORES, SPEAKERS, by="acent")
    with options_named():
        assert str(caught.value).startswith("--by: unknown attribute 'acent'")
    scores, speakers = tmp_path / "scores.csv", tmp_path / "speakers.csv"
    scores.write_text("enrol,test,score\na/1,a/2,3\na/1,b/2,1\nb/1,b/2,2\n")
    speakers.write_text("id,accent\na,UK\nb,US\n")
    with pytest.raises(SystemExit):
        main(["audit", str(scores), "--speakers", str(speakers), "--by", "acent"])
    assert "error: --by: unknown attribute 'acent'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"limits": "fnr"}, "limits: 'fnr' is not RATE=MAX"),
        ({"gates": "speaker=3"}, "gates='speaker=3' is not NAME=NUMBER"),
        ({"gates": "speakers=\u0663"}, "gates='speakers=\u0663' is not NAME=NUMBER"),
        ({"operating_points": "fpr=0.01", "compare": True, "intervals": False}, "compare=True"),
        ({"replicates": 1}, "replicates is 1"),
        ({"nosuch": 1}, "nosuch= is not an option"),
    ],
)
def test_no_message_of_the_library_has_an_option(options, message):
    with pytest.raises(ParivoxError, match=re.escape(message)) as caught:
        pv.audit(SCORES, SPEAKERS, by="accent", **options)
    assert "--" not in str(caught.value)
