"""A system in production, watched day by day."""
