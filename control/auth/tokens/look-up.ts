// Finds an object in the live view first and, when the view lags behind, in the store.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { ClusterView, GroupResource } from "../../../plugins/kit/kube/cluster-view.ts";

export async function lookUp<T extends object>(
  view: ClusterView,
  of: GroupResource,
  at: { namespace: string; name: string },
  call: Call,
): Promise<T | undefined> {
  return view.informer<T>(of).get(at.namespace, at.name) ?? (await view.read<T>(of, at, call));
}
