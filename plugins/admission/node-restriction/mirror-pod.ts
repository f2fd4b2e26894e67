// The only pods a node makes are mirrors of its static pods, and these reach for nothing that the API server guards.

import { type AdmissionRequest, refuse } from "../../kit/admission.ts";
import type { Container, Node, Pod } from "../../kit/objects/types.ts";
import type { Tools } from "../step.ts";

export function checkMirrorPod(node: string, request: AdmissionRequest, { view }: Tools): void {
  const pod = request.object as unknown as Pod;
  const deny = (why: string) => refuse(request, why);
  const who = `node ${JSON.stringify(node)}`;
  if (pod.metadata.annotations?.["kubernetes.io/config.mirror"] === undefined) {
    throw deny(`pod does not have "kubernetes.io/config.mirror" annotation, ${who} can only create mirror pods`);
  }
  if (pod.spec?.nodeName !== node) throw deny(`${who} can only create pods with spec.nodeName set to itself`);
  const owners = pod.metadata.ownerReferences ?? [];
  const [owner] = owners;
  if (owners.length !== 1 || !owner)
    throw deny(`${who} can only create pods with a single owner reference set to itself`);
  const own = view.informer<Node>({ group: "", plural: "nodes" }).get("", node);
  if (
    owner.apiVersion !== "v1" ||
    owner.kind !== "Node" ||
    owner.name !== node ||
    (own && owner.uid !== own.metadata.uid)
  ) {
    throw deny(`${who} can only create pods with an owner reference set to itself`);
  }
  if (!owner.controller) throw deny(`${who} can only create pods with a controller owner reference set to itself`);
  if (owner.blockOwnerDeletion) throw deny(`${who} must not set blockOwnerDeletion on an owner reference`);
  const reached = reachesFor(pod);
  if (reached) throw deny(`${who} can not create pods that reference ${reached}`);
}

function reachesFor({ spec }: Pod): string | undefined {
  if (spec?.serviceAccountName) return "a service account";
  const volumes = spec?.volumes ?? [];
  const sources = volumes.flatMap((volume) => [volume, ...(volume.projected?.sources ?? [])]) as {
    secret?: unknown;
    configMap?: unknown;
    serviceAccountToken?: unknown;
    persistentVolumeClaim?: unknown;
    ephemeral?: unknown;
  }[];
  const containers = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])] as Container[];
  const uses = (pick: "secretRef" | "configMapRef", key: "secretKeyRef" | "configMapKeyRef") =>
    containers.some(
      ({ env, envFrom }) => envFrom?.some((each) => each[pick]) || env?.some((each) => each.valueFrom?.[key]),
    );
  if (spec?.imagePullSecrets?.length || sources.some((each) => each.secret) || uses("secretRef", "secretKeyRef"))
    return "secrets";
  if (sources.some((each) => each.configMap) || uses("configMapRef", "configMapKeyRef")) return "configmaps";
  if (sources.some((each) => each.serviceAccountToken)) return "service account tokens";
  if (sources.some((each) => each.persistentVolumeClaim || each.ephemeral)) return "persistentvolumeclaims";
  return undefined;
}
