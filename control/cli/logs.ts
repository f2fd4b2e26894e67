// `skiff logs`: what a container wrote, as the API streams it.

import { once } from "node:events";
import type { Writable } from "node:stream";
import { branch, type Call } from "../../plugins/kit/base/call.ts";
import type { ClusterAccess } from "./access.ts";
import { type PodWish, podContainer } from "./pod-container.ts";

export interface LogsWish extends PodWish {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tail?: number | undefined;
  readonly sinceSeconds?: number | undefined;
}

/** Ends with the log; a log that is followed ends with the container, or when stopped. */
export async function showLogs(
  access: ClusterAccess,
  wish: LogsWish,
  out: { stdout: Writable; tell(line: string): void },
  call: Call,
): Promise<void> {
  const { path, container } = await podContainer(access, wish, out.tell, call);
  const query = new URLSearchParams({ container });
  for (const switched of ["follow", "previous", "timestamps"] as const) if (wish[switched]) query.set(switched, "true");
  if (wish.tail !== undefined && wish.tail >= 0) query.set("tailLines", String(wish.tail));
  if (wish.sinceSeconds) query.set("sinceSeconds", String(wish.sinceSeconds));
  const link = branch(call);
  try {
    const response = await access.client.request(`${path}/log?${query}`, { headers: { accept: "*/*" } }, link.call);
    for await (const chunk of response.body ?? []) {
      if (!out.stdout.write(chunk)) await once(out.stdout, "drain", { signal: call.signal });
    }
  } catch (error) {
    // Stopping is how a log that is followed ends.
    if (!call.signal.aborted) throw error;
  } finally {
    link.end();
  }
}
