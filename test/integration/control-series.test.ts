// What rules and boards made for Kubernetes ask of a control plane's /metrics is there, once each, after it did a little work.

import t from "tap";
import { accessByKubeconfig } from "../../control/cli/access.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { queriedOfControl } from "../fixtures/queried-series.ts";
import { startControl } from "../harness/control.ts";
import { node, requesting } from "../harness/scheduling.ts";
import { until } from "../harness/until.ts";

t.test("a control plane tells the series that rules and boards ask for", async (t) => {
  const control = await startControl();
  t.teardown(() => control.close());
  const { client, close } = await accessByKubeconfig(control.adminKubeconfig);
  t.teardown(() => close());
  await client.create(resources.nodes, node("one", {}, { allocatable: { cpu: "4" } }) as never, call);
  const pod = (name: string, cpu: string) => ({
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "default" },
    // Nobody says that the node is ready.
    spec: { ...requesting(cpu), tolerations: [{ operator: "Exists" }] },
  });
  await until("the account that pods need", () =>
    client.get(resources.serviceaccounts, { namespace: "default", name: "default" }, call).catch(() => undefined),
  );
  await client.create(resources.pods, pod("fits", "1"), call);
  await client.create(resources.pods, pod("waits", "100"), call);
  const at = (name: string) => client.get<Pod>(resources.pods, { namespace: "default", name }, call);
  await until("one to be scheduled", async () => (await at("fits")).spec?.nodeName);
  await until("the other to be refused", async () => (await at("waits")).status?.conditions?.length);
  const stop = new AbortController();
  const watch = await client.request("/api/v1/namespaces/default/pods?watch=true", {}, { signal: stop.signal });
  t.teardown(() => stop.abort());
  t.equal(watch.status, 200);
  const text = await (await client.request("/metrics", {}, call)).text();
  const lines = text.split("\n").filter((line) => line !== "");
  for (const { names, labels } of queriedOfControl) {
    for (const name of names) {
      const rows = lines.filter((line) => new RegExp(`^${name}[{ ]`).test(line));
      t.ok(
        rows.some((row) => labels.every((label) => row.includes(`${label}="`))),
        `${name} by ${labels.join(", ")}`,
      );
    }
  }
  const told = lines.filter((line) => !line.startsWith("#")).map((line) => line.slice(0, line.lastIndexOf(" ")));
  t.same(
    told.filter((series, index) => told.indexOf(series) !== index),
    [],
    "no series is there twice",
  );
  const helps = lines.filter((line) => line.startsWith("# HELP")).map((line) => line.split(" ")[2]);
  t.equal(new Set(helps).size, helps.length, "each family is opened once");
  const valueOf = (series: RegExp) =>
    Number(
      lines
        .find((line) => series.test(line))
        ?.split(" ")
        .at(-1),
    );
  t.equal(valueOf(/^scheduler_schedule_attempts_total\{.*result="scheduled"/), 1);
  t.ok(valueOf(/^scheduler_schedule_attempts_total\{.*result="unschedulable"/) >= 1);
  t.equal(valueOf(/^scheduler_pending_pods\{queue="unschedulable"\}/), 1);
  t.equal(
    valueOf(/^apiserver_longrunning_requests\{.*verb="WATCH".*version="v1",resource="pods".*scope="namespace"\}/),
    1,
  );
  t.equal(
    valueOf(/^apiserver_request_total\{.*verb="POST".*resource="pods",subresource="".*dry_run="",code="201"\}/),
    2,
    "by HTTP's methods, as upstream",
  );
  t.equal(
    valueOf(/^apiserver_client_certificate_expiration_seconds_bucket\{le="604800"\}/),
    0,
    "no certificate ends within a week",
  );
});
