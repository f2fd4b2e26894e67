import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { type EtcdTls, noEtcd, startEtcd } from "../../test/harness/etcd.ts";
import { storeSuite } from "../../test/suites/store.ts";
import { uninterrupted as call, within } from "../kit/base/call.ts";
import { FakeClock, systemClock } from "../kit/base/clock.ts";
import { isFault } from "../kit/base/fault.ts";
import type { Store } from "../kit/contracts/store.ts";
import { type EtcdStoreOptions, etcd, openEtcdStore } from "./etcd.ts";

const skip = noEtcd;
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => (value ? new TextDecoder().decode(value) : undefined);

/** Opens once the cluster answers. */
async function open(t: Test, options: EtcdStoreOptions): Promise<Store> {
  const limit = within(20_000);
  for (;;) {
    try {
      const store = await openEtcdStore({ prefix: `/${randomUUID()}`, ...options }, limit);
      t.teardown(() => store.close());
      return store;
    } catch (error) {
      if (!isFault(error, "unavailable", "timeout")) throw error;
      await systemClock.sleep(50, limit);
    }
  }
}

/** Writes until a write is taken, as an API server's clients would. */
async function putAtLast(store: Store, key: string, value: string): Promise<void> {
  const limit = within(20_000);
  for (;;) {
    try {
      await store.put(key, bytes(value), "any", limit);
      return;
    } catch (error) {
      if (!isFault(error, "unavailable", "timeout")) throw error;
      await systemClock.sleep(50, limit);
    }
  }
}

t.test("with one etcd", { skip }, async (t) => {
  const [member] = await startEtcd(t);
  const endpoints = [member?.url ?? ""];
  await open(t, { endpoints });
  storeSuite(t, "etcd", (t) => open(t, { endpoints }));

  t.test("list() pages through more than etcd gives at once", async (t) => {
    const store = await open(t, { endpoints });
    for (let from = 0; from < 2500; from += 500) {
      const keys = Array.from({ length: 500 }, (_, i) => `/n/${String(from + i).padStart(5, "0")}`);
      await Promise.all(keys.map((key) => store.put(key, bytes(key), "absent", call)));
    }
    const all = await store.list("/n/", {}, call);
    t.equal(all.entries.length, 2500);
    t.equal(all.entries.at(-1)?.key, "/n/02499");
    const some = await store.list("/n/", { limit: 1200 }, call);
    t.same([some.entries.length, some.remaining], [1200, 1300]);
  });

  t.test("expirySeconds lets etcd delete what is not written again", async (t) => {
    const store = await open(t, { endpoints, expirySeconds: { "/short/": 1 } });
    const start = store.revision;
    await store.put("/short/a", bytes("1"), "any", call);
    await store.put("/long/a", bytes("1"), "any", call);
    const types: string[] = [];
    for await (const events of store.watch("/short/", start, within(20_000))) {
      types.push(...events.map((event) => event.type));
      if (types.length === 2) break;
    }
    t.same(types, ["put", "delete"]);
    t.equal(text((await store.get("/long/a", call))?.value), "1");
  });

  t.test("historyMs compacts what was newest one period ago", async (t) => {
    const clock = new FakeClock();
    const store = await open(t, { endpoints, clock, historyMs: 60_000 });
    await store.put("/a", bytes("1"), "any", call);
    const old = store.revision;
    await store.put("/a", bytes("2"), "any", call);
    await clock.advance(60_000);
    await store.put("/a", bytes("3"), "any", call);
    await clock.advance(60_000);
    const limit = within(20_000);
    const isExpired = () =>
      store.list("/", { atRevision: old }, call).then(
        () => false,
        (error: unknown) => isFault(error, "expired"),
      );
    while (!(await isExpired())) await systemClock.sleep(20, limit);
    t.equal(text((await store.list("/", { atRevision: store.revision }, call)).entries[0]?.value), "3");
  });

  t.test("openEtcdStore() passes over a member that does not answer", async (t) => {
    const store = await open(t, { endpoints: ["http://127.0.0.1:1", ...endpoints], connectMs: 500 });
    t.ok((await store.put("/a", bytes("1"), "any", call)).ok);
  });

  t.test("openEtcdStore() names the members when none answers", async (t) => {
    await t.rejects(openEtcdStore({ endpoints: ["http://127.0.0.1:1"], connectMs: 200 }, call), {
      code: "unavailable",
      message: /127\.0\.0\.1:1/,
    });
  });
});

