"""The floor of the house: words, typed descriptors, validation, and the descriptors themselves as data.

Besides the capability vocabulary this room holds the few values that every room above shares and that
depend on nothing: `errors`, `environment` and `canonical`.
"""
