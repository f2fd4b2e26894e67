// Enlarges local-path volumes: the volume's object first, then the node is asked to let the directory grow, and when it has, the
// claim is told.

import type { Call } from "../../../plugins/kit/base/call.ts";
import { isLocalPath, resizeOf } from "../../../plugins/kit/kube/objects/local-path.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Node, PersistentVolume, PersistentVolumeClaim } from "../../../plugins/kit/kube/objects/types.ts";
import { parseQuantity, quantityValue } from "../../../plugins/kit/kube/quantity.ts";
import { withCondition } from "../../manager/conditions.ts";
import type { ControllerContext, ControllerFactory } from "../../manager/contract.ts";
import { keyOf, splitKey } from "../../manager/owners.ts";
import { annotated, typed, writePhase } from "./bind.ts";
import { isMore, wantedSize } from "./expansion.ts";
import { nodeOf } from "./local-path.ts";

/** The size that the node was last asked for, on the volume. */
const resizeAsked = "skiff.io/resize-asked";

export const localPathResizer: ControllerFactory = (context) => {
  const { informers } = context;
  const claims = informers.for<PersistentVolumeClaim>(resources.persistentvolumeclaims);
  const volumes = informers.for<PersistentVolume>(resources.persistentvolumes);
  const nodes = informers.for<Node>(resources.nodes);
  const waiting = () => claims.list().filter((claim) => wantedSize(claim) !== undefined);
  return {
    name: "local-path-resizer",
    wakes: [
      {
        resource: resources.persistentvolumeclaims,
        keys: (claim: PersistentVolumeClaim) => (wantedSize(claim) === undefined ? [] : [keyOf(claim)]),
      },
      {
        resource: resources.persistentvolumes,
        keys: ({ spec }: PersistentVolume) =>
          waiting()
            .filter((claim) => claim.metadata.uid === spec?.claimRef?.uid)
            .map(keyOf),
      },
      {
        resource: resources.nodes,
        keys: (node: Node, previous: Node | undefined) =>
          JSON.stringify(node.metadata.annotations) === JSON.stringify(previous?.metadata.annotations)
            ? []
            : waiting().map(keyOf),
      },
    ],
    async reconcile(key, call) {
      const { namespace, name } = splitKey(key);
      const claim = claims.get(namespace, name);
      const size = claim && wantedSize(claim);
      const volume = volumes.get("", claim?.spec?.volumeName ?? "");
      if (!claim || !size || !volume || !isLocalPath(volume)) return undefined;
      if (await isGrown(context, volume, nodeOf(volume, nodes.list()), size, call))
        await finish(context, claim, size, call);
      else await begin(context, claim, call);
      return undefined;
    },
  };
};

/** Takes the next step on volume and node; true when both have the size. */
async function isGrown(
  { client }: ControllerContext,
  volume: PersistentVolume,
  node: Node | undefined,
  size: string,
  call: Call,
): Promise<boolean> {
  const ref = resources.persistentvolumes;
  const name = volume.metadata.name ?? "";
  if (isMore(size, volume.spec?.capacity?.storage ?? "0")) {
    const spec = { ...volume.spec, capacity: { ...volume.spec?.capacity, storage: size } };
    await client.update(ref, typed(ref, { ...volume, spec }), call);
    return false;
  }
  // A node that is gone took its disk with it; another has nothing to enlarge.
  if (!node) return true;
  if (volume.metadata.annotations?.[resizeAsked] === size)
    return node.metadata.annotations?.[resizeOf(name)] === undefined;
  const bytes = String(quantityValue(parseQuantity(size)));
  const wish = { metadata: { annotations: { [resizeOf(name)]: bytes } } };
  await client.patch(resources.nodes, { name: node.metadata.name ?? "" }, { type: "merge", body: wish }, call);
  const metadata = annotated(volume.metadata, { [resizeAsked]: size });
  await client.update(ref, typed(ref, { ...volume, metadata }), call);
  return false;
}

async function begin(
  { client, clock, events }: ControllerContext,
  claim: PersistentVolumeClaim,
  call: Call,
): Promise<void> {
  const known = claim.status?.conditions as { type: string; status: string }[] | undefined;
  if (known?.some(({ type }) => type === "Resizing")) return;
  const conditions = withCondition(known, { type: "Resizing", status: "True" }, clock.now());
  await writePhase(client, resources.persistentvolumeclaims, claim, { conditions }, call);
  const message = `External resizer is resizing volume ${claim.spec?.volumeName}`;
  events.event(subject(claim), "Normal", "Resizing", message);
}

async function finish(
  { client, events }: ControllerContext,
  claim: PersistentVolumeClaim,
  storage: string,
  call: Call,
): Promise<void> {
  const ref = resources.persistentvolumeclaims;
  const { conditions = [], ...status } = claim.status ?? {};
  const others = conditions.filter(({ type }) => type !== "Resizing" && type !== "FileSystemResizePending");
  const next = {
    ...status,
    capacity: { ...status.capacity, storage },
    ...(others.length > 0 ? { conditions: others } : {}),
  };
  await client.update(ref, typed(ref, { ...claim, status: next }), call, { subresource: "status" });
  events.event(subject(claim), "Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
}

const subject = ({ metadata }: PersistentVolumeClaim) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata,
});
