"""The audit: counts per group, every measure of them, one result of tidy tables."""
