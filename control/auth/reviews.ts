// Evaluates the virtual resources that ask who someone is and what they may do. Nothing here is stored: the API path
// checks the shape, calls the function, and answers with what it returns.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { ObjectMeta } from "../../plugins/kit/kube/objects/types.ts";
import { badRequest, statusFault } from "../../plugins/kit/kube/status-fault.ts";
import { qualifiedName } from "../resources/names.ts";
import { authorizeBy, rulesBy } from "./authorize.ts";
import type { Authorizer } from "./contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
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
  key?: string;
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
  const spec = review.spec ?? {};
  const { resourceAttributes: asked, nonResourceAttributes: path } = spec;
  const problems = problemsOf(review, self !== undefined, namespace);
  if (problems.length > 0) throw invalidReview(problems);
  const user: UserInfo = self ?? {
    name: spec.user ?? "",
    groups: spec.groups ?? [],
    ...(spec.uid ? { uid: spec.uid } : {}),
    ...(spec.extra ? { extra: spec.extra } : {}),
  };
  if (path) return { user, verb: path.verb ?? "", path: path.path ?? "" };
  const field = selectorText(asked?.fieldSelector, fieldText);
  const label = selectorText(asked?.labelSelector, labelText);
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

function problemsOf({ metadata, spec = {} }: AccessReview, isSelf: boolean, namespace: string | undefined): Problem[] {
  const { resourceAttributes: asked, nonResourceAttributes: path } = spec;
  const problems: Problem[] = [];
  const wrong = (field: string, value: string, why: string) => problems.push(invalidValue(field, value, why));
  if (asked && path)
    wrong("spec.nonResourceAttributes", show(path), "cannot be specified in combination with resourceAttributes");
  if (!asked && !path)
    wrong(
      "spec.resourceAttributes",
      '"null"',
      "exactly one of nonResourceAttributes or resourceAttributes must be specified",
    );
  if (!isSelf && !spec.user && !spec.groups?.length)
    wrong("spec.user", '""', "at least one of user or group must be specified");
  for (const problem of selectorProblems(asked?.fieldSelector, "spec.resourceAttributes.fieldSelector", fieldKey))
    problems.push(problem);
  for (const problem of selectorProblems(asked?.labelSelector, "spec.resourceAttributes.labelSelector", labelKey))
    problems.push(problem);
  if (Object.entries(metadata ?? {}).some(([key, value]) => !unlooked.has(key) && value !== undefined && value !== ""))
    wrong("metadata", show(metadata), namespace === undefined ? "must be empty" : "must be empty except for namespace");
  if (namespace !== undefined && asked && (asked.namespace ?? "") !== namespace)
    wrong("spec.resourceAttributes.namespace", show(asked.namespace ?? ""), "must match metadata.namespace");
  if (namespace !== undefined && path)
    wrong("spec.nonResourceAttributes", show(path), "disallowed on this kind of request");
  return problems;
}

/** Who sends these sends them for nothing. */
const unlooked = new Set([
  "namespace",
  "managedFields",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
]);

const show = (value: unknown): string => JSON.stringify(value);
const fieldKey = (key: string, at: string): Problem[] => (key ? [] : [requiredValue(`${at}.key`, "must be specified")]);
const labelKey = (key: string, at: string): Problem[] =>
  qualifiedName(key).map((problem) => invalidValue(`${at}.key`, show(key), problem));

/** As many as anyone reads. */
const mostProblems = 1000;

function selectorProblems(
  selector: ResourceAttributes["fieldSelector"],
  at: string,
  keyProblems: (key: string, at: string) => Problem[],
): Problem[] {
  if (!selector) return [];
  const { rawSelector = "", requirements = [] } = selector;
  const problems: Problem[] = [];
  if (rawSelector && requirements.length > 0)
    problems.push(
      invalidValue(`${at}.rawSelector`, show(rawSelector), "may not specified at the same time as requirements"),
    );
  if (!rawSelector && requirements.length === 0)
    problems.push(
      requiredValue(`${at}.requirements`, `when ${at} is specified, requirements or rawSelector is required`),
    );
  requirements.forEach(({ key = "", operator, values = [] }, index) => {
    if (problems.length >= mostProblems) return;
    const here = `${at}.requirements[${index}]`;
    problems.push(...keyProblems(key, here));
    if (["In", "NotIn"].includes(operator) && values.length === 0)
      problems.push(requiredValue(`${here}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    if (["Exists", "DoesNotExist"].includes(operator) && values.length > 0)
      problems.push({
        reason: "FieldValueForbidden",
        field: `${here}.values`,
        message: "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      });
  });
  return problems;
}

/** Only requirements that narrow are kept; what is not understood is left out, which never grants more. */
/** A requirement that the query of a request could not hold is left out: the question is wider without it. */
function selectorText(
  selector: ResourceAttributes["fieldSelector"],
  textOf: (key: string, operator: string, values: readonly string[]) => string | undefined,
): string {
  if (selector?.rawSelector) return selector.rawSelector;
  return (selector?.requirements ?? [])
    .flatMap(({ key = "", operator, values = [] }) => textOf(key, operator, values) ?? [])
    .join(",");
}

function fieldText(key: string, operator: string, values: readonly string[]): string | undefined {
  const sign = { In: "=", NotIn: "!=" }[operator];
  if (sign === undefined || values.length !== 1) return undefined;
  return `${key}${sign}${values[0]?.replaceAll(/[\\,=]/g, "\\$&")}`;
}

function labelText(key: string, operator: string, values: readonly string[]): string | undefined {
  const list = `(${values.join(",")})`;
  return { In: `${key} in ${list}`, NotIn: `${key} notin ${list}`, Exists: key, DoesNotExist: `!${key}` }[operator];
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
  if (namespace === "") throw badRequest("no namespace on request");
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

interface Problem {
  readonly reason: string;
  readonly field: string;
  readonly message: string;
}

const invalidValue = (field: string, value: string, why: string): Problem => ({
  reason: "FieldValueInvalid",
  field,
  message: `Invalid value: ${value}: ${why}`,
});
const requiredValue = (field: string, why: string): Problem => ({
  reason: "FieldValueRequired",
  field,
  message: `Required value: ${why}`,
});

/** Of access reviews upstream does not say which kind. */
function invalidReview(causes: Problem[]): Fault {
  const group = "authorization.k8s.io";
  const lines = causes.map(({ field, message }) => `${field}: ${message}`);
  const text = lines.length === 1 ? lines[0] : `[${lines.join(", ")}]`;
  return statusFault("invalid", `.${group} "" is invalid: ${text}`, {
    code: 422,
    reason: "Invalid",
    details: { group, causes },
  });
}
