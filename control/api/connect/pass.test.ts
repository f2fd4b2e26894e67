import t from "tap";
import { admin, startApi } from "../../../test/harness/api-server.ts";
import type { NodeConnector } from "./connector.ts";

t.test(
  "proxies of pods and services pass every method on, and reads of the bare path are led to its slash",
  async (t) => {
    const passed: string[] = [];
    const connector = {
      async fetch(target: { url: string }, { method }: { method: string }) {
        passed.push(`${method} ${target.url}`);
        return new Response("foo");
      },
    } as unknown as NodeConnector;
    const api = await startApi({ connector });
    t.teardown(() => api.close());
    const pods = "/api/v1/namespaces/default/pods";
    await api.ask("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
    const containers = [{ name: "c", image: "i", ports: [{ containerPort: 80 }] }];
    await api.ask("POST", pods, { metadata: { name: "p" }, spec: { nodeName: "n", containers } });
    const status = { podIP: "10.0.0.7", podIPs: [{ ip: "10.0.0.7" }] };
    await api.ask("PATCH", `${pods}/p/status`, { status }, { "content-type": "application/merge-patch+json" });
    const methods = ["DELETE", "OPTIONS", "PATCH", "POST", "PUT"];
    for (const method of methods)
      t.match(await api.ask(method, `${pods}/p/proxy`), { status: 200, text: "foo" }, method);
    t.same(
      passed,
      methods.map((method) => `${method} http://10.0.0.7:80/`),
    );
    for (const method of ["GET", "HEAD"]) t.equal((await api.ask(method, `${pods}/p/proxy`)).status, 301, method);
    t.equal((await api.ask("OPTIONS", `${pods}/p`)).status, 405, "not where nothing stands behind");
    t.equal((await api.ask("OPTIONS", `${pods}/p/log`)).status, 405);
  },
);

t.test("proxies pass bodies of any length on, as they come", async (t) => {
  const sizes: [string, number][] = [];
  const connector = {
    async fetch(_: unknown, { body }: { body: Uint8Array | ReadableStream<Uint8Array> }) {
      let size = 0;
      if (body instanceof Uint8Array) size = body.length;
      else for await (const piece of body) size += piece.length;
      sizes.push([body instanceof Uint8Array ? "whole" : "in pieces", size]);
      return new Response("taken");
    },
  } as unknown as NodeConnector;
  const api = await startApi({ connector });
  t.teardown(() => api.close());
  await api.ask("POST", "/api/v1/nodes", { metadata: { name: "n" } });
  const send = (headers: Record<string, string>, pieces: number) => {
    let left = pieces;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (left-- > 0) controller.enqueue(new Uint8Array(1 << 20));
        else controller.close();
      },
    });
    const url = "https://api/api/v1/nodes/n/proxy/upload";
    return api.server.fetchAs(admin)(new Request(url, { method: "PUT", headers, body, duplex: "half" } as RequestInit));
  };
  for (const [headers, pieces] of [
    [{ "content-length": String(2 << 20) }, 2],
    [{ "content-length": String(8 << 20) }, 8],
    [{}, 8],
  ] as const)
    t.equal((await send(headers, pieces)).status, 200);
  t.same(sizes, [
    ["whole", 2 << 20],
    ["in pieces", 8 << 20],
    ["in pieces", 8 << 20],
  ]);
});
