"""Read the manifest of a list that was built, and what it says of the design of the list."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from parivox.data.lists.grades import hardest, parse_mix, rounded_counts
from parivox.data.lists.trial_list import new_trial_list
from parivox.errors import DataError, ParivoxError
from parivox.facts import fact
from parivox.options.kinds import option_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

    from parivox.data.lists.grades import Mixes
    from parivox.data.lists.trial_list import TrialList

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
"""What a manifest has to contain, as annotations have it."""
_TYPES = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "text"),
    "None": (type(None), "null"),
    "Sequence": (list, "a list"),
    "Mapping": (dict, "a mapping"),
}
_LATER_FIELDS = ("parameters.groups", "inputs.utterances.ids_sha256", "inputs.speakers.ids_sha256")
"""Fields that manifests written before lack."""
_ROLES = ("utterances", "speakers")
KEEP_AS_WRITTEN = "give the manifest as it was written"


def _manifest_error(path: Path, fault: str, hint: str = KEEP_AS_WRITTEN) -> DataError:
    msg = f"{path}: {fault}"
    return DataError(msg, hint)


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest that contains all that is needed."""
    from parivox.options.trials import BUILD_OPTIONS, BuildOptions  # noqa: PLC0415 - where there is one

    manifest = _read_known_schema(path)
    kind = manifest["kind"]
    if kind not in tuple(BUILD_OPTIONS):
        raise _manifest_error(path, f"kind is {kind!r}, expected {' or '.join(BUILD_OPTIONS)}")
    _check_fields(path, "", manifest, _FIELDS)
    common_options, kind_options = option_fields(BuildOptions), option_fields(BUILD_OPTIONS[kind])
    # the parameters are the options of this kind of lists alone
    parameters = {
        name: option.annotation
        for name, option in kind_options.items()
        if name not in common_options
    }
    _check_fields(path, "parameters.", manifest["parameters"], parameters)
    _check_fields(path, "inputs.", manifest["inputs"], dict.fromkeys(_ROLES, "Mapping"))
    # a field that this version does not know would be passed over, and another list built
    unknown = sorted({*manifest["parameters"]} - {*parameters})
    unknown += sorted({*manifest["inputs"]} - {*_ROLES})
    if unknown:
        raise _manifest_error(path, f"{unknown[0]!r} is not known for a list of kind {kind}")
    for role, source in manifest["inputs"].items():
        fields = {"ids_sha256": "str"}
        # without a table of speakers, their columns are in the utterances: a hash, but no path
        if role == "utterances" or "path" in source:
            fields["path"] = "str | None"
        _check_fields(path, f"inputs.{role}.", source, fields)
    lists, n_variants = manifest["lists"], manifest["variants"]
    if len(lists) != n_variants:
        raise _manifest_error(path, f"variants is {n_variants}, but there are {len(lists)} lists")
    for index, built_list in enumerate(lists):
        _check_fields(path, f"lists[{index}].", built_list, {"sha256": "str"})
    return dict(manifest)


def _read_known_schema(path: Path) -> Any:
    """Return the content of a file that is a manifest of this schema."""
    try:
        if path.exists() and not path.is_file() and not path.is_fifo():
            hint = "give the NAME.manifest.json of a list"
            raise _manifest_error(path, "is not a file", hint)
        manifest = json.loads(path.read_bytes())
        schema, _ = manifest["schema"], manifest["kind"]
    except OSError as error:
        fault = f"cannot be read ({error.strerror})"
        raise _manifest_error(path, fault, "check the path") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        hint = "give the NAME.manifest.json of a list"
        raise _manifest_error(path, "is not a manifest of a trial list", hint) from error
    if schema != SCHEMA:
        fault = f"is a manifest of {schema!r}, not {SCHEMA!r}"
        raise _manifest_error(path, fault, "use the version of Parivox that wrote it")
    return manifest


def _check_fields(path: Path, prefix: str, section: Any, fields: Mapping[str, str]) -> None:
    """Refuse a section of a manifest that lacks a field, or has it of another type."""
    if not isinstance(section, dict):
        fault = f"{prefix.rstrip('.')} is {section!r}, expected a mapping"
        raise _manifest_error(path, fault)
    for name, annotation in fields.items():
        if name not in section and prefix + name in _LATER_FIELDS:
            continue
        if name not in section:
            raise _manifest_error(path, f"lacks {prefix}{name}")
        if not _is_of_type(section[name], annotation):
            types = [_TYPES[kind.partition("[")[0]][1] for kind in annotation.split(" | ")]
            fault = f"{prefix}{name} is {section[name]!r}, expected {' or '.join(types)}"
            raise _manifest_error(path, fault)


