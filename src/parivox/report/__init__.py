"""What people see of an audit and of other results: terminal, HTML report, tables, files.

Job
    Turn results into words, tables and charts. Nothing is computed here that is not in the tables
    of a result: what is seen first in the terminal, the report, notebooks and papers is the same
    because it comes from the same functions.

Entry functions
    `terminal.print_summary`, `selection.group_details` and `full_tables.every_table` print an
    audit; `report_files.write_report` and `report_files.write_tables` write it; `notebook.html`
    shows any result in a notebook; `figures.write_figures` and ``charts`` draw. Other results have
    one module each with a ``print_...`` function: `calibration`, `criteria`, `gate`, `inspection`,
    `monitor`, `papers`, `plan`, `releases`, `systems`, `thresholds`, `trials`, `variation`.

Central types
    `overview.Overview` is what is seen first: the finding, counts of verdicts, limitations. It is
    made of `overview.GroupResult` (a group in both errors and every system) and
    `overview.GroupComparison` (one error of one group in one system). `caveats.Caveat` is a
    limitation, found by one rule of `caveats.RULES`. `audit_queries.Scope` is one grouping of one
    system under one allocation, with the filters that select its rows. `sheets.sheet.Sheet` is a
    table for any medium.

From tables to words
    `audit_queries` selects rows, `findings` and `disagreements` make sentences of them, `words`
    writes numbers and intervals, `labels` replaces names by labels in all tables before.

Callers
    `parivox.cli`, the methods of results (``Audit.summary`` and the like, through
    ``parivox.shown``), and users of notebooks. Nothing that computes imports this package.
"""
