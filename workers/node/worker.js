// Methods in JavaScript, for Node: `worker.js reading METHOD` and `worker.js decoding METHOD` speak the line protocol,
// `worker.js copying` copies standard input to standard output.
"use strict";
const fs = require("node:fs");
const { promisify } = require("node:util");

const readInto = promisify(fs.read);

// The sum of the first `length` bytes.
function sum(buffer, length) {
  let total = 0;
  for (let i = 0; i < length; i++) total += buffer[i];
  return total;
}

// What is left of a stream: the sum of all bytes, and how many there were.
async function sumAll(stream) {
  let total = 0;
  let bytes = 0;
  for await (const chunk of stream) {
    total += sum(chunk, chunk.length);
    bytes += chunk.length;
  }
  return { total, bytes };
}

function ensureOk({ url }, status) {
  if (status !== 200) throw new Error(`${url} was answered with status ${status}`);
}

// Each takes a path, a buffer and what there is of a URL, and gives the sum of all bytes and how many there were.
const METHODS = {
  "read-sync"(path, buffer) {
    const file = fs.openSync(path);
    let total = 0;
    let bytes = 0;
    try {
      for (let n; (n = fs.readSync(file, buffer)) > 0; bytes += n) total += sum(buffer, n);
    } finally {
      fs.closeSync(file);
    }
    return { total, bytes };
  },

  async read(path, buffer) {
    const file = fs.openSync(path);
    let total = 0;
    let bytes = 0;
    try {
      for (;;) {
        const { bytesRead } = await readInto(file, buffer, 0, buffer.length, null);
        if (bytesRead === 0) return { total, bytes };
        total += sum(buffer, bytesRead);
        bytes += bytesRead;
      }
    } finally {
      fs.closeSync(file);
    }
  },

  "read-file-sync"(path) {
    const all = fs.readFileSync(path);
    return { total: sum(all, all.length), bytes: all.length };
  },

  "read-stream"(path, buffer) {
    return sumAll(fs.createReadStream(path, { highWaterMark: buffer.length }));
  },

  async "http-get"(_path, _buffer, remote) {
    const response = await new Promise((answered, failed) => {
      remote.get(remote.url, { agent: remote.agent }, answered).on("error", failed);
    });
    ensureOk(remote, response.statusCode);
    return sumAll(response);
  },

  async fetch(_path, _buffer, remote) {
    const response = await fetch(remote.url);
    ensureOk(remote, response.status);
    return sumAll(response.body);
  },

  "for-of"(path, buffer) {
    const file = fs.openSync(path);
    let total = 0;
    let bytes = 0;
    try {
      for (let n; (n = fs.readSync(file, buffer)) > 0; bytes += n) {
        for (const byte of buffer.subarray(0, n)) total += byte;
      }
    } finally {
      fs.closeSync(file);
    }
    return { total, bytes };
  },
};

async function repeat(method, { path, buffer, remote }, ops) {
  let result;
  for (let i = 0; i < ops; i++) result = await method(path, buffer, remote);
  return result;
}

// A program has one thread: of several files those are read at once that are waited for.
function reading(name, values) {
  const [method, files] = [METHODS[name], filesOf(values)];
  return {
    run: (ops) => Promise.all(files.map((file) => repeat(method, file, ops))),
    done(results, ops) {
      const total = results.reduce((all, result) => all + result.total, 0);
      const bytes = results.reduce((all, result) => all + result.bytes, 0) * ops;
      return `bytes=${bytes} answer=${total.toString(16).padStart(16, "0")}`;
    },
  };
}

async function sample(task, n, ops) {
  const before = process.cpuUsage();
  const start = process.hrtime.bigint();
  const result = await task.run(ops);
  const wall = process.hrtime.bigint() - start;
  // In microseconds.
  const { user, system } = process.cpuUsage(before);
  const cpu = `user_ns=${(user * 1000) / ops} system_ns=${(system * 1000) / ops}`;
  return `done ${n} wall=${wall} ops=${ops} ${task.done(result, ops)} ${cpu}`;
}

function pairs(words) {
  return Object.fromEntries(
    words.map((word) => {
      const [name, value] = word.split("=");
      return [name, decodeURIComponent(value)];
    }),
  );
}

function filesOf(values) {
  const numbers = [""];
  while (`file${numbers.length + 1}` in values) numbers.push(numbers.length + 1);
  return numbers.map((number) => ({
    path: values[`file${number}`],
    buffer: Buffer.alloc(Number(values.buffer)),
    remote: remoteOf(values[`url${number}`], values.certificates),
  }));
}

// The URL, and the agent that keeps its connection and trusts the certificates of this file.
function remoteOf(url, certificates) {
  if (url === undefined) return undefined;
  const ca = certificates && fs.readFileSync(certificates);
  // The other methods need not wait until it is loaded.
  const { Agent, get } = require(ca ? "node:https" : "node:http");
  return { url, get, agent: new Agent({ keepAlive: true, ca }) };
}

// Lines of standard input, which is waited for here: nothing else is to be done meanwhile.
function* orders() {
  const buffer = Buffer.alloc(64 << 10);
  let heard = "";
  for (let n; (n = fs.readSync(0, buffer)) > 0; ) {
    heard += buffer.toString("latin1", 0, n);
    for (let end; (end = heard.indexOf("\n")) >= 0; heard = heard.slice(end + 1)) yield heard.slice(0, end);
  }
}

function say(line) {
  fs.writeSync(1, `${line.replace(/[^ -~]/g, "?")}\n`);
}

// `prepare` makes the task of a point from its values.
async function speak(name, prepare) {
  let task;
  say(`hello 1 name=node-${name} lang=node`);
  for (const order of orders()) {
    const [verb, ...words] = order.split(" ");
    if (verb !== "prepare" && verb !== "go") break;
    try {
      if (verb === "prepare") {
        task = prepare(name, pairs(words));
        say(task.digest === undefined ? "ready" : `ready digest=${task.digest}`);
      } else {
        say(await sample(task, words[0], Number(pairs(words.slice(1)).ops ?? 1)));
      }
    } catch (error) {
      say(`fail ${error.message}`);
    }
  }
}

const [job, name] = process.argv.slice(2);
if (job === "reading" && name in METHODS) {
  speak(name, reading);
} else if (job === "decoding" && name === "json") {
  speak(name, require("./decoding.js"));
} else if (job === "copying") {
  process.stdin.pipe(process.stdout);
} else {
  console.error("use: worker.js reading METHOD | worker.js decoding json | worker.js copying");
  process.exitCode = 2;
}
