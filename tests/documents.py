"""Runs the examples of a page in order, in one folder, as a reader would.

Blocks of `bash` and `python` are run. A block of `text` right after one is what it
prints; `...` stands for anything. A comment `<!-- not run: reason -->` right before a
block leaves it out.
"""

import contextlib
import doctest
import io
import logging
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from sybil.document import Document
from sybil.evaluators.python import PythonEvaluator
from sybil.example import Example
from sybil.parsers.markdown import CodeBlockParser

from dsgrl.cli import main

ROOT = Path(__file__).parent.parent
LANGUAGES = ("bash", "python", "text")
NOT_RUN = re.compile(r"<!-- not run: ([^\n]+) -->\s*\Z")
FENCE = re.compile(r"^```(\w*)", re.MULTILINE)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block of a page.

    Attributes:
        example: Sybil's view of it.
        language: of the block.
        reason: why it is not run; empty if it is.
        follows: whether only blank lines are between it and the block before.
    """

    example: Example
    language: str
    reason: str
    follows: bool

    @property
    def source(self) -> str:
        return str(self.example.parsed)


def read_blocks(path: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    parsers = [CodeBlockParser(name, _nothing) for name in LANGUAGES]
    document = Document.parse(str(path), *parsers)
    blocks, end = [], 0
    for example in document:
        between = document.text[end : example.start]
        found = NOT_RUN.search(between)
        language = str(example.region.lexemes["arguments"])
        reason = found.group(1) if found else ""
        blocks.append(Block(example, language, reason, not between.strip()))
        end = example.end
    fences = FENCE.findall(document.text)[::2]
    assert len(blocks) == len(fences), f"{path}: blocks of {set(fences)}"
    return blocks


def run_page(path: Path, folder: Path) -> int:
    """Run the blocks of a page; return how many."""
    count, printed = 0, ""
    with contextlib.chdir(folder):
        for block in read_blocks(path):
            where = f"{path.name}, line {block.example.line}"
            if block.language == "text":
                if block.follows:
                    _compare(block.source, printed, where)
                continue
            printed = ""
            if block.reason:
                continue
            printed = run_block(block, where)
            count += 1
    return count


def run_block(block: Block, where: str) -> str:
    """Run a block; return what it printed to stdout, and stderr for commands."""
    if block.language == "bash":
        return "".join(run_commands(block.source, where))
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        PythonEvaluator()(block.example)
    return out.getvalue()


def run_commands(source: str, where: str = "") -> Iterator[str]:
    """Run lines of a shell: `dsgrl` in this process, which is faster, where it can."""
    for line in re.sub(r"\\\n\s*", "", source).splitlines():
        if re.fullmatch(r"dsgrl [^|<>;&$`*]*", line):
            yield _call(shlex.split(line)[1:], where)
        elif line.strip():
            yield _shell(line, where)


def _call(words: list[str], where: str) -> str:
    out = io.StringIO()
    with (
        # Without pytest's handlers, so that notices go to stderr as for users.
        mock.patch.object(logging.root, "handlers", []),
        mock.patch.object(sys, "argv", ["dsgrl", *words]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        pytest.raises(SystemExit) as stopped,
    ):
        main()
    assert stopped.value.code == 0, f"{where}: dsgrl {words}: {out.getvalue()}"
    return out.getvalue()


def _shell(source: str, where: str) -> str:
    defined = f'dsgrl() {{ {shlex.quote(sys.executable)} -m dsgrl "$@"; }}'
    python = f'python() {{ {shlex.quote(sys.executable)} "$@"; }}'
    done = subprocess.run(
        ["bash", "-euc", f"{defined}\n{python}\n{source}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, f"{where}: {done.stdout}"
    return done.stdout


def _compare(expected: str, printed: str, where: str) -> None:
    same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
    assert same, f"{where}: expected\n{expected}\ngot\n{printed}"


def _nothing(example: Example) -> None:
    raise AssertionError(f"line {example.line}: blocks are run by run_page")
