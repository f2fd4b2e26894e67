// Bootstrap tokens that have expired are taken away.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Secret } from "../../../plugins/kit/kube/objects/types.ts";
import { bootstrapTokenType } from "../../auth/tokens/bootstrap.ts";
import type { ControllerFactory } from "../../manager/contract.ts";

const namespace = "kube-system";

export const tokenCleaner: ControllerFactory = ({ client, informers, clock }) => {
  const secrets = informers.for<Secret>(resources.secrets);
  const isToken = (secret: Secret) => secret.metadata.namespace === namespace && secret.type === bootstrapTokenType;
  return {
    name: "token-cleaner",
    wakes: [
      { resource: resources.secrets, keys: (secret: Secret) => (isToken(secret) ? [secret.metadata.name ?? ""] : []) },
    ],
    async reconcile(name, call) {
      const secret = secrets.get(namespace, name);
      if (!secret || !isToken(secret)) return undefined;
      const expiresAt = Date.parse(Buffer.from(secret.data?.expiration ?? "", "base64").toString("utf8"));
      if (Number.isNaN(expiresAt)) return undefined;
      const leftMs = expiresAt - clock.now();
      if (leftMs > 0) return leftMs + 1;
      try {
        await client.delete(resources.secrets, { namespace, name }, call);
      } catch (error) {
        if (!isFault(error, "not-found")) throw error;
      }
      return undefined;
    },
  };
};
