"""All of the configuration that a target's scrapes depend on."""

from dataclasses import dataclass, replace

from ase_exporter.config import Auth, Config, Module, Scrape, Target


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """If they are the same after a reload, nothing changes for the target.

    changes_interval: seconds between two snapshots of the server's configuration, None for none. sysmon_auth: None if
    sp_sysmon is not run.
    """

    target: Target
    auth: Auth
    module: Module
    scrape: Scrape
    changes_interval: float | None = None
    sysmon_auth: Auth | None = None

    @classmethod
    def of(cls, config: Config, target: Target) -> "TargetSettings":
        """Those of a target of the configuration."""
        return cls(
            replace(target, labels={}, dumps=(*target.dumps, *config.dumps)),
            config.auth[target.auth],
            config.module(target.module),
            config.scrape,
            config.changes.interval if config.changes.enabled else None,
            config.auth[target.sysmon.auth] if target.sysmon else None,
        )
