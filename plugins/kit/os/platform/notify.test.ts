import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { until } from "../../../../test/harness/until.ts";
import { notifyServiceManager, watchdogIntervalMs } from "./notify.ts";

for (const [name, where] of [
  ["a path", (dir: string) => join(dir, "notify.sock")],
  ["an abstract name", () => `@skiff-notify-${process.pid}`],
] as const) {
  t.test(`notifyServiceManager() reaches ${name}`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), "skiff-notify-"));
    t.teardown(() => rmSync(dir, { recursive: true }));
    const path = where(dir);
    const address = path.startsWith("@") ? `ABSTRACT-RECV:${path.slice(1)}` : `UNIX-RECV:${path}`;
    const listener = spawn("socat", ["-u", address, "-"], { stdio: ["ignore", "pipe", "inherit"] });
    t.teardown(() => void listener.kill("SIGKILL"));
    let said = "";
    listener.stdout.on("data", (chunk) => (said += String(chunk)));
    await until("the listener to be told", () => notifyServiceManager("READY=1\nSTATUS=up", path));
    await until("the message", () => said.includes("READY=1\nSTATUS=up"));
  });
}

t.test("notifyServiceManager() is quiet when there is nobody to tell", async (t) => {
  t.equal(await notifyServiceManager("READY=1", ""), false);
  t.equal(await notifyServiceManager("READY=1", "/no/such/socket"), false);
  t.equal(await notifyServiceManager("READY=1", `/${"x".repeat(200)}`), false);
});

t.test("watchdogIntervalMs() is half of the limit, for this process only", async (t) => {
  t.equal(watchdogIntervalMs({ WATCHDOG_USEC: "30000000" }), 15_000);
  t.equal(watchdogIntervalMs({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: String(process.pid) }), 15_000);
  t.equal(watchdogIntervalMs({ WATCHDOG_USEC: "30000000", WATCHDOG_PID: "1" }), undefined);
  t.equal(watchdogIntervalMs({ WATCHDOG_USEC: "x" }), undefined);
  t.equal(watchdogIntervalMs({}), undefined);
});
