"""The configuration: settings models, YAML loading and validation errors."""

from ase_exporter.config.settings import DEFAULT_LISTEN_ADDRESS as DEFAULT_LISTEN_ADDRESS
from ase_exporter.config.settings import DEFAULT_PORT as DEFAULT_PORT
from ase_exporter.config.settings import Auth as Auth
from ase_exporter.config.settings import CatalogueConfig as CatalogueConfig
from ase_exporter.config.settings import Config as Config
from ase_exporter.config.settings import Module as Module
from ase_exporter.config.settings import Scrape as Scrape
from ase_exporter.config.settings import SessionsConfig as SessionsConfig
from ase_exporter.config.settings import Target as Target
from ase_exporter.config.settings import environment_login as environment_login
from ase_exporter.config.settings import find_file as find_file
from ase_exporter.config.settings import from_environment as from_environment
from ase_exporter.config.settings import load as load
from ase_exporter.config.settings import server_target as server_target
