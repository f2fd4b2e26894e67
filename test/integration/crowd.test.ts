// runtimes: node
// (Deno's HTTP/2 ends natively on GOAWAY, and HTTP/1.1 needs a connection for each watch.)
// Thousands of watches of one kind: each hears of a change, others are answered meanwhile, and what they hold is bounded and given back.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http2 from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { loadKubeconfig } from "../../plugins/kit/kube/client/kubeconfig.ts";
import { resources } from "../../plugins/kit/kube/objects/resources.ts";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { until } from "../harness/until.ts";

const sessions = process.env["SKIFF_LONG"] === "1" ? 40 : 20;
/** As many as the server announces that it takes. */
const streamsOfSession = 250;
const count = sessions * streamsOfSession;
/** More than a watch and its stream take, and less than any answer that would be kept for each of them. */
const mostBytesEach = 128 * 1024;

const folder = mkdtempSync(join(tmpdir(), "skiff-crowd-"));
const [command, ...args] = selfCommand(join(import.meta.dirname, "../harness/api-process.ts"), [folder]);
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
const configMaps = "/api/v1/namespaces/default/configmaps";

const residentBytes = () =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"))?.[1] ?? "0") * 1024;
const create = (name: string) =>
  client.create(resources.configmaps, { apiVersion: "v1", kind: "ConfigMap", metadata: { name } }, call, {
    namespace: "default",
  });

async function runningWatches(): Promise<number> {
  const answer = await config.fetch(new Request(`${config.server}/metrics`));
  const line = /^apiserver_longrunning_requests\{[^}]*resource="configmaps"[^}]*\} (\d+)$/m.exec(await answer.text());
  return Number(line?.[1] ?? "0");
}

/** Of the admin's kubeconfig, for a client that opens its own connections. */
async function identity() {
  const text = readFileSync(kubeconfig, "utf8");
  const dataOf = (key: string) => Buffer.from(new RegExp(`${key}: "?([\\w+/=]+)`).exec(text)?.[1] ?? "", "base64");
  return {
    ca: dataOf("certificate-authority-data"),
    cert: dataOf("client-certificate-data"),
    key: dataOf("client-key-data"),
  };
}

t.test(`${count} watches`, { timeout: 300_000 }, async (t) => {
  const before = residentBytes();
  const heard = { answered: 0, told: 0 };
  const secrets = await identity();
  const open = Array.from({ length: sessions }, () => http2.connect(config.server, secrets).on("error", () => {}));
  t.teardown(() => {
    for (const session of open) session.destroy();
  });
  for (const session of open)
    for (let n = 0; n < streamsOfSession; n++) {
      const stream = session.request({ ":path": `${configMaps}?watch=true` }).on("error", () => {});
      stream.once("response", ({ ":status": status }) => {
        if (status === 200) heard.answered++;
      });
      let text = "";
      stream.setEncoding("utf8").on("data", (chunk: string) => {
        if (text.includes('"name":"told"')) return;
        text += chunk;
        if (text.includes('"name":"told"')) heard.told++;
      });
    }
  await until("all to be answered", () => heard.answered === count, 120_000);
  t.equal(await runningWatches(), count);
  await create("told");
  await until("all to hear of a change", () => heard.told === count, 120_000);
  const grown = residentBytes() - before;
  t.ok(grown < count * mostBytesEach, `${Math.round(grown / count / 1024)} KB for each`);
  for (const session of open) session.destroy();
  await until("all to be let go", async () => (await runningWatches()) === 0, 120_000);
  await create("after");
  t.pass("writes go on");
});
