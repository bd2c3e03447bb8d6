"""The result of an audit: tidy tables with fixed columns, and how they were made.

The tables and ``audit.json`` are functions of the trials, the speakers and the options: the
same trials in another order, format or compression give the same bytes. What depends on the
files themselves (names, hashes of their bytes) stands apart, in ``provenance.json``.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

from parivox.arguments import check_arguments
from parivox.auditing.column_texts import column_texts
from parivox.auditing.folder import check_folder, check_format, write_folder
from parivox.auditing.private import PrivateKey, sealed_provenance
from parivox.auditing.rates_and_ratios import ERROR_RATES, group_rates, group_ratios
from parivox.auditing.schema import CURVES, ON_REQUEST, SCHEMA_VERSION, TABLES
from parivox.data.table import Table
from parivox.errors import ConfigError, printable, utf8_text
from parivox.renamed import renamed_attribute
from parivox.shown import (
    CATALOGUE_MODULE,
    EXPORTS_MODULE,
    NOTEBOOK_MODULE,
    REPORT_FILES_MODULE,
    NotebookView,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def system_name(system: str, list_: str) -> str:
    """A system on a list as the user names it: ``system@list``."""
    return f"{system}@{list_}" if list_ else system


@dataclass(frozen=True, eq=False, repr=False)
class Audit(NotebookView):
    """An audit's tables and record; every table goes into any dataframe library.

    Attributes
    ----------
    groups, bias, meta, matrix, operating_points, data, det, bins : Table
        See the page "What an audit writes".
    verdicts, limits, bands : Table
        Empty without intervals.
    failures : Table
        Empty where no reason of a failure is told.
    comparison, offenders, sweep : Table
        Empty unless a comparison, the ids of speakers, or a sweep, was asked for.
    searches : Table
        What identification has besides its two error rates; empty for verification.
    attacks : Table
        Spoof accepts by attack; empty without spoof trials whose attack is known.
    spoof_bins : Table
        Spoof trials between the thresholds of ``bins``; empty without spoof trials.
    pairing : Table
        What pairs it with an audit of the same trials by another system; may be empty.
    record : dict
        Options, definitions, versions and content hashes.
    provenance : list of dict
        The files that were read: name, format, hash of their bytes.
    """

    groups: Table
    bias: Table
    meta: Table
    verdicts: Table
    limits: Table
    failures: Table
    comparison: Table
    matrix: Table
    operating_points: Table
    data: Table
    det: Table
    bins: Table
    bands: Table
    offenders: Table
    sweep: Table
    pairing: Table
    searches: Table
    attacks: Table
    spoof_bins: Table
    record: dict[str, Any]
    provenance: list[dict[str, Any]]

    def __post_init__(self) -> None:
        """Describe the columns of every table."""
        for name in TABLES:
            object.__setattr__(self, name, getattr(self, name).described(column_texts(name)))

    def __repr__(self) -> str:
        inputs = ", ".join(
            system_name(content["system"], content["list"]) for content in self.record["inputs"]
        )
        groupings = ", ".join(self.record["groupings"])
        sizes = dict.fromkeys(f"{content['trials']:,}" for content in self.record["inputs"])
        noun = "searches" if "identification" in self.record else "trials"
        return printable(f"<Audit of {inputs} by {groupings}: {' and '.join(sizes)} {noun}>")

    @cached_property  # which notebooks look into to complete a name, as they do not a property
    def charts(self) -> Any:
        """Every chart by name, as Altair charts to restyle: ``audit.charts.det(by="gender")``."""
        return import_module(NOTEBOOK_MODULE).Charts(self)

    @check_arguments
    def rates(
        self,
        metric: Sequence[str] | str = ERROR_RATES,
        *,
        system: Sequence[str] | str | None = None,
        list: Sequence[str] | str | None = None,  # noqa: A002 - as the column is called
        grouping: Sequence[str] | str | None = None,
        group: Sequence[str] | str | None = None,
        operating_point: str | None = None,
        allocation: str | None = None,
        within: str | None = None,
    ) -> Table:
        """Return the error rates of every group, one row for each group, error type and system.

        Parameters
        ----------
        metric
            Metrics at an operating point; by default both error rates.
        system, list, grouping, group
            Only these; by default all groups, without those of all trials. ``grouping="all"`` has
            the rates over all trials.
        operating_point, allocation, within
            By default the first operating point, the first allocation, and all strata together.

        Returns
        -------
        Table
            ``rate`` is a fraction in [0, 1], and ``low`` and ``high`` are the limits of its
            interval. A missing rate has a ``reason``.

        Raises
        ------
        ConfigError
            If the audit has no such metric, group and so on.
        """
        filters = {
            "metric": self._rates_or(metric),
            "system": system,
            "list": list,
            "grouping": grouping,
            "group": group,
            "operating_point": operating_point,
            "allocation": allocation,
            "within": within,
        }
        options = self.record["options"]
        return group_rates(self.groups, self.operating_points, options, filters)

    @check_arguments
    def ratios(
        self,
        metric: Sequence[str] | str = ERROR_RATES,
        *,
        reference: str | None = None,
        system: Sequence[str] | str | None = None,
        list: Sequence[str] | str | None = None,  # noqa: A002 - as the column is called
        grouping: Sequence[str] | str | None = None,
        group: Sequence[str] | str | None = None,
        operating_point: str | None = None,
        allocation: str | None = None,
        within: str | None = None,
    ) -> Table:
        """Return each group's error rate divided by that of a reference, with the verdict.

        Parameters
        ----------
        metric, system, list, grouping, group, operating_point, allocation, within
            As in `rates`.
        reference
            By default the first reference of the audit, which is ``others`` (all other groups
            combined) unless another one was asked for. Verdicts exist for the first one only.

        Returns
        -------
        Table
            One row for each group, error type and system: ``ratio`` with the limits of its
            interval, ``p_holm`` (adjusted for all groups and both error types), ``verdict`` and
            ``reason``.

        Raises
        ------
        ConfigError
            If the audit has no such metric, group, reference and so on.
        """
        filters = {
            "metric": self._rates_or(metric),
            "reference": reference,
            "system": system,
            "list": list,
            "grouping": grouping,
            "group": group,
            "operating_point": operating_point,
            "allocation": allocation,
            "within": within,
        }
        options = self.record["options"]
        return group_ratios(self.bias, self.verdicts, self.operating_points, options, filters)

    def _rates_or(self, metric: Sequence[str] | str) -> Sequence[str] | str:
        """Return metrics that are asked for; by default both error rates, also of searches."""
        is_default = metric == ERROR_RATES and "identification" in self.record
        return self.record["error_types"] if is_default else metric

    def tables(self) -> dict[str, Table]:
        """Every table by name; those on request only if there is anything in them."""
        all_tables = {name: getattr(self, name) for name in TABLES}
        return {
            name: table
            for name, table in all_tables.items()
            if name not in ON_REQUEST or len(table)
        }

    def sentences(self) -> Table:
        """Return the reasons and notes of all tables in words, each of a table once.

        Returns
        -------
        Table
            ``table`` and ``column``, ``code`` and ``values`` (JSON) as they stand there, the
            ``sentence``, and in how many ``rows``.
        """
        columns = import_module(CATALOGUE_MODULE).audit_sentences(self)
        return Table.of(columns, dict.fromkeys(columns, "str") | {"rows": "int"})

    def to_dict(self) -> dict[str, Any]:
        """All of the audit but its curves, as JSON can hold it (infinite values as "inf")."""
        tables_and_record: dict[str, Any] = json.loads(self.to_json())
        return tables_and_record

    def to_json(self) -> str:
        """The audit as one line of JSON a table; the schema is shipped as ``audit.schema.json``."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """What `to_json` gives, a column of a table at a time, as large audits need the room."""
        record = {"parivox_audit": SCHEMA_VERSION, **self.record}
        head = json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False)[:-2]
        yield f'{head},\n "tables": {{\n'
        joint = ""
        for name, table in self.tables().items():
            if name not in CURVES:
                yield f"{joint}  {json.dumps(name)}: "
                yield from table.json_pieces()
                joint = ",\n"
        yield "\n }\n}\n"

    def summary(self) -> str:
        """Return what the terminal shows first, as ``print`` shows it."""
        return str(self)

    @check_arguments
    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        context: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        speaker_ids: str = "never",
        workers: int = 1,
    ) -> None:
        """Write the audit as one self-contained HTML page.

        Parameters
        ----------
        path
            File to write; an earlier report there is replaced, any other file is not.
        title
            Title of the page.
        context
            Context file, or a mapping that holds the same: what only the owner of the audit knows,
            and labels.
        speaker_ids : {"never", "offenders"}
            Whether the speakers with the most errors are named, if the audit has them.
        workers
            Number of processes that draw the figures. With more than 1, a script needs
            ``if __name__ == "__main__":``.

        Raises
        ------
        ConfigError
            If the file cannot be written there, an option is wrong, or vl_convert or jinja2 is
            missing.
        """
        import_module(REPORT_FILES_MODULE).write_report(
            self, path, title=title, context=context, speaker_ids=speaker_ids, workers=workers
        )

    @check_arguments
    def to_mlflow(
        self,
        *,
        tracking_uri: str | None = None,
        experiment: str = "Default",
        run_name: str | None = None,
    ) -> str:
        """Log the audit to MLflow: every number as a metric, verdicts as tags, tables as files.

        Parameters
        ----------
        tracking_uri
            Where to, as in ``file:mlruns``; by default MLflow's own, and the run that is active
            there.
        experiment
            Its name; made if there is none. Not of an active run.
        run_name
            Of a new run.

        Returns
        -------
        str
            Id of the run. Names have ``_`` for what MLflow allows in none; ``parivox.json`` among
            the files has them as they are.

        Raises
        ------
        ConfigError
            If MLflow is missing, or cannot log there.
        """
        run_id: str = import_module(EXPORTS_MODULE).log_audit(
            self, tracking_uri=tracking_uri, experiment=experiment, run_name=run_name
        )
        return run_id

    @check_arguments
    def save(self, folder: str | os.PathLike[str], *, format: str = "csv") -> Audit:  # noqa: A002
        """Save every table, ``audit.json``, ``provenance.json`` and hashes: all or nothing.

        A run that is stopped or killed leaves the earlier audit or this one whole, as
        `load` reads it, and the next audit written there clears up. Hashes of what was read are
        written as HMACs by the random key in ``private.json``, which only its owner can read; the
        key of an earlier audit in the folder is kept.

        Parameters
        ----------
        folder
            Created if missing; an earlier audit in it is replaced. The folder itself, its mode and
            links to it stay.
        format : {"csv", "parquet"}
            Of the tables; the curves (det, bins, bands, sweep) are Parquet always.

        Returns
        -------
        Audit
            The audit as it was written.

        Raises
        ------
        ConfigError
            If the folder cannot be written, or holds something other than an earlier audit.
        """
        check_format(format)
        key = PrivateKey.of_folder(check_folder(folder))
        sealed = self._sealed(key)
        provenance = json.dumps(_storable(sealed.provenance), indent=1, ensure_ascii=False)
        texts = {"audit.json": sealed.json_pieces(), "provenance.json": [f"{provenance}\n"]}
        write_folder(folder, sealed.tables(), texts, format, key)
        return sealed

    write = renamed_attribute("Audit.write", "save")

    def _sealed(self, key: PrivateKey) -> Audit:
        """Return the same with HMACs by a key in the place of hashes."""
        pairing = self.pairing
        if len(pairing):
            cells = pairing.to_dict()
            members = [key.sealed(digest) for digest in cells["members"]]
            pairing = Table.of(cells | {"members": members}, TABLES["pairing"])
        provenance = sealed_provenance(self.provenance, key)
        return replace(self, pairing=pairing, provenance=provenance)


def _storable(content: Any) -> Any:
    """Return names of files as UTF-8 can hold them, nested as they are."""
    if isinstance(content, str):
        return utf8_text(content)
    if isinstance(content, dict):
        return {_storable(key): _storable(nested) for key, nested in content.items()}
    return (
        [_storable(nested) for nested in content] if isinstance(content, (list, tuple)) else content
    )


def loaded_audit(audit: Audit | str | os.PathLike[str], product: str, hint: str) -> Audit:
    """Return an audit of verification, or the one that a folder holds.

    `product` is what does not take audits of identification, and `hint` what does instead.
    """
    if isinstance(audit, Audit):
        check_verification(audit, product, hint)
        return audit
    try:
        folder = os.fsdecode(audit)
    except TypeError:
        msg = f"{audit!r:.200} is neither an audit nor a folder"
        raise ConfigError(msg, "give an audit, or the folder of an audit") from None
    audit_of_folder = load(folder)
    check_verification(audit_of_folder, f"{folder}: {product}", hint)
    return audit_of_folder


def check_verification(audit: Audit, product: str, hint: str) -> None:
    """Refuse an audit of identification where only verification has what is asked for."""
    if "identification" in audit.record:
        msg = f"{product} does not take audits of identification (made with --gallery)"
        raise ConfigError(msg, hint)


def load(folder: str | os.PathLike[str]) -> Audit:
    """Load an audit that was written earlier.

    Parameters
    ----------
    folder
        The ``--out`` folder of an audit.

    Raises
    ------
    DataError
        If the folder does not hold a whole audit of this version, as it was written.
    """
    from parivox.auditing.folder_reading import read_folder  # noqa: PLC0415 - reads old sentences

    tables, record, provenance = read_folder(folder)
    return Audit(**tables, record=record, provenance=provenance)
