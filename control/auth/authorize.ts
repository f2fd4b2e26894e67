// Asks a list of authorizers in order: the first that allows or denies decides; when none does, the answer is no.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Authorizer, Decision, PathRule, ResourceRule } from "./contract.ts";
import type { Attributes } from "../machinery/attributes.ts";

/** The reasons of those without an opinion are kept, for the refusal. */
export async function authorizeBy(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  call: Call,
): Promise<Decision> {
  const reasons: string[] = [];
  for (const authorizer of authorizers) {
    const decision = await authorizer.authorize(attributes, call);
    if (decision.answer !== "no-opinion") return decision;
    if (decision.reason !== "") reasons.push(decision.reason);
  }
  return { answer: "no-opinion", reason: reasons.join(", ") };
}

export interface UserRules {
  readonly resourceRules: ResourceRule[];
  readonly nonResourceRules: PathRule[];
  /** True when some authorizer cannot tell what it would allow. */
  readonly incomplete: boolean;
  readonly evaluationError?: string;
}

/** What a user may do in a namespace, as far as the authorizers can tell. */
export function rulesBy(authorizers: readonly Authorizer[], user: UserInfo, namespace: string): UserRules {
  const all: UserRules[] = [];
  const silent: string[] = [];
  for (const authorizer of authorizers) {
    if (authorizer.rules) all.push(authorizer.rules(user, namespace));
    else silent.push(`${authorizer.name.toLowerCase()} authorizer does not support user rule resolution`);
  }
  return {
    resourceRules: all.flatMap((each) => each.resourceRules),
    nonResourceRules: all.flatMap((each) => each.nonResourceRules),
    incomplete: silent.length > 0 || all.some((each) => each.incomplete),
    ...(silent.length > 0 ? { evaluationError: silent.join(", ") } : {}),
  };
}
