"""The MDA catalogue: collectors as data (*.yaml), and how they are planned and read.

    catalogue, problems = load_catalogue(["/etc/ase-exporter/metrics"])
    facts = read_facts(query)                       # query(sql) -> rows
    for collector in plan(catalogue, facts, {"processes": True}):
        if collector.available:
            families = collector.families(query(collector.statement), counters, time.monotonic())

In the order of the data: model (the shape of the YAML), load (files -> Catalogue), facts (what a server has), plan
(catalogue x facts -> SQL), labels, row_series and row_mapper (rows -> families), ranking (top rows), gaps (what is
missing and how to fix it).
"""

from ase_exporter.catalogue.facts import Reason, ServerFacts, read_facts, read_identity, unavailable_reason
from ase_exporter.catalogue.load import Catalogue, load_catalogue
from ase_exporter.catalogue.plan import PlannedCollector, plan

__all__ = [
    "Catalogue",
    "PlannedCollector",
    "Reason",
    "ServerFacts",
    "load_catalogue",
    "plan",
    "read_facts",
    "read_identity",
    "unavailable_reason",
]
