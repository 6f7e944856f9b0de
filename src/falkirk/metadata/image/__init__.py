"""Immutable images of the metadata, one module for each area, each with the delta that leads to the next image."""
