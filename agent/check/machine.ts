// Findings about the box as a whole: its clock, its way out, swap, and the programs that containers are run with.

import { type CheckFacts, type DaemonFact, type Finding, fail, ok, readFact, warn } from "./finding.ts";

export async function machineFindings(facts: CheckFacts): Promise<Finding[]> {
  return [clock(facts), defaultRoute(facts), swap(facts), ...(await runtime(facts))];
}

const dayMs = 24 * 60 * 60 * 1000;

function clock(facts: CheckFacts): Finding {
  const today = new Date(facts.now()).toISOString().slice(0, 10);
  if (facts.now() >= facts.madeAt - dayMs) return ok("clock", `the clock says ${today}`);
  const made = new Date(facts.madeAt).toISOString().slice(0, 10);
  const message = `the clock says ${today}, and this program was made on ${made}: certificates of servers and registries are refused`;
  return fail("clock", message, "timedatectl set-ntp true, or set it by hand: date -s 'YYYY-MM-DD hh:mm'");
}

function defaultRoute(facts: CheckFacts): Finding {
  const v4 = readFact(facts, "proc/net/route")
    .split("\n")
    .map((line) => line.split(/\s+/))
    .find((fields) => fields[1] === "00000000" && fields[7] === "00000000");
  const v6 = /^0{32} 00 .* (?!lo$)\S+$/m.test(readFact(facts, "proc/net/ipv6_route"));
  if (v4) return ok("default-route", `the default route leaves by ${v4[0]}`);
  if (v6) return ok("default-route", "there is a default route (IPv6)");
  const message = "there is no default route: images cannot be pulled, and the node's address is a guess";
  return warn(
    "default-route",
    message,
    "connect the network, or set node-ip in the config and bring images as archives",
  );
}

function swap(facts: CheckFacts): Finding {
  const devices = readFact(facts, "proc/swaps").trim().split("\n").slice(1);
  const onDisk = devices.map((line) => line.split(/\s+/)[0] ?? "").filter((path) => path && !path.includes("zram"));
  if (onDisk.length === 0) return ok("swap", devices.length > 0 ? "swap is in memory only (zram)" : "there is no swap");
  const message = `swap is on (${onDisk.join(", ")}): under memory pressure the box gets slow before a pod is evicted`;
  return warn(
    "swap",
    message,
    "swapoff -a, and remove it from /etc/fstab (on a Pi: systemctl disable --now dphys-swapfile)",
  );
}

const needed = [
  { program: "runc", least: [1, 1], why: "starts containers" },
  { program: "conmon", least: [2, 0], why: "keeps containers running while Skiff restarts" },
] as const;

/** The daemon's own version, or those of the programs that stand in its place. */
async function runtime(facts: CheckFacts): Promise<Finding[]> {
  return facts.daemon ? [daemon(await facts.daemon())] : programs(facts);
}

function daemon(fact: DaemonFact): Finding {
  const { name } = fact;
  const other = "or run containers without a daemon: runtime: native in the config";
  if ("problem" in fact) return fail("runtime", `${name} does not answer: ${fact.problem}`, `start it, ${other}`);
  const { version, least } = fact;
  if (!isOlder(version, least)) return ok("runtime", `${name} ${version}`);
  return fail("runtime", `${name} ${version} is too old: ${least.join(".")} is the least`, `upgrade it, ${other}`);
}

function isOlder(version: string, [leastMajor, leastMinor]: readonly [number, number]): boolean {
  const [, major = "0", minor = "0"] = /(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) < leastMajor || (Number(major) === leastMajor && Number(minor) < leastMinor);
}

async function programs(facts: CheckFacts): Promise<Finding[]> {
  return Promise.all(
    needed.map(async ({ program, least, why }) => {
      const said = await facts.version(program);
      const fix = `apt-get update && apt-get install ${program}`;
      if (said === undefined) return fail(program, `${program} is missing: it ${why}`, fix);
      const [text = ""] = /\d+\.\d+[\w.+~-]*/.exec(said) ?? [];
      if (isOlder(said, least))
        return fail(
          program,
          `${program} ${text || "of unknown version"} is too old: ${least.join(".")} is the least`,
          fix,
        );
      return ok(program, `${program} ${text}`);
    }),
  );
}
