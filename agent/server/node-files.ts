// `/logs/…`: the node's own log files. Nothing outside the folder is served, neither by dots nor by links.

import { type FileHandle, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { Folder } from "../../plugins/kit/os/safe-files/folder.ts";
import { openBeneath } from "../../plugins/kit/os/safe-files/open-beneath.ts";
import { openRegularBeneath } from "../../plugins/kit/os/safe-files/regular-file.ts";
import { text } from "./answers.ts";
import { unknown } from "./path.ts";

export async function nodeFiles(dir: string, parts: readonly string[]): Promise<Response> {
  const names = parts.filter((part) => part !== "");
  if (names.some((name) => name === ".." || name === "." || name.includes("/") || name.includes("\0")))
    throw new Fault("invalid", "invalid path");
  let root: string;
  let path: string;
  try {
    root = await realpath(dir);
    path = await realpath(join(root, ...names));
    if (path !== root && !path.startsWith(`${root}${sep}`)) throw unknown();
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")) throw unknown();
    throw error;
  }
  // What the path means may have changed since: from here on no link is followed, and nothing but files is opened.
  const place = path.slice(root.length + 1);
  const folder = folderAt(root, place);
  if (folder) return listing(folder);
  const file = await openRegularBeneath(root, place).catch((error: unknown) => {
    throw isFault(error, "not-found") ? unknown() : new Fault("forbidden", "only files are served", { cause: error });
  });
  const { size } = await file.stat();
  return new Response(await bytesOf(file, size), {
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "content-length": String(size),
      "x-content-type-options": "nosniff",
    },
  });
}

function folderAt(root: string, place: string): Folder | undefined {
  try {
    const found = new Folder(openBeneath(root, place));
    if (found.stats().isDirectory()) return found;
    found.close();
    return undefined;
  } catch (error) {
    if (isFault(error, "not-found") || isFault(error, "forbidden")) throw unknown();
    throw error;
  }
}

const blockBytes = 64 * 1024;

/** As many bytes as were announced: a log grows while it is read. Closes the file. */
async function bytesOf(file: FileHandle, size: number): Promise<ReadableStream<Uint8Array> | null> {
  if (size === 0) {
    await file.close();
    return null;
  }
  let position = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const length = Math.min(blockBytes, size - position);
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
        position += bytesRead;
        if (bytesRead > 0) controller.enqueue(buffer.subarray(0, bytesRead));
        if (bytesRead > 0 && position < size) return;
        await file.close();
        controller.close();
      },
      cancel: () => file.close(),
    },
    { highWaterMark: 0 },
  );
}

async function listing(folder: Folder): Promise<Response> {
  const entries = await readdir(folder.path, { withFileTypes: true }).finally(() => folder.close());
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).sort();
  const rows = names.map((name) => `<a href="${encodeURIComponent(name).replace(/%2F$/, "/")}">${escaped(name)}</a>\n`);
  return text(`<!doctype html>\n<pre>\n${rows.join("")}</pre>\n`, 200, "text/html; charset=utf-8");
}

function escaped(name: string): string {
  return name.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
