// PortForward: one connection to a port inside a sandbox's network namespace.

import { join } from "node:path";
import type { Duplex } from "node:stream";
import { NamespaceMode } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { forwardPort } from "../../../plugins/kit/os/net/port-forward.ts";
import type { Native } from "../native.ts";
import { namespaceModes } from "./sandbox-record.ts";

export async function portForward(
  native: Native,
  sandboxId: string,
  port: number,
  connection: Duplex,
  call: Call,
): Promise<void> {
  const sandbox = native.sandboxes.get(sandboxId);
  if (sandbox.phase !== "ready")
    throw new Fault("conflict", `Cannot forward to sandbox "${sandbox.id}": it is not ready`);
  const isHost = namespaceModes(sandbox.config).network === NamespaceMode.NODE;
  const netns = isHost ? undefined : join(native.paths.namespaces(sandbox.id), "net");
  await forwardPort(netns, port, connection, native.clock, call);
}
