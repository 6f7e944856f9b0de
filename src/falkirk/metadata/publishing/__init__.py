"""Batches of the metadata log in, images out, given to publishers in order."""
