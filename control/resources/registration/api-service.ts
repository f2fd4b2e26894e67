// APIService: which group and version is served, all of them here.

import type { ResourceDefinition } from "../definition.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

interface Status {
  conditions?: { type: string; status: string; reason?: string }[];
}

export const apiServices: ResourceDefinition = {
  group: "apiregistration.k8s.io",
  version: "v1",
  plural: "apiservices",
  singular: "apiservice",
  kind: "APIService",
  namespaced: false,
  categories: ["api-extensions"],
  verbs: ["get", "list"],
  columns: [nameColumn, column("Service", "Who serves it."), column("Available", "Whether it answers."), ageColumn],
  cells(object, now) {
    const available = (object.status as Status | undefined)?.conditions?.find((one) => one.type === "Available");
    return [
      object.metadata.name,
      "Local",
      available === undefined || available.status === "True"
        ? "True"
        : `${available.status} (${available.reason ?? ""})`,
      age(object.metadata.creationTimestamp, now),
    ];
  },
};
