"""Bytes of logs and snapshots to Arrow columns, in bulk; equal to the row codec by test."""
