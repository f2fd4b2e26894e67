// Services of one and of two address families, through the API.

import t from "tap";
import { type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";
import { addressRanges } from "./address-range.ts";

const services = "/api/v1/namespaces/default/services";
const merge = { "content-type": "application/merge-patch+json" };
const both = "10.43.0.0/16,fd00:43::/112";
const v4 = /^10\.43\.\d+\.\d+$/;
const v6 = /^fd00:43::[\da-f]+$/;

async function start(t: { teardown(then: () => unknown): void }, serviceCidr: string): Promise<TestApi> {
  const api = await startApi({ serviceCidr });
  t.teardown(() => api.close());
  return api;
}

let count = 0;
async function make(api: TestApi, spec: Json): Promise<Json> {
  const { body } = await api.ask("POST", services, {
    metadata: { name: `s${count++}` },
    spec: { ports: [{ port: 80 }], selector: { app: "a" }, ...spec },
  });
  return body;
}

t.test("a cluster of one family", async (t) => {
  const api = await start(t, "10.43.0.0/16");
  t.match(await make(api, {}), {
    spec: { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"], clusterIPs: [v4] },
  });
  const preferred = await make(api, { ipFamilyPolicy: "PreferDualStack" });
  t.same(preferred.spec.ipFamilies, ["IPv4"], "makes do with one");
  const refused = async (spec: Json) => (await make(api, spec)).message;
  t.match(
    await refused({ ipFamilyPolicy: "RequireDualStack" }),
    /spec\.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services$/,
  );
  t.match(
    await refused({ ipFamilies: ["IPv6"] }),
    /spec\.ipFamilies\[0\]: Invalid value: "IPv6": not configured on this cluster$/,
  );
  t.match(await refused({ ipFamilies: ["IPv5"] }), /spec\.ipFamilies\[0\]: Unsupported value: "IPv5"/);
  t.match(await refused({ ipFamilyPolicy: "Twice" }), /spec\.ipFamilyPolicy: Unsupported value: "Twice"/);
  const headless = await make(api, { clusterIP: "None" });
  t.match(headless.spec, { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4"], clusterIPs: ["None"] });
  const anyones = await make(api, { clusterIP: "None", selector: undefined });
  t.match(anyones.spec, { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv4", "IPv6"], clusterIPs: ["None"] });
});

t.test("a cluster of two families", async (t) => {
  const api = await start(t, both);
  const one = await make(api, {});
  t.same(one.spec.ipFamilies, ["IPv4"], "one unless asked for more");
  t.equal(one.spec.clusterIPs.length, 1);
  const two = await make(api, { ipFamilyPolicy: "PreferDualStack" });
  t.match(two.spec, { clusterIP: v4, clusterIPs: [v4, v6], ipFamilies: ["IPv4", "IPv6"] });
  const turned = await make(api, { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6"] });
  t.match(turned.spec, { clusterIP: v6, clusterIPs: [v6, v4], ipFamilies: ["IPv6", "IPv4"] });
  const six = await make(api, { ipFamilies: ["IPv6"] });
  t.match(six.spec, { ipFamilyPolicy: "SingleStack", clusterIPs: [v6] });
  const chosen = await make(api, { clusterIPs: ["fd00:43::77", "10.43.0.77"] });
  t.match(chosen.spec, {
    ipFamilyPolicy: "RequireDualStack",
    ipFamilies: ["IPv6", "IPv4"],
    clusterIP: "fd00:43::77",
    clusterIPs: ["fd00:43::77", "10.43.0.77"],
  });
  t.match((await make(api, { clusterIP: "fd00:43::77" })).message, /provided IP is already allocated/);
  const otherwise = { clusterIP: "fd00:43:0:0::77" };
  t.match((await make(api, otherwise)).message, /provided IP is already allocated/, "in whatever spelling");
  t.match(
    (await make(api, { ipFamilyPolicy: "SingleStack", ipFamilies: ["IPv4", "IPv6"] })).message,
    /spec\.ipFamilyPolicy: Invalid value: "SingleStack": must be RequireDualStack or PreferDualStack/,
  );
  t.match(
    (await make(api, { clusterIP: "fd00:43::78", ipFamilies: ["IPv4"] })).message,
    /spec\.clusterIPs\[0\]: Invalid value: "fd00:43::78": expected an IPv4 value as indicated by `ipFamilies\[0\]`/,
  );
});

t.test("a service gains and loses its second family, and keeps the first", async (t) => {
  const api = await start(t, both);
  const { metadata, spec } = await make(api, {});
  const patch = async (body: Json) => (await api.ask("PATCH", `${services}/${metadata.name}`, body, merge)).body;
  const grown = await patch({ spec: { ipFamilyPolicy: "PreferDualStack" } });
  t.match(grown.spec, { clusterIP: spec.clusterIP, clusterIPs: [spec.clusterIP, v6], ipFamilies: ["IPv4", "IPv6"] });
  const second = grown.spec.clusterIPs[1];
  const labelled = await patch({ metadata: { labels: { a: "b" } } });
  t.same(labelled.spec, grown.spec, "nothing else changes it");
  const { body: replaced } = await api.ask("PUT", `${services}/${metadata.name}`, {
    metadata: { name: metadata.name, resourceVersion: labelled.metadata.resourceVersion },
    spec: { ports: [{ port: 81 }], selector: { app: "a" } },
  });
  t.same(replaced.spec.clusterIPs, grown.spec.clusterIPs, "nor a replacement that does not name it");
  const shrunk = await patch({ spec: { ipFamilyPolicy: "SingleStack" } });
  t.same(shrunk.spec.clusterIPs, [spec.clusterIP]);
  t.same(shrunk.spec.ipFamilies, ["IPv4"]);
  const taken = await make(api, { clusterIP: second });
  t.equal(taken.spec?.clusterIP, second, "what it gave back may be had by another");
  t.match(
    (await patch({ spec: { ipFamilies: ["IPv6"], clusterIPs: null, clusterIP: null } })).message,
    /may not change once set/,
  );
});

t.test("addressRanges() takes one range of each family at most", async (t) => {
  t.same(
    addressRanges(both).map(({ family }) => family),
    ["IPv4", "IPv6"],
  );
  for (const wrong of ["10.0.0.0/16,10.1.0.0/16", "10.0.0.0/16,fd00::/112,fd01::/112", "10.0.0.0/16,"])
    t.throws(() => addressRanges(wrong), { code: "invalid" }, wrong);
});
