"""Disk and network traffic, by device, kind and segment."""

from collections.abc import Iterator

from ase_simulator.contracts import Row
from ase_simulator.model.inventory import Device
from ase_simulator.model.operation import OBJECT_COLUMNS
from ase_simulator.model.world import World

_WRITE_MS = 0.7
_MB = 1024.0 * 1024.0


def _traffic(world: World, device: Device) -> tuple[float, float, float]:
    """Reads, prefetch reads and writes of a device: its database's, divided evenly over devices of its kind."""
    columns = [OBJECT_COLUMNS.index(name) for name in ("physical_reads", "apf_reads", "physical_writes")]
    total = [0.0, 0.0, 0.0]
    for table in world.inventory.tables:
        if table.object.database == device.database and (table.object.kind == "log") == device.log:
            row = world.counters.objects[table.position]
            total = [sum_ + float(row[column]) for sum_, column in zip(total, columns, strict=True)]
    same = sum(d.database == device.database and d.log == device.log for d in world.inventory.devices)
    reads, apf, writes = (value / same for value in total)
    return reads, apf, writes


def mon_device_io(world: World) -> Iterator[Row]:
    """One row per device; times in milliseconds."""
    for device in world.inventory.devices:
        reads, apf, writes = _traffic(world, device)
        read_ms, write_ms = reads * world.workload.read_ms, writes * _WRITE_MS
        yield {
            "Reads": world.int32(reads - apf),
            "APFReads": world.int32(apf),
            "Writes": world.int32(writes),
            "DevSemaphoreRequests": world.int32(reads + writes),
            "DevSemaphoreWaits": world.int32((reads + writes) * 0.001),
            "IOTime": world.int32(read_ms + write_ms),
            "ReadTime": world.int32(read_ms),
            "WriteTime": world.int32(write_ms),
            "LogicalName": device.name,
            "PhysicalName": device.path,
        }


def mon_io_queue(world: World) -> Iterator[Row]:
    """One row per device and kind of I/O that it can have."""
    for device in world.inventory.devices:
        reads, _, writes = _traffic(world, device)
        tempdb = device.database == "tempdb"
        own = device.database in {database.name for database in world.inventory.own_databases}
        main = f"{'Tempdb' if tempdb else 'User'} {'Log' if device.log else 'Data'}"
        kinds = ([(main, 1.0)] if own or tempdb else []) + [("System", 0.0 if own or tempdb else 1.0)]
        for kind, share in kinds:
            yield {
                "IOs": world.int32((reads + writes) * share),
                "IOTime": world.int32((reads * world.workload.read_ms + writes * _WRITE_MS) * share),
                "LogicalName": device.name,
                "IOType": kind,
            }


def mon_network_io(world: World) -> Iterator[Row]:
    """One row for the server; the byte counters wrap soon, the MB ones late."""
    flows = world.counters.flows
    yield {
        "BytesSentMB": world.int32(flows["bytes_sent"] / _MB),
        "BytesReceivedMB": world.int32(flows["bytes_received"] / _MB),
    }


_SEGMENTS = ((0, "system", False), (1, "default", False), (2, "logsegment", True))


def mon_device_segment_usage(world: World) -> Iterator[Row]:
    """Pages used by device and segment: data in `default`, the log in `logsegment`."""
    for device in world.inventory.devices:
        pages = device.size_mb * 1024 // world.inventory.page_kb
        for number, _, log in _SEGMENTS:
            if log == device.log:
                yield {
                    "DBID": world.inventory.databases[device.database],
                    "DeviceNumber": device.number,
                    "SegmentNumber": number,
                    "PagesUsed": int(pages * (0.02 if log else 0.05 if number == 0 else 0.6)),
                }


def mon_device_segment_io(world: World) -> Iterator[Row]:
    """Traffic by device and segment."""
    for device in world.inventory.devices:
        reads, _, writes = _traffic(world, device)
        for number, _, log in _SEGMENTS:
            if log == device.log:
                share = 0.0 if number == 0 else 1.0
                yield {
                    "DBID": world.inventory.databases[device.database],
                    "DeviceNumber": device.number,
                    "SegmentNumber": number,
                    "PhysicalReads": int(reads * share),
                    "LogicalReads": int(reads * share),
                    "PhysicalWrites": int(writes * share),
                }


def mon_device_space_usage(world: World) -> Iterator[Row]:
    """One row per device: each folder is a file system that is four fifths full of devices."""
    devices = world.inventory.devices
    used: dict[str, int] = {}
    for device in devices:
        folder = device.path.rpartition("/")[0]
        used[folder] = used.get(folder, 0) + device.size_mb
    for device in devices:
        taken = used[device.path.rpartition("/")[0]]
        yield {
            "InstanceID": 0,
            "VDevNo": device.number,
            "DeviceSizeMB": device.size_mb,
            "FileSystemSizeMB": taken + taken // 4,
            "FileSystemFreeMB": taken // 4,
            "LogicalName": device.name,
            "PhysicalName": device.path,
        }


TABLES = {
    "monDeviceIO": mon_device_io,
    "monIOQueue": mon_io_queue,
    "monNetworkIO": mon_network_io,
    "monDeviceSegmentUsage": mon_device_segment_usage,
    "monDeviceSegmentIO": mon_device_segment_io,
    "monDeviceSpaceUsage": mon_device_space_usage,
}
