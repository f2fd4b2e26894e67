// `skiff status`: nodes and pods with their restarts, what they use and what they wait for, in the words of the API server.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { isFault } from "../../plugins/kit/base/fault.ts";
import type { Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { parseQuantity } from "../../plugins/kit/kube/quantity.ts";
import type { ClusterAccess } from "./access.ts";
import { inColumns, tableRows } from "./table.ts";
import { waitLines } from "./waits.ts";

interface Usage {
  readonly cpu: string;
  readonly memory: string;
}

interface UsageItem {
  metadata: { name: string; namespace?: string };
  usage?: Usage;
  containers?: { usage: Usage }[];
}

const unknownUse = ["-", "-"] as const;

export async function statusLines(access: ClusterAccess, call: Call): Promise<string[]> {
  const { client, nodeName } = access;
  const only = (field: string) => (nodeName ? `?fieldSelector=${encodeURIComponent(`${field}=${nodeName}`)}` : "");
  const [nodes, pods, nodeUse, podUse] = await Promise.all([
    tableRows<Node>(client, `/api/v1/nodes${only("metadata.name")}`, call),
    tableRows<Pod>(client, `/api/v1/pods${only("spec.nodeName")}`, call),
    usage(access, "nodes", call),
    usage(access, "pods", call),
  ]);
  const nodeRows = nodes.map(({ cells, object }) => [
    object.metadata.name ?? "",
    cells["Status"] ?? "",
    cells["Age"] ?? "",
    cells["Version"] ?? "",
    ...(nodeUse.get(object.metadata.name ?? "") ?? unknownUse),
  ]);
  const podRows = pods.map(({ cells, object: { metadata, spec } }) => [
    metadata.namespace ?? "",
    metadata.name ?? "",
    cells["Ready"] ?? "",
    cells["Status"] ?? "",
    cells["Restarts"] ?? "",
    cells["Age"] ?? "",
    spec?.nodeName ?? "-",
    ...(podUse.get(`${metadata.namespace}/${metadata.name}`) ?? unknownUse),
  ]);
  return [
    ...inColumns(["node", "status", "age", "version", "cpu", "memory"], nodeRows),
    ...nodes.flatMap(({ object }) => troubles(object)),
    "",
    ...(podRows.length === 0
      ? ["no pods"]
      : inColumns(["namespace", "pod", "ready", "status", "restarts", "age", "node", "cpu", "memory"], podRows)),
    ...(await waitLines(
      access,
      pods.map(({ object }) => object),
      call,
    )),
  ];
}

/** Shows it again and again until stopped; a server that is away for a while is told and waited for. */
export async function watchStatus(
  access: ClusterAccess,
  out: { readonly clock: Clock; readonly everyMs: number; show(lines: readonly string[]): void },
  call: Call,
): Promise<void> {
  while (!call.signal.aborted) {
    try {
      out.show(await statusLines(access, call));
    } catch (error) {
      if (call.signal.aborted) return;
      if (!isFault(error, "unavailable")) throw error;
      out.show([error.message]);
    }
    // Stopping ends the wait, which is no failure.
    await out.clock.sleep(out.everyMs, call).catch(() => {});
  }
}

/** What keeps a node from being well, from its conditions: Ready should hold, pressures should not. */
function troubles({ metadata, status }: Node): string[] {
  const wrong = (status?.conditions ?? []).filter((one) => (one.type === "Ready") !== (one.status === "True"));
  return wrong.map(
    ({ type, message, reason }) => `  ${metadata.name}: ${type}: ${message || reason || "no reason given"}`,
  );
}

/** CPU and memory by name. Many clusters measure nothing, a node may not ask, and a young pod has no measurement yet. */
async function usage(access: ClusterAccess, plural: "nodes" | "pods", call: Call): Promise<Map<string, string[]>> {
  const found = new Map<string, string[]>();
  if (access.nodeName) return found;
  try {
    const response = await access.client.request(`/apis/metrics.k8s.io/v1beta1/${plural}`, {}, call);
    for (const item of ((await response.json()) as { items?: UsageItem[] }).items ?? []) {
      const { name, namespace } = item.metadata;
      const parts = item.usage ? [item.usage] : (item.containers ?? []).map((one) => one.usage);
      found.set(namespace ? `${namespace}/${name}` : name, [
        `${Math.ceil(sum(parts.map(({ cpu }) => cpu)) * 1000)}m`,
        `${Math.ceil(sum(parts.map(({ memory }) => memory)) / 1024 ** 2)}Mi`,
      ]);
    }
  } catch (error) {
    if (call.signal.aborted) throw error;
  }
  return found;
}

function sum(quantities: readonly string[]): number {
  return quantities.reduce((total, text) => total + Number(parseQuantity(text).nano) / 1e9, 0);
}
