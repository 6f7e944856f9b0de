"""Stopped data directories: inspect, plan, downgrade, verify, undo, diff. Never changes a source unless asked to."""
