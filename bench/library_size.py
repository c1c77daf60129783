#!/usr/bin/env python3
"""How much GPU code a built library holds, for each architecture: machine code and PTX, as they are stored."""

from __future__ import annotations

import argparse
import struct
import sys
from collections import Counter
from pathlib import Path

MAGIC = struct.pack("<I", 0xBA55ED50)
HEADER = struct.Struct("<IHHQ")  # magic, version, bytes of the header, bytes behind it
ENTRY = struct.Struct("<HHIQ12xI")  # kind, version, bytes of the header, bytes behind it, ..., architecture
KINDS = {1: "PTX", 2: "machine code"}


def sizes(library: bytes) -> Counter[tuple[str, int]]:
    """Bytes by kind and architecture (90 for compute capability 9.0)."""
    found: Counter[tuple[str, int]] = Counter()
    at = library.find(MAGIC)
    while at >= 0:
        _, _, header, size = HEADER.unpack_from(library, at)
        entry, end = at + header, at + header + size
        while entry < end:
            kind, _, entry_header, entry_size, architecture = ENTRY.unpack_from(library, entry)
            if kind not in KINDS or entry_header == 0:
                break
            found[KINDS[kind], architecture] += entry_header + entry_size
            entry += entry_header + entry_size
        at = library.find(MAGIC, end)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog="example:\n  bench/library_size.py build/release/lib/libwarp_reduce.so",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("library", type=Path, metavar="FILE")
    asked = parser.parse_args()
    try:
        library = asked.library.read_bytes()
    except OSError as error:
        print(f"library_size: {error}", file=sys.stderr)
        return 1
    found = sizes(library)
    print("| for | MB |\n|---|---|")
    for (kind, architecture), size in sorted(found.items(), key=lambda item: (item[0][1], item[0][0])):
        print(f"| {architecture / 10:.1f}, {kind} | {size / 1e6:.2f} |")
    rest = len(library) - sum(found.values())
    print(f"| everything else | {rest / 1e6:.2f} |\n| the file | {len(library) / 1e6:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
