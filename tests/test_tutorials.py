"""The tutorials show what their commands print, to the letter."""

import pytest


@pytest.mark.slow
@pytest.mark.parametrize("tutorial", ["student", "auditor", "bank", "spoof", "operator"])
def test_a_tutorial_shows_what_its_commands_print(
    tutorial, pages, script_output, program, in_one_process, tmp_path, request
):
    if tutorial == "student":
        request.getfixturevalue("bt4vt_data")
    name = f"tutorials/{tutorial}.md"
    assert name in pages.PAGES
    page = (pages.DOCS / name).read_text(encoding="utf-8")
    assert page.count("```console\n$ ") > 4
    assert "may not" in page or "do not say" in page
    assert pages.fresh(page, tmp_path, script_output, program.parent) == page, (
        "mend with: python examples/pages.py"
    )
