// Extenders: programs that the scheduler asks over HTTP, on a real API server and real sockets.

import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import t, { type Test } from "tap";
import { configurationFrom } from "../../control/scheduler/configuration.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { Event, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { schedulerCluster } from "../harness/scheduler-cluster.ts";
import { availablePlugins, requesting } from "../harness/scheduling.ts";
import { until } from "../harness/until.ts";

type Answer = { status?: number; body: unknown };
interface Asked {
  readonly Nodes: { items: { metadata: { name: string } }[] };
  readonly NodeNames: string[];
  readonly PodName: string;
  readonly Node: string;
  readonly NodeNameToMetaVictims: Record<string, unknown>;
}
type Answers = Record<string, (body: Asked) => Answer | Promise<Answer>>;

const available = await availablePlugins();

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

/** A server that answers each verb; ends with the test. */
async function extender(t: Test, answers: Answers) {
  const asked: { verb: string; body: Asked }[] = [];
  const server = createServer(async (request, response) => {
    const verb = request.url?.replace("/ext/", "") ?? "";
    const body = JSON.parse(await textOf(request));
    asked.push({ verb, body });
    const { status = 200, body: answer } = (await answers[verb]?.(body)) ?? { status: 404, body: {} };
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return { asked, urlPrefix: `http://127.0.0.1:${port}/ext/` };
}

const start = (t: Test, ...extenders: object[]) =>
  schedulerCluster(t, configurationFrom({ extenders }, available, "config"));

const messages = async (client: Awaited<ReturnType<typeof start>>["client"], reason: string) => {
  const { items } = await client.list<Event>(resources.events, { namespace: "default" }, uninterrupted);
  return items.filter((event) => event.reason === reason).map(({ message }) => message);
};

t.test("Scheduler leaves the last word on nodes to an extender, and adds its points", async (t) => {
  const { asked, urlPrefix } = await extender(t, {
    filter: ({ Nodes }) => ({
      body: {
        Nodes: {
          items: Nodes.items.filter(({ metadata }) => metadata.name !== "a"),
        },
        FailedNodes: { a: "too warm" },
      },
    }),
    // Written as extenders in other languages do: without capitals.
    rank: () => ({
      body: [
        { host: "b", score: 0 },
        { host: "c", score: 10 },
      ],
    }),
  });
  const one = { urlPrefix, filterVerb: "filter", prioritizeVerb: "rank", weight: 1000 };
  const { addNode, addPod, get } = await start(t, one);
  for (const name of ["a", "b", "c"]) await addNode(name);
  await addPod("p", requesting("1"));
  await until("it to be bound", async () => (await get("p")).spec?.nodeName === "c");
  t.match(asked[0], { verb: "filter", body: { Pod: { metadata: { name: "p" } }, NodeNames: null } });
  t.equal(asked.find(({ verb }) => verb === "rank")?.body.NodeNames, null);
});

t.test("Scheduler tells what an extender says, and tries again when anything happens", async (t) => {
  let isWarm = true;
  const { urlPrefix } = await extender(t, {
    filter: ({ NodeNames }) =>
      isWarm
        ? { body: { NodeNames: [], FailedAndUnresolvableNodes: { a: "too warm" } } }
        : { body: { nodenames: NodeNames } },
  });
  const { client, addNode, addPod, get } = await start(t, { urlPrefix, filterVerb: "filter", nodeCacheCapable: true });
  await addNode("a");
  await addPod("p", requesting("1"));
  const told = await until("it to be told", async () =>
    (await get("p")).status?.conditions?.find(({ reason }) => reason === "Unschedulable"),
  );
  t.equal(
    told.message,
    "0/1 nodes are available: 1 too warm. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.",
  );
  isWarm = false;
  await client.create(
    resources.namespaces,
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "news" } },
    uninterrupted,
  );
  await until("it to be bound", async () => (await get("p")).spec?.nodeName === "a");
});

