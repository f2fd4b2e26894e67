// The worker thread of the sqlite store: opens the database, hands over what it holds, then commits what it is told.

import { parentPort, workerData } from "node:worker_threads";
import { buildDatabase, Database } from "./database.ts";
import { failureOf } from "./failure.ts";
import { createDatabase, findDatabase, keptAside, lockFolder, setAside } from "./files.ts";
import {
  packRows,
  type Failure,
  type PackedRows,
  type Reply,
  type Request,
  type Row,
  transfersOf,
  type WorkerSetup,
} from "./protocol.ts";

const chunkBytes = 64 * 1024;

const port = parentPort;
if (!port) throw new Error("this is the sqlite store's worker thread, not a program");
const say = (reply: Reply, transfers: ArrayBuffer[] = []) => port.postMessage(reply, transfers);
const { folder, startedAt } = workerData as WorkerSetup;

function open(): { database: Database; close: () => void } | Failure {
  let lock: ReturnType<typeof lockFolder>;
  try {
    lock = lockFolder(folder);
  } catch (error) {
    return failureOf(error);
  }
  let database: Database | undefined;
  try {
    const found = findDatabase(folder);
    const kept = keptAside(folder);
    if (!found && kept) {
      lock.close();
      return { kind: "damaged", detail: "found at an earlier start", keptAs: kept };
    }
    database = new Database(found ?? createDatabase(folder, buildDatabase));
    sendRows(database);
    const opened = database;
    return { database, close: () => [opened, lock].forEach((it) => it.close()) };
  } catch (error) {
    database?.close();
    const failure = failureOf(error);
    const answer = failure.kind === "damaged" ? { ...failure, keptAs: setAside(folder, startedAt) } : failure;
    lock.close();
    return answer;
  }
}

function sendRows(from: Database): void {
  let rows: Row[] = [];
  let size = 0;
  say({ say: "marks", marks: from.marks() });
  const send = () => {
    const packed: PackedRows = packRows(rows);
    say({ say: "rows", rows: packed }, transfersOf(packed));
    rows = [];
    size = 0;
  };
  for (const row of from.rows()) {
    rows.push(row);
    size += row.value?.byteLength ?? 0;
    if (size >= chunkBytes) send();
  }
  if (rows.length > 0) send();
}

const opened = open();
if ("kind" in opened) {
  say({ say: "not-opened", failure: opened });
} else {
  const { database, close } = opened;
  const work = (request: Request) => {
    if (request.do === "commit") database.commit(request.commit);
    else if (request.do === "backup") database.backup(request.path);
    else if (request.do === "check") database.marks();
    else close();
  };
  const shrink = () => {
    try {
      database.shrink();
    } catch {
      // The file stays as large as it was, such as on a full disk; the next removal tries again.
    }
  };
  port.on("message", (request: Request) => {
    try {
      work(request);
      say({ say: "done", id: request.id });
    } catch (error) {
      say({ say: "failed", id: request.id, failure: failureOf(error) });
    }
    if (request.do === "commit" && request.commit.removed.length > 0) shrink();
  });
  say({ say: "opened" });
  database.prepareJournal();
}
