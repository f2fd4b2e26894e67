// Skiff asks an authorization webhook what kube-apiserver was recorded to ask, request by request, and answers a node as it was recorded
// to answer one. What differs stands in fixtures/authorization/differences.ts with the reason.

import t, { type Test } from "tap";
import {
  type Difference,
  differences,
  differingLines,
  nodeDifferences,
} from "../fixtures/authorization/differences.ts";
import { authorizationRequests } from "../fixtures/authorization/requests.ts";
import { readTable } from "../fixtures/authorization/table.ts";
import { startSkiffForAuthorization } from "../harness/authorization-server.ts";
import { startAuthorizationWebhook } from "../harness/authorization-webhook.ts";
import { type OutcomeRow, outcomesOf, tester } from "../suites/authorization.ts";
import { type NodeRow, nodeOutcomes } from "../suites/node-authorization.ts";

t.setTimeout(600_000);

interface Compared {
  readonly alike: number;
  /** Requests that differ for no listed reason, with what was expected and what came. */
  readonly unexplained: ReadonlyMap<string, string>;
  readonly unused: readonly string[];
}

function compare<Row>(
  rows: ReadonlyMap<string, Row>,
  table: Readonly<Record<string, Row>>,
  list: readonly Difference[],
  linesOf: (request: string, theirs: Row, ours: Row) => string[],
): Compared {
  const used = new Set<Difference>();
  const unexplained = new Map<string, string>();
  let alike = 0;
  for (const [request, ours] of rows) {
    const theirs = table[request];
    if (theirs === undefined) throw new Error(`not in the table, record it anew: ${request}`);
    const lines = linesOf(request, theirs, ours);
    if (lines.length === 0) alike++;
    const left = lines.filter((line) => {
      const reasons = list.filter((difference) => difference.lines.test(line));
      for (const reason of reasons) used.add(reason);
      return reasons.length === 0;
    });
    if (left.length > 0)
      unexplained.set(request, `\n    expected ${JSON.stringify(theirs)}\n    got      ${JSON.stringify(ours)}`);
  }
  const unused = list.filter((difference) => !used.has(difference)).map(({ lines }) => String(lines));
  return { alike, unexplained, unused };
}

function check(t: Test, { alike, unexplained, unused }: Compared): void {
  t.comment(`${alike} alike`);
  t.same(unused, [], "every listed difference is seen");
  t.equal(unexplained.size, 0, "nothing differs without a listed reason");
  for (const [request, how] of [...unexplained].slice(0, 50)) t.fail(`${request}${how}`);
}

t.test("requests are authorized as kube-apiserver does", async (t) => {
  const webhook = await startAuthorizationWebhook(t, tester);
  const server = await startSkiffForAuthorization(t, { webhook: webhook.url });
  const rows = await outcomesOf(server, webhook, authorizationRequests);
  t.ok(rows.size >= 2000, "there are at least 2,000 requests");
  check(t, compare(rows, readTable<OutcomeRow>("authorization"), differences, differingLines));
});

t.test("a node is answered as kube-apiserver does", async (t) => {
  const rows = await nodeOutcomes(await startSkiffForAuthorization(t, {}));
  const linesOf = (request: string, theirs: NodeRow, ours: NodeRow) =>
    theirs.join(" ") === ours.join(" ") ? [] : [`${request} | ${theirs.join(" ")} -> ${ours.join(" ")}`];
  check(t, compare(rows, readTable<NodeRow>("node"), nodeDifferences, linesOf));
});
