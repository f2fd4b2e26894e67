// Records of one kind by id: in memory for reading, each in a small file of its own for the next start. The single writer of those.

import { mkdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { appendState, readStates } from "./state-file.ts";

export class RecordStore<T extends { readonly id: string }> {
  readonly #folder: string;
  readonly #noun: string;
  readonly #records: Map<string, T>;

  constructor(folder: string, noun: string) {
    this.#folder = folder;
    this.#noun = noun;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.#records = readStates<T>(folder);
  }

  list(): T[] {
    return [...this.#records.values()];
  }

  /** By id, or by a prefix that only one has. */
  find(id: string): T | undefined {
    const exact = this.#records.get(id);
    if (exact || id.length < 4) return exact;
    const found = this.list().filter((record) => record.id.startsWith(id));
    return found.length === 1 ? found[0] : undefined;
  }

  get(id: string): T {
    const record = this.find(id);
    if (!record) throw new Fault("not-found", `Cannot find ${this.#noun} "${id}": it does not exist`);
    return record;
  }

  /** Remembers the record as it is now. */
  save(record: T): void {
    appendState(join(this.#folder, `${record.id}.json`), record);
    this.#records.set(record.id, record);
  }

  async forget(id: string): Promise<void> {
    this.#records.delete(id);
    await rm(join(this.#folder, `${id}.json`), { force: true });
  }
}
