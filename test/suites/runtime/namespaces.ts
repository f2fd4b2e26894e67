// Which namespaces containers share with their pod, with each other and with the node; addresses, names and DNS.

import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { hostname, release } from "node:os";
import { connect } from "node:net";
import { join } from "node:path";
import * as cri from "../../../cri/api/gen/runtime.js";
import { readAll } from "../../harness/read-all.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import { sleeper, type Workbench } from "./workbench.ts";

const { NODE, POD, CONTAINER, TARGET } = cri.NamespaceMode;

type Options = Parameters<typeof cri.NamespaceOption.create>[0];

const podOptions = (namespaceOptions: Options) => ({ linux: { securityContext: { namespaceOptions } } });

export function namespaces(t: Test, bench: Workbench): void {
  const skip = bench.lacks("kernel");
  const namespaceOf = (id: string, kind: string) => bench.sh(id, `readlink /proc/self/ns/${kind}`);
  const inPod = (namespaceOptions: Options, changes = {}) => ({
    linux: { securityContext: { namespaceOptions } },
    ...changes,
  });

  t.test("a pod has an address of its own, the same for all its containers", { skip }, async (t) => {
    const pod = await bench.pod();
    const one = await bench.started(pod);
    const other = await bench.started(pod);
    const ip = (await bench.sandbox(pod.id)).network?.ip;
    t.match(ip, /^\d+\.\d+\.\d+\.\d+$/);
    for (const id of [one, other]) t.match(await bench.sh(id, "ip -o -4 addr show eth0"), ip);
    t.match(await bench.sh(one, "ip -o -4 addr show lo"), "127.0.0.1");
    t.equal(await namespaceOf(one, "net"), await namespaceOf(other, "net"));
    t.not(await namespaceOf(one, "net"), readlinkSync("/proc/self/ns/net"));
    await bench.removePod(pod.id);
  });

  t.test("a pod is reached from the node by its address", { skip }, async (t) => {
    const pod = await bench.pod();
    await bench.started(pod, { command: [...bench.setup.echoServer.command] });
    const ip = (await bench.sandbox(pod.id)).network?.ip ?? "";
    const answer = await until("the server to listen", async () => {
      const socket = connect({ host: ip, port: bench.setup.echoServer.port, allowHalfOpen: true });
      const read = readAll(socket);
      socket.end("over the bridge");
      return read;
    });
    t.equal(answer, "over the bridge");
    await bench.removePod(pod.id);
  });

  t.test("a pod on the node's network has the node's", { skip }, async (t) => {
    const pod = await bench.pod({ ...podOptions({ network: NODE }), hostname: "" });
    const id = await bench.started(pod, inPod({ network: NODE }));
    t.equal(await namespaceOf(id, "net"), readlinkSync("/proc/self/ns/net"));
    t.equal(await bench.sh(id, "hostname"), hostname());
    t.equal((await bench.sandbox(pod.id)).linux?.namespaces?.options?.network, NODE);
    await bench.removePod(pod.id);
  });

  t.test("processes are a container's own, or the pod's, or the node's", { skip }, async (t) => {
    const own = await bench.pod(podOptions({ pid: CONTAINER }));
    const alone = await bench.started(own, inPod({ pid: CONTAINER }));
    t.equal((await bench.sh(alone, "cat /proc/1/cmdline")).replaceAll("\0", " ").trim(), "sleep 1000");
    await bench.removePod(own.id);

    const shared = await bench.pod(podOptions({ pid: POD }));
    const one = await bench.started(shared, inPod({ pid: POD }));
    const other = await bench.started(shared, inPod({ pid: POD }, { command: ["sh", "-c", "exec sleep 4321"] }));
    t.equal(await namespaceOf(one, "pid"), await namespaceOf(other, "pid"));
    t.match(await bench.sh(one, "ps -o args"), /sleep 4321/);
    await bench.removePod(shared.id);

    const node = await bench.pod(podOptions({ pid: NODE }));
    const onNode = await bench.started(node, inPod({ pid: NODE }));
    t.equal(await namespaceOf(onNode, "pid"), readlinkSync("/proc/self/ns/pid"));
    await bench.removePod(node.id);
  });

  t.test("a container can join the processes of another, to debug it", { skip }, async (t) => {
    const pod = await bench.pod(podOptions({ pid: CONTAINER }));
    const target = await bench.started(pod, inPod({ pid: CONTAINER }, { command: ["sh", "-c", "exec sleep 5432"] }));
    const debug = await bench.started(pod, inPod({ pid: TARGET, targetId: target }));
    t.match(await bench.sh(debug, "ps -o args"), /sleep 5432/);
    t.equal(await namespaceOf(debug, "pid"), await namespaceOf(target, "pid"));
    await bench.removePod(pod.id);
  });

  t.test("IPC is the pod's or the node's", { skip }, async (t) => {
    const pod = await bench.pod(podOptions({ ipc: POD }));
    const one = await bench.started(pod, inPod({ ipc: POD }));
    const other = await bench.started(pod, inPod({ ipc: POD }));
    t.equal(await namespaceOf(one, "ipc"), await namespaceOf(other, "ipc"));
    t.not(await namespaceOf(one, "ipc"), readlinkSync("/proc/self/ns/ipc"));
    t.equal(await bench.sh(one, "echo shared > /dev/shm/x; echo ok"), "ok");
    t.equal(await bench.sh(other, "cat /dev/shm/x"), "shared", "and /dev/shm with it");
    await bench.removePod(pod.id);
    const node = await bench.pod(podOptions({ ipc: NODE }));
    const onNode = await bench.started(node, inPod({ ipc: NODE }));
    t.equal(await namespaceOf(onNode, "ipc"), readlinkSync("/proc/self/ns/ipc"));
    await bench.removePod(node.id);
  });

  t.test("a pod has its host name, its DNS settings and its sysctls", { skip }, async (t) => {
    const pod = await bench.pod({
      hostname: "cart-0",
      dnsConfig: { servers: ["10.43.0.10"], searches: ["shop.svc.cluster.local"], options: ["ndots:5"] },
      linux: { sysctls: { "kernel.shm_rmid_forced": "1", "net.ipv4.ip_unprivileged_port_start": "80" } },
    });
    const id = await bench.started(pod, { command: sleeper });
    t.equal(await bench.sh(id, "hostname"), "cart-0");
    const resolv = await bench.sh(id, "cat /etc/resolv.conf");
    t.match(resolv, /^nameserver 10\.43\.0\.10$/m);
    t.match(resolv, /^search shop\.svc\.cluster\.local$/m);
    t.match(resolv, /^options ndots:5$/m);
    t.equal(await bench.sh(id, "cat /proc/sys/kernel/shm_rmid_forced"), "1");
    t.equal(await bench.sh(id, "cat /proc/sys/net/ipv4/ip_unprivileged_port_start"), "80");
    await bench.removePod(pod.id);
  });

  t.test("root in a user namespace is nobody outside", { skip: skip || bench.lacks("userNamespaces") }, async (t) => {
    const ids = [{ hostId: 200_000, containerId: 0, length: 65_536 }];
    const usernsOptions = { mode: POD, uids: ids, gids: ids };
    const pod = await bench.pod(podOptions({ usernsOptions }));
    const id = await bench.started(pod, inPod({ usernsOptions }));
    t.equal(await bench.sh(id, "id -u"), "0");
    t.match(await bench.sh(id, "cat /proc/self/uid_map"), /^\s*0\s+200000\s+65536$/);
    t.not(await namespaceOf(id, "user"), readlinkSync("/proc/self/ns/user"));
    await bench.removePod(pod.id);
  });

  const userless = skip || bench.lacks("userNamespaces", "idMappedMounts");
  t.test("mounts with the pod's id mappings show owners as the pod's users", { skip: userless }, async (t) => {
    const ids = [{ hostId: 200_000, containerId: 0, length: 65_536 }];
    const usernsOptions = { mode: POD, uids: ids, gids: ids };
    const folder = mkdtempSync(join(bench.setup.dir, "mapped-"));
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, "note"), "kept");
    chownSync(join(folder, "note"), 0, 1000);
    const mapped = { uidMappings: ids, gidMappings: ids };
    const memory = join(folder, "memory");
    mkdirSync(memory);
    execFileSync("mount", ["-t", "tmpfs", "-o", "nosuid,nodev,noexec", "none", memory]);
    t.teardown(() => execFileSync("umount", [memory]));
    writeFileSync(join(memory, "token"), "");
    const { images } = bench.setup;
    const mounts = [
      { hostPath: folder, containerPath: "/mapped", ...mapped },
      { hostPath: join(folder, "note"), containerPath: "/note", readonly: true, ...mapped },
      { hostPath: memory, containerPath: "/memory", readonly: true, ...mapped },
      { hostPath: memory, containerPath: "/strange", readonly: true },
      { hostPath: folder, containerPath: "/plain" },
      ...(bench.lacks("imageVolumes")
        ? []
        : [{ image: { image: images.namedUser }, containerPath: "/image", ...mapped }]),
    ];
    const pod = await bench.pod(podOptions({ usernsOptions }));
    const id = await bench.started(pod, { ...inPod({ usernsOptions }), mounts });
    const ownerOf = (path: string) => bench.sh(id, `stat -c %u:%g ${path}`);
    t.equal(await ownerOf("/mapped/note"), "0:1000");
    t.equal(await ownerOf("/note"), "0:1000");
    const [major = 0, minor = 0] = release().split(".").map(Number);
    // Memory file systems can show other owners from Linux 6.3 on.
    const isShifted = major > 6 || (major === 6 && minor >= 3);
    t.equal(await ownerOf("/memory/token"), isShifted ? "0:0" : "65534:65534");
    await t.rejects(bench.sh(id, "touch /memory/x"), /Read-only/);
    t.equal(await ownerOf("/plain/note"), "65534:65534");
    if (!bench.lacks("imageVolumes")) t.equal(await ownerOf("/image/bin/busybox"), "0:0");
    await bench.sh(id, "echo new > /mapped/new");
    t.match(statSync(join(folder, "new")), { uid: 0, gid: 0 }, "what it makes is the host's");
    await t.rejects(bench.sh(id, "echo no > /note"));
    await bench.removePod(pod.id);
    t.equal(readFileSync(join(folder, "note"), "utf8"), "kept", "and stays when the pod goes");
  });
}
