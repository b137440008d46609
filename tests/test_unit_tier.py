"""The list of tests outside the unit tier is up to date."""

from tests.unit_tier import LEFT_OUT, TESTS, is_left_out


def test_everything_on_the_list_exists() -> None:
    assert [name for name in LEFT_OUT if not (TESTS / name).exists()] == []


def test_a_directory_on_the_list_leaves_out_its_files() -> None:
    assert is_left_out(TESTS / "e2e" / "test_memscale.py")
    assert not is_left_out(TESTS / "exporter" / "ase" / "test_watchdog.py")
