"""Methods in Python: `worker.py reading METHOD`, `worker.py decoding METHOD` and `worker.py loading METHOD` speak the
line protocol, `worker.py copying` copies standard input to standard output. Needs the standard library only; one method uses numpy where it is
installed, two of decoding use packages that bytelab installs beside this file."""
import mmap
import os
import resource
import shutil
import sys
import threading
import time
import tracemalloc
import zlib
from urllib.parse import unquote

# Of 256 bytes the sum is less than 65521, by which Adler-32 takes its remainder.
ADLER_BYTES = 256


def by_adler32(path, buffer):
    """readinto; zlib's Adler-32 adds the bytes up in C."""
    with open(path, "rb", buffering=0) as file:
        return added_by_adler32(file, buffer)


def added_by_adler32(file, buffer):
    adler32, view = zlib.adler32, memoryview(buffer)
    total = size = 0
    while n := file.readinto(view):
        for i in range(0, n, ADLER_BYTES):
            total += adler32(view[i : min(i + ADLER_BYTES, n)], 0) & 0xFFFF
        size += n
    return total, size


class Url:
    """A URL in place of a file's path; a server that does not answer is an OSError as well."""

    def __init__(self, url, certificates):
        # The other methods need not wait until these are imported.
        import ssl
        from urllib.request import HTTPSHandler, ProxyHandler, build_opener

        handlers = [ProxyHandler({})]
        if certificates:
            handlers.append(HTTPSHandler(context=ssl.create_default_context(cafile=certificates)))
        self.url, self.opener = url, build_opener(*handlers)


def by_urlopen(url, buffer):
    with url.opener.open(url.url) as body:
        return added_by_adler32(body, buffer)


def by_readinto(path, buffer):
    view = memoryview(buffer)
    total = size = 0
    with open(path, "rb", buffering=0) as file:
        while n := file.readinto(view):
            total += sum(view[:n])
            size += n
    return total, size


def by_read(path, buffer):
    total = size = 0
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(len(buffer)):
            total += sum(chunk)
            size += len(chunk)
    return total, size


def by_mmap(path, _buffer):
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        with memoryview(mapped) as view:
            return sum(view), len(view)


def by_for(path, buffer):
    total = size = 0
    with open(path, "rb", buffering=0) as file:
        while chunk := file.read(len(buffer)):
            for byte in chunk:
                total += byte
            size += len(chunk)
    return total, size


def by_numpy(path, buffer):
    numpy = sys.modules["numpy"]
    array = numpy.frombuffer(buffer, dtype=numpy.uint8)
    total = size = 0
    with open(path, "rb", buffering=0) as file:
        while n := file.readinto(buffer):
            total += int(array[:n].sum(dtype=numpy.uint64))
            size += n
    return total, size


METHODS = {
    "adler32": by_adler32,
    "readinto": by_readinto,
    "read": by_read,
    "mmap": by_mmap,
    "for": by_for,
    "numpy": by_numpy,
    "urlopen": by_urlopen,
}


def repeat(method, path, buffer, ops, results):
    try:
        for _ in range(ops):
            result = method(path, buffer)
        results.append(result)
    except (OSError, MemoryError) as error:
        results.append(error)


class Skip(Exception):
    """Why a method cannot do a job."""


class Reading:
    """The files, each with its buffer. One is read here, several by a thread each."""

    digest = None

    def __init__(self, name, values):
        if name == "numpy":
            try:
                import numpy  # noqa: F401
            except ImportError:
                raise Skip("numpy is not installed: pip install numpy") from None
        self.method = METHODS[name]
        numbers = [""] + [str(i) for i in range(2, 1 + int(values.get("parallel", 1)))]
        self.files = [
            (self.source(values, number), bytearray(int(values["buffer"]))) for number in numbers
        ]

    def source(self, values, number):
        if self.method is not by_urlopen:
            return values["file" + number]
        return Url(values["url" + number], values.get("certificates"))

    def run(self, ops):
        results = []
        if len(self.files) == 1:
            repeat(self.method, *self.files[0], ops, results)
        else:
            rest = [(self.method, *file, ops, results) for file in self.files]
            threads = [threading.Thread(target=repeat, args=arguments) for arguments in rest]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return results

    def done(self, results, ops):
        for result in results:
            if isinstance(result, Exception):
                raise result
        total, size = (sum(column) for column in zip(*results))
        return f"bytes={size * ops} answer={total:016x}"


def sample(task, n, ops):
    before = resource.getrusage(resource.RUSAGE_SELF)
    start_ns = time.monotonic_ns()
    result = task.run(ops)
    wall_ns = time.monotonic_ns() - start_ns
    after = resource.getrusage(resource.RUSAGE_SELF)
    user_ns = (after.ru_utime - before.ru_utime) * 1e9 / ops
    system_ns = (after.ru_stime - before.ru_stime) * 1e9 / ops
    told = f"done {n} wall={wall_ns} ops={ops} {task.done(result, ops)}"
    return f"{told} user_ns={user_ns:.1f} system_ns={system_ns:.1f}"


def pairs(words):
    return {name: unquote(value) for name, value in (word.split("=", 1) for word in words)}


def speak(name, prepare):
    """`prepare` makes the task of a point from its values."""
    if "BYTELAB_COUNTING" not in os.environ:
        # Tracing is for PYTHONTRACEMALLOC to ask for, and takes time.
        tracemalloc.stop()
    print(f"hello 1 name=python-{name} lang=python", flush=True)
    task = None
    for line in sys.stdin:
        verb, *words = line.split()
        if verb not in ("prepare", "go"):
            break
        try:
            if verb == "prepare":
                task = prepare(name, pairs(words))
                reply = "ready" if task.digest is None else f"ready digest={task.digest:016x}"
            else:
                reply = go(task, words)
        except Skip as reason:
            reply = f"skip {reason}"
        except Exception as error:
            reply = "fail " + (str(error) or type(error).__name__).replace("\n", " ")
        print(reply, flush=True)


def go(task, words):
    if tracemalloc.is_tracing():
        tracemalloc.clear_traces()
        tracemalloc.reset_peak()
    told = sample(task, words[0], int(pairs(words[1:]).get("ops", 1)))
    if tracemalloc.is_tracing():
        told += f" peak_live_bytes={tracemalloc.get_traced_memory()[1]}"
    return told


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "reading" and sys.argv[2] in METHODS:
        speak(sys.argv[2], Reading)
    elif len(sys.argv) == 3 and sys.argv[1] == "decoding":
        # Its packages need not be there for the other jobs.
        from decoding import Decoding

        speak(sys.argv[2], Decoding)
    elif len(sys.argv) == 3 and sys.argv[1] == "loading":
        from loading import Loading

        def prepare(name, values):
            if reason := Loading.why_not(name, values):
                raise Skip(reason)
            return Loading(name, values)

        speak(sys.argv[2], prepare)
    elif sys.argv[1:] == ["copying"]:
        shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer, 128 << 10)
        sys.stdout.buffer.flush()
    else:
        sys.exit("use: worker.py reading|decoding|loading METHOD | worker.py copying")


main()
