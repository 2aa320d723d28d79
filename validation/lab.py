"""What the scripts of this folder share: options, processes that spin, runs of bytelab as JSON, statistics, logs."""

import argparse
import contextlib
import json
import math
import os
import pathlib
import pty
import random
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import termios
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BYTELAB = str(ROOT / "target/release/bytelab")
# The program of $HYPERFINE, the one that CI installs, or that of the PATH.
PATHS = f"{ROOT}/target/hyperfine/bin:{os.environ.get('PATH', '')}"
HYPERFINE = shutil.which(os.environ.get("HYPERFINE", "hyperfine"), path=PATHS) or "hyperfine"
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|[\r\x08]")
NULL = os.open(os.devnull, os.O_RDWR)


def options(description, **defaults):
    """The options of a script: --NAME of the type of its default, a switch where that is False; a list is what is positional.

    SIGTERM and SIGINT end the script like an error, so that blocks of `finally` and `with` clean up.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        if isinstance(default, list):
            parser.add_argument(name, nargs="*", default=default)
        elif default is False:
            parser.add_argument(f"--{name.replace('_', '-')}", action="store_true")
        else:
            parser.add_argument(f"--{name.replace('_', '-')}", type=type(default), default=default)
    chosen = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(f"{parser.prog}: stopped"))
    return chosen


def log(path):
    """A function that writes its words as a line, separated by tabs, at once: to a file, or without a path to stdout."""
    file = open(path, "w", encoding="utf-8") if path else sys.stdout
    return lambda *words: print(*words, sep="\t", file=file, flush=True)


def journal(path):
    """The records of a file of JSON lines, and a function that adds one at once; without a path nothing is kept.

    A script that finds its own records there goes on where it was stopped.
    """
    if not path:
        return [], lambda record: None
    file = open(path, "a+", encoding="utf-8")
    file.seek(0)
    lines, records = file.read().splitlines(keepends=True), []
    for line in lines:
        # The last line of a script that was killed may lack its end.
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    if lines and not lines[-1].endswith("\n"):
        file.write("\n")

    def add(record):
        file.write(json.dumps(record) + "\n")
        file.flush()

    return records, add


@contextlib.contextmanager
def started(command, **streams):
    """A program that is asked to end, and waited for, where the block, or this script, ends before it does.

    Bytelab then removes what it has made and mounted, and ends what it has started.
    """
    with subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *command], text=True, **streams) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            try:
                process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


@contextlib.contextmanager
def scratch(parent, name):
    """A new folder, which is removed afterwards with what is mounted in it; that of a script which was killed, before."""

    def remove(folder):
        mounts = pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        for point in (line.split()[1] for line in mounts):
            if point.startswith(f"{folder}/"):
                subprocess.run(["umount", "-l", point], check=False)
        shutil.rmtree(folder, ignore_errors=True)

    parent = pathlib.Path(parent).resolve()
    for old in parent.glob(f"{name}-*"):
        process = old.name.removeprefix(f"{name}-")
        if process.isdigit() and not pathlib.Path("/proc", process).exists():
            remove(old)
    folder = parent / f"{name}-{os.getpid()}"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        remove(folder)


@contextlib.contextmanager
def burners(n):
    """Processes that want a CPU all the time. The kernel ends them when the thread that started them ends."""
    spin = ["setpriv", "--pdeathsig", "KILL", "sh", "-c", "while :; do :; done"]
    started = []
    try:
        for _ in range(n):
            started.append(subprocess.Popen(spin, stdin=subprocess.DEVNULL, start_new_session=True))
        yield
    finally:
        for burner in started:
            burner.kill()
            burner.wait()


def start(argv):
    """Runs a program with /dev/null for input, output and errors; its seconds and its `rusage`."""
    begun = time.perf_counter()
    actions = [(os.POSIX_SPAWN_DUP2, NULL, end) for end in (0, 1, 2)]
    _, status, usage = os.wait4(os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions), 0)
    seconds = time.perf_counter() - begun
    if status != 0:
        sys.exit(f"{shlex.join(argv)}: wait status {status}")
    return seconds, usage


def drain(fd, seen):
    """Reads a terminal or a pipe until its end, and calls `seen` with each part."""
    # A terminal that no process has open any more ends with an error.
    with contextlib.suppress(OSError):
        while part := os.read(fd, 1 << 16):
            seen(part)


def on_a_terminal(words, figure):
    """Runs a program on a terminal of its own.

    What it wrote, the seconds until a text of the pattern `figure` was there and until the end, and the exit status.
    """
    begun = time.monotonic()
    child, terminal = pty.fork()
    if child == 0:
        termios.tcsetwinsize(0, (40, 120))
        os.execvpe(words[0], words, {**os.environ, "TERM": "xterm-256color"})
    text, first = bytearray(), []

    def shown():
        return ESCAPES.sub(b"", text).decode("utf-8", "replace")

    def seen(part):
        text.extend(part)
        if not first and figure.search(shown()):
            first.append(time.monotonic() - begun)

    drain(terminal, seen)
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    ended = time.monotonic() - begun
    return shown(), first[0] if first else ended, ended, os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def store():
    """A folder for the store and the data of all runs of bytelab below, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"BYTELAB_STORE": f"{folder}/runs.sqlite", "BYTELAB_DATA_DIR": folder}
        yield pathlib.Path(folder)


