"""One JSON document as the lines of JSON that it represents: tables by speaker, pandas, lists.

=============================================  =====================================
``[{"speaker": "a", "gender": "f"}, ...]``     a list of rows
``{"a": {"gender": "f"}, ...}``                a row a speaker, whose id is the key
``{"a": "f", ...}``                            the same, with one value
``{"gender": {"a": "f", ...}, ...}``           a column a key, as pandas writes them
``{"speaker": ["a", ...], "gender": [...]}``    a column a key, as ``to_dict("list")``
``{"f": ["a", ...], "m": ["b", ...]}``          the speakers of each group
``{"columns": [...], "data": [[...], ...]}``   pandas, ``orient="split"``
``{"schema": ..., "data": [{...}, ...]}``      pandas, ``orient="table"``
=============================================  =====================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from parivox.data.columns import ALIASES, SPEAKER_NAMES, plain_name
from parivox.data.formats.delimited import head_lines
from parivox.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from parivox.data.source_bytes import SourceBytes

_MAX_BYTES = 256 << 20
"""Size of a document, which is decoded as a whole."""
_RECORD_NAMES = frozenset().union(*ALIASES.values(), SPEAKER_NAMES, {"id", "utterance"})
"""Names that tell a row from a mapping of speakers, in `plain_name` spelling."""
_ID_NAMES = {*SPEAKER_NAMES, "id"}
_SPEAKER, _VALUE, _GROUP = "speaker", "value", "group"


def with_one_record_a_line(content: SourceBytes) -> SourceBytes:
    """Return a document as lines of JSON, a record each; anything else as it is."""
    lines_of_head = head_lines(content.head)
    if not lines_of_head:
        msg = f"{content.name}: contains blank lines only"
        hint = "give a file with one JSON object per line"
        raise DataError(msg, hint)
    (_, first_line), *other_lines = lines_of_head
    is_line, first_value = _decode(first_line, content.name)
    if is_line and isinstance(first_value, dict) and (other_lines or _is_record(first_value)):
        return content
    if content.size > _MAX_BYTES:
        msg = f"{content.name}: is one JSON document of more than {_MAX_BYTES >> 20} MiB"
        hint = "write one record per line, for example with jq -c"
        raise DataError(msg, hint)
    with content.open() as file:
        text = file.read().decode("utf-8-sig", errors="replace")
    is_document, document = _decode(text, content.name)
    if isinstance(document, list) and any(isinstance(row, list) for row in document):
        msg = f"{content.name}: contains rows of values without column names"
        hint = 'write column names with the values, as to_json(orient="records") of pandas does'
        raise DataError(msg, hint)
    records = _records(document) if is_document else []
    if not records:
        return content
    lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
    return replace(content, payload=lines.encode(), path=None)


def refuse_repeated_keys(name: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """Return what makes an object of its entries, and refuses a key that a document has twice."""

    def as_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        decoded = dict(pairs)
        if len(decoded) < len(pairs):
            keys = [key for key, _ in pairs]
            repeated = next(key for key in keys if keys.count(key) > 1)
            msg = f"{name}: has the key {repeated!r} twice in one object"
            hint = "keep one of the two entries"
            raise DataError(msg, hint)
        return decoded

    return as_object


def _decode(text: str, name: str) -> tuple[bool, Any]:
    """Return whether a text is JSON, and its value; refuse an object with a key twice."""
    try:
        return True, json.loads(text, object_pairs_hook=refuse_repeated_keys(name))
    except (ValueError, RecursionError):
        return False, None


def _is_record(mapping: dict[str, Any]) -> bool:
    """Whether an object is a row rather than a table.

    Examples
    --------
    >>> _is_record({"enrol": "a", "score": 1}), _is_record({"anna": "f"}), _is_record({"a": {}})
    (True, False, False)
    """
    if all(isinstance(value, dict) for value in mapping.values()):
        return not mapping
    if _are_columns(mapping) or _are_members_of_groups(mapping):
        return False
    if isinstance(mapping.get("data"), list):
        return False
    is_flat = not any(isinstance(value, (dict, list)) for value in mapping.values())
    return not is_flat or any(plain_name(name) in _RECORD_NAMES for name in mapping)


def _are_columns(mapping: dict[str, Any]) -> bool:
    """Whether an object has columns, which are lists of one length."""
    values = list(mapping.values())
    return len(values) > 1 and (
        all(isinstance(value, list) for value in values)
        and len({len(value) for value in values}) == 1
    )


def _are_members_of_groups(mapping: dict[str, Any]) -> bool:
    """Whether an object lists the speakers of each group.

    Lists of one length may be columns, unless nothing occurs twice.

    Examples
    --------
    >>> _are_members_of_groups({"f": ["a", "b"], "m": ["c"]})
    True
    >>> _are_members_of_groups({"speaker": ["a", "b"], "sex": ["f", "m"]})
    False
    """
    lists = list(mapping.values())
    if len(lists) < 2 or not all(isinstance(members, list) for members in lists):
        return False
    members = [member for group in lists for member in group]
    if not members or not all(isinstance(member, str) for member in members):
        return False
    have_one_length = len(set(map(len, lists))) == 1
    are_distinct = [len({*group}) == len(group) for group in (members, *lists)]
    return (are_distinct[0] if have_one_length else all(are_distinct[1:])) and not any(
        plain_name(name) in _RECORD_NAMES for name in mapping
    )


def _records(document: Any) -> list[dict[str, Any]]:
    """Return the rows of a document; none where it is no table."""
    if isinstance(document, list):
        return document if all(isinstance(record, dict) for record in document) else []
    return _records_of_object(document) if isinstance(document, dict) else []


def _records_of_object(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object; none where it is no table."""
    if isinstance(document.get("data"), list):
        return _records_of_pandas(document.get("columns"), document["data"])
    values = list(document.values())
    if all(isinstance(value, dict) for value in values):
        return _records_of_mappings(document)
    if _are_members_of_groups(document):
        return [
            {_SPEAKER: member, _GROUP: group}
            for group, members in document.items()
            for member in members
        ]
    if _are_columns(document):
        return [dict(zip(document, row, strict=True)) for row in zip(*values, strict=True)]
    are_flat = not any(isinstance(value, (dict, list)) for value in values)
    items = document.items() if are_flat else ()
    return [{_SPEAKER: key, _VALUE: value} for key, value in items]


