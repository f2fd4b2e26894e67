// What the store and its worker thread say to each other. Values travel in one buffer that is handed over, not cloned.

/** A row of the log: a value that a revision gave a key, or the key's deletion. */
export interface Row {
  readonly revision: number;
  readonly createRevision: number;
  readonly key: string;
  /** Absent in a deletion. */
  readonly value: Uint8Array | undefined;
  /** Kept for its newest value only; says nothing about history. */
  readonly isLazy: boolean;
}

/** Facts beside the log. */
export interface Marks {
  /** Revisions up to here may have been given out. */
  reserved?: number;
  compacted?: number;
  lazyPrefixes?: readonly string[];
}

export interface PackedRows {
  readonly keys: readonly string[];
  /** For each row: revision, createRevision, flags, and where its value ends in `bytes`. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export interface Commit {
  readonly rows: PackedRows;
  /** Revisions whose rows nobody needs any more. */
  readonly removed: readonly number[];
  readonly marks: Marks;
}

export type Request =
  | { id: number; do: "commit"; commit: Commit }
  | { id: number; do: "backup"; path: string }
  | { id: number; do: "check" }
  | { id: number; do: "close" };

export type FailureKind = "damaged" | "in-use" | "not-writable" | "full" | "too-new" | "other";

export interface Failure {
  readonly kind: FailureKind;
  readonly detail: string;
  /** Where a damaged file was kept. */
  readonly keptAs?: string;
}

export type Reply =
  | { say: "marks"; marks: Marks }
  | { say: "rows"; rows: PackedRows }
  | { say: "opened" }
  | { say: "not-opened"; failure: Failure }
  | { say: "done"; id: number }
  | { say: "failed"; id: number; failure: Failure };

export interface WorkerSetup {
  readonly folder: string;
  /** For a damaged file's name. */
  readonly startedAt: string;
}

const isDeletion = 1;
const isLazyFlag = 2;

export function packRows(rows: readonly Row[]): PackedRows {
  let size = 0;
  for (const row of rows) size += row.value?.byteLength ?? 0;
  const bytes = new Uint8Array(size);
  const numbers = new Float64Array(rows.length * 4);
  let end = 0;
  for (const [index, row] of rows.entries()) {
    if (row.value) bytes.set(row.value, end);
    end += row.value?.byteLength ?? 0;
    numbers.set([row.revision, row.createRevision, flagsOf(row), end], index * 4);
  }
  return { keys: rows.map((row) => row.key), numbers, bytes };
}

/** The rows, with values that are views of the packed bytes. */
export function* unpackRows({ keys, numbers, bytes }: PackedRows): Generator<Row> {
  let start = 0;
  for (const [index, key] of keys.entries()) {
    const [revision = 0, createRevision = 0, flags = 0, end = 0] = numbers.subarray(index * 4, index * 4 + 4);
    yield rowOf({ revision, createRevision, flags, key, value: bytes.subarray(start, end) });
    start = end;
  }
}

/** What travels by handing over. */
export function transfersOf(rows: PackedRows): ArrayBuffer[] {
  return [rows.numbers.buffer, rows.bytes.buffer];
}

export function flagsOf(row: Row): number {
  return (row.value ? 0 : isDeletion) | (row.isLazy ? isLazyFlag : 0);
}

export function rowOf(raw: {
  revision: number;
  createRevision: number;
  flags: number;
  key: string;
  value: Uint8Array;
}): Row {
  const { revision, createRevision, flags, key } = raw;
  const value = flags & isDeletion ? undefined : raw.value;
  return { revision, createRevision, key, value, isLazy: (flags & isLazyFlag) !== 0 };
}
