// `/logs/…`: the node's own log files. Nothing outside the folder is served, neither by dots nor by links.

import { createReadStream } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, sep } from "node:path";
import { Fault } from "../../plugins/kit/fault.ts";
import { text } from "./answers.ts";
import { unknown } from "./path.ts";

export async function nodeFiles(dir: string, parts: readonly string[]): Promise<Response> {
  const names = parts.filter((part) => part !== "");
  if (names.some((name) => name === ".." || name === "." || name.includes("/") || name.includes("\0")))
    throw new Fault("invalid", "invalid path");
  let path: string;
  try {
    const root = await realpath(dir);
    path = await realpath(join(root, ...names));
    if (path !== root && !path.startsWith(`${root}${sep}`)) throw unknown();
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) throw unknown();
    throw error;
  }
  const found = await stat(path);
  if (found.isDirectory()) return listing(path);
  if (!found.isFile()) throw new Fault("forbidden", "only files are served");
  return new Response(bytesOf(path, found.size), {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-length": String(found.size),
      "x-content-type-options": "nosniff",
    },
  });
}

/** As many bytes as were announced: a log grows while it is read. */
function bytesOf(path: string, size: number): ReadableStream<Uint8Array> | null {
  if (size === 0) return null;
  const file = createReadStream(path, { end: size - 1 });
  const pieces = file[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void file.destroy(),
    },
    { highWaterMark: 0 },
  );
}

async function listing(path: string): Promise<Response> {
  const entries = await readdir(path, { withFileTypes: true });
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const rows = names.map((name) => `<a href="${encodeURIComponent(name).replace(/%2F$/, "/")}">${escaped(name)}</a>\n`);
  return text(`<!doctype html>\n<pre>\n${rows.join("")}</pre>\n`, 200, "text/html; charset=utf-8");
}

function escaped(name: string): string {
  return name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
