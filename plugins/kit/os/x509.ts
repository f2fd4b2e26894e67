// X.509 for authorities, servers, clients and signing requests: one door to what stands in the folder beside it.

export {
  type CertificateAndKey,
  createAuthority,
  createCertificate,
  issueCertificate,
  parseCertificate,
} from "./x509/certificate.ts";
export { isUsage, type Usage } from "./x509/extensions.ts";
export { createKeyPair } from "./x509/keys.ts";
export type { AlternativeNames, Subject } from "./x509/names.ts";
export { createSigningRequest, parseSigningRequest, type SigningRequest } from "./x509/signing-request.ts";
