"""What stands before every request: users with passwords, and the headers that every answer carries."""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ase_exporter.webconfig import WebConfig

# bcrypt looks no further, and its library refuses what is longer.
_LONGEST_PASSWORD = 72


class Guard:
    """Answers 401 to who is not known, before the application hears of the request."""

    def __init__(self, app: ASGIApp, web: WebConfig, on_refusal: Callable[[], None]) -> None:
        self._app = app
        self._web = web
        self._on_refusal = on_refusal
        self._passwords = Passwords()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, by ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        settings = self._web.settings()
        extra = settings.http_server_config.headers

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in extra.items():
                    headers[name] = value
            await send(message)

        answer = self._app
        users = settings.basic_auth_users
        if users and not await self._passwords.match(users, *_credentials(Headers(scope=scope))):
            self._on_refusal()
            answer = PlainTextResponse(
                "unauthorized\n", 401, {"WWW-Authenticate": 'Basic realm="ase-exporter", charset="UTF-8"'}
            )
        await answer(scope, receive, send_with_headers)


class Passwords:
    """Checks passwords against bcrypt hashes, in a thread and one at a time, so that guessing blocks nobody.

    A password that was right is known again by a keyed hash of it: bcrypt takes as long as a scrape.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._right: dict[str, bytes] = {}
        self._checking = asyncio.Lock()

    async def match(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether the user is known by that password. An unknown user takes as long as a wrong password."""
        stored = users.get(user)
        expected = next(iter(users.values())) if stored is None else stored
        mark = hmac.digest(self._key, expected.encode() + password, "sha256")
        if stored is not None and hmac.compare_digest(self._right.get(stored, b""), mark):
            return True
        # Half a MiB, for those who have users.
        import bcrypt

        async with self._checking:
            right = await asyncio.to_thread(bcrypt.checkpw, password[:_LONGEST_PASSWORD], expected.encode())
        if stored is None or not right or len(password) > _LONGEST_PASSWORD:
            return False
        self._right[stored] = mark
        return True


def _credentials(headers: Headers) -> tuple[str, bytes]:
    """User and password of the request; nobody's where it has none that can be read."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return "", b""
    return user.decode("utf-8", "replace"), password
