"""`ase-exporter changes`, `annotate` and `advise --url`: filters, output formats and names, from a running exporter."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.commands.command_line import Run
from tests.exporter.compare.test_prometheus import server
from tests.exporter.running_exporter import RunningExporter
from tests.exporter.running_exporter import exporter as serving

from ase_exporter.changes.annotate import ExporterClient
from ase_exporter.changes.change import Change
from ase_exporter.compare.marks import marks_from_exporter
from ase_exporter.errors import UserError
from ase_exporter.views.figures import moment


@pytest.fixture
def exporter(tmp_path: Path) -> Iterator[RunningExporter]:
    with serving(tmp_path, "{}", ["--web.enable-annotations"]) as started:
        yield started


def test_what_is_annotated_is_listed_in_every_format(run: Run, exporter: RunningExporter) -> None:
    assert run("annotate", "a | b", "--tag", "ddl", "--url", exporter.url).returncode == 0
    assert run("annotate", "second", "--url", exporter.url).returncode == 0
    table = run("changes", "--url", exporter.url)
    assert table.returncode == 0 and "second" in table.stdout and "#ddl" in table.stdout
    as_json = json.loads(run("changes", "--url", exporter.url, "--limit", "2", "--format", "json").stdout)
    assert [change["name"] for change in as_json] == ["second", "a | b"]
    number = run("annotate", "reorg", "--start", "--url", exporter.url).stdout.strip()
    for _ in range(2):
        ended = run("annotate", "--finish", number, "--failed", "exit code 3", "--url", exporter.url)
        assert ended.returncode == 0
    (region, *_) = json.loads(run("changes", "--url", exporter.url, "--format", "json").stdout)
    assert region["end"] >= region["at"] and region["failed"]
    assert region["text"].startswith("reorg (failed: exit code 3)")


GOOD = Change("0" * 16, "PROD", "option", "max memory", "1", "2", 1.7e9, 1.7e9 - 60).json()


@pytest.mark.parametrize(
    "answer",
    [
        "[",
        "7",
        "{}x",
        "[" * 100_000,
        "[7]",
        "[{}]",
        *(json.dumps([GOOD | {name: [1]}]) for name in ("name", "old", "kind", "id")),
        *(json.dumps([GOOD | {"at": at}]) for at in ("x", None, 1e300, -1e300, float("inf"), float("nan"))),
        *(json.dumps([GOOD | {name: 1e300}]) for name in ("end", "not_before")),
        json.dumps([GOOD | {"tags": "abc"}]),
    ],
)
def test_an_answer_of_another_form_is_one_line(run: Run, answer: str) -> None:
    with server(answer.encode()) as (address, _):
        for form in ("table", "json"):
            ended = run("changes", "--format", form, ASE_EXPORTER_URL=f"http://u:pw@{address}")
            assert (ended.returncode, ended.stdout) == (2, "")
            problem = f"--url: http://{address}: not an answer of ase-exporter: expected the address of one"
            assert ended.stderr == f"ase-exporter: {problem}\n"
        with pytest.raises(UserError, match=r"--url: .*: not an answer of ase-exporter"):
            marks_from_exporter(f"http://{address}", "PROD")


# Targets of an exporter, and what their servers call themselves.
SERVERS = {"PROD1": "ASE_A", "PROD2": "ASE_B", "NEW": ""}


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a stand-in for an exporter answers, by path; requests of another kind end the test."""
    found: dict[str, Any] = {"/diagnosis": {name: {"server": each} for name, each in SERVERS.items()}}

    def request(_: ExporterClient, method: str, path: str, accepted: int, params: dict[str, str]) -> bytes:
        answer = found[path]
        return json.dumps(answer(params) if callable(answer) else answer).encode()

    monkeypatch.setattr(ExporterClient, "request", request)
    return found


def test_a_server_is_known_by_its_own_name_too(run: Run, answers: dict[str, Any]) -> None:
    answers["/changes"] = lambda params: [GOOD] if params["target"] == "PROD2" else []
    for name in ("PROD2", "ASE_B"):
        listed = run("changes", "-S", name, "--url", "http://e").stdout
        assert f"max memory: 1 -> 2 (not yet at {moment(1.7e9 - 60)})" in listed
    for name in ("PROD1", "host"):
        assert run("changes", "-S", name, "--url", "http://e").stdout.strip() == "No changes found."
    told = run("changes", "-S", "ASE_C", "--url", "http://e")
    assert (told.returncode, told.stdout) == (2, "")
    assert "-S ASE_C: http://e has no such target; it has PROD1, PROD2, NEW" in told.stderr


def test_advice_of_a_running_exporter(run: Run, answers: dict[str, Any]) -> None:
    lines = ["SPINS: half of it", "exec sp_configure 'a', 1\x1b[31m"]
    asked = []

    def advice(params: dict[str, str]) -> object:
        asked.append(params["target"])
        return {"lines": lines if params["target"] == "PROD2" else [], "is_known": len(asked) == 1}

    answers["/advice"] = advice
    told = [run("advise", "-S", "ASE_B", "--url", "http://e") for _ in range(2)]
    assert [each.returncode for each in told] == [0, 1]
    assert (
        told[0].stdout.splitlines()[1].startswith("exec sp_configure 'a', 1") and "\x1b" not in told[0].stdout
    )
    unread = run("advise", "-S", "NEW", "--url", "http://e")
    assert unread.returncode == 1 and unread.stderr.startswith("ase-exporter: -S NEW: the exporter has not")
    assert asked == ["PROD2", "PROD2", "NEW"]
    several = run("advise", "--url", "http://e")
    assert several.returncode == 2 and "-S: expected one of" in several.stderr
    assert "neither -U nor -P" in run("advise", "-U", "sa", "--url", "http://e").stderr
    answers["/diagnosis"] = {"ONLY": {"server": ""}}
    assert "-S ONLY: the exporter has not" in run("advise", "--url", "http://e").stderr
    answers["/advice"] = ["else"]
    assert "not an answer of ase-exporter to /advice" in run("advise", "--url", "http://e").stderr
