import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import t from "tap";
import { noNetworkReason, playHost } from "../../../../test/harness/network.ts";
import { selfCommand } from "../platform/runtime.ts";
import { claimName, claimNetworks, otherClaim } from "./claim.ts";
import { libc } from "./libc.ts";

const script = fileURLToPath(new URL("../../../../test/fixtures/claim-networks.ts", import.meta.url));

t.setTimeout(300_000);

t.test("claimNetworks() refuses what overlaps, as long as the other lives", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const [command, ...args] = selfCommand(script, ["10.42.0.0/16", "fd42::/48", "10.43.0.10/32"]);
  const other = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => other.once("close", resolve));
  t.teardown(async () => {
    other.kill("SIGKILL");
    await ended;
  });
  await new Promise((resolve) => other.stdout.once("data", resolve));
  for (const prefix of ["10.42.0.0/16", "10.42.7.0/24", "10.0.0.0/8", "fd42::5/128", "10.43.0.10/32"]) {
    t.throws(() => claimNetworks(["192.0.2.0/24", prefix]), {
      code: "already-exists",
      message: new RegExp(`another agent on this host \\(process ${other.pid}\\) uses .*--cluster-cidr`),
    });
    t.equal(otherClaim(prefix)?.pid, other.pid);
  }
  const beside = claimNetworks(["192.0.2.0/24", "10.43.0.11/32", "fd43::/48"]);
  t.equal(otherClaim("192.0.2.1/32"), undefined, "one's own claim is in nobody's way");
  t.throws(() => claimNetworks(["192.0.2.0/24"]), { code: "already-exists" }, "but is not given twice");
  beside.release();
  beside.release();
  claimNetworks(["192.0.2.0/24"]).release();
  other.kill("SIGKILL");
  await ended;
  claimNetworks(["10.42.0.0/16", "fd42::/48", "10.43.0.10/32"]).release();
});

t.test("claimName() gives a name to one at a time", { skip: noNetworkReason() }, async (t) => {
  const name = `skiff-claim-test ${process.pid}`;
  const fd = claimName(name);
  t.type(fd, "number");
  t.equal(claimName(name), undefined);
  if (fd !== undefined) libc().close(fd);
});
