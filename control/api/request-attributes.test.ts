// What each request is authorized as. The values are those that kube-apiserver derives (RequestInfo).

import t from "tap";
import { parsePath } from "./path.ts";
import { attributesOf } from "./request-attributes.ts";

const user = { name: "u", groups: [] };

/** `verb group/version plural[/subresource] ns=… name=… [fields=…] [labels=…]`, or `verb path …`. */
function asked(method: string, target: string): string {
  const [path = "", query = ""] = target.split("?");
  const attributes = attributesOf(user, { method, path, query: new URLSearchParams(query) }, parsePath(path));
  const { verb, resource } = attributes;
  if (!resource) return `${verb} path ${attributes.path}`;
  const { group, version, plural, subresource, namespace, name, fieldSelector, labelSelector } = resource;
  return [
    `${verb} ${group}/${version}`,
    subresource === "" ? plural : `${plural}/${subresource}`,
    `ns=${namespace}`,
    `name=${name}`,
    ...(fieldSelector === undefined ? [] : [`fields=${fieldSelector}`]),
    ...(labelSelector === undefined ? [] : [`labels=${labelSelector}`]),
  ].join(" ");
}

const rows: readonly (readonly [method: string, target: string, expected: string])[] = [
  // What is no resource.
  ["GET", "/", "get path /"],
  ["GET", "/healthz", "get path /healthz"],
  ["POST", "/healthz%2fping", "post path /healthz/ping"],
  ["GET", "/api", "get path /api"],
  ["GET", "/api/v1", "get path /api/v1"],
  ["GET", "/api/v1/", "get path /api/v1/"],
  ["GET", "/apis/apps", "get path /apis/apps"],
  ["GET", "/apis/apps/v1", "get path /apis/apps/v1"],
  ["GET", "/apis/apps/v1/", "get path /apis/apps/v1/"],
  ["GET", "/other/v1/pods", "get path /other/v1/pods"],
  // Each method, on collections and objects.
  ["GET", "/api/v1/namespaces/n/pods", "list /v1 pods ns=n name="],
  ["HEAD", "/api/v1/namespaces/n/pods", "list /v1 pods ns=n name="],
  ["POST", "/api/v1/namespaces/n/pods", "create /v1 pods ns=n name="],
  ["PUT", "/api/v1/namespaces/n/pods", "update /v1 pods ns=n name="],
  ["PATCH", "/api/v1/namespaces/n/pods", "patch /v1 pods ns=n name="],
  ["DELETE", "/api/v1/namespaces/n/pods", "deletecollection /v1 pods ns=n name="],
  ["OPTIONS", "/api/v1/namespaces/n/pods", " /v1 pods ns=n name="],
  ["GET", "/api/v1/namespaces/n/pods/p", "get /v1 pods ns=n name=p"],
  ["HEAD", "/api/v1/namespaces/n/pods/p", "get /v1 pods ns=n name=p"],
  ["POST", "/api/v1/namespaces/n/pods/p", "create /v1 pods ns=n name=p"],
  ["PUT", "/api/v1/namespaces/n/pods/p", "update /v1 pods ns=n name=p"],
  ["PATCH", "/api/v1/namespaces/n/pods/p", "patch /v1 pods ns=n name=p"],
  ["DELETE", "/api/v1/namespaces/n/pods/p", "delete /v1 pods ns=n name=p"],
  ["TRACE", "/api/v1/namespaces/n/pods/p", " /v1 pods ns=n name=p"],
  ["GET", "/api/v1/pods", "list /v1 pods ns= name="],
  ["GET", "/api/v1/pods/p", "get /v1 pods ns= name=p"],
  ["DELETE", "/api/v1/pods", "deletecollection /v1 pods ns= name="],
  ["GET", "/apis/apps/v1/namespaces/n/deployments/d", "get apps/v1 deployments ns=n name=d"],
  // Subresources.
  ["GET", "/api/v1/namespaces/n/pods/p/log", "get /v1 pods/log ns=n name=p"],
  ["GET", "/api/v1/namespaces/n/pods/p/exec", "get /v1 pods/exec ns=n name=p"],
  ["POST", "/api/v1/namespaces/n/pods/p/exec", "create /v1 pods/exec ns=n name=p"],
  ["DELETE", "/api/v1/namespaces/n/pods/p/status", "delete /v1 pods/status ns=n name=p"],
  ["PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", "update apps/v1 deployments/scale ns=n name=d"],
  ["GET", "/api/v1/namespaces/n/pods/p/status/more", "get /v1 pods/status ns=n name=p"],
  ["GET", "/api/v1/nodes/w/proxy/exec/a/b/c", "get /v1 nodes/proxy ns= name=w"],
  ["GET", "/api/v1/namespaces/n/services/s/proxy/../../../secrets", "get /v1 services/proxy ns=n name=s"],
  ["GET", "/api/v1/namespaces/n/services/s/proxy/%2e%2e/%2e%2e/%2e%2e/secrets", "get /v1 services/proxy ns=n name=s"],
  ["GET", "/api/v1/namespaces/n/pods//status", "list /v1 pods/status ns=n name="],
  // Namespaces are authorized in themselves.
  ["GET", "/api/v1/namespaces", "list /v1 namespaces ns= name="],
  ["POST", "/api/v1/namespaces", "create /v1 namespaces ns= name="],
  ["GET", "/api/v1/namespaces/n", "get /v1 namespaces ns=n name=n"],
  ["DELETE", "/api/v1/namespaces/n/", "delete /v1 namespaces ns=n name=n"],
  ["PUT", "/api/v1/namespaces/n/finalize", "update /v1 namespaces/finalize ns=n name=n"],
  ["GET", "/api/v1/namespaces/n/status", "get /v1 namespaces/status ns=n name=n"],
  ["DELETE", "/api/v1/namespaces/foo/namespaces/victim", "delete /v1 namespaces ns=foo name=victim"],
  ["GET", "/api/v1/namespaces/status/pods", "list /v1 pods ns=status name="],
  ["GET", "/apis/example.com/v1/namespaces/x", "get example.com/v1 namespaces ns=x name=x"],
  ["GET", "/api/v1/nodes/w", "get /v1 nodes ns= name=w"],
  ["GET", "/api/v1/namespaces/n/nodes/w", "get /v1 nodes ns=n name=w"],
  // Watches in each form.
  ["GET", "/api/v1/namespaces/n/secrets?watch=1", "watch /v1 secrets ns=n name="],
  ["GET", "/api/v1/namespaces/n/secrets?watch=", "watch /v1 secrets ns=n name="],
  ["GET", "/api/v1/namespaces/n/secrets?watch=False", "list /v1 secrets ns=n name="],
  ["GET", "/api/v1/namespaces/n/secrets?watch=0", "list /v1 secrets ns=n name="],
  ["GET", "/api/v1/namespaces/n/secrets/s?watch=1", "get /v1 secrets ns=n name=s"],
  ["GET", "/api/v1/watch/namespaces/n/secrets", "watch /v1 secrets ns=n name="],
  ["GET", "/api/v1/watch/namespaces/n/secrets/s", "watch /v1 secrets ns=n name=s"],
  ["GET", "/api/v1/watch/namespaces/n/secrets/s/status", "watch /v1 secrets/status ns=n name=s"],
  ["GET", "/api/v1/watch/namespaces/n", "watch /v1 namespaces ns=n name=n"],
  ["GET", "/api/v1/watch/secrets", "watch /v1 secrets ns= name="],
  ["DELETE", "/api/v1/watch/namespaces/n/secrets/s", "watch /v1 secrets ns=n name=s"],
  ["POST", "/api/v1/watch/namespaces/n/secrets", "watch /v1 secrets ns=n name="],
  ["GET", "/apis/apps/v1/watch/deployments", "watch apps/v1 deployments ns= name="],
  ["GET", "/api/v1/watch/namespaces/n/secrets?fieldSelector=metadata.name=s", "watch /v1 secrets ns=n name="],
  ["GET", "/api/v1/watch", "get path /api/v1/watch"],
  // The deprecated proxy verb.
  ["GET", "/api/v1/proxy/nodes/w", "proxy /v1 nodes ns= name=w"],
  ["GET", "/api/v1/proxy/namespaces/n/services/s/exec", "proxy /v1 services ns=n name=s"],
  // Selectors.
  [
    "GET",
    "/api/v1/namespaces/n/secrets?fieldSelector=metadata.name%3Ds",
    "list /v1 secrets ns=n name=s fields=metadata.name=s",
  ],
  [
    "GET",
    "/api/v1/namespaces/n/secrets?watch=true&fieldSelector=metadata.name%3D%3Ds&labelSelector=a%3Db",
    "watch /v1 secrets ns=n name=s fields=metadata.name==s labels=a=b",
  ],
  [
    "GET",
    "/api/v1/pods?fieldSelector=spec.nodeName=w,metadata.name!=x",
    "list /v1 pods ns= name= fields=spec.nodeName=w,metadata.name!=x",
  ],
  [
    "GET",
    "/api/v1/pods?fieldSelector=metadata.name=a,metadata.name=b",
    "list /v1 pods ns= name=a fields=metadata.name=a,metadata.name=b",
  ],
  [
    "GET",
    "/api/v1/pods?fieldSelector=metadata.name=b,metadata.name=a",
    "list /v1 pods ns= name=a fields=metadata.name=b,metadata.name=a",
  ],
  ["GET", "/api/v1/pods?fieldSelector=metadata.name=a%25", "list /v1 pods ns= name= fields=metadata.name=a%"],
  ["GET", "/api/v1/pods?fieldSelector=metadata.name=..", "list /v1 pods ns= name= fields=metadata.name=.."],
  ["GET", "/api/v1/pods?fieldSelector=metadata.name=a&limit=x", "list /v1 pods ns= name= fields=metadata.name=a"],
  [
    "GET",
    "/api/v1/pods?fieldSelector=metadata.name=a&labelSelector=!!",
    "list /v1 pods ns= name= fields=metadata.name=a labels=!!",
  ],
  [
    "DELETE",
    "/api/v1/namespaces/n/secrets?fieldSelector=metadata.name=s",
    "deletecollection /v1 secrets ns=n name= fields=metadata.name=s",
  ],
  ["GET", "/api/v1/nodes/w?fieldSelector=metadata.name=me", "get /v1 nodes ns= name=w"],
  ["POST", "/api/v1/nodes?fieldSelector=metadata.name=me", "create /v1 nodes ns= name="],
  // Odd spellings.
  ["GET", "//api/v1/namespaces/n/pods", "list /v1 pods ns=n name="],
  ["GET", "/api/v1/namespaces//pods", "list /v1 pods ns= name="],
  ["GET", "/api/v1/namespaces/n//pods", "get /v1  ns=n name=pods"],
  ["GET", "/api/v1//pods", "get /v1  ns= name=pods"],
  ["GET", "/api/v1/namespaces/n/pods//", "list /v1 pods ns=n name="],
  ["GET", "/api/v1/namespaces/n%2fpods", "list /v1 pods ns=n name="],
  ["GET", "/api/v1/namespaces/n/pods%2Fp", "get /v1 pods ns=n name=p"],
  ["GET", "/api/v1/name%73paces/n/pods/p", "get /v1 pods ns=n name=p"],
  ["GET", "/api/v1/namespaces/n/pods/p%252fx", "get /v1 pods ns=n name=p%2fx"],
  ["GET", "/api/v1/namespaces/n/../m/pods", "get /v1 ../pods ns=n name=m"],
  ["GET", "/api/v1/namespaces/n/./pods", "get /v1 . ns=n name=pods"],
  ["GET", "/api/v1/namespaces/n/pods/..", "get /v1 pods ns=n name=.."],
  ["GET", "/apis//v1/pods", "list /v1 pods ns= name="],
];

for (const [method, target, expected] of rows)
  t.test(`attributesOf() ${method} ${target}`, async (t) => t.equal(asked(method, target), expected));

t.test("parsePath() tells paths that no route has", async (t) => {
  for (const path of ["//api/v1/pods", "/%2fapi/v1/pods", "/apis//v1/pods", "/api/v1/proxy/nodes/w", "api/v1/pods"])
    t.notOk(parsePath(path)?.isRoutable, path);
  for (const path of ["/api/v1/pods", "/api/v1/watch/pods", "/apis/apps/v1/deployments"])
    t.ok(parsePath(path)?.isRoutable, path);
});

t.test("parsePath() keeps what a proxy passes on as it was sent", async (t) => {
  const rest = (path: string) => parsePath(path)?.rest;
  t.equal(rest("/api/v1/nodes/w/proxy"), "");
  t.equal(rest("/api/v1/nodes/w/proxy/"), "/");
  t.equal(rest("/api/v1/nodes/w/proxy/a%2Fb//c/"), "/a%2Fb//c/");
  t.equal(rest("/api/v1/nodes/w/proxy%2Fa/../b"), "/a/../b");
  t.equal(rest("/api/v1/namespaces/n/services%2Fs/proxy/x"), "/x");
});
