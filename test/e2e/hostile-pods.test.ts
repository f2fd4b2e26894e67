// Pods that go for the node they run on: writing to content volumes, and files that hold up whoever opens them. The namespace is restricted:
// anybody who may create pods could do this.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { type RunningSkiff, startSkiff } from "../harness/skiff.ts";

t.setTimeout(300_000);

const namespace = "tenant";
const securityContext = {
  runAsUser: 1000,
  runAsNonRoot: true,
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  seccompProfile: { type: "RuntimeDefault" },
};
const container = (name: string, script: string, more: object = {}) => ({
  name,
  image: busyboxImageName,
  imagePullPolicy: "Never",
  command: ["sh", "-c", script],
  securityContext,
  ...more,
});
const pod = (name: string, spec: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace },
  spec: {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    automountServiceAccountToken: false,
    ...spec,
  },
});

async function startNode(t: { teardown(then: () => Promise<void>): void }): Promise<RunningSkiff> {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-hostile-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native", "--stop-pods-on-exit"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" };
  await skiff.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace, labels } });
  return skiff;
}

t.test("pods of a restricted namespace cannot write to content volumes, nor hold up the node", async (t) => {
  const skiff = await startNode(t);
  const kubectl = (...args: string[]) => skiff.kubectl("-n", namespace, ...args);

  await t.test("content volumes are read-only, and other volumes can be mounted inside them", async (t) => {
    const metadata = { name: "settings", namespace };
    await skiff.apply({ apiVersion: "v1", kind: "ConfigMap", metadata, data: { key: "value" } });
    await skiff.apply({ apiVersion: "v1", kind: "Secret", metadata, stringData: { key: "value" } });
    const items = [{ path: "name", fieldRef: { fieldPath: "metadata.name" } }];
    const volumes = [
      { name: "config-map", configMap: { name: "settings" } },
      { name: "secret", secret: { secretName: "settings" } },
      { name: "downward", downwardAPI: { items } },
      { name: "projected", projected: { sources: [{ configMap: { name: "settings" } }, { downwardAPI: { items } }] } },
      { name: "scratch", emptyDir: {} },
    ];
    const volumeMounts = [
      ...volumes.slice(0, 4).map(({ name }) => ({ name, mountPath: `/etc/${name}`, readOnly: false })),
      { name: "config-map", mountPath: "/etc/single", subPath: "key" },
      { name: "scratch", mountPath: "/etc/config-map/scratch" },
    ];
    await skiff.apply(pod("writer", { volumes, containers: [container("c", "sleep 1000", { volumeMounts })] }));
    await kubectl("wait", "--for=condition=Ready", "pod/writer", "--timeout=60s");
    const sh = (script: string) => kubectl("exec", "writer", "--", "sh", "-c", `{ ${script}; } 2>&1 || true`);
    for (const name of ["config-map", "secret", "downward", "projected"])
      t.match(await sh(`touch /etc/${name}/x`), /Read-only file system/, name);
    t.match(await sh("echo x > /etc/single"), /Read-only file system/);
    t.equal(
      await sh("cat /etc/config-map/key /etc/secret/key /etc/downward/name /etc/single"),
      "valuevaluewritervalue",
    );
    t.equal(await sh("echo own > /etc/config-map/scratch/x; cat /etc/config-map/scratch/x"), "own\n");
  });

  await t.test("a FIFO in the place of the termination message holds up nobody", async (t) => {
    // More pods than the process has threads to read files with.
    const names = Array.from({ length: 6 }, (_, at) => `fifo-${at}`);
    const make = container("make", "mkfifo /v/fifo", { volumeMounts: [{ name: "v", mountPath: "/v" }] });
    const end = container("end", "exit 3", {
      terminationMessagePath: "/message",
      terminationMessagePolicy: "FallbackToLogsOnError",
      volumeMounts: [{ name: "v", mountPath: "/message", subPath: "fifo" }],
    });
    const volumes = [{ name: "v", emptyDir: {} }];
    await skiff.apply(...names.map((name) => pod(name, { volumes, initContainers: [make], containers: [end] })));
    for (const name of names)
      await kubectl("wait", "--for=jsonpath={.status.phase}=Failed", `pod/${name}`, "--timeout=60s");
    const code = "-o=jsonpath={.status.containerStatuses[0].state.terminated.exitCode}";
    t.equal(await kubectl("get", "pod", "fifo-0", code), "3");
    await skiff.apply(pod("after", { containers: [container("c", "echo still here")] }));
    await kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/after", "--timeout=60s");
    t.equal(await kubectl("logs", "after"), "still here\n");
    await kubectl("delete", "pod", ...names, "--timeout=60s");
  });
});
