"""Files that fsspec opens: those of URLs, and those of a file system of it."""

import io

from ._native import Part, SampleError, stream_layout

# A file that a list of files shows to have at most this size is one request.
_WHOLE_BYTES = 8 << 20
# Formats whose records may be read from any line on.
_DIVIDED = ("lines", "jsonl")
_ASKED_FILES = 100


class RemoteFile:
    """A binary file object that is opened when it is first read, and closed at its end."""

    def __init__(self, filesystem, path, size=None, start=0):
        self.filesystem, self.path, self.size, self.start = filesystem, path, size, start
        self.name = filesystem.unstrip_protocol(path)
        self._file = None

    def read(self, size=-1):
        if self._file is None:
            self._file = self._opened()
        data = self._file.read(size)
        if not data and size:
            self.close()
        return data

    def close(self):
        """Frees what was read. Nothing more comes."""
        if self._file is not None:
            self._file.close()
        self._file = io.BytesIO()

    def _opened(self):
        if self.size is not None and self.size <= _WHOLE_BYTES:
            file = io.BytesIO(self.filesystem.cat_file(self.path))
        else:
            file = self.filesystem.open(self.path, "rb")
        if self.start:
            file.seek(self.start)
        return file


class RemotePart:
    """A file of another machine, or its records from one offset to another."""

    def __init__(
        self, filesystem, path, size, file, start, stop, format, header, delimiter, max_record
    ):
        self.filesystem, self.path, self.size, self.file = filesystem, path, size, file
        self.start, self.stop = start, stop
        self.format, self.header, self.delimiter = format, header, delimiter
        self.max_record = max_record

    def __repr__(self):
        return (
            f"RemotePart({self.filesystem.unstrip_protocol(self.path)!r}, file={self.file}, "
            f"start={self.start}, stop={self.stop}, format={self.format!r})"
        )

    def count(self):
        """The number of records."""
        return self._with_file(lambda part, file: part.count_stream(file))

    def fetch(self, ranks):
        """The records with these ranks, which are in ascending order."""
        return self._with_file(lambda part, file: part.fetch_stream(ranks, file))

    def sketch(self, sampler, progress=None):
        """The sample of the part, which can be merged with those of other parts."""
        return self._with_file(lambda part, file: sampler.sketch_stream(part, file, progress))

    def _with_file(self, work):
        # The line before the part shows whether it begins with a record.
        file = RemoteFile(self.filesystem, self.path, self.size, max(0, self.start - 2))
        part = Part(
            file.name, file=self.file, start=self.start, stop=self.stop, format=self.format,
            header=self.header, delimiter=self.delimiter, max_record=self.max_record,
        )
        try:
            return work(part, file)
        finally:
            file.close()


def is_url(path):
    """Whether a text that names no file is a URL."""
    return "://" in path


def found(path, filesystem=None):
    """The file of a URL or of a path of the file system, or those of a pattern, sorted by name."""
    if filesystem is None:
        filesystem, path = _filesystem(path)
    # The query of a URL of HTTP begins with a question mark.
    signs = "*" if filesystem.protocol in ("http", ("http", "https")) else "*?["
    if not any(sign in path for sign in signs):
        return [RemoteFile(filesystem, path)]
    listed = filesystem.glob(path, detail=True)
    files = [
        RemoteFile(filesystem, name, listed[name].get("size"))
        for name in sorted(listed)
        if listed[name]["type"] == "file"
    ]
    if not files:
        raise FileNotFoundError(f"no file matches {filesystem.unstrip_protocol(path)}")
    return files


def parts(files, part_bytes, format, header, delimiter, max_record):
    """A part for each file, or several for a large one of lines. At most first bytes are read."""
    try:
        name, delimiter = stream_layout(files, format=format, header=header, delimiter=delimiter)
    finally:
        for file in files:
            file.close()
    is_divided = name in _DIVIDED and not header
    divided = []
    for number, file in enumerate(files):
        # To ask for the sizes of many files takes longer than to read them.
        size = _size(file) if is_divided and len(files) <= _ASKED_FILES else file.size
        ranges = [(0, 2**64 - 1)]
        if is_divided and size is not None and size > part_bytes and not _is_compressed(file):
            starts = range(0, size, part_bytes)
            ranges = [(start, min(start + part_bytes, size)) for start in starts]
        for start, stop in ranges:
            divided.append(
                RemotePart(
                    file.filesystem, file.path, size, number, start, stop, name, header, delimiter,
                    max_record,
                )
            )
    return divided


def _size(file):
    return file.filesystem.size(file.path) if file.size is None else file.size


def _is_compressed(file):
    """Whether a file is decoded from its start on: by its name, or by its first bytes."""
    if file.path.endswith((".gz", ".zst", ".br")):
        return True
    start = file.filesystem.cat_file(file.path, start=0, end=4)
    return start[:2] == b"\x1f\x8b" or start == b"\x28\xb5\x2f\xfd" or start[1:] == b"\x2a\x4d\x18"


def _filesystem(url):
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise SampleError(f"{url}: URLs are opened by fsspec, which is not installed") from error
    return url_to_fs(url)
