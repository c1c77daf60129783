"""wr demo: real data through reductions and softmax, held against exact results, on every device here."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..devices import Device

WIDTH_WITH_ONE_DEVICE, WIDTH_OF_ANOTHER = 78, 22  # characters
DATA_FOLDER = Path(__file__).resolve().parents[2] / "data"

EPILOG = """examples:
  wr demo
  wr demo --device host        without looking for a GPU"""


def add_parser(subparsers: Any) -> None:
    from ..arguments import add_device_option

    parser = subparsers.add_parser(
        "demo",
        help="real data, reduced, beside the exact results",
        description="Reduces sunspots since 1700, the air of Mauna Loa, the sea off Peru and handwritten digits,\n"
        "says how far each result is from the exact one, and turns a classifier's scores into probabilities.",
        epilog=EPILOG,
    )
    add_device_option(parser, default=None)
    parser.add_argument("--data", default=str(DATA_FOLDER), metavar="FOLDER", help="where the demo's .npy files are")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    from ..._library import load_library
    from ..demo.digit_probabilities import show_softmax
    from ..demo.measured_series import show_reductions
    from ..devices import open_devices
    from ..screen import console

    library = load_library()
    devices, remark = open_devices(library, options.device)
    screen = console(at_least=WIDTH_WITH_ONE_DEVICE + WIDTH_OF_ANOTHER * (len(devices) - 1))
    screen.print(f"libwarp_reduce {library.version} on {' and '.join(_label(each) for each in devices)}", style="bold")
    if remark:
        screen.print(remark)
    folder = Path(options.data)
    agree = [show_reductions(screen, library, devices, folder), show_softmax(screen, library, devices, folder)]
    if len(devices) > 1:
        verdict = "agree in every bit" if all(agree) else "DO NOT AGREE: please report it"
        screen.print(f"{' and '.join(each.name for each in devices)} {verdict}.", style="bold")
        if not all(agree):
            raise SystemExit(1)


def _label(device: Device) -> str:
    return f"{device.name} ({device.model})" if device.is_gpu else "the host device"
