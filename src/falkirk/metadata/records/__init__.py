"""Metadata records: reading them, the keys of the objects that they describe, and their errors."""
