"""Settings for all tests.

GSDLOCK_EXAMPLES is how many examples hypothesis tries of each property: 200 where it is not set, 2000 in a
full run.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile(
    "gsdlock", max_examples=int(os.environ.get("GSDLOCK_EXAMPLES", "200")), deadline=None
)
settings.load_profile("gsdlock")
