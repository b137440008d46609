"""Basic auth and configured response headers, before every request reaches the application."""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections.abc import Callable, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ase_exporter.web.web_config import WebConfig

# Bytes. bcrypt ignores what follows, and its library rejects longer ones.
_MAX_PASSWORD = 72


class BasicAuth:
    """ASGI middleware that answers 401 to unauthenticated requests and adds the configured headers.

    on_unauthorized: called for each 401.
    """

    def __init__(self, app: ASGIApp, web_config: WebConfig, on_unauthorized: Callable[[], None]) -> None:
        self._app = app
        self._web_config = web_config
        self._on_unauthorized = on_unauthorized
        self._passwords = Passwords()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        settings = self._web_config.settings()
        configured = settings.http_server_config.headers

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in configured.items():
                    headers[name] = value
            await send(message)

        app = self._app
        users = settings.basic_auth_users
        if users and not await self._passwords.match(users, *_credentials(Headers(scope=scope))):
            self._on_unauthorized()
            app = PlainTextResponse(
                "unauthorized\n", 401, {"WWW-Authenticate": 'Basic realm="ase-exporter", charset="UTF-8"'}
            )
        await app(scope, receive, send_with_headers)


class Passwords:
    """Checks passwords against bcrypt hashes, in a thread and one at a time, so that guessing blocks no one else.

    A correct password is cached as a keyed hash, since bcrypt takes as long as a scrape.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._correct: dict[str, bytes] = {}
        self._checking = asyncio.Lock()

    async def match(self, users: Mapping[str, str], user: str, password: bytes) -> bool:
        """Whether user and password are correct. users: bcrypt hashes by name.

        An unknown user takes as long as a wrong password, so that the time does not tell which users exist.
        """
        stored = users.get(user)
        # A hash of each cost, so that neither users who do not exist nor users of another cost can be told apart.
        hashes = {_cost(each): each for each in users.values()}
        expected = next(iter(users.values())) if stored is None else stored
        hashes[_cost(expected)] = expected
        digest = hmac.digest(self._key, expected.encode() + password, "sha256")
        if stored is not None and hmac.compare_digest(self._correct.get(stored, b""), digest):
            return True
        # Half a MiB, which only a configuration with users needs.
        import bcrypt

        async with self._checking:
            correct = await asyncio.to_thread(
                _check, bcrypt.checkpw, password[:_MAX_PASSWORD], hashes, expected
            )
        if stored is None or not correct or len(password) > _MAX_PASSWORD:
            return False
        self._correct[stored] = digest
        return True


def _cost(stored: str) -> str:
    """The cost in a bcrypt hash: $2b$COST$..."""
    return stored.split("$")[2]


def _check(
    check: Callable[[bytes, bytes], bool], password: bytes, hashes: Mapping[str, str], expected: str
) -> bool:
    """Whether the password has the expected hash. All hashes are computed."""
    correct = {stored: check(password, stored.encode()) for stored in hashes.values()}
    return correct[expected]


def _credentials(headers: Headers) -> tuple[str, bytes]:
    """User and password of the request; empty if it has none or they are malformed."""
    scheme, _, encoded = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return "", b""
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return "", b""
    return user.decode("utf-8", "replace"), password
