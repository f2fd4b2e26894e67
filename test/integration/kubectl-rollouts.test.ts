// The real kubectl watches and steers rollouts, jobs, drains and deletions of a whole control plane on simulated nodes.

import t from "tap";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { systemClock as clock } from "../../plugins/kit/base/clock.ts";
import { WatchingInformer } from "../../plugins/kit/kube/informer.ts";
import { noLog as log } from "../../plugins/kit/base/log.ts";
import { type ResourceRef, resources } from "../../plugins/kit/kube/objects/resources.ts";
import type { KubeObject, Node, Pod } from "../../plugins/kit/kube/objects/types.ts";
import { admin } from "../harness/api-server.ts";
import { startControl } from "../harness/control.ts";
import { type Kubectl, kubectlFor, withKubectl } from "../harness/control-kubectl.ts";
import { podTemplate, readyNode } from "../harness/controllers.ts";
import { SimulatedKubelet } from "../harness/simulated-kubelet.ts";

t.setTimeout(600_000);

async function cluster(t: { teardown(then: () => Promise<void>): void }): Promise<Kubectl> {
  const control = await startControl();
  const client = new ApiClient({ fetch: control.control.fetchAs(admin), clock, log });
  const stop = new AbortController();
  const call = { signal: stop.signal };
  const running: Promise<void>[] = [];
  const informer = <T extends object>(ref: ResourceRef) => {
    const made = new WatchingInformer<T & KubeObject>({ client, ref, clock, log });
    running.push(made.run(call));
    return made;
  };
  const kubelet = new SimulatedKubelet({
    client,
    pods: informer<Pod>(resources.pods),
    nodes: informer<Node>(resources.nodes),
    binds: false,
    outcome: (pod) => (pod.metadata.labels?.["job-name"] ? "succeeded" : "ready"),
  });
  running.push(kubelet.run(call));
  for (const name of ["a", "b", "c"]) await client.create(resources.nodes, readyNode(name), call);
  t.teardown(async () => {
    stop.abort();
    await Promise.allSettled(running);
    await control.close();
  });
  return kubectlFor(control);
}

const workload = (kind: string, name: string, spec: object = {}) => ({
  apiVersion: "apps/v1",
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: podTemplate({ app: name }, { terminationGracePeriodSeconds: 1 }),
    ...spec,
  },
});

t.test("kubectl rollout works for deployments, daemon sets and stateful sets", withKubectl, async (t) => {
  const kubectl = await cluster(t);
  const rows = [
    { type: "deployment", object: workload("Deployment", "web", { replicas: 3 }) },
    { type: "daemonset", object: workload("DaemonSet", "agent") },
    { type: "statefulset", object: workload("StatefulSet", "db", { replicas: 2, serviceName: "db" }) },
  ];
  for (const { type, object } of rows) {
    const subject = `${type}/${object.metadata.name}`;
    const image = () => kubectl("get", subject, "-o", "jsonpath={.spec.template.spec.containers[0].image}");
    const wait = () => kubectl("rollout", "status", subject, "--timeout=120s");
    t.match(await kubectl.create(object), /created$/, subject);
    t.match(await wait(), /successfully rolled out|roll out complete/, subject);
    await kubectl("set", "image", subject, "main=two");
    t.match(await wait(), /successfully rolled out|roll out complete/, `${subject} with another image`);
    const history = await kubectl("rollout", "history", subject);
    t.match(history, /^1 +<none>\s+^2 +<none>/m, `${subject} has two revisions`);
    t.match(await kubectl("rollout", "history", subject, "--revision=2"), /Image:\s+two/);
    t.match(await kubectl("rollout", "undo", subject), /rolled back$/);
    t.match(await wait(), /successfully rolled out|roll out complete/);
    t.equal(await image(), "busybox", `${subject} is as before`);
    t.match(await kubectl("rollout", "restart", subject), /restarted$/);
    t.match(await wait(), /successfully rolled out|roll out complete/, `${subject} restarted`);
  }
  t.match(await kubectl("rollout", "pause", "deployment/web"), /paused$/);
  await kubectl("set", "image", "deployment/web", "main=three");
  t.equal(
    await kubectl(
      "get",
      "pods",
      "-l",
      "app=web",
      "-o",
      "jsonpath={.items[?(@.spec.containers[0].image=='three')].metadata.name}",
    ),
    "",
    "a paused one stands still",
  );
  await kubectl("rollout", "resume", "deployment/web");
  t.match(await kubectl("rollout", "status", "deployment/web", "--timeout=120s"), /successfully rolled out/);
});

t.test("kubectl waits for jobs, drains nodes within budgets and deletes whole namespaces", withKubectl, async (t) => {
  const kubectl = await cluster(t);
  await kubectl("create", "job", "sum", "--image=busybox");
  t.match(await kubectl("wait", "--for=condition=complete", "job/sum", "--timeout=120s"), /condition met$/);
  t.match(await kubectl("get", "job", "sum", "--no-headers"), /Complete\s+1\/1/);

  await kubectl.create(workload("Deployment", "web", { replicas: 4 }));
  await kubectl("create", "pdb", "web", "--selector=app=web", "--max-unavailable=1");
  t.match(await kubectl("rollout", "status", "deployment/web", "--timeout=120s"), /successfully rolled out/);
  t.match(await kubectl("drain", "a", "--ignore-daemonsets", "--force", "--timeout=120s"), /node\/a drained$/);
  t.equal(
    await kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[?(@.spec.nodeName=='a')].metadata.name}"),
    "",
  );
  t.match(await kubectl("rollout", "status", "deployment/web", "--timeout=120s"), /successfully rolled out/);

  await kubectl("create", "namespace", "much");
  await kubectl("-n", "much", "create", "deployment", "web", "--image=busybox", "--replicas=3");
  await kubectl("-n", "much", "create", "cronjob", "tick", "--image=busybox", "--schedule=* * * * *");
  await kubectl("-n", "much", "create", "configmap", "c", "--from-literal=a=b");
  await kubectl("-n", "much", "wait", "--for=condition=available", "deployment/web", "--timeout=120s");
  t.match(await kubectl("delete", "namespace", "much", "--timeout=120s"), /deleted$/);
  t.match(await kubectl("get", "namespace", "much"), /NotFound/);
});
