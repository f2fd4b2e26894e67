// Runs nftables scripts, each one atomic transaction. In process through libnftables where the box has it (under a millisecond),
// otherwise by the nft program (a process each). Belongs to the network namespace that it was opened in.

import { closeSync, openSync } from "node:fs";
import koffi from "koffi";
import type { Call } from "../../base/call.ts";
import { Fault, type FaultCode } from "../../base/fault.ts";
import { withoutSignals } from "./libc.ts";

export interface Nft {
  /** Applies all of the script or nothing. Faults: `not-found`, `already-exists`, `invalid`, by what nft says. */
  run(script: string, call: Call): Promise<void>;
  /** What `nft -j` prints for a list command: the array below `nftables`. */
  list(command: string, call: Call): Promise<NftObject[]>;
  close(): void;
}

/** One entry of a listing: a single key (`table`, `chain`, `rule`, `set`, `map`, `element`) and what it holds. */
export type NftObject = Readonly<Record<string, unknown>>;

const NFT_CTX_OUTPUT_JSON = 1 << 4;
/** A script this long is applied on another thread: it may take milliseconds. */
const longScript = 4096;

interface Library {
  create(flags: number): unknown;
  free(context: unknown): void;
  run: {
    (context: unknown, script: string): number;
    async: (context: unknown, script: string, done: (error: Error | null, result: number) => void) => void;
  };
  bufferOutput(context: unknown): number;
  bufferError(context: unknown): number;
  output(context: unknown): string | null;
  error(context: unknown): string | null;
  setOutput(context: unknown, flags: number): void;
  /** Gives freed memory back to the kernel. */
  trim(pad: number): number;
}

let library: Library | null | undefined;

function loadLibrary(): Library | null {
  if (library !== undefined) return library;
  try {
    const loaded = koffi.load("libnftables.so.1");
    library = {
      create: loaded.func("void *nft_ctx_new(uint32_t)"),
      free: loaded.func("void nft_ctx_free(void *)"),
      run: loaded.func("int nft_run_cmd_from_buffer(void *, const char *)") as unknown as Library["run"],
      bufferOutput: loaded.func("int nft_ctx_buffer_output(void *)"),
      bufferError: loaded.func("int nft_ctx_buffer_error(void *)"),
      output: loaded.func("const char *nft_ctx_get_output_buffer(void *)"),
      error: loaded.func("const char *nft_ctx_get_error_buffer(void *)"),
      setOutput: loaded.func("void nft_ctx_output_set_flags(void *, uint32_t)"),
      trim: koffi.load("libc.so.6").func("int malloc_trim(size_t)"),
    };
  } catch {
    // The library is not on this box: the program is used instead.
    library = null;
  }
  return library;
}

/** Opens the faster engine there is; "program" forces the nft program. */
export function openNft(engine: "auto" | "program" = "auto"): Nft {
  const found = engine === "auto" ? loadLibrary() : null;
  return found ? new LibraryNft(found) : programNft;
}

/**
 * A context keeps a copy of the whole host's ruleset, which may be tens of megabytes: it is let go when nothing was asked for a while.
 */
const idleMs = 2_000;

