// Which container of a pod is meant when none is named: the one that its annotation names, or the first, as kubectl has it.

import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import type { ClusterAccess } from "./access.ts";

export interface PodWish {
  readonly pod: string;
  readonly namespace?: string | undefined;
  readonly container?: string | undefined;
}

const defaultAnnotation = "kubectl.kubernetes.io/default-container";

/** The path of the pod in the API and the container's name; `tell` hears of a choice that was made for the user. */
export async function podContainer(
  access: ClusterAccess,
  wish: PodWish,
  tell: (line: string) => void,
  call: Call,
): Promise<{ path: string; container: string }> {
  // `pod/web` is what `kubectl get -o name` prints.
  const name = wish.pod.replace(/^pods?\//, "");
  const namespace = wish.namespace ?? access.namespace;
  const { metadata, spec } = await access.client.get<Pod>(resources.pods, { namespace, name }, call);
  const names = (spec?.containers ?? []).map((one) => one.name);
  const others = [...(spec?.initContainers ?? []), ...(spec?.ephemeralContainers ?? [])].map((one) => one.name);
  const known = [...names, ...others];
  if (wish.container !== undefined && !known.includes(wish.container))
    throw new Fault("invalid", `Pod "${namespace}/${name}" has no container "${wish.container}": ${known.join(", ")}`);
  const marked = metadata.annotations?.[defaultAnnotation] ?? "";
  const container = wish.container ?? (names.includes(marked) ? marked : (names[0] ?? ""));
  if (wish.container === undefined && names.length > 1)
    tell(`taking container "${container}" of ${names.join(", ")}; -c takes another`);
  return { path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`, container };
}
