// Asks the authorizers for one set of attributes, and refuses with 403 in upstream's words.

import type { Call } from "../../plugins/kit/base/call.ts";
import type { AuditTrail } from "../auth/audit/contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
import { describeRefusal } from "../auth/rbac/authorizer.ts";
import type { Scope, Services } from "./scope.ts";
import { forbiddenPath, forbiddenResource } from "../machinery/status.ts";

/** Fault `forbidden` unless some authorizer allows it. */
export async function requireAllowed(
  services: Pick<Services, "authorize">,
  attributes: Attributes,
  call: Call,
  trail?: AuditTrail,
): Promise<void> {
  const { answer, reason } = await services.authorize(attributes, call);
  trail?.annotate("authorization.k8s.io/decision", answer === "allow" ? "allow" : "forbid");
  trail?.annotate("authorization.k8s.io/reason", reason);
  if (answer === "allow") return;
  const why = describeRefusal(attributes, reason);
  if (attributes.resource) throw forbiddenResource(attributes.resource, attributes.resource.name, why);
  throw forbiddenPath(why);
}

/** A PUT or an apply that is about to create the object needs `create` besides the verb that it was admitted with. */
export async function requireCreate({ services, user, definition, ...scope }: Scope): Promise<void> {
  const { group, version, plural } = definition;
  const { name, subresource } = scope;
  // A Namespace is authorized in itself.
  const namespace = group === "" && plural === "namespaces" ? name : scope.namespace;
  const resource = { group, version, plural, subresource, namespace, name };
  await requireAllowed(services, { user, verb: "create", resource }, scope.call, scope.trail);
}
