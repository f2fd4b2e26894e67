// Which words a client is told about a selector that says nothing.

import t from "tap";
import { startApi } from "../../test/harness/api-server.ts";

const rows: readonly [selector: string, says: string][] = [
  ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
  ["a in b", "unable to parse requirement: found 'b' expected: '('"],
  ["a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
  ["a=b,", "found '', expected: identifier after ','"],
  [",", "found ',', expected: !, identifier, or 'end of string'"],
  ["a=(b)", "unable to parse requirement: found '(', expected: identifier"],
  ["!", "unable to parse requirement: found '', expected: identifier"],
  ["a==b=c", "found '=', expected: ',' or 'end of string'"],
  ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  [
    "a>b",
    `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
  ],
];

t.test("selectionOf() says what is wrong with a selector as kube-apiserver does", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const ask = async (name: string, text: string) =>
    (await api.ask("GET", `/api/v1/pods?${name}=${encodeURIComponent(text)}`)).body;
  for (const [selector, says] of rows)
    t.match(await ask("labelSelector", selector), { code: 400, message: says }, selector);
  const long = "x".repeat(70);
  const value = await ask("labelSelector", `a=${long}`);
  t.match(value.message, `values[0][a]: Invalid value: "${long}": must be no more than 63 characters`);
  const both = await ask("labelSelector", "-a=-b");
  t.match(
    both.message,
    /^unable to parse requirement: \[<nil>: Invalid value: "-a": .*, values\[0\]\[-a\]: Invalid value: "-b": /,
  );
  t.match(await ask("fieldSelector", "spec.mood=1"), { code: 400, message: "field label not supported: spec.mood" });
  t.match(await ask("fieldSelector", "a=1,b"), { message: "invalid selector: 'a=1,b'; can't understand 'b'" });
});
