try:
    from hypothesis import HealthCheck, settings
except ImportError:
    pass  # its tests are skipped
else:
    # A busy machine is no failure, and nothing is kept between runs.
    settings.register_profile(
        "here",
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("here")
