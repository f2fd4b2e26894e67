import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
import { base64Problem } from "./base64.ts";

t.test("base64Problem() finds the byte that Go's decoder stops at", async (t) => {
  const rows: [text: string, at: number | undefined][] = [
    ["", undefined],
    ["YQ==", undefined],
    ["YWJj\nZGVm\r\n", undefined],
    ["YW==\n", undefined],
    ["Bad Name!", 3],
    ["-x", 0],
    ["YWJjZ", 4],
    ["YWJj=", 4],
    ["YQ=", 3],
    ["YQ=x", 3],
    ["YQ==x", 4],
    ["YWI=x", 4],
  ];
  for (const [text, at] of rows) t.equal(base64Problem(text), at, JSON.stringify(text));
});

t.test("bytes that are not base64 are refused when they are read", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const { status, body } = await api.ask("POST", "/api/v1/namespaces/default/secrets", {
    metadata: { name: "a" },
    data: { k: "Bad Name!" },
  });
  t.equal(status, 400);
  t.equal(body.message, 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 3');
});
