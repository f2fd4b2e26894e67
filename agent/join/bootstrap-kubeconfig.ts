// Joins any Kubernetes API server by a bootstrap kubeconfig: its credentials are good for one thing, a signing request; from then on the node
// has its own certificate, and a kubeconfig that names it. Uses nothing that a stock API server does not have.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Call, within } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { type Kubeconfig, loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault, isFault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import { writeFileAtomic } from "../../plugins/kit/os/platform/files.ts";
import { writeYaml } from "../../plugins/kit/base/yaml.ts";
import { NodeCredentials, type Pair } from "./credentials.ts";
import { type Joined, joinedNode } from "./join.ts";
import { requestCertificate } from "./signing.ts";

export interface BootstrapOptions {
  /** The file with the credentials for the first time; it may be gone afterwards. */
  readonly bootstrapPath: string;
  /** Where the node's own kubeconfig is written. */
  readonly kubeconfigPath: string;
  readonly nodeName: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** A person may have to approve the request. */
const approvalWithinMs = 15 * 60_000;

export async function joinByBootstrap(options: BootstrapOptions, call: Call): Promise<Joined & { server: string }> {
  const { kubeconfigPath, nodeName, clock, log } = options;
  const pki = join(options.dataDir, "agent", "pki");
  const credentials = new NodeCredentials(pki, clock);
  let client = credentials.pair("client");
  let ca = credentials.ca();
  let server = "";
  if (client && ca && existsSync(kubeconfigPath)) {
    const own = await loadKubeconfig(kubeconfigPath);
    own.close();
    server = own.server;
  } else {
    ({ client, ca, server } = await bootstrap(options, await credentials.joiningKey(), call));
    await credentials.keepCa(ca);
    await credentials.keep("client", client);
    credentials.forgetJoiningKey();
    await writeFileAtomic(kubeconfigPath, kubeconfigOf(server, pki, nodeName), { mode: 0o600 });
    log.info({ node: nodeName, server, kubeconfig: kubeconfigPath }, "joined the cluster");
  }
  const member = joinedNode({ ...options, servers: [server], token: undefined }, credentials, ca, client);
  return Object.assign(member, { server });
}

async function bootstrap(
  options: BootstrapOptions,
  key: string,
  call: Call,
): Promise<{ client: Pair; ca: string; server: string }> {
  const { bootstrapPath, nodeName, clock, log } = options;
  const contact = await loadBootstrap(bootstrapPath);
  const { server } = contact;
  try {
    const { ca, rejectUnauthorized } = await contact.proof(call);
    if (!ca || !rejectUnauthorized)
      throw new Fault(
        "invalid",
        `Cannot join by ${bootstrapPath}: it must name the certificate authority of ${server}`,
      );
    const api = new ApiClient({ fetch: contact.fetch, server, clock, log, userAgent: "skiff-agent" });
    const spec = { nodeName, signer: "kubernetes.io/kube-apiserver-client-kubelet", key } as const;
    const onMade = (name: string) =>
      log.info(
        { request: name },
        "asked for the node's certificate (unless it is approved by itself: kubectl certificate approve)",
      );
    const client = await requestCertificate(api, { ...spec, onMade }, within(approvalWithinMs, call));
    return { client, ca, server };
  } catch (error) {
    throw explain(error, options, server);
  } finally {
    contact.close();
  }
}

async function loadBootstrap(path: string): Promise<Kubeconfig> {
  if (!existsSync(path)) throw new Fault("invalid", `Bad value for --bootstrap-kubeconfig: there is no file ${path}`);
  return loadKubeconfig(path);
}

function explain(error: unknown, { bootstrapPath, nodeName }: BootstrapOptions, server: string): unknown {
  if (isFault(error, "unauthorized"))
    return new Fault(
      "unauthorized",
      `Cannot join ${server}: it does not know the credentials of ${bootstrapPath}, or they have expired`,
      { cause: error },
    );
  if (isFault(error, "forbidden") && !error.message.startsWith("Cannot join"))
    return new Fault(
      "forbidden",
      `Cannot join ${server}: the credentials of ${bootstrapPath} may not ask for certificates: ${error.message}`,
      { cause: error },
    );
  if (isFault(error, "timeout"))
    return new Fault(
      "timeout",
      `Cannot join as node "${nodeName}": nobody has approved its signing request within ${approvalWithinMs / 60_000} minutes`,
      { cause: error },
    );
  return error;
}

/** Names the files, which are replaced as certificates are renewed. */
function kubeconfigOf(server: string, pki: string, nodeName: string): string {
  const pair = join(pki, "client.pem");
  return writeYaml({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "default", cluster: { server, "certificate-authority": join(pki, "ca.crt") } }],
    users: [{ name: nodeName, user: { "client-certificate": pair, "client-key": pair } }],
    contexts: [{ name: "default", context: { cluster: "default", user: nodeName } }],
    "current-context": "default",
  });
}
