"""Pages of the web process."""

from ase_exporter.views.page import render

__all__ = ["render"]
