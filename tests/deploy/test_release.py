"""The release: one place for the version, workflows whose actions are pinned, an SBOM of what is pinned."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.paths import DEPLOY, REPOSITORY

from ase_exporter.assets import load_yaml

VERSION = DEPLOY / "dev" / "version.py"
WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yaml"))


def workflow(name: str) -> Any:
    return load_yaml((REPOSITORY / ".github" / "workflows" / f"{name}.yaml").read_text())


def run(*words: str | Path, cwd: Path = REPOSITORY) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, cwd=cwd)


def test_every_file_has_the_version_of_the_exporter() -> None:
    checked = run(VERSION, "--check")
    assert checked.returncode == 0, checked.stderr


def test_a_new_version_and_address_reach_every_file(tmp_path: Path) -> None:
    names = run(
        "-c", f"import runpy; m = runpy.run_path({str(VERSION)!r}); print(*m['VERSIONS'], *m['ADDRESSES'])"
    )
    copied = {Path("deploy/dev/version.py"), *map(Path, names.stdout.split())}
    for name in copied:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    script = tmp_path / "deploy" / "dev" / "version.py"
    old = run(script, "--print").stdout.strip()
    changed = run(script, "--set", "7.8.9", "--repository", "https://git.test/ours")
    assert changed.returncode == 0, changed.stderr
    assert run(script, "--print").stdout == "7.8.9\n"
    assert run(script, "--check").returncode == 0
    for name in copied - {Path("deploy/dev/version.py")}:
        text = (tmp_path / name).read_text()
        assert "https://example.com/ase-exporter" not in text, name
        assert not re.search(
            rf"(ase-exporter|ase-simulator|version|newTag|appVersion)[:=\" ]+{re.escape(old)}\b", text
        )


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_is_pinned_by_its_commit_and_names_its_version(path: Path) -> None:
    used = re.findall(r"uses: (\S+)(.*)", path.read_text())
    assert used
    assert [each for each, _ in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", each)] == []
    assert [each for each, comment in used if not re.fullmatch(r"  # v[\d.]+", comment)] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_checkout_leaves_no_token_behind(path: Path) -> None:
    steps = [step for job in workflow(path.stem)["jobs"].values() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_nothing_is_published_that_was_not_tested_and_approved() -> None:
    jobs = workflow("release")["jobs"]
    publishing = [name for name, job in jobs.items() if "write" in job.get("permissions", {}).values()]
    assert publishing == ["publish"]
    assert {"test", "build"} <= set(jobs["publish"]["needs"])
    assert jobs["publish"]["environment"] == "release"


def test_the_nightly_run_fails_for_a_new_skip_and_dependencies_are_audited_weekly() -> None:
    nightly, weekly = workflow("slow"), workflow("audit")
    # YAML takes the key `on` for true.
    assert re.fullmatch(r"\d+ \d+ \* \* \*", nightly[True]["schedule"][0]["cron"])
    assert nightly["env"] == {"PYTEST_ADDOPTS": "--no-new-skips"}
    ran = [step.get("run") for step in nightly["jobs"]["slow"]["steps"]]
    assert {"make test-slow", "make test"} <= {*ran}
    assert re.fullmatch(r"\d+ \d+ \* \* \d", weekly[True]["schedule"][0]["cron"])
    assert weekly["jobs"]["audit"]["steps"][-1] == {"run": "make audit"}


def test_an_sbom_that_lacks_a_package_is_found(tmp_path: Path) -> None:
    (tmp_path / "lock.txt").write_text("a==1 \\\n    --hash=sha256:0\nb==2 ; python_version < '3.12' \\\n")
    components = [{"name": "a", "version": "1"}, {"name": "b", "version": "2"}]
    (tmp_path / "sbom.json").write_text(json.dumps({"components": components}))
    check = [DEPLOY / "release" / "check_sbom.py", tmp_path / "sbom.json", tmp_path / "lock.txt"]
    assert run(*check).returncode == 0
    (tmp_path / "sbom.json").write_text(json.dumps({"components": components[:1]}))
    failed = run(*check)
    assert failed.returncode == 1
    assert failed.stderr.endswith("differs from " + f"{tmp_path}/lock.txt: b==2\n")


@pytest.mark.parametrize("path", ["docker-compose.yml", "deploy/scale-out/docker-compose.yml"])
def test_the_override_of_compose_pins_every_image_of_others(path: str, tmp_path: Path) -> None:
    digest = "sha256:" + "0" * 64
    stand_in = tmp_path / "docker"
    # Reads the file as docker compose does, but for what it extends.
    stand_in.write_text(
        f"#!{sys.executable}\nimport json, sys, yaml\n"
        "if sys.argv[1] == 'compose':\n"
        "    services = yaml.safe_load(open(sys.argv[3]))['services']\n"
        "    print(json.dumps({'services': {k: v for k, v in services.items() if 'image' in v}}))\n"
        f"else:\n    print('{digest}')\n"
    )
    stand_in.chmod(0o755)
    command = [sys.executable, str(DEPLOY / "release" / "digests.py"), path]
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, check=True)
    services = load_yaml((REPOSITORY / path).read_text())["services"]
    images = {name: service["image"] for name, service in services.items() if "/" in service.get("image", "")}
    assert images
    assert json.loads(done.stdout) == {
        "services": {name: {"image": f"{image}@{digest}"} for name, image in images.items()}
    }