def _is_of_type(content: Any, annotation: str) -> bool:
    """Whether a piece of JSON is of an annotated type.

    >>> _is_of_type([1, 3], "Sequence[int] | None"), _is_of_type(None, "int | str")
    (True, False)
    >>> _is_of_type(True, "int")
    False
    """
    python_type: type = type(content)  # by type, as True would be an instance of int
    for alternative in annotation.split(" | "):
        outer, _, inner = alternative.rstrip("]").partition("[")
        if outer == "float" and python_type is int:
            return True
        if python_type is _TYPES[outer][0]:
            members = content.values() if outer == "Mapping" else content
            member_type = inner.split(", ")[-1]
            return not inner or all(_is_of_type(member, member_type) for member in members)
    return False


class ManifestDesign(NamedTuple):
    """What the manifest of a list says that its design fixed."""

    manifest: str  # the file
    graded_by: tuple[str, ...]  # attributes that define difficulty
    names_attributes: bool  # whether they were named; if not, they are those of the groups
    mix: Mixes | None  # share of trials of each grade by label, if that was fixed
    n_lists: int  # different lists that were drawn alike, this one with them

    @classmethod
    def for_list_file(cls, source: Any) -> ManifestDesign | None:
        """Return the design of a list whose manifest lies next to its file; None without one.

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
            # a manifest that cannot be read is none of this list; rebuilding the list says what is
            # wrong
            with suppress(ParivoxError):
                manifest = read_manifest(path)
                if any(built_list["sha256"] == digest for built_list in manifest["lists"]):
                    return cls.from_manifest(manifest, path.name)
        return None

    @classmethod
    def from_manifest(cls, manifest: Mapping[str, Any], name: str) -> ManifestDesign:
        """Return what a manifest fixes."""
        parameters, graded_by = manifest["parameters"], tuple(manifest["grade_by"])
        mix = None
        if manifest["kind"] == "inclusive":
            max_grade, n_pairs = hardest(len(graded_by)), parameters["per_speaker"]
            target_grades = parameters["target_grades"]
            shares = {
                "nontarget": parse_mix(parameters["mix"] or {max_grade: 1.0}, max_grade),
                "target": dict.fromkeys(target_grades, 1 / len(target_grades)),
            }
            # shares as they come out in whole trials, so that rounding is not held against them
            mix = {
                label: {
                    grade: count / n_pairs
                    for grade, count in rounded_counts(n_pairs, label_shares).items()
                }
                for label, label_shares in shares.items()
            }
        n_lists = len({built_list["sha256"] for built_list in manifest["lists"]})
        return cls(name, graded_by, bool(parameters.get("grade_by")), mix, n_lists)

    def regrade(self, trial_list: TrialList) -> TrialList:
        """Return the list, graded by the attributes named for it where speakers have them."""
        columns = trial_list.speakers.columns
        if not self.names_attributes or not all(name in columns for name in self.graded_by):
            return trial_list
        return new_trial_list(
            trial_list.trials,
            trial_list.speakers,
            groupings=trial_list.groupings,
            grade_by=list(self.graded_by),
        )

    def fixed_mix(self, trial_list: TrialList) -> Mixes | None:
        """Return the mix that was fixed, where trials are graded as they were."""
        names = [agreement.name.lower() for agreement in trial_list.agreements]
        return self.mix if names == [name.lower() for name in self.graded_by] else None

    @property
    def as_fact(self) -> str:
        """What it fixes, as a fact."""
        mix = [
            {
                "trials": label,
                "grades": [{"grade": grade, "share": share} for grade, share in shares.items()],
            }
            for label, shares in (self.mix or {}).items()
        ]
        names_attributes = self.names_attributes or self.mix is not None
        return fact(
            "fixed_by_design",
            manifest=str(self.manifest),
            attributes=[*self.graded_by] if names_attributes else [],
            mix=mix,
            lists=self.n_lists,
        )
