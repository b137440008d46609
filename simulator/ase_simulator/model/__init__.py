"""The workload model: implements contracts.Server."""

from ase_simulator.model.scenario import ScenarioError, load_scenario
from ase_simulator.model.server import SimulatedServer

__all__ = ["ScenarioError", "SimulatedServer", "load_scenario"]
