from collections.abc import Iterator, Mapping
from os import PathLike
from types import TracebackType
from typing import final

class StreamError(OSError):
    kind: str
    offset: int | None
    status: int | None
    retryable: bool

@final
class Stream:
    def __new__(
        cls,
        address: str | PathLike[str] | int,
        *,
        buffer_bytes: int | None = None,
        limit_bytes: int | None = None,
        sha256: bytes | None = None,
        decode: bool = False,
        headers: Mapping[str, str] | None = None,
        connect_limit: float | None = None,
        idle_limit: float | None = None,
        total_limit: float | None = None,
        parallel: int | None = None,
        accept_unframed: bool = False,
    ) -> Stream: ...
    @property
    def name(self) -> str: ...
    @property
    def status(self) -> int | None: ...
    @property
    def headers(self) -> dict[str, str]: ...
    def __iter__(self) -> Iterator[memoryview]: ...
    def __next__(self) -> memoryview: ...
    def read_all(self) -> bytes: ...
    def copy_to(self, fd: int) -> int: ...
    def cancel(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Stream: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def __buffer__(self, flags: int) -> memoryview: ...

def copy_descriptors(from_fd: int, to_fd: int, sparse: bool) -> int: ...
