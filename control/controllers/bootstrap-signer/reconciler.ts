// Bootstrap signer: the public config map "cluster-info" always carries a signature by each token that may sign.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ConfigMap, Secret } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";
import { deepEqual } from "../../machinery/equal.ts";
import { bootstrapTokenType } from "../../auth/tokens/bootstrap.ts";
import { signedData, signingToken } from "./signatures.ts";

const namespace = "kube-public";
const name = "cluster-info";
const key = `${namespace}/${name}`;

export const bootstrapSigner: ControllerFactory = ({ client, informers, clock }) => {
  const maps = informers.for<ConfigMap>(resources.configmaps);
  const secrets = informers.for<Secret>(resources.secrets);
  return {
    name: "bootstrap-signer",
    wakes: [
      {
        resource: resources.configmaps,
        keys: ({ metadata }: ConfigMap) => (metadata.namespace === namespace && metadata.name === name ? [key] : []),
      },
      {
        resource: resources.secrets,
        keys: ({ metadata, type }: Secret) =>
          metadata.namespace === "kube-system" && type === bootstrapTokenType ? [key] : [],
      },
    ],
    async reconcile(_key, call) {
      const map = maps.get(namespace, name);
      if (!map) return undefined;
      const tokens = secrets.list("kube-system").flatMap((secret) => signingToken(secret, clock.now()) ?? []);
      const data = signedData((map.data ?? {}) as Record<string, string>, tokens);
      if (deepEqual(map.data ?? {}, data)) return undefined;
      try {
        await client.update(resources.configmaps, { ...map, data }, call);
      } catch (error) {
        if (!isFault(error, "conflict", "not-found")) throw error;
      }
      return undefined;
    },
  };
};
