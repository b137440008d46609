"""`ase-exporter changes`: filters and output formats, from a running exporter."""

import json

import pytest
from tests.exporter.changes.grafana_standin import GrafanaStandIn
from tests.exporter.changes.serving import Serving
from tests.exporter.commands.command_line import Run
from tests.exporter.compare.test_prometheus import server
from tests.programs import eventually

from ase_exporter.changes.change import Change
from ase_exporter.compare.marks import marks_from_exporter
from ase_exporter.errors import UserError


def test_changes_are_listed_in_every_format(run: Run, exporter: Serving, grafana: GrafanaStandIn) -> None:
    assert run("annotate", "a | b", "--tag", "ddl", "--url", exporter.url).returncode == 0
    assert run("annotate", "second", "--url", exporter.url).returncode == 0
    table = run("changes", "--url", exporter.url)
    assert table.returncode == 0 and "second" in table.stdout and "#ddl" in table.stdout
    as_json = json.loads(run("changes", "--url", exporter.url, "--limit", "2", "--format", "json").stdout)
    assert [change["name"] for change in as_json] == ["second", "a | b"]
    # None may arrive within another test.
    eventually("posted", lambda: len(grafana.annotations) == 2)


GOOD = Change("0" * 16, "PROD", "option", "max memory", "1", "2", 1.7e9).json()


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
            assert ended.stderr == f"ase-exporter: --url: http://{address}: not an answer of ase-exporter\n"
        with pytest.raises(UserError, match=r"--url: .*: not an answer of ase-exporter"):
            marks_from_exporter(f"http://{address}", "PROD")


def test_a_target_that_the_exporter_does_not_have_is_not_an_empty_list(run: Run, exporter: Serving) -> None:
    ended = run("changes", "-S", "NOBODY", "--url", exporter.url)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"ase-exporter: -S NOBODY: {exporter.url} has no such target; it has none\n"
    assert run("changes", "-S", "host", "--url", exporter.url).returncode == 0
