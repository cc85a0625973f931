"""Blobs, generations, transaction, confinement and edits: the only room that writes into a host's folder."""
