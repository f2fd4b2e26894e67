// The core resources that are answered rather than stored.

import type { KubeObject } from "../../plugins/kit/objects/types.ts";
import { pods } from "../resources/core/pod.ts";
import { bind } from "./binding.ts";
import type { HealthCheck } from "./health.ts";
import type { Registry } from "./registry.ts";
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
      const problem = checks()
        .map((check) => check.check())
        .find((one) => one !== undefined);
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

/** Every group and version served here, as a local APIService. */
export function apiServiceResource(registry: Registry, startedAt: string): VirtualResource {
  return {
    async list() {
      return registry.groups().flatMap((group) =>
        registry.versions(group).map((version, index) => ({
          kind: "APIService",
          apiVersion: "apiregistration.k8s.io/v1",
          metadata: {
            name: `${version}.${group}`,
            creationTimestamp: startedAt,
            labels: { "kube-aggregator.kubernetes.io/automanaged": "onstart" },
          },
          spec: {
            ...(group === "" ? {} : { group }),
            version,
            groupPriorityMinimum: group === "" ? 18000 : 17000,
            versionPriority: 15 - index,
          },
          status: {
            conditions: [
              {
                type: "Available",
                status: "True",
                reason: "Local",
                message: "Local APIServices are always available",
                lastTransitionTime: startedAt,
              },
            ],
          },
        })),
      );
    },
  };
}
