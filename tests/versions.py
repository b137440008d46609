"""The versions of ASE that tests run on."""

import pytest

from ase_simulator.schema.profiles import profiles

NEWEST = "16.0 SP04"
# The oldest, a cluster and the newest in every build, all others in the slow tier.
OFTEN = ("12.5.4", "15.7 SP138 CE", "16.1")
VERSIONS = [pytest.param(each, marks=() if each in OFTEN else pytest.mark.slow) for each in profiles()]
