"""The two ways to misuse the protocol: by the peer (or a file), and by us."""


class ProtocolError(Exception):
    """Base of everything that the protocol layer raises on purpose."""


class RemoteProtocolError(ProtocolError):
    """Bytes that do not parse: truncated, overlong, hostile or corrupt.

    `offset` counts bytes from the start of the buffer that was given to the decoder, `path` names the field as
    the golden files do (`/topics/0/name`; empty for the frame itself).
    """

    def __init__(self, reason: str, *, offset: int, path: str = "") -> None:
        self.reason = reason
        self.offset = offset
        self.path = path
        super().__init__(reason, offset, path)

    def __str__(self) -> str:
        """Return one line: the reason and the position."""
        where = f" in {self.path}" if self.path else ""
        return f"{self.reason} (byte {self.offset}{where})"


class TooManyElementsError(RemoteProtocolError):
    """A request whose arrays have more elements together than the decoder may make objects of."""


class LocalProtocolError(ProtocolError):
    """A value of ours that cannot be encoded: out of range, null in a field that is not nullable, too long."""


class UnsupportedVersionError(LocalProtocolError):
    """A version that the message does not have, or a field set that the version lacks and must not drop."""
