import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import type { AdmissionPlugin, AdmissionRequest } from "../../../plugins/kit/contracts/admission.ts";
import { refuse } from "../../../plugins/kit/contracts/admission.ts";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { systemClock } from "../../../plugins/kit/base/clock.ts";
import { connectUpgrade } from "../../../plugins/kit/os/platform/http-client.ts";
import { serve } from "../../../plugins/kit/os/platform/http-server.ts";
import { createAuditor } from "../../auth/audit/auditor.ts";
import { parseAuditPolicy } from "../../auth/audit/policy.ts";
import type { NodeConnector } from "./connector.ts";

t.test("exec passes admission as CONNECT with its options, and is audited from begin to end", async (t) => {
  const asked: AdmissionRequest[] = [];
  const step: AdmissionPlugin = {
    name: "no-shells",
    handles: ({ operation }) => operation === "CONNECT",
    validate(request) {
      asked.push(request);
      if ((request.object?.command as string[] | undefined)?.includes("sh")) throw refuse(request, "no shells here");
    },
  };
  const events: { stage: string; responseStatus?: { code: number } }[] = [];
  const policy = parseAuditPolicy(
    "{kind: Policy, apiVersion: audit.k8s.io/v1, omitStages: [RequestReceived], rules: [{level: Metadata, resources: [{resources: ['pods/exec']}]}]}",
    "p",
  );
  const connector = {
    upgrade: (_target: unknown, { socket }: { socket: { write(text: string): void; end(): void } }) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: test\r\n\r\n");
      socket.end();
    },
  } as unknown as NodeConnector;
  const api = await startApi({
    admission: [step],
    connector,
    audit: createAuditor({
      policy,
      clock: systemClock,
      write: (event) => events.push(event as (typeof events)[number]),
    }),
  });
  const server = await serve({
    handler: api.server.handler,
    upgrade: (upgrade) => api.server.upgrade(upgrade),
    listen: { host: "127.0.0.1", port: 0 },
  });
  t.teardown(async () => {
    await server.close();
    await api.close();
  });
  await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
  await api.ask("POST", "/api/v1/nodes", {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "pi" },
    status: { addresses: [{ type: "InternalIP", address: "127.0.0.1" }] },
  });
  const made = await api.ask("POST", "/api/v1/namespaces/n/pods", {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: { nodeName: "pi", containers: [{ name: "c", image: "i" }] },
  });
  t.equal(made.status, 201, made.text);
  const exec = (command: string) =>
    connectUpgrade(
      {
        url: `http://127.0.0.1:${server.port}/api/v1/namespaces/n/pods/p/exec?container=c&stdin=true&command=${command}&command=-c`,
        headers: { connection: "Upgrade", upgrade: "test" },
      },
      call,
    );
  const refused = await exec("sh");
  t.equal(refused.upgraded, false);
  if (!refused.upgraded) {
    t.equal(refused.response.status, 403);
    t.match(await refused.response.text(), /pods \\"p\\" is forbidden: no shells here/);
  }
  const passed = await exec("date");
  t.equal(passed.upgraded, true);
  if (passed.upgraded) passed.socket.destroy();
  t.match(asked.at(-1), {
    operation: "CONNECT",
    resource: "pods",
    subresource: "exec",
    kind: "PodExecOptions",
    object: { container: "c", stdin: true, command: ["date", "-c"] },
  });
  while (events.length < 3) await new Promise((resolve) => setTimeout(resolve, 10));
  t.same(
    events.map(({ stage, responseStatus }) => `${stage} ${responseStatus?.code}`),
    ["ResponseComplete 403", "ResponseStarted 101", "ResponseComplete 101"],
  );
});
