"""Parse, dispatch, render. Everything that a verb does not need stays unimported."""

from __future__ import annotations

import argparse
import os
import sys

from .verbs import VERBS

TYPE_CHECKING = False  # not typing's: importing that takes longer than all of this module
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

    from ..capabilities.errors import GsdlockError

# Global options that take a value: the verb is the first word that is neither an option nor such a value.
_WITH_VALUE = ("--manifest", "--lock", "--target")
_FLAGS = ("--json", "--offline", "--no-progress", "-q", "--quiet", "-v", "--verbose")


class _UsageError(Exception):
    """The arguments do not fit: `args` are the message (of argparse) and, in one line, the usage."""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help text in 100 columns. A given width also spares the import that finds out the terminal's: argparse
    makes a formatter for every option that is declared."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


class _Parser(argparse.ArgumentParser):
    has_words = False  # whether there are arguments besides options

    def add_argument(self, *names: str, **how: Any) -> argparse.Action:
        self.has_words |= not names[0].startswith("-")
        return super().add_argument(*names, **how)

    def error(self, message: str) -> NoReturn:
        raise _UsageError(message, " ".join(self.format_usage().split()).removeprefix("usage: "))


def run(argv: Sequence[str]) -> int:
    """Run one command; returns its exit status (see `capabilities.errors.Exit`)."""
    as_json = "--json" in argv
    try:
        return _run(list(argv), as_json)
    except _UsageError as fault:
        from ..capabilities.errors import usage_error
        from .render import show_error

        what, usage = fault.args
        return show_error(usage_error("E-USAGE", what, f"Usage: {usage}"), as_json)
    except KeyboardInterrupt as stop:
        said = next(iter(getattr(stop, "__notes__", ())), "nothing is left half done")
        print(f"\ngsdlock: interrupted; {said}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0  # of a help text or the like: what a verb says passes `render`
    except Exception as fault:
        from ..capabilities.errors import GsdlockError

        verbose = "-v" in argv or "--verbose" in argv
        if not isinstance(fault, GsdlockError):
            fault = _own_fault(fault, verbose)
        from .render import show_error

        return show_error(fault, as_json, verbose)


def _run(argv: list[str], as_json: bool) -> int:
    verb = _verb(argv)
    if verb is None:
        return _without_verb(argv)
    if verb not in VERBS:
        import difflib

        near = difflib.get_close_matches(verb, list(VERBS), n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise _UsageError(f"there is no verb {verb!r}{hint}", "gsdlock --help lists the verbs")
    from importlib import import_module

    module = import_module(f".{VERBS[verb][0]}", __package__)
    parser = _Parser(
        prog=f"gsdlock {verb}",
        description=module.__doc__,
        formatter_class=_Formatter,
        allow_abbrev=False,
    )
    module.arguments(parser)
    _global_options(parser)
    rest = list(argv)
    rest.remove(verb)
    # To intermix options with words, argparse first formats its usage; most verbs have no words.
    options = parser.parse_intermixed_args(rest) if parser.has_words else parser.parse_args(rest)
    from .session import Session

    session = Session(options)
    if options.target and not getattr(module, "OTHER_TARGETS", False):
        from .installed import check_targets

        check_targets(session)
    try:
        quick = getattr(module, "quick", None)
        outcome = quick(session, options) if quick else None
        if outcome is None:
            from .recovering import run_recovered

            outcome = run_recovered(session, module, options)
        from .render import show

        return show(outcome, verb, options)
    except KeyboardInterrupt as stop:
        if session.is_done:
            stop.add_note("all that was to be done is done")
        raise


def _verb(argv: Sequence[str]) -> str | None:
    skip = False
    for word in argv:
        if skip:
            skip = False
        elif word in _WITH_VALUE:
            skip = True
        elif not word.startswith("-"):
            return word
    return None


def _global_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("global options, before or after the verb")
    group.add_argument("--manifest", metavar="FILE", help="the gsdlock.toml to use")
    group.add_argument("--lock", metavar="FILE", help="the lockfile (default: gsdlock.lock beside it)")
    group.add_argument("--target", metavar="NAME", action="append", help="only this target; repeatable")
    group.add_argument("--json", action="store_true", help="print data instead of text")
    group.add_argument("--offline", action="store_true", help="use stored content only, no network")
    group.add_argument("--no-progress", action="store_true", help="no progress lines on standard error")
    group.add_argument("-q", "--quiet", action="store_true", help="print errors only")
    group.add_argument("-v", "--verbose", action="store_true", help="print more")


def _without_verb(argv: Sequence[str]) -> int:
    from .. import __version__

    if "--version" in argv:
        print(f"gsdlock {__version__}")
        return 0
    unknown = [w for w in argv if w.startswith("-") and w not in ("-h", "--help", *_FLAGS, *_WITH_VALUE)]
    if unknown or not {"-h", "--help"} & set(argv):
        raise _UsageError(
            f"unknown option {unknown[0]}" if unknown else "a verb is missing",
            "gsdlock [GLOBAL] VERB [OPTIONS]; gsdlock --help lists the verbs",
        )
    width = max(map(len, VERBS))
    lines = [
        "usage: gsdlock [GLOBAL] VERB [OPTIONS]",
        "",
        "A reproducible, reversible installer with a lockfile for agent host CLIs.",
        "",
        "verbs:",
        *(f"  {name:<{width}}  {text}" for name, (_, text) in VERBS.items()),
        "",
        "gsdlock VERB --help says what a verb takes, with an example.",
        "",
        "example: gsdlock init && gsdlock resolve && gsdlock apply",
    ]
    print("\n".join(lines))
    return 0


def _own_fault(fault: Exception, verbose: bool) -> GsdlockError:
    """A fault of our own: never a bare traceback, but the whole one under `--verbose`. What the system says
    about its disks and handles is no fault of ours, wherever it shows."""
    import traceback

    from ..capabilities.errors import Exit, GsdlockError, shown
    from ..store.faults import io_error, is_of_the_system

    if verbose:
        traceback.print_exception(fault, file=sys.stderr)
    if isinstance(fault, OSError) and is_of_the_system(fault):
        return io_error(fault, "cannot use", os.fsdecode(fault.filename or "a file"))
    last = traceback.extract_tb(fault.__traceback__)[-1:]
    where = f" ({last[0].filename.rsplit('/', 1)[-1]}:{last[0].lineno})" if last else ""
    return GsdlockError(
        "E-FAULT",
        f"gsdlock failed: {type(fault).__name__}: {shown(str(fault), 300)}{where}",
        "This is a fault of gsdlock. Run it again with --verbose and report what it prints.",
        status=Exit.FAULT,
    )
