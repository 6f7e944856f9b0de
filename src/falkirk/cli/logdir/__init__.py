"""`falkirk logdir`: the data directories of a stopped cluster."""
