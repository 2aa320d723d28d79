// From bytes to values by JSON.parse. The jobs and their answers are those of
// `crates/experiments/src/decoding/jobs.rs` in bytelab.
"use strict";
const fs = require("node:fs");

// A digest takes this program about a third of a microsecond a byte: of larger documents it gives none.
const DIGEST_BYTES_MAX = 16 << 20;

const parse = (bytes) => JSON.parse(bytes.toString("utf8"));

const print = (doc) => Buffer.from(JSON.stringify(doc));

// Each does a job once: what it leaves is the sum over the document, the value that was looked up, or nothing.
const JOBS = {
  convert: ({ bytes }) => void parse(bytes),
  parse: ({ bytes }) => void parse(bytes),
  "open-trusted": ({ bytes }) => void parse(bytes),
  lookup: ({ doc, steps }) => find(doc, steps),
  traverse: ({ doc, visit }) => visit(doc),
  "to-json": ({ doc }) => void print(doc),
  "bytes-to-name": ({ bytes, steps }) => find(parse(bytes), steps),
  "bytes-to-all": ({ bytes, visit }) => visit(parse(bytes)),
  "json-to-all": ({ bytes, visit }) => visit(parse(bytes)),
};

function prepare(_, values) {
  const bytes = fs.readFileSync(values.file);
  const [doc, once] = [parse(bytes), JOBS[values.job]];
  const visit = visitor(isAscii(doc) ? (text) => text.length : (text) => Buffer.byteLength(text));
  const point = { bytes, doc, visit, steps: values.pointer.split("/").slice(1).map(step) };
  const isLookedUp = values.job === "lookup" || values.job === "bytes-to-name";
  const hasDigest = "BYTELAB_DIGEST" in process.env || "BYTELAB_FRESH" in process.env;
  return {
    digest: hasDigest || bytes.length > DIGEST_BYTES_MAX ? undefined : hex(digest(parse(print(doc)))),
    run(ops) {
      let result;
      for (let i = 0; i < ops; i++) result = once(point);
      return result;
    },
    done(result) {
      const answer = result === undefined ? "" : ` answer=${hex(isLookedUp ? mark(result) : result())}`;
      return `bytes=0${answer} size_bytes=${bytes.length}`;
    },
  };
}

const hex = (number) => BigInt.asUintN(64, number).toString(16).padStart(16, "0");

// A token of a JSON Pointer.
const step = (token) => (/^[0-9]+$/.test(token) ? Number(token) : token.replaceAll("~1", "/").replaceAll("~0", "~"));

function find(doc, steps) {
  let value = doc;
  for (let i = 0; i < steps.length; i++) value = value[steps[i]];
  return value;
}

function isAscii(value) {
  if (typeof value === "string") return !/[^\x00-\x7f]/.test(value);
  if (value === null || typeof value !== "object") return true;
  if (Array.isArray(value)) return value.every(isAscii);
  return Object.entries(value).every(([key, item]) => isAscii(key) && isAscii(item));
}

// Adds up the lengths in UTF-8 of texts and keys, and the whole parts of numbers. The sum is of 64 bits: what a double
// cannot hold exactly goes to a BigInt.
function visitor(lengthOf) {
  let small = 0;
  let large = 0n;

  function add(number) {
    const sum = small + number;
    if (sum <= Number.MAX_SAFE_INTEGER && sum >= -Number.MAX_SAFE_INTEGER) {
      small = sum;
    } else {
      large += BigInt(small) + whole(number);
      small = 0;
    }
  }

  function visit(value) {
    if (typeof value === "string") {
      add(lengthOf(value));
    } else if (typeof value === "number") {
      add(Math.trunc(value));
    } else if (typeof value === "boolean") {
      add(value ? 1 : 0);
    } else if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) visit(value[i]);
    } else if (value !== null) {
      for (const key in value) {
        add(lengthOf(key));
        visit(value[key]);
      }
    }
  }

  return (doc) => {
    small = 0;
    large = 0n;
    visit(doc);
    const [low, high] = [small, large];
    return () => BigInt(low) + high;
  };
}

// As a double is made an integer of 64 bits in Rust: what is too large becomes the largest.
function whole(number) {
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  const exact = BigInt(Math.trunc(number));
  return exact < least ? least : exact > most ? most : exact;
}

const view = new DataView(new ArrayBuffer(8));

function bits(number) {
  view.setFloat64(0, number);
  return view.getBigUint64(0);
}

// What stands for a value that was looked up.
function mark(value) {
  if (typeof value === "string") {
    const text = Buffer.from(value);
    return BigInt(text.length) + (text.length < 4 ? 0n : BigInt(text.readUInt32LE()) << 32n);
  }
  if (typeof value === "number") return bits(value);
  if (typeof value === "boolean") return value ? 1n : 0n;
  return value === null ? 0n : 1n;
}

// The digest of `crates/experiments/src/decoding/jobs.rs`.
function digest(value) {
  if (value === null) return 1n;
  if (typeof value === "boolean") return value ? 3n : 2n;
  if (typeof value === "number") return mixed(4n, bits(value + 0));
  if (typeof value === "string") return digestOfText(5n, value);
  if (Array.isArray(value)) return value.reduce((sum, item) => mixed(sum, digest(item)), 6n);
  return Object.entries(value).reduce(
    (sum, [key, item]) => BigInt.asUintN(64, sum + mixed(digestOfText(8n, key), digest(item))),
    7n,
  );
}

function digestOfText(start, text) {
  return Buffer.from(text).reduce((sum, byte) => mixed(sum, BigInt(byte)), start);
}

// The finaliser of splitmix64 over the sum so far.
function mixed(sum, next) {
  let z = BigInt.asUintN(64, sum * 0x9e3779b97f4a7c15n) ^ next;
  z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
  z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
  return z ^ (z >> 31n);
}

module.exports = prepare;
