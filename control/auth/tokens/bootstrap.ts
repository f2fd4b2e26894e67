// Authenticates bootstrap tokens: `id.secret` pairs kept as secrets in kube-system, by which a new node asks for its certificate.

import { timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import type { ClusterView } from "../../../plugins/kit/kube/cluster-view.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import type { Secret } from "../../../plugins/kit/kube/objects/types.ts";
import type { TokenAuthenticator } from "./contract.ts";
import { lookUp } from "./look-up.ts";

export const bootstrapTokenType = "bootstrap.kubernetes.io/token";
const bootstrapTokenPattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export function bootstrapTokenAuthenticator(view: ClusterView, clock: Clock): TokenAuthenticator {
  return {
    name: "bootstrap-token",
    async authenticateToken(token, _audiences, call) {
      const match = bootstrapTokenPattern.exec(token);
      if (!match) return undefined;
      const [, id = "", secretPart = ""] = match;
      const at = { namespace: "kube-system", name: `bootstrap-token-${id}` };
      const secret = await lookUp<Secret>(view, { group: "", plural: "secrets" }, at, call);
      const field = (name: string) => Buffer.from(secret?.data?.[name] ?? "", "base64").toString("utf8");
      const stored = Buffer.from(field("token-secret"));
      const given = Buffer.from(secretPart);
      const isGood =
        secret !== undefined &&
        secret.type === bootstrapTokenType &&
        !secret.metadata.deletionTimestamp &&
        field("token-id") === id &&
        stored.length === given.length &&
        timingSafeEqual(stored, given);
      if (!isGood) throw refused(id, "there is no such token, or its secret part is wrong");
      const expiration = field("expiration");
      if (expiration !== "" && !(Date.parse(expiration) > clock.now()))
        throw refused(id, `it expired at ${expiration}`);
      if (field("usage-bootstrap-authentication") !== "true") throw refused(id, "it may not be used to authenticate");
      const extra = field("auth-extra-groups")
        .split(",")
        .filter((group) => group !== "");
      const wrong = extra.find((group) => !groupPattern.test(group));
      if (wrong !== undefined) throw refused(id, `its extra group "${wrong}" is not a system:bootstrappers: group`);
      const groups = ["system:bootstrappers", ...extra, "system:authenticated"];
      return { user: { name: `system:bootstrap:${id}`, groups } };
    },
  };
}

function refused(id: string, why: string): Fault {
  return new Fault("unauthorized", `Cannot authenticate with bootstrap token "${id}": ${why}`);
}
