// Authenticates ID tokens of an OpenID Connect provider. The key set is fetched when the first such token comes.

import type { JWTVerifyGetKey } from "jose";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { TokenAuthenticator } from "./contract.ts";
import { parseJwt } from "./jwt.ts";

export interface OidcOptions {
  readonly issuerUrl: string;
  readonly clientId: string;
  readonly usernameClaim?: string;
  /** `-` for none; the issuer and `#` when unset and the claim is not `email`. */
  readonly usernamePrefix?: string;
  readonly groupsClaim?: string;
  readonly groupsPrefix?: string;
  readonly requiredClaims?: Readonly<Record<string, string>>;
  readonly signingAlgorithms?: readonly string[];
  /** How the provider is reached; with a private CA a fetch that trusts it. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

export function oidcAuthenticator(options: OidcOptions): TokenAuthenticator {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  return {
    name: "oidc",
    async authenticateToken(token) {
      if (parseJwt(token)?.claims.iss !== options.issuerUrl) return undefined;
      keys ??= openKeySet(options);
      const { jwtVerify } = await import("jose");
      try {
        const { payload } = await jwtVerify(token, await keys, {
          issuer: options.issuerUrl,
          audience: options.clientId,
          algorithms: [...(options.signingAlgorithms ?? ["RS256"])],
          requiredClaims: ["exp"],
        });
        return { user: userOf(payload, options) };
      } catch (error) {
        if (error instanceof Fault) throw error;
        // A provider that could not be reached may be there for the next token.
        keys = undefined;
        throw new Fault("unauthorized", `Cannot authenticate the ID token: ${(error as Error).message}`, {
          cause: error,
        });
      }
    },
  };
}

async function openKeySet(options: OidcOptions): Promise<JWTVerifyGetKey> {
  const reach = options.fetch ?? ((request: Request) => fetch(request));
  const url = `${options.issuerUrl.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const response = await reach(new Request(url, { signal: AbortSignal.timeout(10_000) }));
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  const document = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown };
  if (document.issuer !== options.issuerUrl || typeof document.jwks_uri !== "string") {
    throw new Error(`${url} describes issuer ${JSON.stringify(document.issuer)}, not ${options.issuerUrl}`);
  }
  const { createRemoteJWKSet, customFetch } = await import("jose");
  return createRemoteJWKSet(new URL(document.jwks_uri), {
    [customFetch]: (target: string, init: object) => reach(new Request(target, init as RequestInit)),
  });
}

function userOf(payload: Record<string, unknown>, options: OidcOptions) {
  for (const [claim, value] of Object.entries(options.requiredClaims ?? {})) {
    if (payload[claim] !== value) throw refused(`claim "${claim}" is not "${value}"`);
  }
  const claim = options.usernameClaim ?? "sub";
  const name = payload[claim];
  if (typeof name !== "string" || name === "") throw refused(`claim "${claim}" is missing`);
  if (claim === "email" && payload.email_verified !== undefined && payload.email_verified !== true) {
    throw refused("the email is not verified");
  }
  const fallback = claim === "email" ? "" : `${options.issuerUrl}#`;
  const prefix = options.usernamePrefix === "-" ? "" : (options.usernamePrefix ?? fallback);
  // Names of the cluster's own are not a provider's to give.
  const isReserved = (each: string) => each.startsWith("system:");
  if (isReserved(`${prefix}${name}`)) throw refused(`user name "${prefix}${name}" is reserved`);
  const groups = options.groupsClaim ? [payload[options.groupsClaim] ?? []].flat() : [];
  if (groups.some((group) => typeof group !== "string")) throw refused(`claim "${options.groupsClaim}" holds no names`);
  return {
    name: `${prefix}${name}`,
    groups: [
      ...groups.map((group) => `${options.groupsPrefix ?? ""}${String(group)}`).filter((group) => !isReserved(group)),
      "system:authenticated",
    ],
  };
}

function refused(why: string): Fault {
  return new Fault("unauthorized", `Cannot authenticate the ID token: ${why}`);
}
