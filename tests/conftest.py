"""Settings for all tests.

GSDLOCK_EXAMPLES is how many examples hypothesis tries of each property. Where it is not set: 2,000 of those
of the user's files (the profile `edits`, which their tests name), 200 of all others.
GSDLOCK_FULL=1 (`./script/test --full`) tries everything that is otherwise chosen by GSDLOCK_SEED: a
new one in each run, printed at its end with the figures of the tests of faults.
"""

from __future__ import annotations

import os
import signal
from typing import Any

from hypothesis import settings

os.environ.setdefault("GSDLOCK_SEED", os.urandom(4).hex())  # the processes of xdist get the same one

# A shell that runs us in the background lets us ignore this signal, and so would all that we start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# What a group can write is another case, with tests of its own: the user's own manifest is refused then.
os.umask(0o022)

for profile, examples in (("gsdlock", "200"), ("edits", "2000")):
    settings.register_profile(
        profile, max_examples=int(os.environ.get("GSDLOCK_EXAMPLES", examples)), deadline=None
    )
settings.load_profile("gsdlock")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The figures of the tests of faults, as a table."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, ())]
    rows = [value for r in reports for name, value in getattr(r, "user_properties", ()) if name == "faults"]
    if not rows:
        return
    terminalreporter.write_line(f"\nfaults (GSDLOCK_SEED={os.environ['GSDLOCK_SEED']}):")
    for table, row, points, failures in sorted(rows):
        terminalreporter.write_line(f"  {table}: {row:<26} {points:>6} points {failures:>4} failures")
