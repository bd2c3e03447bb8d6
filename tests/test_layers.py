"""Imports go round in no circle, not even those that only annotations need."""

import pytest


@pytest.mark.slow
def test_no_import_circle(optional):
    grimp = optional("grimp")
    graph = grimp.build_graph("parivox", exclude_type_checking_imports=False, cache_dir=None)
    waits = {
        module: set(graph.find_modules_directly_imported_by(module)) for module in graph.modules
    }
    # what imports nothing that is left is taken away, until only circles are left
    while free := {module for module, imports in waits.items() if not imports}:
        waits = {m: imports - free for m, imports in waits.items() if m not in free}
    # and what only leads to a circle
    inside = set(waits)
    while unasked := {
        m for m in inside if not any(m in waits[importer] for importer in inside - {m})
    }:
        inside -= unasked
    assert sorted(inside) == []
    assert len(graph.modules) > 100
