"""Files of a report: whole or not at all, and nothing else replaced."""

import os
import stat

import pytest

import parivox as pv
from parivox.errors import ConfigError
from parivox.report.report_files import TABLES, check_report, format_of


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "ending"), TABLES.items())
def test_the_name_tells_the_format_and_an_earlier_report_is_replaced(
    unsure, tmp_path, kind, ending
):
    file = tmp_path / f"tables{ending}"
    pv.write_tables(unsure, file)
    earlier = file.read_bytes()
    pv.write_tables(unsure, file)
    assert file.read_bytes() == earlier
    pv.write_tables(unsure, tmp_path / "other", format=kind)
    assert (tmp_path / "other").read_bytes() == earlier
    assert {path.name for path in tmp_path.iterdir()} == {file.name, "other"}


@pytest.mark.slow
def test_a_format_may_change_from_one_report_to_the_next(unsure, tmp_path):
    file = tmp_path / "tables"
    for kind in TABLES:
        pv.write_tables(unsure, file, format=kind)


@pytest.mark.parametrize("text", ["# Parivox\n", "mine", "<!-- Parivox -->", "% Parivox\n"])
def test_any_other_file_is_kept(unsure, tmp_path, text):
    file = tmp_path / "notes.md"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"already exists and was not written by Parivox"):
        pv.write_tables(unsure, file)
    assert file.read_text() == text


def test_an_empty_file_may_be_written_to(unsure, tmp_path):
    file = tmp_path / "made.md"
    file.touch()
    pv.write_tables(unsure, file)
    assert file.read_text().startswith("<!-- Parivox")


def test_a_link_stays_and_what_it_leads_to_is_written(unsure, tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link.md").symlink_to(tmp_path / "there" / "real.md")
    pv.write_tables(unsure, tmp_path / "link.md")
    assert (tmp_path / "link.md").is_symlink()
    assert (tmp_path / "there" / "real.md").read_text().startswith("<!-- Parivox")


@pytest.mark.usefixtures("options_in_messages")
def test_what_cannot_be_written_is_a_sentence(unsure, tmp_path):
    (tmp_path / "file").write_text("x")
    for path, message in (
        (tmp_path, "is a folder; name a file"),
        ("", "the file name is empty"),
        (tmp_path / "no" / "a.md", "does not exist"),
        (tmp_path / "file" / "a.md", "does not exist"),
        (tmp_path / ("n" * 300 + ".md"), "path is '.*'; give the name of a file"),
        (tmp_path / "a\0b.md", "path is '.*'; give the name of a file"),
    ):
        with pytest.raises(ConfigError, match=message):
            pv.write_tables(unsure, path, format="markdown")
    with pytest.raises(ConfigError, match="the ending of the name is not a known format"):
        pv.write_tables(unsure, tmp_path / "a.doc")
    with pytest.raises(ConfigError, match=r"--format 'docx' is not known; choose from markdown"):
        pv.write_tables(unsure, tmp_path / "a.md", format="docx")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_told_before(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(ConfigError, match="cannot be written"):
        check_report(tmp_path / "a.html")


def test_a_full_disk_leaves_the_earlier_report(unsure, tmp_path, monkeypatch):
    from pathlib import Path

    file = tmp_path / "a.md"
    pv.write_tables(unsure, file)
    earlier = file.read_bytes()

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ConfigError, match="No space left"):
        pv.write_tables(unsure, file)
    assert file.read_bytes() == earlier
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.html", ""), ("a.HTM", ""), ("a.md", "markdown"), ("a.tex", "latex"), ("a.xlsx", "xlsx")],
)
def test_formats_of_names(name, kind):
    assert format_of(name) == kind


@pytest.mark.usefixtures("options_in_messages")
def test_ids_of_speakers_are_shown_only_if_the_audit_noted_them(unsure, tmp_path):
    with pytest.raises(ConfigError, match="audit again with --speaker-ids offenders"):
        unsure.report(tmp_path / "a.html", speaker_ids="offenders")
    with pytest.raises(ConfigError, match="choose never or offenders"):
        unsure.report(tmp_path / "a.html", speaker_ids="all")
    assert list(tmp_path.iterdir()) == []


def test_without_the_packages_it_says_what_to_install(monkeypatch, tmp_path):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match=r"pages need vl_convert and jinja2: pip install 'parivox\[re"
    ):
        check_report(tmp_path / "a.html")
