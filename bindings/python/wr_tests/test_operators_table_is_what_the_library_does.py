"""`wr ops` prints what the library offers, and docs/operations.md has the same table."""

from __future__ import annotations

import ctypes
import os
import re
from itertools import product
from pathlib import Path

import numpy as np
from support import ToolTest
from warp_reduce._elements import ELEMENT_TYPES, ElementType
from warp_reduce._library import ERROR_UNSUPPORTED, Library, Refused, load_library
from warp_reduce._operators import OPERATORS, default_output
from warp_reduce.wr.offers import is_offered
from warp_reduce.wr.reduction import Reduction, reduce_args

PLACE_BYTES, UNTOUCHED = 16, 0xA5


def reduced(library: Library, job: Reduction, words: np.ndarray, output_code: int) -> bytes:
    """What a call writes into memory that held UNTOUCHED."""
    place = np.full(PLACE_BYTES, UNTOUCHED, np.uint8)
    args = reduce_args(job, words.ctypes.data, place.ctypes.data, (1, len(words), 1))
    args.output_dtype = output_code
    library.reduce(args, library.host_stream)
    return place.tobytes()


class OperatorsTable(ToolTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.library = load_library()

    def test_the_documents_have_it(self) -> None:
        document = (Path(os.environ["WR_DOCUMENTS"]) / "operations.md").read_text(encoding="utf-8")
        table = self.succeeds("ops", "--markdown")
        self.assertIn(table, document, "put the output of `wr ops --markdown` into docs/operations.md")

    def test_the_operators_are_the_headers(self) -> None:
        header = (Path(os.environ["WR_DOCUMENTS"]).parent / "capi/include/warp_reduce.h").read_text(encoding="utf-8")
        enum = re.search(r"typedef enum wr_op \{(.*?)WR_OP_FORCE_INT32", header, re.DOTALL)[1]
        there = {name.lower(): int(code) for name, code in re.findall(r"WR_(\w+) = (\d+),", enum)}
        self.assertEqual(there.pop("dot_exact"), 20)  # of dot products alone
        self.assertEqual(there, OPERATORS)

    def test_a_call_is_refused_exactly_where_the_table_says_so(self) -> None:
        for operator, element, output in product(OPERATORS, ELEMENT_TYPES, ELEMENT_TYPES):
            job = Reduction(operator, element, output)
            words = np.zeros(3 * element.size, np.uint8).view(element.storage)
            try:
                reduced(self.library, job, words, output.code)
                done = True
            except Refused as refusal:
                self.assertEqual(refusal.status, ERROR_UNSUPPORTED)
                done = False
            self.assertEqual(done, is_offered(self.library, job), job)

    def test_the_default_output_type_is_the_librarys(self) -> None:
        seen = set()
        for operator, element in product(OPERATORS, ELEMENT_TYPES):
            job = Reduction(operator, element, default_output(operator, element))
            words = np.ones(3 * element.size, np.uint8).view(element.storage)
            if is_offered(self.library, job):
                seen.add(operator)
                default, named = (reduced(self.library, job, words, code) for code in (0, job.output.code))
                self.assertEqual(default, named, job)
                self.assertEqual(set(named[job.output.size :]) - {UNTOUCHED}, set(), job)
        self.assertEqual(seen, set(OPERATORS))

    def test_element_sizes_are_the_librarys(self) -> None:
        size = ctypes.CDLL(os.environ["WARP_REDUCE_LIBRARY"]).wr_dtype_size
        size.restype = ctypes.c_size_t
        self.assertEqual([size(each.code) for each in ELEMENT_TYPES], [each.size for each in ELEMENT_TYPES])

    def test_a_combination_that_means_nothing(self) -> None:
        self.assertRegex(self.succeeds("ops"), r"(?m)^ bit_xor +- +own +- ")
        lines = self.rows_of(self.succeeds("ops", "max"))
        self.assertEqual(lines["i32"], ["i32", "i64"])
        self.assertEqual(lines["koalabear"], ["-", "-"])

    def rows_of(self, text: str) -> dict[str, list[str]]:
        names = {each.name: each for each in ELEMENT_TYPES}
        rows = (line.split() for line in text.splitlines())
        return {cells[0]: cells[1:] for cells in rows if cells and isinstance(names.get(cells[0]), ElementType)}

    def test_one_operator_in_full(self) -> None:
        rows = self.rows_of(self.succeeds("ops", "argmin"))
        self.assertEqual(list(rows), [each.name for each in ELEMENT_TYPES])
        self.assertEqual(rows["u8"], ["i64", "i32"])
        rows = self.rows_of(self.succeeds("ops", "l2"))
        self.assertEqual(rows["i8"], ["-", "f32", "f64", "f16", "bf16", "f8_e4m3", "f8_e5m2"])
