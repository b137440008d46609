"""The command `ase-exporter mcp`. The SDK is imported when the command runs: it is an extra, and takes a second."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ase_exporter.commands.options import ExporterHistory, PrometheusUrl, Selector, require
from ase_exporter.errors import UserError


def mcp(
    prometheus: PrometheusUrl,
    exporter: ExporterHistory = None,
    selector: Selector = "",
    sysmon_dir: Annotated[
        Path | None, typer.Option(help="Directory of saved sp_sysmon reports; no other file is read.")
    ] = None,
) -> None:
    """Example:

    ase-exporter mcp --prometheus http://127.0.0.1:9090 --exporter http://127.0.0.1:10150"""
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
