import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import type { EndpointSlice, Node, Service } from "../../../plugins/kit/kube/objects/types.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { isSameIngress, wantedIngress } from "./ingress.ts";

const ipMode = "Proxy";
const service = (spec: object, status?: object) => ({ metadata: {}, spec, ...(status ? { status } : {}) }) as Service;
const node = (name: string, ip: string, status = "True") =>
  ({
    metadata: { name },
    status: { addresses: [{ type: "InternalIP", address: ip }], conditions: [{ type: "Ready", status }] },
  }) as unknown as Node;

t.test("wantedIngress() shows the ready nodes' addresses", async (t) => {
  const nodes = [
    node("b", "192.0.2.2"),
    node("a", "192.0.2.1", "False"),
    node("c", "192.0.2.3"),
    node("d", "10.43.0.1"),
  ];
  const isForeign = (address: string) => address.startsWith("10.43.");
  const wanted = (of: Service, slices: readonly EndpointSlice[] = []) =>
    wantedIngress(of, { nodes, slices, isForeign });
  t.same(wanted(service({ type: "LoadBalancer" })), [
    { ip: "192.0.2.2", ipMode },
    { ip: "192.0.2.3", ipMode },
  ]);
  t.same(wanted(service({ type: "LoadBalancer", ipFamilies: ["IPv6"] })), []);
  t.equal(wanted(service({ type: "LoadBalancer", loadBalancerClass: "x" })), undefined);
  t.equal(wanted(service({})), undefined);
  const formerly = service({}, { loadBalancer: { ingress: [{ ip: "192.0.2.2" }] } });
  t.same(wanted(formerly), [], "what is no load balancer any more has no address of one");
  t.notOk(isSameIngress(formerly, []));

  const local = {
    ...service({ type: "LoadBalancer", externalTrafficPolicy: "Local" }),
    metadata: { namespace: "shop", name: "web" },
  } as Service;
  const on = (nodeName: string, ready: boolean, namespace = "shop") =>
    ({
      metadata: { namespace, labels: { "kubernetes.io/service-name": "web" } },
      endpoints: [{ addresses: ["10.42.0.5"], nodeName, conditions: { ready } }],
    }) as unknown as EndpointSlice;
  t.same(
    wanted(local, [on("a", true), on("b", false), on("c", true), on("b", true, "other")]),
    [{ ip: "192.0.2.3", ipMode }],
    "with the Local policy only ready nodes that have ready endpoints of it",
  );
  t.same(wanted(local, [on("b", false)]), [], "no node when no endpoint is ready");
});

t.test("the controller publishes, follows nodes, and clears", async (t) => {
  const room = await controllerRoom(t, ["service-controller"], { nodes: [] });
  const add = async (name: string, address: string) => {
    const status = {
      addresses: [{ type: "InternalIP", address }],
      conditions: [{ type: "Ready", status: "True" }],
    };
    await room.create(resources.nodes, { metadata: { name }, status });
  };
  const ports = [{ port: 80 }];
  await room.create(resources.services, { metadata: { name: "web" }, spec: { type: "LoadBalancer", ports } });
  await room.create(resources.services, {
    metadata: { name: "foreign" },
    spec: { type: "LoadBalancer", loadBalancerClass: "example.com/lb", ports },
  });
  await add("one", "192.0.2.11");
  const shows = (...ips: string[]) =>
    room.until(resources.services, "web", ({ status }) =>
      isSameIngress(
        { status } as Service,
        ips.map((ip) => ({ ip, ipMode })),
      ),
    );
  await shows("192.0.2.11");
  // A node that reports an address of Services does not attract their traffic.
  await add("evil", "10.43.0.1");
  await add("two", "192.0.2.12");
  await shows("192.0.2.11", "192.0.2.12");
  await room.client.delete(resources.nodes, { name: "one" }, room.call);
  await shows("192.0.2.12");
  t.notOk(room.get(resources.services, "foreign").status.loadBalancer?.ingress);
  const at = { namespace: "default", name: "web" };
  const body = { spec: { type: "ClusterIP" } };
  await room.client.patch(resources.services, at, { type: "merge", body }, room.call);
  await shows();
});
