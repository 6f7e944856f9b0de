"""Stopped data directories: inspect, plan, downgrade, verify, undo, diff. A source changes only by `--in-place`."""
