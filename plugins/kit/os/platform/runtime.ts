// Which JavaScript runtime this is. The only file that names Deno.

const deno = (globalThis as { Deno?: { version: { deno: string }; execPath(): string } }).Deno;

export const runtime: { name: "node" | "deno"; version: string } = deno
  ? { name: "deno", version: deno.version.deno }
  : { name: "node", version: process.versions.node };

/** The command line that runs another TypeScript file of this program on the same runtime. */
export function selfCommand(scriptPath: string, args: readonly string[] = []): [string, ...string[]] {
  if (deno) return [deno.execPath(), "run", "-A", "--quiet", scriptPath, ...args];
  return [process.execPath, "--disable-warning=ExperimentalWarning", scriptPath, ...args];
}
