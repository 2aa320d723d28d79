from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import BinaryIO

_Path = str | bytes | PathLike[str]
# Paths or patterns of paths; or URLs and binary file objects, but not both.
_Paths = _Path | BinaryIO | Iterable[_Path] | Iterable[BinaryIO]

class SampleError(ValueError): ...

class Part:
    def __new__(
        cls,
        path: str | PathLike[str],
        *,
        file: int = 0,
        start: int = 0,
        stop: int = ...,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        max_record: int | None = None,
    ) -> Part: ...
    @property
    def path(self) -> PathLike[str]: ...
    @property
    def file(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    @property
    def format(self) -> str: ...
    @property
    def header(self) -> bool: ...
    @property
    def delimiter(self) -> str | None: ...
    @property
    def max_record(self) -> int: ...
    def count(self) -> int: ...
    def fetch(self, ranks: Sequence[int]) -> list[bytes]: ...
    def count_stream(self, file: BinaryIO) -> int: ...
    def fetch_stream(self, ranks: Sequence[int], file: BinaryIO) -> list[bytes]: ...
    def header_bytes(self) -> bytes: ...

class Sampler:
    def __new__(
        cls,
        n: int | None = None,
        *,
        seed: int | None = None,
        probability: float | None = None,
        at_most: bool = False,
        weight: str | int | None = None,
        per: str | int | None = None,
        with_replacement: bool = False,
        systematic: bool = False,
        invert: bool = False,
        shuffle: bool = False,
        mergeable: bool = False,
    ) -> Sampler: ...
    @property
    def seed(self) -> int: ...
    def records(
        self,
        paths: _Paths,
        *,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        max_record: int | None = None,
    ) -> list[bytes]: ...
    def draw(
        self,
        paths: _Paths,
        *,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        max_record: int | None = None,
    ) -> tuple[str, str | None, bytes, list[bytes]]: ...
    def text(
        self,
        paths: _Paths,
        *,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        max_record: int | None = None,
    ) -> bytes: ...
    def parquet(self, paths: _Paths) -> bytes: ...
    def sketch(self, part: Part, progress: Callable[[int], object] | None = None) -> Sketch: ...
    def sketch_stream(
        self, part: Part, file: BinaryIO, progress: Callable[[int], object] | None = None
    ) -> Sketch: ...
    def ranks(self, counts: Sequence[int]) -> list[list[int]]: ...

class Sketch:
    def __new__(cls, bytes: bytes) -> Sketch: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Sketch: ...
    def to_bytes(self) -> bytes: ...
    def merge(self, other: Sketch) -> Sketch: ...
    def records(self) -> list[bytes]: ...
    def text(self) -> bytes: ...
    @property
    def header(self) -> bytes: ...
    @property
    def seed(self) -> int: ...
    @property
    def seen(self) -> int: ...

def fields(records: Sequence[bytes], delimiter: str | None) -> list[list[bytes]]: ...
def stream_layout(
    files: Sequence[BinaryIO],
    *,
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> tuple[str, str | None]: ...
def is_parquet(path: str | PathLike[str]) -> bool: ...
def parts(
    paths: _Paths,
    part_bytes: int,
    *,
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    max_record: int | None = None,
) -> list[Part]: ...
