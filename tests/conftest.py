"""Settings of all tests."""

import os

from hypothesis import settings

# A busy machine must not fail a law: time is measured by the bench, never by a test. Every run tries the same
# examples, so that a change is judged by itself; HYPOTHESIS_PROFILE=explore looks for new ones.
settings.register_profile("headroom", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "headroom"))
