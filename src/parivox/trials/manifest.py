"""The manifest of a list that was built, and what it says of the design of the list."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.errors import DataError, ParivoxError
from parivox.options.kinds import option_fields
from parivox.trials.grades import hardest, parse_mix, rounded_counts
from parivox.trials.lists import list_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.trials.grades import Mixes
    from parivox.trials.lists import TrialList

SCHEMA = "parivox.trials/1"
ENDING = ".manifest.json"
_FIELDS = {
    "parivox": "str",
    "by": "str",
    "id": "str | None",
    "grade_by": "Sequence[str]",
    "parameters": "Mapping",
    "seed": "int",
    "variants": "int",
    "format": "str",
    "inputs": "Mapping",
    "lists": "Sequence",
}
"""What a manifest has to hold, as annotations have it."""
_TYPES = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "text"),
    "None": (type(None), "null"),
    "Sequence": (list, "a list"),
    "Mapping": (dict, "a mapping"),
}
_LATER = ("parameters.groups", "inputs.utterances.ids_sha256", "inputs.speakers.ids_sha256")
"""Fields that manifests written before lack."""
_ROLES = ("utterances", "speakers")
AS_WRITTEN = "give the manifest as it was written"


def _wrong(path: Path, what: str, mend: str = AS_WRITTEN) -> DataError:
    return DataError(f"{path}: {what}; {mend}")


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest that holds all that is needed."""
    from parivox.options.trials import BUILD_OPTIONS, BuildOptions  # noqa: PLC0415 - where there is one

    try:
        if path.exists() and not path.is_file() and not path.is_fifo():
            raise _wrong(path, "is not a file", "give the NAME.manifest.json of a list")
        manifest = json.loads(path.read_bytes())
        schema, kind = manifest["schema"], manifest["kind"]
    except OSError as error:
        raise _wrong(path, f"cannot be read ({error.strerror})", "check the name") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        mend = "give the NAME.manifest.json of one"
        raise _wrong(path, "is not a manifest of a trial list", mend) from error
    if schema != SCHEMA:
        what = f"is a manifest of {schema!r}, not {SCHEMA!r}"
        raise _wrong(path, what, "install its version of Parivox")
    if kind not in tuple(BUILD_OPTIONS):
        raise _wrong(path, f"kind is {kind!r}, expected {' or '.join(BUILD_OPTIONS)}")
    _check_fields(path, "", manifest, _FIELDS)
    of_all, own = option_fields(BuildOptions), option_fields(BUILD_OPTIONS[kind])
    parameters = {name: one.annotation for name, one in own.items() if name not in of_all}
    _check_fields(path, "parameters.", manifest["parameters"], parameters)
    _check_fields(path, "inputs.", manifest["inputs"], dict.fromkeys(_ROLES, "Mapping"))
    extra = sorted({*manifest["parameters"]} - {*parameters})
    extra += sorted({*manifest["inputs"]} - {*_ROLES})
    if extra:
        raise _wrong(path, f"{extra[0]!r} is not known of a list that is {kind}")
    for role, one in manifest["inputs"].items():
        has_path = role == "utterances" or "path" in one
        fields = {"ids_sha256": "str"} | ({"path": "str | None"} if has_path else {})
        _check_fields(path, f"inputs.{role}.", one, fields)
    lists, variants = manifest["lists"], manifest["variants"]
    if len(lists) != variants:
        raise _wrong(path, f"variants is {variants}, of lists there are {len(lists)}")
    for at, one in enumerate(lists):
        _check_fields(path, f"lists[{at}].", one, {"sha256": "str"})
    return dict(manifest)


def _check_fields(path: Path, where: str, part: Any, fields: Mapping[str, str]) -> None:
    """Refuse a part of a manifest that lacks a field, or has it of another type."""
    if not isinstance(part, dict):
        raise _wrong(path, f"{where.rstrip('.')} is {part!r}, expected a mapping")
    for name, annotation in fields.items():
        if name not in part and where + name in _LATER:
            continue
        if name not in part:
            raise _wrong(path, f"lacks {where}{name}")
        if not _is_of_type(part[name], annotation):
            types = [_TYPES[one.partition("[")[0]][1] for one in annotation.split(" | ")]
            raise _wrong(path, f"{where}{name} is {part[name]!r}, expected {' or '.join(types)}")


