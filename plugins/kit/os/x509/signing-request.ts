// Certificate signing requests (PKCS #10): making one for a key, and reading one with its own signature checked.

import { createPublicKey } from "node:crypto";
import { Fault, isFault } from "../../base/fault.ts";
import {
  bits,
  context,
  type DerValue,
  expectTag,
  fromPem,
  integer,
  oid,
  readAll,
  readBits,
  readOid,
  readOne,
  sequence,
  set,
  tags,
  toPem,
} from "./der.ts";
import { extension, extensionOids, readExtensions } from "./extensions.ts";
import { isSignedBy, readPrivateKey, readPublicKey, signatureAlgorithm, signWith } from "./keys.ts";
import {
  type AlternativeNames,
  encodeAlternativeNames,
  encodeSubject,
  readAlternativeNames,
  readSubject,
  type Subject,
} from "./names.ts";

export interface SigningRequest extends Subject, AlternativeNames {
  /** SubjectPublicKeyInfo, PEM. */
  readonly publicKey: string;
  /** Attribute types of the subject beside common name and organization, as dotted identifiers. */
  readonly otherAttributes: readonly string[];
}

const extensionRequest = "1.2.840.113549.1.9.14";
const largestRequest = 64 * 1024;

/** A signing request, PEM, for a private key, PEM. */
export function createSigningRequest(options: { key: string } & Partial<Subject> & Partial<AlternativeNames>): string {
  const key = readPrivateKey(options.key);
  const names = encodeAlternativeNames(options);
  const attributes = names
    ? sequence(oid(extensionRequest), set(sequence(extension(extensionOids.subjectAltName, names))))
    : Buffer.alloc(0);
  const content = sequence(
    integer(Uint8Array.of(0)),
    encodeSubject({ commonName: options.commonName ?? "", organizations: options.organizations ?? [] }),
    createPublicKey(key).export({ type: "spki", format: "der" }),
    context(0, attributes),
  );
  return toPem(sequence(content, signatureAlgorithm(key), bits(signWith(key, content))), "CERTIFICATE REQUEST");
}

/** Reads a request and checks that its sender holds the key. Throws Fault `invalid`. */
export function parseSigningRequest(pem: string): SigningRequest {
  if (pem.length > largestRequest) throw new Fault("invalid", "The certificate signing request is too long");
  try {
    return readRequest(fromPem(pem, "CERTIFICATE REQUEST"));
  } catch (error) {
    if (isFault(error, "unsupported")) throw new Fault("invalid", error.message, { cause: error });
    throw error;
  }
}

function readRequest(der: Buffer): SigningRequest {
  const [content, algorithm, signature] = readAll(readOne(der, tags.sequence).content);
  const [, subject, spki, attributes] = readAll(expectTag(content, tags.sequence).content);
  const spkiDer = expectTag(spki, tags.sequence).raw;
  if (!isSignedBy(readPublicKey(spkiDer), algorithm, content?.raw ?? Buffer.alloc(0), readBits(signature)))
    throw new Fault("invalid", "The certificate signing request is not signed by its own key");
  const { commonName, organizations, others } = readSubject(expectTag(subject, tags.sequence));
  const names = attributes ? requestedExtensions(attributes).get(extensionOids.subjectAltName) : undefined;
  const none: AlternativeNames = { dnsNames: [], ipAddresses: [], emailAddresses: [], uris: [] };
  return {
    commonName,
    organizations,
    otherAttributes: others,
    publicKey: toPem(spkiDer, "PUBLIC KEY"),
    ...(names ? readAlternativeNames(names) : none),
  };
}

function requestedExtensions(attributes: DerValue): Map<string, Buffer> {
  for (const attribute of readAll(expectTag(attributes, 0xa0).content)) {
    const [type, values] = readAll(expectTag(attribute, tags.sequence).content);
    if (readOid(type) === extensionRequest) return readExtensions(readAll(expectTag(values, tags.set).content)[0]);
  }
  return new Map();
}
