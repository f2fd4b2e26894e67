// A certificate with its key in one file, so that the two can never be torn apart: loaded if good, issued anew if not.

import { createPrivateKey, X509Certificate } from "node:crypto";
import type { Clock } from "../../../plugins/kit/base/clock.ts";
import {
  type AlternativeNames,
  type CertificateAndKey,
  createAuthority,
  createCertificate,
  parseCertificate,
  type Subject,
  type Usage,
} from "../../../plugins/kit/os/x509.ts";
import { readIfPresent, writeSoon } from "./files.ts";

const day = 86_400_000;
// A board without a battery starts in 1970; nothing this program makes can be older than the program.
const earliestNow = Date.UTC(2026, 0, 1);
const authorityLifetime = 10 * 365 * day;
const leafLifetime = 365 * day;
/** A leaf is issued anew when it has less than this left. */
const renewBefore = 120 * day;

export interface LeafWish extends Partial<Subject>, Partial<AlternativeNames> {
  readonly usages: readonly Usage[];
}

export function joinPair({ cert, key }: CertificateAndKey): string {
  return `${key.trim()}\n${cert.trim()}\n`;
}

/** Undefined when the text holds no certificate with its own key. */
export function splitPair(text: string | undefined): CertificateAndKey | undefined {
  const key = /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----/.exec(text ?? "")?.[0];
  const cert = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/.exec(text ?? "")?.[0];
  if (!key || !cert) return undefined;
  try {
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) return undefined;
  } catch {
    // Damaged: as good as absent.
    return undefined;
  }
  return { cert: `${cert}\n`, key: `${key}\n` };
}

export function newAuthority(commonName: string, clock: Clock): CertificateAndKey {
  const now = clock.now();
  return createAuthority({
    commonName,
    notBefore: Math.min(now, earliestNow) - day,
    notAfter: Math.max(now, earliestNow) + authorityLifetime,
  });
}

/** Valid since its authority is, so that a clock that is behind does not refuse it. */
function newLeaf(authority: CertificateAndKey, wish: LeafWish, clock: Clock): CertificateAndKey {
  return createCertificate(authority, {
    ...wish,
    notBefore: parseCertificate(authority.cert).notBefore,
    notAfter: Math.max(clock.now(), earliestNow) + leafLifetime,
  });
}

/** The pair in the file, when it is of this authority, says what is wished and lasts; else a new one, stored. */
export function leafAt(
  path: string,
  authority: CertificateAndKey,
  wish: LeafWish,
  clock: Clock,
): { pair: CertificateAndKey; isNew: boolean } {
  const stored = splitPair(readIfPresent(path));
  if (stored && isGood(stored, authority, wish, clock)) return { pair: stored, isNew: false };
  const pair = newLeaf(authority, wish, clock);
  // While the server runs: a new address calls for one. A damaged one is issued anew.
  writeSoon(path, joinPair(pair));
  return { pair, isNew: true };
}

function isGood(pair: CertificateAndKey, authority: CertificateAndKey, wish: LeafWish, clock: Clock): boolean {
  const facts = parseCertificate(pair.cert);
  if (!new X509Certificate(pair.cert).verify(new X509Certificate(authority.cert).publicKey)) return false;
  if (facts.notAfter - clock.now() < renewBefore) return false;
  const same = (a: readonly string[] | undefined, b: readonly string[] | undefined) =>
    JSON.stringify([...(a ?? [])].sort()) === JSON.stringify([...(b ?? [])].sort());
  return (
    facts.commonName === (wish.commonName ?? "") &&
    same(facts.organizations, wish.organizations) &&
    same(facts.dnsNames, wish.dnsNames) &&
    same(facts.ipAddresses, wish.ipAddresses)
  );
}
