// A method of `reading` for Node: bytelab run reading --worker 'mine=node examples/worker.js'
"use strict";
const fs = require("node:fs");

let path;
console.log("hello 1 name=mine lang=node");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const [verb, ...rest] = line.split(" ");
  if (verb === "prepare") {
    path = decodeURIComponent(rest.find((pair) => pair.startsWith("file=")).slice("file=".length));
    console.log("ready");
  } else if (verb === "go") {
    const start = process.hrtime.bigint();
    const all = fs.readFileSync(path);
    let total = 0;
    for (const byte of all) total += byte;
    const wall = process.hrtime.bigint() - start;
    console.log(`done ${rest[0]} wall=${wall} bytes=${all.length} answer=${total.toString(16).padStart(16, "0")}`);
  }
}).on("close", () => process.exit());
