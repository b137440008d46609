"""The HTTP application: /metrics, /probe, /targets, /diagnosis, /advice, health, reload and the landing page."""

import asyncio
import contextlib
import logging
import mmap
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ase_exporter.advise.advice import advise
from ase_exporter.advise.data import advice_data
from ase_exporter.advise.view import advice_view
from ase_exporter.ase.login_file import shared_directories
from ase_exporter.ase.login_ledger import LoginLedger
from ase_exporter.ase.timing import TIMING
from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.changes.journal import Journal
from ase_exporter.changes.metrics import host_families, own_families, target_families
from ase_exporter.config import Config, Scrape, Target
from ase_exporter.diagnosis.data import diagnosis_data
from ase_exporter.errors import UserError
from ase_exporter.host.collectors import HostCollectors
from ase_exporter.host.process_totals import ProcessTotals
from ase_exporter.metrics.families import Family
from ase_exporter.metrics.totals_files import TotalsFiles
from ase_exporter.readings.watch import TargetWatch
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult
from ase_exporter.scraping.targets import Answer, BusyError, Targets
from ase_exporter.sessions.incidents import Incidents
from ase_exporter.views.figures import iso
from ase_exporter.views.plain import as_json
from ase_exporter.web.change_routes import ChangeHandlers
from ase_exporter.web.exporter_metrics import ExporterMetrics
from ase_exporter.web.exposition import Exposition, accepts_gzip, exposition
from ase_exporter.web.incident_keeper import IncidentKeeper
from ase_exporter.web.incident_routes import IncidentHandlers
from ase_exporter.web.loading import Loaded
from ase_exporter.web.pages import landing_page, missing_page, server_page
from ase_exporter.web.session_routes import SessionHandlers
from ase_exporter.web.web_config import WebConfig
from ase_exporter.web.write_access import ANNOTATING, RELOADING, WriteAccess, protected

log = logging.getLogger(__name__)

TIMEOUT_HEADER = "X-Prometheus-Scrape-Timeout-Seconds"


