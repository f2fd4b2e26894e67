// Authenticates the client certificate of the connection: the common name is the user, organizations are the groups.
// The server seam hands over a certificate only when it was verified against the cluster's CA.

import type { UserInfo } from "../../plugins/kit/admission.ts";
import type { Peer } from "../../plugins/kit/platform/http-server.ts";
import type { Authenticator } from "./contract.ts";

type Certificate = NonNullable<Peer["certificate"]>;

/** Whom a certificate names; the requests of a connection share it. */
const users = new WeakMap<Certificate, UserInfo>();

export const clientCertificateAuthenticator: Authenticator = {
  name: "client-certificate",
  async authenticate({ peer }) {
    const certificate = peer.certificate;
    if (!certificate || certificate.commonName === "") return undefined;
    let user = users.get(certificate);
    if (!user) users.set(certificate, (user = userOf(certificate)));
    return user;
  },
};

function userOf(certificate: Certificate): UserInfo {
  return {
    name: certificate.commonName,
    groups: [...certificate.organizations, "system:authenticated"],
    extra: {
      "authentication.kubernetes.io/credential-id": [
        `X509SHA256=${certificate.fingerprint256.replaceAll(":", "").toLowerCase()}`,
      ],
    },
  };
}
