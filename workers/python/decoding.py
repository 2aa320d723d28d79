"""From bytes to values in Python: JSON by the standard library or by orjson, and MessagePack. The jobs and their answers
are those of `crates/experiments/src/decoding/jobs.rs` in bytelab."""
import json
import os
import struct

# All sums are of 64 bits.
MASK = (1 << 64) - 1
# Integers up to here are the same as a double.
EXACT_MAX = 1 << 53
# A digest takes this program about half a microsecond a byte: of larger documents it gives none.
DIGEST_BYTES_MAX = 16 << 20


def json_text(doc):
    return json.dumps(doc, separators=(",", ":"), ensure_ascii=False).encode()


class Json:
    is_json = True
    read = staticmethod(json.loads)
    write_json = staticmethod(json_text)


class Orjson:
    is_json = True

    def __init__(self):
        import orjson

        self.read, self.write_json = orjson.loads, orjson.dumps


class MessagePack:
    is_json = False
    write_json = staticmethod(json_text)

    def __init__(self):
        import msgpack

        self.read, self.pack = msgpack.unpackb, msgpack.packb

    def write(self, text):
        """Through the values that the text has in Python."""
        try:
            return self.pack(json.loads(text))
        except OverflowError:
            # MessagePack has integers of up to 64 bits; larger ones become doubles, as elsewhere.
            return self.pack(json.loads(text, parse_int=narrow))


def narrow(digits):
    number = int(digits)
    return number if -(1 << 63) <= number < 1 << 64 else float(number)


FORMATS = {"json": Json, "orjson": Orjson, "msgpack": MessagePack}


class Decoding:
    """A document, and what one job does with it."""

    def __init__(self, name, values):
        if name not in FORMATS:
            raise ValueError(f"there is no method {name}")
        self.format = FORMATS[name]()
        with open(values["file"], "rb") as file:
            self.text = file.read()
        self.bytes = self.text if self.format.is_json else self.format.write(self.text)
        self.doc = self.format.read(self.bytes)
        self.steps = [step(token) for token in values["pointer"].split("/")[1:]]
        self.run = JOBS[values["job"]].__get__(self)
        # What is looked up is turned into an answer when the time is taken.
        self.answer = {"lookup": mark, "bytes-to-name": mark}.get(values["job"], lambda sum_of_all: sum_of_all)
        self.digest = None
        has_digest = "BYTELAB_DIGEST" in os.environ or "BYTELAB_FRESH" in os.environ
        if not has_digest and len(self.text) <= DIGEST_BYTES_MAX:
            again = json.loads if name == "msgpack" else self.format.read
            self.digest = digest(again(self.format.write_json(self.doc)), {})

    def done(self, result, _ops):
        answer = "" if result is None else f" answer={self.answer(result) & MASK:016x}"
        return f"bytes=0{answer} size_bytes={len(self.bytes)}"

    def convert(self, ops):
        make, text = self.format.read if self.format.is_json else self.format.write, self.text
        for _ in range(ops):
            make(text)

    def parse(self, ops):
        read, data = self.format.read, self.bytes
        for _ in range(ops):
            read(data)

    def look_up(self, ops):
        doc, steps = self.doc, self.steps
        for _ in range(ops):
            found = find(doc, steps)
        return Found(found)

    def traverse(self, ops):
        doc = self.doc
        for _ in range(ops):
            total = visit(doc)
        return total

    def to_json(self, ops):
        doc, write = self.doc, self.format.write_json
        for _ in range(ops):
            write(doc)

    def bytes_to_name(self, ops):
        read, data, steps = self.format.read, self.bytes, self.steps
        for _ in range(ops):
            # The value goes before the next one is made.
            found = find(read(data), steps)
        return Found(found)

    def bytes_to_all(self, ops):
        read, data = self.format.read, self.bytes
        for _ in range(ops):
            total = visit(read(data))
        return total

    def json_to_all(self, ops):
        if self.format.is_json:
            return self.bytes_to_all(ops)
        read, write, text = self.format.read, self.format.write, self.text
        for _ in range(ops):
            total = visit(read(write(text)))
        return total


JOBS = {
    "convert": Decoding.convert,
    "parse": Decoding.parse,
    "open-trusted": Decoding.parse,
    "lookup": Decoding.look_up,
    "traverse": Decoding.traverse,
    "to-json": Decoding.to_json,
    "bytes-to-name": Decoding.bytes_to_name,
    "bytes-to-all": Decoding.bytes_to_all,
    "json-to-all": Decoding.json_to_all,
}


class Found:
    """A value that was looked up, which may be None."""

    def __init__(self, value):
        self.value = value


def step(token):
    return int(token) if token.isdecimal() else token.replace("~1", "/").replace("~0", "~")


def find(value, steps):
    for key in steps:
        value = value[key]
    return value


def visit(value):
    """The sum of the lengths in UTF-8 of texts and keys, and of the whole parts of numbers."""
    kind = type(value)
    if kind is str:
        return len(value) if value.isascii() else len(value.encode())
    if kind is dict:
        total = 0
        for key, item in value.items():
            total += (len(key) if key.isascii() else len(key.encode())) + visit(item)
        return total
    if kind is list:
        return sum(map(visit, value))
    if kind is int or kind is float:
        return whole(value)
    return 1 if value is True else 0


def whole(number):
    """As a double is made an integer of 64 bits in Rust: what is too large becomes the largest."""
    if -EXACT_MAX <= number <= EXACT_MAX:
        return int(number)
    return max(-(1 << 63), min((1 << 63) - 1, int(float(number))))


def bits(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def mark(found):
    value = found.value
    if isinstance(value, str):
        text = value.encode()
        return len(text) + (int.from_bytes(text[:4], "little") << 32 if len(text) >= 4 else 0)
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return bits(float(value))
    return 0 if value is None else 1


def digest(value, known):
    """The digest of `crates/experiments/src/decoding/jobs.rs`.

    Texts that were met are kept in `known`.
    """
    if value is None:
        return 1
    if isinstance(value, bool):
        return 2 + value
    if isinstance(value, (int, float)):
        return mixed(4, bits(float(value) + 0.0))
    if isinstance(value, str):
        return digest_of_text(5, value, known)
    if isinstance(value, list):
        total = 6
        for item in value:
            total = mixed(total, digest(item, known))
        return total
    total = 7
    for key, item in value.items():
        total += mixed(digest_of_text(8, key, known), digest(item, known))
    return total & MASK


def digest_of_text(start, text, known):
    if (start, text) not in known:
        total = start
        for byte in text.encode():
            total = mixed(total, byte)
        known[start, text] = total
    return known[start, text]


def mixed(total, more):
    """The finaliser of splitmix64 over the sum so far."""
    z = (total * 0x9E3779B97F4A7C15 & MASK) ^ more
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31
