// Large answers are compressed for clients that say they can read it, as upstream does: from 128 KB on, and lightly.

import { promisify } from "node:util";
import { constants, gzip } from "node:zlib";
import type { Answer } from "../machinery/answer.ts";

const leastBytes = 128 * 1024;
const compress = promisify(gzip);

/** The same answer, or a compressed one; off the event loop. */
export async function compressed(answer: Answer, acceptEncoding: string): Promise<Answer> {
  const { body, status, headers } = answer;
  if (status !== 200 || headers["content-encoding"] || !acceptsGzip(acceptEncoding)) return answer;
  const bytes = largeBytes(body);
  if (!bytes) return answer;
  const packed = await compress(bytes, { level: constants.Z_BEST_SPEED });
  return { ...answer, headers: { ...headers, "content-encoding": "gzip", vary: "Accept-Encoding" }, body: packed };
}

function largeBytes(body: Answer["body"]): Buffer | string | undefined {
  if (typeof body === "string") return body.length < leastBytes ? undefined : body;
  if (body instanceof Uint8Array)
    return body.length < leastBytes ? undefined : Buffer.from(body.buffer, body.byteOffset, body.length);
  if (!Array.isArray(body)) return undefined;
  const parts = body as readonly Uint8Array[];
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return length < leastBytes ? undefined : Buffer.concat(parts, length);
}

function acceptsGzip(header: string): boolean {
  return header.split(",").some((clause) => {
    const [name = "", ...parameters] = clause.split(";").map((part) => part.trim().toLowerCase());
    return name === "gzip" && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
