"""The command `ase-exporter mcp`. The SDK is imported when the command runs: it is an extra, and takes a second."""

import sys
from pathlib import Path

from ase_exporter.commands.options import require
from ase_exporter.errors import UserError


def mcp(
    prometheus: str,
    exporter: str | None = None,
    selector: str = "",
    sysmon_dir: Path | None = None,
) -> None:
    if sysmon_dir is not None and not sysmon_dir.is_dir():
        raise UserError(f"--sysmon-dir: {sysmon_dir}: expected a directory")
    require("mcp", "mcp", "mcp needs its SDK")
    from ase_exporter import logs
    from ase_exporter.mcp_server.server import serve
    from ase_exporter.mcp_server.sources import Sources

    logs.configure("text", "warning")
    sources = Sources(prometheus, exporter, selector, sysmon_dir)
    sources.connect().close()  # a bad URL is an error at the start, a server that is down is not
    if sys.stdin.isatty():
        print("ase-exporter mcp: waits for a client's messages; see docs/mcp.md", file=sys.stderr)
    serve(sources)
