// runtimes: node
// (Ending a thread from outside needs a preloaded file, which the launcher passes to Node alone.)
// A server whose store has died says why and exits, so that the service manager starts it again.

import { once } from "node:events";
import { join } from "node:path";
import t from "tap";
import { startSkiff } from "../harness/skiff.ts";

t.test("the server exits when the store's thread ends", async (t) => {
  const preload = join(import.meta.dirname, "../fixtures/ending-threads.ts");
  const skiff = await startSkiff({ command: "server", env: { NODE_OPTIONS: `--import=${preload}` } });
  t.teardown(async () => {
    await skiff.kill();
    skiff.remove();
  });
  t.equal(await skiff.kubectl("get", "--raw", "/livez/etcd"), "ok");
  const exited = once(skiff.process, "exit");
  skiff.process.kill("SIGUSR2");
  const [code] = await exited;
  t.equal(code, 1);
  const lines = skiff
    .log()
    .split("\n")
    .filter((line) => line.includes("the store has ended"));
  t.equal(lines.length, 1, skiff.log());
  t.match(lines[0], /its thread has ended/);
});
