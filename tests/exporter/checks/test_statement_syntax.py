"""The statements for a version use no syntax newer than that version. The servers are the captures of all versions."""

import re
from pathlib import Path

import pytest
from tests.exporter.capture.recorded import FOLDER, RecordedServer, check_of, loaded

from ase_exporter.catalogue.versions import Version, parse_version

NEVER = "99.0"
# Syntax -> the first version that has it. Sources: "What's New in Adaptive Server Enterprise" of 12.5.1 (derived
# tables), 12.5.3 (top), 12.5.4 (@@authmech, with LDAP and PAM), 15.0 (bigint, unsigned types, functions of
# partitions), 15.0.1 (system_view, of Cluster Edition), 15.5 (bigdatetime), 15.7 (merge); the reference manual of 16.0
# has neither common table expressions nor window functions.
SINCE = {
    r"\bfrom\s*\(\s*select\b": "12.5.1",
    r"\bselect\s+(distinct\s+)?top\s+\d": "12.5.3",
    r"@@authmech\b": "12.5.4",
    r"\bset\s+system_view\b": "15.0.1",
    r"\b(u?bigint|unsigned\s+\w+)\b": "15.0",
    r"\b(data_pages|reserved_pages|used_pages|row_count|partition_name|index_name)\s*\(": "15.0",
    r"\bbig(date)?time\b": "15.5",
    r"\bmerge\s+into\b": "15.7",
    r"\bwith\s+\w+\s+as\s*\(": NEVER,
    r"\bover\s*\(": NEVER,
    r"\b(offset|fetch\s+next|limit)\s+\d": NEVER,
    r"\b(coalesce_all|string_agg|concat_ws|try_convert|iif)\s*\(": NEVER,
}
# Statements that change anything or wait for locks longer than asked.
WRITES = re.compile(
    r"\b(insert|update|delete|truncate|create|alter|drop|grant|revoke|kill|shutdown|checkpoint|sp_configure)\b",
    re.IGNORECASE,
)


def too_new(sql: str, version: Version) -> list[str]:
    """The syntax in a statement that this version does not have."""
    return [
        pattern
        for pattern, since in SINCE.items()
        if re.search(pattern, sql, re.IGNORECASE) and version < parse_version(since)
    ]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*-idle-sa.capture.gz")), ids=lambda path: path.name)
def test_no_statement_uses_syntax_newer_than_the_version(path: Path) -> None:
    facts, found = check_of(RecordedServer(loaded(path).statements)).statements()
    version = facts.version
    sent = [sql for statements in found.values() for sql in statements]
    assert sum(title.startswith("collector ") for title in found) > 50
    assert {sql: too_new(sql, version) for sql in sent if too_new(sql, version)} == {}
    assert [sql for sql in sent if WRITES.search(re.sub(r"'[^']*'", "''", sql))] == []
