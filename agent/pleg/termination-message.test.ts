import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { ContainerStatus } from "../../cri/api/gen/runtime.js";
import { startSwapper } from "../../test/harness/racer.ts";
import { annotations, labels } from "../model/identity.ts";
import { terminationMessage } from "./termination-message.ts";

const path = "/dev/termination-log";

function scene(t: { teardown(then: () => void): void }) {
  const root = mkdtempSync(join(tmpdir(), "skiff-message-"));
  t.teardown(() => rmSync(root, { recursive: true, force: true }));
  const podsDir = join(root, "pods");
  const dir = join(podsDir, "uid", "containers", "c");
  const logs = join(root, "logs", "n_p_uid", "c");
  mkdirSync(dir, { recursive: true });
  mkdirSync(logs, { recursive: true });
  writeFileSync(join(root, "secret"), "the host's");
  const status = (hostPaths: readonly string[], more: Partial<ContainerStatus> = {}) =>
    ContainerStatus.create({
      labels: { [labels.podUid]: "uid", [labels.containerName]: "c" },
      annotations: {
        [annotations.terminationMessagePath]: path,
        [annotations.terminationMessagePolicy]: "FallbackToLogsOnError",
      },
      mounts: hostPaths.map((hostPath) => ({ containerPath: path, hostPath })),
      exitCode: 1,
      ...more,
    });
  return { root, podsDir, dir, log: join(logs, "0.log"), status };
}

t.test("terminationMessage() reads the agent's own file, and no volume at the same path", async (t) => {
  const { root, podsDir, dir, status } = scene(t);
  const volume = join(podsDir, "uid/volumes/kubernetes.io~empty-dir/v");
  mkdirSync(volume, { recursive: true });
  writeFileSync(join(volume, "message"), "the volume's");
  writeFileSync(join(dir, "0001"), "why");
  t.equal(await terminationMessage(status([join(dir, "0001")]), podsDir), "why");
  t.equal(await terminationMessage(status([join(volume, "message"), join(dir, "0001")]), podsDir), "why");
  t.equal(await terminationMessage(status([join(volume, "message")]), podsDir), "");
  t.equal(await terminationMessage(status([join(root, "secret")]), podsDir), "");
  writeFileSync(join(dir, "0002"), "x".repeat(10_000));
  t.equal((await terminationMessage(status([join(dir, "0002")]), podsDir)).length, 4096);
});

t.test("terminationMessage() waits for no FIFO and follows no link, of the file or the log", async (t) => {
  const { root, podsDir, dir, log, status } = scene(t);
  execFileSync("mkfifo", [join(dir, "fifo"), join(root, "fifo"), log]);
  symlinkSync(join(root, "secret"), join(dir, "link"));
  // More than there are threads to read files with.
  const asked = [join(dir, "fifo"), join(root, "fifo"), join(dir, "link"), join(dir, "absent")].flatMap((hostPath) =>
    Array.from({ length: 3 }, () => terminationMessage(status([hostPath], { logPath: log }), podsDir)),
  );
  t.equal(await readFile(join(root, "secret"), "utf8"), "the host's", "other files can be read meanwhile");
  t.same(new Set(await Promise.all(asked)), new Set([""]));
  rmSync(log);
  symlinkSync(join(root, "secret"), log);
  t.equal(await terminationMessage(status([], { logPath: log }), podsDir), "");
});

t.test("terminationMessage() falls back to the end of the log", async (t) => {
  const { podsDir, log, status } = scene(t);
  writeFileSync(
    log,
    "2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:01Z stderr P tw\n2026-01-01T00:00:01Z stderr F o\n",
  );
  t.equal(await terminationMessage(status([], { logPath: log }), podsDir), "one\ntwo\n");
  t.equal(await terminationMessage(status([], { logPath: log, exitCode: 0 }), podsDir), "");
});

t.test("terminationMessage() never shows the host's file, whoever swaps links in", async (t) => {
  const { root, podsDir, dir, log, status } = scene(t);
  const line = "2026-01-01T00:00:00Z stdout F host\n";
  writeFileSync(join(root, "log"), line.repeat(20));
  writeFileSync(join(dir, "0001"), "own");
  writeFileSync(log, "2026-01-01T00:00:00Z stdout F own\n");
  await startSwapper(t, join(dir, "0001"), join(root, "secret"));
  await startSwapper(t, log, join(root, "log"));
  const seen = new Set<string>();
  for (let round = 0; round < 300; round++) {
    seen.add(await terminationMessage(status([join(dir, "0001")]), podsDir));
    seen.add(await terminationMessage(status([], { logPath: log }), podsDir));
  }
  t.same(
    [...seen].filter((text) => text.includes("host")),
    [],
  );
});
