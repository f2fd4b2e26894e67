// Fuzzes one target for some seconds, in a process of its own: node child.ts <target> <seconds> <seed> <file for the current input>.
// Ends with a line of JSON; a process that ends otherwise leaves the input it was at in the file.

import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { Coverage } from "./coverage.ts";
import { fuzz } from "./engine.ts";
import { targets } from "./targets.ts";

const [name, seconds, seed, path] = process.argv.slice(2);
const target = targets.find((each) => each.name === name);
if (!target || !path) throw new Error(`there is no target ${name}`);

const file = openSync(path, "w");
const until = performance.now() + Number(seconds) * 1000;
await target.open?.();
const coverage = new Coverage();
await coverage.start();
const { finding, ...counts } = await fuzz(target, {
  seed: Number(seed),
  wants: () => performance.now() < until,
  onInput(input) {
    ftruncateSync(file);
    writeSync(file, input, 0, input.length, 0);
  },
  covered: () => coverage.take(),
});
coverage.stop();
closeSync(file);
const error =
  finding && (finding.error instanceof Error ? (finding.error.stack ?? finding.error.message) : String(finding.error));
console.log(JSON.stringify({ ...counts, ...(error === undefined ? {} : { error }) }));
if (!finding) await target.close?.();
process.exit(finding ? 1 : 0);
