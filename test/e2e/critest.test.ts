// critest, the validation suite of kubernetes-sigs/cri-tools, against `skiff cri native` and `skiff cri docker`. Needs the program on
// PATH; it is not in Debian.

import { execFileSync, spawn } from "node:child_process";
import t, { type Test } from "tap";
import { startCriProcess } from "../harness/cri-process.ts";
import { addCritestImages } from "../harness/critest-images.ts";
import { startDocker, withoutDocker } from "../harness/docker.ts";
import { withoutNative } from "../harness/native.ts";
import { TestRegistry } from "../harness/registry.ts";

function withoutCritest(): string | false {
  try {
    execFileSync("sh", ["-c", "command -v critest"], { stdio: "ignore" });
    return false;
  } catch {
    return "needs critest on PATH";
  }
}

/** What our stand-ins for its images cannot show; the behaviour suite has each of them. */
const unshown = [
  "public image with digest", // a digest that only the published image has
  "NoNewPrivs", // a program of its image
  "MaskedPaths", // Debian's shell has the masked program built in
];

t.setTimeout(0);

async function imageRegistry(t: Test): Promise<TestRegistry> {
  const registry = await TestRegistry.start();
  t.teardown(() => registry.stop());
  addCritestImages(registry);
  return registry;
}

async function critestPasses(t: Test, socket: string): Promise<void> {
  const args = [`-runtime-endpoint=unix://${socket}`, "-ginkgo.no-color", `-ginkgo.skip=${unshown.join("|")}`];
  const critest = spawn("critest", args, { stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [critest.stdout, critest.stderr]) stream.on("data", (chunk) => (text += String(chunk)));
  const code = await new Promise((resolve) => critest.once("exit", resolve));
  const failures = text.match(/\[FAILED\] .*(?:\n(?!---).*){0,12}/g) ?? [];
  t.equal(code, 0, `critest\n${failures.join("\n")}\n${text.slice(text.indexOf("Summarizing"))}`);
  t.comment(/^Ran .*\n.*Passed.*$/m.exec(text)?.[0] ?? text.slice(-2000));
}

t.test("critest passes on skiff cri native", { skip: withoutCritest() || withoutNative(), timeout: 0 }, async (t) => {
  const registry = await imageRegistry(t);
  const { socket } = await startCriProcess(t, { runtime: "native", registry: registry.host });
  await critestPasses(t, socket);
});

t.test("critest passes on skiff cri docker", { skip: withoutCritest() || withoutDocker(), timeout: 0 }, async (t) => {
  const registry = await imageRegistry(t);
  const standsFor = ["registry.k8s.io", "gcr.io", "k8s.gcr.io"];
  const docker = await startDocker(t, { images: [], registry: { host: registry.host, standsFor } });
  const { socket } = await startCriProcess(t, { runtime: "docker", flags: [`--docker-socket=${docker.socket}`] });
  await critestPasses(t, socket);
});