def experiment(path, question, commands, data=""):
    """Writes the file of an experiment with a method for each command, given as a list of words; returns its path."""
    text = f"question = {json.dumps(question)}\n{data}"
    for name, words in commands.items():
        text += f"\n[[method]]\nname = {json.dumps(name)}\ncommand = {json.dumps(words)}\n"
    path.write_text(text, encoding="utf-8")
    return str(path)


def run(program, *words, stderr=subprocess.PIPE):
    """Runs bytelab; the JSON document of its run."""
    command = [program, *words, "--json"]
    ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
    if ran.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit status {ran.returncode}\n{ran.stderr or ''}")
    return json.loads(ran.stdout)


def attempt(program, *words):
    """Runs bytelab, which may skip methods; the JSON document of its run, or the last line of its errors."""
    with started([program, *words, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
        printed, errors = ran.communicate()
    try:
        return json.loads(printed)
    except ValueError:
        return (errors.strip().splitlines() or ["no result"])[-1]


def decisive(document):
    """The comparisons whose metric decides the verdict."""
    return [comparison for comparison in document["comparisons"] if comparison["decides"]]


def p50(document, metric):
    """The median of a metric of the first cell, or nothing."""
    return document["cells"][0]["metrics"].get(metric, {}).get("p50")


def spread(values):
    """The median of some values, and their range."""
    return f"{statistics.median(values):.2f} ({min(values):.2f}–{max(values):.2f})"


def median_interval(values):
    """The median and the order statistics around it that hold the true one in 95 % of cases."""
    values, n = sorted(values), len(values)
    half = math.ceil(0.98 * math.sqrt(n))
    return statistics.median(values), values[max(n // 2 - half, 0)], values[min(n // 2 + half, n - 1)]


def ratio_of_medians(ours, theirs, draws=2000):
    """The ratio of two medians of the same rounds, and what holds 95 % of it if the rounds are drawn anew (seed 7)."""
    seed, rounds = random.Random(7), range(len(ours))

    def ratio(which):
        return statistics.median([ours[n] for n in which]) / statistics.median([theirs[n] for n in which])

    drawn = sorted(ratio(seed.choices(rounds, k=len(rounds))) for _ in range(draws))
    return ratio(rounds), drawn[draws // 40], drawn[-draws // 40 - 1]


def student_quantile(freedom):
    """Student's quantile at 97.5 % (Abramowitz and Stegun 26.7.5): 0.7 % too small for 2 degrees of freedom, 0.1 % for 3."""
    if freedom < 2:
        return math.inf
    z = statistics.NormalDist().inv_cdf(0.975)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, 1))


def mean_interval(values):
    """The mean and half the width of Student's interval of 95 %; infinite below three values."""
    if len(values) < 3:
        return statistics.mean(values), math.inf
    half = student_quantile(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), half


def means_differ(first, second):
    """Whether Welch's test finds a difference of two means (p < 0.05)."""
    errors = [statistics.variance(side) / len(side) for side in (first, second)]
    difference = abs(statistics.mean(first) - statistics.mean(second))
    if sum(errors) == 0.0:
        return difference > 0.0
    freedom = sum(errors) ** 2 / sum(e * e / (len(side) - 1) for e, side in zip(errors, (first, second)))
    return difference > student_quantile(freedom) * math.sqrt(sum(errors))
