"""ServerFacts, from answers given by hand."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ase_exporter.assets import load_yaml
from ase_exporter.catalogue import load_catalogue, plan, read_facts, unavailable_reason
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.labels import spinlock_class
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.metrics.counters import CounterStore

BANNER = "Adaptive Server Enterprise/16.0 SP04 PL03/EBF 30399 SMP/P/x86_64/SLES 12.4/x/3587/64-bit/FBO/Wed"
CATALOGUE, _ = load_catalogue()
READ = load_yaml(Path(__file__).with_name("facts.yaml").read_text(encoding="utf-8"))


class RefusedError(Exception):
    """An error of the server."""

    def __init__(self, number: int, usable: bool = True) -> None:
        super().__init__(number)
        self.number = number
        self.usable = usable


def server(**answers: Any) -> Callable[[str], Sequence[Sequence[Any]]]:
    """Answers by a word of the statement; an exception is raised, everything else gives no rows."""
    known = {"@@version": [(BANNER, "ASE1", 4096)], **answers}

    def query(sql: str) -> Sequence[Sequence[Any]]:
        for word, answer in known.items():
            if word in sql:
                if isinstance(answer, Exception):
                    raise answer
                return list(answer)
        return []

    return query


@pytest.mark.parametrize(("text", "numbers", "shown"), READ["versions"])
def test_versions_are_read_from_banners(text: str, numbers: list[int], shown: str) -> None:
    version = parse_version(text)
    assert (list(version.numbers), str(version), version.cluster) == (numbers, shown, False)


def test_temporary_databases_are_those_that_the_server_marks_and_kept_while_it_does_not_say() -> None:
    rows = [(2, "tempdb", 0), (4, "saptempdb ", 256), (5, "tempdb_archive", None), (6, "work", 256 + 8192)]
    facts = read_facts(server(sysdatabases=rows))
    assert facts.temporary_databases == {"tempdb", "saptempdb", "work"}
    later = read_facts(server(sysdatabases=RefusedError(1205)), facts)
    assert later.temporary_databases == facts.temporary_databases


def test_an_error_costs_only_the_facts_of_its_select() -> None:
    facts = read_facts(
        server(monTableColumns=RefusedError(10353), proc_role=[(0,)], sysconfigures=[("max memory ", 5)])
    )
    assert facts.tables == {}
    assert facts.tables_reason == "no_role"
    assert facts.options == {"max memory": 5}
    assert facts.page_size == 4096


@pytest.mark.parametrize("error", [RefusedError(20017, usable=False), OSError("gone")])
def test_a_lost_connection_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)):
        read_facts(server(monTableColumns=error))


def test_the_servers_clock_may_have_another_zone_and_drift() -> None:
    utc, local = datetime(2024, 6, 1, 12), datetime(2024, 6, 1, 14, 0, 3)
    facts = read_facts(server(getutcdate=[(utc, local)]))
    assert facts.utc_offset == timedelta(hours=2)


@pytest.mark.parametrize(("number", "reason"), READ["messages"].items())
def test_server_messages_map_to_reasons(number: int | None, reason: str) -> None:
    assert unavailable_reason(number) == reason


def test_unsigned_columns_are_converted_where_the_server_knows_bigint() -> None:
    def select(version: str) -> str:
        tables = {"monNetworkIO": {"PacketsSent": "unsigned int", "PacketsReceived": "int"}}
        facts = ServerFacts(parse_version(version), tables=tables, roles=frozenset({"mon_role"}))
        return next(each for each in plan(CATALOGUE, facts) if each.name == "network").statement

    assert select("16.0") == (
        "select PacketsSent = convert(bigint, PacketsSent), PacketsReceived from master..monNetworkIO"
    )
    assert select("12.5.4") == "select PacketsSent, PacketsReceived from master..monNetworkIO"


def test_spinlocks_are_summed_by_the_server_unless_their_counters_may_wrap() -> None:
    def select(kind: str, **columns: str) -> str:
        tables = {
            "monSpinlockActivity": {
                "SpinlockName": "varchar",
                "InstanceID": "tinyint",
                "Grabs": "bigint",
                "Spins": kind,
                "Waits": "bigint",
                **columns,
            }
        }
        facts = ServerFacts(parse_version("16.0"), tables=tables, roles=frozenset({"mon_role"}))
        return next(each for each in plan(CATALOGUE, facts) if each.name == "spinlocks").statement

    assert select("bigint", SpinlockSlotID="int") == (
        "select SpinlockName, InstanceID, Grabs = sum(convert(bigint, Grabs)), "
        "Spins = sum(convert(bigint, Spins)), Waits = sum(convert(bigint, Waits)) "
        "from master..monSpinlockActivity where Grabs <> 0 group by SpinlockName, InstanceID"
    )
    assert select("int", SpinlockSlotID="int") == (
        "select SpinlockName, SpinlockSlotID, InstanceID, Grabs, Spins, Waits "
        "from master..monSpinlockActivity where Grabs <> 0"
    )


def test_columns_are_spelled_as_the_server_spells_them() -> None:
    tables = {"monNetworkIO": {"PACKETSSENT": "int", "bytessent": "int"}}
    facts = ServerFacts(parse_version("15.0"), tables=tables, roles=frozenset({"mon_role"}))
    (network,) = [each for each in plan(CATALOGUE, facts, {}) if each.name == "network"]
    assert network.statement == "select PACKETSSENT, bytessent from master..monNetworkIO"
    names = {family.name for family in network.families([(1, 2)], CounterStore(), 0.0)}
    assert names == {"ase_network_packets_total", "ase_network_bytes_total"}


@pytest.mark.parametrize("mode", ["Primary", "Standby ", "Disabled", "DR Standby", ""])
@pytest.mark.parametrize("state", ["Active", "Inactive", "Deactivating", None])
def test_role_and_state_in_hadr_are_labels_of_versions_that_have_it(mode: str, state: str | None) -> None:
    old = ServerFacts(parse_version("16.0 SP01"))
    assert "hadr" not in {each.name for each in plan(CATALOGUE, old, {"hadr": True}) if not each.reason}
    (hadr,) = [
        each
        for each in plan(CATALOGUE, ServerFacts(parse_version("16.0 SP02")), {"hadr": True})
        if each.name == "hadr"
    ]
    (family,) = hadr.families([(mode, state)], CounterStore(), 0.0)
    assert (family.name, list(family.samples)) == ("ase_hadr_info", [((mode.strip(), state or ""), 1.0)])


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("default data cache", "data_cache"),
        ("orders", "data_cache"),
        ("bufspin orders", "data_cache"),
        ("Resource->rdesmgr_spin", "object_manager"),
        ("Kernel->kpprocspin[i]", "kernel"),
        ("Kernel->kpsleepqspinlock[i]", "scheduler"),
        ("imdb_cache", "data_cache"),
        ("kdvirtdisk_spinlock", "disk_io"),
        ("LDAP_SPIN", "other"),
    ],
)
def test_spinlocks_fall_into_few_classes(name: str, kind: str) -> None:
    assert spinlock_class(name, frozenset({"orders"})) == kind
