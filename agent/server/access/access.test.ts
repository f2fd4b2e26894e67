// Reviews are asked of the API server once and kept for a while; what could not be asked is not kept.

import t from "tap";
import { uninterrupted } from "../../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { Fault } from "../../../plugins/kit/base/fault.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { Access } from "./access.ts";
import { attributesOf } from "./attributes.ts";
import { CachedAnswers } from "./cached-answers.ts";

interface Spec {
  readonly token?: string;
  readonly user?: string;
  readonly resourceAttributes?: { readonly verb: string; readonly subresource: string; readonly name: string };
}

function setUp() {
  const clock = new FakeClock();
  const asked: string[] = [];
  const state = { isDown: false, isAllowed: true };
  const client = {
    async create(ref: unknown, { spec }: { spec: Spec }) {
      if (state.isDown) throw new Fault("unavailable", "no answer");
      if (ref === resources.tokenreviews) {
        asked.push("who");
        const isKnown = spec.token === "good";
        return { status: isKnown ? { authenticated: true, user: { username: "robot", groups: ["robots"] } } : {} };
      }
      const { verb, subresource, name } = spec.resourceAttributes ?? { verb: "", subresource: "", name: "" };
      asked.push(`${spec.user} ${verb} ${name}/${subresource}`);
      return { status: { allowed: state.isAllowed, reason: "rules" } };
    },
  } as unknown as ApiClient;
  const access = new Access({ nodeName: "node", client, clock });
  const admit = (path: string, token = "good") => {
    const headers = new Headers({ authorization: `Bearer ${token}` });
    return access.admit({ method: "GET", path, headers, peer: { address: "" } }, uninterrupted);
  };
  return { clock, asked, state, access, admit };
}

t.test("Access asks once for who and whether, and again when the answers are old", async (t) => {
  const { clock, asked, admit } = setUp();
  t.match(await admit("/stats/summary"), { name: "robot", groups: ["robots"] });
  await admit("/stats/");
  t.same(asked, ["who", "robot get node/stats"]);
  await admit("/pods");
  t.same(asked.slice(2), ["robot get node/proxy"], "another subresource is another question");
  await clock.advance(2 * 60_000);
  await admit("/pods");
  t.same(asked.slice(3), ["who"], "who it is, is asked after two minutes");
  await clock.advance(3 * 60_000);
  await admit("/pods");
  t.same(asked.slice(4), ["who", "robot get node/proxy"], "whether they may, after five");
});

t.test("Access keeps a no for half a minute, so that a new role counts soon", async (t) => {
  const { clock, asked, state, admit } = setUp();
  state.isAllowed = false;
  await t.rejects(admit("/pods"), {
    code: "forbidden",
    message: /verb=get, resource=nodes, subresource=proxy\): rules/,
  });
  state.isAllowed = true;
  await t.rejects(admit("/pods"), { code: "forbidden" });
  t.equal(asked.length, 2);
  await clock.advance(30_000);
  t.match(await admit("/pods"), { name: "robot" });
  await t.rejects(admit("/pods", "bad"), { code: "unauthorized" });
  await t.rejects(admit("/pods", "bad"), { code: "unauthorized" });
  t.equal(asked.filter((what) => what === "who").length, 2, "a bad token is not asked about again and again");
});

t.test("Access lets nobody in while nobody can be asked, and asks again at once", async (t) => {
  const { state, admit } = setUp();
  state.isDown = true;
  await t.rejects(admit("/pods"), { code: "unavailable" });
  state.isDown = false;
  t.match(await admit("/pods"), { name: "robot" });
});

t.test("CachedAnswers shares a question that is under way, and forgets the oldest", async (t) => {
  const answers = new CachedAnswers<number>(new FakeClock(), 2);
  let count = 0;
  const ask = async () => ++count;
  const keep = () => 1000;
  t.same(await Promise.all([answers.get("a", ask, keep), answers.get("a", ask, keep)]), [1, 1]);
  await answers.get("b", ask, keep);
  await answers.get("c", ask, keep);
  t.equal(await answers.get("a", ask, keep), 4, "it was the oldest of three");
});

t.test("attributesOf() names the subresource of each path", async (t) => {
  const rows: Record<string, string> = {
    "/stats/summary": "stats",
    "/api/v1.3/machine": "stats",
    "/metrics": "metrics",
    "/metrics/cadvisor": "metrics",
    "/logs/": "log",
    "/spec/": "spec",
    "/checkpoint/a/b/c": "checkpoint",
    "/": "proxy",
    "/pods": "proxy",
    "/%73tats/summary": "stats",
    "/statsx": "proxy",
    "/constructor": "proxy",
  };
  for (const [path, subresource] of Object.entries(rows))
    t.match(attributesOf("GET", path), { verb: "get", subresource });
  t.equal(attributesOf("POST", "/run/a/b/c").verb, "create");
  t.equal(attributesOf("PUT", "/debug/flags/v").verb, "update");
});

t.test("attributesOf() needs create for sessions, whatever the method", async (t) => {
  for (const method of ["GET", "PUT", "POST"]) {
    for (const path of [
      "/exec/a/b/c",
      "/attach/a/b/c",
      "/run/a/b/c",
      "/portForward/a/b",
      "/%65xec/a/b/c",
      "/ui/exec/a/b/c",
    ])
      t.same(attributesOf(method, path), { verb: "create", subresource: "proxy" }, `${method} ${path}`);
    t.equal(attributesOf(method, "/pods", true).verb, "create", `${method} with an upgrade`);
  }
  t.equal(attributesOf("GET", "/containerLogs/a/exec/c").verb, "get");
});

t.test("Access believes a certificate until its end, however long the connection lasts", async (t) => {
  const { clock, access } = setUp();
  const certificate = { commonName: "ann", organizations: [], fingerprint256: "", endsAt: clock.now() + 60_000 };
  const ask = (headers = new Headers()) =>
    access.admit({ method: "GET", path: "/pods", headers, peer: { address: "", certificate } }, uninterrupted);
  t.match(await ask(), { name: "ann" });
  await clock.advance(60_000);
  await t.rejects(ask(), { code: "unauthorized" });
  t.match(await ask(new Headers({ authorization: "Bearer good" })), { name: "robot" });
});
