// Protection: a claim that a pod uses and a volume that a claim has stay until nobody needs them.

import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { PersistentVolume, PersistentVolumeClaim, Pod } from "../../../plugins/kit/kube/objects/types.ts";
import { claimsOf } from "../../../plugins/kit/kube/objects/volume-claims.ts";
import { isTerminal } from "../../../plugins/kit/kube/pod-requests.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { typed } from "./bind.ts";

const claimFinalizer = "kubernetes.io/pvc-protection";
const volumeFinalizer = "kubernetes.io/pv-protection";

type Held = Pick<PersistentVolume, "metadata">;

const isLeaving = (object: Held, finalizer: string) =>
  object.metadata.deletionTimestamp !== undefined && object.metadata.finalizers?.includes(finalizer) === true;

const without = <T extends Held>(object: T, finalizer: string): T => ({
  ...object,
  metadata: { ...object.metadata, finalizers: object.metadata.finalizers?.filter((each) => each !== finalizer) ?? [] },
});

export const claimProtection: ControllerFactory = ({ client, informers }) => {
  const ref = resources.persistentvolumeclaims;
  const claims = informers.for<PersistentVolumeClaim>(ref);
  const pods = informers.for<Pod>(resources.pods);
  const isUsing = (pod: Pod, name: string) =>
    Boolean(pod.spec?.nodeName) && !isTerminal(pod) && claimsOf(pod).some((claim) => claim.name === name);
  return {
    name: "pvc-protection-controller",
    wakes: [
      {
        resource: ref,
        keys: (claim: PersistentVolumeClaim) => (isLeaving(claim, claimFinalizer) ? [keyOf(claim)] : []),
      },
      {
        resource: resources.pods,
        keys: (pod: Pod) =>
          claimsOf(pod)
            .filter(({ name }) => {
              const claim = claims.get(pod.metadata.namespace ?? "", name);
              return claim !== undefined && isLeaving(claim, claimFinalizer);
            })
            .map(({ name }) => `${pod.metadata.namespace}/${name}`),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const claim = claims.get(namespace, name);
      if (!claim || !isLeaving(claim, claimFinalizer)) return undefined;
      if (pods.list(namespace).some((pod) => isUsing(pod, name))) return undefined;
      await client.update(ref, typed(ref, without(claim, claimFinalizer)), call);
      return undefined;
    },
  };
};

export const volumeProtection: ControllerFactory = ({ client, informers }) => {
  const ref = resources.persistentvolumes;
  const volumes = informers.for<PersistentVolume>(ref);
  return {
    name: "pv-protection-controller",
    wakes: [
      {
        resource: ref,
        keys: (volume: PersistentVolume) => (isLeaving(volume, volumeFinalizer) ? [keyOf(volume)] : []),
      },
    ],
    async reconcile(name, call) {
      const volume = volumes.get("", name);
      if (!volume || !isLeaving(volume, volumeFinalizer) || volume.status?.phase === "Bound") return undefined;
      await client.update(ref, typed(ref, without(volume, volumeFinalizer)), call);
      return undefined;
    },
  };
};
