"""The limits that threadpoolctl sets hold for the host device too, as they do for NumPy's BLAS and for OpenMP.

threadpoolctl is neither needed nor imported: where the program has it, it learns of this package when both are there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

from . import _devices
from ._errors import LibraryNotFound

NAME = "threadpoolctl"


def make_known() -> None:
    """To threadpoolctl, now or when it is imported."""
    if NAME in sys.modules:
        _register(sys.modules[NAME])
    else:
        sys.meta_path.insert(0, _WhenImported())


class _WhenImported(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != NAME:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register(module)
                with suppress(ValueError):
                    sys.meta_path.remove(self)

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register(threadpoolctl: Any) -> None:
    if not hasattr(threadpoolctl, "register"):  # older than 3.2
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc]
        user_api = internal_api = "warp_reduce"
        # The adapter: it is in the process from the import on, the library from the first call on.
        filename_prefixes = ("_native",)
        check_symbols = ("warp_reduce_adapter",)

        def get_num_threads(self) -> int:
            with suppress(LibraryNotFound):
                return _devices.host.threads
            return 1

        def set_num_threads(self, num_threads: int) -> None:
            """As many as there are cores is no limit: this is how threadpoolctl takes its own back."""
            with suppress(LibraryNotFound):
                _devices.host.threads = 0 if num_threads >= len(os.sched_getaffinity(0)) else num_threads

        def get_version(self) -> str | None:
            with suppress(LibraryNotFound):
                return _devices.library_version()
            return None

    threadpoolctl.register(Controller)
