// What clients reach the cluster's API servers by: the names in this server's certificate, and where every server that lives is.

import type { Informer } from "../../../plugins/kit/informer.ts";
import type { EndpointSlice } from "../../../plugins/kit/objects/types.ts";
import { resources } from "../../../plugins/kit/objects/resources.ts";
import { parseCertificate } from "../../../plugins/kit/x509.ts";
import type { Pki } from "../pki.ts";

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
  return { dnsNames, ipAddresses: [...ipAddresses, ...others] };
}
