// A shell in a terminal, made by node-pty's binding: what a test has in the place of a container's command.

interface PtyBinding {
  fork(
    ...parts: [
      path: string,
      args: readonly string[],
      env: readonly string[],
      cwd: string,
      columns: number,
      rows: number,
      uid: number,
      gid: number,
      isText: boolean,
      helper: string,
      onExit: (code: number, signal: number) => void,
    ]
  ): { fd: number; pid: number };
}

export interface ShellTerminal {
  readonly pid: number;
  /** The near side; whoever takes it closes it. */
  readonly fd: number;
  /** 128 + signal where a signal ended it. */
  readonly exit: Promise<number>;
}

/** The script begins in a terminal of 80 columns and 24 rows. */
export async function shellTerminal(script: string): Promise<ShellTerminal> {
  // @ts-expect-error The package declares no types for its parts.
  const { requireBinary } = (await import("node-pty/requireBinary.js")) as { requireBinary(file: string): PtyBinding };
  const exit = Promise.withResolvers<number>();
  const env = ["TERM=xterm", `PATH=${process.env.PATH ?? ""}`];
  const onExit = (code: number, signal: number) => exit.resolve(signal ? 128 + signal : code);
  const pty = requireBinary("pty.node");
  const { fd, pid } = pty.fork("/bin/sh", ["-c", script], env, "/", 80, 24, -1, -1, false, "", onExit);
  return { fd, pid, exit: exit.promise };
}
