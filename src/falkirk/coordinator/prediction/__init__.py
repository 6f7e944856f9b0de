"""Predicts what a release's group coordinator loads from a log: groups, offsets, and the records on which it fails."""
