"""How wr reads its command line: one-line errors, and help that ends with examples."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import UsageError

if TYPE_CHECKING:
    from .._elements import ElementType
    from .npy_files import NpyArray


STREAMED_ABOVE = 64 << 20  # bytes of a file, which is read in pieces beside the computing then


class Parser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **settings)

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see '{self.prog} --help'", file=sys.stderr)
        raise SystemExit(2)


def checked(parse: Any) -> Any:
    """An argparse type from a function that raises UsageError."""

    def converted(text: str) -> Any:
        try:
            return parse(text)
        except UsageError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return converted


def _file_name(text: str) -> str:
    if not text:
        raise UsageError("a file's name cannot be empty; name one")
    return text


file_name = checked(_file_name)


def refuse_same_file(option: str, path: str | None, output: str | None) -> None:
    """Of two outputs in one file only one would be left."""
    if path and output and os.path.realpath(path) == os.path.realpath(output):
        raise UsageError(f"{option} {path} is the file of the results too; name another")


def add_device_option(parser: argparse.ArgumentParser, default: str | None = "host") -> None:
    from .devices import parse_device

    text = "where to compute: host (all cores) or cuda:N; the bits are the same"
    suffix = f" (default: {default})" if default else ""
    parser.add_argument("--device", type=checked(parse_device), default=default, metavar="D", help=text + suffix)


def add_element_options(parser: argparse.ArgumentParser) -> None:
    from .elements import element_named

    element = checked(element_named)
    parser.add_argument(
        "--dtype",
        type=element,
        metavar="T",
        help="what the file's words are where it is raw or .npy has no name for it: bf16 (uint16 or V2), "
        "f8_e4m3 (uint8 or V1), koalabear (uint32), koalabear_x4 (uint32 with a last axis of 4)",
    )
    parser.add_argument("--output-dtype", type=element, metavar="T", help="element type of the result")


def add_shape_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shape",
        type=checked(_shape),
        metavar="N,M",
        help="the file is raw: nothing but elements of --dtype, of this shape; one may be -1, as in --shape=-1,1000",
    )


def add_file_options(parser: argparse.ArgumentParser) -> None:
    """How the input is read: as a raw file, in how much memory."""
    add_shape_option(parser)
    parser.add_argument(
        "--memory",
        type=checked(_memory),
        metavar="SIZE",
        help="read the file in pieces that together take at most so much memory, as in 512M or 2G (and as much of the"
        " GPU's); results and states are beside it. Files above 64M are so read in any case (default: 512M)",
    )


def add_state_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--state",
        type=file_name,
        metavar="FILE",
        help="write how far the job has come to this file, and go on from there where it exists: a run that was ended,"
        " or killed, is gone on with by the same command. It is removed when the job is done",
    )
    parser.add_argument(
        "--state-every", type=checked(_seconds), default=10.0, metavar="SECONDS", help="how often (default: 10)"
    )


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"'{text}' is no number of seconds")
    return seconds


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(int(each) for each in text.split(","))
    except ValueError:
        shape = (-2,)
    if min(shape) < -1 or shape.count(-1) > 1:
        raise UsageError(f"'{text}' is no shape; it is natural numbers, as in 1000,20, of which one may be -1")
    return shape


_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _memory(text: str) -> int:
    from .lanes import LEAST_MEMORY

    number, unit = (text[:-1], text[-1:].upper()) if text[-1:].isalpha() else (text, "")
    if not number.isdecimal() or unit not in _UNITS:
        raise UsageError(f"'{text}' is no size; it is a number of bytes, or as in 512M, 2G")
    size = int(number) * _UNITS[unit]
    if size < LEAST_MEMORY:
        raise UsageError(f"--memory {text} is too little: at least {LEAST_MEMORY >> 20}M is needed")
    return size


def open_input(path: str, options: argparse.Namespace, element: ElementType | None = None) -> NpyArray:
    """A file as the options say; `element` stands before --dtype."""
    from .npy_files import open_npy, open_raw

    wanted = element or options.dtype
    if options.shape is None:
        return open_npy(path, wanted)
    if wanted is None:
        raise UsageError("--shape is for a raw file, whose elements' type --dtype must say")
    return open_raw(path, wanted, options.shape)
