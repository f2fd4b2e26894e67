// Writes kubeconfig files, as JSON inside YAML's syntax so that no writer is needed on the way.

import type { CertificateAndKey } from "../../../plugins/kit/os/x509.ts";

export interface KubeconfigFacts {
  readonly server: string;
  readonly ca: string;
  readonly client: CertificateAndKey;
  readonly user: string;
  readonly cluster?: string;
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

export function kubeconfigText({ server, ca, client, user, cluster = "skiff" }: KubeconfigFacts): string {
  return [
    "apiVersion: v1",
    "kind: Config",
    "clusters:",
    `- name: ${JSON.stringify(cluster)}`,
    "  cluster:",
    `    server: ${JSON.stringify(server)}`,
    `    certificate-authority-data: ${base64(ca)}`,
    "users:",
    `- name: ${JSON.stringify(user)}`,
    "  user:",
    `    client-certificate-data: ${base64(client.cert)}`,
    `    client-key-data: ${base64(client.key)}`,
    "contexts:",
    `- name: ${JSON.stringify(cluster)}`,
    "  context:",
    `    cluster: ${JSON.stringify(cluster)}`,
    `    user: ${JSON.stringify(user)}`,
    `current-context: ${JSON.stringify(cluster)}`,
    "",
  ].join("\n");
}
