// Issues service account tokens: answers TokenRequests (bound tokens) and makes the content of legacy token secrets.

import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { ClusterView } from "../../../plugins/kit/kube/cluster-view.ts";
import type { Fault } from "../../../plugins/kit/base/fault.ts";
import type { ObjectMeta, Pod, ServiceAccount } from "../../../plugins/kit/kube/objects/types.ts";
import { badRequest, statusFault } from "../../../plugins/kit/kube/status-fault.ts";
import { type SigningKey, signJwt } from "./jwt.ts";
import { lookUp } from "./look-up.ts";
import { accountUserName, claimsFor, type ObjectIdentity } from "./service-account-claims.ts";

export interface TokenIssuerOptions {
  readonly issuer: string;
  readonly apiAudiences: readonly string[];
  readonly key: () => SigningKey;
  readonly view: ClusterView;
  readonly clock: Clock;
}

export interface TokenRequest {
  apiVersion: string;
  kind: string;
  metadata?: ObjectMeta;
  spec?: {
    audiences?: string[] | null;
    expirationSeconds?: number | null;
    boundObjectRef?: { apiVersion?: string; kind?: string; name?: string; uid?: string } | null;
  };
  status?: { token: string; expirationTimestamp: string };
}

const defaultLifetimeSeconds = 3600;
const longestLifetimeSeconds = 2 ** 32;
// Pods' projected volumes ask for exactly this; such tokens live a year and warn after it, so that clients which
// never re-read the file go on working.
const podTokenSeconds = 3607;
const extendedSeconds = 365 * 24 * 3600;
export const legacyIssuer = "kubernetes/serviceaccount";

/** Answers `POST …/serviceaccounts/{name}/token`. */
export async function issueToken(
  account: ServiceAccount,
  request: TokenRequest,
  options: TokenIssuerOptions,
  call: Call,
): Promise<TokenRequest> {
  const spec = request.spec ?? {};
  const audiences = spec.audiences?.length ? spec.audiences : [...options.apiAudiences];
  const asked = spec.expirationSeconds ?? defaultLifetimeSeconds;
  if (asked < 600) throw invalid("spec.expirationSeconds", asked, "may not specify a duration less than 10 minutes");
  if (asked > longestLifetimeSeconds) {
    throw invalid("spec.expirationSeconds", asked, "may not specify a duration larger than 2^32 seconds");
  }
  const { name = "", namespace = "", uid = "" } = account.metadata;
  const bound = await boundObject(account, spec.boundObjectRef ?? undefined, options.view, call);
  const isForApi = audiences.every((audience) => options.apiAudiences.includes(audience));
  const isExtended = asked === podTokenSeconds && bound.pod !== undefined && isForApi;
  const nowMs = options.clock.now();
  const claims = claimsFor({
    issuer: options.issuer,
    namespace,
    account: { name, uid },
    ...bound,
    audiences,
    nowSeconds: Math.floor(nowMs / 1000),
    lifetimeSeconds: isExtended ? extendedSeconds : asked,
    ...(isExtended ? { warnAfterSeconds: asked } : {}),
  });
  return {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { ...request.metadata, name, namespace },
    spec: { ...spec, audiences, expirationSeconds: asked },
    status: {
      token: signJwt(claims, options.key()),
      expirationTimestamp: new Date(nowMs + asked * 1000).toISOString().replace(/\.\d+Z$/, "Z"),
    },
  };
}

type Bound = { pod?: ObjectIdentity; secret?: ObjectIdentity; node?: ObjectIdentity };
type BoundRef = NonNullable<NonNullable<TokenRequest["spec"]>["boundObjectRef"]>;

async function boundObject(
  account: ServiceAccount,
  ref: BoundRef | undefined,
  view: ClusterView,
  call: Call,
): Promise<Bound> {
  if (!ref) return {};
  const plural = { Pod: "pods", Secret: "secrets", Node: "nodes" }[ref.kind ?? ""];
  if (!plural || (ref.apiVersion ?? "v1") !== "v1") {
    throw badRequest(`cannot bind token to object of type ${ref.apiVersion ?? "v1"}, Kind=${ref.kind ?? ""}`);
  }
  const { name: accountName, namespace = "" } = account.metadata;
  const at = { namespace: plural === "nodes" ? "" : namespace, name: ref.name ?? "" };
  const object = await lookUp<Pod>(view, { group: "", plural }, at, call);
  if (!object)
    throw statusFault("not-found", `${plural} "${at.name}" not found`, {
      code: 404,
      reason: "NotFound",
      details: { name: at.name, kind: plural },
    });
  const uid = object.metadata.uid ?? "";
  if (ref.uid && ref.uid !== uid) {
    throw statusFault(
      "conflict",
      `the UID in the bound object reference (${ref.uid}) does not match the UID in record. The object might have been deleted and then recreated`,
      { code: 409, reason: "Conflict" },
    );
  }
  const identity = { name: at.name, uid };
  if (plural === "secrets") return { secret: identity };
  if (plural === "nodes") return { node: identity };
  if ((object.spec?.serviceAccountName || "default") !== accountName) {
    throw badRequest(
      `cannot bind token for serviceaccount "${accountName}" to pod running with different serviceaccount name.`,
    );
  }
  return { pod: identity, ...(await nodeOf(object, view, call)) };
}

async function nodeOf(pod: Pod, view: ClusterView, call: Call): Promise<Bound> {
  const name = pod.spec?.nodeName;
  if (!name) return {};
  const node = await lookUp<{ metadata: ObjectMeta }>(
    view,
    { group: "", plural: "nodes" },
    { namespace: "", name },
    call,
  );
  return node?.metadata.uid ? { node: { name, uid: node.metadata.uid } } : {};
}

function invalid(field: string, value: unknown, why: string): Fault {
  const message = `Invalid value: ${JSON.stringify(value)}: ${why}`;
  return statusFault("invalid", `TokenRequest.authentication.k8s.io "" is invalid: ${field}: ${message}`, {
    code: 422,
    reason: "Invalid",
    details: {
      group: "authentication.k8s.io",
      kind: "TokenRequest",
      causes: [{ reason: "FieldValueInvalid", message, field }],
    },
  });
}

/** The token of a `kubernetes.io/service-account-token` secret: never expires, good while the secret holds it. */
export function issueLegacyToken(
  account: { namespace: string; name: string; uid: string },
  secretName: string,
  key: SigningKey,
): string {
  const prefix = "kubernetes.io/serviceaccount";
  return signJwt(
    {
      iss: legacyIssuer,
      [`${prefix}/namespace`]: account.namespace,
      [`${prefix}/secret.name`]: secretName,
      [`${prefix}/service-account.name`]: account.name,
      [`${prefix}/service-account.uid`]: account.uid,
      sub: accountUserName(account.namespace, account.name),
    },
    key,
  );
}
