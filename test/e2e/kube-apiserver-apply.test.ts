// Sequences of server-side applies on our API server and on the real kube-apiserver: what is left of the object, and who owns what of it.
// Needs kube-apiserver and etcd on PATH.

import t from "tap";
import { appliedCases, gadgetDefinition, gadgets, partOf, runApplied } from "../fixtures/applied.ts";
import type { Json } from "../fixtures/objects/valid-object.ts";
import { noKubeApiserver } from "../harness/kube-apiserver.ts";
import { startPeerApis } from "../harness/peer-apis.ts";
import { until } from "../harness/until.ts";

/** Managers that wrote within the same second stand in the order of their seconds. */
const ownersOf = (body: Json): Json =>
  (body.metadata?.managedFields ?? [])
    .map(({ manager, operation, fieldsV1 }: Json) => [`${manager} ${operation}`, fieldsV1])
    .sort(([a]: [string], [b]: [string]) => (a < b ? -1 : 1));

t.test(
  "applies leave the same on our API server and on kube-apiserver",
  { skip: noKubeApiserver, timeout: 300_000 },
  async (t) => {
    const apis = await startPeerApis(t);
    await apis.both("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", gadgetDefinition);
    await until("gadgets to be served", async () =>
      (await apis.both("GET", gadgets)).every(({ status }) => status === 200),
    );
    for (const each of appliedCases) {
      const ours = await runApplied(apis.ours.ask, each);
      const theirs = await runApplied(apis.theirs.ask, each);
      t.same(partOf(theirs), each.left, `${each.name}: recorded`);
      t.same(partOf(ours), each.left, each.name);
      t.same(ownersOf(ours), ownersOf(theirs), `${each.name}: owners`);
    }
  },
);
