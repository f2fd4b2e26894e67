import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { CniFault } from "../spec/error.ts";
import type { NetworkPlugin, PluginArgs } from "../spec/plugin.ts";
import { supportedVersions } from "../spec/version.ts";
import { runProgram } from "./run-program.ts";

function recorder(): { plugin: NetworkPlugin; calls: string[]; seen: PluginArgs[] } {
  const calls: string[] = [];
  const seen: PluginArgs[] = [];
  const note = (verb: string) => async (args: PluginArgs) => {
    calls.push(verb);
    seen.push(args);
    if (args.args.FAIL) throw new CniFault(Number(args.args.FAIL), "as asked", { details: "why" });
    return { interfaces: [], ips: [{ address: "10.0.0.2/24" }], routes: [], dns: {} };
  };
  const plugin: NetworkPlugin = {
    type: "test",
    add: note("ADD"),
    check: async (args) => void (await note("CHECK")(args)),
    del: async (args) => void (await note("DEL")(args)),
    status: async () => void calls.push("STATUS"),
    gc: async () => void calls.push("GC"),
  };
  return { plugin, calls, seen };
}

const whole = {
  CNI_CONTAINERID: "c1",
  CNI_NETNS: "/run/netns/x",
  CNI_IFNAME: "eth0",
  CNI_PATH: "/a:/b",
  CNI_ARGS: "K8S_POD_NAME=p",
};
const config = (cniVersion: string, extra = {}) => JSON.stringify({ cniVersion, name: "net", type: "test", ...extra });

async function program(verb: string, environment: Record<string, string>, stdin: string) {
  const { plugin, calls, seen } = recorder();
  const output = await runProgram(plugin, { environment: { CNI_COMMAND: verb, ...environment }, stdin }, uninterrupted);
  return {
    ...output,
    body: output.stdout ? (JSON.parse(output.stdout) as Record<string, unknown>) : undefined,
    calls,
    seen,
  };
}

t.test("every verb of every version is run or refused as the specification says", async (t) => {
  for (const version of supportedVersions) {
    const added = await program("ADD", whole, config(version));
    t.match(added, { exitCode: 0, calls: ["ADD"], body: { cniVersion: version } }, version);
    t.match(added.seen[0], {
      containerId: "c1",
      netns: "/run/netns/x",
      ifName: "eth0",
      path: ["/a", "/b"],
      args: { K8S_POD_NAME: "p" },
    });
    t.match(await program("DEL", { ...whole, CNI_NETNS: "" }, config(version)), {
      exitCode: 0,
      stdout: "",
      calls: ["DEL"],
    });
    const checked = await program(
      "CHECK",
      whole,
      config(version, { prevResult: { ips: [{ address: "10.0.0.2/24" }] } }),
    );
    if (version < "0.4.0") t.match(checked, { exitCode: 1, body: { code: 1 } });
    else t.match(checked, { exitCode: 0, seen: [{ previous: { ips: [{ address: "10.0.0.2/24" }] } }] });
    for (const verb of ["GC", "STATUS"]) {
      const asked = await program(verb, { CNI_PATH: "/a" }, config(version));
      if (version === "1.1.0") t.match(asked, { exitCode: 0, calls: [verb] });
      else t.match(asked, { exitCode: 1, body: { code: 1 }, calls: [] });
    }
    t.match(await program("VERSION", {}, config(version)), {
      exitCode: 0,
      body: { cniVersion: version, supportedVersions },
    });
  }
});

t.test("each wrong input gets its code", async (t) => {
  const rows: [string, string, Record<string, string>, string, number][] = [
    ["verb", "NONE", whole, config("1.0.0"), 4],
    ["no container id", "ADD", { ...whole, CNI_CONTAINERID: "" }, config("1.0.0"), 4],
    ["bad container id", "ADD", { ...whole, CNI_CONTAINERID: "../x" }, config("1.0.0"), 4],
    ["no netns", "ADD", { ...whole, CNI_NETNS: "" }, config("1.0.0"), 4],
    ["bad ifname", "ADD", { ...whole, CNI_IFNAME: "eth0/../../x" }, config("1.0.0"), 4],
    ["long ifname", "ADD", { ...whole, CNI_IFNAME: "e".repeat(16) }, config("1.0.0"), 4],
    ["no path", "GC", {}, config("1.1.0"), 4],
    ["no json", "ADD", whole, "{", 6],
    ["version", "ADD", whole, config("7.0.0"), 1],
    ["bad name", "ADD", whole, JSON.stringify({ cniVersion: "1.0.0", name: "a/b", type: "x" }), 7],
    ["bad prevResult", "CHECK", whole, config("1.0.0", { prevResult: { ips: [{ address: "x" }] } }), 6],
    ["plugin error", "ADD", { ...whole, CNI_ARGS: "FAIL=11" }, config("1.0.0"), 11],
    ["plugin error on DEL", "DEL", { ...whole, CNI_ARGS: "FAIL=5" }, config("1.0.0"), 5],
  ];
  for (const [name, verb, environment, stdin, code] of rows)
    t.match(await program(verb, environment, stdin), { exitCode: 1, body: { code, msg: String } }, name);
});
