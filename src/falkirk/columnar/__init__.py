"""Logs and snapshots as Arrow columns, decoded in bulk; tests hold every row equal to the row codec's."""
