"""Settings of all tests."""

from hypothesis import settings

# A busy machine must not fail a law: time is measured by the bench, never by a test.
settings.register_profile("headroom", deadline=None)
settings.load_profile("headroom")
