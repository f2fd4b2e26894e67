// The gRPC health check (grpc.health.v1.Health/Check), with its two tiny messages coded by hand.

import { Client, credentials } from "@grpc/grpc-js";
import type { Call } from "../kit/base/call.ts";

const serving = 1;

/** Undefined when serving, else what is wrong. */
export async function grpcCheck(
  address: string,
  service: string,
  timeoutMs: number,
  call: Call,
): Promise<string | undefined> {
  const client = new Client(address, credentials.createInsecure(), { "grpc.primary_user_agent": "kube-probe/1.32" });
  let onAbort = () => {};
  try {
    const status = await new Promise<number>((resolve, reject) => {
      const sent = client.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        encodeRequest,
        decodeResponse,
        service,
        { deadline: Date.now() + timeoutMs },
        (error, answer) => (error ? reject(error) : resolve(answer ?? 0)),
      );
      onAbort = () => sent.cancel();
      if (call.signal.aborted) onAbort();
      else call.signal.addEventListener("abort", onAbort, { once: true });
    });
    if (status === serving) return undefined;
    return `service unhealthy (responded with "${["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"][status] ?? status}")`;
  } catch (error) {
    const { code, details } = error as { code?: number; details?: string };
    if (code === 12)
      return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`;
    if (code === 4) return `timeout: health rpc did not complete within ${timeoutMs / 1000}s`;
    if (code === 14) return `timeout: failed to connect service "${address}" within ${timeoutMs / 1000}s: ${details}`;
    return `error: health rpc failed: ${details ?? (error as Error).message}`;
  } finally {
    call.signal.removeEventListener("abort", onAbort);
    client.close();
  }
}

/** Field 1, text. */
function encodeRequest(service: string): Buffer {
  const text = Buffer.from(service, "utf8");
  if (text.length === 0) return Buffer.alloc(0);
  // Service names are short; two bytes of length are plenty.
  const length = text.length < 128 ? [text.length] : [(text.length & 127) | 128, text.length >> 7];
  return Buffer.concat([Buffer.from([0x0a, ...length]), text]);
}

/** Field 1, a small number; absent means unknown. */
function decodeResponse(bytes: Buffer): number {
  return bytes[0] === 0x08 ? (bytes[1] ?? 0) : 0;
}
