"""The links of the documents lead somewhere."""

import re
from pathlib import Path

import pytest
from docs.write import real_servers
from tests.deploy.fenced import documents
from tests.paths import REPOSITORY

from ase_exporter.untrusted.encoders import markdown

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub makes of a document's headings."""
    headings = re.findall(r"^#+ (.+)$", CODE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken(document: Path, link: str) -> bool:
    """Whether a link of a document into the repository leads nowhere."""
    name, _, anchor = link.partition("#")
    target = document.parent / name if name else document
    return not target.exists() or (bool(anchor) and target.suffix == ".md" and anchor not in anchors(target))


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_every_link_into_the_repository_leads_somewhere(document: Path) -> None:
    links = LINK.findall(CODE.sub("", document.read_text()))
    assert not [link for link in links if "://" not in link and broken(document, link)]


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A heading, with `code`\n")
    assert broken(page, "missing.md")
    assert broken(page, "#another")
    assert not broken(page, "page.md#a-heading-with-code")


def test_a_result_of_a_real_server_becomes_a_row_and_one_of_a_stand_in_does_not() -> None:
    page = "# Title\n<!-- results -->\nold\n<!-- end of results -->\nrest\n"
    banner = "Adaptive Server Enterprise/16.0 SP02 PL06/EBF 27415 SMP/P/x86_64|\n<b>"
    result = {
        "banner": banner,
        "date": "2026-11-24",
        "exporter": "1.0.0",
        "outcomes": {"a": "failed", "b": "passed"},
    }
    assert "\n**None yet**" in real_servers(page, [result | {"real": False}])
    with_row = real_servers(page, [result | {"real": True}])
    assert f"\n| 16.0 SP02 PL06 | {markdown(banner)} | 2026-11-24 | 1.0.0 | a |\n" in with_row
    assert with_row.endswith("<!-- end of results -->\nrest\n") and "old" not in with_row
