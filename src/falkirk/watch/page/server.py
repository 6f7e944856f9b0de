"""Serves the page by uvicorn, on the event loop of the watch."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager, nullcontext
from typing import TYPE_CHECKING, Final

import uvicorn

from falkirk.watch.errors import WatchError
from falkirk.watch.page.access import is_loopback
from falkirk.watch.page.site import make_site

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from falkirk.protocol.endpoint import Endpoint
    from falkirk.watch.watch import Watch

_TOKEN_MIN: Final = 16
_SHUTDOWN_S: Final = 5


@asynccontextmanager
async def serving_page(watch: Watch, endpoint: Endpoint, *, token: str | None) -> AsyncIterator[str]:
    """Serve the page while the block runs; yields its address. Raises WatchError.

    It listens elsewhere than on the loopback only with a token.
    """
    if token is None and not is_loopback(endpoint.host):
        raise WatchError(
            f"page: {endpoint} can be reached from other machines: name a file with a token by --page-token-file, "
            "or listen at 127.0.0.1 and put a proxy before it"
        )
    if token is not None and len(token) < _TOKEN_MIN:
        raise WatchError(f"page: the token has {len(token)} characters; it needs {_TOKEN_MIN} or more")
    family = socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((endpoint.host, endpoint.port))
        listener.listen()
    except OSError as error:
        listener.close()
        raise WatchError(f"page: {endpoint}: {error.strerror}") from error
    stopping = asyncio.Event()
    config = uvicorn.Config(
        make_site(watch, token=token, stopping=stopping),
        log_level="warning",
        lifespan="off",
        server_header=False,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    server = uvicorn.Server(config)
    # Signals are the watch's own.
    server.capture_signals = nullcontext  # type: ignore[method-assign,assignment]
    serving = asyncio.create_task(server.serve([listener]))
    try:
        host = f"[{endpoint.host}]" if family is socket.AF_INET6 else endpoint.host
        yield f"http://{host}:{listener.getsockname()[1]}/"
    finally:
        stopping.set()
        server.should_exit = True
        await serving
        listener.close()
