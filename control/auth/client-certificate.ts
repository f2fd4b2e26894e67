// Authenticates the client certificate of the connection: the common name is the user, organizations are the groups.
// The server seam hands over a certificate only when it was verified against the cluster's CA.

import type { UserInfo } from "../../plugins/kit/kube/user-info.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Peer } from "../../plugins/kit/os/platform/http-server.ts";
import type { Authenticator } from "./contract.ts";

type Certificate = NonNullable<Peer["certificate"]>;

/** Whom a certificate names; the requests of a connection share it. */
const users = new WeakMap<Certificate, UserInfo>();

/** The certificate was verified when the connection began, which may be long ago: its end is compared with every request. */
export function clientCertificateAuthenticator(clock: Pick<Clock, "now">): Authenticator {
  return {
    name: "client-certificate",
    async authenticate({ peer, headers }) {
      const certificate = peer.certificate;
      if (!certificate || certificate.commonName === "") return undefined;
      if (certificate.endsAt <= clock.now()) {
        // A token may still say who it is; without one they are not nobody but refused.
        if (headers.has("authorization")) return undefined;
        throw new Fault("unauthorized", "Unauthorized");
      }
      let user = users.get(certificate);
      if (!user) users.set(certificate, (user = userOf(certificate)));
      return user;
    },
  };
}

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
