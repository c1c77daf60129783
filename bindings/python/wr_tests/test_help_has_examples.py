"""--help explains every command and ends with examples; --version is the library's."""

from __future__ import annotations

from support import ToolTest


class Help(ToolTest):
    def test_every_command_has_help(self) -> None:
        for command in (
            (),
            ("ops",),
            ("reduce",),
            ("dot",),
            ("softmax",),
            ("state",),
            ("state", "merge"),
            ("bench",),
            ("demo",),
        ):
            text = self.succeeds(*command, "--help")
            self.assertIn("examples:\n  wr ", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 120)
        self.assertIn("what", self.succeeds("info", "--help"))

    def test_version(self) -> None:
        self.assertRegex(self.succeeds("--version"), r"\Awr \d+\.\d+\.\d+\n\Z")

    def test_info_says_what_is_here_and_what_is_missing(self) -> None:
        text = self.succeeds("info")
        for line in ("library", "loaded from", "host", "CUDA driver", "CUDA streams"):
            self.assertRegex(text, rf"(?m)^{line} +\S")
        self.assertRegex(text, r"CUDA streams +(ready|not usable: \w)")
