// Names of custom resources belong to who had them first, also after a restart, and are free again when that one goes.

import t from "tap";
import { type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";
import { until } from "../../../test/harness/until.ts";
import { memoryStore } from "../../../plugins/store/memory.ts";
import type { Crd } from "../../resources/crd/types.ts";
import { acceptNames } from "./names.ts";

const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const merge = { "content-type": "application/merge-patch+json" };

const crd = (plural: string, names: Json = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural, singular: `${plural}-one`, kind: "Thing", ...names },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
});

async function said(api: TestApi, plural: string): Promise<string> {
  const { body } = await api.ask("GET", `${crds}/${plural}.example.com`);
  const conditions: Json[] = body.status.conditions ?? [];
  return conditions.map(({ type, status, reason, message }) => `${type}=${status} ${reason}: ${message}`).join("\n");
}

const isServed = async (api: TestApi, plural: string) =>
  (await api.ask("GET", `/apis/example.com/v1/namespaces/default/${plural}`)).status === 200;

t.test("a kind belongs to the definition that had it first", async (t) => {
  const store = memoryStore();
  t.teardown(() => store.close());
  const before = await startApi({ store });
  await before.ask("POST", crds, crd("zebras"));
  await until("the first to be served", () => isServed(before, "zebras"));
  await before.ask("POST", crds, crd("apes"));
  // Of several that are taken the last is told, as upstream does; the kind of lists follows the kind.
  const refusal = 'NamesAccepted=False ListKindConflict: "ThingList" is already in use';
  await until("the second to be refused", async () => (await said(before, "apes")).includes(refusal));
  t.match(await said(before, "apes"), "Established=False NotAccepted: not all names are accepted");
  t.notOk(await isServed(before, "apes"));
  await before.close();

  // A restart meets them in the order of their names.
  const after = await startApi({ store });
  t.teardown(() => after.close());
  t.ok(await isServed(after, "zebras"), "the first is served after a restart");
  t.notOk(await isServed(after, "apes"));
  t.match(await said(after, "apes"), refusal);
  t.match(await said(after, "zebras"), "NamesAccepted=True");

  await after.ask("DELETE", `${crds}/zebras.example.com`);
  await until("the second to have its turn", () => isServed(after, "apes"));
  t.match(await said(after, "apes"), "NamesAccepted=True NoConflicts: no conflicts found\nEstablished=True");
});

t.test("one that is served and asks for a name that is taken goes on with those it has", async (t) => {
  const store = memoryStore();
  t.teardown(() => store.close());
  const before = await startApi({ store });
  await before.ask("POST", crds, crd("apes", { kind: "Ape", shortNames: ["x"] }));
  await before.ask("POST", crds, crd("bears", { kind: "Bear", shortNames: ["b"] }));
  await until("both to be served", async () => (await isServed(before, "apes")) && (await isServed(before, "bears")));
  const wish = { spec: { names: { shortNames: ["x", "bb"] } } };
  await before.ask("PATCH", `${crds}/bears.example.com`, wish, merge);
  const refusal = 'NamesAccepted=False ShortNamesConflict: "x" is already in use';
  await until("it to be refused", async () => (await said(before, "bears")).includes(refusal));
  const shortNames = async (api: TestApi) => {
    const { resources } = (await api.ask("GET", "/apis/example.com/v1")).body;
    return resources.find(({ name }: Json) => name === "bears")?.shortNames;
  };
  t.same(await shortNames(before), ["b"]);
  await before.close();
  const after = await startApi({ store });
  t.teardown(() => after.close());
  t.same(await shortNames(after), ["b"], "after a restart too");
  await after.ask("DELETE", `${crds}/apes.example.com`);
  await until("it to have its wish", async () => (await shortNames(after))?.join() === "x,bb");
});

t.test("a definition whose objects are held holds nobody else up", async (t) => {
  const store = memoryStore();
  t.teardown(() => store.close());
  const before = await startApi({ store });
  await before.ask("POST", crds, crd("apes"));
  await until("it to be served", () => isServed(before, "apes"));
  const held = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a", finalizers: ["example.com/x"] } };
  const made = await before.ask("POST", "/apis/example.com/v1/namespaces/default/apes", held);
  t.equal(made.status, 201, made.text);
  await before.ask("DELETE", `${crds}/apes.example.com`);
  t.equal((await before.ask("GET", "/apis/example.com/v1/nothing")).status, 404, "who asks for what nobody has");
  await before.close();
  const after = await startApi({ store });
  t.teardown(() => after.close());
  t.match(await said(after, "apes"), "Terminating=True", "nor the start of a server");
  const at = "/apis/example.com/v1/namespaces/default/apes/a";
  await after.ask("PATCH", at, { metadata: { finalizers: null } }, merge);
  await until("it to be gone", async () => (await after.ask("GET", `${crds}/apes.example.com`)).status === 404);
});

t.test("acceptNames() tells which name is taken, and takes the others", async (t) => {
  const other = { plural: "apes", singular: "ape", kind: "Ape", listKind: "ApeList", shortNames: ["a", "ap"] };
  const verdict = (names: Json, accepted: Json = { plural: "", kind: "" }) =>
    acceptNames({ ...crd("bears", names), status: { acceptedNames: accepted } } as Crd, [other]);
  const rows: [names: Json, reason: string | undefined, message?: string][] = [
    [{ kind: "Bear" }, undefined],
    [{ kind: "Ape" }, "KindConflict", '"Ape" is already in use'],
    [{ kind: "Bear", listKind: "ApeList" }, "ListKindConflict", '"ApeList" is already in use'],
    [{ kind: "ApeList" }, "KindConflict", '"ApeList" is already in use'],
    [{ kind: "Bear", singular: "apes" }, "SingularConflict", '"apes" is already in use'],
    [{ kind: "Bear", shortNames: ["b", "ape"] }, "ShortNamesConflict", '"ape" is already in use'],
    [
      { kind: "Bear", shortNames: ["ap", "a"] },
      "ShortNamesConflict",
      '["ap" is already in use, "a" is already in use]',
    ],
  ];
  for (const [names, reason, message] of rows) {
    const { conflict } = verdict(names);
    t.same(conflict, reason === undefined ? undefined : { reason, message }, JSON.stringify(names));
  }
  t.match(verdict({ kind: "Ape", shortNames: ["b"] }).names, { plural: "bears", kind: "", shortNames: ["b"] });
  t.equal(verdict({ kind: "Ape" }, { plural: "bears", kind: "Ape" }).conflict, undefined, "its own it may keep");
});
