"""Who may ask, before a request reaches the application: known hosts and users; and the headers of every answer."""

import asyncio
import base64
import binascii
import hmac
import ipaddress
import secrets
import socket
import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ase_exporter.web.web_config import WebConfig

# Bytes. bcrypt ignores what follows, and its library rejects longer ones.
_MAX_PASSWORD = 72
# Checks of passwords that wait, of everybody and of one address: each takes as long as a scrape.
MAX_CHECKS, MAX_CHECKS_OF_ONE = 16, 4
# Of every answer, unless the web configuration has others: names of servers are for no cache, frame or guess.
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
# Ends of names that no public name server answers for.
_PRIVATE = (".localhost", ".local", ".internal", ".svc", ".home.arpa")


class TooManyChecksError(Exception):
    """More passwords wait to be checked than may."""


class Access:
    """ASGI middleware that answers 401 to unauthenticated requests and adds headers.

    Without users, it answers 421 to requests for hosts that are not known: pages of the web whose name turns into our
    address would read everything. hosts: further names of this exporter. on_unauthorized: called for each 401.
    """

    def __init__(
        self,
        app: ASGIApp,
        web_config: WebConfig,
        on_unauthorized: Callable[[], None],
        hosts: Collection[str] = (),
    ) -> None:
        self._app = app
        self._web_config = web_config
        self._on_unauthorized = on_unauthorized
        self._passwords = Passwords()
        self._hosts = {name.lower() for name in (*hosts, socket.gethostname())}
        # Name servers that do not answer must not delay the start.
        threading.Thread(target=lambda: self._hosts.add(socket.getfqdn().lower()), daemon=True).start()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        settings = self._web_config.settings()
        configured = _HEADERS | dict(settings.http_server_config.headers)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in configured.items():
                    headers[name] = value
            await send(message)

        headers = Headers(scope=scope)
        app: ASGIApp = self._app
        if not (users := settings.basic_auth_users):
            if not self._is_known(headers.get("host", "")):
                text = "not a name of this exporter: --web.host=NAME of `serve` adds one\n"
                app = PlainTextResponse(text, 421)
        else:
            # uvicorn's cycle knows whether the caller is gone.
            cycle = getattr(receive, "__self__", None)
            source = (scope.get("client") or ("",))[0]
            try:
                matches = await self._passwords.match(
                    users, *_credentials(headers), source, lambda: bool(getattr(cycle, "disconnected", False))
                )
            except TooManyChecksError:
                app = PlainTextResponse("too many passwords to check\n", 503, {"Retry-After": "5"})
            else:
                if not matches:
                    self._on_unauthorized()
                    challenge = 'Basic realm="ase-exporter", charset="UTF-8"'
                    app = PlainTextResponse("unauthorized\n", 401, {"WWW-Authenticate": challenge})
        await app(scope, receive, send_with_headers)

    def _is_known(self, host: str) -> bool:
        """Whether a Host header is ours: an address, a name of this machine or of a private network, or a given one.

        Only browsers can be misled, and they always send one.
        """
        name = host.rpartition("]")[0].strip("[") if host.startswith("[") else host.partition(":")[0]
        name = name.lower().rstrip(".")
        if "." not in name and ":" not in name:
            # No page of the web has a name without a dot.
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._hosts or name.endswith(_PRIVATE)
        return True


class Passwords:
    """Checks passwords against bcrypt hashes, in a thread and one at a time, so that guessing blocks no one else.

    A correct password is cached as a keyed hash, since bcrypt takes as long as a scrape. Callers with the same one
    share a check.
    """

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)
        self._correct: dict[str, bytes] = {}
        self._checking = asyncio.Lock()
        # Checks that wait or run, and who waits for them: whether each is gone.
        self._checks: dict[tuple[str | None, bytes], asyncio.Task[bool]] = {}
        self._callers: dict[tuple[str | None, bytes], list[Callable[[], bool]]] = {}
        self._sources: Counter[str] = Counter()

    async def match(
        self,
        users: Mapping[str, str],
        user: str,
        password: bytes,
        source: str = "",
        is_gone: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Whether user and password are correct. users: bcrypt hashes by name. source: the caller's address.

        An unknown user takes as long as a wrong password, so that the time does not tell which users exist.
        is_gone: whether nobody waits for the answer any more. Raises TooManyChecksError.
        """
        stored = users.get(user)
        # A hash of each cost, so that neither users who do not exist nor users of another cost can be told apart.
        hashes = {_cost(each): each for each in users.values()}
        expected = next(iter(users.values())) if stored is None else stored
        hashes[_cost(expected)] = expected
        digest = hmac.digest(self._key, expected.encode() + password, "sha256")
        if stored is not None and hmac.compare_digest(self._correct.get(stored, b""), digest):
            return True
        key = stored, digest
        if key not in self._checks:
            if len(self._checks) >= MAX_CHECKS or self._sources[source] >= MAX_CHECKS_OF_ONE:
                raise TooManyChecksError
            self._sources[source] += 1
            self._callers[key] = []
            task = asyncio.create_task(self._check(key, password, hashes, expected))
            self._checks[key] = task

            def end(_: object) -> None:
                del self._checks[key], self._callers[key]
                self._sources[source] -= 1
                if not self._sources[source]:
                    del self._sources[source]

            task.add_done_callback(end)
        self._callers[key].append(is_gone)
        return await asyncio.shield(self._checks[key])

    async def _check(
        self, key: tuple[str | None, bytes], password: bytes, hashes: Mapping[str, str], expected: str
    ) -> bool:
        # Half a MiB, which only a configuration with users needs.
        import bcrypt

        stored, digest = key
        async with self._checking:
            if all(is_gone() for is_gone in self._callers[key]):
                return False
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
