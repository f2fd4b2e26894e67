// Acting as someone else: reads the Impersonate-* headers, asks whether the real user may, and gives the user to go on as.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../plugins/kit/base/call.ts";
import { headerLines, headerNames } from "../../plugins/kit/os/platform/served-headers.ts";
import { badRequest, statusFault } from "../../plugins/kit/kube/status-fault.ts";
import { dnsLabel, dnsSubdomain } from "../resources/names.ts";
import type { Decision } from "./contract.ts";
import type { Attributes } from "../machinery/attributes.ts";
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

/** Whether any of the headers is there, also one that is refused alone: a request must never run as the real user in its place. */
export function asksToImpersonate(headers: Headers): boolean {
  return headerNames(headers).some((name) => name.startsWith("impersonate-"));
}

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
  const [name = ""] = headerLines(headers, "impersonate-user");
  const named = headerLines(headers, "impersonate-group");
  const [uid = ""] = headerLines(headers, "impersonate-uid");
  const extra = new Map<string, string[]>();
  for (const header of headerNames(headers)) {
    if (!header.startsWith(extraPrefix)) continue;
    const key = decodeKey(header.slice(extraPrefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...headerLines(headers, header)]);
  }
  if (name === "") {
    if (named.length === 0 && uid === "" && extra.size === 0) return undefined;
    throw badRequest("requested groups, uid or extra without impersonating a user name");
  }
  return {
    name,
    groups: named,
    ...(uid === "" ? {} : { uid }),
    ...(extra.size > 0 ? { extra: Object.fromEntries(extra) } : {}),
  };
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
  const [, namespace = "", name = ""] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(userName) ?? [];
  // What cannot name an account is a user like any other, without the groups of accounts.
  return dnsLabel(namespace).length === 0 && dnsSubdomain(name).length === 0 ? { namespace, name } : undefined;
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
