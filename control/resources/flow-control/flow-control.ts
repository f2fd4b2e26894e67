// flowcontrol.apiserver.k8s.io: how requests are sorted, and how many of each sort are worked on at once (control/api/flow).

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import {
  duplicate,
  type FieldErrors,
  forbidden,
  invalid,
  notSupported,
  required,
} from "../../machinery/field-error.ts";
import { dnsSubdomain } from "../names.ts";
import { age, ageColumn, column, nameColumn } from "../print.ts";
import { isSameSpec, mandatoryLevels, mandatorySchemas } from "./mandatory.ts";
import { type FlowRule, validateFlowRule } from "./validate-flow-rules.ts";
import { type LevelSpec, validateLevel } from "./validate-level.ts";

const group = "flowcontrol.apiserver.k8s.io";
const version = "v1";

/** The annotation by which the beta version says that zero shares are meant. */
const zeroShares = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";
const distinguisherMethods = ["ByNamespace", "ByUser"];

interface SchemaSpec {
  priorityLevelConfiguration?: { name?: string };
  matchingPrecedence?: number;
  distinguisherMethod?: { type?: string } | null;
  rules?: FlowRule[] | null;
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
    column("MatchingPrecedence", "Which is tried first."),
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
    schemaOf(object).matchingPrecedence ||= 1000;
  },
  validate(object) {
    const { name = "" } = object.metadata;
    const errors = validateSchema(schemaOf(object), name);
    const fixed = mandatorySchemas.get(name);
    if (fixed && !isSameSpec(object.spec, fixed))
      errors.push(invalid("spec", object.spec, `spec of '${name}' must equal the fixed value`));
    return errors;
  },
  validateStatus: validateConditions,
};

function validateSchema(spec: SchemaSpec, schemaName: string): FieldErrors {
  const errors: FieldErrors = [];
  const { matchingPrecedence: precedence = 0, distinguisherMethod, priorityLevelConfiguration, rules } = spec;
  const wrong = (problem: string) => errors.push(invalid("spec.matchingPrecedence", precedence, problem));
  if (precedence <= 0) wrong("must be a positive value");
  if (precedence > 10000) wrong("must not be greater than 10000");
  if (precedence === 1 && schemaName !== "exempt")
    wrong("only the schema named 'exempt' may have matchingPrecedence 1");
  if (distinguisherMethod && !distinguisherMethods.includes(distinguisherMethod.type ?? ""))
    errors.push(notSupported("spec.distinguisherMethod.type", distinguisherMethod.type ?? "", distinguisherMethods));
  const level = priorityLevelConfiguration?.name;
  if (!level) errors.push(required("spec.priorityLevelConfiguration.name", "must reference a priority level"));
  else
    for (const problem of dnsSubdomain(level))
      errors.push(invalid("spec.priorityLevelConfiguration.name", level, problem));
  rules?.forEach((rule, index) => validateFlowRule(rule, `spec.rules[${index}]`, errors));
  return errors;
}

function validateConditions(object: KubeObject): FieldErrors {
  const errors: FieldErrors = [];
  const types = new Set<string>();
  const { conditions } = (object.status ?? {}) as { conditions?: { type?: string }[] | null };
  conditions?.forEach(({ type = "" }, index) => {
    const field = `status.conditions[${index}].type`;
    if (types.has(type)) errors.push(duplicate(field, type));
    types.add(type);
    if (type === "") errors.push(required(field, "must not be empty"));
  });
  return errors;
}

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
      limited?.nominalConcurrencyShares ?? "<none>",
      queuing?.queues ?? "<none>",
      queuing?.handSize ?? "<none>",
      queuing?.queueLengthLimit ?? "<none>",
      age(object.metadata.creationTimestamp, now),
    ];
  },
  defaults(object) {
    const { limited, exempt } = levelOf(object);
    for (const shares of [limited, exempt]) {
      if (!shares) continue;
      shares.nominalConcurrencyShares ??= shares === limited ? 30 : 0;
      shares.lendablePercent ??= 0;
    }
    const queuing = limited?.limitResponse?.queuing;
    if (!queuing) return;
    queuing.handSize ||= 8;
    queuing.queues ||= 64;
    queuing.queueLengthLimit ||= 50;
  },
  validate(object) {
    const { name = "" } = object.metadata;
    const spec = levelOf(object);
    const errors: FieldErrors = [];
    if (Object.hasOwn(object.metadata.annotations ?? {}, zeroShares))
      errors.push(forbidden("metadata.annotations", `annotation '${zeroShares}' is forbidden`));
    if ((name === "exempt") !== (spec.type === "Exempt"))
      errors.push(invalid("spec.type", spec.type ?? "", "type must be 'Exempt' if and only if name is 'exempt'"));
    errors.push(...validateLevel(spec));
    const fixed = mandatoryLevels.get(name);
    // How much of the exempt level may be lent is for its administrator to say.
    const isExempt = name === "exempt";
    if (fixed && !isSameSpec(isExempt ? { ...spec, exempt: null } : spec, fixed))
      errors.push(
        invalid(
          "spec",
          spec,
          `spec of '${name}'${isExempt ? " except the 'spec.exempt' field" : ""} must equal the fixed value`,
        ),
      );
    return errors;
  },
  validateStatus: validateConditions,
};
