import t from "tap";
import { uninterrupted } from "../../base/call.ts";
import { run, runChecked } from "./process.ts";

t.test("run() gives output, errors and the code", async (t) => {
  const result = await run("sh", ["-c", "cat; echo oops >&2; exit 3"], { input: "héllo" }, uninterrupted);
  t.same(result, { code: 3, signal: null, stdout: "héllo", stderr: "oops\n" });
});

t.test("run() takes its input as it comes, and ends the program when that breaks", async (t) => {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield Buffer.from("one ");
    yield Buffer.from("two");
  }
  t.match(await run("cat", [], { input: pieces() }, uninterrupted), { code: 0, stdout: "one two" });
  t.match(await run("true", [], { input: pieces() }, uninterrupted), { code: 0 }, "also where nobody reads it");
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield* pieces();
    throw new Error("torn");
  }
  await t.rejects(run("cat", [], { input: broken() }, uninterrupted), /torn/);
});

t.test("run() uses the environment and folder given", async (t) => {
  const result = await run(
    "sh",
    ["-c", "echo $X; pwd"],
    { env: { X: "1", PATH: "/usr/bin:/bin" }, cwd: "/" },
    uninterrupted,
  );
  t.equal(result.stdout, "1\n/\n");
});

t.test("run() tells a signal", async (t) => {
  t.match(await run("sh", ["-c", "kill -TERM $$"], {}, uninterrupted), { code: null, signal: "SIGTERM" });
});

t.test("run() ends a program that takes too long, writes too much, or is told to stop", async (t) => {
  await t.rejects(run("sleep", ["60"], { timeoutMs: 20 }, uninterrupted), { code: "timeout" });
  await t.rejects(run("sh", ["-c", "sleep 60 & wait"], { timeoutMs: 20 }, uninterrupted), { code: "timeout" });
  await t.rejects(run("yes", [], { maxOutputBytes: 1000 }, uninterrupted), { code: "invalid" });
  const stop = new AbortController();
  const running = t.rejects(run("sleep", ["60"], {}, { signal: stop.signal }), { name: "AbortError" });
  stop.abort();
  await running;
  await t.rejects(run("sleep", ["60"], {}, { signal: AbortSignal.abort() }), { name: "AbortError" });
});

t.test("run() does not mind a program that ignores its input", async (t) => {
  t.equal((await run("true", [], { input: "x".repeat(1_000_000) }, uninterrupted)).code, 0);
});

t.test("run() names a program that is not there", async (t) => {
  await t.rejects(run("no-such-program-anywhere", [], {}, uninterrupted), {
    code: "not-found",
    message: /no-such-program-anywhere/,
  });
});

t.test("runChecked() returns the output, or what the program complained of", async (t) => {
  t.equal(await runChecked("echo", ["hi"], {}, uninterrupted), "hi\n");
  await t.rejects(runChecked("sh", ["-c", "echo broken >&2; exit 2"], {}, uninterrupted), {
    code: "internal",
    message: /ended with code 2: broken/,
    details: { code: 2 },
  });
});
