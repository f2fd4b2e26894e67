// Recycle, the old reclaim policy: a pod empties a hostPath or NFS volume whose claim is gone, and the volume is free again.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerContext } from "../../manager/contract.ts";

const namespace = "default";
const prefix = "recycler-for-";
const image = "docker.io/library/busybox:stable";
const longestSeconds = 3600;
const script = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1';

/** The name of the volume that the pod empties. */
export function recycledBy({ metadata }: Pod): string | undefined {
  const { name = "" } = metadata;
  return metadata.namespace === namespace && name.startsWith(prefix) ? name.slice(prefix.length) : undefined;
}

export const isRecyclable = ({ spec }: PersistentVolume): boolean =>
  spec?.hostPath !== undefined || spec?.nfs !== undefined;

/** Takes the next step: "done" when the volume is empty, undefined while the pod works, or what went wrong. */
export async function recycle(
  { client, informers }: ControllerContext,
  volume: PersistentVolume,
  call: Call,
): Promise<"done" | { readonly trouble: string } | undefined> {
  const pod = informers.for<Pod>(resources.pods).get(namespace, podName(volume));
  if (!pod) {
    try {
      await client.create(resources.pods, scrubPod(volume), call, { namespace });
    } catch (error) {
      if (!isFault(error, "already-exists")) throw error;
    }
    return undefined;
  }
  const { phase, message } = pod.status ?? {};
  const isOld = pod.metadata.annotations?.[volumeUid] !== volume.metadata.uid;
  if (phase !== "Succeeded" && phase !== "Failed" && !isOld) return undefined;
  const { name = "", uid = "" } = pod.metadata;
  if (!pod.metadata.deletionTimestamp)
    await client.delete(resources.pods, { namespace, name }, call, { gracePeriodSeconds: 0, preconditions: { uid } });
  if (isOld) return undefined;
  return phase === "Succeeded" ? "done" : { trouble: `recycler pod failed${message ? `: ${message}` : ""}` };
}

const volumeUid = "skiff.io/volume-uid";
const podName = ({ metadata }: PersistentVolume) => `${prefix}${metadata.name}`;

function scrubPod(volume: PersistentVolume) {
  const { hostPath, nfs, nodeAffinity } = volume.spec ?? {};
  const required = nodeAffinity?.required;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name: podName(volume), annotations: { [volumeUid]: volume.metadata.uid ?? "" } },
    spec: {
      restartPolicy: "Never",
      activeDeadlineSeconds: longestSeconds,
      automountServiceAccountToken: false,
      ...(required ? { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: required } } } : {}),
      containers: [
        {
          name: "pv-recycler",
          image,
          imagePullPolicy: "IfNotPresent",
          command: ["/bin/sh", "-c", script],
          volumeMounts: [{ name: "vol", mountPath: "/scrub" }],
        },
      ],
      volumes: [{ name: "vol", ...(hostPath ? { hostPath: { path: hostPath.path } } : { nfs }) }],
    },
  };
}
