// flowcontrol.apiserver.k8s.io: kept for clients that manage them; this server bounds its load by fixed lanes.

import type { KubeObject } from "../../../plugins/kit/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "../field-error.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";

const group = "flowcontrol.apiserver.k8s.io";
const version = "v1";

interface SchemaSpec {
  priorityLevelConfiguration?: { name?: string };
  matchingPrecedence?: number;
  distinguisherMethod?: { type?: string };
}

interface LevelSpec {
  type?: string;
  limited?: {
    nominalConcurrencyShares?: number;
    lendablePercent?: number;
    limitResponse?: { type?: string; queuing?: { queues?: number; handSize?: number; queueLengthLimit?: number } };
  };
}

const schemaOf = (object: KubeObject) => (object.spec ?? {}) as SchemaSpec;
const levelOf = (object: KubeObject) => (object.spec ?? {}) as LevelSpec;

export const flowSchemas: ResourceDefinition = {
  group,
  version,
  plural: "flowschemas",
  singular: "flowschema",
  kind: "FlowSchema",
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column("PriorityLevel", "Which level it leads to."),
    column("MatchingPrecedence", "Which is tried first.", "integer"),
    column("DistinguisherMethod", "How flows are told apart."),
    ageColumn,
    column("MissingPL", "Whether the level is missing."),
  ],
  cells(object, now) {
    const spec = schemaOf(object);
    const dangling = (
      object.status as { conditions?: { type: string; status: string }[] } | undefined
    )?.conditions?.find((one) => one.type === "Dangling");
    return [
      object.metadata.name,
      spec.priorityLevelConfiguration?.name ?? "",
      spec.matchingPrecedence ?? 0,
      spec.distinguisherMethod?.type ?? "<none>",
      age(object.metadata.creationTimestamp, now),
      dangling?.status ?? "?",
    ];
  },
  defaults(object) {
    object.spec ??= {};
    schemaOf(object).matchingPrecedence ??= 1000;
  },
  validate(object) {
    const { matchingPrecedence = 0, priorityLevelConfiguration } = schemaOf(object);
    return [
      ...(priorityLevelConfiguration?.name
        ? []
        : [required("spec.priorityLevelConfiguration.name", "must reference a priority level")]),
      ...(matchingPrecedence >= 1 && matchingPrecedence <= 10000
        ? []
        : [invalid("spec.matchingPrecedence", matchingPrecedence, "must be between 1 and 10000")]),
    ];
  },
};

export const priorityLevels: ResourceDefinition = {
  group,
  version,
  plural: "prioritylevelconfigurations",
  singular: "prioritylevelconfiguration",
  kind: "PriorityLevelConfiguration",
  namespaced: false,
  hasStatus: true,
  hasGeneration: true,
  columns: [
    nameColumn,
    column("Type", "Whether it is limited."),
    column("NominalConcurrencyShares", "Its share of requests at once."),
    column("Queues", "How many queues it has."),
    column("HandSize", "How many queues one flow may use."),
    column("QueueLengthLimit", "How many may wait in a queue."),
    ageColumn,
  ],
  cells(object, now) {
    const { type, limited } = levelOf(object);
    const queuing = limited?.limitResponse?.queuing;
    return [
      object.metadata.name,
      type ?? "",
      String(limited?.nominalConcurrencyShares ?? "<none>"),
      String(queuing?.queues ?? "<none>"),
      String(queuing?.handSize ?? "<none>"),
      String(queuing?.queueLengthLimit ?? "<none>"),
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    const { limited } = levelOf(object);
    if (!limited) return;
    limited.nominalConcurrencyShares ??= 30;
    limited.lendablePercent ??= 0;
  },
  validate(object) {
    const { type = "", limited } = levelOf(object);
    const errors: FieldErrors = [];
    if ((object.metadata.name === "exempt") !== (type === "Exempt"))
      errors.push(invalid("spec.type", type, "type must be 'Exempt' if and only if name is 'exempt'"));
    if (type !== "Limited" && type !== "Exempt") errors.push(notSupported("spec.type", type, ["Exempt", "Limited"]));
    else if (type === "Limited" && !limited)
      errors.push(required("spec.limited", "must not be empty when type is Limited"));
    else if (type === "Exempt" && limited)
      errors.push(forbidden("spec.limited", "must be nil if the type is not Limited"));
    const { nominalConcurrencyShares: shares = 0, lendablePercent: lent = 0 } = limited ?? {};
    if (shares < 0)
      errors.push(invalid("spec.limited.nominalConcurrencyShares", shares, "must be a non-negative integer"));
    if (lent < 0 || lent > 100)
      errors.push(invalid("spec.limited.lendablePercent", lent, "must be between 0 and 100, inclusive"));
    return errors;
  },
};
