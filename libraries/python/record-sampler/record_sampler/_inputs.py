"""The files of a population, as a caller names them."""

import glob
import os

from . import _remote
from ._native import SampleError


def inputs(paths, filesystem=None):
    """The paths of files, or else the file objects: a list of each, one of them empty.

    URLs, and paths of a file system of fsspec, are file objects that are opened when they are read.
    """
    is_one = isinstance(paths, (str, bytes, os.PathLike)) or hasattr(paths, "read")
    names, files = [], []
    for path in [paths] if is_one else paths:
        if hasattr(path, "read"):
            files.append(path)
            continue
        path = os.fsdecode(path)
        if filesystem is not None:
            files.extend(_remote.found(path, filesystem))
        elif _remote.is_url(path) and not os.path.exists(path):
            files.extend(_remote.found(path))
        else:
            names.extend(_found(path))
    if names and files:
        raise SampleError(
            "paths and file objects are not drawn from together: open the paths; URLs are opened "
            "as file objects"
        )
    if not (names or files):
        raise SampleError("no file is given")
    return names, files


def _found(path):
    """The path, or the sorted paths of the files that it is a pattern of."""
    if os.path.exists(path):
        return [path]
    if not any(sign in path for sign in "*?["):
        return [path]
    found = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
    if not found:
        raise FileNotFoundError(f"no file matches {path}")
    return found
