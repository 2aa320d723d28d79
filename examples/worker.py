"""A method of `reading` in Python: `bytelab run reading --worker 'mine=python3 examples/worker.py'`."""
import sys
import time
from urllib.parse import unquote

print("hello 1 name=mine lang=python", flush=True)
for line in sys.stdin:
    verb, *rest = line.split()
    if verb == "prepare":
        arguments = {name: unquote(value) for name, value in (pair.split("=", 1) for pair in rest)}
        print("ready", flush=True)
    elif verb == "go":
        start_ns = time.monotonic_ns()
        total = size = 0
        with open(arguments["file"], "rb", buffering=0) as file:
            while chunk := file.read(128 << 10):
                total += sum(chunk)
                size += len(chunk)
        wall_ns = time.monotonic_ns() - start_ns
        print(f"done {rest[0]} wall={wall_ns} bytes={size} answer={total:016x}", flush=True)
    else:
        break
