// A node on a stock containerd that runs our CNI programs: the agent puts them there, serves them, and takes them away again.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { startContainerd, withoutContainerd } from "../harness/containerd.ts";
import { busyboxImageName } from "../harness/images.ts";
import { ask, playHost, testNetns } from "../harness/network.ts";
import { startSkiff } from "../harness/skiff.ts";

t.setTimeout(600_000);

t.test("the network of a node on containerd", { skip: withoutContainerd(), timeout: 600_000 }, async (t) => {
  await playHost();
  const kernel = openKernel();
  const wire = kernel.enter(testNetns(t));
  await kernel.host.createVeth({ name: "up0", peer: { name: "eth0", space: wire } });
  wire.close();
  const up = await kernel.host.getLink("up0");
  await kernel.host.setLink(up.index, { up: true });
  await kernel.host.addAddress(up.index, parsePrefix("198.51.100.1/24"));
  await kernel.host.addRoute({ family: 4, link: up.index, gateway: parseAddress("198.51.100.2") });

  const binDir = mkdtempSync(join(tmpdir(), "skiff-cni-bin-"));
  t.teardown(() => rmSync(binDir, { recursive: true, force: true }));
  // Until the node's own list is there, containerd has one that attaches to nothing.
  const list = JSON.stringify({ cniVersion: "1.0.0", name: "none", plugins: [{ type: "loopback" }] });
  const containerd = await startContainerd(t, { network: { binDir, list } });
  rmSync(join(containerd.dir, "cni", "10-test.conflist"));
  const skiff = await startSkiff({ flags: [`--runtime=unix://${containerd.socket}`] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  t.ok(readdirSync(binDir).includes("skiff-bridge"));
  t.equal(readdirSync(join(containerd.dir, "cni")).length, 1);
  await skiff.kubectl(
    "run",
    "web",
    `--image=${busyboxImageName}`,
    "--restart=Never",
    `--overrides={"spec":{"terminationGracePeriodSeconds":0}}`,
    "--",
    "sh",
    "-c",
    "while true; do echo web | nc -l -p 8080; done",
  );
  await skiff.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=40s");
  const address = await skiff.kubectl("get", "pod", "web", "-o", "jsonpath={.status.podIP}");
  t.equal(await ask(undefined, { address, port: 8080 }), "web");
  await skiff.stop();
  t.same(readdirSync(binDir), [], "no program is left");
  t.same(readdirSync(join(containerd.dir, "cni")), [], "no list is left");
  t.same(await kernel.nft.list("list tables", uninterrupted), [], "no table is left");
  t.same((await kernel.host.listLinks()).map((link) => link.name).sort(), ["lo", "up0"], "no link is left");
  kernel.close();
});
