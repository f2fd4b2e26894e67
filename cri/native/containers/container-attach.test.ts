import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import t from "tap";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { processesNaming } from "../../../test/harness/left-behind.ts";
import { startNative, type TestNative, withoutNative } from "../../../test/harness/native.ts";
import { until } from "../../../test/harness/until.ts";
import * as cri from "../../api/gen/runtime.js";
import { parseLogLine } from "./log-tail.ts";

t.test("parseLogLine() gives back the bytes that were written", async (t) => {
  const parse = (line: string) => {
    const piece = parseLogLine(Buffer.from(line));
    return piece && [piece.stream, piece.bytes.toString()];
  };
  t.same(parse("2026-01-01T00:00:00Z stdout F a b "), ["stdout", "a b \n"]);
  t.same(parse("2026-01-01T00:00:00Z stderr P part"), ["stderr", "part"]);
  t.same(parse("2026-01-01T00:00:00Z stdout F "), ["stdout", "\n"]);
  t.same(parse("2026-01-01T00:00:00Z stdout F"), ["stdout", "\n"]);
  t.equal(parse("nonsense"), undefined);
});

/** A shell with an input, in a pod of its own. */
async function startShell(native: TestNative, tty: boolean): Promise<string> {
  const { runtime } = native.current();
  const config = cri.PodSandboxConfig.create({
    metadata: { name: "sh", uid: "sh", namespace: "test", attempt: 0 },
    logDirectory: join(native.dir, "logs"),
    linux: {},
  });
  const { podSandboxId } = await runtime.runPodSandbox(cri.RunPodSandboxRequest.create({ config }), call);
  const create = cri.CreateContainerRequest.create({
    podSandboxId,
    sandboxConfig: config,
    config: {
      metadata: { name: "sh", attempt: 0 },
      image: { image: "skiff.test/busybox:1" },
      command: ["sh"],
      tty,
      stdin: true,
      logPath: "sh.log",
      linux: {},
    },
  });
  const { containerId } = await runtime.createContainer(create, call);
  await runtime.startContainer({ containerId }, call);
  return containerId;
}

t.test(
  "attach to a terminal carries keys, output without a line's end, and sizes",
  { skip: withoutNative() },
  async (t) => {
    const native = await startNative(t);
    const { runtime, sessions } = native.current();
    const containerId = await startShell(native, true);
    const stdin = new PassThrough();
    const stdout = new PassThrough();
    let said = "";
    stdout.on("data", (chunk) => {
      said += chunk;
    });
    const resizes = (async function* () {
      yield { width: 101, height: 33 };
    })();
    const session = sessions.attach({ containerId, tty: true }, { stdin, stdout, resizes }, call);
    await until("the size to be set", () => {
      stdin.write("stty size\n");
      return said.includes("33 101");
    });
    stdin.write("printf 'no %s' end\n");
    await until("a line without an end", () => said.includes("no end"));
    stdin.write("exit 4\n");
    await session;
    const { status } = await runtime.containerStatus({ containerId, verbose: false }, call);
    t.equal(status?.exitCode, 4);
    t.notOk(stdin.destroyed, "the client's stream is its own");
  },
);

t.test("attach ends as it should when conmon is gone while the client types", { skip: withoutNative() }, async (t) => {
  const native = await startNative(t);
  const containerId = await startShell(native, false);
  const stdin = new PassThrough();
  const stdout = new PassThrough();
  let said = "";
  stdout.on("data", (chunk) => {
    said += chunk;
  });
  const session = native.current().sessions.attach({ containerId, tty: false }, { stdin, stdout }, call);
  stdin.write("echo begun\n");
  await until("the shell", () => said.includes("begun"));
  const comm = (pid: number) => readFileSync(`/proc/${pid}/comm`, "utf8");
  const [conmon = 0] = processesNaming(containerId).filter((pid) => comm(pid) === "conmon\n");
  process.kill(conmon, "SIGKILL");
  // In one stretch, so that nothing here hears of its end before the client types.
  while (isAlive(conmon));
  stdin.write("echo nobody\n");
  stdin.end();
  await session;
  t.notMatch(said, "nobody");
});

/** What has ended but is not buried yet is not. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
