import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import type { ConnectTarget, NodeConnector } from "./connector.ts";

async function cluster(t: { teardown(end: () => Promise<void>): void }) {
  const reached: string[] = [];
  const connector = {
    async fetch(target: ConnectTarget) {
      reached.push(target.kind === "address" ? target.url : `kubelet of ${target.node.metadata.name}${target.path}`);
      return new Response("foo");
    },
  } as unknown as NodeConnector;
  const api = await startApi({ connector });
  t.teardown(() => api.close());
  const base = "/api/v1/namespaces/default";
  await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const patch = { "content-type": "application/merge-patch+json" };
  const pod = async (name: string, ip: string) => {
    const containers = [{ name: "c", image: "i", ports: [{ containerPort: 8080, name: "web" }] }];
    await api.ask("POST", `${base}/pods`, { metadata: { name }, spec: { nodeName: "n", containers } });
    await api.ask("PATCH", `${base}/pods/${name}/status`, { status: { podIP: ip, podIPs: [{ ip }] } }, patch);
  };
  const service = (name: string, ports: object[]) =>
    api.ask("POST", `${base}/services`, { metadata: { name }, spec: { ports } });
  const slice = (name: string, of: string, ports: object[], endpoints: object[]) =>
    api.ask("POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", {
      metadata: { name, labels: { "kubernetes.io/service-name": of } },
      addressType: "IPv4",
      ports,
      endpoints,
    });
  const ask = async (path: string) => {
    reached.length = 0;
    const { status, text } = await api.ask("GET", path);
    return { status, text, reached: reached[0] };
  };
  return { api, base, pod, service, slice, ask, patch };
}

const target = (name: string, ip: string, more: object = {}) => ({
  addresses: [ip],
  targetRef: { kind: "Pod", namespace: "default", name },
  ...more,
});

t.test("a service's proxy reaches the endpoints that are ready, each in its turn of luck", async (t) => {
  const { base, pod, service, slice, ask } = await cluster(t);
  for (const [name, ip] of Object.entries({ a: "10.0.0.1", b: "10.0.0.2", c: "10.0.0.3", d: "10.0.0.4" }))
    await pod(name, ip);
  await service("web", [{ name: "http", port: 80 }]);
  const ports = [{ name: "http", port: 8080 }];
  await slice("web-1", "web", ports, [target("a", "10.0.0.1"), target("b", "10.0.0.2")]);
  await slice("web-2", "web", ports, [
    target("c", "10.0.0.3"),
    target("d", "10.0.0.4", { conditions: { ready: false } }),
  ]);
  const seen = new Set<string>();
  // That one of three is not met in so many tries happens once in 10^17 runs.
  for (let tries = 0; tries < 100; tries++) seen.add(String((await ask(`${base}/services/web:http/proxy/x`)).reached));
  t.same([...seen].sort(), ["http://10.0.0.1:8080/x", "http://10.0.0.2:8080/x", "http://10.0.0.3:8080/x"]);
  t.match((await ask(`${base}/services/https:web:80/proxy/`)).reached, /^https:\/\/10\.0\.0\.[123]:8080\/$/);
  t.match(await ask(`${base}/services/web:90/proxy/`), { status: 503, reached: undefined });
});

t.test("a service's proxy reaches nobody but pods of its namespace at their own addresses", async (t) => {
  const { base, pod, service, slice, ask } = await cluster(t);
  await pod("a", "10.0.0.1");
  const rows: [string, object][] = [
    ["an address of nobody", { addresses: ["203.0.113.7"] }],
    ["a pod that is not there", target("gone", "10.0.0.9")],
    ["a pod that has another address", target("a", "203.0.113.7")],
    [
      "a pod of another namespace",
      { addresses: ["10.0.0.1"], targetRef: { kind: "Pod", namespace: "kube-system", name: "a" } },
    ],
    ["what is no pod", { addresses: ["10.0.0.1"], targetRef: { kind: "Node", namespace: "default", name: "a" } }],
  ];
  for (const [index, [name, endpoint]] of rows.entries()) {
    await service(`s${index}`, [{ port: 80 }]);
    t.equal((await slice(`s${index}`, `s${index}`, [{ name: "", port: 80 }], [endpoint])).status, 201);
    const answer = await ask(`${base}/services/s${index}/proxy/`);
    t.match(answer, { status: 503, reached: undefined }, name);
    t.match(answer.text, `no endpoints available for service \\"s${index}\\"`, name);
  }
});

t.test("names of proxies are a name, with its port, with its scheme", async (t) => {
  const { api, base, pod, ask, patch } = await cluster(t);
  await pod("a", "10.0.0.1");
  await api.ask("POST", "/api/v1/nodes", { metadata: { name: "n" } });
  const addresses = [{ type: "InternalIP", address: "10.0.0.20" }];
  await api.ask("PATCH", "/api/v1/nodes/n/status", { status: { addresses } }, patch);
  const rows: [string, string][] = [
    [`${base}/pods/a/proxy/x`, "http://10.0.0.1:8080/x"],
    [`${base}/pods/a:81/proxy/x`, "http://10.0.0.1:81/x"],
    [`${base}/pods/https:a:81/proxy/x`, "https://10.0.0.1:81/x"],
    [`${base}/pods/:a:81/proxy/x`, "http://10.0.0.1:81/x"],
    ["/api/v1/nodes/n/proxy/x", "kubelet of n/x"],
    ["/api/v1/nodes/n:10250/proxy/x", "kubelet of n/x"],
    ["/api/v1/nodes/https:n:/proxy/x", "kubelet of n/x"],
    ["/api/v1/nodes/n:9100/proxy/x", "http://10.0.0.20:9100/x"],
    ["/api/v1/nodes/https:n:9100/proxy/x", "https://10.0.0.20:9100/x"],
  ];
  for (const [path, expected] of rows) t.equal((await ask(path)).reached, expected, path);
  for (const port of ["80@10.0.0.99", "80%2f..", "http", "123456"])
    t.match(await ask(`/api/v1/nodes/n:${port}/proxy/x`), { reached: undefined }, `no other host by port ${port}`);
  for (const [kind, path] of [
    ["pod", `${base}/pods`],
    ["service", `${base}/services`],
    ["node", "/api/v1/nodes"],
  ] as const)
    for (const name of ["ftp:a:80", "a:b:c:d", ":", "https::80"]) {
      const answer = await ask(`${path}/${name}/proxy/`);
      t.match(answer, { status: 400, reached: undefined }, `${kind} ${name}`);
      t.match(JSON.parse(answer.text), { message: `invalid ${kind} request ${JSON.stringify(name)}` });
    }
});
