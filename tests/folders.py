"""What tests know of the folders of audits."""

OF_KEY = {"private.json", "provenance.json", "pairing.parquet", "SHA256SUMS"}
"""Files that depend on the key of the folder: two audits have them alike only by one key."""
