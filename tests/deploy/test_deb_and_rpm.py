"""The deb and the rpm: what they are made of fits together; the slow test builds both and looks inside."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.paths import DEPLOY, REPOSITORY
from tests.programs import said_by

from ase_exporter.assets import load_yaml

PACKAGES = DEPLOY / "packages"
CONTENT: dict[str, Any] = load_yaml((PACKAGES / "nfpm.yaml").read_text())


def test_every_file_of_the_repository_that_is_packed_exists() -> None:
    sources = [each["src"] for each in CONTENT["contents"] if not each["src"].startswith(("${", "/"))]
    scripts = CONTENT["scripts"].values()
    assert [name for name in (*sources, *scripts) if not (REPOSITORY / name).is_file()] == []


def test_configuration_survives_an_upgrade() -> None:
    kinds = {each["dst"]: each.get("type") for each in CONTENT["contents"] if each["dst"].startswith("/etc/")}
    assert len(kinds) == 4
    assert set(kinds.values()) == {"config|noreplace"}


def test_the_units_run_what_the_package_installs_as_the_user_that_it_creates() -> None:
    unit = (DEPLOY / "systemd" / "ase-exporter.service").read_text()
    (program,) = re.findall(r"^ExecStart=(\S+)", unit, re.MULTILINE)
    (user,) = re.findall(r"^User=(\S+)", unit, re.MULTILINE)
    assert program in {each["src"] for each in CONTENT["contents"]}
    assert f"useradd --system --gid {user} " in (PACKAGES / "postinstall.sh").read_text()
    # build.sh inserts the further options behind these lines.
    assert "\nType=exec\n" in unit and unit.count("ExecStart=") == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.skipif(
    not (shutil.which("nfpm") or shutil.which("go")),
    reason="neither nfpm nor go, which builds it, is installed",
)
@pytest.mark.skipif(
    not shutil.which("dpkg-deb"), reason="dpkg-deb, which lists the contents, is not installed"
)
def test_the_deb_is_built_and_holds_everything(tmp_path: Path) -> None:
    said_by(PACKAGES / "build.sh", "deb")
    (package,) = (REPOSITORY / "dist").glob("ase-exporter_*.deb")
    listed = said_by("dpkg-deb", "--contents", package).splitlines()
    files = {line.split()[5].removeprefix(".") for line in listed}
    assert {
        "/usr/bin/ase-exporter",
        "/usr/lib/systemd/system/ase-exporter.service",
        "/etc/default/ase-exporter",
        "/etc/ase-exporter/exporter.yaml",
        "/opt/ase-exporter/bin/ase-exporter",
    } <= files
    assert not any(name.endswith("perf.conf") and name.startswith("/usr/lib") for name in files)
    # The virtual environment works where it is installed, not where it was built.
    said_by("dpkg-deb", "--extract", package, tmp_path)
    program = (tmp_path / "opt" / "ase-exporter" / "bin" / "ase-exporter").read_text()
    assert program.startswith("#!/opt/ase-exporter/bin/python")
    service = (tmp_path / "usr" / "lib" / "systemd" / "system" / "ase-exporter.service").read_text()
    assert "--state-dir=/var/lib/ase-exporter $OPTIONS\n" in service
    assert "EnvironmentFile=-/etc/default/ase-exporter\n" in service
