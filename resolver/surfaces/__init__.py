"""Descriptor axis -> edits: hooks, settings, permission sidecars, instruction files."""
