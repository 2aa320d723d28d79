"""Bytes from a file, a pipe or a URL in chunks that are lent, and the cheapest copy.

>>> import byte_stream
>>> with byte_stream.open("/etc/hostname") as stream:
...     size = sum(len(chunk) for chunk in stream)
"""

from ._api import copy, read_all
from ._errors import StreamError
from ._native import Stream

__all__ = ["Stream", "StreamError", "copy", "open", "read_all"]

open = Stream
