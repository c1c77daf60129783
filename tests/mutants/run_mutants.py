#!/usr/bin/env python3
"""Plants mistakes in a copy of the tree, one alive at a time, and says which tests see them.

    tests/mutants/run_mutants.py host SCRATCH [NUMBER ...]        mutants of numerics/, host/ and capi/
    tests/mutants/run_mutants.py cuda SCRATCH [NUMBER ...]        mutants of cuda/, by the emulator

All mutants of a table are built into one tree, behind switches; a test program is told by the environment which one is
alive, so that a mutant costs the programs that are run and no compilation. README.md has the table's form.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tables import TABLES

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PLANTED = re.compile(r"\{\{(.*?)==(>+)(.*?)\}\}", re.DOTALL)
SOURCES = ("numerics", "host", "capi", "cuda")
# Lets a runaway mutant die before the machine does; guard pages and repeated pages need address space.
MOST_ADDRESS_SPACE = 24 << 30


class BadMutantError(Exception):
    pass


@dataclass
class Mutant:
    number: int
    file: str
    text: str
    tests: list
    note: str = ""
    span: tuple = ()
    path: Path = Path()
    planted: str = ""


@dataclass
class Program:
    name: str
    command: list
    environment: dict


@dataclass
class Tree:
    source: Path
    build: Path
    cuda: bool
    programs: list = field(default_factory=list)


def loose(text):
    """The text as a pattern that does not mind how lines are broken."""
    return r"\s*".join(re.escape(part) for part in re.findall(r"\w+|[^\w\s]", text))


def find(mutant, tree):
    """Where the mutant goes: by the text around it, which may be there only once in its file, or in all."""
    match = PLANTED.search(mutant.text)
    if match is None:
        raise BadMutantError(f"{mutant.number}: no {{{{old ==> new}}}}")
    before, after = mutant.text[: match.start()], mutant.text[match.end() :]
    pattern = re.compile(f"({loose(before)}\\s*)({loose(match.group(1))})(?=\\s*{loose(after)})")
    found = []
    everywhere = [path for folder in SOURCES for path in (tree / folder).rglob("*") if path.is_file()]
    for paths in ([tree / mutant.file], everywhere):  # files are moved now and then
        if not found:
            found = [
                (path, hit.span(2)) for path in paths if path.is_file() for hit in pattern.finditer(path.read_text())
            ]
    if len(found) != 1:
        raise BadMutantError(f"{mutant.number}: found {len(found)} times: {mutant.file}: {mutant.text}")
    mutant.path, mutant.span = found[0]
    old = mutant.path.read_text()[slice(*mutant.span)]
    new, arrow = match.group(3).strip(), match.group(2)
    alive = f"wr_mutant({mutant.number})"
    if arrow == ">>":
        mutant.planted = new.replace("MUTANT", alive)
    elif old.rstrip().endswith(";"):
        mutant.planted = f"if ({alive}) {{ {new} }} else {{ {old} }}"
    else:
        mutant.planted = f"({alive} ? ({new}) : ({old}))"


def plant_all(mutants, tree):
    """Puts every mutant behind its switch; two in one place are refused.

    Headers of kernels are planted in a folder of their own, which only the interpreted kernels are compiled with.
    """
    by_path = {}
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    for path, there in by_path.items():
        text = path.read_text()
        there.sort(key=lambda each: each.span, reverse=True)
        for later, earlier in zip(there, there[1:]):
            if earlier.span[1] > later.span[0]:
                raise BadMutantError(f"{earlier.number} and {later.number} overlap")
        for mutant in there:
            text = text[: mutant.span[0]] + mutant.planted + text[mutant.span[1] :]
        target = path
        if path.suffix == ".cuh":
            target = tree.source / "planted" / path.relative_to(tree.source)
            target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f'#include "{HERE / "mutant_switch.h"}"\n' + text)


def teach_emulator(tree):
    """The emulated GPU's register %envreg3 is the number of the mutant that is alive."""
    edits = {
        "program.cpp": ('{"%envreg2", Special::grid_barrier_low},', '{"%envreg3", Special::living_mutant},'),
        "program.h": ("nctaid_x,", "living_mutant,"),
        "machine.cpp": (
            "case Special::nctaid_x:",
            'case Special::living_mutant: { static const char *const alive = std::getenv("WR_MUTANT");\n'
            "return alive == nullptr ? 0 : std::atoi(alive); }\n",
        ),
    }
    for name, (where, more) in edits.items():
        path = tree / "tests" / "emulator" / name
        text = path.read_text()
        if text.count(where) != 1:
            raise BadMutantError(f"{name}: the emulator's registers are written otherwise")
        text = text.replace(where, more + where)
        path.write_text("#include <cstdlib>\n" + text if name == "machine.cpp" else text)
    with (tree / "tests" / "emulator" / "CMakeLists.txt").open("a") as more:
        more.write('target_include_directories(wr_ptx BEFORE PRIVATE "${PROJECT_SOURCE_DIR}/planted")\n')
        # Of the library's own kernels only the names are wanted.
        more.write("set_target_properties(wr_cuda PROPERTIES CUDA_ARCHITECTURES 90-virtual)\n")
        more.write("target_compile_options(wr_cuda PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcicc=-O0>)\n")


