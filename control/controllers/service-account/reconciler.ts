// Every active namespace has a service account named "default".

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { Namespace, ServiceAccount } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";

const accountName = "default";

export const serviceAccountController: ControllerFactory = ({ client, informers }) => {
  const namespaces = informers.for<Namespace>(resources.namespaces);
  const accounts = informers.for<ServiceAccount>(resources.serviceaccounts);
  return {
    name: "service-account",
    wakes: [
      { resource: resources.namespaces, keys: (namespace: Namespace) => [namespace.metadata.name ?? ""] },
      {
        resource: resources.serviceaccounts,
        keys: (account: ServiceAccount) =>
          account.metadata.name === accountName ? [account.metadata.namespace ?? ""] : [],
      },
    ],
    async reconcile(name, call) {
      const namespace = namespaces.get("", name);
      if (!namespace || namespace.status?.phase === "Terminating" || accounts.get(name, accountName)) return undefined;
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: name, name: accountName } };
      try {
        await client.create(resources.serviceaccounts, account, call, { namespace: name });
      } catch (error) {
        // Another server was quicker, or the namespace began to go: both end here.
        if (!isFault(error, "already-exists", "forbidden", "not-found")) throw error;
      }
      return undefined;
    },
  };
};
