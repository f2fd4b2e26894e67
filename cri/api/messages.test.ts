import t from "tap";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "./generate.ts";
import * as cri from "./gen/runtime.js";

t.test("messages have the published field numbers", async (t) => {
  const wire = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
  t.equal(wire(cri.ImageSpec.encode(cri.ImageSpec.create({ image: "a", imageRef: "b" })).finish()), "0a0161a2010162");
  const context = cri.LinuxContainerSecurityContext.create({ noNewPrivs: true, runAsGroup: { value: 7 } });
  t.equal(wire(cri.LinuxContainerSecurityContext.encode(context).finish()), "580162020807");
  const mount = cri.Mount.create({ recursiveReadOnly: true, imageSubPath: "x" });
  t.equal(wire(cri.Mount.encode(mount).finish()), "4001520178");
  const status = cri.ContainerStatus.create({ logPath: "l", stopSignal: cri.Signal.SIGTERM });
  t.equal(wire(cri.ContainerStatus.encode(status).finish()), "7a016c980117");
});

t.test("nanosecond stamps and cgroup v1's unlimited survive the wire", async (t) => {
  const createdAt = 1_793_000_000_123_456_789n;
  const there = cri.PodSandbox.create({ id: "s", createdAt, labels: { a: "b" } });
  t.same(cri.PodSandbox.decode(cri.PodSandbox.encode(there).finish()), there);
  const limit = cri.LinuxContainerResources.create({ memoryLimitInBytes: 9_223_372_036_854_771_712n, cpuQuota: -1 });
  t.same(cri.LinuxContainerResources.decode(cri.LinuxContainerResources.encode(limit).finish()), limit);
});

t.test("a later runtime's unknown fields are skipped", async (t) => {
  const bytes = Buffer.concat([Buffer.from("fa3f0378797a", "hex"), cri.PodIP.encode({ ip: "10.1.2.3" }).finish()]);
  t.same(cri.PodIP.decode(bytes), { ip: "10.1.2.3" });
});

t.test("gen/ is what generate.ts makes of runtime.proto", async (t) => {
  const to = mkdtempSync(join(tmpdir(), "cri-api-"));
  t.teardown(() => rmSync(to, { recursive: true, force: true }));
  generate(import.meta.dirname, to);
  for (const name of ["runtime.js", "runtime.d.ts"]) {
    t.ok(readFileSync(join(to, name)).equals(readFileSync(join(import.meta.dirname, "gen", name))), name);
  }
});
