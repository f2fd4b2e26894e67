// The README as a new user follows it, in a clean Debian system that has only Node and npm: whatever it shows must be installed by the
// set-up itself, not by somebody before.
// alone

import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { cleanRoot, withoutCleanRoot } from "../harness/clean-root.ts";
import { codeBlocks } from "../harness/code-blocks.ts";
import { withoutNative } from "../harness/native.ts";

const readme = readFileSync(join(import.meta.dirname, "../../README.md"), "utf8");

t.test(
  "the README's commands and the demo run where only Node and npm are installed",
  { skip: withoutNative() || withoutCleanRoot(), timeout: 900_000 },
  async (t) => {
    const system = await cleanRoot();
    t.teardown(() => system.remove());
    await t.rejects(system.run("command -v busybox || command -v runc || command -v nft"), "nothing is there yet");
    const [block] = codeBlocks(readme);
    const [start = "", ...rest] = (block?.text ?? "").trim().split("\n");
    t.match(start, /^npm start\b/);
    t.match(readme, /\.\/skiff demo\b/);
    // The set-up and the cluster are one command for a user. Here the one needs this machine's network, and the other its own.
    const said = await system.run("./skiff setup run", { online: true });
    t.match(said, /installing npm packages/);
    await system.run("./skiff demo", { online: true }).then(
      () => t.fail("there is no cluster yet"),
      (error: Error) => t.match(error.message, /installing busybox-static/),
    );

    const cluster = system.start(`exec ${start}`);
    t.teardown(() => cluster.kill("SIGKILL"));
    let shown = "";
    const ended = new Promise<void>((resolve) => cluster.once("exit", () => resolve()));
    await new Promise<void>((resolve, reject) => {
      cluster.stdout?.setEncoding("utf8").on("data", (text: string) => {
        shown += text;
        if (/^ready\b/m.test(shown)) resolve();
      });
      cluster.once("exit", () => reject(new Error(`it ended before it was ready:\n${shown}`)));
    });
    for (const line of rest) t.match(await system.run(line), /Ready/, line);
    t.match(await system.run("./skiff demo"), /^service +http:\/\/web\.\S+ answered from \d pods/m);
    t.match(await system.run("./skiff demo remove"), /are gone/);
    await system.run(
      "for p in /proc/[0-9]*; do if tr '\\0' ' ' < $p/cmdline 2>/dev/null | grep -q 'skiff[.]js up'; then kill -TERM ${p#/proc/}; fi; done",
    );
    await ended;
    await system.run("./skiff uninstall --yes");
  },
);
