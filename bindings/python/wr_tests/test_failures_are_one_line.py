"""Every failure is one line on stderr that says what to do: exit status 1, or 2 for the command line."""

from __future__ import annotations

import os
import subprocess

import numpy as np
from support import LAUNCHER, ToolTest
from warp_reduce._elements import F32, I32
from warp_reduce._library import load_library
from warp_reduce.wr.hints import advice_on_reduction
from warp_reduce.wr.reduction import Reduction


class RefusedFiles(ToolTest):
    def refused(self, name: str) -> str:
        first = self.fails(1, "reduce", "sum", name)
        second = self.fails(1, "softmax", name, "out.npy")
        self.assertEqual(first, second)
        self.assertFalse((self.folder / "out.npy").exists())
        self.assertIn(f"wr: {name}: ", first)
        return first

    def test_missing_file(self) -> None:
        self.assertIn("no such file", self.refused("nowhere.npy"))

    def test_folder(self) -> None:
        (self.folder / "folder.npy").mkdir()
        self.assertIn("directory", self.refused("folder.npy"))

    def test_pipe(self) -> None:
        self.assertIn("no regular file", self.refused("/dev/null"))

    def test_pipe_that_nobody_writes(self) -> None:
        os.mkfifo(self.folder / "pipe.npy")
        self.assertIn("no regular file", self.refused("pipe.npy"))

    def test_no_npy_file(self) -> None:
        for content in (b"", b"\x93NUM", b"1.0, 2.0\n", bytes(100)):
            (self.folder / "text.npy").write_bytes(content)
            self.assertIn("not a .npy file; numpy.save", self.refused("text.npy"))

    def test_damaged_header(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        whole = (self.folder / "a.npy").read_bytes()
        damaged = (whole[:9], whole[:40], whole.replace(b"(4,)", b"(-4)"), whole.replace(b"'descr'", b"'other'"))
        for content in (*damaged, whole.replace(b"(4,), ", b"(-4,),"), whole.replace(b"<f4", b"<q9")):
            (self.folder / "damaged.npy").write_bytes(content)
            self.assertIn("header is damaged", self.refused("damaged.npy"))

    def test_a_header_that_is_no_dictionary_of_an_array(self) -> None:
        for text in (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (4,),  ",
            "{'descr': (), 'fortran_order': False, 'shape': (4,), }",
            "{'descr': ('<f4',), 'fortran_order': False, 'shape': (4,), }",
            "{[]: 1}",
            "(" * 2000,
            "-" * 9000 + "1",
            r"{'descr': '\d', 'fortran_order': False, 'shape': (4,), }",
            *(
                f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
                for shape in ((True,), (0, 2**62, 8), (0,) * 70, (0, -1), (4.0,), 4, (0, 2**80))
            ),
            *(
                f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({sign}0x{'f' * 5000},), }}"
                for sign in ("", "-")  # numbers too long for Python to print
            ),
        ):
            self.save_header("a.npy", text, bytes(16))
            self.assertIn("header is damaged", self.refused("a.npy"))
            self.assertIn("header is damaged", self.fails(1, "reduce", "sum", "a.npy", "--axis", 0))
            self.assertIn("header is damaged", self.fails(1, "dot", "a.npy", "a.npy"))

    def save_header(self, name: str, text: str, data: bytes) -> None:
        content = text.encode() + b"\n"
        (self.folder / name).write_bytes(b"\x93NUMPY\x01\x00" + len(content).to_bytes(2, "little") + content + data)

    def test_a_header_that_python_2_wrote_is_read(self) -> None:
        text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4L,), }"
        self.save_header("a.npy", text, np.ones(4, np.float32).tobytes())
        self.assertEqual(self.succeeds("reduce", "sum", "a.npy", "-q"), "4.0\n")

    def test_unknown_format_version(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        whole = bytearray((self.folder / "a.npy").read_bytes())
        whole[6] = 9
        (self.folder / "a.npy").write_bytes(whole)
        self.assertRegex(self.refused("a.npy"), "format 9.0|header is damaged")

    def test_truncated_file(self) -> None:
        self.save("a.npy", np.zeros((10, 10)))
        whole = (self.folder / "a.npy").read_bytes()
        for cut in (1, 8, 799, 800):
            (self.folder / "cut.npy").write_bytes(whole[:-cut])
            message = self.refused("cut.npy")
            self.assertIn(f"truncated: shape [10, 10] of float64 needs 800 bytes, {800 - cut} are there", message)

    def test_trailing_bytes(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        with open(self.folder / "a.npy", "ab") as file:
            file.write(b"abc")
        self.assertIn("3 bytes after the array's end", self.refused("a.npy"))

    def test_big_endian(self) -> None:
        self.save("a.npy", np.zeros(4, ">f4"))
        self.assertIn("big-endian (>f4); save it with a.astype('<f4')", self.refused("a.npy"))

    def test_element_types_without_a_meaning_here(self) -> None:
        for dtype in ("complex64", "complex128", "U3", "S3", "M8[s]", "V1", "V2", "V3", "f4,i4", "longdouble"):
            self.save("a.npy", np.zeros(4, dtype))
            self.assertIn("its elements are ", self.refused("a.npy"))

    def test_pickled_objects_are_not_run(self) -> None:
        np.save(self.folder / "a.npy", np.array([print, 1], object), allow_pickle=True)
        self.assertIn("its elements are object", self.refused("a.npy"))


class RefusedSelections(ToolTest):
    """The files of --mask and --lengths."""

    def setUp(self) -> None:
        super().setUp()
        self.save("a.npy", np.zeros((2, 3), np.float32))

    def refused(self, name: str) -> str:
        messages = [self.fails(1, "softmax", "a.npy", "out.npy", option, name) for option in ("--mask", "--lengths")]
        for message in messages:
            self.assertIn(f"wr: {name}: ", message)
        self.assertEqual(len({message.split(";")[0] for message in messages}), 1, messages)
        return messages[0]

    def test_no_npy_file(self) -> None:
        (self.folder / "m.npy").write_bytes(b"1, 0, 1\n")
        self.assertIn("is not a .npy file; numpy.save writes one", self.refused("m.npy"))
        (self.folder / "folder.npy").mkdir()
        self.assertIn("is a directory", self.refused("folder.npy"))
        os.mkfifo(self.folder / "pipe.npy")
        self.assertIn("no regular file", self.refused("pipe.npy"))
        self.assertIn("no such file", self.refused("nowhere.npy"))

    def test_objects(self) -> None:
        np.save(self.folder / "m.npy", np.array([[print, 1, 2]] * 2, object), allow_pickle=True)
        self.assertIn("its elements are object", self.refused("m.npy"))

    def test_damaged_header(self) -> None:
        self.save("m.npy", np.ones((2, 3), np.uint8))
        whole = (self.folder / "m.npy").read_bytes()
        (self.folder / "m.npy").write_bytes(whole.replace(b"}", b" "))
        self.assertIn("header is damaged", self.refused("m.npy"))

    def test_length_of_the_file(self) -> None:
        self.save("m.npy", np.ones((2, 3), np.uint8))
        self.save("l.npy", np.ones(2, np.int64))
        for option, name in (("--mask", "m.npy"), ("--lengths", "l.npy")):
            whole = (self.folder / name).read_bytes()
            for content, reason in (
                (whole[:-1], "is truncated: shape"),
                (whole + b"a", "1 bytes after the array's end"),
            ):
                (self.folder / name).write_bytes(content)
                self.assertIn(f"wr: {name}: ", self.fails(1, "softmax", "a.npy", "out.npy", option, name))
                self.assertIn(reason, self.fails(1, "softmax", "a.npy", "out.npy", option, name))


class RefusedJobs(ToolTest):
    def test_dtype_that_the_words_cannot_be(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        self.assertIn("cannot hold koalabear", self.fails(1, "reduce", "sum", "a.npy", "--dtype", "koalabear"))

    def test_combination_that_the_library_does_not_offer(self) -> None:
        self.save("a.npy", np.zeros(4, np.uint32))
        for operator, *options in (
            ("max", "--dtype", "babybear"),
            ("bit_or", "--output-dtype", "f32"),
            ("argmin", "--output-dtype", "u64"),
            ("mean", "--output-dtype", "f64", "--dtype", "koalabear"),
        ):
            message = self.fails(1, "reduce", operator, "a.npy", *options)
            self.assertRegex(message, f"WR_ERROR_UNSUPPORTED.*'wr ops {operator}' lists what there is")
        self.save("a.npy", np.zeros(4, np.int32))
        for operator in ("mean", "norm_l2"):
            message = self.fails(1, "reduce", operator, "a.npy", "--output-dtype", "i32")
            self.assertIn("add --output-dtype f64", message)
        self.assertIn("'wr ops logsumexp' lists", self.fails(1, "reduce", "logsumexp", "a.npy"))
        self.assertEqual(os.listdir(self.folder), ["a.npy"])

    def test_an_option_that_the_library_does_not_offer_is_named(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        self.save("i.npy", np.zeros(4, np.int32))
        self.save("old.npy", np.zeros((), np.float32))
        self.save("o.npy", np.array([0, 4]))
        self.save("olds.npy", np.zeros(1, np.float32))
        for line, options in (
            (("reduce", "sum", "i.npy", "--accumulate-dtype", "f64"), "--accumulate-dtype f64"),
            (("reduce", "mean", "a.npy", "--add-to", "old.npy"), "--add-to"),
            (("reduce", "mean", "a.npy", "--add-to", "old.npy", "--nan", "ignore"), "--add-to"),
            (("reduce", "mean", "a.npy", "--add-to", "olds.npy", "--offsets", "o.npy"), "--add-to"),
            (("reduce", "logsumexp", "a.npy", "--nan", "ignore"), "--nan ignore"),
            (("reduce", "logsumexp", "a.npy", "--nan", "ignore", "--add-to", "old.npy"), "--add-to and --nan ignore"),
            (("reduce", "sum", "a.npy", "--nan", "ignore", "--weights", "a.npy"), "--nan ignore or --weights"),
            (("reduce", "sum", "a.npy", "--weights", "i.npy", "--weights-dtype", "i32"), "--weights of i32"),
            (("dot", "i.npy", "i.npy", "--accumulate-dtype", "f64"), "--accumulate-dtype f64"),
            (("dot", "i.npy", "i.npy", "--exact"), "--exact"),
        ):
            message = self.fails(1, *line)
            self.assertIn(f"; leave {options} out ('wr ops' lists the options of each operator)\n", message)
        message = self.fails(1, "dot", "a.npy", "i.npy", "--right-dtype", "i32")
        self.assertIn("; 'wr ops' lists what a sum takes and gives, and which types may be weighted", message)

    def test_an_option_that_is_not_what_is_wrong_is_not_named(self) -> None:
        # an axis that is too long for an index of i32 is refused whatever the options are
        job = Reduction("argmax", F32, I32, ignore_nan=True)
        self.assertEqual(advice_on_reduction(load_library(), job, add=False), "'wr ops argmax' lists what there is")
        self.save("a.npy", np.zeros(4, np.int32))
        message = self.fails(1, "reduce", "logsumexp", "a.npy", "--nan", "ignore")
        self.assertIn("; 'wr ops logsumexp' lists what there is\n", message)

    def test_softmax_of_other_than_floats(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        self.save("i.npy", np.zeros(4, np.int32))
        for options in (("i.npy", "out.npy"), ("a.npy", "out.npy", "--output-dtype", "i32")):
            message = self.fails(1, "softmax", *options)
            self.assertIn("; softmax takes and gives floats only: f32 f64 f16 bf16 f8_e4m3 f8_e5m2\n", message)

    def test_words_that_are_no_elements_of_an_extension(self) -> None:
        self.save("a.npy", np.zeros((4, 3), np.uint32))
        message = self.fails(1, "reduce", "sum", "a.npy", "--dtype", "koalabear_x4")
        self.assertIn("a.npy: its shape is [4, 3]; koalabear_x4 needs a last axis of 4 words", message)
        self.save("a.npy", np.zeros(4, np.uint64))
        message = self.fails(1, "reduce", "sum", "a.npy", "--dtype", "koalabear_x4")
        self.assertIn("stored as uint32 with a last axis of 4", message)

    def test_weights_that_do_not_fit(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        self.save("w.npy", np.zeros(2, np.float32))
        message = self.fails(1, "reduce", "sum", "a.npy", "--axis", 1, "--weights", "w.npy")
        self.assertIn("w.npy: there are 2 weights for 3 elements along the axis", message)
        self.save("w.npy", np.zeros(3, np.float64))
        message = self.fails(1, "reduce", "sum", "a.npy", "--axis", 1, "--weights", "w.npy")
        self.assertIn("w.npy: its elements are float64, which cannot hold f32", message)

    def test_offsets_that_are_none(self) -> None:
        self.save("a.npy", np.zeros(10, np.float32))
        no_offsets = "offsets are int64 or int32 of one axis, one more of them than there are segments"
        for offsets, reason in (
            (np.array([0, 5, 4]), "offset 2 is below the one before it"),
            (np.array([-1, 5]), "offsets lie from -1 to 5, the elements from 0 to 10"),
            (np.array([0, 11], np.int32), "offsets lie from 0 to 11, the elements from 0 to 10"),
            (np.array([0.0, 5.0]), no_offsets),
            (np.zeros((2, 2), np.int64), no_offsets),
            (np.zeros(0, np.int64), no_offsets),
        ):
            self.save("o.npy", offsets)
            message = self.fails(1, "reduce", "sum", "a.npy", "--offsets", "o.npy")
            self.assertIn(f"wr: o.npy: {reason}", message)

    def test_old_results_of_another_kind(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        self.save("old.npy", np.zeros(2, np.float32))
        message = self.fails(1, "reduce", "sum", "a.npy", "--axis", 0, "--add-to", "old.npy")
        self.assertIn("old.npy: its shape is [2], that of the results is [3]", message)
        message = self.fails(1, "reduce", "max", "a.npy", "--axis", 1, "--add-to", "old.npy", "--output-dtype", "f64")
        self.assertIn("old.npy: its elements are float32, which cannot hold f64", message)
        self.assertIn(
            "WR_ERROR_UNSUPPORTED", self.fails(1, "reduce", "mean", "a.npy", "--axis", 1, "--add-to", "old.npy")
        )

    def test_dot_product_of_different_shapes(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        self.save("b.npy", np.zeros(6, np.float32))
        self.assertIn("a.npy has the shape [2, 3], b.npy [6]", self.fails(1, "dot", "a.npy", "b.npy"))

    def test_dot_products_options_that_do_not_go_together(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        dot = ("dot", "a.npy", "a.npy")
        for option in (("--accumulate-dtype", "f64"), ("--add-to", "a.npy")):
            message = self.fails(2, *dot, "--exact", *option)
            self.assertIn("--exact rounds once, at the end, and goes with neither --accumulate-dtype nor", message)
        self.assertIn("--state does not go with --add-to", self.fails(2, *dot, "--state", "s", "--add-to", "a.npy"))
        self.assertIn("a.npy: has 6 elements; the result is one number", self.fails(1, *dot, "--add-to", "a.npy"))
        self.save("f.npy", np.asfortranarray(np.zeros((2, 3), np.float32)))
        self.assertIn("f.npy: --state is for files in C order", self.fails(1, "dot", "f.npy", "a.npy", "--state", "s"))

    def test_axis_that_does_not_exist(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        for axis in (2, -3):
            self.assertIn("[2, 3]", self.fails(1, "reduce", "sum", "a.npy", "--axis", axis))
            self.assertIn("[2, 3]", self.fails(1, "softmax", "a.npy", "out.npy", "--axis", axis))

    def test_output_that_cannot_be_written(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        for place in ("no/folder/out.npy", ".", "/dev/null"):
            self.fails(1, "softmax", "a.npy", place)
            self.fails(1, "reduce", "sum", "a.npy", "-o", place)

    def test_a_failure_leaves_the_old_output(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.int32))
        (self.folder / "out.npy").write_bytes(b"old")
        self.fails(1, "softmax", "a.npy", "out.npy")
        self.assertEqual((self.folder / "out.npy").read_bytes(), b"old")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.npy", "out.npy"])

    def test_two_outputs_are_written_or_none(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        for options in (
            ("-o", "out.npy", "--values", "no/folder/v.npy"),
            ("-o", "no/folder/o.npy", "--values", "v.npy"),
        ):
            self.assertIn("no/folder", self.fails(1, "reduce", "argmax", "a.npy", "--axis", 1, *options))
        self.assertIn("no/folder", self.fails(1, "softmax", "a.npy", "out.npy", "--lse", "no/folder/lse.npy"))
        self.assertEqual(os.listdir(self.folder), ["a.npy"])

    def test_two_outputs_in_one_file(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        message = self.fails(2, "reduce", "argmax", "a.npy", "--axis", 1, "-o", "r.npy", "--values", "./r.npy")
        self.assertIn("--values ./r.npy is the file of the results too; name another", message)
        self.assertEqual(os.listdir(self.folder), ["a.npy"])

    def test_device_that_is_not_there(self) -> None:
        self.save("a.npy", np.zeros(4, np.float32))
        message = self.fails(1, "reduce", "sum", "a.npy", "--device", "cuda:4000")
        self.assertRegex(message, "no CUDA driver on this machine|no device cuda:4000|CUDA driver answered")


class ClosedStreams(ToolTest):
    """A caller that closes stdout or stderr gets the exit status and the files, and nothing else."""

    def closed(self, redirections: str, *arguments: object) -> subprocess.CompletedProcess:
        line = f'exec "$0" "$@" {redirections}'
        command = ["sh", "-c", line, LAUNCHER, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)

    def test_results_go_nowhere(self) -> None:
        self.save("a.npy", np.ones((2, 3), np.float32))
        for arguments in (("sum", "a.npy"), ("sum", "a.npy", "-q"), ("sum", "a.npy", "-o", "out.npy")):
            for redirections in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
                done = self.closed(redirections, "reduce", *arguments)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""), redirections)
        self.assert_same_bits(self.load("out.npy"), np.array(6, np.float32))

    def test_a_failure_is_not_among_the_results(self) -> None:
        done = self.closed("2>&-", "reduce", "sum", "nowhere.npy")
        self.assertEqual((done.returncode, done.stdout), (1, ""))


class Usage(ToolTest):
    def test_command_lines_that_make_no_sense(self) -> None:
        lines = (
            (),
            ("frobnicate",),
            ("reduce",),
            ("reduce", "sum"),
            ("reduce", "median", "a.npy"),
            ("reduce", "sum", "a.npy", "--nan", "maybe"),
            ("dot", "a.npy"),
            ("ops", "median"),
            ("reduce", "sum", "a.npy", "--axis", "first"),
            ("reduce", "sum", "a.npy", "--dtype", "f33"),
            ("reduce", "sum", "a.npy", "--device", "gpu"),
            ("reduce", "sum", "a.npy", "--device", "cuda:-1"),
            ("reduce", "sum", "a.npy", "--what"),
            ("softmax", "a.npy"),
            ("softmax", "a.npy", "b.npy", "--scale", "warm"),
            ("softmax", "a.npy", "b.npy", "--scale", "0"),
            ("softmax", "a.npy", "b.npy", "--scale", "inf"),
            ("reduce", "sum", ""),
            ("reduce", "sum", "a.npy", "-o", ""),
            ("reduce", "sum", "a.npy", "--offsets", ""),
            ("reduce", "sum", "a.npy", "--weights", ""),
            ("reduce", "sum", "a.npy", "--add-to", ""),
            ("reduce", "argmax", "a.npy", "--values", ""),
            ("dot", "", "a.npy"),
            ("dot", "a.npy", ""),
            ("dot", "a.npy", "a.npy", "-o", ""),
            ("softmax", "", "b.npy"),
            ("softmax", "a.npy", ""),
            ("softmax", "a.npy", "b.npy", "--mask", ""),
            ("softmax", "a.npy", "b.npy", "--lengths", ""),
            ("softmax", "a.npy", "b.npy", "--lse", ""),
            ("bench", "softmax", "--plot", ""),
            ("bench", "softmax", "--plot", "a.svg", "--peers", ""),
            ("bench", "everything"),
            ("bench", "--largest", "99"),
            ("info", "more"),
        )
        for line in lines:
            with self.subTest(line=line):
                self.assertIn("--help'", self.fails(2, *line))

    def test_an_empty_name_is_no_file(self) -> None:
        message = self.fails(2, "reduce", "sum", "")
        self.assertIn("argument FILE: a file's name cannot be empty; name one", message)

    def test_a_scale_that_f32_does_not_have(self) -> None:
        self.save("a.npy", np.zeros((2, 3), np.float32))
        for scale, value in (("1e300", "inf"), ("-3.5e38", "-inf"), ("1e-300", "0.0"), ("7e-46", "0.0")):
            message = self.fails(2, "softmax", "a.npy", "out.npy", f"--scale={scale}")
            self.assertIn(f"is {value} in f32, in which logits of f32 are scaled", message)
            self.assertIn("its magnitude must lie from 1e-45 to 3.4e38", message)
        for scale in ("3.4e38", "-1e-45", "7.1e-46"):
            self.succeeds("softmax", "a.npy", "out.npy", f"--scale={scale}")
        self.save("a.npy", np.zeros((2, 3), np.float64))
        self.succeeds("softmax", "a.npy", "out.npy", "--scale", "1e300")

    def test_options_that_do_not_go_together(self) -> None:
        for line, reason in (
            (("sum", "--offsets", "o.npy", "--axis", "0"), "--offsets divides"),
            (("sum", "--offsets", "o.npy", "--weights", "w.npy"), "--offsets divides"),
            (("max", "--weights", "w.npy"), "--weights goes with the operators sum and sum_exact"),
            (("sum", "--weights-dtype", "koalabear"), "add --weights FILE"),
            (("sum", "--values", "v.npy"), "--values goes with argmin and argmax"),
        ):
            self.assertIn(reason, self.fails(2, "reduce", line[0], "a.npy", *line[1:]))
        self.assertIn("--markdown is for the table", self.fails(2, "ops", "sum", "--markdown"))
