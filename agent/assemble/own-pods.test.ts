import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import {
  ContainerState,
  CreateContainerRequest,
  ListContainersRequest,
  RunPodSandboxRequest,
} from "../../cri/api/gen/runtime.js";
import { openFake } from "../../cri/fake/open.ts";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { endContainers, ownSandboxes } from "./own-pods.ts";

t.test("endContainers() ends what runs in our own pods, and nothing of another master of the runtime", async (t) => {
  const fake = openFake({ images: ["web:1"] });
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-own-"));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  mkdirSync(join(dataDir, "pods", "ours"), { recursive: true });
  for (const uid of ["ours", "theirs"]) {
    const sandbox = RunPodSandboxRequest.create({ config: { metadata: { name: uid, uid } } });
    const { podSandboxId } = await fake.runtime.runPodSandbox(sandbox, call);
    const config = { metadata: { name: uid }, image: { image: "web:1" }, command: ["cat"], stdin: true };
    const create = CreateContainerRequest.create({ podSandboxId, config });
    await fake.runtime.startContainer(await fake.runtime.createContainer(create, call), call);
  }
  const own = await ownSandboxes(fake, { dataDir, runtimeName: "containerd" }, call);
  t.same(
    own.map(({ metadata }) => metadata?.uid),
    ["ours"],
  );
  await endContainers(fake, own, 1, call);
  const { containers } = await fake.runtime.listContainers(ListContainersRequest.create(), call);
  const states = Object.fromEntries(containers.map(({ metadata, state }) => [metadata?.name, state]));
  t.same(states, { ours: ContainerState.CONTAINER_EXITED, theirs: ContainerState.CONTAINER_RUNNING });
});
