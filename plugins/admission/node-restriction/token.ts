// A node asks for service account tokens only on behalf of a pod that runs on it, and only for audiences that the pod uses.

import { type AdmissionRequest, refuse } from "../../kit/contracts/admission.ts";
import type { Call } from "../../kit/base/call.ts";
import type { KubeObject, PersistentVolume, PersistentVolumeClaim, Pod, Volume } from "../../kit/kube/objects/types.ts";
import type { Tools } from "../step.ts";
import { absent } from "./absent.ts";

interface TokenRequestSpec {
  audiences?: string[];
  boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string };
}

export async function restrictToken(node: string, request: AdmissionRequest, tools: Tools, call: Call): Promise<void> {
  if (request.operation !== "CREATE" || request.subresource !== "token") return;
  const spec = (request.object?.spec ?? {}) as TokenRequestSpec;
  const ref = spec.boundObjectRef;
  if (ref?.apiVersion !== "v1" || ref.kind !== "Pod" || !ref.name)
    throw refuse(request, "node requested token not bound to a pod");
  if (!ref.uid) throw refuse(request, "node requested token with a pod binding without a uid");
  const at = { namespace: request.namespace, name: ref.name };
  const pod = await tools.view.read<Pod>({ group: "", plural: "pods" }, at, call);
  if (!pod) throw absent("pods", ref.name);
  if (pod.metadata.uid !== ref.uid)
    throw refuse(
      request,
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
    );
  if (pod.spec?.nodeName !== node)
    throw refuse(request, "node requested token bound to a pod scheduled on a different node");
  await checkAudience(spec.audiences ?? [], pod, request, tools, call);
}

async function checkAudience(
  [audience = "", ...more]: readonly string[],
  pod: Pod,
  request: AdmissionRequest,
  { view }: Tools,
  call: Call,
): Promise<void> {
  if (more.length > 0) throw refuse(request, "node may only request 0 or 1 audiences");
  if ((pod.spec?.volumes ?? []).some((volume) => usesAudience(volume, audience, pod, view))) return;
  const { user, version, group, namespace, name } = request;
  const resource = { group, version, plural: audience, subresource: "", namespace, name };
  if (await view.mayDo({ user, verb: "request-serviceaccounts-token-audience", resource }, call)) return;
  throw refuse(request, `${user.name} is not authorized to request tokens for audience ${JSON.stringify(audience)}`);
}

function usesAudience(volume: Volume, audience: string, pod: Pod, view: Tools["view"]): boolean {
  const isProjected = volume.projected?.sources?.some(
    ({ serviceAccountToken: token }) => token && (token.audience ?? "") === audience,
  );
  if (isProjected) return true;
  const driver = volume.csi?.driver ?? driverOfClaim(volume, pod, view);
  if (!driver) return false;
  const found = view.informer<KubeObject>({ group: "storage.k8s.io", plural: "csidrivers" }).get("", driver);
  const { tokenRequests = [] } = (found?.spec ?? {}) as { tokenRequests?: { audience?: string }[] };
  return tokenRequests.some((each) => (each.audience ?? "") === audience);
}

function driverOfClaim(volume: Volume, pod: Pod, view: Tools["view"]): string | undefined {
  const { namespace = "", name: podName } = pod.metadata;
  const name = volume.ephemeral?.volumeClaimTemplate
    ? `${podName}-${volume.name}`
    : volume.persistentVolumeClaim?.claimName;
  if (!name) return undefined;
  const claims = view.informer<PersistentVolumeClaim>({ group: "", plural: "persistentvolumeclaims" });
  const volumes = view.informer<PersistentVolume>({ group: "", plural: "persistentvolumes" });
  return volumes.get("", claims.get(namespace, name)?.spec?.volumeName ?? "")?.spec?.csi?.driver;
}
