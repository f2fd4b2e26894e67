// An API server for authorization tests, ours or the real one: clients by name that send raw requests, and an administrator.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { tmpdir } from "node:os";
import { mkdtempSync, rmSync } from "node:fs";
import { createCertificate } from "../../plugins/kit/os/x509.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import { startControl } from "./control.ts";
import type { Owner } from "./etcd.ts";
import { startKubeApiserver, webhookKubeconfig } from "./kube-apiserver.ts";
import { RawHttp } from "./raw-http.ts";
import { until } from "./until.ts";

export interface AuthorizationServer {
  /** A client with a certificate of that name and those groups; closed with the test. */
  client(name: string, groups?: readonly string[]): RawHttp;
  /** Of system:masters. */
  readonly admin: RawHttp;
}

export interface AuthorizationServerOptions {
  /** Asked for every decision, and nothing is cached; Node and RBAC decide when absent. */
  readonly webhook?: string;
}

export async function startKubeApiserverForAuthorization(
  t: Owner,
  { webhook }: AuthorizationServerOptions,
): Promise<AuthorizationServer> {
  const { port, pki } = await startKubeApiserver(t, {
    watchCache: false,
    ...(webhook === undefined ? {} : { authorizationWebhook: webhook }),
  });
  const server = serverWith(t, (name, groups) => ({ port, ca: pki.ca.cert, ...pki.client(name, groups) }));
  await until("kube-apiserver to be ready", async () => (await ask(server.admin, "/readyz")) === 200, 120_000);
  return server;
}

export async function startSkiffForAuthorization(
  t: Owner,
  { webhook }: AuthorizationServerOptions,
): Promise<AuthorizationServer> {
  const settings = webhook === undefined ? {} : { AuthorizationWebhook: webhookSettings(t, webhook) };
  const control = await startControl({ controllers: false, serviceCidr: "10.96.0.0/16", pluginSettings: settings });
  t.teardown(() => control.close());
  const { ca } = control.control.pki;
  const validity = { notBefore: Date.now() - 3_600_000, notAfter: Date.now() + 86_400_000 };
  const server = serverWith(t, (name, groups) => ({
    port: Number(new URL(control.url).port),
    ca: ca.cert,
    ...createCertificate(ca, {
      ...validity,
      commonName: name,
      organizations: groups,
      usages: ["digital signature", "client auth"],
    }),
  }));
  if (webhook !== undefined) await removeBindings(server.admin);
  return server;
}

function webhookSettings(t: Owner, webhook: string): object {
  const folder = mkdtempSync(join(tmpdir(), "skiff-webhook-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const kubeconfig = join(folder, "webhook.kubeconfig");
  writeFileSync(kubeconfig, writeYaml(webhookKubeconfig(webhook)));
  return { kubeconfig, allowedTtlSeconds: 0, refusedTtlSeconds: 0 };
}

/** RBAC decides before the webhook is asked: with no binding left, it allows nothing. */
async function removeBindings(admin: RawHttp): Promise<void> {
  const target = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
  const { status } = await admin.ask({ method: "DELETE", target });
  if (status !== 200) throw new Error(`cannot delete the cluster role bindings: ${status}`);
}

type Proof = ConstructorParameters<typeof RawHttp>[0];

function serverWith(t: Owner, proofOf: (name: string, groups: readonly string[]) => Proof): AuthorizationServer {
  const client = (name: string, groups: readonly string[] = []) => {
    const opened = new RawHttp(proofOf(name, groups));
    t.teardown(() => opened.close());
    return opened;
  };
  return { client, admin: client("admin", ["system:masters"]) };
}

/** Undefined while nobody listens. */
async function ask(client: RawHttp, target: string): Promise<number | undefined> {
  try {
    return (await client.ask({ method: "GET", target })).status;
  } catch {
    return undefined;
  }
}
