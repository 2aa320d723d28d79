from os import PathLike
from typing import Any, BinaryIO

from ._errors import StreamError as StreamError
from ._native import LoadChoice as LoadChoice
from ._native import Loaded as Loaded
from ._native import Stream as Stream
from ._native import load as load

__all__ = ["LoadChoice", "Loaded", "Stream", "StreamError", "copy", "load", "open", "read_all"]

open = Stream

def read_all(address: str | PathLike[str] | int, **options: Any) -> bytes: ...
def copy(
    source: str | PathLike[str] | int | BinaryIO,
    destination: str | PathLike[str] | int | BinaryIO,
    *,
    sparse: bool = False,
    **options: Any,
) -> int: ...
