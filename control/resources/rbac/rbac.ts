// rbac.authorization.k8s.io: roles and bindings, for a namespace and for the cluster.

import type { KubeObject } from "../../../plugins/kit/kube/objects/types.ts";
import type { ResourceDefinition } from "../definition.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { type FieldErrors, invalid, notListed, notSupported, required } from "../../machinery/field-error.ts";
import { type LabelSelector, validateLabelSelector } from "../label-selector.ts";
import { dnsSubdomain, pathSegment } from "../names.ts";
import { age, ageColumn, column, nameColumn, wideColumn } from "../print.ts";

const group = "rbac.authorization.k8s.io";
const version = "v1";

interface Rule {
  verbs?: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
  nonResourceURLs?: string[];
}

interface Subject {
  kind?: string;
  name?: string;
  namespace?: string;
  apiGroup?: string;
}

function validateRules(object: KubeObject, namespaced: boolean): FieldErrors {
  const errors: FieldErrors = [];
  ((object.rules ?? []) as Rule[]).forEach((rule, index) => {
    const at = `rules[${index}]`;
    if ((rule.verbs?.length ?? 0) === 0) errors.push(required(`${at}.verbs`, "verbs must contain at least one value"));
    if ((rule.nonResourceURLs?.length ?? 0) > 0) {
      if (namespaced)
        errors.push(
          invalid(`${at}.nonResourceURLs`, rule.nonResourceURLs, "namespaced rules cannot apply to non-resource URLs"),
        );
      if ([rule.apiGroups, rule.resources, rule.resourceNames].some((list) => (list?.length ?? 0) > 0))
        errors.push(
          invalid(
            `${at}.nonResourceURLs`,
            rule.nonResourceURLs,
            "rules cannot apply to both regular resources and non-resource URLs",
          ),
        );
      return;
    }
    if ((rule.apiGroups?.length ?? 0) === 0)
      errors.push(required(`${at}.apiGroups`, "resource rules must supply at least one api group"));
    if ((rule.resources?.length ?? 0) === 0)
      errors.push(required(`${at}.resources`, "resource rules must supply at least one resource"));
  });
  return errors;
}

function validateAggregation(object: KubeObject): FieldErrors {
  const rule = object.aggregationRule as { clusterRoleSelectors?: LabelSelector[] } | undefined;
  if (!rule) return [];
  const field = "aggregationRule.clusterRoleSelectors";
  const selectors = rule.clusterRoleSelectors ?? [];
  if (selectors.length === 0)
    return [required(field, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  return selectors.flatMap((selector, index) => validateLabelSelector(selector, `${field}[${index}]`));
}

const roleColumns = [nameColumn, column("Created At", "When it was created.", "date")];

/** Without rules, null is what a role shows. */
const emptyRules = (object: KubeObject): void => {
  if (((object.rules ?? []) as unknown[]).length === 0) object.rules = null;
};

const roleShape = {
  group,
  version,
  createsOnUpdate: true,
  validateName: pathSegment,
} as const;

export const roles: ResourceDefinition = {
  ...roleShape,
  plural: "roles",
  singular: "role",
  kind: "Role",
  namespaced: true,
  columns: roleColumns,
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
  defaults: emptyRules,
  validate: (object) => validateRules(object, true),
};

export const clusterRoles: ResourceDefinition = {
  ...roleShape,
  plural: "clusterroles",
  singular: "clusterrole",
  kind: "ClusterRole",
  namespaced: false,
  columns: roleColumns,
  cells: (object) => [object.metadata.name, object.metadata.creationTimestamp],
  defaults: emptyRules,
  validate: (object) => [...validateRules(object, false), ...validateAggregation(object)],
};

const bindingColumns = [
  nameColumn,
  column("Role", "Which role is given."),
  ageColumn,
  wideColumn("Users", "The users who get it."),
  wideColumn("Groups", "The groups who get it."),
  wideColumn("ServiceAccounts", "The service accounts who get it."),
];

function bindingCells(object: KubeObject, now: number): unknown[] {
  const role = object.roleRef as { kind?: string; name?: string } | undefined;
  const subjects = (object.subjects ?? []) as Subject[];
  const names = (kind: string) =>
    subjects
      .filter((one) => one.kind === kind)
      .map((one) => (kind === "ServiceAccount" ? `${one.namespace ?? ""}/${one.name ?? ""}` : (one.name ?? "")));
  return [
    object.metadata.name,
    `${role?.kind ?? ""}/${role?.name ?? ""}`,
    age(object.metadata.creationTimestamp, now),
    names("User").join(", "),
    names("Group").join(", "),
    names("ServiceAccount").join(", "),
  ];
}

function defaultBinding(object: KubeObject): void {
  const role = (object.roleRef ??= {}) as { apiGroup?: string };
  if (!role.apiGroup) role.apiGroup = group;
  for (const subject of (object.subjects ?? []) as Subject[])
    if (!subject.apiGroup && subject.kind !== "ServiceAccount") subject.apiGroup = group;
}

function validateBinding(
  object: KubeObject,
  previous: KubeObject | undefined,
  roleKinds: readonly string[],
): FieldErrors {
  const errors: FieldErrors = [];
  const role = (object.roleRef ?? {}) as { apiGroup?: string; kind?: string; name?: string };
  if (role.apiGroup !== group) errors.push(notSupported("roleRef.apiGroup", role.apiGroup, [group]));
  if (!roleKinds.includes(role.kind ?? "")) errors.push(notListed("roleRef.kind", role.kind ?? "", roleKinds));
  if (!role.name) errors.push(required("roleRef.name"));
  ((object.subjects ?? []) as Subject[]).forEach((subject, index) => {
    const at = `subjects[${index}]`;
    if (!subject.name) errors.push(required(`${at}.name`));
    else if (subject.kind === "ServiceAccount")
      for (const problem of dnsSubdomain(subject.name)) errors.push(invalid(`${at}.name`, subject.name, problem));
    const home = subject.kind === "ServiceAccount" ? "" : group;
    if (["ServiceAccount", "User", "Group"].includes(subject.kind ?? "") && (subject.apiGroup ?? "") !== home)
      errors.push(notSupported(`${at}.apiGroup`, subject.apiGroup ?? "", [home]));
    if (!["ServiceAccount", "User", "Group"].includes(subject.kind ?? ""))
      errors.push(notListed(`${at}.kind`, subject.kind ?? "", ["ServiceAccount", "User", "Group"]));
    if (subject.kind === "ServiceAccount" && !subject.namespace && !roleKinds.includes("Role"))
      errors.push(required(`${at}.namespace`));
  });
  if (previous && !deepEqual(previous.roleRef, object.roleRef))
    errors.push(invalid("roleRef", object.roleRef, "cannot change roleRef"));
  return errors;
}

export const roleBindings: ResourceDefinition = {
  ...roleShape,
  plural: "rolebindings",
  singular: "rolebinding",
  kind: "RoleBinding",
  namespaced: true,
  columns: bindingColumns,
  cells: bindingCells,
  defaults: defaultBinding,
  validate: (object, previous) => validateBinding(object, previous, ["Role", "ClusterRole"]),
};

export const clusterRoleBindings: ResourceDefinition = {
  ...roleShape,
  plural: "clusterrolebindings",
  singular: "clusterrolebinding",
  kind: "ClusterRoleBinding",
  namespaced: false,
  columns: bindingColumns,
  cells: bindingCells,
  defaults: defaultBinding,
  validate: (object, previous) => validateBinding(object, previous, ["ClusterRole"]),
};
