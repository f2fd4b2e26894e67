import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { testPod } from "../../test/harness/pod-room.ts";
import { startSwapper } from "../../test/harness/racer.ts";
import { hookSuite } from "../../test/suites/hook.ts";
import { uninterrupted } from "../kit/base/call.ts";
import { systemClock } from "../kit/base/clock.ts";
import { noLog } from "../kit/base/log.ts";
import type { Pod } from "../kit/kube/objects/types.ts";
import { logLinks } from "./log-links.ts";

async function room(t: Test, raw?: unknown) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-links-"));
  t.teardown(() => rmSync(dir, { recursive: true }));
  const stateDir = join(dir, "state");
  mkdirSync(stateDir);
  const settings = logLinks.configure?.(raw) ?? { dir: undefined };
  const links = join(dir, "logs", "containers");
  return {
    dir,
    links,
    traces: () => (existsSync(links) ? readdirSync(links).sort() : []),
    open: async () =>
      logLinks.open(
        { settings, stateDir, log: noLog, clock: systemClock, all: () => [], onClose: () => {} },
        uninterrupted,
      ),
    container: ({ metadata }: Pod, name: string, count = 0) => {
      const folder = join(dir, "logs", "pods", `${metadata.namespace}_${metadata.name}_${metadata.uid}`, name);
      mkdirSync(folder, { recursive: true });
      const logPath = join(folder, `${count}.log`);
      writeFileSync(logPath, `${name} ${count}`);
      return { name, id: `${metadata.uid}${name}${count}`, logPath };
    },
  };
}

hookSuite(t, "log-links", (t) => room(t));

t.test("log-links: each generation has its own link, for as long as its log is there", async (t) => {
  const { open, container, traces, links } = await room(t);
  const hook = await open();
  const pod = testPod("web", {}, { uid: "u" });
  const first = container(pod, "main", 0);
  await hook.started?.(pod, first, uninterrupted);
  await hook.started?.(pod, container(pod, "main", 1), uninterrupted);
  t.same(traces(), ["web_default_main-umain0.log", "web_default_main-umain1.log"]);
  t.equal(readFileSync(join(links, "web_default_main-umain1.log"), "utf8"), "main 1");
  rmSync(first.logPath);
  await hook.started?.(pod, container(pod, "main", 2), uninterrupted);
  t.same(traces(), ["web_default_main-umain1.log", "web_default_main-umain2.log"]);
});

t.test("log-links: the folder can be set, and a wrong setting is named", async (t) => {
  const base = await room(t);
  const dir = join(base.dir, "elsewhere");
  const { open, container } = await room(t, { dir });
  const pod = testPod("web", {}, { uid: "u" });
  await (await open()).started?.(pod, container(pod, "main"), uninterrupted);
  t.same(readdirSync(dir), ["web_default_main-umain0.log"]);
  t.throws(() => logLinks.configure?.({ folder: "/x" }), { code: "invalid", message: /folder/ });
});

t.test("log-links: links are made and removed in their own directory, whoever swaps it for a link", async (t) => {
  const { dir, open, container, links } = await room(t);
  const hook = await open();
  const pod = testPod("web", {}, { uid: "u" });
  const host = join(dir, "host");
  mkdirSync(host);
  const target = "/n_web_u/main/0.log";
  symlinkSync(target, join(host, "web_default_main-other.log"));
  await hook.started?.(pod, container(pod, "main"), uninterrupted);
  await startSwapper(t, links, host);
  for (let round = 0; round < 200; round++) {
    await hook.started?.(pod, container(pod, "main", round), uninterrupted).catch(() => {});
    await hook.cleanup?.(pod, uninterrupted).catch(() => {});
  }
  t.same(readdirSync(host), ["web_default_main-other.log"]);
});
