"""The systems under audit, as black boxes: one file per kind."""
