// A box that comes up without any network: it starts, says what it lacks, runs its pods, and takes up an address and a route when they come.

import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import t from "tap";
import { openKernel } from "../../cni/net/kernel.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { busyboxImage, busyboxImageName as image, imageArchive } from "../harness/images.ts";
import { withoutNative } from "../harness/native.ts";
import { noNetworkReason, playHost, testNetns } from "../harness/network.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

t.setTimeout(300_000);
const patienceMs = 120_000;

t.test("skiff up without a network", { skip: noNetworkReason() || withoutNative(), timeout: 300_000 }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const { host } = kernel;
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-no-route-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "box.tar"), await imageArchive(busyboxImage()));
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native"] });
  t.teardown(async () => {
    await skiff.stop();
    skiff.remove();
  });
  const says = (words: string) => until(`it to say "${words}"`, () => skiff.log().includes(words), patienceMs);
  await says("the node has no address: pods start");
  await says("there is no default route");
  const command = ["sh", "-c", "sleep 1000000"];
  const spec = { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image, command }] };
  await skiff.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: "alone", namespace: "default" }, spec });
  await skiff.kubectl("wait", "--for=condition=Ready", "pod/alone", "--timeout=120s");
  t.equal(await skiff.kubectl("exec", "alone", "--", "hostname"), "alone\n");

  const address = () =>
    skiff.kubectl("get", "node", skiff.nodeName, "-o", 'jsonpath={.status.addresses[?(@.type=="InternalIP")].address}');
  t.equal(await address(), "");
  const wire = kernel.enter(testNetns(t));
  const link = async (name: string, prefix: string) => {
    await host.createVeth({ name, peer: { name, space: wire } });
    const { index } = await host.getLink(name);
    await host.setLink(index, { up: true });
    await host.addAddress(index, parsePrefix(prefix));
    await wire.setLink((await wire.getLink(name)).index, { up: true });
    return index;
  };
  await link("eth0", "198.51.100.7/24");
  await until("the node to tell its address", async () => (await address()) === "198.51.100.7", patienceMs);
  const wan = await link("wan0", "203.0.113.7/24");
  await host.addRoute({ family: 4, link: wan, gateway: parseAddress("203.0.113.1") });
  wire.close();
  await says("there is a default route again");
  await until(
    "the node to tell the address that leads out",
    async () => (await address()) === "203.0.113.7",
    patienceMs,
  );
  await says("the node's address changed");
  await until(
    "pods to be led to the server's new address",
    async () => {
      const found = await skiff.kubectl(
        "get",
        "endpoints",
        "kubernetes",
        "-o",
        "jsonpath={.subsets[*].addresses[*].ip}",
      );
      return found === "203.0.113.7";
    },
    patienceMs,
  );
  const info = await skiff.kubectl("get", "configmap", "cluster-info", "-n", "kube-public", "-o", "yaml");
  t.match(info, /server: https:\/\/203\.0\.113\.7:/, "whoever wants to join is told it, too");
  const ca = readFileSync(join(dataDir, "pki", "ca.crt"), "utf8");
  for (const [server, port] of Object.entries({ API: skiff.ports.https, kubelet: skiff.ports.kubelet }))
    await until(
      `the ${server}'s certificate to name the new address`,
      () => isServedFor("203.0.113.7", port, ca),
      patienceMs,
    );
  t.match(await skiff.kubectl("get", "pod", "alone"), /alone +1\/1 +Running +0 /, "the pod was left alone");
  t.equal(await skiff.kubectl("exec", "alone", "--", "hostname"), "alone\n");
});

/** Whether the certificate that is shown at that address is of this authority and for that address. */
function isServedFor(host: string, port: number, ca: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, ca });
    socket.once("error", () => resolve(false));
    socket.once("secureConnect", () => {
      socket.destroy();
      resolve(true);
    });
  });
}
