// What `--stop-pods-on-exit` promises: whatever a pod is doing when the end comes, nothing of it is left.

import t from "tap";
import { ListPodSandboxRequest, PodSandboxConfig, RunPodSandboxRequest } from "../../cri/api/gen/runtime.js";
import { type FakeRuntime, openFake } from "../../cri/fake/open.ts";
import { uninterrupted, within } from "../../plugins/kit/base/call.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { boundPod, makeNamespaces, startNode, type TestNode } from "../harness/agent-node.ts";
import { startApi } from "../harness/api-server.ts";
import { busyboxImageName } from "../harness/images.ts";
import { until } from "../harness/until.ts";

interface Teardown {
  teardown(then: () => Promise<void>): void;
}

async function nodeWithPod(t: Teardown, fake: FakeRuntime, spec: Record<string, unknown> = {}): Promise<TestNode> {
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "default", "kube-system", "kube-node-lease");
  const node = await startNode(t, fake, { api });
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("web", spec));
  return node;
}

const sandboxesOf = async ({ runtime }: FakeRuntime) =>
  (await runtime.listPodSandbox(ListPodSandboxRequest.create(), uninterrupted)).items;
const wasCalled = ({ calls }: FakeRuntime, name: string) => calls.some(({ method }) => method === name);
const images = [busyboxImageName];

t.test("stopPods() kills a pod that does not end in time", async (t) => {
  const fake = openFake({ images });
  fake.ignoresTerm = () => true;
  const { agent } = await nodeWithPod(t, fake, { terminationGracePeriodSeconds: 3600 });
  await until("the container", () => wasCalled(fake, "startContainer"));
  await agent.stopPods(within(300));
  t.same(await sandboxesOf(fake), []);
});

t.test("stopPods() leaves no sandbox that was being made when the end came", async (t) => {
  const fake = openFake({ images });
  const made = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const { runPodSandbox } = fake.runtime;
  // A runtime that has made the sandbox, and whose answer is lost on the way.
  Object.assign(fake.runtime, {
    async runPodSandbox(...[request, call]: Parameters<typeof runPodSandbox>) {
      await runPodSandbox(request, call);
      made.resolve();
      await answer.promise;
      throw new Fault("unavailable", "the connection broke");
    },
  });
  const { agent } = await nodeWithPod(t, fake);
  await made.promise;
  const stopping = agent.stopPods(within(20_000));
  answer.resolve();
  await stopping;
  t.same(await sandboxesOf(fake), []);
});

t.test("stopPods() removes pods of an earlier run that no worker has met yet", async (t) => {
  const fake = openFake({ images });
  const labels = {
    "io.kubernetes.pod.uid": "earlier",
    "io.kubernetes.pod.name": "earlier",
    "io.kubernetes.pod.namespace": "default",
  };
  const config = PodSandboxConfig.create({
    metadata: { name: "earlier", uid: "earlier", namespace: "default", attempt: 0 },
    labels,
  });
  const { agent } = await startNode(t, fake);
  await fake.runtime.runPodSandbox(RunPodSandboxRequest.create({ config }), uninterrupted);
  await agent.stopPods(within(10_000));
  t.same(await sandboxesOf(fake), []);
});
