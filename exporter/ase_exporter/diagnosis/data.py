"""The diagnosis as data, for programs and assistants: numbers in base units, None for what is not known."""

from typing import Any

from ase_exporter.diagnosis.account import Account
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import Diagnosis, Finding
from ase_exporter.views.view import Foreign


def diagnosis_data(found: Diagnosis) -> dict[str, Any]:
    """The verdict, its causes, the time account, and what is not judged."""
    return {
        "state": found.state,
        "word": found.word,
        # What is worst has the largest; below 0 nothing is wrong.
        "rank": found.rank,
        "says": f"{found.word}: {found.text}",
        "level": found.level,
        "causes": [*map(finding_data, found.findings)],
        "account": account_data(found.account),
        "not_judged": [
            {"finding": each.name, "word": each.word, "reason": each.reason} for each in found.unknown
        ],
        "read": found.source,
    }


def account_data(account: Account) -> list[dict[str, Any]]:
    """Where sessions spend their time."""
    return [
        {
            "part": part.title,
            "sessions": account.parts.get(name),
            "share": account.shares[name],
            "session_seconds_per_transaction": account.per_transaction(name),
        }
        for name, part in catalogue().account.items()
    ]


def finding_data(finding: Finding) -> dict[str, Any]:
    """One thing that is wrong. says: in words; names of the server are in about alone."""
    return {
        "finding": finding.name,
        "word": finding.word,
        "says": finding.text,
        # Of all session time that it explains, and of what it is part of before the window.
        "share": finding.share,
        "usual_share": finding.usual,
        "confidence": finding.confidence,
        "about_kind": finding.subject.kind if finding.subject else "",
        "about": Foreign(finding.subject.name if finding.subject else ""),
        "evidence": [
            {
                "measure": each.name,
                "title": each.title,
                "value": each.value,
                "unit": each.unit,
                "about": Foreign(each.subject),
                "not_known": each.unknown,
            }
            for each in finding.evidence
        ],
        "next_steps": finding.next_steps,
        "expect": finding.expect,
    }
