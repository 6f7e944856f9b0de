"""The hosts of a run and the programs on them."""
