"""What the adapters declare of other projects' interfaces is what those projects' headers say."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import jax
import pytest
import torch

SOURCE = Path(os.environ["WARP_REDUCE_SOURCE"]) / "bindings/python/native"

# ours, XLA's, and the names of the members where they differ
STRUCTS = {
    "XlaCall": ("XLA_FFI_CallFrame", {"extension": "extension_start", "context": "ctx", "arguments": "args"}),
    "XlaBuffer": ("XLA_FFI_Buffer", {"extension": "extension_start"}),
    "XlaBuffers": ("XLA_FFI_Args", {"extension": "extension_start", "each": "args"}),
    "XlaAttributes": ("XLA_FFI_Attrs", {"extension": "extension_start", "each": "attrs"}),
    "XlaErrorArgs": ("XLA_FFI_Error_Create_Args", {"extension": "extension_start", "code": "errc"}),
    "XlaStreamArgs": ("XLA_FFI_Stream_Get_Args", {"extension": "extension_start", "context": "ctx"}),
    "XlaMemoryArgs": ("XLA_FFI_DeviceMemory_Allocate_Args", {"extension": "extension_start", "context": "ctx"}),
    "XlaScalar": ("XLA_FFI_Scalar", {}),
    "XlaSpan": ("XLA_FFI_ByteSpan", {"text": "ptr", "length": "len"}),
    "XlaMetadata": ("XLA_FFI_Metadata", {"version": "api_version", "state_type": "state_type_id"}),
    "XlaApi": (
        "XLA_FFI_Api",
        {
            "extension": "extension_start",
            "create_error": "XLA_FFI_Error_Create",
            "get_stream": "XLA_FFI_Stream_Get",
            "allocate": "XLA_FFI_DeviceMemory_Allocate",
            "version": "api_version",
        },
    ),
}
OTHERS = {"results": "rets", "attributes": "attrs"}


def members(text: str, struct: str) -> list[str]:
    body = re.search(rf"typedef struct {struct} {{(.*?)}} {struct};", text, re.S)
    assert body
    return re.findall(r"(\w+)(?:\)\([^)]*\))?(?=[,;])", body[1])


def test_xlas_structs_are_laid_out_as_declared(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("there is no compiler")
    text = re.sub(r"/\*.*?\*/", "", (SOURCE / "xla_abi.h").read_text(encoding="utf-8"), flags=re.S)
    checks = []
    for ours, (theirs, names) in STRUCTS.items():
        for member in members(text, ours):
            other = names.get(member, OTHERS.get(member, member))
            if ours == "XlaApi" and member not in names and member != "struct_size":
                continue  # placeholders
            same = f"offsetof({ours}, {member}) == offsetof({theirs}, {other})"
            checks.append(f'_Static_assert({same}, "{ours}.{member}");')
    assert len(checks) > 40
    program = tmp_path / "both.c"
    begin = f'#include "xla/ffi/api/c_api.h"\n#include "{SOURCE}/xla_abi.h"\n'
    program.write_text(begin + "\n".join(checks), encoding="utf-8")
    command = [compiler, "-fsyntax-only", "-I", jax.ffi.include_dir(), str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_pytorchs_functions_take_what_is_declared() -> None:
    """The names and the number of arguments, as PyTorch's headers have them."""
    include = Path(torch.__file__).parent / "include/torch/csrc"
    headers = "".join(
        (include / name).read_text(encoding="utf-8") for name in ("inductor/aoti_torch/c/shim.h", "stable/c/shim.h")
    )
    headers = re.sub(r"//[^\n]*", "", headers)
    declared = (SOURCE / "torch/abi.h").read_text(encoding="utf-8")
    pairs = re.findall(r'NAME\((\w+), "((?:aoti_)?torch_\w+)"\)', (SOURCE / "torch/abi.c").read_text(encoding="utf-8"))
    assert len(pairs) > 15
    for member, name in pairs:
        theirs = re.search(rf"\b{name}\s*\((.*?)\);", headers, re.S)
        ours = re.search(rf"\(\*{member}\)\((.*?)\);", declared, re.S)
        assert theirs and ours, name
        without_functions = [re.sub(r"\([^()]*\)", "", each[1]) for each in (theirs, ours)]
        assert without_functions[0].count(",") == without_functions[1].count(","), name
