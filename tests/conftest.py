"""Settings for all tests.

GSDLOCK_EXAMPLES is how many examples hypothesis tries of each property; 200 where it is not set, and of the
properties of edited files 2,000 under GSDLOCK_FULL=1.
GSDLOCK_FULL=1 (`./script/test --full`) tries everything that is otherwise chosen by GSDLOCK_SEED: a
new one in each run, printed at its end with the figures of the tests of faults.
"""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

os.environ.setdefault("GSDLOCK_SEED", os.urandom(4).hex())  # the processes of xdist get the same one

# What a group can write is another case, with tests of its own: the user's own manifest is refused then.
os.umask(0o022)

settings.register_profile(
    "gsdlock", max_examples=int(os.environ.get("GSDLOCK_EXAMPLES", "200")), deadline=None
)
settings.load_profile("gsdlock")
_MOST_EXAMPLES = 2000  # of a property of edited files


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Under GSDLOCK_FULL the properties of edited files are tried on many documents."""
    if os.environ.get("GSDLOCK_FULL") != "1" or "GSDLOCK_EXAMPLES" in os.environ:
        return
    for item in items:
        test = getattr(item, "obj", None)
        if "/store/edits/" in item.path.as_posix() and getattr(test, "is_hypothesis_test", False):
            # Hypothesis has no public way to change the settings of a test that is decorated already.
            test._hypothesis_internal_use_settings = settings(
                test._hypothesis_internal_use_settings, max_examples=_MOST_EXAMPLES
            )


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The figures of the tests of faults, as a table."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.stats.get(kind, ())]
    rows = [value for r in reports for name, value in getattr(r, "user_properties", ()) if name == "faults"]
    if not rows:
        return
    terminalreporter.write_line(f"\nfaults (GSDLOCK_SEED={os.environ['GSDLOCK_SEED']}):")
    for table, row, points, failures in sorted(rows):
        terminalreporter.write_line(f"  {table}: {row:<26} {points:>6} points {failures:>4} failures")