class ExporterApp:
    """State that the requests share: configuration, targets, changes and the exporter's own metrics."""

    def __init__(
        self,
        load: Callable[[], Loaded],
        loaded: Loaded,
        state_directory: Path,
        restarts: int = 0,
        memory: mmap.mmap | None = None,
        *,
        is_temporary: bool = False,
    ) -> None:
        """load: returns the configuration of now, for reloads; raises UserError. restarts: of the process, so far.

        memory: of the login ledger. is_temporary: the state directory ends with the exporter.
        """
        self._load = load
        self._reloading = asyncio.Lock()
        self._next_reload: asyncio.Task[None] | None = None
        self._collecting_host = asyncio.Lock()
        _log_problems(loaded)
        self.config = config = loaded.config
        self.journal = Journal(config.changes, state_directory, _host_watch(config))
        self._state_directory = state_directory
        self._kept = IncidentKeeper(
            lambda: Incidents(state_directory, self.config.sessions.incidents),
            self.sessions,
            self.journal.annotate,
        )
        self._totals = TotalsFiles(state_directory)
        self._logins = LoginLedger([*shared_directories(), state_directory], memory=memory)
        # The judge of each target.
        self.watches: dict[str, TargetWatch] = {}
        self.targets = Targets(self._logins, self._totals, self._on_scrape_end, self._judge)
        self.targets.configure(config, loaded.catalogue)
        self._process_totals = ProcessTotals(state_directory)
        self.host = HostCollectors(config.host, self._process_totals) if config.host else None
        self._web_config: WebConfig | None = None
        self.metrics = ExporterMetrics()
        for name, value in {
            "restarts_total": lambda: restarts,
            "totals_persistent": lambda: self._totals.works and not is_temporary,
            "targets": lambda: len(self.config.targets),
        }.items():
            self.metrics.gauge(name, value)

    def watch(self, web_config: WebConfig) -> None:
        """Export whether the web configuration file could be loaded."""
        self._web_config = web_config
        self.metrics.gauge("web_config_last_reload_successful", lambda: web_config.ok)

    @property
    def shows_statement_text(self) -> bool:
        """Whether text of statements may be shown: if it is configured, and only to callers who have logged in."""
        users = self._web_config and self._web_config.settings().basic_auth_users
        return self.config.sessions.statement_text and bool(users)

    @property
    def keeper(self) -> IncidentKeeper | None:
        """Keeps incidents; None if none are wanted."""
        return self._kept if self.config.sessions.incidents else None

    async def reload(self) -> None:
        """Load the configuration and switch to it. Raises UserError, and changes nothing, if it is bad.

        Callers that come while a reload is in progress share the next one, which reads the file after they asked.
        """
        if self._next_reload is None:
            self._next_reload = asyncio.create_task(self._reload_in_turn())
        await asyncio.shield(self._next_reload)

    async def _reload_in_turn(self) -> None:
        async with self._reloading:
            self._next_reload = None
            try:
                await self._reload()
            except UserError as error:
                self.keep_configuration(error)
                raise

    def keep_configuration(self, error: UserError) -> None:
        """Say that the old configuration stays."""
        log.error("configuration not loaded, keeping the old one: %s", error)
        self.metrics.reload_ok = False

    async def _reload(self) -> None:
        loaded = await asyncio.to_thread(self._load)
        _log_problems(loaded)
        config = loaded.config
        self.targets.configure(config, loaded.catalogue)
        for gone in self.watches.keys() - self.targets.states.keys():
            del self.watches[gone]
        self.config = config
        await self._replace_host(config)
        await self.journal.configure(config.changes, _host_watch(config))
        self.metrics.loaded()
        log.info("configuration loaded, targets: %d", len(config.targets))

    def _judge(self, target: Target) -> Callable[[ScrapeResult], None]:
        watch = self.watches[target.name] = TargetWatch(target.name, self._state_directory)
        return watch.judge

    def _on_scrape_end(self, target: str, result: ScrapeResult) -> None:
        if result.config_snapshot:
            self.journal.on_snapshot(target, result.config_snapshot)
        if result.diagnosis and (keeper := self.keeper):
            keeper.note(target, result.diagnosis)

    async def _replace_host(self, config: Config) -> None:
        # The old collectors may be running in a thread.
        async with self._collecting_host:
            if self.host:
                self.host.close()
            self.host = HostCollectors(config.host, self._process_totals) if config.host else None

    @property
    def grafana(self) -> str:
        """The address of Grafana, '' if none is configured."""
        return self.config.changes.grafana.url if self.config.changes.grafana else ""

    def names(self) -> list[str]:
        """The names of the configured targets."""
        return [target.name for target in self.config.targets]

    async def start(self) -> None:
        await self.journal.start()
        await self._kept.start()

    async def stop(self) -> None:
        self._kept.stop()
        await self.targets.stop()
        self._logins.close()
        await self.journal.stop()
        if self.host:
            self.host.close()

    async def sessions(self, target: str, *groups: str) -> Answer:
        """Who runs what on a target, read now. groups: as `sessions.sources` has them. Raises KeyError, BusyError."""
        # The budget counts the CPU time of our session, if that is known, and not the time of a statement.
        request = ScrapeRequest(frozenset({"own_session"}), session_groups=frozenset(groups))
        return await self.targets.scrape(target, request, time.monotonic() + self.config.scrape.timeout)

    async def host_families(self) -> list[Family]:
        """Metrics of this machine; empty without `host` in the configuration."""
        async with self._collecting_host:
            host = self.host
            return await asyncio.to_thread(lambda: list(host.collect())) if host else []

    async def scrape(self, request: Request, target: str, *, asked: float) -> Response:
        """Scrape a target within the timeout of the request. asked: when it came (monotonic)."""
        timeout = _timeout(request, self.config.scrape)
        margin = min(self.config.scrape.margin, timeout / 2)
        names = request.query_params.getlist("collect[]")
        wanted = ScrapeRequest(frozenset(names) if names else None, accepts_gzip(request))
        late_after = min(TIMING.late_after, margin / 2)
        deadline = asked + timeout - margin
        changes = list(target_families(self.journal, target))
        answer = await self.targets.scrape(target, wanted, deadline, changes, late_after)
        return Exposition(request, answer.body)


