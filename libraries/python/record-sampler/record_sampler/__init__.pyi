from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ._native import Part as Part
from ._native import Sampler as Sampler
from ._native import SampleError as SampleError
from ._native import Sketch as Sketch
from ._native import _Paths
from ._remote import RemotePart

__all__ = [
    "PART_BYTES", "Part", "SampleError", "Sampler", "Sketch", "counts", "fetch", "merge", "parts",
    "ranks", "sample", "sketch",
]

PART_BYTES: int

def sample(
    paths: _Paths,
    n: int | None = None,
    seed: int | None = None,
    *,
    to: str = "list",
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    max_record: int | None = None,
    encoding: str | None = "utf-8",
    dtypes: Any = None,
    return_seed: bool = False,
    filesystem: Any = None,
    probability: float | None = None,
    at_most: bool = False,
    weight: str | int | None = None,
    per: str | int | None = None,
    with_replacement: bool = False,
    systematic: bool = False,
    invert: bool = False,
    shuffle: bool = False,
    mergeable: bool = False,
) -> Any: ...
def parts(
    paths: _Paths,
    part_bytes: int = ...,
    *,
    format: str | None = None,
    header: bool | None = None,
    delimiter: str | None = None,
    max_record: int | None = None,
    filesystem: Any = None,
) -> list[Part] | list[RemotePart]: ...
def sketch(
    part: Part | RemotePart,
    n: int,
    seed: int,
    *,
    weight: str | int | None = None,
    per: str | int | None = None,
    at_most: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Sketch: ...
def merge(sketches: Iterable[Sketch]) -> Sketch: ...
def counts(parts: Iterable[Part] | Iterable[RemotePart]) -> list[int]: ...
def ranks(
    counts: Sequence[int],
    n: int | None = None,
    seed: int | None = None,
    *,
    probability: float | None = None,
    at_most: bool = False,
    with_replacement: bool = False,
    systematic: bool = False,
    invert: bool = False,
) -> list[list[int]]: ...
def fetch(part: Part | RemotePart, ranks: Sequence[int]) -> list[bytes]: ...
