// Claims and ingresses that name no class get the default one, where there is one.

import type { GroupResource } from "../kit/kube/cluster-view.ts";
import type { KubeObject } from "../kit/kube/objects/types.ts";
import { isWriteOf, step, type Tools } from "./step.ts";

const oldStorageAnnotation = "volume.beta.kubernetes.io/storage-class";
const oldIngressAnnotation = "kubernetes.io/ingress.class";

/** Of several defaults the newest, and of equally new ones the first by name. */
function defaultsOf({ view }: Tools, of: GroupResource, annotation: string): KubeObject[] {
  return view
    .informer(of)
    .list()
    .filter((each) => each.metadata.annotations?.[annotation] === "true")
    .sort((a, b) => {
      const [first, second] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
      if (first !== second) return first < second ? 1 : -1;
      return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
    });
}

export const defaultStorageClass = step("DefaultStorageClass", (tools) => ({
  handles: (request) => isWriteOf(request, "", "persistentvolumeclaims", "CREATE"),
  mutate({ object }) {
    const spec = object?.spec as { storageClassName?: string } | undefined;
    if (!object || !spec || spec.storageClassName !== undefined) return;
    if (object.metadata.annotations?.[oldStorageAnnotation] !== undefined) return;
    const classes = { group: "storage.k8s.io", plural: "storageclasses" };
    const [chosen] = defaultsOf(tools, classes, "storageclass.kubernetes.io/is-default-class");
    if (chosen?.metadata.name) spec.storageClassName = chosen.metadata.name;
  },
}));

export const defaultIngressClass = step("DefaultIngressClass", (tools) => ({
  handles: (request) => isWriteOf(request, "networking.k8s.io", "ingresses", "CREATE"),
  mutate({ object }) {
    const spec = object?.spec as { ingressClassName?: string } | undefined;
    if (!object || !spec || spec.ingressClassName !== undefined) return;
    if (object.metadata.annotations?.[oldIngressAnnotation] !== undefined) return;
    const classes = { group: "networking.k8s.io", plural: "ingressclasses" };
    const [chosen] = defaultsOf(tools, classes, "ingressclass.kubernetes.io/is-default-class");
    if (chosen?.metadata.name) spec.ingressClassName = chosen.metadata.name;
  },
}));
