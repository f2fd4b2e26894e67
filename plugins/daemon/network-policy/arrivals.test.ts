import t from "tap";
import { openKernel } from "../../../cni/net/kernel.ts";
import { MemoryInformer } from "../../../test/harness/memory-informer.ts";
import { noNetworkReason, playHost } from "../../../test/harness/network.ts";
import { until } from "../../../test/harness/until.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import { systemClock } from "../../kit/base/clock.ts";
import type { ApiClient } from "../../kit/kube/client/api-client.ts";
import type { Informer } from "../../kit/kube/informer.ts";
import { noLog } from "../../kit/base/log.ts";
import type { NodeContext } from "../../kit/contracts/node-context.ts";
import type { ResourceRef } from "../../kit/kube/objects/resources.ts";
import type { Namespace, NetworkPolicy, Pod } from "../../kit/kube/objects/types.ts";
import { Arrivals } from "./arrivals.ts";
import { networkPolicyDaemon } from "./daemon.ts";

const pod = (name: string, ip?: string): Pod =>
  ({
    metadata: { namespace: "shop", name, labels: { app: name } },
    spec: { containers: [] },
    status: ip ? { podIP: ip, podIPs: [{ ip }] } : {},
  }) as unknown as Pod;

t.test("Arrivals shows a pod by its addresses until its status does", async (t) => {
  const arrivals = new Arrivals();
  const isAdmitted = { a: false, b: false };
  void arrivals.add(pod("a"), ["10.0.0.1"]).then(() => (isAdmitted.a = true));
  t.ok(arrivals.isNew);
  const { pods, admit } = arrivals.merge([pod("a"), pod("other", "10.0.0.9")], "n1");
  t.notOk(arrivals.isNew);
  t.match(pods[0], {
    metadata: { labels: { app: "a" } },
    spec: { nodeName: "n1" },
    status: { podIPs: [{ ip: "10.0.0.1" }] },
  });
  void arrivals.add(pod("b"), ["10.0.0.2"]).then(() => (isAdmitted.b = true));
  admit();
  await Promise.resolve();
  t.same(isAdmitted, { a: true, b: false }, "who came later waits for the next rules");
  const told = [pod("a", "10.0.0.1")];
  t.equal(arrivals.merge(told, "n1").pods.length, 2, "the API has not heard of b at all");
  t.equal(arrivals.merge(told, "n1").pods[0], told[0], "a is told by its status");
  arrivals.forget(pod("b"));
  await Promise.resolve();
  t.ok(isAdmitted.b, "nobody waits for a pod that is gone");
  t.same(arrivals.merge([], "n1").pods, []);
});

t.test("a pod begins when the policies for it are in the kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const informers = {
    pods: new MemoryInformer<Pod>(),
    namespaces: new MemoryInformer<Namespace>(),
    networkpolicies: new MemoryInformer<NetworkPolicy>(),
  };
  const node: NodeContext = {
    nodeName: "n1",
    instance: "arrivals",
    client: {} as ApiClient,
    clusterCidrs: ["10.42.0.0/16"],
    clusterDns: [],
    clusterDomain: "cluster.local",
    podConnected: new Set(),
    informer: <T>(ref: ResourceRef) => informers[ref.plural as keyof typeof informers] as unknown as Informer<T>,
  };
  const stop = new AbortController();
  const daemon = networkPolicyDaemon({ node, clock: systemClock, log: noLog });
  const running = daemon.run({ signal: stop.signal });
  const connect = async (name: string, ip: string) => {
    for (const tell of node.podConnected) await tell(pod(name), [ip], uninterrupted);
  };
  const rules = async () =>
    JSON.stringify(
      await kernel.nft.list("list map inet skiff_policy_arrivals ingress4", uninterrupted).catch(() => []),
    );
  await until("the daemon to listen", () => node.podConnected.size === 1);
  await connect("early", "10.42.0.2");
  t.equal(await rules(), "[]", "without policies nobody waits");
  informers.namespaces.put({ metadata: { name: "shop" } } as Namespace);
  informers.networkpolicies.put({
    metadata: { namespace: "shop", name: "deny" },
    spec: { podSelector: { matchLabels: { app: "web" } } },
  } as unknown as NetworkPolicy);
  await connect("web", "10.42.0.3");
  t.match(await rules(), /10\.42\.0\.3/, "the API never told of its address");
  await connect("free", "10.42.0.4");
  t.notMatch(await rules(), /10\.42\.0\.4/, "one that no policy selects is free");
  stop.abort();
  await running;
  t.equal(node.podConnected.size, 0);
  await daemon.remove?.(uninterrupted);
});
