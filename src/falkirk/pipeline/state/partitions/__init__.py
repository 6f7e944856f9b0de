"""The state of topics and partitions, applied to all partitions at once, on columns."""
