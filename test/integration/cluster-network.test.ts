// A node learns the cluster's address ranges from the control plane that it joined, and a control plane keeps those it began with.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { learnClusterNetwork, rememberedNetwork } from "../../agent/join/cluster-network.ts";
import { openControl } from "../../control/assemble/control-plane.ts";
import { systemUser } from "../../control/auth/assemble.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { clusterNetworkMap } from "../../plugins/kit/kube/cluster-network.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { overlayDefaults } from "../../plugins/daemon/overlay/apply.ts";
import { startControl } from "../harness/control.ts";

const asNode = (name: string) => ({ name: `system:node:${name}`, groups: ["system:nodes", "system:authenticated"] });

function folder(t: { teardown(then: () => void): void }): string {
  const dir = mkdtempSync(join(tmpdir(), "skiff-learn-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, "agent"));
  return dir;
}

t.test("a node learns the cluster's network from its server, and remembers it", async (t) => {
  const { control, options, close } = await startControl({ controllers: false });
  t.teardown(close);
  const dataDir = folder(t);
  const settings = { "data-dir": dataDir };
  const client = new ApiClient({ fetch: control.fetchAs(asNode("pi")), clock: systemClock });
  const learned = await learnClusterNetwork({ settings, client, log: noLog }, call);
  t.match(learned, {
    "data-dir": dataDir,
    "cluster-cidr": "10.142.0.0/16",
    "service-cidr": "10.143.0.0/16",
    "cluster-dns": "10.143.0.10",
    "cluster-domain": "cluster.local",
  });
  const vniOf = (cidrs: readonly string[]) => overlayDefaults("", cidrs).vni;
  const { clusterCidrs = [] } = rememberedNetwork(dataDir) ?? {};
  t.equal(vniOf(clusterCidrs), vniOf(options.clusterCidrs), "the tunnel has the number that the server's node has");

  const away = new ApiClient({ fetch: () => Promise.reject(new Fault("unavailable", "no route")), clock: systemClock });
  const offline = await learnClusterNetwork({ settings, client: away, log: noLog }, call);
  t.same(offline, learned, "a start without the server uses what was learned");
  const fresh = { "data-dir": folder(t) };
  t.same(await learnClusterNetwork({ settings: fresh, client: away, log: noLog }, call), fresh, "never reached: flags");

  for (const [flag, value, theirs] of [
    ["cluster-cidr", "10.42.0.0/16", "10.142.0.0/16"],
    ["service-cidr", "10.43.0.0/16", "10.143.0.0/16"],
    ["cluster-dns", "10.143.0.11", "10.143.0.10"],
    ["cluster-domain", "home.arpa", "cluster.local"],
  ] as const)
    for (const asked of [client, away])
      await t.rejects(
        learnClusterNetwork({ settings: { ...settings, [flag]: value }, client: asked, log: noLog }, call),
        {
          code: "invalid",
          message: `Cannot join with --${flag} ${value}: the cluster uses ${theirs}; leave the flag out, or set it to ${theirs}`,
        },
      );
  const same = { ...settings, "cluster-cidr": "10.142.7.1/16" };
  t.match(
    await learnClusterNetwork({ settings: same, client, log: noLog }, call),
    { "cluster-cidr": "10.142.0.0/16" },
    "the same range in other words is no contradiction",
  );
});

t.test("nodes read the network and change nothing, pods may not even read it", async (t) => {
  const { control, close } = await startControl({ controllers: false });
  t.teardown(close);
  const as = (user: Parameters<typeof control.fetchAs>[0]) => new ApiClient({ fetch: control.fetchAs(user) });
  const node = as(asNode("pi"));
  const body = { data: { "cluster-dns": "192.0.2.1" } };
  await t.rejects(node.patch(resources.configmaps, clusterNetworkMap, { type: "merge", body }, call), {
    code: "forbidden",
  });
  await t.rejects(node.list(resources.configmaps, { namespace: "kube-system" }, call), { code: "forbidden" });
  const authentication = { namespace: "kube-system", name: "extension-apiserver-authentication" };
  await t.rejects(node.get(resources.configmaps, authentication, call), { code: "forbidden" });
  const groups = ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"];
  const pod = as({ name: "system:serviceaccount:default:default", groups });
  await t.rejects(pod.get(resources.configmaps, clusterNetworkMap, call), { code: "forbidden" });
  const said: string[] = [];
  const log = { ...noLog, info: (_: object, message = "") => void said.push(message) };
  const learned = await learnClusterNetwork({ settings: { "data-dir": folder(t) }, client: pod, log }, call);
  t.notOk(learned["cluster-cidr"], "a server that does not tell leaves the flags as they are");
  t.same(said, ["the server publishes no cluster network; using flags and defaults"]);
});

t.test("a server with other ranges than the cluster was created with does not start", async (t) => {
  const first = await startControl({ controllers: false, keepData: true });
  const { options, dataDir, control } = first;
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const system = new ApiClient({ fetch: control.fetchAs(systemUser) });
  await system.create(
    resources.nodes,
    { apiVersion: "v1", kind: "Node", metadata: { name: "pi" }, spec: { podCIDR: "10.142.0.0/24" } },
    call,
  );
  await first.close();
  const refuses = async (changes: object, message: RegExp) =>
    t.rejects(openControl({ ...options, ...changes }, call), { code: "invalid", message });
  const pods = { clusterCidrs: ["10.52.0.0/16"] };
  const services = { serviceCidr: "10.53.0.0/16", clusterDns: ["10.53.0.10"] };
  await refuses(
    pods,
    /^Cannot use --cluster-cidr 10\.52\.0\.0\/16: this cluster was created with 10\.142\.0\.0\/16.*--data-dir/,
  );
  await refuses(
    services,
    /^Cannot use --service-cidr 10\.53\.0\.0\/16: this cluster was created with 10\.143\.0\.0\/16.*--data-dir/,
  );

  const again = await openControl(options, call);
  const admin = new ApiClient({ fetch: again.fetchAs(systemUser) });
  const { items } = await admin.list<{ metadata: { name: string }; spec: { clusterIP: string } }>(
    resources.services,
    {},
    call,
  );
  t.same(
    items.map(({ metadata, spec }) => `${metadata.name} ${spec.clusterIP}`).sort(),
    ["kube-dns 10.143.0.10", "kubernetes 10.143.0.1"],
    "the refused starts wrote nothing",
  );
  // As a cluster of a version that did not publish its network.
  await admin.delete(resources.configmaps, clusterNetworkMap, call);
  await again.close();
  await refuses(pods, /^Cannot use --cluster-cidr 10\.52\.0\.0\/16: .* a range with 10\.142\.0\.0\/24 of node "pi"/);
  await refuses(services, /^Cannot use --service-cidr 10\.53\.0\.0\/16: .* a range with 10\.143\.0\.1,/);
});
