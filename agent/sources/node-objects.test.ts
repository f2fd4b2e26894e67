import t from "tap";
import { uninterrupted as call } from "../../plugins/kit/call.ts";
import type { ApiClient } from "../../plugins/kit/client/api-client.ts";
import { Fault } from "../../plugins/kit/fault.ts";
import type { ResourceRef } from "../../plugins/kit/objects/resources.ts";
import { NodeObjects } from "./node-objects.ts";

const bundle = (name: string, signerName: string, labels = {}) => ({
  metadata: { name, labels },
  spec: { signerName, trustBundle: `of ${name}` },
});

function objectsOn(version: string) {
  const bundles = [
    bundle("a", "x.test/one", { live: "yes" }),
    bundle("b", "x.test/one"),
    bundle("c", "x.test/two", { live: "yes" }),
  ];
  const only = (ref: ResourceRef) => {
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
    t.equal(await objects.trustBundle({ name: "b" }, call), "of b");
    const signerName = "x.test/one";
    t.equal(await objects.trustBundle({ signerName, labelSelector: {} }, call), "of a\nof b");
    t.equal(await objects.trustBundle({ signerName, labelSelector: { matchLabels: { live: "yes" } } }, call), "of a");
    await t.rejects(objects.trustBundle({ signerName }, call), { code: "not-found" }, "no selector selects nothing");
    await t.rejects(objects.trustBundle({ name: "z" }, call), { code: "not-found" });
  });
