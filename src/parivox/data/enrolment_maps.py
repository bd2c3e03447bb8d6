"""Maps from enrolment models to recordings as toolkits write them, without a header.

======================  ==================================================
``model u1 u2 u3``      a line a model, as Kaldi's ``spk2utt``
``spk<TAB>u1,u2``       the same, with commas between recordings
``utt model``           a line a recording, as Kaldi's ``utt2spk``
``model utt``           the same, the other way round
``model speaker``       a line a model, where the second column has known speakers
======================  ==================================================

Of two columns, the one whose ids occur again contains the models; the first one where none does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from parivox.data.columns import plain_name
from parivox.data.formats import table_format
from parivox.data.formats.delimited import DELIMITED, check_text, read_header
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Collection

    from parivox.data.source_bytes import SourceBytes

_COLUMNS = ("row", "model", "recording")
ENROLMENT_MAP = "enrolment map"
"""Name of the format."""


def read_enrolment_map(
    content: SourceBytes, known_names: Collection[str]
) -> tuple[pl.DataFrame, str, dict[str, Any]] | None:
    """Return models and recordings, the name of the file, and what was read.

    None where the file is a table: no text, or one with any of the known names of columns in its
    first line. The columns are ``row``, ``model`` and ``recording``, a pair a row.
    """
    if table_format(content) is not DELIMITED:
        return None
    check_text(content)
    names, separator, _ = read_header(content)
    if any(plain_name(name) in known_names for name in names) or separator not in " \t,":
        return None
    with content.open() as file:
        text = file.read().decode("utf-8-sig", errors="replace")
    lines = pl.DataFrame({"line": text.split("\n")}).with_row_index("row", offset=1)
    line = pl.col("line").str.strip_chars()
    lines = lines.select("row", line=line).filter(pl.col("line") != "")
    rest = pl.col("line").str.replace(r"^\S+\s*", "")
    has_commas = ~rest.str.contains(r"\s")
    table = lines.select(
        pl.col("row").cast(pl.Int64),
        model=pl.col("line").str.extract(r"^(\S+)"),
        recording=pl.when(has_commas)
        .then(rest.str.replace_all(",", " "))
        .otherwise(rest)
        .str.extract_all(r"\S+"),
    )
    n_recordings = table["recording"].list.len()
    if separator == "," and not (n_recordings > 0).any():
        return None  # a table separated by commas, of which the header is unknown
    if (n_recordings == 0).any():
        row = table.filter(n_recordings == 0)["row"][0]
        msg = f"{content.name}, row {row}: contains a model without recordings"
        hint = (
            "write the recordings after the model, or give a table with the columns model and "
            "recording"
        )
        raise DataError(msg, hint)
    are_pairs = bool((n_recordings == 1).all())
    table = table.explode("recording")
    if are_pairs and table["model"].n_unique() > table["recording"].n_unique():
        table = table.rename({"model": "recording", "recording": "model"})
    provenance = {"role": "models", "name": content.name, "format": ENROLMENT_MAP}
    return table.select(_COLUMNS), content.name, provenance | content.provenance
