// What clients reach the cluster's API servers by: the names in this server's certificate, and the names and addresses of every server
// that lives.

import type { Informer } from "../../../plugins/kit/kube/informer.ts";
import type { EndpointSlice, Lease } from "../../../plugins/kit/kube/objects/types.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { parseCertificate } from "../../../plugins/kit/os/x509.ts";
import type { Pki } from "../pki.ts";

/** On the leases of API servers that share a store. */
export const serverLease = {
  namespace: "kube-system",
  labels: { "apiserver.kubernetes.io/identity": "kube-apiserver" },
  /** The DNS names in the server's certificate, behind commas. */
  namesAnnotation: "skiff.dev/dns-names",
} as const;

interface Informers {
  for<T extends object>(of: { group: string; plural: string }): Informer<T>;
}

export function serverNames(
  pki: Pick<Pki, "serving">,
  informers: Informers,
): { dnsNames: readonly string[]; ipAddresses: readonly string[] } {
  const { dnsNames, ipAddresses } = parseCertificate(pki.serving().cert);
  const slices = informers
    .for<EndpointSlice>(resources.endpointslices)
    .list()
    .filter(
      ({ metadata }) =>
        metadata.namespace === "default" && metadata.labels?.["kubernetes.io/service-name"] === "kubernetes",
    );
  const others = slices.flatMap(({ endpoints }) => endpoints ?? []).flatMap(({ addresses }) => addresses);
  return { dnsNames: [...dnsNames, ...namesOfOthers(informers)], ipAddresses: [...ipAddresses, ...others] };
}

function namesOfOthers(informers: Informers): string[] {
  return informers
    .for<Lease>(resources.leases)
    .list(serverLease.namespace)
    .filter(({ metadata }) =>
      Object.entries(serverLease.labels).every(([key, value]) => metadata.labels?.[key] === value),
    )
    .flatMap(({ metadata }) => metadata.annotations?.[serverLease.namesAnnotation]?.split(",") ?? []);
}
