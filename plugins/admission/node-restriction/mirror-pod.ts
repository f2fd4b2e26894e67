// The only pods a node creates are mirrors of its static pods, bound to it, owned by it, and without references to API objects.

import { type AdmissionRequest, refuse } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import type { Node, Pod } from "../../kit/kube/objects/types.ts";
import type { Tools } from "../step.ts";
import { absent } from "./absent.ts";
import { apiObjectReference } from "./references.ts";

export async function checkMirrorPod(
  node: string,
  request: AdmissionRequest,
  { view }: Tools,
  call: Call,
): Promise<void> {
  const pod = request.object as unknown as Pod;
  const deny = (why: string) => refuse(request, why);
  const who = `node ${JSON.stringify(node)}`;
  if (pod.metadata.annotations?.["kubernetes.io/config.mirror"] === undefined)
    throw deny(`pod does not have "kubernetes.io/config.mirror" annotation, ${who} can only create mirror pods`);
  if (pod.spec?.nodeName !== node) throw deny(`${who} can only create pods with spec.nodeName set to itself`);
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length > 1) throw deny(`${who} can only create pods with a single owner reference set to itself`);
  if (owner?.apiVersion !== "v1" || owner.kind !== "Node" || owner.name !== node)
    throw deny(`${who} can only create pods with an owner reference set to itself`);
  if (!owner.controller) throw deny(`${who} can only create pods with a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion) throw deny(`${who} must not set blockOwnerDeletion on an owner reference`);
  const own = await view.read<Node>({ group: "", plural: "nodes" }, { namespace: "", name: node }, call);
  if (!own) throw absent("nodes", node);
  if (owner.uid !== own.metadata.uid)
    throw deny(`node ${node} UID mismatch: expected ${owner.uid} got ${own.metadata.uid}`);
  const reference = apiObjectReference(pod);
  if (reference) throw deny(`${who} can not create pods that reference ${reference}`);
}
