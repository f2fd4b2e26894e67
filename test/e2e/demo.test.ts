// `skiff demo` as a newcomer runs it: every line says something, and nothing of it stays.

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import t from "tap";
import { withoutNative } from "../harness/native.ts";
import { startSkiff } from "../harness/skiff.ts";
import { until } from "../harness/until.ts";

const root = join(import.meta.dirname, "../..");

/** What is used of node-pty here: its own declarations are no module. */
interface PtyModule {
  spawn(
    program: string,
    args: readonly string[],
    options: { cols: number; rows: number; cwd: string },
  ): {
    onData(then: (text: string) => void): void;
    onExit(then: (end: { exitCode: number }) => void): void;
    write(text: string): void;
  };
}

/** Runs it in a terminal, and answers when it asks. */
async function inTerminal(
  program: string,
  args: readonly string[],
  { asks, answer }: { asks: string; answer: string },
): Promise<{ code: number; seen: string }> {
  // @ts-expect-error The package declares its types under the name it was published with, not under ours.
  const { spawn } = (await import("node-pty")) as PtyModule;
  const pty = spawn(program, args, { cols: 200, rows: 40, cwd: root });
  let seen = "";
  let hasAnswered = false;
  pty.onData((text) => {
    seen += text;
    if (hasAnswered || !seen.includes(asks)) return;
    hasAnswered = true;
    pty.write(answer);
  });
  return new Promise((resolve) => pty.onExit(({ exitCode }) => resolve({ code: exitCode, seen })));
}

t.test(
  "skiff demo shows a cluster at work, and takes it down again",
  { skip: withoutNative(), timeout: 120_000 },
  async (t) => {
    const skiff = await startSkiff({ flags: ["--runtime=native"] });
    t.teardown(async () => {
      await skiff.stop();
      skiff.remove();
    });
    const demo = async (...words: string[]) => {
      const args = ["demo", ...words, `--data-dir=${skiff.dataDir}`];
      return (await promisify(execFile)(join(root, "skiff"), args, { cwd: root, timeout: 100_000 })).stdout;
    };
    const shown = await demo();
    t.match(shown, /^image +skiff\.local\/demo:1/m);
    t.match(shown, /^pods +web-\S+, web-\S+, web-\S+: ready$/m);
    t.match(
      shown,
      /^service +http:\/\/web\.skiff-demo\.svc\.cluster\.local answered from [123] pods: hello from web-/m,
    );
    t.match(shown, /^logs +serving on 8080$/m);
    t.match(shown, /^exec +hostname says web-/m);
    t.match(shown, /^stats +\d pods use /m);
    const answered = new Set<string>();
    await until("every pod to answer through the service's proxy", async () => {
      answered.add(await skiff.kubectl("get", "--raw", "/api/v1/namespaces/skiff-demo/services/web/proxy/"));
      return answered.size === 3;
    });
    t.ok(
      [...answered].every((text) => /^hello from web-\S+$/.test(text.trim())),
      "the API server's proxy spreads over the endpoints",
    );
    t.match(await demo("remove"), /gone/);
    t.equal((await skiff.kubectl("get", "pods", "-A", "-o", "name")).trim(), "");
    await t.rejects(demo("dance"), /skiff demo knows start and remove/);

    // In a terminal it asks, and waits for the answer.
    const { code, seen } = await inTerminal(join(root, "skiff"), ["demo", `--data-dir=${skiff.dataDir}`], {
      asks: "Take it down again? [Y/n]",
      answer: "y\r",
    });
    t.equal(code, 0, seen);
    t.match(seen, /pods +web-.*Take it down again\? \[Y\/n\].*gone/s);
    t.equal((await skiff.kubectl("get", "pods", "-A", "-o", "name")).trim(), "");
  },
);
