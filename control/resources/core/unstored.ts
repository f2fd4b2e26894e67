// Core resources that are not kept: bindings are done when posted, component statuses are made up on request.

import type { ResourceDefinition } from "../definition.ts";
import { column, nameColumn } from "../print.ts";

export const bindings: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "bindings",
  singular: "binding",
  kind: "Binding",
  namespaced: true,
  verbs: ["create"],
};

interface Condition {
  type?: string;
  status?: string;
  message?: string;
  error?: string;
}

export const componentStatuses: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "componentstatuses",
  singular: "componentstatus",
  kind: "ComponentStatus",
  namespaced: false,
  shortNames: ["cs"],
  verbs: ["get", "list"],
  deprecation: "v1 ComponentStatus is deprecated in v1.19+",
  columns: [
    nameColumn,
    column("Status", "Whether it is healthy."),
    column("Message", "What it says."),
    column("Error", "What is wrong with it."),
  ],
  cells(object) {
    const healthy = (object.conditions as Condition[] | undefined)?.find((one) => one.type === "Healthy");
    return [
      object.metadata.name,
      healthy?.status === "True" ? "Healthy" : "Unhealthy",
      healthy?.message ?? "",
      healthy?.error ?? "",
    ];
  },
};
