"""sp_configure's options: all there, kept in their bounds, static ones waiting for a restart."""

import pytest

from ase_simulator.contracts import ServerError
from ase_simulator.model.options import Options, catalogue

SPINLOCK_RATIOS = {
    "lock spinlock ratio": (85, True),
    "lock address spinlock ratio": (100, True),
    "lock table spinlock ratio": (20, True),
    "open object spinlock ratio": (100, False),
    "open index spinlock ratio": (100, False),
    "open index hash spinlock ratio": (100, False),
    "partition spinlock ratio": (10, False),
    "user log cache spinlock ratio": (20, False),
}


@pytest.fixture
def options() -> Options:
    return Options("16.0 SP04")


def test_there_are_the_options_of_a_whole_server_each_once_and_within_its_bounds() -> None:
    entries = [entry.option for entry in catalogue()]
    assert len(entries) > 300
    assert len({option.name.lower() for option in entries}) == len(entries)
    assert len({option.number for option in entries}) == len(entries)
    for option in entries:
        assert option.minimum <= option.default <= option.maximum, option.name


@pytest.mark.parametrize("name", SPINLOCK_RATIOS)
def test_spinlock_ratios_have_the_manuals_default_and_kind(options: Options, name: str) -> None:
    option = options.find(name)
    assert (option.default, option.static) == SPINLOCK_RATIOS[name]


def test_a_dynamic_option_takes_effect_at_once_a_static_one_at_restart(options: Options) -> None:
    assert options.set("open object spinlock ratio", 5).run == 5
    changed = options.set("lock address spinlock ratio", 5)
    assert (changed.configured, changed.run) == (5, 100)
    options.restart()
    assert options.run("lock address spinlock ratio") == 5


def test_part_of_a_name_is_enough_where_only_one_option_has_it(options: Options) -> None:
    assert options.set("address spinlock", "7").configured == 7
    # An exact name wins over longer ones.
    assert options.find("auditing").name == "auditing"


@pytest.mark.parametrize(
    ("name", "value", "number"),
    [
        ("no such option", 1, 17410),
        ("spinlock ratio", 1, 17411),
        ("lock address spinlock ratio", 0, 5848),
        ("enable monitoring", 2, 5848),
        ("enable monitoring", "on", 5847),
        ("total logical memory", 1000, 17418),
        ("procedure cache size", 2_000_000, 5849),
    ],
)
def test_an_invalid_value_is_rejected_and_changes_nothing(
    options: Options, name: str, value: int | str, number: int
) -> None:
    before = list(options.all())
    with pytest.raises(ServerError) as refused:
        options.set(name, value)
    assert refused.value.message.number == number
    assert list(options.all()) == before


def test_memory_is_there_for_as_much_as_max_memory(options: Options) -> None:
    options.set("max memory", 4_000_000)
    assert options.set("procedure cache size", 2_000_000).run == 2_000_000
    with pytest.raises(ServerError) as refused:
        options.set("max memory", 200_000)
    assert refused.value.message.number == 5849


def test_options_report_the_memory_that_they_take(options: Options) -> None:
    options.set("max memory", 4_000_000)
    options.set("procedure cache size", 100_000)
    shown = {option.name: option for option in options.all(caches_kb=8192)}
    assert shown["procedure cache size"].memory_used == 200_000
    assert shown["total data cache size"].run == 8192
    assert shown["total logical memory"].run > 104_000


@pytest.mark.parametrize(
    ("version", "has", "has_not"),
    [
        ("15.0.3", "enable monitoring", "enable spinlock monitoring"),
        ("15.7 ESD#2", "enable spinlock monitoring", "engine local cache percent"),
        ("15.7 SP138", "engine local cache percent", "enable mem scale"),
        ("16.0 SP03", "enable transactional memory", "no such option"),
    ],
)
def test_a_version_has_the_options_of_its_time(version: str, has: str, has_not: str) -> None:
    names = {option.name for option in Options(version).all()}
    assert has in names
    assert has_not not in names
