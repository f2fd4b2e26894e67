// Which cluster a node belongs to, from its settings: a Skiff server joined by token, any API server by kubeconfig or by bootstrap kubeconfig,
// or none.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "../../plugins/kit/base/call.ts";
import type { Clock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Log } from "../../plugins/kit/base/log.ts";
import type { Settings } from "../../plugins/kit/base/settings.ts";
import { joinByBootstrap } from "../join/bootstrap-kubeconfig.ts";
import { joinByKubeconfig } from "../join/by-kubeconfig.ts";
import { joinCluster, type Joined } from "../join/join.ts";
import type { ServingNames } from "../join/serving-certificate.ts";
import { nodeAddresses } from "../../plugins/kit/os/net/own-addresses.ts";
import type { NodeOptions } from "./node.ts";

export interface Membership {
  /** What the node is opened with. */
  readonly node: Pick<NodeOptions, "api" | "identity">;
  /** Keeps credentials fresh until stopped. */
  run(call: Call): Promise<void>;
  close(): void;
}

export async function openMembership(
  settings: Settings,
  nodeName: string,
  log: Log,
  clock: Clock,
  call: Call,
): Promise<Membership> {
  const servers = (settings.server as readonly string[] | undefined) ?? [];
  const bootstrap = settings["bootstrap-kubeconfig"] as string | undefined;
  if (servers.length > 0 && (settings.kubeconfig || bootstrap))
    throw new Fault("invalid", "Give either --server or a kubeconfig: a node belongs to one cluster");
  if (servers.length > 0) return joined(settings, servers, nodeName, log, clock, call);
  if (bootstrap) return bootstrapped(settings, bootstrap, nodeName, log, clock, call);
  if (settings.kubeconfig) return byKubeconfig(settings, String(settings.kubeconfig), nodeName, log, clock, call);
  if (!settings["manifest-dir"] && !settings["manifest-url"]) {
    throw new Fault(
      "invalid",
      "Nothing to do: give --server and --token, --kubeconfig, --bootstrap-kubeconfig, --manifest-dir or --manifest-url",
    );
  }
  return { node: {}, run: async () => {}, close: () => {} };
}

async function joined(
  settings: Settings,
  servers: readonly string[],
  nodeName: string,
  log: Log,
  clock: Clock,
  call: Call,
): Promise<Membership> {
  const token = settings.token as string | undefined;
  const member = await joinCluster(
    { servers, token, nodeName, dataDir: String(settings["data-dir"]), clock, log },
    call,
  );
  const kubeletPort = Number(settings["kubelet-port"]);
  const own = membershipOf(settings, member, servers[0], nodeName);
  return {
    ...own,
    async run(runCall) {
      const lines = settings["node-line"] === false ? undefined : member.holdLines(kubeletPort, runCall);
      await Promise.all([own.run(runCall), lines]);
    },
  };
}

/** With the kubelet's meaning: the first time by the bootstrap file, then by the kubeconfig that came of it. */
async function bootstrapped(
  settings: Settings,
  bootstrapPath: string,
  nodeName: string,
  log: Log,
  clock: Clock,
  call: Call,
): Promise<Membership> {
  const dataDir = String(settings["data-dir"]);
  const told = settings.kubeconfig as string | undefined;
  // One that is there and is not of our making is a finished one.
  if (told && existsSync(told) && !readFileSync(told, "utf8").includes(join(dataDir, "agent", "pki")))
    return byKubeconfig(settings, told, nodeName, log, clock, call);
  const kubeconfigPath = told ?? join(dataDir, "agent", "kubeconfig");
  const member = await joinByBootstrap({ bootstrapPath, kubeconfigPath, nodeName, dataDir, clock, log }, call);
  return membershipOf(settings, member, member.server, nodeName);
}

function membershipOf(settings: Settings, member: Joined, server: string | undefined, nodeName: string): Membership {
  return {
    node: {
      api: { fetch: member.fetch, daemons: member.daemons, ...(server ? { server } : {}) },
      identity: {
        clientCa: member.ca,
        serving: () => member.serving(),
        onRenewed: (then) => member.onServing(then),
        renewals: () => member.renewals(),
      },
    },
    run: (call) => member.run(namesOf(settings, nodeName), call),
    close: () => member.close(),
  };
}

/** The cluster signs only names and addresses that the node itself reports. */
function namesOf(settings: Settings, nodeName: string): () => ServingNames {
  const given = String(settings["node-ip"] ?? "")
    .split(",")
    .filter((ip) => ip !== "");
  return () => ({ dnsNames: [nodeName], ipAddresses: nodeAddresses(given) });
}

async function byKubeconfig(
  settings: Settings,
  path: string,
  nodeName: string,
  log: Log,
  clock: Clock,
  call: Call,
): Promise<Membership> {
  const dataDir = String(settings["data-dir"]);
  const member = await joinByKubeconfig({ path, nodeName, dataDir, clock, log }, call);
  const { fetch, server, ca, daemons } = member;
  return {
    node: {
      api: { fetch, server, ...(daemons ? { daemons } : {}) },
      identity: { clientCa: ca, serving: () => member.serving(), onRenewed: (then) => member.onServing(then) },
    },
    run: (runCall) => member.run(namesOf(settings, nodeName), runCall),
    close: () => member.close(),
  };
}
