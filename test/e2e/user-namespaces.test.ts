// A pod with users of its own (`hostUsers: false`) on the native runtime: root inside is nobody outside, and its volumes are its own.

import { chownSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { release, tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { canMapOwners } from "../../agent/resources/user-namespaces.ts";
import { openCgroupFiles } from "../../agent/resources/cgroup-files.ts";
import { openFake } from "../../cri/fake/open.ts";
import { within } from "../../plugins/kit/base/call.ts";
import type { Pod } from "../../plugins/kit/kube/objects/types.ts";
import { boundPod, conditionOf, makeNamespaces, startNode } from "../harness/agent-node.ts";
import { startApi, type TestApi } from "../harness/api-server.ts";
import { busyboxImageName as image } from "../harness/images.ts";
import { startNative, withoutNative } from "../harness/native.ts";
import { until } from "../harness/until.ts";

const patienceMs = 120_000;

const podOf = (api: TestApi, name: string) => async () =>
  (await api.ask("GET", `/api/v1/namespaces/default/pods/${name}`)).body as Pod | undefined;

t.test("hostUsers: false", { skip: withoutNative(), timeout: 300_000 }, async (t) => {
  const native = await startNative(t);
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "default", "kube-node-lease");
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-userns-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  const cgroupRoot = `skiff-userns-${process.pid}`;
  t.teardown(() => void openCgroupFiles().remove(cgroupRoot));
  await startNode(t, native.current(), { api, dataDir, config: { cgroupRoot } });
  await api.ask("POST", "/api/v1/namespaces/default/secrets", {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "key" },
    stringData: { key: "hush" },
  });
  const script =
    "id -u; cat /proc/self/uid_map; cat /secret/key; ls -n /image/bin/busybox; echo on > /host/log; ls -n /host; echo mine > /data/mine; ls -ln /data/mine; sleep 1000000";
  const main = {
    name: "main",
    image,
    command: ["sh", "-c", script],
    volumeMounts: [
      { name: "data", mountPath: "/data" },
      { name: "secret", mountPath: "/secret", readOnly: true },
      { name: "host", mountPath: "/host" },
      { name: "image", mountPath: "/image" },
    ],
  };
  const shared = mkdtempSync(join(tmpdir(), "skiff-shared-"));
  t.teardown(() => rmSync(shared, { recursive: true, force: true }));
  writeFileSync(join(shared, "note"), "");
  chownSync(join(shared, "note"), 1000, 1000);
  const volumes = [
    { name: "host", hostPath: { path: shared } },
    { name: "image", image: { reference: image } },
    { name: "data", emptyDir: {} },
    { name: "secret", secret: { secretName: "key", defaultMode: 0o400 } },
  ];
  for (const name of ["one", "two"]) {
    const spec = { hostUsers: false, securityContext: { fsGroup: 4242 }, containers: [main], volumes };
    const { status, text } = await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod(name, spec));
    t.equal(status, 201, text.slice(0, 200));
  }
  const starts = new Set<number>();
  for (const name of ["one", "two"]) {
    const pod = podOf(api, name);
    await until(`${name} to be ready`, async () => conditionOf(await pod(), "Ready") === "True", patienceMs).catch(
      async (error: unknown) => {
        const { body } = await api.ask("GET", "/api/v1/namespaces/default/events");
        t.comment(JSON.stringify((body.items as { message: string }[]).map(({ message }) => message)));
        throw error;
      },
    );
    const uid = (await pod())?.metadata.uid ?? "";
    const folder = join(dataDir, "pods", uid);
    const { hostId } = JSON.parse(readFileSync(join(folder, "userns"), "utf8")) as { hostId: number };
    starts.add(hostId);
    const log = join(dataDir, "logs", "pods", `default_${name}_${uid}`, "main", "0.log");
    await until("its words", () => readFileSync(log, "utf8").includes("/data/mine"), patienceMs);
    const said = readFileSync(log, "utf8");
    t.match(said, / F 0\n/, "it is root inside");
    t.match(said, new RegExp(`0 +${hostId} +65536`), "and somebody else outside");
    t.match(said, "hush", "it can read its secret");
    t.match(said, /0 +4242 .*\/data\/mine/, "new files are root's and the group's, as it sees them");
    // Where the kernel shows owners shifted, everything is the host's; elsewhere what the node makes belongs to the pod.
    const root = canMapOwners(release()) ? 0 : hostId;
    t.match(said, root === 0 ? / 0 +0 .*image\/bin\/busybox/ : /image\/bin\/busybox/, "an image's files are root's");
    if (root === 0) {
      t.match(said, / 1000 +1000 .*note/, "files of the host have their owners");
      t.match(statSync(join(shared, "log")), { uid: 0, gid: 0 });
    }
    const file = statSync(join(folder, "volumes", "kubernetes.io~empty-dir", "data", "mine"));
    t.equal(file.uid, root, "what it writes");
    t.equal(file.gid, root + 4242);
    const secret = statSync(join(folder, "volumes", "kubernetes.io~secret", "secret", "key"));
    t.equal(secret.uid, root);
  }
  t.equal(starts.size, 2, "no two pods share ids");
  for (const name of ["one", "two"]) await api.ask("DELETE", `/api/v1/namespaces/default/pods/${name}`);
  for (const name of ["one", "two"]) {
    const pod = podOf(api, name);
    await until(`${name} to be gone`, async () => !(await pod())?.spec, patienceMs);
  }
});

t.test("hostUsers: false on a runtime without user namespaces is refused in plain words", async (t) => {
  const fake = openFake({ images: [image] });
  const { status } = fake.runtime;
  fake.runtime.status = async (request, call) => ({ ...(await status(request, call)), runtimeHandlers: [] });
  const api = await startApi();
  t.teardown(() => api.close());
  await makeNamespaces(api, "default", "kube-node-lease");
  await startNode(t, fake, { api });
  await api.ask("POST", "/api/v1/namespaces/default/pods", boundPod("one", { hostUsers: false }));
  await until(
    "an event that says so",
    async () => {
      const { body } = await api.ask("GET", "/api/v1/namespaces/default/events");
      return (body.items as { message: string }[]).some(({ message }) =>
        /The runtime has no user namespaces/.test(message),
      );
    },
    patienceMs,
  );
  t.equal((await fake.runtime.listPodSandbox({}, within(5_000))).items.length, 0);
});
