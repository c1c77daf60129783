"""What the tests on a GPU begin with."""

from __future__ import annotations

import unittest

from warp_reduce._library import Library
from warp_reduce.wr.devices import Device, open_device
from warp_reduce.wr.errors import WrError


def gpu_or_skip(library: Library) -> Device:
    try:
        return open_device(library, "cuda:0")
    except WrError as error:
        raise unittest.SkipTest(f"needs a GPU: {error}") from None
