"""Losses at a lower metadata.version: the catalogue of rules, what they find, and where in the log it was written."""
