"""Files that fsspec opens: those of URLs, and those of a file system of it."""

import io

from ._native import Part, SampleError, stream_layout

# A file that a list of files shows to have at most this size is one request.
_WHOLE_BYTES = 8 << 20


class RemoteFile:
    """A binary file object that is opened when it is first read, and closed at its end."""

    def __init__(self, filesystem, path, size=None):
        self.filesystem, self.path, self.size = filesystem, path, size
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
            return io.BytesIO(self.filesystem.cat_file(self.path))
        return self.filesystem.open(self.path, "rb")


class RemotePart:
    """A file of another machine, which is one part: it is read once, from its start to its end."""

    start, stop = 0, 2**64 - 1

    def __init__(self, filesystem, path, size, file, format, header, delimiter, max_record):
        self.filesystem, self.path, self.size, self.file = filesystem, path, size, file
        self.format, self.header, self.delimiter = format, header, delimiter
        self.max_record = max_record

    def __repr__(self):
        return f"RemotePart({self._opened().name!r}, file={self.file}, format={self.format!r})"

    def count(self):
        """The number of records."""
        file = self._opened()
        return self._part(file).count_stream(file)

    def fetch(self, ranks):
        """The records with these ranks, which are in ascending order."""
        file = self._opened()
        return self._part(file).fetch_stream(ranks, file)

    def sketch(self, sampler, progress=None):
        """The sample of the file, which can be merged with those of other parts."""
        file = self._opened()
        return sampler.sketch_stream(self._part(file), file, progress)

    def _opened(self):
        return RemoteFile(self.filesystem, self.path, self.size)

    def _part(self, file):
        return Part(
            file.name, file=self.file, format=self.format, header=self.header,
            delimiter=self.delimiter, max_record=self.max_record,
        )


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


def parts(files, format, header, delimiter, max_record):
    """A part for each file. At most the first bytes of one are read, to find its delimiter."""
    try:
        name, delimiter = stream_layout(files, format=format, header=header, delimiter=delimiter)
    finally:
        for file in files:
            file.close()
    return [
        RemotePart(
            file.filesystem, file.path, file.size, number, name, header, delimiter, max_record
        )
        for number, file in enumerate(files)
    ]


def _filesystem(url):
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise SampleError(f"{url}: URLs are opened by fsspec, which is not installed") from error
    return url_to_fs(url)
