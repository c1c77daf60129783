"""The shared library exports the functions of the headers and nothing else, and needs no library but the system's.

usage: exported_symbols.py LIBRARY NM READELF HEADER...
"""

import re
import subprocess
import sys

# A driver, a CUDA runtime or an OpenMP runtime here would keep the library from loading on a bare machine.
SYSTEM_LIBRARIES = ("libc", "libm", "libpthread", "libdl", "librt", "ld-linux", "libgcc_s", "libstdc++")


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def declared_functions(header: str) -> set[str]:
    with open(header, encoding="utf-8") as file:
        text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
    return set(re.findall(r"WR_API[^;(]*?\b(wr_\w+)\s*\(", text))


def exported_symbols(nm: str, library: str) -> tuple[set[str], set[str]]:
    """Functions, and everything else that other programs can see except the names of versions."""
    functions, others = set(), set()
    for line in run(nm, "-D", "--defined-only", library).splitlines():
        kind, name = line.split()[-2:]
        if kind == "T":
            functions.add(name.split("@")[0])
        elif kind != "A":
            others.add(f"{kind} {name}")
    return functions, others


def dynamic_entries(readelf: str, library: str, tag: str) -> list[str]:
    return re.findall(rf"\({tag}\).*?\[(.*?)\]", run(readelf, "-d", "-W", library))


def main() -> int:
    library, nm, readelf, *headers = sys.argv[1:]
    problems = []
    declared = set().union(*map(declared_functions, headers))
    functions, others = exported_symbols(nm, library)
    if len(declared) < 10:
        problems.append(f"only {len(declared)} functions were found in the headers: this test reads it wrongly")
    problems += [f"declared, not exported: {name}" for name in sorted(declared - functions)]
    problems += [f"exported, not declared: {name}" for name in sorted(functions - declared)]
    problems += [f"exported, and no function: {name}" for name in sorted(others)]
    for needed in dynamic_entries(readelf, library, "NEEDED"):
        if not needed.startswith(tuple(f"{name}.so" for name in SYSTEM_LIBRARIES) + ("ld-linux",)):
            problems.append(f"needs {needed}")
    soname = dynamic_entries(readelf, library, "SONAME")
    if len(soname) != 1 or not re.fullmatch(r"libwarp_reduce\.so\.\d+", soname[0]):
        problems.append(f"SONAME is {soname}")
    for problem in problems:
        print(problem)
    print(f"{len(functions)} functions exported, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
