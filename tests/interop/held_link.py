"""A TCP proxy that can hold back data without either side noticing."""

import socket
import threading
from contextlib import ExitStack, suppress
from typing import Self

_CHUNK_BYTES = 1 << 16


class HeldLink:
    """Listens on `port` in place of another port of this machine; a context manager."""

    def __init__(self) -> None:
        self._to_port = 0
        self._passes = threading.Event()
        self._passes.set()
        self._sockets = ExitStack()
        self._listener = self._sockets.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._sockets.close()

    def set_target(self, port: int) -> None:
        """Set the target port, before anyone connects."""
        self._to_port = port

    def hold(self) -> None:
        """Hold back all data from now on."""
        self._passes.clear()

    def release(self) -> None:
        """Forward what was held back."""
        self._passes.set()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near = self._sockets.enter_context(self._listener.accept()[0])
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        try:
            far = self._sockets.enter_context(socket.create_connection(("127.0.0.1", self._to_port)))
        except OSError:
            near.close()
            return
        threading.Thread(target=self._pass_on, args=(far, near), daemon=True).start()
        self._pass_on(near, far)

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK_BYTES):
                self._passes.wait()
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
