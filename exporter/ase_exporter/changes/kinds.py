"""Kinds of changes, as docs/changes.md describes them."""

from ase_exporter.changes.change import ANNOTATION

SERVER_KINDS = (
    "option",
    "cache",
    "binding",
    "engine",
    "thread_pool",
    "database",
    "version",
    "restart",
    "counters_cleared",
    "trace_flag",
)
HOST_KINDS = ("thp", "hugepages", "cpus", "memory", "kernel", "numa_balancing", "restart")
KINDS = frozenset({ANNOTATION, *SERVER_KINDS, *HOST_KINDS})
