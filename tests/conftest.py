"""Settings of the whole suite."""

from hypothesis import HealthCheck, settings

# Wall time says nothing on a shared machine with one test process per core.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")
