// Evaluates the virtual resources that ask who someone is and what they may do. Nothing here is stored: the API path
// checks the shape, calls the function, and answers with what it returns.

import type { UserInfo } from "../../plugins/kit/admission.ts";
import type { Call } from "../../plugins/kit/call.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import type { ObjectMeta } from "../../plugins/kit/objects/types.ts";
import { badRequest, statusFault } from "../../plugins/kit/status-fault.ts";
import { authorizeBy, rulesBy } from "./authorize.ts";
import type { Attributes, Authorizer } from "./contract.ts";
import type { TokenAuthenticator } from "./tokens/contract.ts";

interface ResourceAttributes {
  namespace?: string;
  verb?: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  fieldSelector?: { rawSelector?: string; requirements?: Requirement[] };
  labelSelector?: { rawSelector?: string; requirements?: Requirement[] };
}

interface Requirement {
  key: string;
  operator: string;
  values?: string[];
}

export interface AccessReview {
  apiVersion: string;
  kind: string;
  metadata?: ObjectMeta;
  spec?: {
    user?: string;
    groups?: string[];
    uid?: string;
    extra?: Record<string, string[]>;
    resourceAttributes?: ResourceAttributes | null;
    nonResourceAttributes?: { path?: string; verb?: string } | null;
  };
  status?: { allowed: boolean; denied?: boolean; reason?: string; evaluationError?: string };
}

/**
 * SubjectAccessReview, LocalSubjectAccessReview (`namespace` is that of the request) and SelfSubjectAccessReview
 * (`self` is who asks).
 */
export async function evaluateAccessReview(
  review: AccessReview,
  options: { authorizers: readonly Authorizer[]; self?: UserInfo; namespace?: string },
  call: Call,
): Promise<AccessReview> {
  const attributes = attributesOf(review, options);
  const { answer, reason } = await authorizeBy(options.authorizers, attributes, call);
  return {
    ...review,
    status: {
      allowed: answer === "allow",
      ...(answer === "deny" ? { denied: true } : {}),
      ...(reason ? { reason } : {}),
    },
  };
}

