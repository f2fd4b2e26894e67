// Where a worker thread's program is found: beside its room when run from source, beside the bundle when bundled.

import { isBundled } from "./project.ts";

/**
 * The entry of the worker named so. A bundle must put each worker next to its main file as `<name>.worker.js`;
 * `source` is where the same program stands in the source tree.
 */
export function workerEntry(name: string, source: URL): URL {
  return isBundled ? new URL(`./${name}.worker.js`, import.meta.url) : source;
}
