// The page's own files, as the set-up made them: read once, sent with headers that let nothing foreign in.

import { readFileSync } from "node:fs";
import { extname, join } from "node:path";
import { text } from "../answers.ts";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
};

// Only from here, and only to here; plots set sizes by style.
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export class PageFiles {
  readonly #dir: string;
  readonly #kept = new Map<string, Buffer>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** Whether it could name a file of the page. */
  isName(name: string): boolean {
    return name === "" || /^[a-z0-9-]+\.(html|js|css)$/i.test(name);
  }

  /** By plain name; undefined for anything else. */
  answer(name: string): Response | undefined {
    if (!this.isName(name)) return undefined;
    const file = name === "" ? "index.html" : name;
    const bytes = this.#read(file);
    if (!bytes) return file === "index.html" ? text("the page has not been built: run the set-up\n", 503) : undefined;
    const headers = {
      "content-type": types[extname(file)] ?? "application/octet-stream",
      "content-security-policy": policy,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cache-control": "no-cache",
    };
    return new Response(new Uint8Array(bytes), { headers });
  }

  #read(file: string): Buffer | undefined {
    const known = this.#kept.get(file);
    if (known) return known;
    try {
      const bytes = readFileSync(join(this.#dir, file));
      this.#kept.set(file, bytes);
      return bytes;
    } catch {
      return undefined;
    }
  }
}
