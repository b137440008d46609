"""The sessions of real clients: who is logged in, and what they used."""

from dataclasses import dataclass, field

from ase_simulator.contracts import ClientState, LoginRequest

FIRST_CLIENT_SPID = 20
FIRST_USER_SPID = 1020
"""First spid of the workload's users, above those of clients."""

_FIRST_KPID = 2_000_000


@dataclass(slots=True)
class Client:
    """One client session. since: simulated second of its login."""

    spid: int
    kpid: int
    request: LoginRequest
    since: float
    statements: int = 0
    rows: int = 0
    cpu_ms: float = 0.0
    state: ClientState = field(default_factory=ClientState)


@dataclass(slots=True)
class Sessions:
    """All client sessions. generation: grows whenever the server drops every one of them."""

    generation: int = 0
    clients: dict[int, Client] = field(default_factory=dict)
    _logins: int = 0

    def attach(self, request: LoginRequest, seconds: float) -> int:
        """Give a session the lowest free spid."""
        spid = FIRST_CLIENT_SPID
        while spid in self.clients:
            spid += 1
        self._logins += 1
        self.clients[spid] = Client(spid, _FIRST_KPID + self._logins, request, seconds)
        return spid

    def state(self, spid: int) -> ClientState:
        """What a session does; of one that was dropped, a state that nobody sees."""
        client = self.clients.get(spid)
        return client.state if client else ClientState()

    def detach(self, spid: int) -> None:
        self.clients.pop(spid, None)

    def account(self, spid: int, statements: int, rows: int, cpu_ms: float) -> None:
        client = self.clients.get(spid)
        if client:
            client.statements += statements
            client.rows += rows
            client.cpu_ms += cpu_ms

    def drop(self) -> None:
        self.clients.clear()
        self.generation += 1
