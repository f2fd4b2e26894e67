import {
  createAuthority,
  createCertificate,
  createSigningRequest,
  parseCertificate,
  parseSigningRequest,
} from "../../../plugins/kit/os/x509.ts";
import { attempt, type Target } from "../target.ts";

const pem = (label: string, der: Buffer) =>
  `-----BEGIN ${label}-----\n${der.toString("base64")}\n-----END ${label}-----\n`;
const validity = { notBefore: Date.UTC(2026, 0), notAfter: Date.UTC(2027, 0) };
const authority = createAuthority({ commonName: "ca", ...validity });
const names = {
  commonName: "system:node:a",
  organizations: ["system:nodes"],
  dnsNames: ["a.example"],
  ipAddresses: ["10.0.0.1"],
};
const issued = createCertificate(authority, { ...validity, ...names, usages: ["digital signature", "server auth"] });
const derOf = (text: string) => Buffer.from(text.replace(/-----[^-]+-----|\s/g, ""), "base64");

export const certificates: Target = {
  name: "certificates and signing requests",
  corpus: [
    derOf(issued.cert),
    derOf(createSigningRequest({ key: issued.key, ...names })),
    Buffer.from("3003020100", "hex"),
    Buffer.from("30803080", "hex"),
  ],
  words: ["\x30\x80", "\x06\x03\x55\x04\x03", "\x13\x01a", "\x02\x01\x00", "\xa0\x00", "\x30\x84\xff\xff\xff\xff"],
  run: (input) =>
    [
      attempt(() => parseSigningRequest(pem("CERTIFICATE REQUEST", input))),
      attempt(() => parseCertificate(pem("CERTIFICATE", input))),
    ].join(" "),
};
