"""Counts in the place of trials: made of them, shared as a file, added up and audited."""
