"""What a comparison of two sp_sysmon reports says first: findings in plain sentences, the most relevant first."""

from ase_exporter.diagnosis.diagnose import baseline_of, diagnose
from ase_exporter.diagnosis.measures import FixedReadings, Rows
from ase_exporter.sysmon.difference import configuration
from ase_exporter.sysmon.metrics import cleared_counters, headline_values
from ase_exporter.sysmon.structure import Report

_MAX_INTERVAL_RATIO = 2.0
_RATES = {
    "ase_transactions_total": ("committed_transactions_per_second", ""),
    "ase_deadlocks_total": ("deadlocks_per_second", ""),
    "ase_logical_reads_total": ("cache_searches_per_second", ""),
    "ase_network_packets_total": ("network_packets_per_second", ""),
    "ase_procedure_cache_requests_total": ("procedure_cache_events_per_second", "Requests"),
    "ase_procedure_cache_loads_total": ("procedure_cache_events_per_second", "Reads from Disk"),
}
"""Counters of the monitoring tables -> headlines of a report, and the label that its series must have."""


def readings_of(report: Report) -> FixedReadings:
    """What a report says of its server, which has answered: counts of the sample per second."""
    known = headline_values(report)
    counters: dict[str, Rows] = {}
    for metric, (name, label) in _RATES.items():
        found = [value for labels, value in known.get(name, {}).items() if not label or label in labels]
        if found:
            counters[metric] = [({}, sum(found))]
    if engines := known.get("engine_busy_ratio"):
        counters["ase_engine_cpu_seconds_total"] = [
            ({"engine": engine, "mode": "user" if state == "cpu" else state}, value)
            for (engine, state), value in engines.items()
        ]
    if report.find("Kernel Utilization", "Adaptive Server threads are consuming"):
        counters["ase_thread_cpu_seconds_total"] = [({}, value) for value in known["cpu_units"].values()]
    seconds = report.header.interval.total_seconds() if report.header.interval else 0.0
    source, lacks = f"sp_sysmon of {report.header.server}", "sp_sysmon does not print it"
    return FixedReadings(source, lacks, {"ase_up": [({}, 1.0)]}, counters, seconds)


def pair_findings(before: Report, after: Report) -> list[str]:
    """What is wrong after, by the diagnosis, with what was before as the usual."""
    old = diagnose(readings_of(before))
    new = diagnose(readings_of(after), baseline_of(old))
    was, now = ({finding.name for finding in each.findings} for each in (old, new))
    found = [
        f"{finding.sentence}{'; so it was before' if finding.name in was else ''}" for finding in new.findings
    ]
    found += [f"gone: {finding.sentence}" for finding in old.findings if finding.name not in now]
    return found


def obstacles(before: Report, after: Report) -> list[str]:
    """Why two reports may not be comparable, one sentence each."""
    found = [
        f"the report {name} is not complete"
        for name, report in (("before", before), ("after", after))
        if not report.complete
    ]
    old, new = before.header, after.header
    pairs = (
        ("servers", old.server, new.server),
        ("versions", *(_banner(each.version) for each in (old, new))),
        ("numbers of engines", *(len(configuration(each)["engines"]) for each in (before, after))),
    )
    found += [f"different {what}: {one}, {two}" for what, one, two in pairs if one and two and one != two]
    if old.interval and new.interval:
        shorter, longer = sorted((old.interval.total_seconds(), new.interval.total_seconds()))
        if longer > _MAX_INTERVAL_RATIO * shorter:
            found.append(f"intervals of different length: {old.interval}, {new.interval}")
    if cleared_counters(before) != cleared_counters(after) and old.mode and new.mode:
        found.append(f"different sample modes: {old.mode}, {new.mode}")
    if old.ended and new.started and new.started < old.ended and old.server == new.server:
        found.append("the second report does not begin after the end of the first")
    return found


def _banner(version: str) -> str:
    """Release and patch level of a version: '16.0 SP04 PL03'."""
    parts = version.split("/")
    return parts[1] if len(parts) > 1 else version
