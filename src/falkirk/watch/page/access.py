"""Who may read the pages: this machine alone, or whoever has the token; and the headers that bind the browser.

A page that listens on the loopback answers only to names of the loopback, so that no other site can read it through
the browser (DNS rebinding). Elsewhere everything but the sign-in asks for the token, as `Authorization: Bearer TOKEN`
or as the cookie that the sign-in sets.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

SIGN_IN: Final = "/sign-in"
_OPEN_PATHS: Final = ("/static/", SIGN_IN)
_COOKIE: Final = "falkirk_watch"
_FORM_BYTES_MAX: Final = 4096
_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def is_loopback(host: str) -> bool:
    """Return whether a host to listen at is this machine's alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Access:
    """ASGI middleware; `token`: None if the page is the loopback's alone."""

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token
        self._cookie = None if token is None else hmac.digest(token.encode(), b"falkirk watch", hashlib.sha256).hex()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        answer = await self._refusal(request)
        await (self._app if answer is None else answer)(scope, receive, _with_headers(send))

    async def _refusal(self, request: Request) -> Response | None:
        path = request.url.path
        if self._token is None:
            host = request.url.hostname or ""
            if is_loopback(host):
                return None
            return PlainTextResponse(f"this page answers to 127.0.0.1 and localhost, not to {host!r}\n", 421)
        if path == SIGN_IN and request.method == "POST":
            return await self._sign_in(request, self._token)
        if path.startswith(_OPEN_PATHS) or self._is_known(request):
            return None
        if "text/html" in request.headers.get("accept", ""):
            return RedirectResponse(SIGN_IN, 303)
        return PlainTextResponse("this page asks for its token\n", 401, {"WWW-Authenticate": "Bearer"})

    def _is_known(self, request: Request) -> bool:
        assert self._token is not None
        assert self._cookie is not None
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and hmac.compare_digest(bearer.encode(), self._token.encode()):
            return True
        return hmac.compare_digest(request.cookies.get(_COOKIE, "").encode(), self._cookie.encode())

    async def _sign_in(self, request: Request, token: str) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > _FORM_BYTES_MAX:
                return PlainTextResponse("too long\n", 413)
        given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), token.encode()):
            return RedirectResponse(f"{SIGN_IN}?wrong=1", 303)
        answer = RedirectResponse("/", 303)
        assert self._cookie is not None
        is_secure = request.headers.get("x-forwarded-proto", request.url.scheme) == "https"
        answer.set_cookie(_COOKIE, self._cookie, httponly=True, samesite="strict", secure=is_secure)
        return answer


def _with_headers(send: Send) -> Send:
    added = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *added]
        await send(message)

    return sending
