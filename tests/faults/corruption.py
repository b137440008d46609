"""Answers damaged on their way: what a broken network, a broken server or a malicious one may say."""

import asyncio
import random
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.exporter.parrot import EOM, HEADER, REPLY, Parrot, Recording

# A client that waits for more after a damaged answer is not made to wait for ever.
SCRAPE_TIMEOUT = 0.05
PACKET = 512
# Tokens that carry a length after them; the others stand alone or are as long as their format says.
TOKENS = bytes(
    (0x20, 0x22, 0x61, 0x65, 0xA7, 0xA9, 0xAA, 0xAD, 0xAE, 0xD1, 0xD7, 0xE2, 0xE3, 0xE5, 0xEC, 0xEE)
)
DONE = bytes((0xFD, 0xFE, 0xFF))
LENGTHS = (0, 1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF)

Damage = Callable[[bytearray, random.Random], None]


def bits(data: bytearray, chance: random.Random) -> None:
    """A few bits tip over."""
    for _ in range(chance.choice((1, 1, 1, 4, 16))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def noise(data: bytearray, chance: random.Random) -> None:
    """A stretch of nonsense."""
    at, length = chance.randrange(len(data)), chance.randint(1, 64)
    data[at : at + length] = chance.randbytes(min(length, len(data) - at))


def cut(data: bytearray, chance: random.Random) -> None:
    """The rest is missing."""
    del data[chance.randrange(1, len(data)) :]


def insert(data: bytearray, chance: random.Random) -> None:
    """Bytes too many."""
    at = chance.randrange(len(data))
    data[at:at] = chance.randbytes(chance.choice((1, 2, 8, 64)))


def delete(data: bytearray, chance: random.Random) -> None:
    """Bytes too few."""
    at = chance.randrange(len(data) - 1)
    del data[at : at + chance.choice((1, 2, 8, 64))]


def repeat(data: bytearray, chance: random.Random) -> None:
    """A stretch comes twice."""
    at = chance.randrange(len(data))
    data[at:at] = data[at : at + chance.randint(1, 200)]


def length(data: bytearray, chance: random.Random) -> None:
    """A length is a boundary: where parsers go wrong."""
    at = _place(data, chance, TOKENS) + 1
    size = chance.choice((1, 2, 2, 4))
    data[at : at + size] = struct.pack("<I", chance.choice(LENGTHS))[:size]


def token(data: bytearray, chance: random.Random) -> None:
    """A token is another one, or none."""
    data[_place(data, chance, TOKENS + DONE)] = chance.choice((*TOKENS, *DONE, chance.randrange(256)))


def done(data: bytearray, chance: random.Random) -> None:
    """The end of the answer lies: more to come, an error, an attention, another count."""
    start = max(0, len(data) - 9)
    for _ in range(chance.choice((1, 2))):
        data[chance.randrange(start, len(data))] = chance.choice((*range(32), 0x7F, 0xFF))


DAMAGES: tuple[Damage, ...] = (bits, noise, cut, insert, delete, repeat, length, token, done)


def _place(data: bytearray, chance: random.Random, wanted: bytes) -> int:
    places = [at for at, byte in enumerate(data) if byte in wanted]
    return chance.choice(places) if places else chance.randrange(len(data))


def damaged(answer: bytes, damage: Damage, chance: random.Random) -> bytes:
    """The answer with that damage: half the time framed rightly, so that it reaches who reads the tokens."""
    if chance.random() < 0.5:
        data = bytearray(answer)
        damage(data, chance)
        return bytes(data)
    body = bytearray(_body(answer))
    damage(body, chance)
    return _framed(bytes(body))


def _body(answer: bytes) -> bytes:
    body, at = b"", 0
    while at < len(answer):
        _, _, size, *_ = HEADER.unpack_from(answer, at)
        body += answer[at + HEADER.size : at + size]
        at += size
    return body


def _framed(body: bytes) -> bytes:
    room = PACKET - HEADER.size
    parts = [body[at : at + room] for at in range(0, len(body), room)] or [b""]
    return b"".join(
        HEADER.pack(REPLY, EOM if part is parts[-1] else 0, HEADER.size + len(part), 0, 0, 0) + part
        for part in parts
    )


@dataclass
class Campaign:
    """Whether answers are damaged now, how many were, by kind of damage, and the connections that are open."""

    chance: random.Random
    on: bool = False
    made: Counter[str] = field(default_factory=Counter)
    open: set["Watched"] = field(default_factory=set)

    def end(self) -> None:
        """No more; and whoever believed something wrong about the server has to log in and ask again.

        A login under way is left alone: ended after its acknowledgement it would count as a refusal.
        """
        self.on = False
        for connection in self.open:
            if connection.left_to_log_in <= 0:
                connection.transport.abort()


# Answers to the login, to the driver's first statement, and to the one that confirms the login. A damaged one counts as
# an attempt that may have been refused: two in a row suspend the account.
LOGIN_ANSWERS = 3


class Watched(Parrot):
    """A connection of a campaign, which knows those that are open. left_to_log_in: answers to the login."""

    def __init__(self, recording: Recording, campaign: Campaign) -> None:
        super().__init__(recording)
        self.campaign = campaign
        self.left_to_log_in = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.campaign.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.campaign.open.discard(self)


class Corruptor(Watched):
    """Damages some answers. Ends the connection if the client waits for more. login_answers: that come unharmed."""

    def __init__(self, recording: Recording, campaign: Campaign, login_answers: int = LOGIN_ANSWERS) -> None:
        super().__init__(recording, campaign)
        self._late: asyncio.TimerHandle | None = None
        # What is asked about the server, and what is read of it, each as often.
        self._spared = login_answers + campaign.chance.choice(
            (0, campaign.chance.randrange(15), campaign.chance.randrange(30))
        )
        self.left_to_log_in = login_answers

    def asked(self, kind: int, request: bytes) -> None:
        if self._late:
            self._late.cancel()
        super().asked(kind, request)

    def say(self, answer: bytes) -> None:
        campaign = self.campaign
        self._spared -= 1
        self.left_to_log_in -= 1
        spared = self._spared >= 0 or (self._spared < -1 and campaign.chance.random() < 0.5)
        if not campaign.on or not answer or spared:
            super().say(answer)
            return
        damage = campaign.chance.choice(DAMAGES)
        wrong = damaged(answer, damage, campaign.chance)
        if wrong != answer:
            campaign.made[damage.__name__] += 1
            self._late = asyncio.get_running_loop().call_later(SCRAPE_TIMEOUT, self.transport.close)
        super().say(wrong)
