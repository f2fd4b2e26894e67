// A question on the terminal before something that cannot be undone.

import process from "node:process";
import { createInterface } from "node:readline/promises";
import type { Call } from "../../plugins/kit/base/call.ts";

/** Undefined when there is no terminal to ask on. */
export async function confirm(question: string, call: Call): Promise<boolean | undefined> {
  if (!process.stdin.isTTY) return undefined;
  // Not on standard output, which may be a file.
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new Promise<string>((resolve) => lines.once("close", () => resolve("")));
  try {
    return /^y(es)?$/i.test((await Promise.race([lines.question(question, call), ended])).trim());
  } finally {
    lines.close();
  }
}
