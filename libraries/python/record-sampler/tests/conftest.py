import os
import subprocess

import pytest


@pytest.fixture
def lines(tmp_path):
    """Two files of lines, of which the second one ends without a line end."""
    paths = [tmp_path / "first", tmp_path / "second"]
    paths[0].write_bytes(b"".join(b"first %d\n" % i for i in range(3000)))
    paths[1].write_bytes(b"".join(b"second %d\r\n" % i for i in range(2000)) + b"last")
    return paths


@pytest.fixture
def table(tmp_path):
    """A table with line breaks in quotes."""
    path = tmp_path / "table.csv"
    rows = "".join(f'{i},k{i % 3},{i % 7}.5,"a\n{i}"\n' for i in range(600))
    path.write_text("id,kind,w,text\n" + rows)
    return path


@pytest.fixture
def bytelab():
    """Runs the program that BYTELAB names; returns its output."""
    program = os.environ.get("BYTELAB")
    if not program:
        pytest.skip("BYTELAB names no program to compare with")

    def run(*args):
        command = [program, "sample", *map(str, args)]
        return subprocess.run(command, check=True, capture_output=True).stdout

    return run