class LibraryNft implements Nft {
  readonly #library: Library;
  #context: unknown;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(library: Library) {
    this.#library = library;
    if (!areDescriptorsHigh()) this.#open();
  }

  #open(): void {
    this.#context = this.#library.create(0);
    if (!this.#context) throw new Fault("unavailable", "Cannot open nftables: the kernel or the library refused");
    this.#library.bufferOutput(this.#context);
    this.#library.bufferError(this.#context);
  }

  #free(): void {
    if (!this.#context) return;
    this.#library.free(this.#context);
    this.#context = undefined;
    this.#library.trim(0);
  }

  async run(script: string, call: Call): Promise<void> {
    await this.#execute(script, 0, call);
  }

  async list(command: string, call: Call): Promise<NftObject[]> {
    return parseListing(await this.#execute(command, NFT_CTX_OUTPUT_JSON, call));
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#idle);
    void this.#last.then(() => this.#free());
  }

  #execute(script: string, flags: number, call: Call): Promise<string> {
    const mine = this.#last.then(async () => {
      call.signal.throwIfAborted();
      if (this.#closed) throw new Fault("unavailable", "Cannot run nftables: it was closed");
      clearTimeout(this.#idle);
      if (!this.#context && areDescriptorsHigh())
        return flags === 0 ? runProgram(["-f", "-"], script, call) : runProgram(["-j", ...script.split(" ")], "", call);
      if (!this.#context) this.#open();
      this.#library.setOutput(this.#context, flags);
      let { code, output, said } = await this.#runOnce(script, flags);
      // Only a list may be asked for again: a change that a signal interrupted may be done all the same.
      for (let left = maxInterruptions; left > 0 && flags !== 0 && code !== 0 && /Interrupted/.test(said); left--)
        ({ code, output, said } = await this.#runOnce(script, flags));
      this.#idle = setTimeout(() => void this.#last.then(() => this.#free()), idleMs).unref();
      if (code !== 0) throw nftFault(said);
      return output;
    });
    this.#last = mine.catch(() => {});
    return mine;
  }

  async #runOnce(script: string, flags: number): Promise<{ code: number; output: string; said: string }> {
    const { run } = this.#library;
    const code =
      script.length < longScript && flags === 0
        ? withoutSignals(() => run(this.#context, script))
        : await new Promise<number>((resolve, reject) =>
            run.async(this.#context, script, (error, result) => (error ? reject(error) : resolve(result))),
          );
    return { code, output: this.#library.output(this.#context) ?? "", said: this.#library.error(this.#context) ?? "" };
  }
}

const maxInterruptions = 20;

/**
 * The library waits for its socket by select(), which knows 1,024 descriptors and ends the whole process on a higher one: when so many are
 * open, the program does the work, in a process with few.
 */
function areDescriptorsHigh(): boolean {
  const next = openSync("/dev/null", "r");
  closeSync(next);
  return next >= highDescriptor;
}

/** Room below 1,024 for what other threads open at the same moment. */
const highDescriptor = 900;

const programNft: Nft = {
  async run(script, call) {
    await runProgram(["-f", "-"], script, call);
  },
  async list(command, call) {
    return parseListing(await runProgram(["-j", ...command.split(" ")], "", call));
  },
  close() {},
};

async function runProgram(args: string[], input: string, call: Call): Promise<string> {
  // Loaded on first use: it is a good part of the start-up of a short-lived program that has the library.
  const { spawn } = await import("node:child_process");
  return new Promise((resolve, reject) => {
    const child = spawn("nft", args, { stdio: ["pipe", "pipe", "pipe"], signal: call.signal });
    const output: Buffer[] = [];
    const said: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => said.push(chunk));
    child.on("error", (error: NodeJS.ErrnoException) =>
      reject(
        error.code === "ENOENT"
          ? new Fault("unavailable", "Cannot run nft: it is not installed (install the package nftables)")
          : error,
      ),
    );
    child.on("close", (code) =>
      code === 0 ? resolve(Buffer.concat(output).toString()) : reject(nftFault(Buffer.concat(said).toString())),
    );
    // A child that ended early is told of by its exit code.
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

function parseListing(output: string): NftObject[] {
  if (output.trim() === "") return [];
  const { nftables } = JSON.parse(output) as { nftables: NftObject[] };
  return nftables.filter((entry) => !("metainfo" in entry));
}

function nftFault(said: string): Fault {
  const lines = said.trim().split("\n");
  const first = (lines.find((line) => line.includes("Error")) ?? lines[0] ?? "").replace(/^.*?Error: /, "");
  const line = lines[lines.indexOf(lines.find((line) => line.includes("Error")) ?? "") + 1]?.trim() ?? "";
  let code: FaultCode = "invalid";
  if (/No such file or directory/.test(said)) code = "not-found";
  else if (/File exists/.test(said)) code = "already-exists";
  else if (/Operation not permitted/.test(said)) code = "forbidden";
  else if (/resource busy|Interrupted/i.test(said)) code = "conflict";
  else if (/Operation not supported|Could not process rule: Invalid/.test(said)) code = "unsupported";
  return new Fault(code, `nftables refused a change: ${first}${line ? ` in: ${line.slice(0, 200)}` : ""}`, {
    details: said,
  });
}