def stop_at_first_failure(tree):
    """One failed check is all that is wanted of a test."""
    path = tree / "tests" / "harness" / "harness.c"
    text, counted = path.read_text(), "if (++failed > FAILURES_PRINTED) {"
    if counted not in text:
        raise BadMutantError("harness.c: failures are counted otherwise")
    path.write_text(text.replace(counted, f"exit(EXIT_FAILURE);\n    {counted}"))


def tree_in(scratch, kind):
    return Tree(scratch / kind, scratch / kind / "build", kind == "cuda")


def copy_tree(tree):
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for old in tree.source.iterdir() if tree.source.exists() else ():
        if old.is_dir() and old != tree.build:
            shutil.rmtree(old)
    for name in filter(None, listed.stdout.decode().split("\0")):
        source = ROOT / name
        if source.is_file() and not source.is_symlink():
            target = tree.source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)


def configure_and_build(tree, arguments):
    command = ["cmake", "-S", tree.source, "-B", tree.build, "-G", "Ninja", "-D", "CMAKE_BUILD_TYPE=Release"]
    command += ["-D", "WARP_REDUCE_BUILD_TOOLS=OFF", "-D", f"WARP_REDUCE_CUDA={'ON' if tree.cuda else 'OFF'}"]
    subprocess.run([*command, *arguments.cmake], check=True, stdout=subprocess.DEVNULL)
    targets = arguments.targets.split() if arguments.targets else []
    subprocess.run(["cmake", "--build", tree.build, *(["--target", *targets] if targets else [])], check=True)


def find_programs(tree, pattern):
    listed = subprocess.run(["ctest", "--show-only=json-v1"], cwd=tree.build, check=True, capture_output=True)
    for test in json.loads(listed.stdout)["tests"]:
        command = test.get("command")
        if not command or not re.fullmatch(pattern, test["name"]) or not Path(command[0]).exists():
            continue
        properties = {each["name"]: each["value"] for each in test.get("properties", [])}
        environment = dict(each.split("=", 1) for each in properties.get("ENVIRONMENT", []))
        tree.programs.append(Program(test["name"], command, environment))


