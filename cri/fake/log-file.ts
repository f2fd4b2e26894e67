// A container's log in CRI's format: `<RFC 3339 with nanoseconds> stdout F line`. Reopens after rotation when told.

import { appendFileSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "../../plugins/kit/base/clock.ts";

export class LogFile {
  readonly path: string;
  readonly #clock: Clock;
  readonly #rest = { stdout: "", stderr: "" };

  constructor(path: string, clock: Clock) {
    this.path = path;
    this.#clock = clock;
    mkdirSync(dirname(path), { recursive: true });
    this.reopen();
  }

  write(stream: "stdout" | "stderr", data: Uint8Array): void {
    const lines = (this.#rest[stream] + Buffer.from(data).toString()).split("\n");
    this.#rest[stream] = lines.pop() ?? "";
    this.#append(lines.map((line) => this.#line(stream, "F", line)));
  }

  /** Makes the file anew where it was moved away. Each write opens it by name, so that is all. */
  reopen(): void {
    this.#append([]);
  }

  /** Writes what came without a line's end, as partial lines. */
  end(): void {
    for (const stream of ["stdout", "stderr"] as const) {
      if (this.#rest[stream]) this.#append([this.#line(stream, "P", this.#rest[stream])]);
      this.#rest[stream] = "";
    }
  }

  #line(stream: string, tag: "F" | "P", text: string): string {
    const stamp = new Date(this.#clock.now()).toISOString().replace("Z", "000000Z");
    return `${stamp} ${stream} ${tag} ${text}\n`;
  }

  #append(lines: readonly string[]): void {
    appendFileSync(this.path, lines.join(""));
  }
}
