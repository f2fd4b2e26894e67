// The folder that a layer is unpacked into. Turns names from an archive into places that cannot lie outside of it: `..` is refused, links
// of the archive are resolved here, and every place is named from an open handle of its folder, so that no component is ever followed by
// the kernel when it is a link, whoever put it there.

import type { Stats } from "node:fs";
import { Fault, isFault } from "../../../plugins/kit/base/fault.ts";
import { Folder } from "../../../plugins/kit/os/safe-files/folder.ts";
import { openBeneath } from "../../../plugins/kit/os/safe-files/open-beneath.ts";
import { removeEntry } from "../../../plugins/kit/os/safe-files/remove-tree.ts";

const maxDepth = 200;
const maxNameBytes = 4000;
const maxPartBytes = 255;
const maxLinks = 40;
const mostOpen = 8;

export class LayerRoot {
  readonly path: string;
  readonly #root: Folder;
  /** The folders used last, open, by their place; archives stay in one folder for many entries. */
  readonly #open = new Map<string, Folder>();
  #folders = new Set<string>([""]);
  /** Folders that no entry of the archive spoke of yet, but that its entries lie in. */
  readonly implied = new Set<string>();

  constructor(path: string) {
    this.path = path;
    this.#root = Folder.open(path);
  }

  close(): void {
    this.#forget();
    this.#root.close();
  }

  /** The folder that holds the place, and the name in it; valid until a few others were asked for. */
  at(relative: string): { parent: Folder; name: string } {
    const slash = relative.lastIndexOf("/");
    return { parent: this.#folderAt(relative.slice(0, Math.max(0, slash))), name: relative.slice(slash + 1) };
  }

  #folderAt(relative: string): Folder {
    if (relative === "") return this.#root;
    const known = this.#open.get(relative);
    if (known) return known;
    const folder = new Folder(openBeneath(this.#root.path, relative));
    this.#open.set(relative, folder);
    const [oldest] = this.#open.keys();
    if (this.#open.size > mostOpen && oldest !== undefined) {
      this.#open.get(oldest)?.close();
      this.#open.delete(oldest);
    }
    return folder;
  }

  #forget(): void {
    for (const folder of this.#open.values()) folder.close();
    this.#open.clear();
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

  /** For functions that take a path and do not follow links. */
  absolute(relative: string): string {
    if (relative === "") return `${this.#root.path}/.`;
    const { parent, name } = this.at(relative);
    return parent.at(name);
  }

  look(relative: string): Stats | undefined {
    try {
      const { parent, name } = this.at(relative);
      return parent.look(name);
    } catch (error) {
      if (isFault(error, "not-found")) return undefined;
      throw error;
    }
  }

  /** Of anything but a link. */
  setMode(relative: string, mode: number): void {
    if (relative === "") return this.#root.setOwnMode(mode);
    const { parent, name } = this.at(relative);
    parent.setMode(name, mode);
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
          const { parent, name: link } = this.at(next);
          const target = parent.linkTarget(link) ?? "";
          if (target.startsWith("/")) throw escape(name, `"${next}" on its way is a link to "${target}"`);
          if (++links > maxLinks) throw escape(name, "the links on its way go in circles");
          queue.unshift(...target.split("/").filter((piece) => piece !== "" && piece !== "."));
          continue;
        }
        if (found && !found.isDirectory()) throw escape(name, `"${next}" on its way is not a folder`);
        if (!found) {
          if (!make) throw escape(name, `"${next}" does not exist in this layer`);
          const { parent, name: missing } = this.at(next);
          const made = parent.makeFolder(missing);
          made.setOwnMode(0o755);
          made.close();
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
    const { parent, name } = this.at(relative);
    if (!before.isDirectory()) return parent.removeFile(name);
    await removeEntry(parent, name);
    this.#forget();
    // Everything is looked at anew: finding what lay below in a large set, again and again, would be a way to keep us busy.
    this.#folders = new Set([""]);
  }

  /** Folders that no entry spoke of and that are still there. */
  impliedFolders(): string[] {
    return [...this.implied].filter((path) => {
      const folder = realFolder(this.path, path);
      folder?.close();
      return folder !== undefined;
    });
  }
}

/** The folder below a root, open, if every component on the way is a folder itself and none a link; undefined otherwise. */
export function realFolder(root: string, relative: string): Folder | undefined {
  try {
    const found = new Folder(openBeneath(root, relative));
    if (found.stats().isDirectory()) return found;
    found.close();
    return undefined;
  } catch (error) {
    if (isFault(error, "not-found") || isFault(error, "forbidden")) return undefined;
    throw error;
  }
}

export function escape(name: string, why: string): Fault {
  return new Fault("invalid", `Cannot unpack "${name.slice(0, 200)}" of an image layer: ${why}`);
}
