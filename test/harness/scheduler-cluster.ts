// The scheduler on a real API server in one process, with nothing else that acts: nodes and pods are what a test makes.

import type { SchedulerConfiguration } from "../../control/scheduler/configuration.ts";
import { createApiServer } from "../../control/api/server.ts";
import { Scheduler } from "../../control/scheduler/scheduler.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock } from "../../plugins/kit/base/clock.ts";
import { EventRecorder } from "../../plugins/kit/kube/events.ts";
import { noLog } from "../../plugins/kit/base/log.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { memoryStore } from "../../plugins/store/memory.ts";
import { node } from "./scheduling.ts";

const admin = { name: "admin", groups: ["system:masters", "system:authenticated"] };

/** Ends with the test. */
export async function schedulerCluster(
  t: { teardown(then: () => Promise<void>): void },
  configuration: SchedulerConfiguration,
) {
  const store = memoryStore();
  const api = await createApiServer({
    store,
    clock: systemClock,
    log: noLog,
    authenticators: [],
    authorizers: [],
    admission: [],
  });
  const client = new ApiClient({ fetch: api.fetchAs(admin), clock: systemClock, log: noLog });
  const events = new EventRecorder({ client, component: "default-scheduler", clock: systemClock, log: noLog });
  const context = { client, informers: api.informers, events, clock: systemClock, log: noLog };
  const scheduler = new Scheduler({ context, ...configuration });
  const stop = new AbortController();
  const running = scheduler.run({ signal: stop.signal });
  t.teardown(async () => {
    stop.abort();
    await running;
    events.close();
    await api.close();
    await store.close();
  });
  await client.create(
    resources.namespaces,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } },
    uninterrupted,
  );
  return {
    client,
    addNode: (name: string, cpu = "4") =>
      client.create(resources.nodes, node(name, {}, { allocatable: { cpu } }) as never, uninterrupted),
    addPod: (name: string, spec: object) =>
      client.create(
        resources.pods,
        {
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name, namespace: "default" },
          spec: { containers: [{ name: "c", image: "i" }], ...spec },
        },
        uninterrupted,
        { namespace: "default" },
      ),
    get: (name: string) => client.get<Pod>(resources.pods, { namespace: "default", name }, uninterrupted),
  };
}
