"""The YAML of the documents loads, their PromQL parses, their SQL runs, their Python imports what there is."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path

import certifi
import pytest
import yaml
from tests.deploy.fenced import Block, blocks
from tests.exporter.simulated import Simulated
from tests.exporter.simulated import run as simulated
from tests.programs import said_by

from ase_exporter.ase.connection import DatabaseError
from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue
from ase_exporter.config import Config, yaml_files
from ase_exporter.config.web import WebSettings
from ase_exporter.errors import UserError
from ase_simulator.model.scenario import Scenario

LANGUAGES = {"sh", "yaml", "promql", "sql", "text"}
# Placeholder in a document -> value used here.
BLANKS = {
    "{…}": "{}",
    "[…]": "[]",
    "$2y$10$...": "$2y$10$" + "a" * 53,
    "/etc/ssl/company.pem": certifi.where(),
    "DATABASE": "orders",
}
NOT_SIMULATED = {"sp_help_rep_agent", "sp_cluster"}
# In what a cluster alone answers.
OF_A_CLUSTER = "monCIPC"
STATEMENT = re.compile(r"^(?=select |use |sp_|exec |dbcc )", re.MULTILINE)


def filled(block: Block) -> str:
    """A block as a reader would complete it."""
    text = block.text
    for blank, filling in BLANKS.items():
        text = text.replace(blank, filling)
    return text


def settings(model: type) -> Callable[[str, Path], None]:
    """A loader of a file that has these settings."""
    return lambda text, directory: yaml_files.parse(text, model, "page")


def load_custom_metrics(text: str, directory: Path) -> None:
    (directory / "custom.yaml").write_text(text)
    _, problems = load_catalogue([directory])
    assert problems == []


def load_prometheus(text: str, directory: Path) -> None:
    path = directory / "prometheus.yml"
    path.write_text(text)
    said_by("promtool", "check", "config", "--syntax-only", path)


# Keys that only such a file has -> loader; the first match is used.
LOADERS: list[tuple[set[str], Callable[[str, Path], None]]] = [
    ({"scrape_configs", "rule_files"}, load_prometheus),
    ({"tls_server_config", "basic_auth_users"}, settings(WebSettings)),
    ({"workload"}, settings(Scenario)),
    ({field.name for field in fields(Config)}, settings(Config)),
]


def loader(text: str) -> Callable[[str, Path], None]:
    keys = set(load_yaml(text))
    return next((load for marks, load in LOADERS if keys & marks), load_custom_metrics)


@pytest.fixture(scope="module")
def server() -> Iterator[Simulated]:
    with simulated("16.0 SP04", "quiet-oltp", speed=600) as running:
        yield running


def test_every_block_says_what_it_is() -> None:
    assert {str(block): block.language for block in blocks() if block.language not in LANGUAGES} == {}


@pytest.mark.parametrize("block", blocks("yaml"), ids=str)
def test_yaml_is_taken_by_what_reads_it(block: Block, tmp_path: Path) -> None:
    text = filled(block)
    loader(text)(text, tmp_path)


@pytest.mark.parametrize(
    "text", ["targets: [{nmae: A, host: b}]", "scrape_configs: [{job: a}]", "a: {b: c}", "workload: 1"]
)
def test_yaml_that_is_wrong_is_seen(text: str, tmp_path: Path) -> None:
    with pytest.raises((UserError, AssertionError)):
        loader(text)(text, tmp_path)


def check(queries: list[str], directory: Path) -> None:
    """Let promtool parse queries."""
    path = directory / "rules.yaml"
    group = {"name": "queries", "rules": [{"record": f"q{n}", "expr": q} for n, q in enumerate(queries)]}
    path.write_text(yaml.safe_dump({"groups": [group]}))
    said_by("promtool", "check", "rules", path)


def test_promql_parses(tmp_path: Path) -> None:
    queries = [query for block in blocks("promql") for query in re.split(r"\n\n|\n(?=\S)", filled(block))]
    check([query for query in queries if query.strip()], tmp_path)
    with pytest.raises(AssertionError):
        check(["sum by ("], tmp_path)


@pytest.mark.parametrize("block", blocks("sql"), ids=str)
def test_sql_is_answered_by_the_simulated_server(block: Block, server: Simulated) -> None:
    statements = [part for part in STATEMENT.split(filled(block)) if part.strip()]
    assert statements
    with ExitStack() as stack:
        if OF_A_CLUSTER in block.text:
            server = stack.enter_context(simulated("15.7 SP138 CE", "quiet-oltp", speed=600))
        query = stack.enter_context(server.login("sa"))
        for statement in statements:
            if statement.split()[0] not in NOT_SIMULATED:
                query(statement)


def test_sql_that_is_wrong_is_seen(server: Simulated) -> None:
    with server.login("sa") as query, pytest.raises(DatabaseError):
        query("select nothing from master..monState")
