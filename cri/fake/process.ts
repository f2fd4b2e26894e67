// A process that is only a function: its input, output and signals. Containers and execs of the fake are made of these.

import { PassThrough, Readable, type Writable } from "node:stream";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import type { TerminalSize } from "../api/sessions.ts";

export interface ProgramIo {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: Readable;
  stdout(text: string | Uint8Array): Promise<void>;
  stderr(text: string | Uint8Array): Promise<void>;
  readonly clock: Clock;
  /** Runs another program with this one's input and output. */
  run(command: readonly string[]): Promise<number>;
  /** Of the terminal, as last told. */
  size(): TerminalSize | undefined;
  /** Stops when the process is killed; a program that ends by it has its exit code ignored. */
  readonly call: Call;
}

/** Resolves with the exit code. */
export type Program = (io: ProgramIo) => Promise<number>;

export interface ProcessOptions {
  readonly programs: ReadonlyMap<string, Program>;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: Readable;
  readonly clock: Clock;
}

type Output = (stream: "stdout" | "stderr", data: Uint8Array) => Promise<void> | void;

export class Process {
  readonly #options: ProcessOptions;
  readonly #killed = new AbortController();
  readonly #outputs = new Set<Output>();
  #forcedExit: number | undefined;
  size: TerminalSize | undefined;

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  /** Sends what the process writes from now on to `output` too; the returned function ends that. */
  onOutput(output: Output): () => void {
    this.#outputs.add(output);
    return () => this.#outputs.delete(output);
  }

  /** Calls `then` when it ends; the returned function takes that back. */
  onExit(then: () => void): () => void {
    const { signal } = this.#killed;
    signal.addEventListener("abort", then, { once: true });
    return () => signal.removeEventListener("abort", then);
  }

  /** For a process with open input: what an attached client types. */
  input(data: Uint8Array): void {
    if (this.#options.stdin instanceof PassThrough && !this.#options.stdin.writableEnded)
      this.#options.stdin.write(data);
  }

  endInput(): void {
    if (this.#options.stdin instanceof PassThrough) this.#options.stdin.end();
  }

  /** Ends it with this exit code at once, whatever the program does. */
  exit(code: number): void {
    this.#forcedExit ??= code;
    this.#killed.abort();
  }

  /** Runs to the end; call once. */
  async run(): Promise<number> {
    const signal = this.#killed.signal;
    const killed = new Promise<number>((resolve) => {
      signal.addEventListener("abort", () => resolve(this.#forcedExit ?? 137), { once: true });
    });
    const code = await Promise.race([killed, this.#start(this.#options.command)]);
    this.#killed.abort();
    return code;
  }

  async #start(command: readonly string[]): Promise<number> {
    const [name = "", ...args] = command;
    const program = this.#options.programs.get(name.slice(name.lastIndexOf("/") + 1));
    if (!program) {
      await this.#write("stderr", `${name}: not found\n`);
      return 127;
    }
    try {
      return await program({
        args,
        env: this.#options.env ?? {},
        stdin: this.#options.stdin ?? Readable.from([]),
        stdout: (text) => this.#write("stdout", text),
        stderr: (text) => this.#write("stderr", text),
        clock: this.#options.clock,
        run: (other) => this.#start(other),
        size: () => this.size,
        call: { signal: this.#killed.signal },
      });
    } catch (error) {
      if (this.#killed.signal.aborted) return this.#forcedExit ?? 137;
      await this.#write("stderr", `${name}: ${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    }
  }

  async #write(stream: "stdout" | "stderr", text: string | Uint8Array): Promise<void> {
    this.#killed.signal.throwIfAborted();
    const data = typeof text === "string" ? Buffer.from(text) : text;
    for (const output of this.#outputs) await output(stream, data);
  }
}

/** Writes with back-pressure; a reader that went away swallows the rest. */
export function writeTo(stream: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) return resolve();
    stream.write(data, () => resolve());
  });
}
