"""No secret appears anywhere: a running exporter with planted ones is made to say all it can."""

import json
import os
import subprocess
import sys
from pathlib import Path

import bcrypt
import httpx2
from tests.exporter.running_exporter import PATIENT, exporter
from tests.exporter.simulated import PASSWORD, run
from tests.planted import IN_ENVIRONMENT, IN_FILE, INLINE, MISPLACED, TOKEN, WEB

PATHS = (
    "/",
    "/metrics",
    "/targets",
    "/changes",
    "/changes?format=json",
    "/-/healthy",
    "/-/ready",
    "/nowhere",
)


def configuration(directory: Path, address: tuple[str, int]) -> dict[str, object]:
    for name, secret in (("password", IN_FILE), ("token", TOKEN)):
        (directory / name).write_text(secret, encoding="utf-8")
    logins = {
        "good": {"password": PASSWORD},
        "inline": {"password": INLINE},
        "file": {"password_file": str(directory / "password")},
        "environment": {"password_env": "PLANTED"},
        "missing": {"password_file": str(directory / "none")},
    }
    host, port = address
    return {
        # An account of its own each, which may be refused twice.
        "auth": {
            name: {"user": "monitor" if name == "good" else name, **source} for name, source in logins.items()
        },
        "scrape": PATIENT,
        "targets": [{"name": name, "host": host, "port": port, "auth": name} for name in logins],
        # Nobody listens there, so every post is an error.
        "changes": {"grafana": {"url": "http://127.0.0.1:1", "token_file": str(directory / "token")}},
    }


def test_no_planted_secret_is_in_a_page_a_log_an_error_a_command_line_or_the_state(tmp_path: Path) -> None:
    stored = bcrypt.hashpw(WEB.encode(), bcrypt.gensalt(4)).decode()
    (tmp_path / "web.yml").write_text(f"basic_auth_users: {{scraper: '{stored}'}}\n", encoding="utf-8")
    options = [
        f"--web.config.file={tmp_path / 'web.yml'}",
        f"--state-dir={tmp_path / 'state'}",
        "--web.enable-lifecycle",
        "--web.enable-annotations",
        "--log.level=debug",
        "--log.format=json",
    ]
    seen: list[str] = []
    with run("16.0 SP04") as server:
        good = configuration(tmp_path, server.address)
        file = tmp_path / "exporter.yml"
        with (
            exporter(tmp_path, json.dumps(good), options, environment={"PLANTED": IN_ENVIRONMENT}) as running,
            httpx2.Client(base_url=running.url, auth=("scraper", WEB), trust_env=False, timeout=60) as client,
        ):

            def get(path: str) -> httpx2.Response:
                answer = client.get(path)
                seen.append(answer.text + str(answer.headers))
                return answer

            kinds = {
                name: get(f"/probe?target={name}").text for name in ("good", "inline", "file", "environment")
            }
            assert "\nase_up 1.0\n" in kinds.pop("good")
            assert all('reason="login_failed"' in text for text in kinds.values())
            assert 'reason="secret_unreadable"' in get("/probe?target=missing").text
            for path in PATHS:
                get(path)
            assert client.post("/annotations", json={"text": "a deployment"}).status_code == 201
            wrong = httpx2.get(running.url, auth=("scraper", MISPLACED), trust_env=False, timeout=60)
            seen.append(wrong.text + str(wrong.headers))
            bad = [
                json.dumps(good | {"targets": [{"name": "X", "host": "h", "password": MISPLACED}]}),
                json.dumps(good | {"auth": {"good": {"user": "x", "password": [MISPLACED]}}}),
                f"auth: {{good: {{user: x, password: '{MISPLACED}\n",
                f"auth:\n  good: {{user: x}}\n password: {MISPLACED}: {MISPLACED}\n",
            ]
            for text in bad:
                file.write_text(text, encoding="utf-8")
                answer = client.post("/-/reload")
                assert answer.status_code == 500
                seen.append(answer.text)
            file.write_text(json.dumps(good), encoding="utf-8")
            (tmp_path / "web.yml").write_text(
                f"basic_auth_users: {{scraper: {MISPLACED}}}\n", encoding="utf-8"
            )
            get("/metrics")
            command_lines = [" ".join(process.cmdline()) for process in running.processes()]
            assert len(command_lines) > 1
            # What the user put into the environment stays there, and nothing else is put beside it.
            environments = [dict(process.environ()) for process in running.processes()]
            assert {environment.pop("PLANTED") for environment in environments} == {IN_ENVIRONMENT}
            seen += [" ".join(environment.values()) for environment in environments]
        for command in ("check", "advise"):
            ended = subprocess.run(
                [sys.executable, "-m", "ase_exporter", command, f"--config.file={file}", "--target=inline"],
                capture_output=True,
                text=True,
                timeout=120,
                env=os.environ,
            )
            assert ended.returncode == 2
            seen.append(ended.stdout + ended.stderr)
    for said in ("refused the login", "configuration not loaded", "web configuration not loaded"):
        assert said in running.log
    state = [
        path.read_bytes().decode("latin-1") for path in (tmp_path / "state").rglob("*") if path.is_file()
    ]
    everything = "\n".join([*seen, *command_lines, *state, running.log])
    for secret in (PASSWORD, INLINE, IN_FILE, IN_ENVIRONMENT, WEB, TOKEN, MISPLACED, stored):
        assert secret not in everything
