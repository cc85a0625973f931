"""Manifest + registry + packs -> Plan. Pure but for `sources`, which fetch and verify."""
