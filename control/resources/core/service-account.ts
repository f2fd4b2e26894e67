// ServiceAccount.

import type { ResourceDefinition } from "../definition.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

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
};
