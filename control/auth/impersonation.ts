// Acting as someone else: reads the Impersonate-* headers, asks whether the real user may, and gives the user to go on as.

import type { UserInfo } from "../../plugins/kit/admission.ts";
import type { Call } from "../../plugins/kit/call.ts";
import { headerLines } from "../../plugins/kit/platform/served-headers.ts";
import { badRequest, statusFault } from "../../plugins/kit/status-fault.ts";
import type { Attributes, Decision } from "./contract.ts";
import { describeRefusal } from "./rbac/authorizer.ts";
import { accountGroups } from "./tokens/service-account-claims.ts";

type Authorize = (attributes: Attributes, call: Call) => Promise<Decision>;

interface Part {
  group: string;
  plural: string;
  subresource: string;
  namespace: string;
  name: string;
}

const authenticationGroup = "authentication.k8s.io";
const extraPrefix = "impersonate-extra-";

/** The user itself when no header asks for another. Fault `forbidden` where the verb `impersonate` is not granted. */
export async function impersonate(
  user: UserInfo,
  headers: Headers,
  authorize: Authorize,
  call: Call,
): Promise<UserInfo> {
  const wanted = wantedUser(headers);
  if (!wanted) return user;
  for (const part of partsOf(wanted)) {
    const attributes = { user, verb: "impersonate", resource: { version: "v1", ...part } };
    const { answer, reason } = await authorize(attributes, call);
    if (answer === "allow") continue;
    const qualified = part.group === "" ? part.plural : `${part.plural}.${part.group}`;
    const message = `${qualified} ${JSON.stringify(part.name)} is forbidden: ${describeRefusal(attributes, reason)}`;
    throw statusFault("forbidden", message, {
      code: 403,
      reason: "Forbidden",
      details: { name: part.name, ...(part.group ? { group: part.group } : {}), kind: part.plural },
    });
  }
  return withImpliedGroups(wanted);
}

function wantedUser(headers: Headers): UserInfo | undefined {
  const name = headers.get("impersonate-user") ?? "";
  const named = headerLines(headers, "impersonate-group").filter((group) => group !== "");
  const uid = headers.get("impersonate-uid") ?? "";
  const extra: Record<string, string[]> = {};
  for (const header of headers.keys())
    if (header.startsWith(extraPrefix))
      extra[decodeKey(header.slice(extraPrefix.length))] = headerLines(headers, header);
  const hasExtra = Object.keys(extra).length > 0;
  if (name === "") {
    if (named.length === 0 && uid === "" && !hasExtra) return undefined;
    throw badRequest("Cannot impersonate: groups, uid or extra are asked for without impersonating a user");
  }
  return { name, groups: named, ...(uid === "" ? {} : { uid }), ...(hasExtra ? { extra } : {}) };
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    // Upstream keeps a key that is not percent-encoded as it is.
    return key;
  }
}

function partsOf(wanted: UserInfo): Part[] {
  const part = (plural: string, name: string, over: Partial<Part> = {}): Part => ({
    group: "",
    plural,
    subresource: "",
    namespace: "",
    name,
    ...over,
  });
  const account = accountOf(wanted.name);
  const parts = [
    account ? part("serviceaccounts", account.name, { namespace: account.namespace }) : part("users", wanted.name),
    ...wanted.groups.map((group) => part("groups", group)),
  ];
  if (wanted.uid) parts.push(part("uids", wanted.uid, { group: authenticationGroup }));
  for (const [key, values] of Object.entries(wanted.extra ?? {})) {
    for (const value of values) {
      parts.push(part("userextras", value, { group: authenticationGroup, subresource: key }));
    }
  }
  return parts;
}

function accountOf(userName: string): { namespace: string; name: string } | undefined {
  const match = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(userName);
  return match ? { namespace: match[1] ?? "", name: match[2] ?? "" } : undefined;
}

function withImpliedGroups(wanted: UserInfo): UserInfo {
  const account = accountOf(wanted.name);
  const implied =
    wanted.name === "system:anonymous"
      ? ["system:unauthenticated"]
      : account && wanted.groups.length === 0
        ? accountGroups(account.namespace)
        : ["system:authenticated"];
  const isUnauthenticated = wanted.groups.includes("system:unauthenticated");
  const missing = implied.filter((group) => !wanted.groups.includes(group) && !isUnauthenticated);
  return { ...wanted, groups: [...wanted.groups, ...missing] };
}
