"""`ase-exporter mcp` as a process that may not write: with the SDK's own client, or with frames as they are typed."""

import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mcp import Client

READ_ONLY = Path(__file__).with_name("read_only.py")
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def command(*options: str) -> list[str]:
    """The command line of the server."""
    return [sys.executable, str(READ_ONLY), "mcp", *options]


@asynccontextmanager
async def client(log: Path, *options: str) -> AsyncIterator["Client"]:
    """The SDK's client of a server. log: a file for what the server says on standard error."""
    # Each process of the tests imports this module; few need the SDK, which takes a second.
    from mcp import Client, StdioServerParameters, stdio_client

    program, *arguments = command(*options)
    with log.open("w") as file:
        parameters = StdioServerParameters(command=program, args=arguments)
        async with Client(stdio_client(parameters, errlog=file)) as connected:
            yield connected


class Frames:
    """The server's standard input and output, line by line."""

    def __init__(self, program: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.log = b""
        self._log_reader = threading.Thread(target=self._read_log)
        self._log_reader.start()

    def _read_log(self) -> None:
        assert self.process.stderr
        self.log = self.process.stderr.read()

    def send(self, line: bytes) -> None:
        """Send a line, whatever it is."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        """The next message. A line that is not JSON fails: nothing else may be on standard output."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        message = json.loads(line)
        assert isinstance(message, dict)
        return message

    def request(self, method: str, params: Mapping[str, object] | None = None, number: object = 1) -> Any:
        """The response to a request."""
        message: dict[str, object] = {"jsonrpc": "2.0", "id": number, "method": method}
        self.send(json.dumps(message | ({} if params is None else {"params": params})).encode())
        return self.receive()

    def end(self) -> int:
        """Close standard input and return the exit code."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(60)
        self._log_reader.join(60)
        self.process.stdout.close()
        return code


@contextmanager
def frames(*options: str) -> Iterator[Frames]:
    """A server after its handshake."""
    running = Frames(command(*options))
    try:
        assert running.request("initialize", HELLO)["result"]["serverInfo"]["name"] == "ase-exporter"
        running.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait(60)
