// The core resources that are answered rather than stored.

import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { pods } from "../resources/core/pod.ts";
import { bind } from "./binding.ts";
import type { HealthCheck } from "./health.ts";
import type { VirtualResource } from "./virtual.ts";

/** POST bindings: the same as pods/binding, with the pod named in the body. */
export const bindingResource: VirtualResource = {
  async create(object, scope) {
    await bind({ ...scope, definition: pods, name: object.metadata.name ?? "", subresource: "binding" }, object);
    return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 } as unknown as KubeObject;
  },
};

const components = ["controller-manager", "scheduler", "etcd-0"];

export function componentStatusResource(checks: () => readonly HealthCheck[]): VirtualResource {
  return {
    async list() {
      const problems = await Promise.all(checks().map(async (check) => check.check()));
      const problem = problems.find((one) => one !== undefined);
      const condition =
        problem === undefined
          ? { type: "Healthy", status: "True", message: "ok" }
          : { type: "Healthy", status: "False", message: problem };
      return components.map((name) => ({
        kind: "ComponentStatus",
        apiVersion: "v1",
        metadata: { name },
        conditions: [condition],
      }));
    },
  };
}
