"""The linter finds a new way by which text of others would enter or leave without the package `untrusted`."""

import json
import subprocess
import sys
import tomllib

from tests.paths import REPOSITORY

# A line of a new module for each way in and out.
SINKS = """\
html.escape(name)
httpx2.AsyncClient()
httpx2.Client()
httpx2.get(name)
httpx2.post(name)
httpx2.stream(name)
json.load(file)
json.loads(name)
msgspec.json.decode(name)
msgspec.json.Decoder(str)
logging.StreamHandler(out)
markupsafe.Markup(name)
mcp.types.TextContent(text=name)
jinja2.Environment()
jinja2.Template(name)
pyodbc.connect(name)
rich.console.Console().print(name)
rich.markup.render(name)
sys.stdout.write(name)
sys.stdout.buffer.write(name)
sys.stderr.write(name)
typer.echo(name)
"""


def test_each_sink_in_a_new_module_is_found() -> None:
    modules = {line.split("(")[0].rpartition(".")[0].removesuffix(".buffer") for line in SINKS.splitlines()}
    imports = "".join(f"import {module}\n" for module in sorted(modules - {"sys.stdout", "sys.stderr"}))
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "check", "--select=TID251", "--output-format=json"),
            *("--stdin-filename=exporter/ase_exporter/commands/new.py", "-"),
        ],
        cwd=REPOSITORY,
        input=f"{imports}import sys\n{SINKS}",
        capture_output=True,
        text=True,
    )
    first = imports.count("\n") + 2
    found = {each["location"]["row"] - first for each in json.loads(ended.stdout)}
    assert [line for row, line in enumerate(SINKS.splitlines()) if row not in found] == []
    banned = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    names = banned["flake8-tidy-imports"]["banned-api"]
    assert [name for name in names if name not in SINKS] == []
