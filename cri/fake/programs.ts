// The programs that the fake's containers can run: a few of busybox's, as functions, and a shell that knows `;` and `>&2`.

import type { Program, ProgramIo } from "./process.ts";

/** A fresh table; tests add their own. */
export function builtinPrograms(): Map<string, Program> {
  return new Map<string, Program>([
    ["true", async () => 0],
    ["false", async () => 1],
    ["pause", (io) => forEver(io)],
    ["sleep", sleep],
    ["echo", echo],
    ["cat", cat],
    ["env", env],
    ["stty", stty],
    ["sh", shell],
  ]);
}

async function forEver({ call }: ProgramIo): Promise<number> {
  await new Promise((_, reject) => call.signal.addEventListener("abort", () => reject(call.signal.reason)));
  return 0;
}

async function sleep(io: ProgramIo): Promise<number> {
  const seconds = Number(io.args[0]);
  if (io.args[0] === "infinity") return forEver(io);
  if (!(seconds >= 0)) throw new Error(`invalid number '${io.args[0]}'`);
  await io.clock.sleep(seconds * 1000, io.call);
  return 0;
}

async function echo(io: ProgramIo): Promise<number> {
  const plain = io.args[0] === "-n" ? io.args.slice(1) : io.args;
  await io.stdout(plain.join(" ") + (plain === io.args ? "\n" : ""));
  return 0;
}

async function cat(io: ProgramIo): Promise<number> {
  for await (const chunk of io.stdin) await io.stdout(chunk as Uint8Array);
  return 0;
}

async function env(io: ProgramIo): Promise<number> {
  for (const [name, value] of Object.entries(io.env)) await io.stdout(`${name}=${value}\n`);
  return 0;
}

async function stty(io: ProgramIo): Promise<number> {
  if (io.args[0] !== "size") throw new Error("only 'size' is known");
  await io.stdout(`${io.size()?.height ?? 0} ${io.size()?.width ?? 0}\n`);
  return 0;
}

/** `sh -c 'a; b >&2; exit 3'`: no pipes, no variables, no quoting beyond plain '…' and "…". */
async function shell(io: ProgramIo): Promise<number> {
  if (io.args[0] !== "-c") return forEver(io);
  let code = 0;
  for (const line of (io.args[1] ?? "").split(/[;\n]/)) {
    const toStderr = line.includes(">&2");
    const words = wordsOf(line.replaceAll(/1?>&2/g, ""));
    const [name] = words;
    if (name === undefined) continue;
    if (name === "exit") return Number(words[1] ?? code);
    if (name === "exec") return io.run(words.slice(1));
    if (toStderr && name === "echo") {
      await io.stderr(`${words.slice(1).join(" ")}\n`);
      code = 0;
    } else code = await io.run(words);
  }
  return code;
}

function wordsOf(line: string): string[] {
  return [...line.matchAll(/'([^']*)'|"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
}
