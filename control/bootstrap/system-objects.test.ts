import { rmSync } from "node:fs";
import t from "tap";
import { startControl } from "../../test/harness/control.ts";
import { openControl } from "../assemble/control-plane.ts";
import { until } from "../../test/harness/until.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { parseJoinToken } from "../../plugins/kit/kube/join-token.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import type { KubeObject } from "../../plugins/kit/kube/objects/types.ts";
import { httpFetch } from "../../plugins/kit/os/platform/http-client.ts";
import { readYaml } from "../../plugins/kit/base/yaml.ts";
import { systemUser } from "../auth/assemble.ts";
import { createJoinToken } from "../auth/join/tokens.ts";

t.test("ensureSystemObjects() keeps the DNS address for the cluster's DNS", async (t) => {
  const control = await startControl();
  t.teardown(() => control.close());
  const admin = { name: "admin", groups: ["system:masters", "system:authenticated"] };
  const client = new ApiClient({ fetch: control.control.fetchAs(admin) });
  const at = { namespace: "kube-system", name: "kube-dns" };
  const service = await client.get<KubeObject & { spec: { clusterIP: string } }>(resources.services, at, call);
  t.equal(service.spec.clusterIP, "10.143.0.10");
  const here = client.get(resources.endpoints, { namespace: "default", name: "kubernetes" }, call);
  await t.rejects(here, { code: "not-found" }, "no pod is led to this machine's loopback address");
  const thief = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "thief" },
    spec: { clusterIP: "10.143.0.10", ports: [{ port: 53 }] },
  };
  await t.rejects(client.create(resources.services, thief, call, { namespace: "default" }), {
    code: "invalid",
    message: /provided IP is already allocated/,
  });
});

t.test("cluster-info tells everyone where the cluster is and whom to trust, signed by each join token", async (t) => {
  const { control, url, close } = await startControl();
  t.teardown(close);
  const anonymous = httpFetch({ ca: control.pki.ca.cert });
  t.teardown(() => anonymous.close());
  const read = async (path: string) => anonymous(new Request(`${url}${path}`));
  const maps = "/api/v1/namespaces/kube-public/configmaps";
  const answer = await read(`${maps}/cluster-info`);
  t.equal(answer.status, 200, "without any identity");
  const { data } = (await answer.json()) as { data: Record<string, string> };
  const config = readYaml(data.kubeconfig ?? "", "cluster-info") as { clusters: { cluster: Record<string, string> }[] };
  const [{ cluster } = { cluster: {} }] = config.clusters;
  t.equal(Buffer.from(cluster["certificate-authority-data"] ?? "", "base64").toString(), control.pki.ca.cert);
  t.match(cluster.server, /^https:\/\/.*:\d+$/);
  t.equal((await read(maps)).status, 401, "and nothing else");

  const client = new ApiClient({ fetch: control.fetchAs(systemUser), clock: systemClock });
  const token = parseJoinToken(
    await createJoinToken({ ttlSeconds: 600 }, { client, caHash: control.pki.caHash, clock: systemClock }, call),
  );
  await until("the token's signature", async () => {
    const now = (await (await read(`${maps}/cluster-info`)).json()) as { data: Record<string, string> };
    return now.data[`jws-kubeconfig-${token.id}`];
  });
});

t.test("ensureSystemObjects() starts where a service already has the DNS address", async (t) => {
  const before = await startControl({ clusterDns: [], keepData: true });
  t.teardown(() => rmSync(before.dataDir, { recursive: true, force: true }));
  const client = new ApiClient({ fetch: before.control.fetchAs(systemUser) });
  const service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name: "early" },
    spec: { clusterIP: "10.143.0.10", ports: [{ port: 53 }] },
  };
  await client.create(resources.services, service, call, { namespace: "default" });
  await before.close();
  const warnings: unknown[] = [];
  const log = { ...noLog, warn: (facts: unknown) => void warnings.push(facts), child: () => noLog };
  const after = await openControl({ ...before.options, clusterDns: ["10.143.0.10"], log }, call);
  t.teardown(() => after.close());
  t.match(warnings, [{ fix: /delete the service that has 10\.143\.0\.10/ }]);
});
