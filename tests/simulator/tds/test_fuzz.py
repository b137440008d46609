"""Random and mutated packets: the server keeps running and leaks nothing."""

import asyncio
import logging
import random
from collections.abc import Callable

import pytest
from tests.faults.corruption import bits, cut, insert, length
from tests.faults.corruption import noise as replace
from tests.simulator.tds.raw import ATTENTION, BULK, EOM, HEADER, LOGIN, NORMAL, Codec
from tests.simulator.tds.scripted import PASSWORD, USER, ScriptedBackend

from ase_simulator.server import Listener

PACKETS_A_CONNECTION = 10
CONNECTIONS_AT_ONCE = 16
SEEDS = range(2)


# an int and the place of a text
ROW = bytes((1, 0, 1, 0, 0, 0, 27, 0)) + bytes(16) + bytes((2, 24, 8))


def packet(body: bytes, kind: int = NORMAL, status: int = EOM) -> bytes:
    return HEADER.pack(kind, status, len(body) + HEADER.size, 0, 0, 0) + body


def valid_packets(codec: Codec) -> list[bytes]:
    """One of every request; the login is in the same byte order."""
    call = codec.parameters([("@n", 21, False), ("@twice", None, True)])
    requests = [
        codec.language("numbers 3"),
        codec.language("types null"),
        codec.language("hang"),
        codec.rpc("double") + call,
        codec.rpc("double", wide=True) + call,
        codec.dynamic(1, "s", "select ?"),
        codec.dynamic(2, "s") + codec.parameters([("", 9, False), ("", "text", False)], wide=True),
        codec.dynamic(1, "t", "select ?", wide=True),
        codec.dynamic(4, "s"),
        codec.declare("c", "numbers 9"),
        codec.cursor(0x83, "c", b"\1" + codec.u2(0x20) + codec.u4(3)),
        codec.cursor(0x84, "c", b"\0"),
        codec.cursor(0x82, "c", b"\1"),
        codec.cursor(0x80, "c", b"\1"),
        b"\x71\0",
    ]
    return [
        *(packet(request) for request in requests),
        packet(codec.language("insert bulk")),
        packet(
            codec.u2(len(ROW)) + ROW + codec.u2(0) + b"\x23\xff" + codec.u2(8) + codec.u4(4) + b"text", BULK
        ),
        packet(codec.language("writetext bulk")),
        packet(codec.u4(4) + b"text", BULK),
        packet(b"", ATTENTION),
        packet(codec.login(USER, PASSWORD), LOGIN),
    ]


def keep_header(
    mutate: Callable[[bytearray, random.Random], None],
) -> Callable[[bytes, random.Random], bytes]:
    """Mutate the body and frame it correctly, so that it reaches the token parser."""

    def mutated(data: bytes, chance: random.Random) -> bytes:
        body = bytearray(data[HEADER.size :]).ljust(2, b"\0")
        mutate(body, chance)
        return packet(bytes(body), data[0])

    return mutated


def whole(mutate: Callable[[bytearray, random.Random], None]) -> Callable[[bytes, random.Random], bytes]:
    def mutated(data: bytes, chance: random.Random) -> bytes:
        packet_ = bytearray(data)
        mutate(packet_, chance)
        return bytes(packet_)

    return mutated


def noise(_data: bytes, chance: random.Random) -> bytes:
    return chance.randbytes(chance.randint(1, 600))


def unchanged(data: bytes, _chance: random.Random) -> bytes:
    return data


MUTATIONS = [
    *(keep_header(mutate) for mutate in (bits, replace, cut, insert, length)),
    *(whole(mutate) for mutate in (bits, cut, insert)),
    noise,
    unchanged,
    unchanged,
]


async def fuzz(listener: Listener, packets: int, chance: random.Random) -> int:
    """Send that many packets over many connections; the number that was sent."""
    sent = 0
    while sent < packets:
        codec = Codec(chance.choice("<>"))
        samples = valid_packets(codec)
        reader, writer = await asyncio.open_connection(*listener.address)
        swallowing = asyncio.create_task(reader.read(-1))
        if chance.random() < 0.9:
            writer.write(packet(codec.login(USER, PASSWORD), LOGIN))
        for _ in range(chance.randint(1, PACKETS_A_CONNECTION)):
            writer.write(chance.choice(MUTATIONS)(chance.choice(samples), chance))
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
        writer.write(packet(Codec().login(USER, PASSWORD), LOGIN))
        header = await reader.readexactly(HEADER.size)
        assert header[0] == 4
        writer.close()
    assert len(asyncio.all_tasks()) == 1


def hold(packets: int, seed: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        asyncio.run(survive(packets, seed))
    assert caplog.records == []


@pytest.mark.parametrize("seed", SEEDS)
def test_ten_thousand_packets_end_no_more_than_their_own_connection(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    hold(10_000, seed, caplog)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_million_packets_end_no_more_than_their_own_connection(caplog: pytest.LogCaptureFixture) -> None:
    hold(1_000_000, 7, caplog)
