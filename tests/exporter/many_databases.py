"""A scenario file of a server with any number of databases, each with a table, a log and devices of its own."""

import json
from pathlib import Path

CACHES = {"default data cache": {"size_kb": 524288}}


def many_databases(directory: Path, count: int) -> str:
    """The path of the file."""
    names = [f"db{number:04}" for number in range(1, count + 1)]
    tables = [{"name": "orders", "reads": 5, "writes": 1, "size_mb": 10}]
    tables.append({"name": "syslogs", "kind": "log", "reads": 1, "indexes": 0, "size_mb": 16})
    workload = {
        "users": 10,
        "databases": [{"name": name, "data_mb": 512, "log_mb": 128, "data_devices": 1} for name in names],
        "objects": [{"database": name, **table} for name in names for table in tables],
    }
    path = directory / f"{count}-databases.yaml"
    # YAML reads JSON.
    path.write_text(json.dumps({"name": path.stem, "caches": CACHES, "workload": workload}))
    return str(path)
