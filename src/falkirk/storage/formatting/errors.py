"""What can be wrong with the wish to format a node's directories."""


class FormatterError(Exception):
    """Refused, and nothing was written. `said`: lines that the tool prints before it fails."""

    def __init__(self, message: str, *, said: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.said = said
