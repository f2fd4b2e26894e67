// Starts the real kube-apiserver on a real etcd, where both are on the PATH: the peer that the API is measured beside.

import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { accessSync, constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import { type TestPki, testPki } from "./certificates.ts";
import { noEtcd, type Owner, startEtcd } from "./etcd.ts";
import { freePort } from "./skiff.ts";

/** A reason to do without it. */
export const noKubeApiserver: string | false = noEtcd || (isOnPath() ? false : "kube-apiserver is not on the PATH");

function isOnPath(): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, "kube-apiserver"), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export interface KubeApiserverOptions {
  /** Asked for every decision in place of Node and RBAC; nothing that it answers is cached. */
  readonly authorizationWebhook?: string;
  /** With an etcd that reports no progress on demand, a watch begins only seconds later where there is a cache. */
  readonly watchCache?: boolean;
}

export interface KubeApiserver {
  readonly port: number;
  /** Its authority, for clients other than the administrator. */
  readonly pki: TestPki;
  /** Of an administrator. */
  readonly kubeconfig: string;
  /** Its own, and etcd's beside it. */
  readonly pids: readonly number[];
}

/** It may still be starting when this resolves; it ends, and its folder goes, with the owner. */
export async function startKubeApiserver(t: Owner, options: KubeApiserverOptions = {}): Promise<KubeApiserver> {
  const folder = mkdtempSync(join(tmpdir(), "skiff-kube-apiserver-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const [etcd] = await startEtcd(t);
  const port = await freePort();
  const pki = testPki();
  const files = writeKeys(folder, pki);
  mkdirSync(join(folder, "certificates"));
  const args = {
    "etcd-servers": etcd?.url,
    "bind-address": "127.0.0.1",
    "advertise-address": "127.0.0.1",
    "secure-port": port,
    "cert-dir": join(folder, "certificates"),
    "tls-cert-file": files["server.crt"],
    "tls-private-key-file": files["server.key"],
    "client-ca-file": files["ca.crt"],
    ...authorizationFlags(folder, options.authorizationWebhook),
    // Its questions depend on what was asked seconds before.
    ...(options.authorizationWebhook === undefined ? {} : { "feature-gates": "ConstrainedImpersonation=false" }),
    ...(options.watchCache === false ? { "watch-cache": false } : {}),
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": files["account.pub"],
    "service-account-signing-key-file": files["account.key"],
    "service-cluster-ip-range": "10.96.0.0/16",
    "endpoint-reconciler-type": "none",
    "allow-privileged": true,
    "enable-admission-plugins": "NodeRestriction",
  };
  const child = spawn(
    "kube-apiserver",
    Object.entries(args).map(([flag, value]) => `--${flag}=${value}`),
    { stdio: "ignore" },
  );
  t.teardown(() => ended(child));
  const kubeconfig = join(folder, "kubeconfig");
  writeFileSync(kubeconfig, writeYaml(kubeconfigFor(port, files)), { mode: 0o600 });
  return { port, pki, kubeconfig, pids: [child.pid ?? 0, ...(etcd?.pid ? [etcd.pid] : [])] };
}

function authorizationFlags(folder: string, webhook: string | undefined): Record<string, string> {
  if (webhook === undefined) return { "authorization-mode": "Node,RBAC" };
  const kubeConfigFile = join(folder, "webhook.kubeconfig");
  writeFileSync(kubeConfigFile, writeYaml(webhookKubeconfig(webhook)));
  const configuration = join(folder, "authorization.yaml");
  const connection = {
    timeout: "30s",
    subjectAccessReviewVersion: "v1",
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy: "Deny",
    authorizedTTL: "1s",
    cacheAuthorizedRequests: false,
    unauthorizedTTL: "1s",
    cacheUnauthorizedRequests: false,
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
  };
  writeFileSync(
    configuration,
    writeYaml({
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "AuthorizationConfiguration",
      authorizers: [{ type: "Webhook", name: "recorder", webhook: connection }],
    }),
  );
  return { "authorization-config": configuration };
}

/** How an API server finds an authorization webhook. */
export const webhookKubeconfig = (server: string): object => ({
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "webhook", cluster: { server } }],
  users: [{ name: "apiserver", user: {} }],
  contexts: [{ name: "webhook", context: { cluster: "webhook", user: "apiserver" } }],
  "current-context": "webhook",
});

/** The path of each file by its name. */
function writeKeys(folder: string, pki: TestPki): Record<string, string> {
  const admin = pki.client("admin", ["system:masters"]);
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const contents: Record<string, string> = {
    "ca.crt": pki.ca.cert,
    "server.crt": pki.server.cert,
    "server.key": pki.server.key,
    "admin.crt": admin.cert,
    "admin.key": admin.key,
    "account.pub": publicKey.export({ type: "spki", format: "pem" }).toString(),
    "account.key": privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  };
  const paths: Record<string, string> = {};
  for (const [name, content] of Object.entries(contents)) {
    paths[name] = join(folder, name);
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  }
  return paths;
}

function kubeconfigFor(port: number, files: Record<string, string>): object {
  const cluster = { server: `https://127.0.0.1:${port}`, "certificate-authority": files["ca.crt"] };
  const user = { "client-certificate": files["admin.crt"], "client-key": files["admin.key"] };
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "peer", cluster }],
    users: [{ name: "admin", user }],
    contexts: [{ name: "peer", context: { cluster: "peer", user: "admin" } }],
    "current-context": "peer",
  };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}

/** Of all the processes together. */
export const residentKb = (pids: readonly number[]): number => statusKb(pids, "VmRSS");

/** Without what is merely a part of a file, such as the program itself. */
export const ownKb = (pids: readonly number[]): number => statusKb(pids, "RssAnon");

function statusKb(pids: readonly number[], field: string): number {
  const value = new RegExp(`^${field}:\\s+(\\d+)`, "m");
  return pids.reduce((sum, pid) => sum + Number(value.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0), 0);
}
