// Certificates for tests: an authority, a server for loopback, and clients by name.

import { type CertificateAndKey, createAuthority, createCertificate } from "../../plugins/kit/os/x509.ts";

const validity = () => ({ notBefore: Date.now() - 3_600_000, notAfter: Date.now() + 86_400_000 });

export interface TestPki {
  readonly ca: CertificateAndKey;
  readonly server: CertificateAndKey;
  client(commonName: string, organizations?: readonly string[]): CertificateAndKey;
}

export function testPki(commonName = "test-ca"): TestPki {
  const ca = createAuthority({ commonName, ...validity() });
  return {
    ca,
    server: createCertificate(ca, {
      ...validity(),
      commonName: "test-server",
      dnsNames: ["localhost"],
      ipAddresses: ["127.0.0.1", "::1"],
      usages: ["digital signature", "server auth"],
    }),
    client: (name, organizations = []) =>
      createCertificate(ca, {
        ...validity(),
        commonName: name,
        organizations,
        usages: ["digital signature", "client auth"],
      }),
  };
}
