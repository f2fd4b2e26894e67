// Claims with real pods: the scheduler picks a node, a volume is made and bound, data outlives the pod, and goes with the claim.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const pod = (name: string, script: string, volume: object) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name },
  spec: {
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 1,
    containers: [
      {
        name: "c",
        image: busyboxImageName,
        imagePullPolicy: "Never",
        command: ["sh", "-c", script],
        volumeMounts: [{ name: "data", mountPath: "/data" }],
      },
    ],
    volumes: [{ name: "data", ...volume }],
  },
});
const claimSpec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "10Mi" } } };
const ofClaim = { persistentVolumeClaim: { claimName: "data" } };

t.test("a claim's data survives the pod, is there for the next one, and goes with the claim", async (t) => {
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-volumes-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  const root = join(dataDir, "local-path");
  const done = (name: string) =>
    skiff.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", `pod/${name}`, "--timeout=60s");

  await skiff.apply({ apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: "data" }, spec: claimSpec });
  await skiff.apply(pod("writer", "echo kept > /data/note", ofClaim));
  await done("writer");
  await skiff.kubectl("delete", "pod", "writer", "--timeout=60s");
  await skiff.apply(pod("reader", "cat /data/note", ofClaim));
  await done("reader");
  t.equal(await skiff.kubectl("logs", "reader"), "kept\n");
  const [name = ""] = readdirSync(root);
  t.equal(readFileSync(join(root, name, "note"), "utf8"), "kept\n");

  t.equal(statSync(join(root, name)).mode & 0o777, 0o777, "pods that do not run as root can write");
  const nobody = pod("nobody", "id -u > /data/uid", ofClaim);
  await skiff.apply({ ...nobody, spec: { ...nobody.spec, securityContext: { runAsUser: 65534 } } });
  await done("nobody");
  t.equal(readFileSync(join(root, name, "uid"), "utf8"), "65534\n");
  const more = { spec: { resources: { requests: { storage: "20Mi" } } } };
  await skiff.kubectl("patch", "pvc", "data", "-p", JSON.stringify(more));
  await skiff.kubectl("wait", "--for=jsonpath={.status.capacity.storage}=20Mi", "pvc/data", "--timeout=60s");

  await skiff.kubectl("delete", "pod", "reader", "nobody", "--timeout=60s");
  await skiff.kubectl("delete", "pvc", "data", "--timeout=60s");
  await skiff.kubectl("wait", "--for=delete", `pv/${name}`, "--timeout=60s");
  t.notOk(existsSync(join(root, name)), "the directory is removed with its claim");

  await skiff.apply(pod("brief", "echo x > /data/x", { ephemeral: { volumeClaimTemplate: { spec: claimSpec } } }));
  await done("brief");
  await skiff.kubectl("delete", "pod", "brief", "--timeout=60s");
  await until("the ephemeral volume to go", () => readdirSync(root).length === 0, 60_000);
});
