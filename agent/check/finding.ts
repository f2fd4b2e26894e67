// What the doctor says: one finding per thing looked at, and the facts that the findings are made from. Tests bring their own facts.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface Finding {
  readonly name: string;
  readonly status: "ok" | "warn" | "fail";
  /** In plain words: how it is, and what that costs. */
  readonly message: string;
  /** What to do about it; empty when it is ok. */
  readonly fix: string;
}

/** What a runtime's daemon says of itself, and the least that is needed; the reason when it says nothing. */
export type DaemonFact =
  | { readonly name: string; readonly version: string; readonly least: readonly [number, number] }
  | { readonly name: string; readonly problem: string };

export interface CheckFacts {
  /** Where /proc, /sys and /boot are read; `/` but in tests. */
  readonly root: string;
  readonly dataDir: string;
  /** The ports that Skiff will listen on, and what for. */
  readonly ports: readonly { readonly port: number; readonly use: string }[];
  /** The daemon that runs the containers; absent when Skiff runs them itself, with runc and conmon. */
  readonly daemon?: () => Promise<DaemonFact>;
  now(): number;
  /** When this program was made: no clock can be right that says less. */
  readonly madeAt: number;
  /** Of the file system that the data dir is or will be on. */
  disk(): { bytes: number; availableBytes: number; inodes: number; freeInodes: number };
  /** Milliseconds that one small durable write takes; undefined when none could be made. */
  syncMs(): Promise<number | undefined>;
  /** What the program says of its version; undefined when it is not there. */
  version(program: string): Promise<string | undefined>;
  /** What the kernel's network lacks. */
  network(): Promise<readonly { severity: "fatal" | "warning"; problem: string; fix: string }[]>;
}

export const ok = (name: string, message: string): Finding => ({ name, status: "ok", message, fix: "" });
export const warn = (name: string, message: string, fix: string): Finding => ({ name, status: "warn", message, fix });
export const fail = (name: string, message: string, fix: string): Finding => ({ name, status: "fail", message, fix });

/** A file's text below the root; empty where it cannot be read. */
export function readFact(facts: CheckFacts, path: string): string {
  try {
    return readFileSync(join(facts.root, path), "utf8");
  } catch {
    return "";
  }
}
