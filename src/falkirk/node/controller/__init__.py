"""The controller role of a node."""
