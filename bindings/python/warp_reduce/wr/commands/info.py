"""wr info: which library this is, what it can run on, and what is missing."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

VECTOR_SETS = ("avx512f", "avx2", "avx", "sse4_2", "sse2", "sve2", "sve", "asimd")


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "info",
        help="version, devices, and what is missing",
        description="Says which libwarp_reduce this is, where it was found, what it runs on, and what a GPU lacks.",
    )
    parser.set_defaults(run=run)


def run(_: argparse.Namespace) -> None:
    from ..._library import SUCCESS, load_library
    from ..screen import console, facts

    library = load_library()
    rows = [("library", f"libwarp_reduce {library.version}"), ("loaded from", library.found), ("host", _host())]
    rows += _gpus()
    status = library.cuda_status()
    usable = status == SUCCESS
    rows.append(("CUDA streams", "ready" if usable else f"not usable: {library.status_string(status)}"))
    console().print(facts(rows))


def _host() -> str:
    processor = _processor()
    features = set((processor.get("flags") or processor.get("Features") or "").split())
    vectors = next((each for each in VECTOR_SETS if each in features), "vector units unknown")
    cores = len(os.sched_getaffinity(0))
    return f"{processor.get('model name', 'CPU')}, {cores} core{'' if cores == 1 else 's'}, {vectors}"


def _processor() -> dict[str, str]:
    """What the kernel says of the first core."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in text.split("\n\n")[0].splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _gpus() -> list[tuple[str, str]]:
    from ..driver import Driver
    from ..errors import WrError
    from ..screen import binary_size

    try:
        driver = Driver()
        rows = [("CUDA driver", f"supports CUDA {driver.version}")]
        for ordinal in range(driver.device_count()):
            device = driver.device(ordinal)
            memory, capability = binary_size(driver.total_memory(device)), driver.compute_capability(device)
            rows.append((f"cuda:{ordinal}", f"{driver.name(device)}, {memory}, compute capability {capability}"))
        return rows
    except WrError as error:
        return [("CUDA driver", str(error))]
