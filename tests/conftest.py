"""Settings for all tests."""

from hypothesis import HealthCheck, settings

# A busy machine is no reason to fail: deadlines and generation speed belong into benchmarks.
settings.register_profile("test", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("slow", parent=settings.get_profile("test"), max_examples=10_000)
settings.load_profile("test")
