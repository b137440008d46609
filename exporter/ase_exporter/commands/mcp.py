"""The command `ase-exporter mcp`. The SDK is imported when the command runs: it is an extra, and takes a second."""

import sys
from pathlib import Path

from ase_exporter.commands.options import changes_url, defaults, require, source_url


def mcp(
    prometheus: str | None = None,
    exporter: str | None = None,
    selector: str = "",
    config_file: Path | None = None,
) -> None:
    require("mcp", "mcp", "mcp needs its SDK")
    from ase_exporter import logs
    from ase_exporter.changes.annotate import ExporterClient
    from ase_exporter.mcp_server.server import serve
    from ase_exporter.mcp_server.sources import Sources

    logs.configure("text", "warning")
    loaded = defaults(config_file, prometheus, exporter)
    exporter = changes_url(exporter, loaded)
    sources = Sources(source_url("prometheus", prometheus, loaded), exporter, selector)
    # A bad URL is an error at the start, a server that is down is not.
    with sources.connect():
        if exporter:
            ExporterClient(exporter)
    if sys.stdin.isatty():
        print("ase-exporter mcp: waits for a client's messages; see docs/mcp.md", file=sys.stderr)
    serve(sources)
