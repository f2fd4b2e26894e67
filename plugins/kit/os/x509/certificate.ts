// Certificates: making an authority, issuing under it, and reading what one says.

import { createHash, createPublicKey, randomBytes } from "node:crypto";
import { Fault } from "../../base/fault.ts";
import {
  bits,
  context,
  expectTag,
  fromPem,
  integer,
  octets,
  readAll,
  readBits,
  readOne,
  readTime,
  sequence,
  tags,
  time,
  toPem,
} from "./der.ts";
import {
  authorityKeyId,
  basicConstraints,
  extension,
  extensionOids,
  readExtensions,
  type Usage,
  usageExtensions,
} from "./extensions.ts";
import { createKeyPair, readPrivateKey, signatureAlgorithm, signWith } from "./keys.ts";
import {
  type AlternativeNames,
  encodeAlternativeNames,
  encodeSubject,
  readAlternativeNames,
  readSubject,
  type Subject,
} from "./names.ts";

/** A certificate and the private key to it, PEM. */
export interface CertificateAndKey {
  readonly cert: string;
  readonly key: string;
}

export interface Validity {
  /** Milliseconds since 1970; seconds are what is kept. */
  readonly notBefore: number;
  readonly notAfter: number;
}

export interface CertificateRequest extends Validity, Partial<Subject>, Partial<AlternativeNames> {
  readonly usages: readonly Usage[];
  /** SubjectPublicKeyInfo, PEM. */
  readonly publicKey: string;
}

export interface CertificateFacts extends Validity, Subject, AlternativeNames {
  /** Lower-case hexadecimal. */
  readonly serial: string;
  readonly isAuthority: boolean;
  /** SubjectPublicKeyInfo, PEM. */
  readonly publicKey: string;
  /** SHA-256 of the whole, lower-case hexadecimal. */
  readonly fingerprint256: string;
}

/** A new self-signed authority with a new ECDSA P-256 key. */
export function createAuthority(options: { commonName: string } & Validity): CertificateAndKey {
  const { key, publicKey } = createKeyPair();
  const subject = encodeSubject({ commonName: options.commonName, organizations: [] });
  const spki = fromPem(publicKey, "PUBLIC KEY");
  const id = keyId(spki);
  const cert = sign(key, {
    issuer: subject,
    subject,
    spki,
    validity: options,
    extensions: [
      basicConstraints(true),
      ...usageExtensions(["digital signature", "key encipherment", "cert sign"]),
      extension(extensionOids.subjectKeyId, octets(id)),
    ],
  });
  return { cert, key };
}

/** Issues a certificate with a key made for it; see `issueCertificate` for a key that the asker holds. */
export function createCertificate(
  authority: CertificateAndKey,
  options: Omit<CertificateRequest, "publicKey">,
): CertificateAndKey {
  const { key, publicKey } = createKeyPair();
  return { cert: issueCertificate(authority, { ...options, publicKey }), key };
}

/** Issues a certificate for a public key. It never outlives the authority. Returns PEM. */
export function issueCertificate(authority: CertificateAndKey, options: CertificateRequest): string {
  const issuer = readAuthority(authority.cert);
  const names = encodeAlternativeNames(options);
  const spki = createPublicKey(options.publicKey).export({ type: "spki", format: "der" });
  const subject = encodeSubject({ commonName: options.commonName ?? "", organizations: options.organizations ?? [] });
  const isNameless = subject.length === 2;
  return sign(authority.key, {
    issuer: issuer.subject,
    subject,
    spki,
    validity: { notBefore: options.notBefore, notAfter: Math.min(options.notAfter, issuer.notAfter) },
    extensions: [
      basicConstraints(false),
      ...usageExtensions(options.usages),
      extension(extensionOids.subjectKeyId, octets(keyId(spki))),
      authorityKeyId(issuer.keyId),
      ...(names ? [extension(extensionOids.subjectAltName, names, isNameless ? "critical" : "plain")] : []),
    ],
  });
}

interface Unsigned {
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly spki: Uint8Array;
  readonly validity: Validity;
  readonly extensions: readonly Uint8Array[];
}

function sign(keyPem: string, unsigned: Unsigned): string {
  const key = readPrivateKey(keyPem);
  const { notBefore, notAfter } = unsigned.validity;
  if (!(notAfter > notBefore)) throw new Fault("invalid", "A certificate must end after it begins");
  const algorithm = signatureAlgorithm(key);
  const serial = randomBytes(16);
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const content = sequence(
    context(0, integer(Uint8Array.of(2))),
    integer(serial),
    algorithm,
    unsigned.issuer,
    sequence(time(notBefore), time(notAfter)),
    unsigned.subject,
    unsigned.spki,
    context(3, sequence(...unsigned.extensions)),
  );
  return toPem(sequence(content, algorithm, bits(signWith(key, content))), "CERTIFICATE");
}

/** RFC 5280, 4.2.1.2, method 1: SHA-1 of the key's bits; a name, not a protection. */
function keyId(spki: Uint8Array): Buffer {
  const [, key] = readAll(readOne(spki, tags.sequence).content);
  return createHash("sha1").update(readBits(key)).digest();
}

function fieldsOf(der: Uint8Array) {
  const [content] = readAll(readOne(der, tags.sequence).content);
  const fields = readAll(expectTag(content, tags.sequence).content);
  const offset = fields[0]?.tag === 0xa0 ? 1 : 0;
  const [notBefore, notAfter] = readAll(expectTag(fields[offset + 3], tags.sequence).content);
  const extensions = fields.find(({ tag }) => tag === 0xa3);
  return {
    serial: expectTag(fields[offset], tags.integer).content,
    subject: expectTag(fields[offset + 4], tags.sequence),
    spki: expectTag(fields[offset + 5], tags.sequence).raw,
    notBefore: readTime(notBefore),
    notAfter: readTime(notAfter),
    extensions: readExtensions(extensions ? readAll(extensions.content)[0] : undefined),
  };
}

function readAuthority(pem: string) {
  const fields = fieldsOf(fromPem(pem, "CERTIFICATE"));
  const known = fields.extensions.get(extensionOids.subjectKeyId);
  return {
    subject: fields.subject.raw,
    notAfter: fields.notAfter,
    keyId: known ? readOne(known, tags.octetString).content : keyId(fields.spki),
  };
}

/** What the first certificate in the PEM text, or the DER bytes, says. Nothing is verified. Throws Fault `invalid`. */
export function parseCertificate(source: string | Uint8Array): CertificateFacts {
  const der = typeof source === "string" ? fromPem(source, "CERTIFICATE") : source;
  const fields = fieldsOf(der);
  const names = fields.extensions.get(extensionOids.subjectAltName);
  const constraints = fields.extensions.get(extensionOids.basicConstraints);
  const [authorityFlag] = constraints ? readAll(readOne(constraints, tags.sequence).content) : [];
  const { commonName, organizations } = readSubject(fields.subject);
  return {
    commonName,
    organizations,
    ...(names ? readAlternativeNames(names) : noNames),
    notBefore: fields.notBefore,
    notAfter: fields.notAfter,
    serial: fields.serial.toString("hex"),
    isAuthority: authorityFlag?.tag === tags.boolean && authorityFlag.content[0] !== 0,
    publicKey: toPem(fields.spki, "PUBLIC KEY"),
    fingerprint256: createHash("sha256").update(der).digest("hex"),
  };
}

const noNames: AlternativeNames = { dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] };
