from collections.abc import Callable, Sequence
from os import PathLike

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
    def header_bytes(self) -> bytes: ...

class Sampler:
    def __new__(
        cls,
        n: int | None = None,
        *,
        seed: int = 0,
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
    def records(
        self,
        paths: Sequence[str | PathLike[str]],
        *,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        max_record: int | None = None,
    ) -> list[bytes]: ...
    def text(
        self,
        paths: Sequence[str | PathLike[str]],
        *,
        format: str | None = None,
        header: bool | None = None,
        delimiter: str | None = None,
        max_record: int | None = None,
    ) -> bytes: ...
    def sketch(self, part: Part, progress: Callable[[int], object] | None = None) -> Sketch: ...
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
    def seen(self) -> int: ...

def layout(
    paths: Sequence[str | PathLike[str]],
    *,
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
) -> tuple[str, bool, str | None]: ...
def parts(
    paths: Sequence[str | PathLike[str]],
    part_bytes: int,
    *,
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    max_record: int | None = None,
) -> list[Part]: ...
