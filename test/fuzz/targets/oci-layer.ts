// Layers are unpacked into a folder of the run's own; its neighbour stands for the host and must stay as it is.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { decompress } from "../../../cri/native/images/decompress.ts";
import { unpackLayer } from "../../../cri/native/images/layer-unpack.ts";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import { type TestEntry, tarOf } from "../../harness/image-builder.ts";
import { check, refusal, type Target } from "../target.ts";

const limits = { entries: 200, bytes: 1 << 20 };
let outer: string;

async function* pieces(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += 333) yield bytes.subarray(at, at + 333);
}

const hostFile = () => join(outer, "host", "file");
const hostState = () => {
  const { mode, uid, gid, nlink, mtimeMs } = statSync(hostFile());
  const names = [...readdirSync(outer), ...readdirSync(join(outer, "host"))].sort();
  return JSON.stringify([mode, uid, gid, nlink, mtimeMs, readFileSync(hostFile(), "latin1"), names]);
};

const archives: readonly TestEntry[][] = [
  [
    { name: "a", type: "5" },
    { name: "a/f", content: "hello", mode: 0o4755 },
    { name: "a/h", type: "1", link: "a/f" },
    { name: "l", type: "2", link: "a" },
    { name: "l/g", content: "x" },
  ],
  [
    { name: "p", type: "6" },
    { name: "n", type: "3", major: 1, minor: 3 },
    { name: "a/.wh..wh..opq" },
    { name: ".wh.x" },
  ],
  [
    { name: "l", type: "2", link: "../host" },
    { name: "l/file", content: "evil" },
  ],
  [
    { name: "l", type: "2", link: "../host/file" },
    { name: "l", content: "evil" },
  ],
  [{ name: "h", type: "1", link: "../host/file" }],
  [
    { name: "d", type: "5" },
    { name: "d", type: "2", link: "../host" },
    { name: "d", type: "5", mode: 0o777 },
  ],
  [{ name: "x", content: "1", pax: { path: "long/name", "SCHILY.xattr.user.a": "b", mtime: "1.5", uid: "7" } }],
  [{ name: "x", pax: { size: "5", "GNU.sparse.major": "1" } }],
];

export const ociLayer: Target = {
  name: "OCI layer",
  corpus: [
    ...archives.map(tarOf),
    gzipSync(tarOf(archives[0] ?? [])),
    zstdCompressSync(tarOf(archives[0] ?? [])),
    gzipSync(Buffer.alloc(4 << 20)),
  ],
  words: [
    "../host/file",
    "../",
    "/",
    ".wh.",
    ".wh..wh..opq",
    "ustar\0",
    "0000000\0",
    "7777777\0",
    "path=",
    "linkpath=",
    "size=",
  ],
  shortRuns: 60,
  needsRoot: true,
  async open() {
    outer = mkdtempSync(join(tmpdir(), "skiff-fuzz-layer-"));
    mkdirSync(join(outer, "host"));
    writeFileSync(hostFile(), "host");
  },
  async run(input) {
    const into = join(outer, "layer");
    mkdirSync(into);
    const before = hostState();
    let shape = "ok";
    try {
      await unpackLayer(decompress(pieces(withCheckSums(input))), into, limits, uninterrupted);
    } catch (error) {
      shape = refusal(error);
    }
    check(hostState() === before, "the layer changed a file outside of its folder");
    rmSync(into, { recursive: true, force: true });
    return shape;
  },
  async close() {
    rmSync(outer, { recursive: true, force: true });
  },
};

/** Mutations break the sums of headers; with right ones they get further. */
function withCheckSums(tar: Buffer): Buffer {
  for (let at = 0; at + 512 <= tar.length; at += 512) {
    const block = tar.subarray(at, at + 512);
    if (block.toString("latin1", 257, 262) !== "ustar") continue;
    block.fill(" ", 148, 156);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  }
  return tar;
}
