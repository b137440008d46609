"""Advice as data, for programs and assistants: names of the server are marked."""

from typing import Any

from ase_exporter.advise.advice import Advice, SpinlockFinding
from ase_exporter.advise.remedies import AdviceStep
from ase_exporter.diagnosis.data import finding_data
from ase_exporter.views.view import Foreign, Quoting


def advice_data(advice: Advice) -> dict[str, Any]:
    """What eases each cause, and each spinlock that needs action, for an administrator: nothing runs it."""
    evidence = advice.evidence
    return {
        "version": str(evidence.version),
        "seconds": evidence.seconds,
        # Of causes that are spinlocks, `spinlocks` has the steps.
        "causes": [
            {
                "cause": finding_data(each.finding),
                "steps": [*map(_step, each.steps)],
                "cautions": [*map(Quoting, each.cautions)],
            }
            for each in advice.causes
        ],
        "spinlocks": [*map(_spinlock, advice.hot)],
        "features": [f"{each.name} (from {each.since}): {each.caveat}" for each in advice.features],
        "do_not": [*map(Quoting, advice.do_not)],
        # What was not read, and what the advice lacks without it.
        "not_known": [*map(Quoting, evidence.missing.values())],
    }


def _step(step: AdviceStep) -> dict[str, Any]:
    return {
        "statements": [*map(Quoting, step.statements)],
        "why": Quoting(step.why),
        "gains": step.ceiling,
        "costs": step.price,
        "restart": step.restart,
        "warnings": [*map(Quoting, step.warnings)],
    }


def _spinlock(finding: SpinlockFinding) -> dict[str, Any]:
    """A spinlock that needs action, and what eases it. engines_spinning: about how many, an estimate."""
    spinlock = finding.spinlock
    return {
        "spinlock": Foreign(spinlock.name),
        "spinlock_class": Foreign(spinlock.spinlock_class),
        "state": finding.severity,
        "contention": spinlock.contention,
        "grabs_per_second": spinlock.grabs,
        "spins_per_second": spinlock.spins,
        "waits_per_second": spinlock.waits,
        "engines_spinning": finding.engines,
        "protects": finding.protects,
        "current": Quoting(finding.current),
        "steps": [*map(_step, finding.steps)],
        "cautions": [*map(Quoting, finding.cautions)],
        "sources": finding.sources,
    }