function attributesOf(review: AccessReview, { self, namespace }: { self?: UserInfo; namespace?: string }): Attributes {
  const {
    namespace: _namespace,
    managedFields: _managed,
    creationTimestamp: _created,
    ...said
  } = review.metadata ?? {};
  const spec = review.spec ?? {};
  const { resourceAttributes: asked, nonResourceAttributes: path } = spec;
  const problem = (field: string, type: string, message: string) => invalid(review.kind, field, type, message);
  if (Object.values(said).some((value) => value !== undefined && value !== "")) {
    throw problem("metadata", "FieldValueInvalid", "must be empty");
  }
  if (asked && path) {
    throw problem(
      "spec.nonResourceAttributes",
      "FieldValueInvalid",
      "cannot be specified in combination with resourceAttributes",
    );
  }
  if (!asked && !path) {
    throw problem(
      "spec.resourceAttributes",
      "FieldValueInvalid",
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
  }
  if (!self && !spec.user && !spec.groups?.length) {
    throw problem("spec.user", "FieldValueInvalid", "at least one of user or group must be specified");
  }
  if (namespace !== undefined && !asked) {
    throw problem("spec.nonResourceAttributes", "FieldValueInvalid", "disallowed on this kind of request");
  }
  if (namespace !== undefined && asked?.namespace !== namespace) {
    throw problem("spec.resourceAttributes.namespace", "FieldValueInvalid", "must match metadata.namespace");
  }
  const user: UserInfo = self ?? {
    name: spec.user ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
  if (path) return { user, verb: path.verb ?? "", path: path.path ?? "" };
  const field = selectorText(asked?.fieldSelector);
  const label = selectorText(asked?.labelSelector);
  return {
    user,
    verb: asked?.verb ?? "",
    resource: {
      group: asked?.group ?? "",
      version: asked?.version || "*",
      plural: asked?.resource ?? "",
      subresource: asked?.subresource ?? "",
      namespace: asked?.namespace ?? "",
      name: asked?.name ?? "",
      ...(field ? { fieldSelector: field } : {}),
      ...(label ? { labelSelector: label } : {}),
    },
  };
}

/** Only requirements that narrow are kept; what is not understood is left out, which never grants more. */
function selectorText(selector: ResourceAttributes["fieldSelector"]): string {
  if (selector?.rawSelector) return selector.rawSelector;
  return (selector?.requirements ?? [])
    .filter(({ operator, values }) => operator === "In" && values?.length === 1)
    .map(({ key, values }) => `${key}=${values?.[0]}`)
    .join(",");
}

export interface RulesReview {
  apiVersion: string;
  kind: string;
  metadata?: ObjectMeta;
  spec?: { namespace?: string };
  status?: object;
}

/** SelfSubjectRulesReview: what `kubectl auth can-i --list` shows. */
export function evaluateRulesReview(
  review: RulesReview,
  options: { authorizers: readonly Authorizer[]; self: UserInfo },
): RulesReview {
  const namespace = review.spec?.namespace ?? "";
  if (namespace === "") throw invalid(review.kind, "spec.namespace", "FieldValueRequired", "no namespace on request");
  const { resourceRules, nonResourceRules, incomplete, evaluationError } = rulesBy(
    options.authorizers,
    options.self,
    namespace,
  );
  return {
    ...review,
    spec: {},
    status: { resourceRules, nonResourceRules, incomplete, ...(evaluationError ? { evaluationError } : {}) },
  };
}

/** SelfSubjectReview: what `kubectl auth whoami` shows. */
export function evaluateSelfReview<T extends object>(review: T, self: UserInfo): T & { status: object } {
  return { ...review, status: { userInfo: userInfoOf(self) } };
}

export interface TokenReview {
  apiVersion: string;
  kind: string;
  metadata?: ObjectMeta;
  spec?: { token?: string; audiences?: string[] | null };
  status?: object;
}

/** TokenReview: whose token this is; a bad token is an answer, not an error. */
export async function evaluateTokenReview(
  review: TokenReview,
  options: { authenticators: readonly TokenAuthenticator[]; apiAudiences: readonly string[] },
  call: Call,
): Promise<TokenReview> {
  const token = review.spec?.token ?? "";
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const audiences = review.spec?.audiences?.length ? review.spec.audiences : options.apiAudiences;
  const answer = (status: object): TokenReview => ({ ...review, status });
  try {
    for (const authenticator of options.authenticators) {
      const found = await authenticator.authenticateToken(token, audiences, call);
      if (!found) continue;
      // A token without audiences is one of the API server's own.
      const good = found.audiences ?? audiences.filter((each) => options.apiAudiences.includes(each));
      if (good.length === 0) break;
      return answer({ authenticated: true, user: userInfoOf(found.user), audiences: good });
    }
    return answer({ user: {}, error: "invalid bearer token" });
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "unauthorized") throw error;
    return answer({ user: {}, error: `[invalid bearer token, ${error.message}]` });
  }
}

/** A user in the shape of authentication.k8s.io/v1 UserInfo. */
export function userInfoOf(user: UserInfo): object {
  return {
    username: user.name,
    ...(user.uid ? { uid: user.uid } : {}),
    groups: user.groups,
    ...(user.extra && Object.keys(user.extra).length > 0 ? { extra: user.extra } : {}),
  };
}

function invalid(kind: string, field: string, reason: string, why: string): Fault {
  const group = kind === "TokenReview" ? "authentication.k8s.io" : "authorization.k8s.io";
  // Of access reviews upstream does not say which kind.
  const named = kind.endsWith("AccessReview") ? "" : kind;
  const message = reason === "FieldValueRequired" ? `Required value: ${why}` : `Invalid value: "": ${why}`;
  return statusFault("invalid", `${named}.${group} "" is invalid: ${field}: ${message}`, {
    code: 422,
    reason: "Invalid",
    details: { group, ...(named ? { kind } : {}), causes: [{ reason, message, field }] },
  });
}
