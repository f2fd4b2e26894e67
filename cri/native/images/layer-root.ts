// The folder that a layer is unpacked into. Turns names from an archive into paths that cannot lie outside of it:
// `..` is refused, and no component is ever followed by the kernel when it is a link.
// Invariant: nobody else writes below the folder meanwhile, so what was looked at once stays true until it is replaced.

import { lstatSync, mkdirSync, readlinkSync, type Stats, unlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../../plugins/kit/fault.ts";

const maxDepth = 200;
const maxNameBytes = 4000;
const maxPartBytes = 255;
const maxLinks = 40;

export class LayerRoot {
  readonly path: string;
  #folders = new Set<string>([""]);
  /** Folders that no entry of the archive spoke of yet, but that its entries lie in. */
  readonly implied = new Set<string>();

  constructor(path: string) {
    this.path = path;
  }

  /** The components of a name in the archive; none for the root itself. */
  components(name: string): string[] {
    if (Buffer.byteLength(name) > maxNameBytes || name.includes("\0")) throw escape(name, "its name is not a path");
    const parts = name.split("/").filter((part) => part !== "" && part !== ".");
    if (parts.includes("..")) throw escape(name, 'its name has a ".." in it');
    if (parts.some((part) => Buffer.byteLength(part) > maxPartBytes))
      throw escape(name, `a part of its name is longer than ${maxPartBytes} bytes`);
    if (parts.length > maxDepth) throw escape(name, `it lies deeper than ${maxDepth} folders`);
    return parts;
  }

  absolute(relative: string): string {
    return join(this.path, relative);
  }

  look(relative: string): Stats | undefined {
    return lstatSync(this.absolute(relative), { throwIfNoEntry: false });
  }

  /** The real place of the folder made of these components, made where it is missing. */
  folder(parts: readonly string[], name: string, make: boolean): string {
    let at = "";
    const queue = [...parts];
    let links = 0;
    while (queue.length > 0) {
      const part = queue.shift() as string;
      if (part === "..") {
        if (at === "") throw escape(name, "a link on its way leads out of the image");
        at = at.includes("/") ? at.slice(0, at.lastIndexOf("/")) : "";
        continue;
      }
      const next = at === "" ? part : `${at}/${part}`;
      if (!this.#folders.has(next)) {
        const found = this.look(next);
        if (found?.isSymbolicLink()) {
          const target = readlinkSync(this.absolute(next));
          if (target.startsWith("/")) throw escape(name, `"${next}" on its way is a link to "${target}"`);
          if (++links > maxLinks) throw escape(name, "the links on its way go in circles");
          queue.unshift(...target.split("/").filter((piece) => piece !== "" && piece !== "."));
          continue;
        }
        if (found && !found.isDirectory()) throw escape(name, `"${next}" on its way is not a folder`);
        if (!found) {
          if (!make) throw escape(name, `"${next}" does not exist in this layer`);
          mkdirSync(this.absolute(next), { mode: 0o755 });
          this.implied.add(next);
        }
        this.#folders.add(next);
      }
      at = next;
    }
    return at;
  }

  /** Makes room at the path: whatever stood there is gone. */
  async clear(relative: string, before: Stats): Promise<void> {
    if (!before.isDirectory()) return unlinkSync(this.absolute(relative));
    await rm(this.absolute(relative), { recursive: true, force: true });
    // Everything is looked at anew: finding what lay below in a large set, again and again, would be a way to keep us busy.
    this.#folders = new Set([""]);
  }

  /** Folders that no entry spoke of and that are still there. */
  impliedFolders(): string[] {
    return [...this.implied].filter((folder) => realFolder(this.path, folder));
  }
}

/** The folder below a root, if every component on the way is a folder itself and none a link; undefined otherwise. */
export function realFolder(root: string, relative: string): Stats | undefined {
  let at = root;
  let found = lstatSync(root);
  for (const part of relative.split("/").filter(Boolean)) {
    at = join(at, part);
    const next = lstatSync(at, { throwIfNoEntry: false });
    if (!next?.isDirectory()) return undefined;
    found = next;
  }
  return found;
}

export function escape(name: string, why: string): Fault {
  return new Fault("invalid", `Cannot unpack "${name.slice(0, 200)}" of an image layer: ${why}`);
}
