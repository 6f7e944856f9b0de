"""Errors of a lift; each is one plain sentence for an operator."""


class LiftError(Exception):
    """The lift cannot begin, or cannot go on; the text says what to do where there is something."""


class LiftFileError(LiftError):
    """The lift file is missing, unreadable, or has a wrong value; the text names the file and the field."""


class NoLeaderError(LiftError):
    """No controller that was asked leads the quorum; the text has each one's answer."""
