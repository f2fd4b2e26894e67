import { mkdtempSync, rmSync, statSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { until } from "../../test/harness/until.ts";
import { handOver } from "./hand-over.ts";
import { serveHandOver } from "./serve-hand-over.ts";

const input = { environment: { CNI_COMMAND: "ADD" }, stdin: "{}" };

t.test("handOver() is done by whoever listens, and by nobody otherwise", async (t) => {
  const dir = mkdtempSync(join(tmpdir(), "skiff-hand-over-"));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const path = join(dir, "agent.sock");
  t.equal(await handOver(undefined, "bridge", input), undefined);
  t.equal(await handOver(path, "bridge", input), undefined, "nobody there");
  const stop = new AbortController();
  const serving = serveHandOver(
    path,
    async (type, { environment }) => {
      if (type === "unknown") throw new Error("not ours");
      return { stdout: `${environment.CNI_COMMAND} ${type}`, exitCode: 0 };
    },
    { signal: stop.signal },
  );
  await until("the socket", () => (statSync(path).mode & 0o777) === 0o600);
  t.same(await handOver(path, "bridge", input), { stdout: "ADD bridge", exitCode: 0 });
  t.match(await handOver(path, "unknown", input), { exitCode: 1 }, "taken, but not done");
  await new Promise<void>((resolve) => {
    const socket = net.connect(path, () => socket.write("nonsense\n"));
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
  t.same(await handOver(path, "bridge", input), { stdout: "ADD bridge", exitCode: 0 }, "nonsense does no harm");
  stop.abort();
  await serving;
  t.equal(await handOver(path, "bridge", input), undefined, "gone again");
});
