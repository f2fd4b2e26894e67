import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/base/call.ts";
import type { ApiClient } from "../../plugins/kit/kube/client/api-client.ts";
import { Fault } from "../../plugins/kit/base/fault.ts";
import type { Service } from "../../plugins/kit/kube/objects/types.ts";
import type { ResourceRef } from "../../plugins/kit/kube/objects/resources.ts";
import { NodeObjects } from "./node-objects.ts";
import { testPod } from "../../test/harness/pod-room.ts";

const bundle = (name: string, signerName: string, labels = {}) => ({
  metadata: { name, labels },
  spec: { signerName, trustBundle: `Words about ${name}\n${pem("shared")}${pem(name)}` },
});
const pem = (text: string) => `-----BEGIN CERTIFICATE-----\n${btoa(text)}\n-----END CERTIFICATE-----\n`;

function objectsOn(version: string, isGone = () => false) {
  const bundles = [
    bundle("a", "x.test/one", { live: "yes" }),
    bundle("b", "x.test/one"),
    bundle("c", "x.test/two", { live: "yes" }),
  ];
  const only = (ref: ResourceRef) => {
    if (isGone()) throw new Fault("unavailable", "nothing listens there");
    if (ref.version !== version) throw new Fault("not-found", "the server could not find the requested resource");
  };
  const client = {
    get: async (ref: ResourceRef, { name }: { name: string }) => {
      only(ref);
      const found = bundles.find(({ metadata }) => metadata.name === name);
      return found ?? Promise.reject(new Fault("not-found", `${name} not found`));
    },
    listAll: async (ref: ResourceRef) => {
      only(ref);
      return { items: bundles };
    },
  } as unknown as ApiClient;
  return new NodeObjects({ client, services: () => undefined, node: () => undefined, onKept: () => {} });
}

for (const version of ["v1alpha1", "v1beta1"])
  t.test(`NodeObjects.trustBundle() finds bundles by name, or by signer and labels (${version})`, async (t) => {
    const objects = objectsOn(version);
    t.equal(await objects.trustBundle({ name: "b" }, call), `${pem("shared")}${pem("b")}`);
    const signerName = "x.test/one";
    t.equal(
      await objects.trustBundle({ signerName, labelSelector: {} }, call),
      `${pem("shared")}${pem("a")}${pem("b")}`,
    );
    t.equal(
      await objects.trustBundle({ signerName, labelSelector: { matchLabels: { live: "yes" } } }, call),
      `${pem("shared")}${pem("a")}`,
    );
    await t.rejects(objects.trustBundle({ signerName }, call), { code: "not-found" }, "no selector selects nothing");
    await t.rejects(objects.trustBundle({ name: "z" }, call), { code: "not-found" });
  });

t.test("NodeObjects answers from what it kept while the API server is gone", async (t) => {
  let isGone = false;
  const signer = { signerName: "x.test/one", labelSelector: {} };
  const first = objectsOn("v1alpha1", () => isGone);
  const bundles = await first.trustBundle(signer, call);
  const next = objectsOn("v1alpha1", () => isGone);
  next.restore(first.kept());
  isGone = true;
  t.equal(await next.trustBundle(signer, call), bundles);
  await t.rejects(objectsOn("v1alpha1", () => true).trustBundle(signer, call), { code: "unavailable" });
});

t.test(
  "NodeObjects answers a refusal with no older answer: a disk that was attached once may be elsewhere",
  async (t) => {
    const attachment = { metadata: { name: "csi-1", resourceVersion: "7" }, status: { attached: true } };
    let refusal: Fault["code"] | undefined;
    const client = {
      get: async () => {
        if (refusal) throw new Fault(refusal, refusal);
        return attachment;
      },
    } as unknown as ApiClient;
    const objects = new NodeObjects({ client, services: () => undefined, node: () => undefined, onKept: () => {} });
    for (const code of ["forbidden", "not-found"] as const) {
      refusal = undefined;
      await objects.volumeAttachment("csi-1", call);
      refusal = "unavailable";
      t.match(await objects.volumeAttachment("csi-1", call), { status: { attached: true } });
      refusal = code;
      await t.rejects(objects.volumeAttachment("csi-1", call), { code });
      refusal = "unavailable";
      await t.rejects(objects.volumeAttachment("csi-1", call), { code: "unavailable" }, "nor later");
    }
  },
);

t.test(
  "NodeObjects.token() keeps a token for a start without the API server, and tells of the first alone",
  async (t) => {
    let answer: () => object = () => ({ status: { token: "one", expirationTimestamp: "2026-01-01T01:00:00Z" } });
    let told = 0;
    const client = { create: async () => answer() } as unknown as ApiClient;
    const open = () =>
      new NodeObjects({ client, services: () => undefined, node: () => undefined, onKept: () => void told++ });
    const wish = { pod: testPod("web"), audiences: [], expirationSeconds: 3600 };
    const fail = (code: Fault["code"]) => () => {
      throw new Fault(code, code);
    };
    const objects = open();
    const { issuedAt } = await objects.token(wish, call);
    t.equal(issuedAt, Date.parse("2026-01-01T00:00:00Z"), "by the server's clock");
    answer = () => ({ status: { token: "two", expirationTimestamp: "2026-01-01T02:00:00Z" } });
    await objects.token(wish, call);
    t.equal(told, 1, "a renewal alone writes nothing");
    const next = open();
    next.restore(objects.kept());
    answer = fail("unavailable");
    t.match(await next.token(wish, call), { token: "two", expiresAt: Date.parse("2026-01-01T02:00:00Z") });
    await t.rejects(next.token({ ...wish, audiences: ["other"] }, call), { code: "unavailable" });
    answer = fail("forbidden");
    await t.rejects(next.token(wish, call), { code: "forbidden" }, "a refusal is not answered by an old one");
  },
);

t.test("NodeObjects.services() are those kept until they can be listed", async (t) => {
  let isSynced = true;
  const metadata = { namespace: "default", name: "web", resourceVersion: "7" };
  const service: Service = { apiVersion: "v1", kind: "Service", metadata, spec: { clusterIP: "10.0.0.1" } };
  const informer = { list: () => (isSynced ? [service] : []), isSynced: () => isSynced };
  const open = () =>
    new NodeObjects({ client: undefined, services: () => informer, node: () => undefined, onKept: () => {} });
  const first = open();
  const kept = first.kept();
  t.notMatch(JSON.stringify(kept), "resourceVersion", "what changes all the time is not kept");
  isSynced = false;
  const next = open();
  next.restore(kept);
  t.match(next.services(), [{ metadata: { name: "web" }, spec: { clusterIP: "10.0.0.1" } }]);
});
