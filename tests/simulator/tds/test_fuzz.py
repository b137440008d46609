"""Random and mutated packets: the server keeps running and leaks nothing."""

import asyncio
import logging
import random
from collections.abc import Callable

import pytest
from tests.faults.corruption import bits, cut, insert, length
from tests.faults.corruption import noise as replace
from tests.simulator.tds.raw import ATTENTION, BULK, EOM, HEADER, LOGIN, NORMAL, language, login_record
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_simulator.server import Listener
from ase_simulator.tds.fields import u2, u4

PACKETS_A_CONNECTION = 10
CONNECTIONS_AT_ONCE = 16


def packet(body: bytes, kind: int = NORMAL, status: int = EOM) -> bytes:
    return HEADER.pack(kind, status, len(body) + HEADER.size, 0, 0, 0) + body


def valid_packets() -> list[bytes]:
    """One of every request."""
    requests = [
        *(language(what) for what in ("numbers 3", "types null", "hang")),
        *(bytes((token,)) + u2(9) + b"the rest " for token in (0xE6, 0xE7, 0x62, 0x83, 0x86)),
        language("numbers 1") + b"\xec" + u2(2) + bytes(2),
        b"\x71\0",
    ]
    return [
        *(packet(request) for request in requests),
        packet(u4(4) + b"text", BULK),
        packet(b"", ATTENTION),
        packet(login_record(USER, PASSWORD), LOGIN),
    ]


Mutate = Callable[[bytearray, random.Random], None]


def mutated(data: bytes, mutate: Mutate, chance: random.Random, *, framed: bool) -> bytes:
    """A packet with a mutation. framed: of its body alone, so that it reaches the parser of tokens."""
    changed = bytearray(data[HEADER.size :]).ljust(2, b"\0") if framed else bytearray(data)
    mutate(changed, chance)
    return packet(bytes(changed), data[0]) if framed else bytes(changed)


def noise(data: bytearray, chance: random.Random) -> None:
    data[:] = chance.randbytes(chance.randint(1, 600))


def unchanged(_data: bytearray, _chance: random.Random) -> None:
    pass


# Mutations, and whether they are framed.
MUTATIONS: list[tuple[Mutate, bool]] = [
    *((mutate, True) for mutate in (bits, replace, cut, insert, length)),
    *((mutate, False) for mutate in (bits, cut, insert, noise, unchanged, unchanged)),
]


async def fuzz(listener: Listener, packets: int, chance: random.Random) -> int:
    """Send that many packets over many connections; the number that was sent."""
    sent = 0
    while sent < packets:
        samples = valid_packets()
        reader, writer = await asyncio.open_connection(*listener.address)
        swallowing = asyncio.create_task(reader.read(-1))
        if chance.random() < 0.9:
            writer.write(packet(login_record(USER, PASSWORD), LOGIN))
        for _ in range(chance.randint(1, PACKETS_A_CONNECTION)):
            mutate, framed = chance.choice(MUTATIONS)
            writer.write(mutated(chance.choice(samples), mutate, chance, framed=framed))
            sent += 1
        if chance.random() < 0.5 and writer.can_write_eof():
            writer.write_eof()
        else:
            writer.close()
        await asyncio.wait_for(asyncio.gather(swallowing, return_exceptions=True), 60)
        writer.close()
    return sent


async def survive(packets: int, seed: int) -> None:
    backend = ScriptedBackend()
    async with Listener(backend) as listener:
        workers = [
            fuzz(listener, packets // CONNECTIONS_AT_ONCE + 1, random.Random(f"{seed} {number}"))
            for number in range(CONNECTIONS_AT_ONCE)
        ]
        assert sum(await asyncio.gather(*workers)) >= packets
        async with asyncio.timeout(60):
            while listener.connections:
                await asyncio.sleep(0.01)
        assert backend.open_sessions == 0
        reader, writer = await asyncio.open_connection(*listener.address)
        writer.write(packet(login_record(USER, PASSWORD), LOGIN))
        header = await reader.readexactly(HEADER.size)
        assert header[0] == 4
        writer.close()
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize(
    "packets", [2_000, pytest.param(1_000_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])]
)
def test_thousands_of_packets_end_no_more_than_their_own_connection(
    packets: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        asyncio.run(survive(packets, seed=7))
    assert caplog.records == []
