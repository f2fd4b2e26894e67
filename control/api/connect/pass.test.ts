import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";
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
