// Who holds a lease is on disk before it is answered; when it was renewed last may be lost with the process.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { selfCommand } from "../../plugins/kit/os/platform/runtime.ts";
import { openSqliteStore, sqlite } from "../../plugins/store/sqlite.ts";
import { startApi } from "../harness/api-server.ts";

t.test("a server killed right after a change of leader comes back with the new leader", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "skiff-lease-kill-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const [command, ...args] = selfCommand(join(import.meta.dirname, "../fixtures/lease-victim.ts"), [folder]);
  const victim = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(victim, "exit");
  const [said] = await once(victim.stdout, "data");
  t.equal(String(said), "acknowledged\n");
  victim.kill("SIGKILL");
  await exited;

  const store = await openSqliteStore({ ...sqlite.configure?.({}), folder });
  const api = await startApi({ store });
  t.teardown(async () => {
    await api.close();
    await store.close();
  });
  const leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
  const { spec } = (await api.ask("GET", `${leases}/leader`)).body;
  t.match(spec, { holderIdentity: "b", leaseTransitions: 1 });
  t.equal(spec.renewTime, "2026-01-01T00:00:02.000000Z", "the renewal after it was kept in memory");
  t.equal((await api.ask("GET", `${leases}/gone`)).status, 404, "what was deleted stays deleted");
});
