"""Why a node's directories cannot be formatted."""


class FormatterError(Exception):
    """Formatting was refused, and nothing was written. `notices`: lines that the tool prints before it fails."""

    def __init__(self, message: str, *, notices: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.notices = notices
