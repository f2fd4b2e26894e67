// Authenticates service account tokens. A token is good while its signature, issuer, audience and time are, and while
// the account and the object it is bound to still exist with the same UID.

import { timingSafeEqual } from "node:crypto";
import type { UserInfo } from "../../../plugins/kit/kube/user-info.ts";
import type { Call } from "../../../plugins/kit/base/call.ts";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { ClusterView } from "../../../plugins/kit/kube/cluster-view.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { ObjectMeta, Secret } from "../../../plugins/kit/kube/objects/types.ts";
import type { TokenAuthenticator } from "./contract.ts";
import { isSignedBy, type ParsedJwt, parseJwt, type VerifyingKey } from "./jwt.ts";
import { lookUp } from "./look-up.ts";
import { accountGroups, accountUserName, type ObjectIdentity, readClaims } from "./service-account-claims.ts";
import { legacyIssuer } from "./service-account-issue.ts";

export interface ServiceAccountTokenOptions {
  /** The first is ours; others are accepted, for a change of issuer. */
  readonly issuers: readonly string[];
  readonly keys: () => readonly VerifyingKey[];
  readonly view: ClusterView;
  readonly clock: Clock;
}

// As upstream: clocks may differ a little, and a deleted object's tokens die a minute after its grace ends.
const leewaySeconds = 60;
const deletedGraceMs = 60_000;
const rememberedSignatures = 512;

export function serviceAccountAuthenticator(options: ServiceAccountTokenOptions): TokenAuthenticator {
  // Checking a signature costs most; the same token comes again and again. Everything else is checked each time.
  const verified = new Map<string, ParsedJwt>();
  const verify = (token: string): ParsedJwt | undefined => {
    const known = verified.get(token);
    if (known) return known;
    const jwt = parseJwt(token);
    if (!jwt || (jwt.claims.iss !== legacyIssuer && !options.issuers.includes(String(jwt.claims.iss))))
      return undefined;
    if (!isSignedBy(jwt, options.keys())) throw refused("its signature was not made by this cluster's key");
    if (verified.size >= rememberedSignatures) verified.clear();
    verified.set(token, jwt);
    return jwt;
  };
  return {
    name: "service-account",
    async authenticateToken(token, audiences, call) {
      const jwt = verify(token);
      if (!jwt) return undefined;
      if (jwt.claims.iss === legacyIssuer) return { user: await legacyUser(token, jwt, options, call) };
      const claims = readClaims(jwt.claims);
      if (!claims) throw refused("its claims are not those of a service account");
      const now = options.clock.now() / 1000;
      if (now > claims.expires + leewaySeconds) throw refused("it has expired");
      if (now < claims.notBefore - leewaySeconds) throw refused("it is not valid yet");
      const matching = audiences.filter((audience) => claims.audiences.includes(audience));
      if (matching.length === 0) {
        throw refused(`its audiences ${JSON.stringify(claims.audiences)} are not among ${JSON.stringify(audiences)}`);
      }
      const check = (plural: string, namespace: string, object: ObjectIdentity) =>
        mustExist(plural, namespace, object, options, call);
      await check("serviceaccounts", claims.namespace, claims.account);
      if (claims.pod) await check("pods", claims.namespace, claims.pod);
      if (claims.secret) await check("secrets", claims.namespace, claims.secret);
      // A pod's token names its node only as information; a token bound to the node alone dies with it.
      if (claims.node && !claims.pod) await check("nodes", "", claims.node);
      const extra = {
        ...(claims.tokenId ? { "authentication.kubernetes.io/credential-id": [`JTI=${claims.tokenId}`] } : {}),
        ...(claims.node ? nameAndUid("node", claims.node) : {}),
        ...(claims.pod ? nameAndUid("pod", claims.pod) : {}),
      };
      return { user: userOf(claims.namespace, claims.account, extra), audiences: matching };
    },
  };
}

function nameAndUid(what: string, { name, uid }: ObjectIdentity): Record<string, string[]> {
  return {
    [`authentication.kubernetes.io/${what}-name`]: [name],
    [`authentication.kubernetes.io/${what}-uid`]: [uid],
  };
}

function userOf(namespace: string, account: ObjectIdentity, extra: Record<string, string[]> = {}): UserInfo {
  return {
    name: accountUserName(namespace, account.name),
    uid: account.uid,
    groups: accountGroups(namespace),
    ...(Object.keys(extra).length > 0 ? { extra } : {}),
  };
}

async function mustExist(
  plural: string,
  namespace: string,
  { name, uid }: ObjectIdentity,
  { view, clock }: ServiceAccountTokenOptions,
  call: Call,
): Promise<void> {
  const object = await lookUp<{ metadata: ObjectMeta }>(view, { group: "", plural }, { namespace, name }, call);
  if (!object || object.metadata.uid !== uid)
    throw refused(`the ${plural.slice(0, -1)} "${name}" it is bound to is gone`);
  const deletedAt = Date.parse(object.metadata.deletionTimestamp ?? "");
  if (clock.now() > deletedAt + deletedGraceMs)
    throw refused(`the ${plural.slice(0, -1)} "${name}" it is bound to is deleted`);
}

async function legacyUser(
  token: string,
  { claims }: ParsedJwt,
  options: ServiceAccountTokenOptions,
  call: Call,
): Promise<UserInfo> {
  const claim = (name: string) => String(claims[`kubernetes.io/serviceaccount/${name}`] ?? "");
  const namespace = claim("namespace");
  const account = { name: claim("service-account.name"), uid: claim("service-account.uid") };
  if (claims.sub !== accountUserName(namespace, account.name)) throw refused("its subject is not its service account");
  const at = { namespace, name: claim("secret.name") };
  const secret = await lookUp<Secret>(options.view, { group: "", plural: "secrets" }, at, call);
  const stored = Buffer.from(secret?.data?.token ?? "", "base64");
  const given = Buffer.from(token);
  if (
    !secret ||
    secret.metadata.deletionTimestamp ||
    stored.length !== given.length ||
    !timingSafeEqual(stored, given)
  ) {
    throw refused(`the secret "${at.name}" does not hold it`);
  }
  await mustExist("serviceaccounts", namespace, account, options, call);
  return userOf(namespace, account);
}

function refused(why: string): Fault {
  return new Fault("unauthorized", `Cannot authenticate the service account token: ${why}`);
}
