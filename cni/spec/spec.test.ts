import t from "tap";
import { Fault } from "../../plugins/kit/base/fault.ts";
import { parseNetworkList } from "./config.ts";
import { CniFault, errorBody } from "./error.ts";
import { parseCniArgs, printCniArgs } from "./plugin.ts";
import { type CniResult, parseResult, printResult } from "./result.ts";
import { hasVerb, supportedVersions } from "./version.ts";

const result: CniResult = {
  interfaces: [{ name: "eth0", mac: "02:00:00:00:00:01", mtu: 1400, sandbox: "/run/netns/x" }],
  ips: [
    { address: "10.1.0.2/24", gateway: "10.1.0.1", interface: 0 },
    { address: "fd01::2/64", interface: 0 },
  ],
  routes: [{ dst: "0.0.0.0/0", gw: "10.1.0.1", mtu: 1300 }],
  dns: { nameservers: ["10.1.0.1"] },
};

t.test("printResult() writes what each version has, and parseResult() reads it back", async (t) => {
  for (const version of supportedVersions) {
    const printed = printResult(result, version);
    t.equal(printed.cniVersion, version);
    const [ip] = printed.ips as { version?: string }[];
    t.equal(ip?.version, version < "1.0.0" ? "4" : undefined, version);
    const read = parseResult(JSON.parse(JSON.stringify(printed)));
    t.same(read.ips, result.ips);
    t.same(read.routes, version === "1.1.0" ? result.routes : [{ dst: "0.0.0.0/0", gw: "10.1.0.1" }]);
    t.equal(read.interfaces[0]?.mtu, version === "1.1.0" ? 1400 : undefined);
  }
});

t.test("parseResult() refuses what is no result", async (t) => {
  for (const bad of [
    null,
    [],
    "x",
    { ips: {} },
    { ips: [{ address: "10.0.0.1" }] },
    { routes: [{ dst: "x" }] },
    { ips: [{ address: "10.0.0.1/8", gateway: "y" }] },
  ])
    t.throws(() => parseResult(bad), { name: "Fault", cniCode: 6 });
});

t.test("parseNetworkList() reads lists and single plugins and refuses the rest", async (t) => {
  const list = parseNetworkList(
    '{"cniVersion":"1.0.0","name":"n","disableCheck":"true","plugins":[{"type":"bridge"},{"type":"portmap"}]}',
  );
  t.match(list, {
    name: "n",
    cniVersion: "1.0.0",
    disableCheck: true,
    plugins: [{ type: "bridge", name: "n", cniVersion: "1.0.0" }, {}],
  });
  t.match(parseNetworkList('{"cniVersion":"0.4.0","name":"n","type":"bridge"}').plugins, [{ type: "bridge" }]);
  t.equal(
    parseNetworkList('{"cniVersion":"1.0.0","cniVersions":["0.4.0","1.1.0","9.0.0"],"name":"n","type":"x"}').cniVersion,
    "1.1.0",
  );
  for (const [text, cniCode] of [
    ["{", 6],
    ["[]", 7],
    ['{"name":"n","plugins":[]}', 7],
    ['{"name":"../n","type":"x"}', 7],
    ['{"name":"n","plugins":[{}]}', 7],
    ['{"name":"n","type":"../../bin/sh"}', 7],
    ['{"cniVersion":"0.1.0","name":"n","type":"x"}', 1],
  ] as const)
    t.throws(() => parseNetworkList(text), { name: "Fault", cniCode }, text);
});

t.test("verbs exist from their version on", async (t) => {
  t.notOk(hasVerb("0.3.1", "CHECK"));
  t.ok(hasVerb("0.4.0", "CHECK"));
  t.notOk(hasVerb("1.0.0", "GC"));
  t.ok(hasVerb("1.1.0", "STATUS"));
});

t.test("errorBody() keeps the code of the specification or finds the nearest", async (t) => {
  t.same(errorBody(new CniFault(3, "x", { details: "d" }), "1.0.0"), {
    cniVersion: "1.0.0",
    code: 3,
    msg: "x",
    details: "d",
  });
  t.equal(errorBody(new Fault("invalid", "x"), "1.0.0").code, 7);
  t.equal(errorBody(new Fault("unavailable", "x"), "1.0.0").code, 11);
  t.equal(errorBody(new Error("x"), "1.0.0").code, 999);
});

t.test("CNI_ARGS survive", async (t) => {
  t.same(parseCniArgs(printCniArgs({ K8S_POD_NAME: "a=b", X: "1" })), { K8S_POD_NAME: "a=b", X: "1" });
  t.same(parseCniArgs(""), {});
});
