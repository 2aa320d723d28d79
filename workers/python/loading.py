"""Ways to load ranges of a file in Python. The job and its answer are those of
`crates/experiments/src/loading` in bytelab."""
import json
import mmap
import zlib

# Of 256 bytes the sum is less than 65521, by which Adler-32 takes its remainder.
ADLER_BYTES = 256


def total_of(bytes_like):
    """The sum of the bytes, in C."""
    view, adler32 = memoryview(bytes_like), zlib.adler32
    return sum(
        adler32(view[i : i + ADLER_BYTES], 0) & 0xFFFF for i in range(0, len(view), ADLER_BYTES)
    )


def by_readinto(path, ranges):
    loaded = []
    with open(path, "rb", buffering=0) as file:
        for offset, length in ranges:
            buffer, done = bytearray(length), 0
            file.seek(offset)
            while done < length:
                n = file.readinto(memoryview(buffer)[done:])
                if not n:
                    raise OSError(f"{path} ended at offset {offset + done}")
                done += n
            loaded.append(buffer)
    return loaded


def by_mmap(path, ranges):
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
    return [view[offset : offset + length] for offset, length in ranges]


def by_fromfile(path, ranges):
    import numpy

    return [numpy.fromfile(path, numpy.uint8, length, offset=offset) for offset, length in ranges]


def by_safetensors(path, ranges):
    """Ranges that are no tensors, such as the header of the whole file, are read."""
    import numpy
    from safetensors import safe_open

    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    begins = {8 + length + entry["data_offsets"][0]: (name, entry) for name, entry in header.items()}
    loaded, rest = [], []
    with safe_open(path, framework="np") as tensors:
        for offset, end in ((offset, offset + length) for offset, length in ranges):
            while offset < end:
                # Of a tensor without bytes there is nothing to get.
                name, entry = begins.get(offset, (None, None))
                size = entry["data_offsets"][1] - entry["data_offsets"][0] if entry else 0
                if size and offset + size <= end:
                    loaded.append(tensors.get_tensor(name).reshape(-1).view(numpy.uint8))
                    offset += size
                else:
                    following = min([at for at in begins if offset < at < end], default=end)
                    rest.append((offset, following - offset))
                    offset = following
    return loaded + by_readinto(path, rest)


def total_of_arrays(arrays):
    import numpy

    return sum(int(numpy.frombuffer(array, numpy.uint8).sum(dtype=numpy.uint64)) for array in arrays)


# Each way with the packages that it needs.
WAYS = {
    "readinto": (by_readinto, []),
    "mmap": (by_mmap, []),
    "fromfile": (by_fromfile, ["numpy"]),
    "safetensors": (by_safetensors, ["numpy", "safetensors"]),
}


class Loading:
    digest = None

    def __init__(self, name, values):
        self.load, packages = WAYS[name]
        self.total = total_of_arrays if packages else lambda all_of_it: sum(map(total_of, all_of_it))
        self.path, self.loaded = values["file"], None
        with open(values["ranges"], encoding="ascii") as lines:
            self.ranges = [tuple(map(int, line.split())) for line in lines]

    @staticmethod
    def why_not(name, values):
        """Why a way cannot be taken here, or None."""
        for package in WAYS[name][1]:
            try:
                __import__(package)
            except ImportError:
                return f"{package} is not installed: pip install {package}"
        if name == "safetensors" and not values["file"].endswith(".safetensors"):
            return "the file is no .safetensors file"
        return None

    def run(self, ops):
        for _ in range(ops):
            self.loaded = None
            self.loaded = self.load(self.path, self.ranges)
            total = self.total(self.loaded)
        return total

    def done(self, total, ops):
        self.loaded = None
        return f"bytes={sum(length for _, length in self.ranges) * ops} answer={total:016x}"
