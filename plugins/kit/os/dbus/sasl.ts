// The first words on a D-Bus connection: who we are is what the kernel says of the socket (EXTERNAL), so nothing secret is told.

import { Fault } from "../../base/fault.ts";

const longestLine = 16_384;

/** What the client says first. */
export function authLine(): string {
  return `\0AUTH EXTERNAL ${Buffer.from(String(process.geteuid?.() ?? 0)).toString("hex")}\r\n`;
}

export const begin = "BEGIN\r\n";
export const negotiateDescriptors = "NEGOTIATE_UNIX_FD\r\n";

/** Cuts the server's lines out of what it sends. */
export class AuthLines {
  #text = Buffer.alloc(0);

  /** The first whole line that is there, without its end. */
  add(bytes: Uint8Array): string | undefined {
    this.#text = Buffer.concat([this.#text, bytes]);
    const end = this.#text.indexOf("\r\n");
    if (end < 0 && this.#text.length > longestLine) throw new Fault("invalid", "The D-Bus server's answer has no end");
    if (end < 0) return undefined;
    const line = this.#text.toString("latin1", 0, end);
    this.#text = this.#text.subarray(end + 2);
    return line;
  }

  /** What came after the last line. */
  get rest(): Buffer {
    return this.#text;
  }
}

/** Fault `forbidden` where the server does not take us. */
export function checkAccepted(line: string, path: string): void {
  if (line.startsWith("OK ")) return;
  throw new Fault("forbidden", `Cannot log in to the D-Bus socket ${path}: it answered "${line.slice(0, 80)}"`);
}