def _is_of_type(value: Any, annotation: str) -> bool:
    """Whether a value of JSON is of an annotated type.

    >>> _is_of_type([1, 3], "Sequence[int] | None"), _is_of_type(None, "int | str")
    (True, False)
    >>> _is_of_type(True, "int")
    False
    """
    kind: type = type(value)  # True is no number here
    for one in annotation.split(" | "):
        outer, _, inner = one.rstrip("]").partition("[")
        if outer == "float" and kind is int:
            return True
        if kind is _TYPES[outer][0]:
            items = value.values() if outer == "Mapping" else value
            return not inner or all(_is_of_type(x, inner.split(", ")[-1]) for x in items)
    return False


class ListDesign(NamedTuple):
    """What the manifest beside a list says that its design fixed."""

    manifest: str  # the file
    graded_by: tuple[str, ...]  # attributes that define difficulty
    asked: bool  # whether they were named; if not, they are those of the groups
    mix: Mixes | None  # share of trials of each grade by label, if that was fixed
    lists: int  # different lists that were drawn alike, this one with them

    @classmethod
    def beside(cls, source: Any) -> ListDesign | None:
        """The design of a list whose manifest lies beside its file; None where there is none.

        A list whose bytes are not those of the manifest was changed, so nothing is fixed.
        """
        if not isinstance(source, (str, os.PathLike)) or not os.path.isfile(source):  # noqa: PTH113 - any text
            return None
        manifests = sorted(Path(source).absolute().parent.glob(f"*{ENDING}"))
        if not manifests:
            return None
        with open(source, "rb") as file:  # noqa: PTH123 - likewise
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        for path in manifests:
            with suppress(ParivoxError):  # whoever builds it again is told what is wrong with it
                manifest = read_manifest(path)
                if any(one["sha256"] == digest for one in manifest["lists"]):
                    return cls.of(manifest, path.name)
        return None

    @classmethod
    def of(cls, manifest: Mapping[str, Any], name: str) -> ListDesign:
        """What a manifest fixes."""
        parameters, graded = manifest["parameters"], tuple(manifest["grade_by"])
        mix = None
        if manifest["kind"] == "inclusive":
            top, n = hardest(len(graded)), parameters["per_speaker"]
            shares = parse_mix(parameters["mix"] or {top: 1.0}, top)
            targets = dict.fromkeys(
                parameters["target_grades"], 1 / len(parameters["target_grades"])
            )
            each = {"nontarget": shares, "target": targets}
            mix = {
                label: {grade: count / n for grade, count in rounded_counts(n, one).items()}
                for label, one in each.items()
            }
        lists = len({one["sha256"] for one in manifest["lists"]})
        return cls(name, graded, bool(parameters.get("grade_by")), mix, lists)

    def graded(self, trial_list: TrialList) -> TrialList:
        """The list, graded by the attributes that were named for it where speakers have them."""
        one, columns = trial_list, trial_list.people.columns
        if not self.asked or not all(name in columns for name in self.graded_by):
            return one
        groupings, names = one.groupings, list(self.graded_by)
        return list_of(one.trials, one.people, groupings=groupings, grade_by=names)

    def mix_of(self, trial_list: TrialList) -> Mixes | None:
        """The mix that was fixed, where trials are graded as they were."""
        names = [one.name.lower() for one in trial_list.agreements]
        return self.mix if names == [one.lower() for one in self.graded_by] else None

    @property
    def in_words(self) -> str:
        """What it fixes, as a clause."""
        words = []
        if self.asked or self.mix is not None:
            words.append(f"grades are of {' and '.join(self.graded_by)}")
        if self.mix is not None:
            for label, mix in self.mix.items():
                shares = (f"{100 * share:g} % of grade {grade}" for grade, share in mix.items())
                words.append(f"{label} trials are {', '.join(shares)}")
        words.append(f"{self.lists:,} list{'s' * (self.lists > 1)} drawn alike")
        return f"by {self.manifest}, {'; '.join(words)}"
