// The store's end of its worker thread: starts it, sends one request after the other, and matches the replies.

import { Worker } from "node:worker_threads";
import { Fault } from "../../kit/base/fault.ts";
import { workerEntry } from "../../kit/os/platform/worker.ts";
import { openFault, writeFault } from "./failure.ts";
import {
  type Commit,
  type Marks,
  type Reply,
  type Request,
  type Row,
  transfersOf,
  unpackRows,
  type WorkerSetup,
} from "./protocol.ts";

interface Waiting {
  resolve: () => void;
  reject: (fault: Fault) => void;
}

export interface Reader {
  onMarks(marks: Marks): void;
  /** Oldest first. */
  onRow(row: Row): void;
}

export type StartThread = (setup: WorkerSetup) => Worker;

const entry = workerEntry("store-sqlite", new URL("./worker.ts", import.meta.url));
// The thread holds a batch at a time; a low roof keeps its heap from growing before it collects.
const limits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4, stackSizeMb: 1 };

const startThread: StartThread = (setup) => new Worker(entry, { workerData: setup, resourceLimits: limits });

export class DatabaseThread {
  readonly #folder: string;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #nextId = 1;
  #stopped: Fault | undefined;
  #isClosing = false;
  /** Resolves with the reason when the thread ends without being closed. */
  readonly ended: Promise<Fault>;
  #onEnded: (fault: Fault) => void = () => {};

  /** Opens the folder's database and hands over what it holds: first the marks, then each row. Rejects with a Fault. */
  static async open(setup: WorkerSetup, reader: Reader, start: StartThread = startThread): Promise<DatabaseThread> {
    const thread = new DatabaseThread(setup, start);
    try {
      await thread.#opened(reader);
    } catch (error) {
      await thread.#worker.terminate();
      throw error;
    }
    return thread;
  }

  private constructor(setup: WorkerSetup, start: StartThread) {
    this.#folder = setup.folder;
    this.#worker = start(setup);
    this.ended = new Promise((resolve) => {
      this.#onEnded = resolve;
    });
  }

  #opened(reader: Reader): Promise<void> {
    return new Promise((resolve, reject) => {
      const onStop = (reason: string) => {
        this.#stopped ??= new Fault("unavailable", `Cannot use the store in "${this.#folder}": ${reason}`);
        reject(this.#stopped);
        for (const waiting of this.#waiting.values()) waiting.reject(this.#stopped);
        this.#waiting.clear();
        if (!this.#isClosing) this.#onEnded(this.#stopped);
      };
      this.#worker.on("error", (error) => onStop(`its thread failed (${(error as Error).message})`));
      this.#worker.on("exit", () => onStop("its thread has ended"));
      this.#worker.on("message", (reply: Reply) => {
        if (reply.say === "marks") reader.onMarks(reply.marks);
        else if (reply.say === "rows") for (const row of unpackRows(reply.rows)) reader.onRow(row);
        else if (reply.say === "opened") resolve();
        else if (reply.say === "not-opened") reject(openFault(this.#folder, reply.failure));
        else this.#settle(reply);
      });
    });
  }

  #settle(reply: Extract<Reply, { id: number }>): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.say === "done") waiting?.resolve();
    else waiting?.reject(writeFault(this.#folder, reply.failure));
  }

  /** Resolves when the commit is durable; rejects with a Fault, and then nothing of it is. */
  commit(commit: Commit): Promise<void> {
    return this.#ask({ id: this.#nextId++, do: "commit", commit }, transfersOf(commit.rows));
  }

  backup(path: string): Promise<void> {
    return this.#ask({ id: this.#nextId++, do: "backup", path });
  }

  /** Resolves when the thread has read from its database. */
  check(): Promise<void> {
    return this.#ask({ id: this.#nextId++, do: "check" });
  }

  /** Lets go of the file and ends the thread. */
  async close(): Promise<void> {
    if (this.#stopped) return;
    this.#isClosing = true;
    await this.#ask({ id: this.#nextId++, do: "close" });
    await this.#worker.terminate();
  }

  #ask(request: Request, transfers: ArrayBuffer[] = []): Promise<void> {
    if (this.#stopped) return Promise.reject(this.#stopped);
    return new Promise((resolve, reject) => {
      this.#waiting.set(request.id, { resolve, reject });
      this.#worker.postMessage(request, transfers);
    });
  }
}
