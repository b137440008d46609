"""Access to endpoints that change something: off unless enabled, and closed to pages of other origins."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from ase_exporter.config.web import WebSettings, is_loopback
from ase_exporter.errors import UserError

# Bytes.
_MAX_BODY = 64 * 1024
Handler = Callable[[Request], Awaitable[Response]]

# What is said while they are off.
RELOADING = "reloading over HTTP is off; --web.enable-lifecycle enables it"
ANNOTATING = "annotations are off; --web.enable-annotations enables them"


@dataclass(frozen=True, slots=True)
class WriteAccess:
    """Which endpoints are enabled. lifecycle: /-/reload. annotations: /annotations and /annotations/ID/finish."""

    lifecycle: bool = False
    annotations: bool = False


def protected(handler: Handler, enabled: bool, when_off: str) -> Handler:
    """The handler, if it is enabled, for callers that are no page of another origin."""

    async def answer(request: Request) -> Response:
        if not enabled:
            return PlainTextResponse(f"{when_off}\n", 403)
        if _is_from_another_origin(request):
            return PlainTextResponse("requests from pages of another origin are not accepted\n", 403)
        # A page of another origin can send a form without asking, but JSON only after a CORS preflight request.
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
        if kind.lower() != "application/json":
            return PlainTextResponse("expected Content-Type: application/json\n", 400)
        return await handler(request)

    return answer


async def request_body(request: Request) -> bytes:
    """The body of a request. Raises UserError for one that is too long, ClientDisconnect."""
    data = b""
    async for chunk in request.stream():
        data += chunk
        if len(data) > _MAX_BODY:
            raise UserError(f"expected at most {_MAX_BODY} bytes")
    return data


def _is_from_another_origin(request: Request) -> bool:
    """Whether a browser sends the request for a page of another origin. Other clients send neither header.

    Only host and port are compared: behind a proxy that ends TLS, the scheme differs.
    """
    if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = request.headers.get("origin")
    return (
        origin is not None and origin.partition("://")[2].lower() != request.headers.get("host", "").lower()
    )


def open_endpoints(address: str, settings: WebSettings, access: WriteAccess) -> Iterator[str]:
    """What a server that listens on HOST:PORT leaves open, in one line each that says how to close it."""
    tls = settings.tls_server_config
    asks = settings.basic_auth_users or (tls and tls.client_auth_type == "RequireAndVerifyClientCert")
    lacking = {"tls_server_config": not tls, "basic_auth_users": not asks}
    missing = " and ".join(name for name, is_missing in lacking.items() if is_missing)
    if missing and not is_loopback(address.rpartition(":")[0]):
        yield f"{address} is open to the network: set {missing} in --web.config.file"
    changing = {"--web.enable-lifecycle": access.lifecycle, "--web.enable-annotations": access.annotations}
    enabled = ", ".join(option for option, is_enabled in changing.items() if is_enabled)
    if enabled and not asks:
        yield f"{enabled}: for everybody who reaches {address}: set basic_auth_users in --web.config.file"
