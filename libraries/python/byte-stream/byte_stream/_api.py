"""The functions of the package."""

import contextlib
import os
import shutil
import stat

from ._native import Stream
from ._native import copy_descriptors as _copy_descriptors


def read_all(address, **options):
    """All bytes of a path, a descriptor or a URL; the options are those of `Stream`."""
    with Stream(address, **options) as stream:
        return stream.read_all()


def copy(source, destination, *, sparse=False, **options):
    """Copies all bytes by the cheapest way there is; returns their number.

    Both are a path, a descriptor or an open file, the source also a URL; `sparse` keeps holes of
    files. A file that is there is overwritten. The options are those of `Stream`, of a URL.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(source, str) and "://" in source:
            stream = stack.enter_context(Stream(source, **options))
            return stream.copy_to(_destination(stack, destination))
        if options:
            raise TypeError("options are for URLs")
        from_fd = _descriptor(source)
        if from_fd is None:
            from_fd = _opened(stack, source, os.O_RDONLY)
        return _copy_descriptors(from_fd, _destination(stack, destination, from_fd), sparse)


def _destination(stack, destination, from_fd=None):
    fd = _descriptor(destination)
    if fd is not None:
        return fd
    fd = _opened(stack, destination, os.O_WRONLY | os.O_CREAT)
    status = os.fstat(fd)
    if from_fd is not None and os.path.samestat(status, os.fstat(from_fd)):
        raise shutil.SameFileError(f"{destination!r} is the file that is copied")
    if stat.S_ISREG(status.st_mode):
        os.ftruncate(fd, 0)
    return fd


def _opened(stack, path, flags):
    fd = os.open(path, flags, 0o666)
    stack.callback(os.close, fd)
    return fd


def _descriptor(file):
    """The descriptor of an open file, whose buffer is written first; None of a path."""
    if isinstance(file, int):
        return file
    if not hasattr(file, "fileno"):
        return None
    if hasattr(file, "flush"):
        file.flush()
    return file.fileno()