t.test("with three members, of which one is killed", { skip }, async (t) => {
  const members = await startEtcd(t, 3);
  const store = await open(t, { endpoints: members.map((member) => member.url), timeoutMs: 3000 });
  await putAtLast(store, "/a", "1");
  const start = store.revision;
  const seen: string[] = [];
  const watching = (async () => {
    for await (const events of store.watch("/a", start, within(30_000))) {
      for (const event of events) if (event.type === "put") seen.push(text(event.entry.value) ?? "");
      if (seen.at(-1) === "3") return;
    }
  })();
  await putAtLast(store, "/a", "2");
  await members[0]?.kill();
  await putAtLast(store, "/a", "3");
  await watching;
  t.equal(seen.at(-1), "3");
  t.equal(seen[0], "2", "the watch went on where it was");
  t.equal(text((await store.get("/a", call))?.value), "3");
});

t.test("with TLS, only a client certificate that etcd trusts may speak", { skip }, async (t) => {
  const tls = certificates(t);
  const [member] = await startEtcd(t, 1, tls);
  const endpoints = [member?.url ?? ""];
  const store = await open(t, { endpoints, ...tls });
  t.ok((await store.put("/a", bytes("1"), "any", call)).ok);
  await t.rejects(openEtcdStore({ endpoints, caFile: tls.caFile, connectMs: 500 }, call), { code: "unavailable" });
  const other = certificates(t);
  await t.rejects(openEtcdStore({ endpoints, ...tls, caFile: other.caFile, connectMs: 500 }, call), {
    code: "unavailable",
  });
});

t.test("with TLS, a server whose certificate names another address is refused", { skip }, async (t) => {
  const tls = certificates(t, "127.0.0.2");
  const [member] = await startEtcd(t, 1, tls);
  await reachable(member?.url ?? "");
  await t.rejects(openEtcdStore({ endpoints: [member?.url ?? ""], ...tls, connectMs: 500 }, call), {
    code: "unavailable",
  });
});

t.test("etcd.configure() names what is wrong", async (t) => {
  const configure = (raw: unknown) => etcd.configure?.(raw);
  t.match(configure({ endpoints: ["https://a:2379"], historySeconds: 5 }), { historyMs: 5000 });
  t.throws(() => configure({}), { code: "invalid", message: /endpoints/ });
  t.throws(() => configure({ endpoints: ["a:b:c"] }), { code: "invalid", message: /a:b:c/ });
  t.throws(() => configure({ endpoints: ["https://a"], certFile: "x" }), { code: "invalid", message: /keyFile/ });
  t.throws(() => configure({ endpoints: ["https://a"], expirySeconds: { "/a": 0 } }), { message: /expirySeconds/ });
});

/** Resolves once something accepts connections there. */
async function reachable(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const limit = within(20_000);
  const connects = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname, () => resolve(true));
      socket.once("error", () => resolve(false));
      socket.once("connect", () => socket.destroy());
    });
  while (!(await connects())) await systemClock.sleep(20, limit);
}

/** A certificate authority and one certificate that serves both sides. */
function certificates(t: Test, address = "127.0.0.1"): EtcdTls {
  const folder = mkdtempSync(join(tmpdir(), "skiff-etcd-tls-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string) => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe", cwd: folder });
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test-ca", "-days", "2");
  openssl("req", ...key, "-keyout", "me.key", "-out", "me.csr", "-subj", "/CN=test");
  writeFileSync(at("ext"), `subjectAltName=IP:${address}\nextendedKeyUsage=serverAuth,clientAuth\n`);
  const signing = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext"];
  openssl("x509", "-req", "-in", "me.csr", "-out", "me.crt", ...signing);
  return { caFile: at("ca.crt"), certFile: at("me.crt"), keyFile: at("me.key") };
}
