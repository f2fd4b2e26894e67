import t from "tap";
import { parsePath, type ResourcePath } from "./path.ts";
import type { ApiRequest } from "../machinery/request.ts";
import { RequestMetrics } from "./request-metrics.ts";

function asked(method: string, url: string, contentType = ""): { path: ResourcePath; request: ApiRequest } {
  const { pathname, searchParams: query } = new URL(url, "http://api");
  const headers = new Headers(contentType ? { "content-type": contentType } : {});
  const request = { method, path: pathname, query, headers } as unknown as ApiRequest;
  return { path: parsePath(pathname) as ResourcePath, request };
}

t.test("RequestMetrics tells requests by the labels of upstream", async (t) => {
  const pods = "/api/v1/namespaces/a/pods";
  const rows: [string, { path: ResourcePath; request: ApiRequest }, string][] = [
    [
      "get",
      asked("GET", `${pods}/x`),
      'verb="GET",group="",version="v1",resource="pods",subresource="",scope="resource"',
    ],
    ["list", asked("GET", pods), 'verb="LIST",group="",version="v1",resource="pods",subresource="",scope="namespace"'],
    [
      "list",
      asked("GET", "/api/v1/pods"),
      'verb="LIST",group="",version="v1",resource="pods",subresource="",scope="cluster"',
    ],
    [
      "watch",
      asked("GET", "/api/v1/pods?watch=1"),
      'verb="WATCH",group="",version="v1",resource="pods",subresource="",scope="cluster"',
    ],
    [
      "create",
      asked("POST", pods),
      'verb="POST",group="",version="v1",resource="pods",subresource="",scope="resource"',
    ],
    [
      "update",
      asked("PUT", `${pods}/x/status`),
      'verb="PUT",group="",version="v1",resource="pods",subresource="status",scope="resource"',
    ],
    [
      "patch",
      asked("PATCH", "/apis/apps/v1/namespaces/a/deployments/x", "application/merge-patch+json"),
      'verb="PATCH",group="apps",version="v1",resource="deployments",subresource="",scope="resource"',
    ],
    [
      "patch",
      asked("PATCH", "/apis/apps/v1/namespaces/a/deployments/x", "application/apply-patch+yaml"),
      'verb="APPLY",group="apps",version="v1",resource="deployments",subresource="",scope="resource"',
    ],
    [
      "deletecollection",
      asked("DELETE", pods),
      'verb="DELETE",group="",version="v1",resource="pods",subresource="",scope="namespace"',
    ],
    [
      "get",
      asked("GET", `${pods}/x/log`),
      'verb="CONNECT",group="",version="v1",resource="pods",subresource="log",scope="resource"',
    ],
    [
      "get",
      asked("GET", `${pods}/x/made-up`),
      'verb="GET",group="",version="v1",resource="pods",subresource="",scope="resource"',
    ],
  ];
  for (const [verb, { path, request }, labels] of rows) {
    const metrics = new RequestMetrics();
    metrics.meterOf(verb, path, request).record(200, 0.3, 0);
    const lines = [...metrics.lines()];
    const all = `component="apiserver",${labels}`;
    t.ok(lines.includes(`apiserver_request_total{${all},dry_run="",code="200"} 1`), labels);
    const isTimed = !/WATCH|CONNECT/.test(labels);
    t.equal(lines.includes(`apiserver_request_sli_duration_seconds_count{${all}} 1`), isTimed, `timed: ${labels}`);
  }
});

t.test("RequestMetrics leaves out of the indicator what was not the server's own time", async (t) => {
  const metrics = new RequestMetrics();
  const record = (url: string, code: number, seconds: number, elsewhere: number) => {
    const { path, request } = asked("POST", url);
    metrics.meterOf("create", path, request).record(code, seconds, elsewhere);
  };
  record("/api/v1/namespaces", 201, 3, 2.5);
  record("/api/v1/namespaces?dryRun=All", 201, 0.01, 0);
  record("/api/v1/namespaces?dryRun=Some", 400, 0.01, 0);
  record("/api/v1/namespaces", 429, 9, 9);
  record("/api/v1/namespaces", 504, 60, 0);
  const lines = [...metrics.lines()];
  const valueOf = (name: string, ...labels: string[]) =>
    lines
      .filter((line) => line.startsWith(`${name}{`) && labels.every((label) => line.includes(label)))
      .map((line) => Number(line.split(" ").at(-1)));
  t.same(valueOf("apiserver_request_sli_duration_seconds_bucket", 'le="0.6"'), [3], "dry runs are among them");
  t.same(valueOf("apiserver_request_sli_duration_seconds_count"), [4], "those turned away are not");
  t.same(valueOf("apiserver_request_duration_seconds_bucket", 'dry_run=""', 'le="2"'), [0]);
  t.same(valueOf("apiserver_request_duration_seconds_count", 'dry_run="All"'), [1]);
  t.same(valueOf("apiserver_request_total", 'dry_run="invalid"', 'code="400"'), [1]);
  t.same(valueOf("apiserver_request_terminations_total", 'code="429"'), [1]);
  t.same(valueOf("apiserver_request_terminations_total", 'code="504"'), [1]);
});
