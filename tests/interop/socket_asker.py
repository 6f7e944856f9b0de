"""Sends the requests of `data_plane_story` to a node over a socket, one at a time."""

import socket
import time
from typing import Any

from falkirk.protocol.connection import Connection, ResponseReceived, Role
from falkirk.protocol.messages import ApiVersionsRequest
from falkirk.protocol.schema import WireMessage

_TIMEOUT_S = 30


class SocketAsker:
    """A client of `127.0.0.1:port` that reconnects when it is disconnected."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), _TIMEOUT_S)
        self._connection = Connection(role=Role.CLIENT, client_id="tester")

    def ask(self, message: WireMessage, version: int) -> Any:
        """As Asker."""
        _, data = self._connection.send_request(message, version)
        self._socket.sendall(data)
        return self._receive()

    def tell(self, message: WireMessage, version: int) -> bool:
        """As Asker."""
        _, data = self._connection.send_request(message, version)
        self._socket.sendall(data)
        # Nobody answers it, so the next answer is another one's.
        self._connection._requested.pop()
        try:
            return self.ask(ApiVersionsRequest(), 0) is not None
        except (BrokenPipeError, ConnectionResetError):
            self.close()
            self._connect()
            return False

    def wait(self) -> None:
        """As Asker."""
        time.sleep(0.1)

    def reconnect(self) -> None:
        """Connect again, to a node that was restarted."""
        self.close()
        self._connect()

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _receive(self) -> Any:
        while True:
            try:
                data = self._socket.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                self.close()
                self._connect()
                return None
            for event in self._connection.receive_data(data):
                assert isinstance(event, ResponseReceived)
                return event.message()
