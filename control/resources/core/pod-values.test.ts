// Values of pods that are filled in or rounded: host ports, addresses, amounts.

import t from "tap";
import { type Json, startApi } from "../../../test/harness/api-server.ts";

const pods = "/api/v1/namespaces/default/pods";
const ports = [{ containerPort: 80 }];
const spec = (more: Json = {}, container: Json = {}) => ({
  containers: [{ name: "c", image: "i", ...container }],
  ...more,
});
const pod = (spec: Json) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec });

t.test("the ports of a pod in the host network are the host's, those of a template stay as they are", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const onHost = spec({ hostNetwork: true }, { ports });
  const made = await api.ask("POST", `${pods}?dryRun=All`, pod(onHost));
  t.same(made.body.spec.containers[0].ports, [{ containerPort: 80, hostPort: 80, protocol: "TCP" }]);
  const template = await api.ask("POST", "/apis/apps/v1/namespaces/default/deployments?dryRun=All", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d" },
    spec: {
      selector: { matchLabels: { a: "b" } },
      template: { metadata: { labels: { a: "b" } }, spec: onHost },
    },
  });
  t.same(template.body.spec.template.spec.containers[0].ports, [{ containerPort: 80, protocol: "TCP" }]);
});

t.test("the address of a pod is an address, and the same in both fields", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  await api.ask("POST", pods, pod(spec()));
  const tell = (status: Json) =>
    api.ask("PATCH", `${pods}/p/status?dryRun=All`, { status }, { "content-type": "application/merge-patch+json" });
  const refused = await tell({ podIP: "x" });
  t.equal(refused.status, 422);
  t.match(refused.body.message, /status.podIPs\[0\]: Invalid value: "x": must be a valid IP address/);
  for (const status of [
    { podIP: "10.0.0.1" },
    { podIPs: [{ ip: "10.0.0.1" }] },
    { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.2" }] },
  ])
    t.match((await tell(status)).body.status, { podIP: "10.0.0.1", podIPs: [{ ip: "10.0.0.1" }] });
});

t.test("amounts of resources are rounded up to thousandths", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const rows: [string | number, string][] = [
    ["100u", "1m"],
    ["1n", "1m"],
    ["1.5m", "2m"],
    ["1500u", "2m"],
    [0.0001, "1m"],
    ["1e-4", "1e-3"],
    ["100m", "100m"],
    ["2", "2"],
  ];
  for (const [given, kept] of rows) {
    const { body } = await api.ask(
      "POST",
      `${pods}?dryRun=All`,
      pod(spec({}, { resources: { limits: { cpu: given } } })),
    );
    t.same(body.spec.containers[0].resources, { limits: { cpu: kept }, requests: { cpu: kept } }, String(given));
  }
  const limits = { "ephemeral-storage": "1u" };
  const { headers } = await api.ask("POST", `${pods}?dryRun=All`, pod(spec({}, { resources: { limits } })));
  t.match(headers.get("warning"), /limits\[ephemeral-storage\]: fractional byte value \\"1m\\" is invalid/);
});
