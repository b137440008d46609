"""The systemd units are valid and hardened."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.deploy.fenced import block
from tests.paths import DEPLOY, DOCS, REPOSITORY
from tests.programs import said_by

from ase_exporter.config import load

UNITS = DEPLOY / "systemd"
NAMES = ["ase-exporter.service", "ase-exporter-host.service"]
INSTALLED = "/opt/ase-exporter/bin/ase-exporter"

analyze = pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not installed")


def settings(path: Path) -> dict[str, list[str]]:
    """What a unit file sets: name -> values in order."""
    found: dict[str, list[str]] = {}
    for line in path.read_text().splitlines():
        name, separator, value = line.partition("=")
        if separator and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the units, drop-in included, whose command is where it is on this machine."""
    copy = tmp_path / "units"
    shutil.copytree(UNITS, copy)
    for unit in copy.glob("*.service"):
        here = str(Path(sys.executable).parent / "ase-exporter")
        assert INSTALLED in unit.read_text()
        unit.write_text(unit.read_text().replace(INSTALLED, here))
    return copy


@analyze
@pytest.mark.parametrize("name", NAMES)
def test_systemd_accepts_the_unit_without_a_word(installed: Path, name: str) -> None:
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", installed / name], capture_output=True, text=True
    )
    assert (verified.returncode, verified.stderr) == (0, "")


@analyze
@pytest.mark.parametrize(("name", "highest"), [(NAMES[0], 1.5), (NAMES[1], 2.5)])
def test_the_exposure_that_systemd_reckons_is_low_and_as_the_page_states(
    installed: Path, name: str, highest: float
) -> None:
    judged = said_by("systemd-analyze", "security", "--offline=true", installed / name)
    (exposure,) = re.findall(rf"Overall exposure level for {re.escape(name)}: ([\d.]+) ", judged)
    assert float(exposure) <= highest
    page = (DOCS / "getting-started.md").read_text(encoding="utf-8")
    found = re.search(
        r"of systemd (\d+) reports an exposure of ([\d.]+) for the exporter and ([\d.]+) for", page
    )
    assert found
    # Others reckon by other rules.
    if said_by("systemd-analyze", "--version").startswith(f"systemd {found[1]} "):
        assert exposure == found[2 + NAMES.index(name)]


@pytest.mark.parametrize("name", NAMES)
def test_a_unit_runs_as_a_user_of_its_own_and_writes_to_its_state_alone(name: str) -> None:
    unit = settings(UNITS / name)
    assert unit.get("User") == (["ase-exporter"] if name == NAMES[0] else None)
    assert unit.get("DynamicUser") == (None if name == NAMES[0] else ["yes"])
    assert unit["ProtectSystem"] == ["strict"]
    assert f"--state-dir=/var/lib/{unit['StateDirectory'][0]}" in unit["ExecStart"][0]
    assert not {"ReadWritePaths", "Environment"} & unit.keys()


def test_only_the_host_has_a_capability_and_perf_only_by_its_drop_in() -> None:
    exporter, host = (settings(UNITS / name) for name in NAMES)
    assert exporter["CapabilityBoundingSet"] == exporter["AmbientCapabilities"] == [""]
    assert host["CapabilityBoundingSet"] == host["AmbientCapabilities"] == ["CAP_SYS_PTRACE"]
    perf = settings(UNITS / "ase-exporter-host.service.d" / "perf.conf")
    assert perf["CapabilityBoundingSet"] == perf["AmbientCapabilities"] == ["CAP_PERFMON"]


def test_the_units_listen_on_loopback_on_a_port_of_their_own() -> None:
    exporter, host = (settings(UNITS / name)["ExecStart"][0] for name in NAMES)
    assert "listen" not in exporter, "the default is loopback"
    assert "--web.listen-address=127.0.0.1:10151" in host
    assert exporter.endswith(" $OPTIONS") and host.endswith(" $HOST_OPTIONS")


@pytest.mark.parametrize("name", NAMES)
def test_stopping_signals_the_supervisor_alone(name: str) -> None:
    """The process that serves gets its SIGTERM from the supervisor, which would take another end for a death."""
    assert settings(UNITS / name)["KillMode"] == ["mixed"]


def test_what_the_page_installs_is_there_and_where_the_unit_and_its_configuration_look_for_it() -> None:
    """A shell can read the password as well as the service: sudo -u ase-exporter ase-exporter check."""
    commands = block("docs/getting-started.md", "sh", "systemctl enable")
    shipped = {word for word in commands.split() if word.startswith("deploy/")}
    assert shipped and all((REPOSITORY / name).is_file() for name in shipped)
    unit = settings(UNITS / NAMES[0])
    assert "useradd" in commands and unit["User"] == ["ase-exporter"]
    installing = block("docs/getting-started.md", "sh", "-r requirements.txt")
    (directory,) = set(re.findall(r"(\S+)/pip install", installing))
    (started,) = unit["ExecStart"]
    assert started.startswith(f"{directory}/ase-exporter ")
    assert " --config.file=/etc/ase-exporter/exporter.yaml " in started
    exporter = load(DEPLOY / "config" / "exporter.yaml")
    assert f" -g ase-exporter ase_password {exporter.auth['default'].password_file}\n" in commands
    host = load(DEPLOY / "config" / "host.yaml")
    assert host.host is not None and not host.targets


def test_a_thousand_targets_fit_the_units_limit_of_tasks() -> None:
    """A thread for each target and for its sp_sysmon, and twice as many while a reload replaces all targets."""
    [limit] = settings(UNITS / NAMES[0])["TasksMax"]
    assert int(limit) >= 2 * 2 * 1000 + 200
