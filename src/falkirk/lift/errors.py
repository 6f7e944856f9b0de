"""Errors of a lift; each is plain text for an operator, and says what to do where there is something."""

from falkirk.operations.errors import OperationError


class LiftError(OperationError):
    """The lift cannot begin, or cannot go on."""


class LiftFileError(LiftError):
    """The lift file is missing, unreadable, or has a wrong value; the text names the file and the field."""


class LossesNotAcceptedError(LiftError):
    """The lift would lose what `accept_losses` does not name."""


class NoLeaderError(LiftError):
    """No controller that was asked leads the quorum; the text has each one's answer."""


class HookError(LiftError):
    """A hook could not be run, has failed, or has not ended; the text names it, the node, and its last line."""


class LevelUnknownError(LiftError):
    """No leader of the quorum reports whether the level is low."""
