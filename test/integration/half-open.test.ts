// Hundreds of clients that connect and do not go on, 3,000 in the long form: the API answers others meanwhile, lets go of all of them in
// time, and holds no descriptor more than before.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import tls from "node:tls";
import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { until } from "../harness/until.ts";

const each = process.env["SKIFF_LONG"] === "1" ? 500 : 90;
const patienceMs = 2000;

const folder = mkdtempSync(join(tmpdir(), "skiff-half-open-"));
const [command, ...args] = selfCommand(join(import.meta.dirname, "../harness/api-process.ts"), [
  folder,
  String(patienceMs),
]);
const child: ChildProcess = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
const died = new Promise((resolve) => child.once("exit", resolve));
t.teardown(async () => {
  child.kill("SIGKILL");
  await died;
  rmSync(folder, { recursive: true, force: true });
});
const kubeconfig = await new Promise<string>((resolve) =>
  child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8").trim())),
);
const config = await loadKubeconfig(kubeconfig);
t.teardown(() => config.close());
const client = new ApiClient({ fetch: config.fetch, server: config.server });
const port = Number(new URL(config.server).port);
const descriptors = () => readdirSync(`/proc/${child.pid}/fd`).length;

const raw = () => net.connect(port, "127.0.0.1");
const secure = (ALPNProtocols: string[], begin: (socket: tls.TLSSocket) => void) => {
  const socket = tls.connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols });
  return socket.once("secureConnect", () => begin(socket));
};

const kinds: Record<string, () => net.Socket> = {
  "TCP and nothing more": raw,
  // The beginning of a TLS record that says it is 512 bytes long.
  "half a TLS greeting": () => {
    const socket = raw();
    socket.write(Buffer.from([0x16, 3, 1, 2, 0, 1, 0]));
    return socket;
  },
  "TLS and nothing more": () => secure(["http/1.1"], () => {}),
  "half a request": () => secure(["http/1.1"], (socket) => socket.write("GET /version HTTP/1.1\r\nhost: x\r\nx-a: ")),
  "half a body": () =>
    secure(["http/1.1"], (socket) =>
      socket.write("POST /api/v1/namespaces HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\n\r\n{"),
    ),
  "half an HTTP/2 greeting": () =>
    secure(["h2", "http/1.1"], (socket) => socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r")),
};

t.test(`${each * Object.keys(kinds).length} half-open connections`, async (t) => {
  await client.get(resources.namespaces, { name: "default" }, call);
  const before = descriptors();
  const open = new Map<net.Socket, string>();
  t.teardown(() => {
    for (const socket of open.keys()) socket.destroy();
  });
  for (const [kind, connect] of Object.entries(kinds)) {
    for (let n = 0; n < each; n++) {
      const socket = connect();
      open.set(socket, kind);
      socket.on("error", () => {}); // being cut off is what we wait for
      socket.on("close", () => open.delete(socket));
      socket.resume();
    }
  }
  const last = await client.get<{ metadata: { name: string } }>(resources.namespaces, { name: "default" }, call);
  t.equal(last.metadata.name, "default", "others are answered meanwhile");
  await until("all of them cut off", () => open.size === 0, 120_000).catch((error: unknown) => {
    const left: Record<string, number> = {};
    for (const kind of open.values()) left[kind] = (left[kind] ?? 0) + 1;
    t.fail(String(error), { left });
  });
  await until("their descriptors back", () => descriptors() <= before + 5, 60_000);
  await client.create(
    resources.configmaps,
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "after" } },
    call,
    { namespace: "default" },
  );
  t.pass("writes go on");
});
