// Every active namespace has the cluster's CA certificate in the config map "kube-root-ca.crt", whatever becomes of it.

import { isFault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { ConfigMap, Namespace } from "../../../plugins/kit/kube/objects/types.ts";
import type { ControllerFactory } from "../../manager/contract.ts";

const mapName = "kube-root-ca.crt";
const annotations = {
  "kubernetes.io/description":
    "Holds the certificate authority that clients in pods check the API server against. It is the same in every namespace.",
};

export function rootCaController(caCertificate: string): ControllerFactory {
  return ({ client, informers }) => {
    const namespaces = informers.for<Namespace>(resources.namespaces);
    const maps = informers.for<ConfigMap>(resources.configmaps);
    return {
      name: "root-ca-certificate-publisher",
      wakes: [
        { resource: resources.namespaces, keys: (namespace: Namespace) => [namespace.metadata.name ?? ""] },
        {
          resource: resources.configmaps,
          keys: (map: ConfigMap) => (map.metadata.name === mapName ? [map.metadata.namespace ?? ""] : []),
        },
      ],
      async reconcile(name, call) {
        const namespace = namespaces.get("", name);
        if (!namespace || namespace.status?.phase === "Terminating") return undefined;
        const found = maps.get(name, mapName);
        if (found?.data?.["ca.crt"] === caCertificate) return undefined;
        try {
          if (found) await client.update(resources.configmaps, { ...found, data: { "ca.crt": caCertificate } }, call);
          else {
            const metadata = { namespace: name, name: mapName, annotations };
            const map = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { "ca.crt": caCertificate } };
            await client.create(resources.configmaps, map, call, { namespace: name });
          }
        } catch (error) {
          // Another server was quicker, or the namespace began to go: both end here.
          if (!isFault(error, "already-exists", "forbidden", "not-found")) throw error;
        }
        return undefined;
      },
    };
  };
}
