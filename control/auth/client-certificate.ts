// Authenticates the client certificate of the connection: the common name is the user, organizations are the groups.
// The server seam hands over a certificate only when it was verified against the cluster's CA.

import type { Authenticator } from "./contract.ts";

export const clientCertificateAuthenticator: Authenticator = {
  name: "client-certificate",
  async authenticate({ peer }) {
    const certificate = peer.certificate;
    if (!certificate || certificate.commonName === "") return undefined;
    return {
      name: certificate.commonName,
      groups: [...certificate.organizations, "system:authenticated"],
      extra: {
        "authentication.kubernetes.io/credential-id": [
          `X509SHA256=${certificate.fingerprint256.replaceAll(":", "").toLowerCase()}`,
        ],
      },
    };
  },
};
