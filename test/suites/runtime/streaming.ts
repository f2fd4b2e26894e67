// Sessions: exec, attach and port-forward, byte for byte.

import { createHash } from "node:crypto";
import { PassThrough, Readable, Writable } from "node:stream";
import * as cri from "../../../cri/api/gen/runtime.js";
import type { TerminalSize } from "../../../cri/api/sessions.ts";
import { within } from "../../../plugins/kit/base/call.ts";
import { readAll } from "../../harness/read-all.ts";
import { socketPair } from "../../harness/socket-pair.ts";
import { until } from "../../harness/until.ts";
import type { Test } from "./suite.ts";
import { sleeper, type Workbench } from "./workbench.ts";

function collector() {
  const chunks: Buffer[] = [];
  const stream = new Writable({ write: (chunk: Buffer, _encoding, done) => (chunks.push(chunk), done()) });
  return { stream, bytes: () => Buffer.concat(chunks), text: () => Buffer.concat(chunks).toString() };
}

export function streaming(t: Test, bench: Workbench): void {
  const exec = (
    containerId: string,
    command: string[],
    streams: Parameters<typeof bench.runtime.sessions.exec>[1],
    tty = false,
  ) => bench.runtime.sessions.exec({ containerId, command, tty }, streams, within(60_000));

  t.test("exec carries both outputs and the exit code", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const out = collector();
    const err = collector();
    const script = "echo out; echo err >&2; exit 5";
    const result = await exec(id, ["sh", "-c", script], { stdout: out.stream, stderr: err.stream });
    t.same(result, { exitCode: 5 });
    t.equal(out.text(), "out\n");
    t.equal(err.text(), "err\n");
    t.same(await exec(id, ["true"], {}), { exitCode: 0 }, "without any stream too");
    await bench.removePod(pod.id);
  });

  t.test("exec ends the command's input when the client ends its own", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const out = collector();
    const stdin = Readable.from([Buffer.from("one "), Buffer.from("two")]);
    t.same(await exec(id, ["cat"], { stdin, stdout: out.stream }), { exitCode: 0 });
    t.equal(out.text(), "one two");
    await bench.removePod(pod.id);
  });

  t.test("10 MB pass through a command unharmed", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const data = Buffer.alloc(10 * 1024 * 1024, "abcdefghijklmnopqrstuvwxyz0123456789");
    const out = collector();
    const pieces = Array.from({ length: 160 }, (_, n) => data.subarray(n * 65_536, (n + 1) * 65_536));
    t.same(await exec(id, ["cat"], { stdin: Readable.from(pieces), stdout: out.stream }), { exitCode: 0 });
    const digest = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    t.equal(digest(out.bytes()), digest(data));
    await bench.removePod(pod.id);
  });

  t.test("exec with a terminal has a size, and follows it", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const out = collector();
    const onceSized = "until stty size | grep 33; do sleep 0.02; done";
    const heard = bench.lacks("ownTerminal") ? `${onceSized}; sleep 1` : onceSized;
    const script = bench.lacks("kernel") ? "sleep 0.2; stty size" : heard;
    async function* resizes(): AsyncGenerator<TerminalSize> {
      yield { width: 99, height: 33 };
    }
    t.same(await exec(id, ["sh", "-c", script], { stdout: out.stream, resizes: resizes() }, true), { exitCode: 0 });
    t.match(out.text(), /33 99\r\n/);
    await bench.removePod(pod.id);
  });

  const noTerminal = bench.lacks("kernel") || bench.lacks("ownTerminal");
  t.test("a terminal is the command's own: what it sets, it gets", { skip: noTerminal }, async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const command = ["sh", "-c", "echo first; stty raw; printf 'one\\ntwo\\n'; exit 3"];
    const said = Array.from({ length: 10 }, async () => {
      const out = collector();
      t.same(await exec(id, command, { stdout: out.stream }, true), { exitCode: 3 });
      return out.text();
    });
    for (const text of await Promise.all(said)) t.equal(text, "first\r\none\ntwo\n");
    await bench.removePod(pod.id);
  });

  t.test(
    "a command with a terminal is heard to its last byte, by a slow listener too",
    { skip: noTerminal },
    async (t) => {
      const pod = await bench.pod();
      const id = await bench.started(pod);
      const command = ["sh", "-c", "head -c 200000 /dev/zero | tr '\\0' x; printf end"];
      const slowly = (chunks: Buffer[]) =>
        new Writable({
          highWaterMark: 1024,
          write: (chunk: Buffer, _encoding, done) => (chunks.push(chunk), void setTimeout(done, 5)),
        });
      await Promise.all(
        Array.from({ length: 5 }, async () => {
          const chunks: Buffer[] = [];
          t.same(await exec(id, command, { stdout: slowly(chunks) }, true), { exitCode: 0 });
          const text = Buffer.concat(chunks).toString();
          t.equal(text.length, 200_003);
          t.equal(text.slice(-5), "xxend");
        }),
      );
      await bench.removePod(pod.id);
    },
  );

  t.test(
    "a size that came first is the terminal's from the command's first moment",
    { skip: bench.lacks("kernel") || bench.lacks("sizeAtStart") },
    async (t) => {
      const pod = await bench.pod();
      const id = await bench.started(pod);
      async function* resizes(): AsyncGenerator<TerminalSize> {
        yield { width: 123, height: 45 };
      }
      for (let round = 0; round < 3; round++) {
        const out = collector();
        const asked = exec(id, ["sh", "-c", "stty size"], { stdout: out.stream, resizes: resizes() }, true);
        t.same(await asked, { exitCode: 0 });
        t.equal(out.text().trim(), "45 123");
      }
      await bench.removePod(pod.id);
    },
  );

  t.test("stopping the call ends the command", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod);
    const stop = new AbortController();
    const out = collector();
    const command = ["sh", "-c", "echo begun; exec sleep 876"];
    const session = bench.runtime.sessions.exec({ containerId: id, command, tty: false }, { stdout: out.stream }, stop);
    const rejected = t.rejects(session, { code: "timeout" });
    await until("the command", () => out.text().includes("begun"));
    stop.abort();
    await rejected;
    t.match(await bench.status(id), { state: cri.ContainerState.CONTAINER_RUNNING });
    await bench.removePod(pod.id);
  });

  t.test("exec in what is not there, or does not run, is refused", async (t) => {
    const pod = await bench.pod();
    const { id } = await bench.ran(pod, "exit 0");
    const { stream: stdout } = collector();
    await t.rejects(exec(id, ["true"], { stdout }));
    await t.rejects(exec("d".repeat(64), ["true"], { stdout }), bench.notFound());
    await bench.removePod(pod.id);
  });

  t.test("attach types into a container and sees what it says", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { command: ["cat"], stdin: true, stdinOnce: true });
    const out = collector();
    const stdin = new PassThrough();
    const session = { containerId: id, tty: false };
    const attached = bench.runtime.sessions.attach(session, { stdin, stdout: out.stream }, within(60_000));
    stdin.write("typed\n");
    await until("the echo", () => out.text() === "typed\n");
    stdin.end();
    t.match(await bench.exited(id), { exitCode: 0 }, "the end of its only input ends cat");
    await attached;
    t.same(
      (await bench.log(id)).map(({ text }) => text),
      ["typed"],
      "the log has it too",
    );
    await bench.removePod(pod.id);
  });

  t.test("attach ends with what the client types where the container's input stays open", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { command: ["cat"], stdin: true });
    for (const word of ["first", "second"]) {
      const out = collector();
      const stdin = new PassThrough();
      const session = { containerId: id, tty: false };
      const attached = bench.runtime.sessions.attach(session, { stdin, stdout: out.stream }, within(60_000));
      stdin.write(`${word}\n`);
      await until("the echo", () => out.text() === `${word}\n`);
      stdin.end();
      await attached;
      t.match(await bench.status(id), { state: cri.ContainerState.CONTAINER_RUNNING }, `after ${word}`);
    }
    await bench.removePod(pod.id);
  });

  t.test("attach sees the output of a container without a log path too", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { command: ["cat"], stdin: true, stdinOnce: true, logPath: "" });
    const out = collector();
    const stdin = new PassThrough();
    const attached = bench.runtime.sessions.attach(
      { containerId: id, tty: false },
      { stdin, stdout: out.stream },
      within(60_000),
    );
    stdin.write("unlogged\n");
    await until("the echo", () => out.text() === "unlogged\n");
    stdin.end();
    t.match(await bench.exited(id), { exitCode: 0 });
    await attached;
    await bench.removePod(pod.id);
  });

  t.test("detaching leaves the container running", async (t) => {
    const pod = await bench.pod();
    const id = await bench.started(pod, { command: sleeper });
    const stop = new AbortController();
    const attached = bench.runtime.sessions.attach(
      { containerId: id, tty: false },
      { stdout: collector().stream },
      stop,
    );
    const rejected = t.rejects(attached, { code: "timeout" });
    stop.abort();
    await rejected;
    t.match(await bench.status(id), { state: cri.ContainerState.CONTAINER_RUNNING });
    await bench.removePod(pod.id);
  });

  t.test("port-forward reaches a port inside the sandbox, several times at once", async (t) => {
    const { command, port } = bench.setup.echoServer;
    const pod = await bench.pod();
    await bench.started(pod, { command: [...command] });
    const once = async (text: string) => {
      const [near, far] = await socketPair(t);
      const forwarded = bench.runtime.sessions.portForward(pod.id, port, far, within(30_000));
      const answer = readAll(near);
      near.end(text);
      await forwarded;
      return answer;
    };
    await until("the server to listen", () => once("knock").then((text) => text === "knock"));
    t.same(await Promise.all([once("a"), once("b"), once("c")]), ["a", "b", "c"]);
    const [, far] = await socketPair(t);
    await t.rejects(bench.runtime.sessions.portForward(pod.id, 9, far, within(30_000)), /refused/);
    await bench.removePod(pod.id);
  });
}
