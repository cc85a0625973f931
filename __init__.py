"""gsdlock: a reproducible, reversible installer for agent host CLIs."""

__version__ = "0.1.0"
