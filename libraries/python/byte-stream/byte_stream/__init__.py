"""Bytes of a file, a pipe or a URL in lent chunks, files in memory, and the cheapest copy.

>>> import byte_stream
>>> with byte_stream.open("/etc/hostname") as stream:
...     size = sum(len(chunk) for chunk in stream)
"""

from ._api import copy, read_all
from ._errors import StreamError
from ._native import LoadChoice, Loaded, Stream, load

__all__ = ["LoadChoice", "Loaded", "Stream", "StreamError", "copy", "load", "open", "read_all"]

open = Stream
