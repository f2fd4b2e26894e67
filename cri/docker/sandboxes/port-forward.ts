// PortForward: one connection to a port inside a sandbox's network.

import type { Duplex } from "node:stream";
import { NamespaceMode } from "../../api/gen/runtime.js";
import type { Call } from "../../../plugins/kit/base/call.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { forwardPort } from "../../../plugins/kit/os/net/port-forward.ts";
import type { Docker } from "../docker.ts";
import { sandboxRecord } from "../labels.ts";
import { namespaceModes } from "./sandbox-view.ts";

export async function portForward(
  docker: Docker,
  id: string,
  port: number,
  connection: Duplex,
  call: Call,
): Promise<void> {
  const seen = await docker.inventory.inspect("sandbox", id, call);
  if (!seen.State.Running) throw new Fault("conflict", `Cannot forward to sandbox "${seen.Id}": it is not ready`);
  const { config } = sandboxRecord(seen.Id, seen.Config.Labels);
  const isHost = namespaceModes(config).network === NamespaceMode.NODE;
  const netns = isHost ? undefined : `/proc/${seen.State.Pid}/ns/net`;
  await forwardPort(netns, port, connection, docker.clock, call);
}
