// `skiff ui`: a link that signs in to the page, by a token of an account that may see nodes' logs and open terminals.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { readPagePort } from "../../plugins/kit/os/platform/page-port.ts";
import { withServer } from "./commands.ts";
import { durationSeconds } from "./duration.ts";

const account = { name: "skiff-ui", namespace: "kube-system" };
const rbac = "rbac.authorization.k8s.io";

/** What the page's view of the cluster asks for, and nothing else. */
const lookAtCluster: KubeObject = {
  apiVersion: `${rbac}/v1`,
  kind: "ClusterRole",
  metadata: { name: `${account.name}-cluster` },
  rules: [
    { apiGroups: [""], resources: ["nodes"], verbs: ["list"] },
    { apiGroups: ["metrics.k8s.io"], resources: ["nodes"], verbs: ["list"] },
    { apiGroups: ["apps"], resources: ["deployments", "statefulsets", "daemonsets"], verbs: ["list"] },
    { apiGroups: ["batch"], resources: ["jobs"], verbs: ["list"] },
  ],
} as KubeObject;

/** The role of each binding, by the binding's name. */
const roles = {
  [account.name]: "system:kubelet-api-admin",
  [`${account.name}-cluster`]: `${account.name}-cluster`,
};

/** Where an agent without an API server puts its page's own token. */
const localTokenFile = (dataDir: string) => join(dataDir, "agent", "ui-token");

export async function uiCommand(
  ttl: string,
  dataDir: string,
  print: (line: string) => void,
  call: Call,
): Promise<void> {
  const port = readPagePort(dataDir);
  if (port === undefined)
    throw new Fault(
      "unavailable",
      `Cannot print a link: no running node with the data dir ${dataDir} serves its page; is --data-dir right, is it started, and is its --ui-port free and not 0?`,
    );
  const printLink = (token: string) => print(`http://127.0.0.1:${port}/#token=${encodeURIComponent(token)}`);
  const isServer = existsSync(join(dataDir, "admin.kubeconfig"));
  if (!isServer && existsSync(localTokenFile(dataDir)))
    return printLink(readFileSync(localTokenFile(dataDir), "utf8").trim());
  const expirationSeconds = durationSeconds(ttl);
  if (!expirationSeconds) throw new Fault("invalid", `--ttl "${ttl}" is not a time such as 8h or 30m`);
  return withServer(dataDir, async (client) => {
    await ensure(
      client,
      resources.serviceaccounts,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: account },
      call,
    );
    await ensure(client, resources.clusterroles, lookAtCluster, call);
    for (const [name, role] of Object.entries(roles)) {
      const binding = {
        apiVersion: `${rbac}/v1`,
        kind: "ClusterRoleBinding",
        metadata: { name },
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: role },
        subjects: [{ kind: "ServiceAccount", ...account }],
      };
      await ensure(client, resources.clusterrolebindings, binding, call);
    }
    const request = {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: {},
      spec: { expirationSeconds },
    };
    const { status } = await client.create<{ status: { token: string } }>(resources.serviceaccounts, request, call, {
      ...account,
      subresource: "token",
    });
    printLink(status.token);
  });
}

async function ensure(client: ApiClient, ref: ResourceRef, object: KubeObject, call: Call): Promise<void> {
  try {
    await client.create(ref, object, call);
  } catch (error) {
    if (!isFault(error, "already-exists")) throw error;
  }
}