class _Handlers:
    def __init__(self, exporter: ExporterApp, access: WriteAccess) -> None:
        self._exporter = exporter
        self._access = access

    def routes(self) -> list[Route]:
        """All routes, their responses counted."""
        exporter = self._exporter
        access, changes = self._access, ChangeHandlers(exporter.journal, exporter.names)
        incidents = IncidentHandlers(exporter)
        reload = protected(self.reload, access.lifecycle, RELOADING)
        annotate, finish = (
            protected(each, access.annotations, ANNOTATING) for each in (changes.annotate, changes.finish)
        )
        return [
            self._counted("/", self.landing),
            self._counted("/server", self.server),
            self._counted("/metrics", self.metrics),
            self._counted("/probe", self.probe),
            self._counted("/targets", self.targets),
            self._counted("/diagnosis", self.diagnosis),
            self._counted("/advice", self.advice),
            self._counted("/-/healthy", self.healthy),
            self._counted("/-/ready", self.ready),
            self._counted("/-/reload", reload, "POST", "PUT"),
            self._counted("/changes", changes.changes),
            self._counted("/sessions", SessionHandlers(exporter).sessions),
            self._counted("/incidents", incidents.show),
            self._counted("/annotations", annotate, "POST"),
            self._counted("/annotations/{id}/finish", finish, "POST"),
        ]

    def _counted(self, path: str, handler: Callable[[Request], Awaitable[Response]], *methods: str) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                response = await handler(request)
            except BusyError as error:
                response = PlainTextResponse(f"{error}\n", 503)
            except asyncio.CancelledError:
                # By the server, which waits no longer for requests before it ends.
                response = PlainTextResponse("the exporter is stopping\n", 503)
            except ClientDisconnect:
                response = PlainTextResponse("the request body is incomplete\n", 400)
            self._exporter.metrics.count_response(path, response.status_code)
            return response

        return Route(path, endpoint, methods=methods or ["GET"])

    async def metrics(self, request: Request) -> Response:
        """Metrics of the exporter and of the host; those of targets are on /probe."""
        exporter = self._exporter
        families = [
            *await exporter.host_families(),
            *own_families(exporter.journal),
            *host_families(exporter.journal),
            *exporter.metrics.families(),
        ]
        return exposition(request, families)

    async def probe(self, request: Request) -> Response:
        asked = time.monotonic()
        names = request.query_params.getlist("target")
        if len(names) != 1 or not names[0]:
            return PlainTextResponse("expected one parameter: target=NAME\n", 400)
        if names[0] not in self._exporter.names():
            return PlainTextResponse("no such target is configured\n", 404)
        return await self._exporter.scrape(request, names[0], asked=asked)

    async def targets(self, _: Request) -> Response:
        """Targets for Prometheus's HTTP service discovery."""
        return JSONResponse(
            [
                {"targets": [target.name], "labels": {**target.labels, "__metrics_path__": "/probe"}}
                for target in self._exporter.config.targets
            ]
        )

    async def diagnosis(self, request: Request) -> Response:
        """What each target's last scrape says of it, or that of `target`; null before the first."""
        states = self._exporter.targets.states
        if name := request.query_params.get("target", ""):
            if name not in states:
                return PlainTextResponse("no such target is configured\n", 404)
            states = {name: states[name]}
        found = {
            name: {
                "at": iso(state.at) if state.at else None,
                "server": state.summary.name if state.summary else "",
                "version": state.summary.version if state.summary else "",
                **(diagnosis_data(state.diagnosis) if state.diagnosis else {}),
            }
            for name, state in states.items()
        }
        return JSONResponse(as_json(found))

    async def advice(self, request: Request) -> Response:
        """What eases what the last scrape of `target` found, or the lines that `advise` prints; null and no line where
        the server does not answer."""
        watch = self._exporter.watches.get(request.query_params.get("target", ""))
        if watch is None:
            return PlainTextResponse("no such target is configured\n", 404)
        evidence = watch.evidence()
        found = advise(evidence) if evidence else None
        if request.query_params.get("format") == "text":
            # Imported here: an exporter that nobody asks for text does without rich.
            from ase_exporter.views import terminal

            text = terminal.text(advice_view(found)) if found else ""
            return JSONResponse({"lines": text.splitlines(), "is_known": bool(found and found.is_known)})
        return JSONResponse(as_json(advice_data(found) if found else None))

    async def healthy(self, _: Request) -> Response:
        """Liveness: the exporter answers."""
        return PlainTextResponse("healthy\n")

    async def ready(self, _: Request) -> Response:
        """Readiness: the configuration is loaded, and scrapes are answered."""
        return PlainTextResponse("ready\n")

    async def reload(self, _: Request) -> Response:
        try:
            await self._exporter.reload()
        except UserError as error:
            return PlainTextResponse(f"not loaded, keeping the old configuration: {error}\n", 500)
        return PlainTextResponse("loaded\n")

    async def landing(self, _: Request) -> Response:
        exporter = self._exporter
        states = exporter.targets.states
        recent = {name: exporter.journal.recent(name) for name in states}
        changed = {name: sum(not each.is_incident for each in found) for name, found in recent.items()}
        return HTMLResponse(landing_page(states, changed=changed, grafana=exporter.grafana))

    async def server(self, request: Request) -> Response:
        """One server: its diagnosis, time account and changes."""
        exporter, name = self._exporter, request.query_params.get("target", "")
        if (state := exporter.targets.states.get(name)) is None:
            return HTMLResponse(missing_page(), 404)
        return HTMLResponse(server_page(name, state, exporter.journal.recent(name), exporter.grafana))


def create_app(exporter: ExporterApp, access: WriteAccess | None = None) -> Starlette:
    """The ASGI application; its lifespan starts and stops the exporter. access: None changes nothing."""

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await exporter.start()
        try:
            yield
        finally:
            await exporter.stop()

    async def missing(_: Request, __: Exception) -> Response:
        return HTMLResponse(missing_page(), 404)

    routes = _Handlers(exporter, access or WriteAccess()).routes()
    return Starlette(routes=routes, lifespan=lifespan, exception_handlers={404: missing})


def _log_problems(loaded: Loaded) -> None:
    for problem in loaded.problems:
        log.error("left out of the catalogue: %s", problem)


def _host_watch(config: Config) -> HostWatcher | None:
    if config.host is None or not config.changes.enabled:
        return None
    return HostWatcher(str(config.host.procfs), str(config.host.sysfs))


def _timeout(request: Request, settings: Scrape) -> float:
    """Seconds that the caller waits, from Prometheus's header, within the configured limits."""
    try:
        seconds = float(request.headers.get(TIMEOUT_HEADER, settings.timeout))
    except ValueError:
        seconds = settings.timeout
    if not seconds > 0:
        seconds = settings.timeout
    return max(min(seconds, max(settings.max_timeout, settings.timeout)), settings.min_timeout)
