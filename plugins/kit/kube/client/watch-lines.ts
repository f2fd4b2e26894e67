// Decodes a stream of JSON lines as it arrives, whatever the chunks, with a bound on the length of one line.

import { Fault } from "../../base/fault.ts";

const newline = 0x0a;

/** Each line as a value; empty lines are passed over. Leaving the loop early cancels the stream. */
export async function* jsonLines(
  body: AsyncIterable<Uint8Array>,
  longestLine: number = 32 * 1024 * 1024,
): AsyncGenerator<unknown, void, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      parts.push(chunk.subarray(start, end));
      start = end + 1;
      const text = decode(parts);
      parts = [];
      length = 0;
      if (text !== "") yield parse(text);
    }
    if (start === chunk.length) continue;
    // A copy, so that a short rest does not hold on to a long chunk.
    parts.push(chunk.slice(start));
    length += chunk.length - start;
    if (length > longestLine) throw new Fault("invalid", `A line of the stream is longer than ${longestLine} bytes`);
  }
  const rest = decode(parts);
  if (rest !== "") yield parse(rest);
}

function decode(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString("utf8").trim();
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Most often the connection broke within a line.
    throw new Fault("unavailable", "The stream broke off within a line", { cause: error });
  }
}