def run(program, number, limit):
    """How it ended, "passed", "failed", "died" or "hung", and after how many seconds of a processor."""
    environment = {**os.environ, **program.environment, "WR_MUTANT": str(number)}

    def limits():
        resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESS_SPACE, MOST_ADDRESS_SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        status = subprocess.run(
            program.command,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=20 * limit,
            preexec_fn=limits,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        status = -signal.SIGXCPU
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if status in (-signal.SIGXCPU, -signal.SIGKILL):
        return "hung", seconds
    return "passed" if status in (0, 77) else "died" if status < 0 else "failed", seconds


class Judge:
    """Runs programs for mutants. Without a mutant a program must pass; that is tried when a mutant fails it first."""

    def __init__(self, tree, scratch, kind, arguments):
        self.tree, self.most_seconds, self.budget = tree, arguments.most_seconds, arguments.budget
        self.sound = {}  # whether a program passes without a mutant
        self.seconds_path = scratch / f"seconds-{kind}.json"
        self.seconds = json.loads(self.seconds_path.read_text()) if self.seconds_path.exists() else {}

    def run(self, program, number):
        how, seconds = run(program, number, self.most_seconds)
        if how == "passed":
            self.seconds[program.name] = seconds
            replacement = self.seconds_path.with_suffix(f".{os.getpid()}")
            replacement.write_text(json.dumps(self.seconds, indent=1))
            replacement.replace(self.seconds_path)
        return how

    def is_sound(self, program):
        if program.name not in self.sound:
            how = self.run(program, 0)
            self.sound[program.name] = how == "passed"
            if how != "passed":
                print(f"left out: {program.name} {how} without a mutant", flush=True)
        return self.sound[program.name]

    def in_order(self, mutant):
        """The tests that are expected to see it, then the others, the quickest first."""
        expected = [each for name in mutant.tests for each in self.tree.programs if name in each.name]
        others = sorted(self.tree.programs, key=lambda each: self.seconds.get(each.name, 1.0))
        return list({each.name: each for each in expected + others}.values())

    def verdict(self, mutant):
        """The program that sees it; the empty text where none does."""
        spent = 0.0
        for program in self.in_order(mutant):
            is_expected = any(name in program.name for name in mutant.tests)
            cost = self.seconds.get(program.name, 1.0)
            if not self.sound.get(program.name, True) or (spent + cost > self.budget and not is_expected):
                continue
            spent += cost
            how = self.run(program, mutant.number)
            if how != "passed" and self.is_sound(program):
                return program.name + ("" if how == "failed" else f" ({how})")
        return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=TABLES)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("numbers", nargs="*", type=int)
    parser.add_argument("--cmake", action="append", default=[], help="one more argument of the configuration")
    parser.add_argument("--targets", default="", help="what to build, by default all")
    parser.add_argument("--tests", default="", help="a pattern for the names of the tests")
    parser.add_argument("--most-seconds", type=float, default=60.0, help="of a processor: no program that takes more")
    parser.add_argument("--budget", type=float, default=1e9, help="of a processor: seconds for one mutant")
    parser.add_argument("--built", action="store_true", help="the scratch folder holds the built tree")
    parser.add_argument("--check", action="store_true", help="only whether each mutant finds its place")
    arguments = parser.parse_args()
    table = [Mutant(n, *entry) for n, entry in TABLES[arguments.kind].items()]
    scratch = arguments.scratch.resolve()
    tree = tree_in(scratch, arguments.kind)
    if not arguments.built:
        copy_tree(tree)
        problems = []
        for mutant in table:
            try:
                find(mutant, tree.source)
            except BadMutantError as problem:
                problems.append(str(problem))
        if problems:
            sys.exit("\n".join(problems))
        if arguments.check:
            return
        plant_all(table, tree)
        stop_at_first_failure(tree.source)
        if tree.cuda:
            teach_emulator(tree.source)
        configure_and_build(tree, arguments)
    find_programs(tree, arguments.tests or (r"emulator\..*" if tree.cuda else r".*\.host|unit\..*|published_vectors.*"))
    judge = Judge(tree, scratch, arguments.kind, arguments)
    for mutant in table:
        if arguments.numbers and mutant.number not in arguments.numbers:
            continue
        seen = judge.verdict(mutant)
        verdict = f"seen by {seen}" if seen else f"changes nothing: {mutant.note}" if mutant.note else "SURVIVED"
        print(f"{mutant.number} {mutant.file}: {verdict}", flush=True)
        with (scratch / f"results-{arguments.kind}.txt").open("a") as results:
            results.write(f"{mutant.number}\t{mutant.file}\t{verdict}\n")


if __name__ == "__main__":
    try:
        main()
    except BadMutantError as problem:
        sys.exit(str(problem))
