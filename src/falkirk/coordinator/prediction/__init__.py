"""What a release's group coordinator would make of a log: groups, offsets, and the records that it fails on."""
