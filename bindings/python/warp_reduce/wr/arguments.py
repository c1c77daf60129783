"""How wr reads its command line: one-line errors, and help that ends with examples."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NoReturn

from .errors import UsageError


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
        help="what the file's words are where .npy has no name for it: bf16 (uint16 or V2), f8_e4m3 (uint8 or V1), "
        "koalabear (uint32), koalabear_x4 (uint32 with a last axis of 4)",
    )
    parser.add_argument("--output-dtype", type=element, metavar="T", help="element type of the result")
