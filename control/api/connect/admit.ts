// Connections to pods, services and nodes pass admission as CONNECT, with their options as the object: that is where
// policies and webhooks that forbid `exec` look.

import type { AdmissionPlugin, AdmissionRequest } from "../../../plugins/kit/contracts/admission.ts";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import { runMutating, runValidating } from "../../admission/run.ts";
import type { AuditTrail } from "../../auth/audit/contract.ts";
import type { ResourcePath } from "../path.ts";

const kinds: Readonly<Record<string, string>> = {
  "pods/exec": "PodExecOptions",
  "pods/attach": "PodAttachOptions",
  "pods/portforward": "PodPortForwardOptions",
  "pods/proxy": "PodProxyOptions",
  "services/proxy": "ServiceProxyOptions",
  "nodes/proxy": "NodeProxyOptions",
};

export interface Connection {
  readonly path: ResourcePath;
  readonly query: URLSearchParams;
  readonly user: UserInfo;
  readonly trail: AuditTrail | undefined;
  warn(text: string): void;
}

/** Throws the Fault of the step that refuses. */
export async function admitConnection(
  admission: readonly AdmissionPlugin[],
  { path, query, user, trail, warn }: Connection,
  call: Call,
): Promise<void> {
  const kind = kinds[`${path.plural}/${path.subresource}`] ?? "";
  const request: AdmissionRequest = {
    operation: "CONNECT",
    group: path.group,
    version: path.version,
    resource: path.plural,
    subresource: path.subresource,
    kind,
    namespace: path.namespace,
    name: path.name,
    user,
    dryRun: false,
    object: optionsObject(kind, path, query),
    warn,
    annotate: (key, value) => trail?.annotate(key, value),
  };
  await runMutating(admission, request, call);
  await runValidating(admission, request, call);
}

function optionsObject(kind: string, { rest }: ResourcePath, query: URLSearchParams): KubeObject {
  const options: KubeObject = { apiVersion: "v1", kind, metadata: {} };
  if (kind.endsWith("ProxyOptions")) return { ...options, path: rest };
  if (kind === "PodPortForwardOptions") return { ...options, ports: query.getAll("ports").map(Number) };
  for (const name of ["stdin", "stdout", "stderr", "tty"])
    if (query.has(name)) options[name] = /^(true|1)$/.test(query.get(name) ?? "");
  if (query.has("container")) options.container = query.get("container");
  if (query.has("command")) options.command = query.getAll("command");
  return options;
}
