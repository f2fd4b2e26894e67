// The audit log on disk: JSON lines, gathered for a moment and written behind the requests in one piece, turned over by size and
// kept by number and age. Invariants: one write is under way at a time; what cannot be written is counted and told, never waited for.

import { appendFile, mkdir, readdir, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { Log } from "../../../plugins/kit/base/log.ts";

export interface AuditFileOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxSizeBytes?: number;
  readonly maxBackups?: number;
  readonly maxAgeDays?: number;
}

const defaultSize = 20 * 1024 * 1024;
// More than this waiting means the disk does not keep up; the newest are dropped so that memory stays bounded.
const mostWaitingBytes = 4 * 1024 * 1024;
const dayMs = 86_400_000;
const gatherMs = 200;

export class AuditFile {
  readonly #options: AuditFileOptions;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #size: number | undefined;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #hurry: (() => void) | undefined;
  #isFlushing = false;
  #hasFolder = false;

  constructor(options: AuditFileOptions) {
    this.#options = options;
  }

  /** Takes the event and returns at once. */
  write(event: object): void {
    const line = `${JSON.stringify(event)}\n`;
    if (this.#waitingBytes + line.length > mostWaitingBytes) {
      this.#dropped++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#drain();
  }

  /** Resolves when all that was taken is on disk or given up. */
  async flush(): Promise<void> {
    this.#isFlushing = true;
    this.#hurry?.();
    await this.#writing;
    this.#isFlushing = false;
  }

  async #drain(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#gather();
      const text = this.#waiting.join("");
      this.#waiting = [];
      this.#waitingBytes = 0;
      await this.#append(text);
    }
    this.#writing = undefined;
  }

  /** Events go out together: a write for each costs more than the request that it tells of, and wears out a card. */
  async #gather(): Promise<void> {
    if (this.#isFlushing) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(gatherMs, resolve);
      this.#hurry = () => {
        cancel();
        resolve();
      };
    });
    this.#hurry = undefined;
  }

  async #append(text: string): Promise<void> {
    const { path, log } = this.#options;
    try {
      this.#size ??= await sizeOf(path);
      const bytes = Buffer.byteLength(text);
      if (this.#size > 0 && this.#size + bytes > (this.#options.maxSizeBytes ?? defaultSize)) await this.#turnOver();
      if (!this.#hasFolder) await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      this.#hasFolder = true;
      await appendFile(path, text, { mode: 0o600 });
      this.#size += bytes;
      if (this.#dropped > 0)
        log.warn({ path, events: this.#dropped }, "audit events were dropped: the disk did not keep up");
      this.#dropped = 0;
    } catch (error) {
      this.#hasFolder = false;
      log.error({ err: error, path }, "audit events could not be written");
    }
  }

  /** `audit.log` becomes `audit-2026-01-02T03-04-05.678.log`; the oldest beyond the limits go. */
  async #turnOver(): Promise<void> {
    const { path, clock, maxBackups = 10, maxAgeDays = 30 } = this.#options;
    const extension = extname(path);
    const stem = basename(path, extension);
    const stamp = (ms: number) => new Date(ms).toISOString().replaceAll(":", "-").replace("Z", "");
    await rename(path, join(dirname(path), `${stem}-${stamp(clock.now())}${extension}`));
    this.#size = 0;
    const backups = (await readdir(dirname(path)))
      .filter((name) => name.startsWith(`${stem}-`) && name.endsWith(extension))
      .sort()
      .reverse();
    const oldest = `${stem}-${stamp(clock.now() - maxAgeDays * dayMs)}${extension}`;
    const gone = backups.filter((name, index) => index >= maxBackups || name < oldest);
    await Promise.all(gone.map((name) => rm(join(dirname(path), name), { force: true })));
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return 0;
    throw error;
  }
}
