"""Immutable images of the metadata, one module per area, each with the delta that leads to the next image."""
