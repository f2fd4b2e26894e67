// Authenticates the bearer token of a request, from the Authorization header or, for browsers' WebSockets, from the
// subprotocol that carries it.

import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Authenticator } from "../contract.ts";
import type { TokenAuthenticator } from "./contract.ts";

const subprotocolPrefix = "base64url.bearer.authorization.k8s.io.";

function bearerToken(headers: Headers): string | undefined {
  const header = headers.get("authorization");
  if (header !== null) {
    const match = /^\s*bearer\s+(\S+)\s*$/i.exec(header);
    return match?.[1];
  }
  for (const protocol of (headers.get("sec-websocket-protocol") ?? "").split(",")) {
    const name = protocol.trim();
    if (!name.startsWith(subprotocolPrefix)) continue;
    const token = Buffer.from(name.slice(subprotocolPrefix.length), "base64url").toString("utf8");
    return token === "" ? undefined : token;
  }
  return undefined;
}

/** Tries each in order. A token that nobody knows is refused, never passed on to be anonymous. */
export function bearerAuthenticator(
  authenticators: readonly TokenAuthenticator[],
  apiAudiences: readonly string[],
): Authenticator {
  return {
    name: "bearer-token",
    async authenticate({ headers }, call) {
      const token = bearerToken(headers);
      if (token === undefined) return undefined;
      for (const authenticator of authenticators) {
        const answer = await authenticator.authenticateToken(token, apiAudiences, call);
        if (answer) return answer.user;
      }
      throw new Fault("unauthorized", "Cannot authenticate the request: its bearer token is not known here");
    },
  };
}
