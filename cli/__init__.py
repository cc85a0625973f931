"""The command line: one module per verb, thin: parse, call one function, render."""
