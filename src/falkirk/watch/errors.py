"""Reasons why a watch does not start, or stops."""


class WatchError(Exception):
    """The watch file, the journal or an alarm's target is not usable; one sentence that names file and field."""
