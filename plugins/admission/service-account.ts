// Every pod runs as a service account of its namespace, and finds its token, the cluster's CA and its namespace mounted.

import { randomInt } from "node:crypto";
import { type AdmissionRequest, refuse } from "../kit/contracts/admission.ts";
import type { Call } from "../kit/base/call.ts";
import type { Container, Pod, PodSpec, ServiceAccount, Volume } from "../kit/kube/objects/types.ts";
import { refersToSecrets } from "./node-restriction/references.ts";
import { isMirrorPod, isWriteOf, step, type Tools } from "./step.ts";

const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const volumePrefix = "kube-api-access-";
const safeCharacters = "bcdfghjklmnpqrstvwxz2456789";
const accounts = { group: "", plural: "serviceaccounts" };
// A namespace's default account is made a moment after the namespace; a pod made in between waits for it.
const attempts = 10;
const attemptEveryMs = 100;

export const serviceAccount = step("ServiceAccount", (tools) => ({
  handles: (request) => isWriteOf(request, "", "pods", "CREATE"),
  async mutate(request, call) {
    const pod = request.object as unknown as Pod;
    if (isMirrorPod(request)) return checkMirror(request, pod);
    const spec = (pod.spec ??= { containers: [] });
    const name = spec.serviceAccountName || spec.serviceAccount || "default";
    spec.serviceAccountName = name;
    spec.serviceAccount = name;
    const account = await findAccount(tools, request.namespace, name, call);
    if (!account) {
      throw refuse(
        request,
        `error looking up service account ${request.namespace}/${name}: serviceaccount "${name}" not found`,
      );
    }
    if (spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true) mountToken(spec);
    if (!spec.imagePullSecrets?.length && account.imagePullSecrets?.length) {
      spec.imagePullSecrets = structuredClone(account.imagePullSecrets);
    }
  },
}));

/** A mirror pod stands for a static one: it must not reach for what only the API server hands out. */
function checkMirror(request: AdmissionRequest, pod: Pod): void {
  const { spec } = pod;
  if (spec?.serviceAccountName) throw refuse(request, "a mirror pod may not reference service accounts");
  if (refersToSecrets(pod)) throw refuse(request, "a mirror pod may not reference secrets");
  for (const volume of spec?.volumes ?? []) {
    const uses = volume.projected?.sources?.some((source) => source.serviceAccountToken);
    if (uses) throw refuse(request, "a mirror pod may not use ServiceAccountToken volume projections");
  }
}

async function findAccount(
  { view, clock }: Tools,
  namespace: string,
  name: string,
  call: Call,
): Promise<ServiceAccount | undefined> {
  for (let attempt = 1; ; attempt++) {
    const found =
      view.informer<ServiceAccount>(accounts).get(namespace, name) ??
      (await view.read<ServiceAccount>(accounts, { namespace, name }, call));
    if (found || name !== "default" || attempt >= attempts) return found;
    await clock.sleep(attemptEveryMs, call);
  }
}

function mountToken(spec: PodSpec): void {
  const volumes = spec.volumes ?? [];
  const known = volumes.find((volume) => volume.name.startsWith(volumePrefix));
  const name = known?.name ?? freshName(new Set(volumes.map((volume) => volume.name)));
  let isMounted = false;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])] as Container[]) {
    if (container.volumeMounts?.some((mount) => mount.mountPath === mountPath)) continue;
    container.volumeMounts = [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath }];
    isMounted = true;
  }
  if (isMounted && !known) spec.volumes = [...volumes, tokenVolume(name)];
}

function freshName(taken: ReadonlySet<string>): string {
  for (;;) {
    const suffix = Array.from({ length: 5 }, () => safeCharacters[randomInt(safeCharacters.length)]).join("");
    if (!taken.has(volumePrefix + suffix)) return volumePrefix + suffix;
  }
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
    },
  };
}
