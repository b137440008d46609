"""Declared tables have only columns that their table has in some version, and can be read in a busy server."""

from functools import cache

from tests.simulator.sql.fake import Client

from ase_simulator.model import load_scenario
from ase_simulator.model.tables import SHEETS
from ase_simulator.schema.catalog import catalog
from ase_simulator.schema.profiles import profiles
from ase_simulator.sql.dictionary.tables import DERIVED

# Columns of the model that no client sees. SQLText: the answer of show_cached_text.
INTERNAL = {"sysobjects": {"database"}, "monCachedStatement": {"SQLText"}}


@cache
def known_columns(table: str) -> set[str]:
    """The columns that a table has in any version."""
    definitions = (catalog(version).tables.get(table) for version in profiles())
    columns = {column.name for found in definitions if found for column in found.columns}
    return columns | INTERNAL.get(table, set())


def test_every_declared_table_can_be_read_and_has_only_columns_of_the_schema() -> None:
    """columns.yaml is code in data: a name that no source gives would fail only when a table is read."""
    for scenario, version in (("vldb", "16.0 SP04"), ("storm", "15.7 SP138 CE"), ("failures", "12.5.4")):
        for server in load_scenario(scenario, version=version, speed=0):
            server.advance(600)
            for name in SHEETS:
                for row in server.table(name):
                    assert row.keys() <= known_columns(name), name


def test_every_table_of_the_dictionary_has_only_columns_of_the_schema() -> None:
    client = Client(load_scenario("quiet-oltp", speed=0)[0])
    for name, derived in DERIVED.items():
        for row in derived(client.session, "master"):
            assert row.keys() <= known_columns(name), name