def rows_by_speaker(source: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Return the rows of a mapping from speakers to attributes; none where it has columns.

    Examples
    --------
    >>> rows_by_speaker({"anna": {"gender": "f"}, "bert": {"gender": "m"}})
    [{'speaker': 'anna', 'gender': 'f'}, {'speaker': 'bert', 'gender': 'm'}]
    >>> rows_by_speaker({7: "f"}), rows_by_speaker({"speaker": ["anna"], "gender": ["f"]})
    ([{'speaker': '7', 'value': 'f'}], [])
    """
    values = source.values()
    if all(isinstance(value, Mapping) for value in values):
        document = {
            str(key): {str(name): cell for name, cell in source[key].items()} for key in source
        }
        return _records_of_mappings(document)
    if all(isinstance(value, (str, int, float)) for value in values):
        return [{_SPEAKER: str(key), _VALUE: value} for key, value in source.items()]
    return []


def _records_of_pandas(columns: Any, rows: list[Any]) -> list[dict[str, Any]]:
    """Return the rows of ``orient="split"``, which has columns, or of ``orient="table"``."""
    if not isinstance(columns, list):
        return _records(rows)
    if not all(isinstance(row, list) and len(row) == len(columns) for row in rows):
        return []
    return [dict(zip(map(str, columns), row, strict=True)) for row in rows]


def _records_of_mappings(document: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of objects by speaker, by row or by column; rows are the more numerous.

    Examples
    --------
    >>> _records_of_mappings({"a": {"sex": "f"}, "b": {"sex": "m"}})
    [{'speaker': 'a', 'sex': 'f'}, {'speaker': 'b', 'sex': 'm'}]
    >>> _records_of_mappings({"sex": {"a": "f", "b": "m"}})
    [{'speaker': 'a', 'sex': 'f'}, {'speaker': 'b', 'sex': 'm'}]
    >>> _records_of_mappings({"speaker": {"0": "a", "1": "b"}, "sex": {"0": "f", "1": "m"}})
    [{'speaker': 'a', 'sex': 'f'}, {'speaker': 'b', 'sex': 'm'}]
    """
    inner_keys = list(dict.fromkeys(key for mapping in document.values() for key in mapping))
    names_speakers = any(plain_name(key) in _ID_NAMES for key in document)
    if len(inner_keys) > len(document) or names_speakers:
        document = {
            row: {name: column[row] for name, column in document.items() if row in column}
            for row in inner_keys
        }
    names = {plain_name(name) for mapping in document.values() for name in mapping}
    # the keys are the speakers, unless a column holds these
    if names & _ID_NAMES:
        return list(document.values())
    return [{_SPEAKER: key, **mapping} for key, mapping in document.items()]
