import t from "tap";
import { apiVersionOf, resourcePath, resources } from "./resources.ts";

t.test("resourcePath() places core and grouped, namespaced and cluster resources", async (t) => {
  t.equal(resourcePath(resources.pods, { namespace: "shop", name: "cart-0" }), "/api/v1/namespaces/shop/pods/cart-0");
  t.equal(resourcePath(resources.pods), "/api/v1/pods");
  t.equal(resourcePath(resources.nodes, { name: "pi", subresource: "status" }), "/api/v1/nodes/pi/status");
  t.equal(
    resourcePath(resources.deployments, { namespace: "shop", name: "cart", subresource: "scale" }),
    "/apis/apps/v1/namespaces/shop/deployments/cart/scale",
  );
});

t.test("resourcePath() cannot be led out of its place by a name", async (t) => {
  t.equal(
    resourcePath(resources.pods, { namespace: "a/b", name: "../x?y" }),
    "/api/v1/namespaces/a%2Fb/pods/..%2Fx%3Fy",
  );
});

t.test("resourcePath() ignores a namespace for a cluster resource", async (t) => {
  t.equal(
    resourcePath(resources.clusterroles, { namespace: "x", name: "y" }),
    "/apis/rbac.authorization.k8s.io/v1/clusterroles/y",
  );
});

t.test("resources: each place is taken once", async (t) => {
  const places = Object.values(resources).map((ref) => resourcePath(ref));
  t.equal(new Set(places).size, places.length);
});

t.test("apiVersionOf() leaves the core group out", async (t) => {
  t.equal(apiVersionOf(resources.pods), "v1");
  t.equal(apiVersionOf(resources.jobs), "batch/v1");
});