t.test(
  "Scheduler says that an extender failed, passes over one that may, and asks only about its resources",
  async (t) => {
    const gpu = "example.dev/gpu";
    const broken = await extender(t, { filter: () => ({ status: 500, body: {} }) });
    const settings = { urlPrefix: broken.urlPrefix, filterVerb: "filter", prioritizeVerb: "filter", weight: 1 };
    const strict = { ...settings, managedResources: [{ name: gpu, ignoredByScheduler: true }] };
    const lenient = { ...settings, ignorable: true };
    const { client, addNode, addPod, get } = await start(t, lenient, strict);
    await addNode("a");
    await addPod("plain", requesting("1"));
    await until("the plain one to be bound", async () => (await get("plain")).spec?.nodeName === "a");
    const container = { name: "c", image: "i", resources: { requests: { [gpu]: "1" }, limits: { [gpu]: "1" } } };
    await addPod("special", { containers: [container] });
    const why = `failed filter with extender at URL ${broken.urlPrefix}filter, code 500`;
    await until("it to be told", async () =>
      (await get("special")).status?.conditions?.some(
        ({ reason, message }) => reason === "SchedulerError" && message === why,
      ),
    );
    await until("an event", async () => (await messages(client, "FailedScheduling")).includes(why));
    t.notOk((await get("special")).spec?.nodeName);
  },
);

t.test("Scheduler has an extender bind, and believes the API when the answer is lost", async (t) => {
  const bound: Pod[] = [];
  const api: { bind?: (name: string, node: string) => Promise<void> } = {};
  const { asked, urlPrefix } = await extender(t, {
    bind: async ({ PodName, Node }) => {
      await api.bind?.(PodName, Node);
      return { status: 504, body: {} };
    },
  });
  const { client, addNode, addPod, get } = await start(t, { urlPrefix, bindVerb: "bind" });
  api.bind = async (name, node) => {
    const binding = { apiVersion: "v1", kind: "Binding", metadata: { name }, target: { kind: "Node", name: node } };
    const at = { namespace: "default", name, subresource: "binding" };
    await client.create(resources.pods, binding as never, uninterrupted, at);
    bound.push(await get(name));
  };
  await addNode("a", "1");
  await addPod("p", requesting("1"));
  await until("it to be bound", async () => (await get("p")).spec?.nodeName === "a");
  t.match(asked[0], { verb: "bind", body: { PodName: "p", PodNamespace: "default", Node: "a" } });
  await addPod("q", requesting("1"));
  await until("the next to wait", async () =>
    (await get("q")).status?.conditions?.some(({ reason }) => reason === "Unschedulable"),
  );
  t.equal(bound.length, 1);
});

t.test("Scheduler lets an extender choose who goes", async (t) => {
  const { asked, urlPrefix } = await extender(t, {
    preempt: ({ NodeNameToMetaVictims }) => ({
      body: { NodeNameToMetaVictims: { b: NodeNameToMetaVictims.b } },
    }),
  });
  const { addNode, addPod, get } = await start(t, { urlPrefix, preemptVerb: "preempt", nodeCacheCapable: true });
  for (const name of ["a", "b"]) {
    await addNode(name, "1");
    const nodeSelector = { "kubernetes.io/hostname": name };
    // The scheduler by itself would take the one on a.
    await addPod(`low-${name}`, { ...requesting("1"), priority: name === "a" ? 1 : 50, nodeSelector });
    await until("a node to be full", async () => (await get(`low-${name}`)).spec?.nodeName === name);
  }
  await addPod("high", { ...requesting("1"), priority: 100 });
  await until("a promise", async () => (await get("high")).status?.nominatedNodeName === "b");
  await until("the victim to go", async () => (await get("low-b")).metadata.deletionTimestamp);
  t.same(Object.keys(asked[0]?.body.NodeNameToMetaVictims ?? {}).sort(), ["a", "b"]);
  t.notOk((await get("low-a")).metadata.deletionTimestamp);
});
