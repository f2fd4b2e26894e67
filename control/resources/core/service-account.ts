// ServiceAccount.

import type { ResourceDefinition } from "../definition.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

const mountable = "kubernetes.io/enforce-mountable-secrets";

export const serviceAccounts: ResourceDefinition = {
  group: "",
  version: "v1",
  plural: "serviceaccounts",
  singular: "serviceaccount",
  kind: "ServiceAccount",
  namespaced: true,
  shortNames: ["sa"],
  answersDeleted: true,
  columns: [nameColumn, column("Secrets", "How many secrets it names."), ageColumn],
  cells: (object, now) => [
    object.metadata.name,
    ((object.secrets as unknown[] | undefined) ?? []).length,
    age(object.metadata.creationTimestamp, now),
  ],
  warnings: (object, previous) =>
    object.metadata.annotations?.[mountable] === undefined || previous?.metadata.annotations?.[mountable] !== undefined
      ? []
      : [
          `metadata.annotations[${mountable}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
        ],
};
