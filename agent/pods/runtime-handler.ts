// Which handler of the runtime a pod runs by.

import type { Runtime } from "../../cri/api/contract.ts";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { AgentPod } from "../model/agent-pod.ts";
import type { NodeObjects } from "../sources/node-objects.ts";

/** The handler of the pod's RuntimeClass, the empty name for the usual one; Fault where the runtime lacks what the pod asks for. */
export async function runtimeHandlerOf(
  pod: AgentPod,
  objects: NodeObjects,
  runtime: Runtime,
  call: Call,
): Promise<string> {
  const { runtimeClassName, hostUsers } = pod.spec;
  const handler = runtimeClassName ? ((await objects.runtimeClass(runtimeClassName, call)).handler ?? "") : "";
  if (hostUsers === false) await needUserNamespaces(runtime, handler, call);
  return handler;
}

/** A runtime that does not know them would share the host's users without a word. */
async function needUserNamespaces({ runtime }: Runtime, handler: string, call: Call): Promise<void> {
  const { runtimeHandlers } = await runtime.status({ verbose: false }, within(5_000, call));
  if (runtimeHandlers.find(({ name }) => name === handler)?.features?.userNamespaces) return;
  const which = handler === "" ? "The runtime" : `Handler "${handler}" of the runtime`;
  throw new Fault("unsupported", `${which} has no user namespaces, which the pod asks for (hostUsers: false)`);
}
