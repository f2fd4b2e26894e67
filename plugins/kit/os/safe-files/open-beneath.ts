// Opens a path below a directory so that nothing in it leads out: not `..`, not an absolute link, not a link swapped in meanwhile.

import { statSync } from "node:fs";
import { Fault, isFault } from "../../base/fault.ts";
import { closeHandle, openDirectory, openEntry, openResolved, resolve, targetOf } from "./calls.ts";

export interface BeneathOptions {
  /** Symbolic links that stay below the directory are followed; otherwise any link is refused. */
  readonly followsLinks?: boolean;
  /** The directory is the root of a file system tree: absolute links begin there, and `..` ends there. Links are followed. */
  readonly isRoot?: boolean;
}

const mostLinks = 40;

/**
 * A handle (O_PATH) of what `path` names below the directory, for the caller to close. Fault `not-found`, or `forbidden` when the path
 * leads out or over a link that may not be followed.
 */
export function openBeneath(directory: string, path: string, options: BeneathOptions = {}): number {
  const root = openDirectory(directory, { followsLink: true });
  try {
    const name = path === "" ? "." : path;
    const links = options.followsLinks ? 0 : resolve.noLinks;
    const resolution = options.isRoot ? resolve.inRoot : resolve.beneath | links;
    return openResolved(root, name, resolution | resolve.noMagicLinks) ?? openByStep(root, name, options);
  } catch (error) {
    if (isFault(error, "forbidden"))
      throw new Fault("forbidden", `failed to open "${path}" below ${directory}: it leads out`, { cause: error });
    throw error;
  } finally {
    closeHandle(root);
  }
}

/** The same for kernels without openat2: one component at a time from open handles, `..` by the handles already passed. */
function openByStep(root: number, path: string, options: BeneathOptions): number {
  const escapes = () => new Fault("forbidden", `"${path}" leads out of its directory`);
  if (path.startsWith("/") && !options.isRoot) throw escapes();
  const passed = [openEntry(root, ".", { mustBeDirectory: true })];
  const parts = path.split("/");
  let links = 0;
  try {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      if (part === "" || part === ".") continue;
      const at = passed.at(-1) as number;
      if (part === "..") {
        if (passed.length > 1) closeHandle(passed.pop() as number);
        else if (!options.isRoot) throw escapes();
        continue;
      }
      const next = openEntry(at, part);
      const found = statSync(`/proc/self/fd/${next}`);
      if (!found.isSymbolicLink()) {
        passed.push(next);
        if (parts.length > 0 && !found.isDirectory()) throw new Fault("forbidden", `"${part}" is not a directory`);
        continue;
      }
      let target: string;
      try {
        if (!(options.followsLinks || options.isRoot) || ++links > mostLinks) throw escapes();
        target = targetOf(next);
      } finally {
        closeHandle(next);
      }
      if (target.startsWith("/")) {
        if (!options.isRoot) throw escapes();
        for (const handle of passed.splice(1)) closeHandle(handle);
      }
      parts.unshift(...target.split("/"));
    }
    return passed.pop() as number;
  } finally {
    for (const handle of passed) closeHandle(handle);
  }
}
