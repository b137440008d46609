"""The configuration: settings models, YAML loading and validation errors."""

from ase_exporter.config.settings import (
    DEFAULT_LISTEN_ADDRESS,
    DEFAULT_PORT,
    Auth,
    CatalogueConfig,
    Config,
    Module,
    Scrape,
    Target,
    from_environment,
    load,
)

__all__ = [
    "DEFAULT_LISTEN_ADDRESS",
    "DEFAULT_PORT",
    "Auth",
    "CatalogueConfig",
    "Config",
    "Module",
    "Scrape",
    "Target",
    "from_environment",
    "load",
]
