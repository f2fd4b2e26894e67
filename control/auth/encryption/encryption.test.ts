import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import { uninterrupted as call } from "../../../plugins/kit/base/call.ts";
import { memoryStore } from "../../../plugins/store/memory.ts";
import { EncryptionKeys } from "./keys.ts";
import { completeRotation, rotateEncryptionKey } from "./rotate.ts";
import { keyIdOf, secretsTransformer } from "./transformer.ts";

const dir = mkdtempSync(join(tmpdir(), "skiff-encryption-"));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));
let files = 0;
const keyFile = () => join(dir, `keys-${files++}.json`);
const plain = Buffer.from('{"kind":"Secret"}');

t.test("secretsTransformer() opens what it sealed, at the same place only", async (t) => {
  const path = keyFile();
  const transformer = secretsTransformer(new EncryptionKeys(path));
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.equal(transformer.handles({ group: "", plural: "secrets" }), true);
  t.equal(transformer.handles({ group: "", plural: "configmaps" }), false);
  const sealed = transformer.seal("/registry/core/secrets/a/b", plain);
  t.notOk(Buffer.from(sealed).includes("Secret"));
  t.same(transformer.open("/registry/core/secrets/a/b", sealed), plain);
  t.throws(() => transformer.open("/registry/core/secrets/a/c", sealed), {
    code: "invalid",
    message: /belong elsewhere/,
  });
  for (const at of [0, 30, 45, sealed.length - 1]) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    t.throws(() => transformer.open("/registry/core/secrets/a/b", changed), { code: "invalid" }, `byte ${at}`);
  }
  t.throws(() => transformer.open("/x", plain), { message: /not encrypted/ });
  t.throws(() => secretsTransformer(new EncryptionKeys(keyFile())).open("/registry/core/secrets/a/b", sealed), {
    message: /not in the key file/,
  });
  t.same(
    secretsTransformer(new EncryptionKeys(path)).open("/registry/core/secrets/a/b", sealed),
    plain,
    "after a restart",
  );
});

t.test("EncryptionKeys refuses a damaged file instead of beginning anew", async (t) => {
  const path = keyFile();
  for (const text of ["", "{}", '{"keys":[]}', '{"keys":[{"id":"x","secret":"AAAA"}]}']) {
    writeFileSync(path, text);
    t.throws(() => new EncryptionKeys(path), { code: "invalid" }, text);
  }
});

t.test(
  "rotateEncryptionKey() seals every secret anew under a live server, and old bytes are of no use after",
  async (t) => {
    const store = memoryStore();
    const path = keyFile();
    const keys = new EncryptionKeys(path);
    const api = await startApi({ store, transformers: [secretsTransformer(keys)] });
    t.teardown(async () => {
      await api.close();
      await store.close();
    });
    await api.ask("POST", "/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
    for (let index = 0; index < 250; index++) {
      const metadata = { name: `s${index}` };
      const made = await api.ask("POST", "/api/v1/namespaces/n/secrets", {
        apiVersion: "v1",
        kind: "Secret",
        metadata,
        stringData: { p: "hunter2" },
      });
      if (made.status !== 201) t.fail(made.text);
    }
    const { entries } = await store.list("/registry/core/secrets/", {}, call);
    t.equal(entries.length, 250);
    t.notOk(entries.some(({ value }) => Buffer.from(value).includes(Buffer.from("hunter2").toString("base64"))));
    const before = keys.current.id;
    t.equal(await rotateEncryptionKey(keys, store, call), 250);
    t.not(keys.current.id, before);
    t.notMatch(readFileSync(path, "utf8"), before);
    const after = await store.list("/registry/core/secrets/", {}, call);
    t.ok(after.entries.every(({ value }) => keyIdOf(value) === keys.current.id));
    const read = await api.ask("GET", "/api/v1/namespaces/n/secrets/s7");
    t.equal(Buffer.from(read.body.data.p, "base64").toString(), "hunter2");
  },
);

t.test("a watch that resumes over a deletion sealed with a dropped key is told to list again", async (t) => {
  const store = memoryStore();
  t.teardown(() => store.close());
  const keys = new EncryptionKeys(keyFile());
  const transformers = [secretsTransformer(keys)];
  const secrets = "/api/v1/namespaces/default/secrets";
  const before = await startApi({ store, transformers });
  const make = (name: string) =>
    before.ask("POST", secrets, { apiVersion: "v1", kind: "Secret", metadata: { name }, stringData: { p: "x" } });
  await make("kept");
  await make("gone");
  const { resourceVersion } = (await before.ask("GET", secrets)).body.metadata;
  await before.ask("DELETE", `${secrets}/gone`);
  await rotateEncryptionKey(keys, store, call);
  await before.close();

  const api = await startApi({ store, transformers });
  t.teardown(() => api.close());
  const watched = await api.ask("GET", `${secrets}?watch=1&resourceVersion=${resourceVersion}&timeoutSeconds=1`);
  t.match(JSON.parse(watched.text.split("\n")[0] ?? ""), {
    type: "ERROR",
    object: { code: 410, reason: "Expired" },
  });
  const listed = await api.ask(
    "GET",
    `${secrets}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact&limit=10`,
  );
  t.match(listed.body, { code: 410, reason: "Expired" });
  t.match((await api.ask("GET", secrets)).body, { items: [{ metadata: { name: "kept" } }] });
});

t.test("completeRotation() goes on where a killed rotation stopped", async (t) => {
  const store = memoryStore();
  t.teardown(() => store.close());
  const path = keyFile();
  const keys = new EncryptionKeys(path);
  const place = (name: string) => `/registry/core/secrets/n/${name}`;
  const put = (name: string) =>
    store.put(place(name), secretsTransformer(keys).seal(place(name), plain), "absent", call);
  await put("old");
  keys.add();
  await put("new");
  const restarted = new EncryptionKeys(path);
  t.equal(restarted.hasOld, true);
  t.equal(await completeRotation(restarted, store, call), 1);
  t.equal(restarted.hasOld, false);
  const entry = await store.get(place("old"), call);
  t.same(entry && secretsTransformer(restarted).open(place("old"), entry.value), plain);
});
