// The cluster's keys and certificates below one folder: made on the first start, loaded after, issued anew before they
// end. Every pair is one file that is replaced whole, so a kill at any point leaves the old or the new, never half.

import { createPrivateKey, createPublicKey } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { CertificateAndKey } from "../../plugins/kit/os/x509.ts";
import { createKeyPair, parseCertificate } from "../../plugins/kit/os/x509.ts";
import { readIfPresent, removeLeftovers, writeIfChanged, writeWhole } from "./pki/files.ts";
import { kubeconfigText } from "./pki/kubeconfig.ts";
import { joinPair, type LeafWish, leafAt, newAuthority, splitPair } from "./pki/pair.ts";
import { type SigningKey, signingKey, type VerifyingKey, verifyingKey } from "./tokens/jwt.ts";

export interface PkiOptions {
  /** `<data-dir>/pki`. */
  readonly dir: string;
  readonly clock: Clock;
  /** Every name and address by which clients reach the server; localhost and the in-cluster names are added. */
  readonly serving: { readonly dnsNames: readonly string[]; readonly ipAddresses: readonly string[] };
  readonly clusterDomain?: string;
}

export interface Pki {
  /** The cluster's authority: signs servers, clients and nodes. */
  readonly ca: CertificateAndKey;
  /** The authority of the aggregation layer's proxy, apart so that its clients are nobody elsewhere. */
  readonly frontProxyCa: CertificateAndKey;
  readonly serviceAccountKey: SigningKey;
  /** Whose signatures count: the key itself, then earlier ones that were kept as `service-account-*.key` or `.pub`. */
  readonly serviceAccountKeys: readonly VerifyingKey[];
  /** SHA-256 of the authority's certificate, lower-case hexadecimal: what join tokens pin. */
  readonly caHash: string;
  serving(): CertificateAndKey;
  frontProxyClient(): CertificateAndKey;
  /** How the API server calls kubelets. */
  kubeletClient(): CertificateAndKey;
  adminClient(): CertificateAndKey;
  /** A node's own identity, `system:node:<name>` of `system:nodes`. */
  nodeClient(nodeName: string): CertificateAndKey;
  kubeletServing(
    nodeName: string,
    names: { dnsNames: readonly string[]; ipAddresses: readonly string[] },
  ): CertificateAndKey;
  /** Writes the administrator's kubeconfig (0600) when it is absent, old or of another cluster. */
  writeAdminKubeconfig(path: string, server: string): void;
}

/** Safe to call again and again; two servers on one folder must not be started at once. */
export function openPki(options: PkiOptions): Pki {
  const { dir, clock } = options;
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  chmodSync(dir, 0o700);
  removeLeftovers(dir);
  const file = (name: string) => join(dir, name);
  const ca = authorityAt(dir, "ca", "skiff-ca", clock);
  const frontProxyCa = authorityAt(dir, "front-proxy-ca", "skiff-front-proxy-ca", clock);
  const serviceAccountKey = serviceAccountKeyAt(file("service-account.key"));
  const leaf = (name: string, wish: LeafWish, authority = ca) =>
    leafAt(file(`${name}.pem`), authority, wish, clock).pair;
  return {
    ca,
    frontProxyCa,
    serviceAccountKey,
    serviceAccountKeys: [serviceAccountKey, ...earlierKeysIn(dir)],
    caHash: parseCertificate(ca.cert).fingerprint256,
    serving: () =>
      leaf("serving", {
        commonName: "kube-apiserver",
        ...servingNames(options),
        usages: ["digital signature", "server auth"],
      }),
    frontProxyClient: () => leaf("front-proxy-client", client("front-proxy-client"), frontProxyCa),
    kubeletClient: () => leaf("kubelet-client", client("kube-apiserver-kubelet-client")),
    adminClient: () => leaf("admin", client("kubernetes-admin", "system:masters")),
    nodeClient: (nodeName) =>
      leaf(`node-${fileName(nodeName)}-client`, client(`system:node:${nodeName}`, "system:nodes")),
    kubeletServing: (nodeName, names) =>
      leaf(`node-${fileName(nodeName)}-serving`, {
        commonName: `system:node:${nodeName}`,
        organizations: ["system:nodes"],
        ...names,
        usages: ["digital signature", "server auth"],
      }),
    writeAdminKubeconfig(path, server) {
      const facts = { server, ca: ca.cert, client: this.adminClient(), user: "kubernetes-admin" };
      writeIfChanged(path, kubeconfigText(facts));
      chmodSync(path, 0o600);
    },
  };
}

const client = (commonName: string, organization?: string): LeafWish => ({
  commonName,
  organizations: organization ? [organization] : [],
  usages: ["digital signature", "client auth"],
});

function servingNames({
  serving,
  clusterDomain = "cluster.local",
}: PkiOptions): Pick<LeafWish, "dnsNames" | "ipAddresses"> {
  const service = "kubernetes.default.svc";
  const inCluster = ["kubernetes", "kubernetes.default", service, `${service}.${clusterDomain}`];
  return {
    dnsNames: [...new Set(["localhost", ...inCluster, ...serving.dnsNames])],
    ipAddresses: [...new Set(["127.0.0.1", "::1", ...serving.ipAddresses])],
  };
}

/** Node names are DNS names, so this only guards against a name that is none. */
function fileName(nodeName: string): string {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(nodeName) || nodeName.includes("..")) {
    throw new Fault(
      "invalid",
      `Cannot issue a certificate for node ${JSON.stringify(nodeName)}: not a valid node name`,
    );
  }
  return nodeName;
}

/** An authority is made once and never replaced by itself: everything trusts it. `<name>.crt` is a public copy. */
function authorityAt(dir: string, name: string, commonName: string, clock: Clock): CertificateAndKey {
  const path = join(dir, `${name}.pem`);
  const text = readIfPresent(path);
  let pair = splitPair(text) ?? broughtAlong(dir, name);
  if (!pair) {
    if (text !== undefined) {
      throw new Fault(
        "invalid",
        `Cannot use ${path}: it holds no certificate with its key; restore it, or remove it to begin a new cluster authority`,
      );
    }
    pair = newAuthority(commonName, clock);
  }
  if (text === undefined) writeWhole(path, joinPair(pair));
  writeIfChanged(join(dir, `${name}.crt`), pair.cert, 0o644);
  return pair;
}

/** An authority that the user put there before the first start, as `<name>.crt` and `<name>.key`. */
function broughtAlong(dir: string, name: string): CertificateAndKey | undefined {
  const cert = readIfPresent(join(dir, `${name}.crt`));
  const key = readIfPresent(join(dir, `${name}.key`));
  return cert && key ? splitPair(`${key}\n${cert}`) : undefined;
}

function serviceAccountKeyAt(path: string): SigningKey {
  let text = readIfPresent(path);
  if (text === undefined) {
    text = createKeyPair().key;
    writeWhole(path, text);
  }
  try {
    return signingKey(createPrivateKey(text));
  } catch (cause) {
    throw new Fault("invalid", `Cannot use ${path}: it holds no private key`, { cause });
  }
}

/** To change the key: rename it, start anew, and remove it when the last token that it signed has ended. */
function earlierKeysIn(dir: string): VerifyingKey[] {
  const names = readdirSync(dir).filter((name) => /^service-account-.+\.(key|pub)$/.test(name));
  return names.sort().map((name) => {
    const path = join(dir, name);
    try {
      // Of a private key this takes the public half.
      return verifyingKey(createPublicKey(readIfPresent(path) ?? ""));
    } catch (cause) {
      throw new Fault("invalid", `Cannot use ${path}: it holds no key`, { cause });
    }
  });
}
