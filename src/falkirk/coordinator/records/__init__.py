"""Records for `__consumer_offsets`, made at the versions that a release writes at its finalized levels."""
