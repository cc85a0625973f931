"""The closed set of converters: one host family a module, each a composition of small named steps."""
