// What is wrong with services, told by field as upstream tells it; and what goes when a service changes its type.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

const services = "/api/v1/namespaces/default/services";
const ports = [{ name: "a", port: 80 }];
const balancer = (more: Json) => ({ type: "LoadBalancer", ports, ...more });
const patch = { "content-type": "application/merge-patch+json" };

const rows: [name: string, spec: Json, says: string][] = [
  ["no ports", {}, "spec.ports: Required value"],
  [
    "the kubelet's port",
    balancer({ ports: [{ port: 10250 }] }),
    "spec.ports[0]: Invalid value: 10250: may not expose port 10250 externally since it is used by kubelet",
  ],
  [
    "a name and an address",
    { type: "ExternalName", externalName: "a.b", clusterIP: "10.96.0.9" },
    "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
  ],
  ["no name", { type: "ExternalName" }, "spec.externalName: Required value"],
  [
    "a protocol of the application",
    { ports: [{ port: 1, appProtocol: "a b" }] },
    'spec.ports[0].appProtocol: Invalid value: "a b": name part must consist',
  ],
  [
    "affinity for ever",
    { ports, sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 100000 } } },
    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 100000: must be greater than 0 and less than 86400",
  ],
  [
    "affinity to a mood",
    { ports, sessionAffinity: "Mood" },
    'spec.sessionAffinity: Unsupported value: "Mood": supported values: "ClientIP", "None"',
  ],
  [
    "the way home",
    { ports, externalIPs: ["127.0.0.1"] },
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ],
  [
    "the way nowhere",
    { ports, externalIPs: ["::"] },
    'spec.externalIPs[0]: Invalid value: "::": may not be unspecified (::)',
  ],
  [
    "no address",
    { ports, externalIPs: ["10.0.0"] },
    'spec.externalIPs[0]: Invalid value: "10.0.0": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    "a node's port inside",
    { ports: [{ port: 1, nodePort: 30000 }] },
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
  ],
  [
    "a node's port twice",
    {
      type: "NodePort",
      ports: [
        { name: "a", port: 1, nodePort: 30001 },
        { name: "b", port: 2, nodePort: 30001 },
      ],
    },
    "spec.ports[1].nodePort: Duplicate value: 30001",
  ],
  [
    "a port twice",
    {
      ports: [
        { name: "a", port: 1 },
        { name: "b", port: 1 },
      ],
    },
    "spec.ports[1]: Duplicate value:",
  ],
  [
    "ranges of nobody",
    { ports, loadBalancerSourceRanges: ["10.0.0.0/8"] },
    "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    "no range",
    balancer({ loadBalancerSourceRanges: ["10.0.0.0/33"] }),
    'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value',
  ],
  [
    "a class of nobody",
    { ports, loadBalancerClass: "a.b/c" },
    "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
  ],
  [
    "a policy for the inside",
    { ports, externalTrafficPolicy: "Local" },
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ],
  [
    "a policy that is none",
    balancer({ externalTrafficPolicy: "Far" }),
    'spec.externalTrafficPolicy: Unsupported value: "Far": supported values: "Cluster", "Local"',
  ],
  [
    "health of nobody",
    balancer({ healthCheckNodePort: 30002 }),
    "spec.healthCheckNodePort: Invalid value: 30002: may only be set when",
  ],
  [
    "a distribution",
    { ports, trafficDistribution: "Far" },
    'spec.trafficDistribution: Unsupported value: "Far": supported values: "PreferClose"',
  ],
];

t.test("services are refused by field", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  for (const [name, spec, says] of rows) {
    const { status, body } = await api.ask("POST", `${services}?dryRun=All`, { metadata: { name: "s" }, spec });
    t.equal(status, 422, name);
    t.match(body.message, says, name);
  }
});

t.test("a service that changes its type loses what belonged to the old one", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const made = await api.ask("POST", services, {
    metadata: { name: "s" },
    spec: balancer({ loadBalancerClass: "a.b/c", externalTrafficPolicy: "Local" }),
  });
  t.equal(made.status, 201, made.text);
  t.ok(made.body.spec.healthCheckNodePort, "with a port for health");
  const change = (spec: Json) => api.ask("PATCH", `${services}/s`, { spec }, patch);
  const other = await change({ loadBalancerClass: "a.b/d" });
  t.match(other.body.message, 'spec.loadBalancerClass: Invalid value: "a.b/d": may not change once set');
  const plain = await change({ type: "ClusterIP" });
  t.equal(plain.status, 200, plain.text);
  for (const field of [
    "loadBalancerClass",
    "externalTrafficPolicy",
    "healthCheckNodePort",
    "allocateLoadBalancerNodePorts",
  ])
    t.notOk(field in plain.body.spec, field);
  const outside = await change({ externalIPs: ["198.51.100.1"] });
  t.equal(outside.body.spec.externalTrafficPolicy, "Cluster", "traffic from outside can come");
  const inside = await change({ externalIPs: null });
  t.equal(inside.status, 200, inside.text);
  t.notOk(inside.body.spec.externalTrafficPolicy, "and no longer");
});
