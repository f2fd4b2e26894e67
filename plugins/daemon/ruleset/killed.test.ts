// SIGKILL in the middle of ruleset transactions: what is left is one whole version, a restart makes the rules exactly those of the
// state, and what others wrote stands as it stood.

import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import t from "tap";
import { openKernel } from "../../../cni/net/kernel.ts";
import { RulesetWriter } from "../../../test/fixtures/ruleset-writer.ts";
import { noNetworkReason, playHost } from "../../../test/harness/network.ts";
import { uninterrupted as call } from "../../kit/base/call.ts";
import { isFault } from "../../kit/base/fault.ts";
import { selfCommand } from "../../kit/os/platform/runtime.ts";
import { policyTable } from "../network-policy/base.ts";
import { serviceTable } from "../service-proxy/base.ts";

t.setTimeout(600_000);

const script = fileURLToPath(new URL("../../../test/fixtures/ruleset-writer.ts", import.meta.url));

/** Runs the writer and kills it a random moment after it began its nth transaction. */
async function killWriter(transactions: number): Promise<void> {
  const [command, ...args] = selfCommand(script, ["victim"]);
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  let lines = 0;
  child.stdout.on("data", (chunk: Buffer) => {
    const before = lines;
    lines += chunk.toString().split("\n").length - 1;
    if (before < transactions && lines >= transactions) {
      const end = performance.now() + randomInt(0, 30);
      const kill = () => (performance.now() < end ? setImmediate(kill) : child.kill("SIGKILL"));
      kill();
    }
  });
  await ended;
}

t.test("a ruleset writer that is killed leaves whole versions", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  /** Everything of a table but its name and the numbers that the kernel gives, in an order of its own. */
  const contents = async (table: string) => {
    try {
      const listed = await kernel.nft.list(`list table ${table}`, call);
      const plain = JSON.stringify(listed.filter((entry) => !("table" in entry)))
        .replace(/"handle":\d+/g, '"handle":0')
        .replaceAll(`"${table.split(" ")[1]}"`, '"T"');
      const sorted = (value: unknown): unknown => {
        if (Array.isArray(value))
          return value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
        if (typeof value !== "object" || value === null) return value;
        return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, sorted(inner)]));
      };
      return JSON.stringify(sorted(JSON.parse(plain)));
    } catch (error) {
      if (isFault(error, "not-found")) return "";
      throw error;
    }
  };
  await kernel.nft.run(
    [
      "add table inet theirs",
      "add set inet theirs allowed { type ipv4_addr; elements = { 192.0.2.1, 192.0.2.2 } }",
      "add chain inet theirs in { type filter hook input priority 0; policy accept; }",
      'add rule inet theirs in ip saddr @allowed counter accept comment "mine"',
    ].join("\n"),
    call,
  );
  const theirs = await contents("inet theirs");
  const tables = { services: serviceTable("victim"), policies: policyTable("victim") };
  const versionsIn = (text: string, pattern: RegExp) =>
    new Set([...text.matchAll(pattern)].map(([, version]) => version));
  let torn = 0;
  let found = 0;
  for (let round = 0; round < 8; round++) {
    await killWriter(randomInt(1, 12));
    const left = { services: await contents(tables.services), policies: await contents(tables.policies) };
    for (const [text, pattern] of [
      [left.services, /"10\.10\d\.(\d+)\.\d+"/g],
      [left.policies, /"10\.42\.(\d+)\.\d+"/g],
    ] as const) {
      const versions = versionsIn(text, pattern);
      found += versions.size;
      if (versions.size > 1) torn++;
    }
    // Started again with another state, the tables are what a first start would have made.
    const version = randomInt(1, 200);
    const [again, reference] = ["victim", "reference"].map((instance) => new RulesetWriter(kernel.nft, instance));
    for (const writer of [again, reference]) {
      await writer?.writeServices(version);
      await writer?.writePolicies(version);
    }
    t.equal(await contents(tables.services), await contents(serviceTable("reference")), `services, round ${round}`);
    t.equal(await contents(tables.policies), await contents(policyTable("reference")), `policies, round ${round}`);
    await reference?.remove();
    if (round % 3 === 2) await again?.remove();
  }
  t.equal(torn, 0, "no transaction was half done");
  t.ok(found > 0, "some were done");
  t.equal(await contents("inet theirs"), theirs, "others' rules are as they were");
  await new RulesetWriter(kernel.nft, "victim").remove();
  const names = (await kernel.nft.list("list tables", call)).map((entry) => (entry.table as { name: string }).name);
  t.same(names, ["theirs"], "and nothing of ours is left");
});
