// What a node may do to pods: create and delete its mirror pods, report the status of pods bound to it, evict them.

import { type AdmissionRequest, refuse } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import type { KubeObject, Pod } from "../../kit/kube/objects/types.ts";
import { equalJson } from "../../kit/kube/patch/json-tree.ts";
import type { Tools } from "../step.ts";
import { absent } from "./absent.ts";
import { checkMirrorPod } from "./mirror-pod.ts";

const asPod = (object: KubeObject | undefined) => object as unknown as Pod | undefined;
const quote = (text: string) => JSON.stringify(text);

/** Written by the scheduler and the resource claim controller only, because the Node authorizer trusts them. */
const claimFields = [
  ["resourceClaimStatuses", "resource claim statuses"],
  ["extendedResourceClaimStatus", "extended resource claim status"],
  ["nodeAllocatableResourceClaimStatuses", "node allocatable resource claim statuses"],
] as const;

export async function restrictPod(node: string, request: AdmissionRequest, tools: Tools, call: Call): Promise<void> {
  const { operation, subresource } = request;
  switch (`${operation} ${subresource}`) {
    case "CREATE ":
      return checkMirrorPod(node, request, tools, call);
    case "DELETE ":
      if ((await storedPod(request, tools, call)).spec?.nodeName === node) return;
      throw refuse(request, `node ${quote(node)} can only delete pods with spec.nodeName set to itself`);
    case "UPDATE status":
      return restrictStatus(node, request);
    case "CREATE eviction":
      if ((await storedPod(request, tools, call)).spec?.nodeName === node) return;
      throw refuse(request, `node ${node} can only evict pods with spec.nodeName set to itself`);
  }
  if (subresource === "")
    throw refuse(
      request,
      `unexpected operation ${quote(operation)}, node ${quote(node)} can only create and delete mirror pods`,
    );
  if (subresource === "status" || subresource === "eviction")
    throw refuse(request, `unexpected operation ${quote(operation)}`);
  throw refuse(request, `unexpected pod subresource ${quote(subresource)}, only 'status' and 'eviction' are allowed`);
}

async function storedPod(request: AdmissionRequest, { view }: Tools, call: Call): Promise<Pod> {
  const { namespace, operation } = request;
  const name = request.name || request.object?.metadata.name || "";
  if (name === "") throw refuse(request, "could not determine pod from request data");
  const old = operation === "DELETE" ? asPod(request.oldObject) : undefined;
  const pod = old ?? (await view.read<Pod>({ group: "", plural: "pods" }, { namespace, name }, call));
  if (!pod) throw absent("pods", name);
  return pod;
}

function restrictStatus(node: string, request: AdmissionRequest): void {
  const previous = asPod(request.oldObject);
  const next = asPod(request.object);
  if (previous?.spec?.nodeName !== node)
    throw refuse(request, `node ${quote(node)} can only update pod status for pods with spec.nodeName set to itself`);
  if (!equalJson(previous.metadata.labels ?? {}, next?.metadata.labels ?? {}))
    throw refuse(request, `node ${quote(node)} cannot update labels through pod status`);
  const status = (pod: Pod | undefined) => (pod?.status ?? {}) as Readonly<Record<string, unknown>>;
  for (const [field, what] of claimFields)
    if (!equalJson(status(previous)[field] ?? [], status(next)[field] ?? []))
      throw refuse(request, `node ${quote(node)} cannot update ${what}`);
}
