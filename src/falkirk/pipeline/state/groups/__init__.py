"""The state of groups from `__consumer_offsets`, and what a release's coordinator would load of it."""
