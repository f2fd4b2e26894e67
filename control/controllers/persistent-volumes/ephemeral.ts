// Generic ephemeral volumes: each becomes a claim that belongs to its pod and goes with it.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolumeClaim, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { controllerReference, isControlledBy, keyOf, splitKey } from "../../manager/owners.ts";

const hasEphemeral = (pod: Pod) => pod.spec?.volumes?.some((volume) => volume.ephemeral) ?? false;

export const ephemeralVolumes: ControllerFactory = ({ client, informers, events }) => {
  const pods = informers.for<Pod>(resources.pods);
  const claims = informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
  return {
    name: "ephemeral-volume-controller",
    wakes: [
      { resource: resources.pods, keys: (pod: Pod) => (hasEphemeral(pod) ? [keyOf(pod)] : []) },
      {
        // One that was deleted by hand is made again while its pod still waits.
        resource: resources.persistentvolumeclaims,
        keys: (claim: PersistentVolumeClaim) =>
          (claim.metadata.ownerReferences ?? [])
            .filter(({ kind, controller }) => kind === "Pod" && controller)
            .map(({ name }) => `${claim.metadata.namespace}/${name}`),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const pod = pods.get(namespace, name);
      if (!pod || pod.metadata.deletionTimestamp) return undefined;
      for (const { name: volumeName, ephemeral } of pod.spec?.volumes ?? []) {
        const template = ephemeral?.volumeClaimTemplate;
        if (!template) continue;
        const claimName = `${name}-${volumeName}`;
        const known = claims.get(namespace, claimName);
        if (known && isControlledBy(known, pod)) continue;
        if (known) {
          const message = `PVC "${namespace}/${claimName}" was not created for pod "${namespace}/${name}" (pod is not owner)`;
          events.event(pod, "Warning", "VolumeConflict", message);
          continue;
        }
        const claim = {
          apiVersion: "v1",
          kind: "PersistentVolumeClaim",
          metadata: {
            name: claimName,
            namespace,
            ...(template.metadata?.labels ? { labels: template.metadata.labels } : {}),
            ...(template.metadata?.annotations ? { annotations: template.metadata.annotations } : {}),
            ownerReferences: [controllerReference(pod, { apiVersion: "v1", kind: "Pod" })],
          },
          spec: template.spec,
        };
        try {
          await client.create(resources.persistentvolumeclaims, claim, call, { namespace });
        } catch (error) {
          if (!isFault(error, "already-exists")) throw error;
        }
      }
      return undefined;
    },
  };
};
