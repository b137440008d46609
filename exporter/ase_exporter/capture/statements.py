"""Which statements this exporter may send, as a digest: tells captures of its statements from older ones."""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

from ase_exporter.ase import text
from ase_exporter.catalogue import Catalogue, plan
from ase_exporter.catalogue import facts as server_facts
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.changes import detect
from ase_exporter.scraping import target_scraper
from ase_exporter.sysmon import runner

# They only print; administrators paste their output when they ask for help, and the catalogue reads the same tables.
PROCEDURES = ("exec sp_configure", "exec sp_helpcache")

# Statements differ before 15.0 (bigint) and in the Cluster Edition.
_VERSIONS = (parse_version("12.5.4"), parse_version("99.0"), replace(parse_version("99.0"), cluster=True))
# Statements differ for these (unsigned int is converted, and its sums are not left to the server).
_TYPES = ("bigint", "unsigned int")


def statements_digest(catalogue: Catalogue) -> str:
    """16 hexadecimal digits. Equal digests: every server gets the same statements."""
    return hashlib.sha256("\n".join(_statements(catalogue)).encode()).hexdigest()[:16]


def _statements(catalogue: Catalogue) -> Iterator[str]:
    for name, collector in sorted(catalogue.collectors.items()):
        # Also those that are read only in place of another column.
        yield f"{name}: {collector.all_columns()}"
    roles = frozenset(role for collector in catalogue.collectors.values() for role in collector.roles)
    everything = dict.fromkeys(catalogue.collectors, True)
    for version in _VERSIONS:
        for kind in _TYPES:
            tables = {
                each.table: dict.fromkeys(each.all_columns(), kind)
                for each in catalogue.collectors.values()
                if each.table
            }
            facts = ServerFacts(version, tables=tables, roles=roles)
            for planned in plan(catalogue, facts, everything):
                yield planned.statement
    yield from PROCEDURES
    yield from server_facts.ROLES
    for module in (text, server_facts, detect, target_scraper, runner):
        yield from _constants(module)


def _constants(module: ModuleType) -> Iterator[str]:
    """The constants of a module that are text: fixed statements and parts of them."""
    for name, value in sorted(vars(module).items()):
        if name.isupper() and isinstance(value, str):
            yield f"{name} = {value}"
