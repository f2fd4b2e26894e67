// The real kube-apiserver answers the requests of the differential authorization tests as the committed tables say. With
// SKIFF_RECORD=1 the tables are written anew. Needs kube-apiserver of the recorded version and etcd on PATH.

import t from "tap";
import { authorizationRequests } from "../fixtures/authorization/requests.ts";
import { readTable, writeTable } from "../fixtures/authorization/table.ts";
import { startKubeApiserverForAuthorization } from "../harness/authorization-server.ts";
import { startAuthorizationWebhook } from "../harness/authorization-webhook.ts";
import { noKubeApiserver } from "../harness/kube-apiserver.ts";
import { outcomesOf, tester } from "../suites/authorization.ts";
import { nodeOutcomes } from "../suites/node-authorization.ts";

t.setTimeout(900_000);

const isRecording = process.env["SKIFF_RECORD"] === "1";

/** Names of the requests whose rows are not alike. */
function unlike(rows: ReadonlyMap<string, unknown>, table: Readonly<Record<string, unknown>>): string[] {
  return [...rows].filter(([name, row]) => JSON.stringify(row) !== JSON.stringify(table[name])).map(([name]) => name);
}

function unlikeRecorded(name: string, rows: ReadonlyMap<string, unknown>): string[] {
  if (isRecording) writeTable(name, rows);
  return unlike(rows, readTable(name));
}

t.test("kube-apiserver asks the authorization webhook as recorded", { skip: noKubeApiserver }, async (t) => {
  const webhook = await startAuthorizationWebhook(t, tester);
  const server = await startKubeApiserverForAuthorization(t, { webhook: webhook.url });
  t.same(unlikeRecorded("authorization", await outcomesOf(server, webhook, authorizationRequests)), []);
});

t.test("kube-apiserver answers a node as recorded", { skip: noKubeApiserver }, async (t) => {
  t.same(unlikeRecorded("node", await nodeOutcomes(await startKubeApiserverForAuthorization(t, {}))), []);
});
