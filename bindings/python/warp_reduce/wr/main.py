"""The entry point: parses, runs one command, turns failures into one line and an exit status."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from .arguments import Parser
from .errors import UsageError, WrError
from .signals import Ended, end_by, raise_when_ended

EXIT_FAILURE, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

DESCRIPTION = "Reductions and softmax of .npy files, on the CPU or a GPU, with the same bits on both."
EXAMPLES = """examples:
  wr demo                                      real data, reduced, beside the exact results
  wr reduce sum data.npy                       the sum of all elements
  wr reduce mean data.npy --axis 0 -o out.npy  the mean of each column, into a file
  wr reduce argmax data.npy --axis 1           where each row's largest element is
  wr dot a.npy b.npy                           the dot product of two files
  wr ops                                       which operators take and give which element types
  wr softmax logits.npy probabilities.npy      along the last axis
  wr state merge 0.state 1.state -o all.state  reductions of what lies in several files
  wr info                                      version, devices, and what is missing for a GPU

'wr COMMAND --help' says more. WARP_REDUCE_LIBRARY names another libwarp_reduce.so than the one beside wr."""


def _parser() -> Parser:
    from .commands import bench, demo, dot, info, ops, reduce, softmax, state

    parser = Parser(prog="wr", description=DESCRIPTION, epilog=EXAMPLES)
    parser.add_argument("--version", action="store_true", help="print the library's version")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (info, ops, reduce, dot, softmax, state, bench, demo):
        command.add_parser(subparsers)
    return parser


def _run(arguments: list[str]) -> None:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.version:
        from .._library import load_library

        print(f"wr {load_library().version}")
    elif not hasattr(options, "run"):
        parser.error("no command given")
    else:
        options.run(options)


def _fail(message: object, status: int) -> NoReturn:
    print(f"wr: {' '.join(str(message).split())}", file=sys.stderr)
    sys.exit(status)


def _replace_closed_streams() -> None:
    """What is written to a stream that the caller has closed goes nowhere, rather than into a file opened later."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115


def _escape_what_streams_cannot_hold() -> None:
    """A file may have a name that the terminal's encoding has no letters for, or that is no text at all."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")


def main() -> None:
    _replace_closed_streams()
    _escape_what_streams_cannot_hold()
    try:
        raise_when_ended()
        _run(sys.argv[1:])
        sys.stdout.flush()
    except UsageError as error:
        _fail(error, EXIT_USAGE)
    except WrError as error:
        _fail(error, EXIT_FAILURE)
    except MemoryError:
        _fail("there is not enough memory for this job", EXIT_FAILURE)
    except KeyboardInterrupt:
        _fail("interrupted", EXIT_INTERRUPTED)
    except Ended as end:
        end_by(end.number)
    except ImportError as error:
        _fail(
            f"the Python packages numpy and rich are needed ({error}); install them for {sys.executable}", EXIT_FAILURE
        )
    except BrokenPipeError:
        # Whoever read stdout has gone: nothing is left to say, and Python must not try to at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILURE)
    except OSError as error:
        _fail(error, EXIT_FAILURE)
