"""What the adapter declares itself: the structs' fields are all of the header's, Python's functions are Python.h's."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest
from warp_reduce import _native

SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"])
STRUCTS = ("reduce", "reduce_segments", "dot", "softmax", "softmax_backward", "state", "state", "state")


@pytest.mark.parametrize("number", range(len(STRUCTS)))
def test_every_field_of_the_header_has_a_name(number: int) -> None:
    header = (SOURCE / "capi/include/warp_reduce.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)
    body = re.search(rf"typedef struct wr_{STRUCTS[number]}_args {{(.*?)}}", header, re.S)
    assert body
    lines = [" ".join(line.split()) for line in body[1].split(";") if line.strip()]
    declared = [re.sub(r"^.*?\s\*?(?=\w+(,|$))", "", line) for line in lines]
    fields = [name.strip(" *") for line in declared for name in line.split(",")]
    assert set(fields) - {"struct_size"} == set(_native.field_names(number))


def test_declarations_agree_with_pythons_header(tmp_path: Path) -> None:
    compiler, include = shutil.which("cc"), sysconfig.get_path("include")
    if not compiler or not (Path(include) / "Python.h").exists():
        pytest.skip("there is no compiler, or no Python.h")
    program = tmp_path / "both.c"
    header = SOURCE / "bindings/python/native/python_abi.h"
    program.write_text(f'#define Py_LIMITED_API 0x03090000\n#include <Python.h>\n#include "{header}"\n', "utf-8")
    done = subprocess.run(
        [compiler, "-fsyntax-only", "-I", include, program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_fields_that_do_not_fit_are_refused() -> None:
    assert isinstance(_native.open("/nowhere.so"), str)
    from warp_reduce._library import ReduceArgs, load_library

    library = load_library()
    for fields, error in (
        ({"nothing": 1}, TypeError),
        ({"op": 1 << 40}, OverflowError),
        ({"outer": -1}, OverflowError),
        ({"input": "x"}, TypeError),
    ):
        with pytest.raises(error):
            library.status_of(ReduceArgs(**fields), library.host_stream)
    with pytest.raises(ValueError, match="no such library"):
        _native.version(99)


def test_dlpack_capsules_are_read_and_left() -> None:
    x = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::2]
    old = x.__dlpack__()
    pointer, shape, strides, *kind, read_only = _native.dlpack(old)
    assert (pointer, shape, strides) == (x.ctypes.data, (2, 2), (3, 2))
    assert (kind, read_only) == ([0, 16, 1, 1, 0], 0)
    assert _native.dlpack(old)[0] == pointer  # reading takes nothing
    with pytest.raises(ValueError, match="no DLPack capsule"):
        _native.dlpack(object())
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        x.flags.writeable = False
        assert _native.dlpack(x.__dlpack__(max_version=(1, 0)))[-1] == 1


def test_dlpack_capsules_of_another_time_are_refused() -> None:
    """One of a later major version may be laid out in any way; one that has been taken is somebody else's."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    memory = (ctypes.c_uint32 * 64)(2, 5)  # the version, and zeros for all that a reader of version 1 would look at
    with pytest.raises(ValueError, match=r"a DLPack capsule of version 2\.5; 1\.x is known"):
        _native.dlpack(make(ctypes.addressof(memory), b"dltensor_versioned", None))
    for name in (b"used_dltensor", b"used_dltensor_versioned"):
        with pytest.raises(ValueError, match="has been taken already"):
            _native.dlpack(make(ctypes.addressof(memory), name, None))
    memory[0] = 1
    assert _native.dlpack(make(ctypes.addressof(memory), b"dltensor_versioned", None))[1:3] == ((), ())
