// Our programs under a stock containerd: it runs our launchers for every pod, with and without an agent that takes the work.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import * as cri from "../../cri/api/gen/runtime.js";
import { openRemote } from "../../cri/remote/open.ts";
import { uninterrupted, within } from "../../plugins/kit/base/call.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { startContainerd, withoutContainerd } from "../../test/harness/containerd.ts";
import { ask, playHost, randomName, serveIn } from "../../test/harness/network.ts";
import { pluginFinder } from "../invoke/builtins.ts";
import { removeNetwork } from "../invoke/remove-network.ts";
import { nodeNetworkList } from "../invoke/write-network-list.ts";
import { openKernel } from "../net/kernel.ts";
import { runProgram } from "../skel/run-program.ts";
import { serveHandOver } from "./serve-hand-over.ts";
import { installPrograms, ownPrefix } from "./install-programs.ts";

t.test("our programs under containerd", { skip: withoutContainerd(), timeout: 600_000 }, async (t) => {
  await playHost();
  const dir = mkdtempSync(join(tmpdir(), "skiff-cni-bin-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const kernel = openKernel();
  const bridge = randomName("br");
  const socketPath = join(dir, "agent.sock");
  const command = selfCommand(fileURLToPath(new URL("./program.ts", import.meta.url)));
  installPrograms({ dir: join(dir, "bin"), command, socketPath, cacheDir: join(dir, "compiled") });
  const leaseDir = join(dir, "leases");
  const list = JSON.stringify(
    nodeNetworkList({ dir: "", podCidrs: ["10.71.0.0/24"], bridge, name: bridge, leaseDir, typePrefix: ownPrefix }),
  );
  const containerd = await startContainerd(t, { images: [], network: { binDir: join(dir, "bin"), list } });
  const { runtime, close } = openRemote({ socket: containerd.socket });
  t.teardown(() => close());
  const run = async (name: string, hostPort: number) => {
    const metadata = { name, namespace: "default", uid: name, attempt: 0 };
    const config = cri.PodSandboxConfig.create({
      metadata,
      logDirectory: dir,
      portMappings: [{ protocol: 0, containerPort: 80, hostPort, hostIp: "" }],
      linux: {},
    });
    const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), within(20_000));
    const { status, info } = await runtime.podSandboxStatus(
      cri.PodSandboxStatusRequest.create({ podSandboxId, verbose: true }),
      uninterrupted,
    );
    const details = JSON.parse(info.info ?? "{}") as { pid: number };
    return { podSandboxId, ip: status?.network?.ip ?? "", netns: `/proc/${details.pid}/ns/net` };
  };
  const remove = async (podSandboxId: string) => {
    await runtime.stopPodSandbox({ podSandboxId }, within(20_000));
    await runtime.removePodSandbox({ podSandboxId }, within(20_000));
  };
  const leases = () => readdirSync(join(leaseDir, bridge)).filter((name) => /^\d/.test(name));

  const alone = await run("alone", 18111);
  t.equal(alone.ip, "10.71.0.2");
  await serveIn(t, alone.netns, { port: 80, name: "alone" });
  t.match(await ask(undefined, { address: alone.ip, port: 80 }), /^alone /);
  t.match(await ask(undefined, { address: "10.71.0.1", port: 18111 }), /^alone /, "by host port");

  const handed: string[] = [];
  const agent = new AbortController();
  const find = pluginFinder(kernel);
  const serving = serveHandOver(
    socketPath,
    (type, input, call) => {
      handed.push(`${input.environment.CNI_COMMAND} ${type}`);
      return runProgram(find(type, []), input, call);
    },
    { signal: agent.signal },
  );
  const served = await run("served", 18112);
  t.equal(served.ip, "10.71.0.3");
  t.same(
    handed.filter((line) => !line.includes("loopback")),
    ["ADD bridge", "ADD portmap"],
  );
  t.match(await ask(served.netns, { address: alone.ip, port: 80 }), `alone ${served.ip}`);
  for (const { podSandboxId } of [alone, served]) await remove(podSandboxId);
  agent.abort();
  await serving;
  t.same(leases(), []);

  writeFileSync(join(leaseDir, bridge, "10.71.0.9"), "gone\r\neth0");
  await removeNetwork({ name: bridge, bridge, kernel }, uninterrupted);
  t.equal(await kernel.host.findLink(bridge), undefined);
  t.same(await kernel.nft.list("list tables", uninterrupted), [], "no table is left");
  kernel.close();
});
