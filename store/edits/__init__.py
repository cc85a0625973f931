"""Lossless edits of files that the user or the host also owns."""
